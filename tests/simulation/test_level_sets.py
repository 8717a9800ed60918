"""Level sets, truths that are given, and a bar for every arm: each against a problem it equals."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from cutline import (
    APT,
    CSAR,
    Bandit,
    Bernoulli,
    Exponential,
    Gaussian,
    Problem,
    Recorded,
    Result,
    Rewards,
    RoundRobin,
    Uniform,
    play,
    simulate,
)
from cutline.core.chance import uniform
from cutline.core.intervals import clopper_pearson
from cutline.core.logarithm import log_unit
from cutline.core.problem import PerArm
from cutline.core.theory import (
    clearance,
    confidence_lower_bound,
    csar_bound,
    edge_divergences,
    kl_lower_bound,
    static_allocation,
    theorem_1,
    theorem_2,
)
from cutline.rules import RULES
from cutline.simulation.arms.base import Arms
from cutline.simulation.engine import Player
from cutline.simulation.reference import tie_order

THREE = [APT(), CSAR(), Uniform()]


def counts(result):
    names = ("wrong_games", "wrong_arms_sum", "wrong_arms_squared", "pulls_sum", "only")
    return [getattr(result, name).tolist() for name in names]


# Level sets

NORMAL = Gaussian([-1.0, -0.3, 0.0, 0.4, 1.5], sd=[1.0, 0.5, 1.0, 2.0, 1.0])
LEVELS = {"one level": 0.25, "a level for every arm": [0.0, -0.5, 0.25, 1.0, 1.25]}


def sets_and_coins(level):
    sets = Bandit(NORMAL, threshold=0.4, precision=0.05, level=level)
    coins = Bandit(Bernoulli(NORMAL.above(level)), threshold=0.4, precision=0.05)
    return sets, coins


@pytest.mark.parametrize("level", LEVELS.values(), ids=list(LEVELS))
def test_a_level_set_is_the_problem_of_its_coins_count_for_count(level):
    sets, coins = sets_and_coins(level)
    assert sets.means.tolist() == coins.means.tolist()
    assert sets.truth.tolist() == coins.truth.tolist()
    assert sets.complexity() == coins.complexity()
    assert sets.noise_scale == 0.5
    one, other = (
        simulate(bandit, THREE, budget=[20, 90], games=3_000, seed=21) for bandit in (sets, coins)
    )
    assert counts(one) == counts(other)
    assert one.wrong_games.min() > 100
    # Moved by a tenth the levels are another problem.
    moved = Bandit(NORMAL, threshold=0.4, precision=0.05, level=np.add(level, 0.1))
    assert counts(simulate(moved, THREE, budget=[20, 90], games=3_000, seed=21)) != counts(one)


@pytest.mark.parametrize("rule", THREE, ids=str)
def test_a_level_set_is_played_as_its_coins_are(rule):
    sets, coins = sets_and_coins(LEVELS["a level for every arm"])
    for game in range(20):
        one, other = (play(b, rule, budget=90, seed=21, game=game) for b in (sets, coins))
        assert one.arms == other.arms
        assert one.rewards == other.rewards
        assert set(one.rewards) == {0.0, 1.0}
        assert Player(rule, sets).picks(21, game, 90) == one.arms


STORED = Recorded.from_samples(
    [[1.0, 2.0, 2.0, 5.0], [0.5, 3.0, 3.5], [2.0, 2.0], [7.0]], Rewards("heavy")
)
WAITS = Exponential([0.5, 1.0, 2.0])


@pytest.mark.parametrize(
    ("arms", "level", "means"),
    [
        (WAITS, 1.0, [math.exp(-2), math.exp(-1), math.exp(-0.5)]),
        (WAITS, [0.5, 0.0, 6.0], [math.exp(-1), 1.0, math.exp(-3)]),
        (STORED, 2.0, [1 / 4, 2 / 3, 0.0, 1.0]),  # a reward of 2 is not above 2
        (STORED, [1.0, 3.0, 1.5, 7.0], [3 / 4, 1 / 3, 1.0, 0.0]),
    ],
    ids=["waits", "waits, own levels", "stored", "stored, own levels"],
)
def test_what_exceeds_the_level_is_what_counts(arms, level, means):
    bandit = Bandit(arms, threshold=0.5, level=level)
    assert bandit.means == pytest.approx(means, abs=1e-12)
    # Round robin does not look at rewards, so both games pull alike and draw alike.
    budget = 2_000 * len(means)
    game = play(bandit, RoundRobin(), budget=budget, seed=22)
    drawn = play(Bandit(arms, threshold=1.0), RoundRobin(), budget=budget, seed=22)
    levels = np.broadcast_to(level, len(means))
    assert game.arms == drawn.arms
    assert game.rewards == [
        float(value > levels[arm]) for arm, value in zip(drawn.arms, drawn.rewards, strict=True)
    ]
    for n, total, mean in zip(game.tallies.pulls, game.tallies.total, means, strict=True):
        low, high = clopper_pearson(total, int(n), 0.9999)
        assert low <= mean + 1e-12
        assert mean - 1e-12 <= high


def test_a_problem_says_what_a_measurement_counts_for():
    late = Problem(arms=["quick", "slow"], threshold=0.1, level=[0.2, 1.0], rewards="exponential")
    assert late.level == (0.2, 1.0)
    assert (late.rewards.kind, late.measured.kind) == ("binary", "exponential")
    assert late.origins.tolist() == [0.0, 0.0]
    counted = [late.reward(x, arm) for arm in (0, 1) for x in (0.1, 0.2, 0.7, 1.0, 1.1)]
    assert counted == [0, 0, 1, 1, 1, 0, 0, 0, 0, 1]
    with pytest.raises(ValueError, match="exponential reward lies between 0 and inf, got -1"):
        late.reward(-1.0, 0)  # what is measured is checked, not what it counts for
    plain = Problem(arms=2, threshold=0.1, rewards="exponential")
    assert plain.level is None
    assert plain.reward(0.7, 1) == 0.7
    with pytest.raises(ValueError, match="level must be one number or one per arm"):
        Problem(arms=3, threshold=0.1, level=[0.2, 1.0], rewards="exponential")


def test_a_level_set_has_no_level_sets():
    arms = Bandit(NORMAL, threshold=0.4, level=0.0).arms
    for level in (None, 0.5):
        with pytest.raises(ValueError, match="give the arms themselves"):
            Bandit(arms, threshold=0.4, level=level)
    with pytest.raises(ValueError, match="already are a level set"):
        arms.above(0.5)


def through_json(bandit):
    return Bandit.from_dict(json.loads(json.dumps(bandit.to_dict())))


@pytest.mark.parametrize(
    "bandit",
    [
        Bandit(NORMAL, threshold=0.4, level=0.25),
        Bandit(NORMAL, threshold=[0.1, 0.2, 0.3, 0.4, 0.5], level=[0.0, -0.5, 0.25, 1.0, 1.25]),
        Bandit(STORED, threshold=0.4, precision=0.1, level=2.0, names=list("abcd")),
        Bandit(NORMAL, threshold=0.4, truth=[1, -1, 0, 1, -1]),
        Bandit(WAITS, threshold=0.4, level=1.0, truth=[1, -1, 0]),
    ],
    ids=["level", "levels", "stored", "truth", "both"],
)
def test_bandits_come_back_from_json(bandit):
    back = through_json(bandit)
    assert back == bandit
    assert back.means.tolist() == bandit.means.tolist()
    assert back.truth.tolist() == bandit.truth.tolist()
    assert back.problem.level == bandit.problem.level
    one, other = (play(b, APT(), budget=60, seed=3) for b in (bandit, back))
    assert (one.arms, one.rewards) == (other.arms, other.rewards)
    assert through_json(Bandit(NORMAL, threshold=0.4)) != bandit


def test_a_result_on_a_level_set_comes_back_from_a_file(tmp_path):
    sets, _ = sets_and_coins(LEVELS["a level for every arm"])
    result = simulate(sets, THREE, budget=[20, 90], games=300, seed=21)
    result.save(tmp_path / "result.json")
    back = Result.load(tmp_path / "result.json")
    assert back.bandit == sets
    more = simulate(back.bandit, THREE, budget=[20, 90], games=10, seed=21, first_game=300)
    assert back.merge(more).games == 310


def test_the_best_arms_of_a_level_set_are_those_most_often_above():
    sets = Bandit(NORMAL, threshold=0.4, precision=0.05, level=0.25)
    best, two = sets.for_best_arm(), sets.for_top(2)
    assert best.problem.threshold == (sets.means.max(),) * 5
    assert best.means.tolist() == two.means.tolist() == sets.means.tolist()
    assert two.truth.tolist() == [-1, -1, -1, 1, 1]


# Truths that are given


def test_a_given_truth_changes_the_judging_only():
    coins = Bernoulli([0.2, 0.45, 0.5, 0.7, 0.9])
    plain = Bandit(coins, threshold=0.5, precision=0.1)
    turned = Bandit(coins, threshold=0.5, precision=0.1, truth=[1, 1, -1, -1, 0])
    assert plain.truth.tolist() == [-1, 0, 0, 1, 1]
    assert turned.truth.tolist() == [1, 1, -1, -1, 0]
    assert turned.complexity() == plain.complexity()
    rules = [*THREE, RULES["ucbe"](), RULES["oracle"]()]
    games = 50
    one, other = (
        simulate(bandit, rules, budget=[12, 60], games=games, seed=5) for bandit in (plain, turned)
    )
    assert one.pulls_sum.tolist() == other.pulls_sum.tolist()
    wrong = np.zeros((2, len(rules)), int)
    for r, rule in enumerate(rules):
        for game in range(games):
            a, b = (play(bandit, rule, budget=60, seed=5, game=game) for bandit in (plain, turned))
            assert (a.arms, a.rewards) == (b.arms, b.rewards)
            answer = rule.answer(plain.problem, a.tallies)
            for judged, bandit in enumerate((plain, turned)):
                wrong[judged, r] += any(
                    right != 0 and side != (right > 0)
                    for side, right in zip(answer, bandit.truth, strict=True)
                )
    assert one.wrong_games[:, -1].tolist() == wrong[0].tolist()
    assert other.wrong_games[:, -1].tolist() == wrong[1].tolist()
    assert (wrong[0] < wrong[1]).all()


@pytest.mark.parametrize("truth", [[1, -1], [1, -1, 2], [1, -1, 0, 0], []])
def test_a_truth_is_a_side_for_every_arm(truth):
    with pytest.raises(ValueError, match="for every arm"):
        Bandit(Bernoulli([0.2, 0.5, 0.7]), threshold=0.5, truth=truth)


# A bar for every arm

# What no rule can tell apart on normal rewards: the means from the bars are the same. All numbers
# are few binary digits, so that nothing is rounded.
CENTRES = np.array([0.25, 1.5, -2.0, 3.25, 0.75, 8.0])
BARS = np.array([0.5, 1.0, -2.25, 4.0, 0.5, 7.0])
BANDS = np.array([0.0625, 0.25, 0.0, 0.125, 0.25, 0.5])
OWN = Bandit(Gaussian(CENTRES, sd=0.5), threshold=BARS, precision=BANDS)
SHIFTED = Bandit(Gaussian(CENTRES - BARS, sd=0.5), threshold=0.0, precision=BANDS)

HEED = ["auto", "auto-student", "apt", "ucbe", "csar", "slr", "slr-v", "slr-gaussian",
        "slr-gaussian-unequal", "lsa", "fwt", "evt", "aug-ucb", "oracle", "apt-clipped",
        "apt-catoni", "apt-median", "gcl"]  # fmt: skip
IN_A_RANGE = ["slr-d", "auto-bounded", "bayes-ucb", "pi"]
OF_ANOTHER_KIND = ["slr-poisson", "slr-exponential", "auto-poisson", "auto-exponential"]
HEEDLESS = ["uniform", "round-robin", "ucbe-best", "ugape", "sar", "ucb1"]
# Told the noise; by luck that goes with the game; comparing means, whatever the bars.
APART = ["auto-gaussian", "tts", "hdoc", "lucb-g"]


def test_every_rule_is_somewhere_here():
    assert sorted(HEED + IN_A_RANGE + OF_ANOTHER_KIND + HEEDLESS + APART) == sorted(RULES)


@pytest.mark.parametrize("name", HEED)
def test_bars_of_their_own_equal_the_problem_shifted_to_one(name):
    rule = RULES[name]()
    unlike = Bandit(Gaussian(CENTRES, sd=0.5), threshold=0.5, precision=BANDS)
    differs = False
    for game in range(5):
        own, shifted, other = (
            play(bandit, rule, budget=150, seed=23, game=game) for bandit in (OWN, SHIFTED, unlike)
        )
        assert own.arms == shifted.arms
        answers = [rule.answer(OWN.problem, own.tallies),
                   rule.answer(SHIFTED.problem, shifted.tallies)]  # fmt: skip
        assert answers[0] == answers[1]
        differs |= own.arms != other.arms
    assert differs  # else the rule does not look at the bars, and the test says nothing


@pytest.mark.parametrize("name", ["apt", "ucbe", "csar"])
def test_bars_of_their_own_give_the_counts_of_the_shifted_problem(name):
    one, other = (
        simulate(bandit, RULES[name](), budget=[20, 100], games=1_000, seed=23)
        for bandit in (OWN, SHIFTED)
    )
    assert counts(one) == counts(other)
    assert one.wrong_games.min() > 0


def test_csar_holds_every_arm_against_its_own_bar():
    # Without noise, and with sums counted from 0: 0.2, 0.05, 0.3 and 0.15 from the bars.
    arms = Recorded.from_samples([[0.1], [0.5], [0.9], [0.3]], Rewards("bounded"))
    bandit = Bandit(arms, threshold=[0.3, 0.45, 0.6, 0.15])
    for game in range(10):
        pulls = play(bandit, CSAR(), budget=100, seed=23, game=game).tallies.pulls
        assert np.argsort(pulls).tolist() == [2, 0, 3, 1]  # the furthest is closed first


def test_bars_of_their_own_give_the_bounds_of_the_shifted_problem():
    def bounds(bandit):
        problem, means, R = bandit.problem, bandit.means, bandit.noise_scale
        H, gaps = problem.complexity(means), problem.gaps(means)
        room = clearance(problem, means)
        return [
            gaps.tolist(),
            H,
            room,
            edge_divergences(problem, means, sd=0.5).tolist(),
            kl_lower_bound(problem, means, sd=0.5).at(100),
            confidence_lower_bound(problem, means, confidence=0.95, sd=0.5),
            theorem_1(H, arms=6, noise_scale=R).log_at(100),
            theorem_2(H, arms=6, noise_scale=R, clearance=room).log_at(100),
            csar_bound(problem.gaps(means, precision=0.0), noise_scale=R).log_at(100),
            static_allocation(gaps, 500).tolist(),
        ]

    assert bounds(OWN) == bounds(SHIFTED)
    unlike = Bandit(Gaussian(CENTRES, sd=0.5), threshold=0.5, precision=BANDS)
    same = [a == b for a, b in zip(bounds(OWN), bounds(unlike), strict=True)]
    assert [place for place, alike in enumerate(same) if alike] == [2]  # an arm on an edge in both


@dataclass(frozen=True)
class Labelled(Arms):
    """Arms whose luck goes with a label, not with the game and their number in it."""

    name = "labelled"

    centres: PerArm
    labels: PerArm
    kind: str = "binary"

    @property
    def rewards(self):
        return Rewards(self.kind)

    @property
    def means(self):
        return np.array(self.centres)

    @staticmethod
    def sample(chance, mean, label, waits):
        u = uniform((*chance[:3], int(label), 0, chance[5]), 0)
        return -mean * log_unit(1.0 - u) if waits else float(u > 1.0 - mean)

    def columns(self, origin):
        waits = np.full(len(self.centres), float(self.kind == "exponential"))
        return {"mean": self.means, "label": np.array(self.labels), "waits": waits}


CHANCES = np.array([0.15, 0.4, 0.55, 0.72, 0.9])
COIN_BARS = np.array([0.3, 0.375, 0.5, 0.8, 0.75])
COIN_BANDS = np.array([0.05, 0.0, 0.125, 0.02, 0.06])
RENUMBERED = [3, 0, 4, 2, 1]


def with_the_same_ties(game):
    """A game in which ties between the renumbered arms fall as they do in this one."""
    order = tie_order(24, game, 5)
    others = range(1_000, 10_000)
    return next(g for g in others if [RENUMBERED[i] for i in tie_order(24, g, 5)] == order)


COMPARES = {"sar", "ucb1", "ucbe-best", "ugape"}  # means of arms: one bar for all
# Not those with luck of their own, nor those of other kinds.
GAUSSIAN = {"slr-gaussian", "slr-gaussian-unequal"}
OTHERS = sorted(set(RULES) - {"uniform", "slr-poisson", "auto-poisson", *GAUSSIAN, *APART})
WAITS = {"slr-exponential", "auto-exponential"}
COINS = {*IN_A_RANGE, "evt", "aug-ucb"}


@pytest.mark.parametrize("name", sorted(COMPARES))
def test_rules_that_compare_means_take_one_bar(name):
    bandit = Bandit(Gaussian(CENTRES, sd=0.5), threshold=[0.5] * (len(CENTRES) - 1) + [0.25])
    with pytest.raises(ValueError, match=f"{name} compares means of arms"):
        play(bandit, RULES[name](), budget=50)


def test_ugape_takes_one_precision():
    bandit = Bandit(Bernoulli([0.2, 0.5]), threshold=0.4, precision=[0.1, 0.2])
    with pytest.raises(ValueError, match="one precision"):
        play(bandit, RULES["ugape"](), budget=50)
    play(bandit, RULES["ugape"](precision=0.1), budget=50)


@pytest.mark.parametrize("name", ["sar", "ugape"])
def test_the_best_arms_must_leave_some_out(name):
    with pytest.raises(ValueError, match="the best 2 of 2 arms: nothing to find"):
        play(Bandit(Bernoulli([0.2, 0.5]), threshold=0.4), RULES[name](2.0), budget=50)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, "binary") for name in OTHERS if name not in WAITS]
    + [(name, "exponential") for name in OTHERS if name not in COINS],
)
def test_bars_go_with_their_arms_when_these_are_renumbered(name, kind):
    rule = RULES[name](precision=0.05 if name == "ugape" else None)  # which takes one for all arms
    scale = 1.0 if kind == "binary" else 3.0

    def pulled(order, bars, luck, game):
        arms = Labelled(scale * CHANCES[order], 5.0 * luck + np.arange(5.0)[order], kind)
        bandit = Bandit(arms, threshold=scale * bars[order], precision=scale * COIN_BANDS[order])
        return [order[arm] for arm in play(bandit, rule, budget=120, seed=24, game=game).arms]

    parted = False
    for game in range(10):
        other = with_the_same_ties(game)
        one = pulled(list(range(5)), COIN_BARS, game, game)
        assert pulled(RENUMBERED, COIN_BARS, game, other) == one
        parted |= pulled(RENUMBERED, np.roll(COIN_BARS, 1), game, other) != one
    assert parted == (name not in HEEDLESS)  # bars that stay behind are noticed
