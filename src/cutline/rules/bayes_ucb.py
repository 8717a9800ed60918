"""Bayes-UCB for thresholds: how far an arm may reach beyond the threshold, by its posterior."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cutline.core.problem import Problem
from cutline.core.tails import _beta_fraction, _log_beta_kernel, log_beta_mills
from cutline.core.tally import Floats
from cutline.rules.base import ClockedIndexRule
from cutline.rules.kinds import unit_width
from cutline.rules.posterior import inside

_EDGE = 700.0  # log-odds; e^-700 is near the least double


def shapes(pulls: float, total: float, tau: float, width: float) -> tuple[float, float, float]:
    """The posterior, seen so that the threshold is left behind downwards: its shapes and bar.

    An arm below the threshold is the mirror image of one above.

    >>> shapes(20.0, 13.0, 0.5, 1.0), shapes(20.0, 7.0, 0.5, 1.0)
    ((13.5, 7.5, 0.5), (13.5, 7.5, 0.5))
    """
    bar = tau / width
    ones = min(max(total / width, 0.0), pulls)
    a, b = bar + ones, (1.0 - bar) + (pulls - ones)
    above = total / pulls >= tau
    return a if above else b, b if above else a, bar if above else 1.0 - bar


def steepness(t: float, a: float, b: float) -> tuple[float, float, float]:
    """ln I of Beta(a, b) at the log-odds t, and its first two derivatives in t.

    >>> [round(value, 12) for value in steepness(0.0, 1.0, 1.0)]  # I = x = 1 / (1 + e^-t)
    [-0.69314718056, 0.5, -0.25]
    """
    x, y = 1.0 / (1.0 + math.exp(-t)), 1.0 / (1.0 + math.exp(t))
    if x <= (a + 1.0) / (a + b + 2.0):  # nearly always, for a lower quantile
        slope = _beta_fraction(x, y, a, b)
        log_mills = -math.log(slope)
    else:
        log_mills = log_beta_mills(x, y, a, b)
        slope = math.exp(-log_mills)
    return _log_beta_kernel(x, y, a, b) + log_mills, slope, slope * (a * y - b * x - slope)


def step_to(log_q: float, log_i: float, slope: float, bend: float) -> float:
    """How far it is from a point of known ln I and derivatives to where ln I is log_q, about.

    Halley's step where that is near. Else Newton's: ln I is concave in the log-odds, so it ends
    left of the root, from where steps climb to it.

    >>> round(step_to(math.log(0.49), math.log(0.5), 0.5, -0.25), 6), round(math.log(49 / 51), 6)
    (-0.040001, -0.040005)
    """
    change = log_q - log_i
    near = abs(change) < 0.5
    return change * slope / (slope * slope + (0.5 * change * bend if near else 0.0))


def lower_end(
    log_q: float, a: float, b: float, at: float, log_p: float, slope: float, bend: float
) -> float:
    """The quantile of Beta(a, b) at e^log_q, from what is known ``at`` other log-odds.

    Below 1e-304 it is 0. One or two looks at the posterior are enough where the chance there,
    e^log_p, is not far from that sought; ``at`` is not right of the middle, ln(a / b).

    >>> known = steepness(0.0, 1.0, 1.0)
    >>> round(lower_end(math.log(0.01), 1.0, 1.0, 0.0, *known), 12)
    0.01
    """
    t = at + step_to(log_q, log_p, slope, bend)
    for _ in range(50):
        t = min(max(t, -_EDGE), _EDGE)
        log_i, slope, bend = steepness(t, a, b)
        if t <= -_EDGE and log_i >= log_q:
            return 0.0
        t += step_to(log_q, log_i, slope, bend)
        if abs(log_i - log_q) < 1e-5:  # the next error would be of the order of 1e-15
            break
    return 1.0 / (1.0 + math.exp(-t))


@dataclass(frozen=True)
class BayesUCB(ClockedIndexRule):
    r"""Pull the arm that may lie furthest on the other side of the threshold.

    .. math:: -(\tau - l_i)\ \text{ where } \hat\mu_i \ge \tau,\ \text{else } -(h_i - \tau), \qquad
              q = \frac{1}{t (\ln T)^c}

    l and h are the quantiles at q and 1 - q of the posterior Beta(tau + S, 1 - tau + n - S) of a
    coin, which other rewards in a range, scaled to [0, 1], stand in for; t counts the pulls so far
    and T is the horizon. Bayes-UCB (Kaufmann, Cappe and Garivier 2012) made for thresholds in
    Radtke's thesis, with c = 1 best among 1/5, 1 and 5. It pays no heed to the precision. q is at
    most 1/2, and ln T at least 1, which matters for the first few pulls alone.

    Quantiles are slow: some microseconds a pull of 10 arms. They change little from step to
    step, so each is sought from the one that the arm had when it was pulled.

    >>> from cutline.core import Tally
    >>> a, b, bar = shapes(20.0, 13.0, 0.5, 1.0)
    >>> log_q = -math.log(100 * math.log(500))
    >>> round(bar - lower_end(log_q, a, b, 0.0, *steepness(0.0, a, b)), 10)
    0.1711005323
    """

    name = "bayes-ucb"
    keeps: ClassVar[tuple[str, ...]] = ("at", "log_p", "slope", "bend")
    needs_horizon: ClassVar[bool] = True

    c: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.c < 0:
            raise ValueError(f"c of Bayes-UCB must be 0 or more, got {self.c!r}")

    def check(self, problem: Problem) -> None:
        """Rewards in a range, thresholds inside it."""
        inside(self.name, problem)

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The range of the rewards, and c ln ln T."""
        later = self.c * math.log(max(math.log(budget), 1.0))
        return {"later": later, "width": unit_width(problem)}

    @staticmethod
    def learn(
        reward: float, pulls: float, total: float, tau: float, step: float,
        later: float, width: float, at: float,
    ) -> tuple[float, float, float, float]:  # fmt: skip
        """Some log-odds near the quantile after this pull, and what is known of ln I there."""
        a, b, _ = shapes(pulls + 1.0, total + reward, tau, width)
        log_q = -max(math.log(step + 1.0) + later, math.log(2.0))
        # Not right of the middle, where ln I may be flat: the arm may have changed sides.
        middle = math.log(a) - math.log(b)
        t = min(at, middle) if pulls > 0.0 else middle
        for _ in range(50):
            t = min(max(t, -_EDGE), _EDGE)
            log_p, slope, bend = steepness(t, a, b)
            if abs(log_p - log_q) < 0.25 or (t <= -_EDGE and log_p >= log_q):
                break
            t += step_to(log_q, log_p, slope, bend)
        return t, log_p, slope, bend

    @staticmethod
    def formula(
        pulls: float, total: float, tau: float, step: float, later: float, width: float,
        at: float, log_p: float, slope: float, bend: float,
    ) -> float:  # fmt: skip
        """Less the reach beyond the threshold, in steps of 2^-40.

        The last digits depend on where the search began; arms that are alike must tie whatever
        their past.
        """
        a, b, bar = shapes(pulls, total, tau, width)
        log_q = -max(math.log(step) + later, math.log(2.0))
        reach = bar - lower_end(log_q, a, b, at, log_p, slope, bend)
        return -math.floor(reach * 2.0**40 + 0.5) * 2.0**-40
