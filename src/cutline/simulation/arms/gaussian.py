"""Arms with normal rewards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from cutline.core.normal import normal_quantile
from cutline.core.problem import PerArm
from cutline.core.rewards import Rewards
from cutline.core.special import normal_cdf
from cutline.core.tally import Floats
from cutline.simulation.arms.base import Arms, numbers, tails


@dataclass(frozen=True)
class Gaussian(Arms):
    """Normal arms with the given centres and standard deviations (one, or one per arm).

    >>> Gaussian([0.0, 1.0], sd=0.5).sd
    (0.5, 0.5)
    """

    name = "gaussian"

    centres: PerArm
    sd: PerArm = 1.0

    def __post_init__(self) -> None:
        centres = numbers("the mean of a Gaussian arm", self.centres)
        sds = numbers("the sd of a Gaussian arm", self.sd, len(centres))
        for sd in sds:
            if sd < 0:
                raise ValueError(f"the sd of a Gaussian arm is 0 or more, got {sd!r}")
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "sd", sds)

    @staticmethod
    def quantile(u: float, centre: float, sd: float) -> float:
        """The centre plus sd times the standard normal quantile."""
        return centre + sd * normal_quantile(u)

    @property
    def rewards(self) -> Rewards:
        """Gaussian."""
        return Rewards("gaussian")

    @property
    def means(self) -> Floats:
        """The centres."""
        return np.array(self.centres)

    @property
    def noise_scale(self) -> Floats:
        """The standard deviations."""
        return np.array(self.sd)

    def above(self, level: PerArm) -> Floats:
        """The upper tails of the normal distribution; without spread, the side of the centre."""
        return tails(_above, level, self.centres, self.sd)

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """Centres moved by the origin before anything is drawn, so that no digits are lost."""
        return {"centre": self.means - origin, "sd": np.array(self.sd)}

    @classmethod
    def from_means(cls, means: Sequence[float], sd: PerArm | None) -> Self:
        """The arms with these means, sd 1 unless said."""
        return cls(means, 1.0 if sd is None else sd)


def _above(level: float, centre: float, sd: float) -> float:
    if sd == 0.0:
        return float(centre > level)
    return normal_cdf((centre - level) / sd)
