"""How a command is run as a trial, and what its outcome means."""

import hashlib
import json
import re
import shlex
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cutline.cli.run.arms import NamedArm
from cutline.cli.run.reading import last_number

if TYPE_CHECKING:
    from cutline.campaign import Pull
    from cutline.campaign.runner.drivers.processes import Command, Ended
    from cutline.core.rewards import Rewards

NOTE = 200  # characters of a trial's output that are kept
_LIKE_PLACES = re.compile(r"(?<![{$])\{[A-Za-z_][\w.-]*\}(?!\})")
_PLACES = re.compile(r"\{(arm|pull|seed)\}|\{arm\.([^{}]+)\}")


@dataclass(frozen=True)
class Outcome:
    """What came of a trial: its reward, or None for a failed pull; and how it ended, in words."""

    reward: float | None
    how: str
    last_line: str = ""
    seconds: float = 0.0

    @property
    def note(self) -> str | None:
        """What is worth keeping beside the pull: how it failed, in a short line."""
        if self.reward:
            return None
        return f"{self.how}: {self.last_line}"[:NOTE] if self.last_line else self.how


@dataclass(frozen=True)
class Trial:
    """A command with places to fill in, and what its exit code and its output stand for.

    Exit code 0 is reward 1 and 1 is reward 0; with ``reads`` the reward is the last number printed
    by a command that ends with 0. A code of ``zero_on`` is reward 0 (signals are negative). All
    else is a failed pull, as is a trial of more than ``timeout`` seconds unless ``timeout_counts``
    says which reward that is.
    """

    words: tuple[str, ...]
    rewards: "Rewards"
    zero_on: frozenset[int] = frozenset()
    timeout: float | None = None
    timeout_counts: float | None = None
    reads: bool = False

    def check(self, arms: Sequence[NamedArm]) -> None:
        """Refuse a place that no arm, or not every arm, can fill."""
        wanted = {name for word in self.words for _, name in _PLACES.findall(word) if name}
        for arm in arms:
            missing = sorted(wanted - arm.fields.keys())
            if missing:
                known = ", ".join(arm.fields) or "none: --arms takes a CSV or JSON Lines file"
                raise ValueError(
                    f"the command asks for {{arm.{missing[0]}}}, and the fields of arm "
                    f"{arm.name!r} are {known}"
                )

    def unknown_places(self) -> list[str]:
        """What looks like a place to fill in and is none."""
        found = [name for word in self.words for name in _LIKE_PLACES.findall(word)]
        return [name for name in dict.fromkeys(found) if not _PLACES.fullmatch(name)]

    def argv(self, arm: NamedArm, pull: "Pull") -> list[str]:
        """The command with its places filled in; what is filled in is never split."""
        plain = {"arm": arm.name, "pull": str(pull.number), "seed": str(pull.seed)}

        def fill(match: re.Match[str]) -> str:
            return plain[match[1]] if match[1] else arm.fields[match[2]]

        return [_PLACES.sub(fill, word) for word in self.words]

    def variables(self, arm: NamedArm, pull: "Pull") -> dict[str, str]:
        """The same as environment variables."""
        fields = {f"CUTLINE_ARM_{_variable(name)}": text for name, text in arm.fields.items()}
        own = {"ARM": arm.name, "PULL": str(pull.number), "SEED": str(pull.seed)}
        return fields | {f"CUTLINE_{name}": text for name, text in own.items()}

    def about(self, arms: Sequence[NamedArm]) -> dict[str, Any]:
        """All that says what a reward means, as plain values: it must not change on the way."""
        from cutline.campaign.agreement import FIELDS

        fields = json.dumps([dict(arm.fields) for arm in arms], sort_keys=True)
        return {
            "command": shlex.join(self.words),
            "reward": "stdout" if self.reads else "exit",
            "zero-on": sorted(self.zero_on),
            "timeout": self.timeout,
            "timeout-counts": self.timeout_counts,
            FIELDS: hashlib.sha256(fields.encode()).hexdigest()[:16],
        }

    def command(self, arm: NamedArm, pull: "Pull") -> "Command":
        """What to run for a pull."""
        from cutline.campaign.runner.drivers.processes import Command

        try:
            return Command(pull.id, tuple(self.argv(arm, pull)), self.variables(arm, pull))
        except KeyError as error:
            raise LookupError(f"the arm has no field {error}") from None

    def result(self, command: "Command", ended: "Ended") -> Outcome:
        """What the end of a command means."""
        line = _last_line(ended.err) or _last_line(ended.out)
        if ended.why:
            how = f"timed out after {self.timeout:g} s"
            return Outcome(self.timeout_counts, how, line, ended.seconds)
        if ended.error:
            return Outcome(None, f"{command.argv[0]!r} could not be started: {ended.error}")
        reward, how = self.meaning(ended.code, ended.out)
        return Outcome(reward, how, line, ended.seconds)

    def meaning(self, code: int, printed: str) -> tuple[float | None, str]:
        """The reward that an exit code (negative: a signal) and output stand for; and in words."""
        how = f"exit code {code}" if code >= 0 else f"ended by {_signal_name(-code)}"
        if code in self.zero_on:
            return 0.0, how
        if not self.reads:
            return {0: 1.0, 1: 0.0}.get(code), how
        if code != 0:
            return None, how
        number, how = last_number(printed)
        if number is None:
            return None, how
        try:
            return self.rewards.check(number), how
        except ValueError as error:
            return None, str(error)


def codes(text: str) -> frozenset[int]:
    """Exit codes and names of signals with commas between them; signals are negative.

    >>> sorted(codes("2,3,SIGSEGV"))
    [-11, 2, 3]
    """
    found = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        if part in signal.Signals.__members__:
            found.add(-int(signal.Signals[part]))
        elif part.isdecimal() and 1 <= int(part) <= 255:
            found.add(int(part))
        else:
            raise ValueError(
                f"--zero-on takes exit codes from 1 to 255 and names of signals such as SIGSEGV, "
                f"got {part!r}"
            )
    return frozenset(found)


def _variable(name: str) -> str:
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(c for c in lines[-1] if c.isprintable()) if lines else ""
