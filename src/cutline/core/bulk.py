"""Beta tails of many numbers at once, to the digits that :mod:`cutline.core.tails` gives one.

Additions, products and quotients round alike in NumPy and in plain Python. Logarithms and
exponentials may not, so those of ``math`` are called for every number.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from cutline.core.special import _HALF_LOG_2PI, _STIRLING
from cutline.core.tails import _NEAR, _remainder
from cutline.core.tally import Floats, Ints

Each = Callable[[Floats], Floats]


def each(function: Callable[[float], float]) -> Each:
    """A function of ``math`` over an array, number by number."""

    def over(values: Floats) -> Floats:
        return np.fromiter(map(function, values.tolist()), np.float64, len(values))

    return over


_log, _log1p, _exp = each(math.log), each(math.log1p), each(math.exp)
_small_remainder = each(lru_cache(maxsize=4096)(_remainder))


def log_beta_mills_many(x: Floats, y: Floats, a: Floats, b: Floats) -> Floats:
    """:func:`cutline.core.tails.log_beta_mills` over arrays of one length.

    >>> half, one = np.array([0.5]), np.array([1.0])
    >>> bool(log_beta_mills_many(half, half, one, one)[0] == math.log(2))
    True
    """
    found = np.empty(len(x))
    near = x <= (a + 1.0) / (a + b + 2.0)
    if near.any():
        found[near] = -_log(_beta_fraction(x[near], y[near], a[near], b[near]))
    far = np.flatnonzero(~near)
    if not len(far):
        return found
    x, y, a, b = x[far], y[far], a[far], b[far]
    log_kernel = log_beta_kernel_many(y, x, b, a)
    found[far] = -log_kernel
    some = np.flatnonzero(~((log_kernel < -40.0) & ((a + b) * y < 0.9 * (b + 1.0))))
    if len(some):
        log_kernel = log_kernel[some]
        fraction = _beta_fraction(y[some], x[some], b[some], a[some])
        found[far[some]] = _log1p(-_exp(log_kernel) / fraction) - log_kernel
    return found


def log_beta_kernel_many(
    x: Floats, y: Floats, a: Floats, b: Floats, log: Each = _log, log1p: Each = _log1p
) -> Floats:
    """ln(x^a y^b / B(a, b)) over arrays; NumPy's own logarithms will do where digits may differ."""
    n = a + b
    d = b * x - a * y
    far = _log_power(a, n * x, d, log, log1p) + _log_power(b, n * y, -d, log, log1p)
    near = _remainders(n) - _remainders(a) - _remainders(b) - _HALF_LOG_2PI
    return 0.5 * log(a / n * b) + near + far


def _log_power(v: Floats, m: Floats, d: Floats, log: Each, log1p: Each) -> Floats:
    close = d > -0.5 * v
    if close.all():
        return v * log1p(d / v)
    found = np.empty(len(v))
    found[close] = v[close] * log1p(d[close] / v[close])
    far = ~close
    found[far] = v[far] * log(np.maximum(m[far], 5e-324) / v[far])
    return found


def _remainders(z: Floats) -> Floats:
    r = 1.0 / z
    rr = r * r
    c0, c1, c2, c3, c4, c5, c6 = _STIRLING
    # 0.0 + as where the shift is added in the scalar twin
    series = c2 + rr * (c3 + rr * (c4 + rr * (c5 + rr * c6)))
    found: Floats = 0.0 + r * (c0 + rr * (c1 + rr * series))
    small = z < 9.0
    if small.any():
        found[small] = _small_remainder(z[small])
    return found


def _beta_fraction(x: Floats, y: Floats, a: Floats, b: Floats) -> Floats:
    """The continued fraction, for all until each has converged."""
    found = np.empty(len(x))
    left: Ints = np.arange(len(x))
    d = a * y - b * x + 1.0
    up_y, xx, whole = 1.0 + y, x * x, a + b
    over = 1.0 / (a + 1.0)
    top: Floats = a * d / (a + 1.0)
    before: Floats = np.ones(len(x))
    under: Floats = np.zeros(len(x))
    bottom: Floats = np.ones(len(x))
    m, k = 0.0, a - 1.0
    while True:
        m += 1.0
        k = k + 2.0
        per_k = over
        over = 1.0 / (k + 2.0)
        rise = m * (b - m)
        up = (a + (m - 1.0)) * per_k * ((whole + (m - 1.0)) * per_k) * xx * rise
        on = m + rise * x * per_k + (a + m) * (d + m * up_y) * over
        before, top = top, on * top + up * before
        under, bottom = bottom, on * bottom + up * under
        cross = top * under
        going = np.abs(cross - before * bottom) > _NEAR * cross
        if not going.all():
            done = ~going
            found[left[done]] = top[done] / bottom[done]
            if not going.any():
                return found
            left = left[going]
            x, a, b, d, up_y = x[going], a[going], b[going], d[going], up_y[going]
            xx, whole = xx[going], whole[going]
            k, over, before, top = k[going], over[going], before[going], top[going]
            under, bottom = under[going], bottom[going]
        large = (top > 1e100) | (bottom > 1e100)
        if large.any():
            for values in (before, top, under, bottom):
                values[large] *= 1e-100
