"""Rows as text: columns side by side, CSV, JSON."""

import csv
import io
import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import IO, Any

# How a cell begins that a spreadsheet would work out; some take the wide forms too.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


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
    writer = csv_writer(out, columns)
    writer.writeheader()
    writer.writerows(guarded(row) for row in rows)
    return out.getvalue()


def csv_writer(file: IO[str], columns: Sequence[str]) -> "csv.DictWriter[str]":
    """Writes rows as CSV, a line each, in which a cell may hold anything."""
    lines = _Lines(file)
    return csv.DictWriter(lines, columns, extrasaction="ignore", lineterminator="\r\n")


class _Lines:
    """Lines that end with a line feed alone.

    Python's writer puts a cell with a carriage return into quotes only where its own lines end with
    one, and would otherwise write two rows for it.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix("\r\n") + "\n")


def guarded(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of CSV in which a spreadsheet finds no formula: such texts get an apostrophe in front.

    Numbers stay as they are.

    >>> guarded({"arm": "=1+1", "note": "-x", "mean": -0.5})
    {'arm': "'=1+1", 'note': "'-x", 'mean': -0.5}
    """
    return {
        name: f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell
        for name, cell in row.items()
    }


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
