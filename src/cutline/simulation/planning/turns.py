"""What it takes if every arm gets the same number of pulls: computed, without a game.

Arms that are pulled so many times each, whatever they show, are independent, and how often one of
them lands on the wrong side is a tail of a well-known law.
"""

import math
from collections.abc import Sequence

import numpy as np

from cutline.core.divergence import DIVERGENCES, gaussian_kl
from cutline.core.special import beta_cdf, normal_cdf
from cutline.core.tails import log_gamma_cdf, log_gamma_sf
from cutline.core.tally import Floats
from cutline.simulation.bandit import Bandit

CERTAIN = 32.0  # e^-32 is 1e-14: not to be seen beside any error one would plan for
COARSE, FINE = math.sqrt(2), 1.02  # steps of the search


class Turns:
    """Sets of arms that take turns: how often the answer is wrong after so many pulls each.

    >>> from cutline.simulation.arms import Bernoulli
    >>> turns = Turns([Bandit(Bernoulli([0.5]), threshold=0.5)])
    >>> round(turns.error(3), 12), round(turns.wrong_arms(2), 12)  # 0 or 1 of 3; none of 2
    (0.5, 0.25)
    """

    def __init__(self, bandits: Sequence[Bandit]) -> None:
        self._sets = [_counting(bandit) for bandit in bandits]
        self._kind = bandits[0].problem.rewards.kind

    def error(self, pulls: int) -> float:
        """The chance of any wrong arm, averaged over the sets."""
        with np.errstate(divide="ignore"):  # an arm that is always wrong
            rates = [-math.expm1(float(np.sum(np.log1p(-w)))) for w in self._chances(pulls)]
        return sum(rates) / len(rates)

    def wrong_arms(self, pulls: int) -> float:
        """The mean number of wrong arms, averaged over the sets."""
        return sum(float(np.sum(w)) for w in self._chances(pulls)) / len(self._sets)

    def _chances(self, pulls: int) -> list[Floats]:
        """The chance to be wrong of every arm that is not certain, set by set."""
        return [
            np.array(
                [
                    wrong_chance(self._kind, mean, tau, side, sd, pulls)
                    for mean, tau, side, sd, speed in arms
                    if pulls * speed < CERTAIN
                ]
            )
            for arms in self._sets
        ]

    def needed(self, target: float, *, of: str, most: int, start: int = 1) -> int | None:
        """The pulls of every arm from which on the target is kept, within 2 %; None beyond most.

        ``of`` is error or wrong_arms; nothing below ``start`` is looked at unless it is met there.
        Both need not fall with every pull (0 of 100 is not 0 of 101 when the bar is 1 %), so a
        target that is met must be met at four times as much as well.
        """
        value = self.error if of == "error" else self.wrong_arms
        met: int | None = None
        failed = 0
        step = float(start) if value(start) > target else 1.0
        while met is None or step < 4 * met:
            pulls = math.ceil(step)
            if value(pulls) > target:
                if pulls > most:
                    return None
                failed, met = pulls, None
            elif met is None:
                met = pulls
            step *= COARSE
        last = met
        while (below := math.floor(last / FINE)) > failed and value(below) <= target:
            last = below
        while last - 1 > failed and last < 60 and value(last - 1) <= target:
            last -= 1
        return last if last <= most else None


Arm = tuple[float, float, int, float, float]


def _counting(bandit: Bandit) -> list[Arm]:
    """Mean, threshold, side, sd and how fast it becomes certain, of every arm that counts."""
    problem, means = bandit.problem, bandit.means
    sds = np.ones(len(means)) if problem.sds is None else problem.sds
    found: list[Arm] = []
    for mean, tau, side, sd in zip(
        means.tolist(), problem.threshold, bandit.truth.tolist(), sds.tolist(), strict=True
    ):
        if side == 0:
            continue
        if problem.rewards.kind == "gaussian":
            speed = gaussian_kl(tau, mean, sd)
        else:  # Chernoff: what the arm shows is at the bar with a chance of e^(-n d) at most
            speed = DIVERGENCES[problem.rewards.kind](tau, mean)
        found.append((mean, tau, side, sd, speed))
    return found


def wrong_chance(kind: str, mean: float, tau: float, side: int, sd: float, pulls: int) -> float:
    """How often an arm of this mean is on the wrong side of the bar after so many pulls.

    >>> chance = wrong_chance("binary", mean=0.5, tau=0.6, side=-1, sd=1.0, pulls=2)
    >>> round(chance, 12)  # two successes
    0.25
    >>> round(wrong_chance("poisson", mean=1.0, tau=0.5, side=1, sd=1.0, pulls=1), 6)  # e^-1
    0.367879
    """
    if kind == "gaussian":
        return normal_cdf(-side * (mean - tau) * math.sqrt(pulls) / sd)
    if kind == "exponential":
        if mean == 0:
            return float((tau <= 0) != (side > 0))
        total = pulls * tau / mean
        return math.exp((log_gamma_cdf if side > 0 else log_gamma_sf)(total, float(pulls)))
    least = _least(tau, pulls)
    if kind == "poisson":
        if least <= 0 or mean == 0:
            return float((least <= 0) != (side > 0))
        log = (log_gamma_sf if side > 0 else log_gamma_cdf)(pulls * mean, float(least))
        return math.exp(log)
    if not 0 < least <= pulls or mean in (0.0, 1.0):
        is_above = least <= 0 or (least <= pulls and mean == 1.0)
        return float(is_above != (side > 0))
    if side > 0:
        return beta_cdf(1 - mean, pulls - least + 1, least)
    return beta_cdf(mean, least, pulls - least + 1)


def _least(tau: float, pulls: int) -> int:
    """The smallest sum whose mean is at least tau, in floating point as in a game."""
    least = math.ceil(tau * pulls)
    while (least - 1) / pulls >= tau:
        least -= 1
    while least / pulls < tau:
        least += 1
    return least
