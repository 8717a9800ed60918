"""Which arms are proven, as soon as that can be known without slowing the rest."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial

from cutline.campaign import moves
from cutline.campaign.campaign import Campaign
from cutline.campaign.pulls import Pull
from cutline.campaign.records import RETIRED
from cutline.campaign.stores import Transaction
from cutline.campaign.terms import Terms
from cutline.campaign.verdicts import CONFIDENCE, verdict_on
from cutline.core.verdict import ArmVerdict

SHARE = 10  # looking takes one part in so many of the time


class Lookout:
    """Sees which arms are proven, as soon as that can be known without slowing the rest."""

    def __init__(self, campaign: Campaign, tell: Callable[[ArmVerdict], object] | None) -> None:
        self.campaign, self.tell = campaign, tell
        self._lazy = campaign.confidence is None  # evidence is weighed when somebody looks
        self.settled: set[str] = set()
        self._news: set[int] = set()  # numbers of arms
        self._rested = 0.0

    @property
    def due(self) -> float:
        """When to look next."""
        return self._rested if self._news else math.inf

    def hear(self, pull: Pull) -> None:
        """Something came of a pull."""
        self._news.add(pull.key[2])

    def look(self, everything: bool = False) -> None:
        """See what became of the arms that were heard of since, or of all."""
        began = time.monotonic()
        if began < self.due and not everything:
            return
        numbers, self._news = (None if everything else self._news), set()
        # What is weighed now need not be weighed again, so it is written down.
        look = partial(_proven, numbers, self.settled)
        found = self.campaign.access.do("weigh" if self._lazy else "look", look)
        now = time.monotonic()
        self._rested = now + SHARE * (now - began)
        for verdict in found:
            self.settled.add(verdict.arm)
            if self.tell is not None:
                self.tell(verdict)


def _proven(
    numbers: set[int] | None, known: set[str], t: Transaction, terms: Terms
) -> Sequence[ArmVerdict]:
    """The arms among these (None: among all) that are proven and were not known to be."""
    moves.weigh(t, terms)
    bar = terms.bar(t.head.arms, terms.confidence or CONFIDENCE)
    arms = t.all_arms() if numbers is None else [t.arm(number) for number in numbers]
    found = [
        arm
        for arm in arms
        if arm.proof is not None
        and max(arm.proof[-2:]) >= bar
        and arm.name not in known
        and arm.status != RETIRED
    ]
    return verdict_on(t.head, terms, found).arms if found else ()
