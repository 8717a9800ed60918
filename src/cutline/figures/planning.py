"""A plan in words, as plain values, and as a picture: numbers, no ink."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutline.core.bar import Bar
from cutline.figures.tables import Curve, Row, rate
from cutline.figures.text import aligned
from cutline.simulation.planning import Need, Plan

SHOWN = {"auto": "the default rule (auto)", "round-robin": "every arm alike (round-robin)"}


def report(plan: Plan, bar: Bar | None = None) -> Row:
    """Everything as plain values, for JSON; the bar as it was put."""
    bar = bar or Bar(plan.threshold[0])
    threshold, precision = _one(_thresholds(plan, bar)), _one(plan.precision)
    return {
        "assumed": plan.belief.words,
        "arms": plan.arms,
        "sets": len(plan.belief.sets),
        "rewards": plan.rewards.to_dict(),
        "measure": bar.measure,
        "wanted": None if bar.expected is None else bar.sense,
        "threshold": threshold,
        "precision": precision,
        "target": {"of": plan.of, "value": plan.target},
        "rules": [_need(need, plan.arms) for need in (plan.default, plan.uniform)],
        "stop": None if plan.stop is None else dict(vars(plan.stop)),
        "workers": None if plan.workers is None else dict(vars(plan.workers)),
        "relaxed": [{**vars(row), "precision": _one(row.precision)} for row in plan.relaxed],
        "looked_at": plan.most,
        "seed": plan.seed,
        "notes": list(plan.notes),
    }


def _need(need: Need, arms: int) -> Row:
    return {
        "rule": need.rule,
        "budget": need.budget,
        "pulls_per_arm": None if need.budget is None else need.budget / arms,
        "predicted": need.predicted,
        "low": need.low,
        "high": need.high,
        "games": need.games,
        "range": None if need.range is None else list(need.range),
        "extrapolated": need.extrapolated,
        "curve": [
            {"budget": int(h), "value": float(v), "low": float(a), "high": float(b)}
            for h, v, a, b in zip(
                need.horizons, need.curve, need.curve_low, need.curve_high, strict=True
            )
        ],
    }


def as_json(plan: Plan, bar: Bar | None = None) -> str:
    """A plan as a JSON object."""
    return json.dumps(report(plan, bar), indent=1, allow_nan=False) + "\n"


def as_text(plan: Plan, bar: Bar | None = None) -> str:
    """A plan for people; the bar as it was put."""
    parts = [
        _assumed(plan, bar or Bar(plan.threshold[0])),
        _budgets(plan),
        "".join(line + "\n" for line in (*_ranges(plan), *_spend(plan, bar), *_workers(plan))),
        _relaxed(plan),
        "".join(f"Note: {said}.\n" for said in plan.notes),
    ]
    return "\n".join(part for part in parts if part)


def target_words(plan: Plan) -> str:
    """What is aimed at."""
    if plan.of == "error":
        return f"a chance of {plan.target:.3g} that any arm is on the wrong side"
    return f"{plan.target:.3g} arm{'' if plan.target == 1 else 's'} on the wrong side on average"


def _thresholds(plan: Plan, bar: Bar) -> list[float]:
    """The bar of every arm as it was put."""
    return [bar.shown(tau) for tau in plan.threshold]


def _bar_words(plan: Plan, bar: Bar) -> str:
    span = _span(_thresholds(plan, bar))
    return span if bar.expected is None else f"{bar.measure} {bar.sense} {span}"


def _assumed(plan: Plan, bar: Bar) -> str:
    sets = len(plan.belief.sets)
    words = plan.belief.words.replace("; ", ";\n         ")
    drawn = f" ({sets} draws of all arms)" if sets > 1 else ""
    return (
        f"Assumed: {words}{drawn}\n"
        f"Bar:     {_bar_words(plan, bar)}, precision {_span(plan.precision)}, "
        f"{plan.rewards.kind} rewards\n"
        f"Target:  {target_words(plan)}\n"
    )


def _budgets(plan: Plan) -> str:
    what = "error" if plan.of == "error" else "wrong arms"
    lines = [["", "budget", "pulls per arm", f"predicted {what}", "95 % interval"]]
    for need in (plan.default, plan.uniform):
        if need.budget is None:
            limit = plan.most if need.rule == "auto" else _beyond(plan)
            lines.append([SHOWN[need.rule], f"more than {limit:,}", "", "", ""])
            continue
        assert need.predicted is not None and need.low is not None and need.high is not None
        sure = f"{rate(need.low)} to {rate(need.high)}" if need.games else "computed"
        about = "about " if need.extrapolated else ""
        each = need.budget / plan.arms
        shown = f"{each:,.1f}" if each < 100 else f"{each:,.0f}"
        lines.append(
            [SHOWN[need.rule], f"{about}{need.budget:,}", shown, rate(need.predicted), sure]
        )
    return aligned(lines)


def _beyond(plan: Plan) -> int:
    return 100 * (plan.most if plan.default.budget is None else plan.default.budget)


def _ranges(plan: Plan) -> list[str]:
    need = plan.default
    if need.range is None:
        return []
    low, high = (_round(x) for x in need.range)
    return [
        "The default rule needs less if the arms turn out easy and more if hard: one draw in ten\n"
        f"takes less than {low:,} pulls, one in ten more than {high:,}."
    ]


def _spend(plan: Plan, bar: Bar | None) -> list[str]:
    stop = plan.stop
    ends = {0.0, 1.0} & set(plan.threshold) if plan.rewards.kind == "binary" else set()
    if stop is None and ends:  # where a precision would be refused
        put = bar or Bar(plan.threshold[0])
        end, near = put.shown(min(ends)), put.shown(abs(min(ends) - 0.005))
        return [
            f"No number of trials proves a rate of exactly {end:g}. To see the spend when stopping "
            f"at a\nconfidence, put the bar inside, such as {near:g} with a precision of 0.005."
        ]
    if stop is None:
        why = "give a precision" if not any(plan.precision) else "narrow the precision"
        return [f"To see the spend when stopping at a confidence, {why}."]
    words = f"Stopping at {_percent(stop.confidence)} confidence instead, without a budget: "
    if stop.games:
        words += (
            f"{_round(stop.mean):,} pulls on average,\nhalf of the time up to "
            f"{_round(stop.median):,}, nine times of ten up to {_round(stop.ninety):,}"
        )
    else:
        words += f"about {_round(stop.mean):,} pulls on average (by a formula:\nplaying takes long)"
    least = _round(max(stop.least, 1))
    return [
        f"{words};\n"
        f"no method that keeps this confidence can do with less than {least:,} on average."
    ]


def _workers(plan: Plan) -> list[str]:
    found = plan.workers
    if found is None:
        return []
    shown = rate(found.predicted)
    what = f"an error of {shown}" if plan.of == "error" else f"{shown} wrong arms on average"
    words = (
        f"With {found.in_flight:,} pulls in flight the same budget gives {what} "
        f"({rate(found.low)} to {rate(found.high)}),\nagainst {rate(found.alone)} in the same "
        f"{found.games:,} games with one pull at a time"
    )
    if found.budget is not None:
        words += f";\nthe default rule then needs about {_round(found.budget):,}"
    return [words + "."]


def _relaxed(plan: Plan) -> str:
    if not plan.relaxed:
        return ""

    def shown(budget: int | None) -> str:
        return "–" if budget is None else f"{budget:,}"

    lines = [["if the precision is", "the default rule needs", "every arm alike"]]
    asked = f"{_span(plan.precision)}, as asked"
    rows = [(1.0, asked, plan.default.budget, plan.uniform.budget)]
    rows += [(row.factor, _span(row.precision), row.default, row.uniform) for row in plan.relaxed]
    lines += [[words, shown(default), shown(alike)] for _, words, default, alike in sorted(rows)]
    return aligned(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.6g} %"


def _round(value: float) -> int:
    """Three digits."""
    return int(float(f"{value:.3g}")) if value >= 1000 else round(value)


def _one(values: Sequence[float]) -> Any:
    return values[0] if len(set(values)) == 1 else list(values)


def _span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


@dataclass(frozen=True)
class PlanPicture:
    """What a picture of a plan shows: curves over the budget, the target, and where they meet.

    ``needed`` holds a budget for every curve that has one; ``others`` are further budgets with a
    name, such as the spend at a confidence.
    """

    title: str
    ylabel: str
    curves: tuple[Curve, ...]
    target: float
    needed: tuple[int | None, ...]
    others: tuple[tuple[str, float], ...]
    x: tuple[float, float]
    y: tuple[float, float]


def picture(plan: Plan, bar: Bar | None = None) -> PlanPicture:
    """The numbers of a picture."""
    bar = bar or Bar(plan.threshold[0])
    needs = (plan.default, plan.uniform)
    curves = tuple(
        Curve(SHOWN[n.rule], n.horizons, n.curve, n.curve_low, n.curve_high) for n in needs
    )
    others = []
    if plan.stop is not None:
        words = f"stopping at {_percent(plan.stop.confidence)}: {_round(plan.stop.mean):,}"
        others.append((words, plan.stop.mean))
    high = max(float(np.max(curve.rate)) for curve in curves)
    # From where something happens to a little beyond the last budget.
    falling = [c.horizons[c.rate < 0.97 * np.max(c.rate)] for c in curves]
    starts = [float(h[0]) for h in falling if len(h)] or [float(plan.arms)]
    budgets = [float(n.budget) for n in needs if n.budget is not None]
    ends = [1.25 * x for x in (*budgets, *(x for _, x in others))]
    ends = ends or [float(curve.horizons[-1]) for curve in curves]
    return PlanPicture(
        title=plan.belief.words.split(";")[0]
        + f"; bar {_bar_words(plan, bar)}, precision {_span(plan.precision)}",
        ylabel="error probability" if plan.of == "error" else "wrong arms on average",
        curves=curves,
        target=plan.target,
        needed=tuple(n.budget for n in needs),
        others=tuple(others),
        x=(0.7 * min(starts), max(ends)),
        y=(plan.target / 6, 1.3 * max(high, plan.target)),
    )
