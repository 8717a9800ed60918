"""The other published rules: known values, games by hand, what others measured, equivalences."""

import math

import numpy as np
import pytest
from scipy import special, stats

from cutline import (
    APT,
    SLR,
    Bandit,
    Bernoulli,
    Beta,
    Exponential,
    Gaussian,
    Pareto,
    Poisson,
    Problem,
    Rewards,
    Tally,
    parse_rule,
    play,
    simulate,
    three_groups,
)
from cutline.core.chance import REWARD, RULE, TIE, chance, uniform
from cutline.rules import EVT, FWT, LSA, LUCBG, PI, RULES, TTS, AugUCB, BayesUCB, HDoC
from cutline.rules.aug_ucb import first_psi, last_phase, phase_pulls, reach
from cutline.rules.bayes_ucb import lower_end, shapes, steepness
from cutline.rules.posterior import log_doubt
from cutline.rules.slr import GaussianSLR, UnequalGaussianSLR
from cutline.simulation import Result
from cutline.simulation.engine import Player
from cutline.testing import check_rule

FIELD = [LSA(), FWT(), EVT(), AugUCB(), BayesUCB(), PI(), TTS(), HDoC(), LUCBG()]

# Known values, found with double precision and with 25 digits: n, S, tau, eps; EVT, LSA and FWT
# (sd 1/2) without eps; Bayes-UCB at t = 100, T = 500; PI as a chance.
KNOWN = [
    (4, 2.0, 0.5, 0.1, 0, 0.6931471806, 2.3862943611, 2.9712438795, 0.4605471143, 0.3336095628),
    (20, 13.0, 0.5, 0.1, 0.6146534320, 2.1053661368, 3.9957322736, 5.3854007482, 0.1711005323,
     0.0119547398),
    (20, 0.0, 0.05, 0.02, 1, 1.5653661368, 3.9957322736, 5.3854007482, 0.0592494372,
     0.0054440862),
    (50, 48.0, 0.9, 0.02, 0.8324666552, 2.1990115027, 4.9120230054, 6.7598368460, 0.0649169178,
     0.0153749790),
]  # fmt: skip


@pytest.mark.parametrize(
    ("n", "s", "tau", "eps", "evt", "lsa", "fwt", "gaps", "bayes", "pi"), KNOWN
)
def test_known_indices(n, s, tau, eps, evt, lsa, fwt, gaps, bayes, pi):
    tally = Tally(n, s, s)
    assert EVT().index(tally, threshold=tau, width=1.0) == pytest.approx(evt, abs=1e-10)
    assert LSA().index(tally, threshold=tau, width=1.0) == pytest.approx(lsa, abs=1e-10)
    kept = {"rate": 2.0, "worth": 0.0}
    found = FWT().index(tally, threshold=tau, **kept, power=1.0)
    assert found == pytest.approx(fwt, abs=1e-10)
    found = FWT(gaps=1).index(tally, threshold=tau, **kept, power=1.5)
    assert found == pytest.approx(gaps, abs=1e-10)
    found = PI().index(tally, threshold=tau, precision=eps, width=1.0)
    assert math.exp(-found) == pytest.approx(pi, abs=1e-10)
    problem = Problem(arms=10, threshold=tau, precision=eps, rewards="binary")
    settings = BayesUCB().settings(problem, 500, None)
    kept = BayesUCB.learn(min(s, 1.0), n - 1.0, s - min(s, 1.0), tau, 20, **settings, at=0.3)
    found = BayesUCB.formula(n, s, tau, 100, *settings.values(), *kept)
    assert -found == pytest.approx(bayes, abs=1e-10)


def test_the_precision_widens_the_gap():
    tally = Tally(20, 13.0, 13.0)
    for eps in (0.0, 0.1, 0.25):
        g, v = 0.15 + eps, 0.65 * 0.35
        at = {"threshold": 0.5, "precision": eps}
        wanted = math.sqrt(20) * (math.sqrt(v + g) - math.sqrt(v))
        assert EVT().index(tally, **at, width=1.0) == pytest.approx(wanted, rel=1e-12)
        wanted = 1.35 * 20 * g * g + 0.5 * math.log(20)
        assert LSA().index(tally, **at, width=1.0) == pytest.approx(wanted, rel=1e-12)
        for sd, weight in ((0.5, 1.0), (0.1, 7.0)):
            x = 20 * g * g / (2 * sd * sd)
            kept = {"rate": 0.5 / sd**2, "worth": math.log(weight)}
            wanted = max(x, 1) - math.log(max(x, 1)) + math.log(20 / weight)
            assert FWT().index(tally, **at, **kept, power=1.0) == pytest.approx(wanted, rel=1e-12)
            wanted = max(x, 1.5) - 1.5 * math.log(max(x, 1.5)) + 1.5 * math.log(20)
            found = FWT().index(tally, **at, **kept, power=1.5) + kept["worth"]
            assert found == pytest.approx(wanted, rel=1e-12)


def test_numbers_of_aug_ucb():
    for arms, budget, M, psi, lengths, s in (
        (10, 500, 3, 1.825932, [23, 21, 18], 0.2381958),
        (100, 10_000, 5, 3.930404, [73, 67, 62], 0.4254430),
    ):
        found = first_psi(arms, budget)
        assert last_phase(budget) == M
        assert found == pytest.approx(psi, abs=5e-7)
        assert [phase_pulls(m, found, budget) for m in range(3)] == lengths
        half = 0.5 * reach(0, found, 1 / 3, budget) * math.sqrt(1.2 / 20)
        assert half == pytest.approx(s, abs=5e-8)


def test_quantiles_from_anywhere():
    for a, b in ((0.05, 0.95), (1.05, 20.0), (13.5, 7.5), (300.0, 5000.0), (0.9, 0.1)):
        for left in (0.0, 0.3, 2.0, 30.0):
            start = math.log(a / b) - left
            known = steepness(start, a, b)
            for q in (0.4, 0.01, 1e-5):
                found = lower_end(math.log(q), a, b, start, *known)
                assert found == pytest.approx(special.betaincinv(a, b, q), rel=1e-9, abs=1e-290)


def test_a_quantile_is_found_after_a_change_of_sides():
    # 1,000 pulls near tau = 0.05: before and after the pull the arm is seen from opposite ends.
    settings = {"later": 1.8, "width": 1.0}
    above = BayesUCB.learn(1.0, 999.0, 49.0, 0.05, 4000, **settings, at=-3.0)
    below = BayesUCB.learn(0.0, 1000.0, 50.0, 0.05, 4001, **settings, at=above[0])
    again = BayesUCB.learn(1.0, 1001.0, 50.0, 0.05, 4002, **settings, at=below[0])
    for kept, n, s in ((above, 1000, 50.0), (below, 1001, 50.0), (again, 1002, 51.0)):
        a, b, bar = shapes(n, s, 0.05, 1.0)
        wanted = special.betaincinv(a, b, math.exp(-1.8) / 5000) - bar
        found = BayesUCB.formula(n, s, 0.05, 5000, 1.8, 1.0, *kept)
        assert found == pytest.approx(wanted, abs=1e-11)


# Games written out by hand

SEED, BUDGET = 6, 150
COINS = Bandit(Bernoulli([0.05, 0.3, 0.45, 0.5, 0.7, 0.95]), threshold=0.5, precision=0.1)
LOW = Bandit(
    Bernoulli([0.0, 0.02, 0.1, 0.3, 0.8]), threshold=[0.05, 0.05, 0.2, 0.2, 0.9], precision=0.02
)


class ByHand:
    """One game with lists of rewards: nothing here comes from the simulator."""

    def __init__(self, bandit, game):
        self.bandit, self.game = bandit, game
        self.seen = [[] for _ in bandit.means]
        self.tau, self.eps = bandit.problem.threshold, bandit.problem.precision
        keys = [uniform(chance(SEED, 0, game, arm, 0, TIE), 0) for arm in range(len(self.seen))]
        self.order = sorted(range(len(keys)), key=keys.__getitem__)
        self.arms = []

    def pull(self, arm):
        u = uniform(chance(SEED, 0, self.game, arm, len(self.seen[arm]), REWARD), 0)
        self.seen[arm].append(1.0 if u > 1 - self.bandit.arms.means[arm] else 0.0)
        self.arms.append(arm)

    def luck(self):
        return uniform(chance(SEED, 0, self.game, 0, len(self.arms), RULE), 0)

    def mean(self, arm):
        return sum(self.seen[arm]) / len(self.seen[arm])

    def gap(self, arm):
        return abs(self.mean(arm) - self.tau[arm])

    def posterior(self, arm):
        ones, n, tau = sum(self.seen[arm]), len(self.seen[arm]), self.tau[arm]
        return tau + ones, 1 - tau + n - ones

    def first(self, arms, index):
        values = [round(index(arm), 9) for arm in arms]
        return arms[values.index(min(values))]


def aug_ucb_by_hand(hand, budget, rho=1 / 3):
    K = len(hand.seen)
    for arm in hand.order:
        hand.pull(arm)
    B, m, e = list(hand.order), 0, 1.0
    M = math.floor(0.5 * math.log2(budget / math.e))

    def psi():
        return budget * e / (128 * math.log(3 / 16 * K * math.log(K)) ** 2)

    def s(arm):
        v = np.var(hand.seen[arm])
        n = len(hand.seen[arm])
        return math.sqrt(rho * psi() * (v + 1) * math.log(budget * e) / (4 * n))

    N = K * math.ceil(2 * psi() * math.log(budget) / e)
    while len(hand.arms) < budget:
        B = [arm for arm in B if hand.gap(arm) <= 2 * s(arm)]
        if len(hand.arms) >= N and m <= M:
            e, m = e / 2, m + 1
            N = len(hand.arms) + len(B) * math.ceil(2 * psi() * math.log(budget * e) / e)
        if B:
            hand.pull(hand.first(B, lambda arm: hand.gap(arm) - 2 * s(arm)))
        else:
            apt = lambda arm: math.sqrt(len(hand.seen[arm])) * (hand.gap(arm) + hand.eps[arm])  # noqa: E731
            hand.pull(hand.first(hand.order, apt))
    return len(B), m


def test_aug_ucb_by_hand():
    ends = set()
    for bandit, budget, games in ((three_groups(), 200, 6), (COINS, 400, 3), (LOW, 150, 3)):
        for game in range(games):
            hand = ByHand(bandit, game)
            ends.add(aug_ucb_by_hand(hand, budget))
            assert play(bandit, AugUCB(), budget=budget, seed=SEED, game=game).arms == hand.arms
            assert Player(AugUCB(), bandit).picks(SEED, game, budget) == hand.arms
    assert len({left for left, _ in ends} | {0}) > 1  # some ran out of open arms, some did not
    assert min(ends)[0] == 0
    assert max(m for _, m in ends) >= 2


def test_aug_ucb_stops_where_it_is_published_to():
    for game in range(5):
        spent = play(three_groups(), AugUCB(), budget=200, seed=SEED, game=game).arms
        stopped = play(three_groups(), AugUCB(spend=0), budget=200, seed=SEED, game=game).arms
        assert len(spent) == 200
        assert stopped == spent[: len(stopped)]
    assert len(stopped) < 200


def doubt(hand, arm):
    a, b = hand.posterior(arm)
    tau, eps = hand.tau[arm], hand.eps[arm]
    if hand.mean(arm) >= tau:
        return special.betainc(a, b, tau - eps) if tau > eps else 0.0
    return special.betainc(b, a, 1 - tau - eps) if tau + eps < 1 else 0.0


@pytest.mark.parametrize("bandit", [COINS, LOW], ids=["coins", "low"])
def test_tts_by_hand(bandit):
    player = Player(TTS(), bandit)
    for game in range(5):
        hand = ByHand(bandit, game)
        for arm in hand.order:
            hand.pull(arm)
        while len(hand.arms) < BUDGET:
            chances = np.array([doubt(hand, arm) for arm in hand.order])
            u = hand.luck() * chances.sum()
            hand.pull(hand.order[int(np.searchsorted(np.cumsum(chances), u, side="right"))])
        assert play(bandit, TTS(), budget=BUDGET, seed=SEED, game=game).arms == hand.arms
        assert player.picks(SEED, game, BUDGET) == hand.arms


@pytest.mark.parametrize("bandit", [COINS, LOW], ids=["coins", "low"])
def test_pi_by_hand(bandit):
    for game in range(5):
        hand = ByHand(bandit, game)
        for arm in hand.order:
            hand.pull(arm)
        while len(hand.arms) < BUDGET:
            doubts = [doubt(hand, arm) for arm in range(len(hand.seen))]
            logs = [-math.log(max(chance, 1e-300)) for chance in doubts]
            hand.pull(hand.first(hand.order, logs.__getitem__))
        assert play(bandit, PI(), budget=BUDGET, seed=SEED, game=game).arms == hand.arms


@pytest.mark.parametrize("bandit", [COINS, LOW], ids=["coins", "low"])
@pytest.mark.parametrize("c", [1.0, 0.2])
def test_bayes_ucb_by_hand(bandit, c):
    player = Player(BayesUCB(c), bandit)
    for game in range(5):
        hand = ByHand(bandit, game)
        for arm in hand.order:
            hand.pull(arm)
        while len(hand.arms) < BUDGET:
            q = min(1 / (len(hand.arms) * math.log(BUDGET) ** c), 0.5)

            def index(arm, q=q, hand=hand):
                a, b = hand.posterior(arm)
                tau = hand.tau[arm]
                if hand.mean(arm) >= tau:
                    return special.betaincinv(a, b, q) - tau
                return special.betaincinv(b, a, q) - (1 - tau)

            hand.pull(hand.first(hand.order, index))
        assert play(bandit, BayesUCB(c), budget=BUDGET, seed=SEED, game=game).arms == hand.arms
        assert player.picks(SEED, game, BUDGET) == hand.arms


def test_hdoc_and_lucb_g_by_hand():
    for game in range(5):
        for rule, square in (
            (HDoC(), lambda t, n: math.log(t) / (2 * n)),
            (LUCBG(0.9), lambda t, n: math.log(4 * 6 * n * n / 0.1) / (2 * n)),
        ):
            hand = ByHand(COINS, game)
            for arm in hand.order:
                hand.pull(arm)
            while len(hand.arms) < BUDGET:

                def index(arm, hand=hand, square=square):
                    return -hand.mean(arm) - math.sqrt(square(len(hand.arms), len(hand.seen[arm])))

                hand.pull(hand.first(hand.order, index))
            assert play(COINS, rule, budget=BUDGET, seed=SEED, game=game).arms == hand.arms


# What others measured, with 20,000 games of theirs where not said; a difference that chance makes
# less than once in 1,000 times is too much.


def like(wrong, games, rate, of=20_000):
    table = [[wrong, games - wrong], [round(rate * of), of - round(rate * of)]]
    return stats.fisher_exact(table).pvalue > 0.001


@pytest.mark.parametrize(
    ("rule", "rates", "games"),
    [
        (EVT(), {200: 0.083, 300: 0.035, 500: 0.0067}, 20_000),
        (PI(), {200: 0.039, 300: 0.010, 500: 0.0002}, 10_000),
        (TTS(), {200: 0.033, 300: 0.009, 500: 0.0005}, 10_000),
        (AugUCB(spend=0), {200: 0.103, 300: 0.028, 500: 0.0017}, 10_000),
        (LSA(), {300: 0.0056}, 20_000),
        (LSA(precision=0), {300: 0.0099, 500: 0.0025}, 20_000),
        (BayesUCB(), {200: 0.032}, 2_000),
    ],
    ids=lambda value: value.spec if hasattr(value, "spec") else "",
)
def test_errors_on_the_first_experiment(rule, rates, games):
    found = simulate(three_groups(), [rule], budget=list(rates), games=games, seed=1)
    for wrong, (budget, rate) in zip(found.wrong_games[0].tolist(), rates.items(), strict=True):
        assert like(wrong, games, rate), (budget, wrong / games, rate)


def test_what_aug_ucb_leaves_unspent_is_worth_something():
    rules = [AugUCB(), AugUCB(spend=0)]
    on, stops = simulate(three_groups(), rules, budget=[200], games=4_000, seed=1).error_rate
    assert on < 0.7 * stops  # about 0.05 and 0.10


def test_a_threshold_near_zero():
    # Radtke's second simulation, with the errors of 600 games of an earlier implementation.
    means = [0.001, 0.005, 0.01, 0.015, 0.04, 0.06, 0.085, 0.09, 0.095, 0.099]
    bandit = Bandit(Bernoulli(means), threshold=0.05)
    rates = {APT(): 0.12, EVT(): 0.19, LSA(): 0.032, FWT(): 0.14, PI(): 0.18, AugUCB(): 0.155}
    found = simulate(bandit, list(rates), budget=[7000], games=600, seed=1)
    for wrong, (rule, rate) in zip(found.wrong_games[:, 0].tolist(), rates.items(), strict=True):
        assert like(wrong, 600, rate, of=600), (rule, wrong / 600, rate)
    apt, evt, lsa, _, pi, _ = found.error_rate
    assert lsa < apt / 2
    assert apt < min(evt, pi)


def test_fewer_wrong_arms_than_apt_where_some_cannot_be_told():
    # The FWT paper's second setting: the first arms are all but at the threshold.
    k = np.arange(1, 51)
    arms = Gaussian((-1.0) ** k * (k / 50) ** 2)
    bandit = Bandit(arms, threshold=0.0, rewards=Rewards("gaussian", sd=1.0))
    found = simulate(bandit, [APT(), LSA(), FWT()], budget=[500], games=2_000, seed=1)
    apt, lsa, fwt = found.wrong_arms
    # 11.8, 9.8 and 10.9, each good to 0.1
    assert max(lsa, fwt) < 0.95 * apt


def test_costly_errors_are_made_less_often():
    bandit = Bandit(Bernoulli([0.4, 0.4, 0.6, 0.6]), threshold=0.5)
    costs = (100.0, 1.0, 1.0, 1.0)
    found = simulate(bandit, [FWT(), FWT(weights=costs)], budget=[200], games=2_000, seed=1)
    plain, weighted = found.mean_pulls
    assert weighted[0] > 1.25 * plain[0]
    assert plain[0] == pytest.approx(plain[1], rel=0.05)


# Equivalences


def test_lsa_with_half_a_unit_of_noise_is_x_plus_ln_n():
    for n, s in ((1, 0.0), (4, 1.0), (20, 13.0), (500, 480.0)):
        x = 2 * n * (abs(s / n - 0.5) + 0.1) ** 2
        found = LSA(1.0).index(Tally(n, s), threshold=0.5, precision=0.1, width=1.0)
        assert 2 * found == pytest.approx(x + math.log(n), rel=1e-13)


NOISY = Gaussian([0.1, 0.4, 0.52, 0.9, 2.0], sd=[0.5, 1.0, 0.2, 0.5, 3.0])
BARS = {"threshold": [0.5, 0.3, 0.5, 1.0, 0.5], "precision": [0, 0.1, 0.05, 0.2, 0.1]}


@pytest.mark.parametrize("way", ["policy", "scan", "tree"])
def test_with_equal_known_noise_the_gaussian_ratio_is_apt(way):
    bandit = Bandit(NOISY, **BARS, rewards=Rewards("gaussian", sd=[0.7] * 5))
    apt, slr, direct = (
        Player(rule, bandit, way=way) for rule in (APT(), SLR(), UnequalGaussianSLR())
    )
    for game in range(10):
        picks = apt.picks(4, game, 300)
        assert picks == slr.picks(4, game, 300)
        assert picks == direct.picks(4, game, 300)


def test_the_gaussian_rule_for_what_is_known_of_the_noise():
    known = {"arms": 2, "threshold": 0.5}
    for rewards, kind in (
        ("gaussian", GaussianSLR),
        (Rewards("gaussian", sd=2.0), GaussianSLR),
        (Rewards("gaussian", sd=[2.0, 2.0]), GaussianSLR),
        (Rewards("gaussian", sd=[2.0, 1.0]), UnequalGaussianSLR),
    ):
        problem = Problem(**known, rewards=rewards)
        for rule in (SLR(precision=0.2), GaussianSLR(precision=0.2)):
            assert rule.on(problem) == kind(precision=0.2)


def test_unequal_known_noise_is_a_change_of_units():
    means, sds = np.array([0.375, -0.25, 1.0]), np.array([1.0, 0.5, 4.0])
    units = np.array([1.0, 1024.0, 2.0**-20])
    bandits = [
        Bandit(Gaussian(means * u, sd=sds * u), threshold=0.0,
               rewards=Rewards("gaussian", sd=(sds * u).tolist()))
        for u in (np.ones(3), units)
    ]  # fmt: skip
    for rule in (SLR(), FWT()):
        for game in range(5):
            one, other = (play(b, rule, budget=200, seed=6, game=game).arms for b in bandits)
            assert one == other
    one, other = (play(b, APT(), budget=200, seed=6).arms for b in bandits)
    assert one != other


def test_knowing_unequal_noise_pays():
    sds = [1.0, 1.0, 0.05, 0.05, 0.05, 0.05]
    noisy = Gaussian([0.4, 0.6, 0.48, 0.52, 0.49, 0.51], sd=sds)
    bandit = Bandit(noisy, threshold=0.5, rewards=Rewards("gaussian", sd=sds))
    rules = [SLR(), FWT(), APT()]
    slr, fwt, apt = simulate(bandit, rules, budget=[3000], games=1000, seed=1).error_rate
    assert max(slr, fwt) < apt / 2


@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (-64.0, -32.0)])
@pytest.mark.parametrize("rule", FIELD, ids=str)
def test_another_range_is_the_rescaled_problem(rule, low, high):
    a, b = [1.0, 2.0, 2.0, 0.5, 1.0], [2.0, 2.5, 1.0, 0.5, 6.0]
    width = high - low
    unit = Bandit(Beta(a, b), threshold=0.5, precision=0.125)
    stretched = Beta(a, b, low, high)
    other = Bandit(stretched, threshold=low + 0.5 * width, precision=0.125 * width)
    for game in range(2):
        games = [play(bandit, rule, budget=100, seed=3, game=game) for bandit in (unit, other)]
        assert games[0].arms == games[1].arms
    assert len({*games[0].tallies.pulls.tolist()}) > 1  # it did look at the rewards


def test_mirrored_arms_tie_exactly():
    at = {"threshold": 0.5, "precision": 0.1}
    kept = {"rate": 2.0, "worth": 0.0, "power": 1.0}
    for n in (1, 2, 3, 7, 20, 33, 100):
        for s in range(n + 1):
            one, other = Tally(n, s, s), Tally(n, n - s, n - s)
            for rule, known in ((LSA(), {"width": 1.0}), (EVT(), {"width": 1.0}), (FWT(), kept)):
                assert rule.index(one, **at, **known) == rule.index(other, **at, **known)
            if 2 * s != n:
                assert log_doubt(n, s, 0.5, 0.1, 1.0) == log_doubt(n, n - s, 0.5, 0.1, 1.0)
                assert shapes(n, s, 0.5, 1.0) == shapes(n, n - s, 0.5, 1.0)


def test_a_common_weight_changes_no_choice():
    same = [FWT(), FWT(weights=[3.0] * 6), FWT(0.5)]
    one, *others = (play(COINS, rule, budget=150, seed=2).arms for rule in same)
    assert others == [one, one]
    assert play(COINS, FWT(2.0), budget=150, seed=2).arms != one


# Edges


def test_doubt_where_an_edge_is_outside_of_the_range():
    assert log_doubt(10, 3, 0.05, 0.05, 1.0) == -math.inf  # above; no mean is below 0
    assert log_doubt(10, 3, 0.05, 0.5, 1.0) == -math.inf
    assert log_doubt(10, 3, 0.95, 0.05, 1.0) == -math.inf
    assert -5 < log_doubt(10, 0, 0.05, 0.05, 1.0) < 0
    # far beyond what a chance can be as a number
    assert log_doubt(1e5, 9e4, 0.5, 0.1, 1.0) < -30_000
    bandit = Bandit(Bernoulli([0.0, 0.02, 0.3, 1.0]), threshold=0.05, precision=0.05)
    for rule in (PI(), TTS(), BayesUCB()):
        game = play(bandit, rule, budget=80, seed=1)
        assert len(game.arms) == 80
        assert Player(rule, bandit).picks(1, 0, 80) == game.arms


def test_tts_with_doubts_too_small_for_a_number():
    pulls, total = np.array([9e4, 5e4, 8e4]), np.array([0.0, 5e4, 0.0])
    tau, eps, memory = np.full(3, 0.5), np.full(3, 0.1), np.zeros(TTS().memory(3))
    assert TTS.choose(pulls, total, tau, eps, memory, 3, 3, 0.9, 1.0) == 1
    assert memory[:3].tolist() == [0.0, 0.0, 0.0]
    assert np.all(memory[3:6] < -2e4)


def test_no_index_is_ever_not_a_number():
    numbers = [0.0, 1e-300, 0.01, 0.3, 0.5, 0.97, 1.0]
    kept = {"rate": 2.0, "worth": 0.0, "power": 1.0}
    ways = {LSA(): {"width": 1.0}, EVT(): {"width": 1.0}, FWT(): kept, PI(): {"width": 1.0}}
    for rule, known in ways.items():
        for n in (1, 2, 1000):
            for mean in numbers:
                for tau in (0.01, 0.5, 0.97):
                    for eps in numbers:
                        tally = Tally(n, n * mean, n * mean * mean)
                        index = rule.index(tally, threshold=tau, precision=eps, **known)
                        assert index >= 0, (rule, tally, tau, eps)


# Refusals


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FWT(weights=(1.0, -1.0)), "weights of FWT must be above 0, got -1.0"),
        (lambda: FWT(weights=(1.0, math.inf)), "weights of a rule must be a finite number"),
        (lambda: FWT(0.0), "sd of FWT must be above 0"),
        (lambda: FWT(gaps=2), "gaps must be 1"),
        (lambda: LSA(0.0), "alpha of LSA must be above 0"),
        (lambda: AugUCB(-1.0), "rho of AugUCB must be above 0"),
        (lambda: AugUCB(spend=0.5), "spend must be 1"),
        (lambda: BayesUCB(-1.0), "c of Bayes-UCB must be 0 or more"),
        (lambda: LUCBG(1.0), "confidence must lie between 0 and 1"),
    ],
)
def test_bad_settings_get_a_clear_error(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_what_a_rule_is_not_made_for():
    few = Bandit(Bernoulli([0.1, 0.2, 0.7, 0.9]), threshold=0.5)
    with pytest.raises(ValueError, match="5 arms or more, these are 4"):
        play(few, AugUCB(), budget=50)
    with pytest.raises(ValueError, match="there are 4 arms and 3 weights"):
        play(few, FWT(weights=(1.0, 2.0, 3.0)), budget=50)
    wide = {"threshold": 2.0, "precision": 0.1}
    others = [Poisson([1.0] * 5), Exponential([1.0] * 5), Pareto([0.5] * 5), Gaussian([1.0] * 5)]
    for rule in FIELD[2:]:
        for arms in others[: 3 if rule in (EVT(), AugUCB()) else 4]:
            with pytest.raises(ValueError, match=f"{rule.name} is for rewards in a range"):
                play(Bandit(arms, **wide), rule, budget=50)
    for rule in (PI(), TTS(), BayesUCB()):
        with pytest.raises(ValueError, match="thresholds inside the range of the rewards, 0 to 1"):
            play(Bandit(Bernoulli([0.1, 0.7]), threshold=1.0), rule, budget=50)


def test_which_rules_need_the_horizon():
    assert [rule.name for rule in FIELD if not rule.anytime] == ["aug-ucb", "bayes-ucb"]


@pytest.mark.parametrize(
    "rule",
    [*FIELD, FWT(0.25, weights=(1, 2.5, 0.1), gaps=1), FWT(weights=(7,)), AugUCB(0.5, spend=0),
     UnequalGaussianSLR(precision=0.1)],
    ids=lambda rule: rule.spec,
)  # fmt: skip
def test_specs_lead_back(rule):
    assert parse_rule(rule.spec) == rule
    assert RULES[rule.name] is type(rule)


def test_weights_as_a_command_line_writes_them(tmp_path):
    rule = parse_rule("fwt:weights=1/5/0.1")
    assert rule == FWT(weights=(1, 5, 0.1))
    assert rule == FWT(weights=np.array([1, 5, 0.1]))
    assert str(rule) == "FWT(weights=1/5/0.1)"
    assert FWT(weights=[1, 5, 1]).spec == "fwt:weights=1/5/1"
    with pytest.raises(ValueError, match="'1/x' in 'fwt:weights=1/x' is not a number"):
        parse_rule("fwt:weights=1/x")
    bandit = Bandit(Bernoulli([0.2, 0.6, 0.7]), threshold=0.5)
    result = simulate(bandit, [rule], budget=[50], games=10, seed=1)
    result.save(tmp_path / "result.json")
    assert Result.load(tmp_path / "result.json").parsed_rules() == [rule]


# What is true of every rule

NORMAL = Bandit(NOISY, **BARS, rewards=Rewards("gaussian", sd=[0.5, 1.0, 0.2, 0.5, 3.0]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "bandit"),
    [*((rule, None) for rule in FIELD), (FWT(gaps=1), None), (AugUCB(spend=0), None),
     (LSA(precision=0.02), None), (LSA(), NORMAL), (FWT(), NORMAL), (EVT(), NORMAL),
     (AugUCB(), NORMAL), (SLR(), NORMAL), (PI(), LOW)],
    ids=lambda value: value.spec if hasattr(value, "spec") else "",
)  # fmt: skip
def test_what_is_true_of_every_rule(rule, bandit):
    check_rule(rule, bandit, ways=["scan"])


def test_weights_compiled():
    rule = FWT(weights=(1, 50, 1, 0.2, 1, 9))
    plain = play(COINS, rule, budget=150, seed=2).arms
    for way in ("policy", "scan", "tree"):
        assert Player(rule, COINS, way=way).picks(2, 0, 150) == plain
