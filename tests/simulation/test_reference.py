"""The plain reference against games written out by hand, from the textbook and the draws alone."""

import math

import pytest

from cutline import APT, CSAR, UCBE, Bandit, Bernoulli, Gaussian, Policy, Recorded, Rewards, play
from cutline.core.chance import REWARD, TIE, chance, uniform
from cutline.testing import check_rule

SEED, BUDGET = 6, 120
COINS = Bandit(Bernoulli([0.2, 0.45, 0.5, 0.7, 0.9]), threshold=0.5, precision=0.1)
NORMAL = Bandit(
    Gaussian([0.2, 1.0, 2.0], sd=[0.5, 1.0, 2.0]),
    threshold=[0.0, 1.5, 2.0],
    precision=[0.1, 0, 0.2],
)


class ByHand:
    """One game with lists of rewards: nothing here comes from the simulator."""

    def __init__(self, bandit, game):
        self.bandit, self.game = bandit, game
        self.seen = [[] for _ in bandit.means]
        self.tau, self.eps = bandit.problem.threshold, bandit.problem.precision
        keys = [uniform(chance(SEED, 0, game, arm, 0, TIE), 0) for arm in range(len(self.seen))]
        self.order = sorted(range(len(keys)), key=keys.__getitem__)

    def pull(self, arm):
        u = uniform(chance(SEED, 0, self.game, arm, len(self.seen[arm]), REWARD), 0)
        arms = self.bandit.arms
        if isinstance(arms, Bernoulli):
            self.seen[arm].append(1.0 if u > 1 - arms.means[arm] else 0.0)
        else:
            self.seen[arm].append(Gaussian.quantile(u, arms.means[arm], arms.sd[arm]))

    def gap(self, arm):
        return abs(sum(self.seen[arm]) / len(self.seen[arm]) - self.tau[arm])

    def lowest(self, index):
        # Up to rounding, as the reference's sums are not made in the same way.
        values = [round(index(arm), 9) for arm in self.order]
        return self.order[values.index(min(values))]


def apt(hand):
    return lambda arm: math.sqrt(len(hand.seen[arm])) * (hand.gap(arm) + hand.eps[arm])


def ucbe(hand):
    gaps = [abs(m - t) + e for m, t, e in zip(hand.bandit.means, hand.tau, hand.eps, strict=True)]
    a = (BUDGET - len(gaps)) / sum(gap**-2 for gap in gaps)
    return lambda arm: hand.gap(arm) + hand.eps[arm] - math.sqrt(a / len(hand.seen[arm]))


@pytest.mark.parametrize("bandit", [COINS, NORMAL], ids=["coins", "normal"])
@pytest.mark.parametrize(("rule", "index"), [(APT(), apt), (UCBE(1), ucbe)], ids=["apt", "ucbe"])
def test_index_rules_by_hand(bandit, rule, index):
    for game in range(10):
        hand = ByHand(bandit, game)
        pulled = list(hand.order)
        for arm in pulled:
            hand.pull(arm)
        while len(pulled) < BUDGET:
            pulled.append(hand.lowest(index(hand)))
            hand.pull(pulled[-1])
        assert play(bandit, rule, budget=BUDGET, seed=SEED, game=game).arms == pulled


@pytest.mark.parametrize("bandit", [COINS, NORMAL], ids=["coins", "normal"])
def test_csar_by_hand(bandit):
    arms = len(bandit.means)
    for game in range(10):
        hand = ByHand(bandit, game)
        left, pulls = list(hand.order), {}
        for phase in range(1, arms + 1):
            share = sum(1 / i for i in range(1, arms + 1)) * (arms + 1 - phase)
            for arm in left:
                while len(hand.seen[arm]) < math.ceil((BUDGET - arms) / share):
                    hand.pull(arm)
            distances = [round(hand.gap(arm), 9) for arm in left]
            closed = left.pop(distances.index(max(distances)))
            pulls[closed] = len(hand.seen[closed])
        game = play(bandit, CSAR(), budget=BUDGET, seed=SEED, game=game)
        assert dict(enumerate(game.tallies.pulls.tolist())) == pulls
        for arm, tally in enumerate(game.tallies[i] for i in range(arms)):
            assert tally.mean == pytest.approx(sum(hand.seen[arm]) / len(hand.seen[arm]))


class Stuck(Policy):
    """A rule that does what no rule may: it depends on how its arms are numbered."""

    @staticmethod
    def choose(step, arms):
        return arms if step == 7 else step % arms


class Forgetful(APT):
    """An index rule whose index depends on more than what was seen of the arm."""

    def start(self, problem, means):
        import numpy as np

        return np.arange(len(problem.arms), dtype=float)[None, :]

    keeps = ("number",)

    @staticmethod
    def learn(number):
        return number

    @staticmethod
    def formula(pulls, number):
        return pulls * (1.0 + number)


def test_check_rule_finds_rules_that_break_the_rules():
    with pytest.raises(ValueError, match="place of an arm"):
        check_rule(Stuck())
    with pytest.raises(AssertionError, match="depends on the numbering"):
        check_rule(Forgetful())


def test_an_index_that_is_no_number_is_never_lowest():
    class Holes(APT):
        @staticmethod
        def formula(pulls, total):
            return pulls if total / pulls < 0.99 else (total - total) / (total - total)

    values = Recorded.from_samples([[1.0], [0.0], [0.5]], Rewards("bounded"))
    bandit = Bandit(values, threshold=0.4)
    from cutline.simulation.engine import Player

    for way in ("scan", "tree", "policy"):
        assert Player(Holes(), bandit, way=way).picks(1, 0, 30).count(0) == 1
