"""The bar as it was given, and how to speak of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutline.core.verdict import ArmVerdict

OTHER = {"above": "below", "below": "above"}


@dataclass(frozen=True)
class Bar:
    """The bar as it was given: where it is, which side is wanted, and how to speak of it.

    ``expected`` is None where no side is better than the other. ``flipped``: what is shown is the
    share of failures, 1 less the mean.
    """

    threshold: float
    precision: float
    words: str
    expected: str | None = None
    flipped: bool = False
    unit: str = "mean"

    def shown(self, value: float) -> float:
        """A mean as it is shown."""
        return 1.0 - value if self.flipped else value

    def span(self, arm: "ArmVerdict") -> tuple[float, float]:
        """The interval as it is shown."""
        ends = self.shown(arm.low), self.shown(arm.high)
        return min(ends), max(ends)

    def fails(self, arm: "ArmVerdict") -> bool:
        """Whether the arm is proven to be on the side that is not wanted."""
        return self.expected is not None and arm.proven == OTHER[self.expected]

    def standing(self, arm: "ArmVerdict") -> str:
        """Where the arm stands, in words."""
        if arm.status == "retired":
            return "retired"
        if arm.proven is None:
            return "suspended" if arm.status == "suspended" else "undecided"
        if arm.proven not in OTHER or self.expected is None:
            return arm.proven
        return "clears the bar" if arm.proven == self.expected else "fails the bar"
