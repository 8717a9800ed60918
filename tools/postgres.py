"""A PostgreSQL server of our own, for tests and benchmarks, thrown away afterwards.

    python tools/postgres.py        starts one, prints its address, and stops it on Ctrl-C

It listens on a socket in its own folder and on the loopback address alone. PostgreSQL refuses to
run as root; root runs it as the user postgres.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 30.0  # seconds to start or stop


def find_programs() -> Path | None:
    """The folder with initdb and postgres in it, the newest there is; None if there is none."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"),
        key=lambda path: int(path.parts[-3]) if path.parts[-3].isdecimal() else 0,
    )
    return folders[-1].parent if folders else None


class Server:
    """A server in a folder of its own."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="cutline-postgres-"))
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user is not None:
            owner = pwd.getpwnam(self._user)
            os.chown(self._folder, owner.pw_uid, owner.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None
        self._run(
            "initdb", "--auth=trust", "--username=cutline", "--encoding=UTF8", "--no-sync",
            "--locale=C", "-D", str(self._folder / "data"),
        )  # fmt: skip
        self.start()

    @property
    def url(self) -> str:
        """How to reach it."""
        return f"postgresql://cutline@127.0.0.1:{self.port}/postgres"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), *arguments],
            user=self._user,
            cwd=self._folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def start(self) -> None:
        """Start it, again if need be, and wait until it answers."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            # Right after a kill the old server's children may still hold on to its memory.
            if self._process is None or self._process.poll() is not None:
                self._process = self._launch()
            ready = subprocess.run(
                [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)],
                check=False,
            )
            if ready.returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL did not start:\n{(self._folder / 'log').read_text()}")

    def _launch(self) -> "subprocess.Popen[bytes]":
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [
                    str(self._programs / "postgres"), "-D", str(self._folder / "data"),
                    "-p", str(self.port), "-k", str(self._folder),
                    "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200",
                ],
                user=self._user,
                cwd=self._folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def kill(self) -> None:
        """End it at once, without letting it tidy up."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)

    def remove(self) -> None:
        """Stop it and remove its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)  # at once: the folder is thrown away
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """A server for the length of a with block."""
    programs = find_programs()
    if programs is None:
        raise RuntimeError("there is no PostgreSQL here; on Debian: apt-get install postgresql")
    server = Server(programs)
    try:
        yield server
    finally:
        server.remove()


def main() -> None:
    with running() as server:
        print(server.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
