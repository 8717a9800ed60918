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
from cutline.core.bar import Bar
from cutline.core.problem import Problem
from cutline.rules import RULES, Rule, parse_rule

FIELDS = "fields of the arms"  # of `cutline run`: a fingerprint of them
AGREED = ("rewards", "rule", "budget", "confidence", "lost", "seed", "declared", "unit")


def see_that_it_is(access: Access, mine: Head, arms: Sequence[Arm]) -> None:
    """Raise where the campaign in the store is another than this one would be."""
    was, now = access.head().settings, json.loads(json.dumps(mine.settings))
    differs = []
    if was["digest"] != now["digest"]:
        own = question(arms, access.terms(mine.settings))
        began = access.do("look", _first_question)
        differs.append(_difference(began, own))
        if began.arms != own.arms:
            now = _with_what_follows(was, now, len(began.arms), len(own.arms))
    put = _bars_differ(was.get("asked"), now["asked"]) if "asked" in was else None
    if put is not None:  # said as the bar was put, and not as a threshold beside
        differs = [put, *(text for text in differs if not text.startswith("threshold of "))]
    agreed = [{name: given[name] for name in AGREED} for given in (was, now)]
    if same_rule(was["rule"], now["rule"]):
        agreed[1]["rule"] = was["rule"]
    differs += _changes(*agreed)
    about = _changes(was["about"], now["about"])
    if about and not differs:
        about = access.do("agree", _agree, now["about"])
    differs += about
    if differs:
        raise DifferentCampaign(
            f"there is another campaign {access.name!r} in {access.store.shown}: "
            f"{'; '.join(differs)}. Take another name, or extend(budget=...) that one"
        )


def see_that_it_asks(access: Access, problem: Problem) -> None:
    """Raise where the campaign in the store began with another question."""
    began = access.do("look", _first_question)
    if problem != began:
        raise DifferentCampaign(
            f"campaign {access.name!r} asks another question: {_difference(began, problem)}"
        )


def built_in(spec: object) -> Rule | None:
    """The rule that a store names, if it is one of this package's; other text is never followed."""
    if not isinstance(spec, str) or spec.partition(":")[0] not in RULES:
        return None
    return parse_rule(spec)


def same_rule(one: object, other: object) -> bool:
    """Whether two ways of writing a rule mean the same one.

    A rule of somebody's own goes by its class and its settings: where its file lies is no part of
    it, and may be another on another machine.

    >>> (
    ...     same_rule("./mine.py:Mine:0.5", "/home/ann/rules.py:Mine:0.5"),
    ...     same_rule("apt", "./a.py:apt"),
    ... )
    (True, False)
    """
    if not (isinstance(one, str) and isinstance(other, str)):
        return False
    (file, _, own), (file_2, _, own_2) = one.partition(":"), other.partition(":")
    return one == other or (own == own_2 and not {file, file_2} & RULES.keys())


def question(arms: Sequence[Arm], terms: Terms) -> Problem:
    """The problem that stored arms make up, as it was put."""
    measured = None if terms.measured is terms.rewards else terms.measured
    return problem_of(list(arms), terms.rewards, measured)


def _first_question(t: Transaction, terms: Terms) -> Problem:
    """As it was before arms were added."""
    return question(t.all_arms()[: t.head.settings["first_arms"]], terms)


def _with_what_follows(
    was: dict[str, Any], now: dict[str, Any], before: int, arms: int
) -> dict[str, Any]:
    """The new settings without the differences that other arms bring about by themselves."""
    about = {**now["about"]}
    if FIELDS in about:
        about[FIELDS] = was["about"].get(FIELDS)
    follows = (was["declared"], now["declared"]) == (before, arms)
    return {**now, "about": about, "declared": was["declared"] if follows else now["declared"]}


def _changes(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Describe each setting that differs."""
    differ = [name for name in sorted(was.keys() | now.keys()) if was.get(name) != now.get(name)]
    return [
        f"the {name} are others"  # what is kept of them is a fingerprint
        if name == FIELDS
        else f"{name} was {_in_words(was.get(name))} and is now {_in_words(now.get(name))}"
        for name in differ
    ]


def _in_words(value: object) -> str:
    """Show the value of a setting; one that was not given is said to be that.

    >>> _in_words(None), _in_words([]), _in_words([2, "SIGSEGV"]), _in_words("auto")
    ('not given', 'not given', "2, 'SIGSEGV'", "'auto'")
    """
    if value is None or value == []:
        return "not given"
    return ", ".join(map(repr, value)) if isinstance(value, list) else repr(value)


def _agree(t: Transaction, terms: Terms, about: dict[str, Any]) -> list[str]:
    """What a campaign is about may change while there is nothing in it; else, what differs."""
    changes = _changes(t.head.settings["about"], about)
    if t.head.told or t.head.flying:
        return changes
    if changes:
        t.head.settings = {**t.head.settings, "about": about}
    return []


def _bars_differ(was: dict[str, Any] | None, now: dict[str, Any] | None) -> str | None:
    """What differs in how the bar was put, in words; a store from before does not say."""
    if was == now:
        return None
    words = [
        "a plain threshold" if kept is None else Bar.from_dict(kept, 0.0, 0.0).words
        for kept in (was, now)
    ]
    return f"the bar was {words[0]} and is now {words[1]}"


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
