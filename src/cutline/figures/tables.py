"""Numbers for people and programs: rows of a result, and curves to draw."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutline.core.tally import Floats, Ints
from cutline.figures.text import aligned, as_csv
from cutline.simulation.goals import Goal, TopArms
from cutline.simulation.result import Result

Row = dict[str, Any]


def result_rows(result: Result, names: Sequence[str] | None = None) -> list[Row]:
    """One row for every rule and horizon; ``names`` are the rules as the user wrote them.

    Where the goal is the best arms, the mean pseudo-regret is part of a row.
    """
    rates, intervals = result.error_curve, result.error_interval()
    arms, arm_intervals = result.wrong_arms_curve, result.wrong_arms_interval()
    regrets = _regrets(result)
    return [
        {
            "rule": name,
            "budget": int(horizon),
            "games": result.games,
            "wrong_games": int(result.wrong_games[r, h]),
            "error_rate": float(rates[r, h]),
            "low": float(intervals[r, h, 0]),
            "high": float(intervals[r, h, 1]),
            "wrong_arms": float(arms[r, h]),
            "wrong_arms_low": float(arm_intervals[r, h, 0]),
            "wrong_arms_high": float(arm_intervals[r, h, 1]),
            **{key: float(values[r, h]) for key, values in regrets.items()},
            "reading": reading(result, r),
        }
        for r, name in enumerate(names or result.specs)
        for h, horizon in enumerate(result.horizons)
    ]


def _regrets(result: Result) -> dict[str, Floats]:
    if not isinstance(result.goal, TopArms):
        return {}
    low, high = np.moveaxis(result.regret_interval(), -1, 0)
    return {"regret": result.regret_curve, "regret_low": low, "regret_high": high}


def error_label(goal: Goal) -> str:
    """What an error is the probability of."""
    if isinstance(goal, TopArms):
        return "probability of a wrong best arm" if goal.m == 1 else "probability of a wrong arm"
    return "error probability"


def reading(result: Result, rule: int) -> str:
    """How a rule's errors at several horizons came about."""
    if result.anytime[rule]:
        return "anytime"
    return "replayed" if result.replay else "along one run"


def as_table(rows: Sequence[Row]) -> str:
    """Rows as a table for people."""
    columns: dict[str, list[str]] = {
        "rule": [row["rule"] for row in rows],
        "budget": [str(row["budget"]) for row in rows],
        "games": [str(row["games"]) for row in rows],
        "wrong": [str(row["wrong_games"]) for row in rows],
        "error rate": [rate(row["error_rate"]) for row in rows],
        "95 % interval": [f"{rate(row['low'])} to {rate(row['high'])}" for row in rows],
        "wrong arms": [rate(row["wrong_arms"]) for row in rows],
    }
    if "regret" in rows[0]:
        columns["regret"] = [f"{row['regret']:.4g}" for row in rows]
    if any(row["reading"] == "along one run" for row in rows):
        columns["read"] = [row["reading"] for row in rows]
    return aligned([list(columns), *zip(*columns.values(), strict=True)])


def wide_table(result: Result, names: Sequence[str], horizons: Sequence[int]) -> str:
    """Error rates with one line for every rule and one column for every horizon."""
    rates = result.at(horizons).error_curve
    heads = ["", *(f"T = {h}" for h in horizons)]
    lines = [[name, *(rate(x) for x in row)] for name, row in zip(names, rates, strict=True)]
    return aligned([heads, *lines])


def rate(value: float) -> str:
    """A rate with about three digits.

    >>> rate(0.25), rate(0.00054), rate(0.0)
    ('0.250', '0.00054', '0')
    """
    if value == 0:
        return "0"
    return f"{value:.3f}" if value >= 0.1 else f"{value:.4f}" if value >= 0.01 else f"{value:.2g}"


LISTED = 12  # arms that a table shows one by one
SIMULATED = {
    "error": ("error_rate", "low", "high"),
    "regret": ("regret", "regret_low", "regret_high"),
}


def theory_json(report: Row) -> str:
    """A report of figures.theory as a JSON object."""
    return json.dumps(report, indent=1, allow_nan=False) + "\n"


THEORY_COLUMNS = (
    *("statement", "measure", "side", "rule", "printed", "least", "budget_for_error"),
    *("budget", "value", "log_value", "vacuous", "games", "low", "high", "about"),
)


def theory_csv(report: Row) -> str:
    """The bounds and the simulated values of a report, with a row for every budget."""
    rows: list[Row] = []
    for bound in report["bounds"]:
        shared = {key: bound[key] for key in THEORY_COLUMNS if key in bound}
        rows += [shared | value for value in bound["values"]]
    for row in report["simulated"]:
        for measure, names in SIMULATED.items():
            if names[0] in row:
                seen = {"statement": "simulated", "measure": measure}
                seen |= {key: row[key] for key in ("rule", "budget", "games")}
                values = zip(("value", "low", "high"), names, strict=True)
                rows.append(seen | {key: row[name] for key, name in values})
    return as_csv(rows, THEORY_COLUMNS)


def theory_table(report: Row) -> str:
    """A report for people: the problem and its arms, then what is proven beside what happens."""
    problem = report["problem"]
    words = f"{_problem(problem)}; arms that count: {problem['counting']}\n{_complexity(problem)}\n"
    return "\n".join(part for part in (words, _arms(problem), _bounds(report)) if part)


def theory_title(report: Row) -> str:
    """The problem of a report, and the games, on one line."""
    games = {row["games"] for row in report["simulated"]}
    return "; ".join([_problem(report["problem"]), *(f"{count:,} games" for count in games)])


def _problem(problem: Row) -> str:
    words = [f"{problem['arms']} {problem['family']} arms"]
    if problem["level"] is not None:
        words.append(f"level {_span(problem['level'])}")
    for key in ("threshold", "precision"):
        words.append(f"{key} {_span([arm[key] for arm in problem['per_arm']])}")
    if problem["goal"] != "sides":
        words.append(f"goal {problem['goal']}")
    return ", ".join(words)


def _complexity(problem: Row) -> str:
    H, H_2, R = (problem[key] for key in ("complexity", "ordered_complexity", "noise_scale"))
    words = [
        "H is infinite" if H is None else f"H = {H:.4g}",
        "H_2 is infinite" if H_2 is None else f"H_2 = {H_2:.4g}",
        "no noise scale R" if R is None else f"R = {R:.4g}",
    ]
    if problem["goal"] != "best-arm":
        words[1] += " (at precision 0, for CSAR)"
    return ", ".join(words)


def _arms(problem: Row) -> str:
    arms, of_sides = problem["per_arm"], problem["goal"] == "sides"
    answer = {-1: "below" if of_sides else "out", 0: "either", 1: "above" if of_sides else "in"}
    shares = [arm["share"] for arm in arms if arm["share"] is not None]
    if len(arms) > LISTED:
        if not shares:
            return ""
        ends = f"{rate(min(shares))} to {rate(max(shares))}"
        return f"shares of the static optimum: {ends}; --format json has them by arm\n"
    columns = {
        "arm": [arm["arm"] for arm in arms],
        "mean": [f"{arm['mean']:.4g}" for arm in arms],
        "gap": [f"{arm['gap']:.4g}" for arm in arms],
        "answer": [answer[arm["right"]] for arm in arms],
    }
    if shares:
        columns["share of the static optimum"] = [rate(share) for share in shares]
    return aligned([list(columns), *zip(*columns.values(), strict=True)])


def _bounds(report: Row) -> str:
    bounds, simulated = report["bounds"], report["simulated"]
    values = bounds[0]["values"] if bounds else simulated
    budgets = list(dict.fromkeys(value["budget"] for value in values))
    lines = [["", *(f"T = {budget:,}" for budget in budgets), f"for error {report['error']:g}"]]
    heads = {0: ""}  # by the line that it stands above
    seen = [("error", row["rule"]) for row in simulated]
    stated = [(bound["measure"], bound["rule"]) for bound in bounds]
    # Errors before regret, and any algorithm's before those of one.
    for measure, rule in sorted({*seen, *stated}, key=lambda key: (key[0], key[1] or "")):
        who = "any algorithm, in the worst case" if rule is None else rule.upper()
        heads[len(lines)] = f"{measure} of {who}\n"
        lines += _simulated_lines([row for row in simulated if row["rule"] == rule], measure)
        of_it = [b for b in bounds if (b["measure"], b["rule"]) == (measure, rule)]
        lines += [_bound_line(bound) for bound in of_it]
    if not budgets:
        return ""
    shown = aligned(lines).splitlines(keepends=True)
    return "".join(heads.get(place, "") + line for place, line in enumerate(shown))


def _simulated_lines(rows: Sequence[Row], measure: str) -> list[list[str]]:
    if not rows:
        return []
    cells = [[_number(row[key]) for key in SIMULATED[measure]] for row in rows]
    return [
        [f"  in {rows[0]['games']:,} games", *(middle for middle, _, _ in cells), ""],
        ["  95 % interval", *(f"{low} to {high}" for _, low, high in cells), ""],
    ]


def _bound_line(bound: Row) -> list[str]:
    needed = bound["budget_for_error"]
    if bound["measure"] == "regret":
        budget = ""
    elif needed is None:
        budget = "never"
    elif bound["side"] == "upper":
        budget = f"{needed:,}"
    else:
        budget = f"{needed:,} or more" if needed else "any"
    most = "at least" if bound["side"] == "lower" else "at most"
    return [f"  {most}, {bound['statement']}", *map(_bound_cell, bound["values"]), budget]


def _bound_cell(value: Row) -> str:
    """The bound; ``–`` where it is not stated, and what it is when it says nothing."""
    if value["value"] is None:
        return "–"
    if value["vacuous"]:
        return "vacuous"
    if value["value"] < 1e-300:  # beyond what a float holds
        exponent = value["log_value"] / math.log(10)
        return f"{10 ** (exponent % 1):.1f}e{math.floor(exponent)}"
    return _number(value["value"])


def _number(value: float) -> str:
    """A chance with two or three digits, or a regret with four."""
    return rate(value) if value < 1 else f"{value:.4g}"


def _span(values: Sequence[float]) -> str:
    """One number where all are alike, else the least and the largest.

    >>> _span([0.5, 0.5]), _span([0.5, 0.1])
    ('0.5', '0.1 to 0.5')
    """
    low, high = min(values), max(values)
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


@dataclass(frozen=True)
class Curve:
    """The error (or the regret) of one rule against the horizon, with the ends of its interval."""

    label: str
    horizons: Ints | Floats
    rate: Floats
    low: Floats
    high: Floats


def error_curves(result: Result, level: float = 0.95) -> list[Curve]:
    """One curve for every rule of a result."""
    return _curves(result, result.error_curve, result.error_interval(level))


def regret_curves(result: Result, level: float = 0.95) -> list[Curve]:
    """The mean pseudo-regret in place of the error, for goals that name the best arms."""
    return _curves(result, result.regret_curve, result.regret_interval(level))


def _curves(result: Result, values: Floats, intervals: Floats) -> list[Curve]:
    labels = [
        f"{rule}, along one run" if reading(result, r) == "along one run" else rule
        for r, rule in enumerate(result.rules)
    ]
    return [
        Curve(label, result.horizons, line, band[:, 0], band[:, 1])
        for label, line, band in zip(labels, values, intervals, strict=True)
    ]
