"""Compiled players: one for a rule and a family of arms, whatever the numbers in them."""

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.core.chance import seed_key
from cutline.core.stopping import bar_of
from cutline.core.tally import Floats, Ints
from cutline.rules.base import IndexRule, Policy, Rule
from cutline.simulation.bandit import Bandit
from cutline.simulation.compiling import CannotCompile, compile_kernel, is_kept, ready
from cutline.simulation.goals import SIDES, Goal
from cutline.simulation.grounds import grounds_of
from cutline.simulation.kernels import (
    LANES,
    MOST_ARMS,
    live_kernel,
    policy_kernel,
    scan_kernel,
    tie_orders,
    tree_kernel,
)
from cutline.simulation.live import Live
from cutline.simulation.parts import Parts, assemble
from cutline.simulation.reach import digest

MANY_ARMS = 160  # from about here on a tree beats looking at every index

_kernels: dict[str, Any] = {}


@dataclass(frozen=True)
class Ends:
    """How the games of a stretch ended, for one rule: see :class:`~.stops.Stops`."""

    spent: Ints
    tops: Floats  # the largest logarithm of an e-value for a false claim
    open_arms: Ints
    found_sum: Ints
    found_games: Ints
    open_games: Ints  # by arm


@dataclass(frozen=True)
class Counts:
    """What a stretch of games adds up to, for one rule."""

    words: npt.NDArray[np.uint64]  # (block, horizon): a bit for each game that is wrong
    wrong_arms: Ints
    wrong_arms_squared: Ints
    pulls: Ints
    regrets: Floats  # (sum and sum of squares, horizon)
    ends: Ends | None = None


class Player:
    """Plays games of one rule on one bandit; ``way`` picks a kernel other than the usual one.

    With ``live`` pulls may be in flight, evidence is weighed, and games may stop.
    """

    def __init__(
        self,
        rule: Rule,
        bandit: Bandit,
        goal: Goal = SIDES,
        *,
        way: str | None = None,
        live: Live | None = None,
    ) -> None:
        rule = rule.on(bandit.problem)
        self._rule = rule
        self._bandit = bandit
        parts = assemble(rule, bandit, goal)
        self._parts = parts
        start = parts.columns(rule, bandit, goal)
        tau = parts.layout.tau
        self._start = start
        self._common = bool((start[tau:] == start[tau:, :1]).all())
        self._table = bandit.arms.table()
        arms = start.shape[1]
        if arms >= MOST_ARMS:
            raise ValueError(f"the simulator takes fewer than {MOST_ARMS:,} arms, got {arms:,}")
        self._memory = rule.memory(arms) if isinstance(rule, Policy) else 0
        who = f"{type(rule).__name__} with {type(bandit.arms).__name__} arms"
        self._live = live
        self._grounds = None if live is None else grounds_of(live.evidence, bandit)
        nothing = self._arguments(0, 0, 0, orders(0, 0, 0, arms), np.array([arms]))[0]
        if live is not None and self._grounds is not None:
            first, shape = _shape(rule)
            kernel = live_kernel(parts, self._grounds, live.delay_part(), first, shape)
            self._kernel = _ready(kernel, "live", nothing, who)
        else:
            way = way or _way(rule, arms)
            self._kernel = _ready(_plain_kernel(rule, parts, way), way, nothing, who)

    def play(self, seed: int, first_game: int, games: int, order: Any, horizons: Ints) -> Counts:
        """Play games to the last horizon, which the rule is told."""
        arguments, counts = self._arguments(seed, first_game, games, order, horizons)
        self._kernel(*arguments)
        return counts

    def picks(self, seed: int, game: int, budget: int) -> list[int]:
        """The arms pulled in one game, in order."""
        order = orders(seed, game, 1, self._start.shape[1])
        horizons = np.array([budget])
        arguments, _ = self._arguments(seed, game, 1, order, horizons, noted=budget)
        self._kernel(*arguments)
        picks = arguments[11][-1]
        return [int(arm) for arm in picks[:, 0] if arm >= 0]

    def tallies(self, seed: int, first_game: int, games: int, budget: int) -> Floats:
        """Pulls, total and squares of every arm at the end: (game, which, arm); live games only.

        Squares are kept, and not nan, where the rule asks for them.
        """
        arms = self._start.shape[1]
        order = orders(seed, first_game, games, arms)
        finals = np.zeros((games, 3, arms))
        horizons = np.array([budget])
        arguments, _ = self._arguments(seed, first_game, games, order, horizons, finals=finals)
        self._kernel(*arguments)
        return finals

    def _arguments(
        self,
        seed: int,
        first_game: int,
        games: int,
        order: Any,
        horizons: Ints,
        *,
        noted: int = 0,
        finals: Floats | None = None,
    ) -> tuple[tuple[Any, ...], Counts]:
        key0, key1 = seed_key(seed)
        arms = self._start.shape[1]
        ends, left = None, np.zeros(0, np.int64)
        if self._live is not None:
            left = np.zeros(games + arms, np.int64)  # open arms by game, and open games by arm
            ends = Ends(
                spent=np.zeros(games, np.int64),
                tops=np.zeros(games),
                open_arms=left[:games],
                found_sum=np.zeros(arms, np.int64),
                found_games=np.zeros(arms, np.int64),
                open_games=left[games:],
            )
        counts = Counts(
            np.zeros((-(-games // LANES), len(horizons)), np.uint64),
            np.zeros(len(horizons), np.int64),
            np.zeros(len(horizons), np.int64),
            np.zeros(self._start.shape[1], np.int64),
            np.zeros((2, len(horizons))),
            ends,
        )
        picks = np.full((noted, games), -1, np.int32)
        settings = self._parts.values(self._rule, self._bandit, int(horizons[-1]))
        given = (key0, key1, first_game, games, order, self._start, self._common, settings)
        sums = (counts.wrong_arms, counts.wrong_arms_squared, counts.pulls, counts.regrets)
        out = (counts.words, *sums, picks)
        arguments = (*given, self._table, self._memory, horizons, out)
        if self._live is None or self._grounds is None or ends is None:
            return arguments, counts
        live = (
            int(self._live.in_flight),
            self._live.in_order,
            bar_of(self._live.confidence, arms),
            self._grounds.columns,
            ends.spent,
            ends.tops,
            ends.found_sum,
            ends.found_games,
            left,
            np.zeros((0, 3, arms)) if finals is None else finals,
        )
        return (*arguments, live), counts


def orders(seed: int, first_game: int, games: int, arms: int) -> npt.NDArray[np.int32]:
    """The order in which ties fall in every game, one row a game."""
    if "ties" not in _kernels:
        _kernels["ties"] = compile_kernel(tie_orders, "ties")
    order = np.empty((games, arms), np.int32)
    _kernels["ties"](*seed_key(seed), first_game, games, arms, order)
    return order


def _way(rule: Rule, arms: int) -> str:
    if not isinstance(rule, IndexRule) or rule.clocked:
        return "policy"
    return "tree" if arms >= MANY_ARMS else "scan"


def _shape(rule: Rule) -> tuple[int, str]:
    if not isinstance(rule, IndexRule):
        return 1, "policy"
    return rule.first_pulls, "clocked" if rule.clocked else "index"


def _plain_kernel(rule: Rule, parts: Parts, way: str) -> Any:
    if way == "policy":
        return policy_kernel(parts)
    assert isinstance(rule, IndexRule)
    return (tree_kernel if way == "tree" else scan_kernel)(parts, rule.first_pulls)


def _ready(kernel: Any, way: str, arguments: tuple[Any, ...], who: str) -> Any:
    fingerprint = digest(kernel)
    if fingerprint not in _kernels:
        vector = way != "live"
        _kernels[fingerprint] = compile_kernel(kernel, way, vector=vector)
        if not is_kept(_kernels[fingerprint], arguments):
            quick = compile_kernel(kernel, way, counted=False, vector=vector)
            # Not all can do without counting: a policy that makes arrays cannot.
            with contextlib.suppress(CannotCompile):
                ready(quick, arguments, who)
                _kernels[fingerprint] = quick
    ready(_kernels[fingerprint], arguments, who)
    return _kernels[fingerprint]
