"""Rules that go by the chance that an arm is on the other side after all."""

import math

from cutline.core.problem import Problem
from cutline.core.tails import log_beta_cdf
from cutline.core.tally import Floats
from cutline.rules.base import IndexRule, Policy
from cutline.rules.kinds import InUnits, in_a_range


def log_doubt(pulls: float, total: float, tau: float, eps: float, width: float) -> float:
    """The logarithm of the posterior chance that a mean is beyond the far edge of the band.

    Rewards lie between 0 and ``width``, and the prior is Beta(tau, 1 - tau). Where the far edge is
    outside of the range the chance is 0.

    >>> round(math.exp(log_doubt(20.0, 13.0, 0.5, 0.1, 1.0)), 10)  # P(Beta(13.5, 7.5) < 0.4)
    0.0119547398
    """
    bar, band = tau / width, eps / width
    ones = min(max(total / width, 0.0), pulls)
    above = total / pulls >= tau
    # Below the threshold, the mirror image: the chance of 1 - mean to lie under 1 - tau - eps.
    upper = (1.0 - bar) - band if bar + band < 1.0 else 0.0
    far = bar - band if above else upper
    a, b = bar + ones, (1.0 - bar) + (pulls - ones)
    return log_beta_cdf(far, a, b) if above else log_beta_cdf(far, b, a)  # of 0 below 0


def inside(name: str, problem: Problem) -> None:
    """Refuse what Beta(tau, 1 - tau) is no prior for."""
    in_a_range(name, problem)
    low, high = problem.rewards.low, problem.rewards.high
    assert low is not None and high is not None
    least = 1e-12 * (high - low)
    for threshold in problem.threshold:
        if not low + least < threshold < high - least:
            raise ValueError(
                f"{name} needs thresholds inside the range of the rewards, {low:g} to {high:g}, "
                f"got {threshold!r}: its prior is Beta(tau, 1 - tau)"
            )


class PI(InUnits, IndexRule):
    r"""Pull the arm that is most likely on the other side: the probability of an error.

    .. math:: -\ln P(\theta_i < \tau - \epsilon)\ \text{ where } \hat\mu_i \ge \tau,\ \text{else }
              -\ln P(\theta_i > \tau + \epsilon)

    with the posterior Beta(tau + S, 1 - tau + n - S) of a coin, which other rewards in a range,
    scaled to [0, 1], stand in for (Radtke's thesis, as posterior improvement). An arm that cannot
    be on the other side comes last.

    >>> from cutline.core import Tally
    >>> index = PI().index(Tally(20, 13.0), threshold=0.5, precision=0.1, width=1.0)
    >>> round(math.exp(-index), 10)
    0.0119547398
    """

    name = "pi"

    def check(self, problem: Problem) -> None:
        """Rewards in a range, thresholds inside it."""
        inside(self.name, problem)

    @staticmethod
    def formula(pulls: float, total: float, tau: float, eps: float, width: float) -> float:
        """Less the logarithm of the chance of an error."""
        return -log_doubt(pulls, total, tau, eps, width)


class TTS(InUnits, Policy):
    """Draw the arm in proportion to the chance that it is on the other side.

    Thresholding by Thompson sampling (Radtke's thesis): the chances are those of :class:`PI`. All
    arms are pulled once to begin with. Where no chance is large enough for a number the arm with
    the largest logarithm is pulled, and the first one where no arm can be on the other side.
    """

    name = "tts"

    def check(self, problem: Problem) -> None:
        """Rewards in a range, thresholds inside it."""
        inside(self.name, problem)

    def memory(self, arms: int) -> int:
        """Of every arm the chance, its logarithm, and the pulls and total that they are of."""
        return 4 * arms

    @staticmethod
    def choose(
        pulls: Floats, total: Floats, tau: Floats, eps: Floats, memory: Floats,
        arms: int, step: int, luck: float, width: float,
    ) -> int:  # fmt: skip
        """Renew the chances of the arms that have changed, then draw."""
        if step < arms:
            return step
        logs, seen, sums = arms, 2 * arms, 3 * arms
        whole = 0.0
        for i in range(arms):
            if memory[seen + i] != pulls[i] or memory[sums + i] != total[i]:
                memory[seen + i] = pulls[i]
                memory[sums + i] = total[i]
                memory[logs + i] = log_doubt(pulls[i], total[i], tau[i], eps[i], width)
                memory[i] = math.exp(memory[logs + i])
            whole += memory[i]
        place = 0
        if whole > 0.0:
            left = luck * whole - memory[0]
            while left >= 0.0 and place < arms - 1:
                place += 1
                left -= memory[place]
        else:
            for i in range(1, arms):
                if memory[logs + i] > memory[logs + place]:
                    place = i
        return place
