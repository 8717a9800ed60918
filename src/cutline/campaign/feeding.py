"""In which order evidence was fed: an arm's trials as asked for, late ones as they came."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cutline.campaign.records import ASKED, ATTACHED_UNWEIGHED, Arm, PullRow
from cutline.campaign.stores.base import Transaction
from cutline.campaign.terms import Terms
from cutline.core.tally import Floats


@dataclass(frozen=True, slots=True)
class Coming:
    """A pull comes back at an event: with a reward that counts from then on, or with nothing."""

    event: int
    pull: PullRow
    reward: float | None
    late: bool


def comings_of(t: Transaction) -> list[Coming]:
    """How pulls came back, in the order of events; some twice: given up, and told after all."""
    late = {event.data["pull"]: event.number for event in t.events() if event.kind == "told late"}
    found = []
    for pull in t.since(0):
        if pull.state == ASKED:
            continue
        assert pull.settled is not None
        after_all = pull.seq in late
        found.append(Coming(pull.settled, pull, None if after_all else pull.reward, False))
        if after_all:
            found.append(Coming(late[pull.seq], pull, pull.reward, True))
    return sorted(found, key=lambda coming: coming.event)


def in_order(
    terms: Terms, arms: Sequence[Arm], comings: Sequence[Coming]
) -> tuple[list[list[float]], list[int]]:
    """What every arm's evidence is fed, from the origin on, and how many trials it has passed.

    One that came early waits for those before it, one that was given up and came after its turn is
    taken when it comes.
    """
    early: list[dict[int, float | None]] = [{} for _ in arms]
    weighs: list[list[float]] = [[] for _ in arms]
    passed = [0] * len(arms)
    for coming in comings:
        pull = coming.pull
        line, own = early[pull.arm], weighs[pull.arm]
        value = None
        if coming.reward is not None and pull.state != ATTACHED_UNWEIGHED:
            value = terms.reward(arms[pull.arm], coming.reward)
        if coming.late and pull.nth < passed[pull.arm]:
            own += [] if value is None else [value]
        else:
            line[pull.nth] = value
        while passed[pull.arm] in line:
            turn = line.pop(passed[pull.arm])
            own += [] if turn is None else [turn]
            passed[pull.arm] += 1
    return weighs, passed


def fed_rewards(t: Transaction, terms: Terms) -> list[Floats]:
    """What every arm's evidence is fed, in order; more may follow what was fed at some time.

    Eight bytes a reward, in arrays; where some were told late, all trials are read as records.
    """
    arms = t.all_arms()
    if any(event.kind == "told late" for event in t.events()):
        return [np.array(own) for own in in_order(terms, arms, comings_of(t))[0]]
    owners, rewards = [], []
    for some in t.outcomes(0):
        weighs = ~np.isnan(some.reward) & (some.state != ATTACHED_UNWEIGHED)
        owners.append(some.arm[weighs])
        rewards.append(some.reward[weighs])
    owner = np.concatenate(owners) if owners else np.zeros(0, dtype=np.int64)
    order = np.argsort(owner, kind="stable")  # arm by arm, each in the order asked for
    raw = np.concatenate(rewards)[order] if rewards else np.zeros(0)
    values = terms.rewards_of(arms, owner[order], raw)
    return np.split(values, np.searchsorted(owner[order], np.arange(1, len(arms))))
