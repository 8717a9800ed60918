"""Any rule: every game makes its own choice."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cutline.core.chance import RULE, uniform
from cutline.core.chance import chance as chance_of
from cutline.simulation.kernels.shared import BUNDLE, add_reward, note_game, wrongness
from cutline.simulation.parts import ARM, TRUTH, Parts


def policy_kernel(parts: Parts) -> Callable[..., Any]:
    """Any rule: every game makes its own choice, then some games draw side by side."""
    rows, tau_row, squares_row = len(parts.layout.rows), parts.layout.tau, parts.layout.squares
    changing, lucky = parts.layout.changing, parts.lucky
    draw, learn, is_above, pick = parts.draw, parts.learn, parts.above, parts.pick
    judge, judged = parts.judge, parts.judged
    B = BUNDLE

    def kernel(  # type: ignore[no-untyped-def]
        key0, key1, first_game, games, orders, start, common, settings, table, memory_size,
        horizons, out,
    ):  # fmt: skip
        _, _, _, pulls_sum, _, picks = out
        K = start.shape[1]
        state = np.empty((B, rows * K))  # (game, row and arm)
        memory = np.empty((B, memory_size))
        playing = np.empty(B, np.bool_)
        slot = np.empty(B, np.int64)
        luck = np.zeros(B)
        columns = np.empty(rows * B)
        rewards = np.empty(B)
        before = np.empty(B)
        change = np.empty(B)
        wrong = np.empty(B)
        merits = np.empty(K)
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
                    wrong[i] += abs(start[TRUTH, arm])
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
                        if not -1 <= k < K:
                            raise ValueError("choose must return the place of an arm, or -1")
                        playing[i] = k >= 0
                        slot[i] = max(k, 0)
                for i in range(B):
                    for r in range(rows):
                        columns[r * B + i] = state[i, r * K + slot[i]]
                for i in range(B):
                    rewards[i] = draw(columns, B, i, key0, key1, first_game + first + i, table)
                for i in range(B):
                    before[i] = wrongness(columns, B, i, is_above(columns, B, i, settings))
                for i in range(B):
                    learn(columns, B, i, rewards[i], step, settings)
                for i in range(B):
                    add_reward(columns, B, i, rewards[i], squares_row)
                    after = wrongness(columns, B, i, is_above(columns, B, i, settings))
                    change[i] = after - before[i]
                for i in range(lanes):
                    if playing[i]:
                        wrong[i] += change[i]
                        state[i, slot[i]] = columns[i]
                        state[i, K + slot[i]] = columns[B + i]
                        for r in range(changing, tau_row):
                            state[i, r * K + slot[i]] = columns[r * B + i]
                        if picks.shape[0] > 0:
                            picks[step, first + i] = int(columns[ARM * B + i])
                if step + 1 == horizons[h]:
                    for i in range(lanes):
                        worse, regret = wrong[i], 0.0
                        if judged:
                            worse, regret = judge(state[i], K, memory[i], step, settings, merits)
                        note_game(worse, regret, first + i, h, out)
                    h += 1
            for i in range(lanes):
                for k in range(K):
                    pulls_sum[int(state[i, ARM * K + k])] += int(state[i, k])

    return kernel
