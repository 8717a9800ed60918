"""Evidence from coins: all biases beyond the edge at once, weighted by Jeffreys' prior."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cutline.core.evidence.base import Evidence, constant, only, width
from cutline.core.evidence.edges import edge_where
from cutline.core.problem import Problem
from cutline.core.tails import log_beta_mills
from cutline.core.tally import Floats


def log_beta_prior(m: float) -> float:
    r"""The part of :func:`log_beta_mixture` that does not depend on the rewards.

    :math:`\ln\sqrt{m(1-m)} - \ln\bigl(\pi\,P(\mathrm{Beta}(\frac12,\frac12) > m)\bigr)`; 0 for
    edges that are not inside (0, 1), where it is not used.
    """
    if m <= 0.0 or m >= 1.0:
        return 0.0
    # P = 2 / pi * acos(sqrt(m)), which loses its digits for m close to 1
    return 0.5 * math.log(m * (1.0 - m)) - math.log(
        2.0 * math.atan2(math.sqrt(1.0 - m), math.sqrt(m))
    )


def log_beta_mixture(ones: float, zeros: float, m: float, prior: float) -> float:
    r"""The logarithm of the e-value against a bias of ``m`` or less, one-sided.

    .. math:: \ln\int_m^1 \frac{p^S (1-p)^F}{m^S (1-m)^F}\,
        \frac{p^{-1/2} (1-p)^{-1/2}\,dp}{\int_m^1 q^{-1/2} (1-q)^{-1/2}\,dq}

    with S ones and F zeros; ``prior`` is :func:`log_beta_prior` of m.

    >>> round(log_beta_mixture(10.0, 0.0, 0.5, log_beta_prior(0.5)), 10)
    5.8883052164
    """
    if m <= 0.0:
        return math.inf if m < 0.0 or ones > 0.0 else 0.0
    if m >= 1.0:
        return 0.0
    return prior + log_beta_mills(1.0 - m, m, zeros + 0.5, ones + 0.5)


def rest(pulls: float, ones: float) -> float:
    """The zeros among some pulls; what is left by rounding in a sum of ones is none.

    >>> rest(10.0, 9.0), rest(10.0, sum([0.1] * 10) / 0.1)
    (1.0, 0.0)
    """
    zeros = pulls - ones
    return zeros if zeros > 1e-9 * pulls else 0.0


@dataclass(frozen=True)
class BetaMixture(Evidence):
    """The Beta(1/2, 1/2) mixture of likelihood ratios of coins, cut off at the edge.

    For biases p above the edge m, the likelihood ratio of a one is larger than that of a zero, so
    its mean is 1 for a coin of bias m and less for a smaller one; and for any reward in [0, 1] it
    is at most that of a coin of the same mean, as the ratio is convex in the reward. An average of
    such ratios over p is a supermartingale like each of them.

    Where the edge lies outside the range the answer is plain: infinite evidence against a
    hypothesis that no law fulfils (once a reward above 0 is seen, where the edge is 0 itself), and
    none, an e-value of 1, against one that every law fulfils.

    >>> evidence = BetaMixture()
    >>> low, high = evidence.interval({"pulls": 50.0, "total": 40.0, "width": 1.0}, math.log(20))
    >>> round(low, 10), round(high, 10)
    (0.6055446095, 0.9350351582)
    """

    name: ClassVar[str] = "beta-mixture"
    assumes: ClassVar[str] = "rewards stay in their range"

    def check(self, problem: Problem) -> None:
        """Rewards must lie in a range."""
        only(self, problem, "binary", "bounded")

    def columns(self, problem: Problem) -> Mapping[str, Floats]:
        """The edges, the range, and what does not depend on the rewards."""
        edges = super().columns(problem)
        size = width(problem)
        return {
            **edges,
            "width": constant(problem, size),
            "prior_above": np.array([log_beta_prior(m) for m in edges["low"] / size]),
            "prior_below": np.array([log_beta_prior(m) for m in 1.0 - edges["high"] / size]),
        }

    @staticmethod
    def log_above(
        pulls: float, total: float, low: float, width: float, prior_above: float
    ) -> float:
        """Against means of ``low`` or less."""
        ones = total / width
        return log_beta_mixture(ones, rest(pulls, ones), low / width, prior_above)

    @staticmethod
    def log_below(
        pulls: float, total: float, high: float, width: float, prior_below: float
    ) -> float:
        """Against means of ``high`` or more: ones and zeros exchanged."""
        ones = total / width
        return log_beta_mixture(rest(pulls, ones), ones, 1.0 - high / width, prior_below)

    def interval(self, state: Mapping[str, float], log_level: float) -> tuple[float, float]:
        """By halving; the ends of the range where nothing beyond is rejected."""
        size = state["width"]
        ones = state["total"] / size
        zeros = rest(state["pulls"], ones)
        mean = ones / max(state["pulls"], 1.0)

        def lower(m: float) -> float:
            return log_beta_mixture(ones, zeros, m, log_beta_prior(m)) - log_level

        def upper(m: float) -> float:
            return log_beta_mixture(zeros, ones, 1.0 - m, log_beta_prior(1.0 - m)) - log_level

        return edge_where(lower, mean, 0.0) * size, edge_where(upper, mean, 1.0) * size
