"""The store and the campaign that a command is about."""

import contextlib
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cutline.cli.shared import one_sentence

if TYPE_CHECKING:
    from cutline.campaign import Campaign, Store

Command = TypeVar("Command", bound=Callable[..., Any])

STORE = "cutline.db"
MEMORY = "memory"  # a store that keeps nothing

WAIT = "cutline.wait"  # where a command keeps what was said


def _keep_wait(context: click.Context, option: click.Parameter, text: str | None) -> None:
    if text is not None:
        from cutline.campaign.stores.base import parse_wait

        try:
            context.meta[WAIT] = parse_wait(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None


waits = click.option(
    "--wait",
    envvar="CUTLINE_WAIT",
    show_envvar=True,
    metavar="SECONDS|forever",
    callback=_keep_wait,
    expose_value=False,
    help="How long to wait for a file that another process holds, or a server that does not "
    "answer.  [default: 60]",
)


def seconds_to_wait() -> float | None:
    """What --wait said; None where it said nothing."""
    seconds: float | None = click.get_current_context().meta.get(WAIT)
    return seconds


_store = click.option(
    "--store",
    "where",
    default=STORE,
    show_default=True,
    envvar="CUTLINE_STORE",
    show_envvar=True,
    metavar="FILE|URL",
    help="Where campaigns are kept: a SQLite file, or postgresql://...",
)


def in_store(command: Command) -> Command:
    """The store that a command is about, and how long to wait for it."""
    return _store(waits(command))


by_rule = click.option(
    "--rule",
    metavar="FILE.py:CLASS",
    help="The rule of your own that the campaign is played by: what a store names is not loaded.",
)
by_name = click.option("--name", help="Which campaign; needed where the store holds more than one.")


@contextlib.contextmanager
def existing_store(where: str) -> Iterator["Store"]:
    """The store at a path or an address, let go of at the end; what goes wrong is one sentence."""
    from cutline.campaign import open_store

    with one_sentence():
        store = open_store(where, wait=seconds_to_wait())
        if where == MEMORY:
            raise click.UsageError(
                "memory keeps nothing once a command has ended: name a file or postgresql://... "
                "with --store (a file of that name is ./memory)"
            )
        if "://" not in where:
            _see_that_there_is(Path(where))
        try:
            yield store
        finally:
            store.release()


def _see_that_there_is(path: Path) -> None:
    """Looking must not make a store where there is none."""
    if path.is_dir():
        raise click.UsageError(f"{path} is a folder: name the file of a store with --store")
    if not path.exists():
        raise click.UsageError(
            f"there is no store {path}: name a file or postgresql://... with --store, or set "
            "CUTLINE_STORE"
        )
    if path.stat().st_size == 0:
        raise click.UsageError(f"{path} is empty: no campaign was ever kept in it")


@contextlib.contextmanager
def stored_campaign(where: str, name: str | None, rule: str | None = None) -> Iterator["Campaign"]:
    """The campaign of this name in a store; the only one where no name is given.

    ``rule`` is one from a file of the user's own, where the campaign is played by that.
    """
    from cutline.campaign import Campaign

    with existing_store(where) as store:
        yield Campaign.open(store, pick(store, name), rule=rule)


def pick(store: "Store", name: str | None) -> str:
    """The name of the campaign that is meant."""
    names = [head.name for head in store.heads()]
    place = store.shown
    if not names:
        raise click.UsageError(f"there is no campaign in {place}")
    listed = ", ".join(map(shlex.quote, names[:10])) + (" and more" if len(names) > 10 else "")
    if name is not None and name not in names:
        raise click.UsageError(f"there is no campaign {name!r} in {place}; it holds {listed}")
    if name is None and len(names) > 1:
        raise click.UsageError(f"say which campaign of {place} with --name: {listed}")
    return names[0] if name is None else name
