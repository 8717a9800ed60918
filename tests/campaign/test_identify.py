"""A function that makes trials, driven by threads, processes, coroutines and a Dask cluster."""

import asyncio
import functools
import io
import itertools
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
import suspensions

import cutline
from cutline.campaign import Campaign, MemoryStore, NothingWorks, Progress, Pull, audit, identify
from cutline.campaign.records import STATES
from cutline.campaign.stores.sqlite import SQLiteStore
from cutline.core.chance import seed_key

COINS = {"low": 0.1, "fair": 0.5, "high": 0.9}
ASKED = {"threshold": 0.7, "precision": 0.05, "rewards": "binary"}

# What other processes import: they know nothing of this file.
TRIALS = """
import os, pathlib, random, signal, time

def toss(bias, seed):
    return random.Random(seed).random() < bias

def sign(value, pull):
    folder, bias = value
    with open(f"{folder}/{pull.id}", "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(0.01)
    return random.Random(pull.seed).random() < bias

def same(folder):
    pathlib.Path(folder, str(time.perf_counter_ns())).touch()
    return 1

def call(value):
    function, argument = value
    return function(argument)

async def later(bias, seed):
    return toss(bias, seed)

class Picky(Exception):
    def __init__(self, *, reason):
        super().__init__(reason)

def pick(bias, seed):
    if seed % 3 == 0:
        raise Picky(reason="one in three")
    return toss(bias, seed)

def sick(value, pull):
    folder, bias = value
    mark = pathlib.Path(folder, "sick")
    if int(pull.id.partition("-")[0]) == 20:
        mark.write_text(str(os.getpid()))
    if mark.exists() and mark.read_text() == str(os.getpid()):
        raise OSError("no GPU here")
    time.sleep(0.002)
    return toss(bias, pull.seed)

def die(value, pull):
    folder, bias = value
    mark = pathlib.Path(folder, "died")
    if pull.number == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return toss(bias, pull.seed)
"""


def toss(bias, seed):
    return random.Random(seed).random() < bias


def wait_for(what, seconds=30.0):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.01)


def our_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("cutline")]


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    yield
    wait_for(lambda: not our_threads(), 5.0)


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    """A module that any process of ours can import."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "trials_of_identify.py").write_text(TRIALS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        import trials_of_identify

        yield trials_of_identify
    sys.modules.pop("trials_of_identify", None)


@pytest.fixture(scope="module")
def processes(trials):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def rows(campaign):
    """All pulls."""
    return campaign.access.do("look", lambda t, terms: list(t.since(0)))


def check_whole(campaign, budget):
    """The budget is spent exactly, nothing is under way, and everything follows."""
    assert campaign.spent == budget
    assert campaign.in_flight == 0
    assert sum(row.cost for row in rows(campaign) if row.reward is not None) == budget
    found = audit(campaign)
    assert found.holds, found.faults


# What it does with threads.


@pytest.mark.parametrize("workers", [1, 8])
def test_it_finds_the_side_of_every_arm(workers):
    store = MemoryStore()
    verdict = identify(toss, COINS, budget=500, workers=workers, store=store, **ASKED)
    assert (verdict.above, verdict.below) == (("high",), ("low", "fair"))
    check_whole(Campaign.open(store), 500)


def test_one_worker_makes_the_choices_of_ask_and_tell():
    store = MemoryStore()
    identify(toss, COINS, budget=200, seed=3, store=store, **ASKED)
    campaign = Campaign(cutline.Problem(arms=COINS, **ASKED), budget=200, seed=3)
    while pull := campaign.ask():
        campaign.tell(pull, toss(COINS[pull.arm], pull.seed))
    ours, theirs = (rows(c) for c in (Campaign.open(store), campaign))
    assert [(row.arm, row.reward) for row in ours] == [(row.arm, row.reward) for row in theirs]


def test_a_confidence_ends_it_too():
    verdict = identify(toss, COINS, confidence=0.95, workers=4, **ASKED)
    assert verdict.undecided == ()
    assert verdict.error_bound <= 0.05


def test_a_new_pull_begins_as_soon_as_one_returns():
    """One trial returns only when ten others have begun after it: with a barrier it never does."""
    begun, enough = itertools.count(), threading.Event()

    def trial(arm, pull):
        if (arm, pull.number) == ("a", 1):
            assert enough.wait(20)
        elif next(begun) == 12:
            enough.set()
        return 1

    store = MemoryStore()
    identify(trial, ["a", "b"], budget=30, workers=2, store=store, **ASKED)
    assert enough.is_set()
    campaign = Campaign.open(store)
    check_whole(campaign, 30)
    assert {STATES[row.state] for row in rows(campaign)} == {"told"}


def test_as_many_trials_as_workers_are_under_way_and_never_more():
    together, store = threading.Barrier(4), MemoryStore()
    under_way, asked = [], []

    def trial(arm):
        under_way.append(1)
        asked.append(Campaign.open(store).in_flight)
        if len(asked) <= 4:
            together.wait(20)
        assert len(under_way) <= 4
        under_way.pop()
        return 1

    verdict = identify(trial, 6, budget=60, workers=4, store=store, **ASKED)
    assert max(asked) == 4
    assert sum(arm.counts.failed for arm in verdict.arms) == 0


def test_the_function_gets_the_name_or_the_value_and_what_it_asks_for():
    got = {}

    def by_name(arm):
        got.setdefault("names", set()).add(arm)
        return 1

    def by_value(value, temperature=0.5, *, seed, pull):
        got.setdefault("values", set()).add(value)
        got.setdefault("seeds", []).append(seed)
        assert (temperature, seed) == (0.5, pull.seed)
        return 1

    identify(by_name, 2, budget=6, **ASKED)
    identify(by_value, {"a": (1, 2), "b": None}, budget=40, **ASKED)
    assert got["names"] == {"0", "1"}
    assert got["values"] == {(1, 2), None}
    assert len(set(got["seeds"])) == 40


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        (lambda: 1, "too many positional"),
        (lambda arm, model: 1, "missing a required argument: 'model'"),
        ("toss", "must be a function"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused_at_once(fn, said):
    with pytest.raises(TypeError, match=said):
        identify(fn, ["a"], budget=5, **ASKED)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"workers": 0}, "workers must be"),
        ({"workers": True}, "workers must be"),
        ({"timeout": 0}, "timeout is a number of seconds"),
        ({"timeout": float("nan")}, "timeout is a number of seconds"),
        ({"lease": 0}, "a lease is"),
    ],
)
def test_wrong_numbers_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        identify(toss, COINS, budget=5, **ASKED, **wrong)
    with pytest.raises(TypeError, match="submit"):
        identify(toss, COINS, budget=5, executor=4, **ASKED)


# Functions that fail.


def test_an_exception_is_a_failed_pull_and_the_loop_goes_on():
    def trial(arm, pull):
        if pull.number % 3 == 2:
            raise OSError(f"no answer\0 for {arm}\udc80")
        return 1

    store = MemoryStore()
    verdict = identify(trial, ["a", "b"], budget=40, workers=4, store=store, **ASKED)
    campaign = Campaign.open(store)
    check_whole(campaign, 40)
    failed = [row for row in rows(campaign) if STATES[row.state] == "failed"]
    assert len(failed) > 10
    assert all(row.nth % 3 == 2 for row in failed)
    # In characters that every store takes.
    assert {row.note for row in failed} == {rf"OSError: no answer\0 for {arm}?" for arm in "ab"}
    assert verdict.unmeasured == ()


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(3), KeyboardInterrupt()])
def test_an_arm_that_always_fails_is_suspended_and_the_others_go_on(error):
    def trial(arm):
        if arm == "bad":
            raise error
        return 1

    store = MemoryStore()
    reason = r"suspended: bad \(\d+ failures in a row, where 0 % of the others' trials fail; last: "
    with pytest.warns(RuntimeWarning, match=reason + type(error).__name__):
        verdict = identify(
            trial, ["good", "bad", "fine"], budget=100, workers=4, store=store, **ASKED
        )
    assert verdict.unmeasured == ("bad",)
    assert 5 <= verdict["bad"].counts.failed <= 20
    check_whole(Campaign.open(store), 100)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), 2, -1, "1", [1], object()])
def test_what_is_no_reward_is_a_failed_pull(value):
    store = MemoryStore()
    trial = {"good": 1, "bad": value}.get
    with pytest.warns(RuntimeWarning) as warned:
        verdict = identify(lambda arm: trial(arm), ["good", "bad"], budget=80, store=store, **ASKED)
    assert verdict.unmeasured == ("bad",)
    campaign = Campaign.open(store)
    check_whole(campaign, 80)
    notes = [row.note for row in rows(campaign) if STATES[row.state] == "failed"]
    assert len(notes) >= 5
    assert all("reward" in note for note in notes)
    texts = [str(each.message) for each in warned]
    assert (
        [text[:30] for text in texts]
        == [
            "the function returned what is ",  # once
            texts[1][:30],
        ]
    )
    assert texts[1].startswith("suspended: bad (")


@pytest.mark.parametrize("arms", [1, 3, 10, 50])
def test_where_nothing_ever_works_it_stops_with_the_error(arms):
    """After a failure each of ten arms; of fewer arms, after ten failures."""
    store, tried = MemoryStore(), []
    reason = "ValueError: a reward must be a number, got None"
    for _ in range(2):  # and again: nothing was lost, and no arm was suspended
        tried.clear()
        with (
            pytest.warns(RuntimeWarning, match="no reward"),
            pytest.raises(
                NothingWorks, match=rf"no trial has succeeded: all \d+ .* with: {reason}"
            ),
        ):
            identify(tried.append, arms, budget=100, workers=3, store=store, **ASKED)
        assert 10 <= len(tried) <= 24  # those tried least come first, and three go on meanwhile
        assert len(set(tried)) >= min(arms, 10)
    campaign = Campaign.open(store)
    assert campaign.in_flight == 0
    assert campaign.suspended() == {}
    identify(lambda arm: 1, arms, budget=100, store=store, **ASKED)
    check_whole(campaign, 100)


def test_lost_says_what_a_failed_pull_stands_for():
    def trial(arm):
        raise TimeoutError

    verdict = identify(trial, ["a"], budget=20, lost=0, **ASKED)
    assert verdict["a"].pulls == 20
    assert verdict["a"].mean == 0


def test_an_arm_that_hangs_does_not_stop_the_others():
    let_go = threading.Event()

    def trial(arm):
        if arm == "stuck":
            let_go.wait(60)
        return 1

    store = MemoryStore()
    try:
        with pytest.warns(RuntimeWarning, match=r"stuck \(.*last: no result after 0\.2 s\)"):
            verdict = identify(
                trial, ["a", "stuck", "b"], budget=60, workers=2, timeout=0.2, store=store, **ASKED
            )
        assert verdict.unmeasured == ("stuck",)
        check_whole(Campaign.open(store), 60)
        assert len(our_threads()) >= 5  # nothing can end them but themselves
    finally:
        let_go.set()
    wait_for(lambda: not our_threads())
    assert Campaign.open(store).spent == 60  # what they return counts no more


def test_an_executor_whose_places_all_hang_ends_it():
    let_go = threading.Event()

    def trial(arm, pull):
        return True if pull.number < 3 else let_go.wait(60)

    with ThreadPoolExecutor(2) as pool:
        try:
            with pytest.warns(RuntimeWarning, match="2 places are held by trials that do not"):
                verdict = identify(
                    trial,
                    ["a", "b"],
                    budget=50,
                    executor=pool,
                    timeout=0.1,
                    **ASKED,
                )
        finally:
            let_go.set()
    assert [arm.pulls for arm in verdict.arms] == [3, 3]


def test_a_place_that_comes_free_again_is_used_again():
    """Late by half the time that is given, and yet the executor is not given up."""

    def trial(arm, pull):
        if pull.number == 0:
            time.sleep(0.6)
        return 1

    store = MemoryStore()
    with ThreadPoolExecutor(2) as pool:
        identify(trial, ["a", "b"], budget=30, executor=pool, timeout=0.4, store=store, **ASKED)
    check_whole(Campaign.open(store), 30)


def test_a_long_trial_is_kept_by_heartbeats():
    def trial(arm, pull):
        if pull.number == 1:
            time.sleep(2.0)
        return 1

    store = MemoryStore()
    identify(trial, ["a", "b"], budget=20, workers=4, lease=0.6, store=store, **ASKED)
    campaign = Campaign.open(store)
    assert len(rows(campaign)) == 20  # none was given up and asked for again
    check_whole(campaign, 20)


@pytest.mark.parametrize("broken", [False, True], ids=["none", "one"])
@pytest.mark.parametrize("share", [0.1, 0.4])
@pytest.mark.parametrize(("kind", "workers"), [("threads", 32), ("coroutines", 512)])
def test_calls_that_fail_by_chance_suspend_nobody(kind, workers, share, broken):
    """Three campaigns each; tools/suspensions.py plays a hundred. Failures are the quicker ones."""
    for seed in range(3):
        found, _ = suspensions.play(share, workers, kind, broken, seed)
        assert found == ({suspensions.BROKEN} if broken else set())


def test_runs_of_failures_are_counted_in_the_order_asked_for():
    """Time-outs come after all rewards asked for at the same time, one after another."""
    store = MemoryStore()
    campaign = Campaign(cutline.Problem(arms=["a", "b"], **ASKED), budget=600, store=store)
    for _ in range(10):
        pulls = campaign.ask(50)
        slow = [pull for pull in pulls if pull.number % 5 == 1]
        campaign.tell_many([(pull, 1) for pull in pulls if pull not in slow])
        for pull in sorted(slow, key=lambda pull: pull.arm):
            campaign.fail(pull)
    assert campaign.suspended() == {}
    assert audit(campaign).holds


@pytest.fixture
def quick_outages(monkeypatch):
    monkeypatch.setattr("cutline.campaign.runner.outage.PAUSES", (0.05, 0.2))


@pytest.mark.parametrize("workers", [1, 8, 64])
def test_an_outage_is_waited_out_and_suspends_nobody(workers, quick_outages, caplog):
    begun, back = itertools.count(), threading.Event()
    tries = []

    def trial(bias, seed):
        if next(begun) >= 100 and not back.is_set():
            tries.append(time.monotonic())
            if len(tries) == 200:
                back.set()
            raise ConnectionError("no network")
        return toss(bias, seed)

    timer = threading.Timer(2.0, back.set)
    timer.start()
    store = MemoryStore()
    identify(trial, COINS, budget=400, workers=workers, store=store, **ASKED)
    assert len(tries) < 120  # and not as fast as it can
    began, over = (record.getMessage() for record in caplog.records)
    assert "one after another, where trials worked before: waiting, with one trial at" in began
    assert began.endswith("for up to 30 min; last: ConnectionError: no network")
    assert over.startswith("trials work again after ")
    campaign = Campaign.open(store)
    assert campaign.suspended() == {}
    check_whole(campaign, 400)


def test_an_outage_that_lasts_is_given_up_and_the_same_call_goes_on(quick_outages, caplog):
    begun, store = itertools.count(), MemoryStore()

    def trial(bias, seed):
        if next(begun) >= 60:
            raise ConnectionError("no network")
        return toss(bias, seed)

    ask = functools.partial(identify, arms=COINS, budget=200, store=store, workers=4, **ASKED)
    with pytest.warns(RuntimeWarning, match="all trials failed for 1 s.*last: ConnectionError"):
        verdict = ask(trial, give_up_after=0.6)
    assert verdict.unmeasured == ()
    campaign = Campaign.open(store)
    assert (campaign.in_flight, campaign.spent) == (0, 60)
    ask(toss)
    check_whole(campaign, 200)


def test_the_same_call_tries_suspended_arms_again():
    store, mended = MemoryStore(), threading.Event()

    def trial(bias, seed):
        if bias == 0.1 and not mended.is_set():
            raise OSError
        return toss(bias, seed)

    with pytest.warns(RuntimeWarning, match="suspended: low"):
        identify(trial, COINS, budget=200, store=store, **ASKED)
    mended.set()
    Campaign.open(store).extend(to=300)
    assert identify(trial, COINS, budget=200, store=store, **ASKED).below == ("low", "fair")
    check_whole(Campaign.open(store), 300)


def test_a_worker_that_fails_all_is_named_and_suspends_nobody(trials, tmp_path, caplog):
    """One of two processes fails at once from then on, the other is slower and works."""
    arms = {name: (str(tmp_path), bias) for name, bias in COINS.items()}
    store = MemoryStore()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        identify(trials.sick, arms, budget=150, executor=pool, store=store, **ASKED)
    campaign = Campaign.open(store)
    assert campaign.suspended() == {}
    check_whole(campaign, 150)
    sick = (tmp_path / "sick").read_text()
    lines = [record.getMessage() for record in caplog.records]
    assert any(f":{sick} fails all its trials: " in line for line in lines)
    assert all("no GPU here" in line for line in lines if "fails all" in line)


class InTurn(Executor):
    """Hands back what came of a first batch at once, in an odd order; then one by one."""

    def __init__(self, batch):
        self.batch, self.waiting, self.came = batch, [], []

    def submit(self, fn, call):
        mine = Future()
        self.waiting.append((mine, fn, call))
        if len(self.waiting) == self.batch:
            odd = sorted(self.waiting[:-1], key=lambda each: each[2].key[::-1])
            for future, fn, call in (*odd, self.waiting[-1]):  # nobody listens to the last yet
                self.came.append(call.key)
                future.set_result(fn(call))
            self.waiting, self.batch = [], 1
        return mine


def test_outcomes_are_settled_in_the_order_in_which_they_came():
    """Rewards and failures mixed: failures after the rewards of a batch would be in a row."""

    def trial(arm, pull):
        if pull.seed % 2:
            raise OSError
        return 1

    store, pool = MemoryStore(), InTurn(16)
    identify(
        trial, ["a", "b"], budget=32, workers=16, executor=pool, patience=99, store=store, **ASKED
    )
    settled = sorted(rows(Campaign.open(store)), key=lambda row: row.settled)
    assert [row.id for row in settled] == pool.came
    kinds = "".join("+" if STATES[row.state] == "told" else "-" for row in settled[:16])
    assert "+-" in kinds
    assert "-+" in kinds


# Coroutines.


def test_coroutines_are_awaited_as_many_at_once_as_there_are_workers():
    under_way, most = [], []

    async def trial(bias, seed):
        under_way.append(1)
        most.append(len(under_way))
        for _ in range(5):
            await asyncio.sleep(0)
        under_way.pop()
        return toss(bias, seed)

    store = MemoryStore()
    verdict = identify(trial, COINS, budget=500, workers=8, store=store, **ASKED)
    assert verdict.above == ("high",)
    assert max(most) == 8
    check_whole(Campaign.open(store), 500)


def test_coroutines_from_inside_a_running_loop():
    async def trial(bias, seed):
        await asyncio.sleep(0)
        return toss(bias, seed)

    async def notebook():
        return identify(trial, COINS, budget=300, workers=4, **ASKED)

    assert asyncio.run(notebook()).above == ("high",)


async def answer(bias, seed, where):
    where.add(threading.current_thread().name)
    return toss(bias, seed)


def test_whatever_gives_a_coroutine_will_do():
    loop, threads = set(), set()

    class Answer:
        async def __call__(self, bias, seed):
            return await answer(bias, seed, loop)

    ways = [
        Answer(),
        functools.partial(answer, where=loop),
        lambda bias, seed: answer(bias, seed, threads),
    ]
    for fn in ways:
        assert identify(fn, COINS, budget=300, workers=2, **ASKED).above == ("high",)
    assert loop == {"cutline event loop"}
    assert threads == {"cutline trial"}  # not known for a coroutine before it is called


def test_coroutines_that_fail_or_hang():
    under_way, most = [], []

    async def trial(arm):
        if arm == "bad":
            raise SystemExit(1)
        if arm == "stuck":
            under_way.append(arm)
            most.append(len(under_way))
            try:
                await asyncio.sleep(60)
            finally:
                under_way.pop()
        return 1

    store = MemoryStore()
    with pytest.warns(RuntimeWarning, match="suspended"):
        verdict = identify(
            trial, ["a", "bad", "stuck"], budget=30, workers=3, timeout=0.2, store=store, **ASKED
        )
    assert verdict.unmeasured == ("bad", "stuck")
    assert len(most) == verdict["stuck"].counts.failed >= 5
    assert max(most) <= 3  # each was cancelled in its time
    assert under_way == []
    check_whole(Campaign.open(store), 30)


# Processes.


def test_processes(trials, processes, tmp_path):
    store = MemoryStore()
    arms = {name: (str(tmp_path), bias) for name, bias in COINS.items()}
    verdict = identify(trials.sign, arms, budget=100, executor=processes, store=store, **ASKED)
    assert verdict.above == ("high",)
    campaign = Campaign.open(store)
    check_whole(campaign, 100)
    made = {row.id: (tmp_path / row.id).read_text().split() for row in rows(campaign)}
    assert all(len(each) == 1 for each in made.values())
    assert len({each[0] for each in made.values()} - {str(os.getpid())}) == 2


def test_errors_that_do_not_survive_the_way_back_break_nothing(trials, processes):
    store = MemoryStore()
    identify(trials.pick, COINS, budget=60, executor=processes, patience=50, store=store, **ASKED)
    campaign = Campaign.open(store)
    check_whole(campaign, 60)
    notes = {row.note for row in rows(campaign) if STATES[row.state] == "failed"}
    assert notes == {"trials_of_identify.Picky: one in three"}


def test_a_coroutine_function_in_processes(trials, processes):
    assert identify(trials.later, COINS, budget=200, executor=processes, **ASKED).above == ("high",)


def test_what_cannot_be_sent_to_a_process_fails(processes):
    with pytest.raises(NothingWorks, match="pickle"):
        identify(lambda arm: 1, ["a", "b"], budget=9, executor=processes, **ASKED)


def test_a_pool_that_breaks_ends_the_call_and_the_next_one_goes_on(trials, tmp_path):
    arms = {name: (str(tmp_path), bias) for name, bias in COINS.items()}
    path = tmp_path / "store.db"
    spawn = multiprocessing.get_context("spawn")
    ask = functools.partial(identify, trials.die, arms, budget=80, store=path, patience=1, **ASKED)
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        with pytest.warns(RuntimeWarning, match="BrokenProcessPool.*the verdict so far"):
            verdict = ask(executor=pool)
        assert verdict.unmeasured == ()  # no arm is to blame
        with pytest.warns(RuntimeWarning, match="the verdict so far"):
            ask(executor=pool)
    with Campaign.open(str(path)) as campaign:
        assert 0 < campaign.spent < 80
        assert campaign.in_flight == 0
        with ProcessPoolExecutor(2, mp_context=spawn) as pool:
            verdict = ask(executor=pool)
        assert verdict.unmeasured == ()
        check_whole(campaign, 80)


def test_any_executor_whose_places_are_not_known():
    class Own(ThreadPoolExecutor):
        def __init__(self):
            super().__init__(3)
            self._places, self._max_workers = self._max_workers, None

        def submit(self, *arguments):
            self._max_workers = self._places
            future = super().submit(*arguments)
            self._max_workers = None
            return future

    with Own() as pool:
        assert identify(toss, COINS, budget=300, executor=pool, **ASKED).above == ("high",)
    with pytest.warns(RuntimeWarning, match="after shutdown"):
        assert identify(toss, COINS, budget=300, executor=pool, **ASKED).above == ()


# A Dask cluster.


@pytest.fixture(scope="module")
def client(trials):
    """A cluster of two processes with two threads each, on this machine alone."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as made,
    ):
        yield made


def test_a_dask_cluster(trials, client, tmp_path):
    """As an executor and as a client; equal calls are not answered from Dask's memory."""
    store = MemoryStore()
    ask = functools.partial(identify, store=store, budget=40, **ASKED)
    ask(trials.same, {"a": str(tmp_path)}, executor=client.get_executor(), name="same")
    assert len([path for path in tmp_path.iterdir() if path.name.isdecimal()]) == 40
    check_whole(Campaign.open(store, "same"), 40)
    # Dask takes a tuple that begins with a function for something to be called.
    verdict = ask(trials.call, {"a": (len, "x"), "b": (len, "")}, executor=client, name="tuple")
    assert (verdict.above, verdict.below) == (("a",), ("b",))


def test_a_dask_worker_that_fails_all_is_named_and_suspends_nobody(
    trials, client, tmp_path, caplog
):
    arms = {name: (str(tmp_path), bias) for name, bias in COINS.items()}
    store = MemoryStore()
    identify(trials.sick, arms, budget=150, executor=client, store=store, **ASKED)
    campaign = Campaign.open(store)
    assert campaign.suspended() == {}
    check_whole(campaign, 150)
    sick = (tmp_path / "sick").read_text()
    assert any(f":{sick} fails all its trials: " in each.getMessage() for each in caplog.records)


def test_a_dask_worker_that_is_killed_costs_nothing(trials, client, tmp_path):
    """PEERS 18: trials may be made again elsewhere, and each pull still counts once."""
    arms = {name: (str(tmp_path), bias) for name, bias in COINS.items()}
    victim, _ = client.run(os.getpid).values()
    killed = threading.Event()

    def kill():
        wait_for(lambda: len(list(tmp_path.glob("*-*"))) > 60)
        os.kill(victim, signal.SIGKILL)
        killed.set()

    killer = threading.Thread(target=kill)
    killer.start()
    path = tmp_path / "store.db"
    verdict = identify(
        trials.sign, arms, budget=200, executor=client.get_executor(), store=path, **ASKED
    )
    killer.join()
    assert verdict.above == ("high",)
    with Campaign.open(str(path)) as campaign:
        check_whole(campaign, 200)
        told = [row for row in rows(campaign) if STATES[row.state] == "told"]
        assert len(told) == 200
        after = [row.id for row in told if str(victim) not in (tmp_path / row.id).read_text()]
        assert len(after) > 80  # the others went on
        for row in told:  # what counts is what any run of the trial gives
            pull = Pull(row.id, "", row.nth, 1, 0.0, (*seed_key(0), row.arm))
            assert row.reward == toss(list(COINS.values())[row.arm], pull.seed)


# Arms that are proven.


@pytest.fixture
def eager_watch(monkeypatch):
    """Look after every tell, however quick the trials are."""
    monkeypatch.setattr(sys.modules["cutline.campaign.runner.lookout"], "SHARE", 0)


@pytest.mark.parametrize("ends", [{"budget": 400}, {"confidence": 0.9}], ids=["budget", "sure"])
def test_on_proven_is_called_once_an_arm_as_soon_as_it_is_settled(ends, eager_watch):
    # When each arm is settled, by hand.
    campaign = Campaign(cutline.Problem(arms=COINS, **ASKED), seed=5, **ends)
    wanted = {}
    while pull := campaign.ask():
        campaign.tell(pull, toss(COINS[pull.arm], pull.seed))
        for arm in campaign.verdict().arms:
            if arm.proven:
                wanted.setdefault(arm.arm, (arm.proven, arm.pulls, arm.p_value))
    assert len(wanted) == 3

    told, threads = [], set()

    def on_proven(arm):
        told.append(arm)
        threads.add(threading.current_thread())

    verdict = identify(toss, COINS, seed=5, on_proven=on_proven, **ends, **ASKED)
    assert {a.arm: (a.proven, a.pulls, a.p_value) for a in told} == wanted
    assert len(told) == 3
    assert threads == {threading.current_thread()}
    assert {a.arm: a.proven for a in told} == {a.arm: a.proven for a in verdict.arms}


def test_on_proven_with_many_workers_is_called_once_an_arm():
    told = []
    identify(toss, COINS, budget=2_000, workers=8, on_proven=lambda a: told.append(a.arm), **ASKED)
    assert sorted(told) == sorted(COINS)


def test_on_proven_begins_with_the_arms_that_were_proven_before():
    store = MemoryStore()
    identify(toss, COINS, budget=400, store=store, **ASKED)
    Campaign.open(store).extend(budget=10)
    told = []

    def trial(bias, seed):
        assert len(told) == 3
        return toss(bias, seed)

    identify(trial, COINS, budget=400, store=store, on_proven=told.append, **ASKED)
    assert len(told) == 3
    assert Campaign.open(store).spent == 410


def test_an_error_in_on_proven_is_the_callers_and_gives_back_what_is_under_way():
    def on_proven(arm):
        raise LookupError(arm.arm)

    store = MemoryStore()
    with pytest.raises(LookupError):
        identify(
            toss, COINS, budget=900, workers=4, patience=1, store=store, on_proven=on_proven,
            **ASKED,
        )  # fmt: skip
    campaign = Campaign.open(store)
    assert campaign.in_flight == 0
    assert campaign.verdict().unmeasured == ()
    assert audit(campaign).holds


# Ctrl-C, crashes, and several processes.

SCRIPT = """
import json, os, random, sys, time
import cutline

path, pause, options = sys.argv[1], float(sys.argv[2]), json.loads(sys.argv[3])

def trial(bias, seed):
    time.sleep(pause)
    return random.Random(seed).random() < bias

verdict = cutline.identify(
    trial, {"low": 0.1, "fair": 0.5, "high": 0.9}, threshold=0.7, precision=0.05,
    rewards="binary", store=path, **options,
)
print(json.dumps({"pulls": [arm.pulls for arm in verdict.arms]}))
"""


@pytest.fixture
def start():
    """Start a process that plays; none is left."""
    started = []

    def begin(path, pause, **options):
        command = [sys.executable, "-c", SCRIPT, str(path), str(pause), json.dumps(options)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def spent_at_least(path, pulls):
    """Whether a campaign in a file has come so far."""
    if not path.exists():
        return False
    store = SQLiteStore(path)
    try:
        heads = store.heads()
    finally:
        store.release()
    return bool(heads) and heads[0].spent >= pulls and heads[0].flying > 0


def test_ctrl_c_returns_the_verdict_so_far_and_the_next_call_goes_on(start, tmp_path):
    path = tmp_path / "store.db"
    options = {"budget": 200, "workers": 6, "patience": 1}
    process = start(path, 0.1, **options)
    wait_for(lambda: spent_at_least(path, 12))
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")
    with Campaign.open(str(path)) as campaign:
        spent = campaign.spent
        assert sum(json.loads(out)["pulls"]) == spent < 200
        assert campaign.in_flight == 0  # nothing waits for a lease
        given_back = [row for row in rows(campaign) if STATES[row.state] == "returned"]
        assert {row.note for row in given_back} == {"given back: interrupted"}
        assert campaign.verdict().unmeasured == ()  # no arm is to blame
        began = time.monotonic()
        identify(toss, COINS, store=path, **options, **ASKED)
        assert time.monotonic() - began < 20
        check_whole(campaign, 200)


def test_what_ctrl_c_leaves_under_way_counts_for_nothing(start, tmp_path):
    path = tmp_path / "store.db"
    process = start(path, 0.5, budget=200, workers=6, lost=0)
    wait_for(lambda: spent_at_least(path, 6))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 0
    with Campaign.open(str(path)) as campaign:
        found = [row for row in rows(campaign) if STATES[row.state] == "returned"]
        assert found
        assert {row.reward for row in found} == {None}
        assert campaign.in_flight == 0


def test_ctrl_c_is_as_it_was_afterwards():
    before = signal.getsignal(signal.SIGINT)
    identify(toss, COINS, budget=20, **ASKED)
    assert signal.getsignal(signal.SIGINT) is before

    def trial(arm, pull):
        if pull.number == 3:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.5)
        return 1

    store = MemoryStore()
    verdict = identify(trial, ["a"], budget=20, store=store, **ASKED)
    assert verdict["a"].pulls == 3
    assert signal.getsignal(signal.SIGINT) is before


def test_after_a_kill_the_next_call_goes_on(start, tmp_path):
    path = tmp_path / "store.db"
    options = {"budget": 150, "workers": 4, "lease": 1.0}
    process = start(path, 0.02, **options)
    wait_for(lambda: spent_at_least(path, 20))
    process.kill()
    process.wait()
    with Campaign.open(str(path)) as campaign:
        spent, flying = campaign.spent, campaign.in_flight
        assert spent < 150
        identify(toss, COINS, store=path, **options, **ASKED)
        check_whole(campaign, 150)
        lost = [row for row in rows(campaign) if STATES[row.state] == "lost"]
        assert len(lost) == flying


def test_several_processes_play_one_campaign(start, tmp_path):
    path = tmp_path / "store.db"
    options = {"budget": 300, "workers": 3}
    processes = [start(path, 0.005, **options) for _ in range(2)]
    for process in processes:
        out, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
        assert sum(json.loads(out)["pulls"]) == 300
    with Campaign.open(str(path)) as campaign:
        check_whole(campaign, 300)
        assert {STATES[row.state] for row in rows(campaign)} == {"told"}


def test_it_plays_on_every_durable_store(address):
    def trial(bias, pull):
        if pull.number % 4 == 3:
            raise OSError("no answer\0")
        return toss(bias, pull.seed)

    told = []
    ask = functools.partial(identify, trial, COINS, workers=3, store=address, **ASKED)
    with ThreadPoolExecutor(2) as pool:  # two that play, each with a connection of its own
        calls = [pool.submit(ask, budget=200, on_proven=told.append) for _ in range(2)]
        verdicts = [call.result(60) for call in calls]
    assert [verdict.above for verdict in verdicts] == [("high",)] * 2
    assert sorted(arm.arm for arm in told) == sorted([*COINS, *COINS])
    with Campaign.open(address) as campaign:
        check_whole(campaign, 200)
        failed = [row for row in rows(campaign) if STATES[row.state] == "failed"]
        assert {row.note for row in failed} == {r"OSError: no answer\0"}


# Waiting for others.


def test_it_waits_for_what_others_hold():
    store = MemoryStore()
    campaign = Campaign(cutline.Problem(arms=COINS, **ASKED), budget=30, store=store)
    held = campaign.ask(2)
    failer = threading.Timer(0.3, lambda: campaign.fail(held[0]))
    teller = threading.Timer(0.6, lambda: campaign.tell(held[1], 1))
    failer.start()
    teller.start()
    identify(toss, COINS, budget=30, workers=2, store=store, **ASKED)
    assert not failer.is_alive()
    assert [STATES[row.state] for row in rows(campaign)][:2] == ["failed", "told"]
    teller.join()
    check_whole(campaign, 30)


def test_a_pause_is_waited_out():
    store = MemoryStore()
    campaign = Campaign(cutline.Problem(arms=COINS, **ASKED), budget=30, store=store)
    campaign.pause()
    seen = []
    resume = threading.Timer(0.5, campaign.resume)
    resume.start()
    identify(toss, COINS, budget=30, store=store, progress=seen.append, **ASKED)
    assert "paused" in {each.state for each in seen}
    check_whole(campaign, 30)


def test_a_campaign_that_is_closed_meanwhile_ends_it():
    store = MemoryStore()

    def trial(bias, pull):
        if pull.number == 5:
            Campaign.open(store).close()
        return toss(bias, pull.seed)

    verdict = identify(trial, COINS, budget=300, workers=4, store=store, **ASKED)
    assert 0 < sum(arm.pulls for arm in verdict.arms) < 100


def test_an_arm_that_was_added_elsewhere_and_has_no_value_here_is_named():
    store = MemoryStore()
    Campaign(cutline.Problem(arms=COINS, **ASKED), budget=30, declared=3, store=store).add("new")
    with pytest.warns(RuntimeWarning, match="no value for arm 'new'"):
        verdict = identify(toss, COINS, budget=30, store=store, **ASKED)
    assert verdict.unmeasured == ("new",)


# Progress.


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_told_to_a_function():
    seen = []
    store = MemoryStore()
    identify(toss, COINS, budget=400, workers=2, store=store, progress=seen.append, **ASKED)
    last = seen[-1]
    assert isinstance(last, Progress)
    assert (last.spent, last.budget, last.settled, last.arms) == (400, 400, 3, 3)
    assert (last.in_flight, last.told, last.state) == (0, 400, "done")


@pytest.mark.parametrize(
    ("progress", "stream", "shown"),
    [(None, Terminal, True), (None, io.StringIO, False), (False, Terminal, False),
     (True, io.StringIO, True)],
)  # fmt: skip
def test_a_line_of_progress_is_for_terminals(progress, stream, shown, monkeypatch):
    stderr = stream()
    monkeypatch.setattr(sys, "stderr", stderr)
    identify(toss, COINS, budget=50, progress=progress, **ASKED)
    text = stderr.getvalue()
    assert bool(text) == shown
    if shown:
        assert "\r50 of 50 pulls | " in text
        assert text.endswith("| done\n")


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), "soon", 1e300, None, True])
def test_how_long_an_outage_is_waited_out_is_a_number_of_seconds(seconds):
    with pytest.raises(ValueError, match="give_up_after is a number of seconds 0 or more and at"):
        identify(
            lambda arm: 1, ["a"], threshold=0.5, rewards="binary", budget=1, give_up_after=seconds
        )
