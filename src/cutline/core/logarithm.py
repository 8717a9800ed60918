"""The natural logarithm, in + - * / alone, so that it gives the same digits on every machine.

Compiled, it has no branches and no library calls: a formula that uses it runs for many games at
once. In plain Python that would be slow, so there a number is taken apart by ``frexp``, which is
exact too.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

_HALFWAY = 0.7071067811865476

Function = TypeVar("Function", bound=Callable[..., float])


def compiled_as(other: Callable[..., float]) -> Callable[[Function], Function]:
    """Mark a function that has a twin to be compiled in its place, with the same digits."""

    def mark(function: Function) -> Function:
        function.compiled_as = other  # type: ignore[attr-defined]
        return function

    return mark


def _from_parts(x: float, e: float) -> float:
    """The natural logarithm of x 2**e, for sqrt(1/2) <= x < sqrt(2)."""
    s = (x - 1.0) / (x + 1.0)  # log x = 2 atanh(s), |s| < 0.172
    z = s * s
    # atanh(s) / s as a polynomial in z, fitted for this project; error about 1e-18
    p = 0.074048551803276383491
    p = p * z + 0.07656264074182095483
    p = p * z + 0.090918158401146644019
    p = p * z + 0.11111098528363023304
    p = p * z + 0.14285714380320839941
    p = p * z + 0.19999999999651169056
    p = p * z + 0.33333333333333822829
    p = p * z + 1.0
    return e * 0.6931471805599453 + 2.0 * s * p


def _without_branches(x: float) -> float:
    e = 0.0
    # Bring x into [1/2, 1) by doublings; both sides of every choice are computed first, so that
    # none becomes a jump.
    scaled, lower, small = x * 2.0**32, e - 32.0, x < 2.0**-32
    x, e = scaled if small else x, lower if small else e
    scaled, lower, small = x * 2.0**16, e - 16.0, x < 2.0**-16
    x, e = scaled if small else x, lower if small else e
    scaled, lower, small = x * 2.0**8, e - 8.0, x < 2.0**-8
    x, e = scaled if small else x, lower if small else e
    scaled, lower, small = x * 2.0**4, e - 4.0, x < 2.0**-4
    x, e = scaled if small else x, lower if small else e
    scaled, lower, small = x * 2.0**2, e - 2.0, x < 2.0**-2
    x, e = scaled if small else x, lower if small else e
    scaled, lower, small = x * 2.0, e - 1.0, x < 0.5
    x, e = scaled if small else x, lower if small else e
    scaled, lower, small = x * 2.0, e - 1.0, x < _HALFWAY
    x, e = scaled if small else x, lower if small else e
    return _from_parts(x, e)


@compiled_as(_without_branches)
def log_unit(x: float) -> float:
    """The natural logarithm of x, for 2**-64 <= x <= 1.

    >>> abs(log_unit(0.01) - math.log(0.01)) < 1e-15
    True
    """
    x, e = math.frexp(x)
    return _from_parts(2.0 * x, e - 1) if x < _HALFWAY else _from_parts(x, e)


log_again = lru_cache(maxsize=1024)(log_unit)
"""The same, for numbers that come again and again: plain Python keeps them."""


def log_positive(x: float) -> float:
    """The natural logarithm of x, for 2**-64 <= x <= 2**64.

    >>> abs(log_positive(1e9) - math.log(1e9)) < 1e-14
    True
    """
    small = x <= 1.0
    inverse = 1.0 / x
    log = log_again(x if small else inverse)
    mirrored = -log
    return log if small else mirrored
