"""The loop that plays a campaign: ask, have trials made, tell what came of them."""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from queue import Empty
from typing import Protocol

from cutline.campaign import moves
from cutline.campaign.campaign import Campaign
from cutline.campaign.errors import CampaignClosed, CampaignError, NothingWorks
from cutline.campaign.pulls import Pull
from cutline.campaign.records import CLOSED
from cutline.campaign.runner.drivers.calls import this_process
from cutline.campaign.runner.health import (
    FEW_ARMS,
    MANY,
    ArmRuns,
    Recent,
    Workers,
    failing_majority,
    is_outage,
)
from cutline.campaign.runner.outage import Outage, in_words
from cutline.campaign.runner.signals import stopped_by
from cutline.campaign.runner.trials import (
    INTERRUPTED,
    TIMED_OUT,
    Done,
    Driver,
    Job,
    Outcome,
    describe_error,
)
from cutline.campaign.stores import Transaction
from cutline.campaign.terms import Terms
from cutline.core.numbers import MISTAKES

GIVE_UP_AFTER = 1_800.0  # seconds that an outage may last
POLL = (0.02, 1.0)  # seconds until the next ask where others hold all that is left: first, longest
SHOW_DOUBT = 2.0  # seconds until it is said that nothing has worked so far
TICK = 0.2  # seconds that a wait for results takes at most


@dataclass(slots=True)
class Flight:
    """A trial under way: since when, and when its time is up, by the monotonic clock."""

    pull: Pull
    since: float
    until: float = math.inf


class Observer(Protocol):
    """Whoever follows a run, called from the thread that runs it."""

    @property
    def due(self) -> float:
        """When to look next, by the monotonic clock."""

    def hear(self, pull: Pull, failed: str | None) -> None:
        """Something came of a trial: a reward, or how it failed."""

    def look(self, runner: "Runner", last: bool = False) -> None:
        """Look at the campaign and show it; ``last`` where nothing more will happen."""

    def no_reward(self, pull: Pull, note: str) -> None:
        """A trial gave a value that is no reward."""

    def notice(self, text: str) -> None:
        """Something that whoever runs this should know now."""


class Runner:
    """Plays a campaign with a driver: as many trials under way as there are places.

    ``prepare`` makes a driver's job of a pull. A trial that takes longer than ``timeout`` seconds
    is stopped and has failed. Outcomes are settled in the order in which they arrived, all that
    have arrived in one transaction. ``stops`` are the signals that end the run.

    Where trials worked and now all fail, it waits and tries with one at a time, for
    ``give_up_after`` seconds at most. Where none has ever worked it raises :class:`NothingWorks`.
    """

    def __init__(
        self,
        campaign: Campaign,
        driver: Driver,
        done: Done,
        prepare: Callable[[Pull], Job],
        observer: Observer,
        *,
        places: int,
        lease: float,
        timeout: float | None = None,
        give_up_after: float = GIVE_UP_AFTER,
        stops: Sequence[signal.Signals] = (),
    ) -> None:
        self.campaign, self.driver, self.done, self.prepare = campaign, driver, done, prepare
        self.observer, self.places, self.lease = observer, places, lease
        self.timeout, self.give_up_after, self.stops = timeout, give_up_after, stops
        self.flights: dict[str, Flight] = {}  # by the pull's id, in the order of their beginning
        self.state = ""  # why the last ask came back empty, if it did
        self.ended: str | None = None  # what ended the loop before the campaign was done
        self.failed = 0  # trials that this run saw fail
        self.failures: dict[str, str] = {}  # the last one of each arm
        self.outage: Outage | None = None
        self.gave_up = False  # an outage lasted too long
        self._doubt_since: float | None = None  # ten trials have failed, and none has succeeded
        self._doubt_shown = False
        self._look_at = 0.0  # when to look next whether most arms fail
        self._given_up = 0.0  # when a trial's time was last up
        self._workers, self._recent, self._runs = Workers(), Recent(), ArmRuns()
        head = campaign.access.head()
        self._terms = campaign.access.terms(head.settings)
        self._arms, self._told, self._failed = head.arms, head.told, head.failed
        self._worked = campaign.access.do("look", _ever_told)

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it."""
        return self.ended == INTERRUPTED

    def run(self) -> None:
        """Play until the campaign is done, or until something ends it."""
        stop = ("", Outcome(ended=INTERRUPTED))
        try:
            with (
                stopped_by(self.stops, lambda: self.done.put(stop)),
                _heartbeats(self.campaign, self.flights, self.lease),
            ):
                try:
                    self._loop()
                except KeyboardInterrupt:
                    self.ended = INTERRUPTED
                except CampaignClosed:
                    self.ended = CLOSED
                finally:
                    self._give_back()
            self.observer.look(self, last=True)
        finally:
            self.driver.close()

    def _loop(self) -> None:
        first, longest = POLL
        ask_at, pause = 0.0, first
        while self.ended is None:
            if self.observer.due <= time.monotonic():
                self.observer.look(self)
            now = time.monotonic()
            if self._free > 0 and now >= ask_at:
                asked, self.state = self._ask(self._free)
                if self.state == moves.DONE and not self.flights:
                    return
                pause = first if asked else min(2.0 * pause, longest)
                ask_at = now + pause if self.state else 0.0
            if self._take(self._wait_seconds(ask_at if self._free > 0 else math.inf)):
                ask_at, pause = 0.0, first
            self._time_out()
            self._give_up_where_nothing_works()
            if self.outage is not None and self.outage.is_given_up:
                self.gave_up = True
                self.ended = f"{self.outage.who} failed for {in_words(self.outage.seconds)}"

    @property
    def _free(self) -> int:
        free = self.places - len(self.flights) - self.driver.stuck
        if self._doubt_since is not None:
            return 0
        if self.outage is not None:
            return min(free, int(self.outage.may_try()))
        return free

    def _ask(self, free: int) -> tuple[int, str]:
        """Start so many trials, or as many as there are; how many, and why no more."""
        asked = 0
        while asked < free and self.ended is None:
            pulls = self.campaign.ask(free - asked, lease=self.lease)
            if not pulls:
                return asked, pulls.why
            now = time.monotonic()
            for pull in pulls:  # all of them, so that all are given back if starting is interrupted
                self.flights[pull.id] = Flight(pull, now)
            for pull in pulls:
                self._start(pull)
            asked += len(pulls)
            if self.outage is not None:
                self.outage.probe = pulls[0].id
        return asked, ""

    def _start(self, pull: Pull) -> None:
        if self.ended is not None:
            return
        flight = self.flights[pull.id]
        self._recent.begin(pull.id, pull.key[2])
        self._runs.begin(pull.id, pull.key[2])
        flight.since = time.monotonic()
        if self.timeout is not None:
            flight.until = flight.since + self.timeout
        try:
            job = self.prepare(pull)
        except MISTAKES as error:  # there is no value for this arm, say
            self.done.put((pull.id, Outcome(failed=describe_error(error))))
            return
        try:
            self.driver.start(job)
        except RuntimeError as error:  # broken, or shut down
            self.ended = describe_error(error)

    def _wait_seconds(self, ask_at: float) -> float:
        """How long to wait for a result before something else is to be done."""
        # Never for long: a signal that comes just before a wait begins does not end it.
        times = [time.monotonic() + TICK, ask_at, self.observer.due]
        if self.outage is not None and self.outage.probe is None:
            times.append(self.outage.next_try)
        if self.timeout is not None:
            running = (flight.until for flight in self.flights.values() if flight.until < math.inf)
            times += islice(running, 1)  # the first to begin
        return max(0.0, min(times) - time.monotonic())

    def _take(self, seconds: float) -> bool:
        """Settle what has arrived, waiting a while for the first; whether anything has."""
        arrived = []
        with contextlib.suppress(Empty):
            arrived.append(self.done.get(timeout=seconds))
            while True:
                arrived.append(self.done.get_nowait())
        self._settle(arrived)
        return bool(arrived)

    def _settle(self, arrived: Sequence[tuple[str, Outcome]]) -> None:
        """Tell the campaign what came of trials, in their order and in one transaction."""
        reports: list[moves.Report] = []
        settled: list[tuple[Pull, str, bool]] = []
        excused = set()
        for key, outcome in arrived:
            if self.ended != INTERRUPTED:  # which may break an executor, too
                self.ended = outcome.ended or self.ended
            flight = self.flights.get(key)
            # None: was given up; or no trial, but a signal. What ended with all others at once
            # stays in flight and is given back.
            if flight is None or outcome.ended is not None:
                continue
            value, note = self._read(flight.pull, outcome)
            reports.append((key, value, None, note))
            worker = outcome.worker or this_process()
            settled.append((flight.pull, worker, value is None))
            if value is not None:
                self._workers.succeeded(worker)
            elif self._workers.failed(worker) or self.outage is not None:
                excused.add(key)
        if not reports:
            return
        told, failed = self.campaign.access.do("tell", _report_all, reports, frozenset(excused))
        for (pull, worker, is_failed), (_, _, _, note) in zip(settled, reports, strict=True):
            del self.flights[pull.id]
            if is_failed:
                self.failed += 1
                self.failures.pop(pull.arm, None)
                self.failures[pull.arm] = note or ""  # the last one comes last
                self._fail(pull.id, worker, note or "")
            else:
                self._worked = True
                self._reward(pull.id)
            self.observer.hear(pull, (note or "") if is_failed else None)
        failures = sum(is_failed for _, _, is_failed in settled)
        rewards = len(settled) - failures
        self._workers.elsewhere(told - self._told - rewards, failed - self._failed - failures)
        self._worked = self._worked or told > self._told
        self._told, self._failed = told, failed
        if self._terms.lost is None:
            self._look_at_the_world()

    def _reward(self, key: str) -> None:
        self._recent.reward(key)
        arm = self._runs.reward(key)
        if self.outage is not None and self.outage.arms:
            if arm in self.outage.arms and arm not in self._runs.lengths():
                self._end_outage()
            else:
                self.outage.worked(key)

    def _end_outage(self) -> None:
        assert self.outage is not None
        again = "the arms that failed" if self.outage.arms else "trials"
        self.observer.notice(f"{again} work again after {in_words(self.outage.seconds)}")
        self._runs.forget()
        self.outage = None

    def _fail(self, key: str, worker: str, note: str) -> None:
        self._recent.fail(key)
        self._runs.fail(key)
        if self.outage is not None:
            self.outage.tried(key)
        run = self._workers.broken(worker)
        if run is not None and self._terms.lost is None:
            share = run.failed / max(1, run.told + run.failed)
            self.observer.notice(
                f"worker {worker} fails all its trials: {run.length} in a row, where {share:.0%} "
                f"of the others' fail meanwhile; its failures suspend no arm; last: {note}"
            )

    def _look_at_the_world(self) -> None:
        """See whether it is no arm's fault that trials fail, and whether that is over."""
        last = next(reversed(self.failures.items()), ("", ""))
        if self.outage is not None:
            if not self.outage.arms and not self._recent.failing:
                self._end_outage()
        elif not self._worked:
            if self._doubt_since is None and self._recent.nothing_works(self._arms):
                self._doubt_since = time.monotonic()
                self._doubt_shown = False
        else:
            run = self._recent.run()
            if len(run) >= MANY and self.campaign.access.do("look", is_outage, run):
                self.outage = Outage(self.give_up_after)
                what = f"{len(run)} trials of {len(set(run))} arms failed one after another"
            elif self._arms <= FEW_ARMS and len(lengths := self._runs.lengths()) > 1:
                arms = self._failing_majority(lengths)
                if not arms:
                    return
                self.outage = Outage(self.give_up_after, arms)
                what = f"{len(arms)} arms, most of those still tried, fail at once"
            else:
                return
            self.observer.notice(
                f"{what}, where trials worked before: waiting, with one trial at a time, for up to "
                f"{in_words(self.give_up_after)}; last: {last[1]}"
            )

    def _failing_majority(self, lengths: Mapping[int, int]) -> frozenset[int]:
        """Look for it for a tenth of the time at most: it reads all arms."""
        began = time.monotonic()
        if began < self._look_at:
            return frozenset()
        arms = self.campaign.access.do("look", failing_majority, lengths)
        now = time.monotonic()
        self._look_at = now + 9.0 * (now - began)
        return arms

    def _give_up_where_nothing_works(self) -> None:
        """Raise once the first trials have all failed: quick failures may overtake slow rewards."""
        if self._doubt_since is None:
            return
        if self._worked:
            self._doubt_since = None
            return
        arm, note = next(reversed(self.failures.items()))
        doubted = time.monotonic() - self._doubt_since
        if self.flights and doubted >= SHOW_DOUBT and not self._doubt_shown:
            self._doubt_shown = True
            self.observer.notice(
                f"no trial has succeeded, {self.failed} failed: waiting for the "
                f"{len(self.flights)} under way; last: {note}"
            )
        if not self.flights or doubted >= self.give_up_after:
            raise NothingWorks(
                f"no trial has succeeded: all {self.failed} so far failed, the last one of arm "
                f"{arm!r} with: {note}. No arm was suspended; mend it and start again"
            )

    def _read(self, pull: Pull, outcome: Outcome) -> tuple[float | None, str | None]:
        """The value as a reward, None where the trial has failed; and the note to keep."""
        if outcome.failed is not None:
            return None, outcome.failed
        try:
            return self._terms.check(outcome.value), outcome.note
        except MISTAKES as error:  # it is no number; anything else may be a signal's
            note = describe_error(error)
            self.observer.no_reward(pull, note)
            return None, note

    def _time_out(self) -> None:
        """Stop the trials that took too long."""
        if self.timeout is None:
            return
        now = time.monotonic()
        late = []
        for key, flight in self.flights.items():
            if flight.until <= now:
                late.append(key)
            elif flight.until < math.inf:
                break  # they are in the order in which they began
        forgotten = []
        for key in late:
            if self.driver.stop(key, TIMED_OUT):
                self.flights[key].until = math.inf  # what comes of it is on its way
            else:
                self._given_up = now
                forgotten.append((key, Outcome(failed=f"no result after {self.timeout:g} s")))
        self._settle(forgotten)
        if self.driver.stuck >= self.places and now > self._given_up + self.timeout:
            self.ended = f"its {self.places} places are held by trials that do not return"

    def _give_back(self) -> None:
        """Hand back what is still under way, so that nobody waits for it."""
        pulls = [flight.pull for flight in self.flights.values()]
        if not pulls:
            return
        for pull in pulls:
            self.driver.stop(pull.id, INTERRUPTED)
        self.flights.clear()
        note = f"given back: {self.ended or 'the call ended'}"
        with contextlib.suppress(CampaignError):  # then they come back when their lease runs out
            self.campaign.give_back(*pulls, note=note)


def _report_all(
    t: Transaction, terms: Terms, reports: Sequence[moves.Report], excused: frozenset[str]
) -> tuple[int, int]:
    """Report, and count what came of all trials of the campaign."""
    moves.report_all(t, terms, reports, excused)
    return t.head.told, t.head.failed


def _ever_told(t: Transaction, terms: Terms) -> bool:
    """Whether a trial has ever given a reward."""
    return t.head.told > 0 and any(arm.told for arm in t.all_arms())


@contextlib.contextmanager
def _heartbeats(campaign: Campaign, flights: Mapping[str, object], lease: float) -> Iterator[None]:
    """Keep the trials under way from being taken for lost."""
    end = threading.Event()

    def beat() -> None:
        while not end.wait(lease / 3.0):
            ids = list(flights)
            if ids:
                # Trouble with the store is met by the loop as well, which says so.
                with contextlib.suppress(Exception):
                    campaign.access.do("heartbeat", moves.heartbeat, ids, lease, again=False)

    thread = threading.Thread(target=beat, name="cutline heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
