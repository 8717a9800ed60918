"""Replay a stored campaign from its first event and see that everything follows."""

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

from cutline.campaign.agreement import digest_of
from cutline.campaign.campaign import Campaign
from cutline.campaign.moves import weigh
from cutline.campaign.records import ASKED, STATES, Arm, Head, PullRow
from cutline.campaign.replay import LateTells, Replay, happenings
from cutline.campaign.stores import Transaction
from cutline.campaign.terms import Terms
from cutline.core.bar import Bar
from cutline.rules.base import Rule

# What was damaged may name what is not there.
DAMAGED = (
    AssertionError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError,
    struct.error,
)  # fmt: skip
MOST = 20  # faults that are named
# The counters that a replay must end with.
_HEAD = ("budget", "spent", "reserved", "state", "arms", "unsettled", "flying", "told", "failed",
         "pulls", "events")  # fmt: skip


@dataclass(frozen=True)
class Audit:
    """What was found: how much was replayed, and each thing that does not follow.

    ``unchecked`` is how many rows have no checksum, having been written by a cutline that made
    none: what a replay cannot see (a token, a note) may have changed in them.
    """

    events: int
    pulls: int
    faults: tuple[str, ...]
    unchecked: int = 0

    @property
    def holds(self) -> bool:
        """Whether everything follows."""
        return not self.faults


def audit(campaign: Campaign) -> Audit:
    """Play a campaign's events again, in memory, and compare every choice and every number.

    What no replay can see is held against the checksums that are kept beside every row. They are
    there against accident, not against forgery. Memory does not grow with the history.
    """
    rule = campaign.access.rule
    return campaign.access.look(lambda t: _audit(rule, t, campaign.access.terms))


def _audit(rule: Rule, t: Transaction, terms_of: Callable[[dict[str, Any]], Terms]) -> Audit:
    faults: list[str] = []
    counts = _Counts()
    events = unchecked = 0
    try:
        changed, unchecked = t.misfits()
        faults += changed
        terms = terms_of(t.head.settings)
        t.place = terms.place
        arms = t.all_arms()
        if digest_of(arms[: t.head.settings["first_arms"]]) != t.head.settings["digest"]:
            faults.append("the arms are not those that the campaign began with")
        put = t.head.settings.get("asked")
        if put is not None and Bar.from_dict(put, 0.0, 0.0).threshold != arms[0].threshold:
            faults.append("the bar as it was put is not the threshold of the arms")
        late = LateTells(t.events())
        replay = Replay(rule, t.head, arms, late)
        in_order = True
        for number, kind, what in happenings(t, late):
            events += 1
            if number != events and in_order:
                in_order = False
                faults.append("events are missing or numbered twice")
            if isinstance(what, PullRow) and kind in ("ask", "attach"):
                faults += counts.take(what)
            fault = replay.play(kind, what)
            if fault:
                faults.append(f"event {number}: {fault}")
            if len(faults) >= MOST:
                return Audit(events, counts.pulls, tuple(faults[:MOST]), unchecked)
        if in_order and events != t.head.events:
            faults.append("events are missing or numbered twice")
        faults += islice(counts.disagree(t.head, arms), MOST)
        weigh(t, terms)
        faults += islice(_compare(t.head, arms, *replay.end()), MOST)
    except DAMAGED as error:
        faults.append(f"the replay broke off: {type(error).__name__} {error}".rstrip())
    return Audit(events, counts.pulls, tuple(faults[:MOST]), unchecked)


class _Counts:
    """Counters against the pulls they count."""

    def __init__(self) -> None:
        self.pulls = self._spent = 0
        self._of_arm: dict[int, list[int]] = {}  # how many in each state, then how many count

    def take(self, pull: PullRow) -> Iterator[str]:
        """One more pull; what is wrong with it by itself."""
        own = self._of_arm.setdefault(pull.arm, [0] * (len(STATES) + 1))
        if pull.seq != self.pulls:
            yield f"pull {pull.seq} stands where pull {self.pulls} should"
        if pull.nth != sum(own[:-1]):
            yield f"pull {pull.seq}: the pulls of its arm are not numbered one by one"
        if (pull.state == ASKED) != (pull.expires is not None):
            yield f"pull {pull.seq} is {STATES[pull.state]}, and its lease says otherwise"
        self.pulls += 1
        own[pull.state] += 1
        if pull.reward is not None:
            self._spent += pull.cost
            own[-1] += 1

    def disagree(self, head: Head, arms: Sequence[Arm]) -> Iterator[str]:
        """Where counters say something else."""
        if self._spent != head.spent:
            yield f"the pulls that count cost {self._spent}, and {head.spent} is what was spent"
        if head.budget is not None and head.spent + head.reserved > head.budget:
            yield f"{head.spent} spent and {head.reserved} reserved of {head.budget}"
        for arm in arms:
            own = self._of_arm.pop(arm.number, [0] * (len(STATES) + 1))
            count = dict(zip(STATES, own, strict=False))
            for name, number in (
                ("places", sum(own[:-1])),
                ("flying", count["asked"]),
                ("told", count["told"]),
                ("failed", count["failed"]),
                ("lost", count["lost"]),
                ("late", count["late"]),
                ("returned", count["returned"]),
                ("pulls", own[-1]),
            ):
                if getattr(arm, name) != number:
                    was = getattr(arm, name)
                    yield f"arm {arm.name!r}: {name} is {was}, its pulls say {number}"
        if self._of_arm:
            yield "there are pulls of arms that are not there"


def _compare(head: Head, arms: Sequence[Arm], own: Head, mine: Sequence[Arm]) -> Iterator[str]:
    """The stored state against the one that the replay ends in."""
    for name in _HEAD:
        was, now = getattr(head, name), getattr(own, name)
        if was != now:
            yield f"{name} is {was!r}, and the replay has {now!r}"
    for theirs, arm in zip(arms, mine, strict=True):
        for field in fields(Arm):
            was, now = getattr(theirs, field.name), getattr(arm, field.name)
            if not _alike(was, now):
                yield f"arm {theirs.name!r}: {field.name} is {was!r}, and the replay has {now!r}"


def _alike(was: object, now: object) -> bool:
    """Equal; numbers, but for the last digits, in which two machines may differ."""
    if isinstance(was, tuple) and isinstance(now, tuple):
        return len(was) == len(now) and all(map(_alike, was, now))
    if isinstance(was, float) and isinstance(now, float):
        return math.isclose(was, now, rel_tol=1e-9)
    return was == now
