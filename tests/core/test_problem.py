"""The problem: its edges, its complexity, and clear words for bad values."""

import math

import numpy as np
import pytest

from cutline import Problem, Rewards, Tallies, Tally
from cutline.simulation import EXPERIMENTS


def problem(**changes):
    settings = {"arms": 3, "threshold": 0.5, "precision": 0.1, "rewards": "binary"}
    return Problem(**{**settings, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arms": 0}, "at least one arm"),
        ({"arms": []}, "at least one arm"),
        ({"arms": ["a", "b", "a"]}, "seen twice: a"),
        ({"arms": "abc"}, "one string 'abc'"),
        ({"threshold": math.nan}, "threshold must be a finite number, got nan"),
        ({"threshold": math.inf}, "threshold must be a finite number, got inf"),
        ({"threshold": [0.1, 0.2]}, "there are 3 arms and 2 numbers"),
        ({"precision": -0.1}, "precision must be 0 or more, got -0.1"),
        ({"precision": [0, 0, -1]}, "precision must be 0 or more"),
        ({"precision": math.nan}, "precision must be a finite number"),
        ({"precision": [0.1] * 4}, "there are 3 arms and 4 numbers"),
        ({"rewards": "ternary"}, "binary, bounded, gaussian"),
    ],
)
def test_bad_values_get_a_clear_error(changes, words):
    with pytest.raises(ValueError, match=words):
        problem(**changes)


def test_arms_are_names_a_count_or_a_mapping():
    assert problem().arms == ("0", "1", "2")
    assert problem(arms=("x", "y", "z")).arms == ("x", "y", "z")
    assert problem(arms={"x": 1, "y": 2, "z": 3}).arms == ("x", "y", "z")


def test_problems_are_values():
    assert problem() == problem(threshold=[0.5, 0.5, 0.5])
    assert hash(problem()) == hash(problem())
    with pytest.raises(AttributeError):
        problem().threshold = (0.1,)


def test_edges_of_the_loss():
    # At exactly tau + eps an arm must be found above; at exactly tau - eps it is free.
    at = [0.4, 0.4 - 1e-6, 0.5, 0.6 - 1e-6, 0.6]
    assert problem(arms=5).truth(at).tolist() == [0, -1, 0, 0, 1]
    # With precision 0 every arm counts, and tau itself is above.
    assert problem(arms=3, precision=0).truth([0.5, 0.5 - 1e-15, 0.7]).tolist() == [1, -1, 1]


def test_edges_allow_for_rounding():
    # 0.8 - 0.1 is 0.7000000000000001 and 0.7 + 0.1 is 0.7999999999999999 in binary.
    assert problem(arms=1, threshold=0.8).truth([0.7]).tolist() == [0]
    assert problem(arms=1, threshold=0.7).truth([0.8]).tolist() == [1]
    for tenths in range(1, 9):
        tau = tenths / 10
        low, high = (tenths - 1) / 10, (tenths + 1) / 10
        assert problem(arms=2, threshold=tau).truth([low, high]).tolist() == [0, 1]


def test_loss_counts_only_arms_outside_the_band():
    means = [0.2, 0.45, 0.9]
    right = [False, None, True]
    assert problem().wrong_arms(means, right) == 0
    assert problem().wrong_arms(means, [True, True, None]) == 2
    assert problem().loss(means, right) == 0
    assert problem().loss(means, [False, True, False]) == 1
    with pytest.raises(ValueError, match="an answer for 3 arms"):
        problem().loss(means, [True])


def test_answer_is_mean_at_least_threshold():
    tallies = Tallies.of([Tally(100, 7.0), Tally(100, 6.0), Tally()])
    # 0.07 * 100 is 7.000000000000001 in binary; the mean 7/100 is exactly the threshold's float.
    assert problem(threshold=0.07, precision=0.05).decide(tallies) == [True, False, None]


def test_gaps_and_complexity_with_thresholds_of_their_own():
    own = problem(threshold=[0.1, 0.5, 0.9], precision=[0.0, 0.1, 0.1])
    assert np.allclose(own.gaps([0.2, 0.2, 0.2]), [0.1, 0.4, 0.8])
    assert own.complexity([0.2, 0.2, 0.2]) == pytest.approx(100 + 6.25 + 1 / 0.64)
    assert own.complexity([0.1, 0.2, 0.2]) == math.inf
    with pytest.raises(ValueError, match="one mean per arm"):
        own.gaps([0.1])


@pytest.mark.parametrize(
    ("name", "with_precision", "without"),
    [("three-groups", 144.889, 926.39), ("arithmetic", 171.938, 993.11),
     ("geometric", 231.548, 1289.48)],
)  # fmt: skip
def test_complexity_of_the_papers_bandits(name, with_precision, without):
    bandit = EXPERIMENTS[name](False)
    assert bandit.complexity() == pytest.approx(with_precision, abs=5e-4)
    assert bandit.problem.complexity(bandit.means, 0.0) == pytest.approx(without, abs=5e-3)


@pytest.mark.parametrize(
    ("rewards", "value", "words"),
    [
        (Rewards("binary"), 0.5, "0 or 1"),
        (Rewards("binary"), math.nan, "finite"),
        (Rewards("gaussian"), math.inf, "finite"),
        (Rewards("bounded", -1, 1), 1.5, "between -1 and 1"),
        (Rewards("poisson"), 0.5, "whole number"),
        (Rewards("poisson"), -1, "between 0 and inf"),
        (Rewards("exponential"), -0.1, "between 0 and inf"),
    ],
)
def test_rewards_outside_their_kind_are_refused(rewards, value, words):
    with pytest.raises(ValueError, match=words):
        rewards.check(value)


@pytest.mark.parametrize(
    "settings", [{"kind": "bounded", "low": 1, "high": 0}, {"kind": "binary", "low": -1},
                 {"kind": "bounded", "high": math.inf}]
)  # fmt: skip
def test_bounds_make_sense(settings):
    with pytest.raises(ValueError, match="bound"):
        Rewards(**settings)


def test_tally_adds_up_from_its_origin():
    tally = Tally(origin=1e9)
    for x in (0.25, 0.5, 1.0):
        tally = tally.add(1e9 + x)
    assert (tally.pulls, tally.total, tally.squares) == (3, 1.75, 0.0625 + 0.25 + 1.0)
    assert Tallies.of([tally, Tally()])[0] == tally
    with pytest.raises(ValueError, match="never pulled"):
        _ = Tally().mean


# --- bars at the ends of the range and past them --------------------------------------------------


@pytest.mark.parametrize(
    ("rewards", "threshold", "precision"),
    [
        ("binary", 0.95, 0.05), ("binary", 0.01, 0.01), ("binary", 0.9, 0.1), ("binary", 0.3, 0.3),
        ("binary", 0.7, 0.3), ("binary", 0.5, 0.5), ("binary", 1.0, 0.0), ("binary", 0.0, 0.0),
        (Rewards("bounded", 0, 0.3), 0.2, 0.1), (Rewards("bounded", -1, 1), 0.9, 0.1),
        (Rewards("bounded", 1e6, 1e6 + 1), 1e6 + 0.9, 0.1), ("poisson", 0.3, 0.3),
        ("exponential", 0.7, 0.7), ("gaussian", 0.5, 1e6), ("heavy", -5.0, 10.0),
        ("binary", 5e-324, 5e-324), ("binary", 1 - 2.0**-53, 2.0**-53),
    ],
)  # fmt: skip
def test_a_band_may_touch_the_end_of_the_range(rewards, threshold, precision):
    """Rounding apart; and an edge at the end is the end."""
    found = problem(rewards=rewards, threshold=threshold, precision=precision)
    low, high = found.edges
    ends = {found.rewards.low, found.rewards.high} - {-math.inf, math.inf}
    if ends:
        at = {float(e + o) for e, o in zip((*low, *high), (*found.origins,) * 2, strict=True)}
        assert at & ends
    for arm in range(3):
        assert found.arm_edges(arm) == (low[arm], high[arm])


@pytest.mark.parametrize("tau", range(1, 100))
def test_a_band_that_touches_in_decimals_touches(tau):
    for bar, band in ((tau / 100, (100 - tau) / 100), (tau / 1000, tau / 1000)):
        if band <= bar and bar + band <= 1 + 1e-9:
            problem(threshold=bar, precision=band)
            with pytest.raises(ValueError, match="reaches past"):
                problem(threshold=bar, precision=band + 1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threshold": 0.95}, r"precision 0\.1 around threshold 0\.95 reaches past 1.*most 0\.05 "),
        ({"threshold": 0.01, "precision": 0.02}, r"reaches past 0.*at most 0\.01 makes sense"),
        ({"threshold": 1.0, "precision": 0.01}, r"threshold 0\.995 with precision 0\.005"),
        ({"threshold": [0.5, 0.5, 0.99]}, r"0\.99 of arm '2' reaches past 1"),
        ({"threshold": 90, "precision": 0}, r"threshold 90 is out of reach.*for 90 % write 0\.9"),
        ({"threshold": -0.1, "precision": 0}, r"out of reach: .* binary rewards lie between 0 and"),
        ({"threshold": 1 + 2.0**-52, "precision": 0}, "out of reach"),
        ({"threshold": -1, "precision": 0, "rewards": "poisson"}, "poisson rewards are 0 or more"),
        ({"threshold": 1, "precision": 1.5, "rewards": "exponential"}, "at most 1 makes sense"),
        ({"rewards": Rewards("bounded", -1, 0.55)}, r"reaches past 0\.55"),
        ({"threshold": 0.95, "level": 3.0, "rewards": "gaussian"}, "reaches past 1"),
    ],
)
def test_a_band_past_the_end_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        problem(**changes)


def test_bars_smaller_than_rounding_elsewhere_are_told_apart():
    tiny = problem(arms=3, threshold=1e-13, precision=5e-14)
    assert tiny.truth([0.0, 1e-13, 2e-13]).tolist() == [-1, 0, 1]


def test_no_minus_nothing():
    assert str(problem(threshold=-0.0, precision=-0.0).threshold[0]) == "0.0"
    assert str(Rewards("bounded", -0.0, 1).low) == "0.0"
