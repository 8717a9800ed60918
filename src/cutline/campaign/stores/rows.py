"""Records as rows of tables: the statements, and both ways between the two."""

import hashlib
import json
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from cutline.campaign.errors import StoreError
from cutline.campaign.records import Arm, Event, Head, PullRow

HEAD = tuple(f.name for f in fields(Head))
ARM = tuple(f.name for f in fields(Arm))
PULL = tuple(f.name for f in fields(PullRow) if f.init)
# `precision` is a word of SQL.
_COLUMN = {"precision": "precision_"}
_COUNTERS = HEAD[3:]  # settings and all after it
_counters = attrgetter(*_COUNTERS[1:])
FIXED_ARM = ("number", "name", "threshold", "precision", "level", "sd", "cost", "tie")
_MOVING_ARM = tuple(name for name in ARM if name not in FIXED_ARM)
MOVING_PULL = ("cost", "state", "reward", "late", "settled", "expires", "note")


# What the settings of any campaign hold, by whichever version they were written.
SETTINGS = {
    "rewards", "levels", "uneven", "bar", "rule", "numbers", "budget", "confidence", "lost", "seed",
    "unit", "first_arms", "declared", "lease", "patience", "digest", "about",
}  # fmt: skip


def _list(names: Iterable[str]) -> str:
    return ", ".join(_COLUMN.get(name, name) for name in names)


def marks(count: int) -> str:
    """Places for so many values."""
    return ", ".join("?" * count)


def _setters(names: Iterable[str]) -> str:
    return ", ".join(f"{_COLUMN.get(name, name)} = ?" for name in names)


SELECT_HEAD = f"SELECT {_list(HEAD)} FROM campaign WHERE name = ?"
SELECT_HEADS = f"SELECT {_list(HEAD)} FROM campaign ORDER BY id"
INSERT_HEAD = f"INSERT INTO campaign ({_list(HEAD[1:])}, checksum) VALUES ({marks(len(HEAD))})"
UPDATE_HEAD = f"UPDATE campaign SET {_setters(_COUNTERS)}, checksum = ? WHERE id = ?"
SELECT_ARM = f"SELECT {_list(ARM)} FROM arm WHERE campaign = ?"
INSERT_ARM = (
    f"INSERT INTO arm (campaign, {_list(ARM)}, name_digest, checksum) "
    f"VALUES ({marks(len(ARM) + 3)})"
)
UPDATE_ARM = f"UPDATE arm SET {_setters(_MOVING_ARM)} WHERE campaign = ? AND number = ?"
SELECT_PULL = f"SELECT {_list(PULL)} FROM pull WHERE campaign = ?"
INSERT_PULL = (
    f"INSERT INTO pull (campaign, {_list(PULL)}, checksum) VALUES ({marks(len(PULL) + 2)})"
)
UPDATE_PULL = (
    f"UPDATE pull SET {_setters(MOVING_PULL)}, checksum = ? WHERE campaign = ? AND seq = ?"
)
INSERT_EVENT = "INSERT INTO event (campaign, number, kind, data, checksum) VALUES (?, ?, ?, ?, ?)"
HEAD_TO_CHECK = "SELECT settings, checksum FROM campaign WHERE id = ?"
_SOME = "WHERE campaign = ? AND {0} > ? ORDER BY {0} LIMIT ?"
ARMS_TO_CHECK = f"SELECT {_list(ARM)}, name_digest, checksum FROM arm {_SOME.format('number')}"
PULLS_TO_CHECK = f"SELECT {_list(PULL)}, checksum FROM pull {_SOME.format('seq')}"
EVENTS_TO_CHECK = f"SELECT number, kind, data, checksum FROM event {_SOME.format('number')}"
NAMED_ARM = f"{SELECT_ARM} AND name_digest = ?"
ONE_ARM, ONE_PULL = f"{SELECT_ARM} AND number = ?", f"{SELECT_PULL} AND seq = ?"
LINE = f"{SELECT_ARM} AND priority IS NOT NULL{{}} ORDER BY priority, tie LIMIT ?"


def pack(numbers: Sequence[float] | None) -> bytes | None:
    """Floats as bytes, exactly."""
    if not numbers:
        return None if numbers is None else b""
    return struct.pack(f"<{len(numbers)}d", *numbers)


def unpack(data: bytes | None) -> tuple[float, ...] | None:
    """The other way round."""
    if not data:
        return None if data is None else ()
    return struct.unpack(f"<{len(data) // 8}d", data)


_KEPT, _PROOF, _CLOSED = ARM.index("kept"), ARM.index("proof"), ARM.index("closed")


def arm_of(row: Sequence[Any]) -> Arm:
    """An arm's row as a record."""
    arm = Arm(*row)
    arm.kept = unpack(row[_KEPT]) or ()
    arm.proof = unpack(row[_PROOF])
    arm.closed = bool(row[_CLOSED])
    return arm


def moving(arm: Arm) -> tuple[Any, ...]:
    """What changes of an arm, as it is written."""
    return (
        arm.status, int(arm.closed), arm.places, arm.flying, arm.told, arm.failed, arm.lost,
        arm.late, arm.returned, arm.streak, arm.tripped, arm.failing_from, arm.pulls, arm.total,
        arm.squares, pack(arm.kept), arm.fed, pack(arm.proof), arm.priority,
    )  # fmt: skip


def arm_row(arm: Arm) -> tuple[Any, ...]:
    """A new arm as it is written."""
    fixed = tuple(getattr(arm, name) for name in FIXED_ARM)
    return (*fixed, *moving(arm), name_digest(arm.name), arm_checksum(arm))


def pull_row(pull: PullRow) -> tuple[Any, ...]:
    """A new pull as it is written."""
    return (
        pull.seq, pull.token, pull.arm, pull.nth, pull.cost, pull.asked, pull.state, pull.reward,
        pull.late, pull.settled, pull.expires, pull.note, pull_checksum(pull),
    )  # fmt: skip


def moved_pull(pull: PullRow, campaign: int) -> tuple[Any, ...]:
    """What changes of a pull, as it is written, and which pull it is."""
    return (
        pull.cost, pull.state, pull.reward, pull.late, pull.settled, pull.expires, pull.note,
        pull_checksum(pull), campaign, pull.seq,
    )  # fmt: skip


def event_row(event: Event, campaign: int) -> tuple[Any, ...]:
    """An event as it is written."""
    data = json.dumps(event.data)
    return (campaign, event.number, event.kind, data, text_checksum(event.number, event.kind, data))


# Checksums, by which an audit notices what no replay can: they are kept beside what they are of,
# against accident and not against forgery. SQLite knows no -0.0, so that is 0.0 here.

_OF_PULL = struct.Struct("<7q2dq")
_OF_ARM = struct.Struct("<2q5d")


def pull_checksum(pull: PullRow) -> int:
    """The checksum of what is kept of a pull, save its lease, which goes with the clock."""
    reward, late, settled = pull.reward, pull.late, pull.settled
    found = zlib.crc32(
        _OF_PULL.pack(
            pull.seq, pull.token, pull.arm, pull.nth, pull.cost, pull.asked, pull.state,
            math.nan if reward is None else reward + 0.0, math.nan if late is None else late + 0.0,
            -1 if settled is None else settled,
        )
    )  # fmt: skip
    return found if pull.note is None else zlib.crc32(f"note {pull.note}".encode(), found)


def arm_checksum(arm: Arm) -> int:
    """The checksum of what never changes of an arm; a replay sees the rest."""
    reals = (arm.threshold, arm.precision, arm.level, arm.sd, arm.tie)
    numbers = (math.nan if number is None else number + 0.0 for number in reals)
    return zlib.crc32(arm.name.encode(), zlib.crc32(_OF_ARM.pack(arm.number, arm.cost, *numbers)))


def text_checksum(*parts: object) -> int:
    """The checksum of some words and numbers."""
    return zlib.crc32(repr(parts).encode())


def name_digest(name: str) -> bytes:
    """What an arm is found by: no index takes a name of a page or more."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _settings(text: str, name: str) -> dict[str, Any]:
    """Settings out of their text."""
    try:
        read = json.loads(text)
        if isinstance(read, dict) and read.keys() >= SETTINGS:
            return read
    except (ValueError, RecursionError):
        pass
    raise StoreError(f"the settings of campaign {name!r} are damaged: nobody can tell what it was")


class Settings:
    """Settings as text and as values; each text is read once."""

    def __init__(self) -> None:
        self._read: dict[str, dict[str, Any]] = {}
        self._text: dict[int, str] = {}  # of the values above, which are kept, by identity
        self._sums: dict[tuple[str, float, str], int] = {}

    def head(self, row: Sequence[Any]) -> Head:
        """A campaign's row as a record."""
        values = list(row)
        text = values[3]
        if text not in self._read:
            self._read[text] = _settings(text, values[1])
            self._text[id(self._read[text])] = text
        values[3] = self._read[text]
        return Head(*values)

    def values(self, head: Head) -> tuple[Any, ...]:
        """A campaign's settings and counters, as they are written."""
        text = self._text.get(id(head.settings)) or json.dumps(head.settings)
        return (text, *_counters(head))

    def checksum(self, head: Head, text: str) -> int:
        """The checksum of a campaign's settings; a replay sees the counters."""
        what = head.name, float(head.created), text
        known = self._sums.get(what)
        if known is None:
            known = self._sums[what] = text_checksum(*what)
        return known
