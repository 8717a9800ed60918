"""Counts, waiting times, heavy tails and duels; how often any arm exceeds a level; noise scales."""

import json
import math
from decimal import Decimal, localcontext
from itertools import accumulate
from operator import mul

import numpy as np
import pytest
from scipy import stats

from cutline import APT, Bandit, Rewards, RoundRobin, play
from cutline.core.chance import REWARD, chance, uniform
from cutline.simulation.arms import (
    FAMILIES,
    Arms,
    Bernoulli,
    Beta,
    Duels,
    Exponential,
    Gaussian,
    Pareto,
    Poisson,
    Recorded,
    StudentT,
)
from cutline.testing import check_rule

UNIT = 2.0**-53  # uniforms are odd multiples of it
EDGES = [UNIT, 3 * UNIT, 2.0**-30 + UNIT, 0.5 - UNIT, 0.5 + UNIT, 1 - 2.0**-30 - UNIT]
EDGES += [1 - 5 * UNIT, 1 - 3 * UNIT, 1 - UNIT]
US = sorted(EDGES + [uniform(chance(1, 0, 0, 0, pull, REWARD), 0) for pull in range(200)])
RATES = [0.0, 1e-6, 0.3, 1.0, 20.0, 1234.5, 10**6]
CHANCES = [[0.5, 0.7, 0.9, 0.2], [0.3, 0.5, 0.6, 0.4], [0.1, 0.4, 0.5, 1.0], [0.8, 0.6, 0.0, 0.5]]


def quantiles(arms, us=US, origin=0.0):
    """The rewards at given uniforms, a list for every arm."""
    columns = arms.columns(np.full(len(arms), origin))
    if len(arms.table()):
        columns["table"] = [arms.table()] * len(arms)
    return [
        [type(arms).quantile(u, **{name: row[i] for name, row in columns.items()}) for u in us]
        for i in range(len(arms))
    ]


def drawn(arms, pulls=4000, threshold=0.5):
    """The rewards of one game, by arm."""
    game = play(Bandit(arms, threshold=threshold), RoundRobin(), budget=pulls * len(arms), seed=12)
    rewards, pulled = np.array(game.rewards), np.array(game.arms)
    return [rewards[pulled == arm] for arm in range(len(arms))]


def upper_tails(counts, rate):
    """P(X > count) of a Poisson count, in forty digits, for whole rates and counts from there on.

    At rate 1e6 scipy 1.17 errs by up to 1e-5 of the upper tail; its lower tail is good.
    """
    reach = int(14 * math.sqrt(rate))
    with localcontext(prec=40):
        down = accumulate((k / Decimal(rate) for k in range(rate, rate - reach, -1)), mul)
        up = accumulate((Decimal(rate) / k for k in range(rate + 1, int(max(counts)) + reach)), mul)
        beyond = list(accumulate(reversed(list(up))))[::-1]
        total = 1 + sum(down) + beyond[0]
        return [float(beyond[count - rate] / total) for count in counts]


def test_poisson_tables_hold_the_cumulative_probabilities():
    arms = Poisson(RATES)
    columns = {name: row.astype(int) for name, row in arms.columns(np.zeros(7)).items()}
    for rate, start, size, first in zip(RATES, *columns.values(), strict=True):
        counts, table = np.arange(first, first + size), arms.table()[start : start + size]
        left = table < 0.5
        np.testing.assert_allclose(table[left], stats.poisson.cdf(counts[left], rate), rtol=1e-13)
        exact = stats.poisson.sf if rate < 1e6 else upper_tails
        upper = exact(counts[~left], rate)
        np.testing.assert_allclose(1 - table[~left], upper, rtol=1e-13, atol=1.001 * 2.0**-54)
        assert size < 20_000
    assert columns["size"][0] == 1  # rate 0: nothing but 0


def test_poisson_rewards_are_the_quantiles():
    for rate, rewards in zip(RATES, quantiles(Poisson(RATES)), strict=True):
        assert rewards == sorted(rewards)
        for u, count in zip(US, rewards, strict=True):
            # The smallest count with P(X <= count) >= u; the table rounds to 2^-54 above 1/2.
            slack = 1e-13 * min(u, 1 - u) + (2.0**-54 if u > 0.5 else 0.0)
            assert stats.poisson.sf(count, rate) <= 1 - u + slack
            assert count == 0 or stats.poisson.cdf(count - 1, rate) <= u + slack
        # Scipy's own quantile, where its digits suffice.
        middle = [i for i, u in enumerate(US) if 1e-6 < u < 1 - 1e-6]
        np.testing.assert_array_equal(
            np.array(rewards)[middle], stats.poisson.ppf(np.array(US)[middle], rate)
        )
    assert quantiles(Poisson([0.0]))[0] == [0.0] * len(US)


def test_exponential_rewards_are_the_quantiles():
    means = [1e-3, 1.0, 40.0]
    for mean, rewards in zip(means, quantiles(Exponential(means)), strict=True):
        assert rewards == sorted(rewards)
        np.testing.assert_allclose(rewards, stats.expon.ppf(US, scale=mean), rtol=1e-15)


def test_pareto_rewards_are_the_quantiles():
    arms = Pareto([1.0, 0.2, 30.0], shape=[1.1, 2.5, 40.0])
    # By hand: a mean of 30 at shape 40 starts at 30 * 39/40.
    assert arms.least.tolist() == [pytest.approx(1 / 11), pytest.approx(0.12), 29.25]
    for least, shape, rewards in zip(arms.least, arms.shape, quantiles(arms), strict=True):
        assert rewards == sorted(rewards)
        np.testing.assert_allclose(rewards, stats.pareto.ppf(US, shape, scale=least), rtol=1e-14)
    for here, moved in zip(quantiles(arms), quantiles(arms, origin=7.0), strict=True):
        np.testing.assert_allclose(np.array(moved) + 7.0, here, rtol=1e-14, atol=1e-14)


def test_pareto_rewards_keep_their_digits_near_a_far_threshold():
    arms = Pareto([1e9], shape=1e9)  # rewards a few units above the least, 1e9 - 1
    (rewards,) = quantiles(arms, origin=arms.least[0])
    wanted = arms.least[0] * np.expm1(-np.log1p(-np.array(US)) / 1e9)
    np.testing.assert_allclose(rewards, wanted, rtol=1e-13)


def test_student_t_arms_follow_students_t():
    arms = StudentT([0.0, 1.0, -5.0], degrees=[1.5, 3.0, 300.0], scale=[1.0, 0.1, 3.0])
    settings = zip(arms.degrees, arms.centres, arms.scale, strict=True)
    truths = [stats.t(*setting) for setting in settings]
    for truth, rewards in zip(truths, drawn(arms, 10_000, threshold=1.5), strict=True):
        assert stats.kstest(rewards, truth.cdf).pvalue > 1e-4
        for tail in (0.01, 0.001):  # heavy tails are what they are for; 100 and 10 wanted in each
            for beyond in (rewards > truth.isf(tail), rewards < truth.ppf(tail)):
                assert stats.binomtest(int(beyond.sum()), len(rewards), tail).pvalue > 1e-4


def test_student_t_rewards_are_baileys():
    for pull, nu in enumerate([1.5, 3.0, 30.0] * 10):
        what = chance(4, 0, 0, 0, pull, REWARD)
        u, v = uniform(what, 0), uniform(what, 1)
        wanted = math.sqrt(nu * (u ** (-2 / nu) - 1)) * math.cos(2 * math.pi * v)
        assert StudentT.sample(what, 0.0, nu, 1.0) == pytest.approx(wanted, rel=1e-12)
        assert StudentT.sample(what, 5.0, nu, 0.1) == pytest.approx(5 + 0.1 * wanted, rel=1e-12)


def test_duels_are_won_as_often_as_preferred():
    for reference, means in ((None, [0.6, 1.3 / 3, 0.5, 1.4 / 3]), (2, [0.9, 0.6, 0.0])):
        arms = Duels(CHANCES, reference)
        np.testing.assert_allclose(arms.means, means, rtol=1e-15)
        for mean, rewards in zip(means, drawn(arms), strict=True):
            assert set(rewards) <= {0.0, 1.0}
            assert stats.binomtest(int(rewards.sum()), len(rewards), mean).pvalue > 1e-4


def test_opponents_are_drawn_evenly_among_the_others():
    # Each option beats the next and loses to the one before: a win says who the opponent was.
    circle = Duels([[0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [1.0, 0.0, 0.5]])
    columns = circle.columns(np.zeros(3))
    for arm, opponents in enumerate([(1, 2), (0, 2), (0, 1)]):
        for pull in range(100):
            what = chance(3, 0, 0, arm, pull, REWARD)
            met = opponents[int(2 * uniform(what, 0))]
            row = {name: column[arm] for name, column in columns.items()}
            assert Duels.sample(what, **row, table=circle.table()) == (met == (arm + 1) % 3)


def test_strengths_make_a_bradley_terry_model():
    arms = Duels.from_strengths([1.0, 2.0, 4.0, 1e-300, 1e300], reference=2)
    np.testing.assert_allclose(arms.means, [1 / 5, 1 / 3, 2.5e-301, 1.0], rtol=1e-15)
    assert Duels.from_strengths([1, 3], reference=np.int64(0)).means.tolist() == [0.75]
    table = np.array(arms.preferences)
    np.testing.assert_allclose(table + table.T, 1.0, rtol=1e-15)


@pytest.mark.parametrize(
    ("arms", "sds"),
    [
        (Poisson([0.0, 0.2, 7.0, 900.0]), np.sqrt([0.0, 0.2, 7.0, 900.0])),
        (Exponential([0.1, 3.0]), [0.1, 3.0]),
        (Pareto.from_means([1.0, 5.0], sd=[0.2, 0.5]), [0.2, 0.5]),
        (StudentT([2.0, -1.0], degrees=6.0, scale=[0.1, 4.0]), np.sqrt(1.5) * np.array([0.1, 4.0])),
        (Duels(CHANCES), None),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_rewards_have_the_means_and_spreads_they_should(arms, sds):
    sds = np.sqrt(arms.means * (1 - arms.means)) if sds is None else sds
    for mean, sd, rewards in zip(arms.means, sds, drawn(arms), strict=True):
        assert abs(rewards.mean() - mean) <= 4 * sd / math.sqrt(len(rewards))
        # 4,000 rewards tell the sd to 1 or 2 percent, less well the heavier the tails.
        assert rewards.std() == pytest.approx(sd, rel=0.1)
        arms.rewards.check(rewards[0])


EXCEEDANCES = [
    (
        Gaussian([0.0, 1.0, -5.0], sd=[1.0, 0.1, 3.0]),
        [stats.norm(0, 1), stats.norm(1, 0.1), stats.norm(-5, 3)],
        [0.0, -40.0, 30.0, 1.5, [8.0, 1.3, 20.0]],
    ),
    (
        Beta([0.05, 2.0, 300.0], [0.1, 300.0, 2.0], low=-1, high=3),
        [stats.beta(a, b, -1, 4) for a, b in ((0.05, 0.1), (2, 300), (300, 2))],
        [-2.0, -1.0, -1 + 1e-9, 0.0, 1.0, 2.0, 2.75, 3.0, 4.0, [3 - 1e-9, 1.2, 2.9999]],
    ),
    (
        Poisson([0.0, 1e-6, 0.3, 10.0, 1234.5]),
        [stats.poisson(rate) for rate in (0.0, 1e-6, 0.3, 10.0, 1234.5)],
        [-1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 9.99, 10.0, 1234.0, 1e12, [0, 2, 9, 90, 1500]],
    ),
    (
        Exponential([0.01, 1.0, 40.0]),
        [stats.expon(scale=mean) for mean in (0.01, 1.0, 40.0)],
        [-1.0, 0.0, 1e-9, 1.0, 6.0, [7.0, 600.0, 20_000.0]],
    ),
    (
        Pareto([1.0, 3.0, 5.0], shape=[1.5, 3.0, 50.0]),
        [stats.pareto(a, scale=m * (a - 1) / a) for m, a in ((1, 1.5), (3, 3), (5, 50))],
        [-1.0, 0.0, 1 / 3, 2.0, 4.9, 6.0, 1e5, [1e9, 1e30, 1e3]],
    ),
    (
        StudentT([0.0, 1.0, -2.0], degrees=[1.5, 3.0, 300.0], scale=[1.0, 0.5, 2.0]),
        [stats.t(1.5), stats.t(3, 1, 0.5), stats.t(300, -2, 2)],
        [-1e5, -3.0, 0.0, 1e-8, 1.0, 1.4, 5.0, 1e4, [1e12, 1e8, 60.0]],
    ),
]


@pytest.mark.parametrize(
    ("arms", "truths", "levels"), EXCEEDANCES, ids=[row[0].name for row in EXCEEDANCES]
)
def test_exceedances_are_scipys(arms, truths, levels):
    for level in levels:
        each = np.broadcast_to(level, len(truths))
        wanted = [truth.sf(at) for truth, at in zip(truths, each, strict=True)]
        # The tails go down to 1e-198; all that is left to rounding is the last few digits.
        np.testing.assert_allclose(arms.above(level), wanted, rtol=2e-13, atol=0, err_msg=level)


def test_exceedances_of_large_counts():
    counts = [10**6, 1_001_000, 1_008_000, 1_030_000]  # up to 30 sd above
    found = [Poisson([1e6]).above(count)[0] for count in counts]
    np.testing.assert_allclose(found, upper_tails(counts, 10**6), rtol=1e-13)
    lower = 1 - Poisson([1e6]).above(996_000)[0]
    assert lower == pytest.approx(stats.poisson.cdf(996_000, 1e6), rel=0, abs=1e-16)


def test_exceedances_of_arms_with_few_values():
    coins = Bernoulli([0.0, 0.3, 1.0])
    assert coins.above(-1).tolist() == [1.0, 1.0, 1.0]
    assert coins.above(-1e-300).tolist() == [1.0, 1.0, 1.0]
    assert coins.above(0).tolist() == coins.above(0.99).tolist() == [0.0, 0.3, 1.0]
    assert coins.above(1).tolist() == coins.above(5).tolist() == [0.0, 0.0, 0.0]
    assert coins.above([-1, 0.5, 1]).tolist() == [1.0, 0.3, 0.0]
    duels = Duels([[0.5, 0.75], [0.25, 0.5]])
    assert duels.above([0.0, -0.5]).tolist() == [0.75, 1.0]
    assert duels.above(1).tolist() == [0.0, 0.0]
    stored = Recorded.from_counts([{0.5: 6, 1.5: 1, 2.5: 3}, {1.5: 2}], Rewards("gaussian"))
    assert stored.above(1.5).tolist() == [0.3, 0.0]
    assert stored.above([0.0, 1.4]).tolist() == [1.0, 1.0]
    still = Gaussian([1.0, 1.0, 1.0], sd=0)
    assert still.above([0.9, 1.0, 1.1]).tolist() == [1.0, 0.0, 0.0]


def test_exceedances_are_how_often_rewards_exceed():
    for arms, level in (
        (Beta([2.0], [3.0]), 0.6),
        (Poisson([4.0]), 6.0),
        (Exponential([2.0]), 3.0),
        (Pareto([2.0]), 3.0),
        (StudentT([0.0], degrees=2.0), 1.5),
        (Recorded.from_counts([{0.25: 3, 0.5: 2, 0.75: 2}], Rewards("bounded")), 0.5),
    ):
        (rewards,) = drawn(arms)
        (wanted,) = arms.above(level)
        assert 0.05 < wanted < 0.3
        assert stats.binomtest(int((rewards > level).sum()), len(rewards), wanted).pvalue > 1e-4


def test_levels_are_one_number_or_one_per_arm():
    for arms, _, _ in EXCEEDANCES:
        with pytest.raises(ValueError, match="level must be one number or one per arm"):
            arms.above([0.0] * (len(arms) + 1))
        with pytest.raises(ValueError, match="finite"):
            arms.above(math.nan)

    class Mystery(Arms):
        name = "mystery"

    with pytest.raises(ValueError, match="mystery arms do not know"):
        Mystery().above(0.5)
    assert Mystery().noise_scale is None


def test_noise_scales():
    bounded = Rewards("bounded", -1, 2)
    for arms, scale in (
        (Bernoulli([0.0, 0.1]), [0.5, 0.5]),
        (Gaussian([0.0, 1.0], sd=[1.0, 3.0]), [1.0, 3.0]),
        (Beta([1.0, 2.0], [9.0, 2.0], low=-1, high=2), [1.5, 1.5]),
        (Recorded.from_samples([[0.0], [1.0]], Rewards("binary")), [0.5, 0.5]),
        (Recorded.from_samples([[0.0], [1.0]], bounded), [1.5, 1.5]),
        (Recorded.from_samples([[0.0], [1.0]], Rewards("heavy")), None),
        (Duels(CHANCES, reference=0), [0.5, 0.5, 0.5]),
        (Poisson([1.0]), None),
        (Exponential([1.0]), None),
        (Pareto([1.0]), None),
        (StudentT([1.0], degrees=3.0), None),
    ):
        found = arms.noise_scale
        assert (None if found is None else found.tolist()) == scale


@pytest.mark.parametrize(
    "bandit",
    [
        Bandit(Poisson([0.0, 0.4, 2.0, 30.0]), threshold=1.0, precision=0.1),
        Bandit(Exponential([0.2, 0.9, 1.5]), threshold=1.0, precision=0.1),
        Bandit(Pareto([0.5, 1.1, 2.0], shape=[1.5, 2.5, 9.0]), threshold=1.0, precision=0.1),
        Bandit(StudentT([0.5, 1.1, 2.0], degrees=[1.5, 3.0, 30.0]), threshold=1.0, precision=0.1),
        Bandit(Duels(CHANCES), threshold=0.5, precision=0.01),
        Bandit(Duels(CHANCES, reference=1), threshold=0.5, precision=0.01),
    ],
    ids=lambda bandit: bandit.arms.name,
)
def test_compiled_games_equal_the_plain_ones(bandit):
    check_rule(APT(), bandit)


def test_bandits_survive_a_file():
    for arms in (
        Poisson([0.1, 2e5]),
        Exponential([0.1, 2.0]),
        Pareto([0.1, 2.0], shape=[1.5, 2.5]),
        StudentT([0.1, 2.0], degrees=[1.5, 3.0], scale=0.5),
        Duels([[None, 0.9], [0.1, None]]),
        Duels(np.array(CHANCES)[:3, :3], reference=np.int64(1)),
    ):
        bandit = Bandit(arms, threshold=[0.1, 0.2], precision=0.01, names=["x", "y"])
        assert Bandit.from_dict(json.loads(json.dumps(bandit.to_dict()))) == bandit
        assert FAMILIES[arms.name] is type(arms)


def test_arms_from_means():
    for family in (Poisson, Exponential, Pareto, StudentT):
        assert family.from_means([0.5, 2.0], None).means.tolist() == [0.5, 2.0]
    assert Pareto.from_means([0.5, 2.0], None).shape == (2.5, 2.5)
    pareto = Pareto.from_means([0.5, 2.0], sd=[3.0, 0.1])
    for mean, sd, shape, least in zip((0.5, 2), (3, 0.1), pareto.shape, pareto.least, strict=True):
        truth = stats.pareto(shape, scale=least)
        assert (truth.mean(), truth.std()) == (pytest.approx(mean), pytest.approx(sd))
    student = StudentT.from_means([0.5, 2.0], sd=[3.0, 0.1])
    assert student.degrees == (3.0, 3.0)
    assert stats.t(3, scale=student.scale).std() == pytest.approx([3.0, 0.1])
    assert StudentT.from_means([0.5], None).scale == (1.0,)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Poisson([1.0, -0.5]), "0 or more, got -0.5"),
        (lambda: Poisson([2e9]), "at most 1e"),
        (lambda: Poisson([]), "at least one arm"),
        (lambda: Poisson([float("inf")]), "finite"),
        (lambda: Poisson.from_means([1.0], 1.0), "leave out sd"),
        (lambda: Exponential([1.0, 0.0]), "above 0, got 0.0"),
        (lambda: Exponential.from_means([1.0], 1.0), "leave out sd"),
        (lambda: Pareto([0.0]), "mean of a Pareto arm is above 0"),
        (lambda: Pareto([1.0], shape=1.0), "above 1, got 1.0: up to 1 it has no mean"),
        (lambda: Pareto([1.0, 2.0], shape=[3, 3, 3]), "2 arms and 3 numbers"),
        (lambda: Pareto.from_means([1.0], 0.0), "sd of a Pareto arm is above 0"),
        (lambda: StudentT([0.0], degrees=1.0), "above 1, got 1.0: up to 1 it has no mean"),
        (lambda: StudentT([0.0], degrees=3.0, scale=0.0), "scale of a Student t arm is above 0"),
        (lambda: StudentT.from_means([1.0], -1.0), "sd of a Student t arm is above 0"),
        (lambda: Duels([]), "at least two options, got 0 rows"),
        (lambda: Duels([[0.5]]), "at least two options, got 1 rows of 1"),
        (lambda: Duels([0.5, 0.5]), "at least two options, got 2 rows of 1"),
        (lambda: Duels([[0.5, 0.2], [0.8]]), "at least two options, got 2 rows of 1, 2"),
        (lambda: Duels([[0.5, 1.2], [-0.2, 0.5]]), "a chance from 0 to 1, got 1.2"),
        (lambda: Duels([[0.5, float("nan")], [0.2, 0.5]]), "a chance from 0 to 1, got nan"),
        (lambda: Duels([[0.5, 0.7], [0.300001, 0.5]]), "options 0 and 1 must add up to 1"),
        (lambda: Duels(CHANCES, reference=4), "0 to 3, got 4"),
        (lambda: Duels(CHANCES, reference=-1), "0 to 3, got -1"),
        (lambda: Duels(CHANCES, reference=1.0), "0 to 3, got 1.0"),
        (lambda: Duels(CHANCES, reference=True), "0 to 3, got True"),
        (lambda: Duels.from_strengths([1.0, 0.0]), "strength of an option is above 0"),
        (lambda: Duels.from_means([0.5, 0.6], None), "cannot be made from means"),
    ],
)
def test_bad_arms_get_a_clear_error(make, words):
    with pytest.raises(ValueError, match=words):
        make()
