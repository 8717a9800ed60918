"""What a run found, in words and as an exit code."""

import shutil
import sys
from typing import TYPE_CHECKING, Any

from cutline.cli.asked import provable, put_as
from cutline.cli.printing import printable, say, shorten
from cutline.cli.run.crew import Crew
from cutline.cli.shared import note
from cutline.cli.stores.opening import MEMORY
from cutline.cli.verdicts import (
    ERROR,
    FAILING,
    STOPPED,
    UNDECIDED,
    ending,
    exit_code,
    headline,
    report_of,
)
from cutline.core.bar import Bar, measured
from cutline.core.text import visible
from cutline.figures.text import as_json

if TYPE_CHECKING:
    from cutline.core.verdict import ArmVerdict, Verdict

LISTED = 20  # arms of a kind that the table shows one by one


def report(crew: Crew, bar: Bar, flags: dict[str, Any]) -> int:
    """Print what was found; the exit code."""
    verdict = crew.campaign.verdict()
    head = crew.campaign.access.head()
    code = STOPPED if crew.stopped else ERROR if crew.gave_up else exit_code(verdict, bar)
    if flags["form"] == "json":
        said = report_of(crew.campaign, verdict, bar, code=code)
        say(as_json(said, indent=None), nl=False)
    else:
        lines = [
            headline(verdict, bar),
            "",
            *_table(verdict, bar, crew.notes | crew.campaign.suspended()),
            "",
        ]
        lines += _footnotes(verdict, head.spent, head.budget)
        say("\n".join([*lines, f"exit code {code}: {ending(code, bar)}"]))
    out = code in (UNDECIDED, FAILING) and verdict.undecided and head.spent == head.budget
    if flags["store"] == MEMORY:
        if crew.stopped:
            note("stopped; nothing was kept, since --store is memory")
    elif crew.stopped or crew.gave_up:
        how = "stopped" if crew.stopped else "given up"
        note(
            f"{how}; the same command goes on from here (campaign {crew.campaign.name!r} in "
            f"{crew.campaign.store.shown})"
        )
    elif out:
        note(f"the budget is spent: start again with more than --budget {head.budget} to go on")
        given = put_as(flags)
        instead = None if given is None else provable(given, bar.value, bar.precision, bar.measure)
        if instead is not None:
            note(f"no budget proves that an arm never fails; under another --name {instead}")
    return code


def _table(verdict: "Verdict", bar: Bar, notes: dict[str, str]) -> list[str]:
    """The arms that need a look first; those that are as they should be come last, and briefly."""
    order = ("fails the bar", "suspended", "undecided", "below", "above", "within precision")
    kinds: dict[str, list[ArmVerdict]] = {
        kind: [] for kind in (*order, "clears the bar", "retired")
    }
    for arm in verdict.arms:
        kinds[bar.standing(arm)].append(arm)
    lines: list[tuple[str, ...]] = [("arm", "verdict", bar.unit, "known", "pulls", "")]
    for kind, arms in kinds.items():
        most = 5 * LISTED if kind == "fails the bar" else LISTED
        # Those tried first; of the undecided the least sure, of the others by mean.
        arms.sort(key=lambda a: (not a.pulls, -a.p_value if a.proven is None else a.mean))
        lines += [_row(arm, kind, bar, notes) for arm in arms[:most]]
        if len(arms) > most:
            plural = kind.replace("s the bar", " the bar")
            lines.append((f"… and {len(arms) - most:,} more: {plural}", "", "", "", "", ""))
    widths = [max(len(line[i]) for line in lines if line[1]) for i in range(5)]
    if sys.stdout.isatty():  # names by their end, so that a line stays a line
        room = shutil.get_terminal_size().columns - sum(widths[1:]) - 2 * 5
        widths[0] = min(widths[0], max(room, 20))
    table = []
    for line in lines:
        cells = [shorten(line[0], widths[0]).ljust(widths[0]), line[1].ljust(widths[1])]
        cells += [line[2].rjust(widths[2]), line[3].ljust(widths[3]), line[4].rjust(widths[4])]
        table.append("  ".join([*cells, line[5]]).rstrip() if line[1] else line[0])
    return table


def _row(arm: "ArmVerdict", kind: str, bar: Bar, notes: dict[str, str]) -> tuple[str, ...]:
    mean = measured(bar.shown(arm.mean)) if arm.pulls else "-"
    failed = arm.counts.failed if arm.counts is not None else 0
    why = ""
    if failed and kind in ("suspended", "undecided"):
        last = f", last {printable(notes[arm.arm], 200)}" if arm.arm in notes else ""
        why = f"{failed:,} failed{last}"
        if kind == "suspended":
            why = printable(notes.get(arm.arm, why), 300)
    return visible(arm.arm), kind, mean, bar.known(arm), f"{arm.pulls:,}", why


def _footnotes(verdict: "Verdict", spent: int, budget: int | None) -> list[str]:
    of = "" if budget is None else f" of {budget:,}"
    failed = sum(arm.counts.failed + arm.counts.lost for arm in verdict.arms if arm.counts)
    beside = f", and {failed:,} more that failed or got lost, not counted" if failed else ""
    said = [f"spent: {spent:,}{of} pulls{beside}"]
    most = max(arm.pulls for arm in verdict.arms)
    alike = most * len(verdict.arms)
    settled = len(verdict.undecided) < len(verdict.arms) and not verdict.unseen
    if settled and spent and alike > 1.2 * spent:
        said.append(
            f"trying every arm as often as the one tried most ({most:,}) would have been "
            f"{alike:,} pulls, {alike / spent:.2g} times as many"
        )
    bound = verdict.error_bound
    said.append(f"chance that any arm is on the wrong side: at most {bound:.3g} (error bound)")
    if verdict.evidence is None:
        return [*said, verdict.assumes]
    from cutline.core.verdict import promises

    return [*said, *promises(verdict), f"assumes: {verdict.assumes}"]
