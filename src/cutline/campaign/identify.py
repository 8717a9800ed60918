"""Play a campaign with a function that makes one trial, many at once."""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from cutline.campaign.campaign import Campaign
from cutline.campaign.drivers import Done, caller, choose_driver
from cutline.campaign.lookout import Lookout
from cutline.campaign.playing import Play
from cutline.campaign.progress import Show, line_for
from cutline.campaign.stores import Store
from cutline.core.problem import PerArm, Problem
from cutline.core.rewards import Rewards
from cutline.core.verdict import ArmVerdict, Verdict
from cutline.rules import Rule

LEASE = 60.0  # seconds, with heartbeats: how long the pulls of a killed process are waited for


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
    on_proven: Callable[[ArmVerdict], object] | None = None,
    progress: bool | Show | None = None,
) -> Verdict:
    """Find the arms above the threshold by calling a function, each call one trial of one arm.

    ``fn`` is called with an arm and returns a reward: with its name, or with its value where
    ``arms`` maps names to values. If it has a parameter called ``seed`` beside, it gets a whole
    number that is this trial's alone; if one called ``pull``, the :class:`Pull`. A trial that may
    be answered from a cache must use one of them, or repeating it tells nothing. A function that
    raises, or returns what is no reward, has failed: nothing is learned from it (see ``lost``), and
    an arm that fails ``patience`` times in a row is suspended.

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
    given = arms if isinstance(arms, int | Mapping) else list(arms)
    problem = Problem(
        arms=given, threshold=threshold, precision=precision, rewards=rewards, level=level
    )
    make = caller(fn, given)
    if timeout is not None and not timeout > 0:
        raise ValueError(f"timeout must be a number of seconds above 0, got {timeout!r}")
    done: Done = Done()
    driver, places = choose_driver(fn, workers, executor, done)
    campaign = Campaign(
        problem, rule, budget=budget, confidence=confidence, name=name, seed=seed, lost=lost,
        store=os.fspath(store) if isinstance(store, os.PathLike) else store,
        cost=cost, unit=unit, patience=patience, lease=lease,
    )  # fmt: skip
    show = line_for(progress)
    watch = Lookout(campaign, on_proven) if on_proven or show else None
    try:
        play = Play(campaign, driver, done, make, places, lease, timeout, watch, show)
        play.run()
        verdict = campaign.verdict()
    finally:
        if isinstance(store, str | os.PathLike):
            campaign.store.release()
    for text in play.complaints(verdict):
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return verdict
