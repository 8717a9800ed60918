"""What verdicts say against what happens."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from cutline.figures.draw.base import LIMIT, finish, new_figure


def draw_calibration(rows: Sequence[dict[str, Any]], title: str) -> Figure:
    """The share of wrong games against what their verdicts said, a panel for each law of means.

    Rows of few games, which could be anything, are left out.
    """
    rows = [row for row in rows if row["games"] >= 50]
    laws = list(dict.fromkeys(row["law"] for row in rows))
    figure = new_figure(4.0 * len(laws), 4.5)
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
        finish(ax)
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
