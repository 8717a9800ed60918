"""Compiled code on disk, in a folder that nobody else can write to.

Loading compiled code runs it, so a file that somebody else could have written is never read. One
file holds one compiled kernel and is put in place in one step, so any number of processes may start
on an empty cache. Without a usable folder everything works; it is compiled again in every run.
"""

import contextlib
import hashlib
import os
import pickle
import stat
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numba.core import compiler
from numba.core.caching import NullCache
from numba.core.serialize import dumps


def cache_folder() -> Path:
    """Where compiled code is kept: CUTLINE_CACHE_DIR, or the user's cache folder."""
    if chosen := os.environ.get("CUTLINE_CACHE_DIR"):
        return Path(chosen)
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home))
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "cutline"


class KernelCache(NullCache):
    """The files of one kernel: one for each signature and kind of processor.

    A file is a checksum and what numba needs to load the code again.
    """

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint

    @property
    def cache_path(self) -> str:
        """The folder of the files."""
        return str(cache_folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code, or None where there is none that can be read and trusted."""
        try:
            target_context.refresh()
            whole = self._read(sig, target_context.codegen())
            if whole is None or hashlib.sha256(whole[32:]).digest() != whole[:32]:
                return None
            return compiler.CompileResult._rebuild(target_context, *pickle.loads(whole[32:]))
        except Exception:  # an unreadable or foreign file is as good as none
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Put the compiled code in place; a cache that cannot be written is done without."""
        with contextlib.suppress(Exception):  # numba's private parts may change
            if data.library.has_dynamic_globals:
                return  # it holds addresses of this process
            name = self._name(sig, data.codegen)
            code = dumps(data._reduce())
            with contextlib.suppress(FileExistsError):
                cache_folder().parent.mkdir(parents=True, exist_ok=True)
                cache_folder().mkdir(mode=0o700)
            with _own_folder() as folder:
                if folder is not None:
                    _write(folder, name, hashlib.sha256(code).digest() + code)

    def has(self, sig: Any, codegen: Any) -> bool:
        """Whether there is code for a signature that can be read and trusted."""
        with contextlib.suppress(OSError):
            return self._read(sig, codegen) is not None
        return False

    def _read(self, sig: Any, codegen: Any) -> bytes | None:
        with _own_folder() as folder:
            if folder is None:
                return None
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)
            file = os.open(self._name(sig, codegen), flags, dir_fd=folder)
            with os.fdopen(file, "rb") as content:
                fault = fault_of(os.fstat(file), stat.S_ISREG)
                if fault is not None:
                    _refuse(f"{cache_folder() / self._name(sig, codegen)} {fault}")
                    return None
                return content.read()

    def _name(self, sig: Any, codegen: Any) -> str:
        """The file's name for a signature."""
        what = repr((str(sig), codegen.magic_tuple())).encode()
        return f"{self._fingerprint}-{hashlib.sha256(what).hexdigest()[:16]}.nbc"


@contextlib.contextmanager
def _own_folder() -> Iterator[int | None]:
    """The cache folder, held open so that nobody can swap it; None where it cannot be trusted."""
    folder = os.open(cache_folder(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fault = fault_of(os.fstat(folder), stat.S_ISDIR)
        if fault is not None:
            _refuse(f"the folder {cache_folder()} {fault}")
        yield folder if fault is None else None
    finally:
        os.close(folder)


def fault_of(found: os.stat_result, is_kind: Any) -> str | None:
    """Why a folder or file of the cache cannot be trusted; None where it can be."""
    if not is_kind(found.st_mode):
        return "is of another kind than cutline makes"
    if found.st_uid != os.geteuid():
        return "belongs to somebody else"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written to by others (chmod go-w makes it yours alone)"
    return None


_refused: set[str] = set()


def _refuse(text: str) -> None:
    """Say once that something is not used."""
    if text in _refused:
        return
    _refused.add(text)
    warnings.warn(
        f"compiled code is not read from the cache, as {text}: compiling without it; "
        "CUTLINE_CACHE_DIR names another folder",
        RuntimeWarning,
        stacklevel=2,
    )


def _write(folder: int, name: str, content: bytes) -> None:
    """Put a file in place in one step, readable and writable by its owner alone."""
    unfinished = f"{name}.{os.urandom(8).hex()}"
    file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
        os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(unfinished, dir_fd=folder)
        raise
