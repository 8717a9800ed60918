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
        """The next open arm that has not had its share of this phase."""
        while True:
            length = memory[1]
            i = int(memory[2])
            while i < arms:
                if memory[3 + i] == 0.0 and pulls[i] < length:
                    memory[2] = i
                    return i
                i += 1
            if memory[0] == arms:  # after the last phase one arm is still open
                if spend > 0.0:
                    for j in range(arms):
                        if memory[3 + j] == 0.0:
                            return j
                return -1
            if memory[0] > 0.0:
                furthest = -1
                for j in range(arms):
                    if memory[3 + j] == 0.0 and (
                        furthest < 0
                        or abs(total[j] - pulls[j] * tau[j])
                        > abs(total[furthest] - pulls[furthest] * tau[furthest])
                    ):
                        furthest = j
                memory[3 + furthest] = 1.0
            memory[0] += 1.0
            memory[1] = phase_length(int(memory[0]), arms, budget)
            memory[2] = 0.0
