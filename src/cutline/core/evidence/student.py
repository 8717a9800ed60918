"""Evidence from normal rewards whose spread is not known: a Student-t test at every look."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from cutline.core.evidence.base import Evidence, constant, only
from cutline.core.evidence.edges import edge_where
from cutline.core.problem import Problem
from cutline.core.tails import log_student_cdf
from cutline.core.tally import Floats


def log_t_mixture(n: float, s: float, Q: float, c2: float) -> float:
    r"""The logarithm of the e-value of n rewards with the sum s and the sum of squares Q.

    Both are counted from the edge.

    .. math:: 2\sqrt{\frac{c^2}{n+c^2}}\,\Bigl(\frac{(n+c^2)Q}{D}\Bigr)^{n/2}
        F_{t,n}\Bigl(\frac{\sqrt n\,s}{\sqrt D}\Bigr),\qquad D = (n+c^2)Q - s^2

    >>> round(log_t_mixture(10.0, 4.0, 6.0, 1.0), 10)
    0.828999369
    >>> log_t_mixture(0.0, 0.0, 0.0, 1.0)
    0.0
    """
    front = 0.5 * math.log(c2 / (n + c2))
    if n <= 0.0:
        return 0.0
    Q = max(Q, s * s / n)  # less can only be rounding
    if Q <= 0.0:
        return front
    D = c2 * Q + max(n * Q - s * s, 0.0)
    power = -0.5 * n * math.log(D / ((n + c2) * Q))
    return math.log(2.0) + front + power + log_student_cdf(math.sqrt(n / D) * s, n)


@dataclass(frozen=True)
class TMixture(Evidence):
    """The one-sided t-mixture: normal rewards, the variance of an arm known to nobody.

    The effect size (mean - edge) / sd has a half-normal prior of sd 1/c, the sd the right Haar
    prior; the ratio then depends on the rewards only up to their scale, and is a martingale at the
    edge whatever the sd. It rises when all rewards are shifted up, so that smaller means give it
    smaller chances to cross any level. What it promises is about crossing, at any time; it does not
    hold for skewed rewards: those like 1 - Exp(1) cross 20 in 13 to 18 of 100 games.

    ``c2`` is the number of pulls that the prior counts for.

    >>> evidence = TMixture()
    >>> state = {"pulls": 10.0, "total": 4.0, "squares": 6.0, "c2": 4.0}
    >>> [round(end, 4) for end in evidence.interval(state, math.log(20))]
    [-0.451, 1.251]
    """

    name: ClassVar[str] = "t-mixture"
    e_value: ClassVar[bool] = False  # its mean is 1 only where looks do not depend on the scale
    assumes: ClassVar[str] = "rewards are normal, with any variance"

    c2: float = 4.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.c2) and self.c2 > 0):
            raise ValueError(
                f"c2 must be above 0, got {self.c2!r}: it is how many pulls the prior counts for"
            )

    def check(self, problem: Problem) -> None:
        """Normal rewards."""
        only(self, problem, "gaussian")

    def columns(self, problem: Problem) -> Mapping[str, Floats]:
        """The edges, and the weight of the prior."""
        return {**super().columns(problem), "c2": constant(problem, self.c2)}

    @staticmethod
    def log_above(pulls: float, total: float, squares: float, low: float, c2: float) -> float:
        """Against means of ``low`` or less."""
        Q = squares - 2.0 * low * total + pulls * low * low
        return log_t_mixture(pulls, total - pulls * low, Q, c2)

    @staticmethod
    def log_below(pulls: float, total: float, squares: float, high: float, c2: float) -> float:
        """Against means of ``high`` or more."""
        Q = squares - 2.0 * high * total + pulls * high * high
        return log_t_mixture(pulls, pulls * high - total, Q, c2)

    def interval(self, state: Mapping[str, float], log_level: float) -> tuple[float, float]:
        """As far from the mean on either side; without end while there are few rewards."""
        n, c2 = state["pulls"], state["c2"]
        if n == 0.0:
            return -math.inf, math.inf
        mean = state["total"] / n
        around = max(state["squares"] - n * mean * mean, 0.0)

        def excess(far: float) -> float:
            return log_t_mixture(n, n * far, around + n * far * far, c2) - log_level

        reach = edge_where(excess, 0.0, math.inf)
        return mean - reach, mean + reach
