"""Worked examples of the paper's Sections 2.4 and 3: a table, its numbers, what to draw."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cutline.core.tally import Floats
from cutline.core.theory import theorem_3, theorem_4
from cutline.figures.draw import draw_figure, save_figure
from cutline.figures.panels import Panel
from cutline.figures.tables import Curve, Row, error_curves, rate, result_rows
from cutline.figures.text import aligned, as_csv
from cutline.rules import (
    APT,
    SAR,
    SLR,
    UCB1,
    BestUCBE,
    CatoniAPT,
    ClippedAPT,
    GCLStar,
    MedianAPT,
    RoundRobin,
    Rule,
    UGapE,
    Uniform,
)
from cutline.simulation import (
    Bandit,
    Duels,
    Pareto,
    Result,
    StudentT,
    TopArms,
    arithmetic,
    dataset,
)

Play = Callable[..., Result]


class Stopped(Exception):
    """Ctrl-C during an example."""


@dataclass(frozen=True)
class Example:
    """What an example shows."""

    title: str
    table: str
    rows: list[Row]
    panels: list[Panel]


def labels(play: Play) -> Example:
    """Active classification: yes or no by the crowd, for 108 photographs of birds."""
    data = dataset("bluebirds")
    items = len(data.names)
    each = [1, 2, 3, 5, 8, 12, 16, 20, 25, 30, 39]
    rules = [APT(precision=0.1), Uniform()]
    crowd = play(data.bandit(threshold=0.5), rules, budgets=[items * n for n in each])
    truth = play(
        data.bandit(threshold=0.5, truth=data.truth), rules, budgets=[items * n for n in each]
    )
    title = "108 photographs, labels drawn from 39 workers each"
    axes = ("labels bought per photograph", "share of photographs")
    ceiling = float(np.mean((data.arms.means >= 0.5) == (np.array(data.truth) > 0)))
    panels = [
        Panel("as the full crowd says", *axes, curves=shares(crowd, items), log_y=False),
        Panel(
            "as the expert says",
            *axes,
            curves=shares(truth, items),
            marks=(("majority of all 39 labels", ceiling),),
            log_y=False,
        ),
    ]
    lines = [["labels per photograph", *(str(n) for n in each)]]
    for name, result in (("crowd", crowd), ("expert", truth)):
        lines += [
            [f"{name}: {curve.label}", *(f"{y:.3f}" for y in curve.rate)]
            for curve in shares(result, items)
        ]
    rows = [
        {"judge": judge, **row}
        for judge, result in (("crowd", crowd), ("expert", truth))
        for row in result_rows(result)
    ]
    return Example(title, aligned(lines), rows, panels)


def anomalies(play: Play) -> Example:
    """Active anomaly detection: which benchmarks stray by over 5 % in over 20 % of runs."""
    bandit = dataset("vm_noise").bandit(threshold=0.2, precision=0.05, level=0.05)
    arms = len(bandit.problem.arms)
    each = [3, 5, 7, 10, 15, 20, 30, 40, 50, 75, 100]
    result = play(bandit, [APT(), SLR(), Uniform()], budgets=[arms * n for n in each])
    order = np.argsort(bandit.means)
    wrong = Panel(
        "benchmarks on the wrong side",
        "runs per benchmark",
        "wrong benchmarks, mean",
        curves=wrong_arms(result, arms),
    )
    spent = Panel(
        f"where APT's runs go, at {each[-1]} per benchmark",
        "share of runs that stray, true",
        "runs, relative to equal shares",
        points=(bandit.means[order], result.mean_pulls[0][order] / each[-1]),
        bar=(0.2, 0.05),
    )
    title = f"{arms} benchmark metrics on fresh cloud machines: P(deviation > 5 %) ≥ 20 %?"
    return Example(
        title,
        _wrong_table("runs per benchmark", each, result),
        result_rows(result),
        [wrong, spent],
    )


def duels(play: Play) -> Example:
    """Duels: which options beat the one in use, and which win more than half of all duels."""
    strengths = [1.25**i for i in range(-8, 8)]
    each = [5, 10, 20, 40, 80, 150, 250]
    panels, rows, tables = [], [], []
    for name, reference in (("against the option in use", 8), ("against each other", None)):
        bandit = Bandit(
            Duels.from_strengths(strengths, reference=reference), threshold=0.5, precision=0.05
        )
        arms = len(bandit.problem.arms)
        result = play(bandit, [APT(), SLR(), Uniform()], budgets=[arms * n for n in each])
        curves = wrong_arms(result, arms)
        panels.append(Panel(name, "duels per option", "wrong options, mean", curves=curves))
        rows += [{"duels": name, **row} for row in result_rows(result)]
        tables.append(f"{name}\n" + _wrong_table("duels per option", each, result))
    title = "16 options, each 1.25 times as strong as the last: who wins half of its duels?"
    return Example(title, "\n".join(tables), rows, panels)


def best_arm(play: Play) -> Example:
    """Best arm and regret at once, when the highest mean is known; Theorems 3 and 4 drawn in."""
    bandit = arithmetic().for_best_arm()
    rules: list[Rule] = [APT(), GCLStar(), BestUCBE(), UGapE(), SAR(), UCB1()]
    steps = [20, 30, 50, 80, 120, 200, 300, 500, 800, 1200, 2000, 3000]
    result = play(bandit, rules, budgets=steps, goal=TopArms(1))
    named = ["APT(μ*)", "GCL*", "UCB-E", "UGapE", "Successive Rejects", "UCB1"]
    errors = tuple(_renamed(c, n) for c, n in zip(error_curves(result), named, strict=True))
    band = result.regret_interval()
    regrets = tuple(
        Curve(name, result.horizons, mean, ends[:, 0], ends[:, 1])
        for name, mean, ends in zip(named, result.regret_curve, band, strict=True)
    )
    far = np.unique(np.geomspace(20, 60_000, 60).astype(int))
    noise = bandit.noise_scale
    third = theorem_3(bandit.means, noise_scale=noise)
    says = np.array([t for t in far if not third.is_vacuous(int(t))])
    fourth = [theorem_4(bandit.means, budget=int(t), noise_scale=noise) for t in far]
    panels = [
        Panel(
            "naming the best arm",
            "pulls",
            "probability of a wrong arm",
            curves=errors,
            bounds=(("Theorem 3", says, [third.at(int(t)) for t in says]),),
            log_x=True,
        ),
        Panel(
            "earning on the way",
            "pulls",
            "pseudo-regret, mean",
            curves=regrets,
            bounds=(("Theorem 4", far, fourth),),
            log_x=True,
        ),
    ]
    lines = [["", *(f"T = {t}" for t in steps)]]
    lines += [[f"error: {c.label}", *(rate(float(y)) for y in c.rate)] for c in errors]
    lines += [[f"regret: {c.label}", *(f"{y:.1f}" for y in c.rate)] for c in regrets]
    title = "Experiment 2's arms, highest mean known: one run of APT does both"
    return Example(title, aligned(lines), result_rows(result), panels)


def heavy_tails(play: Play) -> Example:
    """Heavy tails: APT with the mean and with estimates that one wild reward cannot move."""
    means = [0.4, 0.5, 0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.5, 1.6]
    each = [20, 35, 50, 70, 100, 150, 200, 300, 500]
    rules = [APT(), ClippedAPT(), CatoniAPT(), MedianAPT(), RoundRobin()]
    panels, rows, tables = [], [], []
    for name, arms in (
        ("Pareto, shape 2", Pareto(means, 2.0)),
        ("Student's t, 2.2 degrees, scale ½", StudentT(means, 2.2, 0.5)),
    ):
        bandit = Bandit(arms, threshold=1.0, precision=0.1)
        result = play(bandit, rules, budgets=[len(means) * n for n in each])
        curves = tuple(_per_arm(curve, len(means)) for curve in error_curves(result))
        panels.append(Panel(name, "pulls per arm", "error probability", curves=curves))
        rows += [{"law": name, **row} for row in result_rows(result)]
        lines = [["pulls per arm", *(str(n) for n in each)]]
        lines += [[c.label, *(rate(float(y)) for y in c.rate)] for c in curves]
        tables.append(f"{name}: error probability\n" + aligned(lines))
    title = "Ten heavy-tailed arms around a threshold of 1"
    return Example(title, "\n".join(tables), rows, panels)


EXAMPLES: dict[str, Callable[[Play], Example]] = {
    "labels": labels,
    "anomalies": anomalies,
    "duels": duels,
    "best-arm": best_arm,
    "heavy-tails": heavy_tails,
}


def run_examples(
    names: Sequence[str],
    out: Path,
    games: int,
    seed: int,
    threads: int | None,
    simulate: Callable[..., tuple[Result, bool]],
    echo: Callable[[str], Any],
) -> int:
    """Play examples into a folder: a figure and a CSV for each. Returns 0, or 130 if stopped."""
    for name in names:

        def play(bandit: Bandit, rules: Sequence[Rule], what: str = name, **options: Any) -> Result:
            options |= {"games": games, "seed": seed, "threads": threads}
            result, stopped = simulate(what, bandit, list(rules), **options)
            if stopped:
                raise Stopped
            return result

        try:
            example = EXAMPLES[name](play)
        except Stopped:
            return 130
        echo(f"{name}: {example.title}, {games:,} games")
        echo(example.table)
        figure = draw_figure(example.panels, example.title)
        for ending in ("png", "svg"):
            save_figure(figure, out / f"{name}.{ending}")
        (out / f"{name}.csv").write_text(as_csv(example.rows))
    files = ", ".join(f"{name}.png, .svg and .csv" for name in names)
    echo(f"written to {out}/: {files}")
    return 0


def shares(result: Result, arms: int) -> tuple[Curve, ...]:
    """The share of arms on the right side, against pulls per arm."""
    wrong = result.wrong_arms_interval()
    return tuple(
        Curve(
            label,
            result.horizons / arms,
            1 - mean / arms,
            1 - band[:, 1] / arms,
            1 - band[:, 0] / arms,
        )
        for label, mean, band in zip(result.rules, result.wrong_arms_curve, wrong, strict=True)
    )


def wrong_arms(result: Result, arms: int) -> tuple[Curve, ...]:
    """The mean number of wrong arms, against pulls per arm; where none was wrong, no limit."""
    wrong = result.wrong_arms_interval()
    wrong[result.wrong_arms_curve == 0] = np.nan
    return tuple(
        Curve(label, result.horizons / arms, mean, band[:, 0], band[:, 1])
        for label, mean, band in zip(result.rules, result.wrong_arms_curve, wrong, strict=True)
    )


def _wrong_table(head: str, each: Sequence[int], result: Result) -> str:
    lines = [[f"{head}; mean wrong arms", *(str(n) for n in each)]]
    curves: list[Floats] = list(result.wrong_arms_curve)
    lines += [
        [rule, *(rate(float(y)) for y in curve)]
        for rule, curve in zip(result.rules, curves, strict=True)
    ]
    return aligned(lines)


def _per_arm(curve: Curve, arms: int) -> Curve:
    return Curve(curve.label, curve.horizons / arms, curve.rate, curve.low, curve.high)


def _renamed(curve: Curve, label: str) -> Curve:
    return Curve(label, curve.horizons, curve.rate, curve.low, curve.high)
