"""Every rule at a bar of exactly 0 or 1, and where the band touches the end of the range."""

import math
from functools import cache
from itertools import product

import numpy as np
import pytest

from cutline import (
    SLR,
    Auto,
    Bandit,
    Bernoulli,
    Beta,
    Exponential,
    Poisson,
    Problem,
    Recorded,
    Rewards,
    Tally,
    play,
    simulate,
)
from cutline.core.special import bernoulli_kl
from cutline.rules import RULES
from cutline.rules.auto import AutoAtEnds, BoundedAuto, ExponentialAuto, PoissonAuto
from cutline.rules.slr import PROVEN, ExponentialSLR, PoissonSLR, coin_ratio, count_ratio
from cutline.simulation.engine import Player

WAYS = ("scan", "tree", "policy")
NEVER = [1.0, 1.0, 0.9, 1.0, 0.7, 0.95]
ENDS = {
    "bar 1": Bandit(Bernoulli(NEVER), threshold=1.0),
    "bar 0": Bandit(Bernoulli([0.0, 0.0, 0.1, 0.5, 0.0, 0.05]), threshold=0.0),
    "up to 1": Bandit(Bernoulli(NEVER), threshold=0.95, precision=0.05),
    "from 0": Bandit(Bernoulli([0.0, 0.0, 0.1, 0.5, 0.0]), threshold=0.05, precision=0.05),
    "some at 1": Bandit(Bernoulli(NEVER), threshold=[1.0, 0.5, 1.0, 0.9, 1.0, 1.0]),
    "just inside": Bandit(Bernoulli(NEVER), threshold=1 - 2.0**-53),
    "least of all": Bandit(Bernoulli([0.0, 0.0, 0.1, 0.5, 0.0]), threshold=5e-324),
    "bounded": Bandit(
        Recorded.from_samples(
            [[1.0], [1.0, 0.5], [0.2, 1.0], [1.0], [0.9, 1.0]], Rewards("bounded")
        ),
        threshold=1.0,
    ),
}  # fmt: skip
OPEN_FIRST = [Auto(), SLR(), BoundedAuto()]


def fits(rule, bandit):
    """Whether the rule is made for such a bandit; else the reason it gives is an answer."""
    try:
        rule.on(bandit.problem).check(bandit.problem)
        rule.on(bandit.problem).start(bandit.problem, bandit.means)
        rule.on(bandit.problem).settings(bandit.problem, 60, bandit.means)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("where", ENDS)
@pytest.mark.parametrize("name", RULES)
def test_every_rule_plays_on(name, where):
    bandit, rule = ENDS[where], RULES[name]()
    if fits(rule, bandit):
        game = play(bandit, rule, budget=60, seed=3)
        assert len(game.arms) == 60 or name in ("csar", "sar")  # which may leave a rest


def same_picks(rule, bandit, ways):
    for game in range(2):
        plain = play(bandit, rule, budget=60, seed=3, game=game).arms
        for way in ways:
            assert Player(rule, bandit, way=way).picks(3, game, 60) == plain


@pytest.mark.parametrize("where", ["bar 1", "up to 1", "some at 1", "just inside", "least of all"])
@pytest.mark.parametrize("rule", [Auto(), SLR()], ids=lambda rule: rule.name)
def test_compiled_they_play_as_in_plain_python(rule, where):
    same_picks(rule, ENDS[where], [None])


@pytest.mark.slow
@pytest.mark.parametrize("where", ENDS)
@pytest.mark.parametrize("name", RULES)
def test_compiled_every_rule_plays_as_in_plain_python_in_every_way(name, where):
    rule, bandit = RULES[name](), ENDS[where]
    if fits(rule, bandit):
        same_picks(rule, bandit, WAYS if rule.name in ("auto", "slr", "auto-bounded") else [None])


@pytest.mark.parametrize("rule", OPEN_FIRST, ids=lambda rule: rule.name)
@pytest.mark.parametrize("where", ["bar 1", "bounded"])
def test_an_arm_that_failed_takes_no_trial_while_another_is_open(rule, where):
    bandit = ENDS[where]
    for game in range(20):
        played = play(bandit, rule, budget=60, seed=5, game=game)
        failed, pulls = set(), [0] * len(bandit.means)
        for arm, reward in zip(played.arms, played.rewards, strict=True):
            untried = [i for i, n in enumerate(pulls) if n == 0]
            if not untried:
                assert arm not in failed or len(failed) == len(pulls)
                open_arms = [n for i, n in enumerate(pulls) if i not in failed]
                assert not open_arms or pulls[arm] == min(open_arms)  # they take turns
            pulls[arm] += 1
            if reward < 1:
                failed.add(arm)


def test_an_index_at_the_end_by_hand():
    at = {"threshold": 1.0, "width": 1.0}
    # Nine passes: nothing speaks against a mean of 1, and 1/2 ln n is left.
    assert AutoAtEnds().index(Tally(9, 9.0), **at) == pytest.approx(math.log(3), abs=1e-15)
    assert SLR().index(Tally(9, 9.0), **at) == pytest.approx(0.0, abs=1e-15)
    assert SLR().index(Tally(9, 9.0), **at) < SLR().index(Tally(10, 10.0), **at)
    assert BoundedAuto().index(Tally(9, 9.0, 9.0), **at) == AutoAtEnds().index(Tally(9, 9.0), **at)
    # One failure proves that the mean is not 1, however many passes there were.
    for rule in (AutoAtEnds(), SLR()):
        assert PROVEN < rule.index(Tally(10**6, 10.0**6 - 1), **at) < math.inf
    assert BoundedAuto().index(Tally(100, 99.5, 99.25), **at) > PROVEN
    none = {"threshold": 0.0}
    for rule in (PoissonAuto(), ExponentialAuto()):
        assert rule.index(Tally(9, 0.0), **none) == pytest.approx(math.log(3), abs=1e-15)
        assert rule.index(Tally(9, 1.0), **none) > PROVEN
    for rule in (PoissonSLR(), ExponentialSLR()):
        assert rule.index(Tally(9, 0.0), **none) < 1e-15
        assert rule.index(Tally(9, 1.0), **none) > PROVEN


def test_the_end_is_where_bars_inside_lead_to():
    """The nearer the bar is to 1, the nearer the index is to that at 1, on both sides."""
    for n in (1, 5, 40):
        clean = [coin_ratio(n, n, 1 - 2.0**-k, 1.0) for k in range(5, 53)]
        assert all(np.diff(clean) <= 0)
        assert clean[-1] < 1e-13
        failed = [coin_ratio(n, n - 1, 1 - 2.0**-k, 1.0) for k in range(5, 53)]
        assert all(np.diff(failed) > 0)
        assert failed[-1] < coin_ratio(n, n - 1, 1.0, 1.0)
        counted = [count_ratio(n, 1.0, 2.0**-k) for k in range(9, 53)]
        assert all(np.diff(counted) > 0)
        assert counted[-1] < count_ratio(n, 1.0, 0.0)


@pytest.mark.parametrize("tau", [5e-324, 1e-300, 1e-20, 1e-17, 1 - 2.0**-53, 1 - 1e-12])
def test_bars_next_to_an_end_have_their_divergence(tau):
    for n, s in product((1, 7), (0.0, 1.0)):
        found = SLR().index(Tally(n, s), threshold=tau, width=1.0)
        wanted = n * bernoulli_kl(s / n, tau)
        if tau < 1e-18 and s:  # counts as 0
            assert found >= PROVEN
            continue
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-14)


# --- how often they err --------------------------------------------------------------------------


def exact_wrong_arms(means, budget):
    """Wrong arms on average if open arms take turns, all orders being alike: every outcome."""

    @cache
    def value(state, left):
        open_arms = [i for i, n in enumerate(state) if n >= 0]
        if not left or not open_arms:
            return float(sum(means[i] < 1 for i in open_arms))
        fewest = min(state[i] for i in open_arms)
        ties = [i for i in open_arms if state[i] == fewest]
        found = 0.0
        for i in ties:
            for to, chance in ((state[i] + 1, means[i]), (-1, 1 - means[i])):
                if chance:
                    after = (*state[:i], to, *state[i + 1 :])
                    found += chance * value(after, left - 1) / len(ties)
        return found

    return value((0,) * len(means), budget)


def test_wrong_arms_as_by_enumeration():
    means, budget, games = (1.0, 0.9, 0.7, 0.5), 12, 40_000
    wanted = exact_wrong_arms(means, budget)
    result = simulate(Bandit(Bernoulli(means), threshold=1.0), Auto(), budget=budget, games=games)
    found = float(result.wrong_arms_curve[0][-1])
    spread = math.sqrt(float(result.wrong_arms_squared[0][-1]) / games - found**2)
    assert abs(found - wanted) < 4 * spread / math.sqrt(games)


def best_possible(rates, chances, budget):
    """The fewest wrong arms on average of any rule, by dynamic programming over all states.

    Each arm's mean is drawn anew: one of ``rates``, with ``chances``. A state is how often each
    open arm passed; one that has failed is right from then on.
    """

    def moment(n, rate_power=0):
        return sum(c * r**n * (1 - r) ** rate_power for r, c in zip(rates, chances, strict=True))

    def wrong(n):
        return sum(c * r**n for r, c in zip(rates, chances, strict=True) if r < 1) / moment(n)

    @cache
    def value(state, left):
        if not left:
            return sum(map(wrong, state))
        best = math.inf if state else 0.0
        for i in range(len(state)):
            n, others = state[i], state[:i] + state[i + 1 :]
            again = moment(n + 1) / moment(n)
            passed = value(tuple(sorted((*others, n + 1))), left - 1)
            best = min(best, again * passed + (1 - again) * value(others, left - 1))
        return best

    def turns(state, left):
        if not left or not state:
            return sum(map(wrong, state))
        n, others = state[0], state[1:]
        again = moment(n + 1) / moment(n)
        passed = turns(tuple(sorted((*others, n + 1))), left - 1)
        return again * passed + (1 - again) * turns(others, left - 1)

    return value, turns


def test_no_rule_does_better_than_taking_turns_among_open_arms():
    """What auto does at a bar of 1 is the best there is for arms that are alike beforehand."""
    for rates, chances in [((1.0, 0.9, 0.5), (0.5, 0.3, 0.2)), ((1.0, 0.99, 0.3), (0.2, 0.4, 0.4))]:
        for arms, budget in ((2, 9), (3, 9), (4, 8)):
            value, turns = best_possible(rates, chances, budget)
            assert turns((0,) * arms, budget) == pytest.approx(value((0,) * arms, budget))


ERRING = {
    "the issue's": (Bernoulli([1.0] * 6 + [0.98, 0.95, 0.9, 0.8]), 1.0, 300),
    "most fail": (Bernoulli([1.0] * 3 + [0.95] * 12), 1.0, 300),
    "rarely": (Bernoulli([1.0] * 20 + [0.99, 0.98, 0.97]), 1.0, 1000),
    "all fail": (Bernoulli([0.999, 0.99, 0.9, 0.5]), 1.0, 200),
    "few trials": (Bernoulli([1.0, 0.9] * 15), 1.0, 60),
    "bounded": (
        Recorded.from_samples([[1.0]] * 6 + [[1.0] * 19 + [0.5], [1.0] * 9 + [0.9], [1.0, 0.0]],
                 Rewards("bounded")), 1.0, 150),
}  # fmt: skip


@pytest.mark.parametrize(
    "where", [pytest.param(k, marks=pytest.mark.slow if k == "bounded" else ()) for k in ERRING]
)
def test_auto_errs_as_little_as_any_rule_without_settings(where):
    """At most 1.1 times the wrong arms of the best of them, within the games' own uncertainty."""
    arms, tau, budget = ERRING[where]
    bandit, games = Bandit(arms, threshold=tau), 4_000
    fast = ("auto", "slr", "round-robin", "lsa", "fwt", "evt", "hdoc", "slr-v")
    names = fast if where != "bounded" else tuple(RULES)
    wrong = {}
    for name in names:
        rule = RULES[name]()
        if rule.anytime and fits(rule, bandit):
            result = simulate(bandit, rule, budget=budget, games=games, seed=2)
            wrong[name] = float(result.wrong_arms_curve[0][-1])
    best = min(wrong.values())
    assert wrong["auto"] <= 1.1 * best + 3 * math.sqrt(best / games), sorted(wrong.items())
    assert wrong["auto"] <= wrong["round-robin"]


def test_at_a_bar_of_0_nothing_is_ever_wrong():
    for arms in (Bernoulli([0.0, 0.1, 1.0]), Poisson([0.0, 0.1]), Exponential([0.1, 2.0])):
        result = simulate(Bandit(arms, threshold=0.0), Auto(), budget=50, games=100)
        assert not np.any(result.wrong_games[:, -1])


def test_bounded_rewards_whose_sums_round_are_at_the_end_in_a_game_too():
    arms = Recorded.from_samples([[0.1], [0.1], [0.1, 0.04]], Rewards("bounded", 0.0, 0.1))
    bandit = Bandit(arms, threshold=0.1)
    result = simulate(bandit, [Auto(), SLR()], budget=90, games=64)
    assert not np.any(result.wrong_games[:, -1])
    game = play(bandit, Auto(), budget=90, seed=1)
    assert Player(Auto(), bandit).picks(1, 0, 90) == game.arms
    assert game.arms.count(2) < 20


def test_a_level_set_at_a_bar_of_1():
    late = Problem(arms=2, threshold=1.0, level=0.2, rewards="exponential")
    assert late.rewards.kind == "binary"
    bandit = Bandit(Beta([8.0, 2.0], [2.0, 8.0]), threshold=1.0, level=0.0)
    result = simulate(bandit, Auto(), budget=40, games=50)
    assert not np.any(result.wrong_games[:, -1])
