"""Stopping at a confidence: published stopping times, power, and what the bound promises."""

import math

import numpy as np
import pytest

from cutline import (
    APT,
    LUCBG,
    Auto,
    Bandit,
    Bernoulli,
    HDoC,
    Rewards,
    RoundRobin,
    arithmetic,
    geometric,
    simulate,
    three_groups,
)
from cutline.core.theory import confidence_lower_bound

# Kano et al. (2019), Table 2, as replicated with 1,000 runs at delta = 0.05: the mean pulls until
# the first, second, ... good arm was found, and until all arms were settled.
MEANS = {
    "T1": ([0.1] * 3 + [0.35, 0.45, 0.55, 0.65] + [0.9] * 3, 0.5),
    "T2": ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.35),
    "T3": ([0.55] * 3 + [0.45] * 7, 0.5),
}
TABLE_2 = {
    ("T1", HDoC()): [112.7, 148.3, 182.3, 728, 5579, 10281],
    ("T1", LUCBG()): [127.2, 162.8, 194.6, 814, 5790, 10231],
    ("T1", APT()): [6125, 6332, 6533, 8274, 10189, 10267],
    ("T2", HDoC()): [230, 680, 5273, 9929],
    ("T2", LUCBG()): [259, 751, 5505, 9947],
    ("T2", APT()): [6813, 7906, 9874, 9958],
    ("T3", HDoC()): [9000, 12827, 15959, 46021],
    ("T3", LUCBG()): [10361, 14095, 17075, 46009],
    ("T3", APT()): [44596, 45492, 45896, 46051],
}
GAMES = 600
MOST = 2_000_000  # games end long before


def kano(problem):
    means, threshold = MEANS[problem]
    return Bandit(Bernoulli(means), threshold=threshold)


@pytest.mark.parametrize(("problem", "rule"), TABLE_2, ids=lambda x: getattr(x, "spec", x))
def test_table_2_of_kano_et_al(problem, rule):
    wanted = TABLE_2[problem, rule]
    result = simulate(
        kano(problem),
        [rule],
        budget=[MOST],
        games=GAMES,
        seed=71,
        confidence=0.95,
        evidence="hoeffding",
    )
    stops = result.stops
    assert stops.finished.tolist() == [GAMES]
    assert result.wrong_games.tolist() == [[0]]  # "all correct"
    # The spread of the stopping time is that of a game; theirs is of 1,000 games.
    error = stops.standard_error[0] * math.sqrt(1 + GAMES / 1000)
    assert stops.mean_spent[0] == pytest.approx(wanted[-1], abs=3.5 * error)
    found = stops.mean_found[0][: len(wanted) - 1]
    # Times on the way vary about as much as the last one, at most as much as themselves.
    margins = [3.5 * min(error * 2, 1.2 * w * math.sqrt(1 / GAMES + 1 / 1000)) for w in wanted[:-1]]
    assert np.all(np.abs(found - wanted[:-1]) <= margins), (found, wanted, margins)


def test_clucb_needs_four_times_what_mixtures_need():
    coins = kano("T1")
    how = {"budget": [MOST], "seed": 72, "confidence": 0.95, "games": 300}
    clucb = simulate(coins, [RoundRobin()], evidence="clucb", **how).stops
    # 16,450 where an arm once settled may open again as time goes by; here it stays settled.
    assert 15_000 < clucb.mean_spent[0] < 16_800
    mixture = simulate(coins, [RoundRobin()], **how).stops
    assert mixture.mean_spent[0] == pytest.approx(3461, rel=0.06)


@pytest.mark.parametrize("problem", MEANS)
def test_the_default_needs_fewer_pulls_than_hdoc_with_its_own_bounds(problem):
    how = {"budget": [MOST], "games": 200, "seed": 73, "confidence": 0.95}
    ours = simulate(kano(problem), [Auto()], **how)
    theirs = simulate(kano(problem), [HDoC()], evidence="hoeffding", **how)
    assert ours.stops.finished.tolist() == [200]
    assert ours.stops.mean_spent[0] < 0.5 * theirs.stops.mean_spent[0]
    assert ours.error_rate[0] <= 0.05


@pytest.mark.parametrize("gaussian", [False, True], ids=["coins", "normal"])
@pytest.mark.parametrize("make", [three_groups, arithmetic, geometric])
def test_within_three_times_the_lower_bound_at_k_over_delta(make, gaussian):
    bandit = make(gaussian)
    if gaussian:
        known = Rewards("gaussian", sd=0.5)
        bandit = Bandit(bandit.arms, threshold=0.5, precision=0.1, rewards=known)
    sd = 0.5 if gaussian else None
    # kl(d, 1 - d) is about log(1/d); at d = 0.05/K it is what an arm of K must show.
    level = 0.05 / 10
    bound = confidence_lower_bound(bandit.problem, bandit.means, 1 - level, sd=sd, within=True)
    stops = simulate(bandit, [Auto()], games=400, seed=74, confidence=0.95).stops
    assert 1.0 < stops.mean_spent[0] / bound < 1.35  # measured: 1.17 to 1.24


def test_stopping_with_a_budget_names_no_more_than_is_proven():
    bandit = kano("T2")
    result = simulate(bandit, [Auto()], budget=[800], games=100, seed=75, confidence=0.95)
    assert result.stops.finished[0] < 100
    assert result.stops.spent.max() == 800
    assert 0 < result.stops.mean_open[0] < 6


def test_a_higher_confidence_costs_pulls_in_proportion_to_its_logarithm():
    spent = [
        simulate(three_groups(), [Auto()], games=400, seed=76, confidence=c).stops.mean_spent[0]
        for c in (0.9, 0.99, 0.999)
    ]
    steps = np.diff(spent)
    assert np.all(steps > 0)
    assert steps[1] == pytest.approx(steps[0], rel=0.25)  # each step is another log(10)
