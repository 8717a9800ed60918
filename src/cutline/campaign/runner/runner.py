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
from cutline.campaign.errors import CampaignClosed, CampaignError
from cutline.campaign.pulls import Pull
from cutline.campaign.records import CLOSED
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

POLL = (0.02, 1.0)  # seconds until the next ask where others hold all that is left: first, longest
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


class Runner:
    """Plays a campaign with a driver: as many trials under way as there are places.

    ``prepare`` makes a driver's job of a pull. A trial that takes longer than ``timeout`` seconds
    is stopped and has failed. Outcomes are settled in the order in which they arrived, all that
    have arrived in one transaction. ``stops`` are the signals that end the run.
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
        stops: Sequence[signal.Signals] = (),
    ) -> None:
        self.campaign, self.driver, self.done, self.prepare = campaign, driver, done, prepare
        self.observer, self.places, self.lease = observer, places, lease
        self.timeout, self.stops = timeout, stops
        self.flights: dict[str, Flight] = {}  # by the pull's id, in the order of their beginning
        self.state = ""  # why the last ask came back empty, if it did
        self.ended: str | None = None  # what ended the loop before the campaign was done
        self.failed = 0  # trials that this run saw fail
        self.failures: dict[str, str] = {}  # the last one of each arm
        self._given_up = 0.0  # when a trial's time was last up
        self._terms = campaign.access.terms(campaign.access.head().settings)

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

    @property
    def _free(self) -> int:
        return self.places - len(self.flights) - self.driver.stuck

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
        return asked, ""

    def _start(self, pull: Pull) -> None:
        if self.ended is not None:
            return
        flight = self.flights[pull.id]
        flight.since = time.monotonic()
        if self.timeout is not None:
            flight.until = flight.since + self.timeout
        try:
            self.driver.start(self.prepare(pull))
        except RuntimeError as error:  # broken, or shut down
            self.ended = describe_error(error)
        except Exception as error:  # what cannot be sent to another process, say
            self.done.put((pull.id, Outcome(failed=describe_error(error))))

    def _wait_seconds(self, ask_at: float) -> float:
        """How long to wait for a result before something else is to be done."""
        # Never for long: a signal that comes just before a wait begins does not end it.
        times = [time.monotonic() + TICK, ask_at, self.observer.due]
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
        settled: list[tuple[Pull, float | None, str | None]] = []
        for key, outcome in arrived:
            if self.ended != INTERRUPTED:  # which may break an executor, too
                self.ended = outcome.ended or self.ended
            flight = self.flights.get(key)
            # None: was given up; or no trial, but a signal. What ended with all others at once
            # stays in flight and is given back.
            if flight is not None and outcome.ended is None:
                settled.append((flight.pull, *self._read(flight.pull, outcome)))
        if not settled:
            return
        reports: list[moves.Report] = [
            (pull.id, value, None, note) for pull, value, note in settled
        ]
        self.campaign.access.do("tell", moves.report_all, reports)
        for pull, value, note in settled:
            del self.flights[pull.id]
            if value is None:
                self.failed += 1
                self.failures[pull.arm] = note or ""
            self.observer.hear(pull, None if value is not None else note or "")

    def _read(self, pull: Pull, outcome: Outcome) -> tuple[float | None, str | None]:
        """The value as a reward, None where the trial has failed; and the note to keep."""
        if outcome.failed is not None:
            return None, outcome.failed
        try:
            return self._terms.check(outcome.value), outcome.note
        except Exception as error:  # whatever it is, it is no number
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
