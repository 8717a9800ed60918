"""A campaign in tables: what the SQLite and the PostgreSQL store share."""

import contextlib
import json
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cutline.campaign.errors import StoreBusy, UnknownCampaign
from cutline.campaign.records import ASKED, Arm, Event, Head, Outcomes, PullRow
from cutline.campaign.stores import base
from cutline.campaign.stores.base import CLOCK_SECONDS, RESTING, Answer, Patience, Place, chunks
from cutline.campaign.stores.checking import misfits
from cutline.campaign.stores.connection import Busy, Connection, all_or_nothing
from cutline.campaign.stores.guard import Guard, know
from cutline.campaign.stores.rows import (
    INSERT_ARM,
    INSERT_EVENT,
    INSERT_HEAD,
    INSERT_PULL,
    LINE,
    NAMED_ARM,
    ONE_ARM,
    ONE_PULL,
    SELECT_ARM,
    SELECT_HEAD,
    SELECT_HEADS,
    SELECT_PULL,
    UPDATE_ARM,
    UPDATE_HEAD,
    UPDATE_PULL,
    Settings,
    arm_of,
    arm_row,
    event_row,
    marks,
    moved_pull,
    moving,
    name_digest,
    pull_row,
)
from cutline.campaign.stores.schema import Nothing

MANY = 500  # records asked for in one statement
SET_BACK = "UPDATE pull SET expires = expires - ? WHERE campaign = ? AND expires IS NOT NULL"
# What a power cut may undo: whoever asked on this machine is gone as well, and nobody was told of
# anything learned (pulls that an ask gives up are given up again by the next).
NO_PROMISE = ("ask", "heartbeat")


def create(db: Connection, head: Head, arms: Sequence[Arm]) -> bool:
    """Write a new campaign; False where the name is taken."""
    with all_or_nothing(db, "create"):
        db.alone()
        if db.rows(SELECT_HEAD, [head.name]):
            return False
        settings = Settings()
        values = settings.values(head)
        checksum = settings.checksum(head, values[0])
        db.rows(INSERT_HEAD, [head.name, head.created, *values, checksum])
        number = db.rows("SELECT id FROM campaign WHERE name = ?", [head.name])[0][0]
        head.id = int(number)
        for some in chunks(arms, 10_000):
            db.many(INSERT_ARM, [(head.id, *arm_row(arm)) for arm in some])
    return True


def delete(db: Connection, name: str, where: str) -> None:
    """Remove a campaign with all its pulls."""
    with all_or_nothing(db, "delete"):
        found = db.head(name, write=True)
        if not found:
            raise UnknownCampaign(f"there is no campaign {name!r} in {where}")
        for table in ("event", "pull", "arm"):
            db.rows(f"DELETE FROM {table} WHERE campaign = ?", [found[0][0]])
        db.rows("DELETE FROM campaign WHERE id = ?", [found[0][0]])


class SQLTransaction:
    """One campaign, read as needed and written when the transaction ends."""

    head: Head
    place: Place

    def __init__(self, store: "SQLStore", name: str, move: str) -> None:
        self._store, self._settings, self._where = store, store.settings, store.shown
        self._name, self._move, self._write = name, move, move != "look"
        self._db: Connection
        self._arms: dict[int, Arm] = {}
        self._saved: dict[int, Arm] = {}
        self._moved: dict[int, Arm] = {}
        self._pulls: dict[int, PullRow] = {}
        self._changed: dict[int, PullRow] = {}
        self._new: list[PullRow] = []
        self._events: list[Event] = []
        self._tokens: Iterator[int] = iter(())

    def open(self) -> None:
        """Begin it, and read the campaign's row."""
        self._db = self._store.db()
        base.reached(f"{self._move} before")
        self._db.begin(write=self._write, synced=self._move not in NO_PROMISE)
        found = self._db.head(self._name, write=self._write)
        if not found:
            raise UnknownCampaign(f"there is no campaign {self._name!r} in {self._where}")
        self.head = self._settings.head(found[0])
        self._before = tuple(found[0][3:])
        if self._write:
            self._look_at_clock()

    def _look_at_clock(self) -> None:
        """Where the clock was set back, leases run out as long from now as they would have."""
        head, now = self.head, self.now
        if now > head.clock + CLOCK_SECONDS:
            head.clock = now
        elif now < head.clock - CLOCK_SECONDS:
            self._db.rows(SET_BACK, [head.clock - now, head.id])
            head.clock = now

    def close(self) -> None:
        """Keep what was done; a look did nothing."""
        if not self._write:
            self._db.rollback()
            return
        self._flush()
        base.reached(f"{self._move} written")
        self._db.commit()
        base.reached(f"{self._move} committed")

    def _flush(self) -> None:
        self._flush_pulls()
        step = self.head.told + self.head.flying
        for arm in self._moved.values():
            arm.priority = self.place(arm, step)
        changed = {**self._saved, **self._moved}
        if changed:
            own = self.head.id
            self._db.many(UPDATE_ARM, [(*moving(a), own, a.number) for a in changed.values()])
        self._flush_events()
        after = self._settings.values(self.head)
        if after != self._before:
            checksum = self._settings.checksum(self.head, after[0])
            self._db.rows(UPDATE_HEAD, [*after, checksum, self.head.id])
            self._before = after

    def _flush_events(self) -> None:
        for event in self._events:
            self._db.rows(INSERT_EVENT, event_row(event, self.head.id))
        self._events.clear()

    def _flush_pulls(self) -> None:
        own = self.head.id
        if self._new:
            self._db.many(INSERT_PULL, [(own, *pull_row(pull)) for pull in self._new])
            self._new.clear()
        if self._changed:
            self._db.many(UPDATE_PULL, [moved_pull(p, own) for p in self._changed.values()])
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
            arm = self._arms[row[0]] = arm_of(row)
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

    def resting(self, n: int, left: int | None) -> list[Arm]:
        if self._moved or self._saved:
            self._settle_line()
        return self.first(n, left, (RESTING, -1.0))

    def _settle_line(self) -> None:
        """Write what has moved so far, so that the line can be read."""
        self._flush()
        self._moved.clear()
        self._saved.clear()

    def arm(self, number: int) -> Arm:
        arm = self._arms.get(number)
        if arm is None:
            arm = self._one(self._db.rows(ONE_ARM, [self.head.id, number])[0])
        return arm

    def named(self, name: str) -> Arm | None:
        rows = self._db.rows(NAMED_ARM, [self.head.id, name_digest(name)])
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
        self._db.many(INSERT_ARM, [(self.head.id, *arm_row(arm)) for arm in arms])
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
        missing = sorted(set(numbers) - self._pulls.keys())
        if len(missing) > 1 and missing[-1] - missing[0] < 2 * len(missing):  # most of a batch
            sql = f"{SELECT_PULL} AND seq BETWEEN ? AND ?"
            for row in self._db.rows(sql, [self.head.id, missing[0], missing[-1]]):
                self._row(row)
            missing = []
        for some in chunks(missing, MANY):
            sql = f"{SELECT_PULL} AND seq IN ({marks(len(some))})"
            for row in self._db.rows(sql, [self.head.id, *some]):
                self._row(row)
        self._fetch_arms({self._pulls[number].arm for number in numbers})

    def _fetch_arms(self, numbers: set[int]) -> None:
        """Read several arms at once."""
        for some in chunks(sorted(numbers - self._arms.keys()), MANY):
            sql = f"{SELECT_ARM} AND number IN ({marks(len(some))})"
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

    def outcomes(self, seq: int) -> Iterator[Outcomes]:
        self._flush_pulls()
        sql = (
            "SELECT seq, arm, nth, state, reward FROM pull WHERE campaign = ? AND seq >= ? "
            "ORDER BY seq LIMIT ?"
        )
        size = 20_000
        while rows := self._db.rows(sql, [self.head.id, seq, size]):
            numbers, arms, nths, states, rewards = zip(*rows, strict=True)
            self._fetch_arms(set(arms))
            yield Outcomes(
                np.array(numbers, dtype=np.int64),
                np.array(arms, dtype=np.int64),
                np.array(nths, dtype=np.int64),
                np.array(states, dtype=np.int64),
                np.array(rewards, dtype=np.float64),  # None becomes NaN
            )
            if len(rows) < size:
                return
            seq = rows[-1][0] + 1

    def history(self, seq: int) -> Iterator[Outcomes]:
        return self.outcomes(seq)

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

    def events(self) -> Iterator[Event]:
        self._flush_events()
        sql = "SELECT number, kind, data FROM event WHERE campaign = ? AND number > ?"
        after = -1
        while rows := self._db.rows(f"{sql} ORDER BY number LIMIT 1000", [self.head.id, after]):
            for number, kind, data in rows:
                yield Event(number, kind, json.loads(data))
            after = rows[-1][0]

    def excuses(self, numbers: Sequence[int]) -> set[int]:
        self._flush_events()
        found: set[int] = set()
        sql = "SELECT number FROM event WHERE campaign = ? AND kind = 'excuse' AND number IN"
        for some in chunks(numbers, MANY):
            rows = self._db.rows(f"{sql} ({marks(len(some))})", [self.head.id, *some])
            found |= {row[0] for row in rows}
        return found

    def misfits(self) -> tuple[list[str], int]:
        return misfits(self._db, self.head)


class SQLStore:
    """What a store of tables does with its connection; a subclass says how to connect.

    One connection a process, taken by one thread at a time. A process that was forked opens its
    own. Whatever is raised in the middle of something, the transaction is rolled back; where it is
    not certain that this worked, the connection is dropped and the next call opens another.
    """

    where: str
    shown: str
    """``where`` without a password, for messages."""
    waits_for_fork = False

    def __init__(self, wait: float | None = None) -> None:
        self.wait = base.seconds_to_wait(wait)
        self.guard = Guard()
        self.settings = Settings()
        self._db: Connection | None = None
        self._dropped: list[Connection] = []
        self._owner = 0
        know(self)

    def connect(self, *, make: bool) -> Connection:
        """A new connection to tables of today's version, made if there are none and it is asked."""
        raise NotImplementedError

    def db(self, *, make: bool = False) -> Connection:
        """The connection of this process, ready for a transaction."""
        if self._owner != os.getpid():
            self._leave_to_parent()
        if self._dropped or (self._db and (self._db.broken or not self._db.idle)):
            self._drop()
        if self._db is None:
            self._owner = os.getpid()
            self._db = self.connect(make=make)
        return self._db

    def _leave_to_parent(self) -> None:
        """A connection that was there before a fork is not this process's to use or close."""
        for db in (self._db, *self._dropped):
            if db is not None:
                db.leave()
        self._db = None
        self._dropped.clear()

    def _drop(self) -> None:
        """Let go of the connection; once more where that was interrupted before."""
        if self._db is not None:
            self._dropped.append(self._db)
            self._db = None
        while self._dropped:
            self._dropped[-1].close()
            self._dropped.pop()

    def _clean_up(self) -> None:
        """After something was raised: no transaction is open, or no connection."""
        if self._owner != os.getpid():
            self._leave_to_parent()
        elif self._dropped or (self._db is not None and not self._db.restore()):
            self._drop()

    def before_fork(self) -> None:
        """See :class:`Forkable`."""
        self._drop()

    def after_fork(self) -> None:
        """See :class:`Forkable`."""
        self._leave_to_parent()

    def _alone(self, what: Callable[..., Answer], *given: Any) -> Answer:
        """Call ``what(*given)`` with the connection to itself, again while the file is busy.

        Meanwhile the lock is let go of, for other threads and for forks.
        """
        patience = None
        while True:
            try:
                answer: Answer = self.guard.run(self._cleanly, what, given)
                return answer
            except Busy as busy:
                patience = patience or Patience(self.wait, 0.002, 0.02)
                if not patience.wait():
                    raise StoreBusy(busy.explain(self.wait)) from None

    def _cleanly(self, what: Callable[..., Answer], given: tuple[Any, ...]) -> Answer:
        try:
            try:
                return what(*given)
            except BaseException:
                self._clean_up()
                raise
        except BaseException:
            self._clean_up()  # once more, should an interrupt have come between
            raise

    def run(self, name: str, move: str, work: Callable[[SQLTransaction], Answer]) -> Answer:
        """See :class:`Store`."""
        answer: Answer = self._alone(self._run, name, move, work)
        return answer

    def _run(self, name: str, move: str, work: Callable[[SQLTransaction], Answer]) -> Answer:
        t = SQLTransaction(self, name, move)
        t.open()
        try:
            answer = work(t)
            t.close()
        except Busy as busy:  # it has begun, and is not begun again
            raise StoreBusy(busy.explain(0.0)) from None
        return answer

    @contextlib.contextmanager
    def begin(self, name: str, move: str) -> Iterator[SQLTransaction]:
        """See :class:`Store`."""
        self.guard.refuse_nested()
        t = SQLTransaction(self, name, move)
        with self.guard.lock:
            try:
                t.open()
                yield t
                t.close()
            except BaseException:
                self._clean_up()
                raise

    def create(self, head: Head, arms: Sequence[Arm]) -> bool:
        """See :class:`Store`."""
        return self._alone(self._create, head, arms)

    def _create(self, head: Head, arms: Sequence[Arm]) -> bool:
        db = self.db(make=True)
        head.created = head.clock = db.clock()
        return create(db, head, arms)

    def heads(self) -> list[Head]:
        """See :class:`Store`."""
        return self._alone(self._heads)

    def _heads(self) -> list[Head]:
        try:
            return [self.settings.head(row) for row in self.db().rows(SELECT_HEADS)]
        except Nothing:
            return []

    def delete(self, name: str) -> None:
        """See :class:`Store`."""
        self._alone(lambda: delete(self.db(), name, self.shown))

    def compact(self) -> None:
        """See :class:`Store`."""
        self._alone(lambda: self.db().compact())

    def release(self) -> None:
        """See :class:`Store`."""
        self.guard.run(self._release)

    def _release(self) -> None:
        if self._owner != os.getpid():
            self._leave_to_parent()
        self._drop()
