"""Whose fault failures are: the arm's, a worker's, or the world's."""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cutline.campaign.moves import FALSE_SUSPENSION, Run, chance_of
from cutline.campaign.records import OPEN
from cutline.campaign.stores import Transaction
from cutline.campaign.terms import Terms

MANY = 10  # failures one after another, of as many arms where there are, that are no arm's fault
FEW = 10  # rewards that are too few to say how often trials fail
FEW_ARMS = 1_000  # arms up to which it is looked for a majority that fails at once
MANY_OF_WORKER = 5  # failures of a worker in a row, before it is named


@dataclass(slots=True)
class _Worker:
    run: int = 0  # failures since its last success
    told_before: int = 0  # all successes, and all failures, when that run began
    failed_before: int = 0
    named: bool = False


class Workers:
    """Who made trials. A worker may be broken where others are not: a failure counts against its
    arm only if the worker has succeeded since its last failure, or nobody else has since."""

    def __init__(self) -> None:
        self._known: dict[str, _Worker] = {}
        self._told = self._failed = 0

    def succeeded(self, name: str) -> None:
        """A trial of this worker gave a reward."""
        self._told += 1
        worker = self._known.setdefault(name, _Worker())
        worker.run, worker.named = 0, False

    def failed(self, name: str) -> bool:
        """A trial of this worker failed; whether that says nothing of its arm."""
        worker = self._known.get(name)
        if worker is None:  # it never succeeded, and perhaps it cannot
            worker = self._known[name] = _Worker()
            excused = self._told > 0
        else:
            excused = worker.run > 0 and self._told > worker.told_before
        if not worker.run:
            worker.told_before, worker.failed_before = self._told, self._failed
        worker.run += 1
        self._failed += 1
        return excused

    def elsewhere(self, told: int, failed: int) -> None:
        """So much came of other processes' trials since the last time."""
        self._told += max(0, told)
        self._failed += max(0, failed)

    def broken(self, name: str) -> Run | None:
        """The run of a worker whose trials all fail while others' succeed; said once."""
        worker = self._known[name]
        if worker.run < MANY_OF_WORKER or worker.named:
            return None
        failed = self._failed - worker.failed_before - worker.run
        run = Run(worker.run, self._told - worker.told_before, max(0, failed))
        trials = self._told + self._failed
        worker.named = chance_of(run) * trials * (trials + 1) < FALSE_SUSPENSION
        return run if worker.named else None


class Recent:
    """The trials begun since the last-begun one that gave a reward, in the order of beginning.

    That order, and not the one in which they came back: failures may be quicker than rewards.
    """

    def __init__(self) -> None:
        # Arms by the trial's key; of this kind, as the first is taken out at once, however many.
        self._arms: OrderedDict[str, int] = OrderedDict()
        self._failed: set[str] = set()

    def begin(self, key: str, arm: int) -> None:
        """A trial begins."""
        self._arms[key] = arm

    def reward(self, key: str) -> None:
        """A trial gave a reward: it and those begun before say nothing of the world now."""
        if key not in self._arms:
            return
        before = ""
        while before != key:
            before, _ = self._arms.popitem(last=False)
            self._failed.discard(before)

    def fail(self, key: str) -> None:
        """A trial failed."""
        if key in self._arms:
            self._failed.add(key)

    def forget(self, key: str) -> None:
        """Nothing came of a trial."""
        self._arms.pop(key, None)
        self._failed.discard(key)

    @property
    def failing(self) -> bool:
        """Whether any of them failed."""
        return bool(self._failed)

    def run(self) -> list[int]:
        """The arms of the longest run of failures; a trial under way ends a run."""
        longest: list[int] = []
        if len(self._failed) < MANY:
            return longest
        run: list[int] = []
        for key, arm in self._arms.items():
            if key in self._failed:
                run.append(arm)
            else:
                longest, run = max(longest, run, key=len), []
        return max(longest, run, key=len)

    def nothing_works(self, arms: int) -> bool:
        """Whether ten trials have failed, of ten arms or of all."""
        tried = {self._arms[key] for key in self._failed}
        return len(self._failed) >= MANY and len(tried) >= min(MANY, arms)


class ArmRuns:
    """Which arms fail while others work: runs of failures, in the order in which trials began."""

    def __init__(self) -> None:
        self._begun = self._last_reward = 0
        self._trials: dict[str, tuple[int, int]] = {}  # a trial's arm, and its place in the order
        self._rewarded: dict[int, int] = {}  # the place of each arm's last reward
        self._failures: dict[int, list[int]] = {}  # the places of each arm's failures since

    def begin(self, key: str, arm: int) -> None:
        """A trial begins."""
        self._begun += 1
        self._trials[key] = arm, self._begun

    def reward(self, key: str) -> int | None:
        """A trial gave a reward; its arm."""
        arm, place = self._trials.pop(key, (None, 0))
        if arm is not None:
            self._last_reward = max(place, self._last_reward)
            last = self._rewarded[arm] = max(place, self._rewarded.get(arm, 0))
            left = [failure for failure in self._failures.pop(arm, ()) if failure > last]
            if left:
                self._failures[arm] = left
        return arm

    def fail(self, key: str) -> None:
        """A trial failed."""
        arm, place = self._trials.pop(key, (None, 0))
        if arm is not None and place > self._rewarded.get(arm, 0):
            self._failures.setdefault(arm, []).append(place)

    def forget(self) -> None:
        """Begin again: what failed so far says nothing of what comes."""
        self._failures.clear()

    def lengths(self) -> dict[int, int]:
        """The arms that failed more than once in a row, and how often, while another arm worked.

        A failure counts here once a trial that began later has given a reward.
        """
        runs = {
            arm: sum(place < self._last_reward for place in places)
            for arm, places in self._failures.items()
        }
        return {arm: length for arm, length in runs.items() if length > 1}


def failing_majority(t: Transaction, terms: Terms, lengths: Mapping[int, int]) -> frozenset[int]:
    """The arms that fail at once, if they are most of those still tried; else none.

    ``lengths`` are the runs of failures. Only arms that worked before count, and not by chance, at
    the rate of failures so far.
    """
    arms = t.all_arms()
    tried = [arm for arm in arms if arm.status == OPEN and not arm.closed]
    failing = frozenset(arm.number for arm in tried if arm.told and arm.number in lengths)
    if len(failing) < 2 or 2 * len(failing) <= len(tried):
        return frozenset()
    length = sum(lengths[number] for number in failing)
    told = sum(arm.told for arm in arms)
    failed = sum(arm.failed + arm.lost for arm in arms) - length
    # So many sets of arms there are, and so many ways to share the failures among them.
    ways = math.comb(len(tried), len(failing)) * math.comb(length - 1, len(failing) - 1)
    trials = t.head.pulls * (t.head.pulls + 1)
    chance = chance_of(Run(length, told, max(0, failed)))
    return failing if ways * trials * chance < FALSE_SUSPENSION else frozenset()


def is_outage(t: Transaction, terms: Terms, run: Sequence[int]) -> bool:
    """Whether a run of failures, given by its arms, is the world's fault.

    Of ten arms, or of all that are still tried; an arm that worked before among them; and not by
    chance, at the rate of failures so far.
    """
    arms = t.all_arms()
    tried = {arm.number for arm in arms if arm.status == OPEN and not arm.closed}
    distinct = set(run)
    if len(distinct) < min(MANY, max(1, len(tried))) or (len(distinct) == 1 and len(arms) > 1):
        return False
    if not any(arms[number].told for number in distinct):
        return False
    told = sum(arm.told for arm in arms)
    failed = sum(arm.failed + arm.lost for arm in arms) - len(run)
    found = Run(len(run), told, max(0, failed))
    if told < FEW and len(run) >= 5 * MANY:  # hardly anything is known, and a pause costs little
        return chance_of(found) < 1.0 / (5 * MANY)
    return chance_of(found) * t.head.pulls * (t.head.pulls + 1) < FALSE_SUSPENSION
