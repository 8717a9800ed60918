"""The command line."""

import contextlib
import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cutline._version import __version__

if TYPE_CHECKING:
    from cutline.rules import Rule
    from cutline.simulation import Arms, Bandit, Result
    from cutline.simulation.goals import Goal

Command = Callable[..., None]

WAYS = ("experiment", "means", "data")  # to say which arms
GAMES_HELP = "How many games each rule plays."
RULES_HELP = """Who plays, with commas between.  [default: apt,uniform]

\b
For the sides of arms:
  apt, uniform, round-robin, ucbe:C, csar,
  slr, slr-d, slr-v, oracle
With heavy tails:
  apt-clipped, apt-catoni, apt-median
For the best arms:
  gcl, ucbe-best, ugape:M, sar:M, ucb1
Your own:
  ./mine.py:MyRule
"""


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
    known = _options(ctx.command)
    elsewhere = _options(simulate) | _options(theory)  # one file may serve both
    for key, value in values.items():
        name = key.replace("-", "_")
        if name not in known and name in elsewhere:
            continue
        if name not in known:
            raise click.UsageError(
                f"{path}: there is no setting {key!r}; the keys are those of the flags: "
                + ", ".join(sorted(str(k).replace("_", "-") for k in known))
            )
        text = ",".join(map(str, value)) if isinstance(value, list) else value
        text = str(text).lower() if isinstance(text, bool) else str(text)  # read like a flag's
        ctx.default_map = {**(ctx.default_map or {}), name: text}
    return path


def _options(command: click.Command) -> set[str | None]:
    return {p.name for p in command.params if isinstance(p, click.Option)}


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, shown in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


seeded = click.option(
    "--seed", type=int, default=0, show_default=True, help="Equal seeds give equal results."
)
threaded = click.option("--threads", type=int, help="Threads to play with.  [default: all cores]")
formatted = click.option(
    "--format",
    "format",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How to print the result.",
)
problem_options = _together(
    click.argument("spec", required=False, callback=_spec, is_eager=True, metavar="[SPEC.toml]"),
    click.option(
        "--experiment",
        type=click.Choice(["three-groups", "arithmetic", "geometric"]),
        help="One of the paper's bandits.",
    ),
    click.option("--means", help="The arms' means, e.g. 0.1,0.4,0.9."),
    click.option(
        "--data",
        metavar="NAME|FILE.csv",
        help="Arms that draw from recorded rewards: bluebirds, rtt_seattle, vm_noise, or a CSV "
        "file with columns arm and reward.",
    ),
    click.option(
        "--arms",
        type=click.Choice(
            ["bernoulli", "gaussian", "beta", "poisson", "exponential", "pareto", "student-t"]
        ),
        default="bernoulli",
        show_default=True,
        help="How rewards are distributed, around the means.",
    ),
    click.option("--sd", help="Standard deviation of a reward, one or one per arm."),
    click.option(
        "--rewards",
        type=click.Choice(["binary", "bounded", "poisson", "exponential", "gaussian", "heavy"]),
        help="What the rewards of a CSV file are; bounded ones lie between 0 and 1."
        "  [default: binary]",
    ),
    click.option(
        "--level",
        help="Ask how often a reward exceeds this, one or one per arm: the threshold is then a "
        "chance.",
    ),
    click.option(
        "--goal",
        default="sides",
        show_default=True,
        metavar="sides|best-arm|top:M",
        help="What is looked for: on which side of the threshold every arm is, the best arm, or "
        "the M best.",
    ),
    click.option(
        "--threshold",
        help="The bar, one or one per arm.  [default: 0.5 with --experiment; for the best arm "
        "the highest mean, for the M best midway to the next]",
    ),
    click.option(
        "--precision",
        help="Half-width of the band where either answer is right, one or one per arm."
        "  [default: 0, or 0.1 for the sides of an --experiment]",
    ),
)


@cli.command()
@problem_options
@click.option("--budget", default="500", show_default=True, help="Pulls in a game, e.g. 250,500.")
@click.option("--rules", default="apt,uniform", help=RULES_HELP)
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
    "--plot", "plot", type=click.Path(dir_okay=False), help="Draw the curve (.png, .svg)."
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
    cutline simulate --means 1,2,3 --arms exponential --level 4 --threshold 0.2
    cutline simulate --means 0.2,0.5,0.8 --goal best-arm --rules apt,gcl,sar --budget 90
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    with _one_sentence():
        from cutline.figures import tables
        from cutline.simulation.simulate import default_horizons

        _writable(flags["save"])
        _writable(flags["plot"], ".png", ".svg", ".pdf")
        goal = _goal(flags)
        bandit = _bandit(flags, goal)
        names = [name.strip() for name in flags["rules"].split(",") if name.strip()]
        rules = _rules(names)
        budgets = _whole("budget", flags["budget"])
        curve = set()
        if flags["plot"] is not None:
            curve = default_horizons(rules, max(budgets), not flags["along"])
        result, stopped = _simulate(
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
    with _one_sentence():
        from cutline.figures import tables
        from cutline.figures.theory import Theory, along, panels, report
        from cutline.rules import parse_rule

        _writable(flags["plot"], ".png", ".svg", ".pdf")
        goal = _goal(flags)
        bandit = _bandit(flags, goal)
        budgets = _whole("budget", flags["budget"])
        known = Theory.of(bandit, goal, budgets=budgets, error=flags["error"])
        result = None
        if flags["games"] != 0:
            result, stopped = _simulate(
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
        for note in told["notes"]:
            _note(note)
        if stopped and result is not None:
            _note(f"stopped after {result.games} of {flags['games']} games")
        show: dict[str, Callable[[tables.Row], str]] = {
            "table": tables.theory_table,
            "json": tables.theory_json,
            "csv": tables.theory_csv,
        }
        click.echo(show[flags["format"]](told), nl=False)
        if flags["plot"]:
            from cutline.figures.draw import draw_theory, save_figure

            figure = draw_theory(panels(known, result), tables.theory_title(told))
            save_figure(figure, flags["plot"])
    if stopped:
        sys.exit(130)


into_folder = click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="out",
    show_default=True,
    help="The folder to write to.",
)


@cli.command()
@click.option("--games", type=int, default=5000, show_default=True, help=GAMES_HELP)
@into_folder
@seeded
@threaded
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


@cli.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--games", type=int, default=1000, show_default=True, help=GAMES_HELP)
@into_folder
@seeded
@threaded
def examples(names: tuple[str, ...], games: int, out: str, seed: int, threads: int | None) -> None:
    """Play worked examples: a table, a figure and the numbers of each.

    \b
    labels       yes or no by a crowd: which photographs show which bird
    anomalies    which benchmarks stray too often on fresh cloud machines
    duels        which options win half of their duels
    best-arm     the best arm and the reward on the way, highest mean known
    heavy-tails  APT with estimates that one wild reward cannot move

    Without names, all of them. The pages in docs/howto say what they show.
    """  # noqa: D301 (as above)
    with _one_sentence():
        from cutline.core.chance import seed_key
        from cutline.figures.examples import EXAMPLES, run_examples
        from cutline.simulation.simulate import check_games

        for name in names:
            if name not in EXAMPLES:
                raise ValueError(f"there is no example {name!r}: one of {', '.join(EXAMPLES)}")
        check_games(games, threads=threads)
        seed_key(seed)
        _folder(out)
        chosen = list(names or EXAMPLES)
        code = run_examples(chosen, Path(out), games, seed, threads, _simulate, click.echo)
        if code == 130:
            _note(f"stopped; {out} holds the examples that were finished")
        sys.exit(code)


def _goal(flags: dict[str, Any]) -> "Goal":
    from cutline.simulation.goals import parse_goal

    return parse_goal(flags["goal"])


def _bandit(flags: dict[str, Any], goal: "Goal") -> "Bandit":
    """The arms, by one of the ways to give them, and the bar, which a goal may set itself."""
    from cutline.simulation import Bandit
    from cutline.simulation.goals import TopArms

    way = _way(flags)
    given = {
        name: _numbers(name, flags[name])
        for name in ("threshold", "precision", "level", "sd", "means")
        if flags[name] is not None
    }
    if way == "experiment" and not isinstance(goal, TopArms):
        given = {"threshold": [0.5], "precision": [0.1], **given}
    arms, names = _recorded(flags) if way == "data" else (_from_means(way, flags, given), None)

    def held_against(threshold: list[float]) -> Bandit:
        precision, level = given.get("precision", [0.0]), given.get("level")
        return Bandit(arms, threshold=threshold, precision=precision, level=level, names=names)

    if "threshold" in given:
        return held_against(given["threshold"])
    if not isinstance(goal, TopArms):
        raise click.UsageError("give the bar with --threshold")
    bandit = held_against([0.0])
    goal.check(bandit)
    told = bandit.for_best_arm() if goal.m == 1 else bandit.for_top(goal.m)
    threshold = told.problem.threshold[0]
    which = "the highest mean" if goal.m == 1 else f"midway between ranks {goal.m} and {goal.m + 1}"
    _note(f"the threshold is {threshold:.6g}, {which}")
    return held_against([threshold])


def _way(flags: dict[str, Any]) -> str:
    """Which of the ways to give arms is used; a flag wins over another way in the file."""
    source = click.get_current_context().get_parameter_source
    given = [way for way in WAYS if flags[way] is not None]
    flagged = [way for way in given if source(way) == ParameterSource.COMMANDLINE]
    chosen = flagged or given
    if len(chosen) != 1:
        raise click.UsageError("say which arms: give one of --experiment, --means and --data")
    return chosen[0]


def _from_means(way: str, flags: dict[str, Any], given: dict[str, list[float]]) -> "Arms":
    from cutline.simulation import EXPERIMENTS
    from cutline.simulation.arms import FAMILIES

    _refuse("rewards", way, "is for a CSV file of --data")
    means, sd = given.get("means"), given.get("sd")
    if way == "experiment":
        means = EXPERIMENTS[flags["experiment"]](False).means.tolist()
        if flags["arms"] == "gaussian" and sd is None:
            sd = [0.5]
    assert means is not None
    return FAMILIES[flags["arms"]].from_means(means, sd)


def _recorded(flags: dict[str, Any]) -> "tuple[Arms, tuple[str, ...]]":
    from cutline.simulation.datasets import DATASETS, dataset, dataset_from_csv

    for name in ("arms", "sd"):
        _refuse(name, "data", "is for arms made from means, and recorded ones are as they are")
    data = flags["data"]
    if data in DATASETS:
        _refuse("rewards", "data", f"is for a CSV file, and {data} has a kind of its own")
        found = dataset(data)
    elif Path(data).is_file():
        found = dataset_from_csv(data, rewards=flags["rewards"] or "binary")
    else:
        raise click.UsageError(
            f"--data takes the name of a data set ({', '.join(DATASETS)}) or a CSV file that "
            f"exists, got {data!r}"
        )
    return found.arms, found.names


def _refuse(name: str, way: str, why: str) -> None:
    """Refuse a flag that says nothing of arms given this way.

    In a file it is passed over where the arms come from a flag: it may be about the file's arms.
    """
    source = click.get_current_context().get_parameter_source
    if source(name) in {ParameterSource.COMMANDLINE, source(way)} - {ParameterSource.DEFAULT}:
        raise click.UsageError(f"--{name} {why}: leave it out")


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
    also: Iterable[int] = (),
    **options: Any,
) -> "tuple[Result, bool]":
    """Simulate with progress on a terminal's stderr; Ctrl-C gives the games so far, if any.

    Errors are counted at the budgets, and ``also`` elsewhere.
    """
    from cutline.simulation import Interrupted
    from cutline.simulation import simulate as run

    options["horizons"] = {*budgets, *also}
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
