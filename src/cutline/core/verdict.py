"""The answer now: the side of every arm, what is proven of it, and how sure the whole set is."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cutline.core.bar import Bar
from cutline.core.estimate import wrong_chance
from cutline.core.evidence import Evidence, Ledger, default_evidence, parse_evidence
from cutline.core.numbers import shown
from cutline.core.problem import Problem
from cutline.core.rows import ArmVerdict, Counts, Kept, NumberCache, Proof, Rows
from cutline.core.tally import Floats, Tallies
from cutline.core.text import visible
from cutline.core.theory.checks import check_confidence

__all__ = ["COLUMNS", "ArmVerdict", "Counts", "Verdict", "judge", "promises", "verdict_of"]

NO_PROMISE = "no guarantee: heavy-tailed rewards prove nothing without a bound on their variance"
LISTED = 20  # arms that a summary shows one by one


COLUMNS = (
    "arm", "pulls", "mean", "side", "proven", "more_than", "less_than", "low", "high", "p_value",
    "log_above", "log_below", "wrong_chance", "status",
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
    rows: Rows = field(repr=False)
    """What is known of the arms, as columns."""
    evidence: Evidence | None
    """What was weighed; None where nothing can be promised."""
    declared: int
    """How many arms the promises are made for, at least as many as there are."""
    broken: str | None = None
    """What has ended the promises of a live campaign, in words, if anything has; the numbers are
    then what they would be without."""

    @cached_property
    def arms(self) -> tuple[ArmVerdict, ...]:
        """What is known of every arm, in the order of the problem."""
        return tuple(ArmVerdict(self.rows, arm) for arm in range(len(self.rows)))

    def __getitem__(self, arm: str) -> ArmVerdict:
        if arm not in self._places:
            raise KeyError(f"there is no arm {arm!r} in the problem")
        return self.arms[self._places[arm]]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.problem.arms)}

    def _where(self, values: Sequence[object], wanted: object) -> tuple[str, ...]:
        """The arms still part of the question that have this value."""
        names, statuses = self.problem.arms, self.rows.statuses
        return tuple(
            names[i]
            for i, value in enumerate(values)
            if value == wanted and (statuses is None or statuses[i] != "retired")
        )

    def _of_standing(self, values: Sequence[float]) -> Sequence[float]:
        statuses = self.rows.statuses
        if statuses is None or "retired" not in statuses:
            return values
        return [v for v, status in zip(values, statuses, strict=True) if status != "retired"]

    @property
    def _standing(self) -> tuple[ArmVerdict, ...]:
        """The arms that are still part of the question."""
        return tuple(arm for arm in self.arms if arm.status != "retired")

    @cached_property
    def error_estimate(self) -> float:
        """A model's chance that any arm is on the wrong side: an estimate, not a guarantee."""
        return wrong_chance(self._of_standing(self.rows.wrong_chances))

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

    @property
    def above(self) -> tuple[str, ...]:
        """The arms whose mean is at least their threshold."""
        return self._where(self.rows.sides, True)

    @property
    def below(self) -> tuple[str, ...]:
        """The arms whose mean is below their threshold."""
        return self._where(self.rows.sides, False)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The arms of which nothing is known."""
        return self._where(self.rows.sides, None)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The arms of which nothing is proven at this confidence."""
        return self._where(self.rows.proven, None)

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
        largest = max(self._of_standing(self.rows.p_values), default=0.0)
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
        return self.rows.table()


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
    if not isinstance(problem, Problem):
        raise TypeError(f"judge a Problem, got {shown(problem)}")
    wanted = "rewards must map names to lists of rewards, or be one list for every arm"
    if not isinstance(rewards, Mapping):  # one list for every arm, in order
        if isinstance(rewards, str | bytes) or not isinstance(rewards, Sequence | np.ndarray):
            raise TypeError(f"{wanted}, got {shown(rewards)}")
        rewards = list(np.atleast_1d(rewards)) if isinstance(rewards, np.ndarray) else rewards
        if len(rewards) != len(problem.arms):
            raise ValueError(f"there are {len(problem.arms)} arms and {len(rewards)} lists")
        rewards = dict(zip(problem.arms, rewards, strict=True))
    known = set(problem.arms)
    for name in rewards:
        if name not in known:
            raise ValueError(
                f"there is no arm {shown(name)} in the problem: arms go by their names"
            )
        if not isinstance(rewards[name], Iterable) or isinstance(rewards[name], str | bytes):
            raise TypeError(f"{wanted}, got {shown(rewards[name])} for arm {shown(name)}")
    kind = default_evidence(problem) if evidence is None else evidence
    kind = parse_evidence(kind) if isinstance(kind, str) else kind
    if not isinstance(kind, Evidence | None):
        raise TypeError(f"evidence must be one or the name of one, got {shown(kind)}")
    columns: Mapping[str, Floats] = {}
    if kind is not None:
        kind.check(problem)
        if kind.clocked:
            raise ValueError(
                f"{kind.name} counts the pulls of all arms, which rewards listed arm by arm do "
                "not tell: leave the evidence out for that made for the kind of reward"
            )
        columns = kind.columns(problem)
    proofs: list[Proof | None] = []
    fed: list[Floats] = []
    tallies: list[tuple[int, float, float]] = []
    for arm, (name, origin) in enumerate(zip(problem.arms, problem.origins.tolist(), strict=True)):
        values = _rewards(problem, arm, rewards.get(name, ())) - origin
        fed.append(values)
        proof: Proof | None = None
        if kind is not None and len(values):
            own = {column: float(numbers[arm]) for column, numbers in columns.items()}
            ledger = Ledger(kind, own)
            kind.feed_many([ledger], values, [len(values)])
            proof = ledger.numbers
        total = squares = 0.0
        for value in values.tolist():  # in their order, as everywhere
            total += value
            squares += value * value
        proofs.append(proof)
        tallies.append((len(values), total, squares))
    pulls, totals, squared = zip(*tallies, strict=True)
    whole = Tallies(
        np.array(pulls, dtype=np.int64), np.array(totals), np.array(squared), problem.origins
    )
    return verdict_of(
        problem, whole, problem.decide(whole), kind, proofs, confidence, history=Kept(fed)
    )


def _rewards(problem: Problem, arm: int, given: Sequence[float]) -> Floats:
    """The rewards of an arm as they count; a ValueError says which cannot be one, and why."""
    if problem.rewards is problem.measured and problem.rewards.kind == "binary":
        values = np.asarray(given)
        plain = values.ndim == 1 and values.dtype.kind in "biuf"
        if plain and ((values == 0) | (values == 1)).all():
            return values.astype(np.float64)
    found = []
    for place, value in enumerate(given, 1):
        try:
            found.append(problem.reward(value, arm))
        except ValueError as error:
            name = problem.arms[arm]
            raise ValueError(f"reward {place} of arm {name!r}: {error}") from None
    return np.array(found, dtype=np.float64)


def verdict_of(
    problem: Problem,
    tallies: Tallies,
    sides: Sequence[bool | None],
    evidence: Evidence | None,
    proofs: Sequence[Proof | None],
    confidence: float,
    *,
    declared: int = 0,
    statuses: list[str] | None = None,
    counts: Mapping[str, list[int]] | None = None,
    broken: str | None = None,
    cache: NumberCache | None = None,
    history: Callable[[], Sequence[Floats]] | None = None,
) -> Verdict:
    """Put an answer and its evidence together; the evidence is None where nothing is promised.

    ``proofs`` are the numbers of the arms' ledgers, None where nothing was weighed; ``counts`` the
    columns of :class:`Counts`. ``history`` gives the rewards that were weighed, in the order they
    were fed, for evidence whose intervals are made of them; it is called when one is looked at.
    """
    check_confidence(confidence)
    confidence = float(confidence)
    K = max(declared, len(problem.arms))
    rows = Rows(
        problem,
        evidence,
        tallies,
        list(sides),
        list(proofs),
        math.log(K / (1.0 - confidence)),
        statuses,
        counts,
        cache or NumberCache(),
        history,
    )
    return Verdict(problem, confidence, rows, evidence, K, broken)


def promises(verdict: Verdict) -> list[str]:
    """What stands under a table of arms: how sure what is proven is, and that an interval differs.

    The second line only where an arm that is not proven shows its interval.
    """
    said = [
        f"proven, more than, less than: for all arms at once, confidence {verdict.confidence:g}, "
        "at any time"
    ]
    if verdict.undecided:
        said.append("an interval (a to b) is another statement: both ends at once, as sure")
    return said


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
    plain = Bar(0.0)
    lines = [("arm", "side", "proven", "mean", "known", "pulls")]
    for arm in [*settled, *others][:LISTED]:
        mean = f"{arm.mean:.4g}" if arm.pulls else "-"
        proven = arm.proven or ("suspended" if arm.status == "suspended" else "undecided")
        lines.append(
            (visible(arm.arm), arm.side or "unseen", proven, mean, plain.known(arm), str(arm.pulls))
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    left = len(standing) - LISTED
    more = [f"... and {left:,} more"] if left > 0 else []
    if verdict.evidence is None:
        rests = verdict.assumes
    else:
        rests = "\n".join([*promises(verdict), f"assumes: {verdict.assumes}"])
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
