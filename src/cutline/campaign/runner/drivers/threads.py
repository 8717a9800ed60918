"""Trials in threads of our own."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from cutline.campaign.runner.drivers.calls import make_call
from cutline.campaign.runner.trials import Done, Job, Outcome, describe_error


class Threads:
    """Threads, as many as there are trials under way and no more than ``workers``.

    A thread cannot be stopped. One whose trial was stopped is left to itself and ends with it, and
    another takes its place; Python does not wait for it when it exits. ``make`` makes a trial.
    """

    stuck = 0

    def __init__(
        self, workers: int, done: Done, make: Callable[[Any], Outcome] = make_call
    ) -> None:
        self._workers, self._done, self._make = workers, done, make
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._busy: dict[str, threading.Thread] = {}
        self._dropped: set[str] = set()

    def start(self, job: Job) -> None:
        """See :class:`Driver`."""
        with self._lock:
            more = len(self._threads) < self._workers
        if more:
            thread = threading.Thread(target=self._work, name="cutline trial", daemon=True)
            with self._lock:
                self._threads.add(thread)
            try:
                thread.start()
            except RuntimeError:
                with self._lock:
                    self._threads.discard(thread)
                    others = len(self._threads)
                raise RuntimeError(
                    f"the system starts no thread beside {others:,} others: use fewer workers"
                ) from None
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            with self._lock:
                if job.key in self._dropped:
                    continue
                self._busy[job.key] = threading.current_thread()
            try:
                outcome = self._make(job)
            except BaseException as error:  # nothing ends the thread
                outcome = Outcome(failed=describe_error(error))
            with self._lock:
                if self._busy.pop(job.key, None) is None:
                    return  # stopped
            self._done.put((job.key, outcome))

    def stop(self, key: str, why: str) -> bool:
        """See :class:`Driver`."""
        with self._lock:
            thread = self._busy.pop(key, None)
            if thread is None:
                self._dropped.add(key)
            else:
                self._threads.discard(thread)
        return False

    def close(self, seconds: float | None = None) -> None:
        """End all threads whose trial was not stopped, waiting so long for each."""
        with self._lock:
            threads = list(self._threads)
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            if thread.ident is not None:  # None: starting it was interrupted
                thread.join(seconds)
