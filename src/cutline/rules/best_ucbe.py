"""UCB-E as published, for the best arm (Audibert, Bubeck and Munos 2010)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.core.theory import separating_gaps
from cutline.rules.base import IndexRule, one_threshold


@dataclass(frozen=True)
class BestUCBE(IndexRule):
    r"""Pull the arm with the highest optimistic mean, with a width that does not grow with time.

    .. math:: \hat\mu_i(t) + \sqrt{a / T_i(t)}, \qquad a = c\,\frac{T - K}{H_1},
              \qquad H_1 = \sum_i \Delta_i^{-2}

    with the gaps to the highest mean (that of the best arm: to the second). It names the arm with
    the highest mean seen, and must be told the horizon and H_1, which is taken from the true means
    unless ``complexity`` gives it. The theorem behind it has c up to 25/36.

    >>> from cutline.core import Tally
    >>> BestUCBE().index(Tally(4, 2.0), threshold=0.0, a=1.0)
    -1.0
    """

    name = "ucbe-best"
    needs_horizon: ClassVar[bool] = True

    c: float = 1.0
    complexity: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.c < 0:
            raise ValueError(f"c of UCB-E must be 0 or more, got {self.c!r}")
        if self.complexity is not None and self.complexity <= 0:
            raise ValueError(f"complexity of UCB-E must be above 0, got {self.complexity!r}")

    def check(self, problem: Problem) -> None:
        """Means are compared, of two arms or more."""
        one_threshold(self, problem)
        if len(problem.arms) < 2:
            raise ValueError("the best of 1 arm: nothing to find")

    @staticmethod
    def formula(pulls: float, total: float, a: float) -> float:
        """The mean plus the width of its interval, negative."""
        return -total / pulls - math.sqrt(a / pulls)

    @staticmethod
    def merit(pulls: float, total: float) -> float:
        """The mean."""
        return total / pulls

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The exploration rate a for this horizon."""
        H = self.complexity
        if H is None:
            if means is None:
                raise ValueError("UCB-E must know the complexity: give BestUCBE(c, complexity=H)")
            H = float(np.sum(separating_gaps(means, 1) ** -2.0))
        return {"a": self.c * max(budget - len(problem.arms), 0) / H}
