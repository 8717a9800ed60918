"""The tables of a store, and how an older store becomes one of today."""

from collections.abc import Callable

from cutline.campaign.errors import OlderStore, StoreError, UnknownCampaign
from cutline.campaign.stores.connection import Connection, all_or_nothing
from cutline.campaign.stores.rows import name_digest

VERSION = 3
"""The version of the tables below; a store says which it has."""

TABLES = """
CREATE TABLE campaign (
    id {serial}, name TEXT NOT NULL UNIQUE, created {real} NOT NULL, settings TEXT NOT NULL,
    budget BIGINT, spent BIGINT NOT NULL, reserved BIGINT NOT NULL, state TEXT NOT NULL,
    arms BIGINT NOT NULL, unsettled BIGINT NOT NULL, flying BIGINT NOT NULL, told BIGINT NOT NULL,
    pulls BIGINT NOT NULL, events BIGINT NOT NULL, weighed BIGINT NOT NULL,
    failed BIGINT NOT NULL, clock {real} NOT NULL, checksum BIGINT
);
CREATE TABLE arm (
    campaign BIGINT NOT NULL, number BIGINT NOT NULL, name TEXT NOT NULL,
    threshold {real} NOT NULL, precision_ {real} NOT NULL, level {real}, sd {real},
    cost BIGINT NOT NULL, tie {real} NOT NULL, status TEXT NOT NULL, closed BIGINT NOT NULL,
    places BIGINT NOT NULL, flying BIGINT NOT NULL, told BIGINT NOT NULL, failed BIGINT NOT NULL,
    lost BIGINT NOT NULL, late BIGINT NOT NULL, returned BIGINT NOT NULL, streak BIGINT NOT NULL,
    tripped BIGINT NOT NULL, failing_from BIGINT NOT NULL, pulls BIGINT NOT NULL,
    total {real} NOT NULL, squares {real} NOT NULL,
    kept {blob}, fed BIGINT NOT NULL, proof {blob}, priority {real},
    name_digest {blob}, checksum BIGINT,
    PRIMARY KEY (campaign, number)
){clustered};
CREATE UNIQUE INDEX arm_name ON arm (campaign, name_digest);
CREATE INDEX arm_line ON arm (campaign, priority, tie) WHERE priority IS NOT NULL;
CREATE TABLE pull (
    campaign BIGINT NOT NULL, seq BIGINT NOT NULL, token BIGINT NOT NULL, arm BIGINT NOT NULL,
    nth BIGINT NOT NULL, cost BIGINT NOT NULL, asked BIGINT NOT NULL, state BIGINT NOT NULL,
    reward {real}, late {real}, settled BIGINT, expires {real}, note TEXT, checksum BIGINT,
    PRIMARY KEY (campaign, seq)
){clustered};
CREATE INDEX pull_lease ON pull (campaign, expires) WHERE expires IS NOT NULL;
CREATE TABLE event (
    campaign BIGINT NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (campaign, number)
){clustered};
"""

MIGRATIONS: dict[int, str] = {
    1: """
ALTER TABLE campaign ADD COLUMN failed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE campaign ADD COLUMN clock {real} NOT NULL DEFAULT 0;
UPDATE campaign SET
    failed = (SELECT COALESCE(SUM(failed + lost), 0) FROM arm WHERE arm.campaign = campaign.id);
""",
    2: "",
}
"""What turns a store of one version into one of the next, as SQL; {real} and so on as above."""


ADDED_SINCE_2 = (
    ("campaign", "checksum", "BIGINT"),
    ("arm", "failing_from", "BIGINT NOT NULL DEFAULT 0"),
    ("arm", "name_digest", "{blob}"),
    ("arm", "checksum", "BIGINT"),
    ("pull", "checksum", "BIGINT"),
    ("event", "checksum", "BIGINT"),
)


def _add_columns(db: Connection) -> None:
    """Add what is missing: stores that say version 2 were written with and without these.

    Checksums of version 2 were not all made alike, so rows from before have none.
    """
    for table, column, kind in ADDED_SINCE_2:
        if column not in db.columns(table):
            db.script(f"ALTER TABLE {table} ADD COLUMN {column} {kind.format(**db.types)}")
        elif column == "checksum":
            db.script(f"UPDATE {table} SET checksum = NULL")
    db.script("DROP INDEX arm_name;")
    _digest_names(db)


def _digest_names(db: Connection) -> None:
    """Arms are found by a digest of their names, as no index takes a long one."""
    after = (-1, -1)
    while True:
        sql = "SELECT campaign, number, name FROM arm WHERE (campaign, number) > (?, ?)"
        rows = db.rows(f"{sql} ORDER BY campaign, number LIMIT 500", after)
        if not rows:
            break
        db.many(
            "UPDATE arm SET name_digest = ? WHERE campaign = ? AND number = ?",
            [(name_digest(name), campaign, number) for campaign, number, name in rows],
        )
        after = tuple(rows[-1][:2])
    db.script("CREATE UNIQUE INDEX arm_name ON arm (campaign, name_digest);")


AFTERWARDS: dict[int, Callable[[Connection], None]] = {2: _add_columns}
"""What SQL alone cannot do of a migration, done after it."""


class Nothing(UnknownCampaign, StoreError):
    """There are no tables, and nobody has asked for any."""


def make_tables(db: Connection, where: str, make: bool) -> None:
    """See that the tables are there and of today's version."""
    version = db.version()
    if version is None and not make:
        raise Nothing(f"there is no campaign in {where}")
    if version is None:
        with all_or_nothing(db, "make"):
            db.alone()
            if db.version() is None:  # nobody was quicker
                db.script(TABLES.format(**db.types))
                db.set_version(VERSION)
        version = VERSION
    if version > VERSION:
        raise StoreError(
            f"{where} was written by a newer cutline (its tables are version {version}, this "
            f"cutline knows {VERSION}): use that one"
        )
    if version < VERSION:
        raise OlderStore(
            f"{where} was written by an older cutline (version {version}, today's is {VERSION}): "
            f"run 'cutline upgrade {where}' once, which keeps a copy"
        )


def upgrade_tables(db: Connection) -> int:
    """Bring the tables up to date, all or nothing; the version they had."""
    with all_or_nothing(db, "upgrade"):
        db.alone()
        had = db.version()
        if had is None:
            raise StoreError("there are no tables to upgrade")
        if had > VERSION:
            raise StoreError(f"its tables are version {had}, newer than what this cutline knows")
        for version in range(had, VERSION):
            db.script(MIGRATIONS[version].format(**db.types))
            if version in AFTERWARDS:
                AFTERWARDS[version](db)
        if had < VERSION:
            db.set_version(VERSION)
    return had
