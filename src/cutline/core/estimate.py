"""How likely an answer is wrong if one believes a model: an estimate, not a guarantee.

Each arm is given the chance, under the usual reference prior of its family, that its mean lies
beyond the band on the side it was not put on. A posterior does not care how the pulls were chosen,
but it leans on the prior: with few pulls, or where most arms crowd one side, it can be off, either
way. What is promised is the error bound of a verdict; docs/evidence.md shows how well the estimate
does.
"""

import math
from collections.abc import Callable, Sequence

from cutline.core.problem import Problem
from cutline.core.tails import (
    log_beta_cdf,
    log_beta_sf,
    log_gamma_cdf,
    log_gamma_sf,
    log_normal_cdf,
    log_student_cdf,
)
from cutline.core.tally import Tallies, Tally

_ALIKE = 1e-12  # a sum of squares around the mean this small beside that around 0 is rounding
_HALF = math.log(0.5)


def wrong_chances(problem: Problem, tallies: Tallies, sides: Sequence[bool | None]) -> list[float]:
    """For every arm the model's chance that it counts and stands on the wrong side.

    >>> coins = Problem(arms=1, threshold=0.5, precision=0.1, rewards="binary")
    >>> [round(p, 6) for p in wrong_chances(coins, Tallies.of([Tally(20, 13.0)]), [True])]
    [0.011955]
    """
    arms = range(len(problem.arms))
    return [arm_wrong_chance(problem, arm, tallies[arm], sides[arm]) for arm in arms]


def arm_wrong_chance(problem: Problem, arm: int, tally: Tally, side: bool | None) -> float:
    """The model's chance that one arm counts and stands on the wrong side.

    Of an arm never seen it says 1/2; where no mean lies beyond the band on that side it says 0.
    """
    n = float(tally.pulls)
    if side is None or n == 0:
        return 0.5
    # Wrong is what lies beyond the far edge: below the lower one for an arm put above.
    sign = 1.0 if side else -1.0
    tau = problem.threshold[arm] - tally.origin
    edge = tau - sign * problem.precision[arm]
    low, high, sd = problem.rewards.low, problem.rewards.high, problem.rewards.sd
    assert low is not None and high is not None
    if not low < edge + tally.origin < high:
        return 0.0  # no mean lies beyond
    own = sd[arm] if isinstance(sd, Sequence) else sd
    log = _MODELS[problem.rewards.kind](n, tally.total, tally.squares, edge, side, high - low, own)
    return math.exp(min(log, 0.0))


def wrong_chance(chances: Sequence[float]) -> float:
    """The chance that any arm is wrong, the arms having nothing to do with one another.

    >>> wrong_chance([0.1, 0.5])
    0.55
    """
    return -math.expm1(sum(math.log1p(-min(p, 1.0 - 1e-16)) for p in chances))


def _coin(
    n: float, total: float, squares: float, edge: float, side: bool, width: float, sd: float | None
) -> float:
    """Jeffreys' Beta(1/2, 1/2)."""
    ones = min(total / width, n)
    tail = log_beta_cdf if side else log_beta_sf
    return tail(edge / width, ones + 0.5, n - ones + 0.5)


def _normal(
    n: float, total: float, squares: float, edge: float, side: bool, width: float, sd: float | None
) -> float:
    """A flat prior on the mean; on the logarithm of the spread too where it is not known.

    Rewards that are all alike show no spread, as those on a coarse scale may be. They are then
    taken for what each is by itself, on one side of the edge or the other: half a chance each.
    """
    beyond = (edge - total / n) * (1.0 if side else -1.0) * math.sqrt(n)
    if sd is not None:
        return log_normal_cdf(beyond / sd)
    around = squares - total * total / n
    if n < 2.0 or around <= _ALIKE * squares:
        none = -n * math.log(2.0)
        return none if beyond < 0.0 else math.log1p(-math.exp(none)) if beyond > 0.0 else _HALF
    return log_student_cdf(beyond / math.sqrt(around / (n - 1.0)), n - 1.0)


def _bounded(
    n: float, total: float, squares: float, edge: float, side: bool, width: float, sd: float | None
) -> float:
    """As for normal rewards of unknown spread, with one made-up squared error of (width / 2)^2.

    It keeps a few rewards that happen to agree from being taken for certainty.
    """
    around = max(squares - total * total / n, 0.0) + 0.25 * width * width
    beyond = (edge - total / n) * (1.0 if side else -1.0) * math.sqrt(n)
    return log_student_cdf(beyond / math.sqrt(around / n), n)


def _count(
    n: float, total: float, squares: float, edge: float, side: bool, width: float, sd: float | None
) -> float:
    """Jeffreys' Gamma(1/2, 0) on the mean."""
    return (log_gamma_cdf if side else log_gamma_sf)(n * edge, total + 0.5)


def _wait(
    n: float, total: float, squares: float, edge: float, side: bool, width: float, sd: float | None
) -> float:
    """Jeffreys' prior 1/rate: the rate times the total is Gamma(n, 1)."""
    return (log_gamma_sf if side else log_gamma_cdf)(total / edge, n)


_MODELS: dict[str, Callable[..., float]] = {
    "binary": _coin,
    "bounded": _bounded,
    "gaussian": _normal,
    "poisson": _count,
    "exponential": _wait,
    "heavy": _normal,
}
