"""What robust estimates gain and cost: the error of APT and its kin on heavy-tailed arms.

    .venv/bin/python benchmarks/heavy_tails.py             two to four minutes on two cores
    .venv/bin/python benchmarks/heavy_tails.py --games 10000

Ten arms with means 0.4 to 0.8 and 1.2 to 1.6 are held against the threshold 1, precision 0.1: the
chance of any wrong arm, law by law. Then recorded round-trip times, where any of 600 links is
nearly always wrong: the mean number of wrong arms. All rules meet the same rewards. The tables are
Markdown on stdout; how far it is goes to stderr.
"""

import argparse
import sys
import time

from cutline import (
    APT,
    Bandit,
    CatoniAPT,
    ClippedAPT,
    Gaussian,
    MedianAPT,
    Pareto,
    RoundRobin,
    Rule,
    StudentT,
    dataset,
    simulate,
)

MEANS = [0.4, 0.5, 0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.5, 1.6]
PULLS = [5, 10, 20, 50, 100, 200, 500, 1000, 2000]  # an arm
LAWS = {
    **{f"Pareto, shape {shape:g}": Pareto(MEANS, shape) for shape in (1.5, 2.0, 2.5, 3.0)},
    **{f"Student t, {nu:g} degrees": StudentT(MEANS, nu, scale=0.5) for nu in (1.5, 2.2, 3.0, 5.0)},
    "normal, sd 0.5": Gaussian(MEANS, sd=0.5),
}
LINK_PULLS = [5, 10, 20, 50, 100]


def rules(spread: float) -> dict[str, Rule]:
    """The contenders; one of them is told the spread of a reward."""
    return {
        "round robin": RoundRobin(),
        "APT": APT(),
        "clipped": ClippedAPT(),
        f"clipped, spread {spread:g} known": ClippedAPT(spread=spread),
        "Catoni": CatoniAPT(),
        "median of means": MedianAPT(),
    }


def row(*cells: str) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def rate(value: float) -> str:
    """A chance in three or, where it is small, four places; 0 where nothing was seen."""
    return "0" if value == 0 else f"{value:.3f}" if value >= 0.01 else f"{value:.4f}"


def laws(games: int) -> None:
    """Ten arms of every law: the chance of any wrong arm."""
    print(row("law", "rule", *(f"{pulls} pulls an arm" for pulls in PULLS)))
    print(row("---", "---", *["---:"] * len(PULLS)))
    contenders = rules(spread=0.5)
    for law, arms in LAWS.items():
        start = time.perf_counter()
        bandit = Bandit(arms, threshold=1.0, precision=0.1)
        budgets = [len(MEANS) * pulls for pulls in PULLS]
        found = simulate(bandit, list(contenders.values()), budget=budgets, games=games, seed=1)
        for name, errors in zip(contenders, found.error_curve, strict=True):
            print(row(law, name, *map(rate, errors)), flush=True)
        print(f"{law}: {time.perf_counter() - start:.0f} s", file=sys.stderr)


def links(games: int) -> None:
    """Which of 600 links have a mean round-trip time above 0.4 s: the mean number of wrong arms."""
    start = time.perf_counter()
    bandit = dataset("rtt_seattle").bandit(threshold=0.4, precision=0.05)
    contenders = rules(spread=0.2)  # the median of their standard deviations
    budgets = [len(bandit.problem.arms) * pulls for pulls in LINK_PULLS]
    found = simulate(bandit, list(contenders.values()), budget=budgets, games=games, seed=1)
    print(row("600 links", *(f"{pulls} pulls an arm" for pulls in LINK_PULLS)))
    print(row("---", *["---:"] * len(LINK_PULLS)))
    for name, wrong in zip(contenders, found.wrong_arms_curve, strict=True):
        print(row(name, *(f"{mean:.1f}" for mean in wrong)))
    print(f"links: {time.perf_counter() - start:.0f} s", file=sys.stderr)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=2000, help="a law; of the links a tenth")
    games = parser.parse_args().games
    laws(games)
    print()
    links(-(-games // 10))


if __name__ == "__main__":
    main()
