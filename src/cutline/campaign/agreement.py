"""Whether a campaign that is there is the one that is asked for."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from cutline.campaign.access import Access
from cutline.campaign.errors import DifferentCampaign
from cutline.campaign.records import Arm, Head
from cutline.campaign.stores import Transaction
from cutline.campaign.terms import Terms, problem_of
from cutline.core.problem import Problem

AGREED = ("rewards", "rule", "budget", "confidence", "lost", "seed", "declared", "unit")


def see_that_it_is(access: Access, mine: Head, arms: Sequence[Arm]) -> None:
    """Raise where the campaign in the store is another than this one would be."""
    there = access.head()
    about = json.loads(json.dumps(mine.settings["about"]))
    if there.settings["about"] != about and not there.told:  # nothing was learned yet
        access.do("agree", _agree, about)
        there = access.head()
    differs = []
    if there.settings["digest"] != mine.settings["digest"]:
        own = question(arms, access.terms(mine.settings))
        differs.append(_difference(access.do("look", _first_question, write=False), own))
    was, now = there.settings, json.loads(json.dumps(mine.settings))
    pairs = [(name, was[name], now[name]) for name in AGREED]
    names = was["about"].keys() | now["about"].keys()
    pairs += [(name, was["about"].get(name), now["about"].get(name)) for name in sorted(names)]
    differs += [f"{name} was {old!r} and is now {new!r}" for name, old, new in pairs if old != new]
    if differs:
        raise DifferentCampaign(
            f"there is another campaign {access.name!r} in {access.store.shown}: "
            f"{'; '.join(differs)}. Take another name, or extend(budget=...) that one"
        )


def see_that_it_asks(access: Access, problem: Problem) -> None:
    """Raise where the campaign in the store began with another question."""
    began = access.do("look", _first_question, write=False)
    if problem != began:
        raise DifferentCampaign(
            f"campaign {access.name!r} asks another question: {_difference(began, problem)}"
        )


def question(arms: Sequence[Arm], terms: Terms) -> Problem:
    """The problem that stored arms make up, as it was put."""
    measured = None if terms.measured is terms.rewards else terms.measured
    return problem_of(list(arms), terms.rewards, measured)


def _first_question(t: Transaction, terms: Terms) -> Problem:
    """As it was before arms were added."""
    return question(t.all_arms()[: t.head.settings["first_arms"]], terms)


def _agree(t: Transaction, terms: Terms, about: dict[str, Any]) -> None:
    if not t.head.told:
        t.head.settings = {**t.head.settings, "about": about}


def digest_of(arms: Sequence[Arm]) -> str:
    """A fingerprint of the question."""
    found = hashlib.sha256()
    for a in arms:
        found.update(repr((a.name, a.threshold, a.precision, a.level, a.sd, a.cost)).encode())
    return found.hexdigest()


def _difference(was: Problem, now: Problem) -> str:
    """What differs between two problems, in words."""
    if was.arms != now.arms:
        gone = [name for name in was.arms if name not in set(now.arms)]
        new = [name for name in now.arms if name not in set(was.arms)]
        if not gone and not new:
            return "the arms are in another order"
        parts = [
            f"{what} {', '.join(names[:5])}{' and more' if len(names) > 5 else ''}"
            for what, names in (("without", gone), ("with", new))
            if names
        ]
        return f"its {len(was.arms)} arms are not these {len(now.arms)}: {' and '.join(parts)}"
    for name in ("threshold", "precision", "level"):
        ours, theirs = getattr(was, name), getattr(now, name)
        if ours != theirs:
            places = range(len(was.arms))
            i = 0 if None in (ours, theirs) else next(i for i in places if ours[i] != theirs[i])
            show = [None if values is None else values[i] for values in (ours, theirs)]
            return f"{name} of {was.arms[i]!r} was {show[0]!r} and is now {show[1]!r}"
    if was.measured != now.measured:
        return f"rewards were {was.measured} and are now {now.measured}"
    return "the cost of a pull, or the known noise, is another"
