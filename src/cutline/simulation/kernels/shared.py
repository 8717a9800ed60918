"""What the kernels share."""

import numpy as np

from cutline.core.chance import TIE, uniform
from cutline.core.chance import chance as chance_of
from cutline.simulation.parts import PULLS, TOTAL, TRUTH

LANES = 64  # games in a block
BUNDLE = 16  # games that the tree and the policy kernel play side by side


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


def wrongness(columns, width, i, is_above):  # type: ignore[no-untyped-def]
    """1 when arm i counts and stands on the wrong side, or was never pulled; else 0."""
    truth = columns[TRUTH * width + i]
    counts = abs(truth)
    side = 1.0 if is_above else 0.0
    judged = truth * (0.5 - side) + 0.5 * counts
    return counts if columns[PULLS * width + i] == 0.0 else judged


def add_reward(columns, width, i, reward, squares_row):  # type: ignore[no-untyped-def]
    """Add a reward to the tally of arm i."""
    columns[PULLS * width + i] += 1.0
    columns[TOTAL * width + i] += reward
    if squares_row > 0:
        columns[squares_row * width + i] += reward * reward


def note_game(wrong, regret, game, h, out):  # type: ignore[no-untyped-def]
    """Note how many arms of a game are wrong at a horizon, and its regret so far."""
    words, wrong_sum, wrong_squares, _, regrets, _ = out
    count = int(wrong)
    wrong_sum[h] += count
    wrong_squares[h] += count * count
    regrets[0, h] += regret
    regrets[1, h] += regret * regret
    if count > 0:
        words[game // LANES, h] |= np.uint64(1) << np.uint64(game % LANES)
