"""What cutline run shows on the way: arms against the bar, the spend, what is in flight."""

import errno
import math
import os
import sys
import termios
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cutline.cli.printing import say, shorten
from cutline.cli.run.axis import ruler, scale, strip
from cutline.cli.run.watch import Watch
from cutline.core.bar import Bar
from cutline.core.text import visible

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from cutline.core.verdict import ArmVerdict

PLAIN = 5.0  # seconds between two lines where there is no terminal
HEADER = 7  # lines around the rows


class Flight:
    """A pull in flight, for show."""

    def __init__(self, arm: str, since: float | None = None) -> None:
        self.arm, self.since = arm, time.monotonic() if since is None else since


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

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def tell(self, line: str, good: bool) -> None:
        """Say something that stays."""
        say(f"cutline: {visible(line)}", err=True)

    def show(self, watch: Watch, flights: Sequence[Flight], elsewhere: int) -> None:
        """Say where it stands."""
        flying = len(flights) + elsewhere
        say(f"cutline: {watch.progress()}; {watch.counts()}; {flying} in flight", err=True)


class Screen:
    """The view in a terminal, drawn again a few times a second; what has settled stays above."""

    pause = 0.25
    room = 40

    def __init__(self, title: str, bar: Bar) -> None:
        from rich.console import Console
        from rich.live import Live

        self._title, self._bar = visible(title), bar
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
        self._console.print(Text.assemble(mark, visible(line)))

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
        meter = _meter(done, min(24, width // 3)) if done is not None else Text()
        lines.append(Text.assemble(meter, " " if done is not None else "", watch.progress()))
        lines.append(Text(watch.counts()))
        lines.append(Text(in_flight(flights, elsewhere, width - 1), style="dim"))
        rows = watch.now.rows[: max(3, height - HEADER)]
        if rows:
            lines += [Text(), *self._arms(rows, width)]
        for line in lines:  # one that wraps would be left standing when the view is drawn again
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)

    def _arms(self, rows: "Sequence[ArmVerdict]", width: int) -> "list[Text]":
        from rich.text import Text

        bar = self._bar
        names = min(max(len(visible(arm.arm)) for arm in rows), max(12, width // 3))
        names = max(names, len("least decided first"))
        room = max(10, width - names - 26)
        spans = [bar.span(arm) for arm in rows]
        low, high = scale(bar, spans)
        edge = bar.shown(bar.threshold)
        head = Text(f"{'least decided first':{names}}  {'pulls':>7} {bar.unit:>9}   ")
        head.stylize("dim")
        lines = [head.append(ruler(low, high, edge, room))]
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
    """The view for wherever standard error goes; lines where a terminal cannot move its cursor."""
    plain = not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown")
    return Lines() if plain else Screen(title, bar)


def leave_lost_terminal() -> None:
    """Write to nowhere from now on, where the terminal that was written to is gone."""
    for stream in (1, 2):
        try:
            termios.tcgetattr(stream)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)


def _meter(done: float, width: int) -> "Text":
    from rich.text import Text

    full = min(width, int(done * width))
    return Text.assemble(("━" * full, "green"), ("━" * (width - full), "bright_black"))
