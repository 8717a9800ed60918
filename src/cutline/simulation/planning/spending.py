"""What it takes to stop at a confidence: a spend that differs from game to game."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from cutline.core.problem import Problem
from cutline.core.stopping import check_can_stop
from cutline.core.tally import Ints
from cutline.core.theory import confidence_lower_bound, edge_divergences
from cutline.rules.auto import Auto
from cutline.simulation.bandit import Bandit
from cutline.simulation.planning.sets import STRIDE
from cutline.simulation.simulate import _cores, simulate

PULLS = 2_500_000  # to be made in all: two seconds on two cores
TOO_MANY = 15_000_000  # pulls of a game that is not played for an answer in seconds


@dataclass(frozen=True)
class Spend:
    """The pulls until every arm is proven, and what no method can do with less on average.

    ``mean`` over games, ``median``, and ``ninety``: nine of ten games need no more. ``games`` is 0
    where they would take too long and the mean is a formula's.
    """

    confidence: float
    mean: float
    median: float
    ninety: float
    least: float
    games: int


def can_stop(problem: Problem) -> bool:
    """Whether games that stop at a confidence alone come to an end."""
    try:
        check_can_stop(problem, 0.95)
    except ValueError:
        return False
    return True


def spend(bandits: Sequence[Bandit], confidence: float, *, seed: int, threads: int | None) -> Spend:
    """Play until every arm is proven.

    Every arm is pulled until its own evidence suffices, so the sum hardly depends on who chooses,
    and with many arms it hardly varies: few games do.
    """
    least = float(
        np.mean(
            [
                confidence_lower_bound(b.problem, b.means, confidence, sd=b.problem.sds)
                for b in bandits
            ]
        )
    )
    expected = [expected_spend(bandit, confidence) for bandit in bandits]
    mean = float(np.mean(expected))
    if mean > TOO_MANY:
        middle, ninety = (float(q) for q in np.quantile(expected, [0.5, 0.9]))
        return Spend(confidence, mean, middle, ninety, least, 0)
    games = int(min(max(PULLS / mean, 6), 2_000))
    few = bandits[:: max(1, len(bandits) // games)][:games]

    def one(place: int, workers: int | None) -> Ints:
        result = simulate(
            few[place],
            Auto(),
            confidence=confidence,
            games=-(-games // len(few)),
            seed=seed,
            first_game=place * STRIDE,
            threads=workers,
        )
        assert result.stops is not None
        return np.asarray(result.stops.spent[0])

    found = [one(0, threads)]
    with ThreadPoolExecutor(threads or _cores(), thread_name_prefix="cutline") as pool:
        try:
            found += list(pool.map(lambda place: one(place, 1), range(1, len(few))))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    spent = np.concatenate(found)
    middle, ninety = (float(q) for q in np.quantile(spent, [0.5, 0.9], method="higher"))
    return Spend(confidence, float(spent.mean()), middle, ninety, least, len(spent))


def expected_spend(bandit: Bandit, confidence: float) -> float:
    """About the pulls until all arms are proven: what must be shown over what a pull shows.

    An arm is proven when the odds against the far edge of the band are K / (1 - confidence). One
    more on the logarithm of that is the price of looking at all times; games differ from this by
    up to a fifth as a rule, and stop sooner where arms lie in the middle of the band.
    """
    problem = bandit.problem
    bar = math.log(len(problem.arms) / (1 - confidence))
    shown = edge_divergences(problem, bandit.means, problem.sds, within=True)
    return float(np.sum(np.maximum((bar + 1.0) / shown, 1.0)))
