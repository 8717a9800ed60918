"""The answer now: the side of every arm, what is proven of it, and how sure the whole set is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cutline.core.estimate import wrong_chance, wrong_chances
from cutline.core.evidence import Evidence, Ledger, default_evidence, parse_evidence
from cutline.core.problem import Problem
from cutline.core.tally import Floats, Tallies, Tally
from cutline.core.theory.checks import check_confidence

NO_PROMISE = "no guarantee: heavy-tailed rewards prove nothing without a bound on their variance"
LISTED = 20  # arms that a summary shows one by one


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
    estimate of the chance that the arm counts and is on the wrong side.
    """

    arm: str
    pulls: int
    mean: float
    side: str | None
    proven: str | None
    low: float
    high: float
    p_value: float
    log_above: float
    log_below: float
    wrong_chance: float


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
    """

    problem: Problem
    confidence: float
    arms: tuple[ArmVerdict, ...]
    evidence: Evidence | None
    """What was weighed; None where nothing can be promised."""
    error_estimate: float
    """A model's chance that any arm is on the wrong side: an estimate, not a guarantee."""

    def __getitem__(self, arm: str) -> ArmVerdict:
        if arm not in self.problem.arms:
            raise KeyError(f"there is no arm {arm!r} in the problem")
        return self.arms[self.problem.arms.index(arm)]

    def __str__(self) -> str:
        return _summary(self)

    @property
    def assumes(self) -> str:
        """What the promises rest on, in words; or that there are none."""
        if self.evidence is None:
            return NO_PROMISE
        return (
            f"{self.evidence.assumes}; no arm's mean drifts; "
            "rewards come in the order asked for, none left out because of its value"
        )

    def _on(self, side: str | None) -> tuple[str, ...]:
        return tuple(arm.arm for arm in self.arms if arm.side == side)

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
        return tuple(arm.arm for arm in self.arms if arm.proven is None)

    @property
    def error_bound(self) -> float:
        """A bound on the chance that any arm that counts is on the wrong side.

        The number of arms times the largest p-value, at most 1. For any level fixed beforehand, the
        chance that this is *ever* shown at or below the level while an arm that counts is on the
        wrong side is at most the level. One hopeless arm keeps it at 1, so look at ``proven`` too:
        the chance that any arm is ever proven on the wrong side is at most 1 - confidence.
        """
        return min(1.0, len(self.arms) * max(arm.p_value for arm in self.arms))

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
        weighed = [(*self._e_value(arm), arm.arm) for arm in self.arms]
        ranked = sorted(weighed, key=lambda item: -item[0])
        called = 0
        for k, (log_e, _, _) in enumerate(ranked, 1):
            if log_e >= math.log(len(ranked) / (rate * k)):
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
        names = ArmVerdict.__dataclass_fields__
        return {name: [getattr(arm, name) for arm in self.arms] for name in names}


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
) -> Verdict:
    """Put an answer and its evidence together; ledgers are None where nothing can be promised."""
    check_confidence(confidence)
    chances = wrong_chances(problem, tallies, sides)
    bar = math.log(len(problem.arms) / (1.0 - confidence))
    means = tallies.means
    arms = []
    for arm, (name, side, ledger) in enumerate(zip(problem.arms, sides, ledgers, strict=True)):
        low, high = -math.inf, math.inf
        above = below = top_above = top_below = 0.0
        if ledger is not None:
            # Both ends at once take half the level each.
            low, high = ledger.interval(bar + math.log(2.0))
            above, below = ledger.log_above, ledger.log_below
            top_above, top_below = ledger.top_above, ledger.top_below
        spoken = 0.0 if side is None else (top_above if side else top_below)
        origin = float(tallies.origin[arm])
        arms.append(
            ArmVerdict(
                name,
                int(tallies.pulls[arm]),
                float(means[arm]),
                None if side is None else ("above" if side else "below"),
                _PROVEN[top_above >= bar, top_below >= bar],
                low + origin,
                high + origin,
                math.exp(-spoken),
                above,
                below,
                chances[arm],
            )
        )
    kind = None if ledgers[0] is None else ledgers[0].evidence
    return Verdict(problem, confidence, tuple(arms), kind, wrong_chance(chances))


_PROVEN = {
    (False, False): None,
    (True, False): "above",
    (False, True): "below",
    (True, True): "within precision",
}


def _summary(verdict: Verdict) -> str:
    """A verdict for people: the arms that are settled first, then the others, then how sure."""
    settled = [arm for arm in verdict.arms if arm.proven is not None]
    others = [arm for arm in verdict.arms if arm.proven is None]
    lines = [("arm", "side", "proven", "mean", "interval", "pulls")]
    for arm in [*settled, *others][:LISTED]:
        span = f"{arm.low:.4g} to {arm.high:.4g}"
        mean = f"{arm.mean:.4g}" if arm.pulls else "-"
        proven = arm.proven or "undecided"
        lines.append((arm.arm, arm.side or "unseen", proven, mean, span, str(arm.pulls)))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    left = len(verdict.arms) - LISTED
    more = [f"... and {left} more"] if left > 0 else []
    level = f"{verdict.confidence:g}"
    if verdict.evidence is None:
        rests = verdict.assumes
    else:
        rests = f"proven and intervals: for all arms at once, confidence {level}, at any time"
        rests += f"\nassumes: {verdict.assumes}"
    return "\n".join(
        [
            f"{len(settled)} of {len(verdict.arms)} arms settled at confidence {level}, "
            f"{len(others)} undecided",
            *table,
            *more,
            f"chance that any side is wrong: at most {verdict.error_bound:.3g} (error bound); "
            f"about {verdict.error_estimate:.3g} (a model's estimate, no guarantee)",
            rests,
        ]
    )
