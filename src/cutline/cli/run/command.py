"""The command, and what it makes of its options."""

import contextlib
import math
import shlex
import shutil
import sys
import time
import traceback
from collections.abc import Sequence
from queue import Empty
from typing import TYPE_CHECKING, Any

import click

from cutline.cli.printing import say
from cutline.cli.run.arms import NamedArm, read_arms
from cutline.cli.run.crew import Crew
from cutline.cli.run.given import bar_of, campaign_of, rewards_of, trial_of
from cutline.cli.run.report import report
from cutline.cli.run.trial import Outcome, Trial
from cutline.cli.run.watch import Watch
from cutline.cli.shared import note, one_sentence
from cutline.cli.stores.opening import STORE, waits
from cutline.cli.verdicts import CLEAR, ERROR, STOPPED
from cutline.core.bar import Bar
from cutline.core.text import visible
from cutline.figures.text import as_json

if TYPE_CHECKING:
    from cutline.campaign import Pull
    from cutline.campaign.runner.drivers.processes import Command, Ended

INTERRUPTED = "interrupted"
LEASE = 60.0  # seconds after which the trials of a run that was killed are given up


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--arms",
    required=True,
    metavar="FILE|a,b,c",
    help="What to try: names with commas between, or a file: one a line (those with # in front are "
    "skipped), or CSV, JSON (.json, a list) or JSON Lines with fields (the name is the column arm, "
    "name, or the first); - for lines on standard input.",
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
@waits
@click.option("--name", default="main", show_default=True, help="The campaign's name in the store.")
@click.option("--rule", default="auto", show_default=True, help="The rule that chooses the arm.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Settles ties, and what {seed} is."
)
@click.option(
    "--reward",
    type=click.Choice(["exit", "stdout"]),
    default="exit",
    show_default=True,
    help="Where a reward is read: the exit code, or the last plain number printed (not 7/10).",
)
@click.option(
    "--rewards",
    type=click.Choice(["binary", "bounded", "gaussian", "poisson", "exponential", "heavy"]),
    help="The kind of number, needed with --reward stdout; exit codes are binary.",
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
@click.option(
    "--give-up-after",
    type=float,
    default=1800.0,
    show_default=True,
    metavar="S",
    help="Seconds to wait for the end of an outage: trials worked, and now all fail.",
)
@click.option(
    "--keep-children",
    is_flag=True,
    help="Leave running what a trial started and left behind, such as a build daemon.",
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
      130  stopped by Ctrl-C, SIGTERM or a closed terminal (SIGHUP); the verdict so far is printed
    --threshold wants no side: then 1 does not occur. --check: 0 if there was a reward, else 2.
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    try:
        with one_sentence():
            code = _run(command, flags)
    except click.ClickException:
        raise
    except (Exception, SystemExit):  # Python would end with 1, which says that an arm fails
        if sys.exc_info()[0] is not SystemExit:
            say(traceback.format_exc(), err=True, nl=False)
        code = ERROR
    sys.exit(code)


def _run(command: tuple[str, ...], flags: dict[str, Any]) -> int:
    from cutline.campaign.making import check_seconds
    from cutline.core.problem import Problem

    check_seconds("--give-up-after", flags["give_up_after"], or_zero=True)
    rewards = rewards_of(flags)
    bar = bar_of(flags, rewards)
    arms = read_arms(flags["arms"])
    trial = trial_of(command, flags, rewards)
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
    campaign = campaign_of(problem, bar, trial.about(arms), flags)
    if not any("{arm" in word for word in command):
        note("the command has no {arm}: a trial knows its arm by CUTLINE_ARM alone")
    with campaign:
        crew = Crew(
            campaign, arms, trial, workers=flags["workers"], lease=flags["lease"],
            keep_children=flags["keep_children"], give_up_after=flags["give_up_after"],
        )  # fmt: skip
        place = campaign.store.shown
        crew.play(Watch(campaign, bar), f"{bar.words} · {campaign.name} in {place}")
        return report(crew, bar, flags)


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
    command, outcome = _try_once(trial, arm, pull, flags["keep_children"])
    counts = "none: a failed pull" if outcome.reward is None else f"{outcome.reward:g}"
    said = {
        "arms": f"{len(arms):,}: {', '.join(arm.name for arm in arms[:5])}"
        + ", …" * (len(arms) > 5),
        "bar": bar.words,
        "arm": arm.name,
        "fields": dict(arm.fields),
        "command": list(command.argv),
        "variables": dict(command.variables),
        "outcome": f"{outcome.how}, after {outcome.seconds:.2f} s",
        "last line": outcome.last_line,
        "reward": outcome.reward,
    }
    if flags["form"] == "json":
        say(as_json(said, indent=None), nl=False)
    else:
        said["command"] = shlex.join(command.argv)
        said["reward"] = counts
        for name, value in said.items():
            pairs = [f"{k}={v}" for k, v in value.items()] if isinstance(value, dict) else [value]
            for line in filter(None, pairs):
                say(f"{name:10}{visible(str(line))}")
                name = ""
    if outcome.how == INTERRUPTED:
        return STOPPED
    return ERROR if outcome.reward is None else CLEAR


def _try_once(
    trial: Trial, arm: NamedArm, pull: "Pull", keep_children: bool
) -> "tuple[Command, Outcome]":
    """Run the command of a pull to its end, or until somebody stops it."""
    from cutline.campaign.runner import TIMED_OUT, Done
    from cutline.campaign.runner import Outcome as Ran
    from cutline.campaign.runner.drivers.processes import Processes
    from cutline.campaign.runner.signals import STOPS, stopped_by

    found: list[Outcome] = []

    def read(command: "Command", ended: "Ended") -> "Ran":
        found.append(trial.result(command, ended))
        return Ran()

    done: Done = Done()
    driver = Processes(1, done, read, keep_children)
    command = trial.command(arm, pull)
    until = math.inf if trial.timeout is None else time.monotonic() + trial.timeout
    with stopped_by(STOPS, lambda: done.put((INTERRUPTED, Ran()))), contextlib.closing(driver):
        driver.start(command)
        while True:
            with contextlib.suppress(Empty):
                done.get(timeout=max(0.0, min(until - time.monotonic(), 0.2)))
                break
            if time.monotonic() >= until:
                driver.stop(command.key, TIMED_OUT)
                until = math.inf
    return command, found[0] if found else Outcome(None, INTERRUPTED)
