"""Compiling plain functions with numba, and keeping the machine code between runs.

A function is compiled together with the plain functions it reaches. Machine code is kept in the
user's cache folder under a fingerprint of all of that, so a changed rule or helper is never served
stale code, and a function without a file can be kept like any other. One file holds one compiled
kernel and is put in place in one step, so any number of processes may start on an empty cache.
"""

import contextlib
import hashlib
import os
import pickle
import sys
import tempfile
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
from numba.core import compiler
from numba.core.caching import NullCache
from numba.core.serialize import dumps

from cutline.simulation.reach import digest, is_plain, reached, to_compile


class CannotCompile(TypeError):
    """A rule or family cannot be compiled; the message names the culprit."""


def compile_kernel(
    kernel: Callable[..., Any], name: str, *, counted: bool = True, vector: bool = True
) -> Any:
    """Compile a kernel with all it reaches; it releases the GIL and its code is kept on disk.

    With ``vector=False`` the functions it reaches are called rather than put in place, which takes
    a third of the time to compile: for a kernel whose loops would not become vector code anyway.

    With ``counted=False``, functions marked as ``borrows`` do not count references to the arrays
    they hand on: several times faster for slices, but nothing they call may make an array.
    """
    fingerprint = f"{name}-{digest(kernel)}{'' if counted else '-borrows'}"
    dispatcher = _compiled(kernel, {}, _How(fingerprint, counted, vector), nogil=True)
    dispatcher._cache = KernelCache(fingerprint)
    return dispatcher


@dataclass(frozen=True)
class _How:
    mark: str
    counted: bool
    vector: bool


def ready(kernel: Any, arguments: tuple[Any, ...], who: str) -> None:
    """Compile (or load) the kernel for these arguments now, with a clear error if that fails."""
    try:
        kernel.compile(tuple(numba.typeof(a) for a in arguments))
    except Exception as error:  # numba raises all sorts
        raise CannotCompile(f"{who} cannot be compiled: {_culprit(error)}") from error


def is_kept(kernel: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether the kernel's code for these arguments is on disk."""
    types_ = tuple(numba.typeof(a) for a in arguments)
    path: Path = kernel._cache.file(types_, kernel.targetctx.codegen())
    return os.path.exists(path)  # False, not an error, where the folder cannot be searched


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
    """Compiled code on disk: one file for a fingerprint, a signature and a kind of processor.

    A file is a checksum and what numba needs to load the code again.
    """

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint

    @property
    def cache_path(self) -> str:
        """The folder of the files."""
        return str(cache_folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code, or None where there is none that can be read."""
        target_context.refresh()
        try:
            whole = self.file(sig, target_context.codegen()).read_bytes()
            if hashlib.sha256(whole[32:]).digest() != whole[:32]:
                return None
            return compiler.CompileResult._rebuild(target_context, *pickle.loads(whole[32:]))
        except Exception:  # an unreadable or foreign file is as good as none
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Put the compiled code in place; a cache that cannot be written is done without."""
        if data.library.has_dynamic_globals:
            return  # it holds addresses of this process
        path = self.file(sig, data.codegen)
        code = dumps(data._reduce())
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, unfinished = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(code).digest() + code)
                os.replace(unfinished, path)
            except BaseException:
                os.unlink(unfinished)
                raise

    def file(self, sig: Any, codegen: Any) -> Path:
        """Where the code for a signature is kept."""
        what = repr((str(sig), codegen.magic_tuple())).encode()
        return cache_folder() / f"{self._fingerprint}-{hashlib.sha256(what).hexdigest()[:16]}.nbc"


def _compiled(function: Any, done: dict[int, Any], how: _How, **options: Any) -> Any:
    """A compiled copy of a function, in which the plain functions it calls are compiled too."""
    function = to_compile(function)
    if id(function) in done:
        return done[id(function)]
    names = dict(function.__globals__)
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    copy = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, cells
    )
    copy.__module__ = function.__module__
    # Machine code finds what it calls by name, and code of other processes is loaded beside it: a
    # name that is not of this kernel alone might be taken for another's.
    copy.__qualname__ = f"{function.__qualname__}_{how.mark}"
    if getattr(function, "borrows", False) and not how.counted:
        options["_nrt"] = False
    if not options.get("nogil") and how.vector:
        options["forceinline"] = True  # or loops over games around it would not become vector code
    done[id(function)] = numba.njit(error_model="numpy", **options)(copy)
    # Filled in afterwards, as a function may reach itself.
    for cell, old in zip(cells, function.__closure__ or (), strict=True):
        held = old.cell_contents
        cell.cell_contents = _compiled(held, done, how) if is_plain(held) else held
    for path, value in reached(function):
        if is_plain(value):
            _put(names, path, _compiled(value, done, how))
    return done[id(function)]


def _put(names: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set a name, if need be behind copies of the modules on the way."""
    for name in path[:-1]:
        module = types.ModuleType(names[name].__name__)
        module.__dict__.update(names[name].__dict__)
        names[name] = module
        names = module.__dict__
    names[path[-1]] = value


def _culprit(error: Exception) -> str:
    """The line of numba's long message that says what is wrong."""
    lines = [line.strip().lstrip("- ") for line in str(error).splitlines() if line.strip()]
    for mark in ("Untyped global name", "Unknown attribute", "NameError", "No implementation of"):
        for i, line in enumerate(lines):
            if mark in line:
                # "No implementation of function ... found for signature:" goes on below
                return " ".join(lines[i : i + 2]) if line.endswith(":") else line
    skipped = ("Failed in", "During", "File", ">>>", "^")
    told = [line for line in lines if not line.startswith(skipped)]
    return told[0] if told else type(error).__name__
