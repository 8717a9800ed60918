"""What all figures share: colours, axes, files."""

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import NullFormatter

from cutline.core.text import visible

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


def style(place: int) -> tuple[str, Any]:
    """A colour and a dash; from the ninth on, colours meet other dashes."""
    again, place = divmod(place, len(STYLES))
    return STYLES[place][0], STYLES[(place + again) % len(STYLES)][1]


def finish(ax: Axes) -> None:
    """A logarithmic y axis, on plain axes."""
    ax.set_yscale("log")
    ax.yaxis.set_minor_formatter(NullFormatter())
    plain(ax)


def plain(ax: Axes) -> None:
    """A light grid, and no frame above and to the right."""
    ax.grid(True, which="major", color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def as_written(legend: Legend) -> None:
    """Show names in a legend as they are: a $ is a $, and no formula."""
    for text in legend.get_texts():
        text.set_parse_math(False)
        text.set_text(visible(text.get_text()))


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure; the ending of the name says as what. Equal figures give equal files."""
    dated = {"Date": None} if str(path).endswith(".svg") else None
    with rc_context({"svg.hashsalt": "cutline"}):
        figure.savefig(path, dpi=150, metadata=dated)


def new_figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # a canvas without pyplot's global state
    return figure
