"""Ink. Numbers come from tables; nothing is computed here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from cutline.figures.panels import Panel
from cutline.figures.planning import PlanPicture
from cutline.figures.tables import Curve, error_curves, error_label
from cutline.figures.theory import BoundsPanel
from cutline.figures.tournament import Overview
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
    ax.set_ylabel(error_label(result.goal))
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
        _draw_curve(curve, ax, colour, dash, rank=len(curves) - 1 - i)
    _finish(ax)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    ax.set_xlabel("horizon (pulls)")
    ax.set_ylabel("error probability")
    shown = [np.where(curve.rate > 0, curve.rate, curve.high) for curve in curves]
    lowest = min(float(np.nanmin(values)) for values in shown)
    ax.set_ylim(10 ** np.floor(np.log10(lowest) - 0.1), 1.3)
    ax.set_xlim(0, float(max(curve.horizons[-1] for curve in curves)) * 1.01)


def _draw_curve(curve: Curve, ax: Axes, colour: str, dash: Any, rank: int) -> Any:
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


def _finish(ax: Axes) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(True, which="major", color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


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
    figure = _figure(8.6, 0.4 + 4.2 * len(panels))
    for place, panel in enumerate(panels):
        ax = figure.add_subplot(len(panels), 1, place + 1)
        _draw_bounds(panel, ax)
    ax.set_xlabel("budget (pulls)")
    figure.suptitle(title, fontsize="medium")
    return figure


def _draw_bounds(panel: BoundsPanel, ax: Axes) -> None:
    groups: dict[str, list[Any]] = {"simulated": [], "upper bounds": [], LOWER: []}
    for rank, curve in enumerate(panel.simulated):
        groups["simulated"].append(_draw_curve(curve, ax, RULE_COLOURS[curve.label], "-", rank))
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
    _finish(ax)
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


def draw_figure(panels: Sequence[Panel], title: str) -> Figure:
    """Panels side by side, with one legend below for what they share."""
    figure = _figure(5.2 * len(panels), 4.4)
    named: dict[str, Any] = {}
    for i, panel in enumerate(panels):
        ax = figure.add_subplot(1, len(panels), i + 1)
        draw_panel(panel, ax)
        handles, labels = _legend(panel.curves if panel.log_y else [], ax)
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
    ax.grid(True, which="major", color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _legend(curves: Sequence[Curve], ax: Axes) -> tuple[list[Any], list[str]]:
    """What is drawn in the axes and what it is called; triangles where there are some."""
    handles, labels = ax.get_legend_handles_labels()
    if any(np.any((curve.rate == 0) & np.isfinite(curve.high)) for curve in curves):
        handles.append(ax.scatter([], [], **LIMIT, edgecolors="0.3"))
        labels.append("no wrong game: upper limit")
    return handles, labels


# Blue is better, orange worse, white alike; both are told apart by colour-blind readers.
RATIOS = LinearSegmentedColormap.from_list("ratios", ["#0072B2", "#FFFFFF", "#D55E00"])
SPAN = 4.0  # powers of two at which the colours end


def draw_overview(overview: Overview) -> Figure:
    """A field of ratios to APT: a row for every instance, a column for every rule."""
    rows, columns = len(overview.names), len(overview.rules)
    figure = _figure(max(4.5, 2.9 + 0.43 * columns), 1.6 + 0.215 * rows)
    ax = figure.add_subplot()
    ratios = np.array(
        [[np.nan if x is None else x for x in line] for line in overview.ratios], dtype=float
    ).reshape(rows, columns)
    shades = np.clip(np.log2(ratios), -SPAN, SPAN)
    image = ax.imshow(shades, cmap=RATIOS, vmin=-SPAN, vmax=SPAN, aspect="auto")
    for i, j in np.ndindex(rows, columns):
        value, pale = ratios[i, j], abs(shades[i, j]) < 0.7 * SPAN
        words = "–" if np.isnan(value) else _short(float(value))
        colour = "0.6" if np.isnan(value) else "black" if pale else "white"
        ax.text(j, i, words, ha="center", va="center", fontsize=7, color=colour)
    ax.set_xticks(range(columns), overview.rules, rotation=45, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    marked = zip(overview.names, overview.rare, strict=True)
    ax.set_yticks(range(rows), [f"{name} •" if rare else name for name, rare in marked])
    ax.tick_params(length=0, labelsize=7.5)
    for i, group in enumerate(overview.groups):
        if i == 0 or group != overview.groups[i - 1]:
            ax.text(columns - 0.4, i, group, va="center", fontsize=7, color="0.4")
        if i > 0 and group != overview.groups[i - 1]:
            ax.axhline(i - 0.5, color="0.25", linewidth=0.8)
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(False)
    ends = [2.0**x for x in (-SPAN, -SPAN / 2, 0, SPAN / 2, SPAN)]
    bar = figure.colorbar(image, ax=ax, location="bottom", fraction=0.02, pad=0.01, aspect=50)
    bar.set_ticks([float(np.log2(x)) for x in ends], labels=["1/16", "1/4", "1", "4", "16"])
    bar.ax.tick_params(labelsize=7.5)
    bar.outline.set_visible(False)
    bar.set_label("• rare: a probability up to 0.1 or from 0.9    – not played", fontsize=7.5)
    figure.suptitle(overview.title, fontsize="medium")
    return figure


def _short(value: float) -> str:
    """Two digits, as short as can be."""
    if value >= 9.95:
        return f"{value:.0f}" if value < 1000 else f"{value:.0e}".replace("e+0", "e")
    return f"{value:.1f}" if value >= 1.95 else f"{value:.2f}".removeprefix("0")


def draw_calibration(rows: Sequence[dict[str, Any]], title: str) -> Figure:
    """The share of wrong games against what their verdicts said, a panel for each law of means.

    Rows of few games, which could be anything, are left out.
    """
    rows = [row for row in rows if row["games"] >= 50]
    laws = list(dict.fromkeys(row["law"] for row in rows))
    figure = _figure(4.0 * len(laws), 4.5)
    looks = {
        "error_estimate": ("error_estimate, a model's estimate", "#0072B2", "o"),
        "error_bound": ("error_bound, guaranteed", "#D55E00", "s"),
    }
    floor = 1e-5
    for place, law in enumerate(laws):
        ax = figure.add_subplot(1, len(laws), place + 1)
        ax.plot([floor, 1], [floor, 1], color="0.45", linewidth=1, label="as often as said")
        ax.fill_between([floor, 1.6], [floor, 1.6], 1.6, color="0.94", linewidth=0, zorder=0)
        for name, (label, colour, marker) in looks.items():
            mine = [row for row in rows if row["law"] == law and row["shown"] == name]
            x, y, low, high = (
                np.array([row[key] for row in mine])
                for key in ("mean_shown", "share_wrong", "low", "high")
            )
            seen = y > 0
            ax.vlines(x[seen], low[seen], high[seen], color=colour, linewidth=1.4)
            ax.plot(x[seen], y[seen], marker, color=colour, markersize=5, label=label)
            ax.scatter(x[~seen], high[~seen], **LIMIT | {"s": 22}, edgecolors=colour)
        _finish(ax)
        ax.set_xscale("log")
        ax.set_xlim(floor, 1.6)
        ax.set_ylim(floor, 1.6)
        ax.set_title(law, fontsize="medium")
        ax.set_xlabel("what the verdict says")
        if place == 0:
            ax.set_ylabel("share of such games that are wrong")
            words: dict[str, Any] = {"fontsize": "small", "color": "0.35"}
            ax.text(1.6 * floor, 0.75, "wrong more often than said", va="top", **words)
    handles, labels = ax.get_legend_handles_labels()
    handles.append(ax.scatter([], [], **LIMIT, edgecolors="0.3"))
    labels.append("no wrong game: upper limit")
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(title, fontsize="medium")
    return figure


def draw_plan(picture: PlanPicture) -> Figure:
    """Errors against the budget, with a mark where each comes down to the target."""
    figure = _figure(7.2, 4.4)
    ax = figure.add_subplot()
    for i, (curve, budget) in enumerate(zip(picture.curves, picture.needed, strict=True)):
        colour, dash = STYLES[i]
        _draw_curve(curve, ax, colour, dash, rank=len(picture.curves) - 1 - i)
        if budget is not None:
            _mark_budget(ax, picture, budget, f"{budget:,}", colour)
    for label, spent in picture.others:
        ax.axvline(spent, color=STYLES[2][0], linestyle=":", linewidth=1.4, label=label)
    _finish(ax)
    ax.axhline(picture.target, color="0.5", linestyle=":", linewidth=1, zorder=0)
    words: dict[str, Any] = {"textcoords": "offset points", "fontsize": "small", "color": "0.35"}
    at = (picture.x[0], picture.target)
    ax.annotate(f"target {picture.target:g}", at, xytext=(6, 4), **words)
    ax.set_xscale("log")
    ax.set_xlim(*picture.x)
    ax.set_ylim(*picture.y)
    ax.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0), numticks=12))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("budget (pulls)")
    ax.set_ylabel(picture.ylabel)
    ax.legend(frameon=False, fontsize="small", loc="lower left")
    figure.suptitle(picture.title, fontsize="medium")
    return figure


def _mark_budget(ax: Axes, picture: PlanPicture, budget: int, words: str, colour: str) -> None:
    """A drop line from the target to the axis, with the budget beside it."""
    ax.plot([budget, budget], [picture.y[0], picture.target], color=colour, linewidth=1)
    ax.plot([budget], [picture.target], "o", color=colour, markersize=5)
    at: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": "small"}
    ax.annotate(words, (budget, picture.y[0]), xytext=(-4, 5), color=colour, **at)


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure; the ending of the name says as what. Equal figures give equal files."""
    dated = {"Date": None} if str(path).endswith(".svg") else None
    with rc_context({"svg.hashsalt": "cutline"}):
        figure.savefig(path, dpi=150, metadata=dated)


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # a canvas without pyplot's global state
    return figure
