"""Rows as text: columns side by side, CSV, JSON."""

import csv
import io
import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any


def aligned(lines: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Columns side by side, those named in ``left`` flush left, the others right.

    >>> print(aligned([["rule", "wrong"], ["apt", "7"]]), end="")
    rule  wrong
    apt       7
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = []
    for line in lines:
        cells = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip() + "\n")
    return "".join(text)


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Rows as comma-separated values; by default the columns of the first that are no lists."""
    if columns is None:
        columns = [key for key, value in rows[0].items() if not isinstance(value, list | dict)]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_json(value: Any, indent: int | None = 1) -> str:
    """A value as JSON; null for numbers that JSON cannot hold."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """The same with None in place of infinite numbers and those that are none."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
