"""How fast the simulator is, as ratios in one run against what one would write instead.

    make bench            or, with JAX in the comparison, make bench JAX=1

Machines are shared and noisy: every contender is timed several times, in turn, and its best time
counts. All play the same job: APT on ten arms (the paper's Experiment 1), 500 pulls a game, and the
error at every horizon. Ours draws with a counter-based generator in float64. The other rules are
timed beside our own APT.
"""

import argparse
import time
from collections.abc import Callable

import baselines
import numpy as np

from cutline import (
    APT,
    CSAR,
    EVT,
    FWT,
    LSA,
    PI,
    SAR,
    SLR,
    SLRD,
    SLRV,
    TTS,
    UCB1,
    UCBE,
    Arms,
    AugUCB,
    Auto,
    Bandit,
    Bernoulli,
    BestUCBE,
    CatoniAPT,
    ClippedAPT,
    Exponential,
    Gaussian,
    GCLStar,
    MedianAPT,
    Pareto,
    Poisson,
    RoundRobin,
    Rule,
    StudentT,
    TopArms,
    UGapE,
    Uniform,
    arithmetic,
    simulate,
    three_groups,
)
from cutline.figures.text import aligned

BUDGET = 500
SLOW = (SLRD, AugUCB, PI, TTS)
Job = tuple[str, int, Callable[[int], object]]  # a name, games in a round, what plays them


def speeds(jobs: list[Job], rounds: int, budget: int = BUDGET) -> list[float]:
    """Pulls per second of every job: the best of some rounds, the jobs taking turns."""
    best = [0.0] * len(jobs)
    for _, games, play in jobs:
        play(games)  # compiled, loaded and warm
    for _ in range(rounds):
        for i, (_, games, play) in enumerate(jobs):
            start = time.perf_counter()
            play(games)
            best[i] = max(best[i], games * budget / (time.perf_counter() - start))
    return best


def ours(rule, bandit, budget=BUDGET, **options) -> Callable[[int], object]:  # type: ignore[no-untyped-def]
    """A job of ours: the whole curve for rules that need no horizon, else one horizon."""

    def play(games: int) -> object:
        steps = budget if rule.anytime else [budget]
        return simulate(bandit, [rule], budget=steps, games=games, seed=1, **options)

    return play


def contenders(sd: float | None) -> list[Job]:
    """The same games in NumPy, pure Python and, where it is installed, JAX."""
    settings = (baselines.THREE_GROUPS, sd, 0.5, 0.1, BUDGET)

    def job(name: str, games: int, play: Callable[..., object], **options: object) -> Job:
        return name, games, lambda n: play(*settings, n, 1, **options)

    jobs = [
        job("NumPy, argmin, 1 core", 4_000, baselines.plain_numpy_apt),
        job("NumPy, packed keys, 1 core", 32_000, baselines.numpy_apt),
        job("pure Python, 1 core", 200, baselines.python_apt),
    ]
    try:
        import jax  # noqa: F401
    except ImportError:
        print("JAX is not installed and left out (make bench JAX=1 installs it)\n")
        return jobs
    return [
        *jobs,
        job("JAX, argmin, float64, all cores", 20_000, baselines.plain_jax_apt),
        job(
            "JAX, tuned, float64, all cores",
            60_000,
            baselines.jax_apt,
            dtype="float64",
            batch=1_500,
        ),
        job("JAX, tuned, float32, all cores", 120_000, baselines.jax_apt, dtype="float32"),
    ]


def show(title: str, jobs: list[Job], found: list[float]) -> None:
    """A table, with how many times faster than each job the first one is."""
    rows = [[title, "M pulls/s", "first is faster by"]]
    for (name, _, _), speed in zip(jobs, found, strict=True):
        rows.append([name, f"{speed / 1e6:.1f}", f"{found[0] / speed:.2f} x"])
    print(aligned(rows))


def beside_apt() -> list[tuple[str, Bandit, list[Rule]]]:
    """Families of arms, and the rules that are timed beside APT on them."""
    robust = [ClippedAPT(), CatoniAPT(), MedianAPT()]
    plain = [UCBE(1), CSAR(), Uniform(), RoundRobin()]
    field = [LSA(), FWT(), EVT(), AugUCB(), PI(), TTS()]
    means = [0.4, 0.5, 0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.5, 1.6]

    def around_one(arms: Arms) -> Bandit:
        return Bandit(arms, threshold=1.0, precision=0.1)

    return [
        ("Bernoulli", three_groups(), [Auto(), *plain, *field, SLR(), SLRD(), *robust]),
        ("Gaussian", three_groups(True), [Auto(), *plain, SLR(), SLRV(), *robust]),
        ("Poisson", around_one(Poisson(means)), [Auto(), SLR()]),
        ("exponential", around_one(Exponential(means)), [Auto(), SLR()]),
        ("Pareto", around_one(Pareto(means, 2.0)), list(robust)),
        ("Student-t", around_one(StudentT(means, 2.2, 0.5)), list(robust)),
        (
            "level sets of Gaussian",
            Bandit(Gaussian(means), level=1.5, threshold=0.4, precision=0.05),
            [SLR()],
        ),
    ]


def live() -> list[Job]:
    """APT as it goes live, beside the usual kernel: pulls in flight, evidence at each pull."""
    coins, normal = three_groups(), three_groups(True)
    ways = {
        "one pull at a time": {"delay": "random"},
        "8 in flight": {"delay": "random", "in_flight": 8},
        "64 in flight": {"delay": "random", "in_flight": 64},
        "Hoeffding bounds": {"evidence": "hoeffding"},
        "Beta mixture": {"evidence": "beta-mixture"},
        "betting": {"evidence": "betting"},
    }
    jobs: list[Job] = [("the usual kernel", 100_000, ours(APT(), coins))]
    jobs += [(name, 10_000, ours(APT(), coins, **how)) for name, how in ways.items()]
    return [*jobs, ("t mixture, Gaussian", 10_000, ours(APT(), normal, evidence="t-mixture"))]


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    for kind, sd in (("Bernoulli", None), ("Gaussian", 0.5)):
        bandit = three_groups(sd is not None)
        jobs: list[Job] = [
            ("cutline, all cores", 200_000, ours(APT(), bandit)),
            ("cutline, 1 core", 100_000, ours(APT(), bandit, threads=1)),
            *contenders(sd),
        ]
        show(f"APT, {kind} arms, whole curve", jobs, speeds(jobs, rounds))
    for kind, bandit, rules in beside_apt():
        jobs = [
            (str(rule), 10_000 if isinstance(rule, SLOW) else 100_000, ours(rule, bandit))
            for rule in (APT(), *rules)
        ]
        show(f"{kind} arms, all cores", jobs, speeds(jobs, rounds))
    jobs = live()
    show("live games, Bernoulli arms, all cores", jobs, speeds(jobs, rounds))
    bandit = arithmetic().for_best_arm()
    jobs = [
        (str(rule), 20_000, ours(rule, bandit, goal=TopArms(1), horizons=[BUDGET]))
        for rule in (APT(), GCLStar(), BestUCBE(), SAR(), UGapE(), UCB1())
    ]
    show("best arm, Bernoulli, at the budget alone", jobs, speeds(jobs, rounds))
    rows = [["arms", "budget", "M pulls/s", "cost per pull"]]
    first = 0.0
    for arms, games in ((10, 200_000), (100, 4_000), (1_000, 256), (10_000, 64)):
        means = np.random.default_rng(1).uniform(size=arms)
        bandit = Bandit(Bernoulli(means), threshold=0.5, precision=0.1)
        budget = 100 * arms if arms > 10 else BUDGET
        jobs = [("", games, ours(APT(), bandit, budget))]
        (speed,) = speeds(jobs, min(rounds, 3), budget)
        first = first or speed
        rows.append([str(arms), str(budget), f"{speed / 1e6:.1f}", f"{first / speed:.2f} x"])
    print(aligned(rows))


if __name__ == "__main__":
    main()
