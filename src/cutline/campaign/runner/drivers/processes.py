"""Trials that are commands, each a process in a session of its own."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from cutline.campaign.runner.drivers.threads import Threads
from cutline.campaign.runner.trials import INTERRUPTED, Done, Outcome

if TYPE_CHECKING:
    from subprocess import Popen

TAIL = 65_536  # bytes of a command's output that are read, from the end
CLOSE_SECONDS = 5.0  # that killed processes have to go
# The kernel sends these to all that the terminal had in front, a command that is just starting
# among them; whoever runs it gets the same one, perhaps a moment later.
FROM_TERMINAL = (-signal.SIGINT, -signal.SIGHUP)


@dataclass(frozen=True)
class Command:
    """A command to run, without a shell, with variables beside those of this process."""

    key: str
    argv: tuple[str, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (negative: a signal) and the end of what it printed.

    ``why`` is why it was stopped, if it was; ``error`` why it could not be started.
    """

    code: int = 0
    out: str = ""
    err: str = ""
    seconds: float = 0.0
    why: str = ""
    error: str = ""


class Processes:
    """Commands, each in a session and process group of its own that ends with it.

    What a command leaves running in its group is killed when it ends, unless ``keep_children``. One
    that is stopped is killed with its group in any case. ``read`` says what an end means.
    """

    stuck = 0

    def __init__(
        self,
        workers: int,
        done: Done,
        read: Callable[[Command, Ended], Outcome],
        keep_children: bool = False,
    ) -> None:
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            # Handed on by a shell that ignores it; the system then keeps no exit codes.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._read, self._keep = read, keep_children
        self._threads = Threads(workers, done, self._run)
        self._lock = threading.Lock()
        self._running: dict[str, Popen[bytes]] = {}
        self._why: dict[str, str] = {}  # why it was stopped, of those under way
        self._stopping = threading.Event()

    def start(self, job: Command) -> None:
        """See :class:`Driver`."""
        with self._lock:
            self._why[job.key] = ""
        self._threads.start(job)

    def stop(self, key: str, why: str) -> bool:
        """Kill a command and all that is left in its group."""
        if why == INTERRUPTED:
            self._stopping.set()
        with self._lock:
            if key not in self._why:
                return False  # it has ended: its outcome is in the queue, or read
            self._why[key] = self._why[key] or why
            if key in self._running:
                _kill_group(self._running[key].pid)
        return True

    def close(self) -> None:
        """See :class:`Driver`."""
        for key in list(self._why):
            self.stop(key, INTERRUPTED)
        self._threads.close(CLOSE_SECONDS)

    def _run(self, command: Command) -> Outcome:
        try:
            ended = self._end_of(command)
        finally:
            with self._lock:
                why = self._why.pop(command.key)
        if why == INTERRUPTED:
            return Outcome(failed=INTERRUPTED, ended=INTERRUPTED)
        if ended.code in FROM_TERMINAL and not why and self._stopping.wait(0.5):
            return Outcome(failed=INTERRUPTED, ended=INTERRUPTED)
        return self._read(command, Ended(**{**vars(ended), "why": why}))

    def _end_of(self, command: Command) -> Ended:
        began = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            # Files and not pipes: a pipe stays open as long as anything the command left behind.
            try:
                process = self._start(command, out, err)
            except (OSError, ValueError, IndexError) as error:
                return Ended(error=getattr(error, "strerror", None) or str(error))
            _wait(process)
            with self._lock:  # it is not waited for yet, so nobody else has its number
                if not self._keep:
                    _kill_group(process.pid)
                del self._running[command.key]
                code = process.wait()
            return Ended(code, _tail(out), _tail(err), time.monotonic() - began)

    def _start(self, command: Command, out: IO[bytes], err: IO[bytes]) -> "Popen[bytes]":
        with self._lock:
            if self._why[command.key]:
                raise OSError(self._why[command.key])
        process = subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **command.variables},
            start_new_session=True,
        )
        with self._lock:
            self._running[command.key] = process
            if self._why[command.key]:  # stopped while it was starting
                _kill_group(process.pid)
        return process


def _wait(process: "Popen[bytes]") -> None:
    """Wait for a process without taking its exit code, where the system knows how."""
    if hasattr(os, "waitid"):
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL))
    return file.read(TAIL).decode(errors="replace")
