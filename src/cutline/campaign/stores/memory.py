"""Campaigns in this process's memory: quick, and gone when it ends."""

import heapq
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from types import TracebackType

from cutline.campaign.errors import UnknownCampaign
from cutline.campaign.records import Arm, Event, Head, PullRow
from cutline.campaign.stores.base import Place


class MemoryStore:
    """A store for one process, shared by its threads.

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

    def begin(self, name: str, move: str, *, write: bool = True) -> "_Game":
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
    says; arms that moved are placed when the line is next looked at.
    """

    def __init__(self, head: Head, arms: Sequence[Arm], clock: Callable[[], float]) -> None:
        self.head = head
        self.place: Place
        self._lock = threading.Lock()
        self._clock = clock
        self._arms = arms if isinstance(arms, list) else list(arms)  # not a copy: there may be many
        self._numbers: dict[str, int] | None = None
        self._fresh = sorted(arms, key=attrgetter("tie"), reverse=True)
        self._line: list[tuple[float, float, int]] = []
        self._lined = bytearray(len(arms))  # 1 for arms that have left ``fresh``
        self._moved: set[int] = set()
        self._pulls: list[PullRow] = []
        self._leases: list[tuple[float, int]] = []
        self._events: list[Event] = []
        self._dear = max((arm.cost for arm in arms), default=1)
        self._tokens: Iterator[int] = iter(())

    def __enter__(self) -> "_Game":
        self._lock.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    @property
    def now(self) -> float:
        return self._clock()

    def token(self) -> int:
        for token in self._tokens:
            return token >> 1
        self._tokens = iter(struct.unpack("<512Q", os.urandom(4096)))
        return next(self._tokens) >> 1

    def first(self, n: int, left: int | None) -> list[Arm]:
        if left is not None and left < self._dear:
            return self._payable(n, left)
        self._line_up()
        both = self._from_fresh(n) + self._from_line(n)
        if len(both) > 1:
            both.sort(key=_standing)
        return both[:n]

    def _from_fresh(self, n: int) -> list[Arm]:
        fresh = self._fresh
        found: list[Arm] = []
        place = len(fresh)
        while place and len(found) < n:
            place -= 1
            arm = fresh[place]
            if self._lined[arm.number]:
                del fresh[place]
            else:
                found.append(arm)
        return found

    def _from_line(self, n: int) -> list[Arm]:
        line, arms = self._line, self._arms
        if n == 1:
            while line:
                priority, _, number = line[0]
                if arms[number].priority == priority:
                    return [arms[number]]
                heapq.heappop(line)
            return []
        taken: dict[int, tuple[float, float, int]] = {}
        while line and len(taken) < n:
            entry = heapq.heappop(line)
            if arms[entry[2]].priority == entry[0]:
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
        return self._arms[entry[2]].priority == entry[0]

    def _payable(self, n: int, left: int) -> list[Arm]:
        """The slow way, through all arms: only when the budget is nearly spent."""
        self._line_up()
        able = [a for a in self._arms if a.cost <= left and a.priority is not None]
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

    def pulls(self, numbers: Sequence[int]) -> Mapping[int, PullRow]:
        known = len(self._pulls)
        return {number: self._pulls[number] for number in numbers if number < known}

    def since(self, seq: int, arm: int | None = None) -> Iterator[PullRow]:
        for number in range(seq, len(self._pulls)):
            if arm is None or self._pulls[number].arm == arm:
                yield self._pulls[number]

    def expired(self) -> list[PullRow]:
        leases = self._leases
        found: dict[int, PullRow] = {}  # a heartbeat may have come at the same moment as the ask
        now = self.now
        while leases:
            expires, number = leases[0]
            pull = self._pulls[number]
            if pull.expires == expires and expires > now:
                break
            heapq.heappop(leases)
            if pull.expires == expires:
                found[number] = pull
        return list(found.values())

    def next_expiry(self) -> float | None:
        while self._leases:
            expires, number = self._leases[0]
            if self._pulls[number].expires == expires:
                return expires
            heapq.heappop(self._leases)
        return None

    def add(self, pull: PullRow) -> None:
        self._pulls.append(pull)
        if pull.expires is not None:
            heapq.heappush(self._leases, (pull.expires, pull.seq))

    def update(self, pull: PullRow) -> None:
        if pull.expires is not None:  # a heartbeat
            heapq.heappush(self._leases, (pull.expires, pull.seq))

    def record(self, event: Event) -> None:
        self._events.append(event)

    def events(self) -> list[Event]:
        return list(self._events)


def _standing(arm: Arm) -> tuple[float, float]:
    assert arm.priority is not None
    return arm.priority, arm.tie
