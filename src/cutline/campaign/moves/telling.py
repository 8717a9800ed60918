"""Tells: what came of pulls, each of which counts once."""

from collections.abc import Sequence, Set

from cutline.campaign.errors import ConflictingTell
from cutline.campaign.moves.flying import count, drop, find, find_all, land, refuse_closed
from cutline.campaign.moves.suspending import excuse
from cutline.campaign.moves.weighing import feed, in_turn, see_if_closed, weigh
from cutline.campaign.records import ASKED, FAILED, LATE, LOST, RETURNED, TOLD, Arm, Event, PullRow
from cutline.campaign.stores.base import Transaction
from cutline.campaign.terms import Terms
from cutline.core.numbers import as_whole, is_whole, shown

COUNTED, AGAIN, TOO_LATE = "counted", "again", "late"  # what became of a tell
UNTOLD = (ASKED, LOST, RETURNED)  # a pull of which nobody has told anything


Report = tuple[str, object, int | None, str | None]
"""What is told of a pull: its handle, a value (None: it failed), its cost, and a note."""


def report(
    t: Transaction, terms: Terms, handle: str, value: object, cost: int | None, note: str | None
) -> str:
    """Take what came of a pull."""
    refuse_closed(t.head)
    pull = find(t, handle)
    number = _check(t, terms, pull, value, cost)
    if pull.state not in UNTOLD:
        _refuse_another(t, pull, number, _said(pull))
    return _take(t, terms, pull, number, cost, note)


def report_all(
    t: Transaction, terms: Terms, told: Sequence[Report], excused: Set[str] = frozenset()
) -> list[str]:
    """Take what came of some pulls; all of it is checked before anything is changed.

    ``excused`` are the handles of those whose failure says nothing of their arm.
    """
    refuse_closed(t.head)
    pulls = find_all(t, [handle for handle, *_ in told])
    numbers: dict[int, float | None] = {}
    for pull, (_, value, cost, _) in zip(pulls, told, strict=True):
        number = _check(t, terms, pull, value, cost)
        if pull.state not in UNTOLD:
            _refuse_another(t, pull, number, _said(pull))
        elif pull.seq in numbers:  # twice in one call
            _refuse_another(t, pull, number, numbers[pull.seq])
        numbers[pull.seq] = number
    return [
        _take(t, terms, pull, numbers[pull.seq], cost, note, handle in excused)
        for pull, (handle, _, cost, note) in zip(pulls, told, strict=True)
    ]


def _check(
    t: Transaction, terms: Terms, pull: PullRow, value: object, cost: object
) -> float | None:
    """The value as a number; None where it failed."""
    if cost is not None:
        _check_cost(cost, t.arm(pull.arm))
    if value is None:
        return None
    try:
        return terms.check(value)
    except ValueError as error:
        raise ValueError(f"pull {pull.id}: {error}") from None


def _check_cost(cost: object, arm: Arm) -> None:
    if not is_whole(cost) or not 0 <= cost <= arm.cost:  # type: ignore[operator]  # it is one
        raise ValueError(
            f"the cost of a pull of arm {arm.name!r} is a whole number from 0 to {arm.cost}, what "
            f"was reserved for it, got {shown(cost)}"
        )


def _refuse_another(
    t: Transaction, pull: PullRow, value: float | None, known: float | None
) -> None:
    """Raise where another value was told before."""
    if known != value and not (value is None and pull.state == LATE):
        raise ConflictingTell(
            f"pull {pull.id} of arm {t.arm(pull.arm).name!r} was reported {_words(known)} before, "
            f"and is now reported {_words(value)}: each pull counts once"
        )


def _said(pull: PullRow) -> float | None:
    """The value that was told of a settled pull, if any was."""
    if pull.state == FAILED:
        return None  # its reward, if any, is what a failure stands for
    return pull.late if pull.state == LATE else pull.reward


def _words(value: float | None) -> str:
    return "failed" if value is None else f"as {value:g}"


def _take(
    t: Transaction,
    terms: Terms,
    pull: PullRow,
    value: float | None,
    cost: int | None,
    note: str | None,
    excused: bool = False,
) -> str:
    if pull.state == ASKED:
        if value is None:
            if excused:
                excuse(t, pull)
            drop(t, terms, pull, FAILED, note, excused)
            return COUNTED
        arm = t.arm(pull.arm)
        count(t.head, terms, arm, value)
        land(t.head, arm, pull, TOLD)
        _write(t, arm, pull, value, cost, note)
        if terms.eager:
            in_turn(t, terms, arm, pull)
        t.touch(arm)
        return COUNTED
    if pull.state in (LOST, RETURNED) and value is not None:
        return _tell_late(t, terms, pull, value, cost, note)
    return TOO_LATE if pull.state in (LATE, LOST, RETURNED) else AGAIN


def _write(
    t: Transaction, arm: Arm, pull: PullRow, value: float, cost: int | None, note: str | None
) -> None:
    """Write down a told value that was counted."""
    pull.reward, pull.note = value, note
    if cost is not None:
        pull.cost = as_whole(cost)
    arm.told += 1
    arm.streak = 0
    t.head.spent += pull.cost
    t.update(pull)


def _tell_late(
    t: Transaction,
    terms: Terms,
    pull: PullRow,
    value: float,
    cost: int | None,
    note: str | None,
) -> str:
    """A pull that was given up: it counts if the budget has room, else it is kept aside."""
    head, arm, was = t.head, t.arm(pull.arm), pull.state
    price = pull.cost if cost is None else cost
    counts = pull.reward is None and (head.left is None or price <= head.left)
    if counts:
        weigh(t, terms)
        count(head, terms, arm, value)
    if was == LOST:
        arm.lost -= 1
        head.failed -= 1
    else:
        arm.returned -= 1
    if not counts:
        arm.late += 1
        pull.state, pull.late, pull.note = LATE, value, note
        t.record(Event(head.tick(), "kept late", {"pull": pull.seq, "was": was}))
        t.update(pull)
        t.save(arm)
        return TOO_LATE
    pull.state = TOLD
    t.record(Event(head.tick(), "told late", {"pull": pull.seq, "was": was}))
    _write(t, arm, pull, value, cost, note)
    if pull.nth < arm.fed:  # its turn has passed, so it is now
        feed(terms, arm, value)
    if terms.eager:
        see_if_closed(head, terms, arm)
    t.touch(arm)
    return COUNTED
