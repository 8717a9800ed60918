"""Evidence from bets: what a gambler who doubts the edge would have won."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cutline.core.evidence.base import Evidence, constant, only, width
from cutline.core.evidence.beta import rest
from cutline.core.evidence.wagers import wagers_interval
from cutline.core.problem import Problem
from cutline.core.tally import Floats

_CAP = 0.5  # of what could be lost in one round
_DESIGN = 2.0 * math.log(1.0 / 0.05)  # the level at which the interval's weights are best


def bet_on(gap: float, variance: float, m: float) -> float:
    """Kelly's bet for a mean ``gap`` beyond the edge ``m``, to second order, within [0, cap / m].

    No bet is made on the wrong side, nor where the edge is not inside (0, 1).

    >>> bet_on(0.1, 0.2, 0.5) == 0.1 / (0.2 + 0.1 * 0.1)
    True
    >>> bet_on(0.1, 0.0, 0.5), bet_on(-0.1, 0.2, 0.5), bet_on(0.1, 0.2, 0.0)
    (1.0, 0.0, 0.0)
    """
    if gap <= 0.0 or m <= 0.0 or m >= 1.0:
        return 0.0
    return min(gap / (variance + gap * gap), _CAP / m)


@dataclass(frozen=True)
class Betting(Evidence):
    r"""The wealth of two gamblers, one betting on "above" and one on "below", who start with 1.

    .. math:: K^+_n = \prod_{s \le n} \bigl(1 + \lambda_s (x_s - m)\bigr),\qquad
        \lambda_s = \frac{\hat\mu - m}{\hat v + (\hat\mu - m)^2}
        \ \text{within}\ \bigl[0, \tfrac1{2m}\bigr]

    with rewards mapped to [0, 1]; mean and variance are those before x_s, with one made-up reward
    of 1/2 and one squared error of 1/4 (Waudby-Smith and Ramdas, 2024: approximate Kelly). A bet
    is at least 0 and made before the reward, so no round is expected to gain where the mean is m
    or less, and the cap keeps half of the wealth in any round. Where rewards vary less than coins
    it needs fewer of them than :class:`BetaMixture`. Edges outside the range are treated as there.

    The interval is what the same bets do not reject, on a grid of means (see
    :mod:`cutline.core.evidence.wagers`). That takes all rewards in their order; where they are not
    at hand it is Waudby-Smith and Ramdas' empirical Bernstein one, whose weights do not depend on
    the edge, so that three more numbers suffice. It is up to twice as wide.

    >>> from cutline.core.evidence.base import Ledger, arm_columns
    >>> problem = Problem(arms=1, threshold=0.5, precision=0.1, rewards="bounded")
    >>> ledger = Ledger(Betting(), arm_columns(Betting(), problem, 0))
    >>> for reward in [0.3, 0.7, 0.55, 0.9, 0.62, 0.8, 0.41, 0.77]:
    ...     ledger.feed(reward)
    >>> round(ledger.log_above, 10), round(ledger.log_below, 10)
    (1.615101581, -0.3766997259)
    """

    name: ClassVar[str] = "betting"
    assumes: ClassVar[str] = "rewards stay in their range"
    from_rewards: ClassVar[bool] = True
    keeps: ClassVar[tuple[str, ...]] = (
        "won_above", "won_below", "spread", "weight", "weighted", "margin"
    )  # fmt: skip

    def check(self, problem: Problem) -> None:
        """Rewards must lie in a range."""
        only(self, problem, "binary", "bounded")

    def columns(self, problem: Problem) -> Mapping[str, Floats]:
        """The edges and the range."""
        return {**super().columns(problem), "width": constant(problem, width(problem))}

    @staticmethod
    def learn(
        reward: float, pulls: float, total: float, low: float, high: float, width: float,
        won_above: float, won_below: float, spread: float,
        weight: float, weighted: float, margin: float,
    ) -> tuple[float, float, float, float, float, float]:  # fmt: skip
        """Place both bets, see the reward, then learn from it."""
        x, n = min(max(reward / width, 0.0), 1.0), pulls + 1.0
        mean, variance = (0.5 + total / width) / n, (0.25 + spread) / n
        m = low / width
        won_above += math.log1p(bet_on(mean - m, variance, m) * (x - m))
        m = high / width
        won_below += math.log1p(bet_on(m - mean, variance, 1.0 - m) * (m - x))
        # The interval: weights as if to be read once, at the end.
        w = min(math.sqrt(_DESIGN / (variance * n * math.log1p(n))), 0.5)
        weight += w
        weighted += w * x
        margin += (x - mean) * (x - mean) * (-math.log1p(-w) - w)
        after = (0.5 + (total + reward) / width) / (n + 1.0)
        return won_above, won_below, spread + (x - after) * (x - after), weight, weighted, margin

    @staticmethod
    def log_above(total: float, low: float, won_above: float) -> float:
        """The wealth; infinite against an edge below the range, or at its end and seen above it."""
        return math.inf if low < 0.0 or (low == 0.0 and total > 0.0) else won_above

    @staticmethod
    def log_below(pulls: float, total: float, high: float, width: float, won_below: float) -> float:
        """The wealth; infinite against an edge above the range, or at its end and seen below it."""
        beyond = high > width or (high == width and rest(pulls, total / width) > 0.0)
        return math.inf if beyond else won_below

    def interval_of(
        self, rewards: Floats, state: Mapping[str, float], log_level: float
    ) -> tuple[float, float]:
        """What the bets do not reject, within the range."""
        size = state["width"]
        if not len(rewards):
            return 0.0, size
        low, high = wagers_interval(np.clip(rewards / size, 0.0, 1.0), log_level)
        return low * size, high * size

    def interval(self, state: Mapping[str, float], log_level: float) -> tuple[float, float]:
        """The empirical Bernstein interval, within the range."""
        if state["weight"] == 0.0:
            return 0.0, state["width"]
        centre = state["weighted"] / state["weight"]
        reach = (log_level + state["margin"]) / state["weight"]
        low, high = max(centre - reach, 0.0), min(centre + reach, 1.0)
        return low * state["width"], high * state["width"]
