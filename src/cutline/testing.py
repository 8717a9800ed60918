"""What is true of every rule, for testing a new one in three lines.

>>> from cutline import APT
>>> check_rule(APT())
"""

from collections.abc import Sequence
from itertools import count

from cutline.core.rewards import Rewards
from cutline.rules.base import IndexRule, Rule
from cutline.simulation.arms import Bernoulli, Recorded
from cutline.simulation.bandit import Bandit
from cutline.simulation.engine import Player
from cutline.simulation.reference import play, tie_order
from cutline.simulation.simulate import simulate

MEANS = [0.05, 0.3, 0.42, 0.5, 0.61, 0.8, 0.97]


def check_rule(
    rule: Rule,
    bandit: Bandit | None = None,
    *,
    budget: int = 150,
    ways: Sequence[str] = ("scan", "tree"),
) -> None:
    """Raise AssertionError where a rule does not behave as every rule must.

    * It asks for arms that exist, no more often than the budget allows, and for every arm first.
    * Compiled, in each way the simulator can play it, it makes the choices of the plain reference.
    * A game is the same alone and among others.
    * An index rule follows its arms when they are renumbered.

    The rule is tried on a small Bernoulli bandit unless another is given. ``ways`` are the loops
    that an index rule is played by: ``scan`` and ``tree`` with few and with many arms; ``policy``
    looks at every arm each time.
    """
    bandit = bandit or Bandit(Bernoulli(MEANS), threshold=0.5, precision=0.1)
    arms = len(bandit.problem.arms)
    played = rule.on(bandit.problem)
    if not isinstance(played, IndexRule) or played.clocked:
        ways = ("policy",)
    players = {way: Player(rule, bandit, way=way) for way in ways}
    for game in (0, 1, 63, 64, 2**40):
        plain = play(bandit, rule, budget=budget, seed=7, game=game).arms
        assert len(plain) <= budget, f"{rule} pulled {len(plain)} times with a budget of {budget}"
        assert set(plain) <= set(range(arms)), f"{rule} asked for an arm that does not exist"
        if isinstance(played, IndexRule):
            first = sorted(plain[: arms * played.first_pulls])
            wanted = sorted(list(range(arms)) * played.first_pulls)
            assert first == wanted, f"{rule} skipped an arm"
        for way, player in players.items():
            compiled = player.picks(7, game, budget)
            assert compiled == plain, f"{rule} plays game {game} differently when compiled ({way})"
    whole = simulate(bandit, [rule], budget=[budget], games=70, seed=7)
    alone = simulate(bandit, [rule], budget=[budget], games=1, seed=7, first_game=69)
    rest = simulate(bandit, [rule], budget=[budget], games=69, seed=7, chunk=8)
    both = rest.merge(alone)
    assert (both.pulls_sum == whole.pulls_sum).all(), f"{rule}: a game depends on its neighbours"
    assert (both.wrong_games == whole.wrong_games).all(), f"{rule}: a game depends on others"
    if isinstance(played, IndexRule):
        _check_renumbering(rule, budget)


def _check_renumbering(rule: Rule, budget: int) -> None:
    """Rewards without noise: the arms' means alone decide, whatever their numbers."""
    means = MEANS[::2]
    last = len(means) - 1
    order = tie_order(3, 0, len(means))
    # a game in which ties fall alike when the arms are numbered backwards
    mirror = next(g for g in count() if [last - i for i in tie_order(3, g, len(means))] == order)

    def pulls(means: list[float], game: int) -> dict[float, int]:
        arms = Recorded.from_samples([[mean] for mean in means], Rewards("bounded"))
        bandit = Bandit(arms, threshold=0.5, precision=0.1)
        tallies = play(bandit, rule, budget=budget, seed=3, game=game).tallies
        return dict(zip(means, tallies.pulls.tolist(), strict=True))

    one, other = pulls(means, 0), pulls(means[::-1], mirror)
    assert one == other, f"{rule} depends on the numbering of the arms: {one} and {other}"
