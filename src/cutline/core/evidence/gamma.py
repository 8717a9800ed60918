"""What counts and waiting times share: mixtures over a Gamma(1/2) prior cut off at the edge."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from cutline.core.evidence.base import Evidence
from cutline.core.evidence.edges import edge_where
from cutline.core.tails import log_gamma_mills_above, log_gamma_mills_below

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


@dataclass(frozen=True)
class GammaMixture(Evidence):
    """Evidence on means from 0 up, by such a mixture."""

    def interval(self, state: Mapping[str, float], log_level: float) -> tuple[float, float]:
        """By halving; from 0, and without end while there are few rewards."""
        n, total = state["pulls"], state["total"]
        mean = total / max(n, 1.0)
        above, below = type(self).log_above, type(self).log_below
        return (
            edge_where(lambda m: above(n, total, m) - log_level, mean, 0.0),
            edge_where(lambda m: below(n, total, m) - log_level, mean, math.inf),
        )
