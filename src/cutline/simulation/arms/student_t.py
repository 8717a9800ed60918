"""Arms with heavy tails to both sides."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from cutline.core.chance import Chance, uniform
from cutline.core.logarithm import log_unit
from cutline.core.problem import PerArm
from cutline.core.rewards import Rewards
from cutline.core.special import beta_cdf
from cutline.core.tally import Floats
from cutline.simulation.arms.base import Arms, numbers, tails


@dataclass(frozen=True)
class StudentT(Arms):
    """Arms with Student's t rewards, moved to the given centres and stretched by ``scale``.

    The fewer ``degrees`` of freedom, the heavier the tails: the mean exists above 1, the variance,
    scale² degrees / (degrees - 2), above 2.

    >>> StudentT([0.0, 1.0], degrees=3.0).above([0.0, 0.0]).round(6)
    array([0.5     , 0.804499])
    """

    name = "student-t"

    centres: PerArm
    degrees: PerArm
    scale: PerArm = 1.0

    def __post_init__(self) -> None:
        centres = numbers("the mean of a Student t arm", self.centres)
        degrees = numbers("the degrees of freedom of a Student t arm", self.degrees, len(centres))
        scales = numbers("the scale of a Student t arm", self.scale, len(centres))
        for nu in degrees:
            if nu <= 1:
                raise ValueError(
                    f"the degrees of freedom of a Student t arm are above 1, got {nu!r}: "
                    "up to 1 it has no mean"
                )
        for scale in scales:
            if scale <= 0:
                raise ValueError(f"the scale of a Student t arm is above 0, got {scale!r}")
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "degrees", degrees)
        object.__setattr__(self, "scale", scales)

    @staticmethod
    def sample(chance: Chance, centre: float, degrees: float, scale: float) -> float:
        """A point of the plane at a random angle, seen from one side, by Bailey (1994).

        Its distance from the middle is sqrt(nu (U^(-2/nu) - 1)), where Box and Muller's normal
        draws have sqrt(-2 log U), the limit for many degrees of freedom.
        """
        distance = math.sqrt(degrees * math.expm1(-2.0 * log_unit(uniform(chance, 0)) / degrees))
        return centre + scale * distance * math.cos(2.0 * math.pi * uniform(chance, 1))

    @property
    def rewards(self) -> Rewards:
        """Anything with a mean."""
        return Rewards("heavy")

    @property
    def means(self) -> Floats:
        """The centres."""
        return np.array(self.centres)

    def above(self, level: PerArm) -> Floats:
        """The upper tails, from the Beta distribution; relative error about degrees × 1e-16."""
        return tails(_above, level, self.centres, self.degrees, self.scale)

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """Centres moved by the origin before anything is drawn, so that no digits are lost."""
        degrees, scale = np.array(self.degrees), np.array(self.scale)
        return {"centre": self.means - origin, "degrees": degrees, "scale": scale}

    @classmethod
    def from_means(cls, means: Sequence[float], sd: PerArm | None) -> Self:
        """The arms with these means and 3 degrees of freedom, of scale 1 unless an sd is given."""
        if sd is None:
            return cls(means, 3.0)
        mu = numbers("the mean of a Student t arm", means)
        spread = numbers("the sd of a Student t arm", sd, len(mu))
        for sd_ in spread:
            if sd_ <= 0:
                raise ValueError(f"the sd of a Student t arm is above 0, got {sd_!r}")
        return cls(mu, 3.0, np.array(spread) / math.sqrt(3.0))


def _above(level: float, centre: float, nu: float, scale: float) -> float:
    t = (level - centre) / scale
    square = t * t
    # nu / (nu + T²) is Beta(nu/2, 1/2), its complement Beta(1/2, nu/2)
    if square > 1.0:  # beyond the mean, the smaller part is known in full
        tail = 0.5 * beta_cdf(nu / (nu + square), 0.5 * nu, 0.5)
    else:
        tail = 0.5 - 0.5 * beta_cdf(square / (nu + square), 0.5, 0.5 * nu)
    return tail if t > 0.0 else 1.0 - tail
