"""The special functions against exact arithmetic, against scipy, and compiled."""

import importlib.util
import inspect
import math
from fractions import Fraction
from types import ModuleType

import numba
import numpy as np
import pytest
from scipy import special as scipy_special

from cutline.core import special
from cutline.core.special import (
    bernoulli_kl,
    beta_cdf,
    beta_quantile,
    log_beta,
    normal_cdf,
)

ULP = 2.0**-53


def shapes_and_points(count, seed, decades):
    """Shapes over many decades; points in the bulk and the tails, anywhere, and next to 0 and 1."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        a, b = (10.0 ** rng.uniform(*decades, size=2)).tolist()
        mean = a / (a + b)
        sd = math.sqrt(mean * (1 - mean) / (a + b + 1))
        edge = 10.0 ** rng.uniform(-16, 0)
        x = rng.choice([mean + rng.uniform(-20, 20) * sd, rng.random(), edge, 1 - edge])
        if 0 < x < 1:
            yield float(x), a, b


def near(value, rel):
    """Equal up to a share of ``value``, however small that is: approx alone allows 1e-12."""
    return pytest.approx(value, rel=rel, abs=0)


def beta_density(x, a, b):
    return math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - scipy_special.betaln(a, b))


def exact_beta_cdf(x, a, b):
    """For whole a and b: the chance of a or more heads in a + b - 1 tosses, in rationals."""
    x, n = Fraction(x), a + b - 1
    return sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))


@pytest.mark.parametrize("x", [1e-9, 0.001, 0.2, 0.5, 0.7, 0.999, 1 - 2.0**-40])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 9), (2, 3), (5, 1), (12, 30), (40, 7), (60, 60)])
def test_beta_cdf_equals_exact_arithmetic(x, a, b):
    truth = exact_beta_cdf(x, a, b)
    found = Fraction(beta_cdf(x, float(a), float(b)))
    # What is below 1e-300 has fewer digits, or none.
    assert abs(found - truth) < max(1e-13 * truth, 1e-313)


def test_beta_cdf_agrees_with_scipy_from_tiny_to_huge_shapes():
    checked = 0
    for x, a, b in shapes_and_points(6_000, seed=1, decades=(-9, 9)):
        wanted = float(scipy_special.betainc(a, b, x))
        if wanted < 1e-290:
            assert beta_cdf(x, a, b) < 1e-289
            continue
        # What one rounding of x itself does to the answer; it passes 1e-13 only far in the tails.
        sensitivity = beta_density(x, a, b) * x / wanted * ULP
        assert beta_cdf(x, a, b) == near(wanted, 2e-13 + 8 * sensitivity), (x, a, b)
        checked += 1
    assert checked > 3_500


@pytest.mark.parametrize("b", [1e-30, 1e-9, 1e-3, 0.3, 0.99])
@pytest.mark.parametrize("x", [1e-12, 0.3, 0.8, 0.99, 1 - 2.0**-50])
def test_beta_cdf_keeps_its_digits_when_almost_all_mass_is_at_one(x, b):
    log_y = math.log1p(-x)
    assert beta_cdf(x, 1.0, b) == near(-math.expm1(b * log_y), 1e-13)
    # I_x(2, b) = 1 - (1 - x)^b (1 + b x), whose two terms cancel to order b or less for small x
    if x > 0.1:
        wanted = -math.expm1(b * log_y + math.log1p(b * x))
        assert beta_cdf(x, 2.0, b) == near(wanted, 1e-13)


def test_beta_cdf_ends_and_arcsine():
    assert beta_cdf(0.0, 2.0, 3.0) == 0.0
    assert beta_cdf(-1.0, 2.0, 3.0) == 0.0
    assert beta_cdf(1.0, 2.0, 3.0) == 1.0
    assert beta_cdf(2.0, 2.0, 3.0) == 1.0
    assert math.isnan(beta_cdf(math.nan, 2.0, 3.0))
    for x in (1e-20, 0.1, 0.5, 0.95):
        arcsine = 2 / math.pi * math.asin(math.sqrt(x))
        assert beta_cdf(x, 0.5, 0.5) == near(arcsine, 1e-14)


def test_beta_cdf_near_the_mean_of_huge_shapes_takes_few_steps():
    # By symmetry a half; the fraction needs some (a + b)^(1/3) steps, so this is quick or never.
    assert beta_cdf(0.5, 1e12, 1e12) == near(0.5, 1e-12)


def test_beta_quantile_agrees_with_scipy():
    rng = np.random.default_rng(2)
    checked = 0
    for _ in range(3_000):
        a, b = (10.0 ** rng.uniform(-3, 7, size=2)).tolist()
        tiny = 10.0 ** rng.uniform(-200, 0)
        q = float(rng.choice([rng.random(), tiny, 1 - 10.0 ** rng.uniform(-14, -1)]))
        x = beta_quantile(q, a, b)
        wanted = float(scipy_special.betaincinv(a, b, q))
        if math.isnan(wanted):  # scipy gives up now and then where q and a shape are both small
            continue
        if wanted < 1e-280 or wanted > 1 - 1e-9:
            assert x == pytest.approx(wanted, abs=1e-15)
            continue
        # What one rounding of q does to the answer: all there is to know for small shapes.
        sensitivity = min(q, 1 - q) / (beta_density(x, a, b) * x) * ULP
        assert x == near(wanted, 1e-11 + 16 * sensitivity), (q, a, b)
        checked += 1
    assert checked > 1_500


def test_beta_quantile_undoes_beta_cdf_without_scipy():
    for x, a, b in shapes_and_points(2_000, seed=3, decades=(-2, 6)):
        q = beta_cdf(x, a, b)
        if not 1e-290 < q < 0.999:
            continue
        sensitivity = min(q, 1 - q) / (beta_density(x, a, b) * x) * ULP
        assert beta_quantile(q, a, b) == near(x, 1e-12 + 32 * sensitivity), (x, a, b)


@pytest.mark.parametrize("q", [1e-280, 1e-12, 0.025, 0.5, 0.975, 1 - 1e-12])
@pytest.mark.parametrize("b", [1e-6, 1e-3, 1.0, 1e3, 1e12])
def test_beta_quantile_with_one_shape_1_has_a_closed_form(q, b):
    wanted = -math.expm1(math.log1p(-q) / b)  # q = 1 - (1 - x)^b
    assert beta_quantile(q, 1.0, b) == near(wanted, 1e-11)
    if q > 1e-12:  # q = x^b; the mirror image, where 1 - x is what is small
        assert beta_quantile(q, b, 1.0) == near(math.exp(math.log(q) / b), 1e-9)


def test_beta_quantile_at_its_ends():
    assert beta_quantile(0.0, 2.0, 3.0) == 0.0
    assert beta_quantile(1.0, 2.0, 3.0) == 1.0
    assert beta_quantile(0.5, 3.0, 3.0) == near(0.5, 1e-14)
    # 0.4 ** 1e10, and one less that: nearer to 0 and to 1 than a double can say.
    assert beta_quantile(0.4, 1e-10, 1.0) == 0.0
    assert beta_quantile(0.6, 1e-10, 1.0) == 0.0
    assert beta_quantile(0.4, 1.0, 1e-10) == 1.0
    assert beta_quantile(0.6, 1.0, 1e-10) == 1.0
    assert beta_quantile(0.4, 1e-100, 1e-100) == 0.0
    assert beta_quantile(0.6, 1e-100, 1e-100) == 1.0


def test_log_beta_equals_binomial_coefficients_and_scipy():
    for m, n in [(1, 1), (2, 3), (10, 4), (300, 200), (5_000, 1)]:
        wanted = -math.log(m * math.comb(m + n - 1, m))
        assert log_beta(float(m), float(n)) == pytest.approx(wanted, rel=1e-14, abs=1e-14)
    rng = np.random.default_rng(4)
    for a, b in 10.0 ** rng.uniform(-10, 5, size=(2_000, 2)):
        wanted = scipy_special.betaln(a, b)
        # scipy takes the difference of logarithms of Gamma as large as 1e6, so it is off by 1e-10.
        assert log_beta(float(a), float(b)) == pytest.approx(wanted, rel=1e-12, abs=1e-9)
    # The logarithms of Gamma are 2.7e13 here: their difference would be off by a thousandth.
    # B(a, 1) = 1 / a and B(a, 2) = 1 / (a (a + 1)).
    assert log_beta(1e12, 1.0) == near(-math.log(1e12), 1e-14)
    assert log_beta(2.0, 1e12) == near(-math.log(1e12) - math.log(1e12 + 1), 1e-14)


def test_normal_cdf_agrees_with_scipy_far_into_the_tails():
    for x in np.linspace(-37, 9, 400):
        # One rounding of x changes the tail by a share of about x^2 roundings.
        wanted = scipy_special.ndtr(x)
        assert normal_cdf(float(x)) == near(wanted, 1e-14 + 4 * x * x * ULP)
    assert normal_cdf(-1.959963984540054) == near(0.025, 1e-14)
    assert normal_cdf(-40.0) == pytest.approx(0.0, abs=1e-300)
    assert normal_cdf(math.inf) == 1.0


def test_bernoulli_kl_by_hand():
    assert bernoulli_kl(0.5, 0.25) == near(0.5 * math.log(4 / 3), 1e-14)
    assert bernoulli_kl(0.0, 0.3) == near(-math.log(0.7), 1e-14)
    assert bernoulli_kl(1.0, 0.3) == near(-math.log(0.3), 1e-14)
    assert bernoulli_kl(0.3, 0.3) == 0.0
    assert bernoulli_kl(0.0, 0.0) == 0.0
    assert bernoulli_kl(1.0, 1.0) == 0.0
    for p, q in [(0.5, 0.0), (1.0, 0.0), (0.5, 1.0), (0.0, 1.0)]:
        assert bernoulli_kl(p, q) == math.inf


def test_bernoulli_kl_agrees_with_scipy_and_does_not_cancel():
    rng = np.random.default_rng(5)
    for p, q in rng.random((500, 2)):
        wanted = scipy_special.rel_entr(p, q) + scipy_special.rel_entr(1 - p, 1 - q)
        assert bernoulli_kl(float(p), float(q)) == pytest.approx(wanted, rel=1e-12, abs=1e-15)
    # KL = d^2/(2 p (1-p)) (1 + O(d)); the sum of the two logarithms has no digits left at d = 1e-9.
    p, q = 0.25, 0.25 + 2.0**-30
    assert bernoulli_kl(p, q) == near((q - p) ** 2 / (2 * p * (1 - p)), 1e-8)
    assert bernoulli_kl(0.5, 1e-320) == near(-math.log(2) - math.log(1e-320) / 2, 1e-14)


def compiled() -> ModuleType:
    """A second copy of the module, every function of it compiled in nopython mode."""
    spec = importlib.util.spec_from_file_location("compiled_special", special.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, function in inspect.getmembers(module, inspect.isfunction):
        setattr(module, name, numba.njit(function))
    return module


def test_compiled_functions_give_the_same_numbers():
    fast = compiled()
    for x, a, b in shapes_and_points(2_000, seed=6, decades=(-8, 6)):
        assert fast.log_beta(a, b) == log_beta(a, b)
        assert fast.beta_cdf(x, a, b) == beta_cdf(x, a, b)
        assert fast.beta_quantile(x, a, b) == beta_quantile(x, a, b)
        assert fast.normal_cdf(-40 * x) == normal_cdf(-40 * x)
        assert fast.bernoulli_kl(x, a / (a + b)) == bernoulli_kl(x, a / (a + b))
    assert fast.bernoulli_kl(0.5, 0.0) == math.inf
    assert fast.bernoulli_kl(0.0, 0.0) == 0.0
    assert fast.beta_quantile(0.4, 1e-10, 1.0) == 0.0
