"""What batches and delays cost."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from cutline.figures.draw.base import LIMIT, finish, new_figure

RULES = {"auto": ("the default rule", "#0072B2"), "apt": ("APT", "#D55E00")}
WAYS: dict[str, tuple[str, dict[str, Any], float]] = {  # words, look, place beside the tick
    "batches": ("batches of so many", {"marker": "o", "linestyle": "-"}, -0.06),
    "random delays": (
        "so many in flight, random delays",
        {"marker": "D", "linestyle": (0, (3, 2)), "markerfacecolor": "white"},
        0.0,
    ),
    "slow failures": (
        "so many in flight, failures slow",
        {"marker": "^", "linestyle": (0, (1, 1.5)), "markerfacecolor": "white"},
        0.06,
    ),
}


def draw_batches(rows: Sequence[dict[str, Any]]) -> Figure:
    """The error against the pulls asked for before results are seen, a panel for each problem.

    All lines of a rule begin at the same point, one pull after another. Equal repetition does not
    look at results, so it is a level with its interval.
    """
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    figure = new_figure(4.1 * len(problems), 4.8)
    sizes = sorted({row["size"] for row in rows})
    for place, problem in enumerate(problems):
        ax = figure.add_subplot(1, len(problems), place + 1)
        mine = [row for row in rows if row["problem"] == problem]
        for rule in RULES:
            for way in WAYS:
                _line(ax, [r for r in mine if r["rule"] == rule], way, sizes)
        alike = next(row for row in mine if row["rule"] == "round-robin")
        ax.axhspan(alike["low"], alike["high"], color="0.88", linewidth=0, zorder=0)
        ax.axhline(alike["error"], color="0.45", linewidth=1.4, zorder=1)
        finish(ax)
        ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
        ax.set_xlim(-0.25, len(sizes) - 0.75)
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.3g} %"))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.margins(y=0.08)
        ax.set_title(f"{problem}\n{alike['budget']:,} pulls in all", fontsize="medium")
        ax.set_xlabel("pulls asked for before their results are seen")
    figure.axes[0].set_ylabel("chance that any arm is on the wrong side")
    handles, labels = _legend()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _line(ax: Axes, rows: Sequence[dict[str, Any]], way: str, sizes: Sequence[int]) -> None:
    """One way to ask, from one pull after another on."""
    rows = [row for row in rows if row["way"] == way or row["size"] == 1]
    rows = sorted(rows, key=lambda row: row["size"])
    if len(rows) < 2:
        return
    _, look, aside = WAYS[way]
    colour = RULES[rows[0]["rule"]][1]
    x = np.array([sizes.index(row["size"]) + (aside if row["size"] > 1 else 0) for row in rows])
    y, low, high = (np.array([row[key] for row in rows]) for key in ("error", "low", "high"))
    seen = y > 0
    ax.vlines(x[seen], low[seen], high[seen], color=colour, linewidth=1.2)
    (line,) = ax.plot(x, np.where(seen, y, np.nan), color=colour, linewidth=1.5, markersize=5)
    line.set(
        **look, markevery=slice(0 if way == "batches" else 1, None)
    )  # one mark where all begin
    ax.scatter(x[~seen], high[~seen], **LIMIT | {"s": 24}, edgecolors=colour)


def _legend() -> tuple[list[Line2D], list[str]]:
    """What colours mean, then what lines mean."""
    known: list[tuple[str, dict[str, Any]]] = [
        (words, {"color": colour, "linewidth": 3}) for words, colour in RULES.values()
    ]
    known.append(("every arm alike, however asked", {"color": "0.45", "linewidth": 1.4}))
    known += [
        (words, {"color": "0.25", "markersize": 5, **look}) for words, look, _ in WAYS.values()
    ]
    # Columns are filled from above: colours and lines side by side.
    order = [0, 3, 1, 4, 2, 5]
    handles = [Line2D([], [], **known[i][1]) for i in order]
    return handles, [known[i][0] for i in order]
