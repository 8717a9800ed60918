"""Trials as coroutines, in an event loop of our own."""

import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from cutline.campaign.runner.drivers.calls import Call, await_call
from cutline.campaign.runner.drivers.executor import outcome_of
from cutline.campaign.runner.trials import Done, Outcome

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event

CLOSE_SECONDS = 5.0  # that the event loop has to come to its end


class EventLoop:
    """An event loop in a thread of its own, whether or not the caller is in one."""

    stuck = 0

    def __init__(self, done: Done) -> None:
        self._done = done
        self._futures: dict[str, Future[Outcome]] = {}
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: AbstractEventLoop
        self._end: Event

    def _run(self) -> None:
        import asyncio  # takes a while, so only where it is needed

        async def stay() -> None:
            self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
            self._ready.set()
            await self._end.wait()

        asyncio.run(stay())  # what is still under way at the end is cancelled

    def start(self, job: Call) -> None:
        """See :class:`Driver`."""
        from asyncio import run_coroutine_threadsafe

        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="cutline event loop", daemon=True
            )
            self._thread.start()
            self._ready.wait()
        future = run_coroutine_threadsafe(await_call(job), self._loop)
        self._futures[job.key] = future
        future.add_done_callback(partial(self._came, job.key))

    def _came(self, key: str, future: "Future[Outcome]") -> None:
        self._futures.pop(key, None)
        self._done.put((key, outcome_of(future)))

    def stop(self, key: str, why: str) -> bool:
        """See :class:`Driver`."""
        future = self._futures.get(key)
        if future is not None:
            future.cancel()
        return False

    def close(self) -> None:
        """See :class:`Driver`."""
        # Starting the thread may have been interrupted.
        if self._thread is not None and self._thread.ident is not None:
            if self._ready.wait(CLOSE_SECONDS):
                self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(CLOSE_SECONDS)
