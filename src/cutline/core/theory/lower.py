"""What no algorithm can beat: Theorem 1, and sharper bounds of its kind."""

import math

import numpy as np

from cutline.core.divergence import DIVERGENCES, gaussian_kl
from cutline.core.problem import PerArm, Problem, per_arm
from cutline.core.special import bernoulli_kl
from cutline.core.tally import Floats
from cutline.core.theory.bound import Bound, lasting, rate_of
from cutline.core.theory.checks import (
    Numbers,
    check_arms,
    check_complexity,
    check_confidence,
    check_noise,
    finite,
)


def theorem_1(
    complexity: float, *, arms: int, noise_scale: float | None, printed: bool = False
) -> Bound:
    r"""Theorem 1: on some problem of a small family any algorithm errs at least so often.

    For d_i > 0, B^0 has arms N(tau + d_i + eps, R^2), and B^i is B^0 with arm i mirrored to
    tau - d_i - eps. All have the complexity :math:`H=\sum_i(d_i+2\epsilon)^{-2}`. The largest error
    among B^0, ..., B^K is at least

    .. math:: \frac{1}{4K}\,(4(\log T+1)K)^{-4}\,\exp(-3T/(R^2H)),\qquad T\ge1

    which is what the paper's proof gives. Printed, with R = 1, is
    :math:`\exp(-3T/H-4\log(12(\log T+1)K))`: the proof reaches it if 4K <= 3^4, so for K <= 20.
    It is true for every K all the same, since :func:`sharp_lower_bound` is larger.

    The paper allows d_i = 0. The mirrored arm is then at tau - eps, which does not count as below,
    and if all d_i are 0 the answer "all above" is never wrong: d_i > 0 is needed.

    >>> round(theorem_1(144.889, arms=10, noise_scale=0.5, printed=True).log_at(500))
    -68
    """
    K, R, H = check_arms(arms), check_noise(noise_scale), check_complexity(complexity)

    def log_factor(T: int) -> float:
        if printed:
            return -4 * math.log(12 * (math.log(T) + 1) * K)
        return -math.log(4 * K) - 4 * math.log(4 * (math.log(T) + 1) * K)

    return Bound(
        statement="Theorem 1 as printed" if printed else "Theorem 1",
        about="the largest error of any algorithm among B^0, ..., B^K: normal arms of one "
        "distance to the threshold each, at most one of them mirrored",
        side="lower",
        least=1,
        rate=rate_of(1 / 3, R, H),
        log_factor=log_factor,
    )


def corollary_1(
    complexity: float, *, arms: int, noise_scale: float | None, precision: float = 0.0
) -> Bound:
    r"""The corollary of Theorem 1: the worst case over all problems that are no more complex.

    For :math:`T\ge4\bar HR^2\log(12(\log T+1)K)`, any algorithm has an error of at least
    :math:`\exp(-4T/(R^2\bar H))` on some R-sub-Gaussian problem of complexity up to
    :math:`\bar H`. It follows from the printed form of Theorem 1, which is true for every K.

    Not said in the paper: :math:`\bar H` must be reached by arms that count. Such an arm has a gap
    of at least 2 eps, so with a ``precision`` eps > 0 this takes
    :math:`\bar H\le K/(4\epsilon^2)`. Far beyond that the printed statement is wrong: no problem
    is that hard.

    >>> corollary_1(100.0, arms=10, noise_scale=1.0).least
    2791
    """
    K, R, H = check_arms(arms), check_noise(noise_scale), check_complexity(complexity)
    if not 0 <= precision < math.inf:
        raise ValueError(f"precision must be 0 or more, got {precision!r}")
    most = K / (2 * precision) ** 2 if precision > 0 else math.inf
    if most * (1 + 1e-12) < H:  # all arms on the edge, up to rounding
        raise ValueError(
            f"complexity must be at most K / (4 precision^2) = {most:g}, got {complexity!r}: "
            f"arms outside a band of half-width {precision!r} reach no more"
        )
    return Bound(
        statement="Corollary 1",
        about="the largest error of any algorithm on R-sub-Gaussian problems of at most this "
        "complexity",
        side="lower",
        least=lasting(lambda T: 4 * H * R**2 * math.log(12 * (math.log(T) + 1) * K)),
        rate=rate_of(1 / 4, R, H),
        log_factor=lambda T: 0.0,
    )


def sharp_lower_bound(
    distances: Numbers, *, noise_scale: float | None, precision: float = 0.0
) -> Bound:
    r"""A lower bound for the problems of Theorem 1 with a better constant; not in the paper.

    With B^0, ..., B^K as in :func:`theorem_1` and ``distances`` d_i > 0 beyond the band, the
    largest error of any algorithm is at least

    .. math:: \tfrac14\exp(-2T/(R^2H')),\qquad H'=\sum_i(d_i+\epsilon)^{-2}

    Between B^0 and B^i only arm i differs, by :math:`\mathrm{KL}_i=2(d_i+\epsilon)^2/R^2` a pull.
    If arm i is answered "below" that is an error on B^0, else on B^i, and Bretagnolle and Huber's
    inequality makes the two chances together at least
    :math:`\tfrac12\exp(-\mathbb E_0[T_i]\,\mathrm{KL}_i)`. The expected pulls on B^0 add up to T,
    so for some arm
    :math:`\mathbb E_0[T_i]\,\mathrm{KL}_i\le T/\sum_j\mathrm{KL}_j^{-1}=2T/(R^2H')`.

    Since H' >= H, it is larger than both forms of Theorem 1, for every K and T.

    >>> sharp_lower_bound([1.0, 1.0], noise_scale=1.0).log_at(2) == -2 - math.log(4)
    True
    """
    R, beyond = check_noise(noise_scale), finite("distances", distances)
    if not 0 <= precision < math.inf:
        raise ValueError(f"precision must be 0 or more, got {precision!r}")
    if np.any(beyond <= 0):
        raise ValueError(
            f"distances must be positive, got {float(np.min(beyond))!r}: an arm at the edge of "
            "the band, mirrored, is at the other edge, where either answer is accepted"
        )
    H = float(np.sum((beyond + precision) ** -2.0))
    return Bound(
        statement="the sharp lower bound",
        about="the largest error of any algorithm among B^0, ..., B^K: normal arms of one "
        "distance to the threshold each, at most one of them mirrored",
        side="lower",
        least=0,
        rate=rate_of(1 / 2, R, H),
        log_factor=lambda T: -math.log(4),
    )


def edge_divergences(
    problem: Problem, means: Numbers, sd: PerArm | None = None, *, within: bool = False
) -> Floats:
    """What a pull of each arm tells about its side: the divergence from its mean to the far edge.

    The far edge of the band is threshold - precision for an arm above, threshold + precision for
    one below. It is infinite for an arm within the band, which has no side, and where the kind of
    reward has no mean beyond the far edge. With ``within`` an arm in the band counts as well:
    either side will do for it, but one edge must be ruled out, at best the one it is farther from.
    ``sd`` is for gaussian rewards, one number or one per arm; bounded rewards are taken to be all
    ``low`` or ``high``, the hardest there are.

    >>> problem = Problem(arms=3, threshold=0.5, precision=0.1, rewards="gaussian")
    >>> edge_divergences(problem, [0.9, 0.55, 0.1], sd=0.5)
    array([0.5, inf, 0.5])
    >>> edge_divergences(problem, [0.9, 0.55, 0.1], sd=0.5, within=True)  # (0.55 - 0.4)^2 / 0.5
    array([0.5  , 0.045, 0.5  ])
    """
    truth, mu = problem.truth(means), finite("means", means)
    kind, low, high = problem.rewards.kind, problem.rewards.low, problem.rewards.high
    assert low is not None and high is not None
    if np.any((mu < low) | (mu > high)):
        raise ValueError(f"the mean of {kind} rewards lies between {low:g} and {high:g}")
    spreads = _spreads(kind, sd, len(mu))

    def cost(i: int, side: int) -> float:
        p, q = float(mu[i]), problem.threshold[i] - side * problem.precision[i]
        # Nothing is below the range; above it, every divergence is infinite as it is.
        if side > 0 and q <= low:
            return math.inf
        if kind == "gaussian":
            return gaussian_kl(p, q, spreads[i])
        if kind == "bounded":
            return DIVERGENCES[kind]((p - low) / (high - low), (q - low) / (high - low))
        return DIVERGENCES[kind](p, q)

    costs = np.full(len(mu), math.inf)
    for i, side in enumerate(truth.tolist()):
        if side:
            costs[i] = cost(i, side)
        elif within:
            costs[i] = max(cost(i, 1), cost(i, -1))
    return costs


def kl_lower_bound(problem: Problem, means: Numbers, sd: PerArm | None = None) -> Bound:
    r"""A lower bound in divergences rather than gaps, for families with one parameter.

    Section 2.4 points to it and leaves it open. Moving arm i just across the far edge of the band
    changes its answer, and one pull tells the two problems apart by
    :math:`d_i` = :func:`edge_divergences`. As for :func:`sharp_lower_bound`, any algorithm errs
    with a chance of at least

    .. math:: \tfrac14\exp\Bigl(-T\Big/\sum_i d_i^{-1}\Bigr)

    on this problem or on one of those where a single arm is moved (a supremum: the move must
    exceed the edge, by as little as one likes). Only arms outside the band enter, and of those
    only the ones that can be moved; if there are none the bound is 0. For normal rewards the sum
    is 2 R^2 H with H over the arms that count.

    The moved problem is harder than the given one (with precision 0 its H is infinite), where
    Theorem 1 keeps H: this is about algorithms that do not know how far the arms are.

    >>> problem = Problem(arms=2, threshold=0.0, rewards="gaussian")
    >>> kl_lower_bound(problem, [1.0, -1.0], sd=1.0).log_at(4) == -1 - math.log(4)
    True
    """
    information = _information(edge_divergences(problem, means, sd))
    # No arm to move: nothing is said, at no budget.
    log_quarter = -math.log(4) if information > 0 else -math.inf
    return Bound(
        statement="the divergence lower bound",
        about="the largest error of any algorithm on this problem and those with one arm moved "
        "across the band",
        side="lower",
        least=0,
        rate=1 / information if information > 0 else 0.0,
        log_factor=lambda T: log_quarter,
    )


def confidence_lower_bound(
    problem: Problem,
    means: Numbers,
    confidence: float,
    sd: PerArm | None = None,
    *,
    within: bool = False,
) -> float:
    r"""The pulls that any algorithm needs on average to be right with this confidence.

    .. math:: \mathbb E[T]\ge\mathrm{kl}(\delta,1-\delta)\sum_i d_i^{-1},\qquad
        \delta = 1 - \text{confidence}

    for every algorithm that, on every problem of the family, stops and errs with a chance of at
    most delta; d_i as in :func:`kl_lower_bound`, so with precision 0 the divergence between mean
    and threshold. (Kaufmann et al. 2014: an arm moved across the band must change its answer.)
    Arms within the band are left out, though they need pulls as well: ``within`` counts them, which
    is proven for a confidence close to 1 alone, as either side is right for them (Degenne and
    Koolen 2019). Infinite where an arm's mean is the threshold and the precision is 0.

    >>> problem = Problem(arms=1, threshold=0.0, rewards="gaussian")
    >>> round(confidence_lower_bound(problem, [1.0], 0.95, sd=1.0), 6)  # 2 * 0.9 * log 19
    5.29999
    """
    check_confidence(confidence)
    information = _information(edge_divergences(problem, means, sd, within=within))
    if confidence <= 0.5:  # a toss of a coin does
        return 0.0
    return bernoulli_kl(1 - confidence, confidence) * information


def confidence_complexity(
    complexity: float, *, confidence: float, noise_scale: float | None
) -> float:
    r"""Table 1's order of the pulls needed with fixed confidence, :math:`R^2H\log(1/\delta)`.

    An order only: the table states no constants (nor R), and holds for small delta =
    1 - confidence. The complexity is H of the problem with precision 0, or
    :func:`best_arm_complexity` for the best arm. A proven number is
    :func:`confidence_lower_bound`.

    >>> round(confidence_complexity(100.0, confidence=0.95, noise_scale=0.5), 3)
    74.893
    """
    R, H = check_noise(noise_scale), check_complexity(complexity)
    check_confidence(confidence)
    return -(R**2) * H * math.log1p(-confidence)


def _information(costs: Floats) -> float:
    """The sum of 1/d: infinite when a d is 0."""
    return math.inf if np.any(costs == 0) else float(np.sum(1 / costs))


def _spreads(kind: str, sd: PerArm | None, arms: int) -> tuple[float, ...]:
    """The standard deviation of every arm; none but for gaussian rewards."""
    if kind == "gaussian":
        if sd is None:
            raise ValueError("gaussian rewards need sd, the standard deviation of one reward")
        spreads = per_arm("sd", sd, arms)
        if min(spreads) <= 0:
            raise ValueError(f"sd must be positive, got {min(spreads)!r}")
        return spreads
    if kind not in DIVERGENCES:
        raise ValueError(
            f"{kind} rewards are no family with one parameter, so how much a pull tells is not "
            f"known; families are gaussian (with sd), {', '.join(DIVERGENCES)}"
        )
    if sd is not None:
        raise ValueError(f"sd is for gaussian rewards; {kind} rewards have their own")
    return ()
