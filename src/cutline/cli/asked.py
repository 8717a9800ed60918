"""The bar as it is put on a command line: --at-least, --at-most, or --threshold."""

from typing import TYPE_CHECKING, Any

import click

from cutline.cli.shared import LARGEST, numbers
from cutline.core.bar import AT_LEAST, AT_MOST, FAILURE_RATE, PASS_RATE, THRESHOLD, Bar

if TYPE_CHECKING:
    from cutline.campaign import Campaign
    from cutline.core.rewards import Rewards

SENSES = {"at_least": AT_LEAST, "at_most": AT_MOST, "threshold": THRESHOLD}


def put_as(flags: dict[str, Any]) -> str | None:
    """Which of the three flags gives the bar; None where none does."""
    given = [name for name in SENSES if flags[name] is not None]
    if len(given) > 1:
        raise click.UsageError(
            f"{' and '.join(map(flag, given))} are two ways to give one bar: give one of them"
        )
    return given[0] if given else None


def flag(name: str) -> str:
    """A setting as it is typed."""
    return "--" + name.replace("_", "-")


def check_value(name: str, value: float, kind: str) -> None:
    """Refuse what is no number, and what is no rate where rewards are binary."""
    if not abs(value) <= LARGEST:
        raise click.UsageError(
            f"{flag(name)} must be a number of at most {LARGEST:g} in size, got {value!r}"
        )
    if kind == "binary" and not 0 <= value <= 1:
        raise click.UsageError(
            f"{flag(name)} is a rate, from 0 to 1, with binary rewards, got {value:g}"
        )


def check_within(
    name: str, values: list[float], precision: list[float], rewards: "Rewards"
) -> None:
    """Refuse a band past the end of the rewards' range, in the numbers that were given.

    A failure rate has the range of the pass rate that it is 1 less.
    """
    from cutline.core.problem import Problem, check_band

    arms = list(map(str, range(max(len(values), len(precision)))))
    asked = Problem.kept(arms=arms, threshold=values, precision=precision, rewards=rewards)
    check_band(asked, flag(name))


def provable(name: str, value: float, precision: float, measure: str) -> str | None:
    """What to ask in place of a bar at the end of a rate, which cannot be proven to be cleared."""
    if (name, value, precision, measure) == ("at_most", 0.0, 0.0, FAILURE_RATE):
        near, proven = "0.005", "fails less than 1 % of the time"
    elif (name, value, precision, measure) == ("at_least", 1.0, 0.0, PASS_RATE):
        near, proven = "0.995", "passes more than 99 % of the time"
    else:
        return None
    return (
        f"ask {flag(name)} {near} --precision 0.005: one failure then proves that an arm fails the "
        f"bar, and enough passes that it {proven}"
    )


def check_has_an_end(
    name: str, value: float, precision: float, rewards: "Rewards", *, planned: bool = False
) -> None:
    """Refuse to go without a budget to a bar at the end of a rate: it cannot be proven.

    ``planned``: the command looks for a budget, and there is none to give.
    """
    bar = Bar.put(SENSES[name], value, precision, rewards.kind)
    instead = provable(name, value, precision, bar.measure)
    if instead is not None:
        never = "no number of trials proves that an arm never fails"
        wanted = f"{flag(name)} {value:g} needs a --budget: {never}. To do without one"
        if planned:
            wanted = f"{flag(name)} {value:g} has no --confidence to stop at: {never}. To plan that"
        raise click.UsageError(f"{wanted}, {instead}")


def bars_of(flags: dict[str, Any], kind: str) -> tuple[Bar, list[float]] | None:
    """The bar and its numbers, one or one per arm, as a threshold for rewards of a kind."""
    from cutline.core.rewards import Rewards

    name = put_as(flags)
    if name is None:
        return None
    values = [value + 0.0 for value in numbers(name.replace("_", "-"), flags[name])]
    for value in values:
        check_value(name, value, kind)
    precision = [0.0]
    if flags.get("precision") is not None:
        precision = numbers("precision", flags["precision"])
    if kind in ("binary", "poisson", "exponential"):  # else the range is another's to say
        rewards = Rewards(kind)
        alike = len(values) == 1 or len(precision) in (1, len(values))
        if alike and min(precision) >= 0:  # else refused with all arms known
            check_within(name, values, precision, rewards)
        if flags.get("budget") is None and flags.get("confidence") is not None:
            check_has_an_end(name, values[0], precision[0], rewards, planned="budget" not in flags)
    bar = Bar.put(SENSES[name], values[0], 0.0, kind)
    return bar, [Bar.put(SENSES[name], value, 0.0, kind).threshold for value in values]


def asked_instead(campaign: "Campaign", flags: dict[str, Any]) -> tuple[Bar, list[float] | None]:
    """The campaign's bar, or what if it were another: the bar, and the thresholds it stands for.

    Numbers are taken in the campaign's own sense. What could be taken in two ways is refused with
    the line to type.
    """
    own = campaign.bar
    name = put_as(flags)
    precision = [own.precision]
    if flags.get("precision") is not None:
        precision = numbers("precision", flags["precision"])
    if name is None:
        if own.expected is not None and flags["precision"] is not None:
            said = next(name for name, sense in SENSES.items() if sense == own.sense)
            check_within(said, [own.value], precision, campaign.problem.rewards)
        return own, None
    if name == "threshold" and own.flipped:
        raise click.UsageError(
            f"this campaign was asked with a {own.words}: give --at-most {flags[name]} for the "
            "share that may fail, or --at-least for the share that should pass"
        )
    kind = campaign.problem.rewards.kind
    values = [value + 0.0 for value in numbers(name.replace("_", "-"), flags[name])]
    for value in values:
        check_value(name, value, kind)
    check_within(name, values, precision, campaign.problem.rewards)
    sense, measure, flipped = SENSES[name], own.measure, own.flipped
    if name == "threshold":
        sense = own.sense
    elif kind == "binary" and sense != own.sense:
        if own.sense == THRESHOLD and "command" not in campaign.access.head().settings["about"]:
            raise click.UsageError(
                f"this campaign has a plain threshold, and {flag(name)} does not say whether its "
                "rewards of 1 are passes or failures: give --threshold, which is about their mean"
            )
        counts_failures = own.sense == AT_MOST and not own.flipped  # a reward of 1 is a failure
        flipped = (sense == AT_MOST) != counts_failures
        measure = FAILURE_RATE if sense == AT_MOST else PASS_RATE
    bars = [Bar(value, own.precision, sense, measure, flipped) for value in values]
    return bars[0], [bar.threshold for bar in bars]
