"""How often an answer is wrong beside what its verdict says: the estimate and the bound.

Every game has means of its own, drawn from a law, and is played by the default rule. Then games
whose verdict says about the same are put together, and the share of them that is wrong is counted.

    python -m cutline.figures.calibration --out docs/figures
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cutline.core.estimate import wrong_chances
from cutline.core.evidence import BetaMixture, arm_columns
from cutline.core.intervals import clopper_pearson
from cutline.core.problem import Problem
from cutline.core.tally import Floats, Ints, Tallies
from cutline.figures.draw import draw_calibration, save_figure
from cutline.figures.tables import Row, rate
from cutline.figures.text import aligned, as_csv
from cutline.rules import Auto

ARMS, THRESHOLD, PRECISION = 10, 0.5, 0.05
BUDGETS = (100, 300, 1000)
EDGES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0)
SAYS = ("error_estimate", "error_bound")

Law = Callable[[np.random.Generator, tuple[int, int]], Floats]


def anywhere(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Means anywhere from 0 to 1, alike."""
    return rng.uniform(size=shape)


def crowded(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """All means within 0.1 of the threshold."""
    return rng.uniform(THRESHOLD - 0.1, THRESHOLD + 0.1, size=shape)


def mostly_low(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Nine arms in ten far below, up to 0.2; the others anywhere."""
    low, others = rng.uniform(0.0, 0.2, size=shape), rng.uniform(size=shape)
    return np.where(rng.uniform(size=shape) < 0.9, low, others)


LAWS: dict[str, Law] = {
    "means anywhere from 0 to 1": anywhere,
    "means within 0.1 of the bar": crowded,
    "nine in ten means below 0.2": mostly_low,
}


def coins(arms: int) -> Problem:
    """The question, for so many arms."""
    return Problem(arms=arms, threshold=THRESHOLD, precision=PRECISION, rewards="binary")


@dataclass(frozen=True)
class Tables:
    """The rule's index and both log e-values of an arm after n pulls with s ones, as [n, s]."""

    index: Floats
    log_above: Floats
    log_below: Floats

    @classmethod
    def of(cls, problem: Problem, most: int) -> "Tables":
        """For arms with at most so many pulls; all arms have the same threshold and precision."""
        tau, eps = problem.threshold[0], problem.precision[0]
        own = arm_columns(BetaMixture(), problem, 0)
        above = {name: own[name] for name in ("low", "width", "prior_above")}
        below = {name: own[name] for name in ("high", "width", "prior_below")}
        index, log_above, log_below = np.full((3, most + 1, most + 1), np.nan)
        index[0, 0], log_above[0, 0], log_below[0, 0] = -math.inf, 0.0, 0.0  # unseen arms first
        for n in range(1, most + 1):
            for s in range(n + 1):
                index[n, s] = Auto.formula(n, s, tau, eps, 1.0)
                log_above[n, s] = BetaMixture.log_above(n, s, **above)
                log_below[n, s] = BetaMixture.log_below(n, s, **below)
        return cls(index, log_above, log_below)


@dataclass(frozen=True)
class Said:
    """What the verdicts of some games said, and whether they were wrong about any arm."""

    error_estimate: Floats
    error_bound: Floats
    wrong: npt.NDArray[np.bool_]


def play(
    tables: Tables, means: Floats, budget: int, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats, Floats]:
    """Games of the default rule side by side; means, and what comes back, are (game, arm).

    Pulls, ones, and the largest log e-values for "above" and for "below". Ties go to the first
    arm: the arms are alike before the game, so that any order would do.
    """
    games = np.arange(len(means))
    pulls, ones = np.zeros((2, *means.shape), np.int64)
    tops = np.zeros((2, *means.shape))
    values = np.full(means.shape, -math.inf)
    for _ in range(budget):
        arm = values.argmin(axis=1)
        at = games, arm
        pulls[at] += 1
        ones[at] += rng.uniform(size=len(games)) < means[at]
        now = pulls[at], ones[at]
        values[at] = tables.index[now]
        for top, table in zip(tops, (tables.log_above, tables.log_below), strict=True):
            top[at] = np.maximum(top[at], table[now])
    return pulls, ones, tops[0], tops[1]


def said(tables: Tables, means: Floats, budget: int, rng: np.random.Generator) -> Said:
    """Play one game for every row of means, and judge it as :func:`cutline.judge` would."""
    pulls, ones, above, below = play(tables, means, budget, rng)
    side = ones >= pulls * THRESHOLD
    # What is seen of an arm is two numbers, so few arms differ: each is looked at once.
    seen, which = np.unique(np.stack([pulls.ravel(), ones.ravel()]), axis=1, return_inverse=True)
    tallies = Tallies(seen[0], seen[1] * 1.0, seen[1] * 1.0, np.zeros(seen.shape[1]))
    each = coins(seen.shape[1])
    chances = np.array(wrong_chances(each, tallies, each.decide(tallies)))
    chance = chances[which.reshape(pulls.shape)]
    p_value = np.exp(-np.where(side, above, below))
    truth = coins(means.size).truth(means.ravel()).reshape(means.shape)
    return Said(
        -np.expm1(np.log1p(-chance).sum(axis=1)),
        np.minimum(1.0, means.shape[1] * p_value.max(axis=1)),
        ((truth != 0) & (side != (truth > 0))).any(axis=1),
    )


def calibrate(
    games: int, *, laws: Sequence[str] = tuple(LAWS), budgets: Sequence[int] = BUDGETS, seed: int
) -> list[Row]:
    """A row for every law, number shown and bin of it; so many games for each law and budget."""
    tables = Tables.of(coins(ARMS), max(budgets) - ARMS + 1)
    rows: list[Row] = []
    for law in laws:
        parts = []
        for budget in budgets:
            key = [seed, list(LAWS).index(law), budget]
            means = LAWS[law](np.random.default_rng([*key, 0]), (games, ARMS))
            parts.append(said(tables, means, budget, np.random.default_rng([*key, 1])))
        rows += bins(law, parts)
    return rows


def bins(law: str, parts: Sequence[Said]) -> list[Row]:
    """Games whose verdict says about the same, and how many of them are wrong."""
    wrong = np.concatenate([part.wrong for part in parts])
    rows = []
    for name in SAYS:
        shown = np.concatenate([getattr(part, name) for part in parts])
        place = np.maximum(np.searchsorted(EDGES, shown, side="left"), 1)  # (low, high]
        for i in range(1, len(EDGES)):
            here = place == i
            if not here.any():
                continue
            count, errors = int(here.sum()), int(wrong[here].sum())
            low, high = clopper_pearson(errors, count)
            row = {"law": law, "shown": name, "from": EDGES[i - 1], "to": EDGES[i]}
            row |= {"games": count, "mean_shown": float(shown[here].mean())}
            row |= {"wrong": errors, "share_wrong": errors / count, "low": low, "high": high}
            rows.append(row)
    return rows


def as_text(rows: Sequence[Row]) -> str:
    """The rows as a table for people."""
    heads = ["means", "shown", "from", "to", "games", "says, on average", "wrong", "95 % interval"]
    lines = [
        [
            row["law"], row["shown"], f"{row['from']:g}", f"{row['to']:g}", f"{row['games']:,}",
            rate(row["mean_shown"]), rate(row["share_wrong"]),
            f"{rate(row['low'])} to {rate(row['high'])}",
        ]
        for row in rows
    ]  # fmt: skip
    return aligned([heads, *lines])


def write(out: Path, games: int, *, budgets: Sequence[int] = BUDGETS, seed: int = 1) -> str:
    """The figure and its numbers, as calibration.png and calibration.csv; the numbers come back."""
    rows = calibrate(games, budgets=budgets, seed=seed)
    spent = ", ".join(str(budget) for budget in budgets)
    title = (
        f"{ARMS} coins, bar {THRESHOLD} ± {PRECISION}, the default rule: {games:,} games each of "
        f"{spent} pulls"
    )
    save_figure(draw_calibration(rows, title), out / "calibration.png")
    short = [{k: round(v, 7) if isinstance(v, float) else v for k, v in r.items()} for r in rows]
    (out / "calibration.csv").write_text(as_csv(short))
    return as_text(rows)


def main() -> None:
    """The command of this module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m cutline.figures.calibration")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where the files go")
    parser.add_argument("--games", type=int, default=20_000, help="games for each law and budget")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    print(write(given.out, given.games, seed=given.seed), end="")


if __name__ == "__main__":
    main()
