"""Replay a stored campaign from its first event and see that everything follows."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

from cutline.campaign import moves
from cutline.campaign.access import Access
from cutline.campaign.agreement import digest_of
from cutline.campaign.campaign import Campaign
from cutline.campaign.errors import CampaignError
from cutline.campaign.making import numbers_of, start_of
from cutline.campaign.records import (
    ASKED,
    ATTACHED,
    ATTACHED_UNWEIGHED,
    CLOSED,
    FAILED,
    LOST,
    PAUSED,
    RETURNED,
    RUNNING,
    STATES,
    TOLD,
    Arm,
    Event,
    Head,
    PullRow,
)
from cutline.campaign.stores import MemoryStore, Transaction
from cutline.campaign.terms import Terms, problem_of
from cutline.core.bar import Bar
from cutline.rules.base import Rule

Happening = tuple[int, str, PullRow | Event]

# What was damaged may name what is not there.
DAMAGED = (AssertionError, LookupError, TypeError, ValueError, ArithmeticError)
# The counters that a replay must end with.
_KINDS = {TOLD: "tell", FAILED: "fail", LOST: "lose", RETURNED: "give back"}
_HEAD = (
    "budget",
    "spent",
    "reserved",
    "state",
    "arms",
    "unsettled",
    "flying",
    "told",
    "pulls",
    "failed",
)


@dataclass(frozen=True)
class Audit:
    """What a replay found: how much was replayed, and each thing that does not follow."""

    events: int
    pulls: int
    faults: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether everything follows."""
        return not self.faults


def audit(campaign: Campaign) -> Audit:
    """Play a campaign's events again, in memory, and compare every choice and every number."""
    rule = campaign.access.rule
    return campaign.access.do("look", lambda t, terms: _audit(rule, t, terms))


def _audit(rule: Rule, t: Transaction, terms: Terms) -> Audit:
    arms, pulls, events = t.all_arms(), list(t.since(0)), t.events()
    faults: list[str] = []
    numbered: list[Happening] = []
    try:
        faults += _rows_disagree(t.head, arms, pulls)
        if digest_of(arms[: t.head.settings["first_arms"]]) != t.head.settings["digest"]:
            faults.append("the arms are not those that the campaign began with")
        put = t.head.settings.get("asked")
        if put is not None and Bar.from_dict(put, 0.0, 0.0).threshold != arms[0].threshold:
            faults.append("the bar as it was put is not the threshold of the arms")
        numbered += sorted(_happenings(pulls, events), key=lambda each: each[0])
        wanted = range(1, t.head.events + 1)
        if [number for number, _, _ in numbered] != list(wanted):
            faults.append("events are missing or numbered twice")
        faults += _play_again(_Replay(rule, t.head, arms, pulls), numbered, t, terms)
    except DAMAGED as error:
        faults.append(f"the replay broke off: {type(error).__name__} {error}".rstrip())
    return Audit(len(numbered), len(pulls), tuple(faults[:20]))


def _play_again(
    replay: "_Replay", numbered: list[Happening], t: Transaction, terms: Terms
) -> list[str]:
    """All events in their order, and the state they end in."""
    faults: list[str] = []
    for number, kind, what in numbered:
        fault = replay.play(kind, what)
        if fault:
            faults.append(f"event {number}: {fault}")
            if len(faults) >= 20:
                return faults
    return faults + replay.compare(t, terms)


def _rows_disagree(head: Head, arms: list[Arm], pulls: list[PullRow]) -> Iterator[str]:
    """Counters against the pulls they count."""
    spent = sum(pull.cost for pull in pulls if pull.reward is not None)
    if spent != head.spent:
        yield f"the pulls that count cost {spent}, and {head.spent} is what was spent"
    if head.budget is not None and head.spent + head.reserved > head.budget:
        yield f"{head.spent} spent and {head.reserved} reserved of {head.budget}"
    by_arm: dict[int, list[PullRow]] = {arm.number: [] for arm in arms}
    for pull in pulls:
        if pull.arm in by_arm:
            by_arm[pull.arm].append(pull)
        else:
            yield f"pull {pull.seq} is of an arm that is not there"
    for arm in arms:
        own = by_arm[arm.number]
        states = [pull.state for pull in own]
        count = dict(zip(STATES, map(states.count, range(len(STATES))), strict=True))
        if [pull.nth for pull in own] != list(range(len(own))):
            yield f"arm {arm.name!r}: its pulls are not numbered one by one"
        for name, number in (
            ("places", len(own)),
            ("flying", count["asked"]),
            ("told", count["told"]),
            ("failed", count["failed"]),
            ("lost", count["lost"]),
            ("late", count["late"]),
            ("returned", count["returned"]),
            ("pulls", sum(pull.reward is not None for pull in own)),
        ):
            if getattr(arm, name) != number:
                yield f"arm {arm.name!r}: {name} is {getattr(arm, name)}, its pulls say {number}"


def _happenings(pulls: list[PullRow], events: list[Event]) -> Iterator[Happening]:
    """All that happened, each with its number."""
    first = {event.data["pull"]: event.data["was"] for event in events if "was" in event.data}
    for pull in pulls:
        if pull.state in (ATTACHED, ATTACHED_UNWEIGHED):
            yield pull.asked, "attach", pull
            continue
        yield pull.asked, "ask", pull
        if pull.state != ASKED:
            assert pull.settled is not None
            yield pull.settled, _KINDS[first.get(pull.seq, pull.state)], pull
    for event in events:
        yield event.number, event.kind, event


class _Replay:
    """The same campaign in memory, as it was before its first event."""

    def __init__(self, rule: Rule, head: Head, arms: list[Arm], pulls: list[PullRow]) -> None:
        self._stored, self._rows = arms, pulls
        self._own: dict[int, PullRow] = {}  # the replayed pulls, by number
        began = Head(0, head.name, head.created, dict(head.settings), head.settings["budget"])
        began.arms = began.unsettled = head.settings["first_arms"]
        self._access = Access(MemoryStore(clock=lambda: 0.0), head.name, rule)
        terms = self._access.terms(head.settings)
        first = _blank(arms[: began.arms], terms)
        problem = problem_of(first, terms.rewards)
        began.settings["numbers"] = numbers_of(terms.rule, problem, began.budget)
        for arm in first:
            arm.priority = self._access.terms(began.settings).place(arm, 0)
        self._access.store.create(began, first)

    def play(self, kind: str, what: PullRow | Event) -> str | None:
        """One event; what does not follow, if anything does not."""

        def move(t: Transaction, terms: Terms) -> str | None:
            if isinstance(what, Event):
                return self._other(t, terms, kind, what)
            return self._pull(t, terms, kind, what)

        try:
            return self._access.do(kind, move)
        except (CampaignError, ValueError) as error:
            return f"{kind} is refused in the replay: {error}"

    def _pull(self, t: Transaction, terms: Terms, kind: str, pull: PullRow) -> str | None:
        if kind == "ask":
            given, why, _ = moves.ask(t, terms, 1, 1e9)
            if not given:
                return f"arm {self._stored[pull.arm].name!r} was asked, and nothing is ({why})"
            own, arm = given[0]
            self._own[pull.seq] = own
            if arm.number != pull.arm or own.seq != pull.seq or own.nth != pull.nth:
                wanted = self._stored[pull.arm].name
                return f"pull {pull.seq} is of arm {wanted!r}, and the rule asks {arm.name!r}"
            return None
        if kind == "attach":
            arm = t.arm(pull.arm)
            moves.attach(t, terms, arm, [pull.reward], weighs=pull.state == ATTACHED)
            return None
        if kind == "lose":
            moves.drop(t, terms, self._own[pull.seq], LOST)
            return None
        if kind == "give back":
            moves.hand_back(t, terms, self._own[pull.seq], None)
            return None
        value = None if kind == "fail" else pull.reward
        cost = None if kind == "fail" else pull.cost
        moves.report(t, terms, self._own[pull.seq].id, value, cost, None)
        return None

    def _other(self, t: Transaction, terms: Terms, kind: str, event: Event) -> str | None:
        data = event.data
        if kind in ("told late", "kept late"):
            pull = self._rows[data["pull"]]
            value = pull.late if kind == "kept late" else pull.reward
            said = moves.report(t, terms, self._own[pull.seq].id, value, pull.cost, None)
            wanted = moves.TOO_LATE if kind == "kept late" else moves.COUNTED
            return None if said == wanted else f"a late tell is {said} in the replay"
        if kind == "add":
            moves.add(t, terms, *_blank([self._stored[data["arm"]]], terms))
            self._access.renumber(t)
        elif kind == "retire":
            moves.retire(t, t.arm(data["arm"]))
        elif kind == "resume arm":
            moves.resume_arm(t, t.arm(data["arm"]))
        elif kind == "extend":
            moves.extend(t, data["budget"])
            self._access.renumber(t)
        elif kind in (RUNNING, PAUSED, CLOSED):
            moves.set_state(t, kind)
        else:
            return f"an event of an unknown kind, {kind!r}"
        return None

    def compare(self, stored: Transaction, terms: Terms) -> list[str]:
        """The state at the end against the stored one."""
        moves.weigh(stored, terms)

        def look(t: Transaction, own: Terms) -> list[str]:
            moves.weigh(t, own)
            faults = [
                f"{name} is {getattr(stored.head, name)!r}, and the replay has "
                f"{getattr(t.head, name)!r}"
                for name in _HEAD
                if getattr(stored.head, name) != getattr(t.head, name)
            ]
            step = t.head.told + t.head.flying
            for mine, theirs in zip(t.all_arms(), self._stored, strict=True):
                mine.priority = own.place(mine, step)
                for field in fields(Arm):
                    was, now = getattr(theirs, field.name), getattr(mine, field.name)
                    if not _alike(was, now):
                        faults.append(
                            f"arm {theirs.name!r}: {field.name} is {was!r}, and the replay has "
                            f"{now!r}"
                        )
            return faults

        return self._access.do("look", look)[:20]


def _alike(was: object, now: object) -> bool:
    """Equal; numbers, but for the last digits, in which two machines may differ."""
    if isinstance(was, tuple) and isinstance(now, tuple):
        return len(was) == len(now) and all(map(_alike, was, now))
    if isinstance(was, float) and isinstance(now, float):
        return math.isclose(was, now, rel_tol=1e-9)
    return was == now


def _blank(arms: list[Arm], terms: Terms) -> list[Arm]:
    """Arms as they were before anything happened to them."""
    kept = start_of(terms.rule, problem_of(arms, terms.rewards))
    return [
        Arm(a.number, a.name, a.threshold, a.precision, a.level, a.sd, a.cost, a.tie, kept=numbers)
        for a, numbers in zip(arms, kept, strict=True)
    ]
