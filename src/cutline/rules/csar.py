"""CSAR for thresholds: successive accepts and rejects (Chen et al. 2014)."""

import math
from dataclasses import dataclass, field

from cutline.core.tally import Floats
from cutline.rules.base import Policy


def phase_length(phase: int, arms: int, budget: float) -> int:
    """Pulls that every open arm has at the end of a phase (counted from 1).

    N_k = ceil((T - K) / (log~(K) (K + 1 - k))), log~(K) = sum of 1/i for i up to K.

    >>> [phase_length(k, 10, 500) for k in range(1, 11)]
    [17, 19, 21, 24, 28, 34, 42, 56, 84, 168]
    """
    harmonic = 0.0
    for i in range(1, arms + 1):
        harmonic += 1.0 / i
    return math.ceil(max(budget - arms, 0.0) / (harmonic * (arms + 1 - phase)))


def furthest_open(pulls: Floats, total: Floats, tau: Floats, memory: Floats, arms: int) -> int:
    """The open arm whose mean is furthest from its threshold; all open arms have equal pulls."""
    furthest, distance = -1, -1.0
    for j in range(arms):
        away = abs(total[j] - pulls[j] * tau[j])
        if memory[3 + j] == 0.0 and away > distance:
            furthest, distance = j, away
    return furthest


@dataclass(frozen=True)
class CSAR(Policy):
    """Pull all open arms alike in K phases; after each, close the arm furthest from its threshold.

    A closed arm keeps its side, as it is not pulled again. Phase lengths are rounded, so a few
    pulls are left at the end (7 of 500 for 10 arms): they stay unspent as published, and the mean
    pulls of a result show it; with ``spend=1`` they go to the arm that was open longest. The rule
    must know the horizon and pays no heed to the precision.
    """

    name = "csar"

    spend: float = field(default=0.0, kw_only=True)

    def memory(self, arms: int) -> int:
        """The phase, its length, the arm to look at next, then a flag per arm that is closed."""
        return 3 + arms

    @staticmethod
    def choose(
        pulls: Floats,
        total: Floats,
        tau: Floats,
        memory: Floats,
        arms: int,
        budget: float,
        spend: float,
    ) -> int:
        """The open arms in turn, until each has had its share of this phase."""
        while True:
            for j in range(arms):
                i = (int(memory[2]) + j) % arms
                if memory[3 + i] == 0.0 and pulls[i] < memory[1]:
                    memory[2] = i + 1.0
                    return i
            if memory[0] == arms:  # the last phase is over, and one arm still open
                return furthest_open(pulls, total, tau, memory, arms) if spend > 0.0 else -1
            if memory[0] > 0.0:
                memory[3 + furthest_open(pulls, total, tau, memory, arms)] = 1.0
            memory[0] += 1.0
            memory[1] = phase_length(int(memory[0]), arms, budget)
