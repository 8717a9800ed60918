"""What all evidence shares: two one-sided e-processes for every arm, in a few numbers of state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cutline.core.problem import Problem
from cutline.core.tally import Floats

TALLY = ("pulls", "total", "squares")


@dataclass(frozen=True)
class Evidence:
    """How an arm's rewards, in the order they were asked for, speak against the edges of the band.

    Two e-processes an arm: one against "the mean is ``low`` = threshold - precision or less", one
    against "the mean is ``high`` = threshold + precision or more". If the hypothesis holds, the
    chance that its process ever reaches 1/alpha is at most alpha, whatever rule chose the pulls and
    whenever one looks.

    They are plain scalar functions whose parameter names say what they need, so that the same
    source runs as it is and compiled in the simulator:

    ``pulls``, ``total``, ``squares``
        the tally of the rewards so far, sums counted from the problem's origin
    ``low``, ``high``
        the edges, counted from the same origin
    ``reward``
        the reward that comes next, counted from the same origin (in ``learn`` alone; the tally is
        then that before it)
    own names
        the numbers in :meth:`columns`, and those it ``keeps``

    ``log_above(...)`` is the logarithm of the e-value against the lower edge, which speaks for
    "above"; ``log_below(...)`` that against the upper edge, for "below". Evidence that depends on
    the order of the rewards ``keeps`` numbers, all 0 at first, and gives ``learn(...)``, which
    returns them (a tuple where there are several) after the next reward.
    """

    name: ClassVar[str] = ""
    assumes: ClassVar[str] = ""
    """What the promise rests on, in words for a user, beside a mean that does not drift."""
    keeps: ClassVar[tuple[str, ...]] = ()

    log_above: ClassVar[Callable[..., float]]
    log_below: ClassVar[Callable[..., float]]
    learn: ClassVar[Callable[..., object] | None] = None

    def check(self, problem: Problem) -> None:
        """Raise a ValueError where the evidence is not made for such a problem."""

    def columns(self, problem: Problem) -> Mapping[str, Floats]:
        """Numbers that never change, one for every arm: the edges, and what else is needed."""
        tau = problem.thresholds - problem.origins
        return {"low": tau - problem.precisions, "high": tau + problem.precisions}

    def interval(self, state: Mapping[str, float], log_level: float) -> tuple[float, float]:
        """The means that neither process, at any edge, would reject at exp(-log_level) a side.

        ``state`` holds the tally, what is kept and the columns of one arm; the ends are counted
        from its origin. Infinite where nothing is known.
        """
        raise NotImplementedError


def constant(problem: Problem, value: float) -> Floats:
    """The same number for every arm."""
    return np.full(len(problem.arms), value)
