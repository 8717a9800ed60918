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


def count_pull(columns, width, i, reward, tau_row, squares_row):  # type: ignore[no-untyped-def]
    """Add a reward to arm i; returns by how much the number of wrong arms changes."""
    n = columns[PULLS * width + i]
    s = columns[TOTAL * width + i]
    truth = columns[TRUTH * width + i]
    tau = columns[tau_row * width + i]
    side = 1.0 if s / max(n, 1.0) >= tau else 0.0
    judged = truth * (0.5 - side) + 0.5 * abs(truth)  # 1 when on the wrong side
    unseen = abs(truth)
    before = unseen if n == 0.0 else judged
    n += 1.0
    s += reward
    side = 1.0 if s / n >= tau else 0.0
    columns[PULLS * width + i] = n
    columns[TOTAL * width + i] = s
    if squares_row > 0:
        columns[squares_row * width + i] += reward * reward
    return truth * (0.5 - side) + 0.5 * abs(truth) - before


def note_wrong(count, game, words, h, wrong_sum, wrong_squares):  # type: ignore[no-untyped-def]
    """Note how many arms of a game are wrong at a horizon."""
    wrong_sum[h] += count
    wrong_squares[h] += count * count
    if count > 0:
        words[game // LANES, h] |= np.uint64(1) << np.uint64(game % LANES)
