"""Every store that was ever kept upgrades by `cutline upgrade`, audits, and goes on."""

import shutil
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from cutline.campaign import Campaign, OlderStore, audit, open_store
from cutline.campaign.stores import schema, sqlite
from cutline.cli.main import cli

pytestmark = pytest.mark.usefixtures("releases")

KEPT = sorted((Path(__file__).parent / "data").glob("store-v*.db"))
FIRST = Path(__file__).parent / "data" / "store-v1.db"

# The tables of version 1, as they were.
TABLES_1 = """
CREATE TABLE campaign (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    created DOUBLE PRECISION NOT NULL, settings TEXT NOT NULL,
    budget BIGINT, spent BIGINT NOT NULL, reserved BIGINT NOT NULL, state TEXT NOT NULL,
    arms BIGINT NOT NULL, unsettled BIGINT NOT NULL, flying BIGINT NOT NULL, told BIGINT NOT NULL,
    pulls BIGINT NOT NULL, events BIGINT NOT NULL, weighed BIGINT NOT NULL
);
CREATE TABLE arm (
    campaign BIGINT NOT NULL, number BIGINT NOT NULL, name TEXT NOT NULL,
    threshold DOUBLE PRECISION NOT NULL, precision_ DOUBLE PRECISION NOT NULL,
    level DOUBLE PRECISION, sd DOUBLE PRECISION,
    cost BIGINT NOT NULL, tie DOUBLE PRECISION NOT NULL, status TEXT NOT NULL,
    closed BIGINT NOT NULL, places BIGINT NOT NULL, flying BIGINT NOT NULL, told BIGINT NOT NULL,
    failed BIGINT NOT NULL, lost BIGINT NOT NULL, late BIGINT NOT NULL, returned BIGINT NOT NULL,
    streak BIGINT NOT NULL, tripped BIGINT NOT NULL, pulls BIGINT NOT NULL,
    total DOUBLE PRECISION NOT NULL, squares DOUBLE PRECISION NOT NULL,
    kept BYTEA, fed BIGINT NOT NULL, proof BYTEA, priority DOUBLE PRECISION,
    PRIMARY KEY (campaign, number)
);
CREATE UNIQUE INDEX arm_name ON arm (campaign, name);
CREATE INDEX arm_line ON arm (campaign, priority, tie) WHERE priority IS NOT NULL;
CREATE TABLE pull (
    campaign BIGINT NOT NULL, seq BIGINT NOT NULL, token BIGINT NOT NULL, arm BIGINT NOT NULL,
    nth BIGINT NOT NULL, cost BIGINT NOT NULL, asked BIGINT NOT NULL, state BIGINT NOT NULL,
    reward DOUBLE PRECISION, late DOUBLE PRECISION, settled BIGINT, expires DOUBLE PRECISION,
    note TEXT, PRIMARY KEY (campaign, seq)
);
CREATE INDEX pull_lease ON pull (campaign, expires) WHERE expires IS NOT NULL;
CREATE TABLE event (
    campaign BIGINT NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (campaign, number)
);
CREATE TABLE version (number BIGINT NOT NULL);
INSERT INTO version VALUES (1);
"""


def cutline(*words):
    """What a command says; it must end well."""
    done = CliRunner().invoke(cli, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def rows_in(file):
    """How many rows a file of version 1 has."""
    db = apsw.Connection(str(file))
    tables = ("campaign", "arm", "pull", "event")
    found = sum(db.execute(f"SELECT COUNT(*) FROM {table}").fetchall()[0][0] for table in tables)
    db.close()
    return found


def goes_on(address):
    """Everything in a store audits, looks, and can be played on; then it audits again."""
    for head in open_store(address).heads():
        assert "it holds" in cutline("audit", "--store", address, "--name", head.name)
        cutline("show", "--store", address, "--name", head.name)
        cutline("export", "--store", address, "--name", head.name)
        with Campaign.open(address, head.name) as campaign:
            if campaign.budget is not None:
                campaign.extend(budget=5)
            for arm in campaign.verdict().unmeasured:
                campaign.resume(arm)
            for name in campaign.problem.arms:  # found by its name
                with campaign.store.begin(head.name, "look") as t:
                    assert t.named(name).name == name
            campaign.tell_many([(trial, 1) for trial in campaign.ask(3)], notes=["after"] * 3)
            found = audit(campaign)
            assert found.holds, found.faults


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)
def test_a_kept_file_upgrades_and_audits(kept, tmp_path):
    version = int(kept.name.removeprefix("store-v")[0])
    path = tmp_path / kept.name
    shutil.copy(kept, path)
    if version < schema.VERSION:
        with pytest.raises(OlderStore, match="cutline upgrade"):
            open_store(path).heads()
        assert f"was version {version} and is up to date now" in cutline("upgrade", path)
        copy = path.with_name(f"{path.name}.version-{version}")
        assert rows_in(copy) == rows_in(kept)
        for head in open_store(path).heads():
            with Campaign.open(str(path), head.name) as campaign:
                found = audit(campaign)
                assert found.holds, found.faults
                assert found.unchecked > 0
    else:
        assert "nothing was to be done" in cutline("upgrade", path)
    goes_on(str(path))


def test_there_is_a_file_of_every_earlier_version():
    versions = {int(kept.name.removeprefix("store-v")[0]) for kept in KEPT}
    assert versions >= set(range(1, schema.VERSION))


def test_a_server_of_version_1_upgrades_and_audits(database):
    import psycopg

    db = apsw.Connection(str(FIRST))
    with psycopg.connect(database, autocommit=True) as server:
        server.execute("CREATE SCHEMA cutline")
        server.execute("SET search_path TO cutline")
        server.execute(TABLES_1)
        for table in ("campaign", "arm", "pull", "event"):
            columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})").fetchall()]
            named, places = ", ".join(columns), ", ".join(["%s"] * len(columns))
            own = " OVERRIDING SYSTEM VALUE" if table == "campaign" else ""
            server.cursor().executemany(
                f"INSERT INTO {table} ({named}){own} VALUES ({places})",
                db.execute(f"SELECT {named} FROM {table}").fetchall(),
            )
    db.close()
    with pytest.raises(OlderStore):
        open_store(database).heads()
    assert "was version 1" in cutline("upgrade", database, "--backed-up")
    with Campaign.open(database) as campaign:
        found = audit(campaign)
        assert found.holds, found.faults
        assert found.unchecked == rows_in(FIRST)
    goes_on(database)


def test_an_upgraded_store_has_the_tables_of_a_new_one(tmp_path):
    path = tmp_path / "old.db"
    shutil.copy(FIRST, path)
    cutline("upgrade", path)
    new = apsw.Connection(":memory:")
    new.execute(schema.TABLES.format(**sqlite._File.types))
    old = apsw.Connection(str(path))
    for table in ("campaign", "arm", "pull", "event"):
        shapes = [
            {(name, kind) for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})")}
            for db in (new, old)
        ]
        assert shapes[0] == shapes[1]
    indexes = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    assert set(new.execute(indexes)) == set(old.execute(indexes))
    old.close()
