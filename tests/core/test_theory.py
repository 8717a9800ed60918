"""The paper's complexities and bounds: by hand, at their edges, and against exact chances."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from cutline.core.problem import Problem
from cutline.core.rewards import Rewards
from cutline.core.special import bernoulli_kl, normal_cdf
from cutline.core.theory import (
    Bound,
    best_arm_complexity,
    best_arm_gaps,
    clearance,
    confidence_complexity,
    confidence_lower_bound,
    corollary_1,
    corollary_2,
    csar_bound,
    edge_divergences,
    kl_lower_bound,
    ordered_complexity,
    sharp_lower_bound,
    static_allocation,
    static_shares,
    theorem_1,
    theorem_2,
    theorem_3,
    theorem_4,
    top_m_gaps,
    top_m_threshold,
)

# Experiment 1: gaps 0.15 and 0.25 twice each, 0.5 six times; H = 2 * 400/9 + 2 * 16 + 6 * 4
EXP_1 = [0.1] * 3 + [0.35, 0.45, 0.55, 0.65] + [0.9] * 3
H_1 = Fraction(800, 9) + 32 + 24
K_1, R_1 = 10, 0.5


def near(value, rel=1e-12):
    return pytest.approx(float(value), rel=rel, abs=0)


def problem(**changes):
    settings = {"arms": 2, "threshold": 0.5, "precision": 0.1, "rewards": "binary"}
    return Problem(**{**settings, **changes})


def harmonic(arms):
    return float(sum(Fraction(1, i) for i in range(1, arms + 1)))


def grid():
    """Numbers of arms, noise scales and complexities, alone and together unlike one another."""
    return product([1, 2, 3, 10, 50], [0.3, 1.0, 2.0], [0.02, 1.0, 144.889, 1e4])


# Complexities and gaps


def test_ordered_complexity_of_experiment_1():
    gaps = problem(arms=10).gaps(EXP_1)
    assert problem(arms=10).complexity(EXP_1) == near(H_1)
    assert ordered_complexity(gaps) == near(Fraction(800, 9))  # two gaps of 0.15: 2 / 0.15^2
    assert ordered_complexity(gaps[::-1]) == ordered_complexity(gaps)


def test_ordered_complexity_against_the_complexity():
    rng = np.random.default_rng(1)
    for arms in (1, 2, 5, 30):
        for _ in range(50):
            gaps = rng.uniform(0.01, 1, arms)
            H, H_2 = float(np.sum(gaps**-2)), ordered_complexity(gaps)
            assert H_2 <= H * (1 + 1e-12)
            assert harmonic(arms) * H_2 * (1 + 1e-12) >= H
        extreme = np.sqrt(np.arange(1, arms + 1)) / 7  # gap_(i)^2 in proportion to i
        assert np.sum(extreme**-2) == near(harmonic(arms) * ordered_complexity(extreme))
        alike = np.full(arms, 0.3)  # the other end: H = H_2
        assert np.sum(alike**-2) == near(ordered_complexity(alike))


def test_a_gap_of_zero_is_infinitely_complex():
    assert ordered_complexity([0.5, 0.0]) == math.inf


def test_best_arm_gaps_leave_out_the_best():
    assert best_arm_gaps([0.25, 0.75, 0.5]).tolist() == [0.5, 0.25]
    assert best_arm_gaps([0.75, 0.75, 0.5]).tolist() == [0.25]
    assert best_arm_complexity([0.25, 0.75, 0.5]) == 4 + 16
    assert best_arm_complexity([0.5]) == 0


def test_top_m():
    means = [0.25, 1.0, 0.5, 0.125]
    assert top_m_gaps(means, 1).tolist() == [0.75, 0.5, 0.5, 0.875]
    assert top_m_gaps(means, 2).tolist() == [0.25, 0.75, 0.25, 0.375]
    assert top_m_gaps(means, 3).tolist() == [0.125, 0.875, 0.375, 0.125]
    assert [top_m_threshold(means, m) for m in (1, 2, 3)] == [0.75, 0.375, 0.1875]
    for m in (1, 2, 3):
        at = problem(arms=4, threshold=top_m_threshold(means, m), precision=0)
        assert sum(at.truth(means) == 1) == m
        assert np.all(at.gaps(means) >= top_m_gaps(means, m) / 2)


@pytest.mark.parametrize("m", [0, 3, -1])
def test_top_m_wants_one_arm_in_and_one_out(m):
    with pytest.raises(ValueError, match=f"m must be from 1 to 2, got {m}"):
        top_m_gaps([0.1, 0.2, 0.3], m)


def test_equal_means_cannot_be_split():
    with pytest.raises(ValueError, match=r"ranks 2 and 3 share the mean 0\.5"):
        top_m_threshold([0.9, 0.5, 0.5], 2)
    assert top_m_gaps([0.75, 0.5, 0.5], 2).tolist() == [0.25, 0.0, 0.0]


def test_clearance():
    # outside the band: 0.65 at 0.15 of 0.25, 0.9 at 0.4 of 0.5; 0.55 is inside
    assert clearance(problem(arms=3), [0.65, 0.9, 0.55]) == near(0.6)
    assert clearance(problem(), [0.6, 0.9]) == 0.5
    assert clearance(problem(precision=0), [0.6, 0.9]) == 1.0
    assert clearance(problem(precision=0), [0.5, 0.9]) == 1.0
    assert clearance(problem(), [0.5, 0.45]) == 1.0
    assert clearance(problem(precision=[0.0, 0.1]), [0.5, 0.6]) == 0.5


# Static allocation


def test_shares_keep_pulls_times_gap_squared_alike():
    shares = static_shares([0.1, 0.2, 0.5])
    assert shares == pytest.approx([100 / 129, 25 / 129, 4 / 129], rel=1e-12)
    assert static_shares([1e-200, 1e-200]).tolist() == [0.5, 0.5]  # whose squares are no doubles
    with pytest.raises(ValueError, match="gaps must be positive, got 0"):
        static_shares([0.1, 0.0])


def test_allocation_spends_the_budget_in_whole_pulls():
    assert static_allocation([0.1, 0.2, 0.5], 129).tolist() == [100, 25, 4]
    # 101 * (100, 25, 4) / 129 = 78.29, 19.57, 3.13
    assert static_allocation([0.1, 0.2, 0.5], 101).tolist() == [78, 20, 3]
    assert static_allocation([0.3, 0.3, 0.3], 11).tolist() == [4, 4, 3]
    assert static_allocation([0.7], 5).tolist() == [5]
    # Equal gaps that differ by rounding (0.15 three ways) still go by number.
    gaps = [0.5 - 0.35, 0.15, 0.95 - 0.8]
    assert gaps[0] > gaps[1] > gaps[2]
    assert static_allocation(gaps, 100).tolist() == [34, 33, 33]


def test_allocation_leaves_no_arm_without_a_pull():
    # Shares 1, 1e-4, 1e-4 of the weight: the last two get one pull each, the first the rest.
    assert static_allocation([0.01, 1.0, 1.0], 20).tolist() == [18, 1, 1]
    # With 3 pulls 2.25, 0.5, 0.25: taking one each for the last two leaves one.
    assert static_allocation([1.0, math.sqrt(4.5), 3.0], 3).tolist() == [1, 1, 1]
    # Giving to the smallest lowers the next below one: 9 * (6, 1.16, 0.5)/7.66 = 7.05, 1.36, 0.59
    gaps = [6**-0.5, 1.16**-0.5, 0.5**-0.5]
    assert static_allocation(gaps, 9).tolist() == [7, 1, 1]
    with pytest.raises(ValueError, match="one pull or more for each of 3 arms, got 2"):
        static_allocation(gaps, 2)


def test_allocation_is_within_a_pull_of_its_share():
    rng = np.random.default_rng(2)
    for _ in range(200):
        gaps = rng.uniform(0.2, 1, rng.integers(1, 12))
        budget = int(rng.integers(25 * len(gaps), 10_000))  # at least one pull by right
        pulls = static_allocation(gaps, budget)
        assert pulls.sum() == budget
        assert np.all(np.abs(pulls - budget * static_shares(gaps)) < 1)


# The bounds by hand, in products rather than sums of logarithms


@pytest.mark.parametrize("T", [1, 2, 63, 64, 500, 12_345])
def test_theorem_1_by_hand(T):
    K, R, H = 3, 0.7, 9.0
    decay = math.exp(-3 * T / (0.49 * 9))
    mended = theorem_1(H, arms=K, noise_scale=R)
    assert mended.log_at(T) == near(math.log(1 / 12 / (12 * (math.log(T) + 1)) ** 4) - T / 1.47)
    printed = theorem_1(H, arms=K, noise_scale=R, printed=True)
    assert printed.at(T) == near((36 * (math.log(T) + 1)) ** -4 * decay)


def test_theorem_1_on_gaussian_experiment_1():
    bound = theorem_1(float(H_1), arms=K_1, noise_scale=R_1, printed=True)
    assert bound.log_at(500) == pytest.approx(-68.46, abs=0.01)
    assert theorem_1(float(H_1), arms=K_1, noise_scale=R_1).log_at(500) > -68


@pytest.mark.parametrize("T", [4, 7, 8, 1000, 1023, 1024])
def test_theorem_2_by_hand(T):
    K, R, H = 3, 0.5, 20.0  # 33 R^2 H = 165
    blocks = {4: 3, 7: 3, 8: 4, 1000: 10, 1023: 10, 1024: 11}[T]
    bound = theorem_2(H, arms=K, noise_scale=R)
    assert bound.at(T) == near(6 * blocks * math.exp(-(T - 3) / 165))
    if T >= 2 * K:
        printed = theorem_2(H, arms=K, noise_scale=R, printed=True)
        assert printed.at(T) == near((3 * (math.log(T) + 1)) ** 2 * math.exp(-T / 320))


def test_theorem_2_with_the_clearance():
    def rate(**more):
        return theorem_2(20.0, arms=3, noise_scale=0.5, **more).rate

    assert rate(clearance=0.5) == rate() == near(1 / 165)
    assert rate(clearance=1.0) == near(1 / (18 * 33 / 32 * 5))
    assert rate(clearance=0.8) == near(1 / (2 * (2.6 / 0.8) ** 2 * 33 / 32 * 5))


def test_what_a_block_of_sample_sizes_costs():
    root = math.sqrt(2)
    cost = 1 / 2 / (2 * (2 - root) * (root - 1))
    assert 32 * cost <= 33
    assert 16 * cost <= 16.5
    # and the chord is below the root
    v = np.linspace(1, 2, 1001)
    assert np.all((2 - root) + (root - 1) * v <= np.sqrt(v) + 1e-15)


def test_theorem_2_on_experiment_1():
    bound = theorem_2(float(H_1), arms=K_1, noise_scale=R_1)
    # 14 blocks: T = 10 + 33 / 4 * H * log(20 * 14 / 0.05)
    by_hand = 10 + 33 / 4 * float(H_1) * math.log(5600)
    assert bound.budget_for(0.05) == math.ceil(by_hand) == 10_327
    printed = theorem_2(float(H_1), arms=K_1, noise_scale=R_1, printed=True)
    assert printed.budget_for(0.05) == pytest.approx(29_000, rel=0.01)
    assert bound.is_vacuous(500)
    # 20 * 13 blocks: 1 is reached at T = 10 + 33 / 4 * H * log(260) = 6656.8
    assert bound.at(6_656) > 1 > bound.at(6_657)
    assert bound.is_vacuous(6_656)
    assert not bound.is_vacuous(6_657)


def test_csar_by_hand():
    # H_2 = max(1 * 4, 2 * 1) = 4; 72 R^2 (1 + 1/2) H_2 = 108
    bound = csar_bound([1.0, 0.5], noise_scale=0.5)
    assert bound.at(102) == near(4 * math.exp(-100 / 108))
    printed = csar_bound([1.0, 0.5], noise_scale=0.5, printed=True)
    assert printed.at(102) == near(4 * math.exp(-100 / (72 * math.log(2))))
    assert csar_bound([0.5], noise_scale=1.0).at(289) == near(math.exp(-1))
    with pytest.raises(ValueError, match=r"log\(K\), which is 0 for one arm"):
        csar_bound([0.5], noise_scale=1.0, printed=True)


@pytest.mark.parametrize(("T", "blocks"), [(6, 3), (255, 8), (256, 9)])
def test_theorem_3_by_hand(T, blocks):
    means = [0.25, 0.75, 0.5]  # H = 20, R^2 H = 5
    bound = theorem_3(means, noise_scale=0.5)
    assert bound.at(T) == near(6 * blocks * math.exp(-(T - 3) / 82.5))
    printed = theorem_3(means, noise_scale=0.5, printed=True)
    assert printed.at(T) == near((3 * (math.log(T) + 1)) ** 2 * math.exp(-T / 180))


def test_theorem_3_wants_one_best_arm():
    with pytest.raises(ValueError, match="needs a single best arm, got 2"):
        theorem_3([0.9, 0.5, 0.9], noise_scale=0.5)
    alone = theorem_3([0.9], noise_scale=0.5)  # nothing else to choose
    assert alone.at(2) == 0
    assert alone.budget_for(0.01) == 2


def test_theorem_4_by_hand():
    means, log_T = [0.25, 0.75, 0.5], math.log(100)  # 1/gaps add up to 6, gaps to 0.75
    at_1 = theorem_4(means, budget=100, noise_scale=0.5, delta=1)
    assert at_1 == near(16 / 4 * 6 * log_T + 0.75 * 4)
    at_3 = theorem_4(means, budget=100, noise_scale=0.5, delta=3)
    assert at_3 == near(16 / 4 * 6 * 3 * log_T + 0.75 * (1 + 3e-8))
    printed = theorem_4(means, budget=100, noise_scale=0.5, delta=2, printed=True)
    assert printed == near(6 * 2 * log_T + 0.75 * (1 + 3e-4))


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("R", [1e-4, 0.01, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("T", [8, 300, 10**6])
def test_theorem_4_takes_the_best_delta(T, R, printed):
    means = [0.25, 0.75, 0.5, 0.7]

    def at(delta):
        return theorem_4(means, budget=T, noise_scale=R, delta=delta, printed=printed)

    least = theorem_4(means, budget=T, noise_scale=R, printed=printed)
    found = min(at(delta) for delta in np.linspace(1, 6, 1_001).tolist())
    assert found / 1.001 < least <= found * (1 + 1e-14)


def test_theorem_4_at_its_edges():
    with pytest.raises(ValueError, match="budgets from 4 on, got 3"):
        theorem_4([0.1, 0.2], budget=3, noise_scale=1.0)
    with pytest.raises(ValueError, match=r"delta must be 1 or more, got 0\.5"):
        theorem_4([0.1, 0.2], budget=30, noise_scale=1.0, delta=0.5)
    assert theorem_4([0.3], budget=2, noise_scale=1.0) == 0
    assert theorem_4([0.3, 0.3], budget=4, noise_scale=1.0) == 0
    # A second best arm costs nothing.
    two, one = ([0.9, 0.9, 0.5], [0.9, 0.5])
    assert theorem_4(two, budget=99, noise_scale=1.0) == theorem_4(one, budget=99, noise_scale=1.0)


def test_theorem_4_grows_with_the_unit_of_reward():
    one = theorem_4([0.25, 0.75, 0.5], budget=100, noise_scale=0.1)
    assert theorem_4([0.75, 2.25, 1.5], budget=100, noise_scale=0.3) == near(3 * one)


# What holds of all of them


def all_bounds(means, tau, eps, R, unit=1.0):
    """Every bound, for the same problem in another unit of reward."""
    arms = len(means)
    at = Problem(arms=arms, threshold=tau * unit, precision=eps * unit, rewards="gaussian")
    mu = [m * unit for m in means]
    H, R = at.complexity(mu), R * unit
    beyond = [abs(m - tau * unit) for m in mu]
    for printed in (False, True):
        yield theorem_1(H, arms=arms, noise_scale=R, printed=printed)
        yield theorem_2(H, arms=arms, noise_scale=R, printed=printed)
        yield theorem_3(mu, noise_scale=R, printed=printed)
        yield csar_bound(at.gaps(mu, precision=0), noise_scale=R, printed=printed)
    yield corollary_1(H, arms=arms, noise_scale=R, precision=eps * unit)
    yield corollary_2(H, arms=arms, noise_scale=R)
    yield sharp_lower_bound(beyond, noise_scale=R, precision=eps * unit)
    yield kl_lower_bound(at, mu, sd=R)


def test_a_change_of_unit_changes_nothing():
    args = ([0.1, 0.35, 0.45, 0.9], 0.5, 0.02, 0.5)
    for one, other in zip(all_bounds(*args), all_bounds(*args, unit=60.0), strict=True):
        assert one.statement == other.statement
        assert one.least == other.least
        for T in (0, 1, 17, 1000):
            assert one.log_at(one.least + T) == near(other.log_at(one.least + T), 1e-11)


def test_in_the_end_the_exponent_decides():
    means, tau, eps, R = [0.1, 0.35, 0.45, 0.9], 0.5, 0.02, 0.5
    H = sum((abs(m - tau) + eps) ** -2 for m in means)
    slopes = [bound.log_at(10**12) / 10**12 for bound in all_bounds(means, tau, eps, R)]
    best = 0.45**-2 + 0.55**-2 + 0.8**-2
    H_2 = max(0.05**-2, 2 * 0.15**-2, 3 * 0.4**-2)
    sharp = sum((abs(m - tau) + eps) ** -2 for m in means)
    constants = [
        H / 3, 33 * H, 16.5 * best, 72 * harmonic(4) * H_2,
        H / 3, 64 * H, 36 * best, 72 * math.log(4) * H_2,
        H / 4, 128 * H, sharp / 2, 2 * H,
    ]  # fmt: skip
    assert slopes == pytest.approx([-1 / (0.25 * c) for c in constants], rel=1e-6)


def test_more_complex_or_noisier_means_a_larger_bound():
    def of(H, R):
        for printed in (False, True):
            yield theorem_1(H, arms=4, noise_scale=R, printed=printed)
            yield theorem_2(H, arms=4, noise_scale=R, printed=printed)
        yield corollary_1(H, arms=4, noise_scale=R)
        yield corollary_2(H, arms=4, noise_scale=R)

    easy, complex_, noisy = of(5.0, 1.0), of(6.0, 1.0), of(5.0, 1.1)
    for bounds in zip(easy, complex_, noisy, strict=True):
        for T in (100_000, 1_000_000):
            low, *higher = [bound.log_at(T) for bound in bounds]
            assert all(low < high for high in higher)


def test_an_undecidable_arm_leaves_upper_bounds_empty():
    bound = theorem_2(math.inf, arms=2, noise_scale=1.0)
    assert bound.is_vacuous(10**9)
    with pytest.raises(ValueError, match=r"no budget brings Theorem 2 down to 0\.1"):
        bound.budget_for(0.1)
    with pytest.raises(ValueError, match="no budget is large enough"):
        corollary_2(math.inf, arms=2, noise_scale=1.0)
    assert csar_bound([0.0, 1.0], noise_scale=1.0).rate == 0
    # Lower bounds: any budget is too small for less than a quarter.
    hopeless = kl_lower_bound(problem(precision=0), [0.5, 0.9])
    assert hopeless.at(10**9) == near(1 / 4)
    assert hopeless.budget_for(0.3) == 0
    with pytest.raises(ValueError, match="no budget brings"):
        hopeless.budget_for(0.2)


def test_every_bound_says_from_where_on_it_is_stated():
    least = {
        theorem_1(2.0, arms=4, noise_scale=1.0): 1,
        theorem_2(2.0, arms=4, noise_scale=1.0): 5,
        theorem_2(2.0, arms=4, noise_scale=1.0, printed=True): 8,
        csar_bound([1.0] * 4, noise_scale=1.0): 5,
        theorem_3([1.0, 2.0, 3.0, 4.0], noise_scale=1.0): 5,
    }
    for bound, T in least.items():
        assert bound.least == T
        assert math.isfinite(bound.log_at(T))
        with pytest.raises(ValueError, match=f"stated for budgets from {T} on, got {T - 1}"):
            bound.at(T - 1)


@pytest.mark.parametrize("budget", [10.0, "10", None])
def test_a_budget_is_a_whole_number(budget):
    with pytest.raises(ValueError, match="budget must be a whole number"):
        theorem_1(2.0, arms=4, noise_scale=1.0).at(budget)
    bound = theorem_1(2.0, arms=4, noise_scale=1.0)
    assert bound.at(np.int64(10)) == bound.at(10)


@pytest.mark.parametrize(
    "make",
    [
        lambda **noise: theorem_1(1.0, arms=2, **noise),
        lambda **noise: corollary_1(1.0, arms=2, **noise),
        lambda **noise: sharp_lower_bound([1.0], **noise),
        lambda **noise: theorem_2(1.0, arms=2, **noise),
        lambda **noise: corollary_2(1.0, arms=2, **noise),
        lambda **noise: csar_bound([1.0], **noise),
        lambda **noise: theorem_3([1.0, 2.0], **noise),
        lambda **noise: theorem_4([1.0, 2.0], budget=9, **noise),
        lambda **noise: confidence_complexity(1.0, confidence=0.9, **noise),
    ],
)
def test_the_noise_scale_is_asked_for(make):
    with pytest.raises(ValueError, match=r"noise_scale is needed.*1/2 for rewards in \[0, 1\]"):
        make(noise_scale=None)
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="noise_scale must be positive"):
            make(noise_scale=wrong)
    make(noise_scale=0.5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: theorem_2(0.0, arms=2, noise_scale=1.0), r"complexity must be positive, got 0\.0"),
        (lambda: theorem_2(math.nan, arms=2, noise_scale=1.0), "complexity must be positive"),
        (lambda: theorem_2(1.0, arms=0, noise_scale=1.0), "arms must be 1 or more, got 0"),
        (lambda: theorem_2(1.0, arms=2.5, noise_scale=1.0), "arms must be a whole number"),
        (lambda: theorem_2(1.0, arms=2, noise_scale=1.0, clearance=0.4), "clearance must lie"),
        (
            lambda: theorem_2(1.0, arms=2, noise_scale=1.0, clearance=0.6, printed=True),
            "printed Theorem 2 knows nothing",
        ),
        (lambda: sharp_lower_bound([1.0, 0.0], noise_scale=1.0), "distances must be positive"),
        (lambda: sharp_lower_bound([1.0], noise_scale=1.0, precision=-1), "precision must be 0"),
        (lambda: ordered_complexity([0.1, -0.2]), r"gaps must be 0 or more, got -0\.2"),
        (lambda: ordered_complexity([]), "one per arm"),
        (lambda: best_arm_gaps([0.1, math.nan]), "means must be finite numbers"),
        (lambda: theorem_2(1.0, arms=2, noise_scale=1.0).budget_for(0.0), "error must lie"),
        (lambda: theorem_2(1.0, arms=2, noise_scale=1.0).budget_for(1.0), "error must lie"),
    ],
)
def test_bad_values_get_a_clear_error(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# The budget that brings a bound down


def scan(bound, error, end):
    """The same by looking at every budget."""
    above = [T for T in range(bound.least, end) if bound.log_at(T) > math.log(error)]
    if bound.side == "lower" and bound.least not in above:
        return 0
    return above[-1] + 1 if above else bound.least


@pytest.mark.parametrize("error", [0.9, 0.05, 1e-6])
def test_budget_for_equals_a_scan_of_all_budgets(error):
    checked = 0
    for K, R, H in product([1, 2, 3, 10], [1.0], [0.01, 0.11, 0.9, 5.0, 12.3]):
        for printed in (False, True):
            bounds = [
                theorem_1(H, arms=K, printed=printed, noise_scale=1.0),
                theorem_2(H, arms=K, noise_scale=R, printed=printed),
                corollary_1(H, arms=K, noise_scale=R),
                corollary_2(H, arms=K, noise_scale=R),
                sharp_lower_bound([H] * K, noise_scale=R),
            ]
            for bound in bounds:
                found = bound.budget_for(error)
                assert isinstance(found, int)
                assert found == scan(bound, error, max(found, bound.least) + 5_000), bound
                checked += found > 0
    assert checked >= 80


def test_budget_for_sees_through_a_dip():
    # One arm: at 255 eight blocks, at 256 nine. Below 0.05, above, then below for good.
    H = 254 / 33 / math.log(2 * 8.2 / 0.05)
    bound = theorem_2(H, arms=1, noise_scale=1.0)
    assert bound.at(255) < 0.05 < bound.at(256)
    assert bound.budget_for(0.05) == scan(bound, 0.05, 3_000) > 256
    # A smooth factor that grows at first faster than the rest falls.
    rising = Bound("", "", "upper", 2, 0.02, lambda T: 2 * math.log(math.log(T) + 1) - 3)
    error = rising.at(20) * 0.999
    assert rising.at(2) < error < rising.at(20) > rising.at(200)
    assert rising.budget_for(error) == scan(rising, error, 3_000) > 20


def test_budget_for_is_quick_and_right_for_huge_budgets():
    bound = theorem_2(1e30, arms=1000, noise_scale=1.0)
    T = bound.budget_for(1e-9)
    assert bound.log_at(T) <= math.log(1e-9) < bound.log_at(T - T // 10**12)
    assert pytest.approx(33e30 * math.log(2000 * T.bit_length() / 1e-9), rel=1e-9) == T


def test_a_lower_bound_asks_for_a_budget():
    bound = sharp_lower_bound([0.1] * 5, noise_scale=0.5)  # 2 / (R^2 H') = 0.016
    T = bound.budget_for(0.01)
    assert T == math.ceil(math.log(25) / 0.016) == 202
    assert bound.at(T - 1) > 0.01 >= bound.at(T)
    assert bound.budget_for(0.25) == 0
    assert bound.budget_for(0.249) == 1
    assert (
        theorem_1(1.0, arms=5, noise_scale=1.0).budget_for(0.05) == 0
    )  # says nothing of such errors


# What the docstrings claim of the statements


def test_theorem_1_as_printed_needs_at_most_20_arms_by_its_proof():
    for K in range(1, 60):
        for T in (1, 50, 10**6):
            printed, mended = (
                theorem_1(3.0, arms=K, printed=p, noise_scale=1.0).log_at(T) for p in (True, False)
            )
            assert (printed <= mended) == (K <= 20)


def test_the_sharp_bound_is_above_theorem_1_for_all_arms():
    for K, R, d in grid():
        for eps, T in product([0.0, 0.3], [1, 100, 10**6]):
            H = K / (d + 2 * eps) ** 2
            sharp = sharp_lower_bound([d] * K, noise_scale=R, precision=eps).log_at(T)
            for printed in (False, True):
                assert theorem_1(H, arms=K, noise_scale=R, printed=printed).log_at(T) < sharp


def test_theorem_2_as_printed_follows():
    for K, R, H in grid():
        printed = theorem_2(H, arms=K, noise_scale=R, printed=True)
        mended = theorem_2(H, arms=K, noise_scale=R)
        budgets = [2 * K, 2 * K + 1, 64 * K // 31, 64 * K // 31 + 1, 3 * K, 9 * K, 10**3 * K, 10**9]
        for T in (T for T in budgets if T >= 2 * K):
            every_size = math.log(2 * K * T) - (T - K) / (32 * R**2 * H)
            proven = every_size if 31 * T < 64 * K else mended.log_at(T)
            if K == 1:
                proven = -T / (8 * R**2 * H)  # Hoeffding: one arm at gap / 2 or more
            assert proven <= printed.log_at(T)


def test_theorem_3_as_printed_follows():
    for K, R, gap in product([2, 3, 10, 50], [0.3, 1.0], [0.01, 0.5, 4.0]):
        means = [0.0] + [-gap] * (K - 1)
        for T in [2 * K, 2 * K + 1, 5 * K, 10**4 * K]:
            kept = theorem_3(means, noise_scale=R).log_at(T)
            assert kept <= theorem_3(means, noise_scale=R, printed=True).log_at(T)
            # and a constant of 37.1 with T, as one gets with T/2 for T - K
            assert kept <= math.log(2 * K * T.bit_length()) - T * gap**2 / (37.1 * R**2 * (K - 1))


def test_csar_in_both_forms_follows():
    for K, R, gap in product([1, 2, 3, 10, 500], [0.3, 1.0], [0.01, 0.5, 4.0]):
        exponent = R**2 * harmonic(K) * K / gap**2  # equal gaps: H_2 = K / gap^2
        for printed, T in product([False, True][: min(K, 2)], [K + 1, 2 * K, 10**4 * K, 10**7 * K]):
            direct = math.log(2 * K**2) - (T - K) / (8 * exponent)
            if K == 1:
                direct = -(T - 1) / (2 * exponent)  # Hoeffding, one side
            stated = csar_bound([gap] * K, noise_scale=R, printed=printed).log_at(T)
            assert min(direct, 0) <= stated


def test_corollaries_are_weaker_than_their_theorems():
    for K, R, H in grid():
        upper = corollary_2(H, arms=K, noise_scale=R)
        lower = corollary_1(H, arms=K, noise_scale=R)
        above = theorem_2(H, arms=K, noise_scale=R, printed=True)
        below = theorem_1(H, arms=K, noise_scale=R, printed=True)
        for more in (0, 1, 10, 10**4, 10**9):
            assert upper.log_at(upper.least + more) >= above.log_at(upper.least + more) - 1e-9
            assert lower.log_at(lower.least + more) <= below.log_at(lower.least + more) + 1e-9


@pytest.mark.parametrize(("K", "H", "R"), [(1, 0.3, 1.0), (1, 0.02, 0.5), (10, 2.0, 0.7)])
def test_corollaries_are_stated_from_where_their_condition_lasts(K, H, R):
    upper = corollary_2(H, arms=K, noise_scale=R).least
    lower = corollary_1(H, arms=K, noise_scale=R).least

    def kept_by(T):
        return (
            256 * H * R**2 * math.log((math.log(T) + 1) * K) <= T and T >= 2 * K,
            4 * H * R**2 * math.log(12 * (math.log(T) + 1) * K) <= T,
        )

    for T in range(1, 5_000):
        assert upper > T or kept_by(T)[0]
        assert lower > T or kept_by(T)[1]
    assert upper == 2 * K or not kept_by(upper - 1)[0]
    assert lower == 1 or not kept_by(lower - 1)[1]


def test_corollary_1_needs_a_complexity_that_the_band_allows():
    corollary_1(25.0, arms=1, noise_scale=1.0, precision=0.1)  # 1 / (2 * 0.1)^2
    with pytest.raises(ValueError, match=r"at most K / \(4 precision\^2\) = 25, got 26"):
        corollary_1(26.0, arms=1, noise_scale=1.0, precision=0.1)
    # One arm, a band of half-width 10, R = 1: the mean of T rewards errs less than the claim.
    T, H = 10**8, 1e6
    assert -T * 10.0**2 / 2 < -4 * T / H
    assert corollary_1(H, arms=1, noise_scale=1.0).least < T


def test_theorem_1_needs_distances_that_are_not_zero():
    # All d = 0: the mirrored arm is at the lower edge, and "above" is right everywhere.
    family = [[0.6, 0.6], [0.4, 0.6], [0.6, 0.4]]
    assert [problem().loss(means, [True, True]) for means in family] == [0, 0, 0]


# Against exact chances


@pytest.mark.parametrize("eps", [0.0, 0.2])
@pytest.mark.parametrize("T", [2, 10, 100, 1000])
def test_one_normal_arm_errs_between_the_bounds(T, eps):
    R, d = 0.8, 0.1
    exact = normal_cdf(-(d + eps) * math.sqrt(T) / R)  # mean tau + d + eps, or mirrored
    H = (d + 2 * eps) ** -2
    lower = [
        theorem_1(H, arms=1, noise_scale=R),
        theorem_1(H, arms=1, noise_scale=R, printed=True),
        sharp_lower_bound([d], noise_scale=R, precision=eps),
    ]
    upper = [
        theorem_2(H, arms=1, noise_scale=R),
        theorem_2(H, arms=1, noise_scale=R, printed=True),
        csar_bound([d + eps], noise_scale=R),
    ]
    assert max(bound.at(T) for bound in lower) <= exact <= min(bound.at(T) for bound in upper)


def test_no_static_allocation_beats_the_sharp_bound():
    distances, eps, R, T = np.array([0.3, 0.5, 1.1]), 0.2, 1.3, 40
    bound = sharp_lower_bound(distances, noise_scale=R, precision=eps).at(T)
    best = 1.0
    for a, b in product(range(1, T), repeat=2):
        if a + b < T:
            pulls = (a, b, T - a - b)
            wrong = [
                normal_cdf(-(d + eps) * math.sqrt(n) / R)
                for d, n in zip(distances.tolist(), pulls, strict=True)
            ]
            # Each arm is as often wrong on either side, so every problem has the same error.
            best = min(best, 1 - math.prod(1 - w for w in wrong))
    assert bound <= best
    # It is of the right order: the exponent is at most four times too large, in the end.
    assert math.log(bound / best) > 3 * math.log(best)


@pytest.mark.parametrize(("mean", "far"), [(0.9, 0.4), (0.65, 0.4), (0.1, 0.6)])
def test_one_coin_errs_at_least_as_the_divergence_says(mean, far):
    bound = kl_lower_bound(problem(arms=1), [mean])
    for T in (1, 5, 30, 100):
        # No test between two coins errs less than (1 - total variation) / 2 at the worse of them.
        p, q = (
            np.array([math.comb(T, k) * m**k * (1 - m) ** (T - k) for k in range(T + 1)])
            for m in (mean, far)
        )
        least = float(np.sum(np.minimum(p, q))) / 2
        assert bound.at(T) <= least
        assert bound.log_at(T) == near(-math.log(4) - T * bernoulli_kl(mean, far))


# Divergences


def test_edge_divergences_go_to_the_far_edge():
    costs = edge_divergences(problem(arms=5), [0.9, 0.1, 0.55, 0.6, 0.4])
    assert costs[0] == near(bernoulli_kl(0.9, 0.4))
    assert costs[1] == near(bernoulli_kl(0.1, 0.6))
    assert costs[2] == math.inf  # in the band
    assert costs[3] == near(bernoulli_kl(0.6, 0.4))  # at the upper edge it counts
    assert costs[4] == math.inf  # at the lower edge it does not


def test_edge_divergences_of_every_kind():
    def of(kind, mean, **more):
        sd = more.pop("sd", None)
        at = problem(arms=1, rewards=kind, **{"threshold": 2.0, "precision": 0.5, **more})
        return edge_divergences(at, [mean], sd=sd)[0]

    assert of("gaussian", 3.0, sd=0.5) == near(1.5**2 / (2 * 0.25))
    assert of("gaussian", -1.0, sd=2.0) == near(3.5**2 / 8)
    assert of("poisson", 3.0) == near(3 * math.log(2) - 1.5)
    assert of("poisson", 0.0) == near(2.5)
    assert of("exponential", 3.0) == near(1 - math.log(2))
    assert of("exponential", 1.0) == near(0.4 - 1 + math.log(2.5))
    # Bounded rewards in other units are coins in units of their own.
    bounded = Rewards("bounded", low=-1.0, high=4.0)
    assert of(bounded, 3.5) == near(bernoulli_kl(0.9, 0.5))
    assert of("binary", 0.9, threshold=0.5, precision=0.1) == near(bernoulli_kl(0.9, 0.4))


def test_every_arm_has_its_own_band():
    at = problem(arms=3, threshold=[0.2, 0.5, 0.8], precision=[0.0, 0.1, 0.05])
    wanted = [bernoulli_kl(0.3, 0.2), math.inf, bernoulli_kl(0.3, 0.85)]
    assert edge_divergences(at, [0.3, 0.45, 0.3]).tolist() == pytest.approx(wanted, rel=1e-12)


def test_no_move_beyond_the_range():
    # An arm at 0.9 cannot be moved below 0.
    at = problem(arms=2, threshold=0.1, precision=0.1)
    assert edge_divergences(at, [0.9, 0.5]).tolist() == [math.inf, math.inf]
    at_zero = problem(arms=1, threshold=0.25, precision=0.25)
    assert edge_divergences(at_zero, [0.9]).tolist() == [math.inf]  # nothing is below 0
    free = problem(arms=2, threshold=0.0, precision=0.0)  # all coins are at least 0
    assert edge_divergences(free, [0.0, 0.5]).tolist() == [math.inf, math.inf]
    at_one = problem(arms=1, threshold=0.75, precision=0.25)
    assert edge_divergences(at_one, [0.4]).tolist() == [math.inf]  # 1 is, but is never mistaken
    rates = problem(arms=1, threshold=1.0, precision=1.0, rewards="poisson")
    assert edge_divergences(rates, [4.0]).tolist() == [math.inf]

    nothing = kl_lower_bound(at, [0.9, 0.5])
    assert nothing.at(0) == nothing.at(100) == 0
    assert nothing.is_vacuous(100)
    assert nothing.budget_for(1e-9) == 0
    assert confidence_lower_bound(at, [0.9, 0.5], 0.99) == 0


def test_kl_lower_bound_adds_up_what_the_arms_that_count_tell():
    at = problem(arms=4)
    bound = kl_lower_bound(at, [0.9, 0.2, 0.5, 0.7])
    total = sum(1 / bernoulli_kl(p, q) for p, q in [(0.9, 0.4), (0.2, 0.6), (0.7, 0.4)])
    assert bound.log_at(1000) == near(-math.log(4) - 1000 / total)
    assert not bound.is_vacuous(1000)


def test_normal_arms_give_the_gaps_back():
    means = [0.1, 0.3, 0.9, 0.52]
    at = problem(arms=4, rewards="gaussian", precision=0.05)
    bound = kl_lower_bound(at, means, sd=0.5)
    H = sum(Fraction(1) / Fraction(g) ** 2 for g in ("0.45", "0.25", "0.45"))  # 0.52 is inside
    assert bound.log_at(77) == near(-math.log(4) - 77 / (2 * 0.25 * float(H)))
    # Noise of its own for every arm.
    each = kl_lower_bound(at, means, sd=[0.5, 1.0, 2.0, 3.0])
    total = 2 * (0.25 / 0.45**2 + 1 / 0.25**2 + 4 / 0.45**2)
    assert each.rate == near(1 / total)


def test_the_sharp_bound_is_the_divergence_bound_for_mirrored_arms():
    # Mirrored means are 2 (d + eps) apart; so are arms 2 d beyond the band from its far edge.
    distances, eps, R = [0.1, 0.4, 0.7], 0.15, 0.6
    at = problem(arms=3, rewards="gaussian", precision=eps)
    moved = kl_lower_bound(at, [0.5 + eps + 2 * d for d in distances], sd=R)
    sharp = sharp_lower_bound(distances, noise_scale=R, precision=eps)
    assert moved.rate == near(sharp.rate)
    assert moved.log_at(123) == near(sharp.log_at(123))


@pytest.mark.parametrize(
    ("changes", "means", "sd", "words"),
    [
        ({"rewards": "gaussian"}, [0.1, 0.9], None, "gaussian rewards need sd"),
        ({"rewards": "gaussian"}, [0.1, 0.9], 0.0, r"sd must be positive, got 0\.0"),
        ({"rewards": "gaussian"}, [0.1, 0.9], [1.0] * 3, "2 arms and 3 numbers"),
        ({"rewards": "heavy"}, [0.1, 0.9], None, "heavy rewards are no family"),
        ({"rewards": "binary"}, [0.1, 0.9], 0.5, "sd is for gaussian rewards"),
        ({"rewards": "binary"}, [0.1, 1.9], None, "mean of binary rewards lies between 0 and 1"),
        ({"rewards": "poisson"}, [0.1, -1.0], None, "mean of poisson rewards lies between 0"),
        ({}, [0.1], None, "one mean per arm is wanted: 2, got 1"),
    ],
)
def test_what_the_divergence_bounds_ask_for(changes, means, sd, words):
    for bound in (kl_lower_bound, lambda *a, sd: confidence_lower_bound(*a, 0.9, sd=sd)):
        with pytest.raises(ValueError, match=words):
            bound(problem(**changes), means, sd=sd)


# Fixed confidence


def test_confidence_lower_bound_by_hand():
    # kl(0.1, 0.9) = 0.8 log 9
    at = problem(precision=0)
    total = 1 / bernoulli_kl(0.9, 0.5) + 1 / bernoulli_kl(0.2, 0.5)
    wanted = 0.8 * math.log(9) * total
    assert confidence_lower_bound(at, [0.9, 0.2], 0.9) == near(wanted)
    assert confidence_lower_bound(at, [0.9, 0.2], 0.5) == 0
    assert confidence_lower_bound(at, [0.9, 0.2], 0.3) == 0
    assert confidence_lower_bound(at, [0.5, 0.2], 0.9) == math.inf
    assert confidence_lower_bound(at, [0.5, 0.2], 0.5) == 0
    band = problem(precision=0.1)
    wanted = 0.8 * math.log(9) / bernoulli_kl(0.9, 0.4)
    assert confidence_lower_bound(band, [0.9, 0.45], 0.9) == near(wanted)


def test_confidence_lower_bound_is_below_a_test_that_does_it():
    # Wald's test of N(d, 1) against N(-d, 1) errs at most 0.05 when it stops at 2 d |S| = log 19,
    # after log(19) * 0.9 / (2 d^2) pulls on average, overshoot apart: the bound is this number.
    d = 0.01
    at = problem(arms=1, threshold=0.0, precision=d, rewards="gaussian")
    found = confidence_lower_bound(at, [d], 0.95, sd=1.0)
    assert found == near(0.9 * math.log(19) / (2 * d**2))


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, math.nan])
def test_confidence_is_a_chance(confidence):
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        confidence_lower_bound(problem(), [0.1, 0.9], confidence)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        confidence_complexity(1.0, confidence=confidence, noise_scale=1.0)


def test_confidence_complexity_is_table_1():
    assert confidence_complexity(20.0, confidence=0.9, noise_scale=0.5) == near(5 * math.log(10))
    best = best_arm_complexity([0.25, 0.75, 0.5])
    assert confidence_complexity(best, confidence=0.9, noise_scale=1.0) == near(20 * math.log(10))
    # The lower bound for normal arms is of this order: twice it, as delta goes to 0.
    at = problem(threshold=0.0, precision=0.0, rewards="gaussian")
    order = confidence_complexity(2.0, confidence=1 - 1e-12, noise_scale=3.0)
    proven = confidence_lower_bound(at, [1.0, -1.0], 1 - 1e-12, sd=3.0)
    assert proven / order == pytest.approx(2, rel=1e-6)
