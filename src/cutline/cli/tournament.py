"""cutline tournament: every rule on a fixed suite, relative to APT."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cutline.cli.printing import say
from cutline.cli.shared import folder, note, one_sentence, play, progress, seeded, threaded

if TYPE_CHECKING:
    from cutline.simulation.suite import Instance


@click.command()
@click.option("--rules", help="Who plays, with commas between.  [default: all that apply]")
@click.option("--only", help="Play on these instances alone, with commas between.")
@click.option(
    "--games", type=int, help="Games a cell.  [default: 20000; beyond 500 arms 2000; quick 64]"
)
@click.option("--quick", is_flag=True, help="A look at the smallest budgets, with few rules.")
@click.option(
    "--data",
    type=click.Path(file_okay=False, exists=True),
    help="A folder with problems.toml and CSV files, to be played as well.",
)
@click.option(
    "--limit",
    type=float,
    help="Leave out rules that would take longer on an instance, in seconds on two cores, by a "
    "model of their cost that is the same everywhere.  [default: 16]",
)
@click.option("--out", type=click.Path(file_okay=False), help="Write a page, JSON and a figure.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print the result.",
)
@seeded
@threaded
def tournament(
    rules: str | None,
    only: str | None,
    games: int | None,
    quick: bool,
    data: str | None,
    limit: float | None,
    out: str | None,
    form: str,
    seed: int,
    threads: int | None,
) -> None:
    """Play every rule on a fixed suite of bandits, and compare it with APT.

    All of it takes about half an hour on two cores; --quick some seconds. With --out the folder
    gets tournament.md, tournament.json, tournament.png and tournament.svg.

    problems.toml in the --data folder holds a table for each problem:

    \b
    [[problem]]
    file = "trials.csv"    # columns arm, reward and perhaps times
    threshold = 0.5
    precision = 0.1        # 0 unless said
    rewards = "binary"     # or bounded, gaussian, ...; level and name may follow
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    stopped = False
    with one_sentence():
        from cutline.core.chance import seed_key
        from cutline.figures import tournament as numbers
        from cutline.rules import parse_rule
        from cutline.simulation.simulate import check_games

        check_games(1 if games is None else games, threads=threads)
        seed_key(seed)
        if limit is not None and not limit > 0:
            raise ValueError(f"--limit is a number of seconds, above 0, got {limit:g}")
        names = [name.strip() for name in rules.split(",") if name.strip()] if rules else None
        if names is not None:
            for name in names:
                parse_rule(name)  # refuses what is no rule before anything is played
        chosen = names or list(numbers.QUICK if quick else numbers.CONTESTANTS)
        instances = _instances(only, data, quick=quick, threads=threads)
        if out is not None:
            folder(out)
        options: dict[str, Any] = {"games": games, "quick": quick, "all_apply": names is not None}
        bound = numbers.LIMIT if limit is None else limit
        plans = [numbers.plan(one, chosen, limit=bound, **options) for one in instances]
        rows: list[dict[str, Any]] = []
        for place, planned in enumerate(plans, 1):
            what = f"{planned.instance.name} ({place} of {len(plans)})"
            found = numbers.play_instance(planned, play, what, seed=seed, threads=threads)
            if found is None:
                stopped = True
                break
            rows += found
        if not rows:
            raise KeyboardInterrupt
        result = numbers.report(
            plans, rows, seed=seed, limit=bound, quick=quick, command=_command()
        )
        say((numbers.as_json if form == "json" else numbers.as_text)(result), nl=False)
        if out is not None:
            from cutline.figures.draw import draw_overview, save_figure

            (Path(out) / "tournament.md").write_text(numbers.as_page(result), "utf-8")
            (Path(out) / "tournament.json").write_text(numbers.as_json(result), "utf-8")
            figure = draw_overview(numbers.overview(result))
            for ending in ("png", "svg"):
                save_figure(figure, Path(out) / f"tournament.{ending}")
            note(f"written to {out}/: tournament.md, .json, .png and .svg")
    if stopped:
        done = len({row["instance"] for row in rows})
        note(f"stopped; {done} of {len(plans)} instances were finished")
        sys.exit(130)


def _instances(
    only: str | None, data: str | None, *, quick: bool, threads: int | None
) -> "list[Instance]":
    """The suite, or part of it, and the problems of the user's folder."""
    from cutline.simulation.suite import SUITE, own_instances

    wanted = [name.strip() for name in only.split(",") if name.strip()] if only else None
    found = dict(SUITE)
    if data is not None:
        with progress("finding budgets") as tell:
            own = own_instances(data, games=256 if quick else 2_000, threads=threads, tell=tell)
            found |= {one.name: one for one in own}
    if wanted is None:
        return list(found.values())
    for name in wanted:
        if name not in found:
            raise ValueError(f"there is no instance {name!r}: one of {', '.join(found)}")
    return [found[name] for name in dict.fromkeys(wanted)]


def _command() -> str:
    """What decides the numbers: all that was said, but for where they go and who computes them."""
    context = click.get_current_context()
    words = ["cutline", "tournament"]
    for option in context.command.params:
        name, value = str(option.name), context.params[str(option.name)]
        said = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if said and name not in ("out", "threads", "form"):
            words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return shlex.join(words)
