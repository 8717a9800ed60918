"""Evidence from counts: Poisson rewards."""

import math
from dataclasses import dataclass
from typing import ClassVar

from cutline.core.evidence.base import only
from cutline.core.evidence.gamma import GammaMixture, log_mixture_of_fewer, log_mixture_of_more
from cutline.core.problem import Problem


@dataclass(frozen=True)
class PoissonMixture(GammaMixture):
    r"""The gamma mixture of likelihood ratios of Poisson laws, cut off at the edge m.

    The prior of the mean is Gamma(1/2, rate 1/(2m)), restricted to means above m for "above" and
    below m for "below". The likelihood ratio of a mean above m rises with every reward, so its own
    mean is 1 where rewards have the mean m, and less where they have a smaller one: a martingale at
    the edge and a supermartingale for all of the hypothesis. The same holds for the average.

    Against an edge below 0 the evidence is infinite, as no law is there; against an edge of 0 once
    anything was counted. All laws have means of 0 or more: the e-value against that is 1.

    >>> round(PoissonMixture.log_above(pulls=10.0, total=20.0, low=1.0), 4)
    2.8532
    >>> low, high = PoissonMixture().interval({"pulls": 10.0, "total": 20.0}, math.log(20))
    >>> round(low, 4), round(high, 4)
    (0.9853, 3.7003)
    """

    name: ClassVar[str] = "poisson-mixture"
    assumes: ClassVar[str] = "rewards are Poisson counts"

    def check(self, problem: Problem) -> None:
        """Counts."""
        only(self, problem, "poisson")

    @staticmethod
    def log_above(pulls: float, total: float, low: float) -> float:
        """Against means of ``low`` or less: more events than pulls * low."""
        if low < 0.0 or (low == 0.0 and total > 0.0):
            return math.inf
        return log_mixture_of_more(total, pulls * low)

    @staticmethod
    def log_below(pulls: float, total: float, high: float) -> float:
        """Against means of ``high`` or more: fewer events than pulls * high."""
        if high <= 0.0:
            return 0.0
        return log_mixture_of_fewer(total, pulls * high)
