"""The logarithm of the formulas: against Python's over all that it is for, and compiled."""

import math
from itertools import pairwise

import numpy as np
import pytest

from cutline.core.logarithm import log_positive, log_unit
from cutline.simulation.compiling import compile_kernel

TINY = 2.0**-64  # the least number it is for


def units():
    """Numbers from 2**-64 to 1: anywhere, beside every doubling and halfway there, and near 1."""
    anywhere = (2.0 ** np.random.default_rng(1).uniform(-64, 0, size=20_000)).tolist()
    powers = [2.0**-k for k in range(65)]
    turns = [*powers[:-1], *(math.sqrt(0.5) * power for power in powers[:-1])]
    beside = [math.nextafter(x, to) for x in turns for to in (0.0, 1.0)]
    return [*anywhere, *powers, *turns, *beside, *(1 - 2.0**-k for k in range(1, 54))]


def test_log_unit_equals_the_logarithm():
    for x in units():
        assert abs(log_unit(x) - math.log(x)) <= 4e-16 * abs(math.log(x)), x


def test_log_positive_equals_the_logarithm():
    for x in units():
        for y in (x, 1 / x):
            # Above 1 it is that of 1/y, whose rounding counts where the logarithm is near 0.
            slack = 0.0 if y <= 1 else 1.2e-16
            assert abs(log_positive(y) - math.log(y)) <= 4e-16 * abs(math.log(y)) + slack, y


def test_ends_and_exact_values():
    assert log_unit(1.0) == log_positive(1.0) == 0.0
    assert log_unit(TINY) == log_positive(TINY) == math.log(TINY)
    assert log_positive(2.0**64) == -math.log(TINY)
    for k in range(65):  # reciprocals of these are exact
        assert log_positive(2.0**k) == -log_positive(2.0**-k)


def test_it_never_falls():
    grid = np.geomspace(TINY, 2.0**64, 20_001).tolist()
    assert all(log_positive(low) < log_positive(high) for low, high in pairwise(grid))


@pytest.mark.parametrize("x", [5e-324, 1e-300, 1e-30, 1e30, 1e300])
def test_beyond_its_range_it_is_wrong_but_a_number_with_the_right_sign(x):
    # A formula at the edge of its range must not turn into "not a number".
    assert math.isfinite(log_positive(x))
    assert (log_positive(x) > 0) == (x > 1)


@pytest.mark.parametrize("log", [log_unit, log_positive])
def test_compiled_it_gives_the_same_digits(log):
    compiled = compile_kernel(log, "test")
    for x in units()[::7]:
        assert compiled(x) == log(x)
    if log is log_positive:
        assert all(compiled(1 / x) == log(1 / x) for x in units()[::7])
