"""Arms from a command line or a file: their names, and what else is known of each."""

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("arm", "name")  # the columns that may hold the name; else it is the first
TEXT, CSV, JSON_LINES = (".txt", ".list"), (".csv", ".tsv"), (".jsonl", ".ndjson")


@dataclass(frozen=True)
class NamedArm:
    """An arm with the fields that stood beside its name, as text."""

    name: str
    fields: Mapping[str, str] = field(default_factory=dict)


def read_arms(text: str) -> list[NamedArm]:
    """The arms that ``a,b,c`` names, or a file, or with ``-`` the lines of standard input.

    A file is text with one arm a line, CSV with a header (.csv, .tsv), or JSON Lines (.jsonl,
    .ndjson) of texts or objects.

    >>> [arm.name for arm in read_arms("a, b,c")]
    ['a', 'b', 'c']
    """
    path = Path(text)
    if text == "-":
        return _checked(_from_lines(sys.stdin.read()), "standard input")
    if _is_file(path):
        try:
            content = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{text} is not a text file in UTF-8") from None
        if path.suffix.lower() in CSV:
            arms = _from_csv(content, "\t" if path.suffix.lower() == ".tsv" else ",", text)
        elif path.suffix.lower() in JSON_LINES:
            arms = _from_json_lines(content, text)
        else:
            arms = _from_lines(content)
        return _checked(arms, text)
    if "," not in text and path.suffix.lower() in (*TEXT, *CSV, *JSON_LINES):
        raise ValueError(f"there is no file {text} to read arms from")
    return _checked([NamedArm(part.strip()) for part in text.split(",")], "--arms")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file() or path.is_fifo()
    except (OSError, ValueError):  # a list too long for a name
        return False


def _from_lines(content: str) -> list[NamedArm]:
    return [NamedArm(line.strip()) for line in content.splitlines() if line.strip()]


def _from_csv(content: str, comma: str, where: str) -> list[NamedArm]:
    rows = csv.DictReader(io.StringIO(content, newline=""), delimiter=comma, strict=True)
    columns = rows.fieldnames
    if not columns:
        return []
    key = _key(columns)
    arms = []
    try:
        for row in rows:
            if None in row or None in row.values():
                raise ValueError(
                    f"{where}, line {rows.line_num}: {len(columns)} columns are wanted, as in the "
                    "header"
                )
            arms.append(NamedArm(row[key].strip(), row))
    except csv.Error as error:
        raise ValueError(f"{where}, line {rows.line_num}: {error}") from None
    return arms


def _from_json_lines(content: str, where: str) -> list[NamedArm]:
    arms = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{where}, line {number}: not JSON ({error.msg})") from None
        if isinstance(value, dict) and value:
            fields = {str(name): _text(each) for name, each in value.items()}
            arms.append(NamedArm(fields[_key(list(fields))], fields))
        elif isinstance(value, str | int | float):
            arms.append(NamedArm(_text(value)))
        else:
            raise ValueError(f"{where}, line {number}: a text or an object is wanted")
    return arms


def _key(columns: Sequence[str]) -> str:
    """The column that holds the name."""
    return next((name for name in NAMES if name in columns), columns[0])


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


def _checked(arms: list[NamedArm], where: str) -> list[NamedArm]:
    if not arms:
        raise ValueError(f"there are no arms in {where}")
    for arm in arms:
        if not arm.name:
            raise ValueError(f"an arm without a name in {where}: leave it out or name it")
        for text in (arm.name, *arm.fields, *arm.fields.values()):
            if "\0" in text:
                raise ValueError(
                    f"the arm {arm.name!r} in {where} holds a zero byte, which no command can be "
                    "given"
                )
    return arms
