"""Which kinds of reward a rule is for, and the length it measures them in."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import Rule


def unit_width(problem: Problem) -> float:
    """The length that rewards are measured in where a rule was made for rewards from 0 to 1.

    It is the width of their range; twice the standard deviation of normal rewards where that is
    known (the largest one: a reward in [0, 1] is sub-Gaussian with 1/2); else 1, and rewards count
    as they are.

    >>> from cutline.core import Rewards
    >>> unit_width(Problem(arms=2, threshold=0.5, rewards=Rewards("bounded", -1, 3)))
    4.0
    >>> unit_width(Problem(arms=2, threshold=0.5, rewards=Rewards("gaussian", sd=[0.5, 2.0])))
    4.0
    >>> unit_width(Problem(arms=2, threshold=0.5, rewards="poisson"))
    1.0
    """
    low, high = problem.rewards.low, problem.rewards.high
    assert low is not None and high is not None
    if np.isfinite(high - low):
        return float(high - low)
    return 1.0 if problem.sds is None else 2.0 * float(np.max(problem.sds))


def in_a_range(name: str, problem: Problem, *others: str) -> None:
    """Refuse rewards that do not lie in a range, for a rule that is made for those alone.

    ``others`` are kinds of reward that the rule takes as well.
    """
    kind = problem.rewards.kind
    if kind not in ("binary", "bounded", *others):
        also = f" (or {', '.join(others)} ones)" if others else ""
        raise ValueError(f"{name} is for rewards in a range{also}, these are {kind}")


def only(kind: str, rule: Rule, problem: Problem) -> None:
    """Refuse all kinds of reward but one."""
    if problem.rewards.kind != kind:
        raise ValueError(f"{rule.name} is for {kind} rewards, these are {problem.rewards.kind}")


class InUnits(Rule):
    """A rule whose functions ask for ``width``, the length that rewards are measured in."""

    needs_horizon: ClassVar[bool | None] = False

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The fields, and the width; sums are counted from the lower end of the range."""
        own = super().settings(problem, budget, means)
        return {**own, "width": unit_width(problem)}
