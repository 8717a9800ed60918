"""A process that forks loses nothing, and neither do its children.

The families of processes are in worker.py; tools/soak.py --forks plays them for longer.
"""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import pytest
import soak

from cutline import Problem
from cutline.campaign import Campaign, MemoryStore, StoreError, audit, open_store
from cutline.campaign.looking import each_pull

pytestmark = pytest.mark.usefixtures("releases")
forked = multiprocessing.get_context("fork")


def new(store, budget=10_000, arms=5):
    problem = Problem(arms=arms, threshold=0.5, rewards="binary")
    return Campaign(problem, budget=budget, store=store)


def wait_for_child(pid, seconds=20.0):
    """How a child ended; it must within so many seconds."""
    until = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return "stuck"
        time.sleep(0.005)


def in_child(what):
    """Fork, call, and end; the child's process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = what() or 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


@pytest.mark.parametrize("seed", range(3))
def test_no_acknowledged_tell_is_missing_in_a_family_of_processes(address, nursery, tmp_path, seed):
    chance = random.Random(seed)
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        place = address if "://" in address else str(folder / "store.db")
        if "://" in address and number:
            open_store(place).delete("main")
        new(place, arms=["a", "b", "c"]).store.release()  # nobody else has it open
        assert list(soak.play_family(nursery, place, folder, chance)) == []


SCENARIO = """
    import multiprocessing, sys
    from cutline import Campaign, Problem

    def work(path, pairs):
        campaign = Campaign.open(path)
        for _ in range(pairs):
            campaign.tell(campaign.ask(), 1)

    path, pairs = sys.argv[1], int(sys.argv[2])
    fork = multiprocessing.get_context("fork")
    problem = Problem(arms=5, threshold=0.5, rewards="binary")
    with Campaign(problem, budget=9999, store=path) as mine:
        mine.tell(mine.ask(), 1)
        workers = [fork.Process(target=work, args=(path, pairs)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for _ in range(4):
            mine.tell(mine.ask(), 1)
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
"""


def test_workers_of_multiprocessing_open_the_file_by_its_path(tmp_path):
    path = tmp_path / "store.db"
    command = [sys.executable, "-c", textwrap.dedent(SCENARIO), str(path), "300"]
    subprocess.run(command, check=True, timeout=60)
    with Campaign.open(str(path)) as campaign:
        assert campaign.spent == 5 + 2 * 300
        assert audit(campaign).holds


def test_a_child_is_not_stuck_where_another_thread_was_in_a_call(store):
    campaign = new(store)
    over = threading.Event()

    def work():
        while not over.is_set():
            campaign.tell(campaign.ask(), 1)
            time.sleep(random.uniform(0.0, 0.002))  # in memory there would be a million of them

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()

    def use():
        for _ in range(3):
            campaign.tell(campaign.ask(), 1)
        return 0 if audit(campaign).holds else 3

    try:
        codes = []
        for _ in range(10):
            time.sleep(random.uniform(0.0, 0.02))
            codes.append(wait_for_child(in_child(use)))
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 10
    assert audit(campaign).holds


def test_a_fork_does_not_wait_for_a_thread_that_waits_for_the_file(tmp_path):
    path = str(tmp_path / "store.db")
    campaign, other = new(path), open_store(path)
    pull = campaign.ask()
    told = threading.Thread(target=campaign.tell, args=(pull, 1))
    with other.begin("main", "hold"):
        told.start()
        time.sleep(0.3)  # it waits for the file by now
        assert told.is_alive()
        start = time.monotonic()
        # It holds the other store in its hand, so the child cannot use the file, and says so.
        pid = in_child(lambda: 7 if refused(lambda: Campaign.open(path)) else 1)
        assert time.monotonic() < start + 5.0
        assert wait_for_child(pid) == 7
    told.join(20.0)
    assert not told.is_alive()
    assert campaign.spent == 1
    assert audit(campaign).holds


def refused(what):
    try:
        what()
    except StoreError as error:
        return "was forked while its parent was in the middle of a call" in str(error)
    return False


def test_who_forks_in_the_middle_of_a_look_goes_on_and_the_child_is_told(address):
    campaign = new(address)
    pulls = campaign.ask(5)
    codes = []

    def use():
        # The child may not use what the parent is reading from; elsewhere it may do as it likes.
        if "://" in address:
            anew = Campaign.open(address)
            anew.tell(pulls[0], 1)
            return 0 if anew.spent == 1 else 3
        return 0 if refused(lambda: Campaign.open(address)) else 4

    def take(rows):
        codes.append(wait_for_child(in_child(use)))

    assert each_pull(campaign, take, size=5) == 5
    assert codes == [0]
    campaign.tell_many((pull, 1) for pull in pulls)
    assert campaign.spent == 5
    assert audit(campaign).holds


def test_a_child_of_a_campaign_in_memory_has_a_copy():
    campaign = new(MemoryStore())
    pull = campaign.ask()

    def use():
        campaign.tell(pull, 1)
        return 0 if campaign.spent == 1 and audit(campaign).holds else 3

    assert wait_for_child(in_child(use)) == 0
    assert campaign.spent == 0
    assert campaign.tell(pull, 0) == "counted"


def test_a_child_that_ends_like_a_program_takes_nothing_with_it(tmp_path):
    """Python tears down all objects then, connections that were inherited too."""
    path = str(tmp_path / "store.db")
    campaign = new(path)
    for turn in range(5):
        pid = os.fork()
        if not pid:
            os.execv(sys.executable, [sys.executable, "-c", ""]) if turn % 2 else os._exit(0)
        assert wait_for_child(pid) == 0
        campaign.tell(campaign.ask(), 1)
        assert Campaign.open(path).spent == turn + 1
