"""Evidence: it takes an arm's results in the order in which they were asked for."""

import numpy as np

from cutline.campaign.records import (
    ASKED,
    ATTACHED_UNWEIGHED,
    RETIRED,
    Arm,
    Head,
    Outcomes,
    PullRow,
)
from cutline.campaign.stores.base import Transaction
from cutline.campaign.terms import Terms


def weigh(t: Transaction, terms: Terms) -> None:
    """Bring the evidence of all arms up to date, where it is not weighed at every tell."""
    head = t.head
    if terms.eager or terms.evidence is None or head.weighed == head.pulls:
        return
    stuck: int | None = None
    for some in t.outcomes(head.weighed):
        first = _weigh_some(t, terms, some)
        stuck = first if stuck is None else stuck
    head.weighed = head.pulls if stuck is None else stuck


def _weigh_some(t: Transaction, terms: Terms, some: Outcomes) -> int | None:
    """Weigh pulls whose turn it is, all at once; the first that has to wait for another, if any."""
    evidence = terms.evidence
    assert evidence is not None
    numbers, which = np.unique(some.arm, return_inverse=True)
    arms = [t.arm(number) for number in numbers.tolist()]
    fed = np.array([arm.fed for arm in arms], dtype=np.int64)
    order = np.argsort(which, kind="stable")  # arm by arm, each in the order asked for
    order = order[some.nth[order] >= fed[which[order]]]
    if not len(order):
        return None
    owner = which[order]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    settled = (some.state[order] != ASKED) & (some.nth[order] == fed[owner] + rank)
    passes = np.minimum.reduceat(np.where(settled, len(order), rank), starts)
    passed = rank < np.repeat(passes, np.diff(starts, append=len(order)))
    raw = some.reward[order]
    weighs = passed & ~np.isnan(raw) & (some.state[order] != ATTACHED_UNWEIGHED)
    moved = np.bincount(owner[passed], minlength=len(arms)).tolist()
    counts = np.bincount(owner[weighs], minlength=len(arms)).tolist()
    fills = [arm for arm, count in zip(arms, counts, strict=True) if count]
    ledgers = [ledger for ledger in map(terms.ledger, fills) if ledger is not None]
    values = terms.rewards_of(arms, owner[weighs], raw[weighs])
    evidence.feed_many(ledgers, values, [count for count in counts if count])
    for arm, ledger in zip(fills, ledgers, strict=True):
        arm.proof = ledger.numbers
    for arm, count in zip(arms, moved, strict=True):
        if count:
            arm.fed += count
            t.save(arm)
    waiting = some.seq[order[~passed]]
    return int(waiting.min()) if len(waiting) else None


def in_turn(t: Transaction, terms: Terms, arm: Arm, pull: PullRow) -> None:
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
    see_if_closed(t.head, terms, arm)  # out of turn, too: the side may have changed


def _pass(terms: Terms, arm: Arm, pull: PullRow) -> None:
    arm.fed += 1
    if pull.reward is not None and pull.state != ATTACHED_UNWEIGHED:
        feed(terms, arm, pull.reward)


def feed(terms: Terms, arm: Arm, raw: float) -> None:
    """Put a told value on an arm's scales."""
    ledger = terms.ledger(arm)
    if ledger is not None:
        ledger.feed(terms.reward(arm, raw))
        arm.proof = ledger.numbers


def see_if_closed(head: Head, terms: Terms, arm: Arm) -> None:
    """Close an arm whose side is proven; open one again whose side is not any more."""
    closed = terms.is_proven(arm, terms.bar(head.arms))
    if arm.status != RETIRED:
        head.unsettled += arm.closed - closed
    arm.closed = closed
