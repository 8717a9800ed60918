"""Arms that count events."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from cutline.core.problem import PerArm
from cutline.core.rewards import Rewards
from cutline.core.tally import Floats
from cutline.simulation.arms.base import Arms, no_spread, numbers, tails

MOST = 1e9  # the table of one such arm has half a million entries


@dataclass(frozen=True)
class Poisson(Arms):
    """Arms that give counts: the number of events in a stretch where ``rates`` are expected.

    >>> arms = Poisson([0.5, 12.0])
    >>> arms.means
    array([ 0.5, 12. ])
    >>> arms.above(0).round(6)  # 1 - exp(-rate): a count above 0 is at least 1
    array([0.393469, 0.999994])
    """

    name = "poisson"

    rates: PerArm

    def __post_init__(self) -> None:
        rates = numbers("the rate of a Poisson arm", self.rates)
        for rate in rates:
            if rate < 0:
                raise ValueError(f"the rate of a Poisson arm is 0 or more, got {rate!r}")
            if rate > MOST:
                raise ValueError(
                    f"the rate of a Poisson arm is at most {MOST:g}, got {rate!r}: counts this "
                    "large are close to normal, so use Gaussian arms"
                )
        object.__setattr__(self, "rates", rates)

    @staticmethod
    def quantile(u: float, start: float, size: float, first: float, table: Floats) -> float:
        """The smallest count whose cumulative probability reaches u, by bisection."""
        low = int(start)
        high = low + int(size) - 1
        while low < high:
            middle = (low + high) // 2
            if u <= table[middle]:
                high = middle
            else:
                low = middle + 1
        return first + (low - start)

    @property
    def rewards(self) -> Rewards:
        """Counts."""
        return Rewards("poisson")

    @property
    def means(self) -> Floats:
        """The rates."""
        return np.array(self.rates)

    def above(self, level: PerArm) -> Floats:
        """The upper tails, summed; the relative error is about 1e-14, at rates near 1e9 1e-13."""
        return tails(_above, level, self.rates)

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """Where an arm's part of the table starts, its size, and the count it starts with."""
        rows = [_reachable(rate) for rate in self.means]
        sizes = np.array([len(chances) for _, chances in rows], dtype=float)
        firsts = np.array([first for first, _ in rows], dtype=float)
        return {"start": np.cumsum(sizes) - sizes, "size": sizes, "first": firsts}

    def table(self) -> Floats:
        """The cumulative probabilities of the counts that a uniform can reach, arm by arm."""
        return np.concatenate([_reachable(rate)[1] for rate in self.means])

    @classmethod
    def from_means(cls, means: Sequence[float], sd: PerArm | None) -> Self:
        """The arms with these means."""
        no_spread("Poisson", sd)
        return cls(means)


def _reachable(rate: float) -> tuple[int, Floats]:
    """The smallest count that a uniform can reach, and P(X <= count) from there on.

    A uniform lies between 2**-53 and 1 - 2**-53, so what is less likely at either end is left out.
    """
    first, lower, upper = _tails(rate, nats=75.0)  # e^-75 is 1e-16 of the smallest uniform
    cumulative = np.where(lower < 0.5, lower, 1.0 - upper)
    low, high = np.searchsorted(cumulative, [2.0**-53, 1.0 - 2.0**-53])
    return first + int(low), cumulative[low : high + 1]


def _above(level: float, rate: float) -> float:
    first, lower, upper = _tails(rate, nats=760.0)  # e^-760 is no double any more
    place = math.floor(level) - first
    if place < 0:
        return 1.0
    if place >= len(upper):
        return 0.0
    return float(upper[place] if lower[place] > 0.5 else 1.0 - lower[place])


def _tails(rate: float, nats: float) -> tuple[int, Floats, Floats]:
    """P(X <= count) and P(X > count) from a first count on, as far as they are above e^-nats.

    Products of rate / count from the mode outwards, over their sum: unlike exp(-rate) rate^count /
    count!, this keeps its digits at large rates. Both tails are added up from their thin end.
    """
    # Bernstein's bound: P(|X - rate| >= d) <= 2 exp(-d^2 / (2 rate + 2 d / 3)), solved for d.
    reach = math.ceil(nats / 3 + math.sqrt(nats**2 / 9 + 2 * nats * rate)) + 2
    mode = int(rate)
    first = max(mode - reach, 0)
    rising = np.cumprod(rate / np.arange(mode + 1, mode + reach + 1))
    falling = np.cumprod(np.arange(mode, first, -1) / rate)[::-1]
    chances = np.concatenate([falling, [1.0], rising])
    chances /= chances.sum()
    beyond = np.append(np.cumsum(chances[:0:-1])[::-1], 0.0)
    return first, np.cumsum(chances), beyond
