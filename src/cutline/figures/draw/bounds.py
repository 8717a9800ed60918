"""The bounds of theory beside simulated curves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cutline.figures.draw.base import LIMIT, finish, new_figure
from cutline.figures.draw.curves import draw_curve
from cutline.figures.theory import BoundsPanel

# Cold colours for lower bounds, warm ones for upper; what the paper prints is dashed.
BOUND_COLOURS = {
    "Theorem 1": "#0072B2",
    "Corollary 1": "#56B4E9",
    "sharp lower bound": "#009E73",
    "divergence lower bound": "#999933",
    "Theorem 2": "#D55E00",
    "Theorem 3": "#D55E00",
    "Theorem 4": "#D55E00",
    "Corollary 2": "#E69F00",
    "CSAR's bound": "#CC79A7",
}
RULE_COLOURS = {"APT": "#000000", "CSAR": "#882255"}
LOWER = "lower bounds, in the worst case"
VACUOUS = "vacuous: a bound up here says nothing"


def draw_theory(panels: Sequence[BoundsPanel], title: str) -> Figure:
    """Bounds and simulated curves against the budget, one panel below the other."""
    figure = new_figure(8.6, 0.4 + 4.2 * len(panels))
    for place, panel in enumerate(panels):
        ax = figure.add_subplot(len(panels), 1, place + 1)
        _draw_bounds(panel, ax)
    ax.set_xlabel("budget (pulls)")
    figure.suptitle(title, fontsize="medium")
    return figure


def _draw_bounds(panel: BoundsPanel, ax: Axes) -> None:
    groups: dict[str, list[Any]] = {"simulated": [], "upper bounds": [], LOWER: []}
    for rank, curve in enumerate(panel.simulated):
        groups["simulated"].append(draw_curve(curve, ax, RULE_COLOURS[curve.label], "-", rank))
    if any(np.any(curve.rate == 0) for curve in panel.simulated):
        limit = ax.scatter([], [], **LIMIT, edgecolors="0.3", label="no wrong game: upper limit")
        groups["simulated"].append(limit)
    for bound in panel.bounds:
        colour = BOUND_COLOURS[bound.label.removesuffix(" as printed")]
        dash = "--" if bound.printed else "-"
        (line,) = ax.plot(bound.horizons, bound.values, color=colour, linestyle=dash, linewidth=1.3)
        where = panel.out_of_view(bound)
        line.set_label(f"{bound.label}, {where} the picture" if where else bound.label)
        groups[LOWER if bound.side == "lower" else "upper bounds"].append(line)
    finish(ax)
    ax.set_xscale("log")
    ax.set_xlim(panel.horizons[0], panel.horizons[-1])
    ax.set_ylim(panel.bottom, panel.top)
    ax.set_ylabel(panel.label)
    if groups["upper bounds"]:
        _shade(panel, ax)
    if panel.wanted is not None:
        dotted = ax.axhline(panel.wanted, color="0.5", linestyle=":", linewidth=1, zorder=0)
        dotted.set_label(f"{panel.wanted:g}")
        groups["error wanted"] = [dotted]
    _legend_in_groups(groups, ax)


def _shade(panel: BoundsPanel, ax: Axes) -> None:
    """Mark where an upper bound says nothing, with a word where no curve is."""
    ax.fill_between(panel.horizons, panel.trivial, panel.top, color="0.93", linewidth=0, zorder=0)
    words: dict[str, Any] = {"textcoords": "offset points", "fontsize": "small", "color": "0.35"}
    if panel.trivial[0] == panel.trivial[-1]:  # just above the edge, under the bounds
        ax.annotate(VACUOUS, (panel.horizons[0], panel.trivial[0]), xytext=(6, 4), **words)
    else:  # in the corner: the edge rises
        words |= {"xycoords": "axes fraction", "va": "top"}
        ax.annotate(VACUOUS, (0, 1), xytext=(6, -6), **words)


def _legend_in_groups(groups: dict[str, list[Any]], ax: Axes) -> None:
    """A legend to the right of the axes, in which the names of the groups stand out."""
    (blank,) = ax.plot([], [], " ")
    entries = [
        entry
        for name, drawn in groups.items()
        if drawn
        for entry in [(blank, name), *((one, one.get_label()) for one in drawn)]
    ]
    legend = ax.legend(
        *zip(*entries, strict=True),
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize="small",
    )
    for text in legend.get_texts():
        if text.get_text() in groups:
            text.set_fontweight("bold")
