"""Compiling plain functions with numba, and keeping the machine code between runs.

A function is compiled together with the plain functions it calls, found through its globals and
closure. Machine code is kept in the user's cache folder under a digest of all of that (code and
constants, not file names or dates), so a changed rule or helper is never served stale code, and a
function without a file can be kept like any other. One file holds one compiled kernel and is put in
place in one step, so any number of processes may start on an empty cache at once.
"""

import contextlib
import hashlib
import os
import pickle
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import compiler
from numba.core.caching import NullCache
from numba.core.errors import NumbaError
from numba.core.serialize import dumps

from cutline._version import __version__


class CannotCompile(TypeError):
    """A rule or family cannot be compiled; the message names the culprit."""


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


def compile_kernel(kernel: Callable[..., Any], name: str) -> Any:
    """Compile a kernel with all it calls; it releases the GIL and its code is kept on disk."""
    plain = _with_compiled_helpers(kernel, {})
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(plain)
    dispatcher._cache = KernelCache(digest(kernel), name)
    return dispatcher


def ready(kernel: Any, arguments: tuple[Any, ...], who: str) -> None:
    """Compile (or load) the kernel for these arguments now, with a clear error if that fails."""
    try:
        kernel.compile(tuple(numba.typeof(a) for a in arguments))
    except NumbaError as error:
        raise CannotCompile(f"{who} cannot be compiled: {_culprit(error)}") from error


def digest(function: Callable[..., Any]) -> str:
    """A fingerprint of a function and of everything it calls or reads."""
    state = hashlib.sha256(f"{__version__} {numba.__version__} {sys.version}".encode())
    _digest_into(state, function, set())
    return state.hexdigest()[:32]


class KernelCache(NullCache):
    """Compiled code on disk: one file for a digest, a signature and a kind of processor."""

    def __init__(self, fingerprint: str, name: str) -> None:
        self._fingerprint = fingerprint
        self._name = name

    @property
    def cache_path(self) -> str:
        """The folder of the files."""
        return str(cache_folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code, or None where there is none that can be read."""
        target_context.refresh()
        path = self._file(sig, target_context.codegen())
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        try:
            return compiler.CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception:  # a damaged or foreign file is as good as none
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Put the compiled code in place; a cache that cannot be written is done without."""
        path = self._file(sig, data.codegen)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(dumps(data._reduce()))
            os.replace(file.name, path)

    def _file(self, sig: Any, codegen: Any) -> Path:
        what = repr((str(sig), codegen.magic_tuple())).encode()
        return cache_folder() / (
            f"{self._name}-{self._fingerprint}-{hashlib.sha256(what).hexdigest()[:16]}.nbc"
        )


def _with_compiled_helpers(function: Any, done: dict[int, Any]) -> Any:
    """The function with the plain functions it calls replaced by compiled ones."""
    names = dict(function.__globals__)
    for name, value in _globals_used(function):
        if isinstance(value, types.FunctionType):
            names[name] = _compiled(value, done)
        elif isinstance(value, types.ModuleType) and _own_functions(function, value):
            proxy = types.ModuleType(value.__name__)
            proxy.__dict__.update(value.__dict__)
            for helper in _own_functions(function, value):
                setattr(proxy, helper.__name__, _compiled(helper, done))
            names[name] = proxy
    cells = tuple(
        types.CellType(_compiled(c.cell_contents, done))
        if isinstance(c.cell_contents, types.FunctionType)
        else c
        for c in function.__closure__ or ()
    )
    copy = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, cells
    )
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    return copy


def _compiled(function: Any, done: dict[int, Any]) -> Any:
    if id(function) not in done:
        # Inlined, or the loops over games around them would not become vector code.
        plain = _with_compiled_helpers(function, done)
        # A function that only hands on slices of what its caller holds need not count references.
        options: Any = {"_nrt": False} if getattr(function, "borrows", False) else {}
        done[id(function)] = numba.njit(error_model="numpy", forceinline=True, **options)(plain)
    return done[id(function)]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _globals_used(function: Any) -> Iterator[tuple[str, Any]]:
    names = sorted({name for code in _codes(function.__code__) for name in code.co_names})
    for name in names:
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _own_functions(function: Any, module: types.ModuleType) -> list[Any]:
    """Plain functions of a module that the function reaches as module.name."""
    if module.__name__.split(".")[0] in ("math", "numpy", "numba"):
        return []
    names = sorted({name for code in _codes(function.__code__) for name in code.co_names})
    found = [module.__dict__.get(name) for name in names]
    return [value for value in found if isinstance(value, types.FunctionType)]


def _digest_into(state: Any, value: Any, seen: set[int]) -> None:
    if isinstance(value, types.FunctionType):
        if id(value) in seen:
            return
        seen.add(id(value))
        for code in _codes(value.__code__):
            constants = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
            names = (code.co_names, code.co_varnames, code.co_freevars)
            state.update(repr((code.co_code, constants, names)).encode())
        state.update(repr(value.__defaults__).encode())
        for cell in value.__closure__ or ():
            _digest_into(state, cell.cell_contents, seen)
        for name, held in _globals_used(value):
            state.update(name.encode())
            _digest_into(state, held, seen)
            if isinstance(held, types.ModuleType):
                for helper in _own_functions(value, held):
                    _digest_into(state, helper, seen)
    elif isinstance(value, types.ModuleType):
        state.update(value.__name__.encode())
    elif isinstance(value, np.ndarray):
        state.update(repr((value.dtype.str, value.shape)).encode() + value.tobytes())
    elif isinstance(value, type | types.BuiltinFunctionType):
        state.update(f"{value.__module__}.{value.__qualname__}".encode())
    else:
        state.update(repr(value).encode())


def _culprit(error: NumbaError) -> str:
    """The line of numba's long message that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for mark in ("Untyped global name", "Unknown attribute", "NameError", "No implementation of"):
        for line in lines:
            if mark in line:
                return line.lstrip("- ")
    told = [x for x in lines if not x.startswith(("Failed in", "During", "File", ">>>", "^"))]
    return told[0] if told else type(error).__name__
