"""Pulls in flight: known by their handles, kept alive, and back without a value."""

from collections.abc import Sequence

from cutline.campaign.errors import CampaignClosed, UnknownPull
from cutline.campaign.moves.suspending import note_failure, see_if_broken
from cutline.campaign.moves.weighing import in_turn
from cutline.campaign.records import (
    ASKED,
    ATTACHED,
    CLOSED,
    FAILED,
    RETURNED,
    Arm,
    Head,
    PullRow,
)
from cutline.campaign.stores.base import Transaction
from cutline.campaign.terms import Terms
from cutline.core.numbers import shown


def refuse_closed(head: Head) -> None:
    """Raise where the campaign was closed."""
    if head.state == CLOSED:
        raise CampaignClosed(f"campaign {head.name!r} was closed for good: nothing changes in it")


def find(t: Transaction, handle: str) -> PullRow:
    """The pull with this handle."""
    pull = t.pull(_number(t, handle))
    if pull.id != handle or pull.state >= ATTACHED:
        raise _unknown(t, handle)
    return pull


def find_all(t: Transaction, handles: Sequence[str]) -> list[PullRow]:
    """The pulls with these handles."""
    t.fetch([_number(t, handle) for handle in handles])
    return [find(t, handle) for handle in handles]


def _number(t: Transaction, handle: str) -> int:
    """The number that a handle begins with, if there is such a pull."""
    try:
        number = int(handle[:-17]) if isinstance(handle, str) else -1
    except ValueError:
        raise _unknown(t, handle) from None
    if not 0 <= number < t.head.pulls:
        raise _unknown(t, handle)
    return number


def _unknown(t: Transaction, handle: object) -> UnknownPull:
    return UnknownPull(f"{shown(handle)} is no pull of campaign {t.head.name!r}")


def heartbeat(
    t: Transaction, terms: Terms, handles: Sequence[str], lease: float | None
) -> list[bool]:
    """Keep pulls for a lease from now; False for those that are not in flight any more."""
    refuse_closed(t.head)
    held = []
    for pull in find_all(t, handles):
        held.append(pull.state == ASKED)
        if pull.state == ASKED:
            pull.expires = t.now + (terms.lease if lease is None else lease)
            t.update(pull)
    return held


def give_back(t: Transaction, terms: Terms, handles: Sequence[str], note: str | None) -> list[bool]:
    """Pulls that were not made, through no fault of their arms; False where not in flight."""
    refuse_closed(t.head)
    pulls = find_all(t, handles)
    was_held = [pull.state == ASKED for pull in pulls]
    for pull in pulls:
        if pull.state == ASKED:
            hand_back(t, terms, pull, note)
    return was_held


def hand_back(t: Transaction, terms: Terms, pull: PullRow, note: str | None) -> None:
    """A pull in flight that was not made."""
    arm = t.arm(pull.arm)
    land(t.head, arm, pull, RETURNED)
    arm.returned += 1
    pull.note = note
    t.update(pull)
    in_turn(t, terms, arm, pull)
    t.touch(arm)


def drop(
    t: Transaction,
    terms: Terms,
    pull: PullRow,
    state: int,
    note: str | None = None,
    excused: bool = False,
) -> None:
    """A pull in flight that failed or was lost: nothing is learned, or what the user said.

    ``excused``: it says nothing of its arm.
    """
    head, arm = t.head, t.arm(pull.arm)
    if terms.lost is not None:
        count(head, terms, arm, terms.lost)
    land(head, arm, pull, state)
    head.failed += 1
    pull.note = note if note is not None else pull.note
    if state == FAILED:
        arm.failed += 1
    else:
        arm.lost += 1
    if terms.lost is None:
        if state == FAILED:
            note_failure(arm, pull, terms)
        elif pull.asked > arm.tripped:  # those in flight together count once: a worker died
            note_failure(arm, pull, terms)
            arm.tripped = head.events
    else:
        pull.reward = terms.lost
        head.spent += pull.cost
    t.update(pull)
    in_turn(t, terms, arm, pull)
    t.touch(arm)
    if terms.lost is None and not excused:
        see_if_broken(t, terms, arm)


def land(head: Head, arm: Arm, pull: PullRow, state: int) -> None:
    """A pull comes back, one way or another."""
    head.events = settled = head.events + 1
    pull.state, pull.expires, pull.settled = state, None, settled
    head.flying -= 1
    head.reserved -= arm.cost
    arm.flying -= 1


def count(head: Head, terms: Terms, arm: Arm, raw: float) -> None:
    """Let a value count; first of all in a move, as a rule of somebody's own may raise here."""
    terms.learn(arm, raw, head.told)
    head.told += 1
