"""The normal quantile against scipy."""

import math

import numpy as np
from scipy import special

from cutline.core.logarithm import log_unit
from cutline.core.normal import normal_quantile


def reachable():
    """Uniforms as chance draws them: odd multiples of 2**-53, and all the way into the tails."""
    rng = np.random.default_rng(1)
    random = (2.0 * rng.integers(0, 2**52, 20_000) + 1.0) * 2.0**-53
    tails = 2.0 ** -np.arange(2.0, 54.0)
    joint = 0.075 + np.linspace(-1e-3, 1e-3, 501)  # where middle and tail meet
    return np.concatenate([random, tails, 1 - tails, joint, 1 - joint])


def test_quantile_agrees_with_scipy_to_the_last_digits():
    u = reachable()
    ours = np.array([normal_quantile(float(x)) for x in u])
    wanted = special.ndtri(u)
    assert np.all(np.abs(ours - wanted) <= 3e-15 * np.abs(wanted) + 1e-18)


def test_quantile_is_odd_and_rises():
    u = np.sort(reachable())
    ours = np.array([normal_quantile(float(x)) for x in u])
    assert np.all(np.diff(ours)[np.diff(u) > 1e-12] > 0)
    for x in (0.25, 2.0**-30, 2.0**-53):
        assert normal_quantile(x) == -normal_quantile(1 - x)


def test_logarithm():
    for x in reachable():
        assert abs(log_unit(float(x)) - math.log(x)) <= 4e-16 * max(1.0, abs(math.log(x)))
