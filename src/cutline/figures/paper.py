"""The paper's experiments, played, tabled, drawn, and held against exact values."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cutline.core.intervals import clopper_pearson
from cutline.figures.draw import draw_panels, save_figure
from cutline.figures.tables import Curve, Row, error_curves, result_rows, wide_table
from cutline.figures.text import as_csv
from cutline.rules import RoundRobin, Uniform, parse_rule
from cutline.simulation import EXPERIMENTS, Bandit, Result
from cutline.simulation.exact import (
    binary_correct,
    gaussian_correct,
    round_robin_error,
    uniform_error,
)

RULES = ["apt", "uniform", "ucbe:0.25", "ucbe:1", "ucbe:256", "csar"]
HORIZONS = range(20, 501, 20)
SHOWN = (100, 200, 300, 400, 500)
TITLES = {
    "three-groups": "Experiment 1: three groups",
    "arithmetic": "Experiment 2: arithmetic",
    "geometric": "Experiment 3: geometric",
}


def run_paper(
    out: Path,
    games: int,
    seed: int,
    threads: int | None,
    simulate: Callable[..., tuple[Result, bool]],
    echo: Callable[[str], Any],
) -> int:
    """Play everything into a folder; returns 0, or 1 if a check fails, or 130 if stopped."""
    names = RULES
    rules = [parse_rule(name) for name in names]
    rows: list[Row] = []
    checks: list[tuple[float, float, int]] = []
    written: list[Path] = []
    for kind in ("bernoulli", "gaussian"):
        panels: list[tuple[str, list[Curve]]] = []
        for name, bandit_of in EXPERIMENTS.items():
            bandit = bandit_of(kind == "gaussian")
            result, stopped = simulate(
                f"{name}, {kind}",
                bandit,
                [*rules, RoundRobin()],  # round robin for the check alone
                budgets=list(HORIZONS),
                games=games,
                seed=seed,
                threads=threads,
            )
            if stopped:
                return 130
            checks += compare_with_exact(bandit, result)
            shown = [*names, "round-robin"]
            echo(f"{TITLES[name]}, {kind} arms, {games:,} games: error probability")
            echo(wide_table(result, shown, SHOWN))
            rows += [
                {"experiment": name, "arms": kind, **row} for row in result_rows(result, shown)
            ]
            panels.append((TITLES[name], error_curves(result)[: len(names)]))
            written.append(out / f"{name}-{kind}.json")
            result.save(written[-1])
        figure = draw_panels(panels, f"{kind.capitalize()} arms, {games:,} games")
        for ending in ("png", "svg"):
            written.append(out / f"paper-{kind}.{ending}")
            save_figure(figure, written[-1])
    written.append(out / "paper.csv")
    written[-1].write_text(as_csv(rows))
    line, good = check_line(checks, games)
    echo(line)
    echo(f"written to {out}/: {', '.join(path.name for path in written)}")
    return 0 if good else 1


def compare_with_exact(bandit: Bandit, result: Result) -> Iterator[tuple[float, float, int]]:
    """(exact error, simulated error, wrong games) of uniform and round robin at every horizon."""
    correct = exact_correct(bandit, result.budget)
    for rule, exact in ((Uniform(), uniform_error), (RoundRobin(), round_robin_error)):
        r = result.rules.index(str(rule))
        for h, horizon in enumerate(result.horizons):
            wrong = int(result.wrong_games[r, h])
            yield exact(correct, int(horizon)), wrong / result.games, wrong


def exact_correct(bandit: Bandit, most: int) -> Any:
    """The chance that each arm of a paper's bandit is answered rightly after n pulls."""
    problem = bandit.problem
    arms = zip(bandit.means, problem.threshold, bandit.truth, strict=True)
    sds = getattr(bandit.arms, "sd", None)
    if sds is None:
        return np.array([binary_correct(mu, tau, int(t), most) for mu, tau, t in arms])
    return np.array(
        [
            gaussian_correct(mu, sd, tau, int(t), most)
            for (mu, tau, t), sd in zip(arms, sds, strict=True)
        ]
    )


def check_line(checks: Sequence[tuple[float, float, int]], games: int) -> tuple[str, bool]:
    """Whether every simulated value can come from its exact one, at 99.9 % for all at once."""
    level = 1 - 0.001 / len(checks)
    misses = sum(
        1
        for exact, _, wrong in checks
        if not (bounds := clopper_pearson(wrong, games, level))[0] <= exact <= bounds[1]
    )
    furthest = max(
        abs(rate - exact) / np.sqrt(exact * (1 - exact) / games) for exact, rate, _ in checks
    )
    verdict = "they agree" if misses == 0 else f"{misses} DO NOT AGREE"
    return (
        f"check: uniform and round robin against exact probabilities, {len(checks)} points: "
        f"{verdict} (largest distance {furthest:.1f} standard errors)"
    ), misses == 0
