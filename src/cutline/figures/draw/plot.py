"""One call for what a user has in hand: a result, stopping times, a verdict."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from cutline.core.bar import OTHER, Bar
from cutline.core.tally import Floats
from cutline.core.text import visible
from cutline.core.verdict import ArmVerdict, Verdict
from cutline.figures.draw.base import STYLES, as_written, new_figure, plain, style
from cutline.figures.draw.curves import draw_error_curves, legend_of
from cutline.figures.tables import error_curves, error_label
from cutline.simulation.result import Result

MOST_NAMES = 60  # arms whose names are written beside them
NAME = 9.0  # points that a name takes up


def plot(what: Result | Verdict, ax: Axes | None = None, *, bar: Bar | None = None) -> Axes:
    """Draw a result or a verdict.

    A result is the error of every rule against the horizon, on a logarithmic scale; where games
    stopped at a confidence, it is how many were still going after so many pulls. A verdict is the
    arms against the bar: a stroke marks what the mean is proven to be beyond, and an arm of which
    nothing is proven has its interval; all of it holds for all arms at all times. Draws into
    ``ax``, or into a figure of its own: ``cutline.plot(result).figure.savefig(...)``. ``bar`` is
    how the bar was put, ``campaign.bar``: where that is a failure rate, failure rates are drawn.
    """
    if isinstance(what, Verdict):
        return _verdict(what, ax, bar or Bar(what.problem.threshold[0]))
    if not isinstance(what, Result):
        raise TypeError(f"what can be plotted is a Result or a Verdict, not {type(what).__name__}")
    ax = new_figure(6.4, 4.2).add_subplot() if ax is None else ax
    if what.stops is not None and what.stops.settings["confidence"] is not None:
        return _stops(what, ax)
    curves = error_curves(what)
    draw_error_curves(curves, ax)
    ax.set_ylabel(error_label(what.goal))
    as_written(ax.legend(*legend_of(curves, ax), frameon=False, fontsize="small"))
    ax.set_title(f"{what.games:,} games, {len(what.arms)} arms", fontsize="medium")
    return ax


def _stops(result: Result, ax: Axes) -> Axes:
    assert result.stops is not None
    confidence = float(result.stops.settings["confidence"])
    for r, (name, spent) in enumerate(zip(result.specs, result.stops.spent, strict=True)):
        # Games that ended at the budget, with arms still open, are the last ones: still going.
        settled = spent[: int(result.stops.finished[r])]
        pulls = [0, *settled, *spent[-1:]]
        share = 1.0 - np.array([*range(len(settled) + 1), len(settled)]) / result.games
        colour, dash = style(r)
        ax.step(pulls, share, where="post", color=colour, linestyle=dash, label=name)
    ax.set_xlim(0, float(result.stops.spent.max()) * 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("pulls")
    ax.set_ylabel("share of games still going")
    as_written(ax.legend(frameon=False, fontsize="small"))
    ax.set_title(f"{result.games:,} games, stopping at {confidence:.4g}", fontsize="medium")
    plain(ax)
    return ax


# How arms are drawn by what is proven of them: a colour, and a marker for those who see none.
_PROVEN = {
    "above": (STYLES[2][0], "o", "proven above"),
    "below": (STYLES[1][0], "s", "proven below"),
    "within precision": (STYLES[4][0], "D", "proven within precision"),
    None: ("0.55", "o", "undecided"),
}


def _verdict(verdict: Verdict, ax: Axes | None, bar: Bar) -> Axes:
    """Arms in rows, the furthest above its bar at the top, never seen ones at the bottom."""
    arms, tau, eps = _rows(verdict, bar)
    own = ax is None
    if ax is None:
        tall = 2.0 + 0.22 * len(arms) if len(arms) <= MOST_NAMES else 9.0
        ax = new_figure(7.2, tall).add_subplot()
    room = 72 * ax.get_window_extent().height / ax.figure.dpi  # in points
    named = len(arms) * NAME <= room
    rows = np.arange(len(arms), dtype=np.float64)
    _bars(ax, rows, tau, eps)
    size = _arms(ax, rows, arms, bar)
    if named:
        ax.set_yticks(rows, [_name(arm) for arm in arms], parse_math=False)  # a $ is a $
    else:
        ax.set_yticks([])
        ax.set_ylabel(f"{len(arms):,} arms")
    ax.set_ylim(len(arms) - 0.4, -0.6)
    if arms:
        ax.set_xlim(*_span(arms, tau, eps, bar))
    ax.set_xlabel(bar.measure)
    _legend(ax, outside=own, bigger=4.5 / size)
    ax.set_title(_title(verdict), fontsize="medium")
    plain(ax)
    ax.grid(False, axis="y")
    return ax


def _arms(ax: Axes, rows: Floats, arms: Sequence[ArmVerdict], bar: Bar) -> float:
    """Means and what is known of them; how large a marker is: where there are many, all is thin."""
    ends, means = _ends(arms, bar), np.array([bar.shown(arm.mean) for arm in arms])
    finite = np.isfinite(ends).all(axis=1)
    hollow = np.array([arm.status == "suspended" and arm.pulls > 0 for arm in arms], dtype=bool)
    room = min(1.0, 60 / max(len(arms), 1))
    size = 1.5 + 3 * room
    white: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.1}
    for proven, (colour, marker, label) in _looks(bar).items():
        which = np.array([arm.proven == proven for arm in arms], dtype=bool)
        if not which.any():
            continue
        span, faint = which & finite, 0.3 + 0.45 * room
        ax.hlines(rows[span], *ends[span].T, color=colour, linewidth=0.5 + room, alpha=faint)
        if proven is not None:
            _marks(ax, rows[which], [arm for arm in arms if arm.proven == proven], bar, colour)
        full, empty = which & ~hollow, which & hollow
        look: dict[str, Any] = {"linestyle": "", "marker": marker, "color": colour, "zorder": 4}
        words = f"{label}, {which.sum():,}"
        ax.plot(means[full], rows[full], **look, markersize=size, label=words)
        ax.plot(means[empty], rows[empty], **look, **white, markersize=4 + room)
    if any(arm.proven for arm in arms):
        words = "stroke: proven to be beyond"
        ax.plot([], [], "|", color="0.4", markersize=2 * size, label=words)
    if hollow.any():  # one entry of the legend for all kinds
        words = f"hollow: suspended, {hollow.sum():,}"
        ax.plot([], [], "o", color="0.4", **white, markersize=size, label=words)
    return size


def _marks(ax: Axes, rows: Floats, arms: Sequence[ArmVerdict], bar: Bar, colour: str) -> None:
    """A stroke at every bound that was proven: the mean is beyond it."""
    bounds = [(row, end) for row, arm in zip(rows, arms, strict=True) for end in bar.bounds(arm)]
    at = np.array([(row, end) for row, end in bounds if end is not None]).reshape(-1, 2)
    ax.vlines(at[:, 1], at[:, 0] - 0.32, at[:, 0] + 0.32, color=colour, linewidth=1.1)


def _looks(bar: Bar) -> dict[str | None, tuple[str, str, str]]:
    """How arms are drawn; where one side is wanted, by whether they are on it."""
    if bar.expected is None:
        return _PROVEN
    clear, fail = (_PROVEN[side][:2] for side in ("above", "below"))
    looks: dict[str | None, tuple[str, str, str]]
    looks = {
        bar.expected: (*clear, "clears the bar"),
        OTHER[bar.expected]: (*fail, "fails the bar"),
    }
    return {**_PROVEN, **looks}


def _ends(arms: Sequence[ArmVerdict], bar: Bar) -> Floats:
    """From where to where each arm is drawn, one row an arm."""
    return np.array([bar.span(arm) for arm in arms], dtype=np.float64).reshape(-1, 2)


def _rows(verdict: Verdict, how: Bar) -> tuple[list[ArmVerdict], Floats, Floats]:
    """The arms to draw, in order, with their bars and precisions; retired ones are left out."""
    bar, precision = verdict.problem.thresholds, verdict.problem.precisions
    standing = [(arm, i) for i, arm in enumerate(verdict.arms) if arm.status != "retired"]
    seen = [item for item in standing if item[0].pulls]
    up = -1 if how.expected == "below" else 1  # the furthest on the wanted side come first
    seen.sort(key=lambda item: (up * (bar[item[1]] - item[0].mean), -item[0].low))
    drawn = seen + [item for item in standing if not item[0].pulls]
    places = [place for _, place in drawn]
    shown = np.array([how.shown(tau) for tau in bar[places].tolist()])
    return [arm for arm, _ in drawn], shown, precision[places]


def _bars(ax: Axes, rows: Floats, tau: Floats, eps: Floats) -> None:
    """The bar and its band: one line where it is the same for all, else a piece in every row."""
    if len(set(zip(tau, eps, strict=True))) == 1:
        ax.axvspan(tau[0] - eps[0], tau[0] + eps[0], color="0.9", lw=0, zorder=0)
        ax.axvline(tau[0], color="0.2", linewidth=1.2, zorder=3, label=f"the bar, {tau[0]:.15g}")
        return
    ax.barh(rows, 2 * eps, left=tau - eps, height=1.0, color="0.9", lw=0, zorder=0)
    ax.vlines(tau, rows - 0.5, rows + 0.5, color="0.2", linewidth=1.2, label="the arm's bar")


def _span(arms: Sequence[ArmVerdict], tau: Floats, eps: Floats, bar: Bar) -> tuple[float, float]:
    """From where to where: all means and bars, and the intervals but for a few very long ones."""
    means = [bar.shown(arm.mean) for arm in arms if arm.pulls]
    inner = np.concatenate([tau - eps, tau + eps, means])
    left, right = float(inner.min()), float(inner.max())
    ends = _ends(arms, bar)
    ends = ends[np.isfinite(ends).all(axis=1)]
    if len(ends):
        reach = 2 * (right - left) or np.inf  # as much again on either side
        left = min(left, max(float(np.quantile(ends[:, 0], 0.1)), left - reach))
        right = max(right, min(float(np.quantile(ends[:, 1], 0.9)), right + reach))
    margin = 0.03 * (right - left) or 0.5
    return left - margin, right + margin


def _name(arm: ArmVerdict) -> str:
    """What is written beside a row, shortened in the middle."""
    name = visible(arm.arm)
    name = name if len(name) <= 40 else f"{name[:22]}…{name[-17:]}"
    said = ["never seen"] if not arm.pulls else []
    said += ["suspended"] if arm.status == "suspended" else []
    return f"{name} ({', '.join(said)})" if said else name


def _title(verdict: Verdict) -> str:
    if verdict.evidence is None:
        return "means alone: nothing can be promised of such rewards"
    level = f"{100 * verdict.confidence:.4g} %"
    if verdict.broken is not None:
        return f"{level} bounds, without a guarantee any more"
    return f"{level} bounds, all arms at once and at all times"


def _legend(ax: Axes, *, outside: bool, bigger: float) -> None:
    look: dict[str, Any] = {"frameon": False, "fontsize": "small", "markerscale": bigger}
    if outside:
        handles, labels = ax.get_legend_handles_labels()
        ax.figure.legend(handles, labels, loc="outside lower center", ncols=3, **look)
    else:
        ax.legend(loc="best", **look)
