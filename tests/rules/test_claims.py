"""What the paper says of its rule in words, each tried where it could turn out false."""

from itertools import product

import numpy as np
import pytest

from cutline import (
    APT,
    CSAR,
    SLR,
    UCB1,
    UCBE,
    Bandit,
    Bernoulli,
    Exponential,
    Gaussian,
    GCLStar,
    Oracle,
    Poisson,
    Rewards,
    RoundRobin,
    Tally,
    Uniform,
    geometric,
    play,
    simulate,
    three_groups,
)
from cutline.rules import RULES
from cutline.simulation import EXPERIMENTS
from cutline.simulation.exact import gaussian_correct, static_error

# "Our algorithm can be stopped at any time" (Section 2.4).

ANYTIME = [name for name, kind in RULES.items() if kind().anytime]


def test_which_rules_can_be_stopped_at_any_time():
    assert {"apt", "slr", "gcl", "uniform", "round-robin", "oracle", "ucb1"} <= set(ANYTIME)
    assert not {"ucbe", "csar", "ucbe-best", "ugape", "sar"} & set(ANYTIME)


@pytest.mark.parametrize("name", RULES)
def test_a_game_of_a_rule_that_is_not_told_the_horizon_is_the_start_of_a_longer_one(name):
    of = {"poisson": Poisson, "exponential": Exponential, "gaussian": Gaussian}
    family = next((kind for word, kind in of.items() if word in name), Bernoulli)
    known = Rewards("gaussian", sd=1.0) if family is Gaussian else None
    arms = family([0.2, 0.45, 0.6, 0.7, 0.9])
    coins = Bandit(arms, threshold=0.5, precision=0.1, rewards=known)
    rule = RULES[name]()
    starts = []
    for game in range(5):
        long = play(coins, rule, budget=160, seed=41, game=game).arms
        for budget in (10, 11, 40, 99):
            short = play(coins, rule, budget=budget, seed=41, game=game).arms
            starts.append(short == long[: len(short)] and len(short) == budget)
    assert all(starts) == (name in ANYTIME)


def test_the_error_curve_of_one_run_is_that_of_runs_told_each_horizon():
    rules = [APT(), SLR(), UCBE(1), CSAR()]
    options = {"games": 2_000, "seed": 42}
    curve = simulate(three_groups(), rules, budget=[40, 90, 200], replay=False, **options)
    replayed = simulate(three_groups(), rules, budget=[40, 90, 200], **options)
    for h, budget in enumerate((40, 90, 200)):
        told = simulate(three_groups(), rules, budget=[budget], **options)
        same = (curve.wrong_games[:, h] == told.wrong_games[:, 0]).tolist()
        # Those that must know the horizon are told 200 throughout.
        assert same == [True, True, budget == 200, budget == 200]
        assert replayed.wrong_games[:, h].tolist() == told.wrong_games[:, 0].tolist()


# "Known to be optimal if all arms are equally difficult to classify" (Section 4, of even pulls).

ALIKE = Bandit(Gaussian([0.5, -0.5, 0.5], sd=1.0), threshold=0.0, precision=0.125)
UNLIKE = Bandit(Gaussian([0.5, -0.25, 0.5], sd=1.0), threshold=0.0, precision=0.125)


def static_errors(bandit, budget):
    """The exact error of every way to fix the pulls beforehand, by pulls."""
    table = [
        gaussian_correct(mean, 1.0, 0.0, int(side), budget)
        for mean, side in zip(bandit.means, bandit.truth, strict=True)
    ]
    ways = product(range(1, budget), repeat=3)
    return {pulls: static_error(table, pulls) for pulls in ways if sum(pulls) == budget}


@pytest.mark.parametrize("budget", [24, 36, 60])
def test_with_equal_gaps_even_pulls_are_the_best_that_can_be_fixed_beforehand(budget):
    errors = static_errors(ALIKE, budget)
    assert min(errors, key=errors.get) == (budget // 3,) * 3
    errors = static_errors(UNLIKE, budget)
    assert min(errors, key=errors.get) != (budget // 3,) * 3


def test_with_equal_gaps_the_oracle_is_round_robin():
    for game in range(20):
        oracle, even = (
            play(ALIKE, rule, budget=50, seed=43, game=game).arms
            for rule in (Oracle(), RoundRobin())
        )
        assert oracle == even
    result = simulate(ALIKE, [Oracle(), RoundRobin()], budget=[24, 50], games=20_000, seed=43)
    assert result.wrong_games[0].tolist() == result.wrong_games[1].tolist()
    assert result.pulls_sum[0].tolist() == result.pulls_sum[1].tolist()
    oracle, even = simulate(UNLIKE, [Oracle(), RoundRobin()], budget=[50], games=100).pulls_sum
    assert oracle.tolist() != even.tolist()


def test_with_equal_gaps_apt_pulls_evenly_on_average_and_still_errs_less():
    # What is best beforehand is not best of all: a rule that looks moves on from what is clear.
    # With gaps that differ it gains more. Measured: 0.024 against 0.061, and 0.0021 against 0.052.
    rules = [APT(), RoundRobin()]
    alike = simulate(ALIKE, rules, budget=[50], games=20_000, seed=43)
    unlike = simulate(three_groups(), rules, budget=[400], games=20_000, seed=43)
    assert alike.mean_pulls[0] == pytest.approx([50 / 3] * 3, rel=0.02)
    for result in (alike, unlike):
        assert result.difference("round-robin", "apt", level=0.9999).low > 0
    less = [apt / even for apt, even in (alike.error_rate, unlike.error_rate)]
    assert less[1] < less[0] / 2


# "One does not need to know R" (after Theorem 2).


def scaled(scale):
    """Rewards in other units: means, noise, threshold and precision alike."""
    arms = Gaussian(np.array([-0.5, 0.25, 0.75, 1.5, 0.5]) * scale, sd=0.75 * scale)
    return Bandit(arms, threshold=0.375 * scale, precision=0.0625 * scale)


def same_choices(rule, one, other):
    return all(
        play(one, rule, budget=200, seed=44, game=game).arms
        == play(other, rule, budget=200, seed=44, game=game).arms
        for game in range(5)
    )


@pytest.mark.parametrize("scale", [2.0**-30, 0.5, 1024.0])
def test_apt_makes_the_same_choices_in_any_units(scale):
    assert same_choices(APT(), scaled(1.0), scaled(scale))
    one, other = (
        simulate(bandit, APT(), budget=[30, 100], games=2_000, seed=44)
        for bandit in (scaled(1.0), scaled(scale))
    )
    assert one.wrong_games.tolist() == other.wrong_games.tolist()
    assert one.pulls_sum.tolist() == other.pulls_sum.tolist()
    assert one.wrong_games.min() > 0


def test_rules_that_hold_a_width_against_the_mean_do_not():
    H = scaled(1.0).complexity()
    for rule in (UCB1(), UCBE(1, complexity=H), APT(precision=0.0625)):
        assert not same_choices(rule, scaled(1.0), scaled(1024.0))


# "The exact knowledge of H is needed" (Section 2.4, of upper-confidence rules).


def test_ucbe_errs_more_when_it_is_told_a_wrong_complexity():
    bandit = geometric()
    H = bandit.complexity()
    right, large, small = (UCBE(1, complexity=H * wrong) for wrong in (1.0, 4.0, 0.25))
    result = simulate(bandit, [APT(), UCBE(1), right, large, small], budget=[1_000], games=20_000)
    apt, _, exact, above, below = result.error_rate
    assert result.wrong_games[1].tolist() == result.wrong_games[2].tolist()
    # Measured: 0.0037 with H, 0.093 with 4 H (too little is explored), 0.012 with H/4 (too much).
    assert above > 10 * exact
    assert below > 2 * exact
    for wrong in (large, small):
        assert result.difference(wrong.spec, right.spec, level=0.9999).low > 0
        assert result.difference(wrong.spec, "apt", level=0.9999).low > 0
    # APT is told nothing, and errs as UCBE does with the right one.
    low, high = result.difference("apt", right.spec).low, result.difference("apt", right.spec).high
    assert low <= 0.0 <= high
    assert apt < 1.5 * exact


# "Our algorithm then reduces to GCL*" (Section 3.2, told the highest mean).

BEST = Bandit(Gaussian([0.25, 1.0, 0.75, -0.5, 0.5], sd=0.5), threshold=1.0)


def test_below_the_highest_mean_the_index_of_gcl_is_that_of_apt_squared():
    rng = np.random.default_rng(45)
    for _ in range(200):
        pulls, mean = int(rng.integers(1, 100)), rng.normal()
        tally = Tally(pulls, pulls * mean)
        apt = APT().index(tally, threshold=1.0)
        gcl = GCLStar().index(tally, threshold=1.0)
        assert gcl == (pytest.approx(apt**2, rel=1e-9) if mean < 1.0 else 0.0)


def first_above(arms, rewards, threshold):
    """After how many pulls a mean is above the threshold for the first time."""
    sums = {}
    for step, (arm, reward) in enumerate(zip(arms, rewards, strict=True)):
        n, total = sums.get(arm, (0, 0.0))
        sums[arm] = n + 1, total + reward - threshold
        if sums[arm][1] > 0:
            return step + 1
    return len(arms)


def test_apt_and_gcl_agree_until_a_mean_lies_above_the_threshold():
    agreed, parted = [], []
    for game in range(200):
        apt, gcl = (play(BEST, rule, budget=100, seed=45, game=game) for rule in (APT(), GCLStar()))
        together = first_above(apt.arms, apt.rewards, 1.0)
        # Every arm is pulled once to begin with, so what is above then counts from there on.
        assert apt.arms[: max(together, 5)] == gcl.arms[: max(together, 5)]
        agreed.append(together)
        parted.append(apt.arms != gcl.arms)
    assert max(agreed) > 20  # they agree for long in some games,
    assert sum(parted) > 20  # and part ways in many


def test_apt_and_gcl_differ_where_a_mean_lies_above_the_threshold():
    above, near, below = Tally(4, 8.0), Tally(4, 3.6), Tally(4, 0.0)  # means 2, 0.9 and 0
    apt, gcl = ([rule.index(t, threshold=1.0) for t in (above, near, below)]
                for rule in (APT(), GCLStar()))  # fmt: skip
    assert np.argmin(apt) == 1  # APT: which side is least settled?
    assert np.argmin(gcl) == 0  # GCL*: which arm could best be the best one?
    # In a game: after the first pulls GCL* stays with an arm above until its mean is below.
    for game in range(200):
        apt, gcl = (play(BEST, rule, budget=30, seed=46, game=game) for rule in (APT(), GCLStar()))
        start = dict(zip(gcl.arms[:5], gcl.rewards[:5], strict=True))
        if sum(reward > 1.0 for reward in start.values()) == 1 and max(start.values()) > 1.5:
            lucky = max(start, key=start.get)
            assert gcl.arms[5] == lucky
            if min(abs(reward - 1.0) for reward in start.values()) < max(start.values()) - 1.0:
                assert apt.arms[5] != lucky
                return
    pytest.fail("no game starts with one arm above the threshold and another nearer to it")


# "May only be outperformed by methods that have access to the underlying problem complexity", and
# CSAR is sub-optimal (Sections 4 and 2.4).


@pytest.mark.parametrize("name", ["three-groups", "arithmetic", "geometric"])
def test_no_rule_without_the_complexity_errs_less_than_apt(name):
    bandit = EXPERIMENTS[name](False)
    rules = [APT(), CSAR(), Uniform(), RoundRobin()]
    result = simulate(bandit, rules, budget=[100, 300], games=4_000, seed=48)
    for other in ("csar", "uniform", "round-robin"):
        for horizon in (100, 300):
            assert result.difference(other, "apt", horizon=horizon, level=0.999).low > 0
