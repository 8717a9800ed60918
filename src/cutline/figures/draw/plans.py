"""What an answer will cost."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from cutline.figures.draw.base import STYLES, finish, new_figure
from cutline.figures.draw.curves import draw_curve
from cutline.figures.planning import PlanPicture


def draw_plan(picture: PlanPicture) -> Figure:
    """Errors against the budget, with a mark where each comes down to the target."""
    figure = new_figure(7.2, 4.4)
    ax = figure.add_subplot()
    for i, (curve, budget) in enumerate(zip(picture.curves, picture.needed, strict=True)):
        colour, dash = STYLES[i]
        draw_curve(curve, ax, colour, dash, rank=len(picture.curves) - 1 - i)
        if budget is not None:
            _mark_budget(ax, picture, budget, f"{budget:,}", colour)
    for label, spent in picture.others:
        ax.axvline(spent, color=STYLES[2][0], linestyle=":", linewidth=1.4, label=label)
    finish(ax)
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
