"""The tournament as text for a terminal and as a Markdown page."""

from collections.abc import Callable, Sequence
from functools import partial

from cutline.figures.tables import Row, rate
from cutline.figures.text import aligned
from cutline.figures.tournament.summary import beyond_chance, measure, worse_measures

SUMMARY = ("error", "wrong_arms", "budget")
HEADS = ("any error", "wrong arms", "budget")
WORDS = {"ratio": "any error", "arms_ratio": "wrong arms"}


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
        f"{row['instance']} at {row['budget']:,} ({WORDS[m]} {_ratio(row[m])}, at least "
        f"{_ratio(row[f'{m}_low'])})"
        for row in worse
        for m in worse_measures(row)
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
        f"{len(found['summary'])} rules on {count} instances, {rows} rows of instance and budget, "
        "relative to APT in the same games. "
        f"{'Budgets are the smallest of' if found['quick'] else 'The budgets are'} "
        "those at which APT errs in about 25, 5 and 1 % of games "
        "(beyond 500 arms: has 25, 5 and 1 wrong arms in 1,000), unless a note says otherwise. "
        "Rules for stopping at a confidence and for the best arm are not in it; `uniform` stands "
        "for round robin too, and `apt-clipped` and its kin play on heavy tails.\n",
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
    more: dict[str, Callable[[Row], str]] = {
        "Error relative to APT, with 99.9 % intervals": _ratio_cell,
        "Chance of any error, with 99.9 % intervals": partial(_interval, "error_rate", ""),
        "Mean wrong arms, with 99.9 % intervals": partial(_interval, "wrong_arms", "wrong_arms_"),
        "Budget for the error of APT, relative to APT's": _budget_cell,
    }
    for title, cell in more.items():
        parts.append(f"<details><summary>{title}</summary>\n")
        parts.append(_markdown(_cells(members, rows, cell)))
        parts.append("</details>\n")
    return parts


def _interval(key: str, ends: str, row: Row) -> str:
    return f"{_count(row[key])} ({_count(row[f'{ends}low'])} to {_count(row[f'{ends}high'])})"


def _count(value: float) -> str:
    return rate(value) if value < 1 else f"{value:.3g}"


def _ratio_cell(row: Row) -> str:
    if row["rule"] == "apt":
        return "1"
    key = measure(row)
    low, high = row[f"{key}_low"], row[f"{key}_high"]
    return f"{_ratio(row[key])} ({_ratio(low)} to {'∞' if high is None else _ratio(high)})"


def _headline(row: Row) -> str:
    arms = row["told_by"] == "arms"
    shown = _count(row["wrong_arms"]) if arms else rate(row["error_rate"])
    mark = {1: "*", 0: "", -1: "**"}[beyond_chance(row)]
    return f"{mark}{shown}{mark}{' arms' if arms else ''}"


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
    limit = found["limit"]
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
    if len(parts) == 1:
        parts.append("These rules have played everywhere.\n")
    return parts


def _made(found: Row) -> list[str]:
    games = sorted({row["games"] for row in found["rows"]})
    return [
        "## How this was made\n",
        f"`{found['command']}`, cutline {found['version']}, seed "
        f"{found['seed']}, {' or '.join(f'{n:,}' for n in games)} games a cell. "
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
