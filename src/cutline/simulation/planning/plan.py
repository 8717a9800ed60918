"""How much will it take? Budgets and spends, from what is thought of the arms beforehand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from cutline.core.problem import PerArm, Problem
from cutline.core.rewards import Rewards
from cutline.core.stopping import check_can_stop
from cutline.core.tally import Floats
from cutline.core.theory.checks import check_confidence
from cutline.rules.auto import Auto
from cutline.simulation.arms import FAMILIES
from cutline.simulation.bandit import Bandit
from cutline.simulation.planning.beliefs import Belief, guessed
from cutline.simulation.planning.needs import (
    Need,
    Workers,
    aimed,
    default_need,
    uniform_budget,
    uniform_need,
    with_in_flight,
)
from cutline.simulation.planning.sets import search
from cutline.simulation.planning.spending import Spend, can_stop, spend

FAMILY = {
    "binary": "bernoulli",
    "gaussian": "gaussian",
    "poisson": "poisson",
    "exponential": "exponential",
}
# How many pulls a search may take, so that all together answer within seconds on two cores.
SEARCH, RELAXED = 30_000_000, 15_000_000
PATIENCE = 5_000_000  # pulls beyond which no budget is looked for
FACTORS = (0.5, 1.5, 2.0)

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Relaxed:
    """The budgets at another precision, None beyond what was looked at."""

    precision: tuple[float, ...]
    factor: float
    default: int | None
    uniform: int | None


@dataclass(frozen=True, eq=False)
class Plan:
    """What :func:`plan` found: budgets, spends, and what they rest on."""

    belief: Belief
    rewards: Rewards
    threshold: tuple[float, ...]
    precision: tuple[float, ...]
    of: str  # error or wrong_arms
    target: float
    default: Need
    uniform: Need
    stop: Spend | None
    workers: Workers | None
    relaxed: tuple[Relaxed, ...]
    most: int  # pulls beyond which no budget was looked for
    seed: int
    notes: tuple[str, ...]

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return int(self.belief.sets.shape[1])


def plan(
    belief: Belief | Sequence[float] | Floats,
    *,
    threshold: PerArm,
    precision: PerArm = 0.0,
    error: float | None = None,
    wrong_arms: float | None = None,
    confidence: float | None = None,
    rewards: Rewards | str = "binary",
    workers: int | None = None,
    relax: bool = True,
    most: int = PATIENCE,
    seed: int = 0,
    threads: int | None = None,
    progress: Tell | None = None,
) -> Plan:
    """What it takes to meet a target, from what is thought of the arms.

    ``belief``
        guessed means, or what :func:`~cutline.simulation.planning.beliefs.share_above` and
        :func:`~cutline.simulation.planning.beliefs.resembling` make of a share or of past rates
    ``error``, ``wrong_arms``
        the target: the chance that any arm is on the wrong side (0.05 unless said, or what the
        confidence leaves), or the mean number of arms that are
    ``confidence``
        when to stop if there is no budget; unless said, what the error leaves, 0.95 for wrong arms
    ``workers``
        how many pulls are in flight at a time
    ``relax``
        also look at 1.5 and 2 times the precision
    ``most``
        the largest budget of the default rule to look at

    Arms within the precision of the bar are right either way. Equal seeds give equal plans.

    >>> found = plan([0.1, 0.3, 0.7, 0.9], threshold=0.5, precision=0.1, error=0.05, relax=False)
    >>> found.default.budget < found.stop.mean < found.uniform.budget
    True
    """
    tell = progress or (lambda stage: None)
    belief = belief if isinstance(belief, Belief) else guessed(belief)
    kind = Rewards(rewards) if isinstance(rewards, str) else rewards
    of, target, confidence_used = _target(error, wrong_arms, confidence, belief.sets.shape[1])
    bandits = _bandits(belief, kind, threshold, precision)
    problem = bandits[0].problem
    _reachable(bandits)
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise ValueError(
            f"workers must be a whole number, at least 1, got {workers!r}: it is how many pulls "
            "wait for their results at a time"
        )
    if most < 2 * len(problem.arms):
        raise ValueError(f"most must be at least two pulls of each arm, got {most!r}")
    notes: list[str] = []
    if not any(np.any(bandit.truth != 0) for bandit in bandits):
        notes.append("every arm lies within the precision of the bar, where either answer is right")
    elif not _has_two_sides(problem):
        notes.append("the band threshold ± precision reaches the end of the rewards' range")
    options: dict[str, Any] = {"of": of, "most": most, "seed": seed, "threads": threads}
    tell("looking for the budget")
    found = search(bandits, Auto(), target, pulls=SEARCH, **options)
    tell("playing it with fresh games")
    default = default_need(bandits, found, of, target, most, seed, threads)
    if default.extrapolated:
        notes.append("errors as rare as the target are extrapolated from more frequent ones")
    if default.high is not None and default.high > target:
        notes.append(
            f"{default.games:,} games are too few to show that the target is kept: the error may "
            "be as large as the upper end of its interval"
        )
    uniform = uniform_need(bandits, of, target, default)
    stop = None
    if can_stop(problem):
        tell("stopping at a confidence")
        stop = spend(bandits, confidence_used, seed=seed, threads=threads)
    elif confidence is not None:
        check_can_stop(problem, confidence)  # which says why not
    in_flight = None
    if workers is not None and workers != 1 and default.budget is not None:
        tell(f"with {workers} in flight")
        in_flight = with_in_flight(bandits, default.budget, workers, of, target, seed, threads)
    relaxed: list[Relaxed] = []
    for factor in FACTORS if relax else ():
        other = tuple(factor * eps for eps in problem.precision)
        if default.budget is None or not np.any(problem.precisions):
            break
        if not _fits(problem, other):
            break
        changed = _bandits(belief, kind, threshold, other)
        tell(f"with {factor:g} times the precision")
        start = 1.3 / factor * default.budget  # as a rule it takes less; else more is tried
        there = search(changed, Auto(), target, pulls=RELAXED, guess=start, **options)
        needed = None if there.budget is None else aimed(changed, there, of, target)
        turns = uniform_budget(changed, of, target, default.budget)
        relaxed.append(Relaxed(other, factor, needed, turns))
    notes += _cheaper(relaxed, default.budget)
    return Plan(
        belief=belief,
        rewards=kind,
        threshold=problem.threshold,
        precision=problem.precision,
        of=of,
        target=target,
        default=default,
        uniform=uniform,
        stop=stop,
        workers=in_flight,
        relaxed=tuple(relaxed),
        most=most,
        seed=seed,
        notes=tuple(notes),
    )


def _cheaper(relaxed: Sequence[Relaxed], asked: int | None) -> list[str]:
    """A word where a narrower band takes fewer pulls than a wider one."""
    rows: list[tuple[float, int | None, str]] = [(1.0, asked, "the precision that was asked for")]
    rows += [(row.factor, row.default, f"precision {_span(row.precision)}") for row in relaxed]
    for (_, less, narrow), (_, more, wide) in pairwise(sorted(rows)):
        if less is not None and more is not None and less < 0.97 * more:
            return [
                f"{narrow} takes fewer pulls than {wide}: a wider band also makes the default rule "
                "spread its pulls more evenly, which here costs more than the arms it frees save"
            ]
    return []


def _span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def _fits(problem: Problem, precision: tuple[float, ...]) -> bool:
    """Whether a band this wide is within the rewards' range, and means lie beyond both its ends."""
    try:
        other = Problem(
            arms=problem.arms, threshold=problem.threshold, precision=precision,
            rewards=problem.rewards,
        )  # fmt: skip
    except ValueError:
        return False
    return _has_two_sides(other)


def _target(
    error: float | None, wrong_arms: float | None, confidence: float | None, arms: int
) -> tuple[str, float, float]:
    """What is aimed at, how much of it, and the confidence to stop at."""
    if confidence is not None:
        check_confidence(confidence)
    if error is not None and wrong_arms is not None:
        raise ValueError("the target is an error or a number of wrong arms: give one of the two")
    if wrong_arms is not None:
        if not 0 < wrong_arms < arms:
            raise ValueError(
                f"wrong_arms must lie between 0 and the {arms} arms, got {wrong_arms!r}: it is "
                "how many may be on the wrong side on average"
            )
        return "wrong_arms", float(wrong_arms), 0.95 if confidence is None else confidence
    if error is None:
        error = 0.05 if confidence is None else 1 - confidence
    if not 0 < error < 1:
        raise ValueError(
            f"error must lie between 0 and 1, got {error!r}: it is the chance that any arm is on "
            "the wrong side"
        )
    return "error", float(error), 1 - error if confidence is None else confidence


def _bandits(belief: Belief, kind: Rewards, threshold: PerArm, precision: PerArm) -> list[Bandit]:
    if kind.kind not in FAMILY:
        raise ValueError(
            f"plans are made for {', '.join(FAMILY)} rewards, got {kind.kind}: means alone do not "
            "say what a reward looks like"
        )
    if kind.kind == "gaussian" and kind.sd is None:
        raise ValueError('gaussian rewards need sd, as in Rewards("gaussian", sd=0.5)')
    family = FAMILIES[FAMILY[kind.kind]]
    bandits = [
        Bandit(
            family.from_means(means.tolist(), kind.sd),
            threshold=threshold,
            precision=precision,
            rewards=kind,
        )
        for means in belief.sets
    ]
    low, high = kind.low, kind.high
    assert low is not None and high is not None
    for tau in bandits[0].problem.threshold:
        if not (low < tau <= high):
            raise ValueError(
                f"the threshold must lie between {low:g} and {high:g}, where {kind.kind} rewards "
                f"are, got {tau:g}: else the answer is known without a trial"
            )
    return bandits


def _reachable(bandits: Sequence[Bandit]) -> None:
    for bandit in bandits:
        # At the end of the range an arm shows nothing but its mean, and is never wrong.
        rewards, means = bandit.problem.rewards, bandit.means
        at_end = (means == rewards.low) | (means == rewards.high)
        at_bar = np.flatnonzero((bandit.gaps() == 0) & ~at_end)
        if at_bar.size:
            arm = bandit.problem.arms[int(at_bar[0])]
            raise ValueError(
                f"arm {arm} has a mean of exactly the threshold, {bandit.means[at_bar[0]]:g}, and "
                "the precision is 0: no budget tells its side; give a precision"
            )


def _has_two_sides(problem: Problem) -> bool:
    """Whether means can lie beyond either end of the band."""
    low, high = problem.rewards.low, problem.rewards.high
    assert low is not None and high is not None
    tau, eps = problem.thresholds, problem.precisions
    return bool(np.all(tau - eps > low) and np.all(tau + eps <= high))
