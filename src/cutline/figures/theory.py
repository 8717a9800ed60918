"""What is proven about one problem, beside what happens: numbers to print and to draw."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cutline.core.tally import Floats, Ints
from cutline.core.theory import (
    best_arm_complexity,
    best_arm_gaps,
    clearance,
    ordered_complexity,
    static_shares,
)
from cutline.figures.statements import Statement, Theory
from cutline.figures.tables import Curve, Row, error_curves, error_label, regret_curves, result_rows
from cutline.simulation.arms.level_set import LevelSet
from cutline.simulation.bandit import Bandit
from cutline.simulation.goals import Goal, TopArms
from cutline.simulation.result import Result


def report(theory: Theory, result: Result | None) -> Row:
    """The problem, every bound at the budgets, and what was simulated, as plain values."""
    return {
        "problem": facts(theory.bandit, theory.goal),
        "error": theory.error,
        "bounds": [_bound_row(s, theory.budgets, theory.error) for s in theory.statements],
        "simulated": [] if result is None else result_rows(result.at(theory.budgets)),
        "notes": theory.notes,
    }


def _bound_row(statement: Statement, budgets: Sequence[int], error: float) -> Row:
    return {
        "statement": statement.name,
        "about": statement.about,
        "measure": statement.measure,
        "side": statement.side,
        "rule": statement.rule,
        "printed": statement.printed,
        "least": statement.least,
        "budget_for_error": statement.needed(error),
        "values": [_value(statement, budget) for budget in budgets],
    }


def _value(statement: Statement, budget: int) -> Row:
    log = statement.log_value(budget)
    return {
        "budget": budget,
        "value": None if log is None else math.exp(log),
        "log_value": None if log is None else _finite(log),
        "vacuous": None if log is None else statement.is_vacuous(budget),
    }


def _H_2(gaps: Floats) -> float:
    return ordered_complexity(gaps) if gaps.size else 0.0


def facts(bandit: Bandit, goal: Goal) -> Row:
    """What the bounds know of a problem: its size, complexity, noise, and every arm."""
    problem, means, best = bandit.problem, bandit.means, goal == TopArms(1)
    gaps, right = bandit.gaps(), goal.truth(bandit)
    if best:  # the threshold is the highest mean, so its own arm has no gap
        H, H_2 = best_arm_complexity(means), _H_2(best_arm_gaps(means))
    else:
        H, H_2 = bandit.complexity(), ordered_complexity(problem.gaps(means, precision=0))
    shares = None if np.any(gaps == 0) else static_shares(gaps).tolist()
    return {
        "arms": len(means),
        "family": (bandit.arms.arms if isinstance(bandit.arms, LevelSet) else bandit.arms).name,
        "rewards": problem.rewards.kind,
        "goal": goal.spec,
        "counting": int(np.count_nonzero(right)),
        "complexity": _finite(H),
        "ordered_complexity": _finite(H_2),
        "noise_scale": bandit.noise_scale,
        "clearance": None if best else clearance(problem, means),
        "level": None if problem.level is None else list(problem.level),
        "per_arm": [
            {
                "arm": name,
                "mean": float(means[i]),
                "threshold": problem.threshold[i],
                "precision": problem.precision[i],
                "gap": float(gaps[i]),
                "right": int(right[i]),
                "share": None if shares is None else shares[i],
            }
            for i, name in enumerate(problem.arms)
        ],
    }


def _finite(number: float) -> float | None:
    """The number, or None in place of an infinity, which JSON does not know."""
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class BoundCurve:
    """A bound against the budget; nan where it is not stated."""

    label: str
    side: str
    printed: bool
    horizons: Ints
    values: Floats


@dataclass(frozen=True)
class BoundsPanel:
    """Bounds and simulated curves of one measure, and the part of the scale that shows them.

    An upper bound from ``trivial`` on up says nothing; ``wanted`` is the error that is aimed at.
    """

    label: str
    horizons: Ints
    trivial: Floats
    wanted: float | None
    bounds: list[BoundCurve]
    simulated: list[Curve]
    bottom: float
    top: float

    def out_of_view(self, bound: BoundCurve) -> str:
        """Where a bound is that the panel does not show, if so."""
        stated = bound.values[~np.isnan(bound.values)]
        if np.any((stated >= self.bottom) & (stated <= self.top)):
            return ""
        return "below" if np.any(stated < self.bottom) else "above" if stated.size else "beyond"


def panels(theory: Theory, result: Result | None) -> list[BoundsPanel]:
    """What to draw: a panel for errors, and one for regret where a statement is about it.

    They reach from one pull an arm to where every upper bound comes down to the error.
    """
    if not theory.statements and result is None:
        raise ValueError("there is nothing to draw: no bound covers these arms, and games are 0")
    upper = [s for s in theory.statements if s.side == "upper"]
    ends = [_end(statement, theory.error) for statement in upper or theory.statements]
    arms = len(theory.bandit.arms)
    horizons = spaced(arms, math.ceil(1.5 * max([*theory.budgets, *ends])), 400)
    drawn = []
    if result is not None or theory.of_measure("error"):
        curves = [] if result is None else error_curves(result)
        found, label = theory.of_measure("error"), error_label(theory.goal)
        ones = np.ones(len(horizons))
        drawn.append(_panel(label, found, curves, horizons, ones, theory.error))
    if found := theory.of_measure("regret"):
        curves = [] if result is None else regret_curves(result)
        trivial = horizons.astype(np.float64) * np.ptp(theory.bandit.means)
        drawn.append(_panel("regret, in units of reward", found, curves, horizons, trivial))
    return drawn


def _panel(
    label: str,
    found: Sequence[Statement],
    simulated: list[Curve],
    horizons: Ints,
    trivial: Floats,
    wanted: float | None = None,
) -> BoundsPanel:
    bounds = [_bound_curve(statement, horizons) for statement in found]
    seen = [float(np.min(np.where(c.rate > 0, c.rate, c.high))) for c in simulated]
    if wanted is not None:
        bottom = 10.0 ** math.floor(math.log10(min([*seen, wanted / 10])) - 0.1)
        top = 30.0 if any(bound.side == "upper" for bound in bounds) else 1.3
    else:
        bottom = 0.5 * min([*seen, float(trivial[0])])
        top = 10 * float(np.nanmax([bound.values for bound in bounds]))
    return BoundsPanel(
        label=label,
        horizons=horizons,
        trivial=trivial,
        wanted=wanted,
        bounds=bounds,
        simulated=simulated,
        bottom=bottom,
        top=top,
    )


def _bound_curve(statement: Statement, horizons: Ints) -> BoundCurve:
    logs = [statement.log_value(budget) for budget in horizons.tolist()]
    values = np.exp(np.array([math.nan if log is None else log for log in logs]))
    return BoundCurve(statement.name, statement.side, statement.printed, horizons, values)


def _end(statement: Statement, error: float) -> int:
    """Where a bound comes down to the error; one on regret, where it first says something."""
    if statement.measure == "error":
        return statement.needed(error) or statement.least
    budget = statement.least
    while budget < 1 << 62 and statement.is_vacuous(budget):
        budget *= 2  # up to a factor of two
    return budget


def along(arms: int, budgets: Sequence[int]) -> set[int]:
    """Where to look at a simulation for a picture of it, beside the budgets themselves."""
    most = max(budgets)
    between = [h for h in spaced(arms, most, 24).tolist() if h < most]
    return {h for h in between if all(abs(math.log(h / b)) > 0.15 for b in budgets)}


def spaced(first: int, last: int, count: int) -> Ints:
    """Up to ``count`` whole numbers from first to last, alike in their ratios.

    >>> spaced(1, 1000, 4)
    array([   1,   10,  100, 1000])
    """
    last = max(first, min(last, 1 << 60))  # beyond that, whole numbers end
    exact = np.geomspace(first, last, count)
    return np.unique(np.rint(exact).astype(np.int64))
