"""How far a campaign is, as one line."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

from cutline.core.text import visible


@dataclass(frozen=True)
class Progress:
    """How far a campaign is; as text, one line.

    ``told`` counts the rewards that came since the call began, ``seconds`` how long that is, and
    ``failed`` the pulls that this call saw fail. ``state`` is empty while pulls are handed out.

    >>> print(Progress(120, 2000, "pulls", 3, 20, 8, 100, 1, 4.0, ""))
    120 of 2,000 pulls | 3 of 20 arms settled | 8 in flight | 25.0 a second | 1 failed
    """

    spent: int
    budget: int | None
    unit: str
    settled: int
    arms: int
    in_flight: int
    told: int
    failed: int
    seconds: float
    state: str

    def __str__(self) -> str:
        budget = "" if self.budget is None else f" of {self.budget:,}"
        parts = [
            f"{self.spent:,}{budget} {self.unit}",
            f"{self.settled:,} of {self.arms:,} arms settled",
            f"{self.in_flight:,} in flight",
            f"{self.told / max(self.seconds, 1e-9):.1f} a second",
            f"{self.failed:,} failed" if self.failed else "",
            self.state,
        ]
        return " | ".join(part for part in parts if part)


Show = Callable[[Progress], object]


class Line:
    """The progress as one line of a terminal or a notebook, written over each time."""

    def __init__(self) -> None:
        self._length = 0

    def __call__(self, progress: Progress) -> None:
        text = visible(str(progress))[: shutil.get_terminal_size((120, 24)).columns - 1]
        sys.stderr.write("\r" + text.ljust(self._length))
        sys.stderr.flush()
        self._length = len(text)

    def end(self) -> None:
        """Leave the line as it is."""
        sys.stderr.write("\n")
        sys.stderr.flush()


def line_for(progress: bool | Show | None) -> Show | None:
    """What shows the progress: a function, a line, or nothing; see :func:`identify`."""
    if callable(progress):
        return progress
    if progress is None:
        progress = sys.stderr.isatty() or "ipykernel" in sys.modules
    return Line() if progress else None
