"""What counts and waiting times share: mixtures over a Gamma(1/2) prior cut off at the edge."""

import math

from cutline.core.special import log_gamma_mills_above, log_gamma_mills_below

# With shape 1/2 and a rate such that the edge lies at x = 1/2, the factor x^a e^-x / Gamma(a) of
# the prior is the constant below, and so are its masses beyond the edge.
_FRONT = -0.5 * math.log(2.0) - 0.5 - 0.5 * math.log(math.pi)
_LOG_MORE = math.log(math.erfc(math.sqrt(0.5)))
_LOG_LESS = math.log(math.erf(math.sqrt(0.5)))


def log_mixture_of_more(events: float, expected: float) -> float:
    r"""The logarithm of the e-value for "more events than expected".

    .. math:: \ln\int_1^\infty r^k e^{-(r-1)\nu}\,\pi(r)\,dr

    the mean likelihood ratio of a Poisson process with r times the expected number of events, where
    pi is the Gamma(1/2, rate 1/2) density cut off at 1; k are the events and nu those expected.

    >>> round(log_mixture_of_more(20.0, 10.0), 4)
    2.8532
    """
    return _FRONT - _LOG_MORE + log_gamma_mills_above(expected + 0.5, events + 0.5)


def log_mixture_of_fewer(events: float, expected: float) -> float:
    """The logarithm of the e-value for "fewer events than expected": r from 0 to 1.

    >>> round(log_mixture_of_fewer(10.0, 20.0), 4)
    1.6833
    """
    return _FRONT - _LOG_LESS + log_gamma_mills_below(expected + 0.5, events + 0.5)
