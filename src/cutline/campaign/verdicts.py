"""The verdict on a campaign's arms: on all of them, or on a few that somebody looks at."""

from collections.abc import Callable, Sequence

import numpy as np

from cutline.campaign.records import FAILED, LOST, SUSPENDED, Arm, Head
from cutline.campaign.stores.base import Transaction
from cutline.campaign.terms import Terms
from cutline.core.tally import Floats, Tallies
from cutline.core.verdict import Verdict, verdict_of

CONFIDENCE = 0.95  # at which a campaign is judged that does not stop at one


def verdict_on(
    head: Head,
    terms: Terms,
    arms: Sequence[Arm],
    confidence: float | None = None,
    history: Callable[[], Sequence[Floats]] | None = None,
) -> Verdict:
    """The verdict on some arms; their evidence is taken as far as it has been weighed.

    What is said of one arm does not depend on which others are looked at: promises are made for
    all arms of the campaign at once. ``history`` gives what was weighed of every arm, in order; see
    :func:`cutline.core.verdict.verdict_of`.
    """
    level = confidence if confidence is not None else (terms.confidence or CONFIDENCE)
    broken = None
    if head.arms > terms.declared:
        broken = (
            f"{head.arms - terms.declared} arms were added beyond the {terms.declared} declared, "
            "so the chance of a false proof is not bounded by the confidence"
        )
    return verdict_of(
        terms.question(arms, levels=head.settings["levels"]),
        Tallies(
            np.array([arm.pulls for arm in arms], dtype=np.int64),
            np.array([arm.total for arm in arms]),
            np.array([arm.squares for arm in arms]),
            np.array([terms.origin(arm) for arm in arms]),
        ),
        [terms.side(arm) for arm in arms],
        terms.evidence,
        [arm.proof for arm in arms],
        level,
        declared=max(terms.declared, head.arms),
        statuses=[arm.status for arm in arms],
        counts=_counts(arms),
        broken=broken,
        cache=terms.cache,
        history=history,
    )


def _counts(arms: Sequence[Arm]) -> dict[str, list[int]]:
    """What became of the trials of every arm, as columns; see :class:`Counts`."""
    told, failed, lost = (
        [getattr(arm, name) for arm in arms] for name in ("told", "failed", "lost")
    )
    late, returned = [arm.late for arm in arms], [arm.returned for arm in arms]
    settled = np.array([told, failed, lost, late, returned], dtype=np.int64).sum(axis=0)
    asked = settled + np.array([arm.flying for arm in arms], dtype=np.int64)
    attached = np.array([arm.places for arm in arms], dtype=np.int64) - asked
    return {
        "asked": asked.tolist(),
        "told": told,
        "failed": failed,
        "lost": lost,
        "late": late,
        "returned": returned,
        "attached": attached.tolist(),
    }


def reasons_of(t: Transaction) -> dict[str, str]:
    """The arms that are suspended, by name, and why."""
    runs = {event.data["arm"]: event.data for event in t.events() if event.kind == "suspend"}
    found = {}
    for arm in t.all_arms():
        if arm.status != SUSPENDED:
            continue
        run, words = runs.get(arm.number), f"{arm.streak} pulls in a row failed or were lost"
        if run is not None:
            others = run["told"] + run["failed"]
            share = 100.0 * run["failed"] / others if others else 0.0
            words = (
                f"{run['length']} failures in a row, where {share:.2g} % of the others' trials fail"
            )
        last = None
        for pull in t.since(arm.failing_from, arm.number):
            if pull.state in (FAILED, LOST):
                last = pull
        if last is not None and (last.note or last.state == LOST):
            words += f"; last: {last.note or 'lost'}"
        found[arm.name] = words
    return found
