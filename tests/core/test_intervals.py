"""The intervals against published values, against other ways to get them, and by their coverage."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

from cutline.core.intervals import bounded_mean, clopper_pearson, paired_difference


def test_clopper_pearson_by_hand():
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    # No success in n: (1 - p)^n = 0.025, and the mirror image.
    low, high = clopper_pearson(0, 20)
    assert (low, high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20), rel=1e-12))
    low, high = clopper_pearson(20, 20)
    assert (low, high) == (pytest.approx(0.025 ** (1 / 20), rel=1e-12), 1.0)
    # One success in n at the lower end: 1 - (1 - p)^n = 0.025.
    low, high = clopper_pearson(1, 1_000_000)
    assert low == pytest.approx(-math.expm1(math.log(0.975) / 1_000_000), rel=1e-12, abs=0)
    # A table's values for 10 of 100.
    assert clopper_pearson(10, 100) == (
        pytest.approx(0.0490, abs=5e-5),
        pytest.approx(0.1762, abs=5e-5),
    )


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999])
@pytest.mark.parametrize("trials", [1, 7, 500, 1_000_000])
def test_clopper_pearson_agrees_with_scipy(trials, level):
    for successes in sorted({0, 1, trials // 7, trials // 2, trials - 1, trials}):
        wanted = stats.binomtest(successes, trials).proportion_ci(level, method="exact")
        # scipy's own search stops within 2e-12 of the end
        found = clopper_pearson(successes, trials, level)
        assert found == pytest.approx(tuple(wanted), rel=1e-9, abs=4e-12)


@pytest.mark.parametrize(("successes", "trials"), [(0.3, 12.7), (1e-3, 50.5), (49.7, 50.0)])
def test_clopper_pearson_takes_counts_that_are_not_whole(successes, trials):
    low = stats.beta.ppf(0.025, successes, trials - successes + 1)
    high = stats.beta.ppf(0.975, successes + 1, trials - successes)
    assert clopper_pearson(successes, trials) == pytest.approx((low, high), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("rate", [0.001, 0.02, 0.3, 0.5])
def test_clopper_pearson_covers_at_least_its_level(rate):
    chances = stats.binom.pmf(range(61), 60, rate)
    covered = [low <= rate <= high for low, high in (clopper_pearson(k, 60) for k in range(61))]
    assert chances @ covered >= 0.95


def test_bounded_mean_by_hand():
    # p = 0.06, var of the mean = (50 - 9) / 99 / 100 / 25, n* = 0.0564 / var = 340.5
    n = 0.06 * 0.94 / ((50 - 9) / 99 / 100 / 25)
    low, high = clopper_pearson(0.06 * n, n)
    assert bounded_mean(30.0, 50.0, 100, 5.0) == pytest.approx((5 * low, 5 * high), rel=1e-12)
    # Three times 0.1 over 3 is a little over 0.1 in floating point.
    low, high = bounded_mean(0.1 + 0.1 + 0.1, 0.01 + 0.01 + 0.01, 3, 0.1)
    assert (low, high) == (pytest.approx(0.1 * 0.025 ** (1 / 3), rel=1e-12), 0.1)
    assert bounded_mean(0.0, 0.0, 9, 0.0) == (0.0, 0.0)
    assert bounded_mean(0.0, 0.0, 0, 3.0) == (0.0, 3.0)


@pytest.mark.parametrize("wrong", [0, 1, 30, 99, 100])
def test_bounded_mean_of_all_or_nothing_is_clopper_pearson(wrong):
    low, high = clopper_pearson(wrong, 100)
    wanted = pytest.approx((4 * low, 4 * high), rel=1e-12)
    assert bounded_mean(4.0 * wrong, 16.0 * wrong, 100, 4.0) == wanted


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 0.7, 1.0])
@pytest.mark.parametrize("games", [1, 3, 1_000])
def test_bounded_mean_has_width_when_all_games_agree(value, games):
    # Summed one by one: the rounding of the sums must not pass for a tiny variance.
    total = squares = 0.0
    for _ in range(games):
        total += value
        squares += value * value
    wanted = clopper_pearson(value * games, games)
    assert bounded_mean(total, squares, games, 1.0) == pytest.approx(wanted, rel=1e-9)


def test_bounded_mean_narrows_as_games_agree_more():
    widths = [high - low for low, high in (bounded_mean(50, s, 100, 1) for s in (50, 40, 30, 26))]
    assert widths == sorted(widths, reverse=True)
    # Standard deviation 0.1 in 100 games: about 2 * 1.96 * 0.1 / 10, a little more for exactness.
    assert 0.039 < widths[-1] < 0.043


def binomial(rng, size):
    return rng.binomial(10, 0.3, size)


def rare(rng, size):
    return (rng.random(size) < 0.01) * rng.integers(1, 4, size)


def bursts(rng, size):
    return (rng.random(size) < 0.05) * rng.binomial(10, 0.5, size)


def all_or_nothing(rng, size):
    return 10 * (rng.random(size) < 0.005)


@pytest.mark.parametrize(
    ("draw", "mean", "games", "least", "most"),
    [
        (binomial, 3.0, 200, 0.94, 0.96),
        (rare, 0.02, 300, 0.92, 0.96),  # three games in 300 count, so the steps are coarse
        (bursts, 0.25, 100, 0.95, 0.985),
        (all_or_nothing, 0.05, 200, 0.95, 1.0),  # exact, so never short of its level
    ],
)
def test_bounded_mean_covers_about_its_level(draw, mean, games, least, most):
    rng = np.random.default_rng(7)
    repeats = 3_000  # leave ±0.008 (two standard errors) at 0.95
    values = draw(rng, (repeats, games)).astype(float)
    sums = np.column_stack([values.sum(axis=1), (values**2).sum(axis=1)])
    covered = 0
    for (total, squares), times in zip(*np.unique(sums, axis=0, return_counts=True), strict=True):
        low, high = bounded_mean(float(total), float(squares), games, 10.0)
        covered += int(times) * (low <= mean <= high)
    assert least - 0.008 < covered / repeats < most + 0.008


def test_paired_difference_gives_the_published_intervals():
    # Fagerland, Lydersen and Laake (2014), airway hyper-responsiveness: 1 and 7 of 21.
    low, high = paired_difference(1, 7, 21)
    assert (round(low, 3), round(high, 3)) == (-0.517, -0.026)
    # R, PropCIs::scoreci.mp(25, 28, 618, 0.90).
    low, high = paired_difference(28, 25, 618, level=0.90)
    assert (round(low, 4), round(high, 4)) == (-0.0148, 0.0247)


def test_paired_difference_without_discordant_games():
    # b = c = 0 leaves n d^2 = z^2 d (1 - d), so d = z^2 / (n + z^2).
    z = stats.norm.ppf(0.975)
    for games in (1, 50, 1_000_000):
        end = z**2 / (games + z**2)
        assert paired_difference(0, 0, games) == pytest.approx((-end, end), rel=1e-9, abs=0)
    assert paired_difference(0, 0, 0) == (-1.0, 1.0)


def test_paired_difference_where_the_likelihood_has_a_double_root():
    # b = 0: the two roots for q meet at d = -c / (2n - c) = -1/2, where q = 1/2 and the statistic
    # is (3/2 - 1) / sqrt(3 (1 - 3/4)) = 1/sqrt(3): there rounding may leave a negative square.
    level = 0.4362971383492269
    assert level == pytest.approx(2 * stats.norm.cdf(1 / math.sqrt(3)) - 1)
    assert paired_difference(0, 2, 3, level)[1] == pytest.approx(-0.5, rel=1e-7)


def score_by_search(delta, b, c, n):
    """Tango's statistic, the constrained maximum found by a search along the likelihood."""

    def loss(q):
        rest = 1 - 2 * q - delta
        terms = ((b, q + delta), (c, q), (n - b - c, rest))
        return -sum(k * math.log(max(p, 1e-300)) for k, p in terms if k)

    bounds = (max(0.0, -delta), (1 - delta) / 2)
    q = optimize.minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
    q = min([q, *bounds], key=loss)  # the search stays inside, and the best may be an end
    return (b - c - n * delta) / math.sqrt(n * (2 * q + delta * (1 - delta)))


@pytest.mark.parametrize(
    ("b", "c", "n"),
    [(0, 0, 30), (0, 1, 100), (3, 0, 40), (1, 7, 21), (40, 20, 160), (12, 12, 24), (2, 300, 5_000)],
)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_paired_difference_agrees_with_a_search(b, c, n, level):
    z, estimate = stats.norm.ppf((1 + level) / 2), (b - c) / n
    low, high = paired_difference(b, c, n, level)
    step = 1e-9
    ends = [
        optimize.brentq(lambda d: score_by_search(d, b, c, n) - z, step - 1, estimate - step),
        optimize.brentq(lambda d: score_by_search(d, b, c, n) + z, estimate + step, 1 - step),
    ]
    assert (low, high) == pytest.approx(ends, abs=1e-6)


def test_paired_difference_is_odd_and_holds_the_estimate():
    for b, c in product((0, 1, 5, 10), repeat=2):
        low, high = paired_difference(b, c, 20)
        assert paired_difference(c, b, 20) == (-high, -low)
        assert -1 <= low <= (b - c) / 20 <= high <= 1
        assert low < high
    assert paired_difference(20, 0, 20)[1] == 1.0


@pytest.mark.parametrize(
    ("games", "first", "second", "least", "most"),
    [
        (100, 0.1, 0.05, 0.945, 0.965),
        (200, 0.2, 0.2, 0.945, 0.955),
        (1_000, 0.004, 0.001, 0.93, 0.95),  # four games and one: a little short of its level
        (500, 0.002, 0.002, 0.95, 0.99),
        (100, 0.0, 0.02, 0.95, 0.99),
    ],
)
def test_paired_difference_covers_about_its_level(games, first, second, least, most):
    # 40,000 draws leave ±0.002 (two standard errors) at 0.95.
    draws = np.random.default_rng(8).multinomial(
        games, [first, second, 1 - first - second], size=40_000
    )
    covered = 0
    for (b, c, _), times in zip(*np.unique(draws, axis=0, return_counts=True), strict=True):
        low, high = paired_difference(int(b), int(c), games)
        covered += int(times) * (low <= first - second <= high)
    assert least - 0.002 < covered / len(draws) < most + 0.002


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: clopper_pearson(5, 4), "successes must lie between 0 and trials = 4, got 5"),
        (lambda: clopper_pearson(-1, 4), "successes must lie between"),
        (lambda: clopper_pearson(math.nan, 4), "successes must lie between"),
        (lambda: clopper_pearson(0, -1), "trials must be 0 or more"),
        (lambda: clopper_pearson(1, 4, 1.0), "level must lie between 0 and 1, got 1.0"),
        (lambda: clopper_pearson(1, 4, 95), "level must lie between 0 and 1, got 95"),
        (lambda: bounded_mean(1, 1, 4, 1, 0.0), "level must lie between"),
        (lambda: bounded_mean(1, 1, -4, 1), "games must be 0 or more"),
        (lambda: bounded_mean(1, 1, 4, -1), "top must be 0 or more"),
        (lambda: bounded_mean(-1, 1, 4, 1), "total must lie between"),
        (lambda: bounded_mean(9, 9, 4, 2), "total must lie between 0 and games \\* top = 8"),
        (lambda: bounded_mean(4, 3, 4, 2), "squares must lie between"),
        (lambda: bounded_mean(4, 9, 4, 2), "squares must lie between"),
        (lambda: paired_difference(-1, 0, 9), "only_first and only_second must be 0 or more"),
        (lambda: paired_difference(5, 5, 9), "together at most games = 9, got 5 and 5"),
        (lambda: paired_difference(1, 1, 9, 1.5), "level must lie between"),
    ],
)
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
