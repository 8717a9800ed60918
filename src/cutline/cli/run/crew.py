"""A campaign played with commands, shown as it goes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cutline.cli.run.arms import NamedArm
from cutline.cli.run.screen import Flight, leave_lost_terminal, view_for
from cutline.cli.run.trial import Trial
from cutline.cli.run.watch import Watch

if TYPE_CHECKING:
    from cutline.campaign import Campaign, Pull
    from cutline.campaign.runner import Outcome, Runner
    from cutline.campaign.runner.drivers.processes import Command, Ended
    from cutline.core.verdict import ArmVerdict


class Crew:
    """Workers that play a campaign, each one command at a time."""

    def __init__(
        self,
        campaign: "Campaign",
        arms: Sequence[NamedArm],
        trial: Trial,
        *,
        workers: int,
        lease: float,
        keep_children: bool = False,
        give_up_after: float,
    ) -> None:
        self.campaign, self.trial, self.workers, self.lease = campaign, trial, workers, lease
        self.keep_children, self.give_up_after = keep_children, give_up_after
        self.notes: dict[str, str] = {}  # how the last failed trial of an arm failed
        self.stopped = self.gave_up = False
        self._arms = {arm.name: arm for arm in arms}

    def play(self, watch: Watch, title: str) -> None:
        """Work until the campaign is done or somebody stops it; what went wrong is raised."""
        from cutline.campaign.errors import CampaignError
        from cutline.campaign.records import CLOSED
        from cutline.campaign.runner import INTERRUPTED, Done, Runner
        from cutline.campaign.runner.drivers.processes import Processes
        from cutline.campaign.runner.signals import STOPS

        done: Done = Done()
        driver = Processes(self.workers, done, self._read, self.keep_children)
        with view_for(title, watch.bar) as view:
            runner = Runner(
                self.campaign, driver, done, self._prepare, _Follower(self, watch, view),
                places=self.workers, lease=self.lease, timeout=self.trial.timeout,
                give_up_after=self.give_up_after, stops=STOPS,
            )  # fmt: skip
            try:
                runner.run()
            finally:
                leave_lost_terminal()
        self.stopped, self.gave_up = runner.interrupted, runner.gave_up
        if runner.ended not in (None, INTERRUPTED, CLOSED) and not runner.gave_up:
            raise CampaignError(
                f"no more trials can be made: {runner.ended}; what came so far is kept, and the "
                "same command goes on from here"
            )

    def _prepare(self, pull: "Pull") -> "Command":
        arm = self._arms.get(pull.arm) or NamedArm(pull.arm)  # one may have been added elsewhere
        return self.trial.command(arm, pull)

    def _read(self, command: "Command", ended: "Ended") -> "Outcome":
        return as_outcome(self.trial, command, ended)


def as_outcome(trial: Trial, command: "Command", ended: "Ended") -> "Outcome":
    """What the end of a command means to the runner."""
    from cutline.campaign.runner import Outcome

    found = trial.result(command, ended)
    if found.reward is None:
        return Outcome(failed=found.note or "")
    return Outcome(found.reward, note=found.note)


class _Follower:
    """Tells a run to the view."""

    def __init__(self, crew: Crew, watch: Watch, view: Any) -> None:
        self._crew, self._watch, self._view = crew, watch, view
        watch.lookout.pause = view.pause

    @property
    def due(self) -> float:
        """See :class:`Observer`."""
        return self._watch.lookout.due

    def hear(self, pull: "Pull", failed: str | None) -> None:
        """See :class:`Observer`."""
        self._watch.lookout.hear(pull)
        if failed is not None:
            self._crew.notes[pull.arm] = failed

    def no_reward(self, pull: "Pull", note: str) -> None:
        """See :class:`Observer`."""

    def notice(self, text: str) -> None:
        """See :class:`Observer`."""
        self._view.tell(text, False)

    def look(self, runner: "Runner", last: bool = False) -> None:
        """See :class:`Observer`."""
        news = self._watch.look()
        try:
            self._show(runner, news, last)
        except OSError:  # nobody is there to see it
            leave_lost_terminal()

    def _show(self, runner: "Runner", news: "list[ArmVerdict]", last: bool) -> None:
        watch, view = self._watch, self._view
        watch.state = str(runner.outage or "")
        reasons = runner.campaign.suspended() if any(arm.proven is None for arm in news) else {}
        for arm in news:
            line = watch.news(arm, reasons.get(arm.arm), view.room)
            if line:
                view.tell(line, arm.proven is not None and not watch.bar.fails(arm))
        if not last:
            flights = [Flight(f.pull.arm, f.since) for f in runner.flights.values()]
            view.show(watch, flights, max(0, watch.now.head.flying - len(flights)))
