"""Arms that are asked how often they exceed a level."""

from dataclasses import dataclass

import numpy as np

from cutline.core.rewards import Rewards
from cutline.core.tally import Floats
from cutline.simulation.arms.base import Arms


@dataclass(frozen=True)
class LevelSet(Arms):
    """The arms of another family, each reward replaced by whether it lies above a level.

    ``Bandit(arms, level=...)`` makes them. A level set draws what its source draws, so on Gaussian
    arms it is, count for count, the Bernoulli problem of the same exceedance probabilities.

    >>> from cutline.simulation.arms import Gaussian
    >>> LevelSet(Gaussian([0.0, 1.0]), (1.0, 1.0)).means.round(4)
    array([0.1587, 0.5   ])
    """

    name = "level-set"

    arms: Arms
    level: tuple[float, ...]

    @property
    def rewards(self) -> Rewards:
        """Binary."""
        return Rewards("binary")

    @property
    def means(self) -> Floats:
        """The probability of exceeding the level."""
        return self.arms.above(self.level)

    @property
    def noise_scale(self) -> Floats:
        """One half, whatever the source: what is counted is 0 or 1."""
        return np.full(len(self.level), 0.5)

    def above(self, level: object) -> Floats:
        """A level set has no level sets of its own."""
        raise ValueError("these arms already are a level set: give one level")

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """What the source needs to draw its values, and the levels."""
        return {**self.arms.columns(np.zeros(len(self.level))), "level": np.array(self.level)}

    def table(self) -> Floats:
        """The source's."""
        return self.arms.table()
