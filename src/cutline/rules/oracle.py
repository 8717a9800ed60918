"""The static optimum: pulls fixed beforehand, by gaps nobody knows."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import IndexRule


class Oracle(IndexRule):
    """Pull every arm in proportion to 1 / gap^2, with the true gaps.

    The near-optimal static strategy that APT imitates (Section 2.3): it keeps T_k Delta_k^2 alike
    for all arms. A yardstick, not a rule to use: it must be told the means, and pays no heed to
    rewards. With equal gaps it is round robin.

    >>> from cutline.core import Tally
    >>> Oracle().index(Tally(4, 1.0), threshold=0.5, gap=0.25)
    0.25
    """

    name = "oracle"
    keeps: ClassVar[tuple[str, ...]] = ("gap",)

    def start(self, problem: Problem, means: Sequence[float] | Floats | None) -> Floats:
        """The gaps, which never change."""
        if means is None:
            raise ValueError("the oracle must be told the means: it is for simulation only")
        gaps = problem.gaps(means, self.precision)
        if np.any(gaps == 0):
            raise ValueError("the oracle has no use for an arm whose mean is its threshold")
        return gaps[np.newaxis]

    @staticmethod
    def learn(gap: float) -> float:
        """Nothing is learned."""
        return gap

    @staticmethod
    def formula(pulls: float, gap: float) -> float:
        """T_i Delta_i^2."""
        return pulls * gap * gap
