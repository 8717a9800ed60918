"""Samplers of good-arm identification, for games that stop at a confidence.

Kano, Honda, Sakamaki, Matsuura, Nakamura and Sugiyama (2019), "Good arm identification via bandit
feedback", name the arms above the threshold one by one, as soon as each is proven. Who is proven is
not up to the sampler, which only says whom to pull among the others. Their third sampler, APT-G, is
:class:`APT` itself; the sampler of CLUCB, the open arm with the widest interval, pulls the one
with fewest pulls and so is :class:`RoundRobin`.
"""

import math
from dataclasses import dataclass

from cutline.core.logarithm import log_unit
from cutline.core.problem import Problem
from cutline.rules.base import ClockedIndexRule, IndexRule
from cutline.rules.kinds import InUnits, in_a_range


class HDoC(InUnits, ClockedIndexRule):
    r"""Pull the arm that may be the best, to prove good arms early: the sampler of UCB.

    .. math:: -\Bigl(\hat\mu_i + \sqrt{\frac{\ln t}{2 n_i}}\Bigr)

    "Hybrid algorithm for the Dilemma of Confidence" (Kano et al. 2019): rewards in a range, scaled
    to [0, 1]; t counts the pulls so far. It pays no heed to thresholds or precision: at a fixed
    budget, where no arm is taken out of the game, it is a rule for the best arm.

    >>> from cutline.core import Tally
    >>> index = HDoC().index(Tally(8, 4.0), threshold=0.3, width=1.0, step=100)
    >>> round(index + 0.5, 10) == -round(math.sqrt(math.log(100) / 16), 10)
    True
    """

    name = "hdoc"

    def check(self, problem: Problem) -> None:
        """Means are weighed against the width of an interval, so rewards need a range."""
        in_a_range(self.name, problem)

    @staticmethod
    def formula(pulls: float, total: float, width: float, step: float) -> float:
        """Less the upper confidence bound; ln t is -ln(1/t)."""
        return -(total / (pulls * width) + math.sqrt(-0.5 * log_unit(1.0 / step) / pulls))


@dataclass(frozen=True)
class LUCBG(InUnits, IndexRule):
    r"""Pull the arm with the highest upper end of its confidence interval.

    .. math:: -\Bigl(\hat\mu_i + \sqrt{\frac{\ln(4 K n_i^2 / \delta)}{2 n_i}}\Bigr)

    LUCB-G of Kano et al. (2019), with the interval by which they prove arms; 1 - delta is the
    ``confidence``. Rewards in a range, scaled to [0, 1]. It pays no heed to thresholds or
    precision.

    >>> from cutline.core import Tally
    >>> index = LUCBG(0.95).index(Tally(8, 4.0), threshold=0.3, width=1.0, arms=5.0)
    >>> round(index + 0.5, 10) == -round(math.sqrt(math.log(4 * 5 * 64 / 0.05) / 16), 10)
    True
    """

    name = "lucb-g"

    confidence: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.confidence < 1:
            raise ValueError(
                f"confidence must lie between 0 and 1, got {self.confidence!r}: it is the chance "
                "that no arm is called wrongly"
            )

    def check(self, problem: Problem) -> None:
        """Means are weighed against the width of an interval, so rewards need a range."""
        in_a_range(self.name, problem)

    @staticmethod
    def formula(pulls: float, total: float, arms: float, confidence: float, width: float) -> float:
        """Less the upper end; logarithms of numbers below 1, with their sign turned."""
        log = log_unit(0.25 * (1.0 - confidence) / arms) + 2.0 * log_unit(1.0 / pulls)
        return -(total / (pulls * width) + math.sqrt(-0.5 * log / pulls))
