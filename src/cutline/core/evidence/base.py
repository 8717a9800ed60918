"""What all evidence shares: two one-sided e-processes for every arm, in a few numbers of state."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cutline.core.problem import Problem
from cutline.core.tally import Floats

TALLY = ("pulls", "total", "squares")


class Weights(NamedTuple):
    """What evidence says of an arm as it is now: an interval, and the two log e-values."""

    low: float
    high: float
    log_above: float
    log_below: float


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
    ``step``
        how many pulls the game has made so far, of all arms (in ``log_above`` and ``log_below``
        alone, for bounds that look at the clock)
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
    e_value: ClassVar[bool] = True
    """Whether their mean is at most 1 at any moment one looks; else 1 / them bounds a p-value."""

    from_rewards: ClassVar[bool] = False
    """Whether :meth:`interval_of` gives a narrower interval out of all rewards in their order."""

    log_above: ClassVar[Callable[..., float]]
    log_below: ClassVar[Callable[..., float]]
    learn: ClassVar[Callable[..., object] | None] = None

    @property
    def clocked(self) -> bool:
        """Whether it looks at the clock: it asks for the ``step`` of the whole game."""
        return any("step" in _parameters(each) for each in (self.log_above, self.log_below))

    def check(self, problem: Problem) -> None:
        """Raise a ValueError where the evidence is not made for such a problem."""

    def columns(self, problem: Problem) -> Mapping[str, Floats]:
        """Numbers that never change, one for every arm: the edges, and what else is needed.

        See :attr:`Problem.edges` for what rounding may do to an edge.
        """
        low, high = problem.edges
        return {"low": low, "high": high}

    def interval(self, state: Mapping[str, float], log_level: float) -> tuple[float, float]:
        """The means that neither process, at any edge, would reject at exp(-log_level) a side.

        ``state`` holds the tally, what is kept and the columns of one arm; the ends are counted
        from its origin. Infinite where nothing is known.
        """
        raise NotImplementedError

    def interval_of(
        self, rewards: Floats, state: Mapping[str, float], log_level: float
    ) -> tuple[float, float]:
        """:meth:`interval`, out of the rewards in the order in which they were fed."""
        return self.interval(state, log_level)

    def weights(self, states: Sequence[Mapping[str, float]], log_level: float) -> list[Weights]:
        """The interval and both log e-values of every state: one by one, unless there is a way."""
        found = []
        for state in states:
            above = float(_call(self.log_above, state))
            below = float(_call(self.log_below, state))
            found.append(Weights(*self.interval(state, log_level), above, below))
        return found

    def feed_many(
        self, ledgers: Sequence["Ledger"], rewards: Floats, counts: Sequence[int]
    ) -> None:
        """Feed every ledger as many of the rewards as counted for it, in their order."""
        start = 0
        values = rewards.tolist()
        for ledger, count in zip(ledgers, counts, strict=True):
            for reward in values[start : start + count]:
                ledger.feed(reward)
            start += count


def constant(problem: Problem, value: float) -> Floats:
    """The same number for every arm."""
    return np.full(len(problem.arms), value)


def width(problem: Problem) -> float:
    """The width of the range of a problem's rewards."""
    assert problem.rewards.low is not None and problem.rewards.high is not None
    return problem.rewards.high - problem.rewards.low


def only(evidence: Evidence, problem: Problem, *kinds: str) -> None:
    """Raise a ValueError unless the problem's rewards are of one of the kinds."""
    if problem.rewards.kind not in kinds:
        raise ValueError(
            f"{evidence.name} is for {' or '.join(kinds)} rewards, these are {problem.rewards.kind}"
        )


class Ledger:
    """The evidence about one arm, reward by reward.

    ``columns`` are the arm's own numbers out of :meth:`Evidence.columns`. Rewards are counted from
    the problem's origin and fed in the order in which they were asked for.

    >>> from cutline.core.evidence import BetaMixture
    >>> problem = Problem(arms=1, threshold=0.5, rewards="binary")
    >>> evidence = BetaMixture()
    >>> ledger = Ledger(evidence, arm_columns(evidence, problem, 0))
    >>> for reward in [1] * 10 + [0] * 10:
    ...     ledger.feed(reward)
    >>> round(ledger.log_above, 4), round(ledger.top_above, 4)  # now, and after ten ones
    (-1.7362, 5.8883)
    """

    def __init__(self, evidence: Evidence, columns: Mapping[str, float]) -> None:
        self.evidence = evidence
        zeros = dict.fromkeys((*TALLY, "step", *evidence.keeps), 0.0)
        self.state: dict[str, float] = {**zeros, **columns}
        # An e-value is 1 before the first reward, save where no law is in the hypothesis.
        self.top_above = math.inf if self.log_above == math.inf else 0.0
        """The largest log e-value for "above" so far, at least 0."""
        self.top_below = math.inf if self.log_below == math.inf else 0.0
        """The same for "below"."""

    @property
    def numbers(self) -> tuple[float, ...]:
        """All that it has learned, for :meth:`restored`: the tally, what is kept, the largest."""
        learned = [self.state[name] for name in (*TALLY, *self.evidence.keeps)]
        return (*learned, self.top_above, self.top_below)

    @classmethod
    def restored(
        cls, evidence: Evidence, columns: Mapping[str, float], numbers: Sequence[float]
    ) -> "Ledger":
        """The ledger that had these :attr:`numbers`."""
        ledger = cls.__new__(cls)
        ledger.evidence = evidence
        names = (*TALLY, *evidence.keeps)
        *learned, ledger.top_above, ledger.top_below = numbers
        ledger.state = {**dict(zip(names, learned, strict=True)), "step": numbers[0], **columns}
        return ledger

    def feed(self, reward: float, step: int | None = None) -> None:
        """Count one more reward; ``step``, the pulls of all arms so far, is else the arm's own."""
        state, evidence = self.state, self.evidence
        if evidence.learn is not None:
            kept = _call(evidence.learn, state | {"reward": reward})
            several = kept if isinstance(kept, tuple) else (kept,)
            state.update(zip(evidence.keeps, several, strict=True))
        state["pulls"] += 1.0
        state["total"] += reward
        state["squares"] += reward * reward
        state["step"] = state["pulls"] if step is None else float(step)
        self.top_above = max(self.top_above, self.log_above)
        self.top_below = max(self.top_below, self.log_below)

    @property
    def log_above(self) -> float:
        """The log e-value for "above" as of now."""
        return float(_call(self.evidence.log_above, self.state))

    @property
    def log_below(self) -> float:
        """The log e-value for "below" as of now."""
        return float(_call(self.evidence.log_below, self.state))

    def interval(self, log_level: float) -> tuple[float, float]:
        """See :meth:`Evidence.interval`."""
        return self.evidence.interval(self.state, log_level)


def arm_columns(evidence: Evidence, problem: Problem, arm: int) -> dict[str, float]:
    """The columns of one arm, as :class:`Ledger` takes them."""
    return {name: float(column[arm]) for name, column in evidence.columns(problem).items()}


def _call(function: Callable[..., Any], values: Mapping[str, float]) -> Any:
    return function(*[values[name] for name in _parameters(function)])


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)
