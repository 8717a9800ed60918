"""What passes between the runner and a driver: trials to make, and what came of them."""

import traceback
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

MAX_NOTE = 2_000  # characters
INTERRUPTED, TIMED_OUT = "interrupted", "timed out"  # why a driver is told to stop a trial


class Outcome(NamedTuple):
    """What came of a trial: a value, or why there is none.

    ``note`` is kept beside a value. ``ended`` says what ended all trials at once, where this one
    came to nothing because of that. ``worker`` is who made it, where that is another process.
    """

    value: object = None
    failed: str | None = None
    ended: str | None = None
    note: str | None = None
    worker: str | None = None


Done = SimpleQueue[tuple[str, Outcome]]
"""Where drivers put the outcomes of trials, each with the trial's key."""


class Job(Protocol):
    """A trial to make, in whatever form its driver takes it."""

    @property
    def key(self) -> str:
        """This trial's alone."""


class Driver(Protocol):
    """Something that makes trials, many at a time, and puts their outcomes into a queue."""

    @property
    def stuck(self) -> int:
        """How many places are held by trials that were stopped and go on all the same."""

    def start(self, job: Any) -> None:
        """Begin a trial. A RuntimeError says that this driver makes none any more."""

    def stop(self, key: str, why: str) -> bool:
        """Stop a trial, if that can be done; whether an outcome will still come of it."""

    def close(self) -> None:
        """Leave nothing behind that can be ended."""


def describe_error(error: BaseException) -> str:
    """An error as a note: its type and message, in characters that every store takes."""
    text = traceback.format_exception_only(error)[-1].strip()[:MAX_NOTE]
    return text.encode("utf-8", "replace").decode().replace("\0", "\\0")
