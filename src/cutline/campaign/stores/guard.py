"""One thread at a time in a store, whatever is raised in it and whoever forks meanwhile."""

import contextlib
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from cutline.campaign.errors import StoreError

FORK_SECONDS = 10.0  # that a fork waits for threads that use a file; calls take milliseconds

Answer = TypeVar("Answer")


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
        return bool(self.lock._is_owned())  # type: ignore[attr-defined]  # as Condition asks it

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


def _before() -> None:
    until = time.monotonic() + FORK_SECONDS
    _one_fork.acquire(timeout=FORK_SECONDS)
    for store in _living():
        guard = store.guard
        if not store.waits_for_fork or guard.mine:
            continue  # mine: it forks in the middle of its own call, and the child will be told so
        _held.append(guard)  # first, lest an interrupt leave it locked
        if guard.lock.acquire(timeout=max(0.0, until - time.monotonic())):
            with contextlib.suppress(Exception):  # then the child finds it open, and says so
                store.before_fork()


def _after_in_parent() -> None:
    while _held:
        guard = _held.pop()
        if guard.mine:
            guard.lock.release()
    with contextlib.suppress(RuntimeError):  # it was not to be had
        _one_fork.release()


def _after_in_child() -> None:
    global _one_fork
    This.pid = os.getpid()
    _one_fork = threading.RLock()
    held = list(_held)
    _held.clear()
    for store in _living():
        if store.guard in held or not store.guard.mine:
            store.guard.renew()
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
