"""Which arms are proven or suspended, as soon as that can be known without slowing the rest."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cutline.campaign import moves
from cutline.campaign.campaign import Campaign
from cutline.campaign.pulls import Pull
from cutline.campaign.records import OPEN, RETIRED, SUSPENDED, Arm, Head
from cutline.campaign.stores import Transaction
from cutline.campaign.terms import Terms
from cutline.campaign.verdicts import CONFIDENCE, verdict_on
from cutline.core.verdict import ArmVerdict

SHARE = 10  # looking takes one part in so many of the time
POOL = 200  # arms that are looked at for the rows to show


@dataclass(frozen=True)
class Glance:
    """A quick look: the counters, what is new, and, where wanted, the least decided arms.

    ``news`` are the arms that were proven or suspended since the last look, ``tried`` the names of
    those with a reward among the arms that were heard of since.
    """

    head: Head
    news: tuple[ArmVerdict, ...] = ()
    tried: frozenset[str] = frozenset()
    rows: tuple[ArmVerdict, ...] = ()


class Lookout:
    """Looks at the arms that were heard of since the last look.

    ``pause`` is the least time between two looks, in seconds; with ``rows`` a look also finds the
    least decided arms. ``proven`` and ``suspended`` are the arms known to be, by name.
    """

    def __init__(self, campaign: Campaign, *, pause: float = 0.0, rows: bool = False) -> None:
        self.campaign, self.pause, self.rows = campaign, pause, rows
        self._lazy = campaign.confidence is None  # evidence is weighed when somebody looks
        self.proven: set[str] = set()
        self.suspended: set[str] = set()
        self._heard: set[int] = set()  # numbers of arms
        self._recent: dict[int, None] = {}
        self._rested = 0.0

    @property
    def due(self) -> float:
        """When to look next."""
        return self._rested if self._heard or self.rows else math.inf

    def hear(self, pull: Pull) -> None:
        """Something came of a pull."""
        self._heard.add(pull.key[2])
        if self.rows:
            self._recent.pop(pull.key[2], None)
            self._recent[pull.key[2]] = None
            if len(self._recent) > POOL:
                del self._recent[next(iter(self._recent))]

    def look(self, everything: bool = False) -> Glance:
        """See what became of the arms that were heard of since, or of all."""
        began = time.monotonic()
        numbers, self._heard = (None if everything else self._heard), set()
        # What is weighed now need not be weighed again, so it is written down.
        move = "weigh" if self._lazy else "look"
        found, stands = self.campaign.access.do(move, self._glance, numbers)
        now = time.monotonic()
        self._rested = now + max(self.pause, SHARE * (now - began))
        for arm in found.news:
            if arm.proven is not None:
                self.proven.add(arm.arm)
        for name, status in stands.items():
            (self.suspended.add if status == SUSPENDED else self.suspended.discard)(name)
        return found

    def _glance(
        self, t: Transaction, terms: Terms, numbers: Iterable[int] | None
    ) -> tuple[Glance, dict[str, str]]:
        moves.weigh(t, terms)
        arms = t.all_arms() if numbers is None else [t.arm(number) for number in sorted(numbers)]
        tried = frozenset(arm.name for arm in arms if arm.pulls)
        news = self._news(t, terms, arms)
        found = Glance(
            replace(t.head),
            verdict_on(t.head, terms, news).arms if news else (),
            tried,
            self._least_decided(t, terms) if self.rows else (),
        )
        return found, {arm.name: arm.status for arm in arms}

    def _news(self, t: Transaction, terms: Terms, arms: Sequence[Arm]) -> list[Arm]:
        bar = terms.bar(t.head.arms, terms.confidence or CONFIDENCE)
        found = []
        for arm in arms:
            if arm.proof is not None and max(arm.proof[-2:]) >= bar:
                new = arm.name not in self.proven and arm.status != RETIRED
            else:
                new = arm.status == SUSPENDED and arm.name not in self.suspended
            if new:
                found.append(arm)
        return found

    def _least_decided(self, t: Transaction, terms: Terms) -> tuple[ArmVerdict, ...]:
        """The cost does not grow with the number of arms."""
        if t.head.arms <= POOL:
            pool = t.all_arms()
        else:
            both = [*t.first(POOL, None), *(t.arm(number) for number in self._recent)]
            pool = list({arm.number: arm for arm in both}.values())
        seen = [arm for arm in pool if arm.pulls or arm.failed]
        rows = verdict_on(t.head, terms, seen).arms if seen else ()
        return tuple(sorted(rows, key=_undecided))


def _undecided(arm: ArmVerdict) -> tuple[bool, bool, float]:
    """Those that are measured and undecided first, and of these the least sure."""
    return arm.status != OPEN, arm.proven is not None, -arm.p_value
