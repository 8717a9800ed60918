"""The tournament: every rule on every instance of the suite, relative to APT. Numbers, no ink.

All rules of an instance meet the same games, so their errors are compared game by game.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from cutline._version import __version__
from cutline.core.tally import Floats, Ints
from cutline.figures.tables import Row, aligned, rate
from cutline.rules import RULES, parse_rule
from cutline.rules.base import IndexRule, Rule
from cutline.simulation.bandit import Bandit
from cutline.simulation.result import Result
from cutline.simulation.suite import MANY, Instance, crossing, grid

LEVEL = 0.999
LIMIT = 16.0  # seconds for a rule on an instance, by the cost model
CERTAIN = 0.9  # where APT errs in more games than this, only the number of wrong arms tells

# Who plays unless said; a name that is not a rule (yet) is passed over.
CONTESTANTS = (
    *("apt", "auto", "slr", "slr-d", "slr-v", "lsa", "fwt", "evt", "aug-ucb", "csar", "ucbe"),
    *("pi", "tts", "bayes-ucb", "apt-clipped", "uniform", "oracle"),
)
QUICK = ("apt", "auto", "slr", "uniform")
ALWAYS = ("apt", "auto")  # however long they take
HEAVY_ONLY = ("apt-clipped",)  # elsewhere it is asked for by name

# Nanoseconds that a pull takes on one core: a part of its own, and one for each arm looked at.
# Measured once, on the build machine, and fixed, so that everybody plays the same cells.
COSTS = {
    "apt": (8, 0.13),
    "auto": (20, 0.15),
    "slr": (17, 0.14),
    "slr-d": (20, 1.3),
    "slr-v": (15, 0.11),
    "lsa": (10, 0.12),
    "fwt": (14, 0.13),
    "evt": (13, 0.1),
    "aug-ucb": (75, 0.9),
    "csar": (33, 0.7),
    "ucbe": (8, 0.14),
    "pi": (160, 0.0),
    "tts": (190, 1.35),
    "bayes-ucb": (15_000, 0.0),
    "apt-clipped": (15, 0.2),
    "uniform": (15, 0.0),
    "oracle": (9, 0.2),
}
TREE = 160  # from here on index rules do not look at every arm
CROWD = 0.008  # what an arm more costs all the same: memory that is further away
# A reward, beyond that of a coin.
DRAWS = {"gaussian": 6, "exponential": 6, "poisson": 20, "beta": 230, "pareto": 70}
DRAWS |= {"student-t": 115, "recorded": 100}
CORES = 2

Play = Callable[..., tuple[Result, bool]]


@dataclass(frozen=True)
class Plan:
    """Who plays on which instance: the rules' names, and why the others do not."""

    instance: Instance
    budgets: tuple[int, ...]
    games: int
    rules: tuple[str, ...]
    unfit: dict[str, str] = field(default_factory=dict)  # in the rule's own words
    slow: dict[str, float] = field(default_factory=dict)  # seconds it would take


def contestants() -> list[str]:
    """The rules that play unless others are named."""
    return [name for name in CONTESTANTS if name in RULES]


def plan(
    instance: Instance,
    names: Sequence[str],
    *,
    games: int | None = None,
    quick: bool = False,
    limit: float = LIMIT,
    all_apply: bool = False,
) -> Plan:
    """What is played on an instance; APT always is, and ``auto`` is never too slow.

    ``all_apply`` lets rules for heavy tails play on other rewards too, as when they are asked for.
    """
    problem = instance.bandit.problem
    budgets = instance.budgets[:1] if quick else instance.budgets
    count = games or (64 if quick else instance.games)
    playing: list[str] = []
    unfit: dict[str, str] = {}
    slow: dict[str, float] = {}
    for name in dict.fromkeys(("apt", *names)):
        rule = parse_rule(name)
        if name in HEAVY_ONLY and problem.rewards.kind != "heavy" and not all_apply:
            unfit[name] = "is for heavy tails"
            continue
        try:
            rule.check(problem)
            rule.on(problem).check(problem)
        except ValueError as error:
            unfit[name] = str(error)
            continue
        seconds = predicted_seconds(name, rule, instance.bandit, budgets, count)
        if seconds > limit and name not in ALWAYS:
            slow[name] = seconds
        else:
            playing.append(name)
    return Plan(instance, budgets, count, tuple(playing), unfit, slow)


def predicted_seconds(
    name: str, rule: Rule, bandit: Bandit, budgets: Sequence[int], games: int
) -> float:
    """How long a rule takes on an instance on two cores, by a fixed model of its cost."""
    arms = len(bandit.problem.arms)
    own, each = COSTS.get(name.partition(":")[0], COSTS["apt"])
    looks_once = isinstance(rule, IndexRule) and not rule.clocked
    looked_at = min(arms, TREE) if looks_once else arms
    cost = own + each * looked_at + CROWD * arms + DRAWS.get(bandit.arms.name, 0)
    pulls = budgets[-1] if rule.anytime else sum(budgets)
    return games * pulls * cost * 1e-9 / CORES


def play_instance(planned: Plan, play: Play, what: str, **options: Any) -> list[Row] | None:
    """One row for every rule and budget of an instance, or None where Ctrl-C came first.

    Rules that know the horizon are replayed for each budget, together with APT; the others are
    read at the budgets and at a fine grid below, in one pass.
    """
    rules = {name: parse_rule(name) for name in planned.rules}
    anytime = [name for name in rules if rules[name].anytime]
    replayed = [name for name in rules if not rules[name].anytime]
    bandit, budgets = planned.instance.bandit, list(planned.budgets)
    steps = grid(planned.instance.arms, budgets[-1])
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
    if math.isinf(reached):
        return float(horizons[-1] / budget), ">"
    return reached / budget, "<" if curve[0] <= target and reached == horizons[0] else "="


def paired_ratio(
    both: int, only_first: int, only_second: int, games: int, level: float
) -> tuple[float, float]:
    r"""Nam and Blackwelder's (2002) score interval for the ratio of two rates in the same games.

    All ratios :math:`\theta = p_1 / p_2` that the score test accepts, those with

    .. math:: |x_1 - \theta x_2| \le z \sqrt{n\,\theta\,(\tilde p_{10} + \tilde p_{01})}

    where x counts the games that each has wrong and :math:`\tilde p` are the likeliest rates of the
    games that only one of them has wrong, given :math:`\theta`. The level is approximate.

    >>> low, high = paired_ratio(both=10, only_first=5, only_second=20, games=1000, level=0.95)
    >>> round(low, 3), round(high, 3)
    (0.308, 0.783)
    """
    first, second = both + only_first, both + only_second
    if first == 0 and second == 0:
        return 0.0, math.inf
    z = NormalDist().inv_cdf((1 + level) / 2)

    def accepted(theta: float) -> bool:
        differ = discordant(theta, both, only_first, only_second, games)
        return (first - theta * second) ** 2 <= z * z * games * theta * differ

    if first == second and only_first == 0:  # never apart: exactly the same games
        middle = 1.0
    else:
        middle = max(first, 1e-3) / max(second, 1e-3)
    low = 0.0 if first == 0 else _end(accepted, middle, 1e-12)
    return low, math.inf if second == 0 else _end(accepted, middle, 1e12)


def _end(accepted: Callable[[float], bool], inside: float, outside: float) -> float:
    """The last ratio that is accepted between one that is and one that is not, by halving."""
    for _ in range(45):
        middle = math.sqrt(inside * outside)
        if accepted(middle):
            inside = middle
        else:
            outside = middle
    return inside


def discordant(theta: float, both: int, only_first: int, only_second: int, games: int) -> float:
    """The likeliest rate of games that one alone has wrong, when the rates' ratio is theta.

    With a multiplier m for the constraint p11 + p10 = theta (p11 + p01), the likeliest rates are
    counts over n + m g, where g is 1 - theta, 1 and -theta; m is found by halving.
    """
    n = float(games)
    least = 1e-12 * n  # a multiplier at its bound leaves a count of 0 over 0
    low, high = -n, n / theta
    for _ in range(60):
        m = (low + high) / 2
        slope = (
            (1 - theta) * both / max(n + m * (1 - theta), least)
            + only_first / max(n + m, least)
            - theta * only_second / max(n - theta * m, least)
        )
        low, high = (m, high) if slope > 0 else (low, m)
    p11 = both / max(n + m * (1 - theta), least)
    if only_second > 0:
        p01 = only_second / max(n - theta * m, least)
        p10 = max((theta - 1) * p11 + theta * p01, 0.0)
    else:
        p10 = only_first / max(n + m, least) if only_first else max((theta - 1) * p11, 0.0)
        p01 = max((p10 - (theta - 1) * p11) / theta, 0.0)
    return p10 + p01


def beyond_chance(row: Row) -> int:
    """1 where a rule is worse than APT beyond chance, -1 where it is better, else 0."""
    low, high = (f"{_measure(row)}_{end}" for end in ("low", "high"))
    if row[low] is not None and row[low] > 1:
        return 1
    return -1 if row[high] is not None and row[high] < 1 else 0


def _measure(row: Row) -> str:
    return "arms_ratio" if row["told_by"] == "arms" else "ratio"


def geometric_mean(values: Sequence[float]) -> float | None:
    """The mean of ratios, or None of none.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summarize(rows: Sequence[Row]) -> list[Row]:
    """Every rule over all the rows it plays in: geometric means of its ratios to APT.

    Apart for thresholds of rare events and all others. ``worst`` is the largest single ratio.
    """
    lines = []
    for name in dict.fromkeys(row["rule"] for row in rows):
        line: Row = {"rule": name}
        for side, rare in (("rare", True), ("other", False)):
            own = [row for row in rows if row["rule"] == name and row["rare"] is rare]
            games = [row["ratio"] for row in own if row["told_by"] == "games"]
            needs = [row for row in own if row["budget_ratio"] is not None]
            signs = {row["budget_ratio_is"] for row in needs} - {"="}
            line[side] = {
                "rows": len(own),
                "error": geometric_mean(games),
                "wrong_arms": geometric_mean([row["arms_ratio"] for row in own]),
                "budget": geometric_mean([row["budget_ratio"] for row in needs]),
                "budget_is": "=" if not signs else signs.pop() if len(signs) == 1 else "about",
                "better": sum(beyond_chance(row) < 0 for row in own),
                "worse": sum(beyond_chance(row) > 0 for row in own),
            }
        worst = max((r for r in rows if r["rule"] == name), key=lambda r: float(r[_measure(r)]))
        line["worst"] = {key: worst[key] for key in ("instance", "budget", "told_by")}
        line["worst"]["ratio"] = worst[_measure(worst)]
        lines.append(line)
    return sorted(lines, key=lambda line: line["rule"] != "apt")


def worse_rows(rows: Sequence[Row], rule: str) -> list[Row]:
    """The rows in which a rule is worse than APT beyond chance."""
    return [row for row in rows if row["rule"] == rule and beyond_chance(row) > 0]


def report(plans: Sequence[Plan], rows: Sequence[Row], **settings: Any) -> Row:
    """Everything that was found, as plain values: settings, instances, rows, and who sat out."""
    played = {row["instance"] for row in rows}
    return {
        "version": __version__,
        "level": LEVEL,
        **settings,
        "instances": [
            _described(p.instance, p.budgets) for p in plans if p.instance.name in played
        ],
        "rows": list(rows),
        "summary": summarize(rows),
        "auto_worse": worse_rows(rows, "auto"),
        "too_slow": [
            {"rule": name, "instance": p.instance.name, "seconds": round(seconds, 1)}
            for p in plans
            for name, seconds in p.slow.items()
        ],
        "not_applicable": [
            {"rule": name, "instance": p.instance.name, "reason": reason}
            for p in plans
            for name, reason in p.unfit.items()
        ],
        "not_reached": [p.instance.name for p in plans if p.instance.name not in played],
    }


def _described(instance: Instance, budgets: Sequence[int]) -> Row:
    problem = instance.bandit.problem
    return {
        "name": instance.name,
        "group": instance.group,
        "why": instance.why,
        "note": instance.note,
        "arms": instance.arms,
        "rewards": problem.rewards.kind,
        "threshold": problem.threshold[0] if len(set(problem.threshold)) == 1 else None,
        "precision": problem.precision[0] if len(set(problem.precision)) == 1 else None,
        "rare": instance.rare,
        "budgets": list(budgets),
    }


def as_json(found: Row) -> str:
    """A report as one JSON object."""
    return json.dumps(found, allow_nan=False) + "\n"


SUMMARY = ("error", "wrong_arms", "budget")
HEADS = ("any error", "wrong arms", "budget")


def _summary_lines(found: Row, heads: Sequence[str] = HEADS) -> list[list[str]]:
    means = [f"{head}, {side}" for head in heads for side in ("rare", "other")]
    lines = [["rule", *means, "rows", "better", "worse", "worst ratio"]]
    for line in found["summary"]:
        cells = [_mean_cell(line[side], key) for key in SUMMARY for side in ("rare", "other")]
        counts = [
            str(sum(line[side][key] for side in ("rare", "other")))
            for key in ("rows", "better", "worse")
        ]
        worst = line["worst"]
        where = f"{_ratio(worst['ratio'])} ({worst['instance']}, {worst['budget']:,})"
        lines.append([line["rule"], *cells, *counts, "" if line["rule"] == "apt" else where])
    return lines


def _mean_cell(side: Row, key: str) -> str:
    sign = {"=": "", ">": "> ", "<": "< ", "about": "~ "}[side["budget_is"]]
    return _ratio(side[key], sign if key == "budget" else "")


def _ratio(value: float | None, sign: str = "") -> str:
    """A ratio with two digits after the point, more where it is small.

    >>> _ratio(1.234), _ratio(0.0123, "> "), _ratio(12345.0), _ratio(None)
    ('1.23', '> 0.012', '12,345', '–')
    """
    if value is None:
        return "–"
    if value >= 100:
        return f"{sign}{value:,.0f}"
    return f"{sign}{value:.2f}" if value >= 0.1 else f"{sign}{value:.2g}"


def as_text(found: Row) -> str:
    """The summary for people, with what was not played."""
    parts = ["relative to APT, geometric means over instances and budgets (below 1 is better)\n"]
    parts.append(aligned(_summary_lines(found, ("error", "arms", "budget"))))
    parts += [f"{line}\n" for line in [*_worse_lines(found), *_slow_lines(found)]]
    return "".join(parts)


def _worse_lines(found: Row) -> list[str]:
    if all(line["rule"] != "auto" for line in found["summary"]):
        return []
    worse = found["auto_worse"]
    if not worse:
        return ["auto is nowhere worse than APT beyond chance (99.9 %)."]
    where = "; ".join(
        f"{row['instance']} at {row['budget']:,} "
        f"({_ratio(row[_measure(row)])}, at least {_ratio(row[_measure(row) + '_low'])})"
        for row in worse
    )
    return [f"auto is worse than APT beyond chance (99.9 %) in {len(worse)} rows: {where}."]


def _slow_lines(found: Row) -> list[str]:
    by_rule: dict[str, list[str]] = {}
    for cell in found["too_slow"]:
        by_rule.setdefault(cell["rule"], []).append(cell["instance"])
    lines = [f"not played, too slow: {rule} on {', '.join(on)}" for rule, on in by_rule.items()]
    if found["not_reached"]:
        lines.append(f"not played, stopped before: {', '.join(found['not_reached'])}")
    return lines


def as_page(found: Row) -> str:
    """The report as a page in Markdown."""
    groups = list(dict.fromkeys(instance["group"] for instance in found["instances"]))
    return "\n".join(
        [
            *_opening(found),
            *(f"## Where `auto` is worse than APT\n\n{line}\n" for line in _worse_lines(found)),
            *(part for group in groups for part in _group(found, group)),
            *_sat_out(found),
            *_made(found),
        ]
    )


def _opening(found: Row) -> list[str]:
    count, rows = (
        len(found["instances"]),
        len({(r["instance"], r["budget"]) for r in found["rows"]}),
    )
    return [
        "# Tournament\n",
        f"Every rule on {count} instances, {rows} rows of instance and budget, relative to APT in "
        "the same games. The budgets are those at which APT errs in about 25, 5 and 1 % of games "
        "(beyond 500 arms: has 25, 5 and 1 wrong arms in 1,000), unless a note says otherwise.\n",
        "![Error of every rule relative to APT, instance by instance](tournament.png)\n",
        "## Summary\n",
        "Geometric means over rows of the ratio to APT; below 1 is better. *Any error* is the "
        "chance that some arm is on the wrong side, (wrong games + ½) of the rule over that of "
        "APT, in the rows where games tell (beyond 500 arms, or where APT errs in over 90 % of "
        "games, some arm is wrong nearly always, and arms are counted). *Wrong arms* is their mean "
        "number. *Budget* is what the rule needs for APT's error, over what APT needs; > where "
        "some rows only say that it is more than that, < less, ~ both. *Rare* rows ask about "
        "probabilities up to 0.1 or from 0.9. *Better* and *worse* count rows that differ from APT "
        "beyond chance (99.9 %). Rules that play in fewer rows are not comparable by their "
        "means. `oracle` and `ucbe` are told what nobody knows: yardsticks.\n",
        _markdown(_summary_lines(found)),
    ]


def _group(found: Row, group: str) -> list[str]:
    members = [one for one in found["instances"] if one["group"] == group]
    rows = [row for row in found["rows"] if row["group"] == group]
    parts = [f"## {group[:1].upper()}{group[1:]}\n"]
    for one in members:
        bar = ", ".join(
            f"{key} {one[key]:g}" for key in ("threshold", "precision") if one[key] is not None
        )
        note = f" {one['note']}" if one["note"] else ""
        rare = ", rare" if one["rare"] else ""
        parts.append(f"- **{one['name']}**: {one['why']}; {one['rewards']}, {bar}{rare}.{note}")
    parts.append(
        "\nChance of any error (*arms*: mean wrong arms). **Bold** is better than APT beyond "
        "chance, *slanted* worse.\n"
    )
    parts.append(_markdown(_cells(members, rows, _headline)))
    more = {
        "Error relative to APT, with 99.9 % intervals": _ratio_cell,
        "Mean wrong arms": lambda row: _count(row["wrong_arms"]),
        "Budget for the error of APT, relative to APT's": _budget_cell,
    }
    for title, cell in more.items():
        parts.append(f"<details><summary>{title}</summary>\n")
        parts.append(_markdown(_cells(members, rows, cell)))
        parts.append("</details>\n")
    return parts


def _count(value: float) -> str:
    return rate(value) if value < 1 else f"{value:.3g}"


def _ratio_cell(row: Row) -> str:
    if row["rule"] == "apt":
        return "1"
    key = _measure(row)
    low, high = row[f"{key}_low"], row[f"{key}_high"]
    return f"{_ratio(row[key])} ({_ratio(low)} to {'∞' if high is None else _ratio(high)})"


def _headline(row: Row) -> str:
    arms = row["told_by"] == "arms"
    shown = _count(row["wrong_arms"]) if arms else rate(row["error_rate"])
    mark = {1: "*", 0: "", -1: "**"}[beyond_chance(row)]
    return f"{mark}{shown}{mark}{' arms' if arms and row['rule'] == 'apt' else ''}"


def _budget_cell(row: Row) -> str:
    sign = row["budget_ratio_is"]
    return _ratio(row["budget_ratio"], "" if sign == "=" else f"{sign} ")


def _cells(
    members: Sequence[Row], rows: Sequence[Row], cell: Callable[[Row], str]
) -> list[list[str]]:
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    known = {(row["instance"], row["budget"], row["rule"]): cell(row) for row in rows}
    lines = [["instance", "arms", "budget", *rules]]
    for one in members:
        for place, budget in enumerate(one["budgets"]):
            head = [one["name"], f"{one['arms']:,}"] if place == 0 else ["", ""]
            cells = [known.get((one["name"], budget, rule), "–") for rule in rules]
            lines.append([*head, f"{budget:,}", *cells])
    return lines


def _sat_out(found: Row) -> list[str]:
    parts = ["## Not played (–)\n"]
    limit = found.get("limit", LIMIT)
    if found["too_slow"]:
        parts.append(
            f"Too slow: the fixed cost model of the command says over {limit:g} s on two cores.\n"
        )
        parts += [f"- {line.removeprefix('not played, too slow: ')}" for line in _slow_lines(found)]
        parts.append("")
    reasons: dict[tuple[str, str], list[str]] = {}
    for cell in found["not_applicable"]:
        reasons.setdefault((cell["rule"], cell["reason"]), []).append(cell["instance"])
    if reasons:
        parts.append("Not made for such rewards:\n")
        parts += [f"- {rule} on {', '.join(on)}: {why}" for (rule, why), on in reasons.items()]
        parts.append("")
    return parts if len(parts) > 1 else [*parts, "Every rule has played everywhere.\n"]


def _made(found: Row) -> list[str]:
    games = sorted({row["games"] for row in found["rows"]})
    return [
        "## How this was made\n",
        f"`{found.get('command', 'cutline tournament')}`, cutline {found['version']}, seed "
        f"{found.get('seed', 0)}, {' or '.join(f'{n:,}' for n in games)} games a cell. "
        "All rules of an instance meet the same rewards. `tournament.json` holds all numbers, with "
        "99.9 % intervals: exact ones for rates, Nam and Blackwelder's score interval for the "
        "ratio of two paired rates, and for the ratio of wrong arms the ends of two 99.95 % "
        "intervals over each other, which does not use the pairing. The budgets were found with "
        "other games (`tools/suite_budgets.py`).\n",
    ]


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table with its first column flush left, the others right."""
    head, *rest = lines
    rule = ["---", *(["---:"] * (len(head) - 1))]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rest))


@dataclass(frozen=True)
class Overview:
    """What the overview figure shows: a ratio to APT for every instance and rule, None: no cell."""

    rules: tuple[str, ...]
    groups: tuple[str, ...]  # of every instance
    names: tuple[str, ...]
    rare: tuple[bool, ...]
    ratios: tuple[tuple[float | None, ...], ...]  # (instance, rule)
    title: str


def overview(found: Row) -> Overview:
    """The geometric mean over an instance's budgets of every rule's error relative to APT's."""
    rules = tuple(line["rule"] for line in found["summary"] if line["rule"] != "apt") or ("apt",)
    seen: dict[tuple[str, str], list[float]] = {}
    for row in found["rows"]:
        seen.setdefault((row["instance"], row["rule"]), []).append(row[_measure(row)])
    instances = found["instances"]
    return Overview(
        rules=rules,
        groups=tuple(one["group"] for one in instances),
        names=tuple(one["name"] for one in instances),
        rare=tuple(one["rare"] for one in instances),
        ratios=tuple(
            tuple(geometric_mean(seen.get((one["name"], rule), [])) for rule in rules)
            for one in instances
        ),
        title="Error relative to APT in the same games (below 1 is better)",
    )
