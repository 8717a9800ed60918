"""Successive accepts and rejects for the best arms (Bubeck, Wang and Viswanathan 2013)."""

import math
from dataclasses import dataclass

from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import Policy, one_threshold


def phase_pulls(phase: int, arms: int, budget: float) -> int:
    """Pulls that every open arm has at the end of a phase (counted from 1, up to K - 1).

    n_k = ceil((T - K) / (log(K) (K + 1 - k))) with log(K) = 1/2 + sum of 1/i for i from 2 to K.

    >>> [phase_pulls(k, 10, 500) for k in range(1, 10)]
    [21, 23, 26, 29, 34, 41, 51, 68, 101]
    """
    log = 0.5
    for i in range(2, arms + 1):
        log += 1.0 / i
    return math.ceil(max(budget - arms, 0.0) / (log * (arms + 1 - phase)))


def close_one(total: Floats, memory: Floats, arms: int) -> None:
    """Accept the best open arm or reject the worst, whichever is further from the edge.

    Open arms have equal pulls, so sums stand for means, and keep ties exact. ``memory[3]`` counts
    the arms still to be accepted; ``memory[4 + i]`` is 1 for an accepted arm, -1 for a rejected.
    """
    best, worst, last_in, first_out = -1, -1, -1, -1
    left = int(memory[3])
    for i in range(arms):
        if memory[4 + i] != 0.0:
            continue
        rank = 0
        for j in range(arms):  # the place of i among the open arms, the first of equals first
            ahead = total[j] > total[i] or (total[j] == total[i] and j < i)
            rank += 1 if memory[4 + j] == 0.0 and ahead else 0
        if rank == 0:
            best = i
        if rank == left - 1:
            last_in = i
        if rank == left:
            first_out = i
        if worst < 0 or total[i] <= total[worst]:
            worst = i
    accept = left > 0
    if last_in >= 0 and first_out >= 0:
        accept = total[best] - total[first_out] > total[last_in] - total[worst]
    if accept:
        memory[4 + best] = 1.0
        memory[3] -= 1.0
    else:
        memory[4 + worst] = -1.0


@dataclass(frozen=True)
class SAR(Policy):
    """Pull all open arms alike in K - 1 phases; after each, accept the best or reject the worst.

    For the ``m`` best arms. With m = 1 the worst is rejected each time: that is Successive Rejects
    (Audibert, Bubeck and Munos 2010). It must know the horizon, pays no heed to the threshold, and
    leaves a few pulls unspent, as published.
    """

    name = "sar"

    m: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.m < 1 or self.m != int(self.m):
            raise ValueError(f"m of SAR is a whole number of arms, at least 1, got {self.m!r}")

    def check(self, problem: Problem) -> None:
        """Means are compared; some arm must be left out."""
        one_threshold(self, problem)
        if self.m >= len(problem.arms):
            raise ValueError(f"the best {self.m:g} of {len(problem.arms)} arms: nothing to find")

    def memory(self, arms: int) -> int:
        """The phase, its length, the arm to look at next, arms to accept; then a flag per arm."""
        return 4 + arms

    @staticmethod
    def choose(
        pulls: Floats, total: Floats, memory: Floats, arms: int, budget: float, m: float
    ) -> int:
        """The open arms in turn, until each has had its share of this phase."""
        while True:
            for j in range(arms):
                i = (int(memory[2]) + j) % arms
                if memory[4 + i] == 0.0 and pulls[i] < memory[1]:
                    memory[2] = i + 1.0
                    return i
            if memory[0] == 0.0:
                memory[3] = m
            elif memory[0] < arms:
                close_one(total, memory, arms)
            if memory[0] >= arms - 1.0:
                return -1
            memory[0] += 1.0
            memory[1] = max(phase_pulls(int(memory[0]), arms, budget), 1)

    @staticmethod
    def merit(pulls: Floats, total: Floats, memory: Floats, place: int) -> float:
        """Accepted arms first, rejected ones last, open ones by their mean."""
        merit: float = total[place] / pulls[place]
        if memory[4 + place] > 0.0:
            merit = 1e300
        if memory[4 + place] < 0.0:
            merit = -1e300
        return merit
