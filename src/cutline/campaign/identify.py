"""Play a campaign with a function that makes one trial, many at once."""

import logging
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from itertools import islice
from typing import Any

from cutline.campaign.campaign import Campaign
from cutline.campaign.making import check_seconds
from cutline.campaign.progress import Line, Progress, Show, line_for
from cutline.campaign.pulls import Pull
from cutline.campaign.records import CLOSED
from cutline.campaign.runner import GIVE_UP_AFTER, INTERRUPTED, Done, Driver, Lookout, Runner
from cutline.campaign.runner.drivers.calls import caller, is_coroutine_function
from cutline.campaign.runner.drivers.event_loop import EventLoop
from cutline.campaign.runner.drivers.executor import Executors, places_in
from cutline.campaign.runner.drivers.threads import Threads
from cutline.campaign.runner.signals import interrupt_kinds
from cutline.campaign.stores import Store
from cutline.core.problem import MOST_ARMS, PerArm, Problem
from cutline.core.rewards import Rewards
from cutline.core.text import visible
from cutline.core.verdict import ArmVerdict, Verdict
from cutline.rules import Rule

LEASE = 60.0  # seconds, with heartbeats: how long the pulls of a killed process are waited for
TICK = 0.2  # seconds between two looks at the progress


def identify(
    fn: Callable[..., object],
    arms: int | Iterable[str] | Mapping[str, object],
    *,
    threshold: PerArm,
    precision: PerArm = 0.0,
    rewards: str | Rewards,
    budget: int | None = None,
    confidence: float | None = None,
    rule: Rule | str = "auto",
    level: PerArm | None = None,
    workers: int | None = None,
    executor: Executor | Any = None,
    store: Store | str | os.PathLike[str] | None = None,
    name: str = "main",
    seed: int = 0,
    lost: float | None = None,
    cost: int | Sequence[int] | Mapping[str, int] = 1,
    unit: str = "pulls",
    patience: int = 5,
    lease: float = LEASE,
    timeout: float | None = None,
    give_up_after: float = GIVE_UP_AFTER,
    on_proven: Callable[[ArmVerdict], object] | None = None,
    progress: bool | Show | None = None,
) -> Verdict:
    """Find the arms above the threshold by calling a function, each call one trial of one arm.

    ``fn`` is called with an arm and returns a reward: with its name, or with its value where
    ``arms`` maps names to values. If it has a parameter called ``seed`` beside, it gets a whole
    number that is this trial's alone; if one called ``pull``, the :class:`Pull`. A trial that may
    be answered from a cache must use one of them, or repeating it tells nothing. A function that
    raises, or returns what is no reward, has failed: nothing is learned from it (see ``lost``). An
    arm is suspended when it fails in a row, ``patience`` times at least, as the trials of the other
    arms do not; the same call later tries it again.

    Where no trial has ever worked, :class:`NothingWorks` is raised with the last error. Where
    trials worked and now those of most arms fail, it waits, tries with one trial at a time and goes
    on when they work again; after ``give_up_after`` seconds of that (half an hour unless set) it
    returns the verdict so far, with a warning.

    Up to ``workers`` trials are under way at any time: in threads; in an event loop, where ``fn``
    is a coroutine function; or in ``executor``, any :class:`concurrent.futures.Executor` or a Dask
    client, as many at once as it has places unless ``workers`` says otherwise. The next trial
    begins as soon as one returns. One that takes longer than ``timeout`` seconds has failed; where
    a function may hang, give one, as an arm that never answers would hold all workers in the end.

    ``on_proven`` is called, from the thread that called this, with the :class:`ArmVerdict` of each
    arm as soon as it is proven; once an arm, those proven in an earlier run first. ``progress`` is
    False for none, None for a line on a terminal or in a notebook, True for one wherever stderr
    leads to, or a function that is called with a :class:`Progress` now and then.

    Ctrl-C returns the verdict so far; trials under way are given back. With a ``store`` the same
    call goes on where it was, after Ctrl-C or a crash, and several processes may make it at once.
    The rest is as of :class:`Problem` and :class:`Campaign`.

    >>> import random
    >>> def toss(bias, seed):
    ...     return random.Random(seed).random() < bias
    >>> coins = {"fair": 0.5, "bent": 0.9, "rare": 0.1}
    >>> verdict = identify(toss, coins, threshold=0.7, precision=0.05, rewards="binary", budget=300)
    >>> verdict.above, verdict.below
    (('bent',), ('fair', 'rare'))
    """
    # One that can be gone through once is written down; more than a problem has are not waited for.
    given: Any = list(islice(arms, MOST_ARMS + 1)) if isinstance(arms, Iterator) else arms
    problem = Problem(
        arms=given, threshold=threshold, precision=precision, rewards=rewards, level=level
    )
    prepare = caller(fn, given)
    limit = None if timeout is None else check_seconds("timeout", timeout)
    held = check_seconds("a lease", lease)
    patient = check_seconds("give_up_after", give_up_after, or_zero=True)
    done: Done = Done()
    driver, places = _choose_driver(fn, workers, executor, done)
    campaign = Campaign(
        problem, rule, budget=budget, confidence=confidence, name=name, seed=seed, lost=lost,
        store=os.fspath(store) if isinstance(store, os.PathLike) else store,
        cost=cost, unit=unit, patience=patience, lease=held,
    )  # fmt: skip
    follower = _Follower(campaign, on_proven, line_for(progress))
    try:
        runner = Runner(
            campaign, driver, done, prepare, follower,
            places=places, lease=held, timeout=limit, give_up_after=patient,
            stops=interrupt_kinds(),
        )  # fmt: skip
        for arm in campaign.suspended() if campaign.access.head().pulls else ():
            campaign.resume(arm)  # whatever it was may be mended
        try:
            runner.run()
        finally:
            follower.end()
        verdict, reasons = campaign.verdict(), campaign.suspended()
    finally:
        if isinstance(store, str | os.PathLike):
            campaign.store.release()
    for text in _complaints(runner, reasons):
        warnings.warn(visible(text), RuntimeWarning, stacklevel=2)
    return verdict


def _choose_driver(
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


class _Follower:
    """Calls ``on_proven`` and shows the progress."""

    def __init__(
        self,
        campaign: Campaign,
        on_proven: Callable[[ArmVerdict], object] | None,
        show: Show | None,
    ) -> None:
        self._campaign, self._on_proven, self._show = campaign, on_proven, show
        self._lookout = Lookout(campaign) if on_proven or show else None
        self._began, self._told_before = time.monotonic(), campaign.access.head().told
        self._show_at = 0.0
        self._all = self._told_before > 0  # first those that were proven before
        self._warned = False

    @property
    def due(self) -> float:
        """See :class:`Observer`."""
        looks = math.inf if self._lookout is None else 0.0 if self._all else self._lookout.due
        return looks if self._show is None else min(looks, self._show_at)

    def hear(self, pull: Pull, failed: str | None) -> None:
        """See :class:`Observer`."""
        if self._lookout is not None:
            self._lookout.hear(pull)

    def no_reward(self, pull: Pull, note: str) -> None:
        """See :class:`Observer`."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"the function returned what is no reward, for arm {pull.arm!r}: {note}; such "
                "pulls count as failed",
                RuntimeWarning,
                stacklevel=2,
            )

    def notice(self, text: str) -> None:
        """See :class:`Observer`."""
        logging.getLogger("cutline").warning("%s", visible(text))

    def look(self, runner: Runner, last: bool = False) -> None:
        """See :class:`Observer`."""
        everything = last or self._all
        if self._lookout is not None and (everything or self._lookout.due <= time.monotonic()):
            self._all = False
            for arm in self._lookout.look(everything).news:
                if arm.proven is not None and self._on_proven is not None:
                    self._on_proven(arm)
        if self._show is not None and (last or self._show_at <= time.monotonic()):
            self._show(self._progress(runner, last))
            self._show_at = time.monotonic() + TICK

    def end(self) -> None:
        """Leave the line as it is."""
        if isinstance(self._show, Line):
            self._show.end()

    def _progress(self, runner: Runner, last: bool) -> Progress:
        assert self._lookout is not None
        head = self._campaign.access.head()
        return Progress(
            head.spent,
            head.budget,
            head.settings["unit"],
            len(self._lookout.proven),
            head.arms,
            head.flying,
            head.told - self._told_before,
            runner.failed,
            time.monotonic() - self._began,
            runner.ended or ("done" if last else str(runner.outage or runner.state)),
        )


def _complaints(runner: Runner, reasons: Mapping[str, str]) -> Iterator[str]:
    """What the caller should know beside the verdict."""
    if runner.gave_up:
        last = next(reversed(runner.failures.values()), "")
        yield (
            f"{runner.ended}, so this is the verdict so far; with a store the same call goes on "
            f"from here; last: {last}"
        )
    elif runner.ended not in (None, INTERRUPTED, CLOSED):
        yield (
            f"no more trials can be made ({runner.ended}): this is the verdict so far; with a "
            "store the same call goes on from here, with a new executor where it is one that broke"
        )
    broken = [name for name in reasons if name in runner.failures]
    if broken:
        some = "; ".join(f"{name} ({reasons[name]})" for name in broken[:3])
        more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
        yield f"suspended: {some}{more}"
