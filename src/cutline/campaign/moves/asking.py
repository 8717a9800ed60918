"""Asks: which pulls are next."""

import heapq
from typing import Any

from cutline.campaign.moves.flying import drop, refuse_closed
from cutline.campaign.records import ASKED, LOST, OPEN, PAUSED, Arm, Head, PullRow
from cutline.campaign.stores.base import Transaction
from cutline.campaign.terms import Terms
from cutline.core.numbers import shown

MOST_COUNTED = 2**63
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
        for arm in t.first(1, head.left):
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


def _line(t: Transaction, terms: Terms, n: int) -> Any:
    """The arms to ask, one after another; each is expected to be handed out when it comes."""
    if terms.clocked:
        yield from _clocked_line(t, terms, n)
        return
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


def _clocked_line(t: Transaction, terms: Terms, n: int) -> Any:
    """Of all arms, as the rule looks at the clock."""
    head = t.head
    arms = [arm for arm in t.all_arms() if arm.status == OPEN and not arm.closed]
    for _ in range(n):
        payable = [arm for arm in arms if head.left is None or arm.cost <= head.left]
        if not payable:
            return
        step = head.told + head.flying
        arm = min(payable, key=lambda arm: (terms.standing(arm, step), arm.tie))
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
