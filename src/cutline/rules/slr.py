"""Likelihood-ratio rules: APT's idea in the geometry of an exponential family (Section 2.4)."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from cutline.core.logarithm import log_again, log_positive, log_unit
from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import ClockedIndexRule, IndexRule, Rule
from cutline.rules.kinds import InUnits, in_a_range, only

PROVEN = 1e15  # beyond every ratio that rewards give; times the pulls, so that arms take turns
UNTOUCHED = 2.0**-60  # a ratio of 0, but for the order: fewest pulls first
END = 1e-18  # an edge this near to 0 counts as 0


def at_the_end(pulls: float, away: float) -> float:
    """The ratio against an edge at the end of the range, or past it, where no mean lies beyond.

    ``away`` is the share of the rewards that is not at that end; what is left by rounding is none.
    Then the arm may well be at the end: a ratio of 0, and of two such arms the one with fewer pulls
    goes first. A single other reward proves that it is not: such arms come after all others, and
    take turns where all are.

    >>> at_the_end(10.0, 0.0) < at_the_end(20.0, 0.0) < 1e-15
    True
    >>> PROVEN < at_the_end(10.0, 0.1) < at_the_end(20.0, 0.05)
    True
    """
    return pulls * (PROVEN if away > 1e-9 else UNTOUCHED)


def coin_ratio(pulls: float, total: float, far: float, width: float) -> float:
    """n kl(mean, far edge of the band) of rewards between 0 and ``width``.

    Where the far edge is an end of the range, see :func:`at_the_end`.
    """
    edge = far / width
    inside = END < edge < 1.0
    q = edge if inside else 0.5
    ones = total / width
    share = min(max(ones / pulls, 0.0), 1.0)
    # 0 ln 0 = 0; a share this close to 0 or 1 has no weight
    rest = 1.0 - share
    likely = log_unit(max(share, 1e-18)) - log_again(q)
    unlikely = log_unit(max(rest, 1e-18)) - log_again(1.0 - q)
    ratio = ones * likely + (pulls - ones) * unlikely
    end = at_the_end(pulls, share if edge < 0.5 else rest)
    return max(ratio, 0.0) if inside else end


def inner_coin_ratio(pulls: float, total: float, far: float, width: float) -> float:
    """The same for edges inside the range, a tenth quicker when compiled; infinite elsewhere."""
    edge = far / width
    inside = 0.0 < edge < 1.0
    q = edge if inside else 0.5
    ones = total / width
    share = min(max(ones / pulls, 0.0), 1.0)
    likely = log_unit(max(share, 1e-18)) - log_again(q)
    unlikely = log_unit(max(1.0 - share, 1e-18)) - log_again(1.0 - q)
    ratio = ones * likely + (pulls - ones) * unlikely
    return max(ratio, 0.0) if inside else math.inf


def count_ratio(pulls: float, total: float, far: float) -> float:
    """n d(mean, far edge) of counts; for an edge at 0 see :func:`at_the_end`."""
    inside = far > END
    q = far if inside else 1.0
    mean = total / pulls
    ratio = total * (log_positive(max(mean, 1e-18)) - log_positive(q)) - total + pulls * q
    end = at_the_end(pulls, mean)
    return max(ratio, 0.0) if inside else end


def wait_ratio(pulls: float, total: float, far: float) -> float:
    """n d(mean, far edge) of waiting times; a mean of 0 counts as a tiny one.

    For an edge at 0 see :func:`at_the_end`.
    """
    inside = far > 0.0
    q = far if inside else 1.0
    share = min(max(total / (pulls * q), 1e-18), 1e18)
    end = at_the_end(pulls, 1.0 if total > 0.0 else 0.0)
    return max(pulls * (share - 1.0 - log_positive(share)), 0.0) if inside else end


def far_edge(pulls: float, total: float, tau: float, eps: float) -> float:
    """The edge of the band on the side where the arm's mean is not."""
    low, high = tau - eps, tau + eps
    return low if total / pulls >= tau else high


class SLR(InUnits, IndexRule):
    r"""Pull the arm whose data could best come from the other side of the band.

    .. math:: n_i\,d(\hat\mu_i,\ \tau \mp \epsilon)

    d is the Kullback-Leibler divergence of the rewards' family, taken to the far edge of the band.
    On a problem it becomes the rule for its kind of reward: coins for rewards in a range
    (binary, bounded), and :class:`PoissonSLR`, :class:`ExponentialSLR`, :class:`GaussianSLR`. With
    a common variance the Gaussian one makes the choices of APT; where arms are known to differ in
    noise it is :class:`UnequalGaussianSLR`; for noise that is not known see :class:`SLRV`.

    >>> from cutline.core import Tally
    >>> round(SLR().index(Tally(20, 13.0), threshold=0.5, precision=0.1, width=1.0), 10)
    2.5386261
    """

    name = "slr"

    def on(self, problem: Problem) -> Rule:
        """The rule for the problem's kind of reward."""
        kinds = {"poisson": PoissonSLR, "exponential": ExponentialSLR, "gaussian": GaussianSLR}
        kind = kinds.get(problem.rewards.kind)
        return self if kind is None else kind(precision=self.precision).on(problem)

    def check(self, problem: Problem) -> None:
        """Heavy-tailed rewards have no family."""
        _refuse_heavy(self.name, problem)

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float, width: float) -> float:
        """The likelihood ratio of a coin."""
        return coin_ratio(pulls, total, far_edge(pulls, total, tau, eps), width)


class PoissonSLR(IndexRule):
    """The likelihood ratio of counts: d(p, q) = p ln(p/q) + q - p.

    >>> from cutline.core import Tally
    >>> round(PoissonSLR().index(Tally(10, 30.0), threshold=2.0), 10)  # 10 (3 ln 1.5 - 1)
    2.1639532432
    """

    name = "slr-poisson"

    def check(self, problem: Problem) -> None:
        """Counts."""
        only("poisson", self, problem)

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float) -> float:
        """Sums are counted from 0."""
        return count_ratio(pulls, total, far_edge(pulls, total, tau, eps))


class ExponentialSLR(IndexRule):
    """The likelihood ratio of waiting times: d(p, q) = p/q - 1 - ln(p/q).

    >>> from cutline.core import Tally
    >>> round(ExponentialSLR().index(Tally(10, 20.0), threshold=1.0), 10)  # 10 (1 - ln 2)
    3.0685281944
    """

    name = "slr-exponential"

    def check(self, problem: Problem) -> None:
        """Waiting times."""
        only("exponential", self, problem)

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float) -> float:
        """Sums are counted from 0."""
        return wait_ratio(pulls, total, far_edge(pulls, total, tau, eps))


class GaussianSLR(IndexRule):
    """The likelihood ratio of normal rewards with one variance: APT's index, squared.

    The variance is a common factor and drops out of every comparison; it is left out. On a problem
    that knows the noise of every arm, and where it differs, it is :class:`UnequalGaussianSLR`.

    >>> from cutline.core import Tally
    >>> GaussianSLR().index(Tally(4, 2.0), threshold=0.25, precision=0.25)  # 4 (0.25 + 0.25)^2 / 2
    0.5
    """

    name = "slr-gaussian"

    def on(self, problem: Problem) -> Rule:
        """The rule for arms that differ in noise, where they are known to."""
        sds = problem.sds
        unequal = sds is not None and bool(np.any(sds != sds[0]))
        return UnequalGaussianSLR(precision=self.precision) if unequal else self

    def check(self, problem: Problem) -> None:
        """Normal rewards."""
        only("gaussian", self, problem)

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float) -> float:
        """n (gap)^2 / 2, in units of the variance."""
        gap = abs(total - pulls * tau) + pulls * eps
        return gap * gap / (2.0 * pulls)


class UnequalGaussianSLR(IndexRule):
    r"""The likelihood ratio of normal rewards whose known variances differ between arms.

    .. math:: \frac{n_i (|\hat\mu_i - \tau| + \epsilon)^2}{2 \sigma_i^2}

    The standard deviations are those of the problem's rewards; where it names none they count as 1,
    and the choices are those of :class:`GaussianSLR`.

    >>> from cutline.core import Tally
    >>> at = {"threshold": 0.25, "precision": 0.25}
    >>> UnequalGaussianSLR().index(Tally(4, 2.0), **at, rate=2.0)  # sd 1/2: rate 1/(2 sd^2)
    2.0
    """

    name = "slr-gaussian-unequal"
    keeps: ClassVar[tuple[str, ...]] = ("rate",)

    def check(self, problem: Problem) -> None:
        """Normal rewards."""
        only("gaussian", self, problem)

    def start(self, problem: Problem, means: Sequence[float] | Floats | None) -> Floats:
        """1 / (2 sd^2) of every arm, which never changes."""
        sds = problem.sds
        known = np.ones(len(problem.arms)) if sds is None else sds
        rate: Floats = 0.5 / known**2
        return rate[np.newaxis]

    @staticmethod
    def learn(rate: float) -> float:
        """Nothing is learned."""
        return rate

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float, rate: float) -> float:
        """n (gap)^2 times the rate."""
        gap = abs(total - pulls * tau) + pulls * eps
        return gap * gap * rate / pulls


class SLRV(IndexRule):
    r"""The likelihood ratio of normal rewards whose variances are not known, each arm its own.

    .. math:: \tfrac{n_i}{2} \ln \frac{\sum (x - e)^2}{\sum (x - \hat\mu_i)^2}

    where e is the far edge of the band (Radtke's SLR-2D, with the band). It takes two pulls of
    every arm to begin with; rewards that do not vary count as varying by a millionth of the gap.

    >>> from cutline.core import Tally
    >>> tally = Tally(pulls=4, total=4.0, squares=8.0)  # mean 1, squares around it 4
    >>> round(SLRV().index(tally, threshold=0.0), 10)  # 4/2 ln(8/4)
    1.3862943611
    """

    name = "slr-v"
    first_pulls: ClassVar[int] = 2

    @staticmethod
    def formula(pulls: float, total: float, squares: float, tau: float, eps: float) -> float:
        """With sums of squares around the mean Q, and the gap d: n/2 ln(1 + n d^2 / Q)."""
        mean = total / pulls
        gap = abs(mean - tau) + eps
        away = pulls * gap * gap
        around = max(squares - pulls * mean * mean, 1e-12 * away)
        share = away / around if around > 0.0 else 0.0
        return 0.5 * pulls * log_positive(1.0 + share)


class SLRD(InUnits, ClockedIndexRule):
    """The likelihood-ratio rule with forced exploration, for rewards in a range (Radtke's SLR-D).

    The arm with the fewest pulls goes first while it has less than sqrt(t) - K/2 of them, so no arm
    is locked out by one extreme sample. Because of that floor the index depends on the step.

    >>> SLRD.formula(pulls=20.0, ratio=2.5, arms=10.0, step=20.0)
    2.5
    >>> SLRD.formula(pulls=20.0, ratio=2.5, arms=10.0, step=1000.0) < 0
    True
    """

    name = "slr-d"
    keeps: ClassVar[tuple[str, ...]] = ("ratio",)

    def check(self, problem: Problem) -> None:
        """Rewards must lie in a range."""
        in_a_range(self.name, problem)

    @staticmethod
    def learn(
        reward: float, pulls: float, total: float, tau: float, eps: float, width: float
    ) -> float:
        """The likelihood ratio, kept: it changes with a pull of the arm alone."""
        n, s = pulls + 1.0, total + reward
        return coin_ratio(n, s, far_edge(n, s, tau, eps), width)

    @staticmethod
    def formula(pulls: float, ratio: float, arms: float, step: float) -> float:
        """The likelihood ratio, or fewest pulls first where the floor is not reached."""
        floor = math.sqrt(step) - arms / 2.0
        return pulls - floor if pulls < floor else ratio


def _refuse_heavy(name: str, problem: Problem) -> None:
    if problem.rewards.kind == "heavy":
        raise ValueError(
            f"{name} needs a family of distributions, and heavy-tailed rewards have none: "
            "see apt-clipped, apt-catoni and apt-median"
        )
