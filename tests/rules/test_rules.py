"""The rules: known values, exact ties, and what is true of every rule."""

import math

import numpy as np
import pytest

from cutline import (
    APT,
    CSAR,
    SLR,
    SLRD,
    UCBE,
    Bandit,
    Bernoulli,
    Gaussian,
    Problem,
    RoundRobin,
    Tally,
    Uniform,
    parse_rule,
    play,
    three_groups,
)
from cutline.rules.csar import phase_length
from cutline.testing import check_rule

ALL = [APT(), APT(precision=0.02), UCBE(0.25), UCBE(256), Uniform(), RoundRobin(), CSAR(),
       CSAR(spend=1), SLRD()]  # fmt: skip


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.spec)
def test_what_is_true_of_every_rule(rule):
    check_rule(rule)


@pytest.mark.parametrize("rule", [APT(), UCBE(256)], ids=lambda rule: rule.spec)
def test_an_index_rule_is_playable_as_a_policy(rule):
    check_rule(rule, ways=["policy"])


@pytest.mark.parametrize("rule", [APT(), UCBE(1), CSAR(), Uniform()], ids=lambda rule: rule.spec)
def test_the_same_on_gaussian_arms_with_bars_of_their_own(rule):
    arms = Gaussian([0.1, 1.0, 2.0, -3.0, 5.0], sd=[0.5, 1.0, 0.1, 2.0, 3.0])
    own = Bandit(arms, threshold=[0.0, 1.5, 1.9, -3.0, 4.0], precision=[0.1, 0, 0.05, 0.5, 0])
    check_rule(rule, own)


# Found two ways, in double precision and with 25 digits: n, S, tau, eps, APT, UCBE (a = 3), SLR.
KNOWN = [
    (4, 2.0, 0.5, 0.1, 0.2, -0.8660254038, 0.0816439890),
    (20, 13.0, 0.5, 0.1, 1.1180339887, -0.2372983346, 2.5386261000),
    (20, 0.0, 0.05, 0.02, 0.3130495168, -0.3372983346, 1.4514138567),
    (50, 48.0, 0.9, 0.02, 0.5656854249, -0.1849489743, 1.9793215182),
]


@pytest.mark.parametrize(("n", "s", "tau", "eps", "apt", "ucbe", "slr"), KNOWN)
def test_known_indices(n, s, tau, eps, apt, ucbe, slr):
    at = {"threshold": tau, "precision": eps}
    tally = Tally(n, s)
    assert APT().index(tally, **at) == pytest.approx(apt, abs=1e-10)
    # The published values leave out the precision, which is the same for all arms there.
    assert UCBE().index(tally, **at, a=3.0) == pytest.approx(ucbe + eps, abs=1e-10)
    assert SLR().index(tally, **at, width=1.0) == pytest.approx(slr, abs=1e-10)


@pytest.mark.parametrize(
    ("arms", "budget", "lengths"),
    [
        (10, 500, [17, 19, 21, 24, 28, 34, 42, 56, 84, 168]),
        (10, 100, [4, 4, 4, 5, 6, 7, 8, 11, 16, 31]),
        (3, 1000, [182, 272, 544]),
    ],
)
def test_phase_lengths_of_csar(arms, budget, lengths):
    assert [phase_length(k, arms, budget) for k in range(1, arms + 1)] == lengths


def test_csar_leaves_seven_of_500_pulls_or_spends_them_on_the_last_arm():
    left, spent = (
        play(three_groups(), rule, budget=500, seed=2) for rule in (CSAR(), CSAR(spend=1))
    )
    assert sorted(left.tallies.pulls.tolist()) == [17, 19, 21, 24, 28, 34, 42, 56, 84, 168]
    assert spent.arms[:493] == left.arms
    assert set(spent.arms[493:]) == {left.arms[-1]}
    assert len(spent.arms) == 500


def test_csar_closes_the_arm_furthest_from_its_threshold():
    clear = Bandit(Gaussian([0.0, 10.0, 3.0, 1.0], sd=0.0), threshold=[0.5, 0.5, 0.5, 0.9])
    pulls = play(clear, CSAR(), budget=100, seed=1).tallies.pulls
    assert np.argsort(pulls).tolist() == [1, 2, 0, 3]  # distances 9.5, 2.5, 0.5, 0.1


def test_ucbe_rates_of_the_paper():
    # (T - K)/H at T = 500: 3.3819 in Experiment 1.
    problem, means = three_groups().problem, three_groups().means
    assert UCBE(1).settings(problem, 500, means)["a"] == pytest.approx(3.3819, abs=5e-5)
    assert UCBE(256).settings(problem, 500, means)["a"] == pytest.approx(256 * 3.3819, abs=0.02)
    assert UCBE(1, complexity=49.0).settings(problem, 500, None)["a"] == 10.0
    assert UCBE(1).settings(problem, 5, means)["a"] == 0.0
    with pytest.raises(ValueError, match="must know the complexity"):
        UCBE(1).settings(problem, 500, None)


def test_which_rules_need_the_horizon():
    assert [rule.anytime for rule in (APT(), Uniform(), RoundRobin(), SLRD())] == [True] * 4
    assert [rule.anytime for rule in (UCBE(), CSAR())] == [False] * 2


def test_mirrored_arms_tie_exactly():
    for n in range(1, 200):
        for s in range(n + 1):
            one = APT().index(Tally(n, float(s)), threshold=0.5, precision=0.1)
            other = APT().index(Tally(n, float(n - s)), threshold=0.5, precision=0.1)
            assert one == other
    # The textbook form does not keep them: it is why the formula is written as it is.
    naive = [math.sqrt(n) * (abs(s / n - 0.5) + 0.1) != math.sqrt(n) * (abs(1 - s / n - 0.5) + 0.1)
             for n in range(1, 50) for s in range(n)]  # fmt: skip
    assert any(naive)


def same_pulls(one, other, rule):
    for game in range(20):
        pulls = [play(b, rule, budget=300, seed=5, game=game).arms for b in (one, other)]
        assert pulls[0] == pulls[1]


@pytest.mark.parametrize("rule", [APT(), CSAR()], ids=str)
def test_scaling_by_a_power_of_two_changes_no_choice(rule):
    means = np.array([0.125, 0.5, 0.75, 1.0])
    one = Bandit(Gaussian(means, sd=0.5), threshold=0.625, precision=0.0625)
    for scale in (2.0**-20, 8.0, 2.0**30):
        scaled = Gaussian(means * scale, sd=0.5 * scale)
        other = Bandit(scaled, threshold=0.625 * scale, precision=0.0625 * scale)
        same_pulls(one, other, rule)


@pytest.mark.parametrize("rule", [APT(), UCBE(1), CSAR()], ids=str)
def test_shifting_far_away_changes_no_choice(rule):
    means = np.array([0.125, 0.5, 0.75, 1.0])  # exact even beside 10**9
    one = Bandit(Gaussian(means, sd=0.5), threshold=0.625, precision=0.0625)
    other = Bandit(Gaussian(means + 1e9, sd=0.5), threshold=0.625 + 1e9, precision=0.0625)
    same_pulls(one, other, rule)


def test_thresholds_of_their_own_equal_the_problem_shifted_to_one():
    means = np.array([0.125, 0.5, 0.75, 1.0])
    bars = np.array([0.25, 0.25, 1.0, 0.5])
    one = Bandit(Gaussian(means, sd=0.5), threshold=bars, precision=0.0625)
    other = Bandit(Gaussian(means - bars, sd=0.5), threshold=0.0, precision=0.0625)
    for rule in (APT(), UCBE(1), CSAR()):
        same_pulls(one, other, rule)


def test_precision_of_the_index_can_differ_from_that_of_the_loss():
    bandit = three_groups()
    default = play(bandit, APT(), budget=200, seed=1).arms
    assert play(bandit, APT(precision=0.1), budget=200, seed=1).arms == default
    wide = play(bandit, APT(precision=1e6), budget=200, seed=1).tallies.pulls
    assert wide.tolist() == [20] * 10  # a huge precision is round robin
    other = Bandit(Bernoulli(bandit.means), threshold=0.5, precision=0.3)
    assert play(other, APT(precision=0.1), budget=200, seed=1).arms == default


def test_every_rule_answers_at_any_moment():
    bandit = three_groups()
    for rule in ALL:
        for budget in (1, 7, 60):
            tallies = play(bandit, rule, budget=budget, seed=1).tallies
            answer = rule.answer(bandit.problem, tallies)
            for side, tally in zip(answer, (tallies[i] for i in range(10)), strict=True):
                assert side == (None if tally.pulls == 0 else tally.mean >= 0.5)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("apt", APT()),
        (" apt:precision=0.05", APT(precision=0.05)),
        ("ucbe:0.25", UCBE(0.25)),
        ("ucbe:c=4", UCBE(4)),
        ("ucbe:4:100", UCBE(4, complexity=100)),
        ("csar:spend=1", CSAR(spend=1)),
    ],
)
def test_rules_by_name(text, rule):
    assert parse_rule(text) == rule
    assert parse_rule(rule.spec) == rule


@pytest.mark.parametrize("rule", ALL, ids=str)
def test_specs_lead_back(rule):
    assert parse_rule(rule.spec) == rule


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("best", "unknown rule 'best': one of auto, apt"),
        ("apt:0.5", "no setting of that rule"),
        ("ucbe:x", "'x' in 'ucbe:x' is not a number"),
        ("ucbe:d=1", "no setting of that rule, which has: c, complexity, precision"),
        ("./nowhere.py:Mine", "no file ./nowhere.py"),
        ("./nowhere.py", "say which class"),
    ],
)
def test_bad_names_get_a_clear_error(text, words):
    with pytest.raises(ValueError, match=words):
        parse_rule(text)


def test_apt_pulls_the_arm_nearest_the_threshold():
    index = APT().index
    problem = {"threshold": 0.5, "precision": 0.1}
    values = [index(Tally(4, 0.0), **problem), index(Tally(4, 2.0), **problem),
              index(Tally(9, 9.0), **problem)]  # fmt: skip
    assert values == pytest.approx([2 * 0.6, 2 * 0.1, 3 * 0.6])


def test_an_oracle_rule_uses_the_precision_it_is_given():
    problem = Problem(arms=2, threshold=0.5, precision=0.1, rewards="binary")
    a = UCBE(1, precision=0.0).settings(problem, 102, [0.25, 0.75])["a"]
    assert a == pytest.approx(100 / 32)
