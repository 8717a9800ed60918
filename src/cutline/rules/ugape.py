"""UGapE for a fixed budget (Gabillon, Ghavamzadeh and Lazaric 2012)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.core.theory import separating_gaps
from cutline.rules.base import Policy, one_threshold


def nth_largest(values: Floats, n: int) -> float:
    """The n-th largest of some values, counted from 1.

    >>> import numpy as np
    >>> [nth_largest(np.array([3.0, 1.0, 3.0, 2.0]), n) for n in (1, 2, 3, 4)]
    [3.0, 3.0, 2.0, 1.0]
    """
    below, seen = math.inf, 0
    while True:
        largest, times = -math.inf, 0
        for i in range(len(values)):
            value = values[i]
            if value < below and value >= largest:
                times = times + 1 if value == largest else 1
                largest = value
        seen += times
        if seen >= n or times == 0:
            return float(largest)
        below = largest


@dataclass(frozen=True)
class UGapE(Policy):
    r"""Compare the m arms that look best with their strongest rival, and pull the less known one.

    With widths :math:`\beta_i = \sqrt{a/T_i}`, upper ends U and lower ends L, the regret that arm i
    may have is :math:`B_i = \max^{(m)}_{j \ne i} U_j - L_i`. J holds the m arms with the smallest
    B. Of its member with the lowest L and the outsider with the highest U, the one with fewer pulls
    is pulled; named are the J of the step at which its largest B was smallest.

    .. math:: a = c\,\frac{T - K}{H_\epsilon}, \qquad
              H_\epsilon = \sum_i \max\bigl(\tfrac{\Delta_i + \epsilon}{2}, \epsilon\bigr)^{-2}

    with the problem's precision as epsilon. It must be told the horizon and H, which is taken from
    the true means unless ``complexity`` gives it. The theorem has c = 1/4, which explores far too
    little at budgets one can afford; c = 4 makes the widths those of UCB-E.
    """

    name = "ugape"
    needs_horizon: ClassVar[bool] = True

    m: float = 1.0
    c: float = 4.0
    complexity: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.m < 1 or self.m != int(self.m):
            raise ValueError(f"m of UGapE is a whole number of arms, at least 1, got {self.m!r}")
        if self.c < 0:
            raise ValueError(f"c of UGapE must be 0 or more, got {self.c!r}")
        if self.complexity is not None and self.complexity <= 0:
            raise ValueError(f"complexity of UGapE must be above 0, got {self.complexity!r}")

    def check(self, problem: Problem) -> None:
        """Means are compared, with one precision; some arm must be left out."""
        one_threshold(self, problem)
        if len(set(problem.precision)) > 1 and self.precision is None:
            raise ValueError("ugape takes one precision for all arms")
        if self.m >= len(problem.arms):
            raise ValueError(f"the best {self.m:g} of {len(problem.arms)} arms: nothing to find")

    def memory(self, arms: int) -> int:
        """The smallest B so far and a flag for each arm then in J; room for U and B."""
        return 1 + 3 * arms

    @staticmethod
    def choose(
        pulls: Floats, total: Floats, memory: Floats, arms: int, step: int, a: float, m: float
    ) -> int:
        """Every arm once, then the less known of the two that matter."""
        if step < arms:
            return step
        upper, regret = memory[1 + arms : 1 + 2 * arms], memory[1 + 2 * arms : 1 + 3 * arms]
        for i in range(arms):
            upper[i] = total[i] / pulls[i] + math.sqrt(a / pulls[i])
        edge, behind = nth_largest(upper, int(m)), nth_largest(upper, int(m) + 1)
        for i in range(arms):
            lower = total[i] / pulls[i] - math.sqrt(a / pulls[i])
            regret[i] = (behind if upper[i] >= edge else edge) - lower
        last = -nth_largest(-regret, int(m))  # the largest B in J
        inside, outside, free = -1, -1, int(m)
        for i in range(arms):
            free -= 1 if regret[i] < last else 0
        better = step == arms or last < memory[0]
        if better:
            memory[0] = last
        for i in range(arms):
            member = regret[i] < last
            if regret[i] == last and free > 0:
                member = True
                free -= 1
            if better:
                memory[1 + i] = 1.0 if member else 0.0
            if member:
                low = total[i] / pulls[i] - math.sqrt(a / pulls[i])
                if inside < 0 or low < total[inside] / pulls[inside] - math.sqrt(a / pulls[inside]):
                    inside = i
            elif outside < 0 or upper[i] > upper[outside]:
                outside = i
        return inside if pulls[inside] < pulls[outside] else outside

    @staticmethod
    def merit(pulls: Floats, total: Floats, memory: Floats, place: int) -> float:
        """The arms of the best J so far, then by mean."""
        mean: float = total[place] / pulls[place]
        return mean + 1e300 if memory[1 + place] > 0.0 else mean

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The exploration rate a for this horizon."""
        H = self.complexity
        if H is None:
            if means is None:
                raise ValueError("UGapE must know the complexity: give UGapE(m, c, complexity=H)")
            eps = problem.precision[0] if self.precision is None else self.precision
            halves = np.maximum((separating_gaps(means, int(self.m)) + eps) / 2.0, eps)
            H = float(np.sum(halves**-2.0))
        return {"a": self.c * max(budget - len(problem.arms), 0) / H, "m": self.m}
