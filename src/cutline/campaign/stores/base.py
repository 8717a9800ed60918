"""What a store is: where campaigns live, changed in transactions."""

import math
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote_plus

from cutline.campaign.records import Arm, Event, Head, Outcomes, PullRow

WAIT_SECONDS = 60.0  # for a store that is busy or does not answer, unless said otherwise
CLOCK_SECONDS = 1.0  # by which a clock may step back unnoticed: it is kept up no more closely
WAIT_VARIABLE = "CUTLINE_WAIT"

Answer = TypeVar("Answer")
Place = Callable[[Arm, int], float | None]
RESTING = 1e306
"""Arms with this priority or more rest after failures: they stand behind all others."""


class Transaction(Protocol):
    """One campaign, held alone, from the first look to the last write.

    Records that are handed out may be changed; :meth:`save`, :meth:`touch` and :meth:`update` say
    that they were. Nothing is kept of a transaction that ends with an error. ``place`` is set by
    whoever moves arms: where an arm stands in line, as a function of the arm and the step.
    """

    head: Head
    place: Place

    @property
    def now(self) -> float:
        """The time by the store's clock, in seconds, when it began."""

    def token(self) -> int:
        """63 random bits."""

    def first(
        self, n: int, left: int | None, after: tuple[float, float] | None = None
    ) -> list[Arm]:
        """The first n arms in line that cost no more than what is left, by priority, then tie.

        Given the priority and tie of the last one of these, the next ``after`` it, as the line was
        then; the arms before it were placed anew or cost too much by now.
        """

    def resting(self, n: int, left: int | None) -> list[Arm]:
        """The first n of the arms that rest after failures (see :data:`RESTING`), as in line."""

    def arm(self, number: int) -> Arm:
        """An arm by its number."""

    def named(self, name: str) -> Arm | None:
        """An arm by its name."""

    def all_arms(self) -> list[Arm]:
        """All arms, in the order of their numbers."""

    def save(self, arm: Arm) -> None:
        """An arm was changed."""

    def touch(self, arm: Arm) -> None:
        """An arm was changed in a way that may move it in line; ``place`` will say where to."""

    def placed(self, arm: Arm) -> None:
        """An arm was changed and given its new priority."""

    def add_arms(self, arms: Sequence[Arm]) -> None:
        """New arms."""

    def pull(self, number: int) -> PullRow:
        """A pull by its number; there is one."""

    def fetch(self, numbers: Sequence[int]) -> None:
        """These pulls and their arms will be asked for one by one."""

    def since(self, seq: int, arm: int | None = None) -> Iterable[PullRow]:
        """The pulls from a number on, in order; of one arm or of all."""

    def outcomes(self, seq: int) -> Iterable[Outcomes]:
        """The pulls from a number on, in order, some at a time: what evidence needs of them."""

    def history(self, seq: int) -> Iterable[Outcomes]:
        """The same as :meth:`outcomes`, settled and weighed ones included in a replay as well."""

    def expired(self) -> list[PullRow]:
        """The pulls in flight whose lease has run out, the oldest lease first."""

    def next_expiry(self) -> float | None:
        """When the next lease runs out."""

    def add(self, pull: PullRow) -> None:
        """A new pull."""

    def update(self, pull: PullRow) -> None:
        """A pull was changed."""

    def record(self, event: Event) -> None:
        """Something else happened."""

    def events(self) -> Iterable[Event]:
        """What else happened, in order."""

    def excuses(self, numbers: Sequence[int]) -> set[int]:
        """Those of these numbers of events that are of the kind "excuse"."""

    def misfits(self) -> tuple[list[str], int]:
        """The rows that are not as they were written, some of them; how many nobody can tell of."""


class Store(Protocol):
    """A place for campaigns. Names are unique within it."""

    where: str
    """How to open it again, as :meth:`Campaign.open` takes it."""
    shown: str
    """The same for people, without a password."""
    wait: float
    """Seconds to wait for it while it is busy or does not answer; infinity: for ever."""

    def create(self, head: Head, arms: Sequence[Arm]) -> bool:
        """Write a new campaign; False, and nothing is written, where the name is taken."""

    def run(self, name: str, move: str, work: Callable[[Any], Answer]) -> Answer:
        """Call ``work(transaction)`` in a transaction on a campaign, and keep what it did.

        Whatever is raised in it, at any moment, nothing of it is kept, nobody is held up, and the
        next call works. In a "look", nothing that is changed in the records need be kept.
        """

    def begin(self, name: str, move: str) -> AbstractContextManager[Transaction]:
        """The same for a with block; to look into a store from a test or a tool.

        An interrupt at the very end of the block may come before the lock is released: what
        workers call goes through :meth:`run`.
        """

    def heads(self) -> list[Head]:
        """All campaigns, oldest first."""

    def delete(self, name: str) -> None:
        """Remove a campaign with all its pulls."""

    def compact(self) -> None:
        """Give back the room of what was deleted."""

    def release(self) -> None:
        """Let go of files and connections; the next transaction takes them up again."""


def reached(point: str) -> None:
    """Called at the places of a transaction where a crash would be interesting; does nothing."""


def chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """A list in pieces."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


_HOST = r"(?:[\w.%-]*|\[[\w:.%]*\])(?::\d*)?"
_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][\w+.-]*)://(?:(?P<user>[^:/?#@\s]*)(?P<secret>:[^/?#@\s]*)?@)?"
    rf"(?P<place>{_HOST}(?:,{_HOST})*(?:/[^/?#@\s]*)?)(?:\?(?P<options>[^@\s]*))?"
)
# The options of a PostgreSQL address that are no secret; any other is not shown.
_PLAIN = {
    "host", "hostaddr", "port", "dbname", "user", "passfile", "connect_timeout", "client_encoding",
    "application_name", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslsni", "keepalives",
    "keepalives_idle", "keepalives_interval", "keepalives_count", "target_session_attrs", "service",
    "load_balance_hosts", "channel_binding", "gssencmode", "require_auth",
}  # fmt: skip


def without_password(where: str) -> str:
    """A store's address as it may be shown: only what is known to be no secret.

    >>> without_password("postgresql://ann:secret@db.example/evals?sslmode=require&pass%77ord=x")
    'postgresql://ann:***@db.example/evals?sslmode=require&***'
    >>> without_password("postgresql://ann:sec@ret@db.example")  # which part is what?
    'postgresql://***'
    """
    found = _ADDRESS.fullmatch(where)
    if found is None:
        scheme, _, _ = where.partition("://")
        return f"{scheme}://***" if re.fullmatch(r"[A-Za-z][\w+.-]*", scheme) else "***"
    shown = f"{found['scheme']}://"
    if found["user"] is not None:
        shown += found["user"] + (":***@" if found["secret"] else "@")
    shown += found["place"]
    if found["options"]:
        each = found["options"].split("&")
        plain = [unquote_plus(option.partition("=")[0]) in _PLAIN for option in each]
        options = [option if fine else "***" for option, fine in zip(each, plain, strict=True)]
        shown += f"?{'&'.join(options)}"
    return shown


def seconds_to_wait(wait: float | None) -> float:
    """How long to wait for a store: as given, else as the environment says, else a minute.

    >>> seconds_to_wait(5), seconds_to_wait(float("inf"))
    (5.0, inf)
    """
    if wait is not None:
        number = float(wait) if isinstance(wait, int | float) else math.nan
        if isinstance(wait, bool) or not number >= 0.0:
            raise ValueError(
                f"wait is a number of seconds, 0 or more (math.inf: for ever), got {wait!r}"
            )
        return number
    said = os.environ.get(WAIT_VARIABLE, "")
    try:
        return parse_wait(said) if said else WAIT_SECONDS
    except ValueError as error:
        raise ValueError(f"{WAIT_VARIABLE}: {error}") from None


def parse_wait(text: str) -> float:
    """Seconds, or "forever", as people write it.

    >>> parse_wait("1.5"), parse_wait("forever")
    (1.5, inf)
    """
    if text.strip().lower() == "forever":
        return math.inf
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise ValueError(f"wait is a number of seconds, 0 or more, or forever, got {text!r}")
    return number


class Patience:
    """Longer and longer pauses, for a while."""

    def __init__(self, seconds: float, first: float = 0.05, longest: float = 2.0) -> None:
        self._until, self._pause, self._longest = time.monotonic() + seconds, first, longest

    def wait(self) -> bool:
        """Pause once more; False where it has been long enough."""
        left = self._until - time.monotonic()
        if left <= 0.0:
            return False
        # At random, lest those who wait for the same thing all come back at once.
        time.sleep(min(left, random.uniform(0.5, 1.0) * self._pause))
        self._pause = min(2.0 * self._pause, self._longest)
        return True
