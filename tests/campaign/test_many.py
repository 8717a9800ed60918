"""Many processes at once, on a store that is new or in use: no error, and nothing twice."""

import os
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw
import pytest
import soak

from cutline import Problem
from cutline.campaign import Campaign, audit, open_store
from cutline.campaign.looking import each_pull
from cutline.campaign.stores import sqlite

MANY = 32


pytestmark = pytest.mark.usefixtures("releases")


def start(nursery, tmp_path, task, each, **options):
    """Processes that begin at the same moment, one for each set of options; how they ended."""
    at = time.time() + 0.01 * len(each) + 0.3
    pids = [
        nursery.start(task, at=at, log=str(tmp_path / f"{i}.log"), **options, **own)
        for i, own in enumerate(each)
    ]
    return nursery.wait(*pids)


def errors(tmp_path):
    return [what[0] for kind, *what in soak.acknowledged(tmp_path) if kind == "error"]


def handed_out(tmp_path):
    return [what[0] for kind, *what in soak.acknowledged(tmp_path) if kind == "ask"]


def new(address, **settings):
    problem = Problem(arms=["a", "b", "c", "d"], threshold=0.5, rewards="binary")
    return Campaign(problem, store=address, **settings)


def test_many_open_a_new_store_at_once_and_ask(address, nursery, tmp_path):
    settings = {"budget": 10 * MANY}
    codes = start(
        nursery, tmp_path, "create", [{}] * MANY, store=address, arms=["a", "b", "c", "d"],
        settings=settings, asks=10,
    )  # fmt: skip
    assert errors(tmp_path) == []
    assert codes == [0] * MANY
    assert [head.name for head in open_store(address).heads()] == ["main"]
    pulls = handed_out(tmp_path)
    assert len(pulls) == len(set(pulls)) == 10 * MANY
    assert sorted(int(pull.split("-")[0]) for pull in pulls) == list(range(10 * MANY))
    campaign = Campaign.open(address)
    assert campaign.ask().why == "wait"  # not one more than the budget
    campaign.tell_many((pull, 1) for pull in pulls)
    assert campaign.ask().why == "done"
    assert list(soak.find_faults(address, tmp_path)) == []


def test_a_store_that_is_just_being_made_is_not_taken_for_something_else(tmp_path, monkeypatch):
    """Somebody makes the tables between any two looks at a file that was empty."""
    rows = sqlite._File.rows
    for moment in (1, 2):
        path, looks = tmp_path / f"{moment}.db", []

        def slow(file, statement, values=(), moment=moment, path=path, looks=looks):
            found = rows(file, statement, values)
            looks.append(statement)
            if len(looks) == moment:
                sqlite.SQLiteStore(path).heads()
            return found

        monkeypatch.setattr(sqlite._File, "rows", slow)
        assert sqlite.SQLiteStore(path).heads() == []
        monkeypatch.setattr(sqlite._File, "rows", rows)


def test_of_many_who_make_different_campaigns_of_one_name_one_has_it(address, nursery, tmp_path):
    each = [{"settings": {"budget": 100 + i}} for i in range(8)]
    codes = start(nursery, tmp_path, "create", each, store=address, arms=["a", "b"])
    assert sorted(codes) == [0] + [1] * 7
    (head,) = open_store(address).heads()
    assert head.budget == 100 + codes.index(0)
    for text in errors(tmp_path):
        assert f"DifferentCampaign: there is another campaign 'main' in {address}" in text
        assert f"budget was {head.budget} and is now" in text


def test_many_add_and_extend_at_once(address, nursery, tmp_path):
    new(address, budget=5)
    each = [{"move": "add", "arm": f"new {i}"} for i in range(12)] + [{"move": "extend"}] * 12
    random.Random(1).shuffle(each)
    assert start(nursery, tmp_path, "move", each, store=address) == [0] * 24
    campaign = Campaign.open(address)
    assert campaign.budget == 5 + 12
    assert len(campaign.problem.arms) == 4 + 12
    assert audit(campaign).holds


def test_many_retire_the_same_arm_at_once(address, nursery, tmp_path):
    new(address, budget=5)
    each = [{"move": "retire", "arm": "a"}] * 8
    assert start(nursery, tmp_path, "move", each, store=address) == [0] * 8
    campaign = Campaign.open(address)
    with campaign.store.begin("main", "look") as t:
        assert [event.kind for event in t.events()] == ["retire"]
        assert t.head.unsettled == 3
    assert audit(campaign).holds


def test_many_tell_the_same_pulls_in_another_order_at_once(address, nursery, tmp_path):
    campaign = new(address, budget=200)
    pulls = [pull.id for pull in campaign.ask(200)]
    chance = random.Random(1)
    each = [{"pulls": chance.sample(pulls, len(pulls))} for _ in range(8)]
    codes = start(nursery, tmp_path, "move", each, store=address, move="tell_many")
    assert errors(tmp_path) == []  # no deadlock either
    assert codes == [0] * 8
    told = [what[0] for kind, *what in soak.acknowledged(tmp_path)]
    assert sum(answers.count("counted") for answers in told) == 200
    assert sum(answers.count("again") for answers in told) == 7 * 200
    assert campaign.spent == 200
    assert audit(campaign).holds


def test_threads_of_one_process_share_a_campaign(address):
    campaign = new(address, budget=200)
    pulls, wrong = [], []

    def work():
        try:
            while pull := campaign.ask():
                pulls.append(pull.id)
                campaign.tell(pull, 1)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert len(pulls) == len(set(pulls)) == 200
    assert campaign.spent == 200
    assert audit(campaign).holds


FORKS = """
import os, sys
from cutline.campaign import Campaign

campaign = Campaign.open(sys.argv[1])
campaign.tell(campaign.ask(), 1)  # so that there is a connection, which must not be shared
children = []
for _ in range(4):
    child = os.fork()
    if not child:
        for _ in range(10):
            campaign.tell(campaign.ask(), 1)
        os._exit(0)
    children.append(child)
for _ in range(10):
    campaign.tell(campaign.ask(), 1)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
for _ in range(10):
    campaign.tell(campaign.ask(), 1)
print(codes, campaign.spent)
campaign.store.release()
"""


def test_a_forked_process_takes_a_connection_of_its_own(address, tmp_path):
    campaign = new(address, budget=100)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORKS, address],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[0, 0, 0, 0] 61\n", "")
    assert campaign.spent == 61
    assert list(soak.find_faults(address, tmp_path, spent=False)) == []


def test_arms_that_fail_or_hang_do_not_stop_the_others(address, nursery, tmp_path):
    names = ["fails", "hangs", "a", "b", "c"]
    problem = Problem(arms=names, threshold=0.5, rewards="binary")
    campaign = Campaign(problem, budget=200, store=address, lease=1.0)
    each = [{"seed": i} for i in range(8)]
    codes = start(
        nursery, tmp_path, "work", each, store=address, fails="fails", hangs="hangs",
        only_tell=True,
    )  # fmt: skip
    assert codes == [0] * 8
    assert list(soak.find_faults(address, tmp_path)) == []
    verdict = campaign.verdict()
    counts = {arm.arm: arm.counts for arm in verdict.arms}
    assert "fails" in verdict.unmeasured
    assert set(verdict.unmeasured) <= {"fails", "hangs"}  # losses come a lease apart, and few
    assert counts["fails"].failed >= 5
    assert counts["hangs"].lost >= 1
    assert counts["fails"].told == counts["hangs"].told == 0
    assert min(counts[name].told for name in "abc") > 0
    assert sum(counts[name].told for name in "abc") == 200
    campaign.resume("fails")
    assert campaign.ask().why == "done"  # there is nothing left to spend on it


# The file itself.


def test_sqlite_is_one_without_the_bug_that_broke_files(tmp_path):
    # Below 3.51.3 two writers could corrupt a file in its write-ahead log.
    assert tuple(map(int, apsw.sqlite_lib_version().split("."))) >= (3, 51, 3)
    campaign = new(str(tmp_path / "store.db"), budget=5)
    db = campaign.store.db()
    assert db.rows("PRAGMA journal_mode") == [("wal",)]
    assert db.rows("PRAGMA mmap_size") in ([(0,)], [])


class Disk(apsw.VFS):
    """Keeps beside each file what of it was synced: all that a power cut leaves."""

    def __init__(self):
        self.below = apsw.vfs_names()[0]  # what is used when nothing is said
        super().__init__("disk", base=self.below, makedefault=True)

    def xOpen(self, name, flags):
        return DiskFile(self.below, name, flags)

    def xDelete(self, name, sync):
        super().xDelete(name, sync)
        (Path(name).parent / "synced" / Path(name).name).unlink(missing_ok=True)


class DiskFile(apsw.VFSFile):
    def __init__(self, below, name, flags):
        self.path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name)
        super().__init__(below, name, flags)

    def xSync(self, flags):
        super().xSync(flags)
        synced = self.path.parent / "synced"
        synced.mkdir(exist_ok=True)
        shutil.copy(self.path, synced / self.path.name)


def test_a_power_cut_takes_no_result_that_was_acknowledged(tmp_path):
    disk = Disk()
    told, cuts = {}, []
    rng = random.Random(1)

    def cut(*pulls):
        """What is there after a power cut now; what was asked may be known, what was told must."""
        left = tmp_path / f"cut-{len(cuts)}"
        shutil.copytree(tmp_path / "synced", left)
        campaign = Campaign.open(str(left / "store.db"))
        rows = {}
        each_pull(campaign, lambda some: rows.update((row["id"], row["reward"]) for row in some))
        assert {pull: rows[pull] for pull in told} == told
        assert audit(campaign).holds
        cuts.append([pull.id in rows for pull in pulls])

    try:
        campaign = new(str(tmp_path / "store.db"), budget=500)
        while pull := campaign.ask():
            if rng.random() < 0.03:
                cut(pull)
            value = rng.randrange(2)
            campaign.tell(pull, value)
            told[pull.id] = value
            if rng.random() < 0.03:
                cut()
        campaign.store.release()
    finally:
        disk.unregister()
    assert len(cuts) > 20
    assert [False] in cuts  # an ask alone waits for nobody's disk


def test_an_interrupted_ask_leaves_no_later_result_unsynced(tmp_path, monkeypatch):
    campaign = new(str(tmp_path / "store.db"), budget=9)
    pull, other = campaign.ask(2)
    campaign.tell(other, 1)
    file = campaign.store.db()
    rows, levels = file.rows, []

    def interrupted(sql, values=()):
        found = rows(sql, values)
        if "NORMAL" in sql:
            raise KeyboardInterrupt
        return found

    def watched(sql, values=()):
        if sql == "COMMIT":
            levels.append(rows("PRAGMA synchronous"))
        return rows(sql, values)

    monkeypatch.setattr(file, "rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        campaign.ask()
    monkeypatch.setattr(file, "rows", watched)
    campaign.tell(pull, 1)
    assert levels == [[(2,)]]  # FULL


@pytest.mark.parametrize("confidence", [None, 0.99])
def test_the_work_of_a_pull_does_not_grow_with_the_history(tmp_path, confidence):
    """Counted in steps of SQLite's machine, which do not depend on the computer's mood."""
    campaign = new(str(tmp_path / "store.db"), budget=100_000, confidence=confidence)
    few = _steps(campaign)
    for arm in ("a", "b", "c", "d"):
        campaign.attach(arm, [0, 1] * 2_500)
    _play(campaign, 50)
    many = _steps(campaign)
    assert few / 2 < many < 2 * few


def _play(campaign, pairs):
    for _ in range(pairs):
        pull = campaign.ask()
        campaign.tell(pull, pull.number % 2)  # so that no arm is proven


def _steps(campaign):
    """What 20 asks and tells take."""
    steps = 0

    def count():
        nonlocal steps
        steps += 1
        return False  # go on

    _play(campaign, 8)
    db = campaign.store.db()._db
    db.set_progress_handler(count, 1)
    _play(campaign, 20)
    db.set_progress_handler(None)
    return steps
