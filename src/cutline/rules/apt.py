"""APT, the anytime parameter-free thresholding rule of Locatelli, Gutzeit and Carpentier (2016)."""

import math

from cutline.rules.base import IndexRule


class APT(IndexRule):
    r"""Pull the arm whose side of the threshold is least settled (Algorithm 1).

    .. math:: B_i(t+1) = \sqrt{T_i(t)}\,\bigl(|\hat\mu_i(t) - \tau| + \epsilon\bigr)

    It needs neither the horizon, nor the noise, nor the complexity of the problem.

    >>> from cutline.core import Tally
    >>> APT().index(Tally(pulls=4, total=2.0), threshold=0.5, precision=0.1)
    0.2
    """

    name = "apt"

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float) -> float:
        """Eq. (5) as (abs(S - n tau) + n eps) / sqrt(n), which keeps exact ties exact."""
        return (abs(total - pulls * tau) + pulls * eps) / math.sqrt(pulls)
