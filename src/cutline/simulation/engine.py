"""Compiled players: one for a rule and a family of arms, whatever the numbers in them."""

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.core.chance import seed_key
from cutline.core.tally import Floats, Ints
from cutline.rules.base import IndexRule, Policy, Rule
from cutline.simulation.bandit import Bandit
from cutline.simulation.compiling import CannotCompile, compile_kernel, is_kept, ready
from cutline.simulation.goals import SIDES, Goal
from cutline.simulation.kernels import (
    LANES,
    MOST_ARMS,
    policy_kernel,
    scan_kernel,
    tie_orders,
    tree_kernel,
)
from cutline.simulation.parts import Parts, assemble
from cutline.simulation.reach import digest

MANY_ARMS = 160  # from about here on a tree beats looking at every index

_kernels: dict[str, Any] = {}


@dataclass(frozen=True)
class Counts:
    """What a stretch of games adds up to, for one rule."""

    words: npt.NDArray[np.uint64]  # (block, horizon): a bit for each game that is wrong
    wrong_arms: Ints
    wrong_arms_squared: Ints
    pulls: Ints
    regrets: Floats  # (sum and sum of squares, horizon)


class Player:
    """Plays games of one rule on one bandit; ``way`` picks a kernel other than the usual one."""

    def __init__(
        self, rule: Rule, bandit: Bandit, goal: Goal = SIDES, *, way: str | None = None
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
        nothing = self._arguments(0, 0, 0, orders(0, 0, 0, arms), np.array([arms]), 0)[0]
        self._kernel = _kernel(rule, parts, way or _way(rule, arms), nothing, who)

    def play(self, seed: int, first_game: int, games: int, order: Any, horizons: Ints) -> Counts:
        """Play games to the last horizon, which the rule is told."""
        arguments, counts = self._arguments(seed, first_game, games, order, horizons, 0)
        self._kernel(*arguments)
        return counts

    def picks(self, seed: int, game: int, budget: int) -> list[int]:
        """The arms pulled in one game, in order."""
        order = orders(seed, game, 1, self._start.shape[1])
        arguments, _ = self._arguments(seed, game, 1, order, np.array([budget]), budget)
        self._kernel(*arguments)
        return [int(arm) for arm in arguments[-1][-1][:, 0] if arm >= 0]

    def _arguments(
        self, seed: int, first_game: int, games: int, order: Any, horizons: Ints, noted: int
    ) -> tuple[tuple[Any, ...], Counts]:
        key0, key1 = seed_key(seed)
        counts = Counts(
            np.zeros((-(-games // LANES), len(horizons)), np.uint64),
            np.zeros(len(horizons), np.int64),
            np.zeros(len(horizons), np.int64),
            np.zeros(self._start.shape[1], np.int64),
            np.zeros((2, len(horizons))),
        )
        picks = np.full((noted, games), -1, np.int32)
        settings = self._parts.values(self._rule, self._bandit, int(horizons[-1]))
        given = (key0, key1, first_game, games, order, self._start, self._common, settings)
        sums = (counts.wrong_arms, counts.wrong_arms_squared, counts.pulls, counts.regrets)
        out = (counts.words, *sums, picks)
        return (*given, self._table, self._memory, horizons, out), counts


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


def _kernel(rule: Rule, parts: Parts, way: str, arguments: tuple[Any, ...], who: str) -> Any:
    if way == "policy":
        kernel = policy_kernel(parts)
    else:
        assert isinstance(rule, IndexRule)
        kernel = (tree_kernel if way == "tree" else scan_kernel)(parts, rule.first_pulls)
    fingerprint = digest(kernel)
    if fingerprint not in _kernels:
        _kernels[fingerprint] = compile_kernel(kernel, way)
        if not is_kept(_kernels[fingerprint], arguments):
            quick = compile_kernel(kernel, way, counted=False)
            # Not all can do without counting: a policy that makes arrays cannot.
            with contextlib.suppress(CannotCompile):
                ready(quick, arguments, who)
                _kernels[fingerprint] = quick
    ready(_kernels[fingerprint], arguments, who)
    return _kernels[fingerprint]
