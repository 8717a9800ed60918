"""Asks: which pulls are next."""

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

from cutline.campaign.moves.flying import drop, refuse_closed
from cutline.campaign.records import ASKED, LOST, OPEN, PAUSED, Arm, Head, PullRow
from cutline.campaign.stores.base import RESTING, Transaction
from cutline.campaign.terms import Terms
from cutline.core.numbers import shown

MOST_COUNTED = 2**63
RESTING_TURN = 4  # of so many asks one is for an arm that rests after failures
WAIT, DONE = "wait", "done"  # why an ask comes back empty, beside "paused"


def ask(
    t: Transaction, terms: Terms, n: int, lease: float | None = None
) -> tuple[list[tuple[PullRow, Arm]], str, float | None]:
    """Hand out up to n pulls, the lowest standing first; none, and why, and until when."""
    head = t.head
    refuse_closed(head)
    for pull in t.expired():  # their budget is free again
        drop(t, terms, pull, LOST)
    if head.state == PAUSED:
        return [], PAUSED, None
    expires = t.now + (terms.lease if lease is None else lease)
    given: list[tuple[PullRow, Arm]] = []
    if n == 1 and not terms.clocked:
        for arm in _first(t, terms) if head.failed else t.first(1, head.left):
            if head.spent + head.reserved + arm.cost >= MOST_COUNTED:
                raise _too_much(arm)
            given.append((_hand_out(t, head, arm, expires), arm))
            t.touch(arm)
    else:
        for arm in _line(t, terms, n):
            if head.spent + head.reserved + arm.cost >= MOST_COUNTED:
                if given:
                    break
                raise _too_much(arm)
            given.append((_hand_out(t, head, arm, expires), arm))
    if given:
        return given, "", None
    if head.unsettled and head.flying:
        return [], WAIT, t.next_expiry()
    return [], DONE, None


def _too_much(arm: Arm) -> ValueError:
    return ValueError(
        f"a trial of arm {shown(arm.name)} costs {arm.cost:,}, and with it more would be spent and "
        "reserved than a store can count: state costs in a larger unit"
    )


def _is_turn_of_resting(head: Head) -> bool:
    """Whether the next ask is for an arm that rests after failures, if there is one.

    As long as nothing has worked, those that were not tried yet come first.
    """
    return head.failed > 0 and head.told > 0 and (head.pulls + 1) % RESTING_TURN == 0


def _first(t: Transaction, terms: Terms) -> list[Arm]:
    """The next arm, if there is one, where trials have failed."""
    head = t.head
    if terms.rests and _is_turn_of_resting(head):
        found = t.resting(1, head.left)
        if found:
            return found
    return t.first(1, head.left)


class _Heap:
    """Arms in the order of the line; one that was asked is placed anew."""

    def __init__(self, t: Transaction, terms: Terms) -> None:
        self._t, self._place, self._entries = t, terms.place, list[tuple[Any, float, int, Arm]]()

    def add(self, arm: Arm) -> None:
        heapq.heappush(self._entries, (arm.priority, arm.tie, arm.number, arm))

    def next(self) -> Arm | None:
        """The first that can be paid."""
        head = self._t.head
        while self._entries:
            arm = self._entries[0][3]
            if head.left is None or arm.cost <= head.left:
                return arm
            heapq.heappop(self._entries)
        return None

    def before(self, place: tuple[float, float] | None) -> bool:
        """Whether its first one stands no further back than this place."""
        return place is not None and bool(self._entries) and self._entries[0][:2] <= place

    def asked(self) -> None:
        """The first one was handed out."""
        _, tie, number, arm = self._entries[0]
        head = self._t.head
        arm.priority = self._place(arm, head.told + head.flying)
        self._t.placed(arm)
        heapq.heapreplace(self._entries, (arm.priority, tie, number, arm))


def _line(t: Transaction, terms: Terms, n: int) -> Iterator[Arm]:
    """The arms to ask, one after another; each is expected to be handed out when it comes."""
    head = t.head
    if terms.clocked:
        return _clocked_line(t, terms, n)
    if terms.rests and head.failed:
        resting = t.resting(head.arms, head.left)  # some may cost too much further on
        if resting:
            return _line_with_resting(t, terms, n, resting)
    return _plain_line(t, terms, n)


def _plain_line(t: Transaction, terms: Terms, n: int) -> Iterator[Arm]:
    head, place_of = t.head, terms.place
    heap: list[tuple[Any, float, int, Arm]] = []
    size, last = 32, None  # arms are read a few at a time: most of a batch goes to a few
    while n:
        while size and (last is None or not heap or heap[0][:2] > last):
            found = t.first(min(size, n), head.left, last)
            for arm in found:
                heapq.heappush(heap, (arm.priority, arm.tie, arm.number, arm))
                last = (arm.priority or 0.0, arm.tie)
            size = 2 * size if len(found) == min(size, n) else 0
        if not heap:
            return
        _, tie, number, arm = heap[0]
        if head.budget is not None and arm.cost > head.budget - head.spent - head.reserved:
            heapq.heappop(heap)
            continue
        yield arm
        n -= 1
        arm.priority = place_of(arm, head.told + head.flying)
        t.placed(arm)
        heapq.heapreplace(heap, (arm.priority, tie, number, arm))


def _line_with_resting(t: Transaction, terms: Terms, n: int, arms: Sequence[Arm]) -> Iterator[Arm]:
    head = t.head
    resting, line = _Heap(t, terms), _Heap(t, terms)
    for arm in arms:
        resting.add(arm)
    size, last = 32, None
    while n:
        while size and (line.next() is None or not line.before(last)):
            found = t.first(min(size, n), head.left, last)
            for arm in found:
                if (arm.priority or 0.0) < RESTING:
                    line.add(arm)
                last = (arm.priority or 0.0, arm.tie)
            more = len(found) == min(size, n) and last is not None and last[0] < RESTING
            size = 2 * size if more else 0
        for heap in (resting, line) if _is_turn_of_resting(head) else (line, resting):
            asked = heap.next()
            if asked is not None:
                yield asked
                heap.asked()
                break
        else:
            return
        n -= 1


def _clocked_line(t: Transaction, terms: Terms, n: int) -> Iterator[Arm]:
    """Of all arms, as the rule looks at the clock."""
    head = t.head
    arms = [arm for arm in t.all_arms() if arm.status == OPEN and not arm.closed]
    for _ in range(n):
        payable = [arm for arm in arms if head.left is None or arm.cost <= head.left]
        step = head.told + head.flying
        turn = _is_turn_of_resting(head)

        def stands(arm: Arm, step: int = step, turn: bool = turn) -> tuple[bool, float, float]:
            if terms.rests and terms.is_resting(arm):
                return not turn, arm.streak + arm.flying, arm.tie
            return turn, terms.standing(arm, step), arm.tie

        if not payable:
            return
        arm = min(payable, key=stands)
        yield arm
        t.touch(arm)


def _hand_out(t: Transaction, head: Head, arm: Arm, expires: float) -> PullRow:
    head.events = asked = head.events + 1
    seq, cost, nth = head.pulls, arm.cost, arm.places
    pull = PullRow(
        seq, t.token(), arm.number, nth, cost, asked, ASKED, None, None, None, expires, None
    )
    head.pulls = seq + 1
    head.flying += 1
    head.reserved += cost
    arm.places = nth + 1
    arm.flying += 1
    t.add(pull)
    return pull
