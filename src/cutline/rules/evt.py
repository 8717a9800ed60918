"""EVT, guided by the variance that an arm shows."""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import IndexRule
from cutline.rules.kinds import in_a_range, unit_width


def biased_variance(pulls: float, total: float, squares: float) -> float:
    """The mean square less the square of the mean; whole numbers stay exact until the division.

    >>> biased_variance(4.0, 1.0, 1.0)  # three 0s and a 1
    0.1875
    """
    return max(pulls * squares - total * total, 0.0) / (pulls * pulls)


class EVT(IndexRule):
    r"""Pull the arm that is least settled, given how much its rewards vary.

    .. math:: \sqrt{n_i}\,\bigl(\sqrt{\hat\sigma_i^2 + g_i} - \sqrt{\hat\sigma_i^2}\bigr),
              \qquad g_i = |\hat\mu_i - \tau| + \epsilon

    Zhong, Huang and Liu (2017), "Asynchronous parallel empirical variance guided algorithms for the
    thresholding bandit problem": the parameter-free one. The variance is that of the rewards seen,
    divided by n. Every arm is pulled twice to begin with. The paper has no precision; Radtke adds
    it to the gap, and so do we. It is for rewards in a range, scaled to [0, 1]; normal ones
    are taken as they are, which no theorem covers.

    The variance of a few alike rewards is 0: an arm with a mean near 0 or 1 can be left early.

    >>> from cutline.core import Tally
    >>> round(EVT().index(Tally(20, 13.0, 13.0), threshold=0.5, width=1.0), 10)
    0.614653432
    """

    name = "evt"
    first_pulls: ClassVar[int] = 2
    needs_horizon: ClassVar[bool] = False

    def check(self, problem: Problem) -> None:
        """Gap and variance are compared, so rewards need a unit."""
        in_a_range(self.name, problem, "gaussian")

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The range of the rewards."""
        in_range = problem.rewards.kind in ("binary", "bounded")
        return {"width": unit_width(problem) if in_range else 1.0}

    @staticmethod
    def formula(
        pulls: float, total: float, squares: float, tau: float, eps: float, width: float
    ) -> float:
        """With the difference of roots as g / (sqrt(v + g) + sqrt(v)), which loses no digits."""
        gap = (abs(total - pulls * tau) + pulls * eps) / (pulls * width)
        variance = biased_variance(pulls, total, squares) / (width * width)
        roots = math.sqrt(variance + gap) + math.sqrt(variance)
        return math.sqrt(pulls) * gap / max(roots, 1e-100)
