"""One call for what a user has in hand: a result, stopping times, a verdict."""

import numpy as np
from matplotlib.axes import Axes

from cutline.core.verdict import Verdict
from cutline.figures.draw.base import STYLES, new_figure, plain, style
from cutline.figures.draw.curves import draw_error_curves, legend_of
from cutline.figures.tables import error_curves, error_label
from cutline.simulation.result import Result

MOST_NAMES = 60  # arms whose names are written beside them


def plot(what: Result | Verdict, ax: Axes | None = None) -> Axes:
    """Draw a result or a verdict.

    A result is the error of every rule against the horizon, on a logarithmic scale; where games
    stopped at a confidence, it is how many were still going after so many pulls. A verdict is the
    arms against the bar, with the intervals that hold for all of them at all times. Draws into
    ``ax``, or into a figure of its own: ``cutline.plot(result).figure.savefig(...)``.
    """
    if isinstance(what, Verdict):
        return _verdict(what, ax)
    if not isinstance(what, Result):
        raise TypeError(f"what can be plotted is a Result or a Verdict, not {type(what).__name__}")
    ax = new_figure(6.4, 4.2).add_subplot() if ax is None else ax
    if what.stops is not None and what.stops.settings["confidence"] is not None:
        return _stops(what, ax)
    curves = error_curves(what)
    draw_error_curves(curves, ax)
    ax.set_ylabel(error_label(what.goal))
    ax.legend(*legend_of(curves, ax), frameon=False, fontsize="small")
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
    ax.legend(frameon=False, fontsize="small")
    ax.set_title(f"{result.games:,} games, stopping at {confidence:.4g}", fontsize="medium")
    plain(ax)
    return ax


def _verdict(verdict: Verdict, ax: Axes | None) -> Axes:
    arms = verdict.arms
    ax = new_figure(6.4, 1.6 + 0.26 * min(len(arms), 100)).add_subplot() if ax is None else ax
    tau, eps = verdict.problem.thresholds, verdict.problem.precisions
    rows = np.arange(len(arms))
    ax.barh(rows, 2 * eps, left=tau - eps, height=0.8, color=STYLES[1][0], alpha=0.15, lw=0)
    ax.vlines(tau, rows - 0.4, rows + 0.4, color=STYLES[1][0], linewidth=1.2)
    seen = np.array([arm.pulls > 0 for arm in arms])
    means = np.array([arm.mean for arm in arms])
    ends = np.array([[arm.low, arm.high] for arm in arms])
    known = np.isfinite(ends).all(axis=1)
    settled = np.array([arm.proven is not None for arm in arms])
    kinds = ((settled, STYLES[2][0], "proven"), (~settled, "0.55", "undecided"))
    for which, colour, label in kinds:
        shown = which & known
        ax.hlines(rows[shown], *ends[shown].T, color=colour, linewidth=1.4)
        points = which & seen
        if points.any():
            ax.plot(means[points], rows[points], "o", color=colour, markersize=4, label=label)
    if len(arms) <= MOST_NAMES:
        ax.set_yticks(rows, [arm.arm for arm in arms])
    ax.set_ylim(len(arms) - 0.4, -0.6)
    ax.set_xlabel("mean")
    ax.legend(frameon=False, fontsize="small", loc="best")
    level = f"{100 * verdict.confidence:.4g} %"
    ax.set_title(f"{level} intervals, all arms at once and at all times", fontsize="medium")
    plain(ax)
    return ax
