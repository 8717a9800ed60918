"""cutline theory."""

import sys
from collections.abc import Callable
from typing import Any

import click

from cutline.cli.printing import say
from cutline.cli.problem import bandit_of, goal_of, problem_options
from cutline.cli.shared import (
    formatted,
    note,
    one_sentence,
    play,
    seeded,
    threaded,
    whole,
    writable,
)


@click.command()
@problem_options
@click.option(
    "--budget", default="100,500,10000", show_default=True, help="Where to look at the bounds."
)
@click.option(
    "--error",
    type=float,
    default=0.05,
    show_default=True,
    help="The chance of an error for which a budget is worked out.",
)
@click.option(
    "--games",
    type=int,
    default=5000,
    show_default=True,
    help="How many games are played beside the bounds; 0 for none.",
)
@seeded
@threaded
@click.option(
    "--plot",
    "plot",
    type=click.Path(dir_okay=False),
    help="Draw bounds and simulated errors (.png, .svg).",
)
@formatted
def theory(spec: str | None, **flags: Any) -> None:
    """Show what is proven about a problem, beside what happens.

    The problem is given as for simulate, with flags or the same TOML file. Shown are its
    complexity, the shares of the static optimum, and bounds at every budget: the paper's theorems
    as printed and as their proofs give them, and what APT and CSAR do in simulated games. "vacuous"
    marks a bound that says nothing, a dash a budget below those it is stated for; the last column
    is the budget that an upper bound asks for to promise the --error, and that a lower bound leaves
    possible.

    \b
    cutline theory --experiment three-groups
    cutline theory --experiment geometric --arms gaussian --plot bounds.png
    cutline theory --means 0.2,0.5,0.8 --goal best-arm --budget 100,1000 --error 0.01
    cutline theory --means 1,2,4 --arms poisson --threshold 3 --games 0
    """  # noqa: D301 (as above)
    stopped = False
    with one_sentence():
        from cutline.core.chance import seed_key
        from cutline.figures import tables
        from cutline.figures.statements import Theory
        from cutline.figures.theory import along, panels, report
        from cutline.rules import parse_rule
        from cutline.simulation.simulate import check_games

        check_games(1, threads=flags["threads"])
        seed_key(flags["seed"])
        writable(flags["plot"], ".png", ".svg", ".pdf")
        goal = goal_of(flags)
        bandit = bandit_of(flags, goal)
        budgets = whole("budget", flags["budget"])
        known = Theory.of(bandit, goal, budgets=budgets, error=flags["error"])
        result = None
        if flags["games"] != 0:
            result, stopped = play(
                "theory",
                bandit,
                [parse_rule(name) for name in known.rules],
                budgets=budgets,
                also=along(len(bandit.arms), budgets) if flags["plot"] else (),
                goal=goal,
                games=flags["games"],
                seed=flags["seed"],
                threads=flags["threads"],
            )
        told = report(known, result)
        for said in told["notes"]:
            note(said)
        if stopped and result is not None:
            note(f"stopped after {result.games} of {flags['games']} games")
        show: dict[str, Callable[[tables.Row], str]] = {
            "table": tables.theory_table,
            "json": tables.theory_json,
            "csv": tables.theory_csv,
        }
        say(show[flags["format"]](told), nl=False)
        if flags["plot"]:
            from cutline.figures.draw import draw_theory, save_figure

            figure = draw_theory(panels(known, result), tables.theory_title(told))
            save_figure(figure, flags["plot"])
    if stopped:
        sys.exit(130)
