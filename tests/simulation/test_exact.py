"""Exact error probabilities: the published anchors, scipy, and counting every case."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cutline.simulation.exact import (
    binary_correct,
    gaussian_correct,
    round_robin_error,
    uniform_error,
)

MEANS = {
    1: [0.1, 0.1, 0.1, 0.35, 0.45, 0.55, 0.65, 0.9, 0.9, 0.9],
    2: [0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8],
    3: [0.4 - 0.2**k for k in (1, 2, 3, 4)] + [0.45, 0.55] + [0.6 + 0.2**k for k in (4, 3, 2, 1)],
}


def truth_of(mean):
    return 1 if mean >= 0.6 else -1 if mean < 0.4 else 0


@pytest.fixture(scope="module")
def tables():
    """`correct` of each paper problem, threshold 0.5, precision 0.1."""
    return {
        (family, k): np.array([make(mean, truth_of(mean)) for mean in means])
        for k, means in MEANS.items()
        for family, make in {
            "binary": lambda mean, truth: binary_correct(mean, 0.5, truth, most=1000),
            "gaussian": lambda mean, truth: gaussian_correct(mean, 0.5, 0.5, truth, most=1000),
        }.items()
    }


# ALGORITHMS 2.1, digit for digit, but for the first cell of Exp 1 iid: .3252 there, .32526 in the
# text above it and here (.3252621606 in 40-digit arithmetic).
ROUND_ROBIN, UNIFORM = (100, 200, 300, 400, 500, 1000, 250, 350), (100, 200, 300, 400, 500)
ANCHORS = [
    ("binary", 1, round_robin_error, ".32348 .16849 .09331 .05295 .03050 .00219 .11724 .06613"),
    ("binary", 2, round_robin_error, ".52183 .23815 .11776 .06187 .03386 .00222 .15417 .07942"),
    ("binary", 3, round_robin_error, ".81564 .63246 .48458 .36866 .27972 .07207 .53692 .41006"),
    ("binary", 1, uniform_error, ".32526 .1695 .0951 .0546 .0318"),
    ("binary", 2, uniform_error, ".5277 .2456 .1226 .0649 .0358"),
    ("binary", 3, uniform_error, ".8097 .6304 .4849 .3703 .2819"),
    ("gaussian", 1, round_robin_error, ".33658 .17250 .09786 .05695 .03361 .00270"),
    ("gaussian", 2, round_robin_error, ".53659 .25632 .12961 .06927 .03854 .00276"),
    ("gaussian", 3, round_robin_error, ".80719 .63079 .48693 .37331 .28532 .07571"),
    ("gaussian", 1, uniform_error, ".36308 .18040 .10256 .06018 .03584"),
    ("gaussian", 2, uniform_error, ".56513 .27417 .13946 .07486 .04184"),
    ("gaussian", 3, uniform_error, ".81684 .63991 .49517 .38066 .29174"),
]


@pytest.mark.parametrize(("family", "k", "error", "row"), ANCHORS)
def test_every_printed_digit_comes_back(tables, family, k, error, row):
    budgets = ROUND_ROBIN if error is round_robin_error else UNIFORM
    for budget, printed in zip(budgets, row.split(), strict=False):
        digits = len(printed) - 1
        assert f"{error(tables[family, k], budget):.{digits}f}" == "0" + printed, budget


def test_scoring_an_unseen_arm_a_half_moves_the_fifth_digit_only(tables):
    half = tables["binary", 1].copy()
    half[half[:, 0] == 0, 0] = 0.5
    assert f"{uniform_error(half, 100):.5f}" == "0.32518"
    assert uniform_error(half, 200) == pytest.approx(uniform_error(tables["binary", 1], 200), 1e-5)


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("mean", [0.01, 0.1, 0.5, 0.62, 0.99])
def test_binary_matches_scipy_in_both_tails(mean, threshold):
    n = np.arange(1, 1001)
    rejecting = np.array([sum(np.arange(k + 1) / k < threshold) - 1 for k in n])  # most successes
    for truth, wanted in [(1, stats.binom.sf), (-1, stats.binom.cdf)]:
        got = binary_correct(mean, threshold, truth, most=1000)[1:]
        # Below 1e-240 scipy loses its digits, so the far tail has a test of its own.
        np.testing.assert_allclose(got, wanted(rejecting, n, mean), rtol=1e-12, atol=1e-240)


@pytest.mark.parametrize(("mean", "threshold", "n"), [(0.1, 0.9, 376), (0.3, 0.5, 1000)])
def test_binary_matches_whole_number_arithmetic_in_the_far_tail(mean, threshold, n):
    success, least = Fraction(mean), math.ceil(n * Fraction(threshold))
    accepted = sum(
        math.comb(n, s) * success**s * (1 - success) ** (n - s) for s in range(least, n + 1)
    )
    # The recursion rounds 3 times a pull: 1,000 pulls leave at most 4e-13.
    got = binary_correct(mean, threshold, 1, most=n)[n]
    assert got == pytest.approx(float(accepted), rel=4e-13, abs=0)
    assert binary_correct(mean, threshold, -1, most=n)[n] == 1  # 1 - 1e-39, say, and not 1 - 1e-15


def test_a_mean_at_the_threshold_is_accepted_even_where_n_times_threshold_is_not():
    assert 7 / 100 >= 0.07
    assert 7 < 100 * 0.07
    got = binary_correct(0.07, 0.07, truth=1, most=100)[100]
    assert got == pytest.approx(stats.binom.sf(6, 100, 0.07), rel=1e-12)
    # 3/10 is just below 0.1 * 3
    got = binary_correct(0.3, 0.1 * 3, truth=1, most=10)[10]
    assert got == pytest.approx(stats.binom.sf(3, 10, 0.3), rel=1e-12)


@pytest.mark.parametrize("mean", [-3.0, 0.35, 0.5, 0.8])
def test_gaussian_matches_scipy_in_both_tails(mean):
    n = np.arange(1, 201)
    for truth, wanted in [(1, stats.norm.sf), (-1, stats.norm.cdf)]:
        got = gaussian_correct(mean, sd=0.7, threshold=0.5, truth=truth, most=200)[1:]
        # erfc(x) has condition number 2x², about 1,400 where it is still above 1e-300
        expected = wanted(0.5, loc=mean, scale=0.7 / np.sqrt(n))
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-300)


@st.composite
def small(draw):
    """Any `correct` of up to 4 arms, and a budget small enough to try every order of pulls."""
    arms, budget = draw(st.integers(1, 4)), draw(st.integers(0, 5))
    row = st.lists(st.floats(0, 1), min_size=budget + 1, max_size=budget + 1)
    return np.array(draw(st.lists(row, min_size=arms, max_size=arms))), budget


def error_by_counting(correct, counts):
    """1 - P(all right), averaged over equally likely vectors of pull counts."""
    rows = range(len(correct))
    return 1 - np.mean([math.prod(correct[i, count[i]] for i in rows) for count in counts])


@given(small())
def test_uniform_is_the_mean_over_all_sequences_of_pulls(case):
    correct, budget = case
    arms = len(correct)
    counts = [
        np.bincount(np.array(pulls, dtype=int), minlength=arms)
        for pulls in itertools.product(range(arms), repeat=budget)
    ]
    assert uniform_error(*case) == pytest.approx(error_by_counting(correct, counts), abs=1e-12)


@given(small())
def test_round_robin_is_the_mean_over_all_subsets_with_one_pull_more(case):
    correct, budget = case
    arms = len(correct)
    each, extra = divmod(budget, arms)
    counts = [
        np.bincount(np.array(more, dtype=int), minlength=arms) + each
        for more in itertools.combinations(range(arms), extra)
    ]
    assert round_robin_error(*case) == pytest.approx(error_by_counting(correct, counts), abs=1e-12)


@pytest.mark.parametrize(("arms", "budget"), [(10, 50), (10, 500), (100, 3000)])
def test_tiny_errors_keep_their_digits(arms, budget):
    # Wrong only while unseen: the coupon collector, by inclusion and exclusion in whole numbers.
    correct = np.ones((arms, budget + 1))
    correct[:, 0] = 0
    missed = -sum((-1) ** k * math.comb(arms, k) * (arms - k) ** budget for k in range(1, arms + 1))
    assert uniform_error(correct, budget) == pytest.approx(missed / arms**budget, rel=1e-10, abs=0)


def test_two_arms_share_a_large_budget_by_the_binomial_law():
    correct = np.ones((2, 2001))
    correct[0, :950] = 0  # wrong below 950 of 2,000 pulls
    expected = stats.binom.cdf(949, 2000, 0.5)
    assert uniform_error(correct, 2000) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("error", [round_robin_error, uniform_error])
def test_one_arm_gets_every_pull(error):
    correct = binary_correct(0.7, 0.5, truth=1, most=1000)
    for budget in (0, 1, 7, 1000):
        assert error([correct], budget) == pytest.approx(1 - correct[budget], abs=1e-15)


@pytest.mark.parametrize("error", [round_robin_error, uniform_error])
def test_free_arms_are_never_wrong(error):
    free = [binary_correct(0.5, 0.5, 0, most=9), gaussian_correct(0.5, 1, 0.5, 0, most=9)]
    for budget in (0, 1, 9):
        assert error(free, budget) == 0


@pytest.mark.parametrize("error", [round_robin_error, uniform_error])
def test_fewer_pulls_than_arms_that_matter_is_a_sure_error(error):
    sure = [binary_correct(float(i % 2), 0.5, 1 if i % 2 else -1, most=2) for i in range(3)]
    assert error(sure, 2) == 1


def test_round_robin_short_of_one_round_sees_a_random_few():
    # 1 arm of 5 matters and is surely right once seen; 2 pulls reach it 2 times in 5
    correct = [[0, 1]] + [[1, 1]] * 4
    assert round_robin_error(correct, 2) == pytest.approx(3 / 5)


def test_sure_arms_are_settled_by_one_pull():
    for mean, truth in [(0.0, -1), (1.0, 1)]:
        assert binary_correct(mean, 0.5, truth, most=4).tolist() == [0, 1, 1, 1, 1]
        assert binary_correct(mean, 0.5, -truth, most=4).tolist() == [0, 0, 0, 0, 0]


def test_round_robin_needs_no_column_beyond_the_last_pull():
    assert round_robin_error([[0, 0.5], [0, 0.5]], 2) == 0.75


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: binary_correct(1.2, 0.5, 1, 3), "mean must be from 0 to 1, got 1.2"),
        (lambda: binary_correct(0.5, 0.5, 2, 3), "truth must be 1 .* got 2"),
        (lambda: binary_correct(0.5, 0.5, 1, -1), "most must be 0 or more, got -1"),
        (lambda: gaussian_correct(0.5, 0, 0.5, 1, 3), "sd must be above 0, got 0"),
        (lambda: round_robin_error([0.5, 0.5], 1), r"a row per arm.* got \(2,\)"),
        (lambda: uniform_error([[0.5, 0.5]], -1), "budget must be 0 or more, got -1"),
        (lambda: round_robin_error([[0, 1], [0, 1]], 3), "one arm 2 pulls.* stops at 1.* most=2"),
        (lambda: uniform_error([[0, 1], [0, 1]], 3), "one arm 3 pulls.* stops at 1.* most=3"),
    ],
)
def test_errors_say_what_came(call, words):
    with pytest.raises(ValueError, match=words):
        call()
