"""One thread at a time in a store, whatever is raised in it and whoever forks meanwhile."""

import contextlib
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol, TypeVar

from cutline.campaign.errors import StoreError

FORK_SECONDS = 10.0  # that a fork waits for threads that use a file; calls take milliseconds

Answer = TypeVar("Answer")


def _is_owned(lock: "threading.RLock") -> bool:
    """Whether this thread holds a lock."""
    return bool(lock._is_owned())  # type: ignore[attr-defined]  # as Condition asks it


class Guard:
    """A lock that an interrupt cannot leave locked, and that a forked process does not inherit."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Take a new lock: whoever held the old one is in another process."""
        self.lock = threading.RLock()

    @property
    def mine(self) -> bool:
        """Whether this thread holds the lock."""
        return _is_owned(self.lock)

    def run(self, what: Callable[..., Answer], *given: Any) -> Answer:
        """Call ``what(*given)`` with the lock held."""
        self.refuse_nested()
        # `with` of a lock is one step, where acquire() and try: are two between which an interrupt
        # may come. On one line, so is the way out for a debugger that raises at every line.
        with self.lock: return what(*given)  # fmt: skip  # noqa: E701

    def refuse_nested(self) -> None:
        """Raise where this thread is in a call already: it would wait for itself."""
        if self.lock._is_owned():  # type: ignore[attr-defined]  # as Condition asks it
            raise StoreError(
                "this thread is in the middle of another call to the same store, so this one was "
                "not made: call it after that one has returned, not from within it nor from a "
                "signal handler"
            )


class This:
    """This process, as it was known when it began or was forked: cheaper than to ask the system."""

    pid = os.getpid()


class Forkable(Protocol):
    """A store, as far as a fork is concerned."""

    guard: Guard
    waits_for_fork: bool
    """Whether :meth:`before_fork` has anything to do."""

    def before_fork(self) -> None:
        """Get ready, with the lock held; not called where another thread does not let go of it."""

    def after_fork(self) -> None:
        """Let go of what is the parent's; called in the child."""


_numbers = itertools.count()
_stores: dict[int, "weakref.ref[Forkable]"] = {}
_held: list[Guard] = []
_one_fork = threading.RLock()


def know(store: Forkable) -> None:
    """Have a store told of forks, for as long as it lives."""
    number = next(_numbers)
    _stores[number] = weakref.ref(store, lambda _: _stores.pop(number, None))


def _living() -> Iterator[Forkable]:
    for each in list(_stores.values()):  # in the order in which they were made
        store = each()
        if store is not None:
            yield store


def _insist(what: Callable[..., object], *given: Any) -> None:
    """Call something that can be called again until it comes to its end, for a few times.

    What a signal's handler raises in a hook goes nowhere: Python ignores it there. It must not end
    the hook halfway, with a lock that nobody lets go of.
    """
    for _ in range(5):
        with contextlib.suppress(BaseException):
            what(*given)
            return


def _hold_all() -> None:
    until = time.monotonic() + FORK_SECONDS
    if not _is_owned(_one_fork):
        _one_fork.acquire(timeout=max(0.0, until - time.monotonic()))
    for store in _living():
        guard = store.guard
        if guard not in _held:
            if not store.waits_for_fork or guard.mine:
                continue  # mine: it forks in the middle of its own call; the child will be told so
            _held.append(guard)  # first, lest an interrupt leave it locked
        if guard.mine or guard.lock.acquire(timeout=max(0.0, until - time.monotonic())):
            _insist(store.before_fork)  # where it cannot, the child finds it open, and says so


def _let_go_of_all() -> None:
    while _held:
        if _held[-1].mine:
            _held[-1].lock.release()
        _held.pop()
    while _is_owned(_one_fork):  # else it was not to be had
        _one_fork.release()


def _begin_anew() -> None:
    global _one_fork
    This.pid = os.getpid()
    _one_fork = threading.RLock()
    for store in _living():
        if store.guard in _held or not store.guard.mine:
            store.guard.renew()
        store.after_fork()
    _held.clear()


if hasattr(os, "register_at_fork"):
    for _ in range(2):  # the second does what the first could not: its first line has no protector
        os.register_at_fork(
            before=partial(_insist, _hold_all),
            after_in_parent=partial(_insist, _let_go_of_all),
            after_in_child=partial(_insist, _begin_anew),
        )
