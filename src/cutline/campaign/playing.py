"""The loop that plays a campaign: ask, have trials made, tell what came of them."""

import contextlib
import math
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from queue import Empty

from cutline.campaign import moves
from cutline.campaign.campaign import Campaign
from cutline.campaign.drivers import INTERRUPTED, Done, Driver, Job, Outcome, say
from cutline.campaign.errors import CampaignClosed, CampaignError
from cutline.campaign.lookout import Lookout
from cutline.campaign.progress import Line, Progress, Show
from cutline.campaign.pulls import Pull
from cutline.campaign.records import CLOSED, Head
from cutline.core.verdict import Verdict

POLL = (0.02, 1.0)  # seconds until the next ask where others hold all that is left: first, longest
TICK = 0.2  # seconds between two looks at the progress, and at most without any look


class Play:
    """The loop: ask for as many pulls as there are places, tell what comes back, ask again."""

    def __init__(
        self,
        campaign: Campaign,
        driver: Driver,
        done: Done,
        make: Callable[[Pull], Job],
        places: int,
        lease: float,
        timeout: float | None,
        watch: Lookout | None,
        show: Show | None,
    ) -> None:
        self.campaign, self.driver, self.done, self.make = campaign, driver, done, make
        self.places, self.lease, self.timeout = places, lease, timeout
        self.watch, self.show = watch, show
        head = campaign.access.head()
        self.terms = campaign.access.terms(head.settings)
        self.flights: dict[str, tuple[Pull, float]] = {}  # by id; with the time it is given up
        self.orphans: list[Pull] = []  # came to nothing, through no fault of the function
        self.why = ""  # why the last ask came back empty, if it did
        self.ended: str | None = None  # what ended the loop before the campaign was done
        self.failures: dict[str, str] = {}  # the last one of each arm
        self.failed = 0
        self.warned = False
        self.given_up = 0.0  # when a pull last was
        self.began, self.told_before, self.shown = time.monotonic(), head.told, 0.0

    def run(self) -> None:
        """Play until the campaign is done, or until something ends it."""
        try:
            with _interrupts(self.done), _heartbeats(self.campaign, self.flights, self.lease):
                try:
                    if self.watch is not None and self.told_before:
                        self.watch.look(everything=True)
                    self._loop()
                except KeyboardInterrupt:
                    self.ended = INTERRUPTED
                except CampaignClosed:
                    self.ended = CLOSED
                finally:
                    self._give_back()
            if self.watch is not None:
                self.watch.look(everything=True)
            self._tell_progress(last=True)
        finally:
            self.driver.close()
            if isinstance(self.show, Line):
                self.show.end()

    def _loop(self) -> None:
        first, longest = POLL
        ask_at, pause = 0.0, first
        while self.ended is None:
            now = time.monotonic()
            if self._free > 0 and now >= ask_at:
                asked, self.why = self._ask(self._free)
                if self.why == moves.DONE and not self.flights:
                    return
                pause = first if asked else min(2.0 * pause, longest)
                ask_at = now + pause if self.why else 0.0
            if self.watch is not None:
                self.watch.look()
            self._tell_progress()
            if self._take(self._patience(ask_at if self._free > 0 else math.inf)):
                ask_at, pause = 0.0, first
            self._time_out()

    @property
    def _free(self) -> int:
        return self.places - len(self.flights) - self.driver.stuck

    def _ask(self, free: int) -> tuple[int, str]:
        """Start so many pulls, or as many as there are; how many, and why no more."""
        asked = 0
        while asked < free and self.ended is None:
            pulls = self.campaign.ask(free - asked, lease=self.lease)
            if not pulls:
                return asked, pulls.why
            for pull in pulls:
                self._start(pull)
            asked += len(pulls)
        return asked, ""

    def _start(self, pull: Pull) -> None:
        until = math.inf if self.timeout is None else time.monotonic() + self.timeout
        self.flights[pull.id] = pull, until
        try:
            if self.ended is None:
                self.driver.start(self.make(pull))
        except RuntimeError as error:  # broken, or shut down
            self.ended = say(error)
        except Exception as error:  # what cannot be sent to another process, say
            self._settle([(pull.id, Outcome(failed=say(error)))])

    def _patience(self, ask_at: float) -> float:
        """How long to wait for a result before something else is to be done."""
        # Never for long: a signal that comes just before a wait begins does not end it.
        times = [time.monotonic() + TICK, ask_at]
        times += [until for _, until in islice(self.flights.values(), 1)]  # the first to begin
        if self.watch is not None:
            times.append(self.watch.due)
        return max(0.0, min(times) - time.monotonic())

    def _take(self, seconds: float) -> bool:
        """Tell what has come back, waiting a while for the first; whether anything has."""
        arrived = []
        with contextlib.suppress(Empty):
            arrived.append(self.done.get(timeout=seconds))
            while True:
                arrived.append(self.done.get_nowait())
        if arrived:
            self._settle(arrived)
        return bool(arrived)

    def _settle(self, arrived: list[tuple[str, Outcome]]) -> None:
        rewards, failures = [], []
        for key, outcome in arrived:
            if self.ended != INTERRUPTED:  # which may break an executor, too
                self.ended = outcome.ended or self.ended
            if key not in self.flights:  # was given up; or no pull, but Ctrl-C
                continue
            pull, _ = self.flights.pop(key)
            if self.watch is not None:
                self.watch.hear(pull)
            if outcome.ended is not None:
                self.orphans.append(pull)
            elif outcome.failed is not None:
                failures.append((pull, outcome.failed))
            else:
                try:
                    rewards.append((pull, self.terms.check(outcome.value)))
                except Exception as error:  # whatever it is, it is no number
                    failures.append((pull, self._no_reward(pull, error)))
        if rewards:
            self.campaign.tell_many(rewards)
        for pull, note in failures:
            self._fail(pull, note)

    def _fail(self, pull: Pull, note: str) -> None:
        self.failed += 1
        self.failures[pull.arm] = note
        self.campaign.fail(pull, note=note)

    def _no_reward(self, pull: Pull, error: Exception) -> str:
        note = say(error)
        if not self.warned:
            self.warned = True
            warnings.warn(
                f"the function returned what is no reward, for arm {pull.arm!r}: {note}; such "
                "pulls count as failed",
                RuntimeWarning,
                stacklevel=2,
            )
        return note

    def _time_out(self) -> None:
        """Fail the pulls that took too long."""
        if self.timeout is None:
            return
        now = time.monotonic()
        for key, (pull, until) in list(self.flights.items()):
            if until > now:
                break  # they are in the order in which they began
            del self.flights[key]
            self.driver.give_up(key)
            self.given_up = now
            if self.watch is not None:
                self.watch.hear(pull)
            self._fail(pull, f"no result after {self.timeout:g} s")
        if self.driver.stuck >= self.places and now > self.given_up + self.timeout:
            self.ended = f"its {self.places} places are held by trials that do not return"

    def _give_back(self) -> None:
        """Hand back what is still under way, so that nobody waits for it."""
        pulls = [*self.orphans, *(pull for pull, _ in self.flights.values())]
        if not pulls:
            return
        for pull in pulls:
            self.driver.give_up(pull.id)
        self.flights.clear()
        note = f"given back: {self.ended or 'the call ended'}"
        with contextlib.suppress(CampaignError):  # then they come back when their lease runs out
            self.campaign.give_back(*pulls, note=note)

    def _tell_progress(self, last: bool = False) -> None:
        now = time.monotonic()
        if self.show is None or (now < self.shown + TICK and not last):
            return
        self.shown = now
        head = self.campaign.access.head()
        self.show(_progress(self, head, self.ended or ("done" if last else self.why)))

    def complaints(self, verdict: Verdict) -> Iterator[str]:
        """What the caller should know beside the verdict."""
        if self.ended not in (None, INTERRUPTED, CLOSED):
            yield (
                f"the executor makes no more trials ({self.ended}): this is the verdict so far; "
                "with a store the same call, with a new executor, goes on from here"
            )
        broken = [name for name in verdict.unmeasured if name in self.failures]
        if broken:
            some = "; ".join(f"{name} ({self.failures[name]})" for name in broken[:3])
            more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
            yield f"suspended, as their pulls failed again and again: {some}{more}"


def _progress(play: Play, head: Head, state: str) -> Progress:
    assert play.watch is not None
    return Progress(
        head.spent,
        head.budget,
        head.settings["unit"],
        len(play.watch.settled),
        head.arms,
        head.flying,
        head.told - play.told_before,
        play.failed,
        time.monotonic() - play.began,
        state,
    )


@contextlib.contextmanager
def _heartbeats(campaign: Campaign, flights: Mapping[str, object], lease: float) -> Iterator[None]:
    """Keep the pulls under way from being taken for lost."""
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


@contextlib.contextmanager
def _interrupts(done: Done) -> Iterator[None]:
    """Make Ctrl-C a message, so that it does not fall into the middle of a write.

    A second one is what it always is. Nothing is changed where somebody else handles Ctrl-C (but an
    event loop that waits for this call would never come to it), nor outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler and not _in_event_loop():
        yield
        return

    def handle(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        done.put(("", Outcome(ended=INTERRUPTED)))

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is handle:
            signal.signal(signal.SIGINT, before)


def _in_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None
