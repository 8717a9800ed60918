"""What cutline run shows on the way: arms against the bar, the spend, what is in flight."""

import math
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from cutline.campaign import Campaign
    from cutline.campaign.records import Head
    from cutline.core.verdict import ArmVerdict

POOL = 200  # arms that are looked at for the rows to show
CHATTY = 100  # arms up to which every settled one is told; beyond, those that fail the bar
PLAIN = 5.0  # seconds between two lines where there is no terminal
SHARE = 10  # looking takes at most one part in so many of the time
HEADER = 7  # lines around the rows
OTHER = {"above": "below", "below": "above"}


@dataclass(frozen=True)
class Bar:
    """The bar as it was given: where it is, which side is wanted, and how to speak of it.

    ``expected`` is None where no side is better than the other. ``flipped``: what is shown is the
    share of failures, 1 less the mean.
    """

    threshold: float
    precision: float
    words: str
    expected: str | None = None
    flipped: bool = False
    unit: str = "mean"

    def shown(self, value: float) -> float:
        """A mean as it is shown."""
        return 1.0 - value if self.flipped else value

    def span(self, arm: "ArmVerdict") -> tuple[float, float]:
        """The interval as it is shown."""
        ends = self.shown(arm.low), self.shown(arm.high)
        return min(ends), max(ends)

    def fails(self, arm: "ArmVerdict") -> bool:
        """Whether the arm is proven to be on the side that is not wanted."""
        return self.expected is not None and arm.proven == OTHER[self.expected]

    def standing(self, arm: "ArmVerdict") -> str:
        """Where the arm stands, in words."""
        if arm.status == "retired":
            return "retired"
        if arm.proven is None:
            return "suspended" if arm.status == "suspended" else "undecided"
        if arm.proven not in OTHER or self.expected is None:
            return arm.proven
        return "clears the bar" if arm.proven == self.expected else "fails the bar"


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
    return campaign.access.do("weigh", look, write=lazy)


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


class Flight:
    """A pull in flight, for show."""

    def __init__(self, arm: str) -> None:
        self.arm, self.since = arm, time.monotonic()


def in_flight(flights: Sequence[Flight], elsewhere: int, width: int = 72) -> str:
    """What is in flight, the longest first, in one line.

    >>> in_flight([Flight("a"), Flight("b"), Flight("a")], 2)
    '3 in flight: a ×2, b; 2 of another run, or of one that was killed'
    """
    now = time.monotonic()
    oldest: dict[str, float] = {}
    for flight in sorted(flights, key=lambda flight: flight.since):
        oldest.setdefault(flight.arm, now - flight.since)
    times = Counter(flight.arm for flight in flights)
    parts = []
    for arm, seconds in oldest.items():
        several = f" ×{times[arm]}" if times[arm] > 1 else ""
        since = f" {seconds:.0f} s" if seconds >= 1 else ""
        parts.append(f"{shorten(arm, 28)}{several}{since}")
    line = f"{len(flights)} in flight"
    end = f"; {elsewhere} of another run, or of one that was killed" if elsewhere > 0 else ""
    for place, part in enumerate(parts):
        comma = ", " if place else ": "
        if len(line) + len(comma) + len(part) + len(end) > width - 3:
            return f"{line}{comma}…{end}"
        line += comma + part
    return line + end


class Lines:
    """The view where there is no terminal: a line every few seconds."""

    pause = PLAIN
    room = 1_000  # for the name of an arm

    def __init__(self, title: str, bar: Bar) -> None:
        self._bar = bar

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def tell(self, line: str, good: bool) -> None:
        """Say something that stays."""
        click.echo(f"cutline: {line}", err=True)

    def show(self, watch: Watch, flights: Sequence[Flight], elsewhere: int) -> None:
        """Say where it stands."""
        flying = len(flights) + elsewhere
        click.echo(f"cutline: {watch.progress()}; {watch.counts()}; {flying} in flight", err=True)


class Screen:
    """The view in a terminal, drawn again a few times a second; what has settled stays above."""

    pause = 0.25
    room = 40

    def __init__(self, title: str, bar: Bar) -> None:
        from rich.console import Console
        from rich.live import Live

        self._title, self._bar = title, bar
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop"
        )

    def __enter__(self) -> "Screen":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def tell(self, line: str, good: bool) -> None:
        """Say something that stays."""
        from rich.text import Text

        mark = ("✓ ", "green") if good else ("✗ ", "red")
        self._console.print(Text.assemble(mark, line))

    def show(self, watch: Watch, flights: Sequence[Flight], elsewhere: int) -> None:
        """Draw it again."""
        self._live.update(self.picture(watch, flights, elsewhere), refresh=True)

    def picture(self, watch: Watch, flights: Sequence[Flight], elsewhere: int) -> "RenderableType":
        """All that is shown: the spend, what is in flight, and the arms against the bar."""
        from rich.console import Group
        from rich.text import Text

        width, height = self._console.size
        head = watch.now.head
        lines: list[Any] = [Text.assemble(("cutline ", "bold"), self._title)]
        lines[0].truncate(width - 1, overflow="ellipsis")
        done = None if head.budget is None else head.spent / head.budget
        meter = _meter(done, 24) if done is not None else Text()
        lines.append(Text.assemble(meter, " " if done is not None else "", watch.progress()))
        lines.append(Text(watch.counts()))
        lines.append(Text(in_flight(flights, elsewhere, width - 1), style="dim"))
        rows = watch.now.rows[: max(3, height - HEADER)]
        if rows:
            lines += [Text(), *self._arms(rows, width)]
        return Group(*lines)

    def _arms(self, rows: "Sequence[ArmVerdict]", width: int) -> "list[Text]":
        from rich.text import Text

        bar = self._bar
        names = min(max(len(arm.arm) for arm in rows), max(12, width // 3))
        names = max(names, len("least decided first"))
        room = max(10, width - names - 26)
        spans = [bar.span(arm) for arm in rows]
        low, high = scale(bar, spans)
        edge = bar.shown(bar.threshold)
        head = Text(f"{'least decided first':{names}}  {'pulls':>7} {bar.unit:>9}   ")
        head.stylize("dim")
        lines = [head.append(_ruler(low, high, edge, room))]
        for arm, span in zip(rows, spans, strict=True):
            mean = bar.shown(arm.mean) if arm.pulls else math.nan
            shown = f"{mean:9.4g}" if arm.pulls else f"{'-':>9}"
            colour = self._colour(arm)
            line = Text(f"{shorten(arm.arm, names):{names}}  {arm.pulls:>7,} {shown}   ")
            lines.append(line.append(strip(low, high, edge, span, mean, room), style=colour))
        return lines

    def _colour(self, arm: "ArmVerdict") -> str:
        if arm.proven is None:
            return "dim" if arm.status != "open" else "yellow"
        return "red" if self._bar.fails(arm) else "green"


def view_for(title: str, bar: Bar) -> "Lines | Screen":
    """The view for wherever standard error goes."""
    return Screen(title, bar) if sys.stderr.isatty() else Lines(title, bar)


def scale(bar: Bar, spans: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The ends of an axis that holds the bar and most of the intervals, as far as they end.

    A few wide ones do not make it so wide that nothing can be seen of the others.
    """
    edge = bar.shown(bar.threshold)
    lows = sorted(span[0] for span in spans if math.isfinite(span[0]))
    highs = sorted(span[1] for span in spans if math.isfinite(span[1]))
    low = min([edge - bar.precision, *lows[2 * len(lows) // 5 :][:1]])
    high = max([edge + bar.precision, *highs[: 3 * len(highs) // 5 + 1][-1:]])
    near = (high - low) / 4
    low = min([low, *(end for end in lows if end > low - near)])
    high = max([high, *(end for end in highs if end < high + near)])
    spare = 0.5 if low == high else 0.0
    return low - spare, high + spare


def strip(
    low: float, high: float, edge: float, span: tuple[float, float], mean: float, width: int
) -> str:
    """An interval with its mean, drawn on an axis where the bar is a line.

    >>> strip(0.0, 1.0, 0.5, (0.2, 0.8), 0.6, 11), strip(0.0, 1.0, 0.5, (0.8, 1.3), 1.1, 11)
    ('  ├──┼●─┤  ', '     │  ├─▸')
    """
    cells = [" "] * width
    first, last = (_cell(end, low, high, width) for end in span)
    for place in range(first, last + 1):
        cells[place] = "─"
    if first < last:
        cells[first], cells[last] = "├", "┤"
    bar = _cell(edge, low, high, width)
    cells[bar] = "┼" if first <= bar <= last else "│"
    slack = (high - low) / width
    if span[1] > high + slack:
        cells[-1] = "▸"
    if span[0] < low - slack:
        cells[0] = "◂"
    if low - slack <= mean <= high + slack:  # neither beyond nor missing
        cells[_cell(mean, low, high, width)] = "●"
    return "".join(cells)


def _ruler(low: float, high: float, edge: float, width: int) -> str:
    """The ends of the axis and the bar, as numbers where they are."""
    left, right = (f"{0.0 if abs(end) < (high - low) / 100 else end:.3g}" for end in (low, high))
    middle = f"▼ {edge:.6g}"
    place = _cell(edge, low, high, width)
    cells = list(" " * width)
    if place >= len(left) + 1:
        cells[: len(left)] = left
    if width - len(right) > place + len(middle):
        cells[width - len(right) :] = right
    if place + len(middle) > width:
        middle = f"{edge:.6g} ▼"
        cells[max(0, place + 1 - len(middle)) : place + 1] = middle
    else:
        cells[place : place + len(middle)] = middle
    return "".join(cells)[:width]


def _cell(value: float, low: float, high: float, width: int) -> int:
    if not math.isfinite(value):
        return 0 if value < 0 else width - 1
    return min(width - 1, max(0, round((value - low) / (high - low) * (width - 1))))


def _meter(done: float, width: int) -> "Text":
    from rich.text import Text

    full = min(width, int(done * width))
    return Text.assemble(("━" * full, "green"), ("━" * (width - full), "bright_black"))


def shorten(name: str, width: int) -> str:
    """A long name by its end, where names of tests differ.

    >>> shorten("tests/test_a.py::test_long", 12)
    '…::test_long'
    """
    plain = "".join(c if c.isprintable() else "?" for c in name)
    return plain if len(plain) <= width else "…" + plain[len(plain) + 1 - width :]


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 360_000 else "days"
