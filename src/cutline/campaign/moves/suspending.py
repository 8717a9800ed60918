"""Suspensions: is it the arm that fails, or do all trials fail as often?"""

import math
from typing import NamedTuple

from cutline.campaign.records import (
    ASKED,
    FAILED,
    LATE,
    LOST,
    OPEN,
    SUSPENDED,
    TOLD,
    Arm,
    Event,
    PullRow,
)
from cutline.campaign.stores.base import RESTING, Transaction
from cutline.campaign.terms import Terms

FALSE_SUSPENSION = 1e-3  # the chance that a campaign ever suspends an arm that fails as all do
LAST_RUN = 100  # failures in a row that are enough where no arm that worked is tried any more


class Run(NamedTuple):
    """A run of failures of one arm, and what came of the other arms' trials meanwhile."""

    length: int
    told: int
    failed: int
    in_flight: int = 0


def chance_of(run: Run) -> float:
    """The chance that so many trials in a row all fail, if they fail as often as the others.

    That of Fisher's exact test: given how many of all these trials failed, the chance that just
    those of this arm did. Few others that succeeded are no evidence of a low rate. Those in flight
    are taken for failed, since failures may be slower than rewards.

    >>> chance_of(Run(5, told=10, failed=0)) == 1 / math.comb(15, 5)
    True
    """
    failed = run.failed + run.in_flight
    others = run.told + failed
    return math.prod((failed + i) / (others + i) for i in range(1, run.length + 1))


def note_failure(arm: Arm, pull: PullRow, terms: Terms) -> None:
    """One more failure in a row."""
    if terms.suspension > 1:
        arm.failing_from = min(arm.failing_from, pull.seq) if arm.streak else pull.seq
    arm.streak += 1


def see_if_broken(t: Transaction, terms: Terms, arm: Arm) -> None:
    """Suspend an arm whose run of failures is not that of all trials."""
    if arm.status != OPEN or arm.streak < terms.patience:
        return
    if terms.suspension == 1:
        arm.status = SUSPENDED
        t.touch(arm)
        return
    run = _run_of(t, terms, arm)
    alone = False
    if not _has_company(t, terms, arm):
        others = [other for other in t.all_arms() if other is not arm]
        alone = not any(
            other.status == OPEN and not other.closed and other.told for other in others
        )
        if alone:  # nobody else that ever worked is tried: all that came of the others, ever
            healthy = [other for other in others if other.streak < terms.patience]
            failed = sum(other.failed + other.lost for other in healthy)
            in_flight = sum(other.flying for other in healthy)
            run = Run(run.length, sum(other.told for other in others), failed, in_flight)
    trials = t.head.pulls
    if run.length < terms.patience:
        return
    # Over all trials at once: 1 / (n (n + 1)) over all n sums to 1.
    unlikely = chance_of(run) * trials * (trials + 1) < FALSE_SUSPENSION
    if unlikely or run.length >= (LAST_RUN if alone else 10 * LAST_RUN):
        arm.status = SUSPENDED
        t.touch(arm)
        t.record(Event(t.head.tick(), "suspend", {"arm": arm.number, **run._asdict()}))


def _has_company(t: Transaction, terms: Terms, arm: Arm) -> bool:
    """Whether another arm is asked that does not rest after failures, as this one does."""
    if not terms.clocked:
        return any((first.priority or 0.0) < RESTING for first in t.first(1, None))
    return any(
        other is not arm
        and other.status == OPEN
        and not other.closed
        and not terms.is_resting(other)
        for other in t.all_arms()
    )


def _run_of(t: Transaction, terms: Terms, arm: Arm) -> Run:
    """The longest run of failures since the arm's last reward, in the order asked for.

    That order alone makes runs comparable: where failures are quicker than rewards, many come back
    one after another. A trial in flight ends a run of its arm and counts as failed for others.
    Arms that are failing in a row themselves are left out: they may be broken, too.
    """
    excused = {event.data["pull"] for event in t.events() if event.kind == "excuse"}
    run = longest = told = failed = in_flight = tripped = 0
    for pull in t.history(arm.failing_from):
        state = pull.state
        if pull.arm != arm.number:
            if state in (TOLD, LATE):
                told += 1
            elif state in (ASKED, FAILED, LOST) and t.arm(pull.arm).streak < terms.patience:
                in_flight += state == ASKED
                failed += state != ASKED
        elif state in (TOLD, LATE):
            run = longest = told = failed = in_flight = 0
        elif state == ASKED:
            run = 0
        elif state == FAILED:
            run += pull.seq not in excused
        elif state == LOST and pull.asked > tripped:  # those in flight together count once
            run += 1
            tripped = pull.settled or 0
        longest = max(longest, run)
    return Run(longest, told, failed, in_flight)


def excuse(t: Transaction, pull: PullRow) -> None:
    """The failure of a pull, which is told next, says nothing of its arm."""
    t.record(Event(t.head.tick(), "excuse", {"pull": pull.seq}))
