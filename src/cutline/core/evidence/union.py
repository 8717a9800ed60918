"""Published stopping rules as evidence: bounds by a union over time.

One over their "e-value" is a p-value that holds at all times at once, since the chances of being
misled at each are summed; its mean is not bounded by 1, so it is no e-value proper. They are here
so that published rules can be played as printed, against the level log(K / delta); the mixtures
reach the same level with fewer pulls.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from cutline.core.evidence.base import Evidence, constant, only, width
from cutline.core.problem import Problem
from cutline.core.tally import Floats


@dataclass(frozen=True)
class Hoeffding(Evidence):
    r"""Hoeffding's inequality at every number of pulls, as Kano and others (2019) use it.

    An arm is above once :math:`\hat\mu - \sqrt{\ln(4Kn^2/\delta)/(2n)} \ge \tau`, for rewards
    mapped to [0, 1]. A p-value bound by a union over the arm's pulls, looser than the mixtures.

    >>> round(Hoeffding.log_above(pulls=100.0, total=70.0, low=0.5, width=1.0), 4)  # 8 - ln 4e4
    -2.5966
    """

    name: ClassVar[str] = "hoeffding"
    e_value: ClassVar[bool] = False
    assumes: ClassVar[str] = "rewards stay in their range"

    def check(self, problem: Problem) -> None:
        """Rewards must lie in a range."""
        only(self, problem, "binary", "bounded")

    def columns(self, problem: Problem) -> Mapping[str, Floats]:
        """The edges and the range."""
        return {**super().columns(problem), "width": constant(problem, width(problem))}

    @staticmethod
    def log_above(pulls: float, total: float, low: float, width: float) -> float:
        """2 n gap^2 - ln(4 n^2), where the mean is ``gap`` above the edge."""
        if pulls <= 0.0:
            return -math.inf
        gap = max(total - pulls * low, 0.0) / width
        return 2.0 * gap * gap / pulls - math.log(4.0 * pulls * pulls)

    @staticmethod
    def log_below(pulls: float, total: float, high: float, width: float) -> float:
        """2 n gap^2 - ln(4 n^2), where the mean is ``gap`` below the edge."""
        if pulls <= 0.0:
            return -math.inf
        gap = max(pulls * high - total, 0.0) / width
        return 2.0 * gap * gap / pulls - math.log(4.0 * pulls * pulls)

    def interval(self, state: Mapping[str, float], log_level: float) -> tuple[float, float]:
        """The mean, give or take, within the range."""
        n, size = state["pulls"], state["width"]
        if n == 0.0:
            return 0.0, size
        reach = size * math.sqrt(max(log_level + math.log(4.0 * n * n), 0.0) / (2.0 * n))
        return max(state["total"] / n - reach, 0.0), min(state["total"] / n + reach, size)


@dataclass(frozen=True)
class CLUCB(Evidence):
    r"""The radius of CLUCB (Chen and others, 2014): a union over the steps of the whole game.

    An arm is open while its mean is within :math:`R\sqrt{2\ln(4Kt^3/\delta)/n}` of the threshold,
    where t counts the pulls of all arms and R is the sub-Gaussian scale: half the range, or the sd.
    A p-value bound, looser than the mixtures, and the looser the longer the game.

    >>> round(CLUCB.log_above(pulls=100.0, total=70.0, low=0.5, step=100.0, scale=0.5), 4)
    -7.2018
    """

    name: ClassVar[str] = "clucb"
    e_value: ClassVar[bool] = False
    assumes: ClassVar[str] = "rewards stay in their range, or are normal with the given sd"

    def check(self, problem: Problem) -> None:
        """Rewards in a range, or gaussian ones whose sd is given."""
        only(self, problem, "binary", "bounded", "gaussian")
        if problem.rewards.kind == "gaussian" and problem.sds is None:
            raise ValueError(
                'clucb needs the sd of gaussian rewards, as in Rewards("gaussian", sd=1.0): '
                "it is the scale of its radius"
            )

    def columns(self, problem: Problem) -> Mapping[str, Floats]:
        """The edges and the scale."""
        self.check(problem)
        sds = problem.sds
        scale = constant(problem, 0.5 * width(problem)) if sds is None else sds
        return {**super().columns(problem), "scale": scale}

    @staticmethod
    def log_above(pulls: float, total: float, low: float, step: float, scale: float) -> float:
        """n gap^2 / (2 R^2) - ln(4 t^3), where the mean is ``gap`` above the edge."""
        if pulls <= 0.0:
            return -math.inf
        gap = max(total - pulls * low, 0.0) / scale
        return 0.5 * gap * gap / pulls - math.log(4.0 * step * step * step)

    @staticmethod
    def log_below(pulls: float, total: float, high: float, step: float, scale: float) -> float:
        """n gap^2 / (2 R^2) - ln(4 t^3), where the mean is ``gap`` below the edge."""
        if pulls <= 0.0:
            return -math.inf
        gap = max(pulls * high - total, 0.0) / scale
        return 0.5 * gap * gap / pulls - math.log(4.0 * step * step * step)

    def interval(self, state: Mapping[str, float], log_level: float) -> tuple[float, float]:
        """The mean, give or take; needs the ``step`` in the state."""
        n, t = state["pulls"], state["step"]
        if n == 0.0:
            return -math.inf, math.inf
        reach = state["scale"] * math.sqrt(2.0 * max(log_level + math.log(4.0 * t**3), 0.0) / n)
        return state["total"] / n - reach, state["total"] / n + reach
