"""cutline simulate."""

import sys
from collections.abc import Callable
from typing import Any

import click

from cutline.cli.printing import say
from cutline.cli.problem import bandit_of, goal_of, problem_options
from cutline.cli.shared import (
    GAMES_HELP,
    formatted,
    note,
    one_sentence,
    play,
    rules_of,
    seeded,
    threaded,
    whole,
    writable,
)

RULES_HELP = """Who plays, with commas between.  [default: auto,apt,uniform]

\b
For the sides of arms:
  auto (the default rule), apt, lsa, fwt, slr,
  slr-d, slr-v, evt, aug-ucb, csar, pi, tts,
  bayes-ucb, round-robin, uniform
Yardsticks, told what nobody knows:
  oracle, ucbe:C
For stopping at a confidence:
  hdoc, lucb-g
With heavy tails:
  apt-clipped, apt-catoni, apt-median
For the best arms:
  gcl, ucbe-best, ugape:M, sar:M, ucb1
Your own:
  ./mine.py:MyRule
"""


@click.command()
@problem_options
@click.option(
    "--budget",
    help="Pulls in a game, e.g. 250,500.  [default: 500, or as many as it takes with --confidence]",
)
@click.option(
    "--confidence",
    type=float,
    help="Stop a game once the chance that any arm is wrong is at most 1 less this, e.g. 0.95.",
)
@click.option(
    "--evidence",
    metavar="NAME",
    help="What is weighed after every pull, with --confidence: beta-mixture, betting, "
    "normal-mixture, t-mixture, poisson-mixture, exponential-mixture, catoni, hoeffding, clucb."
    "  [default: what is made for the kind of reward]",
)
@click.option(
    "--in-flight", type=int, default=1, help="Pulls that wait for their results at a time."
)
@click.option(
    "--delay",
    type=click.Choice(["fixed", "random", "slow-failures", "slow-successes"]),
    help="How long a pull takes, with --in-flight.  [default: fixed]",
)
@click.option("--rules", default="auto,apt,uniform", help=RULES_HELP)
@click.option("--games", type=int, default=5000, show_default=True, help=GAMES_HELP)
@click.option("--first-game", type=int, default=0, help="Number of the first game.")
@seeded
@threaded
@click.option(
    "--along",
    is_flag=True,
    help="Play rules that must know the horizon once, to the largest budget, and read them along "
    "the way, instead of once for each budget.",
)
@click.option(
    "--plot",
    "plot",
    type=click.Path(dir_okay=False),
    help="Draw the curve, or when games stopped (.png, .svg).",
)
@click.option("--save", type=click.Path(dir_okay=False), help="Save the result as JSON.")
@formatted
def simulate(spec: str | None, **flags: Any) -> None:
    """Simulate rules on arms whose means are known.

    Say which arms with --experiment, --means or --data. Everything can also be said in a TOML file
    with the same keys; flags win over it. Without --plot, errors are counted at the budgets alone;
    with it, along the whole curve.

    \b
    cutline simulate --experiment three-groups --rules apt,csar,ucbe:1 --budget 250,500
    cutline simulate --means 0.1,0.4,0.9 --threshold 0.5 --rules apt,./mine.py:MyRule
    cutline simulate --data bluebirds --threshold 0.5 --precision 0.1 --budget 2000
    cutline simulate --means 0.001,0.02 --at-most 0.01 --precision 0.005 --budget 2000
    cutline simulate --means 1,2,3 --arms exponential --level 4 --threshold 0.2
    cutline simulate --means 0.2,0.5,0.8 --goal best-arm --rules apt,gcl,sar --budget 90
    cutline simulate --experiment three-groups --confidence 0.95 --rules auto
    cutline simulate --experiment three-groups --in-flight 64 --delay random
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    with one_sentence():
        from cutline.figures import tables
        from cutline.figures.text import as_csv, as_json
        from cutline.simulation.simulate import default_horizons

        writable(flags["save"])
        writable(flags["plot"], ".png", ".svg", ".pdf")
        goal = goal_of(flags)
        bandit = bandit_of(flags, goal)
        names = [name.strip() for name in flags["rules"].split(",") if name.strip()]
        rules = rules_of(names)
        unbounded = flags["confidence"] is not None and flags["budget"] is None
        budgets = (
            []
            if unbounded
            else whole("budget", "500" if flags["budget"] is None else flags["budget"])
        )
        if flags["confidence"] is not None and len(budgets) > 1:
            raise click.UsageError("games that stop at a confidence take one budget, the most")
        if flags["evidence"] is not None and flags["confidence"] is None:
            raise click.UsageError("--evidence goes with --confidence: say when games stop")
        curve = set()
        if flags["plot"] is not None and flags["confidence"] is None:
            curve = default_horizons(rules, max(budgets), not flags["along"])
        result, stopped = play(
            "simulate",
            bandit,
            rules,
            budgets=budgets,
            also=curve,
            goal=goal,
            games=flags["games"],
            first_game=flags["first_game"],
            seed=flags["seed"],
            threads=flags["threads"],
            replay=not flags["along"],
            **{name: flags[name] for name in ("confidence", "evidence", "in_flight", "delay")},
        )
        if budgets and max(budgets) < 2 * len(bandit.problem.arms):
            note("the budget is below two pulls an arm, where the paper's bounds say nothing")
        if stopped:
            rest = f"--first-game {result.next_game} --games {flags['games'] - result.games}"
            note(f"stopped after {result.games} of {flags['games']} games; {rest} plays the rest")
        if flags["confidence"] is not None:
            from cutline.figures.stopping import stop_rows, stop_table

            rows, as_table = stop_rows(result, names), stop_table
        else:
            rows, as_table = tables.result_rows(result.at(budgets), names), tables.as_table
        show: dict[str, Callable[[list[tables.Row]], str]] = {
            "table": as_table,
            "json": as_json,
            "csv": as_csv,
        }
        say(show[flags["format"]](rows), nl=False)
        if flags["save"]:
            result.save(flags["save"])
        if flags["plot"]:
            from cutline.figures.draw import plot, save_figure

            save_figure(plot(result).figure, flags["plot"])  # type: ignore[arg-type]
    if stopped:
        sys.exit(130)
