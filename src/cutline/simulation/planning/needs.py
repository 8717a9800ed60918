"""The budget each way of choosing needs, and what is to be expected of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutline.core.intervals import bounded_mean, clopper_pearson
from cutline.core.tally import Floats, Ints
from cutline.rules.auto import Auto
from cutline.simulation.bandit import Bandit
from cutline.simulation.curves import crossing, grid
from cutline.simulation.planning.sets import (
    SEEN,
    Found,
    Played,
    affordable,
    first_budget,
    fitted,
    play,
    rounded_up,
    share_out,
)
from cutline.simulation.planning.turns import Turns

CONFIRM, IN_FLIGHT = 50_000_000, 5_000_000  # pulls to be made: two seconds each
FEW = 20  # wrong answers on which the effect of pulls in flight rests
TRIES = 8  # to confirm a budget, each a little larger
FRESH = 500_000  # number of the first game that is played to confirm


@dataclass(frozen=True, eq=False)
class Need:
    """The budget one way of choosing needs, and what is to be expected of it.

    ``budget`` is None beyond what was looked at. ``predicted`` is the error (or the mean number of
    wrong arms) at the budget, in ``games`` that had no part in finding it, with its exact interval,
    whose upper end ``high`` is at most the target (but where even games without an error are too
    few to show that); where it is computed instead, games is 0 and the interval a point. ``range``
    holds the budgets that 10 % and 90 % of the sets of means would need. ``extrapolated`` says that
    games were too few to see errors as rare as the target.
    """

    rule: str
    budget: int | None
    predicted: float | None
    low: float | None
    high: float | None
    games: int
    horizons: Ints
    curve: Floats
    curve_low: Floats
    curve_high: Floats
    range: tuple[int, int] | None = None
    extrapolated: bool = False


@dataclass(frozen=True)
class Workers:
    """The default rule with pulls in flight: the error at its budget, and the budget it needs.

    ``alone`` is the error in the same games with one pull after another.
    """

    in_flight: int
    predicted: float
    low: float
    high: float
    games: int
    alone: float
    budget: int | None


def default_need(
    bandits: Sequence[Bandit],
    found: Found,
    of: str,
    target: float,
    most: int,
    seed: int,
    threads: int | None,
) -> Need:
    """The need of the default rule, its error taken from games that did not choose the budget.

    The budget is raised until the whole interval of that error lies at or below the target.
    """
    played, curve = found.played, found.played.curve(of)
    band = played.interval(of)
    shown: dict[str, Any] = {
        "rule": "auto",
        "horizons": played.horizons,
        "curve": curve,
        "curve_low": band[:, 0],
        "curve_high": band[:, 1],
    }
    if found.budget is None:
        return Need(budget=None, predicted=None, low=None, high=None, games=0, **shown)
    budget, first_game = aimed(bandits, found, of, target), FRESH
    for _ in range(TRIES):
        some = affordable(bandits, budget)
        games = share_out(CONFIRM, budget, some)
        options: dict[str, Any] = {"seed": seed, "first_game": first_game, "threads": threads}
        fresh = play(some, Auto(), [budget], games=games, **options)
        low, high = fresh.interval(of)[0]
        if high <= target or (low <= target and not shows(fresh, of, target)):
            break
        # A little more: the search was lucky, or the error does not fall with every pull.
        slope = steepness(found.played, of, target)
        factor = min(max(math.exp(math.log(high / target) / slope), 1.01), 1.5)
        budget, first_game = rounded_up(factor * budget), first_game + games
        if budget > most:
            return Need(budget=None, predicted=None, low=None, high=None, games=0, **shown)
    return Need(
        budget=budget,
        predicted=float(fresh.curve(of)[0]),
        low=float(low),
        high=float(high),
        games=fresh.games,
        range=_range(played, of, target, budget),
        extrapolated=found.extrapolated,
        **shown,
    )


def aimed(bandits: Sequence[Bandit], found: Found, of: str, target: float) -> int:
    """A budget that games will show to keep the target: more than the one where it is just met.

    A rate in so many games is sure to so many digits. The aim is the rate whose upper confidence
    limit is the target, and the budget is larger by what the curve takes to fall that far.
    """
    assert found.budget is not None
    if of != "error":
        return found.budget  # how much wrong arms vary is not known before they are played
    games = share_out(CONFIRM, found.budget, some := affordable(bandits, found.budget)) * len(some)
    if clopper_pearson(0, games)[1] > target:
        return found.budget
    low, high = 0.0, float(games)  # wrong games, by halving
    while high - low > 0.5:
        middle = 0.5 * (low + high)
        fits = clopper_pearson(middle, games)[1] <= target
        low, high = (middle, high) if fits else (low, middle)
    fall = math.log(target / (max(low, 0.5) / games))
    return rounded_up(found.budget * math.exp(fall / steepness(found.played, of, target)))


def shows(played: Played, of: str, target: float) -> bool:
    """Whether so many games could show that the target is kept: by going wrong not once, say."""
    if of == "error":
        return clopper_pearson(0, played.games)[1] <= target
    top = max(result.relevant for result in played.results)
    return bounded_mean(0.0, 0.0, played.games, top)[1] <= target


def steepness(played: Played, of: str, target: float) -> float:
    """By which power of the budget the curve falls about where it meets the target; at least 1/2.

    Taken from four times the target, or from the highest that games show, down to the target.
    """
    curve, least = played.curve(of), 0.5 / played.games
    level = max(target, SEEN / played.games)
    above = min(4.0 * level, 0.5 * (level + float(curve.max())))
    ends = [crossing(played.horizons, curve, value, least) for value in (above, level)]
    if None in ends or ends[0] == ends[1]:
        return 2.0
    first, last = (float(end or 0.0) for end in ends)
    return min(max(math.log(above / level) / math.log(last / first), 0.5), 50.0)


def _range(played: Played, of: str, target: float, budget: int) -> tuple[int, int] | None:
    """What 10 % and 90 % of the sets need, in proportion to what all together need.

    Where one set has too few games to show errors as rare as the target, sets are told apart by
    more frequent ones, up to every other time. A set that does not get there counts with the last
    budget played.
    """
    if len(played.results) == 1:
        return None
    level = max(target, min(0.5, SEEN / played.results[0].games))
    middle = crossing(played.horizons, played.curve(of), level, 0.5 / played.games)
    assert middle is not None
    least = 0.5 / played.results[0].games
    each = [crossing(played.horizons, curve, level, least) for curve in played.each(of)]
    ratios = [(played.horizons[-1] if one is None else one) / middle for one in each]
    low, high = np.quantile(ratios, [0.1, 0.9])
    return round(budget * float(low)), round(budget * float(high))


def uniform_budget(bandits: Sequence[Bandit], of: str, target: float, beside: int) -> int | None:
    arms = len(bandits[0].problem.arms)
    each = -(-beside // arms)
    pulls = Turns(bandits).needed(target, of=of, most=100 * each, start=max(1, each // 8))
    return None if pulls is None else pulls * arms


def uniform_need(bandits: Sequence[Bandit], of: str, target: float, default: Need) -> Need:
    """The need if all arms are pulled alike, computed; up to 100 times the default rule's."""
    arms = len(bandits[0].problem.arms)
    turns = Turns(bandits)
    value = turns.error if of == "error" else turns.wrong_arms
    beside = int(default.horizons[-1]) if default.budget is None else default.budget
    budget = uniform_budget(bandits, of, target, beside)
    end = 1.25 * budget if budget is not None else 10.0 * beside
    rounds = grid(max(1, beside // (16 * arms)), math.ceil(end / arms), 24)
    curve = np.array([value(pulls) for pulls in rounds])
    at = None if budget is None else value(budget // arms)
    return Need(
        rule="round-robin",
        budget=budget,
        predicted=at,
        low=at,
        high=at,
        games=0,
        horizons=np.array(rounds) * arms,
        curve=curve,
        curve_low=curve,
        curve_high=curve,
    )


def with_in_flight(
    bandits: Sequence[Bandit],
    budget: int,
    workers: int,
    of: str,
    target: float,
    seed: int,
    threads: int | None,
) -> Workers:
    """The same games with one pull after another and with several in flight.

    Few games show how far the curve moves: the budget moves by as much, in proportion. They may be
    too few to show a small move, and by chance show one to less, which is then taken for none.
    """
    few_games = max(48, IN_FLIGHT // budget)
    end = max(2 * budget, budget + 4 * workers) if budget < 20_000 else budget
    if end == budget and target >= FEW / few_games:
        end = round(1.2 * budget)  # else the curves are compared where errors are more frequent
    horizons = sorted({*grid(first_budget(Auto(), bandits[0]), end, 48), budget})
    games = max(48, min(20_000, IN_FLIGHT // end))
    few = bandits[: max(1, min(len(bandits), games // 4))]
    options: dict[str, Any] = {"games": -(-games // len(few)), "seed": seed, "first_game": FRESH}
    options["threads"] = threads
    alone = play(few, Auto(), horizons, **options)
    together = play(few, Auto(), horizons, in_flight=workers, delay="random", **options)
    place = horizons.index(budget)
    low, high = together.interval(of)[place]
    level = max(target, FEW / alone.games)
    one, many = (_met(played, of, level) for played in (alone, together))
    moved = None if one is None or many is None else max(1.0, many / one)  # waiting helps nobody
    return Workers(
        in_flight=workers,
        predicted=float(together.curve(of)[place]),
        low=float(low),
        high=float(high),
        games=together.games,
        alone=float(alone.curve(of)[place]),
        budget=None if moved is None else round(budget * moved),
    )


def _met(played: Played, of: str, level: float) -> float | None:
    met = crossing(played.horizons, played.curve(of), level, 0.5 / played.games)
    return None if met is None else fitted(played, of, level, met)
