"""Evidence: it takes an arm's results in the order in which they were asked for."""

from cutline.campaign.records import ASKED, ATTACHED_UNWEIGHED, RETIRED, Arm, Head, PullRow
from cutline.campaign.stores.base import Transaction
from cutline.campaign.terms import Terms


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
