"""The model's chance of error: posteriors against scipy's, and what they do at the ends."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cutline.core.estimate import wrong_chance, wrong_chances
from cutline.core.problem import Problem
from cutline.core.rewards import Rewards
from cutline.core.tally import Tallies, Tally

TAU, EPS = 0.5, 0.1


def chance(kind, rewards_or_tally, *, side=None, tau=TAU, eps=EPS):
    """The chance for one arm with these rewards, or this tally, on the side of its mean."""
    rewards = Rewards(kind) if isinstance(kind, str) else kind
    problem = Problem(arms=1, threshold=tau, precision=eps, rewards=rewards)
    tally = rewards_or_tally
    if not isinstance(tally, Tally):
        tally = Tally(origin=float(problem.origins[0]))
        for reward in rewards_or_tally:
            tally = tally.add(reward)
    tallies = Tallies.of([tally])
    (p,) = wrong_chances(problem, tallies, problem.decide(tallies) if side is None else [side])
    return p


def close(log_wanted):
    """As good as it gets in double precision where the logarithm is large."""
    return pytest.approx(math.exp(log_wanted), rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("ones", "n"), [(13, 20), (20, 20), (10, 20), (0, 20), (1, 1), (700, 1000), (2, 900), (3, 5)]
)
def test_coins_have_a_beta_posterior(ones, n):
    after = stats.beta(ones + 0.5, n - ones + 0.5)
    wanted = after.logcdf(0.4) if ones / n >= TAU else after.logsf(0.6)
    assert chance("binary", Tally(n, float(ones), float(ones))) == close(wanted)


@pytest.mark.parametrize("mean", [0.51, 0.7, 2.0, 0.3, -1.0])
@pytest.mark.parametrize("n", [1, 7, 150])
def test_normal_rewards_of_known_spread(mean, n):
    tally = Tally(n, n * (mean - TAU), n * (mean - TAU) ** 2, TAU)
    after = stats.norm(mean, 0.7 / math.sqrt(n))
    wanted = after.logcdf(0.4) if mean >= TAU else after.logsf(0.6)
    assert chance(Rewards("gaussian", sd=0.7), tally) == close(wanted)


@pytest.mark.parametrize("kind", ["gaussian", "heavy"])
@pytest.mark.parametrize("rewards", [[0.2, 0.9], [1.0, 1.4, 0.7, 1.1] * 30, [0.1, -0.3, 0.45]])
def test_normal_rewards_of_unknown_spread(kind, rewards):
    n, mean, sd = len(rewards), stats.tmean(rewards), stats.tstd(rewards)
    after = stats.t(n - 1, mean, sd / math.sqrt(n))
    wanted = after.logcdf(0.4) if mean >= TAU else after.logsf(0.6)
    # Student's far tail by scipy itself has about eight digits.
    assert chance(kind, rewards) == pytest.approx(math.exp(wanted), rel=1e-7, abs=0)


@pytest.mark.parametrize("rewards", [[0.9], [0.2, 0.9, 0.7], [0.3] * 40, [0.45, 0.55] * 100])
def test_bounded_rewards_have_one_squared_error_more(rewards):
    n, mean = len(rewards), stats.tmean(rewards)
    around = sum((x - mean) ** 2 for x in rewards) + 0.25
    after = stats.t(n, mean, math.sqrt(around / n / n))
    wanted = after.logcdf(0.4) if mean >= TAU else after.logsf(0.6)
    assert chance("bounded", rewards) == pytest.approx(math.exp(wanted), rel=1e-7, abs=0)
    # The same on another scale.
    wide = [10 * x - 5 for x in rewards]
    assert chance(Rewards("bounded", -5, 5), wide, tau=0.0, eps=1.0) == pytest.approx(
        chance("bounded", rewards), rel=1e-9, abs=0
    )


@pytest.mark.parametrize(("total", "n"), [(7, 10), (0, 4), (90, 100), (5, 100), (3000, 1000)])
def test_counts_have_a_gamma_posterior(total, n):
    after = stats.gamma(total + 0.5, scale=1 / n)
    wanted = after.logcdf(0.4) if total / n >= TAU else after.logsf(0.6)
    assert chance("poisson", Tally(n, float(total), 0.0)) == close(wanted)


@pytest.mark.parametrize(("total", "n"), [(7.5, 10), (0.8, 4), (90.0, 100), (20.0, 100)])
def test_waits_have_a_gamma_posterior_of_their_rate(total, n):
    rate = stats.gamma(n, scale=1 / total)
    wanted = rate.logsf(1 / 0.4) if total / n >= TAU else rate.logcdf(1 / 0.6)
    assert chance("exponential", Tally(n, total, 0.0)) == close(wanted)


def test_far_tails_are_small_numbers_and_not_0():
    assert chance("binary", Tally(600, 600.0, 600.0)) == close(stats.beta(600.5, 0.5).logcdf(0.4))
    assert 0 < chance("binary", Tally(600, 600.0, 600.0)) < 1e-230
    known = Rewards("gaussian", sd=1.0)
    assert 0 < chance(known, Tally(100, 350.0, 1225.0, TAU)) < 1e-280
    assert 0 < chance("poisson", Tally(500, 0.0, 0.0)) < 1e-130
    # Beyond the least double there is nothing but 0, and no error.
    assert chance("binary", Tally(10_000, 10_000.0, 10_000.0)) == 0.0


@given(st.integers(1, 400), st.integers(0, 399))
def test_a_larger_mean_is_less_likely_below(n, ones):
    ones = ones % n
    less, more = (
        chance("binary", Tally(n, float(s), float(s)), side=True) for s in (ones, ones + 1)
    )
    assert 0 <= more <= less <= 1
    assert more < less or less < 1e-300 or more > 1 - 1e-12


@pytest.mark.parametrize("kind", ["binary", "bounded", "poisson", "exponential", "gaussian"])
def test_more_of_the_same_is_surer(kind):
    rewards = {"binary": [1, 1, 0, 1], "poisson": [2, 0, 1, 1], "exponential": [2.0, 0.3]}
    some = rewards.get(kind, [0.4, 0.9, 0.8, 0.6])
    chances = [chance(kind, some * times) for times in (1, 3, 9, 27)]
    assert chances == sorted(chances, reverse=True)
    assert chances[-1] < chances[0] / 10


def test_the_band_counts_as_right_on_either_side():
    """An arm at the threshold is hardly wrong once the band is out of reach."""
    tally = Tally(4000, 2000.0, 2000.0)
    assert chance("binary", tally) < 1e-30
    assert chance("binary", tally, eps=0.0) == pytest.approx(0.5)


def test_the_other_side_is_the_rest_without_a_band():
    tally = Tally(20, 13.0, 13.0)
    above, below = (chance("binary", tally, side=side, eps=0.0) for side in (True, False))
    assert above < 0.1
    assert above + below == pytest.approx(1, rel=1e-12)


def test_an_arm_never_seen_is_a_coin_flip():
    problem = Problem(arms=2, threshold=0.5, rewards="binary")
    tallies = Tallies.of([Tally(), Tally(3, 3.0, 3.0)])
    assert wrong_chances(problem, tallies, [None, True])[0] == 0.5


def test_no_mean_lies_beyond_the_range():
    assert chance("binary", Tally(1, 1.0, 1.0), tau=0.05, eps=0.05) == 0.0
    assert chance("poisson", Tally(1, 1.0, 1.0), tau=0.05, eps=0.05) == 0.0
    assert chance("bounded", Tally(1, 0.3, 0.09), tau=0.9, eps=0.1) == 0.0
    assert chance("bounded", Tally(1, 0.95, 0.9), tau=0.9, eps=0.1) > 0.0


@pytest.mark.parametrize("reward", [0.6, 0.7, 1e9, 1.1e-7 + 0.5])
def test_rewards_that_are_all_alike_are_no_certainty(reward):
    """As on a coarse scale: 2^-n, not the 0 of a Student law without spread, nor rounding's."""
    for n in (1, 2, 5, 20):
        assert chance("gaussian", [reward] * n) == pytest.approx(0.5**n, abs=0)
    assert chance("gaussian", [reward] * 3, side=False, eps=0.0) == pytest.approx(1 - 0.5**3)
    assert chance("gaussian", [0.5] * 3, eps=0.0) == 0.5


def test_per_arm_thresholds_and_spreads():
    problem = Problem(
        arms=2, threshold=[0.5, 2.0], precision=[0.1, 0.0], rewards=Rewards("gaussian", sd=[1, 3])
    )
    tallies = Tallies.of([Tally(4, 4 * 0.2, 0.0, 0.5), Tally(9, -9 * 1.0, 0.0, 2.0)])
    wanted = [stats.norm.cdf(2 * (0.4 - 0.7)), stats.norm.sf(3 * (2.0 - 1.0) / 3)]
    assert wrong_chances(problem, tallies, [True, False]) == pytest.approx(wanted, rel=1e-12)


def test_any_wrong():
    assert wrong_chance([0.1, 0.5]) == pytest.approx(0.55)
    assert wrong_chance([0.0, 0.0]) == 0.0
    assert wrong_chance([1.0, 0.2]) == pytest.approx(1.0)
    assert wrong_chance([1e-200, 2e-200]) == pytest.approx(3e-200, rel=1e-9, abs=0)


def test_nothing_that_can_be_wrong_is_0_and_not_minus_0():
    assert str(wrong_chance([])) == str(wrong_chance([0.0, 0.0])) == "0.0"


@pytest.mark.parametrize("kind", ["binary", "bounded"])
def test_an_arm_at_the_end_of_the_range_may_fail_yet(kind):
    """Half the prior at 1, half Jeffreys': by numerical integration, and 1/3 after one pass."""
    at = {"tau": 1.0, "eps": 0.0}
    for n in (1, 2, 10, 300):
        law = stats.beta(0.5, 0.5)
        spread = law.expect(lambda x, n=n: x**n)
        found = chance(kind, Tally(n, float(n), float(n)), side=True, **at)
        assert found == pytest.approx(spread / (1 + spread), rel=1e-6)
    assert chance(kind, Tally(1, 1.0, 1.0), side=True, **at) == pytest.approx(1 / 3)
    assert chance(kind, Tally(9, 8.0, 8.0), side=False, **at) == 0.0
