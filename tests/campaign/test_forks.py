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
from trap import Trap

from cutline import Problem
from cutline.campaign import Campaign, MemoryStore, StoreError, audit, open_store
from cutline.campaign.looking import each_pull
from cutline.campaign.stores import guard

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


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_while_the_fork_is_prepared_leaves_nobody_locked_out(tmp_path):
    """Python ignores what is raised there, so that nobody would ever let go of the lock."""
    path = str(tmp_path / "store.db")
    campaign, told, at = new(path), 0, 0

    def use():
        sys.settrace(None)
        campaign.tell(campaign.ask(), 1)

    while True:
        with Trap(at, KeyboardInterrupt, guard.__file__) as trap:
            pid = in_child(use)
        assert wait_for_child(pid) == 0, f"{trap.sprung}, the {at}th line"
        thread = threading.Thread(target=campaign.ask, daemon=True)
        thread.start()
        thread.join(20.0)
        assert not thread.is_alive(), f"{trap.sprung}, the {at}th line"
        campaign.tell(campaign.ask(), 1)
        told += 2
        assert campaign.spent == told
        if trap.sprung is None:
            break
        at += 3
    assert at > 20
    assert audit(campaign).holds


OTHER_WAYS = """
    import multiprocessing, os, sys
    from concurrent.futures import ProcessPoolExecutor
    from cutline import Campaign, Problem, identify

    def work(path):
        campaign = Campaign.open(path)
        for _ in range(10):
            campaign.tell(campaign.ask(), 1)

    def share(_):
        for _ in range(10):
            mine.tell(mine.ask(), 1)

    def passes(arm):
        return 1

    if __name__ == "__main__":
        path, kind = sys.argv[1:]
        context = multiprocessing.get_context(kind)
        problem = Problem(arms=5, threshold=0.5, rewards="binary")
        with Campaign(problem, budget=9999, store=path) as mine:
            mine.tell(mine.ask(), 1)
            with context.Pool(2) as pool:
                jobs = [pool.map_async(work, [path] * 4)]
                if kind == "fork":
                    jobs.append(pool.map_async(share, range(4)))
                for _ in range(9):
                    mine.tell(mine.ask(), 1)
                for job in jobs:
                    job.get(60)
            executor = ProcessPoolExecutor(2, mp_context=context)
            identify(passes, arms=5, threshold=0.5, rewards="binary", budget=20, store=path,
                     name="identified", executor=executor)
            executor.shutdown()
            if kind == "fork":
                if not os.fork():
                    sys.exit(0)  # through all that Python tears down
                os.wait()
            assert mine.spent == 10 + 40 * len(jobs), mine.spent
"""


@pytest.mark.parametrize("kind", ["fork", "forkserver", "spawn"])
def test_pools_of_processes_inside_a_campaign(tmp_path, kind):
    script, path = tmp_path / "script.py", str(tmp_path / "store.db")
    script.write_text(textwrap.dedent(OTHER_WAYS))
    subprocess.run([sys.executable, str(script), path, kind], check=True, timeout=60)
    for name, spent in (("main", 90 if kind == "fork" else 50), ("identified", 20)):
        with Campaign.open(path, name) as campaign:
            assert campaign.spent == spent
            assert audit(campaign).holds


def test_a_fork_from_a_signal_handler_in_the_middle_of_a_call(tmp_path):
    """The child is told, or may go on; the call of the parent comes to its end."""
    path = str(tmp_path / "store.db")
    campaign, codes = new(path), []

    def ask():
        return 7 if refused(lambda: Campaign.open(path).ask()) else 0

    def ring(number, frame):
        codes.append(wait_for_child(in_child(ask)))

    before = signal.signal(signal.SIGALRM, ring)
    try:
        for _ in range(40):
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.00001, 0.002))
            campaign.tell(campaign.ask(), 1)
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert set(codes) <= {0, 7}
    assert 7 in codes
    assert campaign.spent == 40
    assert audit(campaign).holds
    with Campaign.open(path) as anew:
        assert anew.spent == 40
