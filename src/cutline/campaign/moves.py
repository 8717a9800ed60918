"""What can happen in a campaign, as changes to its records inside one transaction.

Every store plays by these: the transaction hands out records and takes them back changed. A move
checks all it was given before it changes anything.
"""

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

from cutline.campaign.errors import CampaignClosed, ConflictingTell, UnknownPull
from cutline.campaign.making import MOST
from cutline.campaign.records import (
    ASKED,
    ATTACHED,
    ATTACHED_UNWEIGHED,
    CLOSED,
    FAILED,
    LATE,
    LOST,
    OPEN,
    PAUSED,
    RETIRED,
    RETURNED,
    SUSPENDED,
    TOLD,
    Arm,
    Event,
    Head,
    PullRow,
)
from cutline.campaign.stores.base import Transaction
from cutline.campaign.terms import Terms

WAIT, DONE = "wait", "done"  # why an ask comes back empty, beside "paused"
COUNTED, AGAIN, TOO_LATE = "counted", "again", "late"  # what became of a tell


class Report(NamedTuple):
    """What is told of a pull: a value, or that it failed (``value`` is None)."""

    pull: str
    value: object
    cost: int | None = None
    note: str | None = None


def ask(
    t: Transaction, terms: Terms, n: int, lease: float
) -> tuple[list[tuple[PullRow, Arm]], str, float | None]:
    """Hand out up to n pulls, the lowest standing first; none, and why, and until when."""
    head = t.head
    refuse_closed(head)
    reclaim(t, terms)
    if head.state == PAUSED:
        return [], PAUSED, None
    expires = t.now + lease
    if n == 1 and not terms.rule.clocked:
        given = []
        for arm in t.first(1, head.left):
            given.append((_hand_out(t, head, arm, expires), arm))
            t.touch(arm)
    else:
        given = [(_hand_out(t, head, arm, expires), arm) for arm in _line(t, terms, n)]
    if given:
        return given, "", None
    if head.unsettled and head.flying:
        return [], WAIT, t.next_expiry()
    return [], DONE, None


def _line(t: Transaction, terms: Terms, n: int) -> Any:
    """The arms to ask, one after another; each is expected to be handed out when it comes."""
    head = t.head
    if terms.rule.clocked:
        yield from _clocked_line(t, terms, n)
        return
    first = t.first(n, head.left)
    if not first:
        return
    heap = [(arm.priority, arm.tie, arm.number, arm) for arm in first]
    last = heap[-1][:2]
    more = len(first) == n  # there may be arms behind the last that was looked at
    left = n
    place_of = terms.place
    while left and heap:
        place, tie, number, arm = heap[0]
        if head.budget is not None and arm.cost > head.budget - head.spent - head.reserved:
            heapq.heappop(heap)
            continue
        if more and (place, tie) > last:
            break  # one that was not looked at may stand before it: the next ask knows
        yield arm
        left -= 1
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
    head.events += 1
    pull = PullRow(
        head.pulls, t.token(), arm.number, arm.asked + arm.attached, arm.cost, head.events
    )
    pull.expires = expires
    head.pulls += 1
    head.flying += 1
    head.reserved += arm.cost
    arm.asked += 1
    arm.flying += 1
    t.add(pull)
    return pull


def reclaim(t: Transaction, terms: Terms) -> None:
    """Give up the pulls whose lease has run out, and take their budget back."""
    for pull in t.expired():
        drop(t, terms, pull, LOST)


def drop(t: Transaction, terms: Terms, pull: PullRow, state: int, note: str | None = None) -> None:
    """A pull in flight that failed or was lost: nothing is learned, or what the user said."""
    head, arm = t.head, t.arm(pull.arm)
    _land(head, arm, pull, state)
    pull.note = note if note is not None else pull.note
    if state == FAILED:
        arm.failed += 1
    else:
        arm.lost += 1
    if terms.lost is None:
        if state == FAILED:
            arm.streak += 1
        elif pull.asked > arm.tripped:  # those in flight together count once: a worker died
            arm.streak += 1
            arm.tripped = head.events
        if arm.streak >= terms.patience and arm.status == OPEN:
            arm.status = SUSPENDED
    else:
        pull.reward = terms.lost
        head.spent += pull.cost
        _count(head, terms, arm, terms.lost)
    t.update(pull)
    _in_turn(t, terms, arm, pull)
    t.touch(arm)


def _land(head: Head, arm: Arm, pull: PullRow, state: int) -> None:
    """A pull comes back, one way or another."""
    pull.state, pull.expires, pull.settled = state, None, head.tick()
    head.flying -= 1
    head.reserved -= arm.cost
    arm.flying -= 1


def _count(head: Head, terms: Terms, arm: Arm, raw: float) -> None:
    terms.learn(arm, terms.reward(arm, raw), head.told)
    head.told += 1


def report(t: Transaction, terms: Terms, reports: Sequence[Report]) -> list[str]:
    """Take what came of some pulls; all of it is checked before anything is changed."""
    refuse_closed(t.head)
    pulls = _find(t, [each.pull for each in reports])
    checked: dict[int, float | None] = {}
    for each, pull in zip(reports, pulls, strict=True):
        value = None
        if each.value is not None:
            try:
                value = terms.check(each.value)
            except ValueError as error:
                raise ValueError(f"pull {each.pull}: {error}") from None
        if each.cost is not None:
            _check_cost(each.cost, t.arm(pull.arm))
        if pull.seq not in checked and pull.state in (ASKED, LOST, RETURNED):
            checked[pull.seq] = value
            continue
        known = checked.get(pull.seq, _said(pull))
        if known != value and not (value is None and pull.state == LATE):
            raise ConflictingTell(
                f"pull {each.pull} of arm {t.arm(pull.arm).name!r} was reported "
                f"{_words(known)} before, and is now reported {_words(value)}: "
                "each pull counts once"
            )
    return [
        _take(t, terms, pull, checked.get(pull.seq), each)
        for each, pull in zip(reports, pulls, strict=True)
    ]


def _said(pull: PullRow) -> float | None:
    """The value that was told of a settled pull, if any was."""
    if pull.state == FAILED:
        return None  # its reward, if any, is what a failure stands for
    return pull.late if pull.state == LATE else pull.reward


def _words(value: float | None) -> str:
    return "failed" if value is None else f"as {value:g}"


def _check_cost(cost: object, arm: Arm) -> None:
    if not isinstance(cost, int) or isinstance(cost, bool) or not 0 <= cost <= arm.cost:
        raise ValueError(
            f"the cost of a pull of arm {arm.name!r} is a whole number from 0 to {arm.cost}, what "
            f"was reserved for it, got {cost!r}"
        )


def _take(t: Transaction, terms: Terms, pull: PullRow, value: float | None, each: Report) -> str:
    if pull.state == ASKED:
        if value is None:
            drop(t, terms, pull, FAILED, each.note)
        else:
            _tell(t, terms, pull, value, each)
        return COUNTED
    if pull.state in (LOST, RETURNED) and value is not None:
        return _tell_late(t, terms, pull, value, each)
    return TOO_LATE if pull.state in (LATE, LOST, RETURNED) else AGAIN


def _tell(t: Transaction, terms: Terms, pull: PullRow, value: float, each: Report) -> None:
    head, arm = t.head, t.arm(pull.arm)
    _land(head, arm, pull, TOLD)
    arm.told += 1
    _enter(t, terms, arm, pull, value, each)
    if terms.eager:
        _in_turn(t, terms, arm, pull)
    t.touch(arm)


def _enter(
    t: Transaction, terms: Terms, arm: Arm, pull: PullRow, value: float, each: Report
) -> None:
    """Let a told value count."""
    pull.reward = value
    pull.cost = pull.cost if each.cost is None else each.cost
    pull.note = each.note
    arm.streak = 0
    t.head.spent += pull.cost
    _count(t.head, terms, arm, value)
    t.update(pull)


def _tell_late(t: Transaction, terms: Terms, pull: PullRow, value: float, each: Report) -> str:
    """A pull that was given up: it counts if the budget has room, else it is kept aside."""
    head, arm, was = t.head, t.arm(pull.arm), pull.state
    if was == LOST:
        arm.lost -= 1
    else:
        arm.returned -= 1
    cost = pull.cost if each.cost is None else each.cost
    if pull.reward is not None or (head.left is not None and head.left < cost):
        arm.late += 1
        pull.state, pull.late, pull.note = LATE, value, each.note
        t.record(Event(head.tick(), "kept late", {"pull": pull.seq, "was": was}))
        t.update(pull)
        t.save(arm)
        return TOO_LATE
    weigh(t, terms)
    arm.told += 1
    pull.state = TOLD
    t.record(Event(head.tick(), "told late", {"pull": pull.seq, "was": was}))
    _enter(t, terms, arm, pull, value, each)
    if pull.nth < arm.fed:  # its turn has passed, so it is now
        _feed(terms, arm, value)
    if terms.eager:
        _see_if_closed(head, terms, arm)
    t.touch(arm)
    return COUNTED


def heartbeat(t: Transaction, ids: Sequence[str], lease: float) -> list[bool]:
    """Keep pulls for a lease from now; False for those that are not in flight any more."""
    refuse_closed(t.head)
    held = []
    for pull in _find(t, ids):
        held.append(pull.state == ASKED)
        if pull.state == ASKED:
            pull.expires = t.now + lease
            t.update(pull)
    return held


def give_back(t: Transaction, terms: Terms, ids: Sequence[str], note: str | None) -> list[bool]:
    """Pulls that were not made, through no fault of their arms; False where not in flight."""
    refuse_closed(t.head)
    pulls = _find(t, ids)
    was_held = [pull.state == ASKED for pull in pulls]
    for pull in pulls:
        if pull.state == ASKED:
            hand_back(t, terms, pull, note)
    return was_held


def hand_back(t: Transaction, terms: Terms, pull: PullRow, note: str | None) -> None:
    """A pull in flight that was not made."""
    arm = t.arm(pull.arm)
    _land(t.head, arm, pull, RETURNED)
    arm.returned += 1
    pull.note = note
    t.update(pull)
    _in_turn(t, terms, arm, pull)
    t.touch(arm)


def attach(
    t: Transaction, terms: Terms, arm: Arm, values: Sequence[object], *, weighs: bool
) -> None:
    """Results made elsewhere: they count in mean and choice, never in the budget."""
    head = t.head
    refuse_closed(head)
    raws = [terms.check(value) for value in values]
    state = ATTACHED if weighs else ATTACHED_UNWEIGHED
    for raw in raws:
        number = head.tick()
        pull = PullRow(head.pulls, t.token(), arm.number, arm.places, 0, number, state, raw)
        pull.settled = number
        head.pulls += 1
        arm.attached += 1
        t.add(pull)
        _count(head, terms, arm, raw)
        _in_turn(t, terms, arm, pull)
    t.touch(arm)


def add(t: Transaction, terms: Terms, arm: Arm) -> None:
    """One more arm."""
    head = t.head
    refuse_closed(head)
    t.record(Event(head.tick(), "add", {"arm": arm.number}))
    head.arms += 1
    head.unsettled += 1
    t.add_arms([arm])
    t.touch(arm)
    if terms.eager and head.arms > terms.declared:  # the bar is higher now, for all
        for other in t.all_arms():
            _see_if_closed(head, terms, other)
            t.touch(other)


def retire(t: Transaction, arm: Arm) -> None:
    """Leave an arm out of the answer; what is in flight may still come back."""
    refuse_closed(t.head)
    if arm.status == RETIRED:
        return
    t.record(Event(t.head.tick(), "retire", {"arm": arm.number}))
    t.head.unsettled -= not arm.closed
    arm.status = RETIRED
    t.touch(arm)


def resume_arm(t: Transaction, arm: Arm) -> None:
    """Ask a suspended arm again."""
    refuse_closed(t.head)
    if arm.status == RETIRED:
        raise ValueError(f"arm {arm.name!r} was retired, which is for good")
    if arm.status == OPEN:
        return
    t.record(Event(t.head.tick(), "resume arm", {"arm": arm.number}))
    arm.status, arm.streak = OPEN, 0
    t.touch(arm)


def set_state(t: Transaction, state: str) -> None:
    """Pause, run again, or close for good."""
    if t.head.state == state:
        return
    refuse_closed(t.head)
    t.record(Event(t.head.tick(), state))
    t.head.state = state


def extend(t: Transaction, budget: int) -> None:
    """More to spend."""
    head = t.head
    refuse_closed(head)
    if head.budget is None:
        raise ValueError("the campaign has no budget to extend: it ends at its confidence")
    whole = isinstance(budget, int) and not isinstance(budget, bool)
    if not whole or not 1 <= budget < MOST - head.budget:
        raise ValueError(
            f"a budget is extended by a whole number, 1 or more, got {budget!r}: "
            "it is what may be spent beyond what was agreed"
        )
    t.record(Event(head.tick(), "extend", {"budget": budget}))
    head.budget += budget


# Evidence takes an arm's results in the order in which they were asked for.


def weigh(t: Transaction, terms: Terms) -> None:
    """Bring the evidence of all arms up to date, where it is not weighed at every tell."""
    head = t.head
    if terms.eager or terms.evidence is None or head.weighed == head.pulls:
        return
    stuck = None
    arms: dict[int, Arm] = {}
    for pull in t.since(head.weighed):
        arm = arms.get(pull.arm)
        if arm is None:
            arm = arms[pull.arm] = t.arm(pull.arm)
        if pull.nth == arm.fed and pull.state != ASKED:
            _pass(terms, arm, pull)
        elif pull.nth >= arm.fed and stuck is None:
            stuck = pull.seq
    for arm in arms.values():
        t.save(arm)
    head.weighed = head.pulls if stuck is None else stuck


def _in_turn(t: Transaction, terms: Terms, arm: Arm, pull: PullRow) -> None:
    """Weigh a pull that was just settled, and those that waited for it."""
    if not terms.eager:
        return
    if pull.nth == arm.fed:
        _pass(terms, arm, pull)
        if arm.places - arm.flying > arm.fed:
            for later in t.since(pull.seq + 1, arm.number):
                if later.nth != arm.fed or later.state == ASKED:
                    break
                _pass(terms, arm, later)
    _see_if_closed(t.head, terms, arm)  # out of turn, too: the side may have changed


def _pass(terms: Terms, arm: Arm, pull: PullRow) -> None:
    arm.fed += 1
    if pull.reward is not None and pull.state != ATTACHED_UNWEIGHED:
        _feed(terms, arm, pull.reward)


def _feed(terms: Terms, arm: Arm, raw: float) -> None:
    ledger = terms.ledger(arm)
    if ledger is not None:
        ledger.feed(terms.reward(arm, raw))
        arm.proof = ledger.numbers


def _see_if_closed(head: Head, terms: Terms, arm: Arm) -> None:
    closed = terms.is_proven(arm, terms.bar(head.arms))
    if arm.status != RETIRED:
        head.unsettled += arm.closed - closed
    arm.closed = closed


def refuse_closed(head: Head) -> None:
    """Raise where the campaign was closed."""
    if head.state == CLOSED:
        raise CampaignClosed(f"campaign {head.name!r} was closed for good: nothing changes in it")


def _find(t: Transaction, ids: Sequence[str]) -> list[PullRow]:
    """The pulls with these handles."""
    numbers = []
    for handle in ids:
        text = handle.partition("-")[0] if isinstance(handle, str) else ""
        if not (text.isdecimal() and len(text) < 19):  # a number that every store can keep
            raise _unknown(t, handle)
        numbers.append(int(text))
    found = t.pulls(numbers)
    rows = []
    for handle, number in zip(ids, numbers, strict=True):
        pull = found.get(number)
        if pull is None or pull.id != handle or pull.state >= ATTACHED:
            raise _unknown(t, handle)
        rows.append(pull)
    return rows


def _unknown(t: Transaction, handle: object) -> UnknownPull:
    return UnknownPull(f"{handle!r} is no pull of campaign {t.head.name!r}")
