"""Evidence from normal rewards of known spread, and from all that have lighter tails."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cutline.core.evidence.base import Evidence, only
from cutline.core.evidence.edges import edge_where
from cutline.core.problem import Problem
from cutline.core.tails import log_normal_mills
from cutline.core.tally import Floats

_HALF_LOG_2PI = 0.9189385332046727


def log_normal_mixture(s: float, V: float, rho: float) -> float:
    r"""The logarithm of the e-value of a sum ``s`` of centred rewards, of variance at most ``V``.

    .. math:: \tfrac12 \ln\frac{4\rho}{V+\rho} + \frac{s^2}{2(V+\rho)}
        + \ln\Phi\Bigl(\frac{s}{\sqrt{V+\rho}}\Bigr)

    the mean of exp(lambda s - lambda^2 V / 2) over lambda = \|N(0, 1/rho)\| (Howard and others,
    2021, one-sided normal mixture).

    >>> log_normal_mixture(0.0, 0.0, 1.0)
    0.0
    >>> round(log_normal_mixture(10.0, 25.0, 5.0), 10)
    1.4294000395
    """
    if s == 0.0:
        return 0.5 * math.log(rho / (V + rho))
    front = 0.5 * math.log(4.0 * rho / (V + rho)) - _HALF_LOG_2PI
    return front + log_normal_mills(s / math.sqrt(V + rho))


@dataclass(frozen=True)
class NormalMixture(Evidence):
    """The one-sided normal mixture of rewards whose scale is known.

    For each lambda of 0 or more, exp(lambda (x - m) - lambda^2 sd^2 / 2) has a mean of at most 1
    where the mean of x is m or less, and so has the average over lambda. The prior puts the mean
    about sd^2 / sqrt(rho) beyond the edge: at one sd, or at sqrt(2 precision / sd) of them where
    the precision is fine enough to make that less. It must not depend on the rewards.

    >>> evidence = NormalMixture()
    >>> state = {"pulls": 25.0, "total": 10.0, "sd": 1.0, "rho": 5.0}
    >>> [round(end, 4) for end in evidence.interval(state, math.log(20))]
    [-0.1546, 0.9546]
    """

    name: ClassVar[str] = "normal-mixture"
    assumes: ClassVar[str] = "rewards are normal with the given sd, or have lighter tails"

    def check(self, problem: Problem) -> None:
        """Gaussian rewards whose sd is given."""
        only(self, problem, "gaussian")
        if problem.sds is None:
            raise ValueError(
                'normal-mixture needs the sd of the rewards, as in Rewards("gaussian", sd=1.0): '
                "where it is not known see t-mixture"
            )

    def columns(self, problem: Problem) -> Mapping[str, Floats]:
        """The edges, the scale of the rewards, and rho."""
        self.check(problem)
        assert problem.sds is not None
        sd, eps = problem.sds, problem.precisions
        pulls = np.ones_like(sd)
        np.divide(sd, 2.0 * eps, out=pulls, where=eps > 0)
        return {**super().columns(problem), "sd": sd, "rho": sd**2 * np.maximum(pulls, 1.0)}

    @staticmethod
    def log_above(pulls: float, total: float, low: float, sd: float, rho: float) -> float:
        """Against means of ``low`` or less."""
        return log_normal_mixture(total - pulls * low, pulls * sd * sd, rho)

    @staticmethod
    def log_below(pulls: float, total: float, high: float, sd: float, rho: float) -> float:
        """Against means of ``high`` or more."""
        return log_normal_mixture(pulls * high - total, pulls * sd * sd, rho)

    def interval(self, state: Mapping[str, float], log_level: float) -> tuple[float, float]:
        """As far from the mean on either side."""
        n, sd, rho = state["pulls"], state["sd"], state["rho"]
        if n == 0.0:
            return -math.inf, math.inf
        reach = edge_where(
            lambda far: log_normal_mixture(n * far, n * sd * sd, rho) - log_level, 0.0, math.inf
        )
        return state["total"] / n - reach, state["total"] / n + reach
