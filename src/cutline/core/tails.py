"""Logarithms of tails, of one number at a time, over ``math`` alone: nothing underflows.

As in :mod:`cutline.core.special`: floats in, floats out, no exceptions, nothing checked. Shapes are
from 1/2 up.
"""

import math

from cutline.core.special import _HALF_LOG_2PI, _STIRLING

# Two convergents of a continued fraction this close count as its value.
_NEAR = 1e-14

# Mills ratios: a tail over the density-like factor in front of it. The e-value of a mixture is one
# of these times a constant, so it keeps its digits where the tail and the factor both underflow.


def log_normal_mills(x: float) -> float:
    """The logarithm of normal_cdf(x) over the normal density at x.

    >>> round(log_normal_mills(0.0), 12) == round(math.log(math.pi / 2) / 2, 12)
    True
    >>> round(log_normal_mills(-1e6), 9) == round(-math.log(1e6), 9)
    True
    """
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2.0))) + 0.5 * x * x + _HALF_LOG_2PI
    if x > -25.0:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2.0))) + 0.5 * x * x + _HALF_LOG_2PI
    r = 1.0 / (x * x)
    series = r * (-1.0 + r * (3.0 + r * (-15.0 + r * (105.0 + r * (-945.0 + r * 10395.0)))))
    return math.log1p(series) - math.log(-x)


def log_normal_cdf(x: float) -> float:
    """The logarithm of the chance that a standard normal draw is at most ``x``.

    >>> log_normal_cdf(0.0) == math.log(0.5)
    True
    >>> round(log_normal_cdf(-100.0), 6)
    -5005.524209
    """
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2.0)))
    return log_normal_mills(x) - 0.5 * x * x - _HALF_LOG_2PI


def log_beta_cdf(x: float, a: float, b: float) -> float:
    """The logarithm of the chance that a Beta(a, b) draw is at most ``x``, for shapes from 1/2.

    >>> round(log_beta_cdf(0.25, 1e4, 1.0), 9) == round(1e4 * math.log(0.25), 9)
    True
    """
    return _log_lower_beta(x, 1.0 - x, a, b)


def log_beta_sf(x: float, a: float, b: float) -> float:
    """The logarithm of the chance that a Beta(a, b) draw is above ``x``, for shapes from 1/2.

    >>> round(log_beta_sf(0.75, 1.0, 1e4), 9) == round(1e4 * math.log(0.25), 9)
    True
    """
    return _log_lower_beta(1.0 - x, x, b, a)


def log_beta_mills(x: float, y: float, a: float, b: float) -> float:
    """The logarithm of I_x(a, b) over x^a y^b / B(a, b), for y = 1 - x and shapes from 1/2.

    >>> round(log_beta_mills(0.5, 0.5, 1.0, 1.0), 12) == round(math.log(2), 12)  # 1/2 over 1/4
    True
    """
    if x <= (a + 1.0) / (a + b + 2.0):
        return -math.log(_beta_fraction(x, y, a, b))
    log_kernel = _log_beta_kernel(y, x, b, a)
    # The other tail is at most e^log_kernel / b / (1 - (a + b) y / (b + 1)), a geometric series.
    if log_kernel < -40.0 and (a + b) * y < 0.9 * (b + 1.0):
        return -log_kernel
    return math.log1p(-math.exp(log_kernel) / _beta_fraction(y, x, b, a)) - log_kernel


def log_student_cdf(t: float, freedom: float) -> float:
    """The logarithm of the chance that a Student-t draw is at most ``t``; ``freedom`` from 1.

    >>> round(log_student_cdf(-1.0, 1.0), 12) == round(math.log(0.25), 12)
    True
    """
    n = freedom + t * t
    beyond = math.log(0.5) + _log_lower_beta(freedom / n, t * t / n, 0.5 * freedom, 0.5)
    return beyond if t < 0.0 else math.log1p(-math.exp(beyond))


def log_gamma_cdf(x: float, a: float) -> float:
    """The logarithm of the chance that a Gamma draw of shape ``a``, from 1/2, is at most ``x``.

    >>> round(log_gamma_cdf(1e-9, 1.0), 6) == round(math.log(1e-9), 6)
    True
    """
    if x <= 0.0:
        return -math.inf
    if x <= a + 1.0:
        return _log_gamma_kernel(x, a) - math.log(_lower_gamma_fraction(x, a))
    return math.log1p(-math.exp(_log_gamma_kernel(x, a)) / _upper_gamma_fraction(x, a))


def log_gamma_sf(x: float, a: float) -> float:
    """The logarithm of the chance that a Gamma draw of shape ``a``, from 1/2, is above ``x``.

    >>> round(log_gamma_sf(5000.0, 1.0), 9)
    -5000.0
    """
    if x <= 0.0:
        return 0.0
    if x > a + 1.0:
        return _log_gamma_kernel(x, a) - math.log(_upper_gamma_fraction(x, a))
    return math.log1p(-math.exp(_log_gamma_kernel(x, a)) / _lower_gamma_fraction(x, a))


def log_gamma_mills_below(x: float, a: float) -> float:
    """The logarithm of the lower tail over x^a e^-x / Gamma(a), for x above 0, shapes from 1/2.

    >>> round(log_gamma_mills_below(2.0, 1.0), 12) == round(math.log(math.expm1(2.0) / 2), 12)
    True
    """
    if x <= a + 1.0:
        return -math.log(_lower_gamma_fraction(x, a))
    log_kernel = _log_gamma_kernel(x, a)
    return math.log1p(-math.exp(log_kernel) / _upper_gamma_fraction(x, a)) - log_kernel


def log_gamma_mills_above(x: float, a: float) -> float:
    """The logarithm of the upper tail over x^a e^-x / Gamma(a), for x above 0, shapes from 1/2.

    >>> round(log_gamma_mills_above(1e6, 1.0), 12) == round(-math.log(1e6), 12)
    True
    """
    if x > a + 1.0:
        return -math.log(_upper_gamma_fraction(x, a))
    log_kernel = _log_gamma_kernel(x, a)
    return math.log1p(-math.exp(log_kernel) / _lower_gamma_fraction(x, a)) - log_kernel


def _log_lower_beta(x: float, y: float, a: float, b: float) -> float:
    """ln I_x(a, b), given y = 1 - x as well."""
    if x <= 0.0:
        return -math.inf
    if y <= 0.0:
        return 0.0
    if x <= (a + 1.0) / (a + b + 2.0):
        return _log_beta_kernel(x, y, a, b) - math.log(_beta_fraction(x, y, a, b))
    return math.log1p(-math.exp(_log_beta_kernel(y, x, b, a)) / _beta_fraction(y, x, b, a))


def _beta_fraction(x: float, y: float, a: float, b: float) -> float:
    """x^a y^b / B(a, b) over I_x(a, b): the fraction of :func:`_fraction`, by its convergents.

    Numerators and denominators by their recurrences: one division a step, where Lentz needs five.
    """
    d = a * y - b * x + 1.0
    before, top = 1.0, a * d / (a + 1.0)
    under, bottom = 0.0, 1.0
    xx = x * x
    m, k, over = 0.0, a - 1.0, 1.0 / (a + 1.0)
    for _ in range(10_000_000):
        m += 1.0
        k += 2.0
        per_k = over
        over = 1.0 / (k + 2.0)
        rise = m * (b - m)
        up = (a + (m - 1.0)) * per_k * ((a + b + (m - 1.0)) * per_k) * xx * rise
        on = m + rise * x * per_k + (a + m) * (d + m * (1.0 + y)) * over
        before, top = top, on * top + up * before
        under, bottom = bottom, on * bottom + up * under
        cross = top * under
        if not abs(cross - before * bottom) > _NEAR * cross:
            break
        if top > 1e100 or bottom > 1e100:
            before, top = before * 1e-100, top * 1e-100
            under, bottom = under * 1e-100, bottom * 1e-100
    return top / bottom


def _lower_gamma_fraction(x: float, a: float) -> float:
    """x^a e^-x / Gamma(a) over the lower tail, for x up to a + 1.

    The limit of :func:`_beta_fraction` at x / b for b growing; some a^(1/3) steps.
    """
    d = a - x + 1.0
    before, top = 1.0, a * d / (a + 1.0)
    under, bottom = 0.0, 1.0
    m, k, over = 0.0, a - 1.0, 1.0 / (a + 1.0)
    for _ in range(10_000_000):
        m += 1.0
        k += 2.0
        per_k = over
        over = 1.0 / (k + 2.0)
        share = x * per_k
        up = (a + (m - 1.0)) * m * share * share
        on = m + m * share + (a + m) * (d + 2.0 * m) * over
        before, top = top, on * top + up * before
        under, bottom = bottom, on * bottom + up * under
        cross = top * under
        if not abs(cross - before * bottom) > _NEAR * cross:
            break
        if top > 1e100 or bottom > 1e100:
            before, top = before * 1e-100, top * 1e-100
            under, bottom = under * 1e-100, bottom * 1e-100
    return top / bottom


def _upper_gamma_fraction(x: float, a: float) -> float:
    """x^a e^-x / Gamma(a) over the upper tail, for x from a + 1: Legendre's fraction."""
    before, top = 1.0, x - a + 1.0
    under, bottom = 0.0, 1.0
    m, on = 0.0, x - a + 1.0
    for _ in range(10_000_000):
        m += 1.0
        on += 2.0
        up = m * (a - m)
        before, top = top, on * top + up * before
        under, bottom = bottom, on * bottom + up * under
        cross = top * under
        if not abs(cross - before * bottom) > _NEAR * cross:
            break
        if top > 1e100 or bottom > 1e100:
            before, top = before * 1e-100, top * 1e-100
            under, bottom = under * 1e-100, bottom * 1e-100
    return top / bottom


def _log_beta_kernel(x: float, y: float, a: float, b: float) -> float:
    """ln(x^a y^b / B(a, b)): what :func:`_kernel` is the exponential of, in fewer logarithms."""
    n = a + b
    d = b * x - a * y  # n x - a
    far = _log_power(a, n * x, d) + _log_power(b, n * y, -d)
    near = _remainder(n) - _remainder(a) - _remainder(b) - _HALF_LOG_2PI
    return 0.5 * math.log(a / n * b) + near + far


def _log_gamma_kernel(x: float, a: float) -> float:
    """ln(x^a e^-x / Gamma(a))."""
    d = x - a
    return _log_power(a, x, d) - d + 0.5 * math.log(a) - _HALF_LOG_2PI - _remainder(a)


def _log_power(v: float, m: float, d: float) -> float:
    """v ln(m / v), where d = m - v is known better than by subtraction."""
    return v * math.log1p(d / v) if d > -0.5 * v else v * math.log(max(m, 5e-324) / v)


def _remainder(z: float) -> float:
    """What :func:`_stirling` gives, for z from 1/2: a product in place of many logarithms."""
    w, rise, shift = z, 1.0, 0.0
    if z < 9.0:
        while w < 9.0:
            w += 1.0
            rise *= w
        # ln Gamma(z + 1) = ln Gamma(w + 1) - ln((z + 1) ... w), and both in Stirling's form
        shift = (w + 0.5) * math.log(w) - (z + 0.5) * math.log(z) - (w - z) - math.log(rise)
    r = 1.0 / w
    rr = r * r
    c0, c1, c2, c3, c4, c5, c6 = _STIRLING
    return shift + r * (c0 + rr * (c1 + rr * (c2 + rr * (c3 + rr * (c4 + rr * (c5 + rr * c6))))))
