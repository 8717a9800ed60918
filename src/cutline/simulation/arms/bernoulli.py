"""Arms that give 0 or 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from cutline.core.problem import PerArm, per_arm
from cutline.core.rewards import Rewards
from cutline.core.tally import Floats
from cutline.simulation.arms.base import Arms, no_spread, numbers


@dataclass(frozen=True)
class Bernoulli(Arms):
    """Arms that give 1 with the given probabilities, else 0.

    >>> Bernoulli([0.1, 0.9]).means
    array([0.1, 0.9])
    """

    name = "bernoulli"

    probabilities: PerArm

    def __post_init__(self) -> None:
        means = numbers("the mean of a Bernoulli arm", self.probabilities)
        for mean in means:
            if not 0 <= mean <= 1:
                raise ValueError(f"the mean of a Bernoulli arm lies between 0 and 1, got {mean!r}")
        object.__setattr__(self, "probabilities", means)

    @staticmethod
    def quantile(u: float, mean: float) -> float:
        """1 on the upper share ``mean`` of the uniforms; never at mean 0, always at mean 1."""
        return 1.0 if u > 1.0 - mean else 0.0

    @property
    def rewards(self) -> Rewards:
        """Binary."""
        return Rewards("binary")

    @property
    def means(self) -> Floats:
        """The probability of a 1."""
        return np.array(self.probabilities)

    @property
    def noise_scale(self) -> Floats:
        """One half, as for all rewards from 0 to 1."""
        return np.full(len(self), 0.5)

    def above(self, level: PerArm) -> Floats:
        """The means for levels from 0 up to, but not at, 1."""
        levels = np.array(per_arm("level", level, len(self)))
        return np.where(levels < 0, 1.0, np.where(levels < 1, self.means, 0.0))

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """The means; sums of binary rewards are counted from 0."""
        return {"mean": self.means}

    @classmethod
    def from_means(cls, means: Sequence[float], sd: PerArm | None) -> Self:
        """The arms with these means."""
        no_spread("Bernoulli", sd)
        return cls(means)
