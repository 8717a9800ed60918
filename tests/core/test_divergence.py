"""The divergences: by hand, in rationals where the means are close, at the edges, compiled."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from cutline.core.divergence import DIVERGENCES, exponential_kl, gaussian_kl, poisson_kl
from cutline.core.special import bernoulli_kl
from cutline.simulation.compiling import compile_kernel


def near(value, rel):
    """Equal up to a share of ``value``, however small that is: approx alone allows 1e-12."""
    return pytest.approx(float(value), rel=rel, abs=0)


def log1p_less_x(x: Fraction) -> Fraction:
    """ln(1 + x) - x in rationals, for |x| up to 0.51: its series without the first term."""
    terms = ((-1) ** (k + 1) * x**k / k for k in range(2, 90))
    return sum(terms, Fraction(0))


def test_by_hand():
    assert poisson_kl(1.0, 4.0) == near(3 - math.log(4), 1e-15)
    assert poisson_kl(4.0, 1.0) == near(4 * math.log(4) - 3, 1e-15)
    assert exponential_kl(4.0, 1.0) == near(3 - math.log(4), 1e-15)
    assert exponential_kl(1.0, 4.0) == near(math.log(4) - 0.75, 1e-15)
    assert gaussian_kl(0.9, 0.4, 0.5) == near(0.5, 1e-15)
    assert gaussian_kl(-3.0, 1.0, 2.0) == 2.0


@pytest.mark.parametrize("step", [2.0**-2, 2.0**-10, 2.0**-26, 2.0**-50])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("q", [0.75, 12.5, 0.004])
def test_digits_are_kept_when_the_means_are_close(q, sign, step):
    p = q * (1 + sign * step)
    P, Q = Fraction(p), Fraction(q)
    # exponential: with x = p/q - 1 it is x - ln(1 + x); Poisson(p, q) is p times that of q and p
    assert exponential_kl(p, q) == near(-log1p_less_x(P / Q - 1), 1e-14)
    assert poisson_kl(p, q) == near(P * -log1p_less_x(Q / P - 1), 1e-14)


def test_both_ways_of_computing_meet_where_one_takes_over():
    for p, q in [(1.0, 2.0 - 2.0**-40), (1.0, 2.0), (2.0 - 2.0**-40, 1.0), (2.0, 1.0)]:
        assert poisson_kl(p, q) == near(p * math.log(p / q) + q - p, 1e-14)
        assert exponential_kl(p, q) == near(p / q - 1 - math.log(p / q), 1e-14)


def test_counts_and_waiting_times_are_one_function_seen_from_either_side():
    for p, q in np.random.default_rng(1).uniform(0.01, 9, size=(300, 2)).tolist():
        assert exponential_kl(p, q) == near(poisson_kl(q, p) / q, 1e-13)


def test_the_divergence_is_an_expected_log_likelihood_ratio():
    p, q = 3.0, 4.5
    chances = [math.exp(-p) * p**k / math.factorial(k) for k in range(80)]
    ratio = [(q - p) + k * math.log(p / q) for k in range(80)]
    wanted = math.fsum(c * r for c, r in zip(chances, ratio, strict=True))
    assert poisson_kl(p, q) == near(wanted, 1e-13)
    x = (np.arange(400_000) + 0.5) / 5_000  # to 80, some 26 means; the midpoint rule
    density = np.exp(-x / p) / p
    wanted = float(np.sum(density * (math.log(q / p) + x / q - x / p))) / 5_000
    assert exponential_kl(p, q) == near(wanted, 1e-6)


def test_edges():
    assert [poisson_kl(p, 0.0) for p in (0.0, 1e-300, 2.0)] == [0.0, math.inf, math.inf]
    assert poisson_kl(1.0, -1.0) == math.inf
    assert [poisson_kl(0.0, q) for q in (1e-300, 2.0, math.inf)] == [1e-300, 2.0, math.inf]
    for p, q in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (1.0, -1.0)]:
        assert exponential_kl(p, q) == math.inf
    assert exponential_kl(2.5, 2.5) == poisson_kl(2.5, 2.5) == 0.0
    assert gaussian_kl(1.0, 1.0, 0.0) == 0.0
    assert gaussian_kl(1.0, 2.0, 0.0) == math.inf


def test_extremes_neither_raise_nor_lose_the_answer():
    decades = math.log(10)
    assert poisson_kl(1e300, 1e-300) == near(1e300 * (600 * decades - 1), 1e-14)
    assert poisson_kl(1e-300, 1e300) == 1e300
    assert exponential_kl(1e-300, 1e300) == near(600 * decades - 1, 1e-14)
    assert exponential_kl(1e300, 1e-300) == math.inf
    for divergence in (poisson_kl, exponential_kl):  # no means at all, but nothing is raised
        for p, q in [(1.0, math.inf), (math.inf, 1.0), (math.inf, math.inf)]:
            assert isinstance(divergence(p, q), float)
    assert all(math.isnan(f(math.nan, 1.0)) for f in (poisson_kl, exponential_kl))
    assert math.isnan(gaussian_kl(1.0, math.nan, 1.0))


def test_never_negative_and_growing_away_from_the_truth():
    for divergence in (*DIVERGENCES.values(), lambda p, q: gaussian_kl(p, q, 0.3)):
        for p in (0.05, 0.5, 0.9):
            above = [divergence(p, q) for q in np.linspace(p, 0.999, 50).tolist()]
            below = [divergence(p, q) for q in np.linspace(p, 0.001, 50).tolist()]
            for away in (above, below):
                assert away[0] == 0.0
                assert all(nearer < further for nearer, further in pairwise(away))


def test_the_table_holds_the_families_with_one_parameter():
    assert set(DIVERGENCES) == {"binary", "bounded", "poisson", "exponential"}
    assert DIVERGENCES["binary"] is DIVERGENCES["bounded"] is bernoulli_kl


def test_compiled_they_give_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("CUTLINE_CACHE_DIR", str(tmp_path))
    rng = np.random.default_rng(2)
    pairs = (10.0 ** rng.uniform(-3, 3, size=(500, 2))).tolist()
    pairs += [[p, p * (1 + 10.0 ** -rng.integers(1, 16))] for p, _ in pairs[:100]]
    pairs += [[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [1e300, 1e-300], [1e-300, 1e300]]
    for plain in (poisson_kl, exponential_kl):
        fast = compile_kernel(plain, plain.__name__)
        assert [fast(p, q) for p, q in pairs] == [plain(p, q) for p, q in pairs]
    fast = compile_kernel(gaussian_kl, "gaussian_kl")
    for sd in (0.0, 0.5, 2.0):
        assert [fast(p, q, sd) for p, q in pairs] == [gaussian_kl(p, q, sd) for p, q in pairs]
