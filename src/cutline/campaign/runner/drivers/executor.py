"""Trials in an executor that somebody else made and will end."""

import os
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from typing import Any

from cutline.campaign.runner.drivers.calls import Call, make_call_elsewhere
from cutline.campaign.runner.trials import INTERRUPTED, Done, Outcome, describe_error


class Executors:
    """An executor of :mod:`concurrent.futures`, or one that is like them."""

    def __init__(self, executor: Executor, done: Done) -> None:
        self._executor, self._done = executor, done
        self._futures: dict[str, Future[Outcome]] = {}
        self._stuck: set[str] = set()

    @property
    def stuck(self) -> int:
        """See :class:`Driver`."""
        return len(self._stuck)

    def start(self, job: Call) -> None:
        """See :class:`Driver`."""
        try:
            future = self._executor.submit(make_call_elsewhere, job)
        except RuntimeError:
            raise
        except Exception as error:  # what cannot be sent to another process, say
            self._done.put((job.key, Outcome(failed=describe_error(error))))
            return
        self._futures[job.key] = future
        if future.done():  # a callback would be called here, and what a signal raises in it is lost
            self._came(job.key, future)
        else:
            future.add_done_callback(partial(self._came, job.key))

    def _came(self, key: str, future: "Future[Outcome]") -> None:
        self._futures.pop(key, None)
        self._stuck.discard(key)
        self._done.put((key, outcome_of(future)))

    def stop(self, key: str, why: str) -> bool:
        """See :class:`Driver`."""
        future = self._futures.get(key)
        if future is not None:
            self._stuck.add(key)
            if future.cancel() or future.done():
                self._stuck.discard(key)
        return False

    def close(self) -> None:
        """Nothing: the executor is the caller's."""


def outcome_of(future: "Future[Outcome]") -> Outcome:
    """What a future holds; one that holds an error never got to the trial, or not back."""
    if future.cancelled():
        return Outcome(failed="cancelled")
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, KeyboardInterrupt):  # it reaches the processes of a pool as well
        return Outcome(failed=INTERRUPTED, ended=INTERRUPTED)
    if isinstance(error, BrokenExecutor):
        return Outcome(failed=describe_error(error), ended=describe_error(error))
    return Outcome(failed=describe_error(error))


def places_in(executor: Any) -> int:
    """How many trials an executor can make at once, as far as it can be told."""
    own = getattr(executor, "_max_workers", None)
    if isinstance(own, int) and own > 0:
        return own
    threads = getattr(getattr(executor, "_client", None), "nthreads", None)  # Dask's
    if callable(threads):
        return max(1, int(sum(threads().values())))
    return os.cpu_count() or 1
