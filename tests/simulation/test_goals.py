"""The best arms as a goal: judged again in plain Python, and the rules for it written out again."""

import json
import math
from itertools import combinations, product

import numpy as np
import pytest

from cutline import (
    APT,
    SAR,
    UCB1,
    Bandit,
    Bernoulli,
    BestUCBE,
    Gaussian,
    GCLStar,
    Result,
    RoundRobin,
    TopArms,
    UGapE,
    Uniform,
    play,
    simulate,
)
from cutline.core.chance import REWARD, chance, uniform
from cutline.simulation.engine import Player, orders
from cutline.simulation.goals import BEST_ARM, SIDES, Goal, parse_goal
from cutline.simulation.reference import tie_order

SEED, GAMES = 31, 200
MEANS = [0.35, 0.6, 0.8, 0.72, 0.5]
COINS = Bandit(Bernoulli(MEANS), threshold=0.8)  # APT and GCL* are told the highest mean
HORIZONS = [1, 3, 5, 6, 17, 60]


def named(values, order, m):
    """The m arms with the highest values, the first in the order of ties first; None: unseen."""
    seen = [arm for arm in order if values[arm] is not None]
    return sorted(seen, key=lambda arm: -values[arm])[:m]  # sorted keeps the order of equals


def wrong_named(names, means, m):
    """How many of m places are not filled as one of the best sets of m arms would fill them."""
    best = max(combinations(range(len(means)), m), key=lambda arms: sum(means[a] for a in arms))
    last = min(means[arm] for arm in best)
    above = [arm for arm in names if means[arm] > last]
    at = [arm for arm in names if means[arm] == last]
    room = m - sum(mean > last for mean in means)
    return m - len(above) - min(len(at), room)


def judged(arms, rewards, means, order, m, by_pulls):
    """Wrong arms and pseudo-regret of the pulls of one game."""
    seen = [
        [x for arm, x in zip(arms, rewards, strict=True) if arm == k] for k in range(len(means))
    ]
    worth = [(len(s) if by_pulls else sum(s) / len(s)) if s else None for s in seen]
    regret = sum(len(s) * (max(means) - mean) for s, mean in zip(seen, means, strict=True))
    return wrong_named(named(worth, order, m), means, m), regret


def judged_again(bandit, rule, m, by_pulls):
    """Wrong arms and regret, (horizon, game), from the plain reference."""
    wrong, regret = np.zeros((2, len(HORIZONS), GAMES))
    for game in range(GAMES):
        one = play(bandit, rule, budget=HORIZONS[-1], seed=SEED, game=game)
        order = tie_order(SEED, game, len(bandit.means))
        for h, horizon in enumerate(HORIZONS):
            so_far = one.arms[:horizon], one.rewards[:horizon]
            wrong[h, game], regret[h, game] = judged(
                *so_far, bandit.means.tolist(), order, m, by_pulls
            )
    return wrong, regret


# A rule, and whether it names the most pulled arm where one is wanted; several go by mean.
JUDGED = [(APT(), True), (UCB1(), True), (Uniform(), False)]


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize(("rule", "by_pulls"), JUDGED, ids=["apt", "ucb1", "uniform"])
def test_games_are_judged_as_they_are_in_plain_python(rule, by_pulls, m):
    wrong, regret = judged_again(COINS, rule, m, by_pulls and m == 1)
    result = simulate(COINS, rule, budget=HORIZONS, games=GAMES, seed=SEED, goal=TopArms(m))
    assert result.wrong_games[0].tolist() == (wrong > 0).sum(axis=1).tolist()
    assert result.wrong_arms_sum[0].tolist() == wrong.sum(axis=1).tolist()
    assert result.wrong_arms_squared[0].tolist() == (wrong**2).sum(axis=1).tolist()
    assert result.regret_sum[0] == pytest.approx(regret.sum(axis=1), rel=1e-12)
    assert result.regret_squared[0] == pytest.approx((regret**2).sum(axis=1), rel=1e-12)
    assert len(set(result.wrong_games[0].tolist())) > 3  # it is not all right, or all wrong
    if m == 1:  # and judged by what the other kind of rule goes by it would be another count
        other, _ = judged_again(COINS, rule, m, not by_pulls)
        assert (other > 0).sum(axis=1).tolist() != result.wrong_games[0].tolist()


@pytest.mark.parametrize("m", [1, 2])
def test_all_kernels_judge_alike(m):
    wrong, regret = judged_again(COINS, APT(), m, m == 1)
    order = orders(SEED, 0, GAMES, len(MEANS))
    for way in ("scan", "tree", "policy"):
        player = Player(APT(), COINS, TopArms(m), way=way)
        counts = player.play(SEED, 0, GAMES, order, np.array(HORIZONS))
        bits = [[bool(int(word) >> g & 1) for word in counts.words.T[h] for g in range(64)]
                for h in range(len(HORIZONS))]  # fmt: skip
        assert [row[:GAMES] for row in bits] == (wrong > 0).tolist()
        assert not any(any(row[GAMES:]) for row in bits)
        assert counts.wrong_arms.tolist() == wrong.sum(axis=1).tolist()
        assert counts.wrong_arms_squared.tolist() == (wrong**2).sum(axis=1).tolist()
        assert counts.regrets[0] == pytest.approx(regret.sum(axis=1), rel=1e-12)
        assert counts.regrets[1] == pytest.approx((regret**2).sum(axis=1), rel=1e-12)


# What is right


def every_small_bandit():
    for arms in (2, 3, 4):
        for means in product([0.25, 0.5, 0.75], repeat=arms):
            for m in range(1, arms):
                yield Bandit(Bernoulli(means), threshold=0.5), list(means), m


def test_the_truth_is_what_all_best_sets_agree_on():
    for bandit, means, m in every_small_bandit():
        sets = list(combinations(range(len(means)), m))
        most = max(sum(means[arm] for arm in arms) for arms in sets)
        best = [arms for arms in sets if sum(means[arm] for arm in arms) == most]
        held = [sum(arm in arms for arms in best) for arm in range(len(means))]
        wanted = [1 if n == len(best) else -1 if n == 0 else 0 for n in held]
        assert TopArms(m).truth(bandit).tolist() == wanted


def test_all_that_is_named_can_be_wrong():
    for bandit, _, m in every_small_bandit():
        assert TopArms(m).most_wrong(bandit) == m  # arms never seen are


def test_equals_at_the_edge_may_be_named_either_way():
    twins = Bandit(Bernoulli([0.7, 0.7, 0.3]), threshold=0.7)
    assert TopArms(1).truth(twins).tolist() == [0, 0, -1]
    assert TopArms(2).truth(twins).tolist() == [1, 1, -1]
    wrong, regret = judged_again(twins, APT(), 1, True)
    result = simulate(twins, APT(), budget=HORIZONS, games=GAMES, seed=SEED, goal=BEST_ARM)
    assert result.wrong_games[0].tolist() == (wrong > 0).sum(axis=1).tolist()
    assert result.regret_sum[0] == pytest.approx(regret.sum(axis=1), rel=1e-12)
    assert 0 < result.wrong_games[0, -1] < GAMES / 4


def test_equals_at_the_edge_do_not_stand_in_for_a_better_arm():
    # The two best of 0.7, 0.5 and 0.5 are the first and either of the others, never those two.
    means = [0.7, 0.5, 0.5, 0.2]
    bandit = Bandit(Bernoulli(means), threshold=0.5)
    wrong, _ = judged_again(bandit, Uniform(), 2, False)
    result = simulate(bandit, Uniform(), budget=HORIZONS, games=GAMES, seed=SEED, goal=TopArms(2))
    assert result.wrong_games[0].tolist() == (wrong > 0).sum(axis=1).tolist()
    assert result.wrong_arms_sum[0].tolist() == wrong.sum(axis=1).tolist()


# Results


@pytest.fixture(scope="module")
def whole():
    rules = [APT(), Uniform()]
    return simulate(COINS, rules, budget=[17, 60], games=GAMES, seed=SEED, goal=BEST_ARM)


def test_results_with_a_goal_merge_and_are_looked_at_in_part(whole):
    options = {"budget": [17, 60], "seed": SEED, "goal": BEST_ARM}
    rules = [APT(), Uniform()]
    early = simulate(COINS, rules, games=77, **options)
    late = simulate(COINS, rules, games=GAMES - 77, first_game=77, **options)
    for both in (early.merge(late), late.merge(early)):
        assert both.wrong_games.tolist() == whole.wrong_games.tolist()
        assert both.only.tolist() == whole.only.tolist()
        assert both.regret_sum == pytest.approx(whole.regret_sum, rel=1e-12)
        assert both.regret_squared == pytest.approx(whole.regret_squared, rel=1e-12)
        assert both.goal == BEST_ARM
    short = whole.at([17])
    assert short.regret.tolist() == whole.regret_curve[:, 0].tolist()
    assert short.regret_interval()[:, 0].tolist() == whole.regret_interval()[:, 0].tolist()
    assert (short.regret < whole.regret).all()
    for other in (SIDES, TopArms(2)):
        with pytest.raises(ValueError, match="goal differ"):
            early.merge(simulate(COINS, rules, games=5, first_game=77, **options | {"goal": other}))


def test_results_with_a_goal_come_back_from_a_file(tmp_path, whole):
    whole.save(tmp_path / "result.json")
    assert json.loads((tmp_path / "result.json").read_text())["goal"] == "best-arm"
    back = Result.load(tmp_path / "result.json")
    assert (back.goal, back.relevant) == (BEST_ARM, 1)
    assert back.regret_sum.tolist() == whole.regret_sum.tolist()
    assert back.regret_interval().tolist() == whole.regret_interval().tolist()
    again = simulate(back.bandit, back.parsed_rules(), budget=back.horizons.tolist(),
                     games=back.games, seed=back.seed, goal=back.goal)  # fmt: skip
    assert again.regret_sum.tolist() == whole.regret_sum.tolist()
    assert again.wrong_games.tolist() == whole.wrong_games.tolist()


@pytest.mark.parametrize("goal", [SIDES, BEST_ARM, TopArms(3)], ids=lambda goal: goal.spec)
def test_goals_by_name(goal):
    assert parse_goal(goal.spec) == goal


@pytest.mark.parametrize("text", ["", "best", "top", "top:", "top:x", "top:-1", "sides:1"])
def test_bad_names_of_goals_get_a_clear_error(text):
    with pytest.raises(ValueError, match="a goal is sides, best-arm or top:M"):
        parse_goal(text)


def test_regret_intervals_cover():
    # A uniform pull lacks mean(lack) on average, whatever was seen: the regret is known.
    lack = max(MEANS) - np.mean(MEANS)
    result = simulate(COINS, Uniform(), budget=[17, 60], games=20_000, seed=SEED, goal=BEST_ARM)
    for horizon, (low, high) in zip((17, 60), result.regret_interval(0.9999)[0], strict=True):
        assert low < lack * horizon < high
        assert high - low < 0.02 * lack * horizon
    # Of 60 intervals of 95 %, made of 30 games each, fewer than 51 hold it once in 3,000 times.
    held = 0
    for part in range(60):
        few = simulate(COINS, Uniform(), budget=[60], games=30, first_game=30 * part, seed=SEED,
                       goal=BEST_ARM)  # fmt: skip
        low, high = few.regret_interval()[0, 0]
        held += low < lack * 60 < high
    assert 51 <= held < 60  # nor are they so wide that they always do


def test_regret_of_rules_that_do_not_look():
    rules = [RoundRobin(), Uniform()]
    even, drawn = simulate(COINS, rules, budget=[60], games=2_000, goal=BEST_ARM).regret_sum[:, 0]
    lack = 60 * (max(MEANS) - np.mean(MEANS))
    assert even == pytest.approx(2_000 * lack, rel=1e-12)
    assert drawn == pytest.approx(2_000 * lack, rel=0.02)
    assert drawn != even


def test_apt_told_the_best_mean_gives_away_less_than_even_pulls():
    result = simulate(COINS, [APT(), UCB1(), Uniform()], budget=[500], games=500, goal=BEST_ARM)
    apt, ucb1, uniform_ = result.regret
    assert apt < ucb1 < uniform_ / 2  # both learn; the one that is told the best mean more


def test_no_regret_where_all_means_are_alike():
    flat = Bandit(Bernoulli([0.5, 0.5, 0.5]), threshold=0.5)
    result = simulate(flat, APT(), budget=[20], games=50, goal=BEST_ARM)
    assert result.regret.tolist() == [0.0]
    assert result.regret_interval().tolist() == [[[0.0, 0.0]]]


@pytest.mark.parametrize(
    ("bandit", "m", "words"),
    [
        (COINS, 5, "the best 5 of 5 arms leave nothing to find"),
        (COINS, 6, "the best 6 of 5 arms"),
        (COINS, 0, "m is a whole number of arms"),
        (Bandit(Bernoulli([0.5, 0.6]), threshold=[0.5, 0.6]), 1, "one threshold for all arms"),
    ],
)
def test_goals_that_make_no_sense_are_refused(bandit, m, words):
    with pytest.raises(ValueError, match=words):
        simulate(bandit, APT(), budget=20, games=1, goal=TopArms(m))


def test_regret_is_of_the_best_arm_only():
    sides = simulate(COINS, Uniform(), budget=[20], games=10)
    assert isinstance(sides.goal, Goal)
    for look in (lambda: sides.regret, lambda: sides.regret_curve, sides.regret_interval):
        with pytest.raises(ValueError, match="regret is kept when the goal is the best arm"):
            look()


# The rules, written out once more from their papers

NORMAL = Bandit(Gaussian([0.2, 0.9, 0.5, 1.0, 0.7, -0.3], sd=0.6), threshold=1.0)
BANDITS = {"coins": COINS, "normal": NORMAL}


class Hand:
    """One game by hand: lists of rewards, drawn pull by pull."""

    def __init__(self, bandit, game, budget):
        self.bandit, self.game, self.budget = bandit, game, budget
        self.K = len(bandit.means)
        self.order = tie_order(SEED, game, self.K)
        self.seen = [[] for _ in range(self.K)]
        self.pulled = []
        self.undecided = False  # whether a choice came up that the paper leaves open

    def pull(self, arm):
        u = uniform(chance(SEED, 0, self.game, arm, len(self.seen[arm]), REWARD), 0)
        arms = self.bandit.arms
        if isinstance(arms, Bernoulli):
            self.seen[arm].append(1.0 if u > 1 - arms.means[arm] else 0.0)
        else:
            self.seen[arm].append(Gaussian.quantile(u, arms.means[arm], arms.sd[arm]))
        self.pulled.append(arm)

    def mean(self, arm):
        return sum(self.seen[arm]) / len(self.seen[arm])

    def first(self, arms, value):
        """The arm with the highest value, up to rounding; ties in the order drawn for them."""
        return min(arms, key=lambda arm: (-round(value(arm), 9), self.order.index(arm)))

    def by_index(self, value):
        """Every arm once, then always the one with the highest value."""
        for arm in self.order:
            self.pull(arm)
        while len(self.pulled) < self.budget:
            self.pull(self.first(range(self.K), value))


def ucb1(hand):
    hand.by_index(
        lambda i: hand.mean(i) + math.sqrt(2 * math.log(len(hand.pulled)) / len(hand.seen[i]))
    )
    return [hand.first(range(hand.K), lambda i: len(hand.seen[i]))]


def ucb_e(hand):
    means = hand.bandit.means
    best, second = sorted(means)[-1], sorted(means)[-2]
    gaps = [best - second if mean == best else best - mean for mean in means]
    a = (hand.budget - hand.K) / sum(gap**-2 for gap in gaps)
    hand.by_index(lambda i: hand.mean(i) + math.sqrt(a / len(hand.seen[i])))
    return [hand.first(range(hand.K), hand.mean)]


def gcl_star(hand):
    best = max(hand.bandit.means)
    hand.by_index(lambda i: -len(hand.seen[i]) * max(best - hand.mean(i), 0.0) ** 2)
    return [hand.first(range(hand.K), lambda i: len(hand.seen[i]))]


@pytest.mark.parametrize("name", BANDITS)
@pytest.mark.parametrize(
    ("rule", "by_hand"),
    [(UCB1(), ucb1), (BestUCBE(), ucb_e), (GCLStar(), gcl_star)],
    ids=["ucb1", "ucb-e", "gcl"],
)
def test_index_rules_for_the_best_arm_by_hand(rule, by_hand, name):
    for game in range(20):
        hand = Hand(BANDITS[name], game, 120)
        by_hand(hand)
        assert play(BANDITS[name], rule, budget=120, seed=SEED, game=game).arms == hand.pulled


def phases(K, budget):
    log = 0.5 + sum(1 / i for i in range(2, K + 1))
    return [math.ceil((budget - K) / log / (K + 1 - k)) for k in range(1, K)]


def successive_rejects(hand):
    """Audibert, Bubeck and Munos (2010), Figure 3: in every phase the lowest mean goes."""
    left = list(hand.order)
    for pulls in phases(hand.K, hand.budget):
        while len(hand.seen[left[-1]]) < pulls:
            for arm in left:
                hand.pull(arm)
        left.remove(min(reversed(left), key=lambda arm: round(hand.mean(arm), 9)))
    return left


def accepts_and_rejects(hand, m):
    """Bubeck, Wang and Viswanathan (2013), Figure 1: the arm furthest from the edge goes."""
    left, accepted = list(hand.order), []
    for pulls in phases(hand.K, hand.budget):
        while len(hand.seen[left[-1]]) < pulls:
            for arm in left:
                hand.pull(arm)
        ranked = sorted(left, key=lambda arm: -round(hand.mean(arm), 9))
        room = m - len(accepted)
        gaps = {}
        for place, arm in enumerate(ranked):
            if place < room:
                gaps[arm] = hand.mean(arm) - hand.mean(ranked[room]) if room < len(left) else 1e9
            else:
                gaps[arm] = hand.mean(ranked[room - 1]) - hand.mean(arm) if room else 1e9
        widest = max(gaps.values())
        goes = [arm for arm in ranked if abs(gaps[arm] - widest) < 1e-9]
        inside = [arm for arm in goes if arm in ranked[:room]]
        hand.undecided |= 0 < len(inside) < len(goes) and len(left) > 2  # of 2 it is all one
        if inside:
            accepted.append(inside[0])  # the best
        left.remove(inside[0] if inside else goes[-1])  # the worst
    return accepted + (left if len(accepted) < m else [])


def ugape(hand, m, c=4.0, eps=0.0):
    """Gabillon, Ghavamzadeh and Lazaric (2012), Figure 1, with a fixed budget."""
    means = sorted(hand.bandit.means, reverse=True)
    gaps = [mean - means[m] if place < m else means[m - 1] - mean
            for place, mean in enumerate(means)]  # fmt: skip
    H = sum(max((gap + eps) / 2, eps) ** -2 for gap in gaps)
    a = c * (hand.budget - hand.K) / H
    for arm in hand.order:
        hand.pull(arm)
    history = []
    while len(hand.pulled) < hand.budget:
        width = {i: math.sqrt(a / len(hand.seen[i])) for i in hand.order}
        upper = {i: hand.mean(i) + width[i] for i in hand.order}
        lower = {i: hand.mean(i) - width[i] for i in hand.order}
        B = {i: sorted((upper[j] for j in hand.order if j != i), reverse=True)[m - 1] - lower[i]
             for i in hand.order}  # fmt: skip
        J = sorted(hand.order, key=B.__getitem__)[:m]
        history.append((max(B[i] for i in J), J))
        rival = hand.first([i for i in hand.order if i not in J], upper.__getitem__)
        weakest = min(J, key=lambda i, low=lower: (round(low[i], 9), hand.order.index(i)))
        less_known = len(hand.seen[weakest]) < len(hand.seen[rival])
        hand.pull(weakest if less_known else rival)
    return min(history, key=lambda step: step[0])[1]


def same_phases(one, other, K, budget):
    """Whether two games pull every arm alike in every phase; the order within one is free."""
    edges, start = [], 0
    for k, pulls in enumerate(phases(K, budget)):
        before = phases(K, budget)[k - 1] if k else 0
        edges.append((start, start + (K - k) * (pulls - before)))
        start = edges[-1][1]
    return start == len(one) == len(other) and all(
        sorted(one[a:b]) == sorted(other[a:b]) for a, b in edges
    )


@pytest.mark.parametrize("name", BANDITS)
@pytest.mark.parametrize("budget", [20, 63, 120])
def test_sar_for_one_arm_is_successive_rejects(name, budget):
    bandit = BANDITS[name]
    for game in range(20):
        hand = Hand(bandit, game, budget)
        successive_rejects(hand)
        one = play(bandit, SAR(), budget=budget, seed=SEED, game=game)
        assert same_phases(one.arms, hand.pulled, hand.K, budget)


@pytest.mark.parametrize("name", BANDITS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_sar_by_hand(name, m):
    bandit = BANDITS[name]
    compared = 0
    for game in range(40):
        hand = Hand(bandit, game, 120)
        accepts_and_rejects(hand, m)
        if not hand.undecided:  # an arm to accept and one to reject, equally far from the edge
            one = play(bandit, SAR(m), budget=120, seed=SEED, game=game)
            assert same_phases(one.arms, hand.pulled, hand.K, 120)
            compared += 1
    assert compared > 20


def test_what_is_accepted_stays_so_whatever_is_seen_later():
    pulls, total = np.full(3, 4.0), np.array([1.0, 2.0, 3.0])
    flags = np.array([1.0, 0.0, -1.0])  # accepted with the lowest mean, open, rejected
    merits = [SAR.merit(pulls, total, np.append(np.zeros(4), flags), i) for i in range(3)]
    assert np.argsort(merits).tolist() == [2, 1, 0]
    chosen = np.array([1.0, 0.0, 0.0])  # in the best J
    merits = [UGapE.merit(pulls, total, np.append(np.zeros(1), chosen), i) for i in range(3)]
    assert np.argsort(merits).tolist() == [1, 2, 0]


@pytest.mark.parametrize("name", BANDITS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_ugape_by_hand(name, m):
    bandit = BANDITS[name]
    for game in range(20):
        hand = Hand(bandit, game, 120)
        ugape(hand, m)
        assert play(bandit, UGapE(m), budget=120, seed=SEED, game=game).arms == hand.pulled


@pytest.mark.parametrize(
    ("rule", "m", "by_hand", "name"),
    [
        (UCB1(), 1, ucb1, "coins"),
        (BestUCBE(), 1, ucb_e, "coins"),
        (GCLStar(), 1, gcl_star, "coins"),
        (SAR(1), 1, successive_rejects, "coins"),
        (SAR(2), 2, lambda hand: accepts_and_rejects(hand, 2), "normal"),
        (UGapE(1), 1, lambda hand: ugape(hand, 1), "coins"),
        (UGapE(2), 2, lambda hand: ugape(hand, 2), "coins"),
    ],
    ids=["ucb1", "ucb-e", "gcl", "sar-1", "sar-2", "ugape-1", "ugape-2"],
)
def test_the_arms_named_by_hand_are_those_that_are_judged(rule, m, by_hand, name):
    bandit = BANDITS[name]
    means = bandit.means.tolist()
    wrong, regret = [], 0.0
    for game in range(GAMES):
        hand = Hand(bandit, game, 60)
        wrong.append(wrong_named(by_hand(hand), means, m))
        regret += sum(max(means) - means[arm] for arm in hand.pulled)
    result = simulate(bandit, rule, budget=[60], games=GAMES, seed=SEED, goal=TopArms(m))
    assert result.wrong_games[0, 0] == sum(w > 0 for w in wrong)
    assert result.wrong_arms_sum[0, 0] == sum(wrong)
    assert result.regret_sum[0, 0] == pytest.approx(regret, rel=1e-12)
    assert 0 < result.wrong_games[0, 0] < GAMES
