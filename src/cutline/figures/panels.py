"""What a panel of a figure shows: numbers, no ink."""

from dataclasses import dataclass

import numpy.typing as npt

from cutline.figures.tables import Curve


@dataclass(frozen=True)
class Panel:
    """Curves over pulls, and what is drawn beside them.

    ``bounds`` are lines without a band, ``marks`` horizontal lines with a name. Instead of curves
    there may be ``points``, one for each arm, over a ``bar`` (a threshold and its precision).
    """

    title: str
    xlabel: str
    ylabel: str
    curves: tuple[Curve, ...] = ()
    bounds: tuple[tuple[str, npt.ArrayLike, npt.ArrayLike], ...] = ()
    marks: tuple[tuple[str, float], ...] = ()
    points: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    bar: tuple[float, float] | None = None
    log_x: bool = False
    log_y: bool = True
