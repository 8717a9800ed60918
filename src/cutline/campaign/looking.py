"""Look into a stored campaign: its pulls and arms as rows, and its answer for another bar."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from cutline.campaign.access import Access
from cutline.campaign.campaign import Campaign
from cutline.campaign.errors import UnknownArm
from cutline.campaign.feeding import Coming, comings_of, in_order
from cutline.campaign.making import counted, numbers_of, start_of
from cutline.campaign.records import (
    RUNNING,
    STATES,
    Arm,
    Head,
    PullRow,
)
from cutline.campaign.stores import MemoryStore, Store, Transaction
from cutline.campaign.terms import Terms, problem_of
from cutline.core.problem import PerArm, check_band, per_arm
from cutline.core.rewards import Rewards
from cutline.core.rows import Kept
from cutline.core.verdict import Verdict

Row = dict[str, Any]

CHUNK = 10_000  # rows that are handed on at once

CHOSEN_AFTER = (
    "this bar is not the one that was agreed on before the first pull, and a bar chosen after "
    "looking can be chosen to fit what was seen"
)


def head_row(head: Head) -> Row:
    """A campaign in a few words: how far it is, from its counters alone.

    ``status`` is "done" where nothing is in flight and nothing is left to spend or to settle.
    ``settled`` counts the arms that are proven or retired, and is None for a campaign that has no
    confidence to prove them at.
    """
    confidence = head.settings["confidence"]
    over = not head.flying and (not head.unsettled or head.left == 0)
    return {
        "name": head.name,
        "status": "done" if over and head.state == RUNNING else head.state,
        "arms": head.arms,
        "settled": None if confidence is None else head.arms - head.unsettled,
        "spent": head.spent,
        "budget": head.budget,
        "unit": head.settings["unit"],
        "in_flight": head.flying,
        "confidence": confidence,
        "rule": head.settings["rule"],
        "created": head.created,
    }


PULL_COLUMNS = {
    "seq": int, "id": str, "arm": str, "number": int, "state": str, "reward": float, "late": float,
    "cost": int, "asked": int, "settled": int, "note": str,
}  # fmt: skip
"""What is said of a pull, and of which type it is where it is not None.

``seq`` numbers the campaign's pulls and ``number`` the arm's, from 0; ``reward`` is what counts,
``late`` what came too late to count; ``asked`` and ``settled`` are numbers of events, in the one
order of all that happened.
"""

ARM_COLUMNS = {
    "number": int, "arm": str, "threshold": float, "precision": float, "level": float, "sd": float,
    "cost": int, "status": str, "asked": int, "in_flight": int, "told": int, "failed": int,
    "lost": int, "late": int, "returned": int, "attached": int, "pulls": int, "mean": float,
}  # fmt: skip
"""What is said of an arm beside the verdict; ``pulls`` are the rewards that count."""


def each_pull(campaign: Campaign, take: Callable[[list[Row]], None], size: int = CHUNK) -> int:
    """Hand on all pulls in the order asked for, some at a time; how many there are.

    They are as they were at one moment, whatever workers do meanwhile.
    """

    def look(t: Transaction) -> int:
        names = [arm.name for arm in t.all_arms()]
        return _in_chunks((_pull_row(pull, names[pull.arm]) for pull in t.since(0)), take, size)

    # Tried once only: what was handed on cannot be taken back.
    return campaign.access.look(look, again=False)


def each_arm(campaign: Campaign, take: Callable[[list[Row]], None], size: int = CHUNK) -> int:
    """Hand on all arms in their order, some at a time; how many there are."""

    def look(t: Transaction) -> int:
        rewards = counted(t.head.settings)
        return _in_chunks((_arm_row(arm, rewards) for arm in t.all_arms()), take, size)

    return campaign.access.look(look, again=False)


def pulls_of(campaign: Campaign, arm: str) -> list[Row]:
    """The pulls of one arm, in the order asked for."""

    def look(t: Transaction) -> list[Row]:
        found = t.named(arm)
        if found is None:
            raise UnknownArm(f"there is no arm {arm!r} in campaign {t.head.name!r}")
        return [_pull_row(pull, found.name) for pull in t.since(0, found.number)]

    return campaign.access.look(look)


def _in_chunks(rows: Iterator[Row], take: Callable[[list[Row]], None], size: int) -> int:
    count = 0
    while some := list(islice(rows, size)):
        count += len(some)
        take(some)
    return count


def _pull_row(pull: PullRow, arm: str) -> Row:
    state = STATES[pull.state]
    values = (
        pull.seq, pull.id, arm, pull.nth, state, pull.reward, pull.late, pull.cost, pull.asked,
        pull.settled, pull.note,
    )  # fmt: skip
    return dict(zip(PULL_COLUMNS, values, strict=True))


def _arm_row(arm: Arm, rewards: Rewards) -> Row:
    mean = arm.total / arm.pulls + rewards.origin(arm.threshold) if arm.pulls else None
    values = (
        arm.number, arm.name, arm.threshold, arm.precision, arm.level, arm.sd, arm.cost, arm.status,
        arm.asked, arm.flying, arm.told, arm.failed, arm.lost, arm.late, arm.returned, arm.attached,
        arm.pulls, mean,
    )  # fmt: skip
    return dict(zip(ARM_COLUMNS, values, strict=True))


def what_if(
    campaign: Campaign,
    *,
    threshold: PerArm | None = None,
    precision: PerArm | None = None,
    confidence: float | None = None,
) -> Verdict:
    """The verdict that the same pulls give against another bar, one or one per arm.

    It is exact: every reward was kept as it was told, and is counted and weighed again, in the
    order in which that happened. But the bar is chosen after looking, so nothing is promised any
    more, and the verdict says so; unless it is the campaign's own.

    >>> from cutline.core.problem import Problem
    >>> coins = Problem(arms=["a"], threshold=0.5, rewards="binary")
    >>> campaign = Campaign(coins, budget=4)
    >>> for reward in (1, 0, 1, 0):
    ...     outcome = campaign.tell(campaign.ask(), reward)
    >>> campaign.verdict().above, what_if(campaign, threshold=0.6).above
    (('a',), ())
    """
    rule = campaign.access.rule

    def look(t: Transaction, terms: Terms) -> tuple[Store, bool, list[list[float]]]:
        stored = t.all_arms()
        arms = [replace(arm) for arm in stored]
        for name, value in (("threshold", threshold), ("precision", precision)):
            if value is not None:
                for arm, number in zip(arms, per_arm(name, value, len(arms)), strict=True):
                    setattr(arm, name, number)
        same = all(
            (was.threshold, was.precision) == (now.threshold, now.precision)
            for was, now in zip(stored, arms, strict=True)
        )
        head = replace(t.head, settings={**t.head.settings, "bar": arms[0].threshold})
        access = Access(MemoryStore(), head.name, rule)
        played = access.terms(head.settings).rule
        problem = problem_of(arms, terms.rewards)  # refuses a precision below 0
        if not same:
            check_band(problem)
        numbers = numbers_of(played, problem, head.budget)
        head.settings = {**head.settings, "numbers": numbers}
        for arm, kept in zip(arms, start_of(played, problem), strict=True):
            arm.kept = kept
        weighed = _count_again(access.terms(head.settings), arms, comings_of(t))
        head.weighed = head.pulls
        access.store.create(head, arms)
        return access.store, same, weighed

    store, same, weighed = campaign.access.do("look", look)
    verdict = Campaign.open(store, campaign.name, rule=rule).verdict(confidence)
    history = Kept([np.array(own) for own in weighed])  # the copy has no trials
    verdict = replace(verdict, rows=replace(verdict.rows, history=history))
    if same:
        return verdict
    broken = CHOSEN_AFTER if verdict.broken is None else f"{CHOSEN_AFTER}; {verdict.broken}"
    return replace(verdict, broken=broken)


def _count_again(terms: Terms, arms: Sequence[Arm], comings: Sequence[Coming]) -> list[list[float]]:
    """Count and weigh all rewards again, as they came in, from nothing; what was weighed."""
    for arm in arms:
        arm.pulls, arm.total, arm.squares, arm.fed, arm.proof = 0, 0.0, 0.0, 0, None
    told = 0
    for coming in comings:
        if coming.reward is not None:
            terms.learn(arms[coming.pull.arm], coming.reward, told)
            told += 1
    weighs, passed = in_order(terms, arms, comings)
    for arm, count in zip(arms, passed, strict=True):
        arm.fed = count
    if terms.evidence is None:
        return weighs
    filled = [(arm, own) for arm, own in zip(arms, weighs, strict=True) if own]
    ledgers = [ledger for arm, _ in filled if (ledger := terms.ledger(arm)) is not None]
    values = np.array([value for _, own in filled for value in own])
    terms.evidence.feed_many(ledgers, values, [len(own) for _, own in filled])
    for (arm, _), ledger in zip(filled, ledgers, strict=True):
        arm.proof = ledger.numbers
    return weighs
