"""Arms that give waiting times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from cutline.core.logarithm import log_unit
from cutline.core.problem import PerArm, per_arm
from cutline.core.rewards import Rewards
from cutline.core.tally import Floats
from cutline.simulation.arms.base import Arms, no_spread, numbers


@dataclass(frozen=True)
class Exponential(Arms):
    """Arms that give exponential waiting times with the given means.

    >>> Exponential([0.5, 2.0]).means
    array([0.5, 2. ])
    >>> Exponential([0.5, 2.0]).above(1.0).round(6)  # exp(-1 / mean)
    array([0.135335, 0.606531])
    """

    name = "exponential"

    centres: PerArm

    def __post_init__(self) -> None:
        centres = numbers("the mean of an Exponential arm", self.centres)
        for mean in centres:
            if mean <= 0:
                raise ValueError(f"the mean of an Exponential arm is above 0, got {mean!r}")
        object.__setattr__(self, "centres", centres)

    @staticmethod
    def quantile(u: float, mean: float) -> float:
        """-mean log(1 - u); 1 - u loses nothing, as u is a multiple of 2**-53."""
        return -mean * log_unit(1.0 - u)

    @property
    def rewards(self) -> Rewards:
        """Waiting times."""
        return Rewards("exponential")

    @property
    def means(self) -> Floats:
        """As given."""
        return np.array(self.centres)

    def above(self, level: PerArm) -> Floats:
        """exp(-level / mean), or 1 below 0."""
        levels = np.array(per_arm("level", level, len(self)))
        return np.asarray(np.exp(-np.maximum(levels, 0.0) / self.means))

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """The means; sums of waiting times are counted from 0."""
        return {"mean": self.means}

    @classmethod
    def from_means(cls, means: Sequence[float], sd: PerArm | None) -> Self:
        """The arms with these means, which are their sd as well."""
        no_spread("Exponential", sd)
        return cls(means)
