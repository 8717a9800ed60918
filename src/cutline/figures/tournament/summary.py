"""What all rows come to: geometric means, and where a rule is worse than APT."""

import json
import math
from collections.abc import Sequence

from cutline._version import __version__
from cutline.figures.tables import Row
from cutline.figures.tournament.games import LEVEL
from cutline.figures.tournament.plans import LIMIT, Plan
from cutline.simulation.suite import Instance


def beyond_chance(row: Row) -> int:
    """1 where a rule is worse than APT beyond chance, -1 where it is better, else 0.

    Worse in any error or in wrong arms is worse; better goes by the one that the row is told by.
    """
    if worse_measures(row):
        return 1
    high = row[f"{measure(row)}_high"]
    return -1 if high is not None and high < 1 else 0


def measure(row: Row) -> str:
    """What a row is told by: the ratio of error rates, or that of wrong arms."""
    return measures(row)[0]


def measures(row: Row) -> tuple[str, ...]:
    """The ratios that mean something in a row."""
    return ("arms_ratio",) if row["told_by"] == "arms" else ("ratio", "arms_ratio")


def worse_measures(row: Row) -> list[str]:
    """The ratios by which a rule is worse than APT beyond chance."""
    return [m for m in measures(row) if row[f"{m}_low"] is not None and row[f"{m}_low"] > 1]


def geometric_mean(values: Sequence[float]) -> float | None:
    """The mean of ratios, or None of none.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summarize(rows: Sequence[Row]) -> list[Row]:
    """Every rule over all the rows it plays in: geometric means of its ratios to APT.

    Apart for thresholds of rare events and all others. ``worst`` is the largest single ratio, of
    error rates or of wrong arms.
    """
    lines = []
    for name in dict.fromkeys(row["rule"] for row in rows):
        line: Row = {"rule": name}
        for side, rare in (("rare", True), ("other", False)):
            own = [row for row in rows if row["rule"] == name and row["rare"] is rare]
            games = [row["ratio"] for row in own if row["told_by"] == "games"]
            needs = [row for row in own if row["budget_ratio"] is not None]
            signs = {row["budget_ratio_is"] for row in needs} - {"="}
            line[side] = {
                "rows": len(own),
                "error": geometric_mean(games),
                "wrong_arms": geometric_mean([row["arms_ratio"] for row in own]),
                "budget": geometric_mean([row["budget_ratio"] for row in needs]),
                "budget_is": "=" if not signs else signs.pop() if len(signs) == 1 else "about",
                "better": sum(beyond_chance(row) < 0 for row in own),
                "worse": sum(beyond_chance(row) > 0 for row in own),
            }
        ratios = [(float(r[m]), r) for r in rows if r["rule"] == name for m in measures(r)]
        ratio, worst = max(ratios, key=lambda pair: pair[0])
        line["worst"] = {"ratio": ratio, "instance": worst["instance"], "budget": worst["budget"]}
        lines.append(line)
    return sorted(lines, key=lambda line: line["rule"] != "apt")


def worse_rows(rows: Sequence[Row], rule: str) -> list[Row]:
    """The rows in which a rule is worse than APT beyond chance."""
    return [row for row in rows if row["rule"] == rule and beyond_chance(row) > 0]


def report(
    plans: Sequence[Plan],
    rows: Sequence[Row],
    *,
    seed: int = 0,
    limit: float = LIMIT,
    quick: bool = False,
    command: str = "cutline tournament",
) -> Row:
    """Everything that was found, as plain values: settings, instances, rows, and who sat out."""
    played = {row["instance"] for row in rows}
    return {
        "version": __version__,
        "level": LEVEL,
        "seed": seed,
        "limit": limit,
        "quick": quick,
        "command": command,
        "instances": [
            _described(p.instance, p.budgets) for p in plans if p.instance.name in played
        ],
        "rows": list(rows),
        "summary": summarize(rows),
        "auto_worse": worse_rows(rows, "auto"),
        "too_slow": [
            {"rule": name, "instance": p.instance.name, "seconds": round(seconds, 1)}
            for p in plans
            for name, seconds in p.slow.items()
        ],
        "not_applicable": [
            {"rule": name, "instance": p.instance.name, "reason": reason}
            for p in plans
            for name, reason in p.unfit.items()
        ],
        "not_reached": [p.instance.name for p in plans if p.instance.name not in played],
    }


def _described(instance: Instance, budgets: Sequence[int]) -> Row:
    problem = instance.bandit.problem
    return {
        "name": instance.name,
        "group": instance.group,
        "why": instance.why,
        "note": instance.note,
        "arms": instance.arms,
        "rewards": problem.rewards.kind,
        "threshold": problem.threshold[0] if len(set(problem.threshold)) == 1 else None,
        "precision": problem.precision[0] if len(set(problem.precision)) == 1 else None,
        "rare": instance.rare,
        "budgets": list(budgets),
    }


def as_json(found: Row) -> str:
    """A report as one JSON object."""
    return json.dumps(found, allow_nan=False) + "\n"
