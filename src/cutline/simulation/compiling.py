"""Compiling plain functions with numba, and keeping the machine code between runs.

A function is compiled together with the plain functions it reaches. Machine code is kept in the
user's cache folder (:mod:`cutline.simulation.cache`) under a fingerprint of all of that, so a
changed rule or helper is never served stale code, and a function without a file can be kept like
any other.
"""

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba

from cutline.simulation.cache import KernelCache
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
    return bool(kernel._cache.has(types_, kernel.targetctx.codegen()))


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
