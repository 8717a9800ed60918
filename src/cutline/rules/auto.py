r"""The default rule: the likelihood ratio, one made-up reward at the threshold, and ½ ln n.

.. math:: (n_i + 1)\,d\Bigl(\frac{S_i + \tau}{n_i + 1},\ \tau \mp \epsilon\Bigr)
          + \tfrac12 \ln n_i

The first part is how badly the data fit the far side of the band, in the geometry of the rewards'
own family, which is what APT measures with a parabola. The made-up reward keeps an arm from being
given up after one or two extreme results. The last part is what counting costs: of two arms that
look equally sure, the one with more pulls has had more chances to look sure by luck, and is left
alone. It grows without end, so no arm is forgotten. There is nothing to set and no horizon to know.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from cutline.core.logarithm import log_positive, log_unit
from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import IndexRule, Rule
from cutline.rules.kinds import InUnits, in_a_range, only
from cutline.rules.robust import ClippedAPT
from cutline.rules.slr import (
    END,
    at_the_end,
    coin_ratio,
    count_ratio,
    far_edge,
    inner_coin_ratio,
    wait_ratio,
)


class Auto(InUnits, IndexRule):
    """The default: a rule for each kind of reward, parameter-free and anytime.

    ========================  ==========================================================
    binary                    :class:`Auto` itself: the likelihood ratio of coins
    bounded                   :class:`BoundedAuto`: of two-point laws with the same variance
    gaussian, sd known        :class:`GaussianAuto`: in units of each arm's own noise
    gaussian, sd not known    :class:`StudentAuto`: Student's ratio
    poisson, exponential      :class:`PoissonAuto`, :class:`ExponentialAuto`
    heavy                     :class:`ClippedAPT`: no family, so no likelihood
    ========================  ==========================================================

    See docs/rules.md for how it compares, and where it is weakest.

    >>> from cutline.core import Tally
    >>> at = {"threshold": 0.5, "precision": 0.1, "width": 1.0}
    >>> round(Auto().index(Tally(20, 13.0), **at), 10)  # 21 kl(13.5/21, 0.4) + ln(20)/2
    4.0120954107
    """

    name = "auto"

    def on(self, problem: Problem) -> Rule:
        """The rule for the problem's kind of reward."""
        kind = _KINDS[problem.rewards.kind]
        if problem.rewards.kind == "gaussian" and problem.rewards.sd is None:
            kind = StudentAuto
        if kind is Auto:
            kind = type(self) if _is_inside(problem, self.precision) else AutoAtEnds
        return self if kind is type(self) else kind(precision=self.precision)

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float, width: float) -> float:
        """Coins, where the band lies inside the range."""
        far = far_edge(pulls, total, tau, eps)
        return inner_coin_ratio(pulls + 1.0, total + tau, far, width) + 0.5 * log_positive(pulls)


class AutoAtEnds(Auto):
    """The same, where an edge of the band may be an end of the range: a bar of 0 or 1, say.

    Compiled it is a tenth slower, so it is played where it is needed, and live.

    >>> from cutline.core import Tally
    >>> at = {"threshold": 1.0, "width": 1.0}
    >>> never, once = (
    ...     AutoAtEnds().index(Tally(9, 9.0), **at),
    ...     AutoAtEnds().index(Tally(9, 8.0), **at),
    ... )
    >>> round(never, 10), once > 1e15  # ln(9)/2
    (1.0986122887, True)
    """

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float, width: float) -> float:
        """Coins."""
        far = far_edge(pulls, total, tau, eps)
        return coin_ratio(pulls + 1.0, total + tau, far, width) + 0.5 * log_positive(pulls)


def _is_inside(problem: Problem, precision: float | None) -> bool:
    """Whether all bands, with the rule's own precision, lie inside the range of the rewards."""
    low, high = problem.rewards.low, problem.rewards.high
    assert low is not None and high is not None
    width = high - low
    eps = problem.precisions if precision is None else precision
    tau = problem.thresholds - low
    return bool(np.all(tau - eps > END * width) and np.all((tau + eps) / width < 1.0))


def two_point_ratio(pulls: float, total: float, squares: float, far: float) -> float:
    """n kl of the law on 0 and one other point with these moments, against a mean of ``far``.

    Rewards lie between 0 and 1, and "far" is below their mean. Of all laws in [0, 1] with the same
    mean and variance, this one is the hardest to tell from one with a mean of ``far``: it is that
    of a coin whose upper side is worth (mean square) / mean. For coins it is their own ratio. A
    "far" of 1 is below no mean: all rewards are at that end, see ``at_the_end``.

    >>> from cutline.core.special import bernoulli_kl
    >>> abs(two_point_ratio(10.0, 6.0, 6.0, 0.5) - 10 * bernoulli_kl(0.6, 0.5)) < 1e-12
    True
    """
    inside = END < far < 1.0
    q = far if inside else 0.5
    mean = max(total / pulls, 1e-12)
    square = max(squares / pulls, mean * mean)
    likely = min(mean * mean / square, 1.0)
    claimed = min(max(q * mean / square, 1e-18), 1.0 - 1e-15)
    up = log_unit(max(likely, 1e-18)) - log_unit(claimed)
    down = log_unit(max(1.0 - likely, 1e-18)) - log_unit(1.0 - claimed)
    ratio = pulls * (likely * up + (1.0 - likely) * down)
    end = at_the_end(pulls, total / pulls if far < 0.5 else 1.0 - total / pulls)
    return max(ratio, 0.0) if inside else end


class BoundedAuto(InUnits, IndexRule):
    """The default for rewards in a range: as for coins, but rewards that vary less count more.

    The likelihood ratio is that of the two-point law with the same mean and variance, which is the
    hardest to settle among all such laws; see :func:`two_point_ratio`.

    >>> from cutline.core import Tally
    >>> steady, wild = (
    ...     Tally(4, 2.8, 1.96),
    ...     Tally(4, 2.8, 2.8),
    ... )  # mean 0.7, without spread and a coin
    >>> at = {"threshold": 0.5, "width": 1.0}
    >>> [round(BoundedAuto().index(tally, **at), 3) for tally in (steady, wild)]
    [1.854, 1.008]
    """

    name = "auto-bounded"

    def check(self, problem: Problem) -> None:
        """Rewards must lie in a range."""
        in_a_range(self.name, problem)

    @staticmethod
    def formula(
        pulls: float, total: float, squares: float, tau: float, eps: float, width: float
    ) -> float:
        """Turned round where the mean is below the threshold, so that the far edge is below it."""
        is_above = total / pulls >= tau
        n, t = pulls + 1.0, tau / width
        s, q = total / width + t, squares / (width * width) + t * t
        low, high = (tau - eps) / width, (tau + eps) / width
        far = low if is_above else 1.0 - high
        turned, turned_squares = n - s, n - 2.0 * s + q
        s, q = s if is_above else turned, q if is_above else turned_squares
        return two_point_ratio(n, s, q, far) + 0.5 * log_positive(pulls)


class GaussianAuto(IndexRule):
    """The default for normal rewards of known noise, alike for all arms or each its own.

    >>> from cutline.core import Tally
    >>> at = {"threshold": 0.25, "precision": 0.25}
    >>> round(GaussianAuto().index(Tally(4, 2.0), **at, rate=2.0), 10)  # 2 (1 + 5/4)^2 / 5 + ln 2
    2.7181471806
    """

    name = "auto-gaussian"
    keeps: ClassVar[tuple[str, ...]] = ("rate",)

    def check(self, problem: Problem) -> None:
        """Normal rewards whose noise is known."""
        only("gaussian", self, problem)
        if problem.sds is None:
            raise ValueError(
                'auto-gaussian needs the noise, as in Rewards("gaussian", sd=0.5): without it '
                "there is auto-student"
            )

    def start(self, problem: Problem, means: Sequence[float] | Floats | None) -> Floats:
        """1 / (2 sd^2) of every arm, which never changes."""
        assert problem.sds is not None
        rate: Floats = 0.5 / problem.sds**2
        return rate[np.newaxis]

    @staticmethod
    def learn(rate: float) -> float:
        """Nothing is learned."""
        return rate

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float, rate: float) -> float:
        """(n + 1) (gap)^2 / (2 sd^2) with the made-up reward, and 1/2 ln n."""
        n = pulls + 1.0
        gap = abs(total - pulls * tau) + n * eps
        return gap * gap * rate / n + 0.5 * log_positive(pulls)


class StudentAuto(IndexRule):
    r"""The default for normal rewards of unknown noise, each arm its own.

    .. math:: \frac{n - 1}{2} \ln\Bigl(1 + \frac{(n + 1)\,g^2}{Q}\Bigr) + \tfrac12 \ln n

    where g is the gap to the far edge and Q the sum of squares around the mean, both with the
    made-up reward. With n in place of n - 1 it would be the likelihood ratio, which takes two
    rewards that happen to agree for certainty; so written it is, near enough, -ln of the p-value of
    Student's test. It takes two pulls of every arm to begin with.

    >>> from cutline.core import Tally
    >>> tally = Tally(pulls=3, total=3.0, squares=5.0)  # mean 1, squares around it 2
    >>> round(StudentAuto().index(tally, threshold=0.0), 10)  # ln(1 + 4 (3/4)^2 / 2.75) + ln(3)/2
    1.1471431451
    """

    name = "auto-student"
    first_pulls: ClassVar[int] = 2

    @staticmethod
    def formula(pulls: float, total: float, squares: float, tau: float, eps: float) -> float:
        """The made-up reward adds n / (n + 1) times its squared distance from the mean to Q."""
        mean, n = total / pulls, pulls + 1.0
        away = abs(mean - tau)
        gap = away * (pulls / n) + eps
        far = n * gap * gap
        around = max(squares - pulls * mean * mean, 0.0) + away * away * (pulls / n)
        around = max(around, 1e-12 * far)
        share = far / around if around > 0.0 else 0.0
        return 0.5 * (pulls - 1.0) * log_positive(1.0 + share) + 0.5 * log_positive(pulls)


class PoissonAuto(IndexRule):
    """The default for counts.

    >>> from cutline.core import Tally
    >>> round(PoissonAuto().index(Tally(1, 3.0), threshold=1.0), 10)  # 2 (2 ln 2 - 1)
    0.7725887222
    """

    name = "auto-poisson"

    def check(self, problem: Problem) -> None:
        """Counts."""
        only("poisson", self, problem)

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float) -> float:
        """Sums are counted from 0."""
        far = far_edge(pulls, total, tau, eps)
        return count_ratio(pulls + 1.0, total + tau, far) + 0.5 * log_positive(pulls)


class ExponentialAuto(IndexRule):
    """The default for waiting times.

    >>> from cutline.core import Tally
    >>> round(ExponentialAuto().index(Tally(1, 3.0), threshold=1.0), 10)  # 2 (1 - ln 2)
    0.6137056389
    """

    name = "auto-exponential"

    def check(self, problem: Problem) -> None:
        """Waiting times."""
        only("exponential", self, problem)

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float) -> float:
        """Sums are counted from 0."""
        far = far_edge(pulls, total, tau, eps)
        return wait_ratio(pulls + 1.0, total + tau, far) + 0.5 * log_positive(pulls)


_KINDS: dict[str, type[Rule]] = {
    "binary": Auto,
    "bounded": BoundedAuto,
    "gaussian": GaussianAuto,
    "poisson": PoissonAuto,
    "exponential": ExponentialAuto,
    "heavy": ClippedAPT,
}
