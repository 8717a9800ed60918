"""cutline plan."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from cutline.cli.asked import bars_of, flag
from cutline.cli.printing import say
from cutline.cli.shared import numbers, one_sentence, seeded, threaded, writable
from cutline.core.bar import Bar

if TYPE_CHECKING:
    from cutline.core.rewards import Rewards
    from cutline.simulation.planning import Belief

RAREST = 1e-9  # errors that are planned for


@click.command()
@click.option(
    "--means", help="Guessed means, e.g. 0.9,0.95,0.99; failure rates with --at-most, as the bar."
)
@click.option(
    "--like",
    type=click.Path(dir_okay=False),
    metavar="FILE.csv",
    help="Means like these past ones: columns arm and rate, or arm and reward (and times) with a "
    "row for every trial. With --arms, as many are drawn from among them. With --at-most a rate is "
    "a failure rate.",
)
@click.option("--arms", type=int, help="How many arms, with --share or --like.")
@click.option(
    "--share",
    type=float,
    help="About this share of the --arms is above the bar: 0.1. With --at-most these miss it.",
)
@click.option(
    "--spread",
    type=float,
    help="How much the arms of a --share differ: the standard deviation of their means in log-odds "
    "(in logarithms for poisson and exponential rewards).  [default: 2; 1; for gaussian the sd]",
)
@click.option("--at-least", help="The pass rate (or mean) should be at least this.")
@click.option(
    "--at-most",
    help="The failure rate should be at most this; with other rewards than binary, the mean below "
    "this.",
)
@click.option("--threshold", help="The bar, where neither side is the wanted one.")
@click.option(
    "--precision",
    default="0",
    show_default=True,
    help="Half-width of the band where either answer is right, one or one per mean.",
)
@click.option("--error", type=float, help="The chance of any wrong arm to aim at.  [default: 0.05]")
@click.option("--wrong-arms", type=float, help="Aim at so many wrong arms on average instead.")
@click.option(
    "--confidence",
    type=float,
    help="The confidence to stop at instead of a budget; without --error and --wrong-arms the "
    "target error is 1 less this.  [default: 1 - error; 0.95]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 100_000),
    help="How many pulls are in flight at a time, e.g. 64.",
)
@click.option(
    "--relax/--no-relax",
    default=True,
    show_default=True,
    help="Show what half, 1.5 times and twice the precision would need.",
)
@click.option(
    "--rewards",
    type=click.Choice(["binary", "gaussian", "poisson", "exponential"]),
    default="binary",
    show_default=True,
    help="What one trial gives.",
)
@click.option("--sd", type=float, help="Standard deviation of a gaussian reward.")
@click.option(
    "--most",
    type=click.IntRange(1, 10**12),
    help="The largest budget to look at.  [default: 5000000]",
)
@seeded
@threaded
@click.option(
    "--plot", "plot", type=click.Path(dir_okay=False), help="Draw errors against the budget."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print the plan.",
)
def plan(**flags: Any) -> None:
    """Find out what budget a question takes, before a single trial is made.

    Say what you think of the arms: guess their means, name a file of past rates, or say about which
    share is above the bar. The bar is one number, or one per mean; with --at-most and binary
    rewards all rates are of failures, as in cutline run. Games are simulated; the answer takes
    seconds.

    \b
    cutline plan --means 0.9,0.93,0.96,0.99 --threshold 0.95 --precision 0.01
    cutline plan --arms 200 --share 0.1 --at-most 0.01 --precision 0.005 --workers 64
    cutline plan --like past.csv --arms 500 --at-least 0.95 --precision 0.02 --wrong-arms 1
    cutline plan --like past.csv --at-least 0.95 --precision 0.02 --confidence 0.99 --plot plan.png
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    with one_sentence():
        from cutline.figures.planning import as_json, as_text, picture
        from cutline.simulation import planning

        writable(flags["plot"], ".png", ".svg", ".pdf")
        precision = numbers("precision", flags["precision"])
        for name in ("error", "wrong_arms"):
            if flags[name] is not None and 0 < flags[name] < RAREST:
                raise click.UsageError(
                    f"{flag(name)} must be at least {RAREST:g}, got {flags[name]:g}: rarer errors "
                    "cannot be predicted from games"
                )
        rewards = _rewards(flags)
        given = bars_of(flags, rewards.kind)
        if given is None:
            raise click.UsageError("give the bar with one of --at-least, --at-most and --threshold")
        bar, threshold = given
        put = None if bar.expected is None else bar
        with _told() as tell:
            found = planning.plan(
                _belief(flags, bar, threshold, rewards),
                threshold=threshold,
                precision=precision,
                error=flags["error"],
                wrong_arms=flags["wrong_arms"],
                confidence=flags["confidence"],
                rewards=rewards,
                workers=flags["workers"],
                relax=flags["relax"],
                most=planning.PATIENCE if flags["most"] is None else flags["most"],
                seed=flags["seed"],
                threads=flags["threads"],
                progress=tell,
            )
        say((as_json if flags["form"] == "json" else as_text)(found, put), nl=False)
        if flags["plot"]:
            from cutline.figures.draw import draw_plan, save_figure

            save_figure(draw_plan(picture(found, put)), flags["plot"])


def _rewards(flags: dict[str, Any]) -> "Rewards":
    from cutline.core.rewards import Rewards

    if flags["rewards"] == "gaussian" and flags["sd"] is None:
        raise click.UsageError("gaussian rewards need --sd, the standard deviation of one reward")
    return Rewards(flags["rewards"], sd=flags["sd"])


def _belief(
    flags: dict[str, Any], bar: Bar, threshold: list[float], rewards: "Rewards"
) -> "Belief":
    """What is thought of the arms, by one of the ways to say it; as means of rewards."""
    from cutline.simulation.planning import as_passes

    shown = _as_given(flags, bar, threshold, rewards)
    return as_passes(shown) if bar.flipped else shown


def _as_given(
    flags: dict[str, Any], bar: Bar, threshold: list[float], rewards: "Rewards"
) -> "Belief":
    """The same in the measure of the bar."""
    from cutline.simulation.planning import guessed, past_rates, resembling, share_above

    ways = [way for way in ("means", "like", "share") if flags[way] is not None]
    if len(ways) != 1:
        raise click.UsageError("say which arms: give one of --means, --like and --share")
    if flags["spread"] is not None and ways != ["share"]:
        raise click.UsageError("--spread goes with --share: leave it out")
    if ways == ["means"]:
        if flags["arms"] is not None:
            raise click.UsageError("--arms goes with --share and --like: --means says how many")
        return guessed(numbers("means", flags["means"]))
    if ways == ["like"]:
        past = past_rates(flags["like"], rewards=rewards, failures=bar.flipped)
        return resembling(past, arms=flags["arms"], seed=flags["seed"])
    if flags["arms"] is None:
        raise click.UsageError("--share needs --arms, how many there are")
    if len(threshold) != 1:
        raise click.UsageError("--share is about one bar for all arms: give one")
    return share_above(
        flags["share"],
        arms=flags["arms"],
        threshold=bar.value,
        rewards=rewards,
        spread=flags["spread"],
        seed=flags["seed"],
    )


@contextlib.contextmanager
def _told() -> Iterator[Callable[[str], None] | None]:
    """What is being worked on, on a terminal's stderr."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("planning") as status:
        yield lambda stage: status.update(f"planning: {stage}")
