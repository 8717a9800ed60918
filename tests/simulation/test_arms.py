"""Every kind of arm against scipy, drawn the way games draw."""

import numpy as np
import pytest
from scipy import stats

from cutline import APT, Bandit, Bernoulli, Beta, Gaussian, Recorded, Rewards, RoundRobin, play
from cutline.core.chance import chance, uniform
from cutline.simulation.engine import Player, orders


def drawn(arms, pulls=4000, threshold=0.5):
    """The rewards of one game, by arm."""
    bandit = Bandit(arms, threshold=threshold)
    game = play(bandit, RoundRobin(), budget=pulls * len(arms), seed=11)
    by_arm = [[] for _ in range(len(arms))]
    for arm, reward in zip(game.arms, game.rewards, strict=True):
        by_arm[arm].append(reward)
    return [np.array(rewards) for rewards in by_arm]


def test_bernoulli_arms_follow_the_binomial():
    means = [0.0, 0.001, 0.05, 0.5, 0.97, 1.0]
    for mean, rewards in zip(means, drawn(Bernoulli(means)), strict=True):
        assert set(rewards) <= {0.0, 1.0}
        assert stats.binomtest(int(rewards.sum()), len(rewards), mean).pvalue > 1e-4
        assert mean not in (0.0, 1.0) or rewards.mean() == mean


def test_gaussian_arms_are_normal():
    arms = Gaussian([0.0, 1.0, -5.0], sd=[1.0, 0.1, 3.0])
    for mean, sd, rewards in zip(arms.means, arms.sd, drawn(arms), strict=True):
        assert stats.kstest(rewards, stats.norm(mean, sd).cdf).pvalue > 1e-4


def test_beta_arms_are_beta():
    shapes = [(0.05, 0.1), (0.5, 0.5), (1.0, 3.0), (20.0, 7.0), (300.0, 2.0)]
    arms = Beta([a for a, _ in shapes], [b for _, b in shapes])
    for (a, b), rewards in zip(shapes, drawn(arms), strict=True):
        assert stats.kstest(rewards, stats.beta(a, b).cdf).pvalue > 1e-4
    stretched = Beta([2.0], [3.0], low=-1.0, high=4.0)
    (rewards,) = drawn(stretched, threshold=1.5)
    assert stats.kstest(rewards, stats.beta(2, 3, loc=-1, scale=5).cdf).pvalue > 1e-4


def test_recorded_arms_draw_what_was_stored():
    counts = [{0: 5, 1: 15}, {0.25: 1, 0.5: 2, 1.0: 7}, {0.7: 1}]
    arms = Recorded.from_counts(counts, Rewards("bounded"))
    for stored, rewards in zip(counts, drawn(arms), strict=True):
        values = sorted(stored)
        seen = [np.count_nonzero(rewards == value) for value in values]
        assert sum(seen) == len(rewards)
        wanted = np.array([stored[v] for v in values]) / sum(stored.values()) * len(rewards)
        assert len(values) == 1 or stats.chisquare(seen, wanted).pvalue > 1e-4


def test_recorded_counts_of_binary_rewards_are_bernoulli_draw_for_draw():
    coins = Bandit(Bernoulli([0.25, 0.5, 0.875]), threshold=0.5)
    stored = Recorded.from_counts([{0: 6, 1: 2}, {0: 4, 1: 4}, {0: 1, 1: 7}], Rewards("binary"))
    one = play(coins, APT(precision=0.1), budget=200, seed=3)
    other = play(Bandit(stored, threshold=0.5), APT(precision=0.1), budget=200, seed=3)
    assert (one.arms, one.rewards) == (other.arms, other.rewards)


def test_rewards_rise_with_the_uniform():
    us = [uniform(chance(1, 0, 0, 0, p, 0), 0) for p in range(500)]
    table = Recorded.from_samples([[3.0, 1.0, 2.0, 2.0]], Rewards("gaussian")).table()
    for quantile in (
        lambda u: Bernoulli.quantile(u, 0.3),
        lambda u: Gaussian.quantile(u, 1.0, 2.0),
        lambda u: Recorded.quantile(u, 0.0, 3.0, 4.0, 0.0, table),
    ):
        rewards = [quantile(u) for u in sorted(us)]
        assert rewards == sorted(rewards)


@pytest.mark.parametrize(
    "arms",
    [
        Beta([0.3, 2.0, 5.0], [0.5, 2.0, 1.0]),
        Recorded.from_samples([[0.1, 0.9, 0.4], [0.6], [0.5, 0.5, 0.7]], Rewards("bounded")),
        Recorded.from_samples([[-10.0, 9.0], [600.0, 2.0], [1.0]], Rewards("heavy")),
    ],
    ids=["beta", "recorded", "recorded-heavy"],
)
def test_compiled_games_equal_the_plain_ones(arms):
    bandit = Bandit(arms, threshold=0.5, precision=0.05)
    player = Player(APT(), bandit)
    for game in range(5):
        assert player.picks(2, game, 100) == play(bandit, APT(), budget=100, seed=2, game=game).arms


def test_adding_an_arm_moves_no_other():
    few, more = orders(1, 0, 50, 5), orders(1, 0, 50, 6)
    for row, longer in zip(few.tolist(), more.tolist(), strict=True):
        assert [arm for arm in longer if arm != 5] == row
    two = drawn(Bernoulli([0.3, 0.6]), 50)
    three = drawn(Bernoulli([0.3, 0.6, 0.9]), 50)
    assert all((a == b).all() for a, b in zip(two, three[:2], strict=True))


def test_ties_fall_evenly():
    first = orders(3, 0, 6000, 6)[:, 0]
    assert stats.chisquare(np.bincount(first)).pvalue > 1e-4


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Bernoulli([0.5, 1.1]), "between 0 and 1, got 1.1"),
        (lambda: Bernoulli([]), "at least one arm"),
        (lambda: Bernoulli([float("nan")]), "finite"),
        (lambda: Gaussian([0.0], sd=-1), "0 or more"),
        (lambda: Gaussian([0.0, 1.0], sd=[1, 2, 3]), "2 arms and 3 numbers"),
        (lambda: Beta([1.0], [0.0]), "above 0"),
        (lambda: Beta([1.0], [1.0], low=1, high=0), "low below high"),
        (lambda: Beta.from_means([0.5], 0.6), "below sqrt"),
        (lambda: Beta.from_means([1.0], 0.1), "strictly between"),
        (lambda: Bernoulli.from_means([0.5], 0.1), "leave out sd"),
        (lambda: Recorded.from_samples([[0.5, 2.0]], Rewards("bounded")), "between 0 and 1"),
        (lambda: Recorded.from_samples([[]], Rewards("bounded")), "at least once"),
        (lambda: Recorded(((1.0, 0.0),), ((1, 1),), Rewards("binary")), "must rise"),
        (lambda: Bandit(Bernoulli([0.5]), threshold=0.5, names=["a", "b"]), "1 arms and 2 names"),
    ],
)
def test_bad_arms_get_a_clear_error(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_bandits_survive_a_file():
    for arms in (
        Bernoulli([0.1, 0.2]),
        Gaussian([0.0, 1.0], sd=[1.0, 2.0]),
        Beta([1.0, 2.0], [3.0, 4.0], low=-1, high=2),
        Recorded.from_counts([{0: 3, 1: 4}, {1: 2}], Rewards("binary")),
        Recorded.from_counts([{0.5: 3}, {1.5: 2}], Rewards("bounded", 0, 2)),
    ):
        bandit = Bandit(arms, threshold=[0.1, 0.2], precision=0.01, names=["x", "y"])
        assert Bandit.from_dict(bandit.to_dict()) == bandit
