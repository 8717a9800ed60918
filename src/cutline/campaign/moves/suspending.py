"""Suspensions: is it the arm that fails, or do all trials fail as often?"""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

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
WINDOW = 4_096  # trials that a run of failures is looked for in, beside those in flight
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
    run, hopeless, most_fail = _run_of(t, terms, arm)
    if run.length < terms.patience:
        return
    alone = False
    if not _has_company(t, terms, arm):
        others = [other for other in t.all_arms() if other is not arm]
        alone = not any(
            other.status == OPEN and not other.closed and other.told for other in others
        )
        if alone:  # nobody else that ever worked is tried: all that came of the others, ever
            like = _suspicious(terms, arm)
            healthy = [other for other in others if other.streak < like]
            told = sum(other.told for other in healthy)
            failed = sum(other.failed + other.lost for other in healthy)
            run = Run(run.length, told, failed, sum(other.flying for other in healthy))
    trials = t.head.pulls
    # Over all trials at once: 1 / (n (n + 1)) over all n sums to 1.
    unlikely = chance_of(run) * trials * (trials + 1) < FALSE_SUSPENSION
    last = run.length >= LAST_RUN or hopeless if alone else run.length >= 10 * LAST_RUN
    if (unlikely or last) and (alone or not most_fail):
        arm.status = SUSPENDED
        t.touch(arm)
        t.record(Event(t.head.tick(), "suspend", {"arm": arm.number, **run._asdict()}))


def _suspicious(terms: Terms, arm: Arm) -> int:
    """With so many failures in a row another arm may be broken as well, and is left out.

    Half of this arm's: the longer its run, the fewer healthy arms are left out by chance where most
    calls fail. Their rewards are left out with their failures, or all would seem to fail less often
    than they do.
    """
    return max(terms.patience, arm.streak // 2)


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


def _run_of(t: Transaction, terms: Terms, arm: Arm) -> tuple[Run, bool, bool]:
    """The longest run of failures since the arm's last reward, in the order asked for.

    That order alone makes runs comparable: where failures are quicker than rewards, many come back
    one after another. A trial in flight ends a run of its arm and counts as failed for others. No
    more than the last trials are looked at, so that a failure costs the same however long the
    campaign is. Also whether nothing has worked among these, of any arm; and whether most arms that
    worked before, this one among them, only fail in these: that is the world, and no arm's fault.
    """
    first = max(arm.failing_from, t.head.pulls - WINDOW - t.head.flying)
    rewards = failures = in_flight = 0
    own: list[tuple[int, int]] = []
    others: Counter[tuple[int, int]] = Counter()
    for some in t.history(first):
        kinds, counts = np.unique(some.state, return_counts=True)
        seen = dict(zip(kinds.tolist(), counts.tolist(), strict=True))
        rewards += seen.get(TOLD, 0) + seen.get(LATE, 0)
        failures += seen.get(FAILED, 0) + seen.get(LOST, 0)
        in_flight += seen.get(ASKED, 0)
        mine = some.arm == arm.number
        told = np.flatnonzero(mine & ((some.state == TOLD) | (some.state == LATE)))
        if len(told):  # all before the last reward says nothing
            own.clear()
            others.clear()
        rest = slice(int(told[-1]) + 1 if len(told) else 0, None)
        mine = mine[rest]
        own += zip(some.seq[rest][mine].tolist(), some.state[rest][mine].tolist(), strict=True)
        others.update(
            zip(some.arm[rest][~mine].tolist(), some.state[rest][~mine].tolist(), strict=True)
        )
    healthy: Counter[int] = Counter()
    like = _suspicious(terms, arm)
    for (number, state), count in others.items():
        if t.arm(number).streak < like:
            healthy[state] += count
    run = Run(
        _longest(t, own),
        healthy[TOLD] + healthy[LATE],
        healthy[FAILED] + healthy[LOST],
        healthy[ASKED],
    )
    hopeless = not rewards and failures >= max(10 * LAST_RUN, 4 * in_flight)
    working = {number for number, state in others if state in (TOLD, LATE)}
    failing = {number for number, state in others if state in (FAILED, LOST)} - working
    failing = {number for number in failing if t.arm(number).told}
    most_fail = bool(arm.told and failing) and len(failing) + 1 > len(working)
    return run, hopeless, most_fail


def _longest(t: Transaction, own: list[tuple[int, int]]) -> int:
    """The longest run of failures among an arm's trials, given by number and state."""
    numbers = [seq for seq, state in own if state in (FAILED, LOST)]
    t.fetch(numbers)
    pulls = {seq: t.pull(seq) for seq in numbers}
    excused = t.excuses([(pull.settled or 0) - 1 for pull in pulls.values()])
    run = longest = tripped = 0
    for seq, state in own:
        if state == ASKED:
            run = 0
        elif state == FAILED:
            run += (pulls[seq].settled or 0) - 1 not in excused  # an excuse comes just before
        elif state == LOST and pulls[seq].asked > tripped:  # those in flight together count once
            run += 1
            tripped = pulls[seq].settled or 0
        longest = max(longest, run)
    return longest


def excuse(t: Transaction, pull: PullRow) -> None:
    """The failure of a pull, which is told next, says nothing of its arm."""
    t.record(Event(t.head.tick(), "excuse", {"pull": pull.seq}))
