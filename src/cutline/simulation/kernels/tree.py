"""Index rules with many arms: a tree over the indices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cutline.simulation.kernels.shared import BUNDLE, add_reward, note_game, wrongness
from cutline.simulation.parts import ARM, TRUTH, Parts

FANOUT = 8  # children of a node of the tree: one cache line
MOST_ARMS = 2**21  # pulls * MOST_ARMS + arm is one exact float
ARM_BITS, ARM_MASK = np.uint64(21), np.uint64(MOST_ARMS - 1)


def first_lowest(values, at):  # type: ignore[no-untyped-def]
    """The place, among FANOUT values from ``at`` on, of the first that is lowest; by pairs."""
    v0 = values[at]
    v1 = values[at + np.uint64(1)]
    v2 = values[at + np.uint64(2)]
    v3 = values[at + np.uint64(3)]
    v4 = values[at + np.uint64(4)]
    v5 = values[at + np.uint64(5)]
    v6 = values[at + np.uint64(6)]
    v7 = values[at + np.uint64(7)]
    p0 = np.uint64(v1 < v0)
    p2 = np.uint64(2) + np.uint64(v3 < v2)
    p4 = np.uint64(4) + np.uint64(v5 < v4)
    p6 = np.uint64(6) + np.uint64(v7 < v6)
    v0 = v1 if v1 < v0 else v0
    v2 = v3 if v3 < v2 else v2
    v4 = v5 if v5 < v4 else v4
    v6 = v7 if v7 < v6 else v6
    p0 = p2 if v2 < v0 else p0
    p4 = p6 if v6 < v4 else p4
    v0 = v2 if v2 < v0 else v0
    v4 = v6 if v6 < v4 else v4
    return p4 if v4 < v0 else p0


def tree_kernel(parts: Parts, first_pulls: int) -> Callable[..., Any]:
    """Index rules with many arms: the lowest index is found by a tree, some games side by side.

    What differs between games is kept small, so that it stays in the cache: pulls, total and what
    the rule keeps; the rest of an arm is read from what all games share. Places are unsigned, as
    numba would otherwise look whether each counts from the end.
    """
    rows, tau_row, changing = len(parts.layout.rows), parts.layout.tau, parts.layout.changing
    squares_row = parts.layout.squares
    assert parts.index is not None
    index, draw, learn, is_above = parts.index, parts.draw, parts.learn, parts.above
    judge, judged = parts.judge, parts.judged
    own = 2 + tau_row - changing
    wide = (rows - 2 + 7) // 8 * 8  # whole cache lines
    B, F, SHIFT = BUNDLE, FANOUT, np.uint64(3)

    def kernel(  # type: ignore[no-untyped-def]
        key0, key1, first_game, games, orders, start, common, settings, table, memory_size,
        horizons, out,
    ):  # fmt: skip
        _, _, _, pulls_sum, _, picks = out
        K = start.shape[1]
        shared = np.empty(K * wide)  # (arm, row from the third on)
        relevant = 0.0
        for arm in range(K):
            relevant += abs(start[TRUTH, arm])
            for r in range(2, rows):
                shared[arm * wide + r - 2] = start[r, arm]
        offsets = np.empty(32, np.uint64)  # where each level of the tree starts
        levels, size, width = 0, 0, K
        while True:
            width = (width + F - 1) // F * F
            offsets[levels] = size
            size += width
            levels += 1
            if width == F:
                break
            width = width // F
        values = np.empty(B * size)
        arms = np.empty(B * size, np.uint32)  # the arm of the lowest leaf below a node
        state = np.empty(B * K * own)  # (game, place; pulls and arm, total, what is kept)
        slot = np.empty(B, np.uint64)
        top = np.zeros(B, np.uint64)
        columns = np.empty(rows * B)
        rewards = np.empty(B)
        fresh = np.empty(B)
        before = np.empty(B)
        wrong = np.empty(B)
        memory = np.empty(0)
        one = np.empty(rows * K)  # all arms of one game
        merits = np.empty(K)
        for bundle in range((games + B - 1) // B):
            lanes = min(B, games - bundle * B)
            first = bundle * B
            values[:] = np.inf
            arms[:] = 0
            wrong[:] = relevant
            for i in range(B):
                g = first + min(i, lanes - 1)
                for k in range(K):
                    at = (i * K + k) * own
                    state[at] = orders[g, k]
                    state[at + 1] = 0.0
                    for r in range(changing, tau_row):
                        state[at + 2 + r - changing] = start[r, orders[g, k]]
            h = 0
            for step in range(horizons[-1]):
                if step < first_pulls * K:
                    top[:] = np.uint64(step % K)
                for i in range(B):
                    slot[i] = top[i]
                    place = (np.uint64(i * K) + slot[i]) * np.uint64(own)
                    packed = np.uint64(state[place])
                    fixed = (packed & ARM_MASK) * np.uint64(wide)
                    columns[i] = packed >> ARM_BITS
                    columns[B + i] = state[place + np.uint64(1)]
                    for r in range(2, rows):
                        columns[r * B + i] = shared[fixed + np.uint64(r - 2)]
                    for r in range(changing, tau_row):
                        columns[r * B + i] = state[place + np.uint64(2 + r - changing)]
                for i in range(B):
                    rewards[i] = draw(columns, B, i, key0, key1, first_game + first + i, table)
                for i in range(B):
                    before[i] = wrongness(columns, B, i, is_above(columns, B, i, settings))
                for i in range(B):
                    learn(columns, B, i, rewards[i], step, settings)
                for i in range(B):
                    add_reward(columns, B, i, rewards[i], squares_row)
                    after = wrongness(columns, B, i, is_above(columns, B, i, settings))
                    wrong[i] += after - before[i]
                    fresh[i] = index(columns, B, i, step, settings)
                for i in range(B):
                    place = (np.uint64(i * K) + slot[i]) * np.uint64(own)
                    state[place] = columns[i] * MOST_ARMS + columns[ARM * B + i]
                    state[place + np.uint64(1)] = columns[B + i]
                    for r in range(changing, tau_row):
                        state[place + np.uint64(2 + r - changing)] = columns[r * B + i]
                for i in range(B):
                    base = np.uint64(i * size)
                    values[base + slot[i]] = fresh[i]
                    group = slot[i] >> SHIFT
                    child = base + (group << SHIFT)
                    c = first_lowest(values, child)
                    low = values[child + c]
                    best = (group << SHIFT) + c
                    for level in range(1, levels):
                        above = base + offsets[level]
                        values[above + group] = low
                        arms[above + group] = np.uint32(best)
                        group >>= SHIFT
                        child = above + (group << SHIFT)
                        c = first_lowest(values, child)
                        low = values[child + c]
                        best = np.uint64(arms[child + c])
                    top[i] = best
                if picks.shape[0] > 0:
                    for i in range(lanes):
                        picks[step, first + i] = int(columns[ARM * B + i])
                if step + 1 == horizons[h]:
                    for i in range(lanes):
                        regret = 0.0
                        if judged:
                            for k in range(K):
                                place = (np.uint64(i) * np.uint64(K) + np.uint64(k)) * np.uint64(
                                    own
                                )
                                packed = np.uint64(state[place])
                                fixed = (packed & ARM_MASK) * np.uint64(wide)
                                one[k] = packed >> ARM_BITS
                                one[K + k] = state[place + np.uint64(1)]
                                for r in range(2, rows):
                                    one[r * K + k] = shared[fixed + np.uint64(r - 2)]
                                for r in range(changing, tau_row):
                                    one[r * K + k] = state[place + np.uint64(2 + r - changing)]
                            wrong[i], regret = judge(one, K, memory, step, settings, merits)
                        note_game(wrong[i], regret, first + i, h, out)
                    h += 1
            for i in range(lanes):
                for k in range(K):
                    pulls_sum[orders[first + i, k]] += int(state[(i * K + k) * own]) // MOST_ARMS

    return kernel
