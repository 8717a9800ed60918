"""Stopping at a confidence: when an arm is settled, and which questions have an end."""

import math

import numpy as np

from cutline.core.problem import Problem, check_band


def bar_of(confidence: float | None, arms: int) -> float:
    """The logarithm of the e-value that proves an arm's side: K / (1 - confidence)."""
    return math.inf if confidence is None else math.log(arms / (1.0 - confidence))


def check_can_stop(problem: Problem, confidence: float | None) -> None:
    """Refuse a game that might never end: no budget, and arms that cannot be settled."""
    if confidence is None:
        raise ValueError("give a budget, a confidence to stop at, or both")
    for place in np.flatnonzero(problem.precisions == 0)[:1].tolist():
        if is_end(problem, place):
            raise ValueError(_at_the_end(problem, place))
        raise ValueError(
            "without a budget the precision must be above 0: an arm whose mean is its threshold "
            "would be pulled for ever"
        )
    check_band(problem)


def is_end(problem: Problem, arm: int) -> bool:
    """Whether the arm's threshold is an end of the rewards' range, so that only one side is beyond.

    >>> is_end(Problem(arms=1, threshold=1.0, rewards="binary"), 0)
    True
    """
    return problem.threshold[arm] in (problem.rewards.low, problem.rewards.high)


def _at_the_end(problem: Problem, arm: int) -> str:
    """Why such a bar needs a budget, and what people mean who ask for it."""
    tau, low, high = problem.threshold[arm], problem.rewards.low, problem.rewards.high
    assert low is not None and high is not None
    width = high - low if math.isfinite(high) else 1.0
    p = 0.01 * width  # for example
    inward = tau + 0.5 * p if tau == low else tau - 0.5 * p
    only, never = ("below", "above") if tau == high else ("above", "below")
    return (
        f"a threshold of exactly {tau:g} needs a budget: no number of trials proves an arm to be "
        f"{never} it, as only {only} can be proven there; to tell arms at {tau:g} from those that "
        f"are {p:g} off without a budget, ask threshold={inward:.12g}, precision={0.5 * p:.12g}: "
        f"one reward other than {tau:g} proves an arm {only}, and enough of {tau:g} that it is "
        f"less than {p:g} off"
    )
