"""A trial that is the call of a function: what to call it with, and what comes of it."""

import inspect
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cutline.campaign.pulls import Pull
from cutline.campaign.runner.trials import Outcome, describe_error


@dataclass(frozen=True)
class Call:
    """One call to make; ``key`` is this trial's alone. (No tuple: Dask looks into tuples.)"""

    key: str
    fn: Callable[..., object]
    value: object
    more: Mapping[str, object]


def make_call(call: Call) -> Outcome:
    """Make a trial where it is to be made: in a thread, or in another process.

    Errors become text here, as not every error survives the way back from a process. The call's
    key makes each call another one: Dask would answer two equal calls with one result.
    """
    try:
        result = call.fn(call.value, **call.more)
        if inspect.iscoroutine(result):
            import asyncio

            result = asyncio.run(result)
        return Outcome(result)
    except (Exception, SystemExit) as error:
        return Outcome(failed=describe_error(error))


def make_call_elsewhere(call: Call) -> Outcome:
    """The same, with the name of the process that makes it."""
    return make_call(call)._replace(worker=this_process())


def this_process() -> str:
    """This process among all: its machine and its number.

    >>> this_process().endswith(f":{os.getpid()}")
    True
    """
    return f"{platform.node()}:{os.getpid()}"


async def await_call(call: Call) -> Outcome:
    """Make a trial in a running event loop, which no error may end."""
    try:
        return Outcome(await call.fn(call.value, **call.more))  # type: ignore[misc]  # a coroutine
    except BaseException as error:
        return Outcome(failed=describe_error(error))


def is_coroutine_function(fn: object) -> bool:
    """Whether calling it gives something to be awaited."""
    call = getattr(fn, "__call__", None)  # noqa: B004  # the method itself, of an object
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(call)


def caller(
    fn: Callable[..., object], arms: int | Sequence[str] | Mapping[str, object]
) -> Callable[[Pull], Call]:
    """How a pull becomes a call: the arm first, then ``pull`` and ``seed`` if there are such.

    >>> make = caller(lambda arm, seed: 1, ["a"])
    >>> pull = Pull("0-00ff", "a", number=0, cost=1, expires=0.0, key=(1, 2, 0))
    >>> make(pull).value, list(make(pull).more)
    ('a', ['seed'])
    """
    values = {str(k): v for k, v in arms.items()} if isinstance(arms, Mapping) else None
    names = _wanted(fn)

    def make(pull: Pull) -> Call:
        if values is not None and pull.arm not in values:
            raise LookupError(f"there is no value for arm {pull.arm!r} in this call")
        more = {"pull": pull, "seed": pull.seed}
        value = pull.arm if values is None else values[pull.arm]
        return Call(pull.id, fn, value, {name: more[name] for name in names})

    return make


def _wanted(fn: Callable[..., object]) -> list[str]:
    if not callable(fn):
        raise TypeError(f"what makes a trial must be a function, got {fn!r}")
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # built in: it gets the arm
        return []
    after = list(signature.parameters.values())[1:]
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [p.name for p in after if p.kind in by_name and p.name in ("pull", "seed")]
    try:
        signature.bind(None, **dict.fromkeys(names))
    except TypeError as error:
        raise TypeError(
            "the function is called with an arm, and with pull= and seed= if it has parameters of "
            f"these names: {error}"
        ) from None
    return names
