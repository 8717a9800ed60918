"""Many games of several rules on one bandit."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from cutline.core.chance import GAMES, PULLS, seed_key
from cutline.core.evidence import Evidence
from cutline.core.tally import Ints
from cutline.rules.base import IndexRule, Rule
from cutline.simulation.bandit import Bandit
from cutline.simulation.engine import Ends, Player, orders
from cutline.simulation.goals import SIDES, Goal, parse_goal
from cutline.simulation.kernels import BUNDLE, LANES
from cutline.simulation.live import Delay, Live, live_settings
from cutline.simulation.pool import DaemonPool
from cutline.simulation.result import Result
from cutline.simulation.stops import Stops

UNBOUNDED = PULLS - 1  # the horizon of games that only stop at a confidence

Progress = Callable[[int, int], None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation; ``result`` holds the games played so far, or None.

    To go on, simulate with ``first_game=result.next_game`` and merge the two results.
    """

    def __init__(self, result: Result | None) -> None:
        super().__init__("simulation interrupted")
        self.result = result


def simulate(
    bandit: Bandit,
    rules: Rule | Sequence[Rule],
    *,
    budget: int | Sequence[int] | None = None,
    games: int,
    goal: Goal | str = SIDES,
    confidence: float | None = None,
    evidence: Evidence | str | None = None,
    in_flight: int = 1,
    delay: Delay | str | None = None,
    in_order: bool = True,
    seed: int = 0,
    first_game: int = 0,
    horizons: Sequence[int] | None = None,
    replay: bool = True,
    threads: int | None = None,
    chunk: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Play games of every rule on the bandit and count how often each errs.

    Rewards are a function of the seed, the game, the arm and the pull, so all rules meet the same
    rewards, and the counts are the same for any number of ``threads`` and any ``chunk`` of games.

    ``budget``
        the horizon, or a list of horizons
    ``confidence``
        a game stops when its evidence allows no more than a chance of 1 - confidence that any arm
        is on the wrong side; index rules leave settled arms alone. ``budget`` may then be left
        out, if the precision is above 0. ``result.stops`` says when games stopped, and how often
        an arm was ever shown as proven on the wrong side
    ``evidence``
        what is weighed after every pull, if not the evidence made for the kind of reward
        (:func:`~cutline.core.evidence.default_evidence`); without a confidence no game stops
    ``in_flight``, ``delay``
        how many pulls wait for their results at a time, and how long they take: ``"fixed"``,
        ``"random"``, ``"slow-failures"``, ``"slow-successes"``, or a plain function of the
        ``reward`` and ``tau`` (counted from the origin) and of ``luck``, a uniform number. Errors
        are counted by results that have come back
    ``in_order``
        evidence takes results in the order they were asked for; False shows what goes wrong if not
    ``goal``
        what a game is judged by: the sides of the arms, or ``TopArms(m)``, the m best arms by name
        (then the result holds the pseudo-regret too); also as a command line writes it
    ``horizons``
        where errors are counted: by default at the budgets if a list is given; else at every step
        up to the budget (1,000 of them at most), or at 25 steps when some rule must be replayed
    ``replay``
        a rule that must know its horizon is played anew for every horizon; with False it is played
        once, told the largest, and read along the way
    ``first_game``
        number of the first game: results of disjoint games can be merged
    ``progress``
        called now and then with the games done and the games in all

    Ctrl-C raises :class:`Interrupted`, which carries the games played so far.

    >>> from cutline.rules import APT, RoundRobin
    >>> from cutline.simulation import three_groups
    >>> result = simulate(three_groups(), [APT(), RoundRobin()], budget=200, games=2000, seed=1)
    >>> apt, round_robin = result.error_rate
    >>> bool(apt < round_robin / 2)
    True
    """
    rules = [rules] if isinstance(rules, Rule) else list(rules)
    for rule in rules:
        if not isinstance(rule, Rule):
            raise TypeError(f"rules are made like APT() or parse_rule('apt'), got {rule!r}")
    live = live_settings(
        bandit.problem,
        confidence=confidence,
        evidence=evidence,
        in_flight=in_flight,
        delay=delay,
        in_order=in_order,
        has_budget=budget is not None,
    )
    if budget is None:
        if horizons is not None:
            raise ValueError("horizons need a budget: give one beside the confidence")
        budget, horizons = UNBOUNDED, [UNBOUNDED]
        for rule in rules:
            if not isinstance(rule.on(bandit.problem), IndexRule):
                raise ValueError(
                    f"{rule} does not leave settled arms alone and might never end: give a budget "
                    "beside the confidence"
                )
            if not rule.on(bandit.problem).anytime:
                raise ValueError(f"{rule} must know the budget: give one beside the confidence")
    steps = _horizons(bandit, rules, budget, horizons, replay)
    check_games(games, first_game, chunk, threads)
    seed_key(seed)  # refuses a bad seed before anything is compiled
    goal = parse_goal(goal) if isinstance(goal, str) else goal
    if confidence is not None and goal != SIDES:
        raise ValueError("a confidence is about the sides of arms, not about which are best")
    beyond = None if live.plain else live
    plans = [_plan(rule, bandit, goal, steps, replay, beyond) for rule in rules]
    result = Result.empty(bandit, rules, goal=goal, horizons=steps, seed=seed, replay=replay)
    workers = threads or _cores()
    if chunk is None:
        pulls = int(sum(steps[p][-1] for plan in plans for p in plan.passes))
        # Live games are slower, and how long they take is not known where they stop.
        pulls = pulls if beyond is None else 8 * min(pulls, 50_000 * len(plans))
        chunk = _chunk(pulls, games, workers)
    starts = range(first_game, first_game + games, chunk)
    pool = DaemonPool(workers)
    waiting: deque[Future[Result]] = deque()
    done = 0
    try:
        left = iter(starts)
        while True:
            while len(waiting) < workers + 2 and (start := next(left, None)) is not None:
                count = min(chunk, first_game + games - start)
                waiting.append(pool.submit(_stretch, result, plans, start, count))
            if not waiting:
                return result
            part = waiting.popleft().result()
            result = part if done == 0 else result.merge(part)
            done += part.games
            if progress is not None:
                progress(done, games)
    except KeyboardInterrupt:
        raise Interrupted(result if done else None) from None
    finally:
        for future in waiting:
            future.cancel()
        pool.close()


@dataclass(frozen=True)
class Plan:
    """How a rule is played: in one pass, or in one for each horizon."""

    player: Player
    passes: list[slice]  # places in the list of horizons
    live: Live | None


def _plan(
    rule: Rule, bandit: Bandit, goal: Goal, steps: Ints, replay: bool, live: Live | None
) -> Plan:
    whole = rule.anytime or not replay
    passes = [slice(0, len(steps))] if whole else [slice(i, i + 1) for i in range(len(steps))]
    return Plan(Player(rule, bandit, goal, live=live), passes, live)


def _stretch(template: Result, plans: list[Plan], first_game: int, games: int) -> Result:
    """The result of a stretch of games, for all rules."""
    arms, count = len(template.arms), len(template.horizons)
    order = orders(template.seed, first_game, games, arms)
    words = np.zeros((len(plans), -(-games // LANES), count), np.uint64)
    wrong_arms = np.zeros((len(plans), count), np.int64)
    squared = np.zeros((len(plans), count), np.int64)
    pulls = np.zeros((len(plans), arms), np.int64)
    regrets = np.zeros((2, len(plans), count))
    ends: list[Ends | None] = []
    for r, plan in enumerate(plans):
        for place in plan.passes:
            steps = template.horizons[place]
            counts = plan.player.play(template.seed, first_game, games, order, steps)
            words[r][:, place] = counts.words
            wrong_arms[r, place] = counts.wrong_arms
            squared[r, place] = counts.wrong_arms_squared
            regrets[:, r, place] = counts.regrets
            pulls[r] = counts.pulls  # the last pass goes to the budget
        ends.append(counts.ends)
    only = [[np.bitwise_count(a & ~b).sum(axis=0) for b in words] for a in words]
    return template.with_counts(
        ((first_game, games),),
        stops=_stops(plans[0].live, arms, [end for end in ends if end is not None]),
        wrong_games=np.bitwise_count(words).sum(axis=1).astype(np.int64),
        wrong_arms_sum=wrong_arms,
        wrong_arms_squared=squared,
        pulls_sum=pulls,
        only=np.array(only, np.int64),
        regret_sum=regrets[0],
        regret_squared=regrets[1],
    )


def _stops(live: Live | None, arms: int, ends: list[Ends]) -> Stops | None:
    if live is None:
        return None
    return Stops(
        live.spec(),
        spent=np.sort([end.spent for end in ends], axis=1),
        # A claim is made at the level K / e-value.
        levels=np.sort([np.minimum(1.0, arms * np.exp(-end.tops)) for end in ends], axis=1),
        finished=np.array([(end.open_arms == 0).sum() for end in ends], np.int64),
        open_games=np.array([end.open_games for end in ends]),
        found_sum=np.array([end.found_sum for end in ends]),
        found_games=np.array([end.found_games for end in ends]),
    )


def _horizons(
    bandit: Bandit,
    rules: list[Rule],
    budget: int | Sequence[int],
    horizons: Sequence[int] | None,
    replay: bool,
) -> Ints:
    if not rules:
        raise ValueError("name at least one rule to simulate")
    several = isinstance(budget, Sequence | np.ndarray)
    budgets = list(budget) if isinstance(budget, Sequence | np.ndarray) else [budget]
    if not budgets:
        raise ValueError("a budget is needed: the number of pulls in a game")
    for value in [*budgets, *(horizons if horizons is not None else ())]:
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"a budget is a whole number of pulls, at least 1, got {value!r}")
    last = int(max(budgets))
    arms = len(bandit.problem.arms)
    suited = [rule.on(bandit.problem) for rule in rules]
    first = max(rule.first_pulls if isinstance(rule, IndexRule) else 1 for rule in suited)
    if last < first * arms:
        raise ValueError(
            f"a budget of {last} cannot try {arms} arms "
            f"{'once' if first == 1 else f'{first} times'} each: give at least {first * arms}"
        )
    if last >= PULLS:
        raise ValueError(f"a budget must be below {PULLS}, got {last}")
    if horizons is not None:
        chosen = {int(h) for h in horizons} | {last}
        if max(chosen) > last:
            raise ValueError(f"horizon {max(chosen)} is beyond the budget {last}")
    elif several:
        chosen = {int(b) for b in budgets}
    else:
        chosen = default_horizons(rules, last, replay)
    return np.array(sorted(chosen), np.int64)


def default_horizons(rules: Sequence[Rule], budget: int, replay: bool) -> set[int]:
    """Every step up to the budget, 1,000 of them at most; 25 where a rule must be replayed."""
    replayed = replay and not all(rule.anytime for rule in rules)
    points = min(budget, 25 if replayed else 1000)
    return {-(-budget * i // points) for i in range(1, points + 1)}


MOST_THREADS = 1_024


def check_games(
    games: int, first_game: int = 0, chunk: int | None = None, threads: int | None = None
) -> None:
    """Refuse numbers of games and threads that make no sense."""
    named = {"games": games, "chunk": chunk, "threads": threads}
    for name, value in named.items():
        if value is not None and (not isinstance(value, int | np.integer) or value < 1):
            raise ValueError(f"{name} must be a whole number, at least 1, got {value!r}")
    if threads is not None and threads > MOST_THREADS:
        raise ValueError(f"threads must be at most {MOST_THREADS:,}, got {threads!r:.30}")
    if not 0 <= first_game <= GAMES - games:
        raise ValueError(f"games are numbered from 0 to 2**48 - 1, got {first_game} + {games}")


def _chunk(pulls: int, games: int, workers: int) -> int:
    """Games in a task: enough to be worth a call, few enough to stop quickly and share out."""
    wanted = min(8_000_000 // pulls, -(-games // workers))
    unit = LANES if wanted >= LANES else BUNDLE
    return max(unit, wanted // unit * unit)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
