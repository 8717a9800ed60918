"""The games of one instance, and every rule beside APT in them."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cutline.core.tally import Floats, Ints
from cutline.figures.tables import Row
from cutline.figures.tournament.plans import Plan
from cutline.figures.tournament.ratios import paired_ratio
from cutline.rules import parse_rule
from cutline.simulation.curves import crossing, grid
from cutline.simulation.result import Result
from cutline.simulation.suite import MANY
from cutline.simulation.suite.search import POINTS

LEVEL = 0.999
CERTAIN = 0.9  # where APT errs in more games than this, only the number of wrong arms tells

Play = Callable[..., tuple[Result, bool]]


def play_instance(planned: Plan, play: Play, what: str, **options: Any) -> list[Row] | None:
    """One row for every rule and budget of an instance, or None where Ctrl-C came first.

    Rules that know the horizon are replayed for each budget, together with APT; the others are
    read at the budgets and at a fine grid below, in one pass.
    """
    rules = {name: parse_rule(name) for name in planned.rules}
    anytime = [name for name in rules if rules[name].anytime]
    replayed = [name for name in rules if not rules[name].anytime]
    bandit, budgets = planned.instance.bandit, list(planned.budgets)
    steps = grid(planned.instance.arms, budgets[-1], POINTS)
    options |= {"budgets": budgets, "games": planned.games}
    try:
        early, stopped = play(what, bandit, [rules[n] for n in anytime], also=steps, **options)
        rows = _rows(planned, anytime, early)
        if replayed and not stopped:
            names = ["apt", *replayed]
            late, stopped = play(f"{what}, replayed", bandit, [rules[n] for n in names], **options)
            rows += [row for row in _rows(planned, names, late) if row["rule"] != "apt"]
    except KeyboardInterrupt:
        return None
    order = list(planned.rules)
    rows.sort(key=lambda row: (row["budget"], order.index(row["rule"])))
    return None if stopped else rows


def _rows(planned: Plan, names: Sequence[str], result: Result) -> list[Row]:
    """Every rule beside APT, which comes first, at the three budgets."""
    at = result.at(planned.budgets)
    rates = at.error_interval(LEVEL)
    arms = at.wrong_arms_interval(LEVEL)
    apart = at.wrong_arms_interval((1 + LEVEL) / 2)  # half of the doubt for each of two
    many = planned.instance.arms
    rows = []
    for h, budget in enumerate(planned.budgets):
        apt_rate = float(at.error_curve[0, h])
        by_arms = many > MANY or apt_rate > CERTAIN
        for r, name in enumerate(names):
            wrong, apt_wrong = int(at.wrong_games[r, h]), int(at.wrong_games[0, h])
            only, only_apt = int(at.only[r, 0, h]), int(at.only[0, r, h])
            low, high = paired_ratio(wrong - only, only, only_apt, at.games, LEVEL)
            total, apt_total = int(at.wrong_arms_sum[r, h]), int(at.wrong_arms_sum[0, h])
            curves = result.wrong_arms_curve if by_arms else result.error_curve
            i = int(np.searchsorted(result.horizons, budget))
            need, sign = budget_ratio(result.horizons, curves[r], float(curves[0, i]), budget)
            if r == 0:
                need, sign = 1.0, "="
            rows.append(
                {
                    "instance": planned.instance.name,
                    "group": planned.instance.group,
                    "rare": planned.instance.rare,
                    "arms": many,
                    "budget": int(budget),
                    "rule": name,
                    "games": at.games,
                    "wrong_games": wrong,
                    "error_rate": wrong / at.games,
                    "low": float(rates[r, h, 0]),
                    "high": float(rates[r, h, 1]),
                    "only_rule": only,
                    "only_apt": only_apt,
                    "ratio": (wrong + 0.5) / (apt_wrong + 0.5),
                    "ratio_low": low,
                    "ratio_high": _finite(high),
                    "wrong_arms": total / at.games,
                    "wrong_arms_low": float(arms[r, h, 0]),
                    "wrong_arms_high": float(arms[r, h, 1]),
                    "arms_ratio": (total + 0.5) / (apt_total + 0.5),
                    "arms_ratio_low": 1.0 if r == 0 else _over(apart[r, h, 0], apart[0, h, 1]),
                    "arms_ratio_high": 1.0 if r == 0 else _over(apart[r, h, 1], apart[0, h, 0]),
                    "told_by": "arms" if by_arms else "games",
                    "budget_ratio": need,
                    "budget_ratio_is": sign,
                }
            )
    return rows


def _over(above: float, below: float) -> float | None:
    return None if below == 0 else float(above / below)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def budget_ratio(
    horizons: Ints, curve: Floats, target: float, budget: int
) -> tuple[float | None, str]:
    """The budget at which a rule errs as APT does at ``budget``, relative to that.

    With ">" where it does not get there within the horizons, "<" where it is there from the first
    on; None where APT never errs. In between, the logarithm of the error goes in straight lines.

    >>> budget_ratio(np.array([10, 20, 30]), np.array([0.4, 0.1, 0.025]), 0.05, 30)
    (0.833..., '=')
    >>> budget_ratio(np.array([10, 20, 30]), np.array([0.4, 0.2, 0.1]), 0.05, 20)
    (1.5, '>')
    """
    if target <= 0:
        return None, "="
    reached = crossing(horizons, curve, target)
    if reached is None:
        return float(horizons[-1] / budget), ">"
    return reached / budget, "<" if curve[0] <= target and reached == horizons[0] else "="
