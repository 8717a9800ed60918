"""Whether the rows of a campaign are as they were written, by their checksums."""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cutline.campaign.records import Head, PullRow
from cutline.campaign.stores.connection import Connection
from cutline.campaign.stores.rows import (
    ARMS_TO_CHECK,
    EVENTS_TO_CHECK,
    HEAD_TO_CHECK,
    PULLS_TO_CHECK,
    arm_checksum,
    arm_of,
    name_digest,
    pull_checksum,
    text_checksum,
)

MOST = 20  # rows that are named
Row = Sequence[Any]


def misfits(db: Connection, head: Head) -> tuple[list[str], int]:
    """The rows that are not as they were written, some of them; how many have no checksum."""
    wrong: list[str] = []
    unchecked = 0
    for what, fits in _rows(db, head):
        if fits is None:
            unchecked += 1
        elif not fits and len(wrong) < MOST:
            wrong.append(f"{what} is not as it was written: its checksum does not fit")
    return wrong, unchecked


def _rows(db: Connection, head: Head) -> Iterator[tuple[str, bool | None]]:
    """Every row, in a few words, and whether it is as it was written; None if nobody can say."""
    ((settings, checksum),) = db.rows(HEAD_TO_CHECK, [head.id])
    found = (head.name, float(head.created), settings)
    yield "the campaign", None if checksum is None else text_checksum(*found) == checksum
    for row in _each(db, ARMS_TO_CHECK, head.id, 500):
        name = str(row[1])
        fits = _fits(lambda row: arm_checksum(arm_of(row[:-2])), row)
        digest = row[-2]
        if digest is None or bytes(digest) != name_digest(name):
            fits = False
        yield f"arm {name[:100]!r}", fits
    for row in _each(db, PULLS_TO_CHECK, head.id, 5_000):
        yield f"pull {row[0]}", _fits(lambda row: pull_checksum(PullRow(*row[:-1])), row)
    for row in _each(db, EVENTS_TO_CHECK, head.id, 5_000):
        yield f"event {row[0]}", _fits(lambda row: text_checksum(*row[:-1]), row)


def _fits(checksum: Callable[[Row], int], row: Row) -> bool | None:
    """Whether a row fits the checksum at its end."""
    if row[-1] is None:
        return None
    try:
        return bool(checksum(row) == row[-1])
    except (struct.error, TypeError, AttributeError, ValueError):  # not even of the right kind
        return False


def _each(db: Connection, sql: str, campaign: int, size: int) -> Iterator[Row]:
    """All rows, some at a time, by the number that each begins with."""
    after = -1
    while rows := db.rows(sql, [campaign, after, size]):
        yield from rows
        after = rows[-1][0]
