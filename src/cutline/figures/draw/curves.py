"""Error curves and panels of curves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cutline.figures.draw.base import LIMIT, STYLES, finish, new_figure, plain, style
from cutline.figures.panels import Panel
from cutline.figures.tables import Curve


def draw_error_curves(curves: Sequence[Curve], ax: Axes) -> None:
    """Error probability on a log axis, with bands.

    Where no game was wrong there is no point to draw on a log axis; the upper end of the interval
    is drawn instead, as a triangle that points down.
    """
    for i, curve in enumerate(curves):
        colour, dash = style(i)
        draw_curve(curve, ax, colour, dash, rank=len(curves) - 1 - i)
    finish(ax)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    ax.set_xlabel("horizon (pulls)")
    ax.set_ylabel("error probability")
    shown = [np.where(curve.rate > 0, curve.rate, curve.high) for curve in curves]
    lowest = min(float(np.nanmin(values)) for values in shown)
    ax.set_ylim(10 ** np.floor(np.log10(lowest) - 0.1), 1.3)
    ax.set_xlim(0, float(max(curve.horizons[-1] for curve in curves)) * 1.01)


def draw_curve(curve: Curve, ax: Axes, colour: str, dash: Any, rank: int) -> Any:
    """One line with its band; triangles grow with the rank, nested where several have none."""
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
    ax.scatter(limits, ends, **LIMIT | {"s": 14 + 9 * rank}, edgecolors=colour)
    return drawn


def draw_panels(panels: Sequence[tuple[str, Sequence[Curve]]], title: str) -> Figure:
    """Several sets of curves side by side, with one legend below."""
    figure = new_figure(4.3 * len(panels), 4.4)
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
    handles, labels = legend_of([curve for _, curves in panels for curve in curves], axes[0])
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(title, fontsize="medium")
    return figure


def draw_figure(panels: Sequence[Panel], title: str) -> Figure:
    """Panels side by side, with one legend below for what they share."""
    figure = new_figure(5.2 * len(panels), 4.4)
    named: dict[str, Any] = {}
    for i, panel in enumerate(panels):
        ax = figure.add_subplot(1, len(panels), i + 1)
        draw_panel(panel, ax)
        handles, labels = legend_of(panel.curves if panel.log_y else [], ax)
        named |= {label: handle for label, handle in zip(labels, handles, strict=True)}
    handles, labels = list(named.values()), list(named)
    columns = min(len(labels), 3 * len(panels))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
    figure.suptitle(title, fontsize="medium")
    return figure


def draw_panel(panel: Panel, ax: Axes) -> None:
    """The curves of a panel, or its points, with bounds and marks."""
    if panel.curves:
        draw_error_curves(panel.curves, ax)
    if not panel.log_y:
        ax.set_yscale("linear")
        ax.autoscale(axis="y")
    elif panel.curves:
        highest = max(float(np.max(curve.rate)) for curve in panel.curves)
        ax.set_ylim(top=1.5 * max([highest, *(float(np.max(y)) for _, _, y in panel.bounds)]))
    if panel.log_x:
        ends = [float(np.max(x)) for _, x, _ in panel.bounds]
        ax.set_xscale("log")
        ax.set_xlim(
            min(float(curve.horizons[0]) for curve in panel.curves),
            max([*ends, *(float(curve.horizons[-1]) for curve in panel.curves)]),
        )
    for i, (label, x, y) in enumerate(panel.bounds):
        dash = (0, (1, 1 + i))
        ax.plot(x, y, color="0.45", linestyle=dash, linewidth=2.2, label=label)
    for label, y in panel.marks:
        ax.axhline(y, color="0.45", linestyle=(0, (1, 1)), linewidth=1.6, label=label)
    if panel.points is not None:
        ax.scatter(*panel.points, s=16, color=STYLES[0][0], alpha=0.65, linewidths=0)
        ax.set_yscale("log")
        ax.axhline(1.0, color="0.6", linewidth=0.8)
    if panel.bar is not None:
        tau, eps = panel.bar
        ax.axvspan(tau - eps, tau + eps, color=STYLES[1][0], alpha=0.15, lw=0)
        ax.axvline(tau, color=STYLES[1][0], linewidth=1.2)
    ax.set_title(panel.title, fontsize="medium")
    ax.set_xlabel(panel.xlabel)
    ax.set_ylabel(panel.ylabel)
    plain(ax)


def legend_of(curves: Sequence[Curve], ax: Axes) -> tuple[list[Any], list[str]]:
    """What is drawn in the axes and what it is called; triangles where there are some."""
    handles, labels = ax.get_legend_handles_labels()
    if any(np.any((curve.rate == 0) & np.isfinite(curve.high)) for curve in curves):
        handles.append(ax.scatter([], [], **LIMIT, edgecolors="0.3"))
        labels.append("no wrong game: upper limit")
    return handles, labels
