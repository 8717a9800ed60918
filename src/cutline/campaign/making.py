"""A campaign made from a problem: its settings and arms as a store keeps them, checked."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from cutline.campaign.records import SUSPENSION, Arm
from cutline.core.bar import Bar
from cutline.core.chance import TIE, chance, seed_key, uniform
from cutline.core.evidence import default_evidence
from cutline.core.numbers import as_text, as_whole, is_whole, real, shown
from cutline.core.problem import Problem
from cutline.core.rewards import Rewards
from cutline.core.stopping import check_can_stop
from cutline.core.tally import Floats
from cutline.core.text import visible
from cutline.core.theory.checks import check_confidence
from cutline.core.verdict import NO_PROMISE
from cutline.rules import parse_rule
from cutline.rules.base import IndexRule, Rule
from cutline.rules.editions import EDITION

MOST = 2**62  # units that every store can keep
MAX_SECONDS = 1e9  # that are waited for; threads cannot wait for ten times as long
LONGEST_ARM = 2**22  # characters of an arm's name, which may be a whole prompt
LONGEST_NAME = 500  # of a campaign's name, or a unit
_HALF = re.compile("[\ud800-\udfff]")


def rule_of(rule: object) -> Rule:
    """A rule as it was handed in: an object, or its name."""
    if isinstance(rule, str):
        return parse_rule(rule)
    if not isinstance(rule, Rule):
        own = isinstance(rule, type) and issubclass(rule, Rule)
        hint = f"{rule.__name__}()" if own else "'auto'"  # type: ignore[attr-defined]
        raise TypeError(
            f"rule must be a rule or the name of one, such as {hint}, got {shown(rule)}"
        )
    return rule


def playable(rule: Rule, problem: Problem) -> IndexRule:
    """The rule as it is played live on such a problem, or why it cannot be."""
    played = rule.on(problem)
    if not isinstance(played, IndexRule):
        raise ValueError(
            f"{rule.spec} cannot be used live: it looks at all arms at once and remembers its own "
            "steps, so many workers could not share it and a crash would lose it; use an index "
            "rule, such as auto or apt"
        )
    played.check(problem)
    return played


def counted(settings: Mapping[str, Any]) -> Rewards:
    """The kind of reward that counts: what is told, or whether it is above a level."""
    return Rewards("binary") if settings["levels"] else Rewards(**settings["rewards"])


def played_on(settings: Mapping[str, Any]) -> Problem:
    """A small problem on which a rule is the one that is played with these settings."""
    rewards = counted(settings)
    if settings["uneven"]:
        rewards = Rewards("gaussian", sd=[1.0, 2.0])
    names = map(str, range(1 + settings["uneven"]))
    return Problem.kept(arms=names, threshold=settings["bar"], precision=0, rewards=rewards)


def settings_of(
    problem: Problem,
    rule: Rule,
    *,
    budget: int | None,
    confidence: float | None,
    seed: int,
    lost: float | None,
    unit: str,
    declared: int | None,
    lease: float,
    patience: int,
) -> dict[str, Any]:
    """What a store keeps of a campaign beside its arms, checked."""
    if budget is None and confidence is None:
        raise ValueError("give a budget, a confidence to stop at, or both")
    if budget is not None:
        if not is_whole(budget):
            raise ValueError(f"budget must be a whole number of units, got {shown(budget)}")
        budget = as_whole(budget)
        if not 1 <= budget < MOST:
            limit = "1 or more" if budget < 1 else "below 2**62"
            raise ValueError(f"budget must be {limit}, got {shown(budget)}")
    if confidence is not None:
        check_confidence(confidence)
        confidence = float(confidence)
        if default_evidence(problem) is None:
            raise ValueError(f"cannot stop at a confidence, {NO_PROMISE}")
    if budget is None:
        check_can_stop(problem, confidence)
    seed_key(seed)
    if lost is not None:
        try:
            lost = problem.measured.check(lost)
        except (ValueError, TypeError) as error:
            raise ValueError(f"lost is the reward that a lost pull stands for: {error}") from None
    played = playable(rule, problem)
    if not played.anytime and budget is None:
        raise ValueError(f"{rule.spec} must know the budget: give one, or use another rule")
    arms = len(problem.arms)
    room = arms if declared is None else declared
    if not is_whole(room) or not arms <= room < MOST:
        raise ValueError(
            f"declared is how many arms there may be: {arms} or more, got {shown(room)}"
        )
    if not is_whole(patience) or not 1 <= patience < MOST:
        raise ValueError(f"patience must be a whole number, 1 or more, got {shown(patience)}")
    rewards = problem.measured.to_dict()
    if "sd" in rewards:
        rewards["sd"] = 1.0  # each arm keeps its own
    return {
        "rewards": rewards,
        "levels": problem.level is not None,
        "uneven": problem.sds is not None and len(set(problem.sds.tolist())) > 1,
        "bar": problem.threshold[0],
        "rule": rule.spec,
        "numbers": numbers_of(played, problem, budget),
        "budget": budget,
        "confidence": confidence,
        "lost": lost,
        "seed": int(seed),
        "unit": check_text("unit", unit, LONGEST_NAME),
        "first_arms": arms,
        "declared": as_whole(room),
        "lease": check_lease(lease),
        "patience": as_whole(patience),
        "edition": EDITION,  # of the built-in rules: choices must follow from events later on
        "suspension": SUSPENSION,
    }


def numbers_of(rule: IndexRule, problem: Problem, budget: int | None) -> dict[str, float]:
    """What the rule's functions may ask for beside the arms: its settings on the problem."""
    try:
        own = rule.settings(problem, budget or 0, None)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{rule.spec} cannot be used live: {error}") from None
    return {**own, "arms": len(problem.arms), "budget": budget or 0}


def names_of(names: Sequence[str]) -> Sequence[str]:
    """The names of arms, if every store can keep them."""
    for name in names:
        check_text("an arm's name", name, LONGEST_ARM)
    return names


def name_of(name: object) -> str:
    """A campaign's name, if every store can keep it."""
    return check_text("a campaign's name", name, LONGEST_NAME)


def check_text(what: str, text: object, longest: int) -> str:
    """A text, if every store can keep it."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a text, got {shown(text)}")
    if len(text) > longest:
        raise ValueError(
            f"{what} may have {longest:,} characters at most, got {len(text):,}: {text[:40]!r}..."
        )
    if "\0" in text or _HALF.search(text):
        raise ValueError(
            f"{what} has a character that a store cannot keep, a zero byte or half of a pair: "
            f"{shown(text)}"
        )
    return text


def arms_of(problem: Problem, rule: IndexRule, cost: Any, seed: int) -> list[Arm]:
    names_of(problem.arms)
    costs = costs_of(cost, problem.arms)
    ties = ties_of(seed, 0, len(problem.arms)).tolist()
    kept = start_of(rule, problem)
    levels = problem.level or repeat(None)
    sds = repeat(None) if problem.sds is None else problem.sds.tolist()
    columns = (problem.arms, problem.threshold, problem.precision, levels, sds, costs, ties, kept)
    return [
        Arm(number, name, tau, eps, level, sd, price, tie, kept=numbers)
        for number, (name, tau, eps, level, sd, price, tie, numbers) in enumerate(
            zip(*columns, strict=False)  # some go on for ever
        )
    ]


def start_of(rule: IndexRule, problem: Problem) -> list[tuple[float, ...]]:
    """What the rule keeps for every arm before the first pull."""
    if not rule.keeps:
        return [()] * len(problem.arms)
    try:
        return [tuple(row) for row in rule.start(problem, None).T.tolist()]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{rule.spec} cannot be used live here: {error}") from None


def costs_of(cost: Any, names: Sequence[str]) -> Sequence[int]:
    if isinstance(cost, Mapping):
        unknown = sorted(as_text("an arm's name", name) for name in set(cost) - set(names))
        if unknown:
            raise ValueError(
                f"cost names no arm of the problem: {', '.join(map(visible, unknown[:5]))}"
            )
        costs = [cost.get(name, 1) for name in names]
    elif isinstance(cost, Sequence | np.ndarray) and not isinstance(cost, str | bytes):
        costs = list(np.atleast_1d(cost)) if isinstance(cost, np.ndarray) else list(cost)
    else:
        costs = [cost] * len(names)
    if len(costs) != len(names):
        raise ValueError(f"cost must be one number or one per arm: {len(names)}, got {len(costs)}")
    for value in costs if len(costs) < 10_000 else set(map(_hashable, costs)):
        if not is_whole(value) or not 1 <= value < MOST:
            raise ValueError(
                f"a pull costs a whole number of units, 1 or more and below 2**62, got "
                f"{shown(value)}"
            )
    return [int(value) for value in costs]


def _hashable(value: Any) -> Any:
    return value if is_whole(value) else shown(value)


def about_of(about: object) -> dict[str, Any]:
    """What a campaign is about, as plain values that are the same when read again."""
    if about is None:
        return {}
    if not isinstance(about, Mapping):
        raise TypeError(f"about must be a mapping from names to plain values, got {shown(about)}")
    try:
        found: dict[str, Any] = json.loads(json.dumps(dict(about), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"about must hold plain values that JSON can keep (text, finite numbers, lists, "
            f"mappings): {error}"
        ) from None
    return found


def ties_of(seed: int, first: int, count: int) -> Floats:
    """The keys by which ties fall: those of game 0 in the simulator."""
    key0, key1 = seed_key(seed)
    arms = np.arange(first, first + count, dtype=np.uint64)
    what: Any = chance(key0, key1, 0, arms, 0, TIE)  # type: ignore[arg-type]  # all at once
    return np.broadcast_to(uniform(what, 0), (count,))


def check_bar(bar: Bar, problem: Problem) -> Bar:
    """The bar as it was put, if it is the problem's."""
    if not isinstance(bar, Bar):
        raise TypeError(f"bar must be a Bar, got {shown(bar)}")
    if {bar.threshold} != set(problem.threshold) or {bar.precision} != set(problem.precision):
        raise ValueError(
            f"the bar ({bar.words}) is a threshold of {bar.threshold!r} with precision "
            f"{bar.precision!r}, and the problem has others: give every arm those, or no bar"
        )
    return bar


def check_lease(lease: float) -> float:
    """How many seconds a trial may take, checked."""
    return check_seconds("a lease", lease)


def check_seconds(what: str, seconds: float, *, or_zero: bool = False) -> float:
    """A number of seconds that a clock can wait for; too many are refused, not clamped."""
    try:
        number = math.nan if isinstance(seconds, bool) else real(what, seconds)
    except ValueError:
        number = math.nan
    if not (0 < number <= MAX_SECONDS or (or_zero and number == 0)):
        least = "0 or more" if or_zero else "above 0"
        raise ValueError(
            f"{what} is a number of seconds {least} and at most {MAX_SECONDS:.0e} (30 years), got "
            f"{shown(seconds)}"
        )
    return number
