"""cutline export."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

import click

from cutline.cli.printing import say
from cutline.cli.shared import writable
from cutline.cli.stores.opening import by_name, in_store, stored_campaign
from cutline.figures.text import FORMULAS, csv_writer

Take = Callable[[list[dict[str, Any]]], None]

WRITTEN = ("arm", "note")  # columns that hold what somebody else wrote
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


@click.command()
@in_store
@by_name
@click.option(
    "--what",
    type=click.Choice(["pulls", "arms"]),
    default="pulls",
    show_default=True,
    help="All pulls in the order asked for, or the arms with their counts and means.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "jsonl", "parquet"]),
    help="[default: what the ending of --out says, else csv]",
)
@click.option(
    "--raw",
    is_flag=True,
    help="Leave texts in CSV as they are, also those that a spreadsheet takes for formulas.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False), help="The file to write.  [default: the output]"
)
def export(
    where: str, name: str | None, what: str, form: str | None, out: str | None, raw: bool
) -> None:
    """Write all pulls of a campaign as CSV, JSON Lines or Parquet.

    They are as they were at one moment, whatever workers do meanwhile. A reward is what was told;
    late is one that came when its pull had been given up and could not count any more. asked and
    settled are numbers of events, in the one order of all that happened. Parquet needs pyarrow.
    Rewards and thresholds are as they are counted, also where the bar was put as a failure rate.

    In CSV a text that a spreadsheet would take for a formula (it begins with = + - @ or a tab) gets
    an apostrophe in front, unless --raw is said. JSON Lines and Parquet hold all texts as they are.

    \b
    cutline export --store evals.db --name nightly > pulls.csv
    cutline export --store evals.db --what arms --format jsonl
    cutline export --store evals.db --out pulls.parquet
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    with stored_campaign(where, name) as campaign:
        from cutline.campaign import looking

        chosen = _format(form, out)
        if raw and chosen != "csv":
            raise click.UsageError(f"--raw is for CSV: {chosen} holds all texts as they are")
        writable(out)
        _refuse_the_store(out, where)
        if chosen == "parquet":
            _see_that_there_is_pyarrow()
            if out is None:
                raise click.UsageError("Parquet is for a file: name one with --out")
        pulls = what == "pulls"
        columns = looking.PULL_COLUMNS if pulls else looking.ARM_COLUMNS
        each = looking.each_pull if pulls else looking.each_arm
        writer = _WRITERS["raw csv" if raw else chosen]
        with _whole(out, binary=chosen == "parquet") as file, writer(file, columns) as take:
            each(campaign, take)


class _Terminal(io.TextIOBase):
    """A terminal to write to, which gets nothing that it would obey."""

    def write(self, text: str) -> int:
        say(text, nl=False)
        return len(text)


def _format(form: str | None, out: str | None) -> str:
    """What to write; the ending of a file must not say something else."""
    ending = Path(out or "").suffix.lower()
    said = FORMATS.get(ending)
    if ending in SPREADSHEETS:
        raise click.UsageError(
            f"{out} would be a spreadsheet, which is not written: use --out FILE.csv, which "
            "spreadsheets open, or .jsonl, or .parquet"
        )
    if form is None and ending and said is None and not _is_special(out):
        raise click.UsageError(
            f"the ending of {out} says no format that can be written: use .csv, .jsonl or "
            ".parquet, or say --format"
        )
    if None not in (form, said) and form != said:
        raise click.UsageError(f"--format {form} and the ending of {out} are two formats: give one")
    return form or said or "csv"


def _is_special(out: str | None) -> bool:
    """Whether it is there and no plain file: a pipe, a device."""
    return out is not None and Path(out).exists() and not Path(out).is_file()


def _refuse_the_store(out: str | None, where: str) -> None:
    """Keep a store from being written over."""
    with contextlib.suppress(OSError):
        if out is not None and "://" not in where and os.path.samefile(out, where):
            raise click.UsageError(f"{out} is the store itself: name another file to write to")


@contextlib.contextmanager
def _whole(out: str | None, *, binary: bool) -> Iterator[IO[Any]]:
    """The file to write to, which gets its name once it is whole; or the output."""
    if out is None:
        yield cast(IO[Any], _Terminal() if sys.stdout.isatty() else sys.stdout)
        return
    path = Path(out)
    special = _is_special(out)
    part = path if special else path.with_name(f".{path.name}.{os.getpid()}.part")
    how: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": ""}
    try:
        with part.open("wb" if binary else "w", **how) as file:
            yield file
        if not special:
            os.replace(part, path)
    except BaseException:
        if not special:
            part.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _csv(file: IO[str], columns: dict[str, type]) -> Iterator[Take]:
    writer = csv_writer(file, list(columns))
    writer.writeheader()

    def take(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            for name in WRITTEN:  # by people; all else is made here
                cell = row.get(name)
                if cell and cell[0] in FORMULAS:
                    row[name] = f"'{cell}"
        writer.writerows(rows)

    yield take


@contextlib.contextmanager
def _raw_csv(file: IO[str], columns: dict[str, type]) -> Iterator[Take]:
    writer = csv_writer(file, list(columns))
    writer.writeheader()
    yield writer.writerows


@contextlib.contextmanager
def _json_lines(file: IO[str], columns: dict[str, type]) -> Iterator[Take]:
    def take(rows: list[dict[str, Any]]) -> None:
        file.writelines(json.dumps(row, allow_nan=False) + "\n" for row in rows)

    yield take


@contextlib.contextmanager
def _parquet(file: IO[bytes], columns: dict[str, type]) -> Iterator[Take]:
    pa, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    kinds = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
    with parquet.ParquetWriter(file, schema) as writer:
        yield lambda rows: writer.write_table(pa.Table.from_pylist(rows, schema=schema))


_WRITERS: dict[str, Any] = {
    "csv": _csv,
    "raw csv": _raw_csv,
    "jsonl": _json_lines,
    "parquet": _parquet,
}


def _see_that_there_is_pyarrow() -> None:
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise click.UsageError(
            "Parquet needs pyarrow (pip install 'cutline[parquet]'); CSV and JSON Lines do not"
        ) from None
