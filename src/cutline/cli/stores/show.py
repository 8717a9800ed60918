"""cutline show."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cutline.cli.printing import printable, spent_of
from cutline.cli.shared import formatted, numbers, writable
from cutline.cli.stores.opening import by_name, by_rule, in_store, stored_campaign
from cutline.figures.text import aligned, as_csv, as_json

if TYPE_CHECKING:
    from cutline.campaign import Campaign
    from cutline.core.verdict import ArmVerdict, Verdict

Row = dict[str, Any]

LISTED = 40  # arms that a table shows, unless all are asked for
BESIDE = (
    "failed",
    "lost",
    "late",
    "returned",
    "attached",
)  # counts that are shown where there are any


@click.command()
@in_store
@by_name
@by_rule
@click.option("--all", "everything", is_flag=True, help=f"List all arms, not {LISTED} at most.")
@click.option(
    "--confidence", type=float, help="Look at another confidence than the campaign's, or 0.95."
)
@click.option(
    "--threshold", help="What if the bar were another, one or one per arm: from the same pulls."
)
@click.option("--precision", help="What if the precision were another, one or one per arm.")
@click.option(
    "--rate",
    type=float,
    help="Call arms such that at most this share of the calls is false on average, e.g. 0.05.",
)
@click.option("--pulls", "arm", metavar="ARM", help="List the pulls of an arm, with their notes.")
@click.option(
    "--plot",
    "plot",
    type=click.Path(dir_okay=False),
    help="Draw every arm with its interval against the bar (.png, .svg, .pdf).",
)
@formatted
def show(where: str, name: str | None, rule: str | None, **flags: Any) -> None:
    """Show the verdict of a campaign as it is now.

    Arms are sorted by how far they are above their bar, so that those close to it are in the
    middle. Of many arms the least settled are shown; --all shows all, and so do --format json and
    csv. Looking changes nothing and may be done at any time, by anybody.

    --threshold answers what-if: the stored rewards are counted and weighed again against another
    bar, exactly. But a bar chosen after looking loses the guarantee.

    \b
    cutline show --store evals.db --name nightly --plot nightly.png
    cutline show --store evals.db --threshold 0.97
    cutline show --store evals.db --pulls prompt-7
    cutline show --store evals.db --rate 0.05 --format json
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    with stored_campaign(where, name, rule) as campaign:
        writable(flags["plot"], ".png", ".svg", ".pdf")
        if flags["arm"] is not None:
            _show_pulls(campaign, flags)
            return
        verdict = _verdict(campaign, flags)
        called = None if flags["rate"] is None else verdict.discoveries(flags["rate"])
        if flags["plot"]:
            from cutline.figures.draw import plot, save_figure

            figure: Any = plot(verdict).figure
            save_figure(figure, flags["plot"])
        if flags["format"] == "table":
            click.echo(_text(campaign, verdict, called, flags), nl=False)
        elif flags["format"] == "csv":
            rows = arm_rows(verdict, called)
            click.echo(as_csv(rows, list(rows[0])), nl=False)
        else:
            click.echo(as_json(_report(campaign, verdict, called, flags)), nl=False)


def _verdict(campaign: "Campaign", flags: dict[str, Any]) -> "Verdict":
    given = {
        name: numbers(name, flags[name])
        for name in ("threshold", "precision")
        if flags[name] is not None
    }
    if not given:
        return campaign.verdict(flags["confidence"])
    from cutline.campaign.looking import what_if

    return what_if(campaign, confidence=flags["confidence"], **given)


# The pulls of an arm.


def _show_pulls(campaign: "Campaign", flags: dict[str, Any]) -> None:
    from cutline.campaign.looking import PULL_COLUMNS, pulls_of

    beside = ("threshold", "precision", "confidence", "rate", "plot")
    given = [flag for flag in beside if flags[flag] is not None]
    if given:
        raise click.UsageError(
            f"--pulls lists the pulls of an arm as they are: leave --{given[0]} out"
        )
    rows = pulls_of(campaign, flags["arm"])
    if flags["format"] == "json":
        click.echo(as_json(rows), nl=False)
    elif flags["format"] == "csv":
        click.echo(as_csv(rows, list(PULL_COLUMNS)), nl=False)
    else:
        lines = [["number", "pull", "state", "reward", "cost", "note"]]
        for row in rows:
            late = "" if row["late"] is None else f"{row['late']:g}, too late"
            reward = "-" if row["reward"] is None else f"{row['reward']:g}"
            note = "" if row["note"] is None else printable(row["note"])
            lines.append(
                [
                    str(row["number"]),
                    row["id"],
                    row["state"],
                    late or reward,
                    str(row["cost"]),
                    note,
                ]
            )
        click.echo(aligned(lines, left=(1, 2, 5)), nl=False)


# The verdict.


def arm_rows(verdict: "Verdict", called: dict[str, str] | None) -> list[Row]:
    """What is known of every arm, one row each, in the order of the problem."""
    columns = verdict.columns()
    problem = verdict.problem
    columns["threshold"], columns["precision"] = list(problem.threshold), list(problem.precision)
    if called is not None:
        columns["called"] = [called.get(arm.arm) for arm in verdict.arms]
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _report(
    campaign: "Campaign", verdict: "Verdict", called: dict[str, str] | None, flags: dict[str, Any]
) -> Row:
    from cutline.campaign.looking import head_row

    head = head_row(campaign.access.head())
    return {
        "campaign": head.pop("name"),
        "store": campaign.store.shown,
        **{key: head[key] for key in ("status", "rule", "budget", "spent", "unit", "in_flight")},
        "stops_at": head["confidence"],
        "confidence": verdict.confidence,
        "declared": verdict.declared,
        "guarantee": verdict.evidence is not None and verdict.broken is None,
        "assumes": verdict.assumes,
        "error_bound": verdict.error_bound,
        "error_estimate": verdict.error_estimate,
        "what_if": flags["threshold"] is not None or flags["precision"] is not None,
        "rate": flags["rate"],
        "arms": arm_rows(verdict, called),
    }


def _text(
    campaign: "Campaign", verdict: "Verdict", called: dict[str, str] | None, flags: dict[str, Any]
) -> str:
    """A verdict for people: how far it is, the arms, then how sure."""
    places, others = _listed(verdict, flags["everything"])
    patience = campaign.access.head().settings["patience"]
    again = f"{patience} pulls in a row failed or were lost; resume('ARM') asks again"
    lines = [
        _headline(campaign),
        *_warning(flags),
        _counts(verdict),
        "",
        _table(verdict, places, called) + others,
        *_named("suspended", verdict.unmeasured, again),
        *_named("retired", verdict.retired, "left out of the answer"),
        *_calls(called, flags["rate"]),
        f"chance that any side is wrong: at most {verdict.error_bound:.3g} (error bound); "
        f"about {verdict.error_estimate:.3g} (a model's estimate, no guarantee)",
    ]
    if verdict.evidence is not None:
        lines.append(
            "proven and intervals: for all arms at once, "
            f"confidence {verdict.confidence:g}, at any time"
        )
    return "\n".join([*lines, f"assumes: {verdict.assumes}\n"])


def _headline(campaign: "Campaign") -> str:
    from cutline.campaign.looking import head_row

    row = head_row(campaign.access.head())
    stops = "" if row["confidence"] is None else f", to confidence {row['confidence']:g}"
    flying = f", {row['in_flight']:,} in flight" if row["in_flight"] else ""
    return (
        f"{printable(row['name'])}: {row['status']}; {spent_of(row)} {row['unit']} spent{flying}; "
        f"rule {row['rule']}{stops}"
    )


def _warning(flags: dict[str, Any]) -> list[str]:
    names = [name for name in ("threshold", "precision") if flags[name] is not None]
    if not names:
        return []
    what = " and ".join(f"{name} {flags[name]}" for name in names)
    return [
        f"What if {what}: the same rewards, counted and weighed again, exactly.",
        "A bar chosen after looking loses the guarantee: to be sure, ask that question anew.",
    ]


def _counts(verdict: "Verdict") -> str:
    """How many arms are settled, and how."""
    kinds = Counter(arm.proven or "undecided" for arm in verdict.arms if arm.status != "retired")
    said = [f"{kinds['above']:,} proven above", f"{kinds['below']:,} proven below"]
    if kinds["within precision"]:
        said.append(f"{kinds['within precision']:,} proven within precision")
    said.append(f"{kinds['undecided']:,} undecided")
    if verdict.unseen:
        said.append(f"{len(verdict.unseen):,} of them never seen")
    return f"{kinds.total():,} arms at confidence {verdict.confidence:g}: {', '.join(said)}"


def _listed(verdict: "Verdict", everything: bool) -> tuple[list[int], str]:
    """The places of the arms to list, in order, and what is said of the others."""
    arms, bar = verdict.arms, verdict.problem.threshold
    places = [place for place, arm in enumerate(arms) if arm.status != "retired"]
    others: list[int] = []
    if not everything and len(places) > LISTED:
        places.sort(key=lambda p: (arms[p].proven is not None, -arms[p].p_value))
        places, others = places[:LISTED], places[LISTED:]
    seen = sorted((p for p in places if arms[p].pulls), key=lambda p: bar[p] - arms[p].mean)
    unseen = sorted(p for p in places if not arms[p].pulls)
    kinds = Counter(f"proven {arms[p].proven}" if arms[p].proven else "undecided" for p in others)
    said = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    more = f"... and {len(others):,} more arms ({said}): --all lists them\n" if others else ""
    return seen + unseen, more


def _table(verdict: "Verdict", places: Sequence[int], called: dict[str, str] | None) -> str:
    from cutline.core.verdict import Counts

    arms = [verdict.arms[place] for place in places]
    columns: dict[str, list[str]] = {
        "arm": [printable(arm.arm) for arm in arms],
        "side": [arm.side or "unseen" for arm in arms],
        "proven": [_proven(arm) for arm in arms],
        "mean": [f"{arm.mean:.4g}" if arm.pulls else "-" for arm in arms],
        "interval": [f"{arm.low:.4g} to {arm.high:.4g}" for arm in arms],
        "bar": [_bar(verdict, place) for place in places],
        "pulls": [f"{arm.pulls:,}" for arm in arms],
    }
    counts = [arm.counts or Counts() for arm in arms]
    beside = [name for name in BESIDE if any(getattr(count, name) for count in counts)]
    if any(count.asked != count.told for count in counts):
        beside = ["asked", "told", *beside]
    columns |= {name: [f"{getattr(count, name):,}" for count in counts] for name in beside}
    if called is not None:
        columns["called"] = [called.get(arm.arm, "-") for arm in arms]
    return aligned([list(columns), *zip(*columns.values(), strict=True)], left=(0, 1, 2))


def _proven(arm: "ArmVerdict") -> str:
    return "suspended" if arm.status == "suspended" else (arm.proven or "undecided")


def _bar(verdict: "Verdict", place: int) -> str:
    tau, eps = verdict.problem.threshold[place], verdict.problem.precision[place]
    return f"{tau:g} ± {eps:g}" if eps else f"{tau:g}"


def _named(what: str, arms: Sequence[str], why: str) -> list[str]:
    if not arms:
        return []
    names = ", ".join(map(printable, arms[:10])) + (" and more" if len(arms) > 10 else "")
    return [f"{what}, {len(arms):,}: {names} ({why})"]


def _calls(called: dict[str, str] | None, rate: float | None) -> list[str]:
    if called is None:
        return []
    sides = Counter(called.values())
    return [
        f"called: {sides['above']:,} above, {sides['below']:,} below; of such calls at most the "
        f"share {rate:g} is false on average, if one looks once, at a moment fixed beforehand"
    ]
