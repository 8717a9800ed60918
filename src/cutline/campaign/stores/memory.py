"""Campaigns in this process's memory: quick, and gone when it ends."""

import contextlib
import heapq
import os
import struct
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

import numpy as np

from cutline.campaign.errors import UnknownCampaign
from cutline.campaign.records import TOLD, Arm, Event, Head, Outcomes, PullRow
from cutline.campaign.stores.base import CLOCK_SECONDS, RESTING, Answer, Place
from cutline.campaign.stores.guard import Guard, know
from cutline.campaign.stores.rows import FIXED_ARM, MOVING_PULL
from cutline.rules.base import write_part

MANY = 100_000  # pulls that are handed on at once


class MemoryStore:
    """A store for one process, shared by its threads; a forked process has a copy of its own.

    A move that is broken off, by an error or an interrupt, is undone: records are written down as
    they were before they are handed out.

    >>> MemoryStore().heads()
    []
    """

    where = shown = "memory"
    wait = 0.0
    waits_for_fork = False  # what another thread was doing then is undone in the child

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._games: dict[str, _Game] = {}
        self._clock = clock
        self.guard = Guard()
        know(self)

    def create(self, head: Head, arms: Sequence[Arm]) -> bool:
        """See :class:`Store`."""
        return self.guard.run(self._create, head, arms)

    def _create(self, head: Head, arms: Sequence[Arm]) -> bool:
        if head.name in self._games:
            return False
        head.id, head.created = len(self._games), self._clock()
        head.clock = head.created
        self._games[head.name] = _Game(head, arms, self._clock)
        return True

    def run(self, name: str, move: str, work: "Callable[[_Game], Answer]") -> Answer:
        """See :class:`Store`."""
        game = self._games.get(name)
        if game is None:
            raise _unknown(name)
        lock = self.guard.lock
        if lock._is_owned():  # type: ignore[attr-defined]  # see Guard
            self.guard.refuse_nested()
        # As in Guard.run, whose call is saved here.
        with lock: return game.run(move, work)  # fmt: skip  # noqa: E701

    @contextlib.contextmanager
    def begin(self, name: str, move: str) -> Iterator["_Game"]:
        """See :class:`Store`."""
        self.guard.refuse_nested()
        with self.guard.lock:
            game = self._game(name)
            try:
                game.enter(move)
                yield game
                game.keep()
            except BaseException:
                game.undo()
                raise

    def _game(self, name: str) -> "_Game":
        game = self._games.get(name)
        if game is None:
            raise _unknown(name)
        return game

    def heads(self) -> list[Head]:
        """See :class:`Store`."""
        return self.guard.run(self._heads)

    def _heads(self) -> list[Head]:
        for game in self._games.values():
            game.undo()
        return [replace(game.head) for game in self._games.values()]

    def delete(self, name: str) -> None:
        """See :class:`Store`."""
        self.guard.run(self._delete, name)

    def _delete(self, name: str) -> None:
        self._game(name)
        del self._games[name]

    def compact(self) -> None:
        """Nothing to do."""

    def release(self) -> None:
        """Nothing to do."""

    def before_fork(self) -> None:
        """Nothing to do."""

    def after_fork(self) -> None:
        """Undo what another thread was in the middle of; it is not in this process."""
        if not self.guard.mine:
            for game in self._games.values():
                game.undo()


def _unknown(name: str) -> UnknownCampaign:
    return UnknownCampaign(f"there is no campaign {name!r} in memory")


# What a move may change of each record.
_HEAD = tuple(f.name for f in fields(Head) if f.name not in ("id", "name", "created"))
_ARM = tuple(f.name for f in fields(Arm) if f.name not in FIXED_ARM)
_PULL = tuple(f.name for f in fields(PullRow) if f.name in MOVING_PULL)
_LINED = ("places", "flying", "priority")  # of an arm that is asked for: the first in line


def _reader(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads these of a record; in half the time of attrgetter, as Python knows the type."""
    return write_part(
        f"def part(record):\n    return ({''.join(f'record.{n}, ' for n in names)})\n"
    )


_head_now, _pull_now = _reader(_HEAD), _reader(_PULL)
_arm_now, _lined_now = _reader(_ARM), _reader(_LINED)
_NAMES = {len(names): names for names in (_ARM, _PULL, _LINED)}


class _Game:
    """One campaign, and a transaction on it at the same time.

    Arms that nothing was done with yet wait in ``fresh``, in the order in which ties fall; the
    others are in a heap. An entry of the heap counts as long as the arm's priority is the one it
    says; arms that moved are placed when the line is next looked at from its beginning.

    ``_was`` is the head as it was before the move that is under way; ``_were`` holds the arms and
    pulls that were handed out in it, as they were.
    """

    def __init__(self, head: Head, arms: Sequence[Arm], clock: Callable[[], float]) -> None:
        self.head = head
        self.now = 0.0
        self.place: Place
        self._clock = clock
        self._arms = arms if isinstance(arms, list) else list(arms)  # not a copy: there may be many
        self._numbers: dict[str, int] | None = None
        ties = np.fromiter((arm.tie for arm in arms), float, len(arms))
        self._fresh = array("I", np.argsort(-ties).astype(np.uint32).tobytes())
        self._line: list[tuple[float, float, int]] = []
        self._lined = bytearray(len(arms))  # 1 for arms that have left ``fresh``
        self._moved: set[int] = set()
        self._resting: set[int] = set()
        self._pulls: list[PullRow | bytes] = []
        self._leases: list[tuple[float, int]] = []
        self._events: list[Event] = []
        self._dear = max((arm.cost for arm in arms), default=1)
        self._tokens: Iterator[int] = iter(())
        self._move = ""
        self._was: tuple[Any, ...] | None = None
        self._were: list[tuple[Arm | PullRow, tuple[Any, ...]]] = []
        self._line_is_whole = True

    def run(self, move: str, work: "Callable[[_Game], Answer]") -> Answer:
        """One move, or nothing of it."""
        try:
            try:
                if self._was is not None:
                    self.undo()  # one was broken off before it could be undone
                head = self.head
                self._were = []
                self._was = _head_now(head)
                self._move = move
                self.now = now = self._clock()
                if not -CLOCK_SECONDS < now - head.clock < CLOCK_SECONDS:
                    self._look_at_clock()
                answer = work(self)
                self._was = None  # it is made
                return answer
            except BaseException:
                self.undo()
                raise
        except BaseException:
            self.undo()  # once more, should an interrupt have come between
            raise

    def enter(self, move: str) -> None:
        """Begin a move, as above."""
        self.undo()
        self._were = []
        self._was = _head_now(self.head)
        self._move = move
        self.now = self._clock()
        self._look_at_clock()

    def keep(self) -> None:
        """The move is made."""
        self._was = None

    def undo(self) -> None:
        """Put everything back as it was before the move that is under way, if one is."""
        if self._was is None:
            return
        for record, values in reversed(self._were):
            for name, value in zip(_NAMES[len(values)], values, strict=True):
                setattr(record, name, value)
            if isinstance(record, Arm):
                self._moved.add(record.number)  # it may have been placed meanwhile
            else:
                self._pulls[record.seq] = record
                self.update(record)
        for name, value in zip(_HEAD, self._was, strict=True):
            setattr(self.head, name, value)
        del self._pulls[self.head.pulls :]
        while self._events and self._events[-1].number > self.head.events:
            self._events.pop()
        if len(self._leases) > 64 + 4 * self.head.flying:  # some are there several times by now
            self._tidy_leases()
        if len(self._arms) > self.head.arms or not self._line_is_whole:
            self._rebuild_line()
        self.keep()

    def _rebuild_line(self) -> None:
        """Line up all arms anew, without those that were added and are not any more."""
        del self._arms[self.head.arms :]
        del self._lined[self.head.arms :]
        self._numbers = None
        self._moved = {number for number in self._moved if number < self.head.arms}
        line = [
            (arm.priority, arm.tie, arm.number)
            for arm in self._arms
            if self._lined[arm.number] and arm.priority is not None
        ]
        heapq.heapify(line)
        self._line = line
        self._resting = {number for priority, _, number in line if priority >= RESTING}
        self._line_is_whole = True

    def _tidy_leases(self) -> None:
        leases = {(e, n) for e, n in self._leases if self._is_lease(e, n)}
        self._leases = sorted(leases)

    def _look_at_clock(self) -> None:
        """Where the clock was set back, leases run out as long from now as they would have."""
        gone = self.now - self.head.clock
        if gone < -CLOCK_SECONDS:
            self._tidy_leases()
            for pull in [self.pull(number) for _, number in self._leases]:
                assert pull.expires is not None
                pull.expires += gone
                self.update(pull)
        if abs(gone) > CLOCK_SECONDS:
            self.head.clock = self.now

    def _is_lease(self, expires: float, number: int) -> bool:
        if number >= len(self._pulls):
            return False  # it was never handed out after all
        pull = self._pulls[number]
        return not isinstance(pull, bytes) and pull.expires == expires

    def token(self) -> int:
        for token in self._tokens:
            return token >> 1
        self._tokens = iter(struct.unpack("<512Q", os.urandom(4096)))
        return next(self._tokens) >> 1

    def first(
        self, n: int, left: int | None, after: tuple[float, float] | None = None
    ) -> list[Arm]:
        if self._moved and after is None:
            self._line_up()
        if left is not None and left < self._dear:
            return self._payable(n, left)
        if n == 1 and not self._fresh and not self._moved:
            line, arms = self._line, self._arms
            while line:
                priority, _, number = line[0]
                arm = arms[number]
                if arm.priority == priority:
                    self._were.append((arm, _lined_now(arm)))
                    return [arm]
                heapq.heappop(line)
            return []
        found = self._from_line(n)
        if self._fresh:
            found = sorted([*found, *self._from_fresh(n)], key=_standing)[:n]
        self._write_down(found)
        return found

    def resting(self, n: int, left: int | None) -> list[Arm]:
        if self._moved:
            self._line_up()
        arms = [self._arms[number] for number in self._resting]
        able = [arm for arm in arms if left is None or arm.cost <= left]
        found = heapq.nsmallest(n, able, key=_standing)
        self._write_down(found)
        return found

    def _from_fresh(self, n: int) -> list[Arm]:
        fresh = self._fresh
        found: list[Arm] = []
        place = len(fresh)
        while place and len(found) < n:
            place -= 1
            number = fresh[place]
            if self._lined[number]:
                del fresh[place]
            elif number not in self._moved:
                found.append(self._arms[number])
        return found

    def _from_line(self, n: int) -> list[Arm]:
        line, arms = self._line, self._arms
        taken: dict[int, tuple[float, float, int]] = {}
        self._line_is_whole = False
        while line and len(taken) < n:
            entry = heapq.heappop(line)
            if self._stands(entry):
                taken[entry[2]] = entry
        for entry in taken.values():
            heapq.heappush(line, entry)
        self._line_is_whole = True
        return [arms[number] for number in taken]

    def _line_up(self) -> None:
        step = self.head.told + self.head.flying
        line = self._line
        for number in self._moved:
            arm = self._arms[number]
            place = self.place(arm, step)
            arm.priority = place
            self._lined[number] = 1
            if place is not None and place >= RESTING:
                self._resting.add(number)
            elif self._resting:
                self._resting.discard(number)
            if place is None:
                continue
            if line and line[0][2] == number:  # its old entry is on top: one step, not two
                heapq.heapreplace(line, (place, arm.tie, number))
            else:
                heapq.heappush(line, (place, arm.tie, number))
        self._moved.clear()
        if len(self._line) > 64 + 4 * len(self._arms):
            self._line = list({entry for entry in self._line if self._stands(entry)})
            heapq.heapify(self._line)

    def _stands(self, entry: tuple[float, float, int]) -> bool:
        return self._arms[entry[2]].priority == entry[0] and entry[2] not in self._moved

    def _payable(self, n: int, left: int) -> list[Arm]:
        """The slow way, through all arms: only when the budget is nearly spent."""
        able = [
            arm
            for arm in self._arms
            if arm.cost <= left and arm.priority is not None and arm.number not in self._moved
        ]
        found = heapq.nsmallest(n, able, key=_standing)
        self._write_down(found)
        return found

    def _write_down(self, arms: Iterable[Arm]) -> None:
        """Arms as they are before a move gets hold of them."""
        self._were.extend((arm, _arm_now(arm)) for arm in arms)

    def arm(self, number: int) -> Arm:
        arm = self._arms[number]
        self._were.append((arm, _arm_now(arm)))
        return arm

    def named(self, name: str) -> Arm | None:
        if self._numbers is None:
            self._numbers = {arm.name: arm.number for arm in self._arms}
        number = self._numbers.get(name)
        return None if number is None else self.arm(number)

    def all_arms(self) -> list[Arm]:
        self._line_up()
        if self._move != "look":
            self._write_down(self._arms)
        return list(self._arms)

    def save(self, arm: Arm) -> None:
        pass

    def touch(self, arm: Arm) -> None:
        self._moved.add(arm.number)

    placed = touch  # placing it again gives the same

    def add_arms(self, arms: Sequence[Arm]) -> None:
        self._arms.extend(arms)
        self._lined.extend(bytes(len(arms)))
        self._dear = max(self._dear, *(arm.cost for arm in arms))
        self._numbers = None

    def pull(self, number: int) -> PullRow:
        pull = self._pulls[number]
        if isinstance(pull, bytes):
            pull = _unpacked(number, pull)
        self._were.append((pull, _pull_now(pull)))
        return pull

    def fetch(self, numbers: Sequence[int]) -> None:
        pass

    def since(self, seq: int, arm: int | None = None) -> Iterator[PullRow]:
        for number in range(seq, len(self._pulls)):
            pull = self._pulls[number]
            if isinstance(pull, bytes):
                pull = _unpacked(number, pull)
            if arm is None or pull.arm == arm:
                yield pull

    def outcomes(self, seq: int) -> Iterator[Outcomes]:
        for start in range(seq, len(self._pulls), MANY):
            some = self._pulls[start : start + MANY]
            packed = np.array([isinstance(pull, bytes) for pull in some], dtype=bool)
            told = np.frombuffer(b"".join(p for p in some if isinstance(p, bytes)), _COLUMNS)
            rest = Outcomes.of([pull for pull in some if not isinstance(pull, bytes)])
            arm, nth = np.zeros(len(some), np.int64), np.zeros(len(some), np.int64)
            state, reward = np.full(len(some), TOLD), np.zeros(len(some))
            for column, name in ((arm, "arm"), (nth, "nth"), (reward, "reward")):
                column[packed] = told[name]
                column[~packed] = getattr(rest, name)
            state[~packed] = rest.state
            yield Outcomes(np.arange(start, start + len(some)), arm, nth, state, reward)

    def history(self, seq: int) -> Iterator[Outcomes]:
        return self.outcomes(seq)

    def expired(self) -> list[PullRow]:
        leases = self._leases
        if not leases or leases[0][0] > self.now:
            return []
        found: dict[int, PullRow] = {}  # a heartbeat may have come at the same moment as the ask
        while (expires := self.next_expiry()) is not None and expires <= self.now:
            number = leases[0][1]
            found[number] = self.pull(number)  # written down first, and so is its lease
            heapq.heappop(leases)
        return list(found.values())

    def next_expiry(self) -> float | None:
        leases = self._leases
        while leases:
            expires, number = leases[0]
            if self._is_lease(expires, number):
                return expires
            heapq.heappop(leases)
        return None

    def add(self, pull: PullRow) -> None:
        self._pulls.append(pull)
        if pull.expires is not None:
            heapq.heappush(self._leases, (pull.expires, pull.seq))

    def update(self, pull: PullRow) -> None:
        if pull.expires is not None:  # a heartbeat
            heapq.heappush(self._leases, (pull.expires, pull.seq))
        elif pull.state == TOLD and pull.note is None:  # nearly all of them, and for good
            self._pulls[pull.seq] = _pack(
                pull.token, pull.arm, pull.nth, pull.cost, pull.asked, pull.settled, pull.reward
            )

    def record(self, event: Event) -> None:
        self._events.append(event)

    def events(self) -> list[Event]:
        return list(self._events)

    def excuses(self, numbers: Sequence[int]) -> set[int]:
        found = set()
        for number in numbers:
            place = bisect_left(self._events, number, key=attrgetter("number"))
            if place < len(self._events):
                event = self._events[place]
                if event.number == number and event.kind == "excuse":
                    found.add(number)
        return found

    def misfits(self) -> tuple[list[str], int]:
        return [], 0  # nobody else gets at it


_TOLD = struct.Struct("<6qd")
_COLUMNS = np.dtype(
    [(name, "<i8") for name in ("token", "arm", "nth", "cost", "asked", "settled")]
    + [("reward", "<f8")]
)


_pack = _TOLD.pack  # a pull that was told, in a third of the room


def _unpacked(number: int, told: bytes) -> PullRow:
    token, arm, nth, cost, asked, settled, reward = _TOLD.unpack(told)
    return PullRow(number, token, arm, nth, cost, asked, TOLD, reward, None, settled)


def _standing(arm: Arm) -> tuple[float, float]:
    assert arm.priority is not None
    return arm.priority, arm.tie
