"""The loops that play games, written to be compiled.

Three ways to play, one signature:

* :func:`scan_kernel`: index rules with few arms. 64 games advance in lockstep; every step is a few
  short loops over the games, each of which becomes vector code.
* :func:`tree_kernel`: index rules with many arms. A tree over the indices replaces the scan, so a
  pull costs O(log K).
* :func:`policy_kernel`: everything else; each game makes its own choice, 16 games draw together.

Games lie in blocks of 64, so that "which games are wrong" is one 64-bit word for a block and a
horizon; results of different rules are compared word by word. Arms lie in the order in which ties
fall in their game, so "the first of the lowest" is how ties are settled.

A kernel adds to what it is given: ``words[block, h]``, and for every horizon the sum of wrong arms
and of its square, and at the end the pulls of every arm.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from cutline.core.chance import RULE, TIE, uniform
from cutline.core.chance import chance as chance_of
from cutline.simulation.parts import Parts

LANES = 64  # games in a block
BUNDLE = 16  # games the other two play side by side
FANOUT = 8  # children of a node of the tree: one cache line


def tie_orders(key0, key1, first_game, games, arms, orders):  # type: ignore[no-untyped-def]
    """The arms of every game in the order in which ties fall; see reference.tie_order."""
    keys = np.empty(arms)
    for g in range(games):
        for arm in range(arms):
            keys[arm] = uniform(chance_of(key0, key1, first_game + g, arm, 0, TIE), 0)
            orders[g, arm] = arm
        gap = 1
        while gap < arms // 3:
            gap = 3 * gap + 1
        while gap > 0:  # Shell's sort with Knuth's gaps; equal keys by number
            for place in range(gap, arms):
                arm = orders[g, place]
                at = place
                while at >= gap and (
                    keys[orders[g, at - gap]] > keys[arm]
                    or (keys[orders[g, at - gap]] == keys[arm] and orders[g, at - gap] > arm)
                ):
                    orders[g, at] = orders[g, at - gap]
                    at -= gap
                orders[g, at] = arm
            gap //= 3


def count_pull(columns, width, i, reward, tau_row, squares_row):  # type: ignore[no-untyped-def]
    """Add a reward to arm i; returns by how much the number of wrong arms changes."""
    n = columns[i]
    s = columns[width + i]
    truth = columns[2 * width + i]
    tau = columns[tau_row * width + i]
    side = 1.0 if s / max(n, 1.0) >= tau else 0.0
    judged = truth * (0.5 - side) + 0.5 * abs(truth)  # 1 when on the wrong side
    unseen = abs(truth)
    before = unseen if n == 0.0 else judged
    n += 1.0
    s += reward
    side = 1.0 if s / n >= tau else 0.0
    columns[i] = n
    columns[width + i] = s
    if squares_row > 0:
        columns[squares_row * width + i] += reward * reward
    return truth * (0.5 - side) + 0.5 * abs(truth) - before


def note_wrong(count, game, words, h, wrong_sum, wrong_squares):  # type: ignore[no-untyped-def]
    """Note how many arms of a game are wrong at a horizon."""
    wrong_sum[h] += count
    wrong_squares[h] += count * count
    if count > 0:
        words[game // LANES, h] |= np.uint64(1) << np.uint64(game % LANES)


def scan_kernel(parts: Parts, first_pulls: int) -> Callable[..., Any]:
    """Index rules with few arms, 64 games in lockstep."""
    rows, tau_row, changing = len(parts.layout.rows), parts.layout.tau, parts.layout.changing
    squares_row = parts.layout.squares
    assert parts.index is not None
    index, draw, learn = parts.index, parts.draw, parts.learn
    L, UL = LANES, np.uint64(LANES)

    def kernel(  # type: ignore[no-untyped-def]
        key0,
        key1,
        first_game,
        games,
        orders,
        start,
        common,
        settings,
        table,
        memory_size,
        horizons,
        words,
        wrong_sum,
        wrong_squares,
        pulls_sum,
        picks,
    ):
        K = start.shape[1]
        size = np.uint64(K * L)
        state = np.empty(rows * K * L)  # (row, arm, game)
        lowest = np.empty(K * L)  # the index of every arm
        best = np.empty(L)
        slot = np.empty(L, np.uint64)
        columns = np.empty(rows * L)  # the pulled arm of every game
        rewards = np.empty(L)
        fresh = np.empty(L)
        wrong = np.empty(L)
        gathered = tau_row if common else rows
        for block in range((games + L - 1) // L):
            lanes = min(L, games - block * L)
            game = first_game + block * L
            relevant = 0.0
            for k in range(K):
                relevant += abs(start[2, k])
            for i in range(L):
                wrong[i] = relevant
                g = block * L + min(i, lanes - 1)
                for k in range(K):
                    arm = orders[g, k]
                    for r in range(rows):
                        state[(r * K + k) * L + i] = start[r, arm]
            if common:
                for i in range(L):
                    columns[tau_row * L + i] = start[tau_row, 0]
                    columns[(tau_row + 1) * L + i] = start[tau_row + 1, 0]
            h = 0
            for step in range(horizons[-1]):
                if step < first_pulls * K:
                    for i in range(L):
                        slot[i] = np.uint64(step % K)
                else:
                    for i in range(L):
                        best[i] = lowest[i]
                        slot[i] = np.uint64(0)
                    k = 1
                    while k + 3 <= K:  # three arms a pass: half the memory traffic of one
                        for i in range(L):
                            low = best[i]
                            arm = slot[i]
                            value = lowest[k * L + i]
                            arm = np.uint64(k) if value < low else arm
                            low = value if value < low else low
                            value = lowest[(k + 1) * L + i]
                            arm = np.uint64(k + 1) if value < low else arm
                            low = value if value < low else low
                            value = lowest[(k + 2) * L + i]
                            arm = np.uint64(k + 2) if value < low else arm
                            low = value if value < low else low
                            best[i] = low
                            slot[i] = arm
                        k += 3
                    while k < K:
                        for i in range(L):
                            low = best[i]
                            arm = slot[i]
                            value = lowest[k * L + i]
                            slot[i] = np.uint64(k) if value < low else arm
                            best[i] = value if value < low else low
                        k += 1
                for i in range(L):
                    j = slot[i] * UL + np.uint64(i)
                    columns[i] = state[j]
                    columns[L + i] = state[size + j]
                    columns[2 * L + i] = state[np.uint64(2) * size + j]
                    columns[3 * L + i] = state[np.uint64(3) * size + j]
                    columns[4 * L + i] = state[np.uint64(4) * size + j]
                for r in range(5, gathered):
                    for i in range(L):
                        j = slot[i] * UL + np.uint64(i)
                        columns[r * L + i] = state[np.uint64(r) * size + j]
                for i in range(L):
                    rewards[i] = draw(columns, L, i, key0, key1, game + i, table)
                for i in range(L):
                    learn(columns, L, i, rewards[i], settings)
                for i in range(L):
                    wrong[i] += count_pull(columns, L, i, rewards[i], tau_row, squares_row)
                    fresh[i] = index(columns, L, i, step, settings)
                for i in range(L):
                    j = slot[i] * UL + np.uint64(i)
                    state[j] = columns[i]
                    state[size + j] = columns[L + i]
                    lowest[j] = fresh[i]
                for r in range(changing, tau_row):
                    for i in range(L):
                        j = slot[i] * UL + np.uint64(i)
                        state[np.uint64(r) * size + j] = columns[r * L + i]
                if picks.shape[0] > 0:
                    for i in range(lanes):
                        picks[step, block * L + i] = int(columns[3 * L + i])
                if step + 1 == horizons[h]:
                    for i in range(lanes):
                        game_ = block * L + i
                        note_wrong(int(wrong[i]), game_, words, h, wrong_sum, wrong_squares)
                    h += 1
            for k in range(K):
                for i in range(lanes):
                    arm = int(state[(3 * K + k) * L + i])
                    pulls_sum[arm] += int(state[k * L + i])

    return kernel


def policy_kernel(parts: Parts) -> Callable[..., Any]:
    """Any rule: every game makes its own choice, then some games draw side by side."""
    rows, tau_row, squares_row = len(parts.layout.rows), parts.layout.tau, parts.layout.squares
    changing, lucky = parts.layout.changing, parts.lucky
    draw, learn, pick = parts.draw, parts.learn, parts.pick
    B = BUNDLE

    def kernel(  # type: ignore[no-untyped-def]
        key0,
        key1,
        first_game,
        games,
        orders,
        start,
        common,
        settings,
        table,
        memory_size,
        horizons,
        words,
        wrong_sum,
        wrong_squares,
        pulls_sum,
        picks,
    ):
        K = start.shape[1]
        state = np.empty((B, rows * K))  # (game, row and arm)
        memory = np.empty((B, memory_size))
        playing = np.empty(B, np.bool_)
        slot = np.empty(B, np.int64)
        luck = np.zeros(B)
        columns = np.empty(rows * B)
        rewards = np.empty(B)
        change = np.empty(B)
        wrong = np.empty(B)
        for bundle in range((games + B - 1) // B):
            lanes = min(B, games - bundle * B)
            first = bundle * B
            memory[:] = 0.0
            slot[:] = 0
            for i in range(B):
                playing[i] = i < lanes
                wrong[i] = 0.0
                for k in range(K):
                    arm = orders[first + min(i, lanes - 1), k]
                    for r in range(rows):
                        state[i, r * K + k] = start[r, arm]
                    wrong[i] += abs(start[2, arm])
            h = 0
            for step in range(horizons[-1]):
                if lucky:
                    for i in range(B):
                        chance = chance_of(key0, key1, first_game + first + i, 0, step, RULE)
                        luck[i] = uniform(chance, 0)
                for i in range(lanes):
                    if playing[i]:
                        chance = chance_of(key0, key1, first_game + first + i, 0, step, RULE)
                        k = pick(state[i], K, memory[i], step, settings, chance, luck[i])
                        playing[i] = k >= 0
                        slot[i] = max(k, 0)
                for i in range(B):
                    for r in range(rows):
                        columns[r * B + i] = state[i, r * K + slot[i]]
                for i in range(B):
                    rewards[i] = draw(columns, B, i, key0, key1, first_game + first + i, table)
                for i in range(B):
                    learn(columns, B, i, rewards[i], settings)
                for i in range(B):
                    change[i] = count_pull(columns, B, i, rewards[i], tau_row, squares_row)
                for i in range(lanes):
                    if playing[i]:
                        wrong[i] += change[i]
                        state[i, slot[i]] = columns[i]
                        state[i, K + slot[i]] = columns[B + i]
                        for r in range(changing, tau_row):
                            state[i, r * K + slot[i]] = columns[r * B + i]
                        if picks.shape[0] > 0:
                            picks[step, first + i] = int(columns[3 * B + i])
                if step + 1 == horizons[h]:
                    for i in range(lanes):
                        note_wrong(int(wrong[i]), first + i, words, h, wrong_sum, wrong_squares)
                    h += 1
            for i in range(lanes):
                for k in range(K):
                    pulls_sum[int(state[i, 3 * K + k])] += int(state[i, k])

    return kernel


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
    index, draw, learn = parts.index, parts.draw, parts.learn
    own = 3 + tau_row - changing
    wide = (rows - 2 + 7) // 8 * 8  # whole cache lines
    B, F, SHIFT = BUNDLE, FANOUT, np.uint64(3)

    def kernel(  # type: ignore[no-untyped-def]
        key0,
        key1,
        first_game,
        games,
        orders,
        start,
        common,
        settings,
        table,
        memory_size,
        horizons,
        words,
        wrong_sum,
        wrong_squares,
        pulls_sum,
        picks,
    ):
        K = start.shape[1]
        shared = np.empty(K * wide)  # (arm, row from the third on)
        relevant = 0.0
        for arm in range(K):
            relevant += abs(start[2, arm])
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
        state = np.empty(B * K * own)  # (game, place; pulls, total, arm, what is kept)
        slot = np.empty(B, np.uint64)
        top = np.zeros(B, np.uint64)
        columns = np.empty(rows * B)
        rewards = np.empty(B)
        fresh = np.empty(B)
        wrong = np.empty(B)
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
                    state[at] = 0.0
                    state[at + 1] = 0.0
                    state[at + 2] = orders[g, k]
                    for r in range(changing, tau_row):
                        state[at + 3 + r - changing] = start[r, orders[g, k]]
            h = 0
            for step in range(horizons[-1]):
                if step < first_pulls * K:
                    top[:] = np.uint64(step % K)
                for i in range(B):
                    slot[i] = top[i]
                    place = (np.uint64(i * K) + slot[i]) * np.uint64(own)
                    columns[i] = state[place]
                    columns[B + i] = state[place + np.uint64(1)]
                    fixed = np.uint64(state[place + np.uint64(2)]) * np.uint64(wide)
                    for r in range(2, rows):
                        columns[r * B + i] = shared[fixed + np.uint64(r - 2)]
                    for r in range(changing, tau_row):
                        columns[r * B + i] = state[place + np.uint64(3 + r - changing)]
                for i in range(B):
                    rewards[i] = draw(columns, B, i, key0, key1, first_game + first + i, table)
                for i in range(B):
                    learn(columns, B, i, rewards[i], settings)
                for i in range(B):
                    wrong[i] += count_pull(columns, B, i, rewards[i], tau_row, squares_row)
                    fresh[i] = index(columns, B, i, step, settings)
                for i in range(B):
                    place = (np.uint64(i * K) + slot[i]) * np.uint64(own)
                    state[place] = columns[i]
                    state[place + np.uint64(1)] = columns[B + i]
                    for r in range(changing, tau_row):
                        state[place + np.uint64(3 + r - changing)] = columns[r * B + i]
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
                        picks[step, first + i] = int(columns[3 * B + i])
                if step + 1 == horizons[h]:
                    for i in range(lanes):
                        note_wrong(int(wrong[i]), first + i, words, h, wrong_sum, wrong_squares)
                    h += 1
            for i in range(lanes):
                for k in range(K):
                    pulls_sum[orders[first + i, k]] += int(state[(i * K + k) * own])

    return kernel
