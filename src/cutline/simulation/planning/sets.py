"""Games on several sets of means at once, and where their errors come down to a target."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutline.core.intervals import bounded_mean, clopper_pearson
from cutline.core.tally import Floats, Ints
from cutline.core.theory import edge_divergences
from cutline.rules.base import IndexRule, Rule
from cutline.simulation.bandit import Bandit
from cutline.simulation.curves import crossing, grid
from cutline.simulation.engine import MANY_ARMS
from cutline.simulation.kernels import BUNDLE, LANES
from cutline.simulation.result import Result
from cutline.simulation.simulate import _cores, simulate

STRIDE = 1_000_000  # from the games of one set to those of the next, so that none meet twice
FEWEST = 256  # games on which a budget rests
MOST = 20_000  # games after which more would not be seen in the budget
DEAREST = 200_000_000  # pulls of a pass over all sets; beyond, some sets must do
SEEN = 10  # wrong answers that a rate must rest on; rarer ones are extrapolated


@dataclass(frozen=True, eq=False)
class Played:
    """Equally many games of one rule on every set of means.

    Intervals are those of plain counts. Over a fixed list of sets the mean rate varies less than
    that, so they hold with more than their level.
    """

    results: tuple[Result, ...]

    @property
    def horizons(self) -> Ints:
        """Where errors were counted."""
        return self.results[0].horizons

    @property
    def games(self) -> int:
        """All games together."""
        return sum(result.games for result in self.results)

    def curve(self, of: str) -> Floats:
        """The error, or the mean number of wrong arms, at every horizon."""
        return np.asarray(np.mean(self.each(of), axis=0))

    def each(self, of: str) -> Floats:
        """The same for every set: (set, horizon)."""
        name = "error_curve" if of == "error" else "wrong_arms_curve"
        return np.array([getattr(result, name)[0] for result in self.results])

    def interval(self, of: str) -> Floats:
        """95 % intervals for the curve: (horizon, low and high)."""
        if of == "error":
            wrong = sum(result.wrong_games[0] for result in self.results)
            return np.array([clopper_pearson(int(w), self.games) for w in np.atleast_1d(wrong)])
        sums = np.sum([result.wrong_arms_sum[0] for result in self.results], axis=0)
        squares = np.sum([result.wrong_arms_squared[0] for result in self.results], axis=0)
        top = max(result.relevant for result in self.results)
        return np.array(
            [
                bounded_mean(float(s), float(q), self.games, top)
                for s, q in zip(sums, squares, strict=True)
            ]
        )


def play(
    bandits: Sequence[Bandit],
    rule: Rule,
    horizons: Sequence[int],
    *,
    games: int,
    seed: int,
    first_game: int = 0,
    threads: int | None = None,
    **options: Any,
) -> Played:
    """Play so many games of a rule on each of the bandits."""

    def one(place: int, workers: int | None) -> Result:
        return simulate(
            bandits[place],
            rule,
            budget=list(horizons),
            games=games,
            seed=seed,
            first_game=first_game + place * STRIDE,
            threads=workers,
            **options,
        )

    found = [one(0, threads)]  # whatever must be compiled is compiled here
    with ThreadPoolExecutor(threads or _cores(), thread_name_prefix="cutline") as pool:
        try:
            found += list(pool.map(lambda place: one(place, 1), range(1, len(bandits))))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return Played(tuple(found))


def affordable(bandits: Sequence[Bandit], budget: float) -> Sequence[Bandit]:
    """All of the bandits, or every so many where a few games on each would take too long."""
    kept = max(min(4, len(bandits)), int(DEAREST / (_unit(bandits) * budget)))
    return bandits[:: -(-len(bandits) // kept)]


def _unit(bandits: Sequence[Bandit]) -> int:
    """The games that are played side by side: fewer take as long."""
    return BUNDLE if len(bandits[0].problem.arms) >= MANY_ARMS else LANES


def share_out(pulls: int, budget: int, bandits: Sequence[Bandit]) -> int:
    """Games on each of the bandits, so that about so many pulls are made in all."""
    unit = _unit(bandits)
    wanted = min(max(pulls / budget, FEWEST), MOST) / len(bandits)
    return unit * max(1, round(wanted / unit))


def first_budget(rule: Rule, bandit: Bandit) -> int:
    """The smallest budget that a rule can be played with."""
    suited = rule.on(bandit.problem)
    first = suited.first_pulls if isinstance(suited, IndexRule) else 1
    return first * len(bandit.problem.arms)


@dataclass(frozen=True, eq=False)
class Found:
    """A curve, the budget at which it meets the target, and whether games reach that far."""

    played: Played
    budget: int | None
    extrapolated: bool


def search(
    bandits: Sequence[Bandit],
    rule: Rule,
    target: float,
    *,
    of: str,
    pulls: int,
    most: int,
    seed: int,
    guess: float | None = None,
    threads: int | None = None,
) -> Found:
    """The smallest budget with which a rule meets the target, from one pass over many budgets.

    A few games find about where to look, unless a ``guess`` says so.
    """
    options: dict[str, Any] = {"seed": seed, "threads": threads}
    first = first_budget(rule, bandits[0])
    last = guess
    if last is None:
        last = _pilot(bandits, rule, max(target, 0.1), of, most, options)
        last *= 1.3 + 0.25 * max(0.0, math.log(0.1 / target))
    while True:
        end = int(min(max(last, 2 * first), most))
        some = affordable(bandits, end)
        games = share_out(pulls, end, some)
        played = play(some, rule, grid(first, end, 60), games=games, **options)
        level = max(target, SEEN / played.games)
        met = crossing(played.horizons, played.curve(of), level, 0.5 / played.games)
        if met is not None or end >= most:
            break
        last = 1.5 * end
    if met is None:
        return Found(played, None, False)
    met = fitted(played, of, level, met)
    if level > target:
        met = _extrapolated(played, of, level, target, met)
    budget = rounded_up(max(met, first))
    return Found(played, budget if budget <= most else None, level > target)


def _pilot(
    bandits: Sequence[Bandit],
    rule: Rule,
    level: float,
    of: str,
    most: int,
    options: dict[str, Any],
) -> float:
    games = _unit(bandits)
    count = LANES // games if games < LANES else 2
    few = bandits[:: max(1, len(bandits) // count)][:count]
    first = first_budget(rule, bandits[0])
    end = 4 * float(np.mean([_information(bandit) for bandit in few]))
    while True:
        last = int(min(max(end, 4 * first), most))
        played = play(few, rule, grid(first, last, 24), games=games, **options)
        met = crossing(played.horizons, played.curve(of), level, 0.5 / played.games)
        if met is not None or last >= most:
            return most if met is None else met
        end = 2 * last


def _information(bandit: Bandit) -> float:
    """About the pulls that it takes to have an idea: the sum of one over what a pull tells."""
    costs = edge_divergences(bandit.problem, bandit.means, sd=bandit.problem.sds)
    costs[costs == 0] = math.inf  # at the bar, and at the end of the range with it: never wrong
    return float(np.sum(1 / np.maximum(costs, 1e-4)))


def fitted(played: Played, of: str, level: float, met: float) -> float:
    """The crossing by a straight line through the logarithms of the curve around it.

    Rates above the level rest on more wrong answers, so the line is surer than its nearest points.
    """
    curve = played.curve(of)
    near = (curve > level / 4) & (curve < 5 * level)
    if of == "error":
        near &= curve < 0.6  # nearer to 1 it bends
    near &= (played.horizons > met / 2) & (played.horizons < 1.5 * met)
    if near.sum() < 3:
        return met
    x, y = played.horizons[near] / met, np.log(curve[near] / level)
    slope, start = np.polyfit(x, y, 1, w=np.sqrt(curve[near]))
    if slope >= 0:
        return met
    return float(met * min(max(-start / slope, 0.8), 1.25))


def _extrapolated(played: Played, of: str, level: float, target: float, met: float) -> float:
    """Where the target is met if the logarithm goes on falling as from one half to the level."""
    half = max(0.5, 2 * level)
    start = crossing(played.horizons, played.curve(of), half, 0.5 / played.games)
    assert start is not None
    slope = max(met - start, 0.05 * met) / math.log(half / level)
    return met + slope * math.log(level / target)


def rounded_up(budget: float) -> int:
    """Three digits, never less: more would be chance.

    >>> rounded_up(123.4), rounded_up(98_765.0)
    (124, 98800)
    """
    unit = 10 ** max(0, math.floor(math.log10(budget)) - 2)
    return int(math.ceil(budget / unit) * unit)
