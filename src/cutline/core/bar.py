"""The bar as it was put, and how to speak of it."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutline.core.verdict import ArmVerdict

OTHER = {"above": "below", "below": "above"}
AT_LEAST, AT_MOST, THRESHOLD = "at least", "at most", "threshold"
PASS_RATE, FAILURE_RATE, MEAN = "pass rate", "failure rate", "mean"


def less_from_one(value: float) -> float:
    """1 less a number, as one would write it by hand.

    >>> less_from_one(0.9), 1 - 0.9
    (0.1, 0.09999999999999998)
    """
    return float(1 - Decimal(repr(value))) + 0.0  # and no -0


def short(value: float, rounding: str) -> str:
    """A bound in few digits, rounded to the side on which it still holds.

    >>> (
    ...     short(0.7103612, ROUND_CEILING),
    ...     short(0.7103612, ROUND_FLOOR),
    ...     short(0.98499999999999999, ROUND_FLOOR),
    ... )
    ('0.7104', '0.7103', '0.985')
    """
    if not math.isfinite(value) or value == 0:
        return f"{value + 0.0:g}"
    digits = Decimal(f"{value:.11e}")  # what lies beyond is rounding
    if len(digits.normalize().as_tuple().digits) > 6:
        digits = digits.quantize(Decimal(1).scaleb(digits.adjusted() - 3), rounding)
    return f"{float(digits):.6g}"


def measured(value: float) -> str:
    """A number that was measured, in four digits or as many as keep it from looking like 1.

    >>> measured(2 / 3), measured(0.99997), measured(1.0), measured(1 - 1e-12)
    ('0.6667', '0.99997', '1', '0.999999999999')
    """
    texts = (f"{value + 0.0:.{digits}g}" for digits in range(4, 17))
    return next((text for text in texts if value == 1 or text != "1"), "1")


@dataclass(frozen=True)
class Bar:
    """The bar as it was put: the number, which side of it is wanted, and what it speaks of.

    ``value`` and ``precision`` are the numbers as given. ``sense`` is "at least" or "at most" where
    one side is wanted, else "threshold". ``measure`` says what the number is: a "pass rate", a
    "failure rate" or a "mean". ``flipped``: rewards count what passes and the bar what fails, so
    the measure is 1 less the mean, and so are all numbers that are shown.

    >>> bar = Bar.put("at most", 0.01, 0.005, "binary")
    >>> bar.words, bar.threshold, bar.expected
    ('failure rate at most 0.01 ± 0.005', 0.99, 'above')
    """

    value: float
    precision: float = 0.0
    sense: str = THRESHOLD
    measure: str = MEAN
    flipped: bool = False

    def __post_init__(self) -> None:
        if self.sense not in (AT_LEAST, AT_MOST, THRESHOLD):
            raise ValueError(
                f"a bar is {AT_LEAST!r}, {AT_MOST!r} or a plain {THRESHOLD!r}, got {self.sense!r}"
            )
        if self.measure not in (PASS_RATE, FAILURE_RATE, MEAN):
            raise ValueError(
                f"a bar is about a {PASS_RATE}, a {FAILURE_RATE} or a {MEAN}, got {self.measure!r}"
            )
        if self.flipped and 0 < self.value < 1 and self.threshold == 1:
            raise ValueError(
                f"a failure rate of {self.value!r} cannot be told from 0: give 0, or 1e-15 or more"
            )

    @classmethod
    def put(cls, sense: str, value: float, precision: float, kind: str) -> "Bar":
        """A bar for rewards of a kind; "at most" speaks of failures where they are binary."""
        if kind != "binary":
            return cls(value, precision, sense, MEAN)
        if sense == AT_MOST:
            return cls(value, precision, sense, FAILURE_RATE, flipped=True)
        return cls(value, precision, sense, PASS_RATE)

    # What a campaign keeps.

    def to_dict(self) -> dict[str, Any]:
        """How the bar was put, as plain values; the precision is kept with the arms."""
        return {
            "sense": self.sense,
            "value": self.value,
            "measure": self.measure,
            "flipped": self.flipped,
        }

    @classmethod
    def from_dict(cls, kept: dict[str, Any] | None, threshold: float, precision: float) -> "Bar":
        """The bar that a campaign keeps; a plain threshold where it keeps none."""
        if kept is None:
            return cls(threshold, precision)
        try:
            value = float(kept["value"])
            return cls(value, precision, kept["sense"], kept["measure"], kept["flipped"] is True)
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise ValueError(
                f"the bar that the campaign keeps is damaged ({kept!r:.200}): 'cutline audit' says "
                "what else is"
            ) from error

    # What it means.

    @property
    def threshold(self) -> float:
        """The same as a bar for the mean of the rewards."""
        return less_from_one(self.value) if self.flipped else self.value

    @property
    def expected(self) -> str | None:
        """The side where the mean of the rewards should be; None where neither is wanted."""
        if self.sense == THRESHOLD:
            return None
        return "above" if (self.sense == AT_LEAST) != self.flipped else "below"

    @property
    def unit(self) -> str:
        """The measure as the head of a column."""
        return "failures" if self.measure == FAILURE_RATE else self.measure

    @property
    def words(self) -> str:
        """The bar in words."""
        band = f" ± {self.precision:.15g}" if self.precision else ""
        return f"{self.relation} {self.value:.15g}{band}"

    @property
    def relation(self) -> str:
        """What the measure should be to the number of the bar, in words."""
        sense = {THRESHOLD: "against", AT_MOST: "below" if self.measure == MEAN else AT_MOST}
        return f"{self.measure} {sense.get(self.sense, self.sense)}"

    # Arms against it.

    def shown(self, value: float) -> float:
        """A mean as it is shown."""
        if not self.flipped:
            return value
        return less_from_one(value) if value == value else value  # one that is none stays none

    def bounds(self, arm: "ArmVerdict") -> tuple[float | None, float | None]:
        """What the measure is proven to be more than, and less than, as it is shown."""
        more, less = arm.more_than, arm.less_than
        if not self.flipped:
            return more, less
        return (
            None if less is None else self.shown(less),
            None if more is None else self.shown(more),
        )

    def span(self, arm: "ArmVerdict") -> tuple[float, float]:
        """From where to where an arm is drawn: a proven bound, else the end of the interval."""
        more, less = self.bounds(arm)
        if more is None or less is None:
            ends = self.shown(arm.low), self.shown(arm.high)
            more = min(ends) if more is None else more
            less = max(ends) if less is None else less
        return min(more, less), max(more, less)

    def known(self, arm: "ArmVerdict") -> str:
        """What is known of the measure: what was proven, else the interval.

        >>> from cutline.core.problem import Problem
        >>> from cutline.core.verdict import judge
        >>> coins = Problem(arms=["a", "b"], threshold=0.5, precision=0.1, rewards="binary")
        >>> verdict = judge(coins, {"a": [1] * 9, "b": [1, 0]})
        >>> [Bar(0.5, 0.1).known(arm) for arm in verdict.arms]
        ['more than 0.5548', '0.001606 to 0.9984']
        """
        more, less = self.bounds(arm)
        said = [] if more is None else [f"more than {short(more, ROUND_FLOOR)}"]
        said += [] if less is None else [f"less than {short(less, ROUND_CEILING)}"]
        if said:
            return ", ".join(said)
        low, high = self.span(arm)
        return f"{measured(low)} to {measured(high)}"

    def side(self, side: str | None) -> str | None:
        """A side of the bar, as it is shown; what is none stays as it is."""
        return OTHER.get(side or "", side) if self.flipped else side

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

    def so_far(self, arm: "ArmVerdict") -> str:
        """On which side the mean is as of now, whatever is proven."""
        if arm.side is None:
            return "unseen"
        if self.expected is None:
            return str(self.side(arm.side))
        return "clears" if arm.side == self.expected else "fails"
