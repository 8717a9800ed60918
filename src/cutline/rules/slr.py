"""The likelihood-ratio rule with forced exploration, for binary and [0, 1] rewards."""

import math

from cutline.core.problem import Problem
from cutline.core.special import bernoulli_kl
from cutline.rules.base import ClockedIndexRule


class SLRD(ClockedIndexRule):
    r"""Pull the arm whose data could best come from the other side of the band; none is forgotten.

    .. math:: n_i\,\mathrm{kl}(\hat\mu_i,\ \tau \mp \epsilon)

    towards the far edge of the band (Radtke's SLR-D): an arm pulled less than sqrt(t) - K/2 times
    goes first, so no arm is locked out by one extreme sample. Because of that floor the index
    depends on the step.

    >>> from cutline.core import Tally
    >>> tally = Tally(20, 13.0)
    >>> round(SLRD().index(tally, threshold=0.5, precision=0.1, arms=10, step=20), 10)
    2.5386261
    >>> SLRD().index(tally, threshold=0.5, precision=0.1, arms=10, step=1000) < 0
    True
    """

    name = "slr-d"

    def check(self, problem: Problem) -> None:
        """Rewards must lie between 0 and 1."""
        if (problem.rewards.low, problem.rewards.high) != (0.0, 1.0):
            raise ValueError(
                f"slr-d is for rewards between 0 and 1, these are {problem.rewards.kind}"
            )

    @staticmethod
    def formula(
        pulls: float, total: float, tau: float, eps: float, arms: float, step: float
    ) -> float:
        """The likelihood ratio, or fewest pulls first where the floor is not reached."""
        floor = math.sqrt(step) - arms / 2.0
        if pulls < floor:
            return pulls - floor
        mean = total / pulls
        far = max(tau - eps, 0.0) if mean >= tau else min(tau + eps, 1.0)
        return pulls * bernoulli_kl(mean, far)
