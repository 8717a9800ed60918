"""Following a campaign while it is played: what has settled, how fast it goes."""

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutline.cli.printing import shorten
from cutline.core.bar import Bar

if TYPE_CHECKING:
    from cutline.campaign import Campaign
    from cutline.campaign.records import Head
    from cutline.core.verdict import ArmVerdict

POOL = 200  # arms that are looked at for the rows to show
CHATTY = 100  # arms up to which every settled one is told; beyond, those that fail the bar


@dataclass(frozen=True)
class Glance:
    """A quick look: the counters, the least decided arms, and how the named ones stand."""

    head: "Head"
    rows: "tuple[ArmVerdict, ...]"
    named: "tuple[ArmVerdict, ...]"


def glance(campaign: "Campaign", names: Iterable[str], recent: Iterable[str]) -> Glance:
    """Look at a few arms and the counters; the cost does not grow with the number of arms."""
    from cutline.campaign import moves
    from cutline.campaign.records import Arm
    from cutline.campaign.stores import Transaction
    from cutline.campaign.terms import Terms
    from cutline.campaign.verdicts import verdict_on
    from cutline.core.verdict import ArmVerdict

    def judged(t: Transaction, terms: Terms, arms: list[Arm]) -> tuple[ArmVerdict, ...]:
        return verdict_on(t.head, terms, arms).arms if arms else ()

    def known(t: Transaction, names: Iterable[str]) -> list[Arm]:
        return [arm for arm in map(t.named, names) if arm is not None]

    def look(t: Transaction, terms: Terms) -> Glance:
        from dataclasses import replace

        moves.weigh(t, terms)
        if t.head.arms <= POOL:
            pool = t.all_arms()
        else:
            both = [*t.first(POOL, None), *known(t, recent)]
            pool = list({arm.number: arm for arm in both}.values())
        seen = [arm for arm in pool if arm.pulls or arm.failed]
        rows = sorted(judged(t, terms, seen), key=_undecided)
        return Glance(replace(t.head), tuple(rows), judged(t, terms, known(t, names)))

    lazy = campaign.confidence is None  # what is weighed now need not be weighed again
    return campaign.access.do("weigh" if lazy else "look", look)


def _undecided(arm: "ArmVerdict") -> tuple[bool, bool, float]:
    """Those that are measured and undecided first, and of these the least sure."""
    return arm.status != "open", arm.proven is not None, -arm.p_value


class Watch:
    """Follows a campaign from outside: what has settled, how fast it goes, what to show."""

    def __init__(self, campaign: "Campaign", bar: Bar) -> None:
        self.campaign, self.bar = campaign, bar
        self.settled: dict[str, bool] = {}  # whether it fails the bar
        self.suspended: set[str] = set()
        self.seen: set[str] = set()
        self.recent: dict[str, None] = {}
        self.now: Glance
        self._spends: deque[tuple[float, int]] = deque(maxlen=200)
        head = campaign.access.head()
        if head.pulls:
            for arm in campaign.verdict().arms:
                self._take(arm)
        self.look([])

    def look(self, touched: Iterable[str]) -> "list[ArmVerdict]":
        """Look again; the arms among those touched that were settled or suspended since."""
        names = list(dict.fromkeys(touched))
        for name in names:
            self.recent.pop(name, None)
            self.recent[name] = None
        while len(self.recent) > POOL:
            del self.recent[next(iter(self.recent))]
        self.now = glance(self.campaign, names, self.recent)
        self._spends.append((time.monotonic(), self.now.head.spent))
        return [arm for arm in self.now.named if self._take(arm)]

    def _take(self, arm: "ArmVerdict") -> bool:
        """Note how an arm stands; whether that is news."""
        if arm.pulls:
            self.seen.add(arm.arm)
        if arm.status == "open":
            self.suspended.discard(arm.arm)
        if arm.proven is not None and arm.arm not in self.settled:
            self.settled[arm.arm] = self.bar.fails(arm)
            return True
        if arm.status == "suspended" and arm.arm not in self.suspended:
            self.suspended.add(arm.arm)
            return arm.proven is None
        return False

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
        low, high = self.bar.span(arm)
        mean = self.bar.shown(arm.mean)
        stands = self.bar.standing(arm)
        return (
            f"{name} {'is ' if arm.proven == stands else ''}{stands}: {self.bar.unit} "
            f"{mean:.4g} ({low:.3g} to {high:.3g}), {arm.pulls:,} pulls"
        )


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 360_000 else "days"
