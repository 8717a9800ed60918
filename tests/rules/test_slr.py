"""Likelihood-ratio rules: known values, their divergences, edges, and what they are equal to."""

import math

import numpy as np
import pytest

from cutline import (
    APT,
    SLR,
    SLRD,
    SLRV,
    Bandit,
    Bernoulli,
    Beta,
    Exponential,
    Gaussian,
    Pareto,
    Poisson,
    Problem,
    Recorded,
    Rewards,
    Tally,
    parse_rule,
    play,
    simulate,
)
from cutline.core.divergence import exponential_kl, poisson_kl
from cutline.core.special import bernoulli_kl
from cutline.rules.slr import PROVEN, ExponentialSLR, GaussianSLR, PoissonSLR
from cutline.simulation.engine import Player
from cutline.testing import check_rule

WAYS = ["policy", "scan", "tree"]


def coin(n, total, tau, eps, width=1.0):
    return SLR().index(Tally(n, total), threshold=tau, precision=eps, width=width)


def far_edge(mean, tau, eps):
    return tau - eps if mean >= tau else tau + eps


# n, S, tau, eps, n kl(mean, far edge), found in double precision and with 25 digits.
KNOWN = [
    (4, 2.0, 0.5, 0.1, 0.0816439890),
    (20, 13.0, 0.5, 0.1, 2.5386261000),
    (20, 0.0, 0.05, 0.02, 1.4514138567),
    (50, 48.0, 0.9, 0.02, 1.9793215182),
]


@pytest.mark.parametrize(("n", "s", "tau", "eps", "index"), KNOWN)
def test_known_indices(n, s, tau, eps, index):
    assert coin(n, s, tau, eps) == pytest.approx(index, abs=1e-10)
    # Beneath its floor, sqrt(t) - K/2, SLR-D is something else; above it, the same.
    ratio = SLRD.learn(min(s, 1.0), n - 1.0, s - min(s, 1.0), tau, eps, 1.0)  # the last pull
    assert ratio == coin(n, s, tau, eps)
    assert SLRD.formula(n, ratio, arms=10, step=0) == ratio
    assert SLRD.formula(n, ratio, arms=10, step=(n + 5) ** 2) == ratio
    assert SLRD.formula(n, ratio, arms=10, step=(n + 6) ** 2) == -1.0


@pytest.mark.parametrize("eps", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("tau", [0.01, 0.1, 0.5, 0.9, 0.999])
def test_coins_have_the_divergence_of_coins(tau, eps):
    for n in (1, 2, 7, 100, 10_000):
        for share in np.linspace(0, 1, 21):
            s = round(share * n)
            edge = far_edge(s / n, tau, eps)
            if not 0 < edge < 1:
                assert coin(n, float(s), tau, eps) >= PROVEN
                continue
            wanted = n * bernoulli_kl(s / n, edge)
            # The logarithms cancel where the mean is near the edge: to some 1e-15 a pull.
            assert coin(n, float(s), tau, eps) == pytest.approx(wanted, rel=1e-13, abs=4e-15 * n)


@pytest.mark.parametrize("eps", [0.0, 0.25, 1.5])
@pytest.mark.parametrize("tau", [0.01, 1.0, 7.5, 2000.0])
@pytest.mark.parametrize(
    ("rule", "divergence"), [(PoissonSLR(), poisson_kl), (ExponentialSLR(), exponential_kl)]
)
def test_counts_and_waiting_times_have_theirs(rule, divergence, tau, eps):
    for n in (1, 3, 50, 4000):
        for mean in tau * np.array([1e-3, 0.3, 0.9, 1 - 1e-9, 1.0, 1.1, 5.0, 1e3]):
            total = float(round(n * mean)) if rule == PoissonSLR() else float(n * mean)
            edge = far_edge(total / n, tau, eps)
            found = rule.index(Tally(n, total), threshold=tau, precision=eps)
            if edge <= 0:
                assert found >= PROVEN
                continue
            # no event at all: only counts can have that here
            wanted = n * divergence(total / n, edge) if total > 0 else n * edge
            slack = 4e-15 * n * max(1.0, edge, total / n)
            assert found == pytest.approx(wanted, rel=1e-12, abs=slack)


def test_gaussian_rewards_by_hand():
    rule = GaussianSLR()
    # 9 (0.5 + 0.25)^2 / 2, in units of the variance, on either side
    for total in (9 * 1.5, 9 * 0.5):
        assert rule.index(Tally(9, total), threshold=1.0, precision=0.25) == 9 * 0.75**2 / 2


def test_at_the_ends_of_the_range():
    # Ten zeros against 0.3 + 0.1: (1 - 0.4)^10. Ten ones against 0.3 - 0.1: 0.2^10.
    assert coin(10, 0.0, 0.3, 0.1) == pytest.approx(-10 * math.log(0.6), rel=1e-14)
    assert coin(10, 10.0, 0.3, 0.1) == pytest.approx(-10 * math.log(0.2), rel=1e-14)
    # No event in ten stretches where 3 would be at the edge: e^-30.
    assert PoissonSLR().index(Tally(10, 0.0), threshold=2.5, precision=0.5) == 30.0
    # Waiting times of exactly 0 have no likelihood under any mean; the index stays a number.
    zero = ExponentialSLR().index(Tally(10, 0.0), threshold=2.5, precision=0.5)
    least = ExponentialSLR().index(Tally(10, 1e-9), threshold=2.5, precision=0.5)
    assert least < zero < math.inf
    # Rounding may put a sum a little outside of the range.
    assert coin(10, 10 + 1e-14, 0.3, 0.1) == pytest.approx(coin(10, 10.0, 0.3, 0.1), rel=1e-12)
    assert coin(10, -1e-14, 0.3, 0.1) == pytest.approx(coin(10, 0.0, 0.3, 0.1), rel=1e-12)


@pytest.mark.parametrize(
    ("rule", "total", "tau", "eps"),
    [
        (SLR(), 3.0, 0.05, 0.05),  # above; the far edge is at 0
        (SLR(), 3.0, 0.05, 0.1),  # and below 0
        (SLR(), 3.0, 0.95, 0.05),  # below; the far edge is at 1
        (SLR(), 3.0, 0.95, 0.1),
        (SLR(), 3.0, 1.5, 0.0),  # no arm can reach the threshold
        (SLR(), 3.0, -0.5, 0.0),
        (PoissonSLR(), 3.0, 0.1, 0.1),
        (PoissonSLR(), 3.0, 0.1, 0.5),
        (ExponentialSLR(), 3.0, 0.1, 0.1),
        (ExponentialSLR(), 3.0, 0.1, 0.5),
    ],
)
def test_an_arm_that_cannot_be_on_the_wrong_side_comes_last(rule, total, tau, eps):
    known = {"width": 1.0} if rule == SLR() else {}
    found = rule.index(Tally(10, total), threshold=tau, precision=eps, **known)
    assert PROVEN <= found < math.inf
    # The other edge is inside, or the threshold itself is outside: then it holds on both sides.
    if rule == SLR() and 0 < tau < 1:
        other = coin(10, 0.0 if tau < 0.5 else 10.0, tau, eps)
        assert 0 < other < PROVEN


def test_no_index_is_ever_not_a_number():
    numbers = [0.0, 1e-300, 1e-18, 0.01, 0.3, 0.5, 0.97, 1.0, 1.5, 40.0]
    for rule in (SLR(), PoissonSLR(), ExponentialSLR(), GaussianSLR(), SLRV()):
        known = {"width": 1.0} if rule == SLR() else {}
        for n in (1, 2, 1000):
            for mean in [x for x in numbers if x <= 1 or rule != SLR()]:
                for tau in [*numbers, -0.5]:
                    for eps in numbers:
                        tally = Tally(n, n * mean, n * mean * mean)
                        index = rule.index(tally, threshold=tau, precision=eps, **known)
                        assert index >= 0, (rule, tally, tau, eps)


@pytest.mark.parametrize(
    "bandit",
    [
        Bandit(Bernoulli([0.0, 0.02, 0.3, 1.0]), threshold=0.05, precision=0.05),
        Bandit(Bernoulli([0.0, 0.7, 0.98, 1.0]), threshold=0.95, precision=0.05),
        Bandit(Poisson([0.0, 0.05, 0.3]), threshold=0.1, precision=0.1),
        Bandit(Exponential([0.05, 0.3]), threshold=0.1, precision=0.1),
    ],
    ids=["low", "high", "counts", "waits"],
)
def test_games_go_on_where_an_edge_is_the_end_of_the_range_or_past_it(bandit):
    for rule in (SLR(), SLR(precision=0.2)):
        game = play(bandit, rule, budget=60, seed=1)
        assert len(game.arms) == 60
        for way in WAYS:
            assert Player(rule, bandit, way=way).picks(1, 0, 60) == game.arms


def test_where_only_one_answer_can_be_wrong_no_more_pulls_are_spent_on_the_other():
    # Whatever is found above 0.05 is right, as no mean is below 0: one success settles an arm.
    bandit = Bandit(Bernoulli([1.0, 0.0]), threshold=0.05, precision=0.05)
    assert play(bandit, SLR(), budget=50, seed=1).tallies.pulls.tolist() == [1, 49]


@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (0.0, 2.0**-10), (-64.0, -32.0)])
@pytest.mark.parametrize("rule", [SLR(), SLRD()], ids=str)
def test_another_range_is_the_rescaled_problem(rule, low, high):
    a, b = [1.0, 2.0, 2.0, 0.5], [2.0, 2.5, 1.0, 0.5]
    width = high - low
    unit = Bandit(Beta(a, b), threshold=0.5, precision=0.125)
    stretched = Beta(a, b, low, high)
    other = Bandit(stretched, threshold=low + 0.5 * width, precision=0.125 * width)
    for game in range(10):
        games = [play(bandit, rule, budget=200, seed=3, game=game) for bandit in (unit, other)]
        assert games[0].arms == games[1].arms
    assert len({*games[0].tallies.pulls.tolist()}) > 1  # it did look at the rewards


def test_two_values_of_a_range_are_a_coin():
    shares = [0.1, 0.3, 0.55, 0.9]
    coins = Recorded.from_counts([{0: 100 - 100 * p, 1: 100 * p} for p in shares], "binary")
    ends = [{-1: 100 - 100 * p, 6: 100 * p} for p in shares]
    stakes = Recorded.from_counts(ends, Rewards("bounded", -1, 6))
    one = Bandit(coins, threshold=0.4, precision=0.1)
    other = Bandit(stakes, threshold=-1 + 7 * 0.4, precision=0.7)
    for game in range(10):
        found, wanted = (play(b, SLR(), budget=150, seed=2, game=game).arms for b in (other, one))
        assert found == wanted


@pytest.mark.parametrize("way", WAYS)
def test_on_gaussian_arms_it_is_apt(way):
    arms = Gaussian([0.1, 0.4, 0.52, 0.9, 2.0], sd=[0.5, 1.0, 0.2, 0.5, 3.0])
    bandit = Bandit(arms, threshold=[0.5, 0.3, 0.5, 1.0, 0.5], precision=[0, 0.1, 0.05, 0.2, 0.1])
    apt, slr = (Player(rule, bandit, way=way) for rule in (APT(), SLR()))
    for game in range(20):
        picks = slr.picks(4, game, 400)
        assert picks == apt.picks(4, game, 400)
    assert len(set(np.bincount(picks).tolist())) > 2  # not round robin


def test_on_gaussian_arms_the_answers_are_apts_too():
    bandit = Bandit(Gaussian([0.3, 0.45, 0.6, 0.8]), threshold=0.5, precision=0.05)
    found = simulate(bandit, [APT(), SLR(), SLR(precision=0.3)], budget=[40, 200], games=300)
    assert found.wrong_games[0].tolist() == found.wrong_games[1].tolist()
    assert found.wrong_games[0].tolist() != found.wrong_games[2].tolist()


def around(xs, centre):
    return sum((x - centre) ** 2 for x in xs)


def test_unknown_variances_by_their_definition():
    rng = np.random.default_rng(5)
    for n in (2, 3, 10, 200):
        for mean in (-1.0, 0.4, 0.5, 3.0):
            xs = rng.normal(mean, rng.uniform(0.1, 3), size=n).tolist()
            tally = Tally(origin=0.5)
            for x in xs:
                tally = tally.add(x)
            for eps in (0.0, 0.2):
                edge = far_edge(math.fsum(xs) / n, 0.5, eps)
                wanted = n / 2 * math.log(around(xs, edge) / around(xs, math.fsum(xs) / n))
                found = SLRV().index(tally, threshold=0.5, precision=eps)
                assert found == pytest.approx(wanted, rel=1e-9)


def test_unknown_variances_make_the_unit_of_an_arm_irrelevant():
    # Rewards less their threshold, in one arm in seconds and in the other in milliseconds.
    means, sds = np.array([0.375, -0.25, 1.0]), np.array([1.0, 0.5, 3.0])
    units = np.array([1.0, 1024.0, 2.0**-20])
    one = Bandit(Gaussian(means, sd=sds), threshold=0.0)
    other = Bandit(Gaussian(means * units, sd=sds * units), threshold=0.0)
    for game in range(10):
        games = [play(b, SLRV(), budget=200, seed=6, game=game) for b in (one, other)]
        assert games[0].arms == games[1].arms
    # To APT the unit is all.
    apt = [play(b, APT(), budget=200, seed=6).arms for b in (one, other)]
    assert apt[0] != apt[1]


def test_rewards_that_do_not_vary():
    tally = Tally(pulls=4, total=2.0, squares=1.0)  # four times 0.5
    # They count as varying by a millionth of the gap: 4/2 ln(1 + 10^12).
    found = SLRV().index(tally, threshold=0.25)
    assert found == pytest.approx(2 * math.log1p(1e12), rel=1e-12)
    assert SLRV().index(tally, threshold=0.5) == 0.0  # at the threshold: nothing is settled
    still = Bandit(Gaussian([0.1, 0.5, 0.9, 0.45], sd=0.0), threshold=0.5, precision=0.1)
    check_rule(SLRV(), still, budget=60)
    assert min(play(still, SLRV(), budget=60, seed=1).tallies.pulls) >= 2


def test_unequal_noise_is_where_the_variance_pays():
    # The noisy arms are as far from the threshold, in their own spread, as the quiet ones.
    noisy = Gaussian([0.4, 0.6, 0.48, 0.52, 0.49, 0.51], sd=[1.0, 1.0, 0.05, 0.05, 0.05, 0.05])
    bandit = Bandit(noisy, threshold=0.5)
    rules = [SLRV(), APT()]
    knowing, apt = simulate(bandit, rules, budget=[3000], games=1000, seed=1).error_rate
    assert knowing < apt / 2


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("binary", SLR()),
        ("bounded", SLR()),
        ("poisson", PoissonSLR()),
        ("exponential", ExponentialSLR()),
        ("gaussian", GaussianSLR()),
    ],
)
def test_the_rule_for_a_kind_of_reward(kind, rule):
    problem = Problem(arms=2, threshold=0.5, rewards=kind)
    assert SLR().on(problem) == rule
    assert type(SLR(precision=0.2).on(problem)) is type(rule)
    assert SLR(precision=0.2).on(problem).precision == 0.2


def test_heavy_tails_have_no_family():
    bandit = Bandit(Pareto([0.5, 2.0]), threshold=1.0)
    with pytest.raises(ValueError, match="heavy-tailed rewards have none: see apt-clipped"):
        simulate(bandit, [SLR()], budget=100, games=1)
    with pytest.raises(ValueError, match="heavy-tailed rewards have none"):
        play(bandit, SLR(), budget=100)
    with pytest.raises(ValueError, match="for rewards in a range, these are heavy"):
        play(bandit, SLRD(), budget=100)


COUNTS = Bandit(Poisson([0.3, 1.5, 2.0, 2.6, 9.0]), threshold=[2, 2, 2, 2, 8], precision=0.25)
WAITS = Bandit(Exponential([0.3, 1.5, 2.0, 2.6, 9.0]), threshold=[2, 2, 2, 2, 8], precision=0.25)
NORMAL = Bandit(Gaussian([0.1, 0.4, 0.6, 1.2], sd=[0.5, 1.0, 0.3, 2.0]), threshold=0.5)


@pytest.mark.parametrize(
    ("rule", "bandit"),
    [(SLR(), None), (SLR(precision=0.02), None), (SLR(), COUNTS), (SLR(), WAITS), (SLR(), NORMAL),
     (SLRV(), None), (SLRV(), NORMAL), (SLRD(), None)],
    ids=["coins", "own-precision", "counts", "waits", "normal", "v-coins", "v-normal", "d-coins"],
)  # fmt: skip
def test_what_is_true_of_every_rule(rule, bandit):
    check_rule(rule, bandit)


@pytest.mark.parametrize("name", ["slr-poisson", "slr-exponential", "slr-gaussian"])
def test_the_rule_of_a_family_refuses_others(name):
    with pytest.raises(ValueError, match=f"{name} is for .* rewards, these are binary"):
        play(Bandit(Bernoulli([0.2, 0.7]), threshold=0.5), parse_rule(name), budget=10)
