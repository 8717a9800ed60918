"""Stopping at a confidence: when an arm is settled, and which questions have an end."""

import math

import numpy as np

from cutline.core.problem import Problem


def bar_of(confidence: float | None, arms: int) -> float:
    """The logarithm of the e-value that proves an arm's side: K / (1 - confidence)."""
    return math.inf if confidence is None else math.log(arms / (1.0 - confidence))


def check_can_stop(problem: Problem, confidence: float | None) -> None:
    """Refuse a game that might never end: no budget, and arms that cannot be settled."""
    if confidence is None:
        raise ValueError("give a budget, a confidence to stop at, or both")
    tau, eps = problem.thresholds, problem.precisions
    if np.any(eps == 0):
        raise ValueError(
            "without a budget the precision must be above 0: an arm whose mean is its threshold "
            "would be pulled for ever"
        )
    low, high = problem.rewards.low, problem.rewards.high
    assert low is not None and high is not None
    slack = 1e-12 * np.maximum(1.0, np.abs(tau))
    if np.any(tau - eps < low - slack) or np.any(tau + eps > high + slack):
        raise ValueError(
            f"the band threshold ± precision must lie within the rewards' range {low:g} to "
            f"{high:g}: nothing is beyond, so that side could not be told from the other"
        )
