"""A database, as far as a store needs one."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from cutline.campaign.stores import base


class Busy(Exception):
    """Another process holds the database, and has done so for a moment: try again."""

    def explain(self, seconds: float) -> str:
        """What to say after so many seconds of it."""
        raise NotImplementedError


def forked(where: str) -> str:
    """What to say in a process that was forked in the middle of a call to a store."""
    return (
        f"{where} cannot be used here: this process was forked while its parent was in the middle "
        "of a call to it. Fork before or after such a call, or start processes afresh "
        "(multiprocessing.get_context('spawn'))"
    )


class Connection(Protocol):
    """A database, as far as it is needed here; SQL is written with ? for parameters."""

    @property
    def types(self) -> Mapping[str, str]:
        """What the tables' placeholders stand for."""

    @property
    def broken(self) -> bool:
        """Whether it is of no use any more."""

    @property
    def idle(self) -> bool:
        """Whether it is in no transaction."""

    def restore(self) -> bool:
        """Go back to before the transaction, if any; False where it cannot be relied on any more.

        It is called when something was raised, be it in the middle of a statement.
        """

    def begin(self, *, write: bool, synced: bool = True) -> None:
        """Start a transaction; one that writes holds off all others of its campaign.

        What is not ``synced`` may be forgotten in a power cut, with nothing of what came before.
        """

    def commit(self) -> None:
        """Keep it: when this returns, it is on disk, unless it was begun otherwise."""

    def rollback(self) -> None:
        """Forget it."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """What a statement gives."""

    def many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        """The same statement with many values."""

    def script(self, sql: str) -> None:
        """Several statements."""

    def head(self, name: str, *, write: bool) -> list[Any]:
        """The row of a campaign, if there is one; to write, all others are held off from it."""

    def alone(self) -> None:
        """Hold off all who would make tables or campaigns, where beginning has not done so."""

    def clock(self) -> float:
        """The time, where the data is."""

    def columns(self, table: str) -> set[str]:
        """The names of a table's columns."""

    def version(self) -> int | None:
        """The version of the tables; None where there are none."""

    def set_version(self, version: int) -> None:
        """Say which version the tables are."""

    def compact(self) -> None:
        """Give back the room of what was deleted."""

    def close(self) -> None:
        """Let go of it."""

    def leave(self) -> None:
        """Leave it alone for good: it belongs to the process that this one was forked from."""


@contextlib.contextmanager
def all_or_nothing(db: Connection, move: str) -> Iterator[None]:
    """A transaction that is kept as a whole, or not at all where something goes wrong in it."""
    base.reached(f"{move} before")
    db.begin(write=True)
    try:
        yield
        base.reached(f"{move} written")
        db.commit()
    except BaseException:
        db.rollback()
        raise
    base.reached(f"{move} committed")
