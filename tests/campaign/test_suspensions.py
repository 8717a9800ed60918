"""Whose fault failures are, beyond what test_identify.py plays: many, few, early, elsewhere."""

import asyncio
import itertools
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future

import pytest

import cutline
from cutline.campaign import Campaign, MemoryStore, NothingWorks, audit, identify
from cutline.campaign.moves import WINDOW
from cutline.campaign.records import SUSPENSION
from cutline.campaign.runner.runner import _report_all
from cutline.campaign.stores import memory

ASKED = {"threshold": 0.5, "precision": 0.05, "rewards": "binary"}


@pytest.fixture
def quick_outages(monkeypatch):
    monkeypatch.setattr("cutline.campaign.runner.outage.PAUSES", (0.05, 0.2))


def play(campaign, share, trials, batch=64, excused=0.0, seed=1):
    """Ask and tell in batches; each trial fails with the same chance, some with an excuse."""
    luck = random.Random(seed)
    for _ in range(trials // batch):
        told, without = [], set()
        for pull in campaign.ask(batch):
            failed = luck.random() < share
            told.append((pull.id, None if failed else float(luck.random() < 0.7), None, None))
            if failed and luck.random() < excused:
                without.add(pull.id)
        campaign.access.do("tell", _report_all, told, frozenset(without))


def test_excuses_of_the_same_transaction_count_in_every_store(store):
    """All but the last failure of a batch say nothing of the arm: five batches, five failures."""
    problem = cutline.Problem(arms=["broken", "good"], **ASKED)
    campaign = Campaign(problem, budget=1_000, store=store)
    for _ in range(5):
        assert campaign.suspended() == {}
        pulls = campaign.ask(20)
        failed = [pull.id for pull in pulls if pull.arm == "broken"]
        told = [(p.id, None if p.arm == "broken" else 1.0, None, "x") for p in pulls]
        campaign.access.do("tell", _report_all, told, frozenset(failed[:-1]))
    assert campaign.suspended()["broken"].startswith("5 failures in a row, where 0 % of the others")
    found = audit(campaign)
    assert found.holds, found.faults


@pytest.mark.parametrize("share", [0.7, 0.9, 0.95])
def test_where_most_calls_fail_nobody_is_suspended(share):
    """Arms with five failures in a row are healthy then, and part of the comparison."""
    problem = cutline.Problem(arms=100, **ASKED)
    campaign = Campaign(problem, budget=10**6)
    play(campaign, share, 6_000, excused=0.2)
    assert campaign.suspended() == {}
    found = audit(campaign)
    assert found.holds, found.faults


def test_a_broken_arm_is_found_among_many_others_that_break_with_it():
    """30 of 60 arms break on the way, and do not excuse one another."""
    arms, broken = [f"arm {i}" for i in range(60)], {f"arm {i}" for i in range(30)}
    campaign = Campaign(cutline.Problem(arms=arms, **ASKED), budget=10**6)
    play(campaign, 0.0, 1_200)
    for _ in range(100):
        pulls = campaign.ask(20)
        campaign.tell_many([(pull, 1) for pull in pulls if pull.arm not in broken])
        for pull in pulls:
            if pull.arm in broken:
                campaign.fail(pull)
    assert set(campaign.suspended()) == broken
    assert audit(campaign).holds


def test_a_failure_looks_at_no_more_than_the_last_trials(monkeypatch):
    """However many failures there were: half of all trials, over five times as many as fit."""
    looked, before = [], memory._Game.history

    def history(game, seq):
        looked.append(game.head.pulls - seq - game.head.flying)
        return before(game, seq)

    monkeypatch.setattr(memory._Game, "history", history)
    campaign = Campaign(cutline.Problem(arms=2_000, **ASKED), budget=10**6)
    play(campaign, 0.5, 20_000)
    assert len(looked) > 100
    assert max(looked) == WINDOW


def test_suspensions_of_campaigns_made_before_stand_as_they_are_written(monkeypatch):
    """Whatever the rule was: here none of now."""
    monkeypatch.setattr("cutline.campaign.moves.suspending.FALSE_SUSPENSION", 1e9)
    store = MemoryStore()
    campaign = Campaign(cutline.Problem(arms=["a", "b"], **ASKED), budget=100, store=store)
    with store.begin("main", "add") as t:
        t.head.settings["suspension"] = 2
    while pull := campaign.ask():
        if pull.arm == "a":
            campaign.fail(pull)
        else:
            campaign.tell(pull, 1)
    assert set(campaign.suspended()) == {"a"}
    monkeypatch.undo()
    assert audit(campaign).holds
    with store.begin("main", "add") as t:
        t.head.settings["suspension"] = SUSPENSION
    assert not audit(campaign).holds


# Outages.


@pytest.mark.parametrize(("down", "arms"), [(2, 3), (6, 10), (8, 10)])
def test_where_most_arms_fail_at_once_none_is_suspended(down, arms, quick_outages):
    """The others go on meanwhile, and those that failed do when it is over."""
    begun, store = itertools.count(), MemoryStore()
    luck = random.Random(3)
    failed, back = [], threading.Event()

    def trial(arm):
        if next(begun) > 200 and arm < down and not back.is_set():
            failed.append(arm)
            if len(failed) == 60:
                back.set()
            raise ConnectionError("one of two networks is down")
        return luck.random() < 0.5

    names = {str(number): number for number in range(arms)}
    timer = threading.Timer(2.0, back.set)
    timer.start()
    identify(trial, names, budget=1_000, workers=4, store=store, **ASKED)
    timer.cancel()
    campaign = Campaign.open(store)
    assert campaign.suspended() == {}
    assert campaign.spent == 1_000
    assert audit(campaign).holds


def test_an_arm_that_breaks_where_most_work_is_suspended():
    begun, store = itertools.count(), MemoryStore()
    luck = random.Random(3)

    def trial(arm):
        if next(begun) > 200 and arm == "b":
            raise ConnectionError("gone")
        return luck.random() < 0.5

    with pytest.warns(RuntimeWarning, match="suspended: b"):
        identify(trial, ["a", "b", "c"], budget=600, workers=4, store=store, **ASKED)
    assert set(Campaign.open(store).suspended()) == {"b"}


def test_quick_failures_do_not_overtake_slow_rewards(caplog, monkeypatch):
    """A server that takes four calls at a time and turns the others away at once."""
    monkeypatch.setattr("cutline.campaign.runner.runner.SHOW_DOUBT", 0.0)
    under_way, store = [], MemoryStore()

    async def trial(arm):
        if len(under_way) >= 4:
            raise ConnectionError("429 too many requests")
        under_way.append(arm)
        try:
            await asyncio.sleep(0.1)
            return 1
        finally:
            under_way.pop()

    identify(trial, 20, budget=30, workers=8, store=store, **ASKED)
    assert Campaign.open(store).spent == 30
    assert "no trial has succeeded" in caplog.text
    assert "under way; last: ConnectionError: 429 too many requests" in caplog.text


@pytest.mark.parametrize("arms", [2, 100])
@pytest.mark.parametrize("worked", [1, 2, 3, 5])
def test_an_outage_after_the_first_few_trials_suspends_nobody(arms, worked, quick_outages):
    begun, store = itertools.count(), MemoryStore()

    def trial(arm):
        if next(begun) >= worked:
            raise ConnectionError("no network")
        return 1

    with pytest.warns(RuntimeWarning, match=r"all trials failed for .* last: ConnectionError"):
        identify(trial, arms, budget=1_000, workers=4, store=store, give_up_after=0.3, **ASKED)
    assert next(begun) < 200
    campaign = Campaign.open(store)
    assert campaign.suspended() == {}
    identify(lambda arm: 1, arms, budget=1_000, store=store, **ASKED)
    assert campaign.spent == 1_000
    assert audit(campaign).holds


@pytest.mark.parametrize("kind", ["threads", "coroutines"])
def test_an_outage_of_a_second_is_waited_out(kind, quick_outages, caplog):
    """All calls raise from 0.3 s on, for a second."""
    began = time.monotonic()

    def came(seed):
        if 0.3 <= time.monotonic() - began < 1.3:
            raise ConnectionError("no network")
        return random.Random(seed).random() < 0.7

    def call(arm, seed):
        time.sleep(0.01)
        return came(seed)

    async def later(arm, seed):
        await asyncio.sleep(0.01)
        return came(seed)

    store = MemoryStore()
    trial = call if kind == "threads" else later
    identify(trial, 5, budget=800, workers=8, store=store, **ASKED)
    assert time.monotonic() - began > 1.3
    waiting, over = (record.getMessage() for record in caplog.records)
    assert "waiting, with one trial at a time" in waiting
    assert over.startswith("trials work again after 1 s")
    campaign = Campaign.open(store)
    assert (campaign.suspended(), campaign.spent, campaign.in_flight) == ({}, 800, 0)
    assert sum(arm.counts.failed for arm in campaign.verdict().arms) < 60
    assert audit(campaign).holds


@pytest.mark.parametrize("failing", [3, 4])
@pytest.mark.parametrize("kind", ["threads", "coroutines"])
def test_where_most_of_a_few_arms_fail_at_once_it_is_waited(kind, failing, quick_outages, caplog):
    """All calls of some arms of five raise from 0.3 s on, for a second; the others work."""
    began = time.monotonic()

    def came(arm, seed):
        if arm < failing and 0.3 <= time.monotonic() - began < 1.3:
            raise ConnectionError("no network")
        return random.Random(seed).random() < 0.7

    def call(arm, seed):
        time.sleep(0.01)
        return came(arm, seed)

    async def later(arm, seed):
        await asyncio.sleep(0.01)
        return came(arm, seed)

    store = MemoryStore()
    trial = call if kind == "threads" else later
    identify(trial, {str(i): i for i in range(5)}, budget=900, workers=8, store=store, **ASKED)
    waiting, over = (record.getMessage() for record in caplog.records)
    assert "arms, most of those still tried, fail at once, where trials worked before" in waiting
    assert "waiting, with one trial at a time" in waiting
    assert over.startswith("the arms that failed work again after 1 s")
    campaign = Campaign.open(store)
    assert (campaign.suspended(), campaign.spent, campaign.in_flight) == ({}, 900, 0)
    assert sum(arm.counts.failed for arm in campaign.verdict().arms) < 60
    assert audit(campaign).holds


def test_where_most_of_a_few_arms_fail_for_too_long_it_is_given_up(quick_outages):
    begun, store = itertools.count(), MemoryStore()

    def trial(arm):
        time.sleep(0.001)
        if arm < 3 and next(begun) >= 20:
            raise ConnectionError("no network")
        return 1

    arms = {str(i): i for i in range(5)}
    with pytest.warns(RuntimeWarning, match=r"most arms failed for .* last: ConnectionError"):
        identify(trial, arms, budget=100_000, workers=4, store=store, give_up_after=0.5, **ASKED)
    campaign = Campaign.open(store)
    assert (campaign.suspended(), campaign.in_flight) == ({}, 0)
    assert campaign.spent < 100_000
    assert audit(campaign).holds


@pytest.mark.parametrize("works", [0, 20])
def test_failures_that_stand_for_a_reward_neither_suspend_nor_wait(works, caplog):
    begun, store = itertools.count(), MemoryStore()

    def trial(arm):
        if next(begun) >= works:
            raise TimeoutError
        return 1

    began = time.monotonic()
    identify(trial, 3, budget=300, workers=4, lost=0, store=store, **ASKED)
    assert time.monotonic() - began < 10
    assert not caplog.records
    campaign = Campaign.open(store)
    assert (campaign.suspended(), campaign.spent, next(begun)) == ({}, 300, 300)


@pytest.mark.parametrize("arms", [1, 3, 50])
def test_one_worker_where_nothing_works(arms):
    tried = []
    with pytest.raises(NothingWorks), pytest.warns(RuntimeWarning):
        identify(tried.append, arms, budget=100, **ASKED)
    assert len(tried) == 10
    assert len(set(tried)) == min(arms, 10)


# Workers elsewhere.


class TwoWorkers(Executor):
    """Makes trials of one arm by one worker, and all others by another."""

    _max_workers = 1

    def submit(self, fn, call):
        outcome, future = fn(call), Future()
        worker = "sick" if call.value == "a" else "well"
        future.set_result(outcome._replace(worker=worker))
        return future


def test_failures_of_a_worker_that_fails_all_do_not_suspend_the_arm_it_made(caplog):
    """All of them are of one arm: without an excuse it would be the arm."""

    def trial(arm, seed):
        if arm == "a":
            raise OSError("no GPU here")
        return random.Random(seed).random() < 0.7

    store = MemoryStore()
    identify(trial, ["a", "b", "c"], budget=200, executor=TwoWorkers(), store=store, **ASKED)
    campaign = Campaign.open(store)
    assert (campaign.suspended(), campaign.spent) == ({}, 200)
    assert campaign.verdict()["a"].counts.failed > 20
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("worker sick fails all its trials: ")
    assert said.endswith("its failures suspend no arm; last: OSError: no GPU here")
    assert audit(campaign).holds


WORKER = """
import logging, random, sys, time
from cutline.campaign import identify
from cutline.campaign.runner import outage

outage.PAUSES = (0.05, 0.2)
logging.basicConfig(format="%(message)s")

def trial(arm, seed):
    if sys.argv[2] == "sick":
        raise OSError("no GPU here")
    time.sleep(0.01)
    return random.Random(seed).random() < 0.7

identify(trial, 3, budget=300, workers=2, store=sys.argv[1], threshold=0.5, precision=0.05,
         rewards="binary")
"""


def test_another_process_that_fails_all_is_named_there_and_suspends_nobody(address):
    command = [sys.executable, "-c", WORKER, address]
    with subprocess.Popen([*command, "well"]) as well:
        ask = {"budget": 300, "store": address}
        campaign = Campaign(cutline.Problem(arms=3, **ASKED), lease=60, **ask)
        until = time.monotonic() + 30
        while campaign.spent < 20:
            assert time.monotonic() < until
            time.sleep(0.01)
        sick = subprocess.run([*command, "sick"], stderr=subprocess.PIPE, text=True, timeout=60)
        assert well.wait(60) == 0
    assert sick.returncode == 0
    assert "fails all its trials: " in sick.stderr
    assert "its failures suspend no arm; last: OSError: no GPU here" in sick.stderr
    assert (campaign.suspended(), campaign.spent) == ({}, 300)
    assert audit(campaign).holds
    campaign.store.release()


# Where the system gives no more.

LIMITED = """
import resource, sys, threading, time
from cutline.campaign import Campaign, MemoryStore, identify
from cutline.cli import main

threading.stack_size(2**26)
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 2**30, now + 2**30))
if sys.argv[1:]:
    main()

store = MemoryStore()
identify(lambda arm: time.sleep(0.2) or 1, 3, budget=999, workers=200, store=store, threshold=0.5,
         precision=0.05, rewards="binary")
print(Campaign.open(store).in_flight)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory by what is used now")
@pytest.mark.parametrize("words", ["", "run --arms a,b --at-least 0.5 --budget 999 --workers 200"])
def test_threads_that_cannot_be_started_end_it_with_a_sentence(words, tmp_path):
    command = [*words.split(), "--", "sleep", "0.2"] if words else []
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, *command],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "the system starts no thread beside " in ran.stderr
    assert ": use fewer workers" in ran.stderr
    assert "Traceback" not in ran.stderr
    if words:
        assert ran.returncode == 2
        assert Campaign.open(str(tmp_path / "cutline.db")).in_flight == 0
    else:
        assert (ran.returncode, ran.stdout) == (0, "0\n")
