"""What an author of a rule, or of a question, may get wrong, and is told."""

from dataclasses import dataclass

import numpy as np
import pytest

from cutline import (
    APT,
    UCBE,
    Bandit,
    Bernoulli,
    ClippedAPT,
    IndexRule,
    Policy,
    Result,
    StudentT,
    TopArms,
    UGapE,
    parse_rule,
    play,
    simulate,
)
from cutline.simulation.goals import SIDES
from cutline.simulation.parts import assemble

COINS = Bandit(Bernoulli([0.2, 0.6, 0.8]), threshold=0.5)


class Half(APT):
    """Answers by half of the mean, and asks how many arms there are."""

    @staticmethod
    def estimate(pulls, total, arms):
        return 0.5 * total / pulls * arms / 3.0


def test_an_estimate_may_ask_for_the_number_of_arms():
    tallies = play(COINS, Half(), budget=300, seed=1).tallies
    assert Half().answer(COINS.problem, tallies) == [False, False, False]
    assert APT().answer(COINS.problem, tallies) == [False, True, True]


def test_an_estimate_may_not_ask_for_the_budget():
    class Late(APT):
        @staticmethod
        def estimate(total, budget):
            return total / budget

    with pytest.raises(TypeError, match=r"Late\.estimate asks for 'budget'"):
        assemble(Late(), COINS, SIDES)


@pytest.mark.parametrize("name", ["truth", "arm", "lack", "pulls"])
def test_names_of_the_game_are_not_a_rules_to_keep(name):
    class Cheat(APT):
        keeps = (name,)

        @staticmethod
        def learn(reward):
            return reward

    with pytest.raises(TypeError, match=f"uses the name '{name}' twice"):
        assemble(Cheat(), COINS, SIDES)


@pytest.mark.parametrize("name", ["estimate", "learn"])
def test_a_policy_has_no_estimate_and_learns_by_its_memory(name):
    class Round(Policy):
        @staticmethod
        def choose(step, arms):
            return step % arms

    setattr(Round, name, staticmethod(lambda total: total))
    with pytest.raises(TypeError, match=f"Round is a Policy, which takes no {name}"):
        assemble(Round(), COINS, SIDES)


def test_a_merit_that_asks_for_the_budget_needs_the_horizon():
    class Told(APT):
        @staticmethod
        def merit(pulls, budget):
            return pulls / budget

    assert APT().anytime
    assert not Told().anytime


def test_versions_that_start_differently_do_not_merge():
    def version(first):
        @dataclass(frozen=True)
        class Mine(IndexRule):
            keeps = ("own",)

            def start(self, problem, means):
                return np.full((1, len(problem.arms)), first)

            @staticmethod
            def learn(own):
                return own

            @staticmethod
            def formula(pulls, own):
                return pulls + own

        return Mine()

    results = [
        simulate(COINS, version(own), budget=[6], games=2, first_game=2 * i)
        for i, own in enumerate((0.0, 1.0))
    ]
    with pytest.raises(ValueError, match="versions of a rule differ"):
        results[0].merge(results[1])


class ByMean(ClippedAPT):
    """Plays like ClippedAPT, and names arms by their plain means."""

    @staticmethod
    def merit(pulls, total):
        return total / pulls


def test_several_arms_are_named_by_what_a_rule_trusts():
    bandit = Bandit(StudentT([0.0, 1.0, 2.0], 1.5), threshold=0.5)
    robust, by_mean = simulate(
        bandit, [ClippedAPT(), ByMean()], budget=[900], games=500, seed=1, goal=TopArms(2)
    ).error_rate
    assert robust < by_mean / 2


def test_a_rule_set_to_name_another_number_of_arms_is_refused():
    for name in ("sar", "ugape"):
        with pytest.raises(ValueError, match=r"names 1 of the arms, and the goal is 2"):
            simulate(COINS, parse_rule(name), budget=[30], games=2, goal=TopArms(2))
        simulate(COINS, parse_rule(f"{name}:2"), budget=[30], games=2, goal=TopArms(2))


def test_unseen_arms_count_as_wrong_within_the_interval():
    result = simulate(COINS, APT(), budget=[1, 2, 60], games=200, goal=TopArms(2))
    assert result.wrong_arms_curve[0, 0] >= 1
    low, high = result.wrong_arms_interval()[0, 0]
    assert low <= result.wrong_arms_curve[0, 0] <= high <= 2


def test_goals_by_name_and_bad_ones():
    by_name = simulate(COINS, APT(), budget=[30], games=50, goal="best-arm")
    assert by_name.goal == TopArms(1)
    for bad in (0, -1, 1.0, True):
        with pytest.raises(ValueError, match="m is a whole number of arms"):
            TopArms(bad)
    with pytest.raises(ValueError, match="a goal is sides"):
        simulate(COINS, APT(), budget=[30], games=50, goal="best")


def test_means_equal_up_to_rounding_are_equal():
    bandit = Bandit(Bernoulli([0.1 + 0.2, 0.3, 0.1]), threshold=0.3)
    assert TopArms(1).truth(bandit).tolist() == [0, 0, -1]
    settings = parse_rule("ucbe-best").settings(bandit.problem, 103, bandit.means)
    assert settings["a"] == pytest.approx(100 / (3 / 0.2**2))


def test_a_given_truth_is_about_sides():
    own = Bandit(Bernoulli([0.2, 0.6]), threshold=0.5, truth=[1, -1])
    with pytest.raises(ValueError, match="a given truth is about sides"):
        simulate(own, APT(), budget=[10], games=2, goal=TopArms(1))
    with pytest.raises(ValueError, match="truth holds 1"):
        Bandit(Bernoulli([0.2, 0.6]), threshold=0.5, truth=[True, False])


def test_rules_that_are_told_a_complexity_refuse_nonsense():
    for bad in (0.0, -3.0):
        with pytest.raises(ValueError, match="complexity of UGapE must be above 0"):
            UGapE(1, 4, bad)
    with pytest.raises(ValueError, match="For the best arm there is ucbe-best"):
        simulate(COINS.for_best_arm(), UCBE(1), budget=[30], games=2, goal=TopArms(1))
    with pytest.raises(ValueError, match="the best of 1 arm"):
        play(Bandit(Bernoulli([0.2]), threshold=0.5), parse_rule("ucbe-best"), budget=5)


def test_results_of_another_format_are_refused(tmp_path):
    path = tmp_path / "result.json"
    simulate(COINS, APT(), budget=[9], games=4).save(path)
    path.write_text(path.read_text().replace('"format": 3', '"format": 1'))
    with pytest.raises(ValueError, match="has format 1"):
        Result.load(path)
