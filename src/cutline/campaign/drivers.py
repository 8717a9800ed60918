"""Ways to make many trials at once: threads, an event loop, an executor of yours.

A driver starts trials and puts what came of each, with the trial's key, into a queue.
"""

import inspect
import os
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cutline.campaign.pulls import Pull

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event

LONGEST = 2_000  # characters of a note
INTERRUPTED = "interrupted"
LAST = 5.0  # seconds that an event loop has to come to its end


class Outcome(NamedTuple):
    """What came of a trial: a value, or why there is none.

    ``ended`` says what ended all trials at once, where this one came to nothing because of that.
    """

    value: object = None
    failed: str | None = None
    ended: str | None = None


@dataclass(frozen=True)
class Job:
    """One call to make; ``key`` is this trial's alone. (No tuple: Dask looks into tuples.)"""

    key: str
    fn: Callable[..., object]
    value: object
    more: Mapping[str, object]


Done = SimpleQueue[tuple[str, Outcome]]


class Driver(Protocol):
    """Something that makes trials."""

    @property
    def stuck(self) -> int:
        """How many places are held by trials that were given up and go on all the same."""

    def start(self, job: Job) -> None:
        """Begin a trial. A RuntimeError says that this driver makes none any more."""

    def give_up(self, key: str) -> None:
        """Care no more about a trial, and stop it if that can be done."""

    def close(self) -> None:
        """Leave nothing behind that can be ended."""


def say(error: BaseException) -> str:
    """An error as a note: its type and message, in characters that every store takes."""
    text = traceback.format_exception_only(error)[-1].strip()[:LONGEST]
    return text.encode("utf-8", "replace").decode().replace("\0", "\\0")


def trial(job: Job) -> Outcome:
    """Make a trial where it is to be made: in a thread, or in another process.

    Errors become text here, as not every error survives the way back from a process. The job's key
    makes each call another one: Dask would answer two equal calls with one result.
    """
    try:
        result = job.fn(job.value, **job.more)
        if inspect.iscoroutine(result):
            import asyncio

            result = asyncio.run(result)
        return Outcome(result)
    except (Exception, SystemExit) as error:
        return Outcome(failed=say(error))


async def trial_in_loop(job: Job) -> Outcome:
    """Make a trial in a running event loop, which no error may end."""
    try:
        return Outcome(await job.fn(job.value, **job.more))  # type: ignore[misc]  # a coroutine
    except BaseException as error:
        return Outcome(failed=say(error))


class Threads:
    """Threads of our own.

    A thread cannot be stopped. One whose trial was given up is left to itself and ends with it,
    and another takes its place; Python does not wait for it when it exits.
    """

    stuck = 0

    def __init__(self, workers: int, done: Done) -> None:
        self._workers, self._done = workers, done
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
            thread.start()
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            with self._lock:
                if job.key in self._dropped:
                    continue
                self._busy[job.key] = threading.current_thread()
            try:
                outcome = trial(job)
            except BaseException as error:  # nothing ends the thread
                outcome = Outcome(failed=say(error))
            with self._lock:
                if self._busy.pop(job.key, None) is None:
                    return  # given up
            self._done.put((job.key, outcome))

    def give_up(self, key: str) -> None:
        """See :class:`Driver`."""
        with self._lock:
            thread = self._busy.pop(key, None)
            if thread is None:
                self._dropped.add(key)
            else:
                self._threads.discard(thread)

    def close(self) -> None:
        """See :class:`Driver`."""
        with self._lock:
            threads = list(self._threads)
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            thread.join()


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

    def start(self, job: Job) -> None:
        """See :class:`Driver`."""
        from asyncio import run_coroutine_threadsafe

        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="cutline event loop", daemon=True
            )
            self._thread.start()
            self._ready.wait()
        future = run_coroutine_threadsafe(trial_in_loop(job), self._loop)
        self._futures[job.key] = future
        future.add_done_callback(partial(self._came, job.key))

    def _came(self, key: str, future: "Future[Outcome]") -> None:
        self._futures.pop(key, None)
        self._done.put((key, outcome_of(future)))

    def give_up(self, key: str) -> None:
        """See :class:`Driver`."""
        future = self._futures.get(key)
        if future is not None:
            future.cancel()

    def close(self) -> None:
        """See :class:`Driver`."""
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(LAST)


class Executors:
    """An executor that somebody else made and will end."""

    def __init__(self, executor: Executor, done: Done) -> None:
        self._executor, self._done = executor, done
        self._futures: dict[str, Future[Outcome]] = {}
        self._stuck: set[str] = set()

    @property
    def stuck(self) -> int:
        """See :class:`Driver`."""
        return len(self._stuck)

    def start(self, job: Job) -> None:
        """See :class:`Driver`."""
        future = self._executor.submit(trial, job)
        self._futures[job.key] = future
        future.add_done_callback(partial(self._came, job.key))

    def _came(self, key: str, future: "Future[Outcome]") -> None:
        self._futures.pop(key, None)
        self._stuck.discard(key)
        self._done.put((key, outcome_of(future)))

    def give_up(self, key: str) -> None:
        """See :class:`Driver`."""
        future = self._futures.get(key)
        if future is None:
            return
        self._stuck.add(key)
        if future.cancel() or future.done():
            self._stuck.discard(key)

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
        return Outcome(failed=say(error), ended=say(error))
    return Outcome(failed=say(error))


def places_in(executor: Any) -> int:
    """How many trials an executor can make at once, as far as it can be told."""
    own = getattr(executor, "_max_workers", None)
    if isinstance(own, int) and own > 0:
        return own
    threads = getattr(getattr(executor, "_client", None), "nthreads", None)  # Dask's
    if callable(threads):
        return max(1, int(sum(threads().values())))
    return os.cpu_count() or 1


def choose_driver(
    fn: Callable[..., object], workers: int | None, executor: Any, done: Done
) -> tuple[Driver, int]:
    """What is to make the trials, and how many at once."""
    if hasattr(executor, "get_executor"):  # a Dask client
        executor = executor.get_executor(pure=False)
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(
            "executor must have a submit method, as those of concurrent.futures have, got "
            f"{executor!r}"
        )
    if workers is None:
        workers = 1 if executor is None else places_in(executor)
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers must be a whole number, 1 or more, got {workers!r}")
    if executor is not None:
        return Executors(executor, done), workers
    if is_coroutine_function(fn):
        return EventLoop(done), workers
    return Threads(workers, done), workers


def is_coroutine_function(fn: object) -> bool:
    """Whether calling it gives something to be awaited."""
    call = getattr(fn, "__call__", None)  # noqa: B004  # the method itself, of an object
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(call)


def caller(
    fn: Callable[..., object], arms: int | Sequence[str] | Mapping[str, object]
) -> Callable[[Pull], Job]:
    """How a pull becomes a call: the arm first, then ``pull`` and ``seed`` if there are such.

    >>> make = caller(lambda arm, seed: 1, ["a"])
    >>> pull = Pull("0-00ff", "a", number=0, cost=1, expires=0.0, key=(1, 2, 0))
    >>> make(pull).value, list(make(pull).more)
    ('a', ['seed'])
    """
    values = {str(k): v for k, v in arms.items()} if isinstance(arms, Mapping) else None
    names = _wanted(fn)

    def make(pull: Pull) -> Job:
        if values is not None and pull.arm not in values:
            raise LookupError(f"there is no value for arm {pull.arm!r} in this call")
        more = {"pull": pull, "seed": pull.seed}
        value = pull.arm if values is None else values[pull.arm]
        return Job(pull.id, fn, value, {name: more[name] for name in names})

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
