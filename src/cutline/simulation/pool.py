"""Threads that play games, and that nobody has to wait for."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any


class DaemonPool:
    """A pool of daemon threads.

    A compiled loop cannot be stopped. After Ctrl-C the threads of a
    :class:`~concurrent.futures.ThreadPoolExecutor` would hold the program until their loops end,
    which may take hours for a huge budget; these end with it.

    >>> pool = DaemonPool(2)
    >>> [pool.submit(abs, number).result() for number in (-1, -2)]
    [1, 2]
    >>> pool.close()
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[..., Any], Any] | None] = SimpleQueue()
        self._threads = 0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Call a function in one of the threads."""
        future: Future[Any] = Future()
        self._jobs.put((future, function, arguments))
        if self._threads < self._workers:
            self._threads += 1
            threading.Thread(target=self._work, name="cutline games", daemon=True).start()
        return future

    def close(self) -> None:
        """Let each thread end once it has done what it is doing; wait for none."""
        for _ in range(self._threads):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, function, arguments = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)
