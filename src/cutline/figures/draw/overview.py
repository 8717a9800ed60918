"""The tournament at a glance."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from cutline.figures.draw.base import new_figure
from cutline.figures.tournament import Overview

# Blue is better, orange worse, white alike; both are told apart by colour-blind readers.
RATIOS = LinearSegmentedColormap.from_list("ratios", ["#0072B2", "#FFFFFF", "#D55E00"])
SPAN = 4.0  # powers of two at which the colours end


def draw_overview(overview: Overview) -> Figure:
    """A field of ratios to APT: a row for every instance, a column for every rule."""
    rows, columns = len(overview.names), len(overview.rules)
    figure = new_figure(max(4.5, 2.9 + 0.43 * columns), 1.6 + 0.215 * rows)
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
