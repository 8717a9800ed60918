"""Evidence from coins: all biases beyond the edge at once, weighted by Jeffreys' prior."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cutline.core.bulk import each, log_beta_kernel_many, log_beta_mills_many
from cutline.core.evidence.base import Evidence, Ledger, Weights, constant, only, width
from cutline.core.evidence.edges import edge_where, edges_where
from cutline.core.problem import Problem
from cutline.core.tails import log_beta_mills
from cutline.core.tally import Floats, Ints

FEW = 16  # below, arrays take longer than one by one


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


_priors = each(log_beta_prior)


def log_beta_mixture_many(ones: Floats, zeros: Floats, m: Floats, prior: Floats) -> Floats:
    """:func:`log_beta_mixture` of many coins, to the same digits."""
    found = np.zeros(len(m))
    found[(m < 0.0) | ((m == 0.0) & (ones > 0.0))] = math.inf
    inside = np.flatnonzero((m > 0.0) & (m < 1.0))
    m, a, b = m[inside], zeros[inside] + 0.5, ones[inside] + 0.5
    found[inside] = prior[inside] + log_beta_mills_many(1.0 - m, m, a, b)
    return found


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

    def weights(self, states: Sequence[Mapping[str, float]], log_level: float) -> list[Weights]:
        """All at once, to the digits that one by one gives."""
        if len(states) < FEW:
            return super().weights(states, log_level)
        names = ("pulls", "total", "low", "high", "width", "prior_above", "prior_below")
        pulls, total, low, high, size, above, below = (
            np.array([state[name] for state in states]) for name in names
        )
        ones = total / size
        zeros = _rests(pulls, ones)
        mean = ones / np.maximum(pulls, 1.0)

        def lower(m: Floats, which: Ints) -> Floats:
            of = log_beta_mixture_many(ones[which], zeros[which], m, _priors(m))
            return of - log_level

        def upper(m: Floats, which: Ints) -> Floats:
            of = log_beta_mixture_many(zeros[which], ones[which], 1.0 - m, _priors(1.0 - m))
            return of - log_level

        found = (
            edges_where(lower, mean, 0.0) * size,
            edges_where(upper, mean, 1.0) * size,
            log_beta_mixture_many(ones, zeros, low / size, above),
            log_beta_mixture_many(zeros, ones, 1.0 - high / size, below),
        )
        return [Weights(*numbers) for numbers in zip(*map(Floats.tolist, found), strict=True)]

    def feed_many(self, ledgers: Sequence[Ledger], rewards: Floats, counts: Sequence[int]) -> None:
        """Where rewards are 0 or 1 and many: the largest e-values are sought among all at once.

        Most cannot be the largest: an e-value is at most what its tail, a chance, leaves of it, and
        that bound takes no continued fraction. The rest are worked out to the same digits as one by
        one.
        """
        fits = all(ledger.state["width"] == 1.0 for ledger in ledgers)
        if len(rewards) < FEW or not fits or not np.isin(rewards, (0.0, 1.0)).all():
            super().feed_many(ledgers, rewards, counts)
            return
        filled = [(ledger, n) for ledger, n in zip(ledgers, counts, strict=True) if n]
        lengths = np.array([n for _, n in filled])
        starts = np.cumsum(lengths) - lengths
        owner = np.repeat(np.arange(len(filled)), lengths)

        def column(name: str) -> Floats:
            return np.array([ledger.state[name] for ledger, _ in filled])

        had, won = column("pulls"), column("total")
        pulls = np.arange(1.0, len(rewards) + 1.0) - starts[owner] + had[owner]
        total = np.cumsum(rewards)
        total += (won - (total[starts] - rewards[starts]))[owner]
        zeros = pulls - total
        size = column("width")
        tops = (
            np.array([ledger.top_above for ledger, _ in filled]),
            np.array([ledger.top_below for ledger, _ in filled]),
        )
        _raise_tops(tops[0], total, zeros, owner, column("low") / size, column("prior_above"))
        _raise_tops(
            tops[1], zeros, total, owner, 1.0 - column("high") / size, column("prior_below")
        )
        last = starts + lengths - 1
        ends = zip(
            filled, pulls[last].tolist(), total[last].tolist(), *map(Floats.tolist, tops),
            strict=True,
        )  # fmt: skip
        for (ledger, _), n, ones, above, below in ends:
            ledger.state["squares"] += ones - ledger.state["total"]
            ledger.state.update(pulls=n, total=ones, step=n)
            ledger.top_above, ledger.top_below = above, below

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


def _rests(pulls: Floats, ones: Floats) -> Floats:
    zeros = pulls - ones
    return np.where(zeros > 1e-9 * pulls, zeros, 0.0)


def _raise_tops(
    tops: Floats, ones: Floats, zeros: Floats, owner: Ints, edge: Floats, prior: Floats
) -> None:
    """Raise each owner's largest log e-value to that of its paths of ones and zeros.

    A coin that came up no more often than the edge has an e-value of at most 1, which every top is.
    """
    beyond = (edge < 0.0) | (edge == 0.0)  # infinite, or so from the first one on
    if beyond.any():
        some = np.bincount(owner, weights=ones > 0.0, minlength=len(tops)) > 0.0
        tops[beyond & ((edge < 0.0) | some)] = math.inf
    inside = (edge > 0.0) & (edge < 1.0)
    m = edge[owner]
    at = np.flatnonzero(inside[owner] & (ones > m * (ones + zeros) * (1.0 - 1e-9)))
    if not len(at):
        return
    ones, zeros, owner, m = ones[at], zeros[at], owner[at], m[at]
    log_kernel = log_beta_kernel_many(1.0 - m, m, zeros + 0.5, ones + 0.5, np.log, np.log1p)
    most = prior[owner] - log_kernel
    most += 1e-9 + 1e-12 * np.abs(most)  # for NumPy's own logarithms
    for only_first in (True, False):
        may = np.flatnonzero(most > tops[owner])
        if only_first and len(may):  # the likeliest of each owner, which rules out most others
            order = may[np.lexsort((-most[may], owner[may]))]
            may = order[np.flatnonzero(np.diff(owner[order], prepend=-1))]
        if not len(may):
            return
        keys = np.stack([owner[may] if np.ptp(edge) > 0.0 else 0 * may, ones[may], zeros[may]])
        _, first, back = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        few = may[first]
        whose = owner[few]
        exact = log_beta_mixture_many(ones[few], zeros[few], m[few], prior[whose])
        np.maximum.at(tops, owner[may], exact[back.reshape(-1)])
