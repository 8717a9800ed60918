"""Records as rows of tables: the statements, and both ways between the two."""

import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from cutline.campaign.records import Arm, Head, PullRow

HEAD = tuple(f.name for f in fields(Head))
ARM = tuple(f.name for f in fields(Arm))
PULL = tuple(f.name for f in fields(PullRow))
# `precision` is a word of SQL.
_COLUMN = {"precision": "precision_"}
_COUNTERS = HEAD[3:]  # settings and all after it
_counters = attrgetter(*_COUNTERS[1:])
_FIXED_ARM = ("number", "name", "threshold", "precision", "level", "sd", "cost", "tie")
_MOVING_ARM = tuple(name for name in ARM if name not in _FIXED_ARM)
_MOVING_PULL = ("cost", "state", "reward", "late", "settled", "expires", "note")


def _list(names: Iterable[str]) -> str:
    return ", ".join(_COLUMN.get(name, name) for name in names)


def marks(count: int) -> str:
    """Places for so many values."""
    return ", ".join("?" * count)


def _setters(names: Iterable[str]) -> str:
    return ", ".join(f"{_COLUMN.get(name, name)} = ?" for name in names)


SELECT_HEAD = f"SELECT {_list(HEAD)} FROM campaign WHERE name = ?"
SELECT_HEADS = f"SELECT {_list(HEAD)} FROM campaign ORDER BY id"
INSERT_HEAD = f"INSERT INTO campaign ({_list(HEAD[1:])}) VALUES ({marks(len(HEAD) - 1)})"
UPDATE_HEAD = f"UPDATE campaign SET {_setters(_COUNTERS)} WHERE id = ?"
SELECT_ARM = f"SELECT {_list(ARM)} FROM arm WHERE campaign = ?"
INSERT_ARM = f"INSERT INTO arm (campaign, {_list(ARM)}) VALUES ({marks(len(ARM) + 1)})"
UPDATE_ARM = f"UPDATE arm SET {_setters(_MOVING_ARM)} WHERE campaign = ? AND number = ?"
SELECT_PULL = f"SELECT {_list(PULL)} FROM pull WHERE campaign = ?"
INSERT_PULL = f"INSERT INTO pull (campaign, {_list(PULL)}) VALUES ({marks(len(PULL) + 1)})"
UPDATE_PULL = f"UPDATE pull SET {_setters(_MOVING_PULL)} WHERE campaign = ? AND seq = ?"
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
        arm.late, arm.returned, arm.streak, arm.tripped, arm.pulls, arm.total,
        arm.squares, pack(arm.kept), arm.fed, pack(arm.proof), arm.priority,
    )  # fmt: skip


def fixed(arm: Arm) -> tuple[Any, ...]:
    """What never changes of an arm, as it is written."""
    return tuple(getattr(arm, name) for name in _FIXED_ARM)


def pull_row(pull: PullRow) -> tuple[Any, ...]:
    """A pull as it is written."""
    return (
        pull.seq, pull.token, pull.arm, pull.nth, pull.cost, pull.asked, pull.state, pull.reward,
        pull.late, pull.settled, pull.expires, pull.note,
    )  # fmt: skip


class Settings:
    """Settings as text and as values; each text is read once."""

    def __init__(self) -> None:
        self._read: dict[str, dict[str, Any]] = {}
        self._text: dict[int, str] = {}  # of the values above, which are kept, by identity

    def head(self, row: Sequence[Any]) -> Head:
        """A campaign's row as a record."""
        values = list(row)
        text = values[3]
        if text not in self._read:
            self._read[text] = json.loads(text)
            self._text[id(self._read[text])] = text
        values[3] = self._read[text]
        return Head(*values)

    def values(self, head: Head) -> tuple[Any, ...]:
        """A campaign's settings and counters, as they are written."""
        text = self._text.get(id(head.settings)) or json.dumps(head.settings)
        return (text, *_counters(head))
