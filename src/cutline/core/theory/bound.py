"""A bound as a function of the budget, and the budget at which it reaches an error."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cutline.core.theory.checks import whole


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound on the chance of an error, as a function of the budget.

    ``statement`` is its name, ``about`` says what is bounded and for whom, ``least`` is the
    smallest budget from which on it is stated. Its logarithm at a budget T is
    log_factor(T) - rate * (T - start). The factor of an upper bound may grow (with log T), that of
    a lower bound may shrink; ``rate`` is the speed that remains in the end.

    >>> from cutline.core.theory import theorem_2
    >>> bound = theorem_2(144.889, arms=10, noise_scale=0.5)
    >>> bound.at(500) > 1, bound.is_vacuous(500)
    (True, True)
    >>> bound.budget_for(0.05)
    10327
    >>> bound.at(10)
    Traceback (most recent call last):
    ...
    ValueError: Theorem 2 is stated for budgets from 11 on, got 10
    """

    statement: str
    about: str
    side: Literal["upper", "lower"]
    least: int
    rate: float
    log_factor: Callable[[int], float]
    start: int = 0

    def log_at(self, budget: int) -> float:
        """The natural logarithm of the bound."""
        T = whole("budget", budget)
        if self.least > T:
            raise ValueError(
                f"{self.statement} is stated for budgets from {self.least} on, got {budget!r}"
            )
        return self.log_factor(T) - self.rate * (T - self.start)

    def at(self, budget: int) -> float:
        """The bound itself; an upper bound above 1 is given as it is."""
        return math.exp(self.log_at(budget))

    def is_vacuous(self, budget: int) -> bool:
        """Whether the bound says nothing: an upper one of 1 or more, a lower one of 0."""
        log = self.log_at(budget)
        return log >= 0 if self.side == "upper" else log == -math.inf

    def budget_for(self, error: float) -> int:
        """The budget that brings an upper bound to ``error``, or that a lower bound asks for.

        Upper: the smallest budget from which on the bound stays at or below ``error``. It may be
        below for a while before: the factor grows. Lower: the smallest budget that the bound does
        not rule out for somebody who wants no more than ``error``; 0 if it rules out none.
        """
        if not 0 < error < 1:
            raise ValueError(f"error must lie between 0 and 1, got {error!r}: it is a chance")
        level = math.log(error)
        if self.side == "lower" and self.log_at(self.least) <= level:
            return 0
        # Beyond 1e290 pulls the arithmetic ends, and all patience.
        if not self.rate > 1e-290:
            raise ValueError(
                f"no budget brings {self.statement} down to {error!r}: "
                "its exponent is 0, as when a gap is 0"
            )
        least = max(self.least, 1)
        return last_above(level, least, self.log_factor, self.rate, self.start) + 1


def rate_of(constant: float, R: float, H: float) -> float:
    """1 / (constant R^2 H)."""
    return math.inf if H == 0 else 1 / (constant * R**2 * H)


def block_factor(K: int) -> Callable[[int], float]:
    """log(2K (floor(log2 T) + 1)): two sides, K arms, blocks of sample sizes 2^u to 2^(u+1).

    Within a block from n to 2n the bound x sqrt(v) on a sum of v rewards is replaced by its chord,
    which is below it, and which R-sub-Gaussian sums cross with chance at most exp(-c x^2 / R^2),
    c = 2 (2 - sqrt 2)(sqrt 2 - 1) = 0.4853, by Ville's inequality. One sample size alone has 1/2,
    so a block costs 3 % of the exponent: 32 becomes 33, and 16 becomes 16.5.
    """
    return lambda T: math.log(2 * K * T.bit_length())


def printed_factor(K: int) -> Callable[[int], float]:
    """2 log((log T + 1) K)."""
    return lambda T: 2 * math.log((math.log(T) + 1) * K)


def lasting(needed: Callable[[int], float]) -> int:
    """The smallest budget from which on every budget T is at least needed(T)."""
    if needed(2) == math.inf:
        raise ValueError("no budget is large enough: the complexity is infinite (a gap is 0)")
    return last_above(0.0, 1, needed, 1.0, 0) + 1


def last_above(
    level: float, least: int, factor: Callable[[int], float], rate: float, start: int
) -> int:
    """The last T from ``least`` on where factor(T) - rate * (T - start) > level, or least - 1.

    The factor goes one way, and does so ever more slowly when T doubles.
    """

    def ceiling(first: int, last: int) -> float:
        """At least as much as any T from first to last has."""
        return max(factor(first), factor(last)) - rate * (first - start)

    # Blocks that double. Their ceilings are concave in the block's number: once they fall they go
    # on falling, and one at the level is the end.
    blocks, before, top = [(least, 2 * least - 1)], -math.inf, ceiling(least, 2 * least - 1)
    while top > level or top > before:
        first = blocks[-1][1] + 1
        blocks.append((first, 2 * first - 1))
        before, top = top, ceiling(*blocks[-1])
    # From the right, halving what may hold such a T.
    while blocks:
        first, last = blocks.pop()
        if ceiling(first, last) <= level:
            continue
        if first == last:
            return first
        middle = (first + last) // 2
        blocks += [(first, middle), (middle + 1, last)]
    return least - 1
