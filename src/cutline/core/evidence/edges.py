"""Confidence intervals out of evidence: the edges that it does not reject."""

import math
from collections.abc import Callable


def edge_where(excess: Callable[[float], float], inside: float, end: float) -> float:
    """The first edge, going from ``inside`` towards ``end``, at which ``excess`` reaches 0.

    ``excess`` is the log e-value against an edge, less the level at which it is rejected. It grows
    on the way from the mean outwards; where it does not reach 0 before ``end`` (which may be
    infinite), the answer is the end: nothing there is rejected.

    >>> round(edge_where(lambda m: m * m - 2.0, 0.0, math.inf), 12) == round(math.sqrt(2), 12)
    True
    >>> edge_where(lambda m: -1.0, 0.0, -math.inf)
    -inf
    """
    outside = end
    if math.isinf(end):
        step = math.copysign(max(abs(inside), 1.0) * 1e-6, end)
        while excess(inside + step) < 0.0:
            step *= 2.0
            if abs(step) > 1e100:
                return end
        outside = inside + step
    elif excess(end) < 0.0:
        return end
    if excess(inside) >= 0.0:
        return inside
    while True:
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            return outside
        if excess(middle) < 0.0:
            inside = middle
        else:
            outside = middle
