"""The problems of the suite, by group: constructions, and where they come from."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cutline.core.rewards import Rewards
from cutline.core.special import beta_quantile
from cutline.simulation.arms import (
    Bernoulli,
    Beta,
    Exponential,
    Gaussian,
    Pareto,
    Poisson,
    StudentT,
)
from cutline.simulation.bandit import Bandit
from cutline.simulation.datasets import dataset
from cutline.simulation.experiments import EXPERIMENTS, geometric


def beta_middles(a: float, b: float, arms: int) -> list[float]:
    """The quantiles (i + 1/2) / arms of Beta(a, b), i = 0, 1, ...

    >>> beta_middles(1, 1, 4)
    [0.125, 0.375, 0.625, 0.875]
    """
    return [float(f"{beta_quantile((i + 0.5) / arms, a, b):.12g}") for i in range(arms)]


def log_middles(low: float, high: float, arms: int) -> list[float]:
    """The quantiles (i + 1/2) / arms of the law whose logarithm is uniform between two numbers.

    >>> [round(x, 6) for x in log_middles(0.01, 1.0, 2)]
    [0.031623, 0.316228]
    """
    return [float(low * (high / low) ** ((i + 0.5) / arms)) for i in range(arms)]


def _coins(means: Sequence[float], tau: float, eps: float) -> Bandit:
    return Bandit(Bernoulli(means), threshold=tau, precision=eps)


def _beta_coins(a: float, b: float, arms: int, tau: float, eps: float) -> Bandit:
    return _coins(beta_middles(a, b, arms), tau, eps)


def _known(means: Sequence[float], sd: Any, tau: float, eps: float) -> Bandit:
    """Normal rewards whose sds are declared."""
    rewards = Rewards("gaussian", sd=sd)
    return Bandit(Gaussian(means, sd), threshold=tau, precision=eps, rewards=rewards)


def _paper(name: str, gaussian: bool) -> Bandit:
    bandit = EXPERIMENTS[name](gaussian)
    return _known(bandit.means.tolist(), 0.5, 0.5, 0.1) if gaussian else bandit


def _geometric_exact() -> Bandit:
    return _coins(geometric().means.tolist(), 0.5, 0.0)


RADTKE_2 = [0.001, 0.005, 0.01, 0.015, 0.04, 0.06, 0.085, 0.09, 0.095, 0.099]
RADTKE_3 = [10.0**x for x in (-4, -3.5, -3.25, -3, -2.75, -2.5, -2.25, -1.85, -1.75, -1.5, -1)]
LADDER = [round(0.405 + 0.01 * i, 3) for i in range(20)]
FLAKY = log_middles(1e-4, 0.3, 50)
TESTS = [0.0] * 160 + log_middles(1e-4, 1e-3, 20) + log_middles(0.03, 0.5, 20)
PROMPTS = [round(0.8 + 0.19 * (i + 0.5) / 30, 6) for i in range(30)]


def _steps(centre: float, ratio: float) -> list[float]:
    """Ten means on each side of a centre, each so much times further away than the last."""
    return [centre * ratio**k for k in (*range(-10, 0), *range(1, 11))]


def _fwt_1() -> Bandit:
    return _known([(-1.0) ** k for k in range(1, 101)], 1.0, 0.0, 0.0)


def _fwt_2(eps: float) -> Bandit:
    return _known([(-1.0) ** k * (k / 50) ** 2 for k in range(1, 51)], 1.0, 0.0, eps)


# AugUCB's ten arms that differ; 30 others (there 90, to keep games short) have mean 0.4.
AUG_UCB = {
    "arithmetic": [0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8],
    "geometric": geometric().means.tolist(),
    "three-groups": [0.1] * 3 + [0.35, 0.45, 0.55, 0.65] + [0.9] * 3,
    "two-groups": [0.45] * 5 + [0.55] * 5,
}


def _aug_ucb(name: str, sds: tuple[float, float, float, float]) -> Bandit:
    """Normal rewards whose sds differ and are not told; the background's are evenly spread."""
    low, high, first, last = sds
    spread = [first + (last - first) * (i + 0.5) / 30 for i in range(30)]
    arms = Gaussian(AUG_UCB[name] + [0.4] * 30, [low] * 5 + [high] * 5 + spread)
    return Bandit(arms, threshold=0.5, precision=0.05)


def _declared() -> Bandit:
    means = [0.1 * k for k in (*range(-10, 0), *range(1, 11))]
    return _known(means, [0.2, 0.5, 1.0, 2.0] * 5, 0.0, 0.1)


def _bounded() -> Bandit:
    """Beta arms, a third each with a tiny, a middling and a large spread."""
    means = [0.2 + 0.6 * (i + 0.5) / 12 for i in range(12)]
    arms = Beta.from_means(means, sd=[0.01, 0.1, 0.3] * 4)
    return Bandit(arms, threshold=0.5, precision=0.05)


HEAVY = [0.4, 0.5, 0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.5, 1.6]


def _recorded(name: str, **options: Any) -> Bandit:
    return dataset(name).bandit(**options)


def _exceeding(name: str, level: float, tau: float, eps: float) -> Bandit:
    """Recorded trials that exceed a level or not, as the coins that they are: much faster."""
    data = dataset(name)
    coins = Bernoulli(data.arms.above(level).tolist())
    return Bandit(coins, threshold=tau, precision=eps, names=data.names)


EVEN = (0.5, 0.6, 0.38, 0.42)  # AugUCB prints these as variances; its code takes them for sds
UNEQUAL = (0.3, 0.8, 0.2, 0.3)
FEWER = " with 30 arms in the background, not 90; sds not told"

Row = tuple[str, Callable[[], Bandit], str]

GROUPS: dict[str, list[Row]] = {
    "the paper": [
        *((name, partial(_paper, name, False), "the paper, Section 4") for name in EXPERIMENTS),
        *(
            (f"{name}-gaussian", partial(_paper, name, True), "the paper, Appendix B; sd ½ known")
            for name in EXPERIMENTS
        ),
    ],
    # The first three of the twelve rows that cutline's default was first measured on are the
    # paper's Bernoulli experiments, above; the other nine follow.
    "coins": [
        ("geometric-exact", _geometric_exact, "Experiment 3 with precision 0"),
        ("radtke-2", partial(_coins, RADTKE_2, 0.05, 0.0), "Radtke's Sim 2"),
        ("radtke-3", partial(_coins, RADTKE_3, 0.01, 0.0), "Radtke's Sim 3"),
        (
            "ladder-20",
            partial(_coins, LADDER, 0.5, 0.0),
            "the LSA paper's: 0.405, 0.415, ..., 0.595",
        ),
        (
            "flaky-50",
            partial(_coins, FLAKY, 0.01, 0.005),
            "flaky tests; failure rates log-uniform from 0.0001 to 0.3",
        ),
        (
            "tests-200",
            partial(_coins, TESTS, 0.01, 0.005),
            "160 tests never fail; rates of 20 are log-uniform from 0.0001 to 0.001, of 20 from "
            "0.03 to 0.5",
        ),
        (
            "prompts-30",
            partial(_coins, PROMPTS, 0.9, 0.02),
            "success rates evenly spread from 0.8 to 0.99",
        ),
        ("uniform-50", partial(_beta_coins, 1, 1, 50, 0.5, 0.05), "means uniform from 0 to 1"),
        ("uniform-50-high", partial(_beta_coins, 1, 1, 50, 0.8, 0.05), "the same, threshold 0.8"),
    ],
    "counts and times": [
        (
            "exponential-20",
            lambda: Bandit(Exponential(_steps(1.0, 1.2)), threshold=1.0, precision=0.05),
            "Radtke's Sim 4 in spirit: means 1.2^k, k = ±1, ..., ±10",
        ),
        (
            "poisson-20",
            lambda: Bandit(Poisson(_steps(0.4, 1.25)), threshold=0.4, precision=0.02),
            "Radtke's Sim 5 in spirit: means 0.4 × 1.25^k, k = ±1, ..., ±10",
        ),
    ],
    "FWT": [
        ("fwt-1", _fwt_1, "means (-1)^k, sd 1 known"),
        ("fwt-2", partial(_fwt_2, 0.0), "means (-1)^k (k/50)², sd 1 known"),
        ("fwt-2-band", partial(_fwt_2, 0.1), "the same with precision 0.1"),
    ],
    "unequal noise": [
        *(
            (
                f"aug-ucb-{i + 1}",
                partial(_aug_ucb, name, EVEN),
                f"AugUCB's Experiment {i + 1}{FEWER}",
            )
            for i, name in enumerate(AUG_UCB)
        ),
        ("aug-ucb-5", partial(_aug_ucb, "two-groups", UNEQUAL), f"AugUCB's Experiment 5{FEWER}"),
        ("declared-20", _declared, "means ±0.1, ..., ±1; sds 0.2, 0.5, 1, 2 in turn, known"),
    ],
    "bounded and heavy": [
        ("beta-12", _bounded, "Beta arms, means from 0.2 to 0.8, sds 0.01, 0.1, 0.3 in turn"),
        (
            "pareto-10",
            lambda: Bandit(Pareto(HEAVY, 2.5), threshold=1.0, precision=0.1),
            "shape 2.5",
        ),
        (
            "student-10",
            lambda: Bandit(StudentT(HEAVY, 3.0, 0.5), threshold=1.0, precision=0.1),
            "3 degrees of freedom, scale ½",
        ),
    ],
    "many arms": [
        ("arms-50-high", partial(_beta_coins, 9, 1, 50, 0.9, 0.04), "means of Beta(9, 1)"),
        ("arms-500", partial(_beta_coins, 0.5, 0.5, 500, 0.5, 0.1), "means of Beta(½, ½)"),
        ("arms-500-low", partial(_beta_coins, 0.25, 2.25, 500, 0.1, 0.08), "means of Beta(¼, 2¼)"),
        ("arms-5000", partial(_beta_coins, 0.5, 0.5, 5000, 0.5, 0.1), "means of Beta(½, ½)"),
        (
            "arms-5000-low",
            partial(_beta_coins, 0.25, 2.25, 5000, 0.1, 0.08),
            "means of Beta(¼, 2¼)",
        ),
        (
            "arms-5000-high",
            partial(_beta_coins, 2.25, 0.25, 5000, 0.9, 0.08),
            "means of Beta(2¼, ¼)",
        ),
    ],
    "recorded": [
        (
            "bluebirds",
            partial(_exceeding, "bluebirds", 0.5, 0.5, 0.1),
            "crowd labels for photographs",
        ),
        (
            "vm-noise-5",
            partial(_exceeding, "vm_noise", 0.05, 0.2, 0.05),
            "benchmarks that stray by over 5 % in a fifth of runs",
        ),
        (
            "vm-noise-10",
            partial(_exceeding, "vm_noise", 0.1, 0.1, 0.03),
            "benchmarks that stray by over 10 % in a tenth of runs",
        ),
        (
            "rtt-half",
            partial(_exceeding, "rtt_seattle", 0.5, 0.2, 0.05),
            "links over half a second in a fifth of trips",
        ),
        (
            "rtt-one",
            partial(_exceeding, "rtt_seattle", 1.0, 0.05, 0.02),
            "links over a second in a twentieth of trips",
        ),
        (
            "rtt-mean",
            partial(_recorded, "rtt_seattle", threshold=0.4, precision=0.1),
            "links whose mean trip takes 0.4 s",
        ),
    ],
}
