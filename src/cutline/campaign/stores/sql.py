"""A campaign in tables: what the SQLite and the PostgreSQL store share."""

import json
import os
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from types import TracebackType
from typing import Any, Protocol

from cutline.campaign.errors import OlderStore, StoreError, UnknownCampaign
from cutline.campaign.records import ASKED, Arm, Event, Head, PullRow
from cutline.campaign.stores.base import Place, chunks, reached
from cutline.campaign.stores.schema import MIGRATIONS, TABLES
from cutline.campaign.stores.schema import VERSION as VERSION

HEAD = tuple(f.name for f in fields(Head))
ARM = tuple(f.name for f in fields(Arm))
PULL = tuple(f.name for f in fields(PullRow))
# `precision` is a word of SQL.
_COLUMN = {"precision": "precision_"}

_COUNTERS = HEAD[3:]  # settings and all after it
_counters = attrgetter(*_COUNTERS[1:])
_FIXED_ARM = ("number", "name", "threshold", "precision", "level", "sd", "cost", "tie")
_MOVING_ARM = tuple(name for name in ARM if name not in _FIXED_ARM)
_MOVING_PULL = ("cost", "state", "reward", "late", "settled", "expires", "note")
MANY = 500  # records asked for in one statement
# What a power cut may undo: whoever asked on this machine is gone as well, and nothing was learned.
NO_PROMISE = ("ask", "heartbeat")


def _list(names: Iterable[str]) -> str:
    return ", ".join(_COLUMN.get(name, name) for name in names)


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _setters(names: Iterable[str]) -> str:
    return ", ".join(f"{_COLUMN.get(name, name)} = ?" for name in names)


SELECT_HEAD = f"SELECT {_list(HEAD)} FROM campaign WHERE name = ?"
SELECT_HEADS = f"SELECT {_list(HEAD)} FROM campaign ORDER BY id"
INSERT_HEAD = f"INSERT INTO campaign ({_list(HEAD[1:])}) VALUES ({_marks(len(HEAD) - 1)})"
UPDATE_HEAD = f"UPDATE campaign SET {_setters(_COUNTERS)} WHERE id = ?"
SELECT_ARM = f"SELECT {_list(ARM)} FROM arm WHERE campaign = ?"
INSERT_ARM = f"INSERT INTO arm (campaign, {_list(ARM)}) VALUES ({_marks(len(ARM) + 1)})"
UPDATE_ARM = f"UPDATE arm SET {_setters(_MOVING_ARM)} WHERE campaign = ? AND number = ?"
SELECT_PULL = f"SELECT {_list(PULL)} FROM pull WHERE campaign = ?"
INSERT_PULL = f"INSERT INTO pull (campaign, {_list(PULL)}) VALUES ({_marks(len(PULL) + 1)})"
UPDATE_PULL = f"UPDATE pull SET {_setters(_MOVING_PULL)} WHERE campaign = ? AND seq = ?"
ONE_ARM, ONE_PULL = f"{SELECT_ARM} AND number = ?", f"{SELECT_PULL} AND seq = ?"
LINE = f"{SELECT_ARM} AND priority IS NOT NULL{{}} ORDER BY priority, tie LIMIT ?"


class Connection(Protocol):
    """A database, as far as it is needed here; SQL is written with ? for parameters."""

    @property
    def types(self) -> Mapping[str, str]:
        """What the tables' placeholders stand for."""

    @property
    def broken(self) -> bool:
        """Whether it is of no use any more."""

    def begin(self, *, write: bool, synced: bool = True) -> None:
        """Start a transaction; one that writes holds off all others of its campaign.

        What is not ``synced`` may be forgotten in a power cut, with nothing of what came before.
        """

    def commit(self) -> None:
        """Keep it: when this returns, it is on disk."""

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

    def version(self) -> int | None:
        """The version of the tables; None where there are none."""

    def set_version(self, version: int) -> None:
        """Say which version the tables are."""

    def compact(self) -> None:
        """Give back the room of what was deleted."""

    def close(self) -> None:
        """Let go of it."""


class Nothing(UnknownCampaign, StoreError):
    """There are no tables, and nobody has asked for any."""


def make_tables(db: Connection, where: str, make: bool) -> None:
    """See that the tables are there and of today's version."""
    version = db.version()
    if version is None and not make:
        raise Nothing(f"there is no campaign in {where}")
    if version is None:
        db.begin(write=True)
        try:
            db.alone()
            if db.version() is None:  # nobody was quicker
                db.script(TABLES.format(**db.types))
                db.set_version(VERSION)
            db.commit()
        except BaseException:
            db.rollback()
            raise
        version = VERSION
    if version > VERSION:
        raise StoreError(
            f"{where} was written by a newer cutline (its tables are version {version}, this "
            f"cutline knows {VERSION}): use that one"
        )
    if version < VERSION:
        raise OlderStore(
            f"{where} was written by an older cutline (version {version}, today's is {VERSION}): "
            f"run 'cutline upgrade {where}' once, which keeps a copy"
        )


def upgrade_tables(db: Connection) -> int:
    """Bring the tables up to date, all or nothing; the version they had."""
    reached("upgrade before")
    db.begin(write=True)
    try:
        db.alone()
        had = db.version()
        if had is None:
            raise StoreError("there are no tables to upgrade")
        if had > VERSION:
            raise StoreError(f"its tables are version {had}, newer than what this cutline knows")
        for version in range(had, VERSION):
            db.script(MIGRATIONS[version].format(**db.types))
        if had < VERSION:
            db.set_version(VERSION)
        reached("upgrade written")
        db.commit()
    except BaseException:
        db.rollback()
        raise
    reached("upgrade committed")
    return had


def pack(numbers: Sequence[float] | None) -> bytes | None:
    """Floats as bytes, exactly."""
    if not numbers:
        return None if numbers is None else b""
    return struct.pack(f"<{len(numbers)}d", *numbers)


def unpack(data: bytes | None) -> tuple[float, ...] | None:
    """The other way round."""
    if not data:
        return None if data is None else ()
    return struct.unpack(f"<{len(data) // 8}d", data)


_KEPT, _PROOF, _CLOSED = ARM.index("kept"), ARM.index("proof"), ARM.index("closed")


def _arm(row: Sequence[Any]) -> Arm:
    arm = Arm(*row)
    arm.kept = unpack(row[_KEPT]) or ()
    arm.proof = unpack(row[_PROOF])
    arm.closed = bool(row[_CLOSED])
    return arm


def _moving(arm: Arm) -> tuple[Any, ...]:
    return (
        arm.status, int(arm.closed), arm.places, arm.flying, arm.told, arm.failed, arm.lost,
        arm.late, arm.returned, arm.streak, arm.tripped, arm.pulls, arm.total,
        arm.squares, pack(arm.kept), arm.fed, pack(arm.proof), arm.priority,
    )  # fmt: skip


def _fixed(arm: Arm) -> tuple[Any, ...]:
    return tuple(getattr(arm, name) for name in _FIXED_ARM)


def _pull_row(pull: PullRow) -> tuple[Any, ...]:
    return (
        pull.seq, pull.token, pull.arm, pull.nth, pull.cost, pull.asked, pull.state, pull.reward,
        pull.late, pull.settled, pull.expires, pull.note,
    )  # fmt: skip


class Settings:
    """Settings as text and as values; each text is read once."""

    def __init__(self) -> None:
        self._read: dict[str, dict[str, Any]] = {}
        self._text: dict[int, str] = {}  # of the values above, which are kept, by identity

    def head(self, row: Sequence[Any]) -> Head:
        """A campaign's row as a record."""
        values = list(row)
        text = values[3]
        if text not in self._read:
            self._read[text] = json.loads(text)
            self._text[id(self._read[text])] = text
        values[3] = self._read[text]
        return Head(*values)

    def values(self, head: Head) -> tuple[Any, ...]:
        """A campaign's settings and counters, as they are written."""
        text = self._text.get(id(head.settings)) or json.dumps(head.settings)
        return (text, *_counters(head))


def create(db: Connection, head: Head, arms: Sequence[Arm]) -> bool:
    """Write a new campaign; False where the name is taken."""
    reached("create before")
    db.begin(write=True)
    try:
        db.alone()
        if db.rows(SELECT_HEAD, [head.name]):
            db.rollback()
            return False
        db.rows(INSERT_HEAD, [head.name, head.created, *Settings().values(head)])
        number = db.rows("SELECT id FROM campaign WHERE name = ?", [head.name])[0][0]
        head.id = int(number)
        for some in chunks(arms, 10_000):
            db.many(INSERT_ARM, [(head.id, *_fixed(arm), *_moving(arm)) for arm in some])
        reached("create written")
        db.commit()
    except BaseException:
        db.rollback()
        raise
    reached("create committed")
    return True


def delete(db: Connection, name: str, where: str) -> None:
    """Remove a campaign with all its pulls."""
    db.begin(write=True)
    try:
        found = db.head(name, write=True)
        if not found:
            raise UnknownCampaign(f"there is no campaign {name!r} in {where}")
        for table in ("event", "pull", "arm"):
            db.rows(f"DELETE FROM {table} WHERE campaign = ?", [found[0][0]])
        db.rows("DELETE FROM campaign WHERE id = ?", [found[0][0]])
        db.commit()
    except BaseException:
        db.rollback()
        raise


class SQLTransaction:
    """One campaign, read as needed and written when the transaction ends."""

    head: Head
    place: Place

    def __init__(self, store: "SQLStore", name: str, move: str, write: bool) -> None:
        self._store, self._settings, self._where = store, store.settings, store.shown
        self._name, self._move, self._write = name, move, write
        self._db: Connection
        self._arms: dict[int, Arm] = {}
        self._saved: dict[int, Arm] = {}
        self._moved: dict[int, Arm] = {}
        self._pulls: dict[int, PullRow] = {}
        self._changed: dict[int, PullRow] = {}
        self._new: list[PullRow] = []
        self._events: list[Event] = []
        self._tokens: Iterator[int] = iter(())

    def __enter__(self) -> "SQLTransaction":
        self._store.lock.acquire()
        try:
            self._db = self._store.db()
            reached(f"{self._move} before")
            self._db.begin(write=self._write, synced=self._move not in NO_PROMISE)
            try:
                found = self._db.head(self._name, write=self._write)
                if not found:
                    raise UnknownCampaign(f"there is no campaign {self._name!r} in {self._where}")
                self.head = self._settings.head(found[0])
            except BaseException:
                self._db.rollback()
                raise
        except BaseException:
            self._store.lock.release()
            raise
        self._before = tuple(found[0][3:])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is not None or not self._write:
                self._db.rollback()
                return
            try:
                self._flush()
                reached(f"{self._move} written")
                self._db.commit()
            except BaseException:
                self._db.rollback()
                raise
            reached(f"{self._move} committed")
        finally:
            self._store.lock.release()

    def _flush(self) -> None:
        self._flush_pulls()
        step = self.head.told + self.head.flying
        for arm in self._moved.values():
            arm.priority = self.place(arm, step)
        changed = {**self._saved, **self._moved}
        if changed:
            own = self.head.id
            self._db.many(UPDATE_ARM, [(*_moving(a), own, a.number) for a in changed.values()])
        for event in self._events:
            row = [self.head.id, event.number, event.kind, json.dumps(event.data)]
            self._db.rows("INSERT INTO event VALUES (?, ?, ?, ?)", row)
        after = self._settings.values(self.head)
        if after != self._before:
            self._db.rows(UPDATE_HEAD, [*after, self.head.id])
            self._before = after

    def _flush_pulls(self) -> None:
        own = self.head.id
        if self._new:
            self._db.many(INSERT_PULL, [(own, *_pull_row(pull)) for pull in self._new])
            self._new.clear()
        if self._changed:
            rows = [
                (p.cost, p.state, p.reward, p.late, p.settled, p.expires, p.note, own, p.seq)
                for p in self._changed.values()
            ]
            self._db.many(UPDATE_PULL, rows)
            self._changed.clear()

    @property
    def now(self) -> float:
        return self._db.clock()

    def token(self) -> int:
        for token in self._tokens:
            return token >> 1
        self._tokens = iter(struct.unpack("<8Q", os.urandom(64)))
        return next(self._tokens) >> 1

    def _one(self, row: Sequence[Any]) -> Arm:
        """The record of a row: the same one each time."""
        arm = self._arms.get(row[0])
        if arm is None:
            arm = self._arms[row[0]] = _arm(row)
        return arm

    def first(
        self, n: int, left: int | None, after: tuple[float, float] | None = None
    ) -> list[Arm]:
        if after is None and (self._moved or self._saved):
            self._settle_line()
        conditions = ""
        values: list[Any] = [self.head.id]
        if left is not None:
            conditions += " AND cost <= ?"
            values.append(left)
        if after is not None:
            conditions += " AND (priority, tie) > (?, ?)"
            values += after
        return [self._one(row) for row in self._db.rows(LINE.format(conditions), [*values, n])]

    def _settle_line(self) -> None:
        """Write what has moved so far, so that the line can be read."""
        self._flush()
        self._moved.clear()
        self._saved.clear()
        self._events.clear()

    def arm(self, number: int) -> Arm:
        arm = self._arms.get(number)
        if arm is None:
            arm = self._one(self._db.rows(ONE_ARM, [self.head.id, number])[0])
        return arm

    def named(self, name: str) -> Arm | None:
        rows = self._db.rows(f"{SELECT_ARM} AND name = ?", [self.head.id, name])
        return self._one(rows[0]) if rows else None

    def all_arms(self) -> list[Arm]:
        rows = self._db.rows(f"{SELECT_ARM} ORDER BY number", [self.head.id])
        return [self._one(row) for row in rows]

    def save(self, arm: Arm) -> None:
        self._saved[arm.number] = arm

    placed = save

    def touch(self, arm: Arm) -> None:
        self._moved[arm.number] = arm

    def add_arms(self, arms: Sequence[Arm]) -> None:
        rows = [(self.head.id, *_fixed(arm), *_moving(arm)) for arm in arms]
        self._db.many(INSERT_ARM, rows)
        self._arms |= {arm.number: arm for arm in arms}

    def _row(self, row: Sequence[Any]) -> PullRow:
        pull = self._pulls.get(row[0])
        if pull is None:
            pull = self._pulls[row[0]] = PullRow(*row)
        return pull

    def pull(self, number: int) -> PullRow:
        pull = self._pulls.get(number)
        if pull is None:
            pull = self._row(self._db.rows(ONE_PULL, [self.head.id, number])[0])
        return pull

    def fetch(self, numbers: Sequence[int]) -> None:
        for some in chunks(sorted(set(numbers) - self._pulls.keys()), MANY):
            sql = f"{SELECT_PULL} AND seq IN ({_marks(len(some))})"
            for row in self._db.rows(sql, [self.head.id, *some]):
                self._row(row)
        self._fetch_arms({self._pulls[number].arm for number in numbers})

    def _fetch_arms(self, numbers: set[int]) -> None:
        """Read several arms at once."""
        for some in chunks(sorted(numbers - self._arms.keys()), MANY):
            sql = f"{SELECT_ARM} AND number IN ({_marks(len(some))})"
            for row in self._db.rows(sql, [self.head.id, *some]):
                self._one(row)

    def since(self, seq: int, arm: int | None = None) -> Iterator[PullRow]:
        self._flush_pulls()
        one = "" if arm is None else " AND arm = ?"
        size = 64 if arm is not None else 5_000
        while True:
            values = [self.head.id, seq, *([] if arm is None else [arm]), size]
            sql = f"{SELECT_PULL} AND seq >= ?{one} ORDER BY seq LIMIT ?"
            rows = self._db.rows(sql, values)
            if arm is None:
                self._fetch_arms({row[2] for row in rows})
            for row in rows:
                yield self._pulls.get(row[0]) or PullRow(*row)
            if len(rows) < size:
                return
            seq = rows[-1][0] + 1

    def expired(self) -> list[PullRow]:
        sql = f"{SELECT_PULL} AND expires <= ? AND expires IS NOT NULL ORDER BY expires, seq"
        found = self._db.rows(sql, [self.head.id, self.now])
        self._fetch_arms({row[2] for row in found})
        return [pull for pull in map(self._row, found) if pull.state == ASKED]

    def next_expiry(self) -> float | None:
        self._flush_pulls()
        sql = "SELECT MIN(expires) FROM pull WHERE campaign = ? AND expires IS NOT NULL"
        value = self._db.rows(sql, [self.head.id])[0][0]
        return None if value is None else float(value)

    def add(self, pull: PullRow) -> None:
        self._new.append(pull)

    def update(self, pull: PullRow) -> None:
        self._changed[pull.seq] = pull

    def record(self, event: Event) -> None:
        self._events.append(event)

    def events(self) -> list[Event]:
        sql = "SELECT number, kind, data FROM event WHERE campaign = ? ORDER BY number"
        return [
            Event(number, kind, json.loads(data))
            for number, kind, data in self._db.rows(sql, [self.head.id])
        ]


_INHERITED: list[Connection] = []


class SQLStore:
    """What a store of tables does with its connection; a subclass says how to connect.

    One connection a process, taken by one thread at a time. A process that was forked opens its
    own.
    """

    where: str
    shown: str
    """``where`` without a password, for messages."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.settings = Settings()
        self._db: Connection | None = None
        self._owner = 0

    def connect(self, *, make: bool) -> Connection:
        """A new connection to tables of today's version, made if there are none and it is asked."""
        raise NotImplementedError

    def db(self, *, make: bool = False) -> Connection:
        """The connection of this process."""
        self._leave_to_parent()
        if self._db is None or self._db.broken:
            self._db = self.connect(make=make)
            self._owner = os.getpid()
        return self._db

    def _leave_to_parent(self) -> None:
        """A connection that was there before a fork is not this process's to close."""
        if self._db is not None and self._owner != os.getpid():
            _INHERITED.append(self._db)
            self._db = None

    def create(self, head: Head, arms: Sequence[Arm]) -> bool:
        """See :class:`Store`."""
        with self.lock:
            db = self.db(make=True)
            head.created = db.clock()
            return create(db, head, arms)

    def begin(self, name: str, move: str, *, write: bool = True) -> SQLTransaction:
        """See :class:`Store`."""
        return SQLTransaction(self, name, move, write)

    def heads(self) -> list[Head]:
        """See :class:`Store`."""
        with self.lock:
            try:
                return [self.settings.head(row) for row in self.db().rows(SELECT_HEADS)]
            except Nothing:
                return []

    def delete(self, name: str) -> None:
        """See :class:`Store`."""
        with self.lock:
            delete(self.db(), name, self.shown)

    def compact(self) -> None:
        """See :class:`Store`."""
        with self.lock:
            self.db().compact()

    def release(self) -> None:
        """See :class:`Store`."""
        with self.lock:
            self._leave_to_parent()
            if self._db is not None:
                self._db.close()
            self._db = None
