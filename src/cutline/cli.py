"""The command line."""

import contextlib
import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cutline._version import __version__

if TYPE_CHECKING:
    from cutline.rules import Rule
    from cutline.simulation import Bandit, Result

GAMES_HELP = "How many games each rule plays."
SEED_HELP = "Equal seeds give equal results."
THREADS_HELP = "Threads to play with.  [default: all cores]"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="cutline")
def cli() -> None:
    """Which of these noisy options clear the bar?

    cutline decides which option to try next, so that within a budget it knows which are above a
    threshold and which are below (the thresholding bandit problem).
    """


def _spec(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """Take the defaults of a command from a TOML file."""
    if path is None:
        return None
    try:
        values = tomllib.loads(Path(path).read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.UsageError(f"{path} could not be read: {error}") from None
    known = {p.name for p in ctx.command.params if isinstance(p, click.Option)}
    for key, value in values.items():
        name = key.replace("-", "_")
        if name not in known:
            raise click.UsageError(
                f"{path}: there is no setting {key!r}; the keys are those of the flags: "
                + ", ".join(sorted(str(k).replace("_", "-") for k in known))
            )
        text = ",".join(map(str, value)) if isinstance(value, list) else value
        text = str(text).lower() if isinstance(text, bool) else str(text)  # read like a flag's
        ctx.default_map = {**(ctx.default_map or {}), name: text}
    return path


@cli.command()
@click.argument("spec", required=False, callback=_spec, is_eager=True, metavar="[SPEC.toml]")
@click.option(
    "--experiment",
    type=click.Choice(["three-groups", "arithmetic", "geometric"]),
    help="One of the paper's bandits.",
)
@click.option("--means", help="The arms' means, e.g. 0.1,0.4,0.9.")
@click.option(
    "--arms",
    type=click.Choice(["bernoulli", "gaussian", "beta"]),
    default="bernoulli",
    show_default=True,
    help="How rewards are distributed.",
)
@click.option("--sd", help="Standard deviation of a reward, one or one per arm.")
@click.option("--threshold", help="The bar, one or one per arm.  [default: 0.5 with --experiment]")
@click.option(
    "--precision",
    help="Half-width of the band where either answer is right, one or one per arm."
    "  [default: 0.1 with --experiment, else 0]",
)
@click.option("--budget", default="500", show_default=True, help="Pulls in a game, e.g. 250,500.")
@click.option(
    "--rules",
    default="apt,uniform",
    show_default=True,
    help="apt, uniform, round-robin, ucbe:0.25, csar, slr-d, or your own: ./mine.py:MyRule.",
)
@click.option("--games", type=int, default=5000, show_default=True, help=GAMES_HELP)
@click.option("--first-game", type=int, default=0, help="Number of the first game.")
@click.option("--seed", type=int, default=0, show_default=True, help=SEED_HELP)
@click.option("--threads", type=int, help=THREADS_HELP)
@click.option(
    "--along",
    is_flag=True,
    help="Play rules that must know the horizon once, to the largest budget, and read them along "
    "the way, instead of once for each budget.",
)
@click.option(
    "--plot", "plot", type=click.Path(dir_okay=False), help="Draw the curve (.png, .svg)."
)
@click.option("--save", type=click.Path(dir_okay=False), help="Save the result as JSON.")
@click.option(
    "--format",
    "format",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How to print the result.",
)
def simulate(spec: str | None, **flags: Any) -> None:
    """Simulate rules on arms whose means are known.

    Everything can also be said in a TOML file with the same keys; flags win over it. Without
    --plot, errors are counted at the budgets alone; with it, along the whole curve.

    \b
    cutline simulate --experiment three-groups --rules apt,csar,ucbe:1 --budget 250,500
    cutline simulate --means 0.1,0.4,0.9 --threshold 0.5 --rules apt,./mine.py:MyRule
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    with _one_sentence():
        from cutline.figures import tables

        _writable(flags["save"])
        _writable(flags["plot"], ".png", ".svg", ".pdf")
        bandit = _bandit(flags)
        names = [name.strip() for name in flags["rules"].split(",") if name.strip()]
        rules = _rules(names)
        budgets = _whole("budget", flags["budget"])
        result, stopped = _simulate(
            "simulate",
            bandit,
            rules,
            budgets=budgets,
            curve=flags["plot"] is not None,
            games=flags["games"],
            first_game=flags["first_game"],
            seed=flags["seed"],
            threads=flags["threads"],
            replay=not flags["along"],
        )
        if max(budgets) < 2 * len(bandit.problem.arms):
            _note("the budget is below two pulls an arm, where the paper's bounds say nothing")
        if stopped:
            rest = f"--first-game {result.next_game} --games {flags['games'] - result.games}"
            _note(f"stopped after {result.games} of {flags['games']} games; {rest} plays the rest")
        rows = tables.result_rows(result.at(budgets), names)
        show: dict[str, Callable[[list[tables.Row]], str]] = {
            "table": tables.as_table,
            "json": tables.as_json,
            "csv": tables.as_csv,
        }
        click.echo(show[flags["format"]](rows), nl=False)
        if flags["save"]:
            result.save(flags["save"])
        if flags["plot"]:
            from cutline.figures.draw import plot, save_figure

            save_figure(plot(result).figure, flags["plot"])  # type: ignore[arg-type]
    if stopped:
        sys.exit(130)


@cli.command()
@click.option("--games", type=int, default=5000, show_default=True, help=GAMES_HELP)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="out",
    show_default=True,
    help="The folder to write to.",
)
@click.option("--seed", type=int, default=0, show_default=True, help=SEED_HELP)
@click.option("--threads", type=int, help=THREADS_HELP)
def paper(games: int, out: str, seed: int, threads: int | None) -> None:
    """Play the paper's experiments: figures, tables, and a check against exact values.

    Three bandits of ten arms, Bernoulli and Gaussian, six rules, horizons up to 500. Writes two
    figures (PNG and SVG), one JSON file for each bandit, and all numbers as CSV.
    """
    with _one_sentence():
        from cutline.core.chance import seed_key
        from cutline.figures.paper import run_paper
        from cutline.simulation.simulate import check_games

        check_games(games, threads=threads)
        seed_key(seed)
        _folder(out)
        code = run_paper(Path(out), games, seed, threads, _simulate, click.echo)
        if code == 130:
            _note(f"stopped; {out} holds the experiments that were finished")
        sys.exit(code)


def _bandit(flags: dict[str, Any]) -> "Bandit":
    from cutline.simulation import EXPERIMENTS, Bandit
    from cutline.simulation.arms import FAMILIES

    given = {
        name: _numbers(name, flags[name])
        for name in ("threshold", "precision", "sd", "means")
        if flags[name] is not None
    }
    source = click.get_current_context().get_parameter_source
    for one, other in (("experiment", "means"), ("means", "experiment")):
        in_file = source(one) == ParameterSource.DEFAULT_MAP
        if in_file and source(other) == ParameterSource.COMMANDLINE:  # which wins
            flags[one] = None
            given.pop(one, None)
    if (flags["experiment"] is None) == ("means" not in given):
        raise click.UsageError("say which arms: give either --experiment or --means")
    if flags["experiment"] is not None:
        known = EXPERIMENTS[flags["experiment"]](False)
        means = list(known.means)
        given = {"threshold": [0.5], "precision": [0.1], **given}
        if flags["arms"] == "gaussian":
            given = {"sd": [0.5], **given}
    else:
        means = given["means"]
        if "threshold" not in given:
            raise click.UsageError("give the bar with --threshold")
    arms = FAMILIES[flags["arms"]].from_means(means, given.get("sd"))
    return Bandit(arms, threshold=given["threshold"], precision=given.get("precision", [0.0]))


def _rules(names: list[str]) -> "list[Rule]":
    from cutline.rules import parse_rule

    if not names:
        raise click.UsageError("name at least one rule with --rules")
    return [parse_rule(name) for name in names]


def _numbers(name: str, text: str | float) -> list[float]:
    try:
        return [float(part) for part in str(text).split(",")]
    except ValueError:
        raise click.UsageError(
            f"--{name} takes numbers with commas between them, got {text!r}"
        ) from None


def _whole(name: str, text: str | int) -> list[int]:
    try:
        values = [int(part.replace("_", "")) for part in str(text).split(",")]
    except ValueError:
        raise click.UsageError(f"--{name} takes whole numbers, got {text!r}") from None
    return sorted(set(values))


def _simulate(
    what: str,
    bandit: "Bandit",
    rules: "list[Rule]",
    *,
    budgets: list[int],
    curve: bool = False,
    **options: Any,
) -> "tuple[Result, bool]":
    """Simulate with progress on a terminal's stderr; Ctrl-C gives the games so far, if any."""
    from cutline.simulation import Interrupted
    from cutline.simulation import simulate as run
    from cutline.simulation.simulate import default_horizons

    options["horizons"] = set(budgets)
    if curve:
        options["horizons"] |= default_horizons(rules, max(budgets), options["replay"])
    with _progress(what) as progress:
        try:
            return run(bandit, rules, budget=budgets, progress=progress, **options), False
        except Interrupted as stop:
            if stop.result is None:
                raise KeyboardInterrupt from None
            return stop.result, True


@contextlib.contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TextColumn("games"), Left(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextlib.contextmanager
def _one_sentence() -> Iterator[None]:
    """Turn what can be wrong with input into one sentence and exit code 2."""
    try:
        yield
    except BrokenPipeError:  # whoever read our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, TypeError, OSError) as error:
        raise click.UsageError(" ".join(str(error).split())) from error


def _writable(path: str | None, *endings: str) -> None:
    """Refuse a file that cannot be written before any work is done."""
    if path is None:
        return
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise click.UsageError(f"there is no folder {Path(path).parent} to write {path} to")
    if not os.access(folder, os.W_OK):
        raise click.UsageError(f"the folder {Path(path).parent} cannot be written to")
    if endings and Path(path).suffix.lower() not in endings:
        raise click.UsageError(
            f"the ending of {path} must say what kind of picture: {', '.join(endings)}"
        )


def _folder(path: str) -> None:
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"the folder {path} cannot be made: {error.strerror}") from None


def _note(text: str) -> None:
    click.echo(f"note: {text}", err=True)


def main() -> None:
    """Run the command line; exit code 2 for bad input, 130 after Ctrl-C."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(0)
    except click.ClickException as error:
        click.echo(f"cutline: {error.format_message()}", err=True)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("cutline: stopped", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
