"""What was asked for: the rewards, the bar, the trial, and the campaign, new or taken up again."""

from typing import TYPE_CHECKING, Any

import click

from cutline.cli.asked import SENSES, check_has_an_end, check_value, check_within, put_as
from cutline.cli.run.trial import Trial, codes
from cutline.cli.shared import note, numbers
from cutline.cli.stores.opening import MEMORY, seconds_to_wait
from cutline.core.bar import Bar

if TYPE_CHECKING:
    from cutline.campaign import Campaign
    from cutline.core.problem import Problem
    from cutline.core.rewards import Rewards


def rewards_of(flags: dict[str, Any]) -> "Rewards":
    """The kind of number that a trial gives."""
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


def bar_of(flags: dict[str, Any], rewards: "Rewards") -> Bar:
    """The bar, and on which side of it an arm should be."""
    given = put_as(flags)
    if given is None:
        raise click.UsageError("give the bar with one of --at-least, --at-most and --threshold")
    value, precision = flags[given] + 0.0, flags["precision"] + 0.0  # no -0
    check_value(given, value, rewards.kind)
    check_within(given, [value], [precision], rewards)
    if flags["budget"] is None and flags["confidence"] is not None:
        check_has_an_end(given, value, precision, rewards)
    return Bar.put(SENSES[given], value, precision, rewards.kind)


def trial_of(command: tuple[str, ...], flags: dict[str, Any], rewards: "Rewards") -> Trial:
    """How a command is run and what its end means."""
    timeout, counts = flags["timeout"], flags["timeout_counts"]
    if timeout is not None:
        from cutline.campaign.making import check_seconds

        check_seconds("--timeout", timeout)
    if counts is not None:
        if timeout is None:
            raise click.UsageError("--timeout-counts needs --timeout, after how many seconds")
        counts = rewards.check(counts)
    zero_on = codes(flags["zero_on"])
    if zero_on:
        rewards.check(0.0)
    trial = Trial(command, rewards, zero_on, timeout, counts, flags["reward"] == "stdout")
    unknown = trial.unknown_places()
    if unknown:
        note(
            f"{', '.join(unknown[:5])} in the command is left as it is: what is filled in are "
            "{arm}, {arm.FIELD}, {pull} and {seed}"
        )
    return trial


def campaign_of(
    problem: "Problem", bar: Bar, about: dict[str, Any], flags: dict[str, Any]
) -> "Campaign":
    """The campaign that was asked for, and a line that says whether it is new."""
    from cutline.campaign import Campaign, DifferentCampaign, UnknownCampaign, open_store
    from cutline.campaign.access import Access

    name, budget = flags["name"], flags["budget"]
    given = {
        "name": name,
        "rule": flags["rule"],
        "confidence": flags["confidence"],
        "seed": flags["seed"],
    }
    given |= {"lease": flags["lease"], "about": about, "bar": bar}
    fresh = Campaign(problem, budget=budget, **given)  # what cannot be is refused before files are
    if flags["store"] == MEMORY:
        return fresh
    store = open_store(flags["store"], wait=seconds_to_wait())
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
            f"{what}. Give the same arguments as before to go on with it, or another --name for a "
            "new one"
        ) from None
    if head is None:
        note(f"a new campaign {name!r} in {store.shown}: stopped, the same command goes on")
        return campaign
    note(f"going on with campaign {name!r} in {store.shown}, where {head.spent:,} pulls were made")
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
