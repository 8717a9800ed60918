"""What batches and delays cost: the error at the same budget.

*In batches*, so many pulls are asked for at once, and the next when all their results are in. *In
flight*, so many pulls are under way at any time: as soon as one result is back, the next pull is
asked for. Either way a pull without a result counts as one that gave its arm's mean.

    python -m cutline.figures.batches --out docs/figures
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutline.core.tally import Floats
from cutline.figures.draw import draw_batches, save_figure
from cutline.figures.tables import Row, rate, result_rows
from cutline.figures.text import aligned
from cutline.rules import APT, Auto, Policy, RoundRobin, Rule
from cutline.rules.base import UNTOLD
from cutline.simulation.arms import Bernoulli
from cutline.simulation.bandit import Bandit
from cutline.simulation.experiments import three_groups
from cutline.simulation.simulate import simulate
from cutline.simulation.suite.problems import log_middles

SIZES = (8, 64, 512)
TIMES = (1.0, 1.05, 1.1, 1.2, 1.3)  # the budgets at which games in batches are looked at
BATCHES, RANDOM, SLOW = "batches", "random delays", "slow failures"

PROMPTS = [round(0.8 + 0.19 * (i + 0.5) / 20, 6) for i in range(20)]
TESTS = [0.0] * 160 + log_middles(0.002, 0.02, 20) + log_middles(0.1, 0.5, 20)


@dataclass(frozen=True)
class Case:
    """A problem, what may be spent on it, and the share of all games that it is given.

    ``slow`` names the delay that makes failures slow: where a reward of 1 is a failure, it is the
    high rewards that are late.
    """

    title: str
    bandit: Bandit
    budget: int
    share: float
    slow: str = "slow-failures"


def cases() -> list[Case]:
    """Few arms and few pulls; arms close to the bar; many arms, most of which never fail."""
    prompts = Bandit(Bernoulli(PROMPTS), threshold=0.9, precision=0.03)
    tests = Bandit(Bernoulli(TESTS), threshold=0.05, precision=0.025)
    return [
        Case("10 coins in three groups", three_groups(), 280, 1.0),
        Case("20 prompts near the bar", prompts, 3_000, 0.25),
        Case("200 tests, most never fail", tests, 9_000, 0.075, "slow-successes"),
    ]


def in_batches(formula: Callable[..., float]) -> Callable[..., int]:
    """The choice of an index rule that sees results when a whole batch of them is in.

    The memory holds what was told before the batch (pulls, then totals), the pulls asked for since,
    and where every arm stands.
    """

    def stand(told: float, total: float, asked: float, tau: float, eps: float) -> float:
        pulls = told + asked
        if told == 0.0:
            return UNTOLD / (1.0 + asked)
        return formula(pulls, total * pulls / told, tau, eps)

    def choose(
        pulls: Floats, total: Floats, tau: Floats, eps: Floats, memory: Floats, step: int,
        size: float,
    ) -> int:  # fmt: skip
        K = len(pulls)
        if step % int(size) == 0:
            for i in range(K):
                memory[i], memory[K + i], memory[2 * K + i] = pulls[i], total[i], 0.0
                memory[3 * K + i] = stand(pulls[i], total[i], 0.0, tau[i], eps[i])
        arm = 0
        for i in range(1, K):
            if memory[3 * K + i] < memory[3 * K + arm]:
                arm = i
        memory[2 * K + arm] += 1.0
        told, before, asked = memory[arm], memory[K + arm], memory[2 * K + arm]
        memory[3 * K + arm] = stand(told, before, asked, tau[arm], eps[arm])
        return arm

    return choose


auto_formula = Auto.formula


def coin_auto(pulls: float, total: float, tau: float, eps: float) -> float:
    """The default rule for coins, whose rewards lie in a range of width 1."""
    return auto_formula(pulls, total, tau, eps, 1.0)


@dataclass(frozen=True)
class Batched(Policy):
    """A rule that asks for ``size`` pulls at once."""

    size: int

    def memory(self, arms: int) -> int:
        """See :func:`in_batches`."""
        return 4 * arms


class BatchedAuto(Batched):
    """The default rule for coins, in batches."""

    choose = staticmethod(in_batches(coin_auto))


class BatchedAPT(Batched):
    """APT, in batches."""

    choose = staticmethod(in_batches(APT.formula))


RULES: dict[str, tuple[Rule, type[Batched]]] = {
    "auto": (Auto(), BatchedAuto),
    "apt": (APT(), BatchedAPT),
}


def compare(case: Case, games: int, *, sizes: Sequence[int] = SIZES, seed: int) -> list[Row]:
    """A row for every rule, way and size; all games meet the same rewards."""
    budgets = [round(case.budget * times) for times in TIMES]
    each = [
        (name, 1 if size is None else size, rule if size is None else batched(size))
        for name, (rule, batched) in RULES.items()
        for size in (None, *sizes)
    ]
    each.append(("round-robin", 1, RoundRobin()))
    rules = [rule for _, _, rule in each]
    result = simulate(case.bandit, rules, budget=budgets, games=games, seed=seed)
    found = iter(result_rows(result, [name for name, _, _ in each]))
    rows = []
    for _, size, _ in each:
        curve = [next(found) for _ in budgets]
        rows.append(_row(case, BATCHES, size, curve[0]))
        rows[-1]["curve"] = [row["error_rate"] for row in curve]
    for row in rows:
        alone = next(r for r in rows if (r["rule"], r["size"]) == (row["rule"], 1))
        row["times"] = times_budget(row.pop("curve"), alone["error"])
    rules = [rule for rule, _ in RULES.values()]
    for way, delay in ((RANDOM, "random"), (SLOW, case.slow)):
        for size in sizes:
            result = simulate(
                case.bandit, rules, budget=[case.budget], games=games, seed=seed,
                in_flight=size, delay=delay,
            )  # fmt: skip
            rows += [_row(case, way, size, row) for row in result_rows(result, list(RULES))]
    return rows


def _row(case: Case, way: str, size: int, row: Row) -> Row:
    kept = {"problem": case.title, "budget": case.budget, "rule": row["rule"], "way": way}
    kept |= {"size": size, "games": row["games"], "wrong": row["wrong_games"]}
    return kept | {"error": row["error_rate"], "low": row["low"], "high": row["high"], "times": ""}


def times_budget(errors: Sequence[float], target: float) -> float:
    """How many times the budget brings the error down to the target, on a line between logarithms.

    ``errors`` are those at the budgets TIMES; infinite where the last is still above the target.

    >>> times_budget([0.04, 0.02, 0.01, 0.01, 0.01], target=0.02)
    1.05
    >>> round(times_budget([0.04, 0.02, 0.01, 0.01, 0.01], target=0.02828427), 6)
    1.025
    """
    if errors[0] <= target:
        return 1.0
    for i, error in enumerate(errors):
        if error <= target:
            high, low = math.log(errors[i - 1]), math.log(max(error, 1e-12))
            share = (high - math.log(max(target, 1e-12))) / (high - low)
            return TIMES[i - 1] + share * (TIMES[i] - TIMES[i - 1])
    return math.inf


def as_text(rows: Sequence[Row]) -> str:
    """The rows as a table for people."""
    heads = ["problem", "rule", "way", "size", "error", "95 % interval", "pulls for the same error"]
    lines = [
        [
            row["problem"], row["rule"], row["way"] if row["size"] > 1 else "", str(row["size"]),
            rate(row["error"]), f"{rate(row['low'])} to {rate(row['high'])}",
            more(row["times"]) if row["size"] > 1 else "",
        ]
        for row in rows
    ]  # fmt: skip
    return aligned([heads, *lines])


def more(times: float | str) -> str:
    """How many more pulls, in words.

    >>> more(1.034), more(math.inf), more("")
    ('3 % more', 'over 30 % more', '')
    """
    if times == "":
        return ""
    if times == math.inf:
        return f"over {TIMES[-1] - 1:.0%} more".replace("%", " %")
    return f"{float(times) - 1:.0%} more".replace("%", " %")


def write(out: Path, games: int, *, sizes: Sequence[int] = SIZES, seed: int = 1) -> str:
    """The figure, as batches.png; its numbers come back."""
    rows: list[Row] = []
    for case in cases():
        rows += compare(case, max(1, round(games * case.share)), sizes=sizes, seed=seed)
    save_figure(draw_batches(rows), out / "batches.png")
    return as_text(rows)


def main() -> None:
    """The command of this module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m cutline.figures.batches")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where the files go")
    parser.add_argument(
        "--games", type=int, default=12_000, help="games of the smallest problem; others get fewer"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    print(write(given.out, given.games, seed=given.seed), end="")


if __name__ == "__main__":
    main()
