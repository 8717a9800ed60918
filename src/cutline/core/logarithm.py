"""The natural logarithm, in + - * / alone.

No branches and no library calls: compiled, a formula that uses it runs for many games at once, and
gives the same digits on every machine. In plain Python it is slow, and a live game asks for the
same few numbers again and again, so those are kept; compiling leaves that out.
"""

from functools import lru_cache


@lru_cache(maxsize=2**14, typed=True)
def log_unit(x: float) -> float:
    """The natural logarithm of x, for 2**-64 <= x <= 1.

    >>> import math
    >>> abs(log_unit(0.01) - math.log(0.01)) < 1e-15
    True
    """
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
    scaled, lower, small = x * 2.0, e - 1.0, x < 0.7071067811865476
    x, e = scaled if small else x, lower if small else e
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


@lru_cache(maxsize=2**14, typed=True)
def log_positive(x: float) -> float:
    """The natural logarithm of x, for 2**-64 <= x <= 2**64.

    >>> import math
    >>> abs(log_positive(1e9) - math.log(1e9)) < 1e-14
    True
    """
    small = x <= 1.0
    inverse = 1.0 / x
    log = log_unit(x if small else inverse)
    mirrored = -log
    return log if small else mirrored
