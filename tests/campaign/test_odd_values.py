"""Odd values for every parameter of problems and campaigns: nothing but clear errors comes."""

import copy
import math
import pickle
import random
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from cutline import Problem, Rewards, judge
from cutline.campaign import (
    Campaign,
    CampaignError,
    MemoryStore,
    audit,
    identify,
    open_store,
)

pytestmark = pytest.mark.usefixtures("releases")


class Hostile:
    """Cannot be shown, nor made a number."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __float__(self):
        raise RuntimeError("no float")


class Liar:
    """A number that is none."""

    def __float__(self):
        return "x"


def odd_values():
    """What nobody should hand in, and some that may be."""
    return [
        None, True, 0, 1, -1, 3, 2**53 + 1, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64, 10**400,
        -(10**400), 0.0, -0.0, 0.5, 1.5, 1e18, 1e-320, 1e308, math.nan, math.inf, -math.inf, "",
        "a", "0.5", "50", "\0", "a\0b", "\ud800", "x" * 10_000, b"a", bytearray(b"a"), [], [1],
        [0.5, 0.5], ["a", "b"], ["a", "a"], [None], [[1], [2, 3]], [math.nan], [10**400, 1], (1, 2),
        {}, {"a": 1}, {"c": 1}, {1: 2}, {1, 2}, Decimal("NaN"), Decimal("sNaN"), Decimal("0.5"),
        Decimal("1e400"), Fraction(1, 2), 1j, np.float64(0.5), np.float32(0.5), np.int64(3),
        np.int8(-1), np.bool_(True), np.array(0.5), np.array([0.5, 0.5]), np.array([]),
        np.array([[1.0]]), np.array(["a", "b"]), np.array([None]), np.uint64(2**63), object(),
        object, len, iter([1]), range(3), Ellipsis, Exception("x"), Hostile(), Liar(), Path("x"),
        Rewards("binary"),
    ]  # fmt: skip


# What Python says of itself where a value was not looked at.
UNCLEAR = (
    "object is not iterable", "unhashable", "not supported between", "could not convert",
    "must be real number", "has no attribute", "unsupported operand", "has no len",
    "not subscriptable", "ambiguous", "not callable", "float()", "embedded null",
    "codec can't", "surrogates not allowed", "cannot pickle",
)  # fmt: skip


def refused_clearly(what, move):
    """Make a move; where it is refused, see that one sentence says why. Whether it was."""
    try:
        move()
    except (ValueError, TypeError, CampaignError) as error:
        text = str(error)
        assert 0 < len(text) < 600, (what, text)
        assert not any(words in text for words in UNCLEAR), (what, text)
        return True
    except Exception as error:
        error.add_note(f"it was {what}")
        raise
    return False


GOOD = {"arms": ["a", "b"], "threshold": 0.5, "precision": 0.1, "rewards": "binary"}


def test_problems_and_judgements():
    problem = Problem(**GOOD)
    for value in odd_values():
        for name in ("arms", "threshold", "precision", "rewards", "level"):
            refused_clearly(name, lambda n=name, v=value: Problem(**{**GOOD, n: v}))
        for kind in ("binary", "bounded", "gaussian", "heavy"):
            for name in ("low", "high", "sd", "variance"):
                refused_clearly(name, lambda k=kind, n=name, v=value: Rewards(k, **{n: v}))
            refused_clearly("reward", lambda k=kind, v=value: Rewards(k).check(v))
        for name, move in {
            "kind": lambda v=value: Rewards(v),
            "means": lambda v=value: problem.truth(v),
            "answer": lambda v=value: problem.loss([0.1, 0.9], v),
            "judged": lambda v=value: judge(v, {"a": [1]}),
            "rewards": lambda v=value: judge(problem, v),
            "a reward": lambda v=value: judge(problem, {"a": [v]}),
            "confidence": lambda v=value: judge(problem, {"a": [1]}, confidence=v),
            "evidence": lambda v=value: judge(problem, {"a": [1]}, evidence=v),
        }.items():
            refused_clearly(name, move)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", 10**400), ("threshold", Decimal("NaN")), ("threshold", "0.5"),
        ("rewards", 1.5), ("arms", 2**63), ("arms", True), ("arms", b"ab"), ("arms", count()),
        ("arms", 3.0),
    ],
)  # fmt: skip
def test_what_is_no_problem_is_refused_at_once(name, value):
    assert refused_clearly(name, lambda: Problem(**{**GOOD, name: value}))


def moves_of(campaign):
    """Every move, as a function of one odd value."""

    def trial():
        return campaign.ask()

    def fresh():
        return f"arm {random.random()}"

    return {
        "ask": lambda v: campaign.ask(v if not (isinstance(v, int) and v > 10) else 5),
        "ask.lease": lambda v: campaign.ask(lease=v),
        "tell": lambda v: campaign.tell(v, 1),
        "tell.reward": lambda v: campaign.tell(trial(), v),
        "tell.cost": lambda v: campaign.tell(trial(), 1, cost=v),
        "tell.note": lambda v: campaign.tell(trial(), 1, note=v),
        "tell_many": lambda v: campaign.tell_many(v),
        "tell_many one": lambda v: campaign.tell_many([v]),
        "tell_many pair": lambda v: campaign.tell_many([(v, v)]),
        "tell_many.costs": lambda v: campaign.tell_many([(trial(), 1)], costs=v),
        "tell_many.notes": lambda v: campaign.tell_many([(trial(), 1)], notes=v),
        "fail": lambda v: campaign.fail(v),
        "fail.note": lambda v: campaign.fail(trial(), note=v),
        "heartbeat": lambda v: campaign.heartbeat(v),
        "heartbeat.lease": lambda v: campaign.heartbeat(trial(), lease=v),
        "give_back": lambda v: campaign.give_back(v),
        "give_back.note": lambda v: campaign.give_back(trial(), note=v),
        "resume": lambda v: campaign.resume(v),
        "extend": lambda v: campaign.extend(budget=v),
        "extend.to": lambda v: campaign.extend(to=v),
        "add": lambda v: campaign.add(v),
        "add.threshold": lambda v: campaign.add(fresh(), threshold=v),
        "add.precision": lambda v: campaign.add(fresh(), precision=v),
        "add.level": lambda v: campaign.add(fresh(), level=v),
        "add.sd": lambda v: campaign.add(fresh(), sd=v),
        "add.cost": lambda v: campaign.add(fresh(), cost=v),
        "retire": lambda v: campaign.retire(v),
        "attach": lambda v: campaign.attach(v, [1]),
        "attach.rewards": lambda v: campaign.attach("a", v),
        "attach.unpicked": lambda v: campaign.attach("a", [1], unpicked=v),
        "verdict": lambda v: campaign.verdict(v),
        "open.name": lambda v: Campaign.open(campaign.store, v),
        "open.rule": lambda v: Campaign.open(campaign.store, campaign.name, rule=v),
        "open.problem": lambda v: Campaign.open(campaign.store, campaign.name, problem=v),
    }


SETTINGS = (
    "problem", "rule", "budget", "confidence", "name", "seed", "lost", "cost", "unit", "declared",
    "lease", "patience", "about", "bar",
)  # fmt: skip


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def anywhere(request, tmp_path):
    """Each kind of store, empty."""
    if request.param == "memory":
        return MemoryStore()
    if request.param == "sqlite":
        return open_store(tmp_path / "store.db")
    return open_store(request.getfixturevalue("database"))


def test_moves(anywhere):
    campaign = Campaign(Problem(**GOOD), budget=10**6, store=anywhere)
    for name, move in moves_of(campaign).items():
        for value in odd_values():
            refused_clearly(name, lambda m=move, v=value: m(v))
    found = audit(campaign)
    assert found.holds, found.faults


def test_settings(anywhere):
    names = count()
    for setting in SETTINGS:
        for value in odd_values():

            def play(setting=setting, value=value):
                given = {
                    "problem": Problem(**GOOD),
                    "budget": 100,
                    "name": f"campaign {next(names)}",
                }
                campaign = Campaign(**{**given, "store": anywhere, setting: value})
                if trial := campaign.ask():
                    campaign.tell(trial, 1)
                if not next(names) % 7:
                    assert audit(campaign).holds

            refused_clearly(setting, play)


def test_what_cannot_be_kept_leaves_no_file_behind(tmp_path):
    for setting in SETTINGS:
        for value in (object(), Hostile(), "\0", math.nan, {"a": {1, 2}}, {"a": math.nan}):
            given = {"problem": Problem(**GOOD), "budget": 100, "store": str(tmp_path / "x.db")}
            given[setting] = value
            if refused_clearly(setting, partial(Campaign, **given)):
                assert list(tmp_path.iterdir()) == [], (setting, value)
            for file in tmp_path.iterdir():
                file.unlink()


def test_stores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in odd_values():
        refused_clearly("store", lambda v=value: open_store(v))
        refused_clearly("open", lambda v=value: Campaign.open(v))
        refused_clearly("make", lambda v=value: Campaign(Problem(**GOOD), budget=5, store=v))
    assert refused_clearly("store", lambda: open_store(1.0))
    assert refused_clearly("rule", lambda: Campaign(Problem(**GOOD), 1.0, budget=5))


def test_a_total_to_extend_to_is_a_whole_number():
    campaign = Campaign(Problem(**GOOD), budget=20)
    for total in ("50", 50.0, True, 0, -1, 2**62, None):
        assert refused_clearly("to", lambda v=total: campaign.extend(to=v))
    campaign.extend(to=np.int64(50))
    assert campaign.budget == 50


def test_costs_that_no_store_could_add_up(anywhere):
    cost = 2**62 - 1
    campaign = Campaign(Problem(**GOOD), confidence=0.95, cost=cost, store=anywhere)
    trials = [campaign.ask(), campaign.ask()]
    assert refused_clearly("a third", campaign.ask)
    assert campaign.tell_many([(trial, 1) for trial in trials]) == ["counted", "counted"]
    assert campaign.spent == 2 * cost
    assert refused_clearly("a third", campaign.ask)
    assert audit(campaign).holds
    budget = 2**62 - 1
    once = Campaign(Problem(**GOOD), budget=budget, cost=cost, store=anywhere, name="once")
    assert once.tell(once.ask(), 1) == "counted"
    assert not once.ask()
    assert audit(once).holds


def test_a_campaign_says_how_it_is_taken_elsewhere(tmp_path):
    with Campaign(Problem(**GOOD), budget=20, store=str(tmp_path / "x.db")) as campaign:
        for take in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(
                TypeError, match=r"open it, with Campaign\.open\('.*x\.db', 'main'\)"
            ):
                take(campaign)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_identify(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = {**GOOD, "fn": lambda arm: 1, "budget": 2, "progress": False}
    beside = (
        "confidence", "rule", "level", "workers", "executor", "store", "name", "seed", "lost",
        "cost", "unit", "patience", "lease", "timeout", "on_proven",
    )  # fmt: skip
    odd = [1.5, "\0", Decimal("0.5"), np.float64(0.5), np.int64(2), object(), [], 10**400, -1, True]
    for name in (*good, *beside):
        for value in odd:
            refused_clearly(name, partial(identify, **{**good, name: value}))
    for arms in (count(), None, 0.5, object()):
        assert refused_clearly("arms", partial(identify, **{**good, "arms": arms}))


class Interrupted(Exception):
    """Raised by a signal's handler, say."""


class Slow:
    """Something is raised while it is read."""

    def __init__(self, error):
        self._error = error

    def __float__(self):
        raise self._error

    __str__ = __repr__ = __float__


READERS = {
    "a reward": lambda c, v: c.tell(c.ask(), v),
    "a lease": lambda c, v: c.ask(lease=v),
    "a name": lambda c, v: c.retire(v),
    "a threshold": lambda c, v: Problem(**{**GOOD, "threshold": v}),
    "a confidence": lambda c, v: c.verdict(confidence=v),
    "in a message": lambda c, v: c.ask(v),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("error", [Interrupted, TimeoutError, KeyboardInterrupt])
def test_what_is_raised_while_a_value_is_read_is_not_taken_for_a_bad_value(reader, error):
    campaign = Campaign(Problem(**GOOD), budget=10)
    with pytest.raises(error):
        READERS[reader](campaign, Slow(error()))
    assert campaign.ask()


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("error", [RuntimeError, KeyError, ZeroDivisionError, RecursionError])
def test_a_value_that_cannot_be_read_is_a_bad_value(reader, error):
    campaign = Campaign(Problem(**GOOD), budget=10)
    with pytest.raises((ValueError, TypeError)):
        READERS[reader](campaign, Slow(error()))
