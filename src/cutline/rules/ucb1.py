"""UCB1: the rule for reward rather than knowledge (Auer, Cesa-Bianchi and Fischer 2002)."""

import math
from dataclasses import dataclass

from cutline.core.problem import Problem
from cutline.rules.base import ClockedIndexRule, one_threshold


@dataclass(frozen=True)
class UCB1(ClockedIndexRule):
    r"""Pull the arm with the highest optimistic mean; it pays no heed to the threshold.

    .. math:: \hat\mu_i(t) + \sqrt{c \ln t / T_i(t)}

    c = 2 is the published rule, for rewards between 0 and 1 (or with that noise); for an R-sub-
    Gaussian arm take c = 8 R^2. As the smallest index is pulled, the index is the negative of it.

    >>> from cutline.core import Tally
    >>> round(UCB1().index(Tally(4, 2.0), threshold=0.0, step=10), 6)
    -1.572983
    """

    name = "ucb1"

    c: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.c < 0:
            raise ValueError(f"c of UCB1 must be 0 or more, got {self.c!r}")

    def check(self, problem: Problem) -> None:
        """Means are compared."""
        one_threshold(self, problem)

    @staticmethod
    def formula(pulls: float, total: float, step: float, c: float) -> float:
        """The mean plus the width of its interval, negative."""
        return -total / pulls - math.sqrt(c * math.log(step) / pulls)
