"""How a command is run as a trial, and what its outcome means."""

import contextlib
import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from cutline.cli.run.arms import NamedArm

if TYPE_CHECKING:
    from cutline.campaign import Pull
    from cutline.core.rewards import Rewards

TAIL = 65_536  # bytes of a trial's output that are looked at, from the end
NOTE = 200  # characters of it that are kept
_PLACES = re.compile(r"\{(arm|pull|seed)\}|\{arm\.([^{}]+)\}")
# A number that stands by itself: not 0.97s, nor a part of 1,000.
_NUMBER = re.compile(
    r"(?<![\w.])(?!(?<=\d,)\d{3}\b)"
    r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?)"
    r"(?!\.?\w)(?!,\d{3}\b)",
    re.IGNORECASE,
)


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
        fields = json.dumps([dict(arm.fields) for arm in arms], sort_keys=True)
        return {
            "command": shlex.join(self.words),
            "reward": "stdout" if self.reads else "exit",
            "zero-on": sorted(self.zero_on),
            "timeout": self.timeout,
            "timeout-counts": self.timeout_counts,
            "fields of the arms": hashlib.sha256(fields.encode()).hexdigest()[:16],
        }

    def meaning(self, code: int, printed: str) -> tuple[float | None, str]:
        """The reward that an exit code (negative: a signal) and output stand for; and in words."""
        how = f"exit code {code}" if code >= 0 else f"ended by {_signal_name(-code)}"
        if code in self.zero_on:
            return 0.0, how
        if not self.reads:
            return {0: 1.0, 1: 0.0}.get(code), how
        if code != 0:
            return None, how
        found = _NUMBER.findall(printed)
        if not found:
            return None, "no number was printed"
        try:
            return self.rewards.check(float(found[-1])), f"printed {found[-1]}"
        except ValueError as error:
            return None, str(error)


class Running:
    """A trial under way, which another thread may end."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._why = ""

    def run(self, arm: NamedArm, pull: "Pull") -> Outcome:
        """Run the command to its end, without a shell, in a process group of its own."""
        began = time.monotonic()
        try:
            argv, variables = self._trial.argv(arm, pull), self._trial.variables(arm, pull)
        except KeyError as error:
            return Outcome(None, f"the arm has no field {error}")
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            # Files and not pipes: a pipe stays open as long as anything the command left behind.
            try:
                process = self._start(argv, variables, out, err)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                return Outcome(None, f"{argv[0]!r} could not be started: {reason}")
            code = self._wait(process)
            seconds = time.monotonic() - began
            printed, said = _tail(out), _tail(err)
        line = _last_line(said) or _last_line(printed)
        if self._why == "timeout":
            how = f"timed out after {self._trial.timeout:g} s"
            return Outcome(self._trial.timeout_counts, how, line, seconds)
        if self._why:
            return Outcome(None, self._why, "", seconds)
        reward, how = self._trial.meaning(code, printed)
        return Outcome(reward, how, line, seconds)

    def end(self, why: str) -> None:
        """Kill the command and all that it started."""
        with self._lock:
            if self._process is None:
                self._why = self._why or why  # it is killed as soon as it has started
            elif self._process.returncode is None:
                self._why = self._why or why
                _kill_group(self._process.pid)

    def _start(
        self, argv: Sequence[str], variables: Mapping[str, str], out: IO[bytes], err: IO[bytes]
    ) -> "subprocess.Popen[bytes]":
        with self._lock:
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **variables},
                start_new_session=True,
            )
            if self._why:
                _kill_group(self._process.pid)
            return self._process

    def _wait(self, process: "subprocess.Popen[bytes]") -> int:
        if self._trial.timeout is None:
            return process.wait()
        # A timer, since waiting with a limit looks only every 50 ms.
        timer = threading.Timer(self._trial.timeout, self.end, ["timeout"])
        timer.daemon = True
        timer.start()
        try:
            return process.wait()
        finally:
            timer.cancel()


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


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL))
    return file.read(TAIL).decode(errors="replace")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(c for c in lines[-1] if c.isprintable()) if lines else ""
