"""What APT and CSAR promise: Theorems 2, 3 and 4, and the bound of Chen et al."""

import math

import numpy as np

from cutline.core.theory.bound import Bound, block_factor, lasting, printed_factor, rate_of
from cutline.core.theory.checks import (
    Numbers,
    check_arms,
    check_complexity,
    check_gaps,
    check_noise,
    finite,
    whole,
)
from cutline.core.theory.complexity import (
    best_arm_complexity,
    best_arm_gaps,
    ordered_complexity,
)


def theorem_2(
    complexity: float,
    *,
    arms: int,
    noise_scale: float | None,
    clearance: float = 0.5,
    printed: bool = False,
) -> Bound:
    r"""Theorem 2: how often APT errs at most, on any R-sub-Gaussian problem of complexity H.

    .. math:: 2K(\lfloor\log_2T\rfloor+1)\,\exp\bigl(-(T-K)/(33R^2H)\bigr),\qquad T>K

    This is the paper's proof with T - K kept where it takes T/2, and with the union over sample
    sizes done block by block (3 % of the exponent). The 33 is for any precision; where it is known
    how far the arms are from the edges of the band, 2 ((1 + 2r)/r)^2 33/32 may replace it, r being
    the :func:`clearance` of the problem: 33 for r = 1/2, 18.6 for r = 1 (precision 0).

    Printed, for T >= 2K, is :math:`\exp(-T/(64R^2H)+2\log((\log T+1)K))`. The proof as written
    loses a factor 2 in its blocks and counts ln T of them in place of log2 T, but the statement is
    true: it follows from the above for T >= 64K/31, from the same with 2KT and 32 below that, and
    for K = 1 from Hoeffding's inequality.

    >>> theorem_2(144.889, arms=10, noise_scale=0.5, printed=True).budget_for(0.05)
    28851
    """
    K, R, H = check_arms(arms), check_noise(noise_scale), check_complexity(complexity)
    if not 0.5 <= clearance <= 1:
        raise ValueError(
            f"clearance must lie between 1/2 and 1, got {clearance!r}: it is the share of its gap "
            "that an arm outside the band has on its own side"
        )
    if printed and clearance != 0.5:
        raise ValueError("the printed Theorem 2 knows nothing of the clearance: leave it out")
    about = "how often APT puts an arm outside the band on the wrong side, R-sub-Gaussian rewards"
    if printed:
        factor = printed_factor(K)
        return Bound("Theorem 2 as printed", about, "upper", 2 * K, rate_of(64, R, H), factor)
    constant = 33 / 16 * ((1 + 2 * clearance) / clearance) ** 2
    rate = rate_of(constant, R, H)
    return Bound("Theorem 2", about, "upper", K + 1, rate, block_factor(K), start=K)


def corollary_2(complexity: float, *, arms: int, noise_scale: float | None) -> Bound:
    r"""The corollary of Theorem 2: APT's worst case over all problems that are no more complex.

    For T >= 2K and :math:`T\ge256\bar HR^2\log((\log T+1)K)` APT errs at most
    :math:`\exp(-T/(128R^2\bar H))` often on R-sub-Gaussian problems of complexity up to
    :math:`\bar H` (which the paper prints as H, leaving out T >= 2K). It follows from the printed
    form of Theorem 2, which is true.

    >>> corollary_2(1.0, arms=10, noise_scale=1.0).least
    1123
    """
    K, R, H = check_arms(arms), check_noise(noise_scale), check_complexity(complexity)
    return Bound(
        statement="Corollary 2",
        about="how often APT puts an arm outside the band on the wrong side, on any R-sub-Gaussian "
        "problem of at most this complexity",
        side="upper",
        least=max(2 * K, lasting(lambda T: 128 * H * R**2 * printed_factor(K)(T))),
        rate=rate_of(128, R, H),
        log_factor=lambda T: 0.0,
    )


def csar_bound(gaps: Numbers, *, noise_scale: float | None, printed: bool = False) -> Bound:
    r"""How often CSAR errs at most (Chen et al. 2014, Theorem 3, as quoted in section 2.4).

    .. math:: K^2\exp\bigl(-(T-K)/(72R^2\,\widetilde{\log}(K)\,H_2)\bigr),\qquad T>K

    with :math:`\widetilde{\log}(K)=1+1/2+\dots+1/K` and H_2 = :func:`ordered_complexity`. CSAR
    knows no precision: the gaps are abs(mean - threshold), ``problem.gaps(means, precision=0)``.

    Printed is log(K), a shorthand for that sum; for K = 1 it would be 0, an error of 0. For
    thresholds 72 is generous: the arm closed when n are open has an empirical gap of at least half
    of Delta_(n) unless one of K^2 means is off by as much, so 2 K^2 exp(-(T-K)/(8 R^2 ...)) holds
    as well. That makes the log(K) form true too, for K >= 2.

    >>> csar_bound([0.5, 0.5], noise_scale=0.5).budget_for(0.05)  # H_2 = 8
    949
    """
    wide, R = check_gaps(gaps), check_noise(noise_scale)
    K = len(wide)
    if printed and K == 1:
        raise ValueError("CSAR's bound as printed divides by log(K), which is 0 for one arm")
    log_K = math.log(K) if printed else math.fsum(1 / i for i in range(1, K + 1))
    return Bound(
        statement="CSAR's bound as printed" if printed else "CSAR's bound",
        about="how often CSAR puts an arm on the wrong side of the threshold, R-sub-Gaussian "
        "rewards",
        side="upper",
        least=K + 1,
        rate=rate_of(72 * log_K, R, ordered_complexity(wide)),
        log_factor=lambda T: 2 * math.log(K),
        start=K,
    )


def theorem_3(means: Numbers, *, noise_scale: float | None, printed: bool = False) -> Bound:
    r"""Theorem 3: how often APT's most pulled arm is not the best, when the best mean is known.

    APT runs with the best mean as threshold and precision 0, on R-sub-Gaussian arms. With H =
    :func:`best_arm_complexity`,

    .. math:: 2K(\lfloor\log_2T\rfloor+1)\,\exp\bigl(-(T-K)/(16.5R^2H)\bigr),\qquad T>K

    The best arm must be the only one: of several, each may be pulled less than a bad arm. This is
    the proof with T - K kept, as in :func:`theorem_2`. Printed, for T >= 2K, is
    :math:`\exp(-T/(36R^2H)+2\log((\log T+1)K))`, with the brackets as meant; it follows.

    >>> theorem_3([0.5, 0.9, 0.7], noise_scale=0.5).budget_for(0.05)
    917
    """
    mu, R = finite("means", means), check_noise(noise_scale)
    K = len(mu)
    best = int(np.sum(mu == np.max(mu)))
    if best > 1:
        raise ValueError(
            f"Theorem 3 needs a single best arm, got {best} that share the best mean: which of "
            "them is pulled most is left to chance, and it need not be any of them"
        )
    H = best_arm_complexity(mu)
    about = (
        "how often the arm APT pulls most, told the best mean, is not the best arm, the only one"
    )
    if printed:
        factor = printed_factor(K)
        return Bound("Theorem 3 as printed", about, "upper", 2 * K, rate_of(36, R, H), factor)
    rate = rate_of(16.5, R, H)
    return Bound("Theorem 3", about, "upper", K + 1, rate, block_factor(K), start=K)


def theorem_4(
    means: Numbers,
    *,
    budget: int,
    noise_scale: float | None,
    delta: float | None = None,
    printed: bool = False,
) -> float:
    r"""Theorem 4: how much reward APT, told the best mean, gives away at most on average.

    The pseudo-regret, the best mean times T less the expected sum of rewards, in units of reward,
    of APT with the best mean as threshold and precision 0, on R-sub-Gaussian arms, T >= 2K:

    .. math:: \inf_{\delta\ge1}\sum_{k:\Delta_k>0}
        \frac{16R^2\delta\log T}{\Delta_k}+\Delta_k\,(1+3\,T^{2-2\delta})

    where Delta is the distance to the best mean; several best arms are fine. Any ``delta`` of 1 or
    more gives a bound, the best one is used if none is given. Printed are 4 for 16 and K for 3,
    which the proof does not give: the chance that a mean of s rewards is off by
    R sqrt(delta log(T) / s) is bounded by T^(-delta/2), not T^(-2 delta); and of the arms only k,
    on one side, and a best one, on both, have to behave.

    >>> round(theorem_4([0.5, 0.9], budget=100, noise_scale=0.5, delta=1), 3)
    47.652
    """
    mu, R = finite("means", means), check_noise(noise_scale)
    K, T, gaps = len(mu), whole("budget", budget), best_arm_gaps(mu)
    if 2 * K > T:
        raise ValueError(f"Theorem 4 is stated for budgets from {2 * K} on, got {budget!r}")
    if delta is not None and not 1 <= delta < math.inf:
        raise ValueError(
            f"delta must be 1 or more, got {delta!r}: below 1 the bound grows with the budget"
        )
    if not gaps.size:
        return 0.0
    log_T = math.log(T)
    slope = (4 if printed else 16) * R**2 * log_T * float(np.sum(1 / gaps))
    total = float(np.sum(gaps))
    chance = (K if printed else 3) * total
    if delta is None:
        # slope * delta + chance * T^(2 - 2 delta) is convex; here its derivative is 0.
        delta = max(1.0, 1 + math.log(2 * log_T * chance / slope) / (2 * log_T))
    return slope * delta + total + chance * math.exp((2 - 2 * delta) * log_T)
