"""Workers that play a campaign, each one command at a time."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from cutline.cli.run.arms import NamedArm
from cutline.cli.run.screen import Flight, view_for
from cutline.cli.run.trial import Running, Trial
from cutline.cli.run.watch import Watch

if TYPE_CHECKING:
    from cutline.campaign import Campaign, Pull

SHARE = 10  # looking takes at most one part in so many of the time


class Crew:
    """Workers that play a campaign, each one trial at a time."""

    def __init__(
        self,
        campaign: "Campaign",
        arms: Sequence[NamedArm],
        trial: Trial,
        *,
        workers: int,
        lease: float,
    ) -> None:
        self.campaign, self.trial, self.workers, self.lease = campaign, trial, workers, lease
        self.notes: dict[str, str] = {}  # how the last failed pull of an arm failed
        self.stopped = False
        self.error: BaseException | None = None
        self._arms = {arm.name: arm for arm in arms}
        self._changed = threading.Condition()  # guards all that follows
        self._flying: dict[str, tuple[Pull, Running, Flight]] = {}
        self._busy = 0  # workers that may hold a pull
        self._touched: list[str] = []
        self._over = threading.Event()

    def play(self, watch: Watch, title: str) -> None:
        """Work until the campaign is done or somebody stops it; what went wrong is raised then."""
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self.workers)]
        beats = threading.Thread(target=self._beat, daemon=True)
        with stopped_by_signals() as stop, view_for(title, watch.bar) as view:
            for thread in (*threads, beats):
                thread.start()
            try:
                self._attend(threads, stop, watch, view)
            finally:
                self._end()  # nothing is left running, whatever happened
            beats.join()
            if self.error is not None:
                raise self.error
            self._show(watch, view, last=True)

    def _attend(
        self, threads: Sequence[threading.Thread], stop: threading.Event, watch: Watch, view: Any
    ) -> None:
        """Show how it goes while there are workers, and end them where that is wanted."""
        shown, pause = time.monotonic(), min(view.pause, 1.0)
        while any(thread.is_alive() for thread in threads):
            if stop.wait(0.05):
                self.stopped = True
            if self.stopped or self.error is not None:
                self._end()
                for thread in threads:
                    thread.join(0.05)
            elif time.monotonic() - shown >= pause:
                began = time.monotonic()
                self._show(watch, view)
                shown = time.monotonic()
                pause = max(view.pause, SHARE * (shown - began))

    def _show(self, watch: Watch, view: Any, last: bool = False) -> None:
        with self._changed:
            touched, self._touched = self._touched, []
            flights = [flight for _, _, flight in self._flying.values()]
            busy = self._busy
        for arm in watch.look(touched):
            line = watch.news(arm, self.notes.get(arm.arm), view.room)
            if line:
                view.tell(line, arm.proven is not None and not watch.bar.fails(arm))
        if not last:
            view.show(watch, flights, max(0, watch.now.head.flying - busy))

    def _end(self) -> None:
        """Hand out nothing more, and end what is under way."""
        self._over.set()
        with self._changed:
            for _, running, _ in self._flying.values():
                running.end("interrupted")
            self._changed.notify_all()

    def _work(self) -> None:
        try:
            while not self._over.is_set():
                with self._holding():
                    pulls = self.campaign.ask(1, lease=self.lease)
                    if pulls:
                        self._try(pulls[0])
                        continue
                if pulls.why == "done":
                    return
                with self._changed:  # all that is left is in flight, or the campaign is paused
                    self._changed.wait(0.5)
        except BaseException as error:
            self.error = self.error or error

    @contextlib.contextmanager
    def _holding(self) -> Iterator[None]:
        with self._changed:
            self._busy += 1
        try:
            yield
        finally:
            with self._changed:
                self._busy -= 1

    def _try(self, pull: "Pull") -> None:
        arm = self._arms.get(pull.arm) or NamedArm(pull.arm)  # one may have been added elsewhere
        running = Running(self.trial)
        with self._changed:
            self._flying[pull.id] = (pull, running, Flight(pull.arm))
        if self._over.is_set():
            running.end("interrupted")
        try:
            outcome = running.run(arm, pull)
            stopped = outcome.how == "interrupted"
            if outcome.how == "ended by SIGINT":  # Ctrl-C reaches a trial that is just starting
                stopped = self._over.wait(0.5)
            if stopped:
                self.campaign.give_back(pull, note=outcome.how)
            elif outcome.reward is None:
                self.campaign.fail(pull, note=outcome.note)
            else:
                self.campaign.tell(pull, outcome.reward, note=outcome.note)
        finally:
            with self._changed:
                del self._flying[pull.id]
        with self._changed:
            self._touched.append(pull.arm)
            if outcome.reward is None and not stopped:
                self.notes[pull.arm] = outcome.note or ""
            self._changed.notify_all()

    def _beat(self) -> None:
        """Keep the pulls in flight."""
        try:
            while not self._over.wait(self.lease / 3):
                with self._changed:
                    pulls = [pull for pull, _, _ in self._flying.values()]
                if pulls:
                    self.campaign.heartbeat(*pulls, lease=self.lease)
        except BaseException as error:
            self.error = self.error or error


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """An event that is set by the first SIGINT or SIGTERM; a second one ends at once."""
    stop = threading.Event()
    kinds = (signal.SIGINT, signal.SIGTERM)

    def caught(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = [signal.signal(kind, caught) for kind in kinds]
    try:
        yield stop
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
