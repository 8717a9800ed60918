"""Games with pulls in flight and evidence: held against one written out by hand."""

import heapq
import math

import numpy as np
import pytest

from cutline import (
    APT,
    CSAR,
    SLR,
    SLRD,
    SLRV,
    TTS,
    UCBE,
    AugUCB,
    Bandit,
    Bernoulli,
    ClippedAPT,
    Gaussian,
    Poisson,
    Rewards,
    RoundRobin,
    TopArms,
    Uniform,
    simulate,
    three_groups,
)
from cutline.core.chance import DELAY, REWARD, chance, seed_key, uniform
from cutline.core.evidence import BetaMixture, Evidence, Ledger, arm_columns
from cutline.core.tally import Tally
from cutline.simulation.engine import Player
from cutline.simulation.live import Live, fixed, random, slow_failures
from cutline.simulation.reference import tie_order
from cutline.simulation.result import Result

COINS = Bandit(Bernoulli([0.1, 0.35, 0.45, 0.55, 0.65, 0.9]), threshold=0.5, precision=0.1)
SEED = 5


def by_hand(index, *, budget, in_flight, delay, game, bar=math.inf, in_order=True):
    """A game on COINS in plain Python: a heap of pulls in flight, lists of rewards, ledgers."""
    means = COINS.means.tolist()
    arms = len(means)
    order = tie_order(SEED, game, arms)
    k0, k1 = seed_key(SEED)
    told = {arm: [] for arm in order}  # rewards in the order they came back
    settled = {arm: {} for arm in order}  # rewards by the number of the pull
    asked = dict.fromkeys(order, 0)
    evidence = BetaMixture()
    ledgers = {a: Ledger(evidence, arm_columns(evidence, COINS.problem, a)) for a in order}
    fed = dict.fromkeys(order, 0)
    closed, flying, picks, now = set(), [], [], 0.0

    def value(arm):
        n, waiting = len(told[arm]), asked[arm] - len(told[arm])
        if n == 0:  # first of all, but with five in flight last of all: it may be one that hangs
            return (0 if waiting < 5 else 2, asked[arm])
        pulls = n + waiting
        total = sum(told[arm]) * pulls / n
        return (1, index(Tally(pulls, total)))

    def reward_of(arm, pull):
        u = uniform(chance(k0, k1, game, arm, pull, REWARD), 0)
        return 1.0 if u > 1.0 - means[arm] else 0.0

    while True:
        can = [arm for arm in order if arm not in closed]
        if not can or (len(picks) == budget and not flying):
            break
        if len(flying) < in_flight and len(picks) < budget:
            arm = min(can, key=value)  # the first of equals, in the order of ties
            luck = uniform(chance(k0, k1, game, arm, asked[arm], DELAY), 0)
            reward = reward_of(arm, asked[arm])
            end = now + delay(reward, luck)
            heapq.heappush(flying, (end, len(picks), arm, asked[arm], reward))
            picks.append(arm)
            asked[arm] += 1
            continue
        now, _, arm, pull, reward = heapq.heappop(flying)
        told[arm].append(reward)
        settled[arm][pull] = reward
        if in_order:
            while fed[arm] in settled[arm]:
                ledgers[arm].feed(settled[arm][fed[arm]])
                fed[arm] += 1
        else:
            ledgers[arm].feed(reward)
        above = sum(told[arm]) / len(told[arm]) >= 0.5
        top = ledgers[arm].top_above if above else ledgers[arm].top_below
        (closed.add if top >= bar else closed.discard)(arm)
    return picks, told, ledgers


def apt_index(tally):
    return APT().index(tally, threshold=0.5, precision=0.1)


HAND_DELAYS = {
    fixed: lambda reward, luck: 1.0,
    random: lambda reward, luck: -math.log(luck),
    slow_failures: lambda reward, luck: -math.log(luck) * (1.0 if reward >= 0.5 else 10.0),
}


@pytest.mark.parametrize("in_flight", [1, 3, 8])
@pytest.mark.parametrize("delay", [fixed, random, slow_failures], ids=lambda d: d.__name__)
def test_pulls_in_flight_go_as_written_out_by_hand(in_flight, delay):
    live = Live(in_flight=in_flight, delay=delay)
    player = Player(APT(), COINS, live=live)
    for game in (0, 1, 2, 40):
        picks, told, _ = by_hand(
            apt_index, budget=120, in_flight=in_flight, delay=HAND_DELAYS[delay], game=game
        )
        assert player.picks(SEED, game, 120) == picks
        tallies = player.tallies(SEED, game, 1, 120)[0]
        assert tallies[0].tolist() == [len(told[arm]) for arm in range(6)]
        assert tallies[1].tolist() == [sum(told[arm]) for arm in range(6)]


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("in_flight", [1, 8])
def test_stopping_and_evidence_go_as_written_out_by_hand(in_flight, in_order):
    delay = HAND_DELAYS[slow_failures]
    # arms 0 to 2 may not be shown above, 4 and 5 not below; 2 and 3 lie inside the band
    wrong = {0: "top_above", 1: "top_above", 4: "top_below", 5: "top_below"}
    spent, levels = [], []
    for game in range(6):
        picks, _, ledgers = by_hand(
            apt_index,
            budget=2000,
            in_flight=in_flight,
            delay=delay,
            game=game,
            bar=math.log(6 / 0.1),
            in_order=in_order,
        )
        spent.append(len(picks))
        top = max(getattr(ledgers[arm], name) for arm, name in wrong.items())
        levels.append(min(1.0, 6 * math.exp(-top)))
    stops = simulate(
        COINS,
        [APT()],
        budget=[2000],
        games=6,
        seed=SEED,
        confidence=0.9,
        in_flight=in_flight,
        delay="slow-failures",
        in_order=in_order,
    ).stops
    assert stops.spent[0].tolist() == sorted(spent)
    assert stops.levels[0] == pytest.approx(sorted(levels), rel=1e-9)
    assert stops.finished.tolist() == [6]


SHAPES = [APT(), SLRV(), SLRD(), CSAR()]


@pytest.mark.slow
@pytest.mark.parametrize("rule", SHAPES, ids=lambda rule: rule.spec)
def test_one_pull_at_a_time_is_the_game_of_the_other_kernels(rule):
    bandit = three_groups()
    plain, live = Player(rule, bandit), Player(rule, bandit, live=Live(delay=random))
    for game in (0, 7):
        assert live.picks(SEED, game, 150) == plain.picks(SEED, game, 150)
    usual = simulate(bandit, [rule], budget=[80, 150], games=100, seed=SEED)
    as_live = simulate(bandit, [rule], budget=[80, 150], games=100, seed=SEED, delay="random")
    assert as_live.wrong_games.tolist() == usual.wrong_games.tolist()
    assert as_live.wrong_arms_squared.tolist() == usual.wrong_arms_squared.tolist()
    assert as_live.pulls_sum.tolist() == usual.pulls_sum.tolist()


@pytest.mark.slow
def test_numbers_that_a_rule_keeps_and_squares_are_seen_with_pulls_in_flight():
    # Rewards without noise: an arm in flight is seen as if its result, which is its mean, were
    # there. So what is asked for does not depend on how many pulls are in flight, once all arms
    # have come back twice, but for the order of results.
    bandit = Bandit(Gaussian([-2.0, -1.0, 0.5, 3.0], sd=0.0), threshold=0.0, precision=0.25)
    for rule in (ClippedAPT(spread=1.0), SLRV(), APT()):
        alone = simulate(bandit, [rule], budget=[400], games=3, seed=1).pulls_sum[0]
        many = simulate(bandit, [rule], budget=[400], games=3, seed=1, in_flight=8).pulls_sum[0]
        assert np.abs(many - alone).max() <= 3 * 8, rule


def test_a_batch_spreads_over_the_arms():
    # Taking the lowest index without counting what is in flight would put all 64 on one arm.
    player = Player(APT(), three_groups(), live=Live(in_flight=64))
    batch = player.picks(SEED, 0, 192)[128:]
    counts = np.bincount(batch, minlength=10)
    assert counts.max() <= 40
    assert np.count_nonzero(counts) >= 3


def test_more_in_flight_costs_little_and_round_robin_nothing():
    rates = [
        simulate(three_groups(), [APT(), RoundRobin()], budget=[300], games=20_000, in_flight=w)
        for w in (1, 16)
    ]
    apt, even = rates[0].error_rate
    apt_16, even_16 = rates[1].error_rate
    assert apt < apt_16 < 3 * apt  # measured: .008 and .012
    assert even_16 == pytest.approx(even, abs=0.02)


def test_counts_do_not_depend_on_threads_and_chunks_and_results_merge(tmp_path):
    how = {"budget": [60, 120], "confidence": 0.9, "in_flight": 4, "delay": "random", "seed": 3}
    whole = simulate(COINS, [APT(), Uniform()], games=50, **how)
    apart = simulate(COINS, [APT(), Uniform()], games=20, threads=1, chunk=7, **how)
    rest = simulate(COINS, [APT(), Uniform()], games=30, first_game=20, **how)
    both = rest.merge(apart)
    for name in ("spent", "levels", "finished", "open_games", "found_sum", "found_games"):
        assert getattr(both.stops, name).tolist() == getattr(whole.stops, name).tolist(), name
    assert both.wrong_games.tolist() == whole.wrong_games.tolist()
    whole.save(tmp_path / "result.json")
    loaded = Result.load(tmp_path / "result.json")
    assert loaded.stops.spent.tolist() == whole.stops.spent.tolist()
    assert loaded.stops.settings == {
        "confidence": 0.9,
        "evidence": "beta-mixture",
        "code": "()",
        "in_flight": 4,
        "delay": "random",
        "in_order": True,
    }
    other = simulate(COINS, [APT(), Uniform()], games=5, first_game=60, **(how | {"in_flight": 2}))
    with pytest.raises(ValueError, match="how games stop"):
        whole.merge(other)


def test_index_rules_leave_settled_arms_alone_and_the_sampler_does_not_change_the_sum():
    # Each arm is pulled until its own evidence suffices, whoever chooses the order.
    rules = [APT(), RoundRobin(), SLR()]
    stops = simulate(COINS, rules, games=200, seed=2, confidence=0.95).stops
    assert stops.spent[0].tolist() == stops.spent[1].tolist() == stops.spent[2].tolist()
    assert stops.finished.tolist() == [200] * 3


def test_a_delay_of_your_own_and_bad_settings():
    def by_size(reward, luck):
        return 1.0 + reward + luck

    simulate(COINS, [APT()], budget=[60], games=3, in_flight=4, delay=by_size)

    def coloured(reward, colour):
        return colour

    with pytest.raises(TypeError, match="colour"):
        simulate(COINS, [APT()], budget=[60], games=3, delay=coloured)
    for wrong, message in [
        ({"in_flight": 0, "budget": 60}, "whole number"),
        ({"in_flight": 2.5, "budget": 60}, "whole number"),
        ({"delay": "slow", "budget": 60}, "unknown delay 'slow'"),
        ({"evidence": "magic", "budget": 60}, "unknown evidence 'magic'"),
        ({"confidence": 1.5, "budget": 60}, "confidence"),
        ({}, "give a budget, a confidence"),
    ]:
        with pytest.raises(ValueError, match=message):
            simulate(COINS, [APT()], games=3, **wrong)


def test_without_a_budget_games_must_be_able_to_end():
    sharp = Bandit(Bernoulli([0.2, 0.5]), threshold=0.5)
    with pytest.raises(ValueError, match="precision must be above 0"):
        simulate(sharp, [APT()], games=3, confidence=0.9)
    at_end = Bandit(Bernoulli([0.2, 1.0]), threshold=1.0)
    with pytest.raises(ValueError, match="exactly 1 needs a budget"):
        simulate(at_end, [APT()], games=3, confidence=0.9)
    with pytest.raises(ValueError, match="reaches past 0"):
        Bandit(Bernoulli([0.2, 0.5]), threshold=0.05, precision=0.1)
    with pytest.raises(ValueError, match="does not leave settled arms alone"):
        simulate(COINS, [Uniform()], games=3, confidence=0.9)
    with pytest.raises(ValueError, match="must know the budget"):
        simulate(COINS, [UCBE(1)], games=3, confidence=0.9)
    with pytest.raises(ValueError, match="horizons need a budget"):
        simulate(COINS, [APT()], games=3, confidence=0.9, horizons=[10])
    with pytest.raises(ValueError, match="about the sides of arms"):
        simulate(COINS, [APT()], games=3, budget=50, confidence=0.9, goal=TopArms(1))
    heavy = Bandit(Gaussian([0.0, 2.0]), threshold=1.0, precision=0.5, rewards=Rewards("heavy"))
    with pytest.raises(ValueError, match="bound on their variance"):
        simulate(heavy, [APT()], games=3, confidence=0.9)


def test_evidence_without_a_confidence_changes_nothing_even_where_it_is_infinite():
    # No mean lies below 0, so every reward above it is infinite evidence for "above".
    edge = Bandit(Bernoulli([0.97, 0.99, 0.5]), threshold=0.95, precision=0.05)
    plain = simulate(edge, [RoundRobin()], budget=[300], games=32)
    weighed = simulate(edge, [RoundRobin()], budget=[300], games=32, evidence="beta-mixture")
    assert weighed.pulls_sum.tolist() == plain.pulls_sum.tolist()
    assert weighed.wrong_games.tolist() == plain.wrong_games.tolist()
    assert weighed.stops.finished.tolist() == [0]
    assert weighed.stops.found_games.sum() == 0


tts, aug_ucb = TTS.choose, AugUCB.choose  # plain functions, which are compiled along


class ForgetfulTTS(TTS):
    """The same rule, which works everything out anew at every step."""

    @staticmethod
    def choose(pulls, total, tau, eps, memory, arms, step, luck, width):
        memory[2 * arms : 4 * arms] = -1.0  # the pulls and totals that it remembers numbers of
        return tts(pulls, total, tau, eps, memory, arms, step, luck, width)


class ForgetfulAugUCB(AugUCB):
    """The same."""

    @staticmethod
    def choose(
        pulls, total, squares, tau, eps, memory, arms, step, budget, rho, psi, width, spend
    ):  # fmt: skip
        memory[len(memory) - 2 * arms :] = -1.0
        return aug_ucb(
            pulls, total, squares, tau, eps, memory, arms, step, budget, rho, psi, width, spend
        )  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "anew"),
    [(TTS(), ForgetfulTTS()), (AugUCB(), ForgetfulAugUCB())],
    ids=["tts", "aug-ucb"],
)
def test_rules_that_remember_see_results_that_come_late(rule, anew):
    live = Live(in_flight=10, delay=random)
    ours, fresh = (Player(one, three_groups(), live=live) for one in (rule, anew))
    for game in range(5):
        assert ours.picks(SEED, game, 200) == fresh.picks(SEED, game, 200)


def test_evidence_of_your_own_and_the_best_arm_with_pulls_in_flight():
    class Never(Evidence):
        name = "never"

        @staticmethod
        def log_above(pulls):
            return 0.0 * pulls

        @staticmethod
        def log_below(pulls):
            return 0.0 * pulls

    stops = simulate(COINS, [APT()], budget=[50], games=4, confidence=0.5, evidence=Never()).stops
    assert stops.spent.tolist() == [[50] * 4]
    assert stops.finished.tolist() == [0]
    assert stops.open_games.tolist() == [[4] * 6]
    assert stops.mean_open.tolist() == [6.0]
    counts = Bandit(Poisson([1.0, 2.0, 4.0]), threshold=4.0)
    best = simulate(counts, [APT()], budget=[200], games=50, goal=TopArms(1), in_flight=4)
    assert best.error_rate[0] < 0.2
