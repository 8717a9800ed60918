"""Intervals drawn with letters, against the bar."""

import math
from collections.abc import Sequence

from cutline.core.bar import Bar


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


def ruler(low: float, high: float, edge: float, width: int) -> str:
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
