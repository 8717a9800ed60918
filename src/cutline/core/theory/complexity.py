"""How hard a problem is, and how somebody who knew that would spend the budget."""

import math

import numpy as np

from cutline.core.problem import Problem
from cutline.core.tally import Floats, Ints
from cutline.core.theory.checks import Numbers, check_gaps, finite, whole


def ordered_complexity(gaps: Numbers) -> float:
    r"""H_2, the complexity of rules that reject arm by arm: :math:`\max_i i\,\Delta_{(i)}^{-2}`.

    The gaps in ascending order. Section 2.4 has the maximum (as H_{CSAR,2}), Table 1 prints a
    minimum, with which its own H* <= log(2K) H_2 fails. True is H_2 <= H <= (1 + 1/2 + ... + 1/K)
    H_2; plain log(K) in place of the sum is too small for every K. Infinite when a gap is 0.

    >>> ordered_complexity([0.5, 0.25])  # the larger of 1 * 16 and 2 * 4
    16.0
    """
    ascending = np.sort(check_gaps(gaps))
    if ascending[0] == 0:
        return math.inf
    return float(np.max(np.arange(1, len(ascending) + 1) * ascending**-2.0))


def slack(means: Numbers) -> float:
    """How far apart means may be and count as equal: 0.1 + 0.2 in binary is not quite 0.3."""
    return 1e-12 * max(1.0, float(np.max(np.abs(means))))


def best_arm_gaps(means: Numbers) -> Floats:
    """How far below the best mean the arms are that do not reach it; the best have no gap.

    >>> best_arm_gaps([0.5, 0.9, 0.7])
    array([0.4, 0.2])
    """
    mu = finite("means", means)
    best = float(np.max(mu))
    gaps: Floats = best - mu[mu < best - slack(mu)]
    return gaps


def best_arm_complexity(means: Numbers) -> float:
    r"""Theorem 3's complexity, :math:`H_{\mu^*} = \sum_{i:\mu_i\ne\mu^*}(\mu^*-\mu_i)^{-2}`.

    >>> round(best_arm_complexity([0.5, 0.9, 0.7]), 9)  # 1/0.4^2 + 1/0.2^2
    31.25
    """
    return float(np.sum(best_arm_gaps(means) ** -2.0))


def top_m_gaps(means: Numbers, m: int) -> Floats:
    """How far each arm is from changing sides in the set of the ``m`` best, in the order given.

    For an arm of the set its mean less the (m+1)th, for the others the mth less theirs. With
    m = 1 these are the gaps of the best-arm problem, the best arm's being that of the second.

    >>> top_m_gaps([0.5, 0.9, 0.7], m=2)
    array([0.2, 0.4, 0.2])
    """
    mu = finite("means", means)
    inside, outside = _around(mu, m)
    gaps: Floats = np.where(mu >= inside, mu - outside, inside - mu)
    return gaps


def separating_gaps(means: Numbers, m: int) -> Floats:
    """The :func:`top_m_gaps` that rules for the ``m`` best arms are told.

    Arms level with the edge have no gap of their own, and count with the smallest there is. The
    sum of their 1/gap**2 is Audibert et al.'s H_1 for m = 1.

    >>> separating_gaps([0.5, 0.9, 0.9], m=1)
    array([0.4, 0.4, 0.4])
    """
    gaps = top_m_gaps(means, m)
    apart = gaps[gaps > slack(means)]
    if not apart.size:
        raise ValueError("all arms have the same mean: none is better than another")
    return np.maximum(gaps, np.min(apart))


def top_m_threshold(means: Numbers, m: int) -> float:
    """The threshold that splits off the ``m`` best arms: midway between two means (section 3.2).

    At this threshold every arm is at least half its :func:`top_m_gaps` away, so the complexity is
    at most four times the TopM one, and Theorem 2 applies.

    >>> round(top_m_threshold([0.5, 0.9, 0.7], m=2), 12)
    0.6
    """
    inside, outside = _around(finite("means", means), m)
    if inside == outside:
        raise ValueError(
            f"no threshold splits off the {m} best arms: ranks {m} and {m + 1} share the "
            f"mean {inside!r}"
        )
    return inside + (outside - inside) / 2


def clearance(problem: Problem, means: Numbers) -> float:
    """How much of its gap an arm that counts has on its own side, at least: from 1/2 to 1.

    The smallest abs(mean - threshold) / gap among the arms outside the band. It is 1/2 for an arm
    on the edge of the band, and 1 where the precision is 0 (or no arm counts at all).

    >>> problem = Problem(arms=2, threshold=0.5, precision=0.1, rewards="binary")
    >>> clearance(problem, [0.45, 0.9])
    0.8
    """
    counts = problem.truth(means) != 0
    gaps = problem.gaps(means)
    counts &= gaps > 0
    ratios = 1 - problem.precisions[counts] / gaps[counts]
    return max(float(np.min(ratios, initial=1.0)), 0.5)  # below 1/2 it is rounding


def static_shares(gaps: Numbers) -> Floats:
    r"""The shares of the budget that keep :math:`T_k\Delta_k^2` alike: in proportion to 1/gap**2.

    The near-optimal allocation of section 2.3 for somebody who knows the gaps; APT tracks it.

    >>> static_shares([0.1, 0.2, 0.2])
    array([0.66666667, 0.16666667, 0.16666667])
    """
    wide = check_gaps(gaps)
    least = float(np.min(wide))
    if least == 0:
        raise ValueError(
            "gaps must be positive, got 0: no number of pulls settles an arm whose mean is the "
            "threshold, unless there is a precision"
        )
    weights = (least / wide) ** 2
    shares: Floats = weights / np.sum(weights)
    return shares


def static_allocation(gaps: Numbers, budget: int) -> Ints:
    """How often to pull each arm, in proportion to 1/gap**2, in whole pulls that spend the budget.

    Every arm is pulled at least once, since an arm without a pull has no answer: arms whose share
    is less than one pull get one, and the others divide the rest. Fractions are settled by the
    largest remainder, ties by the lowest number.

    >>> static_allocation([0.1, 0.2, 0.2], budget=100)
    array([67, 17, 16])
    >>> static_allocation([0.1, 10.0], budget=100)
    array([99,  1])
    """
    shares = static_shares(gaps)
    T = whole("budget", budget)
    if len(shares) > T:
        raise ValueError(f"budget must be one pull or more for each of {len(shares)} arms, got {T}")
    pulls = np.ones(len(shares), dtype=np.int64)
    large = np.ones(len(shares), dtype=bool)
    while True:
        rest = T - int(np.sum(~large))
        # Rounded, so that a whole number is one, and that equal fractions are equal.
        quota = np.round(rest * shares / np.sum(shares[large]), 9)
        if np.all(quota[large] >= 1):
            break
        large &= quota >= 1
    floors = np.floor(quota[large]).astype(np.int64)
    by_remainder = np.argsort(floors - quota[large], kind="stable")
    floors[by_remainder[: rest - int(np.sum(floors))]] += 1
    pulls[large] = floors
    return pulls


def _around(mu: Floats, m: int) -> tuple[float, float]:
    """The mth and the (m+1)th highest mean."""
    m = whole("m", m)
    if not 1 <= m < len(mu):
        raise ValueError(
            f"m must be from 1 to {len(mu) - 1}, got {m}: it is how many of {len(mu)} arms are "
            "looked for, and at least one has to stay out"
        )
    descending = np.sort(mu)[::-1]
    return float(descending[m - 1]), float(descending[m])
