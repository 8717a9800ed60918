"""Processes are killed, frozen and cut off at the worst moments; nothing is lost, nothing twice.

The engine is tools/soak.py, the workers are worker.py; both say what they do.
"""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import postgres
import pytest
import soak
from soak import wait_for

from cutline import Problem
from cutline.campaign import Campaign, StoreError, audit, open_store
from cutline.campaign.records import FAILED, RETIRED, RETURNED, TOLD
from cutline.campaign.stores import schema

KILLS = 50  # in each of the four runs at random: 200, and those at named points beside
LEASE = 0.4


pytestmark = pytest.mark.usefixtures("releases")


@pytest.fixture(scope="module")
def server(server):
    """One of our own, to be killed: with many databases in it, it would be slow to start again."""
    with postgres.running() as own:
        yield own


@pytest.fixture
def database(server):
    """The same database for all, emptied."""
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS cutline CASCADE")
    return server.url


@pytest.fixture
def outage(request, address):
    """How to end the store's server, where it has one."""
    if not address.startswith("postgresql"):
        return None
    server = request.getfixturevalue("server")

    def kill():
        server.kill()
        server.start()

    return kill


def new(address, budget=12, lease=LEASE):
    problem = Problem(arms=["a", "b", "c"], threshold=0.5, rewards="binary")
    return Campaign(problem, budget=budget, lease=lease, store=address)


def dump(campaign):
    """All that is stored of a campaign."""
    with campaign.store.begin("main", "look") as t:
        return repr((t.head, t.all_arms(), list(t.since(0)), list(t.events())))


def play_out(campaign):
    """Ask and tell until there is nothing left, waiting for leases to run out."""
    until = time.monotonic() + 20
    while (pulls := campaign.ask(1)) or pulls.why == "wait":
        assert time.monotonic() < until
        campaign.tell_many((pull, 1) for pull in pulls)
        if not pulls:
            time.sleep(0.02)


# At random moments.


@pytest.mark.parametrize("confidence", [None, 0.999999])
def test_workers_are_killed_at_random(address, outage, tmp_path, confidence):
    run = soak.Soak(address, tmp_path, confidence=confidence, outage=outage)
    outcome = run.run(kills=KILLS)
    assert outcome.faults == ()
    assert outcome.kills >= KILLS
    assert outcome.freezes > 0
    assert outcome.outages > 0 or outage is None
    assert outcome.answers > outcome.pulls / 2  # most of the work was heard of


def test_the_driver_is_killed_and_another_goes_on(address, tmp_path):
    command = [
        sys.executable, str(Path(soak.__file__)), "--at", address, "--folder", str(tmp_path),
        "--workers", "4",
    ]  # fmt: skip
    for seen in (50, 150):
        with subprocess.Popen([*command, "--minutes", "5"]) as driver:
            wait_for(lambda seen=seen: len(soak.acknowledged(tmp_path)) > seen)
            driver.kill()
        assert driver.returncode == -signal.SIGKILL
    last = subprocess.run(
        [*command, "--minutes", "0.01"], capture_output=True, text=True, check=False, timeout=100
    )
    assert last.returncode == 0, last.stdout + last.stderr
    assert "all holds" in last.stdout
    assert list(soak.find_faults(address, tmp_path)) == []


def test_workers_outlive_the_server(server, database, nursery, tmp_path):
    campaign = new(database, budget=600, lease=5.0)
    workers = [
        nursery.start("work", store=database, log=str(tmp_path / f"{i}.log"), seed=i, work=0.01)
        for i in range(8)
    ]
    for _ in range(3):
        spent = campaign.spent
        wait_for(lambda spent=spent: campaign.spent > spent + 30)
        server.kill()
        server.start()
    assert campaign.spent < 600  # they were at work all the while
    assert nursery.wait(*workers) == [0] * 8
    assert list(soak.find_faults(database, tmp_path)) == []


def test_a_worker_outlives_a_server_that_is_away_for_a_while(server, database, nursery, tmp_path):
    new(database)
    server.kill()
    log = tmp_path / "one.log"
    try:
        worker = nursery.start("move", move="ask", store=database, log=str(log))
        time.sleep(0.5)
        nursery.poll()
        assert worker not in nursery.ended  # it waits
    finally:
        server.start()
    assert nursery.wait(worker) == [0]
    assert len(soak.acknowledged(tmp_path)) == 1


# At the named points of each transaction: nothing has happened, or all of it.


@pytest.mark.parametrize("point", ["before", "written", "committed"])
@pytest.mark.parametrize("move", ["ask", "tell", "fail", "give back", "heartbeat", "add", "retire"])
def test_a_move_is_killed(address, nursery, tmp_path, move, point):
    campaign = new(address)
    pull = campaign.ask(lease=1000.0)
    campaign.add("d")
    before = dump(campaign)
    options = {
        "move": move, "store": address, "log": str(tmp_path / "one.log"), "pull": pull.id,
        "arm": "d" if move == "retire" else "e",
    }  # fmt: skip
    killed = nursery.start("move", point=f"{move} {point}", **options)
    assert nursery.wait(killed) == [-signal.SIGKILL]
    assert soak.acknowledged(tmp_path) == []
    assert (dump(campaign) == before) == (point != "committed")

    if move == "add" and point == "committed":
        with pytest.raises(ValueError, match="already"):
            campaign.add("e")
    else:
        assert nursery.wait(nursery.start("move", **options)) == [0]
        _, *said = soak.acknowledged(tmp_path)[0]
        answer = "again" if point == "committed" else "counted"
        if move in ("tell", "fail"):
            assert said[-1] == answer  # the same one, so it counts once
        elif move == "give back":
            assert said[-1] == (point != "committed")
    _assert_done_once(campaign, move, pull)
    if move not in ("tell", "fail", "give back"):
        campaign.tell(pull, 1)
    play_out(campaign)
    assert list(soak.find_faults(address, tmp_path)) == []


def _assert_done_once(campaign, move, pull):
    with campaign.store.begin("main", "look") as t:
        arms = {arm.name: arm for arm in t.all_arms()}
        row = t.pull(int(pull.id.split("-")[0]))
        if move == "ask":
            assert t.head.flying in (2, 3)  # where the first was committed, it is in flight
        elif move == "tell":
            assert (row.state, row.reward, t.head.spent) == (TOLD, 1, 1)
        elif move == "fail":
            assert (row.state, t.head.spent, t.head.reserved) == (FAILED, 0, 0)
        elif move == "give back":
            assert (row.state, t.head.spent, t.head.reserved) == (RETURNED, 0, 0)
        elif move == "heartbeat":
            assert row.expires > pull.expires
        elif move == "add":
            assert list(arms) == ["a", "b", "c", "d", "e"]
        else:
            assert arms["d"].status == RETIRED


@pytest.mark.parametrize("point", ["before", "written", "committed"])
def test_making_a_campaign_is_killed(address, nursery, tmp_path, point):
    options = {
        "store": address, "log": str(tmp_path / "one.log"), "arms": ["a", "b"],
        "settings": {"budget": 6},
    }  # fmt: skip
    killed = nursery.start("create", point=f"create {point}", **options)
    assert nursery.wait(killed) == [-signal.SIGKILL]
    heads = open_store(address).heads()
    assert [head.name for head in heads] == (["main"] if point == "committed" else [])
    assert nursery.wait(nursery.start("create", **options)) == [0]
    play_out(Campaign.open(address))
    assert list(soak.find_faults(address, tmp_path)) == []


@pytest.mark.parametrize("point", ["before", "written", "committed"])
def test_an_upgrade_is_killed(address, nursery, tmp_path, monkeypatch, point):
    campaign = new(address)
    campaign.tell(campaign.ask(), 1)
    before = dump(campaign)
    campaign.store.release()
    options = {
        "store": address, "log": str(tmp_path / "one.log"), "version": schema.VERSION + 1,
        "migration": "ALTER TABLE campaign ADD COLUMN hue {real}; CREATE TABLE hues (hue {real});",
    }  # fmt: skip
    killed = nursery.start("upgrade", point=f"upgrade {point}", **options)
    assert nursery.wait(killed) == [-signal.SIGKILL]
    if point == "committed":
        with pytest.raises(StoreError, match="newer cutline"):
            Campaign.open(address)
    else:
        assert dump(Campaign.open(address)) == before
    copy = tmp_path / f"store.db.version-{schema.VERSION}"
    if copy.exists():
        assert dump(Campaign.open(str(copy))) == before

    if point != "committed":
        assert nursery.wait(nursery.start("upgrade", **options)) == [0]
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    opened = Campaign.open(address)
    assert dump(opened) == before
    assert opened.store.db().rows("SELECT hue FROM campaign") == [(None,)]
    play_out(opened)
    assert list(soak.find_faults(address, tmp_path)) == []


# Frozen, and on again.


def test_a_frozen_worker_tells_late_and_it_counts(address, nursery, tmp_path):
    campaign = new(address)
    worker = nursery.start("freeze", store=address, log=str(tmp_path / "one.log"))
    nursery.wait_until_stopped(worker)
    time.sleep(LEASE + 0.1)
    given = campaign.ask(12)  # which takes the frozen pull back
    assert len(given) == 12
    for pull in given[:6]:
        campaign.fail(pull)  # so that there is room
    nursery.signal(worker, signal.SIGCONT)
    assert nursery.wait(worker) == [0]
    assert soak.acknowledged(tmp_path)[1][-1] == "counted"
    assert campaign.spent == 1
    campaign.tell_many((pull, 0) for pull in given[6:])
    play_out(campaign)
    assert list(soak.find_faults(address, tmp_path)) == []


def test_a_frozen_worker_tells_too_late_and_goes_on(address, nursery, tmp_path):
    campaign = new(address)
    worker = nursery.start("freeze", store=address, log=str(tmp_path / "one.log"))
    nursery.wait_until_stopped(worker)
    play_out(campaign)  # all of the budget, the frozen pull's too
    assert campaign.spent == 12
    nursery.signal(worker, signal.SIGCONT)
    assert nursery.wait(worker) == [0]
    assert soak.acknowledged(tmp_path)[1][-1] == "late"
    assert campaign.spent == 12
    assert sum(arm.counts.late for arm in campaign.verdict().arms) == 1
    assert list(soak.find_faults(address, tmp_path)) == []


def test_a_worker_frozen_in_a_transaction_holds_the_others_up_and_no_more(
    address, nursery, tmp_path
):
    campaign = new(address)
    pull = campaign.ask()
    options = {"store": address, "pull": pull.id}
    frozen = nursery.start(
        "move", move="tell", log=str(tmp_path / "one.log"), point="tell written",
        signal=signal.SIGSTOP, **options,
    )  # fmt: skip
    nursery.wait_until_stopped(frozen)
    other = nursery.start("move", move="ask", log=str(tmp_path / "two.log"), **options)
    time.sleep(LEASE + 0.1)
    nursery.poll()
    assert other not in nursery.ended
    nursery.signal(frozen, signal.SIGCONT)
    assert nursery.wait(frozen, other) == [0, 0]
    assert soak.acknowledged(tmp_path)[0] == ["tell", pull.id, 1, "counted"]
    play_out(campaign)
    assert list(soak.find_faults(address, tmp_path)) == []


def test_a_worker_frozen_for_long_in_a_transaction_is_cut_off_by_the_server(
    database, nursery, tmp_path
):
    campaign = new(database)
    options = {"store": database, "pull": campaign.ask(lease=1000.0).id}
    frozen = nursery.start(
        "move", move="tell", log=str(tmp_path / "one.log"), point="tell written",
        signal=signal.SIGSTOP, **options,
    )  # fmt: skip
    nursery.wait_until_stopped(frozen)
    other = nursery.start("move", move="ask", log=str(tmp_path / "two.log"), **options)
    assert nursery.wait(other) == [0]  # after some seconds
    nursery.signal(frozen, signal.SIGCONT)
    assert nursery.wait(frozen) == [0]  # it finds the connection gone and tells again
    assert soak.acknowledged(tmp_path)[0][-1] == "counted"
    assert campaign.spent == 1
    play_out(campaign)
    assert list(soak.find_faults(database, tmp_path)) == []


def test_a_killed_worker_delays_its_own_pulls_alone_by_one_lease(address, nursery, tmp_path):
    campaign = new(address, budget=4, lease=1.0)
    log = str(tmp_path / "one.log")
    worker = nursery.start("move", move="ask", store=address, log=log, point="ask committed")
    nursery.wait(worker)
    killed = time.time()
    for pull in campaign.ask(3):
        campaign.tell(pull, 1)
    assert time.time() < killed + 1.0  # at once
    waiting = campaign.ask()
    assert waiting.why == "wait"
    assert killed < waiting.until < killed + 1.0
    time.sleep(waiting.until - time.time() + 0.01)
    campaign.tell(campaign.ask(), 1)  # no reaper had to come by
    assert campaign.ask().why == "done"
    assert list(soak.find_faults(address, tmp_path)) == []


# A log that was torn.


def test_every_beginning_of_the_write_ahead_log_opens(tmp_path):
    campaign = new(str(tmp_path / "whole.db"), budget=5)
    campaign.store.db().rows("PRAGMA wal_checkpoint(TRUNCATE)")
    play_out(campaign)
    log = (tmp_path / "whole.db-wal").read_bytes()
    frame = 24 + 4096
    borders = range(32, len(log) + 1, frame)
    cuts = sorted({c for b in borders for c in (b - 1, b, b + frame // 2)} | {0, 33})
    told = []
    for cut in [c for c in cuts if c <= len(log)]:
        torn = tmp_path / f"torn-{cut}.db"
        shutil.copy(tmp_path / "whole.db", torn)
        Path(f"{torn}-wal").write_bytes(log[:cut])
        with Campaign.open(str(torn)) as opened:
            assert audit(opened).holds
            assert opened.store.db().rows("PRAGMA integrity_check") == [("ok",)]
            told.append(opened.spent)
    assert told == sorted(told)
    assert set(told) == set(range(6))
