"""cutline show."""

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cutline.cli.asked import asked_instead, flag
from cutline.cli.printing import hand_over, named, printable, say, spent_of
from cutline.cli.shared import formatted, note, numbers, writable
from cutline.cli.stores.opening import by_name, by_rule, in_store, stored_campaign
from cutline.cli.verdicts import arm_rows, report_of, words_of
from cutline.core.bar import OTHER, Bar, measured
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
    "--at-least",
    help="What if the pass rate (or mean) should be at least this, one or one per arm.",
)
@click.option(
    "--at-most",
    help="What if the failure rate should be at most this, or with other rewards than binary the "
    "mean below this; one or one per arm.",
)
@click.option(
    "--threshold",
    help="What if the bar were another, one or one per arm, in the sense in which it was put.",
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
    help="Draw every arm, and what is known of it, against the bar (.png, .svg, .pdf).",
)
@formatted
def show(where: str, name: str | None, rule: str | None, **flags: Any) -> None:
    """Show the verdict of a campaign as it is now.

    The bar is spoken of as it was put: after run --at-most 0.01 all numbers are failure rates. Arms
    are sorted by how far they are above their bar (or clear it), so that those close to it are in
    the middle. Of many arms the least settled are shown; --all shows all, and so do --format json
    and csv. Looking changes nothing and may be done at any time, by anybody.

    --at-least, --at-most and --threshold answer what-if: the stored rewards are counted and weighed
    again against another bar, exactly. But a bar chosen after looking loses the guarantee. A plain
    --threshold is refused where failures were asked about, as it could mean either.

    \b
    cutline show --store evals.db --name nightly --plot nightly.png
    cutline show --store evals.db --at-most 0.05
    cutline show --store evals.db --pulls prompt-7
    cutline show --store evals.db --rate 0.05 --format json
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    with stored_campaign(where, name, rule) as campaign:
        writable(flags["plot"], ".png", ".svg", ".pdf")
        if flags["arm"] is not None:
            _show_pulls(campaign, flags)
            return
        verdict, bar, what_if = _verdict(campaign, flags)
        _warn_of_band(campaign, what_if)
        called = None if flags["rate"] is None else verdict.discoveries(flags["rate"])
        if flags["plot"]:
            from cutline.figures.draw import plot, save_figure

            figure: Any = plot(verdict, bar=bar).figure
            save_figure(figure, flags["plot"])
        if flags["format"] == "table":
            say(_text(campaign, verdict, bar, called, what_if, flags), nl=False)
        elif flags["format"] == "csv":
            rows = arm_rows(verdict, bar, called)
            hand_over(as_csv(rows, list(rows[0])))
        else:
            said = report_of(campaign, verdict, bar, what_if=what_if, rate=flags["rate"])
            say(as_json(said), nl=False)


def _verdict(campaign: "Campaign", flags: dict[str, Any]) -> "tuple[Verdict, Bar, bool]":
    """The verdict, the bar to speak of, and whether it is another than the campaign's."""
    bar, thresholds = asked_instead(campaign, flags)
    given = {} if thresholds is None else {"threshold": thresholds}
    if flags["precision"] is not None:
        given["precision"] = numbers("precision", flags["precision"])
        bar = replace(bar, precision=given["precision"][0])
    if not given:
        return campaign.verdict(flags["confidence"]), bar, False
    from cutline.campaign.looking import what_if

    return what_if(campaign, confidence=flags["confidence"], **given), bar, True


def _warn_of_band(campaign: "Campaign", what_if: bool) -> None:
    """Say what is wrong with a bar that an earlier cutline took and that is refused now."""
    from cutline.core.problem import check_band

    if what_if:
        return
    try:
        check_band(campaign.problem)
    except ValueError as error:
        note(
            f"an earlier cutline took a bar for this campaign that is refused now: {error}. "
            "What is proven here beyond the end of the range says nothing; --threshold and "
            "--precision ask what the same rewards say of another bar"
        )


# The pulls of an arm.


def _show_pulls(campaign: "Campaign", flags: dict[str, Any]) -> None:
    from cutline.campaign.looking import PULL_COLUMNS, pulls_of

    beside = ("at_least", "at_most", "threshold", "precision", "confidence", "rate", "plot")
    given = [name for name in beside if flags[name] is not None]
    if given:
        raise click.UsageError(
            f"--pulls lists the pulls of an arm as they are: leave {flag(given[0])} out"
        )
    rows = pulls_of(campaign, flags["arm"])
    if flags["format"] == "json":
        say(as_json(rows), nl=False)
    elif flags["format"] == "csv":
        hand_over(as_csv(rows, list(PULL_COLUMNS)))
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
        say(aligned(lines, left=(1, 2, 5)), nl=False)


# The verdict.


def _text(
    campaign: "Campaign",
    verdict: "Verdict",
    bar: Bar,
    called: dict[str, str] | None,
    what_if: bool,
    flags: dict[str, Any],
) -> str:
    """A verdict for people: how far it is, the arms, then how sure."""
    places, others = _listed(verdict, bar, flags["everything"])
    lines = [
        _headline(campaign),
        *_warning(verdict, bar, what_if),
        _counts(verdict, bar),
        "",
        _table(verdict, bar, places, called) + others,
        *_suspended(campaign),
        *_named("retired", verdict.retired, "left out of the answer"),
        *_calls(bar, called, flags["rate"]),
        f"chance that any side is wrong: at most {verdict.error_bound:.3g} (error bound); "
        f"about {verdict.error_estimate:.3g} (a model's estimate, no guarantee)",
    ]
    if verdict.evidence is not None:
        from cutline.core.verdict import promises

        lines += promises(verdict)
    return "\n".join([*lines, f"assumes: {verdict.assumes}\n"])


def _suspended(campaign: "Campaign") -> list[str]:
    """The arms that are suspended, a line each, and why."""
    found = campaign.suspended()
    lines = [f"suspended: {named(arm)}, {printable(why, 300)}" for arm, why in found.items()][:20]
    if len(found) > len(lines):
        lines.append(f"suspended: {len(found) - len(lines):,} more")
    return [*lines, "cutline resume tries what is suspended again"] if lines else []


def _headline(campaign: "Campaign") -> str:
    from cutline.campaign.looking import head_row

    row = head_row(campaign.access.head())
    stops = "" if row["confidence"] is None else f", to confidence {row['confidence']:g}"
    flying = f", {row['in_flight']:,} in flight" if row["in_flight"] else ""
    return (
        f"{named(row['name'])}: {row['status']}; {spent_of(row)} {named(row['unit'])} spent"
        f"{flying}; rule {named(row['rule'])}{stops}"
    )


def _warning(verdict: "Verdict", bar: Bar, what_if: bool) -> list[str]:
    if not what_if:
        return []
    return [
        f"What if {words_of(verdict, bar)}: the same rewards, counted and weighed again, exactly.",
        "A bar chosen after looking loses the guarantee: to be sure, ask that question anew.",
    ]


def _counts(verdict: "Verdict", bar: Bar) -> str:
    """How many arms are settled, and how."""
    standing = [arm for arm in verdict.arms if arm.status != "retired"]
    kinds = Counter(arm.proven or "undecided" for arm in standing)
    if bar.expected is None:
        said = [f"{kinds['above']:,} proven above", f"{kinds['below']:,} proven below"]
    else:
        clear, fail = kinds[bar.expected], kinds[OTHER[bar.expected]]
        said = [
            f"{clear:,} {'clears' if clear == 1 else 'clear'} the bar",
            f"{fail:,} {'fails' if fail == 1 else 'fail'} it",
        ]
    if kinds["within precision"]:
        said.append(f"{kinds['within precision']:,} proven within precision")
    said.append(f"{kinds['undecided']:,} undecided")
    if verdict.unseen:
        said.append(f"{len(verdict.unseen):,} of them never seen")
    against = "" if bar.expected is None else f" ({words_of(verdict, bar)})"
    return (
        f"{kinds.total():,} arms{against} at confidence {verdict.confidence:g}: {', '.join(said)}"
    )


def _listed(verdict: "Verdict", bar: Bar, everything: bool) -> tuple[list[int], str]:
    """The places of the arms to list, in order, and what is said of the others."""
    arms, tau = verdict.arms, verdict.problem.threshold
    up = -1 if bar.expected == "below" else 1  # the furthest on the wanted side come first
    places = [place for place, arm in enumerate(arms) if arm.status != "retired"]
    others: list[int] = []
    if not everything and len(places) > LISTED:
        places.sort(key=lambda p: (arms[p].proven is not None, -arms[p].p_value))
        places, others = places[:LISTED], places[LISTED:]
    seen = sorted((p for p in places if arms[p].pulls), key=lambda p: up * (tau[p] - arms[p].mean))
    unseen = sorted(p for p in places if not arms[p].pulls)
    kinds = Counter(_kind(bar, arms[p]) for p in others)
    said = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    more = f"... and {len(others):,} more arms ({said}): --all lists them\n" if others else ""
    return seen + unseen, more


def _kind(bar: Bar, arm: "ArmVerdict") -> str:
    """Where an arm stands that is not listed."""
    if arm.proven is None or arm.proven not in OTHER or bar.expected is None:
        return f"proven {arm.proven}" if arm.proven else "undecided"
    return bar.standing(arm).replace("s the bar", "")


def _table(
    verdict: "Verdict", bar: Bar, places: Sequence[int], called: dict[str, str] | None
) -> str:
    """The arms in rows; on a terminal names are cut so that a row is a line, if need be."""
    table = _rows(verdict, bar, places, called, 60)
    if not sys.stdout.isatty():
        return table
    lines = table.splitlines()
    longest = max((len(named(verdict.arms[place].arm)) for place in places), default=0)
    over = max(map(len, lines)) - shutil.get_terminal_size().columns
    return table if over <= 0 else _rows(verdict, bar, places, called, max(20, longest - over))


def _rows(
    verdict: "Verdict",
    bar: Bar,
    places: Sequence[int],
    called: dict[str, str] | None,
    width: int,
) -> str:
    from cutline.core.verdict import Counts

    arms = [verdict.arms[place] for place in places]
    wanted = bar.expected is not None
    columns: dict[str, list[str]] = {
        "arm": [named(arm.arm, width) for arm in arms],
        "so far" if wanted else "side": [bar.so_far(arm) for arm in arms],
        "verdict" if wanted else "proven": [_proven(bar, arm) for arm in arms],
        bar.unit: [measured(bar.shown(arm.mean)) if arm.pulls else "-" for arm in arms],
        "known": [bar.known(arm) for arm in arms],
        "bar": [_bar(verdict, bar, place) for place in places],
        "pulls": [f"{arm.pulls:,}" for arm in arms],
    }
    counts = [arm.counts or Counts() for arm in arms]
    beside = [name for name in BESIDE if any(getattr(count, name) for count in counts)]
    if any(count.asked != count.told for count in counts):
        beside = ["asked", "told", *beside]
    columns |= {name: [f"{getattr(count, name):,}" for count in counts] for name in beside}
    if called is not None:
        columns["called"] = [_called(bar, called.get(arm.arm)) for arm in arms]
    return aligned([list(columns), *zip(*columns.values(), strict=True)], left=(0, 1, 2, 4))


def _proven(bar: Bar, arm: "ArmVerdict") -> str:
    return "suspended" if arm.status == "suspended" else bar.standing(arm)


def _called(bar: Bar, side: str | None) -> str:
    """What an arm is called; "-" where it is not."""
    if side is None or bar.expected is None:
        return side or "-"
    return "clears" if side == bar.expected else "fails"


def _bar(verdict: "Verdict", bar: Bar, place: int) -> str:
    tau, eps = bar.shown(verdict.problem.threshold[place]), verdict.problem.precision[place]
    return f"{tau:.15g} ± {eps:.15g}" if eps else f"{tau:.15g}"


def _named(what: str, arms: Sequence[str], why: str) -> list[str]:
    if not arms:
        return []
    names = ", ".join(map(named, arms[:10])) + (" and more" if len(arms) > 10 else "")
    return [f"{what}, {len(arms):,}: {names} ({why})"]


def _calls(bar: Bar, called: dict[str, str] | None, rate: float | None) -> list[str]:
    if called is None:
        return []
    sides = Counter(called.values())
    said = f"{sides['above']:,} above, {sides['below']:,} below"
    if bar.expected is not None:
        clear, fail = sides[bar.expected], sides[OTHER[bar.expected]]
        said = f"{clear:,} to clear the bar, {fail:,} to fail it"
    return [
        f"called: {said}; of such calls at most the share {rate:g} is false on average, if one "
        "looks once, at a moment fixed beforehand"
    ]
