"""The options that describe a problem, as flags or in a TOML file, and the bandit they make."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cutline.cli.asked import SENSES, bars_of
from cutline.cli.shared import Command, note, numbers
from cutline.core.bar import less_from_one

if TYPE_CHECKING:
    from cutline.core.rewards import Rewards
    from cutline.simulation import Arms, Bandit
    from cutline.simulation.goals import Goal

WAYS = ("experiment", "means", "data")  # to say which arms


def read_spec(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """Take the defaults of a command from a TOML file."""
    if path is None:
        return None
    try:
        values = tomllib.loads(Path(path).read_text("utf-8-sig"))
    except RecursionError:
        raise click.UsageError(
            f"{path} could not be read: brackets within brackets, too deep"
        ) from None
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{path} could not be read: {error}") from None
    known = _options(ctx.command)
    others = getattr(ctx.find_root().command, "commands", {}).values()
    elsewhere = set().union(*map(_options, others))  # one file may serve several commands
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


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, shown in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


problem_options = together(
    click.argument(
        "spec", required=False, callback=read_spec, is_eager=True, metavar="[SPEC.toml]"
    ),
    click.option(
        "--experiment",
        type=click.Choice(["three-groups", "arithmetic", "geometric"]),
        help="One of the paper's bandits.",
    ),
    click.option("--means", help="The arms' means, e.g. 0.1,0.4,0.9."),
    click.option(
        "--data",
        metavar="NAME|FILE.csv",
        help="Arms that draw from recorded rewards: bluebirds, flaky_tests, rtt_seattle, vm_noise, "
        "or a CSV file with columns arm and reward.",
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
        "--known-noise",
        is_flag=True,
        help="Tell rules and evidence the standard deviation of gaussian rewards.",
    ),
    click.option(
        "--variance",
        type=float,
        help="A number that no arm's variance exceeds, which evidence of heavy tails rests on.",
    ),
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
        "--at-least", help="The pass rate (or mean) should be at least this, one or one per arm."
    ),
    click.option(
        "--at-most",
        help="The failure rate should be at most this, and the --means are failure rates; with "
        "other arms than bernoulli, the mean should be below this.",
    ),
    click.option(
        "--threshold",
        help="The bar, one or one per arm, where neither side is the wanted one.  "
        "[default: 0.5 with --experiment; for the best arm the highest mean, for the M best midway "
        "to the next]",
    ),
    click.option(
        "--precision",
        help="Half-width of the band where either answer is right, one or one per arm."
        "  [default: 0, or 0.1 for the sides of an --experiment]",
    ),
)


def goal_of(flags: dict[str, Any]) -> "Goal":
    """What games are judged by."""
    from cutline.simulation.goals import parse_goal

    return parse_goal(flags["goal"])


def bandit_of(flags: dict[str, Any], goal: "Goal") -> "Bandit":
    """The arms, by one of the ways to give them, and the bar, which a goal may set itself."""
    from cutline.simulation import Bandit
    from cutline.simulation.goals import TopArms

    way = _way(flags)
    given = {
        name: numbers(name, flags[name])
        for name in ("precision", "level", "sd", "means")
        if flags[name] is not None
    }
    given |= _bar(flags, way, given)
    if way == "experiment" and not isinstance(goal, TopArms):
        given = {"threshold": [0.5], "precision": [0.1], **given}
    arms, names = _recorded(flags) if way == "data" else (_from_means(way, flags, given), None)

    rewards = _told(flags, arms)

    def held_against(threshold: list[float], precision: list[float] | None = None) -> Bandit:
        return Bandit(
            arms,
            threshold=threshold,
            precision=precision or given.get("precision", [0.0]),
            level=given.get("level"),
            names=names,
            rewards=rewards,
        )

    if "threshold" in given:
        return held_against(given["threshold"])
    if not isinstance(goal, TopArms):
        raise click.UsageError("give the bar with one of --at-least, --at-most and --threshold")
    bandit = held_against([float(arms.means[0]) if "level" not in given else 0.0], [0.0])
    goal.check(bandit)
    told = bandit.for_best_arm() if goal.m == 1 else bandit.for_top(goal.m)
    threshold = told.problem.threshold[0]
    which = "the highest mean" if goal.m == 1 else f"midway between ranks {goal.m} and {goal.m + 1}"
    note(f"the threshold is {threshold:.6g}, {which}")
    return held_against([threshold])


def _bar(flags: dict[str, Any], way: str, given: dict[str, list[float]]) -> dict[str, Any]:
    """The threshold, and means of rewards where the bar and the means are about failures."""
    source = click.get_current_context().get_parameter_source
    flagged = [name for name in SENSES if source(name) == ParameterSource.COMMANDLINE]
    flags = {**flags, **(dict.fromkeys(set(SENSES) - set(flagged)) if flagged else {})}
    coins = way != "data" and flags["arms"] == "bernoulli" and flags["level"] is None
    if way == "data" and flags["at_most"] is not None:
        raise click.UsageError(
            "recorded rewards are as they are, a 1 may be a pass or a failure: give --threshold in "
            "place of --at-most"
        )
    found = bars_of(flags, "binary" if coins else "")
    if found is None:
        return {}
    bar, thresholds = found
    if not bar.flipped:
        return {"threshold": thresholds}
    if way == "experiment":
        raise click.UsageError(
            "an --experiment has means of its own: give --threshold, not --at-most"
        )
    return {"threshold": thresholds, "means": [less_from_one(mean) for mean in given["means"]]}


def _told(flags: dict[str, Any], arms: "Arms") -> "Rewards | None":
    """What rules and evidence are told of the rewards beyond their kind."""
    from cutline.core.rewards import Rewards
    from cutline.simulation.arms import Gaussian

    if flags["known_noise"] and flags["variance"] is not None:
        raise click.UsageError("--known-noise is for gaussian arms, --variance for heavy tails")
    if flags["known_noise"]:
        if not isinstance(arms, Gaussian):
            raise click.UsageError("--known-noise is for gaussian arms: leave it out")
        return Rewards("gaussian", sd=arms.noise_scale.tolist())
    if flags["variance"] is not None:
        return Rewards(arms.rewards.kind, variance=flags["variance"])
    return None


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
