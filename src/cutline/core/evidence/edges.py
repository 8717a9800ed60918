"""Confidence intervals out of evidence: the edges that it does not reject."""

import math
from collections.abc import Callable

import numpy as np

from cutline.core.tally import Floats, Ints

_CLOSE = 2.0 * 2.0**-52  # how close to the edge, beside its size, a search comes


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
        while (beyond := excess(inside + step)) < 0.0:
            step *= 2.0
            if abs(step) > 1e100:
                return end
        outside = inside + step
    elif (beyond := excess(end)) < 0.0:
        return end
    within = excess(inside)
    if within >= 0.0:
        return inside
    return _root(excess, inside, within, outside, beyond)


def _root(excess: Callable[[float], float], a: float, fa: float, b: float, fb: float) -> float:
    """Where ``excess`` goes from below 0 at a to 0 or more at b, seen from b.

    Chandrupatla (1997): a parabola through the last three points where that is safe, else halving.
    """
    c, fc, t = b, fb, 0.5
    while True:
        x = a + t * (b - a)
        fx = excess(x)
        if (fx < 0.0) == (fa < 0.0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx
        best = a if abs(fa) < abs(fb) else b
        gap = abs(b - a)
        near = _CLOSE * abs(best)
        if gap <= 2.0 * near or gap < 1e-300:
            return b if fa < 0.0 else a
        least = near / gap
        t = 0.5
        xi, phi = _ratio(a - b, c - b), _ratio(fa - fb, fc - fb)
        if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
            t = fa / (fb - fa) * (fc / (fb - fc)) + (c - a) / (b - a) * (fa / (fc - fa)) * (
                fb / (fc - fb)
            )
        t = min(max(t, least), 1.0 - least)


def _ratio(over: float, under: float) -> float:
    return over / under if under != 0.0 else math.inf


def edges_where(excess: Callable[[Floats, Ints], Floats], inside: Floats, end: float) -> Floats:
    """:func:`edge_where` for many at once, to the same digits; the ``end`` is finite.

    ``excess(edges, which)`` takes an edge for each of the places in ``which``.
    """
    found: Floats = np.full(len(inside), end)
    which: Ints = np.arange(len(inside))
    beyond = excess(found, which)
    within = excess(inside, which)
    met = (within >= 0.0) & (beyond >= 0.0)
    found[met] = inside[met]
    which = np.flatnonzero((beyond >= 0.0) & (within < 0.0))
    a, fa, fb = inside[which], within[which], beyond[which]
    b: Floats = np.full(len(which), end)
    t: Floats = np.full(len(which), 0.5)
    with np.errstate(all="ignore"):
        while len(which):
            x = a + t * (b - a)
            fx = excess(x, which)
            same = (fx < 0.0) == (fa < 0.0)
            c, fc = np.where(same, a, b), np.where(same, fa, fb)
            b, fb = np.where(same, b, a), np.where(same, fb, fa)
            a, fa = x, fx
            best = np.where(np.abs(fa) < np.abs(fb), a, b)
            gap = np.abs(b - a)
            near = _CLOSE * np.abs(best)
            done = (gap <= 2.0 * near) | (gap < 1e-300)
            found[which[done]] = np.where(fa < 0.0, b, a)[done]
            going = ~done
            which, a, fa, b, fb = which[going], a[going], fa[going], b[going], fb[going]
            c, fc = c[going], fc[going]
            least = near[going] / gap[going]
            xi = np.where(c - b != 0.0, (a - b) / (c - b), math.inf)
            phi = np.where(fc - fb != 0.0, (fa - fb) / (fc - fb), math.inf)
            curved = (phi * phi < xi) & ((1.0 - phi) * (1.0 - phi) < 1.0 - xi)
            bent = fa / (fb - fa) * (fc / (fb - fc)) + (c - a) / (b - a) * (fa / (fc - fa)) * (
                fb / (fc - fb)
            )
            t = np.minimum(np.maximum(np.where(curved, bent, 0.5), least), 1.0 - least)
    return found
