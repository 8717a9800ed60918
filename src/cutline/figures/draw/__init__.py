"""Ink. Numbers come from tables; nothing is computed here."""

from cutline.figures.draw.base import save_figure
from cutline.figures.draw.batches import draw_batches
from cutline.figures.draw.bounds import draw_theory
from cutline.figures.draw.calibration import draw_calibration
from cutline.figures.draw.curves import draw_error_curves, draw_figure, draw_panel, draw_panels
from cutline.figures.draw.overview import draw_overview
from cutline.figures.draw.plans import draw_plan
from cutline.figures.draw.plot import plot

__all__ = [
    "draw_batches",
    "draw_calibration",
    "draw_error_curves",
    "draw_figure",
    "draw_overview",
    "draw_panel",
    "draw_panels",
    "draw_plan",
    "draw_theory",
    "plot",
    "save_figure",
]
