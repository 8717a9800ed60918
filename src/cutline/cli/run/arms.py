"""Arms from a command line or a file: their names, and what else is known of each."""

import contextlib
import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from cutline.cli.shared import note

NAMES = ("arm", "name")  # the columns that may hold the name; else it is the first
TEXT, CSV, JSON_LINES, JSON = (".txt", ".list"), (".csv", ".tsv"), (".jsonl", ".ndjson"), (".json",)
# Files that people keep lists in and that would be misread as lines.
OTHERS = (
    ".yaml", ".yml", ".toml", ".ini", ".xml", ".html", ".xlsx", ".xls", ".ods", ".parquet", ".db",
    ".sqlite", ".zip", ".gz",
)  # fmt: skip
READ = "text with one arm a line, CSV (.csv, .tsv), JSON (.json) or JSON Lines (.jsonl)"
LONGEST = csv.field_size_limit()  # characters of a cell


@dataclass(frozen=True)
class NamedArm:
    """An arm with the fields that stood beside its name, as text."""

    name: str
    fields: Mapping[str, str] = field(default_factory=dict)


def read_arms(text: str) -> list[NamedArm]:
    """The arms that ``a,b,c`` names, or a file, or with ``-`` the lines of standard input.

    A file is text with one arm a line, CSV with a header (.csv, .tsv), a JSON list (.json) or JSON
    Lines (.jsonl, .ndjson) of texts or objects. What may have been meant otherwise is said in a
    note: lines that begin with # are skipped, a lone name is one arm.

    >>> [arm.name for arm in read_arms("a, b,c")]
    ['a', 'b', 'c']
    """
    if text == "-":
        return _checked(_from_text(sys.stdin.buffer.read(), "standard input"), "standard input")
    if not text.strip():
        raise click.UsageError("--arms names nothing: give names with commas between, or a file")
    path = Path(text)
    if _is_file(path):
        return _checked(_from_file(path, text), text)
    _refuse_paths(path, text)
    arms = [NamedArm(part.strip()) for part in text.split(",")]
    if len(arms) == 1:
        note(f"one arm, {text.strip()!r}: there is no file of that name")
    for arm in arms:
        if len(arms) > 1 and any(arm.name.count(a) != arm.name.count(b) for a, b in ("()", "[]")):
            raise ValueError(
                f"commas separate the names of --arms, and {arm.name!r} has a bracket that is "
                "closed in another: put names with commas into a file, one a line"
            )
    return _checked(arms, "--arms")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file() or path.is_fifo() or path.is_char_device()
    except (OSError, ValueError):  # a list too long for a name
        return False


def _refuse_paths(path: Path, text: str) -> None:
    """Say that there is no such file, where that is what was meant."""
    with contextlib.suppress(OSError, ValueError):
        if path.is_dir():
            raise click.UsageError(f"--arms {text} is a folder: name a file in it, {READ}")
    known = path.suffix.lower() in (*TEXT, *CSV, *JSON_LINES, *JSON, *OTHERS)
    if "," not in text and (known or "/" in text or text.startswith("~")):
        raise ValueError(
            f"there is no file {text} to read arms from; an arm of that name goes into a file, or "
            "onto standard input with --arms -"
        )


def _from_file(path: Path, where: str) -> list[NamedArm]:
    ending = path.suffix.lower()
    if ending in OTHERS:
        raise ValueError(f"arms are not read from {ending} files such as {where}: use {READ}")
    content = path.read_bytes()
    if ending in CSV:
        return _from_csv(_decoded(content, where), "\t" if ending == ".tsv" else ",", where)
    if ending in JSON:
        return _from_json(_decoded(content, where), where)
    if ending in JSON_LINES:
        return _from_json_lines(_decoded(content, where), where)
    return _from_text(content, where)


def _decoded(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{where} is not a text file in UTF-8") from None


def _from_text(content: bytes, where: str) -> list[NamedArm]:
    """One arm a line; a JSON list and objects on lines of their own are seen to be that."""
    text = _decoded(content, where)
    if text.lstrip().startswith("["):
        with contextlib.suppress(ValueError):
            arms = _from_json(text, where)
            note(f"{where} is read as a JSON list, {len(arms):,} arms")
            return arms
    lines = [line.strip() for line in text.replace("\r", "\n").split("\n") if line.strip()]
    if lines and all(line.startswith("{") and line.endswith("}") for line in lines):
        with contextlib.suppress(ValueError):
            arms = _from_json_lines(text, where)
            note(f"{where} is read as JSON Lines, {len(arms):,} arms with fields")
            return arms
    skipped = sum(line.startswith("#") for line in lines)
    if skipped:
        many = "1 line that begins" if skipped == 1 else f"{skipped:,} lines that begin"
        note(f"{many} with # in {where} skipped; CSV and JSON files may hold such names")
    return [NamedArm(line) for line in lines if not line.startswith("#")]


def _from_csv(content: str, comma: str, where: str) -> list[NamedArm]:
    rows = csv.DictReader(io.StringIO(content, newline=""), delimiter=comma, strict=True)
    arms = []
    try:
        columns = list(rows.fieldnames or ())
        if not columns:
            return []
        _check_header(columns, where)
        key = _key(columns)
        for row in rows:
            if None in row or None in row.values():
                raise ValueError(
                    f"{where}, line {rows.line_num}: {len(columns)} columns are wanted, as in the "
                    "header"
                )
            arms.append(NamedArm(row[key].strip(), row))
    except csv.Error as error:
        raise ValueError(f"{where}: {_said(error)}") from None
    if key not in NAMES:
        note(f"arms are named by the first column of {where}, {key!r}; its first line is a header")
    return arms


def _check_header(columns: list[str], where: str) -> None:
    """Refuse a header of which a part would be passed over."""
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise ValueError(f"{where}, line 1: there are two columns {twice[0]!r}: rename one")
    if len(columns) == 1 and any(other in columns[0] for other in ";\t|"):
        raise ValueError(
            f"{where}, line 1: the columns of {columns[0]!r:.80} are not separated by the commas "
            "of .csv or the tabs of .tsv: save it anew"
        )


def _said(error: csv.Error) -> str:
    """What is wrong with CSV, in words."""
    said = str(error)
    if "field larger" in said:
        return f"a cell has more than {LONGEST:,} characters; is a quote left open before it?"
    if "unexpected end" in said:
        return "a quote is opened and not closed before the end"
    return said


def _from_json(content: str, where: str) -> list[NamedArm]:
    value = _parsed(content, where)
    if not isinstance(value, list):
        raise ValueError(
            f"{where}: a list of texts or objects is wanted, got {_kind(value)}; values on lines "
            "of their own go into a .jsonl file"
        )
    return [_from_value(each, f"{where}, entry {i}") for i, each in enumerate(value, 1)]


def _from_json_lines(content: str, where: str) -> list[NamedArm]:
    arms = []
    for number, line in enumerate(content.split("\n"), 1):
        if line.strip():
            place = f"{where}, line {number}"
            arms.append(_from_value(_parsed(line, place), place))
    return arms


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = f", line {error.lineno}" if "\n" in text.strip() else ""
        raise ValueError(f"{where}{place}: not JSON ({error.msg})") from None
    except RecursionError:
        raise ValueError(f"{where}: brackets within brackets, too deep to be read") from None
    except ValueError as error:  # a number with thousands of digits, two fields of one name
        raise ValueError(f"{where}: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} is there twice")
    return found


def _from_value(value: Any, where: str) -> NamedArm:
    if isinstance(value, dict) and value:
        fields = {str(name): _text(each) for name, each in value.items()}
        return NamedArm(fields[_key(list(fields))], fields)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return NamedArm(_text(value))
    raise ValueError(f"{where}: a text or an object is wanted, got {_kind(value)}")


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else kinds.get(type(value), "a number")


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
