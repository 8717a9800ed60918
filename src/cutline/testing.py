"""What is true of every rule and of every store, for testing a new one in three lines.

>>> from cutline import APT
>>> check_rule(APT())
>>> from cutline.campaign import MemoryStore
>>> store = MemoryStore()
>>> check_store(lambda: store)
"""

import random
import time
from collections.abc import Callable, Sequence
from itertools import count

from cutline.campaign import Campaign, MemoryStore, Pull, Store, audit
from cutline.core.problem import Problem
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


def check_store(open_it: Callable[[], Store], *, moves: int = 300, seed: int = 0) -> None:
    """Raise AssertionError where a store does not behave as every store must.

    ``open_it`` opens the same store each time it is called, which is done again and again on the
    way. A campaign in it and one in memory are dealt the same random moves.

    * Both hand out the same pulls in the same order, and give the same verdict.
    * Nothing is lost by opening the store anew, and no move counts twice.
    * Leases run out, budgets are kept, and a replay of all events agrees.
    * A batch among many arms holds the pulls that would have been handed out one by one.
    """
    _check_moves(open_it, moves, seed)
    _check_batches(open_it, seed)


def _check_moves(open_it: Callable[[], Store], moves: int, seed: int) -> None:
    deal = random.Random(seed)
    problem = Problem(arms=6, threshold=0.5, precision=0.05, rewards="bounded")
    name = f"check {time.time_ns()}"
    settings = {"budget": moves // 2, "cost": [1, 1, 2, 1, 3, 1], "seed": seed, "name": name}
    settings |= {"patience": 3, "confidence": 0.9 if seed % 2 else None}
    here = Campaign(problem, store=MemoryStore(), **settings)  # type: ignore[arg-type]
    there = Campaign(problem, store=open_it(), **settings)  # type: ignore[arg-type]
    out: list[tuple[str, str]] = []  # handles, here and there

    def both(move: Callable[[Campaign, int], object], what: str) -> None:
        ours, theirs = move(here, 0), move(there, 1)
        assert ours == theirs, f"{what}: memory answers {ours!r}, the store {theirs!r}"

    for _ in range(moves):
        kind = deal.choice(["ask", "ask", "tell", "tell", "tell", "fail", "lose", "other", "open"])
        if kind == "ask":
            n = deal.randint(1, 4)
            ours, theirs = here.ask(n), there.ask(n)
            shown = [[(p.arm, p.number, p.cost, p.seed) for p in pulls] for pulls in (ours, theirs)]
            assert shown[0] == shown[1], f"memory hands out {shown[0]}, the store {shown[1]}"
            assert ours.why == theirs.why, f"memory says {ours.why!r}, the store {theirs.why!r}"
            out += [(a.id, b.id) for a, b in zip(ours, theirs, strict=True)]
        elif kind in ("tell", "fail") and out:
            pair = out.pop(deal.randrange(len(out)))
            value = round(deal.random(), 3)
            for _ in range(deal.choice([1, 1, 2])):  # again changes nothing
                if kind == "tell":
                    both(lambda campaign, i, p=pair, v=value: campaign.tell(p[i], v), "tell")  # type: ignore[misc]
                else:
                    both(lambda campaign, i, p=pair: campaign.fail(p[i]), "fail")  # type: ignore[misc]
        elif kind == "lose" and out:
            pair = out.pop()
            both(lambda campaign, i, p=pair: campaign.heartbeat(p[i], lease=1e-6), "heartbeat")  # type: ignore[misc]
            time.sleep(0.002)
            both(lambda campaign, i: len(campaign.ask(1)) and None, "ask after a loss")
            out += _in_flight(here, there, out)
            both(lambda campaign, i, p=pair: campaign.tell(p[i], 0.5), "late tell")  # type: ignore[misc]
        elif kind == "other":
            arm, way = str(deal.randrange(6)), deal.randrange(8)
            if way == 7 and out:
                pair = out.pop()
                both(lambda campaign, i, p=pair: campaign.give_back(p[i]), "give back")  # type: ignore[misc]
            else:
                both(lambda campaign, i, a=arm, w=way: _something_else(campaign, a, w), "other")  # type: ignore[misc]
        else:
            there = Campaign.open(open_it(), name)
        both(lambda campaign, i: (campaign.spent, campaign.in_flight), "counters")
    both(lambda campaign, i: campaign.verdict().columns(), "verdict")
    for campaign in (here, there):
        found = audit(campaign)
        assert found.holds, f"{campaign}: {found.faults}"


def _check_batches(open_it: Callable[[], Store], seed: int) -> None:
    deal = random.Random(seed)
    arms = 150
    problem = Problem(arms=arms, threshold=0.5, precision=0.05, rewards="bounded")
    costs = [100, *(deal.choice([1, 1, 1, 2, 5]) for _ in range(arms - 1))]
    settings = {"budget": 15 * arms, "cost": costs, "seed": seed}
    here = Campaign(problem, **settings)  # type: ignore[arg-type]
    there = Campaign(problem, store=open_it(), name=f"batches {time.time_ns()}", **settings)  # type: ignore[arg-type]
    out: list[tuple[Pull, Pull]] = []  # here and there
    while (pulls := there.ask(deal.choice([1, 40, 90, 200, 500]))) or out:
        for pull in pulls:
            own = here.ask(1)
            assert own, f"the store hands out {pull.arm!r} where one by one there is none"
            assert own[0].arm == pull.arm, f"{own[0].arm!r} is next, in a batch {pull.arm!r}"
            out.append((own[0], pull))
        deal.shuffle(out)
        kept = deal.choice([0, len(out) // 2, len(out) // 2]) if pulls else 0
        done, out = out[kept:], out[:kept]
        made, not_made = done[len(done) // 3 :], done[: len(done) // 3]
        values = [deal.random() * int(own.arm) / arms for own, _ in made]
        for i, campaign in enumerate((here, there)):
            campaign.give_back(*(pair[i] for pair in not_made))
            campaign.tell_many(zip((pair[i] for pair in made), values, strict=True))
    why = here.ask(1).why
    assert why == pulls.why, f"in the end {why!r} one by one, {pulls.why!r} in batches"


def _something_else(campaign: Campaign, arm: str, way: int) -> None:
    """One of the moves that are made now and then."""
    if way == 0:
        campaign.add(f"added {campaign.access.head().arms}", threshold=0.4)
    elif way == 1:
        campaign.retire(arm)
    elif way == 2:
        campaign.pause()
        assert campaign.ask(2).why == "paused", "a paused campaign hands out pulls"
        campaign.resume()
    elif way == 3:
        for name in campaign.verdict().unmeasured:
            campaign.resume(name)
    elif way == 4:
        campaign.extend(budget=2)
    else:
        campaign.attach(arm, [0.25], unpicked=way == 5)


def _in_flight(
    here: Campaign, there: Campaign, known: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The handles of pulls in flight that are not known yet, in both campaigns."""

    def handles(campaign: Campaign) -> list[str]:
        return campaign.access.do(
            "look", lambda t, _: [p.id for p in t.since(0) if p.expires is not None]
        )

    seen = {handle for pair in known for handle in pair}
    pairs = zip(handles(here), handles(there), strict=True)
    return [pair for pair in pairs if pair[0] not in seen]
