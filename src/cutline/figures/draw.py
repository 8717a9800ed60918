"""Ink. Numbers come from tables; nothing is computed here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from cutline.figures.tables import Curve, error_curves
from cutline.simulation.result import Result

# Okabe and Ito's palette, told apart by colour-blind readers, each with a dash of its own.
STYLES = [
    ("#000000", "-"),
    ("#D55E00", "--"),
    ("#0072B2", "-"),
    ("#56B4E9", "-."),
    ("#009E73", (0, (5, 1))),
    ("#CC79A7", (0, (3, 1, 1, 1))),
    ("#E69F00", ":"),
    ("#999933", (0, (8, 2, 2, 2))),
]

LIMIT: dict[str, Any] = {"marker": "v", "s": 14, "facecolors": "none"}


def plot(result: Result, ax: Axes | None = None) -> Axes:
    """Draw a result: the error of every rule against the horizon, on a logarithmic scale.

    Draws into ``ax``, or into a figure of its own: ``cutline.plot(result).figure.savefig(...)``.
    """
    if not isinstance(result, Result):
        raise TypeError(f"what can be plotted is a Result, not {type(result).__name__}")
    if ax is None:
        ax = _figure(6.4, 4.2).add_subplot()
    curves = error_curves(result)
    draw_error_curves(curves, ax)
    ax.legend(*_legend(curves, ax), frameon=False, fontsize="small")
    ax.set_title(f"{result.games:,} games, {len(result.arms)} arms", fontsize="medium")
    return ax


def draw_error_curves(curves: Sequence[Curve], ax: Axes) -> None:
    """Error probability on a log axis, with bands.

    Where no game was wrong there is no point to draw on a log axis; the upper end of the interval
    is drawn instead, as a triangle that points down.
    """
    for i, curve in enumerate(curves):
        again, place = divmod(i, len(STYLES))  # from the ninth on, colours meet other dashes
        colour, dash = STYLES[place][0], STYLES[(place + again) % len(STYLES)][1]
        seen = curve.rate > 0
        line = np.where(seen, curve.rate, np.nan)
        (drawn,) = ax.plot(curve.horizons, line, color=colour, linestyle=dash, linewidth=1.6)
        drawn.set_label(curve.label)
        drawn.set_marker("o" if len(line) == 1 else "")
        low = np.where(seen, curve.low, np.nan)
        ax.fill_between(curve.horizons, low, curve.high, where=seen, color=colour, alpha=0.13, lw=0)
        unseen = np.flatnonzero(~seen)
        unseen = unseen[:: -max(1, len(curve.horizons) // 25)][::-1]  # from the budget back
        limits, ends = curve.horizons[unseen], curve.high[unseen]
        size = 14 + 9 * (len(curves) - 1 - i)  # nested, where several rules have none wrong
        ax.scatter(limits, ends, **LIMIT | {"s": size}, edgecolors=colour)
    ax.set_yscale("log")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    ax.set_xlabel("horizon (pulls)")
    ax.set_ylabel("error probability")
    shown = [np.where(curve.rate > 0, curve.rate, curve.high) for curve in curves]
    lowest = min(float(values.min()) for values in shown)
    ax.set_ylim(10 ** np.floor(np.log10(lowest) - 0.1), 1.3)
    ax.set_xlim(0, float(max(curve.horizons[-1] for curve in curves)) * 1.01)
    ax.grid(True, which="major", color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def draw_panels(panels: Sequence[tuple[str, Sequence[Curve]]], title: str) -> Figure:
    """Several sets of curves side by side, with one legend below."""
    figure = _figure(4.3 * len(panels), 4.4)
    axes = [figure.add_subplot(1, len(panels), i + 1) for i in range(len(panels))]
    floor = 1.0
    for ax, (name, curves) in zip(axes, panels, strict=True):
        draw_error_curves(curves, ax)
        ax.set_title(name, fontsize="medium")
        floor = min(floor, ax.get_ylim()[0])
    for ax in axes:
        ax.set_ylim(bottom=floor)
        if ax is not axes[0]:
            ax.set_ylabel("")
    handles, labels = _legend([curve for _, curves in panels for curve in curves], axes[0])
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(title, fontsize="medium")
    return figure


def _legend(curves: Sequence[Curve], ax: Axes) -> tuple[list[Any], list[str]]:
    """What is drawn in the axes and what it is called; triangles where there are some."""
    handles, labels = ax.get_legend_handles_labels()
    if any(np.any(curve.rate == 0) for curve in curves):
        handles.append(ax.scatter([], [], **LIMIT, edgecolors="0.3"))
        labels.append("no wrong game: upper limit")
    return handles, labels


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure; the ending of the name says as what. Equal figures give equal files."""
    dated = {"Date": None} if str(path).endswith(".svg") else None
    with rc_context({"svg.hashsalt": "cutline"}):
        figure.savefig(path, dpi=150, metadata=dated)


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # a canvas without pyplot's global state
    return figure
