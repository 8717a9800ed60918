"""What a verdict says of every arm: columns that are worked out when somebody looks."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from cutline.core.estimate import arm_wrong_chance
from cutline.core.evidence import Evidence, Ledger
from cutline.core.evidence.base import TALLY, Weights
from cutline.core.problem import Problem
from cutline.core.tally import Floats, Tallies, Tally

Proof = tuple[float, ...]
"""The numbers of a ledger; see :attr:`Ledger.numbers`."""


@dataclass(frozen=True)
class Counts:
    """What became of the pulls of an arm in a live campaign."""

    asked: int = 0
    told: int = 0
    failed: int = 0
    lost: int = 0
    late: int = 0
    returned: int = 0
    attached: int = 0


COUNTS = tuple(count.name for count in fields(Counts))


class NumberCache:
    """Numbers that were worked out before, by all that they depend on.

    A campaign keeps one, so that after one more reward one arm is worked out and not all. Arms with
    the same bar and the same tally share their numbers.
    """

    MOST = 2**18  # numbers kept of a kind; beyond, all are forgotten
    LEVELS = 4  # confidences whose intervals are kept

    def __init__(self) -> None:
        self._bars: dict[tuple[float, float, float | None], int] = {}
        self._problems: list[
            tuple[Problem, Evidence | None, list[int], dict[str, list[float]]]
        ] = []
        self._weights: dict[float, dict[Any, Weights]] = {}
        self.chances: dict[Any, float] = {}
        self.fresh: dict[int, tuple[float, float]] = {}
        """The largest log e-values of an arm of which nothing was weighed, by its bar."""

    def bars(
        self, problem: Problem, evidence: Evidence | None
    ) -> tuple[list[int], dict[str, list[float]]]:
        """A number for the bar of every arm, alike for like bars; and the evidence's columns."""
        for known, kind, bars, columns in self._problems:
            if known is problem and kind == evidence:
                return bars, columns
        sds = [None] * len(problem.arms) if problem.sds is None else problem.sds.tolist()
        alike = self._bars
        bars = [
            alike.setdefault(bar, len(alike))
            for bar in zip(problem.threshold, problem.precision, sds, strict=True)
        ]
        made = {} if evidence is None else evidence.columns(problem)
        columns = {name: column.tolist() for name, column in made.items()}
        for name, shown in (("low", "shown_low"), ("high", "shown_high")):
            if name in made:  # 0.9 + 0.05 as one would write it by hand
                edges = (made[name] + problem.origins).tolist()
                columns[shown] = [float(f"{edge:.15g}") for edge in edges]
        self._problems = [(problem, evidence, bars, columns), *self._problems[:3]]
        return bars, columns

    def weights(self, log_level: float) -> dict[Any, Weights]:
        """What was worked out at a level."""
        found = self._weights.get(log_level)
        if found is None or len(found) > self.MOST:
            found = {}
            others = [item for item in self._weights.items() if item[0] != log_level]
            # put in place at once: several threads may look at a campaign
            self._weights = {**dict(others[1 - self.LEVELS :]), log_level: found}
        if len(self.chances) > self.MOST:
            self.chances = {}
        return found


@dataclass(frozen=True)
class Kept:
    """A history that is in memory."""

    rewards: Sequence[Floats]

    def __call__(self) -> Sequence[Floats]:
        """The rewards of every arm."""
        return self.rewards


@dataclass(frozen=True)
class Rows:
    """All that a verdict knows, as columns over the arms; see :class:`ArmVerdict`.

    ``proofs`` are the numbers of the ledgers, None where nothing was weighed. ``bar`` is the log
    e-value that proves a side. ``counts`` are the columns of :class:`Counts`, where there are any.
    """

    problem: Problem
    evidence: Evidence | None
    tallies: Tallies
    sides: list[bool | None]
    proofs: list[Proof | None]
    bar: float
    statuses: list[str] | None = None
    counts: Mapping[str, list[int]] | None = None
    cache: NumberCache = field(default_factory=NumberCache, repr=False, compare=False)
    history: "Callable[[], Sequence[Floats]] | None" = field(
        default=None, repr=False, compare=False
    )
    """Where to find the rewards of every arm that were weighed, in the order they were fed."""

    def __len__(self) -> int:
        return len(self.sides)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        return (
            (self.bar, self.sides, self.proofs, self.statuses, self.counts)
            == (other.bar, other.sides, other.proofs, other.statuses, other.counts)
            and (self.problem, self.evidence) == (other.problem, other.evidence)
            and all(
                np.array_equal(getattr(self.tallies, name), getattr(other.tallies, name))
                for name in TALLY
            )
        )

    __hash__ = None  # type: ignore[assignment]  # columns are lists

    def __getstate__(self) -> dict[str, Any]:
        """What is kept of it, without what can be worked out again."""
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.history is not None:
            kept["history"] = Kept(self._fed)
        return kept | {"cache": NumberCache()}

    @property
    def log_level(self) -> float:
        """The level of an interval's ends: both at once take half the level each."""
        return self.bar + math.log(2.0)

    @cached_property
    def _shared(self) -> tuple[list[int], dict[str, list[float]]]:
        return self.cache.bars(self.problem, self.evidence)

    def _columns(self, arm: int) -> dict[str, float]:
        return {name: column[arm] for name, column in self._shared[1].items()}

    def ledger(self, arm: int) -> Ledger | None:
        """The evidence about an arm, in an object of its own."""
        if self.evidence is None:
            return None
        proof = self.proofs[arm]
        if proof is None:
            return Ledger(self.evidence, self._columns(arm))
        return Ledger.restored(self.evidence, self._columns(arm), proof)

    @cached_property
    def tops(self) -> list[tuple[float, float]]:
        """The largest log e-values so far, for "above" and for "below"."""
        if self.evidence is None:
            return [(0.0, 0.0)] * len(self)
        fresh = self.cache.fresh
        found = []
        bars = self._shared[0]
        for arm, proof in enumerate(self.proofs):
            if proof is not None:
                found.append((proof[-2], proof[-1]))
                continue
            tops = fresh.get(bars[arm])
            if tops is None:
                ledger = self.ledger(arm)
                assert ledger is not None
                tops = fresh[bars[arm]] = (ledger.top_above, ledger.top_below)
            found.append(tops)
        return found

    @cached_property
    def proven(self) -> list[str | None]:
        """What is proven of every arm."""
        bar = self.bar
        return [_PROVEN[above >= bar, below >= bar] for above, below in self.tops]

    @cached_property
    def p_values(self) -> list[float]:
        """1 / the largest e-value for the side that is reported; 1 for an arm never seen."""
        return [
            math.exp(-(above if side else below)) if side is not None else 1.0
            for side, (above, below) in zip(self.sides, self.tops, strict=True)
        ]

    # Numbers that take a while: of one arm, or of all.

    @cached_property
    def _fed(self) -> list[Floats]:
        """The rewards that were weighed, from the origin on: as many as there were then."""
        assert self.history is not None
        found = []
        rewards_of = self.history()[: len(self)]  # arms may have been added since
        for name, rewards, proof in zip(self.problem.arms, rewards_of, self.proofs, strict=True):
            count = 0 if proof is None else int(proof[0])
            if len(rewards) < count:
                raise ValueError(
                    f"the rewards of arm {name!r} are not in the store any more, and its interval "
                    "is made of them: ask for a new verdict"
                )
            found.append(np.asarray(rewards[:count]))
        return found

    @property
    def _narrower(self) -> bool:
        return self.evidence is not None and self.evidence.from_rewards and bool(self.history)

    def _key(self, arm: int) -> tuple[object, ...]:
        """What the weights of an arm depend on; the name stands for its rewards in their order."""
        proof, bar = self.proofs[arm], self._shared[0][arm]
        if self._narrower and proof is not None:
            return bar, proof[:-2], self.problem.arms[arm]
        return bar, None if proof is None else proof[:-2]

    def weights(self, arm: int) -> Weights:
        """The interval of an arm, from the problem's origin, and both log e-values now."""
        evidence = self.evidence
        if evidence is None:
            return _NOTHING
        if "all_weights" in self.__dict__:
            return self.all_weights[arm]
        known = self.cache.weights(self.log_level)
        key = self._key(arm)
        found = known.get(key)
        if found is None:
            (found,) = self._work_out([arm])
            known[key] = found
        return found

    @cached_property
    def all_weights(self) -> list[Weights]:
        """The same of all arms."""
        if self.evidence is None:
            return [_NOTHING] * len(self)
        known = self.cache.weights(self.log_level)
        bars = self._shared[0]
        if self._narrower:
            keys: list[Any] = [self._key(arm) for arm in range(len(self))]
        else:
            keys = [
                (bar, None if proof is None else proof[:-2])
                for bar, proof in zip(bars, self.proofs, strict=True)
            ]
        new: dict[Any, int] = {}
        for arm, key in enumerate(keys):
            if key not in known:
                new.setdefault(key, arm)
        known.update(zip(new, self._work_out(list(new.values())), strict=True))
        return [known[key] for key in keys]

    def _work_out(self, arms: Sequence[int]) -> list[Weights]:
        assert self.evidence is not None
        names = (*TALLY, *self.evidence.keeps)
        states = []
        for arm in arms:
            proof = self.proofs[arm]
            kept = (0.0,) * len(names) if proof is None else proof[:-2]
            state = {**dict(zip(names, kept, strict=True)), "step": kept[0], **self._columns(arm)}
            states.append(state)
        found = self.evidence.weights(states, self.log_level)
        if self._narrower:
            for i, (arm, state) in enumerate(zip(arms, states, strict=True)):
                if state["pulls"]:
                    ends = self.evidence.interval_of(self._fed[arm], state, self.log_level)
                    found[i] = Weights(*ends, *found[i][2:])
        return found

    def _chance(self, arm: int) -> float:
        tally = self.tallies[arm]
        side = self.sides[arm]
        key = (self._shared[0][arm], side, tally.pulls, tally.total, tally.squares)
        found = self.cache.chances.get(key)
        if found is None:
            found = arm_wrong_chance(self.problem, arm, tally, side)
            self.cache.chances[key] = found
        return found

    def wrong_chance(self, arm: int) -> float:
        """A model's estimate of the chance that an arm counts and is on the wrong side."""
        if "wrong_chances" in self.__dict__:
            return self.wrong_chances[arm]
        return self._chance(arm)

    @cached_property
    def wrong_chances(self) -> list[float]:
        """The same of all arms."""
        known = self.cache.chances
        tallies = self.tallies
        keys = zip(
            self._shared[0], self.sides, tallies.pulls.tolist(), tallies.total.tolist(),
            tallies.squares.tolist(), strict=True,
        )  # fmt: skip
        found = [known.get(key) for key in keys]
        return [self._chance(arm) if p is None else p for arm, p in enumerate(found)]

    # Columns, as data frames take them.

    @property
    def means(self) -> list[float]:
        """The mean of every arm; not a number for one never seen."""
        tallies = self.tallies
        with np.errstate(invalid="ignore", divide="ignore"):
            means = tallies.origin + tallies.total / tallies.pulls
        found: list[float] = means.tolist()
        for arm in np.flatnonzero(tallies.pulls == 0).tolist():
            found[arm] = math.nan  # this one and no other, so that equal columns are equal
        return found

    def interval(self, arm: int) -> tuple[float, float]:
        """The interval of an arm."""
        origin = float(self.tallies.origin[arm])
        weights = self.weights(arm)
        return weights.low + origin, weights.high + origin

    @cached_property
    def intervals(self) -> tuple[list[float], list[float]]:
        """The lower and the upper ends of all arms."""
        origin = self.tallies.origin
        ends = np.array([weights[:2] for weights in self.all_weights]).reshape(-1, 2)
        return (ends[:, 0] + origin).tolist(), (ends[:, 1] + origin).tolist()

    @cached_property
    def _edges(self) -> tuple[list[float], list[float]]:
        """The edges of the band; those at an end of the range exactly there."""
        columns = self._shared[1]
        return columns["shown_low"], columns["shown_high"]

    def more_than(self, arm: int) -> float | None:
        """See :attr:`ArmVerdict.more_than`."""
        if self.proven[arm] not in ("above", BOTH):
            return None
        return max(self._edges[0][arm], self.interval(arm)[0])

    def less_than(self, arm: int) -> float | None:
        """See :attr:`ArmVerdict.less_than`."""
        if self.proven[arm] not in ("below", BOTH):
            return None
        return min(self._edges[1][arm], self.interval(arm)[1])

    def table(self) -> dict[str, list[Any]]:
        """All columns, worked out in bulk."""
        lows, highs = self.intervals
        above, below = ("above", BOTH), ("below", BOTH)
        edges = self._edges if self.evidence is not None else ([], [])
        proven = self.proven
        table: dict[str, list[Any]] = {
            "arm": list(self.problem.arms),
            "pulls": self.tallies.pulls.tolist(),
            "mean": self.means,
            "side": [_SIDE[side] for side in self.sides],
            "proven": list(proven),
            "more_than": [
                max(edges[0][i], lows[i]) if what in above else None
                for i, what in enumerate(proven)
            ],
            "less_than": [
                min(edges[1][i], highs[i]) if what in below else None
                for i, what in enumerate(proven)
            ],
            "low": lows,
            "high": highs,
            "p_value": list(self.p_values),
            "log_above": [weights.log_above for weights in self.all_weights],
            "log_below": [weights.log_below for weights in self.all_weights],
            "wrong_chance": list(self.wrong_chances),
            "status": ["open"] * len(self) if self.statuses is None else list(self.statuses),
        }
        if self.counts is not None:
            table |= {name: list(self.counts[name]) for name in COUNTS}
        return table


class ArmVerdict:
    """What is known of one arm.

    ``side`` is the paper's answer, "above" if its mean is at least the threshold, else "below";
    None for an arm never seen. ``proven`` is None, "above" the lower edge of the band, "below" the
    upper one, or "within precision" (both); it stays when the mean moves on, so that an arm inside
    the band may be proven above and have a mean below the threshold. ``p_value`` is 1 / the largest
    e-value so far of those that speak for ``side``, 1 for an arm never seen. ``status`` is "open",
    "suspended" or "retired", and ``counts`` says what became of its pulls, in a live campaign.
    """

    __slots__ = ("_arm", "_rows")

    def __init__(self, rows: Rows, arm: int) -> None:
        self._rows, self._arm = rows, arm

    @property
    def arm(self) -> str:
        """Its name."""
        return self._rows.problem.arms[self._arm]

    @property
    def side(self) -> str | None:
        """The side its mean is on; None for an arm never seen."""
        return _SIDE[self._rows.sides[self._arm]]

    @property
    def proven(self) -> str | None:
        """What is proven of it."""
        return self._rows.proven[self._arm]

    @property
    def p_value(self) -> float:
        """1 / the strongest evidence so far for its side."""
        return self._rows.p_values[self._arm]

    @property
    def status(self) -> str:
        """Whether it is still tried: "open", "suspended" or "retired"."""
        statuses = self._rows.statuses
        return "open" if statuses is None else statuses[self._arm]

    @property
    def counts(self) -> Counts | None:
        """What became of its pulls, in a live campaign."""
        counts = self._rows.counts
        if counts is None:
            return None
        return Counts(*(counts[name][self._arm] for name in COUNTS))

    @property
    def tally(self) -> Tally:
        """The rewards that count, in a few numbers."""
        return self._rows.tallies[self._arm]

    @property
    def ledger(self) -> Ledger | None:
        """Its evidence; None where nothing can be promised."""
        return self._rows.ledger(self._arm)

    @property
    def pulls(self) -> int:
        """How many rewards count."""
        return int(self._rows.tallies.pulls[self._arm])

    @property
    def mean(self) -> float:
        """Their mean; not a number for an arm never seen."""
        tally = self.tally
        return tally.mean if tally.pulls else math.nan

    @property
    def more_than(self) -> float | None:
        """What its mean is proven to be above; None where it is not proven above.

        The lower edge of the band, or the lower end of the interval where that is higher now.
        """
        return self._rows.more_than(self._arm)

    @property
    def less_than(self) -> float | None:
        """What its mean is proven to be below; None where it is not proven below."""
        return self._rows.less_than(self._arm)

    @property
    def low(self) -> float:
        """The lower end of an interval that holds the mean, for all arms at once and at all times.

        Another statement than ``proven``: both ends hold together with the verdict's confidence,
        so that each takes half the doubt, and an end may lie on the far side of a proven edge.
        """
        return self._rows.interval(self._arm)[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self._rows.interval(self._arm)[1]

    @property
    def log_above(self) -> float:
        """The log e-value for "above" as of now."""
        return self._rows.weights(self._arm).log_above

    @property
    def log_below(self) -> float:
        """The log e-value for "below" as of now."""
        return self._rows.weights(self._arm).log_below

    @property
    def wrong_chance(self) -> float:
        """A model's estimate of the chance that it counts and is on the wrong side."""
        return self._rows.wrong_chance(self._arm)

    def _said(self) -> tuple[object, ...]:
        rows, arm = self._rows, self._arm
        return (
            self.arm, self.side, self.proven, self.p_value, self.tally, rows.bar, self.status,
            self.counts, rows.proofs[arm],
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return self._said() == other._said() if isinstance(other, ArmVerdict) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._said())

    def __repr__(self) -> str:
        return (
            f"ArmVerdict(arm={self.arm!r}, side={self.side!r}, proven={self.proven!r}, "
            f"p_value={self.p_value!r}, status={self.status!r}, counts={self.counts!r})"
        )


BOTH = "within precision"
_PROVEN = {
    (False, False): None,
    (True, False): "above",
    (False, True): "below",
    (True, True): BOTH,
}
_SIDE: dict[bool | None, str | None] = {None: None, True: "above", False: "below"}
_NOTHING = Weights(-math.inf, math.inf, 0.0, 0.0)
