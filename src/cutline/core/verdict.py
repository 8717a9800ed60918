"""The answer now: the side of every arm, what is proven of it, and how sure the whole set is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from cutline.core.estimate import arm_wrong_chance, wrong_chance
from cutline.core.evidence import Evidence, Ledger, default_evidence, parse_evidence
from cutline.core.problem import Problem
from cutline.core.tally import Floats, Tallies, Tally
from cutline.core.theory.checks import check_confidence

NO_PROMISE = "no guarantee: heavy-tailed rewards prove nothing without a bound on their variance"
LISTED = 20  # arms that a summary shows one by one


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


@dataclass(frozen=True)
class ArmVerdict:
    """What is known of one arm.

    ``side`` is the paper's answer, "above" if its mean is at least the threshold, else "below";
    None for an arm never seen. ``low`` and ``high`` hold the mean for all arms at once and at all
    times, with the verdict's confidence. ``log_above`` and ``log_below`` are the logarithms of the
    e-values now, ``p_value`` is 1 / the largest so far of the one that speaks for ``side``, 1 for
    an arm never seen. ``proven`` is None, "above" the lower edge of the band, "below" the upper
    one, or "within precision" (both); it stays when the mean moves on, so that an arm inside the
    band may be proven above and have a mean below the threshold. ``wrong_chance`` is a model's
    estimate of the chance that the arm counts and is on the wrong side. ``status`` is "open",
    "suspended" or "retired", and ``counts`` says what became of its pulls, in a live campaign.
    """

    arm: str
    side: str | None
    proven: str | None
    p_value: float
    tally: Tally = field(repr=False)
    ledger: Ledger | None = field(repr=False, compare=False)
    log_level: float = field(repr=False)
    place: tuple[Problem, int] = field(repr=False, compare=False)
    status: str = "open"
    counts: Counts | None = None

    @property
    def pulls(self) -> int:
        """How many rewards count."""
        return self.tally.pulls

    @property
    def mean(self) -> float:
        """Their mean; not a number for an arm never seen."""
        return self.tally.mean if self.tally.pulls else math.nan

    # The rest takes a while with many arms, so it is worked out when it is asked for.

    @cached_property
    def _interval(self) -> tuple[float, float]:
        if self.ledger is None:
            return -math.inf, math.inf
        low, high = self.ledger.interval(self.log_level)
        return low + self.tally.origin, high + self.tally.origin

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self._interval[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self._interval[1]

    @cached_property
    def log_above(self) -> float:
        """The log e-value for "above" as of now."""
        return 0.0 if self.ledger is None else self.ledger.log_above

    @cached_property
    def log_below(self) -> float:
        """The log e-value for "below" as of now."""
        return 0.0 if self.ledger is None else self.ledger.log_below

    @cached_property
    def wrong_chance(self) -> float:
        """A model's estimate of the chance that it counts and is on the wrong side."""
        problem, arm = self.place
        side = None if self.side is None else self.side == "above"
        return arm_wrong_chance(problem, arm, self.tally, side)


COLUMNS = (
    "arm", "pulls", "mean", "side", "proven", "low", "high", "p_value", "log_above", "log_below",
    "wrong_chance", "status",
)  # fmt: skip
"""What a verdict says of every arm, as :meth:`Verdict.columns` names it."""


@dataclass(frozen=True)
class Verdict:
    """The answer for all arms at one moment; :func:`judge` makes one from recorded rewards.

    >>> coins = Problem(arms=["a", "b", "c"], threshold=0.5, precision=0.1, rewards="binary")
    >>> verdict = judge(coins, {"a": [1] * 30, "b": [0, 1] * 8, "c": []})
    >>> verdict.above, verdict.below, verdict.unseen
    (('a', 'b'), (), ('c',))
    >>> verdict["a"].proven, verdict.undecided
    ('above', ('b', 'c'))
    >>> verdict.error_bound
    1.0
    >>> verdict
    Verdict(1 of 3 arms settled at confidence 0.95, 2 undecided)

    Printed, and in a notebook, it is a table of the arms.
    """

    problem: Problem
    confidence: float
    arms: tuple[ArmVerdict, ...]
    evidence: Evidence | None
    """What was weighed; None where nothing can be promised."""
    declared: int
    """How many arms the promises are made for, at least as many as there are."""
    broken: str | None = None
    """What has ended the promises of a live campaign, in words, if anything has; the numbers are
    then what they would be without."""

    def __getitem__(self, arm: str) -> ArmVerdict:
        if arm not in self._places:
            raise KeyError(f"there is no arm {arm!r} in the problem")
        return self.arms[self._places[arm]]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {arm.arm: place for place, arm in enumerate(self.arms)}

    @property
    def _standing(self) -> tuple[ArmVerdict, ...]:
        """The arms that are still part of the question."""
        return tuple(arm for arm in self.arms if arm.status != "retired")

    @cached_property
    def error_estimate(self) -> float:
        """A model's chance that any arm is on the wrong side: an estimate, not a guarantee."""
        return wrong_chance([arm.wrong_chance for arm in self._standing])

    def __repr__(self) -> str:
        return f"Verdict({_headline(self)})"

    def __str__(self) -> str:
        return _summary(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython and notebooks show."""
        printer.text(str(self))

    @property
    def assumes(self) -> str:
        """What the promises rest on, in words; or that there are none."""
        if self.evidence is None:
            return NO_PROMISE
        if self.broken is not None:
            return f"no guarantee any more: {self.broken}"
        return (
            f"{self.evidence.assumes}; no arm's mean drifts; "
            "rewards come in the order asked for, none left out because of its value"
        )

    def _on(self, side: str | None) -> tuple[str, ...]:
        return tuple(arm.arm for arm in self._standing if arm.side == side)

    @property
    def above(self) -> tuple[str, ...]:
        """The arms whose mean is at least their threshold."""
        return self._on("above")

    @property
    def below(self) -> tuple[str, ...]:
        """The arms whose mean is below their threshold."""
        return self._on("below")

    @property
    def unseen(self) -> tuple[str, ...]:
        """The arms of which nothing is known."""
        return self._on(None)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The arms of which nothing is proven at this confidence."""
        return tuple(arm.arm for arm in self._standing if arm.proven is None)

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The arms that were suspended, their pulls having failed or got lost again and again."""
        return tuple(arm.arm for arm in self.arms if arm.status == "suspended")

    @property
    def retired(self) -> tuple[str, ...]:
        """The arms that were taken out of the question."""
        return tuple(arm.arm for arm in self.arms if arm.status == "retired")

    @property
    def error_bound(self) -> float:
        """A bound on the chance that any arm that counts is on the wrong side.

        The number of arms times the largest p-value, at most 1. For any level fixed beforehand, the
        chance that this is *ever* shown at or below the level while an arm that counts is on the
        wrong side is at most the level. One hopeless arm keeps it at 1, so look at ``proven`` too:
        the chance that any arm is ever proven on the wrong side is at most 1 - confidence.
        """
        largest = max((arm.p_value for arm in self._standing), default=0.0)
        return min(1.0, self.declared * largest)

    def discoveries(self, rate: float) -> dict[str, str]:
        """Arms called "above" or "below" such that few of these calls are false, on average.

        At most the share ``rate`` of the calls made is expected to be false (the false discovery
        rate), by e-BH (Wang and Ramdas, 2022): the k arms with the largest e-values are called,
        for the largest k whose k-th e-value is at least K / (rate k). It calls more arms than
        ``proven`` where there are hundreds. It goes by the e-values as they are now, and holds at
        one moment, such as the end, not for all moments at once. Where the evidence is no e-value
        (normal rewards of unknown noise) it goes by the p-values, at some loss.

        >>> coins = Problem(arms=3, threshold=0.5, precision=0.1, rewards="binary")
        >>> judge(coins, {"0": [1] * 9, "1": [0] * 9, "2": [0, 1] * 5}).discoveries(rate=0.05)
        {'0': 'above', '1': 'below'}
        """
        if not 0 < rate < 1:
            raise ValueError(
                f"rate must lie between 0 and 1, got {rate!r}: it is the share of false calls "
                "that is allowed among the calls made"
            )
        weighed = [(*self._e_value(arm), arm.arm) for arm in self._standing]
        ranked = sorted(weighed, key=lambda item: -item[0])
        called = 0
        for k, (log_e, _, _) in enumerate(ranked, 1):
            if log_e >= math.log(self.declared / (rate * k)):
                called = k
        return {name: side for _, side, name in ranked[:called]}

    def _e_value(self, arm: ArmVerdict) -> tuple[float, str]:
        """The logarithm of an e-value as it is now, and the side it speaks for.

        Evidence that bounds p-values alone is turned into one by p -> 1 / (2 sqrt(p)), whose mean
        is at most 1 whatever the p-value.
        """
        if self.evidence is not None and not self.evidence.e_value:
            p = max(arm.p_value, 1e-300)
            return -0.5 * math.log(p) - math.log(2.0), arm.side or "below"
        if arm.log_above >= arm.log_below:
            return arm.log_above, "above"
        return arm.log_below, "below"

    def columns(self) -> dict[str, list[Any]]:
        """One list a column and one row an arm, as data frames take it."""
        table = {name: [getattr(arm, name) for arm in self.arms] for name in COLUMNS}
        if self.arms and self.arms[0].counts is not None:
            for count in fields(Counts):
                table[count.name] = [getattr(arm.counts, count.name) for arm in self.arms]
        return table


def judge(
    problem: Problem,
    rewards: Mapping[str, Sequence[float]] | Sequence[Sequence[float]],
    *,
    confidence: float = 0.95,
    evidence: Evidence | str | None = None,
) -> Verdict:
    """The verdict on recorded rewards, each arm's in the order in which they were *asked for*.

    Whatever rule chose the pulls, and whenever one looks, the promises of a :class:`Verdict` hold,
    as long as an arm's mean does not drift and no reward was left out because of its value.
    ``rewards`` maps names to lists, where arms that are not mentioned count as never seen, or holds
    one list for every arm, in order. ``evidence`` is that made for the kind of reward unless
    another is given, as it is or by name.
    """
    if not isinstance(rewards, Mapping):  # one list for every arm, in order
        if len(rewards) != len(problem.arms):
            raise ValueError(f"there are {len(problem.arms)} arms and {len(rewards)} lists")
        rewards = dict(zip(problem.arms, rewards, strict=True))
    known = set(problem.arms)
    for name in rewards:
        if name not in known:
            raise ValueError(f"there is no arm {name!r} in the problem: arms go by their names")
    kind = default_evidence(problem) if evidence is None else evidence
    kind = parse_evidence(kind) if isinstance(kind, str) else kind
    columns: Mapping[str, Floats] = {}
    if kind is not None:
        kind.check(problem)
        if kind.clocked:
            raise ValueError(
                f"{kind.name} counts the pulls of all arms, which rewards listed arm by arm do "
                "not tell: leave the evidence out for that made for the kind of reward"
            )
        columns = kind.columns(problem)
    ledgers, tallies = [], []
    for arm, (name, origin) in enumerate(zip(problem.arms, problem.origins.tolist(), strict=True)):
        own = {column: float(values[arm]) for column, values in columns.items()}
        ledger = None if kind is None else Ledger(kind, own)
        tally = Tally(origin=origin)
        for place, value in enumerate(rewards.get(name, ()), 1):
            try:
                reward = problem.reward(value, arm)
            except ValueError as error:
                raise ValueError(f"reward {place} of arm {name!r}: {error}") from None
            tally = tally.add(reward)
            if ledger is not None:
                ledger.feed(reward - origin)
        ledgers.append(ledger)
        tallies.append(tally)
    whole = Tallies.of(tallies)
    return verdict_of(problem, whole, problem.decide(whole), ledgers, confidence)


def verdict_of(
    problem: Problem,
    tallies: Tallies,
    sides: Sequence[bool | None],
    ledgers: Sequence[Ledger | None],
    confidence: float,
    *,
    declared: int = 0,
    statuses: Sequence[str] | None = None,
    counts: Sequence[Counts] | None = None,
    broken: str | None = None,
) -> Verdict:
    """Put an answer and its evidence together; ledgers are None where nothing can be promised."""
    check_confidence(confidence)
    K = max(declared, len(problem.arms))
    bar = math.log(K / (1.0 - confidence))
    arms = []
    for arm, (name, side, ledger) in enumerate(zip(problem.arms, sides, ledgers, strict=True)):
        above = below = 0.0
        if ledger is not None:
            above, below = ledger.top_above, ledger.top_below
        spoken = 0.0 if side is None else (above if side else below)
        arms.append(
            ArmVerdict(
                name,
                None if side is None else ("above" if side else "below"),
                _PROVEN[above >= bar, below >= bar],
                math.exp(-spoken),
                tallies[arm],
                ledger,
                bar + math.log(2.0),  # both ends at once take half the level each
                (problem, arm),
                "open" if statuses is None else statuses[arm],
                None if counts is None else counts[arm],
            )
        )
    kind = None if ledgers[0] is None else ledgers[0].evidence
    return Verdict(problem, confidence, tuple(arms), kind, K, broken)


_PROVEN = {
    (False, False): None,
    (True, False): "above",
    (False, True): "below",
    (True, True): "within precision",
}


def _headline(verdict: Verdict) -> str:
    standing = verdict._standing
    settled = sum(arm.proven is not None for arm in standing)
    return (
        f"{settled:,} of {len(standing):,} arms settled at confidence {verdict.confidence:g}, "
        f"{len(standing) - settled:,} undecided"
    )


def _summary(verdict: Verdict) -> str:
    """A verdict for people: the arms that are settled first, then the others, then how sure."""
    standing = verdict._standing
    settled = [arm for arm in standing if arm.proven is not None]
    others = [arm for arm in standing if arm.proven is None]
    lines = [("arm", "side", "proven", "mean", "interval", "pulls")]
    for arm in [*settled, *others][:LISTED]:
        span = f"{arm.low:.4g} to {arm.high:.4g}"
        mean = f"{arm.mean:.4g}" if arm.pulls else "-"
        proven = arm.proven or ("suspended" if arm.status == "suspended" else "undecided")
        lines.append((arm.arm, arm.side or "unseen", proven, mean, span, str(arm.pulls)))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    left = len(standing) - LISTED
    more = [f"... and {left:,} more"] if left > 0 else []
    level = f"{verdict.confidence:g}"
    if verdict.evidence is None:
        rests = verdict.assumes
    else:
        rests = f"proven and intervals: for all arms at once, confidence {level}, at any time"
        rests += f"\nassumes: {verdict.assumes}"
    return "\n".join(
        [
            _headline(verdict),
            *table,
            *more,
            f"chance that any side is wrong: at most {verdict.error_bound:.3g} (error bound); "
            f"about {verdict.error_estimate:.3g} (a model's estimate, no guarantee)",
            rests,
        ]
    )
