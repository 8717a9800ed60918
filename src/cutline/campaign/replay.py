"""A stored campaign's events played again, in memory that does not grow with the history."""

import heapq
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from cutline.campaign import moves
from cutline.campaign.access import Access
from cutline.campaign.errors import CampaignError
from cutline.campaign.making import numbers_of, start_of
from cutline.campaign.records import (
    ASKED,
    ATTACHED,
    ATTACHED_UNWEIGHED,
    CLOSED,
    FAILED,
    LOST,
    PAUSED,
    RETURNED,
    RUNNING,
    SUSPENDED,
    TOLD,
    Arm,
    Event,
    Head,
    Outcomes,
    PullRow,
)
from cutline.campaign.stores import MemoryStore, Transaction
from cutline.campaign.stores.base import RESTING, Place
from cutline.campaign.terms import Terms, problem_of
from cutline.rules.base import Rule

Happening = tuple[int, str, PullRow | Event]

LATE_TELLS = ("told late", "kept late")
_KINDS = {TOLD: "tell", FAILED: "fail", LOST: "lose", RETURNED: "give back"}
_SWEEP = 1_000  # events after which trials that are over are forgotten


class LateTells:
    """Which trials were given up first and told after all, a few bytes each."""

    def __init__(self, events: Iterable[Event]) -> None:
        found = array("q")
        for event in events:
            if event.kind in LATE_TELLS:
                found.extend((event.data["pull"], event.data["was"]))
        pairs = np.frombuffer(found, dtype=np.int64).reshape(-1, 2)
        pairs = pairs[np.argsort(pairs[:, 0])]
        self._seq, self._was = pairs[:, 0], pairs[:, 1]

    def state_before(self, seq: int) -> int | None:
        """Lost or returned, for one that was told late; else None."""
        place = int(np.searchsorted(self._seq, seq)) if len(self._seq) else 0
        if place == len(self._seq) or self._seq[place] != seq:
            return None
        return int(self._was[place])


def happenings(t: Transaction, late: LateTells) -> Iterator[Happening]:
    """All that happened, each with its number, in order.

    Trials are read in the order asked for, and each row says when it was settled: only those that
    were in flight at the same time wait here for their turn.
    """
    waiting: list[tuple[int, str, int, PullRow | Event]] = []
    others = iter(t.events())

    def next_other() -> None:
        for event in others:
            heapq.heappush(waiting, (event.number, event.kind, -1, event))
            return

    def until(number: int | None) -> Iterator[Happening]:
        while waiting and (number is None or waiting[0][0] < number):
            at, kind, _, what = heapq.heappop(waiting)
            if isinstance(what, Event):
                next_other()
            yield at, kind, what

    next_other()
    for pull in t.since(0):
        yield from until(pull.asked)
        if pull.state in (ATTACHED, ATTACHED_UNWEIGHED):
            yield pull.asked, "attach", pull
            continue
        yield pull.asked, "ask", pull
        if pull.state != ASKED:
            assert pull.settled is not None, f"pull {pull.seq} says not when it was settled"
            before = late.state_before(pull.seq)
            kind = _KINDS[pull.state if before is None else before]
            heapq.heappush(waiting, (pull.settled, kind, pull.seq, pull))
    yield from until(None)


class Replay:
    """The same campaign in memory, as it was before its first event."""

    def __init__(
        self,
        rule: Rule,
        head: Head,
        arms: Sequence[Arm],
        late: LateTells,
    ) -> None:
        self._stored, self._late = arms, late
        self._late_rows: dict[int, PullRow] = {}  # given up, and told late further on
        began = Head(0, head.name, head.created, dict(head.settings), head.settings["budget"])
        began.arms = began.unsettled = head.settings["first_arms"]
        self._access = Access(MemoryStore(), head.name, rule)
        terms = self._access.terms(head.settings)
        first = _blank(arms[: began.arms], terms)
        problem = problem_of(first, terms.rewards)
        began.settings["numbers"] = numbers_of(terms.rule, problem, began.budget)
        for arm in first:
            arm.priority = self._access.terms(began.settings).place(arm, 0)
        self._game = _Game(began, first)
        self._played = 0

    def play(self, kind: str, what: PullRow | Event) -> str | None:
        """One event; what does not follow, if anything does not."""
        terms = self._terms()
        try:
            if isinstance(what, Event):
                return self._other(terms, kind, what)
            return self._pull(terms, kind, what)
        except (CampaignError, ValueError) as error:
            return f"{kind} is refused in the replay: {error}"
        finally:
            self._played += 1
            if not self._played % _SWEEP:
                moves.weigh(self._game, self._terms())
                self._game.forget(self._late_rows, self._terms())

    def end(self) -> tuple[Head, list[Arm]]:
        """The campaign after all that was played."""
        terms = self._terms()
        moves.weigh(self._game, terms)
        step = self._game.head.told + self._game.head.flying
        for arm in self._game.all_arms():
            arm.priority = terms.place(arm, step)
        return self._game.head, self._game.all_arms()

    def _terms(self) -> Terms:
        terms = self._access.terms(self._game.head.settings)
        self._game.place = terms.place
        return terms

    def _pull(self, terms: Terms, kind: str, pull: PullRow) -> str | None:
        t = self._game
        if kind == "ask":
            if self._late.state_before(pull.seq) is not None:
                self._late_rows[pull.seq] = pull
            given, why, _ = moves.ask(t, terms, 1, 1e9)
            if not given:
                return f"arm {self._stored[pull.arm].name!r} was asked, and nothing is ({why})"
            own, arm = given[0]
            if arm.number != pull.arm or own.seq != pull.seq or own.nth != pull.nth:
                wanted = self._stored[pull.arm].name
                return f"pull {pull.seq} is of arm {wanted!r}, and the rule asks {arm.name!r}"
            return None
        if kind == "attach":
            weighs = pull.state == ATTACHED
            moves.attach(t, terms, t.arm(pull.arm), [pull.reward], weighs=weighs)
            return None
        own = t.pull(pull.seq)
        # Of campaigns made before, what was suspended is taken as it is written.
        unseen = terms.suspensions_as_written
        if kind == "lose":
            moves.drop(t, terms, own, LOST, excused=unseen)
        elif kind == "give back":
            moves.hand_back(t, terms, own, None)
        elif kind == "fail":
            moves.drop(t, terms, own, FAILED, excused=unseen or t.is_excused())
        else:
            moves.report(t, terms, own.id, pull.reward, pull.cost, None)
        return None

    def _other(self, terms: Terms, kind: str, event: Event) -> str | None:
        t, data = self._game, event.data
        if kind in LATE_TELLS:
            pull = self._late_rows.pop(data["pull"])
            value = pull.late if kind == "kept late" else pull.reward
            said = moves.report(t, terms, t.pull(pull.seq).id, value, pull.cost, None)
            wanted = moves.TOO_LATE if kind == "kept late" else moves.COUNTED
            return None if said == wanted else f"a late tell is {said} in the replay"
        if kind == "add":
            moves.add(t, terms, *_blank([self._stored[data["arm"]]], terms))
            self._access.renumber(t)
        elif kind == "excuse":
            moves.excuse(t, t.pull(data["pull"]))
        elif kind == "suspend" and terms.suspensions_as_written:
            arm = t.arm(data["arm"])
            arm.status = SUSPENDED
            t.head.tick()
            t.touch(arm)
        elif kind == "suspend":  # made by the failure just before
            if t.suspended != event:
                return f"arm {self._stored[data['arm']].name!r} is not suspended in the replay"
        elif kind == "retire":
            moves.retire(t, t.arm(data["arm"]))
        elif kind == "resume arm":
            moves.resume_arm(t, t.arm(data["arm"]))
        elif kind == "extend":
            moves.extend(t, data["budget"])
            self._access.renumber(t)
        elif kind in (RUNNING, PAUSED, CLOSED):
            moves.set_state(t, kind)
        else:
            return f"an event of an unknown kind, {kind!r}"
        return None


def _blank(arms: Sequence[Arm], terms: Terms) -> list[Arm]:
    """Arms as they were before anything happened to them."""
    kept = start_of(terms.rule, problem_of(list(arms), terms.rewards))
    return [
        Arm(a.number, a.name, a.threshold, a.precision, a.level, a.sd, a.cost, a.tie, kept=numbers)
        for a, numbers in zip(arms, kept, strict=True)
    ]


class _Game:
    """A transaction that never ends, on records of its own; it keeps only trials it still needs.

    One ask is for one trial, nothing ever expires (an event says when a trial was given up), and
    of events only excuses are kept, those of the last trials. The line is a heap: an entry counts
    as long as its arm's priority is the one it says. ``suspended`` is the last event of that kind.
    """

    now = 0.0
    place: Place

    def __init__(self, head: Head, arms: list[Arm]) -> None:
        self.head, self._arms = head, arms
        self.suspended: Event | None = None
        self._excuses: set[int] = set()
        self._window: deque[PullRow] = deque()  # the last trials, as moves.WINDOW says
        self._resting: set[int] = set()
        self._line = [(a.priority, a.tie, a.number) for a in arms if a.priority is not None]
        heapq.heapify(self._line)
        self._moved: set[int] = set()
        self._pulls: dict[int, PullRow] = {}
        self._of_arm: dict[int, dict[int, PullRow]] = {}

    def forget(self, late: Iterable[int], terms: Terms) -> None:
        """Drop the trials that are settled and weighed; but for those told late further on."""
        still, weighs = set(late), terms.evidence is not None
        for seq, pull in list(self._pulls.items()):
            waits = weighs and pull.nth >= self._arms[pull.arm].fed
            if pull.state != ASKED and not waits and seq not in still:
                del self._pulls[seq], self._of_arm[pull.arm][seq]
        while len(self._window) > moves.WINDOW + self.head.flying:
            self._window.popleft()
        began = self._window[0].asked if self._window else 0
        self._excuses = {number for number in self._excuses if number > began}

    def token(self) -> int:
        return 0

    def first(
        self, n: int, left: int | None, after: tuple[float, float] | None = None
    ) -> list[Arm]:
        assert n == 1 and after is None
        self._line_up()
        dear = []
        found: list[Arm] = []
        while self._line and not found:
            priority, _, number = self._line[0]
            arm = self._arms[number]
            if arm.priority != priority:
                heapq.heappop(self._line)
            elif left is not None and arm.cost > left:
                dear.append(heapq.heappop(self._line))
            else:
                found = [arm]
        for entry in dear:
            heapq.heappush(self._line, entry)
        return found

    def resting(self, n: int, left: int | None) -> list[Arm]:
        self._line_up()
        arms = [self._arms[number] for number in self._resting]
        able = [arm for arm in arms if left is None or arm.cost <= left]
        return heapq.nsmallest(n, able, key=lambda arm: (arm.priority, arm.tie))

    def is_excused(self) -> bool:
        """Whether what happened last was an excuse, which is for what happens next."""
        return self.head.events in self._excuses

    def _line_up(self) -> None:
        step = self.head.told + self.head.flying
        for number in self._moved:
            arm = self._arms[number]
            arm.priority = self.place(arm, step)
            self._resting.discard(number)
            if arm.priority is not None:
                heapq.heappush(self._line, (arm.priority, arm.tie, number))
                if arm.priority >= RESTING:
                    self._resting.add(number)
        self._moved.clear()
        if len(self._line) > 64 + 4 * len(self._arms):
            stand = {e for e in self._line if self._arms[e[2]].priority == e[0]}
            self._line = list(stand)
            heapq.heapify(self._line)

    def arm(self, number: int) -> Arm:
        return self._arms[number]

    def named(self, name: str) -> Arm | None:
        return next((arm for arm in self._arms if arm.name == name), None)

    def all_arms(self) -> list[Arm]:
        return list(self._arms)

    def save(self, arm: Arm) -> None:
        pass

    def touch(self, arm: Arm) -> None:
        self._moved.add(arm.number)

    placed = touch

    def add_arms(self, arms: Sequence[Arm]) -> None:
        self._arms.extend(arms)

    def pull(self, number: int) -> PullRow:
        pull = self._pulls.get(number)
        return self._window[number - self._window[0].seq] if pull is None else pull

    def fetch(self, numbers: Sequence[int]) -> None:
        pass

    def since(self, seq: int, arm: int | None = None) -> Iterator[PullRow]:
        some = self._pulls if arm is None else self._of_arm.get(arm, {})
        for number, pull in list(some.items()):  # added in the order of their numbers
            if number >= seq:
                yield pull

    def outcomes(self, seq: int) -> Iterator[Outcomes]:
        yield Outcomes.of(list(self.since(seq)))

    def history(self, seq: int) -> Iterator[Outcomes]:
        skipped = seq - self._window[0].seq if self._window else 0
        yield Outcomes.of(list(islice(self._window, max(0, skipped), None)))

    def expired(self) -> list[PullRow]:
        return []

    def next_expiry(self) -> float | None:
        return None

    def add(self, pull: PullRow) -> None:
        self._pulls[pull.seq] = pull
        self._window.append(pull)
        self._of_arm.setdefault(pull.arm, {})[pull.seq] = pull

    def update(self, pull: PullRow) -> None:
        pass

    def record(self, event: Event) -> None:
        if event.kind == "excuse":
            self._excuses.add(event.number)
        elif event.kind == "suspend":
            self.suspended = event

    def events(self) -> Iterable[Event]:
        return ()

    def excuses(self, numbers: Sequence[int]) -> set[int]:
        return self._excuses.intersection(numbers)

    def misfits(self) -> tuple[list[str], int]:
        return [], 0
