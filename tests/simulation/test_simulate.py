"""The simulator: exact values, equal counts however the work is cut, and honest intervals."""

import math
import os
import signal
import threading
import time

import numpy as np
import pytest

from cutline import (
    APT,
    CSAR,
    UCBE,
    Bandit,
    Bernoulli,
    Gaussian,
    Interrupted,
    Result,
    RoundRobin,
    Uniform,
    play,
    simulate,
    three_groups,
)
from cutline.core.intervals import clopper_pearson
from cutline.figures.paper import compare_with_exact
from cutline.simulation import EXPERIMENTS
from cutline.simulation.engine import Player

RULES = [APT(), Uniform(), UCBE(1), CSAR()]


def counts(result):
    names = ("wrong_games", "wrong_arms_sum", "wrong_arms_squared", "pulls_sum", "only")
    return [getattr(result, name).tolist() for name in names]


@pytest.mark.parametrize("gaussian", [False, True], ids=["bernoulli", "gaussian"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_uniform_and_round_robin_agree_with_exact_probabilities(name, gaussian):
    bandit = EXPERIMENTS[name](gaussian)
    budgets = [50, 95, 100, 200, 250, 300, 500]
    result = simulate(bandit, [Uniform(), RoundRobin()], budget=budgets, games=40_000, seed=4)
    for exact, _, wrong in compare_with_exact(bandit, result):
        low, high = clopper_pearson(wrong, result.games, 1 - 1e-4 / 14)
        assert low <= exact <= high


# P(error) of APT at T = 100, ..., 500: 800,000 games or more of three programs of other hands.
APT_KNOWN = [0.1408, 0.0327, 0.0082, 0.0021, 0.00053]


def test_apt_agrees_with_other_programs():
    result = simulate(three_groups(), [APT()], budget=[100, 200, 300, 400, 500], games=100_000)
    for known, (low, high) in zip(APT_KNOWN, result.error_interval(0.9999)[0], strict=True):
        assert low - 0.0005 <= known <= high + 0.0005


def test_apt_errs_less_than_uniform_on_three_groups():
    apt, uniform = simulate(
        three_groups(), [APT(), Uniform()], budget=500, games=2_000, seed=1
    ).error_rate
    # Uniform errs near 0.03; 2,000 games leave 0.004 either way, so half of it is beyond chance.
    assert apt < uniform / 2


@pytest.fixture(scope="module")
def whole():
    return simulate(three_groups(), RULES, budget=[60, 200], games=300, seed=9)


@pytest.mark.parametrize(
    "options",
    [{"threads": 1}, {"threads": 2}, {"threads": 5, "chunk": 8}, {"chunk": 1}, {"chunk": 100},
     {"chunk": 64}, {"chunk": 1000}],
    ids=str,
)  # fmt: skip
def test_counts_do_not_depend_on_how_the_work_is_cut(whole, options):
    again = simulate(three_groups(), RULES, budget=[60, 200], games=300, seed=9, **options)
    assert counts(again) == counts(whole)


def test_two_halves_merge_to_the_whole(whole):
    options = {"budget": [60, 200], "seed": 9}
    late = simulate(three_groups(), RULES, games=171, first_game=129, **options)
    early = simulate(three_groups(), RULES, games=129, **options)
    for merged in (early.merge(late), late.merge(early)):
        assert counts(merged) == counts(whole)
        assert merged.stretches == ((0, 300),)
    with pytest.raises(ValueError, match="must be disjoint"):
        early.merge(simulate(three_groups(), RULES, games=1, first_game=128, **options))
    apart = early.merge(simulate(three_groups(), RULES, games=5, first_game=900, **options))
    assert (apart.games, apart.stretches, apart.next_game) == (134, ((0, 129), (900, 5)), 905)


def test_results_of_other_settings_do_not_merge(whole):
    other = {"budget": [60, 200], "games": 10, "first_game": 300, "seed": 9}
    harder = Bandit(Bernoulli(three_groups().means), threshold=0.5, precision=0.05)
    for wrong, words in (
        (simulate(three_groups(), RULES, **{**other, "seed": 8}), "seed"),
        (simulate(three_groups(), RULES[:2], **other), "specs"),
        (simulate(three_groups(), RULES, **{**other, "budget": [60, 201]}), "horizons"),
        (simulate(three_groups(), RULES, **other, replay=False), "replay"),
        (simulate(harder, RULES, **other), "bandit"),
    ):
        with pytest.raises(ValueError, match=words):
            whole.merge(wrong)


def test_interrupted_and_gone_on(whole):
    def stop(done, total):
        if done >= 100:
            raise KeyboardInterrupt

    options = {"budget": [60, 200], "seed": 9, "chunk": 16, "threads": 2}
    with pytest.raises(Interrupted) as caught:
        simulate(three_groups(), RULES, games=300, progress=stop, **options)
    part = caught.value.result
    assert 100 <= part.games < 300
    rest = simulate(
        three_groups(), RULES, games=300 - part.games, first_game=part.next_game, **options
    )
    assert counts(part.merge(rest)) == counts(whole)


def test_a_real_ctrl_c_stops_quickly():
    simulate(three_groups(), [APT()], budget=500, games=64)  # compiled before the clock starts
    main = threading.main_thread().ident
    threading.Timer(1.0, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(Interrupted) as caught:
        simulate(three_groups(), [APT()], budget=500, games=10**9)
    assert time.monotonic() - began < 10
    assert caught.value.result.games > 0
    assert threading.active_count() < 3 + int(os.cpu_count() or 1)


def test_a_result_counts_what_the_games_show():
    bandit = Bandit(Bernoulli([0.2, 0.48, 0.7, 0.9]), threshold=0.5, precision=0.1)
    rules = [APT(), CSAR(), Uniform()]
    horizons, games = [4, 11, 40], 70
    result = simulate(bandit, rules, budget=horizons, games=games, seed=3)
    wrong = np.zeros((3, 3, games), int)
    pulls = np.zeros((3, 4), int)
    for r, rule in enumerate(rules):
        for g in range(games):
            for h, horizon in enumerate(horizons):
                budget = 40 if rule.anytime else horizon
                game = play(bandit, rule, budget=budget, seed=3, game=g)
                told = list(zip(game.arms, game.rewards, strict=True))[:horizon]
                seen = [[x for a, x in told if a == k] for k in range(4)]
                answer = [sum(s) / len(s) >= 0.5 if s else None for s in seen]
                wrong[r, h, g] = bandit.problem.wrong_arms(bandit.means, answer)
            pulls[r] += [len(s) for s in seen]
    assert result.wrong_games.tolist() == (wrong > 0).sum(axis=2).tolist()
    assert result.wrong_arms_sum.tolist() == wrong.sum(axis=2).tolist()
    assert result.wrong_arms_squared.tolist() == (wrong**2).sum(axis=2).tolist()
    assert result.pulls_sum.tolist() == pulls.tolist()
    for i in range(3):
        for j in range(3):
            both = ((wrong[i] > 0) & (wrong[j] == 0)).sum(axis=1)
            assert result.only[i, j].tolist() == both.tolist()


def test_rules_that_need_the_horizon_are_replayed_or_read_along():
    rules = [UCBE(1), CSAR(), APT()]
    replayed = simulate(three_groups(), rules, budget=[100, 300], games=500, seed=1)
    along = simulate(three_groups(), rules, budget=[100, 300], games=500, seed=1, replay=False)
    short = simulate(three_groups(), rules, budget=[100], games=500, seed=1)
    assert replayed.wrong_games[:, 0].tolist() == short.wrong_games[:, 0].tolist()
    assert along.wrong_games[:, 1].tolist() == replayed.wrong_games[:, 1].tolist()
    assert along.wrong_games[2].tolist() == replayed.wrong_games[2].tolist()
    # CSAR told 300 has only just finished its first phase at 100: all arms alike.
    assert along.wrong_games[1, 0] > 1.5 * replayed.wrong_games[1, 0]


def test_default_horizons():
    assert simulate(three_groups(), [APT()], budget=60, games=1).horizons.tolist() == [
        *range(1, 61)
    ]
    grid = simulate(three_groups(), [APT(), CSAR()], budget=500, games=1).horizons.tolist()
    assert grid == list(range(20, 501, 20))
    long = simulate(three_groups(), [APT()], budget=12_345, games=1).horizons
    assert (len(long), long[-1]) == (1000, 12_345)
    own = simulate(three_groups(), [APT()], budget=60, games=1, horizons=[20, 7])
    assert own.horizons.tolist() == [7, 20, 60]


def test_a_curve_from_one_pass_is_made_of_its_horizons():
    curve = simulate(three_groups(), [APT()], budget=120, games=200, seed=2)
    for horizon in (1, 9, 10, 11, 64, 120):
        alone = simulate(three_groups(), [APT()], budget=max(horizon, 10), games=200, seed=2)
        assert curve.at([horizon]).wrong_games.item() == alone.at([horizon]).wrong_games.item()


def test_many_arms_are_played_by_a_tree_with_the_same_choices():
    rng = np.random.default_rng(1)
    for arms in (1, 2, 7, 8, 9, 64, 65, 500, 600):
        bandit = Bandit(Bernoulli(rng.uniform(size=arms)), threshold=0.5, precision=0.05)
        scan, tree = (Player(APT(), bandit, way=way) for way in ("scan", "tree"))
        for game in (0, 17):
            assert scan.picks(1, game, 4 * arms) == tree.picks(1, game, 4 * arms)


def test_one_arm_and_only_free_arms():
    one = simulate(Bandit(Gaussian([0.3], sd=1.0), threshold=0.0), RULES, budget=9, games=100)
    # Whatever the rule, nine pulls of one arm: P(wrong) = Phi(-0.9) = 0.184.
    spent = one.mean_pulls[:, 0]
    assert spent.tolist() == [9.0, 9.0, 9.0, 8.0]  # CSAR leaves one
    assert len(set(one.wrong_games[:3, -1].tolist())) == 1
    free = Bandit(Bernoulli([0.5, 0.55]), threshold=0.5, precision=0.1)
    result = simulate(free, RULES, budget=10, games=100)
    assert not result.wrong_games.any()
    assert result.wrong_arms_interval()[0, -1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 9}, "cannot try 10 arms once each"),
        ({"budget": 0}, "at least 1, got 0"),
        ({"budget": 2.5}, "whole number of pulls"),
        ({"budget": []}, "a budget is needed"),
        ({"budget": 2**32}, "must be below"),
        ({"games": 0}, "games must be"),
        ({"games": 1.5}, "games must be"),
        ({"threads": 0}, "threads must be"),
        ({"chunk": 0}, "chunk must be"),
        ({"first_game": -1}, "numbered from 0"),
        ({"first_game": 2**48}, "numbered from 0"),
        ({"seed": -1}, "seed must be"),
        ({"horizons": [600]}, "beyond the budget"),
        ({"horizons": [0]}, "at least 1, got 0"),
        ({"rules": []}, "at least one rule"),
    ],
)
def test_bad_settings_get_a_clear_error(options, words):
    settings = {"bandit": three_groups(), "rules": [APT()], "budget": 500, "games": 10, **options}
    with pytest.raises((ValueError, TypeError), match=words):
        simulate(settings.pop("bandit"), settings.pop("rules"), **settings)


def test_progress_is_told():
    told = []
    simulate(three_groups(), [APT()], budget=100, games=100, chunk=32,
             progress=lambda done, total: told.append((done, total)))  # fmt: skip
    assert told == [(32, 100), (64, 100), (96, 100), (100, 100)]


def test_memory_does_not_grow_with_the_games():
    import resource

    simulate(three_groups(), [APT()], budget=500, games=1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    simulate(three_groups(), [APT()], budget=500, games=1_000_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 50_000  # kB; a byte a game and horizon would be 500,000


def test_a_result_is_a_result_again_after_a_file(tmp_path, whole):
    whole.save(tmp_path / "result.json")
    back = Result.load(tmp_path / "result.json")
    assert counts(back) == counts(whole)
    assert (back.rules, back.specs, back.horizons.tolist()) == (
        whole.rules, whole.specs, whole.horizons.tolist())  # fmt: skip
    again = simulate(
        back.bandit,
        back.parsed_rules(),
        budget=back.horizons.tolist(),
        games=back.games,
        seed=back.seed,
    )
    assert counts(again) == counts(whole)
    more = simulate(back.bandit, back.parsed_rules(), budget=[60, 200], games=5, seed=9,
                    first_game=300)  # fmt: skip
    assert back.merge(more).games == 305
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="not a result"):
        Result.load(tmp_path / "other.json")


def test_rates_intervals_and_differences(whole):
    assert whole.error_rate.tolist() == (whole.wrong_games[:, -1] / 300).tolist()
    low, high = whole.interval[0]
    assert (low, high) == clopper_pearson(int(whole.wrong_games[0, -1]), 300)
    assert np.allclose(whole.mean_pulls.sum(axis=1)[:3], 200)
    assert whole.mean_pulls[3].sum() < 200  # what CSAR leaves is seen here
    for r in range(4):
        assert whole.wrong_arms_interval()[r, -1, 0] <= whole.wrong_arms[r]
        assert whole.wrong_arms[r] <= whole.wrong_arms_interval()[r, -1, 1]
    difference = whole.difference("uniform", "apt", horizon=200)
    assert difference.rate == pytest.approx(whole.error_rate[1] - whole.error_rate[0])
    assert difference.low < difference.rate < difference.high
    assert difference.low > 0  # uniform errs more, beyond chance, even in 300 paired games
    back = whole.difference("apt", "uniform", horizon=200)
    assert (back.low, back.high) == pytest.approx((-difference.high, -difference.low))
    with pytest.raises(ValueError, match="no rule 'best'"):
        whole.difference("best", "apt")
    with pytest.raises(ValueError, match="horizon 99 was not looked at"):
        whole.difference("apt", "uniform", horizon=99)


class Told(APT):
    """A rule whose settings are worked out from the budget, though its formula does not name it."""

    def settings(self, problem, budget, means):
        return {"far": 1.0 / budget}

    @staticmethod
    def formula(pulls, total, tau, far):
        return abs(total - pulls * tau) / pulls - math.sqrt(1.0 / (far * pulls))


class Dated(APT):
    keeps = ("last",)

    @staticmethod
    def learn(last, budget):
        return budget


def test_a_rule_that_is_told_the_budget_in_any_way_needs_it():
    assert not Told().anytime
    assert not Dated().anytime
    long = simulate(three_groups(), [Told()], budget=[50, 200], games=300, seed=2)
    short = simulate(three_groups(), [Told()], budget=[50], games=300, seed=2)
    assert long.wrong_games[0, 0] == short.wrong_games[0, 0]


def test_two_versions_of_a_rule_do_not_merge():
    def version(weight):
        class Mine(APT):
            @staticmethod
            def formula(pulls, total, tau):
                return weight * pulls + abs(total - pulls * tau)

        return Mine()

    one = simulate(three_groups(), version(1.0), budget=[20], games=5)
    other = simulate(three_groups(), version(2.0), budget=[20], games=5, first_game=5)
    with pytest.raises(ValueError, match="versions of a rule"):
        one.merge(other)
    with pytest.raises(ValueError, match="came from no file"):
        one.parsed_rules()


def test_some_horizons_of_a_result(whole):
    assert whole.at([200, 60, 200]).horizons.tolist() == [60, 200]
    assert whole.at([200, 60]).interval.tolist() == whole.interval.tolist()
    with pytest.raises(ValueError, match="at least one horizon"):
        whole.at([])


@pytest.mark.parametrize("rules", [["apt"], [APT], "apt"])
def test_what_is_no_rule_is_refused(rules):
    with pytest.raises(TypeError, match="made like APT"):
        simulate(three_groups(), rules, budget=20, games=1)


class Unclocked(APT):
    @staticmethod
    def formula(pulls, step):
        return pulls / step


class Undecorated(APT):
    weight: float = 1.0

    @staticmethod
    def formula(pulls, weight):
        return weight * pulls


@pytest.mark.parametrize(
    ("rule", "hint"), [(Unclocked(), "ClockedIndexRule"), (Undecorated(), "@dataclass")], ids=str
)
def test_a_forgotten_thing_is_named(rule, hint):
    with pytest.raises(TypeError, match=hint):
        play(three_groups(), rule, budget=20)


def test_more_arms_than_the_tree_can_number_are_refused():
    arms = Bernoulli(np.full(2**21, 0.5))
    with pytest.raises(ValueError, match="fewer than 2,097,152 arms"):
        Player(APT(), Bandit(arms, threshold=0.4))
