"""APT with estimates that one wild reward cannot move (Section 2.4: heavy tails).

Each works on y = x - tau in a few numbers an arm. What matters is where a reward starts to count as
wild. That is told in units of the ``spread`` of one reward, which you may know. Without it the
spread is taken from the arm's own rewards, as (mean of sqrt|y|)^2 with the largest counted as 0:
that one is kept apart, and cut by what the others are like. Alone it counts for next to nothing, so
its arm looks undecided and is pulled again. Were it to set its own cut, a wild first reward would
give the arm an index so large that it is hardly seen again.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from cutline.core.logarithm import log_unit
from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import IndexRule


def _positive(name: str, value: float | None) -> None:
    if value is not None and not value > 0:
        raise ValueError(f"{name} must be above 0, got {value!r}")


def cut_at(
    pulls: float, top: float, roots: float, width: float, size: float, apart: float
) -> float:
    """Where the last of some pulls is cut, in the units of the rewards; never quite at 0.

    With a known spread, ``size``, at width * size * sqrt(pulls). Else ``size`` is 0, ``apart`` is
    1, and it is width / 2 * own spread * pulls^(3/4): nobody has said that the variance is finite,
    and where it is not the square root cuts off too much for too long.

    >>> cut_at(pulls=16.0, top=9.0, roots=8.0, width=2.0, size=0.0, apart=1.0)  # (8/16)^2 * 8
    2.0
    """
    root = roots / pulls
    own = root * root * (0.5 * math.sqrt(math.sqrt(pulls)))
    # A trace of the largest is left, so that its side is not lost where it is all there is.
    return max(width * math.sqrt(pulls) * (size + apart * own), 1e-12 * abs(top), 1e-100)


@dataclass(frozen=True)
class ClippedAPT(IndexRule):
    r"""APT with the truncated mean: rewards count up to a cut that grows with the arm's pulls.

    .. math:: \hat\mu_i = \tau + \frac1n \sum_{s \le n} \mathrm{clip}(x_s - \tau,\ \pm w_s)

    With a known ``spread`` the s-th reward is cut at width * spread * sqrt(s), as in Bubeck,
    Cesa-Bianchi and Lugosi (2013) for a finite variance, so what it costs in bias goes to 0. Their
    estimator drops what lies beyond (``drop=1``); clipping has the same deviation bound and less
    bias. Without it see :func:`cut_at`; no theorem covers that.

    The defaults come from ``benchmarks/heavy_tails.py``. At 5 pulls an arm they cost something on
    normal and one-sided rewards, up to 20 where a one-sided variance is infinite; beyond, they err
    less than APT, soon ten times less, and normal rewards cost nothing. Half the width errs less
    still on symmetric tails, but more on one-sided ones: by a quarter on recorded round-trip times.

    >>> rule = ClippedAPT(width=2.0, spread=1.0)
    >>> known = {"tau": 0.0, "width": 2.0, "size": 1.0, "apart": 0.0, "drop": 0.0}
    >>> rule.learn(reward=9.0, pulls=3.0, clipped=1.5, top=0.0, roots=0.0, **known)  # 2 sqrt(4)
    (5.5, 0.0, 3.0, 5.5)
    """

    name = "apt-clipped"
    keeps: ClassVar[tuple[str, ...]] = ("clipped", "top", "roots", "whole")
    needs_horizon: ClassVar[bool] = False

    width: float = 2.0
    spread: float | None = None
    drop: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive("width", self.width)
        _positive("spread", self.spread)
        if self.drop not in (0.0, 1.0):
            raise ValueError(
                f"drop must be 1 (rewards beyond the cut count for nothing) or 0 (they count as "
                f"the cut), got {self.drop!r}"
            )

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The fields, as :func:`cut_at` takes them."""
        return {"width": self.width, "drop": self.drop, **_known(self.spread)}

    @staticmethod
    def learn(
        reward: float, pulls: float, clipped: float, top: float, roots: float,
        tau: float, width: float, size: float, apart: float, drop: float,
    ) -> tuple[float, float, float, float]:  # fmt: skip
        """Keep the largest apart; add the other, clipped, and the root of its size."""
        y = reward - tau
        is_top = apart * abs(y) > abs(top)
        largest = y if is_top else top
        other = top if is_top else y
        roots += math.sqrt(abs(other))
        cut = cut_at(pulls + 1.0, largest, roots, width, size, apart)
        beyond = (1.0 - drop) * min(max(other, -cut), cut)
        clipped += other if abs(other) <= cut else beyond
        return clipped, largest, roots, clipped + min(max(largest, -cut), cut)

    @staticmethod
    def estimate(pulls: float, whole: float, tau: float) -> float:
        """The truncated mean."""
        return tau + whole / max(pulls, 1.0)

    @staticmethod
    def formula(pulls: float, whole: float, eps: float) -> float:
        """APT's index with the truncated mean."""
        return (abs(whole) + pulls * eps) / math.sqrt(pulls)


def soft_cut(y: float, cut: float) -> float:
    """cut * psi(y / cut): y where it is small, and growing like the logarithm beyond the cut.

    >>> round(soft_cut(8.0, 2.0), 10), round(soft_cut(-8.0, 2.0), 10)  # 2 ln(1 + 4 + 8)
    (5.1298987149, -5.1298987149)
    """
    z = min(abs(y) / cut, 1e9)
    part = cut * log_unit(1.0 / (1.0 + z + 0.5 * z * z))
    mirrored = -part
    return mirrored if y >= 0.0 else part


@dataclass(frozen=True)
class CatoniAPT(IndexRule):
    r"""APT with Catoni's estimator, by its score at the threshold.

    .. math:: C = \sum_s \frac{\psi(\lambda_s (x_s - \tau))}{\lambda_s}, \quad
              \psi(y) = \operatorname{sign}(y) \ln(1 + |y| + y^2/2), \quad
              \lambda_s = \frac{1}{\text{width} \cdot \text{spread} \cdot \sqrt s}

    Catoni's (2012) estimate is the root of the score, for which all rewards must be kept; its side
    of the threshold is the sign of C, which takes one number. C / n stands for the estimate less
    tau in the index. Catoni has one lambda for all rewards; here it falls, so that the bias goes to
    0 (without a known ``spread``, see :func:`cut_at`). Dividing by it makes all rewards count
    alike. Else the first weigh most, which on normal rewards costs a third more errors at 10 pulls
    an arm, and without a known spread several times as many.

    A small width is robust and biased. ``width=0.5`` is about as good as :class:`ClippedAPT`:
    better on symmetric tails, while Pareto rewards of shape 1.5 take a third more pulls.

    >>> rule = CatoniAPT(width=0.5, spread=1.0)
    >>> score, _, _, _ = rule.learn(4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 0.0)
    >>> round(score, 10)  # ln(1 + 8 + 32) / 2
    1.8567860334
    """

    name = "apt-catoni"
    keeps: ClassVar[tuple[str, ...]] = ("score", "top", "roots", "whole")
    needs_horizon: ClassVar[bool] = False

    width: float = 0.5
    spread: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive("width", self.width)
        _positive("spread", self.spread)

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The fields, as :func:`cut_at` takes them."""
        return {"width": self.width, **_known(self.spread)}

    @staticmethod
    def learn(
        reward: float, pulls: float, score: float, top: float, roots: float,
        tau: float, width: float, size: float, apart: float,
    ) -> tuple[float, float, float, float]:  # fmt: skip
        """Keep the largest apart; add the other's part of the score, and the root of its size."""
        y = reward - tau
        is_top = apart * abs(y) > abs(top)
        largest = y if is_top else top
        other = top if is_top else y
        roots += math.sqrt(abs(other))
        cut = cut_at(pulls + 1.0, largest, roots, width, size, apart)
        score += soft_cut(other, cut)
        return score, largest, roots, score + soft_cut(largest, cut)

    @staticmethod
    def estimate(pulls: float, whole: float, tau: float) -> float:
        """The threshold plus the mean score, on the side of Catoni's root."""
        return tau + whole / max(pulls, 1.0)

    @staticmethod
    def formula(pulls: float, whole: float, eps: float) -> float:
        """APT's index with Catoni's estimate."""
        return (abs(whole) + pulls * eps) / math.sqrt(pulls)


def _known(spread: float | None) -> dict[str, float]:
    return {"size": spread or 0.0, "apart": 1.0 if spread is None else 0.0}


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
    pulls: float, b0: float, b1: float, b2: float, b3: float, b4: float,
    b5: float, b6: float, b7: float, b8: float, blocks: float,
) -> float:  # fmt: skip
    """The median of the blocks' means, where a block with fewer than two rewards counts as 0.

    Blocks that are not used stand at both ends in turn.
    """
    whole = math.floor(pulls / blocks)
    extra = pulls - blocks * whole  # blocks with one more
    few = 1.0 / whole if whole >= 2.0 else 0.0
    more = 1.0 / (whole + 1.0) if whole >= 1.0 else 0.0
    return median_of_nine(
        b0 * (more if extra > 0.0 else few),
        b1 * (more if extra > 1.0 else few),
        b2 * (more if extra > 2.0 else few),
        b3 * (more if extra > 3.0 else few) if blocks > 3.0 else -1e300,
        b4 * (more if extra > 4.0 else few) if blocks > 4.0 else 1e300,
        b5 * (more if extra > 5.0 else few) if blocks > 5.0 else -1e300,
        b6 * (more if extra > 6.0 else few) if blocks > 6.0 else 1e300,
        b7 * (more if extra > 7.0 else few) if blocks > 7.0 else -1e300,
        b8 * (more if extra > 8.0 else few) if blocks > 8.0 else 1e300,
    )


@dataclass(frozen=True)
class MedianAPT(IndexRule):
    """APT with the median of means (Alon, Matias and Szegedy 1996): rewards go to blocks in turn.

    ``blocks`` is an odd number up to 9, for which there is room. A block counts from its second
    reward on, so blocks are at most half of an arm's pulls; until then it stands at the threshold:
    an arm looks undecided, and is pulled again, until most of its blocks have spoken. The answer
    goes by the mean until all have. More blocks bear more wild rewards, and cost more on tame ones.

    >>> rule = MedianAPT(3)
    >>> known = {"pulls": 6.0, "total": 93.0, "tau": 0.0, "blocks": 3.0}
    >>> sums = dict(zip(MedianAPT.keeps, [1.0, 2.0, 90.0] + [0.0] * 6))
    >>> rule.estimate(**known, **sums)  # of 0.5, 1 and 45
    1.0
    """

    name = "apt-median"
    keeps: ClassVar[tuple[str, ...]] = ("b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8")

    blocks: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks not in (3.0, 5.0, 7.0, 9.0):
            raise ValueError(
                f"blocks must be 3, 5, 7 or 9, got {self.blocks!r}: a median needs an odd number, "
                "and an arm keeps room for 9"
            )

    @staticmethod
    def learn(
        reward: float, pulls: float, b0: float, b1: float, b2: float, b3: float, b4: float,
        b5: float, b6: float, b7: float, b8: float, blocks: float, tau: float,
    ) -> tuple[float, float, float, float, float, float, float, float, float]:  # fmt: skip
        """Add the reward, less the threshold, to the block whose turn it is."""
        y = reward - tau
        turn = pulls - blocks * math.floor(pulls / blocks)
        return (
            b0 + (y if turn == 0.0 else 0.0),
            b1 + (y if turn == 1.0 else 0.0),
            b2 + (y if turn == 2.0 else 0.0),
            b3 + (y if turn == 3.0 else 0.0),
            b4 + (y if turn == 4.0 else 0.0),
            b5 + (y if turn == 5.0 else 0.0),
            b6 + (y if turn == 6.0 else 0.0),
            b7 + (y if turn == 7.0 else 0.0),
            b8 + (y if turn == 8.0 else 0.0),
        )

    @staticmethod
    def estimate(
        pulls: float, total: float, b0: float, b1: float, b2: float, b3: float, b4: float,
        b5: float, b6: float, b7: float, b8: float, blocks: float, tau: float,
    ) -> float:  # fmt: skip
        """The median of means; the mean while a block has fewer than two rewards."""
        middle = tau + median_of_means(pulls, b0, b1, b2, b3, b4, b5, b6, b7, b8, blocks)
        mean = total / max(pulls, 1.0)
        return middle if pulls >= 2.0 * blocks else mean

    @staticmethod
    def formula(
        pulls: float, b0: float, b1: float, b2: float, b3: float, b4: float,
        b5: float, b6: float, b7: float, b8: float, blocks: float, eps: float,
    ) -> float:  # fmt: skip
        """APT's index with the median of means."""
        middle = median_of_means(pulls, b0, b1, b2, b3, b4, b5, b6, b7, b8, blocks)
        return math.sqrt(pulls) * (abs(middle) + eps)
