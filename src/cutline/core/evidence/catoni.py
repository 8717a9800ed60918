"""Evidence from heavy-tailed rewards, of which only the variance is bounded."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from cutline.core.evidence.base import Evidence, constant, only
from cutline.core.problem import Problem
from cutline.core.tally import Floats

_DESIGN = 2.0 * math.log(2.0 / 0.05)  # the level at which the weights are best, near enough
_FAR = 3.0  # how many sqrt(variance) from the threshold the interval's weights are halved


def catoni_step(y: float, weight: float, variance: float) -> float:
    r"""What one reward, ``y`` beyond the edge, adds to the logarithm of the e-value.

    .. math:: \psi(\lambda y) - \lambda^2 v / 2,\qquad
        \psi(u) = \mathrm{sign}(u) \ln(1 + |u| + u^2/2)

    Since psi(u) is at most ln(1 + u + u^2/2), its exponential has a mean of at most 1 where the
    mean of y is 0, and psi rises, so the same holds where the mean is less.

    >>> round(catoni_step(2.0, 0.25, 4.0), 10) == round(math.log(1.625) - 0.125, 10)
    True
    """
    u = weight * y
    size = math.log1p(abs(u) + 0.5 * u * u)
    return (size if u >= 0.0 else -size) - 0.5 * weight * weight * variance


def delyon_step(y: float, weight: float, variance: float) -> float:
    r"""The same with a parabola: :math:`\lambda y - \lambda^2 y^2/6 - \lambda^2 v/3`.

    Its exponential has a mean of at most 1 where the mean of y is 0 (Delyon, 2009, as in Wang and
    Ramdas, 2023). It falls again for large y, but sums of it are known for all edges at once.

    >>> round(delyon_step(3.0, 0.5, 2.0), 10) == round(1.5 - 0.375 - 1 / 6, 10)
    True
    """
    return weight * y - weight * weight * (y * y / 6.0 + variance / 3.0)


def catoni_weight(pulls: float, variance: float, band: float) -> float:
    r"""How much the next reward counts, after so many ``pulls``.

    .. math:: \lambda_s = \sqrt{\frac{2\ln(2/0.05)}{v\,s\ln(1+s)}}

    for the s-th reward, the rate at which any gap is found in time; not more than 1 / sqrt(v), and
    not less than ``band`` / (4v): the best constant for an arm in the middle of a band so wide.

    >>> catoni_weight(0.0, 4.0, 0.0), catoni_weight(1e9, 4.0, 0.8)
    (0.5, 0.05)
    """
    s = pulls + 1.0
    weight = math.sqrt(_DESIGN / (variance * s * math.log1p(s)))
    return min(max(weight, 0.25 * band / variance), 1.0 / math.sqrt(variance))


@dataclass(frozen=True)
class Catoni(Evidence):
    """Catoni's supermartingale (Wang and Ramdas, 2023), for rewards of bounded variance.

    The sum of :func:`catoni_step` over the rewards, with the weights of :func:`catoni_weight`,
    which are set before each reward. One wild reward counts for no more than its logarithm.

    The interval uses the sums of :func:`delyon_step`, with weights that shrink with the distance of
    the mean in question from the threshold. It is wider than what the e-values themselves reject.

    >>> from cutline.core.evidence.base import Ledger, arm_columns
    >>> from cutline.core.rewards import Rewards
    >>> problem = Problem(arms=1, threshold=0.0, rewards=Rewards("heavy", variance=1.0))
    >>> ledger = Ledger(Catoni(), arm_columns(Catoni(), problem, 0))
    >>> for reward in [1.0, 3.0] * 25:
    ...     ledger.feed(reward)
    >>> round(ledger.log_above, 2), [round(end, 2) for end in ledger.interval(math.log(20))]
    (29.39, [1.56, 2.41])
    """

    name: ClassVar[str] = "catoni"
    assumes: ClassVar[str] = "no arm's variance exceeds the given one"
    keeps: ClassVar[tuple[str, ...]] = (
        "won_above", "won_below", "weight", "weighted", "weight2", "weighted2", "squares2"
    )  # fmt: skip

    def check(self, problem: Problem) -> None:
        """Heavy rewards with a bound on their variance."""
        only(self, problem, "heavy")
        if problem.rewards.variance is None:
            raise ValueError(
                "catoni needs a number that no arm's variance exceeds, as in "
                'Rewards("heavy", variance=1.0): without one nothing can be promised'
            )

    def columns(self, problem: Problem) -> Mapping[str, Floats]:
        """The edges and the bound on the variance."""
        self.check(problem)
        assert problem.rewards.variance is not None
        return {
            **super().columns(problem),
            "variance": constant(problem, problem.rewards.variance),
        }

    @staticmethod
    def learn(
        reward: float, pulls: float, low: float, high: float, variance: float,
        won_above: float, won_below: float,
        weight: float, weighted: float, weight2: float, weighted2: float, squares2: float,
    ) -> tuple[float, float, float, float, float, float, float]:  # fmt: skip
        """Both sums, and those of w, w x, w^2, w^2 x and w^2 x^2 for the interval."""
        w = catoni_weight(pulls, variance, high - low)
        wx = w * reward
        return (
            won_above + catoni_step(reward - low, w, variance),
            won_below + catoni_step(high - reward, w, variance),
            weight + w,
            weighted + wx,
            weight2 + w * w,
            weighted2 + w * wx,
            squares2 + wx * wx,
        )

    @staticmethod
    def log_above(won_above: float) -> float:
        """Against means of ``low`` or less."""
        return won_above

    @staticmethod
    def log_below(won_below: float) -> float:
        """Against means of ``high`` or more."""
        return won_below

    def interval(self, state: Mapping[str, float], log_level: float) -> tuple[float, float]:
        """The lower end for the rewards, and for the rewards turned round."""
        sums = [state[name] for name in ("weight", "weighted", "weight2", "weighted2", "squares2")]
        a, b, c, d, e = sums
        v = state["variance"]
        if a == 0.0:
            return -math.inf, math.inf
        return _lower_end(a, b, c, d, e, v, log_level), -_lower_end(a, -b, c, -d, e, v, log_level)


def _lower_end(
    w: float, wx: float, ww: float, wwx: float, wwxx: float, v: float, log_level: float
) -> float:
    """The largest mean below which Delyon's sum, with weights k w, rejects all.

    k = 1 / (1 + |mean| / far) depends on the mean in question alone, so the sum is as valid as that
    with weights w; it keeps k (x - mean) bounded, so means far away are rejected as well. In terms
    of k the sum, less the level, is a concave parabola p k^2 + q k + r on either side of 0.
    """
    far = _FAR * math.sqrt(v)
    both = far * far * ww / 6.0
    # Below 0: from k = 0, infinitely far away, to k = 1.
    r = far * w - both - log_level
    if r < 0.0:
        return -math.inf
    p = -(wwxx / 6.0 - far * wwx / 3.0 + both) - ww * v / 3.0
    q = wx - far * w - far * wwx / 3.0 + 2.0 * both
    root = math.sqrt(q * q - 4.0 * p * r)
    k = (q + root) / (-2.0 * p) if q > 0.0 else 2.0 * r / (root - q)
    if k < 1.0:
        return -far * (1.0 / k - 1.0) if k > 0.0 else -math.inf
    # Above 0: from k = 1 on outwards.
    r = -far * w - both - log_level
    p = -(wwxx / 6.0 + far * wwx / 3.0 + both) - ww * v / 3.0
    q = wx + far * w + far * wwx / 3.0 + 2.0 * both
    k = -2.0 * r / (q + math.sqrt(max(q * q - 4.0 * p * r, 0.0)))
    return far * (1.0 / min(k, 1.0) - 1.0)
