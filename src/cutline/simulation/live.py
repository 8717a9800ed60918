"""Games as they go live: how many pulls are in flight, how long they take, when a game stops."""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from cutline.core.chance import PULLS
from cutline.core.evidence import Evidence, default_evidence, parse_evidence
from cutline.core.logarithm import log_unit
from cutline.core.problem import Problem
from cutline.core.stopping import check_can_stop
from cutline.core.theory.checks import check_confidence
from cutline.rules.base import wants, write_part
from cutline.simulation.reach import digest

Delay = Callable[..., float]


def fixed(luck: float) -> float:
    """Every pull takes one unit of time: each choice lacks the results of those in flight."""
    return 1.0


def random(luck: float) -> float:
    """A pull takes an exponential time, whatever its reward."""
    return -log_unit(luck)


def slow_failures(reward: float, tau: float, luck: float) -> float:
    """A reward below the threshold takes ten times as long as another, give or take."""
    return -log_unit(luck) * (1.0 if reward >= tau else 10.0)


def slow_successes(reward: float, tau: float, luck: float) -> float:
    """A reward at or above the threshold takes ten times as long as another, give or take."""
    return -log_unit(luck) * (10.0 if reward >= tau else 1.0)


DELAYS: dict[str, Delay] = {
    "fixed": fixed,
    "random": random,
    "slow-failures": slow_failures,
    "slow-successes": slow_successes,
}


@dataclass(frozen=True)
class Live:
    """How games go beyond one pull after another up to a budget.

    ``confidence``
        a game stops when the chance that any arm is on the wrong side is at most 1 - confidence,
        by its evidence
    ``evidence``
        what is looked at after every pull; None: nothing
    ``in_flight``
        how many pulls may wait for their results at a time
    ``delay``
        how long a pull takes: a plain function of ``reward`` and ``tau``, both counted from the
        origin, and of ``luck``, a uniform number
    ``in_order``
        evidence takes results in the order they were asked for; False, in the order of arrival,
        shows what goes wrong then
    """

    confidence: float | None = None
    evidence: Evidence | None = None
    in_flight: int = 1
    delay: Delay = fixed
    in_order: bool = True

    def __post_init__(self) -> None:
        if self.confidence is not None:
            check_confidence(self.confidence)
        whole = isinstance(self.in_flight, int | np.integer) and not isinstance(
            self.in_flight, bool
        )
        if not whole or not 1 <= self.in_flight < PULLS:
            raise ValueError(
                f"in_flight must be a whole number, from 1 to {PULLS - 1}, got {self.in_flight!r}: "
                "it is how many pulls may wait for their results at a time"
            )
        wants(self.delay, ("reward", "tau", "luck"), "a delay")

    @property
    def plain(self) -> bool:
        """Whether nothing is asked for beyond one pull after another."""
        return self.evidence is None and self.in_flight == 1 and self.delay is fixed

    def delay_part(self) -> Callable[..., float]:
        """The delay with all it can ask for, in order."""
        names = wants(self.delay, ("reward", "tau", "luck"), "a delay")
        return write_part(
            f"def part(reward, tau, luck):\n    return delay({', '.join(names)})\n",
            delay=self.delay,
        )

    def spec(self) -> dict[str, Any]:
        """The settings as plain values, for a file."""
        return {
            "confidence": self.confidence,
            "evidence": None if self.evidence is None else self.evidence.name,
            "code": _code(self.evidence, self.delay),
            "in_flight": int(self.in_flight),
            "delay": next((n for n, d in DELAYS.items() if d is self.delay), self.delay.__name__),
            "in_order": self.in_order,
        }


def _code(evidence: Evidence | None, delay: Delay) -> str:
    """A fingerprint of settings and of what is not the package's own, so that none are mixed up."""
    parts = [] if evidence is None else [repr(astuple(evidence))]
    functions: list[Callable[..., object]] = [delay]
    if evidence is not None:
        functions += [evidence.log_above, evidence.log_below]
        functions += [] if evidence.learn is None else [evidence.learn]
    parts += [
        digest(function, of_compiler=False)
        for function in functions
        if not (function.__module__ or "").startswith("cutline.")
    ]
    return " ".join(parts)


def live_settings(
    problem: Problem,
    *,
    confidence: float | None,
    evidence: Evidence | str | None,
    in_flight: int,
    delay: Delay | str | None,
    in_order: bool,
    has_budget: bool,
) -> Live:
    """The settings from what a caller gives, or a ValueError that says what is missing."""
    evidence = parse_evidence(evidence) if isinstance(evidence, str) else evidence
    if isinstance(delay, str):
        if delay not in DELAYS:
            raise ValueError(f"unknown delay {delay!r}: one of {', '.join(DELAYS)}")
        delay = DELAYS[delay]
    if confidence is not None and evidence is None:
        evidence = default_evidence(problem)
        if evidence is None:
            raise ValueError(
                "heavy-tailed rewards prove nothing without a bound on their variance: "
                'give rewards=Rewards("heavy", variance=...)'
            )
    if not has_budget:
        check_can_stop(problem, confidence)
    return Live(confidence, evidence, in_flight, fixed if delay is None else delay, in_order)
