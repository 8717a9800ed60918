"""Campaigns in this process's memory: quick, and gone when it ends."""

import heapq
import os
import struct
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType

import numpy as np

from cutline.campaign.errors import UnknownCampaign
from cutline.campaign.records import TOLD, Arm, Event, Head, Outcomes, PullRow
from cutline.campaign.stores.base import Place

MANY = 100_000  # pulls that are handed on at once


class MemoryStore:
    """A store for one process, shared by its threads.

    There is no undoing here: moves check before they change anything. What cannot be checked is an
    interrupt (Ctrl-C) in the middle of one, which can leave it half made; a file does not.

    >>> MemoryStore().heads()
    []
    """

    where = shown = "memory"

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._games: dict[str, _Game] = {}
        self._clock = clock
        self._lock = threading.Lock()

    def create(self, head: Head, arms: Sequence[Arm]) -> bool:
        """See :class:`Store`."""
        with self._lock:
            if head.name in self._games:
                return False
            head.id, head.created = len(self._games), self._clock()
            self._games[head.name] = _Game(head, arms, self._clock)
            return True

    def begin(self, name: str, move: str) -> "_Game":
        """See :class:`Store`."""
        game = self._games.get(name)
        if game is None:
            raise UnknownCampaign(f"there is no campaign {name!r} in memory")
        return game

    def heads(self) -> list[Head]:
        """See :class:`Store`."""
        return [replace(game.head) for game in list(self._games.values())]

    def delete(self, name: str) -> None:
        """See :class:`Store`."""
        with self.begin(name, "delete"):
            del self._games[name]

    def compact(self) -> None:
        """Nothing to do."""

    def release(self) -> None:
        """Nothing to do."""


class _Game:
    """One campaign, and a transaction on it at the same time: a lock, taken on entry.

    Arms that nothing was done with yet wait in ``fresh``, in the order in which ties fall; the
    others are in a heap. An entry of the heap counts as long as the arm's priority is the one it
    says; arms that moved are placed when the line is next looked at from its beginning.
    """

    def __init__(self, head: Head, arms: Sequence[Arm], clock: Callable[[], float]) -> None:
        self.head = head
        self.now = 0.0
        self.place: Place
        self._lock = threading.Lock()
        self._clock = clock
        self._arms = arms if isinstance(arms, list) else list(arms)  # not a copy: there may be many
        self._numbers: dict[str, int] | None = None
        ties = np.fromiter((arm.tie for arm in arms), float, len(arms))
        self._fresh = array("I", np.argsort(-ties).astype(np.uint32).tobytes())
        self._line: list[tuple[float, float, int]] = []
        self._lined = bytearray(len(arms))  # 1 for arms that have left ``fresh``
        self._moved: set[int] = set()
        self._pulls: list[PullRow | bytes] = []
        self._leases: list[tuple[float, int]] = []
        self._events: list[Event] = []
        self._dear = max((arm.cost for arm in arms), default=1)
        self._tokens: Iterator[int] = iter(())

    def __enter__(self) -> "_Game":
        self._lock.acquire()
        self.now = self._clock()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

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
        found = self._from_line(n)
        if self._fresh:
            found = sorted([*found, *self._from_fresh(n)], key=_standing)[:n]
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
        if n == 1 and not self._moved:
            while line:
                priority, _, number = line[0]
                if arms[number].priority == priority:
                    return [arms[number]]
                heapq.heappop(line)
            return []
        taken: dict[int, tuple[float, float, int]] = {}
        while line and len(taken) < n:
            entry = heapq.heappop(line)
            if self._stands(entry):
                taken[entry[2]] = entry
        for entry in taken.values():
            heapq.heappush(line, entry)
        return [arms[number] for number in taken]

    def _line_up(self) -> None:
        step = self.head.told + self.head.flying
        line = self._line
        for number in self._moved:
            arm = self._arms[number]
            place = self.place(arm, step)
            arm.priority = place
            self._lined[number] = 1
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
        return heapq.nsmallest(n, able, key=_standing)

    def arm(self, number: int) -> Arm:
        return self._arms[number]

    def named(self, name: str) -> Arm | None:
        if self._numbers is None:
            self._numbers = {arm.name: arm.number for arm in self._arms}
        number = self._numbers.get(name)
        return None if number is None else self._arms[number]

    def all_arms(self) -> list[Arm]:
        self._line_up()
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
        return _unpacked(number, pull) if isinstance(pull, bytes) else pull

    def fetch(self, numbers: Sequence[int]) -> None:
        pass

    def since(self, seq: int, arm: int | None = None) -> Iterator[PullRow]:
        for number in range(seq, len(self._pulls)):
            pull = self.pull(number)
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

    def expired(self) -> list[PullRow]:
        leases = self._leases
        found: dict[int, PullRow] = {}  # a heartbeat may have come at the same moment as the ask
        while (expires := self.next_expiry()) is not None and expires <= self.now:
            number = heapq.heappop(leases)[1]
            found[number] = self.pull(number)
        return list(found.values())

    def next_expiry(self) -> float | None:
        leases = self._leases
        while leases:
            expires, number = leases[0]
            pull = self._pulls[number]
            if not isinstance(pull, bytes) and pull.expires == expires:
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
            self._pulls[pull.seq] = _packed(pull)

    def record(self, event: Event) -> None:
        self._events.append(event)

    def events(self) -> list[Event]:
        return list(self._events)

    def misfits(self) -> tuple[list[str], int]:
        return [], 0  # nobody else gets at it


_TOLD = struct.Struct("<6qd")
_COLUMNS = np.dtype(
    [(name, "<i8") for name in ("token", "arm", "nth", "cost", "asked", "settled")]
    + [("reward", "<f8")]
)


def _packed(pull: PullRow) -> bytes:
    """A pull that was told, in a third of the room."""
    return _TOLD.pack(
        pull.token, pull.arm, pull.nth, pull.cost, pull.asked, pull.settled, pull.reward
    )


def _unpacked(number: int, told: bytes) -> PullRow:
    token, arm, nth, cost, asked, settled, reward = _TOLD.unpack(told)
    return PullRow(number, token, arm, nth, cost, asked, TOLD, reward, None, settled)


def _standing(arm: Arm) -> tuple[float, float]:
    assert arm.priority is not None
    return arm.priority, arm.tie
