"""The verdict on a campaign's arms: on all of them, or on a few that somebody looks at."""

from collections.abc import Sequence

from cutline.campaign.records import Arm, Head
from cutline.campaign.terms import Terms, problem_of
from cutline.core.tally import Tallies, Tally
from cutline.core.verdict import Counts, Verdict, verdict_of

CONFIDENCE = 0.95  # at which a campaign is judged that does not stop at one


def verdict_on(
    head: Head, terms: Terms, arms: Sequence[Arm], confidence: float | None = None
) -> Verdict:
    """The verdict on some arms; their evidence is taken as far as it has been weighed.

    What is said of one arm does not depend on which others are looked at: promises are made for
    all arms of the campaign at once.
    """
    level = confidence if confidence is not None else (terms.confidence or CONFIDENCE)
    broken = None
    if head.arms > terms.declared:
        broken = (
            f"{head.arms - terms.declared} arms were added beyond the {terms.declared} declared, "
            "so the chance of a false proof is not bounded by the confidence"
        )
    return verdict_of(
        problem_of(list(arms), terms.rewards, terms.measured if head.settings["levels"] else None),
        Tallies.of([Tally(a.pulls, a.total, a.squares, terms.origin(a)) for a in arms]),
        [terms.side(arm) for arm in arms],
        [terms.ledger(arm) for arm in arms],
        level,
        declared=max(terms.declared, head.arms),
        statuses=[arm.status for arm in arms],
        counts=[
            Counts(a.asked, a.told, a.failed, a.lost, a.late, a.returned, a.attached) for a in arms
        ],
        broken=broken,
    )
