"""Error probabilities of rules that do not look at the rewards, without a single game.

A rule that fixes its pulls in advance leaves the arms independent given how often each was
pulled. So the chance that every arm is answered rightly needs only `correct[i, n]`, the chance
that arm i is after n pulls, and the law of the pull counts. These numbers are what a simulation
is checked against before an adaptive rule is trusted.
"""

import math

import numpy as np
import numpy.typing as npt

from cutline.core.special import normal_cdf
from cutline.core.tally import Floats


def binary_correct(mean: float, threshold: float, truth: int, most: int) -> Floats:
    """Chance that a Bernoulli arm is answered rightly after n = 0, ..., `most` pulls.

    The arm is accepted when successes / n >= threshold, in floating point as in a game. `truth`
    is +1 for an arm to accept, -1 for one to reject, 0 for one where either answer will do. An
    arm never pulled counts as wrong, unless it is free.

    >>> binary_correct(0.5, threshold=0.5, truth=1, most=3)
    array([0.  , 0.5 , 0.75, 0.5 ])
    """
    if not 0 <= mean <= 1:
        raise ValueError(f"mean must be from 0 to 1, got {mean!r}: it is a chance of success")
    correct = _unseen(truth, most)
    if truth == 0:
        return correct
    chance = np.zeros(most + 1)  # of s successes; every step adds positive terms only
    chance[0] = 1.0
    for n in range(1, most + 1):
        chance[1 : n + 1] = (1 - mean) * chance[1 : n + 1] + mean * chance[:n]
        chance[0] *= 1 - mean
        least = np.searchsorted(np.arange(n + 1) / n, threshold)  # successes to be accepted
        rejected, accepted = chance[:least].sum(), chance[least : n + 1].sum()
        right, wrong = (accepted, rejected) if truth > 0 else (rejected, accepted)
        # the smaller of the two has the smaller rounding error
        correct[n] = right if right < wrong else 1 - wrong
    return correct


def gaussian_correct(mean: float, sd: float, threshold: float, truth: int, most: int) -> Floats:
    """Chance that a Gaussian arm is answered rightly after n = 0, ..., `most` pulls.

    `sd` is the standard deviation of one reward; the rest is as in `binary_correct`.

    >>> gaussian_correct(0.65, sd=0.5, threshold=0.5, truth=1, most=2).round(4)
    array([0.    , 0.6179, 0.6643])
    """
    if not sd > 0:
        raise ValueError(f"sd must be above 0, got {sd!r}: it is the spread of one reward")
    correct = _unseen(truth, most)
    if truth != 0:
        gap = truth * (mean - threshold)
        for n in range(1, most + 1):
            correct[n] = normal_cdf(math.sqrt(n) * gap / sd)
    return correct


def static_error(correct: npt.ArrayLike, pulls: npt.ArrayLike) -> float:
    """Chance of any wrong arm when every arm has a number of pulls fixed beforehand.

    `correct` has one row per arm and one column per pull count, from 0 on.

    >>> static_error([[0, 0.5, 0.75], [0, 0.5, 0.75]], pulls=[1, 2])  # 1 - 0.5 * 0.75
    0.625
    """
    table, counts = _table(correct, 0), np.asarray(pulls)
    if counts.shape != table.shape[:1]:
        raise ValueError(f"a number of pulls for each of {len(table)} arms is wanted")
    _enough(table.shape[1], int(counts.max()), int(counts.sum()))
    wrong = 1.0 - table[np.arange(len(table)), counts]
    return float(-np.expm1(np.sum(np.log1p(-wrong)))) if np.all(wrong < 1) else 1.0


def round_robin_error(correct: npt.ArrayLike, budget: int) -> float:
    r"""Chance of any wrong arm when the pulls go round the arms in turn.

    With budget = qK + r, every arm has q pulls and a random r of the K arms have one more:

    .. math:: P(\text{all right}) = [z^r] \prod_i (c_i[q] + z\,c_i[q+1]) \Big/ \binom{K}{r}

    `correct` has one row per arm and one column per pull count, from 0 on.

    >>> round_robin_error([[0, 0.5, 0.75], [1, 1, 1]], budget=1)  # arm 0 is seen every other game
    0.75
    """
    table = _table(correct, budget)
    arms, columns = table.shape
    each, extra = divmod(budget, arms)
    _enough(columns, each + (extra > 0), budget)
    share = extra / arms  # any share in (0, 1) would do: only its total, `extra`, is looked at
    more = np.array([1 - share, share]) if extra else np.ones(1)
    return _error_given_total(table[:, each : each + len(more)], more, extra)


def uniform_error(correct: npt.ArrayLike, budget: int) -> float:
    r"""Chance of any wrong arm when each pull goes to an arm drawn uniformly, independently.

    The counts are multinomial, that is, independent Poisson ones given their sum:

    .. math:: P(\text{all right}) = T!\,[z^T] \prod_i \sum_n c_i[n] \frac{(z/K)^n}{n!}

    >>> uniform_error([[0, 0.5, 0.75], [1, 1, 1]], budget=2)  # 1 - (2 * 0.5 + 1 * 0.75) / 4
    0.5625
    """
    table = _table(correct, budget)
    arms, columns = table.shape
    _enough(columns, budget, budget)
    rate = max(budget, 1) / arms
    logs = [n * math.log(rate) - rate - math.lgamma(n + 1) for n in range(budget + 1)]
    weights = np.exp(logs)
    weights = weights[: np.flatnonzero(weights > 1e-100)[-1] + 1]  # for speed; no digit changes
    return _error_given_total(table[:, : len(weights)], weights, budget)


def _error_given_total(correct: Floats, weights: Floats, total: int) -> float:
    """Chance of any wrong arm when counts are independent, with these weights, given their sum."""
    right, wrong = np.ones(1), np.zeros(1)  # weight of each sum, by whether an arm was wrong yet
    for row in correct:  # wrong is added up, not taken from 1, so small errors keep their digits
        wrong = np.convolve(wrong, weights) + np.convolve(right, weights * (1 - row))
        right = np.convolve(right, weights * row)
        right, wrong = right[: total + 1], wrong[: total + 1]
    return float(wrong[total] / (right[total] + wrong[total]))


def _unseen(truth: int, most: int) -> Floats:
    if truth not in (-1, 0, 1):
        raise ValueError(f"truth must be 1 (accept), -1 (reject) or 0 (either), got {truth!r}")
    if most < 0:
        raise ValueError(f"most must be 0 or more, got {most!r}: it is the largest pull count")
    return np.full(most + 1, 1.0 if truth == 0 else 0.0)


def _table(correct: npt.ArrayLike, budget: int) -> Floats:
    table = np.asarray(correct, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"correct must have a row per arm, a column per count, got {table.shape}")
    if budget < 0:
        raise ValueError(f"budget must be 0 or more, got {budget!r}: it is the number of pulls")
    return table


def _enough(columns: int, needed: int, budget: int) -> None:
    if columns <= needed:
        raise ValueError(
            f"a budget of {budget} can give one arm {needed} pulls, but correct stops at "
            f"{columns - 1}: make it with most={needed}"
        )
