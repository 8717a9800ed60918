"""What a plain function reaches: the functions, constants and modules it reads.

Found by reading its code: globals, closure, and names behind modules (``helpers.double``). It says
what must be compiled along with a function, and what its fingerprint must hold.
"""

import dis
import enum
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from numba.np.ufunc.dufunc import DUFunc

from cutline._version import __version__

Path = tuple[str, ...]  # a global name, and the names behind it where it is a module

_COMPILED_BY_NUMBA = ("math", "cmath", "numpy", "numba", "builtins", "operator")


def to_compile(value: Any) -> Any:
    """What gives the same and is made for compiling: without ``lru_cache``, or a marked twin."""
    if isinstance(value, functools._lru_cache_wrapper):
        value = value.__wrapped__
    return getattr(value, "compiled_as", value) if isinstance(value, types.FunctionType) else value


def is_plain(value: Any) -> bool:
    """Whether a value is a function of somebody's own, to be compiled along."""
    value = to_compile(value)
    if not isinstance(value, types.FunctionType):
        return False
    return (value.__module__ or "").split(".")[0] not in _COMPILED_BY_NUMBA


def reached(function: types.FunctionType) -> Iterator[tuple[Path, Any]]:
    """The globals that a function reads, followed through modules; each once, in order."""
    found: dict[Path, Any] = {}
    for code in _codes(function.__code__):
        steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
        for i, step in enumerate(steps):
            if step.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
                continue
            if step.argval not in function.__globals__:
                continue
            path: Path = (step.argval,)
            value = function.__globals__[step.argval]
            for behind in steps[i + 1 :]:
                if not isinstance(value, types.ModuleType) or behind.opname not in (
                    "LOAD_ATTR",
                    "LOAD_METHOD",
                ):
                    break
                if not hasattr(value, behind.argval):
                    break
                path, value = (*path, behind.argval), getattr(value, behind.argval)
            found[path] = value
    yield from sorted(found.items(), key=lambda item: item[0])


def digest(function: Callable[..., Any], *, of_compiler: bool = True) -> str:
    """A fingerprint of a function and of everything it reaches.

    Made of code and values, not of file names or dates; and, unless told otherwise, of the versions
    that compiled code depends on.
    """
    versions = f"{__version__} {numba.__version__} {sys.version}" if of_compiler else ""
    state = hashlib.sha256(versions.encode())
    _digest_into(state, function, {})
    return state.hexdigest()[:32]


def _digest_into(state: Any, value: Any, seen: dict[int, int]) -> None:
    def note(*things: object) -> None:
        state.update(repr(things).encode())

    if is_plain(value):
        value = to_compile(value)
        if id(value) in seen:
            note("again", seen[id(value)])
            return
        seen[id(value)] = len(seen)
        for code in _codes(value.__code__):
            constants = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
            note(code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars)
            note(code.co_argcount, code.co_flags, code.co_exceptiontable)
        held = [cell.cell_contents for cell in value.__closure__ or ()]
        _digest_into(state, (value.__defaults__, held), seen)
        found = dict(reached(value))
        for path, behind in found.items():
            note(path)
            _digest_into(state, behind, seen)
        # A module that is handed on as it is: whatever the code may look up in it.
        names = sorted({name for code in _codes(value.__code__) for name in code.co_names})
        for module in (x for x in [*held, *found.values()] if isinstance(x, types.ModuleType)):
            if module.__name__.split(".")[0] not in _COMPILED_BY_NUMBA:
                for name in names:
                    _digest_into(state, (name, getattr(module, name, None)), seen)
    elif isinstance(value, tuple | list):
        note("several", len(value), getattr(value, "_fields", None))
        for item in value:
            _digest_into(state, item, seen)
    elif isinstance(value, np.ndarray):
        note(value.dtype.descr, value.shape, value.tobytes())
    elif hasattr(value, "py_func"):  # compiled by its author
        note("compiled", getattr(value, "targetoptions", None))
        _digest_into(state, value.py_func, seen)
    elif isinstance(value, DUFunc):
        inner: Any = value
        _digest_into(state, inner._dispatcher.py_func, seen)
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        note([(member.name, member.value) for member in value])
    elif isinstance(value, types.ModuleType):
        note(value.__name__)
    elif isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        note(value.__module__, value.__qualname__)
    else:
        note(value)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
