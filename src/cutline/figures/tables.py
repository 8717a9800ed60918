"""Numbers for people and programs: rows of a result, as text, CSV or JSON, and curves to draw."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cutline.core.tally import Floats, Ints
from cutline.simulation.result import Result

Row = dict[str, Any]


def result_rows(result: Result, names: Sequence[str] | None = None) -> list[Row]:
    """One row for every rule and horizon; ``names`` are the rules as the user wrote them."""
    rates, intervals = result.error_curve, result.error_interval()
    arms, arm_intervals = result.wrong_arms_curve, result.wrong_arms_interval()
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
            "reading": reading(result, r),
        }
        for r, name in enumerate(names or result.specs)
        for h, horizon in enumerate(result.horizons)
    ]


def reading(result: Result, rule: int) -> str:
    """How a rule's errors at several horizons came about."""
    if result.anytime[rule]:
        return "anytime"
    return "replayed" if result.replay else "along one run"


def as_csv(rows: Sequence[Row]) -> str:
    """Rows as comma-separated values."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_json(rows: Sequence[Row]) -> str:
    """Rows as a JSON list of objects."""
    return json.dumps(list(rows), indent=1) + "\n"


def as_table(rows: Sequence[Row]) -> str:
    """Rows as a table for people."""
    heads = ["rule", "budget", "games", "wrong", "error rate", "95 % interval", "wrong arms"]
    if any(row["reading"] == "along one run" for row in rows):
        heads.append("read")
    lines = [
        [
            row["rule"],
            str(row["budget"]),
            str(row["games"]),
            str(row["wrong_games"]),
            rate(row["error_rate"]),
            f"{rate(row['low'])} to {rate(row['high'])}",
            rate(row["wrong_arms"]),
            row["reading"],
        ][: len(heads)]
        for row in rows
    ]
    return aligned([heads, *lines])


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


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns side by side, the first flush left, the others right.

    >>> print(aligned([["rule", "wrong"], ["apt", "7"]]), end="")
    rule  wrong
    apt       7
    """
    widths = [max(len(line[c]) for line in lines) for c in range(len(lines[0]))]
    return "".join(
        "  ".join(
            cell.ljust(width) if c == 0 else cell.rjust(width)
            for c, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


@dataclass(frozen=True)
class Curve:
    """The error of one rule against the horizon, with the ends of its interval."""

    label: str
    horizons: Ints
    rate: Floats
    low: Floats
    high: Floats


def error_curves(result: Result, level: float = 0.95) -> list[Curve]:
    """One curve for every rule of a result."""
    intervals = result.error_interval(level)
    labels = [
        f"{rule}, along one run" if reading(result, r) == "along one run" else rule
        for r, rule in enumerate(result.rules)
    ]
    return [
        Curve(label, result.horizons, rates, band[:, 0], band[:, 1])
        for label, rates, band in zip(labels, result.error_curve, intervals, strict=True)
    ]
