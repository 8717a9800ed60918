"""What commands share: options, numbers in flags, progress, and clear errors."""

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutline.cli.printing import say
from cutline.core.text import visible

if TYPE_CHECKING:
    from cutline.rules import Rule
    from cutline.simulation import Bandit, Result

Command = Callable[..., None]

LARGEST = 1e100  # as of rewards: squares of it are finite
MOST = 10**15  # pulls that are asked about

GAMES_HELP = "How many games each rule plays."

seeded = click.option(
    "--seed", type=int, default=0, show_default=True, help="Equal seeds give equal results."
)
threaded = click.option("--threads", type=int, help="Threads to play with.  [default: all cores]")
formatted = click.option(
    "--format",
    "format",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How to print the result.",
)
into_folder = click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="out",
    show_default=True,
    help="The folder to write to.",
)


def rules_of(names: list[str]) -> "list[Rule]":
    """The rules with these names."""
    from cutline.rules import parse_rule

    if not names:
        raise click.UsageError("name at least one rule with --rules")
    return [parse_rule(name) for name in names]


def numbers(name: str, text: str | float) -> list[float]:
    """Numbers with commas between them, none of them infinite or -0."""
    try:
        values = [float(part) + 0.0 for part in str(text).split(",")]
    except ValueError:
        raise click.UsageError(
            f"--{name} takes numbers with commas between them, got {text!r:.200}"
        ) from None
    for value in values:
        if not abs(value) <= LARGEST:
            raise click.UsageError(
                f"--{name} takes finite numbers of at most {LARGEST:g} in size, got {value!r}"
            )
    return values


def whole(name: str, text: str | int) -> list[int]:
    """Whole numbers with commas between them, in order and each once."""
    try:
        values = [int(part.replace("_", "")) for part in str(text).split(",")]
    except ValueError:
        raise click.UsageError(f"--{name} takes whole numbers, got {text!r:.200}") from None
    if max(values) > MOST:
        raise click.UsageError(f"--{name} takes whole numbers up to {MOST:,}, got a larger one")
    return sorted(set(values))


def play(
    what: str,
    bandit: "Bandit",
    rules: "list[Rule]",
    *,
    budgets: list[int],
    also: Iterable[int] = (),
    **options: Any,
) -> "tuple[Result, bool]":
    """Simulate with progress on a terminal's stderr; Ctrl-C gives the games so far, if any.

    Errors are counted at the budgets, and ``also`` elsewhere; without budgets games end by
    themselves.
    """
    from cutline.simulation import Interrupted
    from cutline.simulation import simulate as run

    where = {"budget": budgets, "horizons": {*budgets, *also}} if budgets else {"budget": None}
    with progress(what) as tell:
        try:
            return run(bandit, rules, progress=tell, **where, **options), False
        except Interrupted as stop:
            if stop.result is None:
                raise KeyboardInterrupt from None
            return stop.result, True


@contextlib.contextmanager
def progress(what: str, of: str = "games") -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on a terminal's stderr, told how many of how many are done; else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TextColumn(of), Left(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextlib.contextmanager
def one_sentence() -> Iterator[None]:
    """Turn what can be wrong with input into one sentence and exit code 2."""
    try:
        yield
    except BrokenPipeError:  # whoever read our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if not isinstance(error, ValueError | TypeError | OSError | _campaign_error()):
            raise
        raise click.UsageError(" ".join(_in_words(error).split())) from error


def _in_words(error: Exception) -> str:
    """What an error says; of one of the system's, what it was about and why.

    >>> _in_words(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'a.csv: No such file or directory'
    """
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    what = "the output could not be written" if error.errno == errno.ENOSPC else "the system says"
    return f"{error.filename or what}: {error.strerror}"


def _campaign_error() -> type[Exception]:
    """The root of a campaign's errors; there are none before it was imported."""
    errors = sys.modules.get("cutline.campaign.errors")
    return ValueError if errors is None else errors.CampaignError


def writable(path: str | None, *endings: str) -> None:
    """Refuse a file that cannot be written before any work is done."""
    if path is None:
        return
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise click.UsageError(f"there is no folder {Path(path).parent} to write {path} to")
    if not os.access(folder, os.W_OK):
        raise click.UsageError(f"the folder {Path(path).parent} cannot be written to")
    if endings and Path(path).suffix.lower() not in endings:
        raise click.UsageError(
            f"the ending of {path} must say what kind of picture: {', '.join(endings)}"
        )


def folder(path: str) -> None:
    """Make a folder, or say why it cannot be made."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"the folder {path} cannot be made: {error.strerror}") from None


def note(text: str) -> None:
    """Say something beside the output."""
    say(f"note: {visible(text)}", err=True)
