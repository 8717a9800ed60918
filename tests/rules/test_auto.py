"""The default rule: its values, which rule it is on a problem, and that it errs less than APT."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import rel_entr
from scipy.stats import t as student

from cutline import (
    APT,
    Auto,
    Bandit,
    Bernoulli,
    ClippedAPT,
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
)
from cutline.rules.auto import (
    AutoAtEnds,
    BoundedAuto,
    ExponentialAuto,
    GaussianAuto,
    PoissonAuto,
    StudentAuto,
    two_point_ratio,
)
from cutline.rules.slr import PROVEN
from cutline.simulation.arms import FAMILIES
from cutline.testing import check_rule

RARE = [0.001, 0.005, 0.01, 0.015, 0.04, 0.06, 0.085, 0.09, 0.095, 0.099]


def coin_kl(p, q):
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


@pytest.mark.parametrize(
    ("n", "s", "tau", "eps"),
    [
        (4, 2, 0.5, 0.1),
        (20, 13, 0.5, 0.1),
        (20, 0, 0.05, 0.02),
        (50, 48, 0.9, 0.02),
        (1, 1, 0.3, 0),
    ],
)
def test_coins_by_hand(n, s, tau, eps):
    far = tau - eps if s / n >= tau else tau + eps
    wanted = (n + 1) * coin_kl((s + tau) / (n + 1), far) + math.log(n) / 2
    at = {"threshold": tau, "precision": eps, "width": 1.0}
    assert Auto().index(Tally(n, float(s)), **at) == pytest.approx(wanted, abs=1e-12)
    # in other units
    at = {"threshold": 7 * tau, "precision": 7 * eps, "width": 7.0}
    assert Auto().index(Tally(n, 7.0 * s), **at) == pytest.approx(wanted, abs=1e-12)


def test_counts_and_waiting_times_by_hand():
    for n, s, tau, eps in [(5, 9.0, 1.0, 0.2), (12, 3.0, 0.5, 0.1), (3, 0.0, 1.0, 0.0)]:
        far = tau - eps if s / n >= tau else tau + eps
        m, mean = n + 1, (s + tau) / (n + 1)
        at = {"threshold": tau, "precision": eps}
        counts = m * (mean * math.log(mean / far) + far - mean) + math.log(n) / 2
        assert PoissonAuto().index(Tally(n, s), **at) == pytest.approx(counts, abs=1e-12)
        waits = m * (mean / far - 1 - math.log(mean / far)) + math.log(n) / 2
        assert ExponentialAuto().index(Tally(n, s), **at) == pytest.approx(waits, abs=1e-12)


def test_normal_rewards_by_hand_and_student_is_about_the_p_value():
    samples = np.array([1.3, 0.2, 2.2, 0.9])
    with_one = np.append(samples, 0.5)  # the made-up reward
    n, mean, around = 4, with_one.mean(), ((with_one - with_one.mean()) ** 2).sum()
    tally = Tally(4, float(samples.sum()), float((samples**2).sum()))
    at = {"threshold": 0.5, "precision": 0.1}
    gap = abs(mean - 0.5) + 0.1
    known = (n + 1) * gap**2 / (2 * 0.8**2) + math.log(n) / 2
    assert GaussianAuto().index(tally, **at, rate=0.5 / 0.8**2) == pytest.approx(known)
    unknown = (n - 1) / 2 * math.log(1 + (n + 1) * gap**2 / around) + math.log(n) / 2
    assert StudentAuto().index(tally, **at) == pytest.approx(unknown)
    # Without the made-up reward, (1 + t^2/v)^(-v/2) is the size of Student's tail.
    for v in (1, 2, 5, 40):
        tails = student.sf([30.0, 60.0], v)
        steps = [v / 2 * math.log(1 + x**2 / v) for x in (30.0, 60.0)]
        assert math.log(tails[0] / tails[1]) == pytest.approx(steps[1] - steps[0], rel=0.02)


def test_no_law_with_the_same_mean_and_variance_is_harder_than_the_two_point_law():
    # What a gambler against a mean of q can win on average, per reward, from the best constant bet.
    def growth(values, chances, q):
        def lost(bet):
            return -np.dot(chances, np.log1p(bet * (values - q)))

        return -minimize_scalar(lost, bounds=(0.0, 1 / q - 1e-9), method="bounded").fun

    rng = np.random.default_rng(3)
    for _ in range(200):
        values, chances = rng.random(4), rng.dirichlet(np.ones(4))
        mean, square = chances @ values, chances @ values**2
        q = mean * rng.uniform(0.2, 0.95)
        least = two_point_ratio(1.0, mean, square, q)
        assert least <= growth(values, chances, q) + 1e-6
        top = square / mean
        two = growth(np.array([0.0, top]), np.array([1 - mean / top, mean / top]), q)
        assert least == pytest.approx(two, abs=1e-5)


KINDS = {
    "binary": (Bernoulli([0.2, 0.9]), None, Auto),
    "bounded": (Bernoulli([0.2, 0.9]), Rewards("bounded"), BoundedAuto),
    "gaussian": (Gaussian([0.2, 0.9]), None, StudentAuto),
    "noise": (Gaussian([0.2, 0.9]), Rewards("gaussian", sd=1.0), GaussianAuto),
    "poisson": (Poisson([0.2, 0.9]), None, PoissonAuto),
    "exponential": (Exponential([0.2, 0.9]), None, ExponentialAuto),
    "heavy": (Pareto([0.2, 0.9]), None, ClippedAPT),
}


@pytest.mark.parametrize("kind", KINDS)
def test_which_rule_it_is_and_that_it_needs_no_horizon_and_has_nothing_to_set(kind):
    arms, rewards, wanted = KINDS[kind]
    bandit = Bandit(arms, threshold=0.5, precision=0.1, rewards=rewards)
    rule = Auto().on(bandit.problem)
    assert type(rule) is wanted
    assert rule.anytime
    assert Auto(precision=0.05).on(bandit.problem).precision == 0.05
    assert play(bandit, Auto(), budget=30).arms == play(bandit, wanted(), budget=30).arms
    assert parse_rule("auto") == Auto()


LINE = [-3.0, -1.0, -0.2, 0.1, 0.6, 2.0]
SIZES = [0.2, 0.7, 0.9, 1.1, 1.4, 3.0]
CHECKED = {
    "bounded": Bandit(
        FAMILIES["beta"].from_means([0.1, 0.4, 0.5, 0.8], 0.2), threshold=0.5, precision=0.1
    ),
    "noise": Bandit(
        Gaussian(LINE, sd=[1, 2, 0.5, 1, 1, 3]),
        threshold=0.0,
        precision=0.1,
        rewards=Rewards("gaussian", sd=[1, 2, 0.5, 1, 1, 3]),
    ),
    "student": Bandit(Gaussian(LINE, sd=0.7), threshold=0.0, precision=0.1),
    "poisson": Bandit(Poisson(SIZES), threshold=1.0),
    "exponential": Bandit(Exponential(SIZES), threshold=1.0),
}


def test_what_is_true_of_every_rule_on_coins():
    check_rule(Auto())


@pytest.mark.parametrize("name", CHECKED)
def test_compiled_it_plays_as_in_plain_python(name):
    from cutline.simulation.engine import Player

    bandit = CHECKED[name]
    plain = play(bandit, Auto(), budget=120, seed=7, game=3).arms
    assert Player(Auto(), bandit).picks(7, 3, 120) == plain


def test_edges_outside_the_range_and_rewards_that_do_not_vary():
    at = {"threshold": 0.05, "precision": 0.1, "width": 1.0}
    assert AutoAtEnds().index(Tally(3, 3.0), **at) >= PROVEN  # nothing lies below -0.05
    assert AutoAtEnds().index(Tally(3, 0.0), **at) < PROVEN
    assert BoundedAuto().index(Tally(3, 3.0, 3.0), **at) >= PROVEN
    assert BoundedAuto().index(Tally(3, 0.0, 0.0), **at) < PROVEN
    same = {"threshold": 0.0, "precision": 0.0}
    assert StudentAuto().index(Tally(4, 0.0, 0.0), **same) == pytest.approx(math.log(2))
    assert math.isfinite(StudentAuto().index(Tally(4, 4.0, 4.0), **same))
    with pytest.raises(ValueError, match="needs the noise"):
        GaussianAuto().check(Problem(arms=2, threshold=0.0, rewards="gaussian"))


# Against APT: the margins are far outside chance. Rates of APT as measured.


def ratio(bandit, budget, games=3_000):
    apt, auto = simulate(bandit, [APT(), Auto()], budget=[budget], games=games, seed=9).wrong_games
    return (auto[-1] + 0.5) / (apt[-1] + 0.5)


def test_it_errs_far_less_than_apt_where_thresholds_are_near_0_or_1():
    rare = Bandit(Bernoulli(RARE), threshold=0.05)
    assert ratio(rare, 7_000) < 0.2  # APT errs in 12 %
    mirrored = Bandit(Bernoulli([1 - p for p in RARE]), threshold=0.95)
    assert ratio(mirrored, 7_000) < 0.2


def test_an_arm_is_not_given_up_after_one_extreme_reward():
    # One 1 in the first pull of a rare arm: APT's index is .95 then, and it is hardly seen again.
    rare = Bandit(Bernoulli(RARE), threshold=0.05)
    below = slice(0, 5)
    least = [
        min(
            play(rare, rule, budget=7_000, seed=4, game=g).tallies.pulls[below].min()
            for g in range(6)
        )
        for rule in (APT(), Auto())
    ]
    assert least[0] <= 3
    assert least[1] >= 20


def test_it_is_no_worse_in_the_middle_and_uses_what_it_knows_of_the_noise():
    middle = Bandit(Bernoulli([0.2, 0.35, 0.45, 0.55, 0.65, 0.8]), threshold=0.5, precision=0.1)
    assert ratio(middle, 200) < 1.1
    sds = [3, 1, 0.1, 1, 0.2, 0.1, 2, 5]
    arms = Gaussian([-1, -0.5, -0.2, -0.1, 0.1, 0.3, 0.7, 2], sd=sds)
    unequal = Bandit(arms, threshold=0.0)
    assert ratio(unequal, 1_500) < 0.1  # APT errs in 49 %
    known = Bandit(arms, threshold=0.0, rewards=Rewards("gaussian", sd=sds))
    assert ratio(known, 1_500) < 0.1
