"""An audit notices whatever was changed in a store, and takes no more memory for a long history."""

import json
import os
import random
import shutil
import subprocess
import sys

import apsw
import make_store
import pytest

from cutline import Problem
from cutline.campaign import Campaign, CampaignError, audit, moves
from cutline.campaign.stores import schema, sqlite
from cutline.campaign.stores.sqlite import SQLiteStore

pytestmark = pytest.mark.usefixtures("releases")

# What may change without a word, and why.
HARMLESS = {
    ("campaign", "weighed"): "how far evidence was weighed: it is weighed from there on",
    ("campaign", "clock"): "the latest time seen, which goes with the clock",
    ("pull", "expires"): "when a lease runs out, which goes with the clock",
}


@pytest.fixture(scope="module")
def happened(tmp_path_factory):
    """A store with a campaign to which everything has happened, whose evidence was looked at."""
    path = tmp_path_factory.mktemp("audit") / "store.db"
    make_store.make(path)
    store = SQLiteStore(path)
    campaign = Campaign.open(store)
    campaign.access.do("weigh", moves.weigh)
    found = audit(campaign)
    assert found.holds, found.faults
    assert found.unchecked == 0
    store.release()
    return path


def columns():
    """Every column of every table of a store."""
    made = apsw.Connection(":memory:")
    made.execute(schema.TABLES.format(**sqlite._File.types))
    for table in ("campaign", "arm", "pull", "event"):
        for _, name, *_ in made.execute(f"PRAGMA table_info({table})").fetchall():
            yield table, name


def another(value, column):
    """Something else of the same kind."""
    if column == "settings":
        return value.replace("pulls", "calls", 1)
    if value is None:
        return 7
    if isinstance(value, bytes):  # numbers, whose last digits may differ
        return value[:5] + bytes([value[5] ^ 255]) + value[6:] if value else b"12345678"
    if isinstance(value, str):
        return f"{value} "
    return value + 1_000 if column in ("number", "seq") else value + 1


def spoiled(path, tmp_path, sql, values):
    """A copy of a store in which something was changed."""
    copy = tmp_path / "copy.db"
    for old in tmp_path.glob("copy.db*"):
        old.unlink()
    shutil.copy(path, copy)
    db = apsw.Connection(str(copy))
    db.execute(sql, values)
    assert db.changes() == 1
    db.close()
    return copy


def is_noticed(copy):
    """Whether an audit finds fault, or the store cannot even be opened."""
    try:
        with Campaign.open(str(copy)) as campaign:
            return not audit(campaign).holds
    except (CampaignError, ValueError, TypeError, LookupError):
        return True


def rows_of(path, table):
    """Which rows to change, each of another sort: a pull in each state, say."""
    key = {"campaign": "id", "arm": "number", "pull": "seq", "event": "number"}[table]
    sort = {"campaign": "state", "arm": "status", "pull": "state", "event": "kind"}[table]
    db = apsw.Connection(str(path))
    found = db.execute(f"SELECT MIN({key}), MAX({key}) FROM {table} GROUP BY {sort}").fetchall()
    db.close()
    return key, sorted({number for pair in found for number in pair})


@pytest.mark.parametrize(("table", "column"), list(columns()))
def test_any_change_of_one_field_is_noticed(happened, tmp_path, table, column):
    harmless = HARMLESS.get((table, column))
    key, rows = rows_of(happened, table)
    db = apsw.Connection(str(happened))
    values = {
        row: db.execute(f"SELECT {column} FROM {table} WHERE {key} = ?", [row]).fetchall()[0][0]
        for row in rows
    }
    db.close()
    for row, value in values.items():
        sql = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"
        copy = spoiled(happened, tmp_path, sql, [another(value, column), row])
        if harmless is None:
            assert is_noticed(copy), f"{column} of {table} {row} was {value!r}"


def test_a_change_of_any_setting_is_noticed(happened, tmp_path):
    db = apsw.Connection(str(happened))
    ((text,),) = db.execute("SELECT settings FROM campaign").fetchall()
    db.close()
    settings = json.loads(text)
    assert settings.keys() >= {"declared", "seed", "unit", "lease", "bar", "rule", "patience"}
    for name, value in settings.items():
        for other in (None, 3, "x", {"a": 1}, 0.25, not value):
            if other != value:
                changed = json.dumps({**settings, name: other})
                copy = spoiled(happened, tmp_path, "UPDATE campaign SET settings = ?", [changed])
                assert is_noticed(copy), f"{name} was {value!r} and is {other!r}"


@pytest.mark.parametrize("table", ["arm", "pull", "event"])
def test_rows_that_are_gone_or_doubled_are_noticed(happened, tmp_path, table):
    key, rows = rows_of(happened, table)
    for row in rows:
        copy = spoiled(happened, tmp_path, f"DELETE FROM {table} WHERE {key} = ?", [row])
        assert is_noticed(copy), f"{table} {row} is gone"


def test_what_was_written_before_there_were_checksums_is_counted(happened, tmp_path):
    copy = tmp_path / "before.db"
    shutil.copy(happened, copy)
    db = apsw.Connection(str(copy))
    rows = 0
    for table in ("campaign", "arm", "pull", "event"):
        db.execute(f"UPDATE {table} SET checksum = NULL")
        rows += db.changes()
    db.execute("UPDATE pull SET note = 'another' WHERE seq = 0")
    db.close()
    with Campaign.open(str(copy)) as campaign:
        found = audit(campaign)
    assert found.holds, found.faults
    assert found.unchecked == rows


def test_a_server_notices_too(database):
    import psycopg

    problem = Problem(arms=["a", "b"], threshold=0.5, precision=0.1, rewards="binary")
    with Campaign(problem, store=database, budget=30, unit="calls") as campaign:
        for n in range(10):
            campaign.tell(campaign.ask(), n % 2, note=f"trial {n}")
        campaign.ask()
        campaign.pause()
        assert audit(campaign) == audit(campaign)
        assert audit(campaign).holds
        assert audit(campaign).unchecked == 0
    for change, back in (
        ("campaign SET settings = replace(settings, 'calls', 'galls')",
         "campaign SET settings = replace(settings, 'galls', 'calls')"),
        ("arm SET tie = 1 - tie WHERE number = 1", "arm SET tie = 1 - tie WHERE number = 1"),
        ("pull SET note = 'x' WHERE seq = 3", "pull SET note = 'trial 3' WHERE seq = 3"),
        ("pull SET token = token + 1 WHERE seq = 10", "pull SET token = token - 1 WHERE seq = 10"),
        ("event SET data = '{\"a\": 1}'", "event SET data = '{}'"),
    ):  # fmt: skip
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(f"UPDATE cutline.{change}")
        with Campaign.open(database) as campaign:
            assert not audit(campaign).holds, change
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(f"UPDATE cutline.{back}")
    with Campaign.open(database) as campaign:
        assert audit(campaign).holds, audit(campaign).faults


# Memory.


def long_campaign(path, trials, confidence=None):
    """A store with so many trials, a few of which are lost, fail, or come late."""
    clock = [0.0]
    problem = Problem(arms=50, threshold=0.5, precision=0.001, rewards="binary")
    store = SQLiteStore(path, lambda: clock[0])
    campaign = Campaign(
        problem, store=store, budget=10 * trials, lease=100.0, patience=10**6, confidence=confidence
    )
    held, deal = [], random.Random(1)
    done = 0
    while done < trials:
        asked = campaign.ask(1_000)
        done += len(asked)
        tell, lose = asked[:-4], asked[-4:]
        campaign.tell_many([(trial, deal.random() < 0.5) for trial in tell])
        campaign.fail(lose[0], note="it broke")
        campaign.give_back(lose[1])
        held.append(lose[2])
        if len(held) > 3:
            campaign.tell(held.pop(0), 1)
        clock[0] += 60.0
    store.release()


def peak_of_audit(path):
    """The most memory that an audit in a process of its own takes, in megabytes, and its words."""
    command = [sys.executable, "-m", "cutline.cli", "audit", "--store", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said
    return used.ru_maxrss / 1024, said


def check_memory(tmp_path, few, many, confidence):
    peaks = {}
    for trials in (few, many):
        path = tmp_path / f"{trials}.db"
        long_campaign(path, trials, confidence)
        peaks[trials], said = peak_of_audit(path)
        assert "it holds" in said
    # SQLite may fill its cache of 64 MB; what was kept of each trial before took some 500 bytes.
    assert peaks[many] - peaks[few] < 64 + (many - few) * 50 / 2**20, peaks
    return peaks


def test_memory_does_not_grow_with_the_history(tmp_path):
    peaks = check_memory(tmp_path, 5_000, 50_000, None)
    assert peaks[50_000] - peaks[5_000] < 15, peaks


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [None, 0.95])
def test_memory_does_not_grow_with_a_long_history(tmp_path, confidence):
    check_memory(tmp_path, 100_000, 1_000_000, confidence)
