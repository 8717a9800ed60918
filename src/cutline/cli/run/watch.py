"""Following a campaign while it is played: what has settled, how fast it goes."""

import time
from collections import deque
from typing import TYPE_CHECKING

from cutline.cli.printing import shorten
from cutline.core.bar import Bar, measured

if TYPE_CHECKING:
    from cutline.campaign import Campaign
    from cutline.campaign.runner import Glance
    from cutline.core.verdict import ArmVerdict

CHATTY = 100  # arms up to which every settled one is told; beyond, those that fail the bar


class Watch:
    """Follows a campaign from outside: what has settled, how fast it goes, what to show."""

    def __init__(self, campaign: "Campaign", bar: Bar) -> None:
        from cutline.campaign.runner import Lookout

        self.campaign, self.bar = campaign, bar
        self.settled: dict[str, bool] = {}  # whether it fails the bar
        self.seen: set[str] = set()
        self.state = ""  # why it waits, if it does
        self.now: Glance
        self.lookout = Lookout(campaign, rows=True)
        self._spends: deque[tuple[float, int]] = deque(maxlen=200)
        self.look(everything=True)

    def look(self, everything: bool = False) -> "list[ArmVerdict]":
        """Look again; the arms that were settled or suspended since."""
        self.now = self.lookout.look(everything)
        self.seen |= self.now.tried
        self._spends.append((time.monotonic(), self.now.head.spent))
        for arm in self.now.news:
            if arm.proven is not None:
                self.settled[arm.arm] = self.bar.fails(arm)
        return list(self.now.news)

    @property
    def suspended(self) -> set[str]:
        """The arms that are suspended."""
        return self.lookout.suspended

    @property
    def rate(self) -> float:
        """Pulls a second of late."""
        (then, had), (now, has) = self._spends[0], self._spends[-1]
        return (has - had) / (now - then) if now > then else 0.0

    def progress(self) -> str:
        """Spend, rate and time left in a few words."""
        head = self.now.head
        of = "" if head.budget is None else f" of {head.budget:,}"
        parts = [f"{head.spent:,}{of} pulls", f"{self.rate:.3g}/s"]
        if head.budget is not None and self.rate > 0 and head.spent < head.budget:
            most = "at most " if head.settings["confidence"] is not None else "about "
            parts.append(f"{most}{_time((head.budget - head.spent) / self.rate)} left")
        if head.state == "paused":
            parts.append("paused")
        if self.state:
            parts.append(self.state)
        return ", ".join(parts)

    def counts(self) -> str:
        """How many arms are settled, and how."""
        arms = self.now.head.arms
        parts = [f"{len(self.settled):,} of {arms:,} arms settled"]
        fails = sum(self.settled.values())
        if fails:
            parts.append(f"{fails:,} {'fails' if fails == 1 else 'fail'} the bar")
        if self.suspended:
            parts.append(f"{len(self.suspended):,} suspended")
        untried = arms - len(self.seen | self.suspended)
        if untried > 0:
            parts.append(f"{untried:,} not tried yet")
        return ", ".join(parts)

    def news(self, arm: "ArmVerdict", note: str | None, width: int) -> str | None:
        """One line about an arm that was just settled; None where that would be one too many."""
        if self.now.head.arms > CHATTY and arm.proven and not self.bar.fails(arm):
            return None
        name = shorten(arm.arm, width)
        if arm.proven is None:
            return f"{name} is suspended: {note or 'its pulls fail again and again'}"
        mean = self.bar.shown(arm.mean)
        stands = self.bar.standing(arm)
        return (
            f"{name} {'is ' if arm.proven == stands else ''}{stands}: {self.bar.unit} "
            f"{measured(mean)}, {self.bar.known(arm)}, {arm.pulls:,} pull{'s' * (arm.pulls != 1)}"
        )


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 360_000 else "days"
