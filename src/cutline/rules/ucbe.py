"""UCBE for thresholds: the upper-confidence rule the paper compares with."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import IndexRule


@dataclass(frozen=True)
class UCBE(IndexRule):
    r"""Pull the arm with the smallest optimistic gap (Section 4, after Audibert et al. 2010).

    .. math:: \hat\Delta_i(t) - \sqrt{a / T_i(t)}, \qquad a = c\,\frac{T - K}{H}

    A yardstick, not a rule to use: it must be told the horizon T and the complexity H, which is
    taken from the true means unless ``complexity`` gives it. The paper plays c = 1/4, 1 and 256.

    >>> from cutline.core import Tally
    >>> round(UCBE().index(Tally(20, 13.0), threshold=0.5, precision=0.1, a=3.0), 10)
    -0.1372983346
    """

    name = "ucbe"
    needs_horizon: ClassVar[bool] = True

    c: float = 1.0
    complexity: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.c < 0:
            raise ValueError(f"c of UCBE must be 0 or more, got {self.c!r}")
        if self.complexity is not None and self.complexity <= 0:
            raise ValueError(f"complexity of UCBE must be above 0, got {self.complexity!r}")

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float, a: float) -> float:
        """The empirical gap less the width of its confidence interval."""
        return abs(total - pulls * tau) / pulls + eps - math.sqrt(a / pulls)

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The exploration rate a for this horizon."""
        H = self.complexity
        if H is None:
            if means is None:
                raise ValueError(
                    "UCBE must know the complexity H of the problem: give UCBE(c, complexity=H)"
                )
            H = problem.complexity(means, self.precision)
            if math.isinf(H):
                raise ValueError(
                    "UCBE cannot work where a mean is its threshold and the precision 0: the "
                    "complexity is infinite. For the best arm there is ucbe-best"
                )
        return {"a": self.c * max(budget - len(problem.arms), 0) / H}
