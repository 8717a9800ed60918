"""Which of these noisy options clear the bar?

The thresholding bandit problem: K arms, a threshold, noisy trials that cost something, and rules
that decide which arm to try next. See the README for a first look.
"""

from typing import TYPE_CHECKING, Any

from cutline._version import __version__
from cutline.core import Evidence, Problem, Rewards, Tallies, Tally, Verdict, judge
from cutline.rules import (
    APT,
    CSAR,
    EVT,
    FWT,
    LSA,
    LUCBG,
    PI,
    SAR,
    SLR,
    SLRD,
    SLRV,
    TTS,
    UCB1,
    UCBE,
    AugUCB,
    Auto,
    BayesUCB,
    BestUCBE,
    CatoniAPT,
    ClippedAPT,
    ClockedIndexRule,
    GCLStar,
    HDoC,
    IndexRule,
    MedianAPT,
    Oracle,
    Policy,
    RoundRobin,
    Rule,
    UGapE,
    Uniform,
    parse_rule,
)

if TYPE_CHECKING:
    from cutline.campaign import Campaign, identify
    from cutline.figures.draw import plot
    from cutline.simulation import (
        Arms,
        Bandit,
        Bernoulli,
        Beta,
        Duels,
        Exponential,
        Gaussian,
        Interrupted,
        Pareto,
        Poisson,
        Recorded,
        Result,
        StudentT,
        TopArms,
        arithmetic,
        dataset,
        dataset_from_csv,
        geometric,
        lower_bound_family,
        past_rates,
        plan,
        play,
        resembling,
        share_above,
        simulate,
        three_groups,
    )

__all__ = [
    "APT",
    "CSAR",
    "EVT",
    "FWT",
    "LSA",
    "LUCBG",
    "PI",
    "SAR",
    "SLR",
    "SLRD",
    "SLRV",
    "TTS",
    "UCB1",
    "UCBE",
    "Arms",
    "AugUCB",
    "Auto",
    "Bandit",
    "BayesUCB",
    "Bernoulli",
    "BestUCBE",
    "Beta",
    "Campaign",
    "CatoniAPT",
    "ClippedAPT",
    "ClockedIndexRule",
    "Duels",
    "Evidence",
    "Exponential",
    "GCLStar",
    "Gaussian",
    "HDoC",
    "IndexRule",
    "Interrupted",
    "MedianAPT",
    "Oracle",
    "Pareto",
    "Poisson",
    "Policy",
    "Problem",
    "Recorded",
    "Result",
    "Rewards",
    "RoundRobin",
    "Rule",
    "StudentT",
    "Tallies",
    "Tally",
    "TopArms",
    "UGapE",
    "Uniform",
    "Verdict",
    "__version__",
    "arithmetic",
    "dataset",
    "dataset_from_csv",
    "geometric",
    "identify",
    "judge",
    "lower_bound_family",
    "parse_rule",
    "past_rates",
    "plan",
    "play",
    "plot",
    "resembling",
    "share_above",
    "simulate",
    "three_groups",
]


def __getattr__(name: str) -> Any:
    # What needs numba, matplotlib or a database is imported when first used: `import cutline` is
    # quick.
    import importlib

    if name in ("Campaign", "identify"):
        return getattr(importlib.import_module("cutline.campaign"), name)
    if name == "plot":
        return importlib.import_module("cutline.figures.draw").plot
    if name in __all__:
        return getattr(importlib.import_module("cutline.simulation"), name)
    raise AttributeError(f"module 'cutline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
