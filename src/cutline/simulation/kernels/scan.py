"""Index rules with few arms: 64 games in lockstep."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cutline.simulation.kernels.shared import LANES, add_reward, note_game, wrongness
from cutline.simulation.parts import ARM, TRUTH, Parts


def lower(low, arm, value, k):  # type: ignore[no-untyped-def]
    """The lower of two indices, and its arm; the one seen first on a tie."""
    is_lower = value < low
    return value if is_lower else low, np.uint64(k) if is_lower else arm


def scan_kernel(parts: Parts, first_pulls: int) -> Callable[..., Any]:
    """Index rules with few arms, 64 games in lockstep."""
    rows, tau_row, changing = len(parts.layout.rows), parts.layout.tau, parts.layout.changing
    squares_row = parts.layout.squares
    assert parts.index is not None
    index, draw, learn, is_above = parts.index, parts.draw, parts.learn, parts.above
    judge, judged = parts.judge, parts.judged
    L, UL = LANES, np.uint64(LANES)

    def kernel(  # type: ignore[no-untyped-def]
        key0, key1, first_game, games, orders, start, common, settings, table, memory_size,
        horizons, out,
    ):  # fmt: skip
        words, wrong_sum, wrong_squares, pulls_sum, _, picks = out
        K = start.shape[1]
        size = np.uint64(K * L)
        state = np.empty(rows * K * L)  # (row, arm, game)
        lowest = np.empty(K * L)  # the index of every arm
        best = np.empty(L)
        slot = np.empty(L, np.uint64)
        columns = np.empty(rows * L)  # the pulled arm of every game
        rewards = np.empty(L)
        fresh = np.empty(L)
        before = np.empty(L)
        wrong = np.empty(L)
        memory = np.empty(0)
        one = np.empty(rows * K)  # all arms of one game
        merits = np.empty(K)
        gathered = tau_row if common else rows
        for block in range((games + L - 1) // L):
            lanes = min(L, games - block * L)
            game = first_game + block * L
            relevant = 0.0
            for k in range(K):
                relevant += abs(start[TRUTH, k])
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
                    while k + 9 <= K:  # nine arms a pass keep best and slot in registers
                        for i in range(L):
                            low = best[i]
                            arm = slot[i]
                            low, arm = lower(low, arm, lowest[k * L + i], k)
                            low, arm = lower(low, arm, lowest[(k + 1) * L + i], k + 1)
                            low, arm = lower(low, arm, lowest[(k + 2) * L + i], k + 2)
                            low, arm = lower(low, arm, lowest[(k + 3) * L + i], k + 3)
                            low, arm = lower(low, arm, lowest[(k + 4) * L + i], k + 4)
                            low, arm = lower(low, arm, lowest[(k + 5) * L + i], k + 5)
                            low, arm = lower(low, arm, lowest[(k + 6) * L + i], k + 6)
                            low, arm = lower(low, arm, lowest[(k + 7) * L + i], k + 7)
                            low, arm = lower(low, arm, lowest[(k + 8) * L + i], k + 8)
                            best[i] = low
                            slot[i] = arm
                        k += 9
                    while k < K:
                        for i in range(L):
                            low = best[i]
                            arm = slot[i]
                            low, arm = lower(low, arm, lowest[k * L + i], k)
                            best[i] = low
                            slot[i] = arm
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
                    before[i] = wrongness(columns, L, i, is_above(columns, L, i, settings))
                for i in range(L):
                    learn(columns, L, i, rewards[i], step, settings)
                for i in range(L):
                    add_reward(columns, L, i, rewards[i], squares_row)
                    after = wrongness(columns, L, i, is_above(columns, L, i, settings))
                    wrong[i] += after - before[i]
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
                        picks[step, block * L + i] = int(columns[ARM * L + i])
                if step + 1 == horizons[h] and judged:
                    for i in range(lanes):
                        for r in range(rows * K):
                            one[r] = state[r * L + i]
                        worse, regret = judge(one, K, memory, step, settings, merits)
                        note_game(worse, regret, block * L + i, h, out)
                    h += 1
                elif step + 1 == horizons[h]:
                    word = np.uint64(0)
                    many = 0
                    squares = 0
                    for i in range(lanes):
                        count = int(wrong[i])
                        word |= np.uint64(count > 0) << np.uint64(i)
                        many += count
                        squares += count * count
                    words[block, h] = word
                    wrong_sum[h] += many
                    wrong_squares[h] += squares
                    h += 1
            for k in range(K):
                for i in range(lanes):
                    arm = int(state[(ARM * K + k) * L + i])
                    pulls_sum[arm] += int(state[k * L + i])

    return kernel
