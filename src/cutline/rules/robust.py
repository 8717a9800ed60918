"""APT with estimates that one wild reward cannot move (Section 2.4: heavy tails).

Each works on y = x - tau in a few numbers an arm. What matters is where a reward starts to count as
wild. That is told in units of the ``spread`` of one reward, which you may know; without it the
spread is taken from the arm's own rewards, as (mean of sqrt|y|)^2: a wild reward moves that
little, and it follows arms of unequal noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from cutline.core.logarithm import log_positive
from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import IndexRule


def _positive(name: str, value: float | None) -> None:
    if value is not None and not value > 0:
        raise ValueError(f"{name} must be above 0, got {value!r}")


@dataclass(frozen=True)
class ClippedAPT(IndexRule):
    r"""APT with the truncated mean: an arm's s-th reward is cut at width * spread * sqrt(s).

    .. math:: \hat\mu_i = \tau + \frac1n \sum_{s \le n} \mathrm{clip}(x_s - \tau,\ \pm w \sqrt s)

    The cut grows as in Bubeck, Cesa-Bianchi and Lugosi (2013) for a finite variance, so what it
    costs in bias goes to 0. Their estimator drops what lies beyond the cut (``drop=1``); clipping
    has the same deviation bound and less bias. ``width=2`` costs nothing on normal rewards: at
    the mean's own scale hardly any is clipped.

    >>> rule = ClippedAPT(width=2.0, spread=1.0)
    >>> rule.learn(
    ...     reward=9.0, pulls=0.0, clipped=0.0, roots=0.0, tau=0.0, width=2.0, size=1.0, drop=0
    ... )
    (2.0, 3.0)
    """

    name = "apt-clipped"
    keeps: ClassVar[tuple[str, ...]] = ("clipped", "roots")
    needs_horizon: ClassVar[bool] = False

    width: float = 2.0
    spread: float | None = None
    drop: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive("width", self.width)
        _positive("spread", self.spread)

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The fields; a spread of 0 stands for one that is not known."""
        return {"width": self.width, "size": self.spread or 0.0, "drop": self.drop}

    @staticmethod
    def learn(
        reward: float,
        pulls: float,
        clipped: float,
        roots: float,
        tau: float,
        width: float,
        size: float,
        drop: float,
    ) -> tuple[float, float]:
        """Add the clipped reward, and the root of its size."""
        y = reward - tau
        n = pulls + 1.0
        roots += math.sqrt(abs(y))
        own = (roots / n) * (roots / n)
        cut = width * math.sqrt(n) * (size if size > 0.0 else own)
        inside = min(max(y, -cut), cut)
        beyond = 0.0 if drop > 0.0 else inside
        return clipped + (y if abs(y) <= cut else beyond), roots

    @staticmethod
    def estimate(pulls: float, clipped: float, tau: float) -> float:
        """The truncated mean."""
        return tau + clipped / max(pulls, 1.0)

    @staticmethod
    def formula(pulls: float, clipped: float, eps: float) -> float:
        """APT's index with the truncated mean."""
        return (abs(clipped) + pulls * eps) / math.sqrt(pulls)


@dataclass(frozen=True)
class CatoniAPT(IndexRule):
    r"""APT with Catoni's estimator, by its score at the threshold.

    .. math:: C = \sum_s \psi(\lambda_s (x_s - \tau)), \quad
              \psi(y) = \operatorname{sign}(y) \ln(1 + |y| + y^2/2), \quad
              \lambda_s = \frac{1}{\text{width} \cdot \text{spread} \cdot \sqrt s}

    Catoni's (2012) estimate is the root of the score, for which all rewards must be kept; its side
    of the threshold is the sign of C, which takes one number. C over the sum of the lambdas stands
    for the estimate less tau in the index. A small width is robust and biased.

    >>> rule = CatoniAPT(width=0.5, spread=1.0)
    >>> round(rule.learn(4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 1.0)[0], 10)  # ln(1 + 8 + 32)
    3.7135720667
    """

    name = "apt-catoni"
    keeps: ClassVar[tuple[str, ...]] = ("score", "rates", "roots")
    needs_horizon: ClassVar[bool] = False

    width: float = 1.0
    spread: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive("width", self.width)
        _positive("spread", self.spread)

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The fields; a spread of 0 stands for one that is not known."""
        return {"width": self.width, "size": self.spread or 0.0}

    @staticmethod
    def learn(
        reward: float,
        pulls: float,
        score: float,
        rates: float,
        roots: float,
        tau: float,
        width: float,
        size: float,
    ) -> tuple[float, float, float]:
        """Add the reward's part of the score."""
        y = reward - tau
        n = pulls + 1.0
        roots += math.sqrt(abs(y))
        own = max((roots / n) * (roots / n), 1e-100)
        rate = 1.0 / (width * math.sqrt(n) * (size if size > 0.0 else own))
        z = min(rate * abs(y), 1e9)
        part = log_positive(1.0 + z + 0.5 * z * z)
        mirrored = -part
        return score + (part if y >= 0.0 else mirrored), rates + rate, roots

    @staticmethod
    def estimate(score: float, rates: float, tau: float) -> float:
        """The threshold plus the score over the sum of the rates, on the side of Catoni's root."""
        return tau + score / max(rates, 1e-300)

    @staticmethod
    def formula(pulls: float, score: float, rates: float, eps: float) -> float:
        """APT's index with Catoni's estimate."""
        return math.sqrt(pulls) * (abs(score) / rates + eps)


def _order(a: float, b: float) -> tuple[float, float]:
    return min(a, b), max(a, b)


def median_of_nine(
    a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float
) -> float:
    """The middle one, by a network of exchanges without branches.

    >>> median_of_nine(9, 1, 8, 2, 7, 3, 6, 4, 5)
    5
    """
    b, c = _order(b, c)
    e, f = _order(e, f)
    h, i = _order(h, i)
    a, b = _order(a, b)
    d, e = _order(d, e)
    g, h = _order(g, h)
    b, c = _order(b, c)
    e, f = _order(e, f)
    h, i = _order(h, i)
    d = max(a, d)
    f = min(f, i)
    e, h = _order(e, h)
    g = max(d, g)
    e = max(b, e)
    c = min(c, f)
    e = min(e, h)
    e, c = _order(e, c)
    e = max(g, e)
    return min(e, c)


def median_of_means(
    pulls: float, total: float, b0: float, b1: float, b2: float, b3: float, b4: float,
    b5: float, b6: float, b7: float, b8: float, blocks: float,
) -> float:  # fmt: skip
    """The median of the blocks' means; blocks that are not used stand at both ends in turn."""
    whole = math.floor(pulls / blocks)
    extra = pulls - blocks * whole  # blocks with one more
    few = max(whole, 1.0)
    middle = median_of_nine(
        b0 / (few + (1.0 if extra > 0.0 else 0.0)),
        b1 / (few + (1.0 if extra > 1.0 else 0.0)),
        b2 / (few + (1.0 if extra > 2.0 else 0.0)),
        b3 / (few + (1.0 if extra > 3.0 else 0.0)) if blocks > 3.0 else -1e300,
        b4 / (few + (1.0 if extra > 4.0 else 0.0)) if blocks > 4.0 else 1e300,
        b5 / (few + (1.0 if extra > 5.0 else 0.0)) if blocks > 5.0 else -1e300,
        b6 / (few + (1.0 if extra > 6.0 else 0.0)) if blocks > 6.0 else 1e300,
        b7 / (few + (1.0 if extra > 7.0 else 0.0)) if blocks > 7.0 else -1e300,
        b8 / (few + (1.0 if extra > 8.0 else 0.0)) if blocks > 8.0 else 1e300,
    )
    return middle if pulls >= 2.0 * blocks else total / max(pulls, 1.0)


@dataclass(frozen=True)
class MedianAPT(IndexRule):
    """APT with the median of means (Alon, Matias and Szegedy 1996): rewards go to blocks in turn.

    ``blocks`` is an odd number up to 9. The median of the blocks' means is used once every block
    holds two rewards, the mean of all before: the blocks are then at most half of an arm's pulls.
    More blocks bear more wild rewards, and cost more on tame ones.

    >>> rule = MedianAPT(3)
    >>> rule.estimate(6.0, 1.0, *[1.0, 2.0, 90.0] + [0.0] * 6, 3.0)  # means 0.5, 1 and 45
    1.0
    """

    name = "apt-median"
    keeps: ClassVar[tuple[str, ...]] = ("b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8")

    blocks: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks not in (3.0, 5.0, 7.0, 9.0):
            raise ValueError(f"blocks must be 3, 5, 7 or 9, got {self.blocks!r}")

    @staticmethod
    def learn(
        reward: float, pulls: float, b0: float, b1: float, b2: float, b3: float, b4: float,
        b5: float, b6: float, b7: float, b8: float, blocks: float,
    ) -> tuple[float, float, float, float, float, float, float, float, float]:  # fmt: skip
        """Add the reward to the block whose turn it is."""
        turn = pulls - blocks * math.floor(pulls / blocks)
        return (
            b0 + (reward if turn == 0.0 else 0.0),
            b1 + (reward if turn == 1.0 else 0.0),
            b2 + (reward if turn == 2.0 else 0.0),
            b3 + (reward if turn == 3.0 else 0.0),
            b4 + (reward if turn == 4.0 else 0.0),
            b5 + (reward if turn == 5.0 else 0.0),
            b6 + (reward if turn == 6.0 else 0.0),
            b7 + (reward if turn == 7.0 else 0.0),
            b8 + (reward if turn == 8.0 else 0.0),
        )

    @staticmethod
    def estimate(
        pulls: float, total: float, b0: float, b1: float, b2: float, b3: float, b4: float,
        b5: float, b6: float, b7: float, b8: float, blocks: float,
    ) -> float:  # fmt: skip
        """The median of means."""
        return median_of_means(pulls, total, b0, b1, b2, b3, b4, b5, b6, b7, b8, blocks)

    @staticmethod
    def formula(
        pulls: float, total: float, b0: float, b1: float, b2: float, b3: float, b4: float,
        b5: float, b6: float, b7: float, b8: float, blocks: float, tau: float, eps: float,
    ) -> float:  # fmt: skip
        """APT's index with the median of means."""
        middle = median_of_means(pulls, total, b0, b1, b2, b3, b4, b5, b6, b7, b8, blocks)
        return math.sqrt(pulls) * (abs(middle - tau) + eps)
