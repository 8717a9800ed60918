"""How much one reward tells two members of a family apart: Kullback-Leibler divergences, in nats.

Each family is known by its mean, and a divergence is a function of two means: the expected log
likelihood ratio per reward when ``p`` is the truth and ``q`` the rival. Plain numbers over ``math``
alone, so that numba compiles the same source: floats in, floats out, no exceptions, nothing
checked. For coins see :func:`cutline.core.special.bernoulli_kl`.
"""

import math
from collections.abc import Callable

from cutline.core.special import _excess, bernoulli_kl


def poisson_kl(p: float, q: float) -> float:
    r"""The divergence between two Poisson laws: :math:`p\ln\frac pq + q - p`.

    >>> round(poisson_kl(1.0, 2.0), 12) == round(1 - math.log(2), 12)
    True
    >>> poisson_kl(0.0, 3.0), poisson_kl(3.0, 0.0), poisson_kl(0.0, 0.0)
    (3.0, inf, 0.0)
    """
    if p == q:
        return 0.0
    if q <= 0.0:
        return math.inf
    if p <= 0.0:
        return q
    if 0.5 < p / q < 2.0:
        return _excess(p, q, q - p)  # a series: the three terms would cancel
    return p * _log_ratio(p, q) + q - p


def exponential_kl(p: float, q: float) -> float:
    r"""The divergence between two exponential laws: :math:`\frac pq - 1 - \ln\frac pq`.

    >>> round(exponential_kl(2.0, 1.0), 12) == round(1 - math.log(2), 12)
    True
    >>> exponential_kl(0.0, 1.0), exponential_kl(1.0, 0.0), exponential_kl(3.0, 3.0)
    (inf, inf, 0.0)
    """
    if p <= 0.0 or q <= 0.0:
        return math.inf
    if p == q:
        return 0.0
    if 0.5 < p / q < 2.0:
        return _excess(1.0, p / q, (p - q) / q)
    return p / q - 1.0 - _log_ratio(p, q)


def gaussian_kl(p: float, q: float, sd: float) -> float:
    r"""The divergence between two normal laws of one spread: :math:`(p - q)^2 / (2\,sd^2)`.

    >>> gaussian_kl(1.0, 0.0, 0.5)
    2.0
    """
    if p == q:
        return 0.0
    if sd <= 0.0:
        return math.inf
    z = (p - q) / sd
    return 0.5 * z * z


def _log_ratio(p: float, q: float) -> float:
    """ln(p / q), also where the quotient is beyond what a double can hold."""
    ratio = p / q
    if 1e-300 < ratio < 1e300:
        return math.log(ratio)
    return math.log(p) - math.log(q)


# By kind of reward, for the kinds that have one parameter. For bounded rewards it is that of the
# two-point laws on the ends, with means mapped to [0, 1]: among all laws in [0, 1] with the mean p
# and all with the mean q, no two are closer than these coins.
DIVERGENCES: dict[str, Callable[[float, float], float]] = {
    "binary": bernoulli_kl,
    "bounded": bernoulli_kl,
    "poisson": poisson_kl,
    "exponential": exponential_kl,
}
