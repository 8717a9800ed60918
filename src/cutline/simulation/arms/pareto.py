"""Arms with heavy tails to one side."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from cutline.core.logarithm import log_unit
from cutline.core.problem import PerArm, per_arm
from cutline.core.rewards import Rewards
from cutline.core.tally import Floats
from cutline.simulation.arms.base import Arms, numbers


@dataclass(frozen=True)
class Pareto(Arms):
    r"""Pareto arms with the given means and shapes (one, or one per arm).

    .. math:: P(X > x) = (x_0 / x)^\alpha \text{ for } x \ge x_0, \qquad
        x_0 = \mu\,\frac{\alpha - 1}{\alpha}

    The smaller the shape α, the heavier the tail: the mean exists above 1, the variance above 2.
    Near 1 the mean rests on rewards too rare for any simulation: the share 2^(-53 (1 - 1/α)) of it
    lies beyond the largest uniform, 5e-6 at shape 1.5 but 0.035 at 1.1.

    >>> arms = Pareto([1.0, 2.0], shape=3.0)
    >>> arms.above(4 / 3)  # (2/3 / 4/3)^3; no reward of the second arm is below 4/3
    array([0.125, 1.   ])
    """

    name = "pareto"

    centres: PerArm
    shape: PerArm = 2.5

    def __post_init__(self) -> None:
        centres = numbers("the mean of a Pareto arm", self.centres)
        shapes = numbers("the shape of a Pareto arm", self.shape, len(centres))
        for mean in centres:
            if mean <= 0:
                raise ValueError(f"the mean of a Pareto arm is above 0, got {mean!r}")
        for shape in shapes:
            if shape <= 1:
                raise ValueError(
                    f"the shape of a Pareto arm is above 1, got {shape!r}: up to 1 it has no mean"
                )
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "shape", shapes)

    @staticmethod
    def quantile(u: float, start: float, least: float, shape: float) -> float:
        """least (1 - u)^(-1 / shape), as what is added to the least reward."""
        return start + least * math.expm1(-log_unit(1.0 - u) / shape)

    @property
    def rewards(self) -> Rewards:
        """Anything with a mean."""
        return Rewards("heavy")

    @property
    def means(self) -> Floats:
        """As given."""
        return np.array(self.centres)

    @property
    def least(self) -> Floats:
        """The smallest reward of every arm: mean (shape - 1) / shape."""
        shapes = np.array(self.shape)
        return np.asarray(self.means * ((shapes - 1) / shapes))

    def above(self, level: PerArm) -> Floats:
        """(least / level)^shape, or 1 where the level is below the least reward."""
        levels = np.array(per_arm("level", level, len(self)))
        return np.asarray((self.least / np.maximum(levels, self.least)) ** np.array(self.shape))

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """The least reward, from the origin for where rewards start, and from 0 to scale them."""
        return {"start": self.least - origin, "least": self.least, "shape": np.array(self.shape)}

    @classmethod
    def from_means(cls, means: Sequence[float], sd: PerArm | None) -> Self:
        """The arms with these means and sd, or with shape 2.5 where no sd is given."""
        if sd is None:
            return cls(means)
        mu = np.array(numbers("the mean of a Pareto arm", means))
        spread = np.array(numbers("the sd of a Pareto arm", sd, len(mu)))
        for sd_ in spread:
            if sd_ <= 0:
                raise ValueError(f"the sd of a Pareto arm is above 0, got {float(sd_)!r}")
        return cls(means, 1 + np.hypot(1, mu / spread))  # sd = mean / sqrt(shape (shape - 2))
