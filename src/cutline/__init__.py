"""Which of these noisy options clear the bar?

The thresholding bandit problem: K arms, a threshold, noisy trials that cost something, and rules
that decide which arm to try next. See the README for a first look.
"""

from typing import TYPE_CHECKING, Any

from cutline._version import __version__
from cutline.core import Problem, Rewards, Tallies, Tally
from cutline.rules import (
    APT,
    CSAR,
    SLRD,
    UCBE,
    ClockedIndexRule,
    IndexRule,
    Policy,
    RoundRobin,
    Rule,
    Uniform,
    parse_rule,
)

if TYPE_CHECKING:
    from cutline.figures.draw import plot
    from cutline.simulation import (
        Arms,
        Bandit,
        Bernoulli,
        Beta,
        Gaussian,
        Interrupted,
        Recorded,
        Result,
        arithmetic,
        geometric,
        play,
        simulate,
        three_groups,
    )

__all__ = [
    "APT",
    "CSAR",
    "SLRD",
    "UCBE",
    "Arms",
    "Bandit",
    "Bernoulli",
    "Beta",
    "ClockedIndexRule",
    "Gaussian",
    "IndexRule",
    "Interrupted",
    "Policy",
    "Problem",
    "Recorded",
    "Result",
    "Rewards",
    "RoundRobin",
    "Rule",
    "Tallies",
    "Tally",
    "Uniform",
    "__version__",
    "arithmetic",
    "geometric",
    "parse_rule",
    "play",
    "plot",
    "simulate",
    "three_groups",
]


def __getattr__(name: str) -> Any:
    # What needs numba or matplotlib is imported when first used, so that `import cutline` is quick.
    import importlib

    if name == "plot":
        return importlib.import_module("cutline.figures.draw").plot
    if name in __all__:
        return getattr(importlib.import_module("cutline.simulation"), name)
    raise AttributeError(f"module 'cutline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
