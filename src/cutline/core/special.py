"""Special functions of one number at a time, over ``math`` alone.

They run as they are, and numba compiles the same source, to the same last bit: floats in, floats
out, no exceptions. So nothing here checks its arguments: shapes ``a`` and ``b`` are taken to lie
between 1e-100 and 1e15, probabilities in [0, 1].
"""

import math

# Stirling's series: ln Gamma(z + 1) = (z + 1/2) ln z - z + ln(2 pi)/2 + 1/(12 z) - 1/(360 z^3) ...
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_HALF_LOG_2PI = 0.9189385332046727
# Quantiles are sought as t = ln(x / (1 - x)) with |t| up to this; e^-700 is near the least double.
_EDGE = 700.0


def normal_cdf(x: float) -> float:
    """The chance that a standard normal draw is at most ``x``.

    >>> normal_cdf(0.0)
    0.5
    >>> round(normal_cdf(1.959963984540054), 12)
    0.975
    """
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def bernoulli_kl(p: float, q: float) -> float:
    r"""The divergence between two coins, in nats: :math:`p\ln\frac pq+(1-p)\ln\frac{1-p}{1-q}`.

    >>> round(bernoulli_kl(0.5, 0.25), 12) == round(math.log(4 / 3) / 2, 12)
    True
    >>> bernoulli_kl(0.5, 0.0), bernoulli_kl(0.0, 0.0)
    (inf, 0.0)
    """
    if p == q:
        return 0.0
    if q <= 0.0 or q >= 1.0:
        return math.inf
    # Two terms that are never negative, so nothing cancels when p is close to q.
    return _excess(p, q, q - p) + _excess(1.0 - p, 1.0 - q, p - q)


def log_beta(a: float, b: float) -> float:
    """The natural logarithm of the beta function B(a, b).

    >>> round(math.exp(log_beta(2.0, 3.0)), 12) == round(1 / 12, 12)
    True
    """
    n = a + b
    powers = -a * math.log1p(b / a) - b * math.log1p(a / b)
    root = _HALF_LOG_2PI + 0.5 * (math.log(n) - math.log(a) - math.log(b))
    return powers + root + _stirling(a) + _stirling(b) - _stirling(n)


def beta_cdf(x: float, a: float, b: float) -> float:
    """The chance that a Beta(a, b) draw is at most ``x``: the regularised incomplete beta function.

    >>> round(beta_cdf(0.1, 1.0, 3.0), 12)  # 1 - 0.9^3
    0.271
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    return _lower(x, 1.0 - x, a, b)


def beta_quantile(q: float, a: float, b: float) -> float:
    """The ``x`` that a Beta(a, b) draw stays below with chance ``q``; below 1e-304 it is 0.

    >>> round(beta_quantile(0.271, 1.0, 3.0), 12)
    0.1
    """
    if q <= 0.0:
        return 0.0
    if q >= 1.0:
        return 1.0
    # The smaller tail is the one known in full: 1 - q is exact for q above a half.
    t = _logit_quantile(q, a, b) if q <= 0.5 else -_logit_quantile(1.0 - q, b, a)
    return 0.0 if t <= -_EDGE else 1.0 / (1.0 + math.exp(-t))


def _logit_quantile(q: float, a: float, b: float) -> float:
    """The log-odds of the ``q`` quantile, for q up to a half.

    ln I is increasing and concave in t = ln(x / (1 - x)), so Newton's method passes the root at
    most once, leftwards, and then climbs to it. The bracket is for rounding and underflow.
    """
    low, high = -_EDGE, _EDGE
    if _lower(math.exp(low), 1.0, a, b) >= q:
        return low
    if _lower(1.0, math.exp(-high), a, b) <= q:
        return high
    t = min(max(math.log(a) - math.log(b), low), high)
    for _ in range(200):
        x, y = 1.0 / (1.0 + math.exp(-t)), 1.0 / (1.0 + math.exp(t))
        tail, slope = _lower(x, y, a, b), _kernel(x, y, a, b)
        low, high = (t, high) if tail < q else (low, t)
        new = low
        if tail > 0.0 and slope > 0.0:
            error = math.log(tail / q)
            new = t - error * tail / slope
            if abs(error) <= 1e-15 or abs(new - t) <= 1e-15 * max(1.0, abs(t)):
                return new
        t = new if low < new < high else 0.5 * (low + high)
    return t


def _lower(x: float, y: float, a: float, b: float) -> float:
    """I_x(a, b), given y = 1 - x as well since near 1 the difference would lose its digits."""
    if x <= (a + 1.0) / (a + b + 2.0):
        return _fraction(x, y, a, b)
    if b < 1.0:
        return _one_minus_series(y, b, a)
    return 1.0 - _fraction(y, x, b, a)


def _fraction(x: float, y: float, a: float, b: float) -> float:
    """I_x(a, b) for x below (a + 1) / (a + b + 2), by the even part of its continued fraction.

    The form of DiDonato and Morris (1992), by Lentz's method. For these x both running terms stay
    above half of ``bottom``, so nothing is divided by 0; it takes some (a + b)^(1/3) steps.
    """
    d = a * y - b * x + 1.0
    f = c = a * d / (a + 1.0)
    inverse = 0.0
    for m in range(1, 100_000_000):
        k = a + (2.0 * m - 1.0)
        top = ((a + (m - 1.0)) * x / k) * ((a + b + (m - 1.0)) * x / k) * m * (b - m)
        bottom = m + m * (b - m) * x / k + (a + m) * (d + m * (1.0 + y)) / (k + 2.0)
        c = bottom + top / c
        inverse = 1.0 / (bottom + top * inverse)
        f *= c * inverse
        if not abs(c * inverse - 1.0) > 3e-16:
            break
    return _kernel(x, y, a, b) / f


def _one_minus_series(y: float, b: float, a: float) -> float:
    """1 - I_y(b, a) for b below 1 and y below (b + 1) / (a + b + 2), exact for tiny b as well.

    I_y(b, a) = y^b / (b B(a, b)) (1 + b sum_k prod_{j <= k} (1 - a / j) y^k / (b + k)), where
    the factor in front tends to 1 with b: it is taken as expm1 of a logarithm of order b.
    """
    log_front = b * math.log(y) + _log_rise(a, b) - _log_rise(1.0, b)
    total, power, k = 0.0, 1.0, 0.0
    while abs(power) > 1e-17 * abs(total):
        k += 1.0
        power *= (1.0 - a / k) * y
        total += power / (b + k)
    return -math.expm1(log_front) - math.exp(log_front) * b * total


def _log_rise(a: float, b: float) -> float:
    """ln(Gamma(a + b) / Gamma(a)) for b up to 1, with an error in proportion to b."""
    total = 0.0
    while a < 10.0:
        total -= math.log1p(b / a)
        a += 1.0
    total += (a - 0.5) * math.log1p(b / a) - b + b * math.log(a + b)
    # Stirling's series at a + b less that at a: s^j - r^j = (s - r) (s^(j-1) + ... + r^(j-1)).
    r, s = 1.0 / a, 1.0 / (a + b)
    powers, last = 1.0, r
    for term in _STIRLING:
        total -= b * r * s * term * powers
        powers = s * (s * powers + last) + last * r
        last *= r * r
    return total


def _kernel(x: float, y: float, a: float, b: float) -> float:
    """x^a y^b / B(a, b), by Loader's (2000) saddle point form, whose terms stay small."""
    n = a + b
    d = b * x - a * y
    far = _excess(a, n * x, d) + _excess(b, n * y, -d)
    near = _stirling(n) - _stirling(a) - _stirling(b) - _HALF_LOG_2PI
    return math.sqrt(a / n) * math.sqrt(b) * math.exp(near - far)


def _excess(v: float, m: float, d: float) -> float:
    """v ln(v / m) + m - v, never below 0, where d = m - v is known better than by subtraction."""
    if v == 0.0:
        return m
    if abs(d) > 0.5 * v:
        # n x may underflow to 0 for shapes so small that this term does not count.
        return d + v * (math.log(v / m) if v < m else -math.log(max(m, 5e-324) / v))
    w = d / (v + m)
    total, power, k = 0.0, w, 1.0
    while abs(power) > 1e-17 * abs(w):
        k += 2.0
        power *= w * w
        total += power / k
    return d * w - 2.0 * v * total


def _stirling(z: float) -> float:
    """ln Gamma(z + 1) less (z + 1/2) ln z - z + ln(2 pi)/2."""
    # Not by math.lgamma: numba's own differs from Python's in the last digits.
    shift = 0.0
    while z < 10.0:
        shift += (z + 0.5) * math.log1p(1.0 / z) - 1.0
        z += 1.0
    total = 0.0
    for term in _STIRLING[::-1]:
        total = total / (z * z) + term
    return shift + total / z
