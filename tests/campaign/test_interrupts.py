"""Something is raised in the middle of a call, and the process lives on.

A notebook's stop button, a Ctrl-C that is caught, a timeout by signal: whatever it is and wherever
it comes, the next call works, nobody else is held up, and nothing is half made.
"""

import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import Executor, Future
from dataclasses import replace
from queue import SimpleQueue

import pytest
import soak
from trap import Stop, Trap

from cutline import Problem
from cutline.campaign import Campaign, MemoryStore, StoreError, audit, identify, open_store
from cutline.campaign.runner.drivers.calls import Call
from cutline.campaign.runner.drivers.executor import Executors
from cutline.campaign.runner.trials import Outcome

LEASE = 100.0


class Timeout(Exception):
    """An interrupt that looks like an ordinary error."""


def new(store, name="main", **settings):
    problem = Problem(arms=["a", "b", "c", "d"], threshold=0.5, precision=0.1, rewards="binary")
    given = {"budget": 60, "lease": LEASE, "cost": {"d": 2}, "confidence": 0.9, **settings}
    return Campaign(problem, store=store, name=name, **given)


def play(campaign, clock):
    """Something of everything; the pulls that are in flight, one of them expired."""
    campaign.add("e")
    for turn in range(12):
        campaign.tell(campaign.ask(), turn % 2)
    campaign.fail(campaign.ask(), note="broken")
    lost, expired = campaign.ask(), campaign.ask(2, lease=10.0)
    campaign.heartbeat(lost, lease=1.0)
    clock.pass_(2.0)
    campaign.ask()  # which gives one up
    flying = campaign.ask(5)
    campaign.retire("e")
    clock.pass_(20.0)
    return {"lost": lost, "expired": expired[0], "pulls": flying}


def refuse(campaign, pull):
    with pytest.raises(ValueError, match="reward"):
        campaign.tell(pull, 3)


MOVES = {
    "ask": lambda c, p: c.ask(),
    "ask five": lambda c, p: c.ask(5),
    "tell": lambda c, p: c.tell(p["pulls"][0], 1),
    "tell late": lambda c, p: c.tell(p["lost"], 1, note="late"),
    "tell many": lambda c, p: c.tell_many([(pull, 0) for pull in p["pulls"]]),
    "fail": lambda c, p: c.fail(p["pulls"][1], note="x"),
    "heartbeat": lambda c, p: c.heartbeat(*p["pulls"], lease=200.0),
    "give back": lambda c, p: c.give_back(p["pulls"][2], note="y"),
    "add": lambda c, p: c.add("f", cost=3),
    "retire": lambda c, p: c.retire("a"),
    "attach": lambda c, p: c.attach("b", [1, 0, 1], unpicked=True),
    "extend": lambda c, p: c.extend(budget=7),
    "pause": lambda c, p: c.pause(),
    "close": lambda c, p: c.close(),
    "look": lambda c, p: c.verdict(),
    "refuse": lambda c, p: refuse(c, p["pulls"][0]),
    "release": lambda c, p: c.store.release(),
}


def state(store, name):
    """All that is kept of a campaign, without what is drawn at random."""
    with store.begin(name, "look") as t:
        head = replace(t.head, id=0, name="", created=0.0, clock=0.0)
        pulls = [replace(pull, token=0) for pull in t.since(0)]
        return repr((head, t.all_arms(), pulls, list(t.events())))


def hold_up_nobody(store, other, name):
    """Others write to the campaign at once: another connection, another thread, and this one."""
    seen = []

    def write():
        store.run(name, "ask", lambda t: None)
        seen.append(1)

    if other is not None:
        other.run(name, "ask", lambda t: None)
    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    thread.join(10.0)
    assert seen, "another thread is held up"
    store.run(name, "ask", lambda t: None)


def interrupt_everywhere(store, clock, move, *, stride=1, confidence=0.9, error=Stop):
    """Raise at each line of a move in turn; how many there are.

    What was not made is tried again and again on the same campaign; what was, on a new one.
    """
    other = None if store.where == "memory" else type(store)(store.where, clock, wait=1.0)
    what, number = MOVES[move], 0
    reference = new(type(store)(clock) if store.where == "memory" else store, f"{move} reference",
                    confidence=confidence)  # fmt: skip
    start = clock.now
    handed = play(reference, clock)
    before = state(reference.store, reference.name)
    what(reference, handed)
    after = state(reference.store, reference.name)
    name, at, campaigns = None, 0, []
    while True:
        if name is None:
            clock.now = start
            name = f"{move} {number}"
            number += 1
            campaign = new(store, name, confidence=confidence)
            handed = play(campaign, clock)
            campaigns.append(campaign)
        with Trap(at, error) as trap:
            try:
                what(campaign, handed)
            except error:
                pass
            except StoreError as refused:  # at a line from which it goes on by itself
                raise AssertionError(f"{trap.sprung}: {refused}") from refused
        if trap.sprung is None:
            break
        try:
            hold_up_nobody(store, other, name)
            now = state(store, name)
            assert now in (before, after), "it is half made"
        except BaseException as wrong:
            wrong.add_note(f"{move}, raised at line {at}, {trap.sprung}")
            raise
        if now != before:
            name = None
        at += stride
    for campaign in campaigns[-3:]:
        assert audit(campaign).holds
    if other is not None:
        other.release()
    return at


def stride(store):
    return 3 if store.where == "memory" else 151 if "://" in store.where else 23


def test_raised_at_many_lines_of_every_move(store, clock):
    """Some of the lines; the slow test below takes them all."""
    for move in MOVES:
        assert interrupt_everywhere(store, clock, move, stride=stride(store)) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("error", [Stop, Timeout])
@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("move", MOVES)
def test_raised_at_every_line_of_every_move(store, clock, move, confidence, error):
    assert interrupt_everywhere(store, clock, move, confidence=confidence, error=error) >= 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # closed by Python
@pytest.mark.parametrize("what", ["create", "open", "delete", "list"])
def test_raised_at_every_line_of_making_and_opening(store, clock, what):
    other = None if store.where == "memory" else type(store)(store.where, clock, wait=1.0)
    kept = new(store, "kept")
    play(kept, clock)
    wanted = state(store, "kept")
    at = 0
    while True:
        store.release()
        if what == "delete":
            new(store, "main")
        with Trap(at) as trap:
            try:
                if what == "create":
                    new(store, f"new {at}")
                elif what == "open":
                    Campaign.open(store, "kept").verdict()
                elif what == "delete":
                    store.delete("main")
                else:
                    store.heads()
            except Stop:
                pass
        if trap.sprung is None:
            break
        try:
            hold_up_nobody(store, other, "kept")
            assert state(store, "kept") == wanted
            if what == "create":
                new(store, f"new {at}").tell(new(store, f"new {at}").ask(), 1)
                assert audit(Campaign.open(store, f"new {at}")).holds
        except BaseException as wrong:
            wrong.add_note(f"{what}, raised at line {at}, {trap.sprung}")
            raise
        at += 2 * stride(store) + 1
    assert at >= 2
    if other is not None:
        other.release()


# Real signals, at any moment, in Python and below it; tools/soak.py --interrupts for longer.


@pytest.mark.parametrize("seed", range(2))
def test_signals_at_any_moment_in_memory(nursery, tmp_path, seed):
    """The worker itself checks what it was told, and the audit."""
    worker = nursery.start(
        "work_in_memory", log=str(tmp_path / "one.log"), arms=["a", "b", "c"], most=0.0002,
        settings={"budget": 600, "lease": 0.2}, seed=seed,
    )  # fmt: skip
    assert nursery.wait(worker) == [0], soak.acknowledged(tmp_path)[-1]
    said = Counter(kind for kind, *_ in soak.acknowledged(tmp_path))
    assert said["interrupted"] > 10
    assert said["looked"]


def test_signals_at_any_moment(address, tmp_path):
    """Acknowledged tells are kept, the rest is as if it had never been asked for or told."""
    outcome = soak.Soak(address, tmp_path, workers=3, interrupts=True).run(seconds=0.7)
    assert outcome.faults == ()
    assert outcome.interrupts > 20
    assert outcome.spent >= 200
    assert outcome.kills == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # closed by Python
def test_what_psycopg_takes_for_a_fault_of_its_own_is_passed_on(database):
    """It makes an error of its own out of anything that is raised in some places."""
    from psycopg import conninfo

    campaign, at = new(database), 0
    while True:
        campaign.store.release()
        with Trap(at, Timeout, conninfo.__file__) as trap:
            try:
                try:
                    raise KeyError("x")  # which the caller handles: psycopg has no part in it
                except KeyError:
                    assert campaign.ask(lease=0.001)
            except Timeout:
                pass
        if trap.sprung is None:
            break
        assert campaign.ask(lease=0.001)
        at += 5
    assert at > 50
    campaign.store.release()


def test_what_the_caller_handles_is_not_taken_for_an_interrupt():
    store = open_store("postgresql://nobody@127.0.0.1:1/none", wait=0.0)
    try:
        raise Timeout
    except Timeout:
        with pytest.raises(StoreError, match="does not answer"):
            Campaign.open(store)


def test_a_call_from_a_signal_handler_is_refused_and_does_not_hang(store):
    campaign = new(store)
    refused = []

    def ring(number, frame):
        try:
            campaign.ask()
        except StoreError as error:
            refused.append(str(error))

    before = signal.signal(signal.SIGUSR1, ring)
    try:
        store.run("main", "look", lambda t: os.kill(os.getpid(), signal.SIGUSR1))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert "in the middle of another call" in refused[0]
    assert campaign.ask()


def test_a_file_is_waited_for_in_a_way_that_can_be_interrupted(tmp_path):
    path = str(tmp_path / "store.db")
    campaign, other = new(path), open_store(path)

    def ring(number, frame):
        raise Timeout

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with other.begin("main", "hold"):
            start = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(Timeout):
                campaign.ask()
            assert time.monotonic() < start + 5.0
    finally:
        signal.signal(signal.SIGALRM, before)
    assert campaign.ask()
    campaign.store.release()
    other.release()


class _Alarmed(SimpleQueue):
    """A queue in whose put a signal's handler raises."""

    def put(self, *args, **kwargs):
        raise TimeoutError("by a signal")


def test_a_timeout_by_signal_where_a_trial_is_done_at_once_is_not_swallowed():
    done = Future()
    done.set_result(Outcome(value=1))

    class AtOnce(Executor):
        def submit(self, call, /, *args, **kwargs):
            return done

    driver = Executors(AtOnce(), _Alarmed())
    with pytest.raises(TimeoutError, match="by a signal"):
        driver.start(Call("key", lambda arm: 1, "a", {}))


def test_a_timeout_by_signal_while_a_value_is_read_ends_identify():
    class Value:
        def __float__(self):
            raise TimeoutError("by a signal")

    store = MemoryStore()
    with pytest.raises(TimeoutError, match="by a signal"):
        identify(lambda arm: Value(), 3, threshold=0.5, rewards="binary", budget=50, store=store)
    campaign = Campaign.open(store)
    assert (campaign.in_flight, campaign.spent) == (0, 0)
