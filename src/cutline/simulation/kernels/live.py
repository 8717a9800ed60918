"""One game at a time, as it would go live: pulls in flight, evidence, stopping at a confidence."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cutline.core.chance import DELAY, RULE, uniform
from cutline.core.chance import chance as chance_of
from cutline.rules.base import LATE, MANY, STUCK, UNTOLD
from cutline.simulation.grounds import NULL, TOP_ABOVE, TOP_BELOW, Grounds
from cutline.simulation.kernels.shared import add_reward, note_game, wrongness
from cutline.simulation.parts import ARM, PULLS, TOTAL, Parts


def live_kernel(
    parts: Parts, grounds: Grounds, delay: Callable[..., float], first_pulls: int, shape: str
) -> Callable[..., Any]:
    """Any rule, one game after another; ``shape`` is index, clocked or policy.

    A pull in flight counts as one that returned its arm's mean: the rule sees the arm's numbers
    (``seen``) with that many such pulls added. Evidence takes an arm's rewards in the order in
    which they were asked for; since a reward is a function of the pull's number, the ones that have
    waited for an earlier pull are drawn again when their turn comes.

    Index rules leave out closed arms, those whose side is proven. When all are closed, the game
    stops.
    """
    rows, tau_row, changing = len(parts.layout.rows), parts.layout.tau, parts.layout.changing
    squares_row = parts.layout.squares
    index = parts.index if parts.index is not None else no_index
    draw, learn, is_above, pick = parts.draw, parts.learn, parts.above, parts.pick
    judge, judged = parts.judge, parts.judged
    weigh, grounds_rows = grounds.weigh, len(grounds.rows)
    by_index, clocked = shape == "index", shape == "clocked"

    def kernel(  # type: ignore[no-untyped-def]
        key0, key1, first_game, games, orders, start, common, settings, table, memory_size,
        horizons, out, live,
    ):  # fmt: skip
        _, _, _, pulls_sum, _, picks = out
        W, in_order, bar, ground, spent, levels, found_sum, found_games, open_count, finals = live
        stops = bar < np.inf  # an e-value may be infinite, which proves nothing where none is asked
        K = start.shape[1]
        T = horizons[-1]
        told = np.empty(rows * K)  # what has been told
        seen = np.empty(rows * K)  # the same with pulls in flight
        proof = np.empty(grounds_rows * K)
        one = np.empty(rows)
        memory = np.empty(memory_size)
        asked = np.empty(K, np.int64)
        flying = np.empty(K, np.int64)
        fed = np.empty(K, np.int64)
        closed = np.empty(K, np.bool_)
        merits = np.empty(K)
        leaves = 1
        while leaves < K:
            leaves *= 2
        values = np.empty(leaves)
        best = np.empty(2 * leaves, np.int64)  # a tree of the arms with the lowest index
        slot_arm = np.empty(W, np.int64)
        slot_pull = np.empty(W, np.int64)
        slot_reward = np.empty(W)
        slot_end = np.empty(W)
        slot_number = np.empty(W, np.int64)
        for g in range(games):
            game = first_game + g
            wrong = 0.0
            for k in range(K):
                arm = orders[g, k]
                for r in range(rows):
                    told[r * K + k] = start[r, arm]
                    seen[r * K + k] = start[r, arm]
                for r in range(grounds_rows):
                    proof[r * K + k] = ground[r, arm]
                wrong += wrongness(told, K, k, False)
            memory[:] = 0.0
            asked[:] = 0
            flying[:] = 0
            fed[:] = 0
            closed[:] = False
            values[:] = np.inf
            for k in range(leaves):
                best[leaves + k] = k
                if k < K:
                    values[k] = UNTOLD
            for node in range(leaves - 1, 0, -1):
                left, right = best[2 * node], best[2 * node + 1]
                best[node] = left if values[left] <= values[right] else right
            slot_end[:] = np.inf
            now = 0.0
            asked_all, told_all, in_air, found, h = 0, 0, 0, 0, 0
            open_arms = K
            asking = True
            worst = 0.0
            while told_all < T and open_arms > 0:
                k = -1
                ask = asking and in_air < W and asked_all < T
                if ask:  # hand out one pull
                    if by_index:
                        k = best[1]
                    elif clocked:
                        lowest = np.inf
                        for i in range(K):
                            value = np.inf
                            if closed[i]:
                                continue
                            if told[PULLS * K + i] < first_pulls:
                                value = untold(asked[i], flying[i])
                            else:
                                value = min(index(seen, K, i, asked_all, settings), LATE)
                            if value < lowest:
                                lowest, k = value, i
                    else:
                        chance = chance_of(key0, key1, game, 0, asked_all, RULE)
                        k = pick(seen, K, memory, asked_all, settings, chance, uniform(chance, 0))
                        if not -1 <= k < K:
                            raise ValueError("choose must return the place of an arm, or -1")
                    if k < 0:
                        asking = False
                        continue
                    for r in range(rows):
                        one[r] = told[r * K + k]
                    one[PULLS] = asked[k]
                    reward = draw(one, 1, 0, key0, key1, game, table)
                    arm = int(one[ARM])
                    luck = uniform(chance_of(key0, key1, game, arm, asked[k], DELAY), 0)
                    s = 0
                    while slot_end[s] < np.inf:
                        s += 1
                    slot_arm[s], slot_pull[s], slot_reward[s] = k, asked[k], reward
                    wait = delay(reward, one[tau_row], luck)
                    if not 0.0 <= wait < np.inf:
                        raise ValueError("a delay must be 0 or more, and not infinite")
                    slot_end[s] = now + wait
                    slot_number[s] = asked_all
                    if picks.shape[0] > 0:
                        picks[asked_all, g] = arm
                    asked[k] += 1
                    flying[k] += 1
                    in_air += 1
                    asked_all += 1
                    if W == 1:
                        continue
                else:  # wait for the next result
                    if in_air == 0:
                        break
                    s = 0
                    for i in range(1, W):
                        if slot_end[i] < slot_end[s] or (
                            slot_end[i] == slot_end[s] and slot_number[i] < slot_number[s]
                        ):
                            s = i
                    k = slot_arm[s]
                    now = slot_end[s]
                    slot_end[s] = np.inf
                    reward = slot_reward[s]
                    before = wrongness(told, K, k, is_above(told, K, k, settings))
                    learn(told, K, k, reward, told_all, settings)
                    add_reward(told, K, k, reward, squares_row)
                    side = is_above(told, K, k, settings)
                    wrong += wrongness(told, K, k, side) - before
                    flying[k] -= 1
                    in_air -= 1
                    told_all += 1
                    turn = fed[k] + 1
                    if W > 1 and in_order:  # all before the first that is still in flight
                        turn = asked[k]
                        for i in range(W):
                            if slot_end[i] < np.inf and slot_arm[i] == k:
                                turn = min(turn, slot_pull[i])
                    was_found = proof[TOP_ABOVE * K + k] >= bar
                    while fed[k] < turn:
                        if W > 1 and in_order:
                            for r in range(rows):
                                one[r] = told[r * K + k]
                            one[PULLS] = fed[k]
                            reward = draw(one, 1, 0, key0, key1, game, table)
                        weigh(proof, K, k, reward, told_all)
                        fed[k] += 1
                    above, below = proof[TOP_ABOVE * K + k], proof[TOP_BELOW * K + k]
                    null = proof[NULL * K + k]
                    if null != 0.0:
                        worst = max(worst, above if null < 0.0 else below)
                    if stops and above >= bar and not was_found:
                        found_sum[found] += asked_all
                        found_games[found] += 1
                        found += 1
                    is_closed = stops and (above if side else below) >= bar
                    open_arms += int(closed[k]) - int(is_closed)
                    closed[k] = is_closed
                    if h < horizons.shape[0] and told_all == horizons[h]:
                        worse, regret = wrong, 0.0
                        if judged:
                            worse, regret = judge(told, K, memory, told_all - 1, settings, merits)
                        note_game(worse, regret, g, h, out)
                        h += 1
                # The arm as the rule is to see it from now on.
                n = told[PULLS * K + k]
                seen[PULLS * K + k] = n
                seen[TOTAL * K + k] = told[TOTAL * K + k]
                for r in range(changing, tau_row):
                    seen[r * K + k] = told[r * K + k]
                total = told[TOTAL * K + k]
                mean = total / n if n > 0.0 else told[tau_row * K + k]
                for _ in range(flying[k]):
                    learn(seen, K, k, mean, told_all, settings)
                    seen[PULLS * K + k] += 1.0
                    pulls = seen[PULLS * K + k]
                    seen[TOTAL * K + k] = total * pulls / n if n > 0.0 else mean * pulls
                if squares_row > 0 and n > 0.0:
                    seen[squares_row * K + k] *= seen[PULLS * K + k] / n
                if by_index:
                    if closed[k]:
                        values[k] = np.inf
                    elif n < first_pulls:
                        values[k] = untold(asked[k], flying[k])
                    else:
                        values[k] = min(index(seen, K, k, asked_all, settings), LATE)
                    node = (leaves + k) // 2
                    while node > 0:
                        left, right = best[2 * node], best[2 * node + 1]
                        best[node] = left if values[left] <= values[right] else right
                        node //= 2
            while h < horizons.shape[0]:
                worse, regret = wrong, 0.0
                if judged:
                    worse, regret = judge(told, K, memory, told_all - 1, settings, merits)
                note_game(worse, regret, g, h, out)
                h += 1
            spent[g] = asked_all
            levels[g] = worst
            for k in range(K):
                arm = orders[g, k]
                pulls_sum[arm] += asked[k]
                open_count[g] += int(not closed[k])
                open_count[games + arm] += int(not closed[k])
                if finals.shape[0] > 0:
                    finals[g, 0, arm] = told[PULLS * K + k]
                    finals[g, 1, arm] = told[TOTAL * K + k]
                    finals[g, 2, arm] = told[squares_row * K + k] if squares_row > 0 else np.nan

    return kernel


def untold(asked, flying):  # type: ignore[no-untyped-def]
    """Where an arm stands that has not been told often enough to have an index."""
    return UNTOLD / (1.0 + asked) if flying < MANY else STUCK * (1.0 + asked)


def no_index(columns, width, i, step, settings):  # type: ignore[no-untyped-def]
    """A policy has no index."""
    return 0.0
