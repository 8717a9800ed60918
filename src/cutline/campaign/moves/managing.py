"""What whoever runs a campaign does: results from elsewhere, arms, its state, its budget."""

from collections.abc import Sequence

from cutline.campaign.making import MOST
from cutline.campaign.moves.flying import count, refuse_closed
from cutline.campaign.moves.weighing import in_turn, see_if_closed
from cutline.campaign.records import (
    ATTACHED,
    ATTACHED_UNWEIGHED,
    OPEN,
    RETIRED,
    Arm,
    Event,
    PullRow,
)
from cutline.campaign.stores.base import Transaction
from cutline.campaign.terms import Terms
from cutline.core.numbers import as_whole, is_whole, shown


def attach(
    t: Transaction, terms: Terms, arm: Arm, values: Sequence[object], *, weighs: bool
) -> None:
    """Results made elsewhere: they count in mean and choice, never in the budget."""
    head = t.head
    refuse_closed(head)
    raws = [terms.check(value) for value in values]
    state = ATTACHED if weighs else ATTACHED_UNWEIGHED
    t.touch(arm)
    for raw in raws:
        count(head, terms, arm, raw)
        number = head.tick()
        pull = PullRow(head.pulls, t.token(), arm.number, arm.places, 0, number, state, raw)
        pull.settled = number
        head.pulls += 1
        arm.places += 1
        t.add(pull)
        in_turn(t, terms, arm, pull)


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
            see_if_closed(head, terms, other)
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
    if not is_whole(budget) or not 1 <= budget < MOST - head.budget:
        raise ValueError(
            f"a budget is extended by a whole number, 1 or more and below 2**62 in all, got "
            f"{shown(budget)}: it is what may be spent beyond what was agreed"
        )
    budget = as_whole(budget)
    t.record(Event(head.tick(), "extend", {"budget": budget}))
    head.budget += budget
