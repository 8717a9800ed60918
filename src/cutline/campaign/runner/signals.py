"""Signals that stop a run: the first is a message, so that none falls into a write."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any] | int | None

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, kill, a closed terminal


@contextlib.contextmanager
def stopped_by(kinds: Sequence[signal.Signals], stop: Callable[[], object]) -> Iterator[None]:
    """Call ``stop`` at the first signal of these kinds; a second one is what it was before.

    Where a second one would end the process at once, it is a KeyboardInterrupt, so that what was
    started can still be ended. A SIGHUP that was ignored stays ignored (nohup). Nothing is changed
    outside the main thread, where Python handles no signals.
    """
    before: dict[signal.Signals, Handler] = {}
    if threading.current_thread() is threading.main_thread():
        for kind in kinds:
            handler = signal.getsignal(kind)
            if not (kind == signal.SIGHUP and handler is signal.SIG_IGN):
                before[kind] = handler
    stopped = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            stop()
            return
        handler = before[signal.Signals(number)]
        if not callable(handler):
            raise KeyboardInterrupt
        handler(number, frame)

    try:
        for kind in before:
            signal.signal(kind, handle)
        yield
    finally:
        for kind, was in before.items():
            if signal.getsignal(kind) is handle:
                signal.signal(kind, was)


def interrupt_kinds() -> Sequence[signal.Signals]:
    """Ctrl-C, where a library may take it: nobody else handles it.

    An event loop does, but one that waits for this call would never come to it.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler or _in_event_loop():
        return (signal.SIGINT,)
    return ()


def _in_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None
