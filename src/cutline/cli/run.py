"""cutline run: which arms clear the bar, each trial being a command."""

import json
import math
import shlex
import shutil
import sys
import threading
import traceback
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from cutline.cli.arms import NamedArm, read_arms
from cutline.cli.shared import note, numbers, one_sentence, seeded
from cutline.cli.store import STORE, shown
from cutline.cli.trials import Crew, Running, Trial, codes, stopped_by_signals
from cutline.cli.view import Bar, Watch, shorten

if TYPE_CHECKING:
    from cutline.campaign import Campaign
    from cutline.core.problem import Problem
    from cutline.core.rewards import Rewards
    from cutline.core.verdict import ArmVerdict, Verdict

MEMORY = "memory"
LEASE = 60.0  # seconds after which the trials of a run that was killed are given up
LISTED = 20  # arms of a kind that the table shows one by one
CLEAR, FAILING, ERROR, UNDECIDED, SUSPENDED, STOPPED = 0, 1, 2, 3, 4, 130
ENDS = {
    CLEAR: "every arm is proven to be where it should be",
    FAILING: "some arm is proven to fail the bar",
    UNDECIDED: "some arm is undecided",
    SUSPENDED: "some arm was suspended, its trials giving no reward",
    STOPPED: "stopped on the way",
}


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--arms",
    required=True,
    metavar="FILE|a,b,c",
    help="What to try: names with commas between, or a file: one a line, CSV or JSON Lines with "
    "fields (the name is the column arm, name, or the first); - for lines on standard input.",
)
@click.option("--at-least", type=float, help="The pass rate (or mean) should be at least this.")
@click.option(
    "--at-most",
    type=float,
    help="The failure rate should be at most this, e.g. 0.01: a pass rate of at least 0.99. With "
    "other rewards than binary: the mean should be below this.",
)
@click.option("--threshold", type=float, help="The bar, where neither side is the wanted one.")
@click.option(
    "--precision",
    type=float,
    default=0.0,
    show_default=True,
    help="Half-width of the band around the bar where either answer is right.",
)
@click.option("--budget", type=int, help="How many trials may be made in all.")
@click.option(
    "--confidence",
    type=float,
    help="Try an arm no more once its side is proven, all arms at once with this confidence; and "
    "stop when all are.  [default: spend the budget, and judge at 0.95]",
)
@click.option(
    "--workers", type=click.IntRange(1, 10_000), default=8, show_default=True,
    help="How many trials run at a time.",
)  # fmt: skip
@click.option(
    "--store",
    default=STORE,
    show_default=True,
    envvar="CUTLINE_STORE",
    show_envvar=True,
    metavar="FILE|URL",
    help="Where results are kept: a file, postgresql://..., or memory, which keeps nothing.",
)
@click.option("--name", default="main", show_default=True, help="The campaign's name in the store.")
@click.option("--rule", default="auto", show_default=True, help="The rule that chooses the arm.")
@seeded
@click.option(
    "--reward",
    type=click.Choice(["exit", "stdout"]),
    default="exit",
    show_default=True,
    help="Where a reward is read: the exit code, or the last number printed.",
)
@click.option(
    "--rewards",
    type=click.Choice(["binary", "bounded", "gaussian", "poisson", "exponential", "heavy"]),
    help="The kind of number, with --reward stdout.  [default: binary]",
)
@click.option("--range", "span", metavar="LOW,HIGH", help="Of bounded rewards.  [default: 0,1]")
@click.option("--sd", type=float, help="The standard deviation of gaussian rewards, if known.")
@click.option("--variance", type=float, help="What no arm's variance exceeds, for heavy rewards.")
@click.option(
    "--zero-on",
    default="",
    metavar="2,3,SIGSEGV",
    help="Exit codes and signals that are reward 0 and not a failed pull.",
)
@click.option("--timeout", type=float, metavar="S", help="Kill a trial after so many seconds.")
@click.option(
    "--timeout-counts",
    type=float,
    metavar="0",
    help="The reward of a trial that timed out.  [default: a failed pull]",
)
@click.option(
    "--lease",
    type=float,
    default=LEASE,
    show_default=True,
    help="Seconds after which the trials of a run that was killed are made again.",
)
@click.option("--check", is_flag=True, help="Try the first arm once, and show what was understood.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print the verdict.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(command: tuple[str, ...], **flags: Any) -> None:
    """Find out which arms clear the bar, each trial being a COMMAND.

    The command is run without a shell, again and again, for the arm that is least decided. Exit
    code 0 is a pass (reward 1) and 1 a failure (reward 0). Any other code, a signal, or a command
    that cannot be started says nothing of the arm: a failed pull, not counted, see --zero-on; an
    arm whose pulls keep failing is suspended. {arm}, {arm.field}, {pull} (the trial's number
    within the arm, from 0) and {seed} are filled in, and set as CUTLINE_ARM, CUTLINE_ARM_FIELD,
    CUTLINE_PULL and CUTLINE_SEED.

    Results are kept: killed or stopped, the same command goes on where it was, and with a larger
    --budget it goes on for longer.

    \b
    cutline run --arms tests.txt --at-most 0.01 --budget 5000 -- pytest -q {arm}
    cutline run --arms a,b,c --at-least 0.9 --precision 0.05 --confidence 0.95 -- ./trial {arm}
    cutline run --arms p.csv --at-least 0.8 --budget 900 --check -- ./ask {arm.file} {seed}
    cutline run --arms a,b --threshold 5 --budget 99 --reward stdout --rewards poisson -- ./t {arm}

    \b
    Exit codes:
      0    every arm is proven: on the wanted side, or within the precision
      1    some arm is proven to be on the other side
      2    an error: nothing was run, or it could not go on
      3    some arm is undecided (none is on the other side, none suspended)
      4    some arm was suspended, undecided (none is on the other side)
      130  stopped by Ctrl-C or SIGTERM; the verdict so far is printed
    --threshold wants no side: then 1 does not occur. --check: 0 if there was a reward, else 2.
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    from cutline.campaign.errors import CampaignError

    try:
        with one_sentence():
            try:
                code = _run(command, flags)
            except CampaignError as error:
                where = flags["store"]  # which may hold a password
                raise ValueError(str(error).replace(where, shown(where))) from error
    except click.ClickException:
        raise
    except (Exception, SystemExit):  # Python would end with 1, which says that an arm fails
        if sys.exc_info()[0] is not SystemExit:
            traceback.print_exc()
        code = ERROR
    sys.exit(code)


def _run(command: tuple[str, ...], flags: dict[str, Any]) -> int:
    from cutline.core.problem import Problem

    rewards = _rewards(flags)
    bar = _bar(flags, rewards.kind)
    arms = read_arms(flags["arms"])
    trial = _trial(command, flags, rewards)
    trial.check(arms)
    problem = Problem(
        arms=[arm.name for arm in arms],
        threshold=bar.threshold,
        precision=bar.precision,
        rewards=rewards,
    )
    _refuse_missing(command[0])
    if flags["check"]:
        return _check(arms, trial, bar, flags)
    campaign = _campaign(problem, trial.about(arms), flags)
    if not any("{arm" in word for word in command):
        note("the command has no {arm}: a trial knows its arm by CUTLINE_ARM alone")
    with campaign:
        crew = Crew(campaign, arms, trial, workers=flags["workers"], lease=flags["lease"])
        place = shown(campaign.store.where)
        crew.play(Watch(campaign, bar), f"{bar.words} · {campaign.name} in {place}")
        return _report(crew, bar, flags)


# What was asked for.


def _rewards(flags: dict[str, Any]) -> "Rewards":
    from cutline.core.rewards import Rewards

    kind = flags["rewards"] or "binary"
    reads = flags["reward"] == "stdout"
    if reads and flags["rewards"] is None:
        raise click.UsageError("--reward stdout needs --rewards, the kind of number printed")
    if kind != "binary" and not reads:
        raise click.UsageError(f"exit codes are binary: {kind} rewards need --reward stdout")
    given = {"sd": flags["sd"], "variance": flags["variance"]}
    if flags["span"] is None:
        return Rewards(kind, **given)
    ends = numbers("range", flags["span"])
    if len(ends) != 2:
        raise click.UsageError(f"--range takes two numbers, LOW,HIGH, got {flags['span']!r}")
    return Rewards(kind, ends[0], ends[1], **given)


def _bar(flags: dict[str, Any], kind: str) -> Bar:
    names = ("at_least", "at_most", "threshold")
    given = [name for name in names if flags[name] is not None]
    if len(given) != 1:
        raise click.UsageError("give the bar with one of --at-least, --at-most and --threshold")
    value, precision = flags[given[0]], flags["precision"]
    band = f" ± {precision:g}" if precision else ""
    binary = kind == "binary"
    if binary and not 0 <= value <= 1:
        raise click.UsageError(
            f"--{given[0].replace('_', '-')} is a rate, from 0 to 1, with binary rewards, got "
            f"{value:g}"
        )
    unit = "pass rate" if binary else "mean"
    if given == ["threshold"]:
        return Bar(value, precision, f"{unit} against {value:g}{band}", unit=unit)
    if given == ["at_least"]:
        words = f"{unit} at least {value:g}{band}"
        return Bar(value, precision, words, "above", unit=unit)
    if not binary:
        return Bar(value, precision, f"{unit} below {value:g}{band}", "below", unit=unit)
    words = f"failure rate at most {value:g}{band}"
    threshold = float(1 - Decimal(repr(value)))  # 0.9, not 0.09999999999999998 less than 1
    return Bar(threshold, precision, words, "above", flipped=True, unit="failures")


def _trial(command: tuple[str, ...], flags: dict[str, Any], rewards: "Rewards") -> Trial:
    timeout, counts = flags["timeout"], flags["timeout_counts"]
    if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
        raise click.UsageError(f"--timeout is a number of seconds above 0, got {timeout:g}")
    if counts is not None:
        if timeout is None:
            raise click.UsageError("--timeout-counts needs --timeout, after how many seconds")
        counts = rewards.check(counts)
    zero_on = codes(flags["zero_on"])
    if zero_on:
        rewards.check(0.0)
    return Trial(command, rewards, zero_on, timeout, counts, flags["reward"] == "stdout")


def _refuse_missing(program: str) -> None:
    """Say at once that there is no such command, before thousands of pulls fail for it."""
    if "{" not in program and shutil.which(program) is None:
        raise click.UsageError(
            f"there is no command {program!r} that can be run: name a program on the PATH or a "
            "file that may be executed (no shell is used)"
        )


def _check(arms: Sequence[NamedArm], trial: Trial, bar: Bar, flags: dict[str, Any]) -> int:
    """Try the first arm once, outside of any campaign, and show what was understood."""
    from cutline.campaign import Pull
    from cutline.core.chance import seed_key

    arm = arms[0]
    pull = Pull("", arm.name, 0, 1, 0.0, (*seed_key(flags["seed"]), 0))
    argv, variables = trial.argv(arm, pull), trial.variables(arm, pull)
    with stopped_by_signals() as stopped:
        running = Running(trial)
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(running.run(arm, pull)))
        thread.start()
        while thread.is_alive():
            thread.join(0.1)
            if stopped.is_set():
                running.end("stopped")
    outcome = found[0]
    counts = "none: a failed pull" if outcome.reward is None else f"{outcome.reward:g}"
    said = {
        "arms": f"{len(arms):,}: {', '.join(arm.name for arm in arms[:5])}"
        + ", …" * (len(arms) > 5),
        "bar": bar.words,
        "arm": arm.name,
        "fields": dict(arm.fields),
        "command": argv,
        "variables": variables,
        "outcome": f"{outcome.how}, after {outcome.seconds:.2f} s",
        "last line": outcome.last_line,
        "reward": outcome.reward,
    }
    if flags["form"] == "json":
        click.echo(json.dumps(said))
    else:
        said["command"] = shlex.join(argv)
        said["reward"] = counts
        for name, value in said.items():
            pairs = [f"{k}={v}" for k, v in value.items()] if isinstance(value, dict) else [value]
            for line in filter(None, pairs):
                click.echo(f"{name:10}{line}")
                name = ""
    if stopped.is_set():
        return STOPPED
    return ERROR if outcome.reward is None else CLEAR


# The campaign: a new one, or the one that is there.


def _campaign(problem: "Problem", about: dict[str, Any], flags: dict[str, Any]) -> "Campaign":
    from cutline.campaign import Campaign, DifferentCampaign, UnknownCampaign, open_store
    from cutline.campaign.access import Access

    name, budget = flags["name"], flags["budget"]
    given = {
        "name": name,
        "rule": flags["rule"],
        "confidence": flags["confidence"],
        "seed": flags["seed"],
    }
    given |= {"lease": flags["lease"], "about": about}
    fresh = Campaign(problem, budget=budget, **given)  # what cannot be is refused before files are
    if flags["store"] == MEMORY:
        return fresh
    store = open_store(flags["store"])
    place = shown(store.where)
    try:
        head = Access(store, name).head()
    except UnknownCampaign:
        head = None
    agreed = budget
    if head is not None and None not in (head.budget, budget):
        agreed = head.settings["budget"]  # as it was at first; more is agreed on below
    try:
        campaign = Campaign(problem, budget=agreed, store=store, **given)
    except DifferentCampaign as error:
        what, _, _ = str(error).partition(". Take another name")
        raise ValueError(
            f"{what.replace(store.where, place)}. Give the same arguments as before to go on with "
            "it, or another --name for a new one"
        ) from None
    if head is None:
        note(f"a new campaign {name!r} in {place}: stopped, the same command goes on")
        return campaign
    note(f"going on with campaign {name!r} in {place}, where {head.spent:,} pulls were made")
    _extend(campaign, head.budget, budget)
    for arm in campaign.verdict().unmeasured if head.pulls else ():
        campaign.resume(arm)
        note(f"{arm} had been suspended, and is tried again")
    return campaign


def _extend(campaign: "Campaign", had: int | None, budget: int | None) -> None:
    if had is None or budget is None or had == budget:
        return
    if budget < had:
        raise ValueError(
            f"campaign {campaign.name!r} has a budget of {had:,}, got --budget {budget}: what was "
            "agreed on cannot be taken back, give as much or more"
        )
    campaign.extend(to=budget)
    note(f"its budget was {had:,} and is {budget:,} from now on")


# The verdict.


def exit_code(verdict: "Verdict", bar: Bar) -> int:
    """What a verdict means for whoever asked, as a number."""
    standing = [bar.standing(arm) for arm in verdict.arms]
    for words, code in (
        ("fails the bar", FAILING),
        ("suspended", SUSPENDED),
        ("undecided", UNDECIDED),
    ):
        if words in standing:
            return code
    return CLEAR


def _report(crew: Crew, bar: Bar, flags: dict[str, Any]) -> int:
    verdict = crew.campaign.verdict()
    head = crew.campaign.access.head()
    code = STOPPED if crew.stopped else exit_code(verdict, bar)
    if flags["form"] == "json":
        click.echo(json.dumps(_as_json(verdict, bar, crew, code)))
    else:
        said = [_headline(verdict, bar), "", *_table(verdict, bar, crew.notes), ""]
        said += _footnotes(verdict, head.spent, head.budget)
        click.echo("\n".join([*said, f"exit code {code}: {_ending(code, bar)}"]))
    if crew.stopped:
        kept = flags["store"] != MEMORY
        note(
            f"stopped; the same command goes on from here (campaign {crew.campaign.name!r} in "
            f"{shown(crew.campaign.store.where)})"
            if kept
            else "stopped; nothing was kept, since --store is memory"
        )
    elif code in (UNDECIDED, FAILING) and verdict.undecided and head.spent == head.budget:
        note(f"the budget is spent: start again with more than --budget {head.budget} to go on")
    return code


def _ending(code: int, bar: Bar) -> str:
    if code == CLEAR and bar.expected is None:
        return "the side of every arm is proven"
    return ENDS[code]


def _headline(verdict: "Verdict", bar: Bar) -> str:
    kinds: dict[str, int] = {}
    for arm in verdict.arms:
        kinds[bar.standing(arm)] = kinds.get(bar.standing(arm), 0) + 1
    said = []
    for kind in ("fails the bar", "below", "suspended", "undecided", "above", "clears the bar"):
        if kind in kinds:
            words = kind if kinds[kind] == 1 else kind.replace("s the bar", " the bar")
            said.append(f"{kinds[kind]:,} {words}")
    said += [f"{kinds[kind]:,} {kind}" for kind in ("within precision", "retired") if kind in kinds]
    arms = f"{len(verdict.arms):,} arm{'s' * (len(verdict.arms) != 1)}"
    return f"{arms} ({bar.words}): {', '.join(said)}"


def _table(verdict: "Verdict", bar: Bar, notes: dict[str, str]) -> list[str]:
    """The arms that need a look first; those that are as they should be come last, and briefly."""
    order = ("fails the bar", "suspended", "undecided", "below", "above", "within precision")
    kinds: dict[str, list[ArmVerdict]] = {
        kind: [] for kind in (*order, "clears the bar", "retired")
    }
    for arm in verdict.arms:
        kinds[bar.standing(arm)].append(arm)
    lines: list[tuple[str, ...]] = [("arm", "verdict", bar.unit, "interval", "pulls", "")]
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
    low, high = bar.span(arm)
    mean = f"{bar.shown(arm.mean):.4g}" if arm.pulls else "-"
    failed = arm.counts.failed if arm.counts is not None else 0
    why = ""
    if failed and kind in ("suspended", "undecided"):
        why = f"{failed:,} failed" + (f", last {notes[arm.arm]}" if arm.arm in notes else "")
    return arm.arm, kind, mean, f"{low:.4g} to {high:.4g}", f"{arm.pulls:,}", why


def _footnotes(verdict: "Verdict", spent: int, budget: int | None) -> list[str]:
    of = "" if budget is None else f" of {budget:,}"
    failed = sum(arm.counts.failed + arm.counts.lost for arm in verdict.arms if arm.counts)
    beside = f", and {failed:,} more that failed or got lost, not counted" if failed else ""
    said = [f"spent: {spent:,}{of} pulls{beside}"]
    most = max(arm.pulls for arm in verdict.arms)
    alike = most * len(verdict.arms)
    settled = len(verdict.undecided) < len(verdict.arms) and not verdict.unseen
    if settled and alike > 1.2 * spent:
        said.append(
            f"trying every arm as often as the one tried most ({most:,}) would have been "
            f"{alike:,} pulls, {alike / spent:.2g} times as many"
        )
    bound = verdict.error_bound
    said.append(f"chance that any arm is on the wrong side: at most {bound:.3g} (error bound)")
    if verdict.evidence is None:
        return [*said, verdict.assumes]
    said.append(
        f"verdict and intervals: for all arms at once, confidence {verdict.confidence:g}, at any "
        "time"
    )
    return [*said, f"assumes: {verdict.assumes}"]


def _as_json(verdict: "Verdict", bar: Bar, crew: Crew, code: int) -> dict[str, Any]:
    """The verdict as plain values, all arms with all numbers."""
    head = crew.campaign.access.head()
    columns = verdict.columns()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for row, arm in zip(rows, verdict.arms, strict=True):
        row["verdict"] = bar.standing(arm)
    return {
        "campaign": head.name,
        "store": shown(crew.campaign.store.where),
        "bar": bar.words,
        "threshold": bar.threshold,
        "precision": bar.precision,
        "expected": bar.expected,
        "confidence": verdict.confidence,
        "budget": head.budget,
        "spent": head.spent,
        "error_bound": verdict.error_bound,
        "assumes": verdict.assumes,
        "exit_code": code,
        "exit": _ending(code, bar),
        "arms": [{name: _plain(value) for name, value in row.items()} for row in rows],
    }


def _plain(value: Any) -> Any:
    """JSON knows no infinities, and nothing that is not a number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
