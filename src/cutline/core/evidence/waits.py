"""Evidence from waiting times: exponential rewards."""

import math
from dataclasses import dataclass
from typing import ClassVar

from cutline.core.evidence.base import only
from cutline.core.evidence.gamma import GammaMixture, log_mixture_of_fewer, log_mixture_of_more
from cutline.core.problem import Problem


@dataclass(frozen=True)
class ExponentialMixture(GammaMixture):
    """The gamma mixture of likelihood ratios of exponential laws, cut off at the edge m.

    The prior of the rate, one over the mean, is Gamma(1/2, rate m/2), restricted to rates below 1/m
    for "above" and above 1/m for "below". n waits that took as long as total / m are n events of a
    Poisson process where total / m were expected, so the formula is that of counts: few events mean
    long waits. The likelihood ratio of a mean above m rises with every wait, so that it is a
    martingale at the edge and a supermartingale for smaller means; so is the average.

    No wait has a mean below 0: the evidence against such an edge is infinite, against an edge of 0
    once any time has passed; and nothing speaks against means of 0 or more, an e-value of 1.

    >>> round(ExponentialMixture.log_below(pulls=20.0, total=10.0, high=1.0), 4)
    2.8532
    >>> low, high = ExponentialMixture().interval({"pulls": 20.0, "total": 10.0}, math.log(20))
    >>> round(low, 4), round(high, 4)
    (0.2702, 1.0149)
    """

    name: ClassVar[str] = "exponential-mixture"
    assumes: ClassVar[str] = "rewards are exponential waiting times"

    def check(self, problem: Problem) -> None:
        """Waiting times."""
        only(self, problem, "exponential")

    @staticmethod
    def log_above(pulls: float, total: float, low: float) -> float:
        """Against means of ``low`` or less: fewer events than total / low."""
        if low <= 0.0:
            return math.inf if low < 0.0 or total > 0.0 else 0.0
        return log_mixture_of_fewer(pulls, min(total / low, 1e300))

    @staticmethod
    def log_below(pulls: float, total: float, high: float) -> float:
        """Against means of ``high`` or more: more events than total / high."""
        if high <= 0.0:
            return 0.0
        return log_mixture_of_more(pulls, min(total / high, 1e300))
