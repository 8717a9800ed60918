"""What a store keeps: a campaign, its arms, its pulls, and what else happened."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cutline.core.tally import Floats, Ints

# States of a pull.
ASKED, TOLD, FAILED, LOST, LATE, RETURNED, ATTACHED, ATTACHED_UNWEIGHED = range(8)
STATES = (
    "asked", "told", "failed", "lost", "late", "returned", "attached", "attached, not weighed",
)  # fmt: skip

# States of a campaign, and of an arm.
RUNNING, PAUSED, CLOSED = "running", "paused", "closed"
OPEN, SUSPENDED, RETIRED = "open", "suspended", "retired"
SUSPENSION = 4  # the rule that suspends arms in new campaigns; see Terms


_eight_bytes = struct.Struct(">q").pack


@dataclass(slots=True)
class Head:
    """A campaign: its settings, which never change, and its counters.

    ``budget`` (None: none), ``spent`` and ``reserved`` (by pulls in flight) are in units of cost.
    ``unsettled`` counts the arms that are neither retired nor closed, ``told`` the rewards that
    count, ``failed`` the pulls that failed or are lost, ``pulls`` the pulls recorded, attached ones
    included; ``events`` numbers all that ever happened. Evidence is up to date before the pull
    ``weighed``. ``clock`` is the latest time at which the campaign was written.
    """

    id: int
    name: str
    created: float
    settings: dict[str, Any]
    budget: int | None
    spent: int = 0
    reserved: int = 0
    state: str = RUNNING
    arms: int = 0
    unsettled: int = 0
    flying: int = 0
    told: int = 0
    pulls: int = 0
    events: int = 0
    weighed: int = 0
    failed: int = 0
    clock: float = 0.0

    @property
    def left(self) -> int | None:
        """What can still be reserved; None without a budget."""
        return None if self.budget is None else self.budget - self.spent - self.reserved

    def tick(self) -> int:
        """The number of the next event."""
        self.events += 1
        return self.events


@dataclass(slots=True)
class Arm:
    """One arm: what it is, what was counted, and where it stands in the line.

    ``places`` is how long its line of pulls is, of those asked for and those attached; ``flying``
    and the five after it count those asked for by state. ``streak`` counts failures in a
    row, and losses: those that were in flight together, up to the event ``tripped``, count once,
    since it is workers that die; ``failing_from`` is the first pull of that row, by its number.
    ``pulls``, ``total`` and ``squares`` are the tally of all rewards
    that count, from the origin; ``kept`` is what the rule keeps beside it. ``fed`` is how many of
    the arm's pulls, in the order asked for, the evidence has passed, and ``proof`` its numbers
    (None: nothing weighed). ``closed``: proven on its side at the campaign's confidence.
    ``priority`` is None for an arm that is not to be asked.
    """

    number: int
    name: str
    threshold: float
    precision: float
    level: float | None
    sd: float | None
    cost: int
    tie: float
    status: str = OPEN
    closed: bool = False
    places: int = 0
    flying: int = 0
    told: int = 0
    failed: int = 0
    lost: int = 0
    late: int = 0
    returned: int = 0
    streak: int = 0
    tripped: int = 0
    failing_from: int = 0
    pulls: int = 0
    total: float = 0.0
    squares: float = 0.0
    kept: tuple[float, ...] = ()
    fed: int = 0
    proof: tuple[float, ...] | None = None
    priority: float | None = None

    @property
    def asked(self) -> int:
        """How many pulls were asked for."""
        return self.flying + self.told + self.failed + self.lost + self.late + self.returned

    @property
    def attached(self) -> int:
        """How many results were attached."""
        return self.places - self.asked


@dataclass(slots=True)
class PullRow:
    """One pull: ``seq`` numbers the campaign's, ``nth`` the arm's, both from 0.

    ``asked`` and ``settled`` are numbers of events. ``reward`` is what counts, as it was told;
    ``late`` is what came when it could not count any more. ``expires`` is None once settled.
    """

    seq: int
    token: int
    arm: int
    nth: int
    cost: int
    asked: int
    state: int = ASKED
    reward: float | None = None
    late: float | None = None
    settled: int | None = None
    expires: float | None = None
    note: str | None = None
    _id: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def id(self) -> str:
        """The handle: the pull's number and 64 random bits."""
        known = self._id
        if known is None:  # made once, and quicker than by {token:016x}
            known = self._id = f"{self.seq}-{_eight_bytes(self.token).hex()}"
        return known


class Outcomes(NamedTuple):
    """What evidence needs of some pulls, as columns; a reward that there is not is NaN."""

    seq: Ints
    arm: Ints
    nth: Ints
    state: Ints
    reward: Floats

    @classmethod
    def of(cls, pulls: Sequence[PullRow]) -> "Outcomes":
        """The columns of some pulls."""
        return cls(
            np.array([pull.seq for pull in pulls], dtype=np.int64),
            np.array([pull.arm for pull in pulls], dtype=np.int64),
            np.array([pull.nth for pull in pulls], dtype=np.int64),
            np.array([pull.state for pull in pulls], dtype=np.int64),
            np.array([pull.reward for pull in pulls], dtype=np.float64),  # None becomes NaN
        )


@dataclass(slots=True)
class Event:
    """What happened beside asks and their first outcomes: arms added, a budget extended, ..."""

    number: int
    kind: str
    data: dict[str, Any] = field(default_factory=dict)
