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

    Of an arm never seen it says 1/2; where no mean lies beyond the band on that side it says 0. An
    arm all of whose rewards are at the upper end of the range, where its threshold is, may be there
    or anywhere below: see :func:`_below_the_end`.
    """
    n = float(tally.pulls)
    if side is None or n == 0:
        return 0.5
    # Wrong is what lies beyond the far edge: below the lower one for an arm put above.
    lower, upper = problem.arm_edges(arm)
    edge = lower if side else upper
    low, high, sd = problem.rewards.low, problem.rewards.high, problem.rewards.sd
    assert low is not None and high is not None
    if side and edge >= high - tally.origin:
        return _below_the_end(n)
    if not low - tally.origin < edge < high - tally.origin:
        return 0.0  # no mean lies beyond
    own = sd[arm] if isinstance(sd, Sequence) else sd
    log = _MODELS[problem.rewards.kind](n, tally.total, tally.squares, edge, side, high - low, own)
    return math.exp(min(log, 0.0))


def _below_the_end(n: float) -> float:
    r"""The chance that the mean is below the end of the range where all of n rewards were.

    A prior that has a density gives the end itself no chance. Here an arm is at the end or is not,
    as likely as not, and if it is not, it is a coin with Jeffreys' prior: n rewards at the end then
    have the chance :math:`\Gamma(n + \tfrac12) / (\sqrt\pi\,n!)`, about 1 in the square root
    of 3 n. After one reward it is 1/3.

    >>> [round(_below_the_end(n), 4) for n in (0.0, 1.0, 2.0, 300.0)]
    [0.5, 0.3333, 0.2727, 0.0315]
    """
    chance = math.exp(math.lgamma(n + 0.5) - math.lgamma(n + 1.0)) / math.sqrt(math.pi)
    return chance / (1.0 + chance)


def wrong_chance(chances: Sequence[float]) -> float:
    """The chance that any arm is wrong, the arms having nothing to do with one another.

    >>> wrong_chance([0.1, 0.5]), wrong_chance([0.0])
    (0.55, 0.0)
    """
    right = sum(math.log1p(-min(p, 1.0 - 1e-16)) for p in chances)
    return 0.0 - math.expm1(right)  # 0 and not -0 where nothing can be wrong


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
    return (log_gamma_cdf if side else log_gamma_sf)(max(n * edge, 1e-300), total + 0.5)


def _wait(
    n: float, total: float, squares: float, edge: float, side: bool, width: float, sd: float | None
) -> float:
    """Jeffreys' prior 1/rate: the rate times the total is Gamma(n, 1)."""
    return (log_gamma_sf if side else log_gamma_cdf)(min(total / edge, 1e300), n)


_MODELS: dict[str, Callable[..., float]] = {
    "binary": _coin,
    "bounded": _bounded,
    "gaussian": _normal,
    "poisson": _count,
    "exponential": _wait,
    "heavy": _normal,
}
