"""Who holds a lock on a file, as far as the system tells (Linux: /proc)."""

import os
from pathlib import Path


def holders(*paths: str, proc: str = "/proc") -> list[str]:
    """The processes that hold a write lock on any of the files, in words; [] where nobody can say.

    By looking only: opening a file and closing it again would drop this process's own locks on it.
    """
    wanted = set()
    for path in paths:
        try:
            found = os.stat(path)
        except OSError:
            continue
        wanted.add((os.major(found.st_dev), os.minor(found.st_dev), found.st_ino))
    try:
        lines = Path(proc, "locks").read_text().splitlines()
    except OSError:
        return []
    pids = set()
    for line in lines:
        # 1: POSIX  ADVISORY  WRITE 2147 fe:01:5112 120 120
        parts = line.split()
        if "->" in parts or "POSIX" not in parts or "WRITE" not in parts:
            continue  # one that waits, or only reads
        pid, file = parts[-4], parts[-3].split(":")
        if (int(file[0], 16), int(file[1], 16), int(file[2])) in wanted:
            pids.add(int(pid))
    pids.discard(os.getpid())
    return [_describe(pid, proc) for pid in sorted(pids) if pid > 0]


def _describe(pid: int, proc: str) -> str:
    """A process in words: never its command line, which may hold a secret."""
    try:
        text = Path(proc, str(pid), "status").read_text(errors="replace")
    except OSError:
        return f"process {pid}"
    said = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    name = "".join(letter if letter.isprintable() else "?" for letter in said.get("Name", "?"))
    stopped = ", stopped" if said.get("State", "").startswith(("T", "t")) else ""
    return f"process {pid} ({name}{stopped})"
