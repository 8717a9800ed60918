"""Horizons to look at, and where an error curve comes down to a level."""

import numpy as np

from cutline.core.tally import Floats, Ints


def grid(first: int, last: int, points: int) -> list[int]:
    """Horizons from the first to the last, evenly spread as ratios.

    >>> grid(10, 1000, 5)
    [10, 32, 100, 316, 1000]
    """
    return sorted({round(x) for x in np.geomspace(min(first, last), last, points)})


def crossing(horizons: Ints, curve: Floats, level: float, least: float = 0.0) -> float | None:
    """The horizon from which on a curve stays at or below a level; None where it does not.

    Between two horizons the logarithm of the curve is a straight line, where ``least`` stands for
    0, or the curve itself where it falls to 0 and there is no least.

    >>> crossing(np.array([10, 20, 30]), np.array([0.4, 0.1, 0.025]), 0.05)
    25.0
    """
    above = np.flatnonzero(curve > level)
    if len(above) == 0:
        return float(horizons[0])
    i = int(above[-1])
    if i + 1 == len(curve):
        return None
    after = max(float(curve[i + 1]), min(least, level))
    if after <= 0:
        share = (curve[i] - level) / curve[i]
    else:
        share = np.log(curve[i] / level) / np.log(curve[i] / after)
    return float(horizons[i] + share * (horizons[i + 1] - horizons[i]))
