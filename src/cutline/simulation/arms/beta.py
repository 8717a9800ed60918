"""Arms with rewards anywhere in a range, from the Beta distribution."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from cutline.core.chance import DRAWS, Chance, uniform
from cutline.core.normal import normal_quantile
from cutline.core.problem import PerArm
from cutline.core.rewards import Rewards
from cutline.core.special import beta_cdf
from cutline.core.tally import Floats
from cutline.simulation.arms.base import Arms, numbers, tails


def log_gamma_draw(chance: Chance, first: int, shape: float) -> float:
    """The logarithm of a Gamma(shape) draw, by Marsaglia and Tsang (2000), from draw ``first`` on.

    As a logarithm, because for small shapes the draw itself is often too small for a float.
    """
    log_boost = 0.0
    if shape < 1.0:  # Gamma(shape) = Gamma(shape + 1) * U**(1/shape)
        log_boost = math.log(uniform(chance, first)) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    draw = first + 1
    while True:
        x = normal_quantile(uniform(chance, draw))
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if math.log(uniform(chance, draw + 1)) < 0.5 * x * x + d - d * v + d * math.log(v):
                return math.log(d * v) + log_boost
        draw += 2


@dataclass(frozen=True)
class Beta(Arms):
    """Arms with Beta(a, b) rewards, stretched to the range from ``low`` to ``high``.

    >>> Beta([2.0, 1.0], [2.0, 3.0]).means
    array([0.5 , 0.25])
    >>> Beta.from_means([0.5, 0.25], sd=0.25).means
    array([0.5 , 0.25])
    """

    name = "beta"

    a: PerArm
    b: PerArm
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        a = numbers("the first parameter of a Beta arm", self.a)
        b = numbers("the second parameter of a Beta arm", self.b, len(a))
        for value in (*a, *b):
            if value <= 0:
                raise ValueError(f"the parameters of a Beta arm are above 0, got {value!r}")
        Rewards("bounded", self.low, self.high)  # refuses bad bounds
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)

    @staticmethod
    def sample(chance: Chance, a: float, b: float, low: float, width: float) -> float:
        """G / (G + G') of two Gamma draws; half of the draw numbers are kept for each."""
        difference = log_gamma_draw(chance, DRAWS // 2, b) - log_gamma_draw(chance, 0, a)
        return low + width / (1.0 + math.exp(min(difference, 700.0)))

    @property
    def rewards(self) -> Rewards:
        """Bounded by ``low`` and ``high``."""
        return Rewards("bounded", self.low, self.high)

    @property
    def means(self) -> Floats:
        """low + (high - low) a / (a + b)."""
        a, b = np.array(self.a), np.array(self.b)
        return np.asarray(self.low + (self.high - self.low) * a / (a + b))

    @property
    def noise_scale(self) -> Floats:
        """Half of the range, whatever the parameters (Hoeffding's lemma)."""
        return np.full(len(self), (self.high - self.low) / 2)

    def above(self, level: PerArm) -> Floats:
        """The upper tails; relative error about 1e-15, or 1e-16 times the larger parameter."""
        return tails(self._above, level, self.a, self.b)

    def _above(self, level: float, a: float, b: float) -> float:
        x = (level - self.low) / (self.high - self.low)
        y = (self.high - level) / (self.high - self.low)
        if x * b > y * a:  # beyond the mean, the smaller part is known in full
            return beta_cdf(y, b, a)
        return 1.0 - beta_cdf(x, a, b)

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """The parameters and the range, counted from the origin."""
        a = np.array(self.a)
        width = np.full(len(a), self.high - self.low)
        return {"a": a, "b": np.array(self.b), "low": self.low - origin, "width": width}

    @classmethod
    def from_means(cls, means: Sequence[float], sd: PerArm | None) -> Self:
        """The arms on [0, 1] with these means and sd (0.2 unless said)."""
        mu = np.array(numbers("the mean of a Beta arm", means))
        spread = np.array(numbers("the sd of a Beta arm", 0.2 if sd is None else sd, len(mu)))
        if np.any((mu <= 0) | (mu >= 1)):
            raise ValueError("the mean of a Beta arm lies strictly between 0 and 1")
        for mean, sd_ in zip(mu, spread, strict=True):
            if not 0 < sd_ < math.sqrt(mean * (1 - mean)):
                raise ValueError(
                    "the sd of a Beta arm must be above 0 and below sqrt(mean (1 - mean)), "
                    f"got {float(sd_)!r} at mean {float(mean)!r}"
                )
        size = mu * (1 - mu) / spread**2 - 1
        return cls(mu * size, (1 - mu) * size)
