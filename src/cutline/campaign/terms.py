"""The terms of a campaign: how a reward counts, where an arm stands in line, what is proven."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from cutline.campaign.records import OPEN, SUSPENSION, Arm
from cutline.campaign.stores.base import RESTING
from cutline.core.evidence import Evidence, Ledger, arm_columns, default_evidence
from cutline.core.problem import Problem
from cutline.core.rewards import HAIR, Rewards
from cutline.core.rows import NumberCache
from cutline.core.stopping import bar_of
from cutline.core.tally import Floats, Ints
from cutline.rules.base import (
    LATE,
    MANY,
    STUCK,
    TALLY,
    UNTOLD,
    IndexRule,
    Rule,
    parameter_names,
    write_part,
)


@dataclass(frozen=True)
class Terms:
    """What a campaign was agreed to be; made from the settings a store keeps.

    ``measured`` is the kind of what is told, and ``rewards`` that of what counts: the same, or
    binary where there are levels. ``numbers`` are the rule's settings on the problem.
    ``suspension`` is which rule suspends arms: 4, by the chance of a run of failures; 1, for
    campaigns made before that, after ``patience`` in a row. 2 and 3 are as 4 for campaigns made
    between, whose suspensions are taken as they are written when their events are played again.
    """

    measured: Rewards
    rewards: Rewards
    rule: IndexRule
    numbers: Mapping[str, float]
    confidence: float | None
    lost: float | None
    lease: float
    patience: int
    declared: int
    seed: int
    suspension: int = 1
    _columns: dict[tuple[float, float, float | None], dict[str, float]] = field(
        default_factory=dict, repr=False
    )
    _fresh: dict[tuple[float, float, float | None], tuple[float, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )
    cache: NumberCache = field(default_factory=NumberCache, repr=False, compare=False)
    _asked: list[tuple[list[object], Problem]] = field(
        default_factory=list, repr=False, compare=False
    )

    @property
    def suspensions_as_written(self) -> bool:
        """Whether a replay takes suspensions from the events, as the rule has changed since."""
        return 1 < self.suspension < SUSPENSION

    @classmethod
    def of(cls, settings: Mapping[str, Any], rule: Rule) -> "Terms":
        """The terms out of a store's settings, played by this rule."""
        measured = Rewards(**settings["rewards"])
        binary = settings["levels"]
        assert isinstance(rule, IndexRule)
        return cls(
            measured,
            Rewards("binary") if binary else measured,
            rule,
            settings["numbers"],
            settings["confidence"],
            settings["lost"],
            settings["lease"],
            settings["patience"],
            settings["declared"],
            settings["seed"],
            settings.get("suspension", 1),
        )

    # What counts.

    @cached_property
    def check(self) -> Callable[[object], float]:
        """A told value as a float; a ValueError says why it cannot be one."""
        return self.measured.check

    @cached_property
    def reward(self) -> Callable[[Arm, float], float]:
        """What a value counts for, from the origin on: itself, or whether it is above the level."""
        return self._write(f"def part(arm, raw):\n    return {self._reward}\n")

    def rewards_of(self, arms: Sequence[Arm], which: Ints, raw: Floats) -> Floats:
        """What values count for, from the origin on; each is of the arm that ``which`` says."""
        counted: Floats = raw
        if self.rewards is not self.measured:
            counted = (raw > np.array([arm.level for arm in arms])[which]).astype(np.float64)
        if self._from_threshold:
            origins: Floats = np.array([arm.threshold for arm in arms])
            return counted - origins[which]
        return counted - self._low

    @property
    def _reward(self) -> str:
        counted = "raw" if self.rewards is self.measured else "float(raw > arm.level)"
        return f"{counted} - {'arm.threshold' if self._from_threshold else repr(self._low)}"

    def origin(self, arm: Arm) -> float:
        """Where the arm's sums are counted from."""
        return arm.threshold if self._from_threshold else self._low

    @cached_property
    def _from_threshold(self) -> bool:
        return self.rewards.origin(0.0) != self.rewards.origin(1.0)

    @cached_property
    def _low(self) -> float:
        return self.rewards.origin(0.0)

    # Where an arm stands.

    @cached_property
    def place(self) -> Callable[[Arm, int], float | None]:
        """Where an arm stands in line at a step, lowest first; None if it is not to be asked.

        With a rule that looks at the clock all stand alike: it is asked again at every ask.
        """
        stands = "    return 0.0\n" if self.clocked else self._stands
        return self._write(
            "def part(arm, step):\n"
            "    if arm.closed or arm.status != open_:\n"
            "        return None\n"
            f"{self._rest}{stands}",
            open_=OPEN,
            resting=RESTING,
            patience=self.patience,
        )

    @cached_property
    def rests(self) -> bool:
        """Whether arms rest after failures; campaigns made before that do not know it."""
        return self.suspension > 1 and self.lost is None

    def is_resting(self, arm: Arm) -> bool:
        """Whether an arm stands behind all others: it fails, and may be one that always does."""
        return arm.streak >= self.patience or (arm.streak > 0 and arm.pulls < self.rule.first_pulls)

    @property
    def _rest(self) -> str:
        if not self.rests or self.clocked:
            return ""
        return (
            "    failing = arm.streak\n"
            "    if failing and (failing >= patience or arm.pulls < first_pulls):\n"
            "        return resting * (2.0 - 1.0 / (1.0 + failing + arm.flying))\n"
        )

    @cached_property
    def standing(self) -> Callable[[Arm, int], float]:
        """Where the rule puts an arm at a step."""
        return self._write(f"def part(arm, step):\n{self._stands}")

    @cached_property
    def clocked(self) -> bool:
        """Whether the rule looks at the clock."""
        return self.rule.clocked

    @property
    def _stands(self) -> str:
        """A pull in flight counts as one that returned its arm's mean, as in the simulator."""
        if type(self.rule).learn is None:
            together = "        n += arm.flying\n        s = whole * n / seen\n"
        else:
            together = (
                "        for _ in range(arm.flying):\n"
                f"            {self._learned}\n"
                "            n += 1.0\n"
                "            s = whole * n / seen\n"
            )
        return (
            "    n = float(arm.pulls)\n"
            "    if n < first_pulls:\n"
            "        asked = n + arm.flying\n"
            "        if arm.flying < many:\n"
            "            return untold / (1.0 + asked)\n"
            "        return stuck * (1.0 + asked)\n"
            f"{self._read_arm}"
            "    if arm.flying:\n"
            "        seen, whole, reward = n, s, s / n\n"
            f"{together}"
            "        q *= n / seen\n"
            f"        value = formula({self._arguments(self.rule.body)})\n"
            "    else:\n"
            f"        value = met({self._arguments(self.rule.body)})\n"
            "    return value if value < late else late\n"  # not a number: never first
        )

    @cached_property
    def _met(self) -> Callable[..., float]:
        """The rule's formula; where rewards are counts, many arms meet the same numbers."""
        counts = self.rewards.kind in ("binary", "poisson") and not self.clocked
        return lru_cache(maxsize=2**14)(self.rule.body) if counts else self.rule.body

    @cached_property
    def learn(self) -> Callable[[Arm, float, int], None]:
        """Count a value in an arm's tally, from the origin on, and in what the rule keeps."""
        keep = (
            f"    n = float(arm.pulls)\n{self._read_arm}    {self._learned}\n    arm.kept = k\n"
            if type(self.rule).learn
            else ""
        )
        return self._write(
            "def part(arm, raw, step):\n"
            f"    reward = {self._reward}\n"
            f"{keep}"
            "    arm.pulls += 1\n"
            "    arm.total += reward\n"
            "    arm.squares += reward * reward\n"
        )

    @cached_property
    def _above(self) -> Callable[[Arm], bool]:
        estimate = self.rule.own_estimate
        # One rounded division: S >= n tau would put 7 of 100 below 0.07.
        value = "s / n" if estimate is None else f"estimate({self._arguments(estimate)})"
        return self._write(
            "def part(arm):\n"
            "    n = float(arm.pulls)\n"
            f"{self._read_arm}"
            f"    return {value} >= {self._bar}\n",
            estimate=estimate,
        )

    @property
    def _bar(self) -> str:
        """What is reached to be above, in the text of a function; see :meth:`Rewards.bar`."""
        if self.rewards.kind != "bounded":
            return "tau"
        return f"(tau * {HAIR!r} if arm.threshold == {self.rewards.high!r} else tau)"

    def side(self, arm: Arm) -> bool | None:
        """Whether the arm is above; None if never seen."""
        return self._above(arm) if arm.pulls else None

    @property
    def _read_arm(self) -> str:
        tau = "0.0" if self._from_threshold else f"arm.threshold - {self._low!r}"
        eps = "arm.precision" if self.rule.precision is None else repr(self.rule.precision)
        return f"    s, q, k, tau, eps = arm.total, arm.squares, arm.kept, {tau}, {eps}\n"

    @property
    def _learned(self) -> str:
        learn = type(self.rule).learn
        if learn is None:
            return "pass"
        call = f"learn({self._arguments(learn)})"
        return f"k = {call}" if len(self.rule.keeps) > 1 else f"k = ({call},)"

    def _arguments(self, function: Callable[..., Any]) -> str:
        known = dict(zip(TALLY, ("n", "s", "q", "tau", "eps"), strict=True))
        known |= {name: f"k[{i}]" for i, name in enumerate(self.rule.keeps)}
        known |= {name: f"set_{name}" for name in self.numbers}
        return ", ".join(known.get(name, name) for name in parameter_names(function))

    def _write(self, text: str, **names: Any) -> Callable[..., Any]:
        return write_part(
            text,
            formula=self.rule.body,
            met=self._met,
            learn=type(self.rule).learn,
            first_pulls=self.rule.first_pulls,
            untold=UNTOLD,
            late=LATE,
            stuck=STUCK,
            many=MANY,
            **{f"set_{name}": value for name, value in self.numbers.items()},
            **names,
        )

    # What is proven.

    def question(self, arms: Sequence[Arm], *, levels: bool) -> Problem:
        """The problem that some arms make up; that of the same arms as last time is the same."""
        numbers: list[object] = [arm.name for arm in arms]
        numbers += [arm.threshold for arm in arms]
        numbers += [arm.precision for arm in arms]
        numbers += [arm.level for arm in arms]
        numbers += [arm.sd for arm in arms]
        for known, problem in self._asked:
            if known == numbers:
                return problem
        problem = problem_of(list(arms), self.rewards, self.measured if levels else None)
        self._asked[:] = [(numbers, problem), *self._asked[:1]]
        return problem

    @cached_property
    def evidence(self) -> Evidence | None:
        """The evidence made for the kind of reward; None where nothing can be promised."""
        known = Rewards("gaussian", sd=1.0)  # which evidence it is does not depend on the number
        rewards = known if self.sds_known else self.rewards
        return default_evidence(Problem.kept(arms=["0"], threshold=0, precision=0, rewards=rewards))

    @property
    def sds_known(self) -> bool:
        """Whether the noise of gaussian rewards is known, arm by arm."""
        return self.rewards.sd is not None

    @cached_property
    def eager(self) -> bool:
        """Whether evidence is weighed at every tell, since the campaign stops by it."""
        return self.confidence is not None

    def ledger(self, arm: Arm) -> Ledger | None:
        """The evidence about an arm, as far as it has been weighed."""
        evidence = self.evidence
        if evidence is None:
            return None
        key = (arm.threshold, arm.precision, arm.sd)
        columns = self._columns.get(key)
        if columns is None:
            alone = problem_of([arm], self.rewards)
            columns = arm_columns(evidence, alone, 0)
            self._fresh[key] = Ledger(evidence, columns).numbers
            self._columns[key] = columns  # last: an interrupt may come at any line
        return Ledger.restored(
            evidence, columns, self._fresh[key] if arm.proof is None else arm.proof
        )

    def bar(self, arms: int, confidence: float | None = None) -> float:
        """The logarithm of the e-value that proves an arm, with so many arms in all."""
        level = self.confidence if confidence is None else confidence
        return bar_of(level, max(self.declared, arms))

    def is_proven(self, arm: Arm, bar: float) -> bool:
        """Whether the side the arm is on is proven."""
        side = self.side(arm)
        if side is None or arm.proof is None:
            return False
        return (arm.proof[-2] if side else arm.proof[-1]) >= bar


def problem_of(arms: list[Arm], rewards: Rewards, measured: Rewards | None = None) -> Problem:
    """The problem that stored arms make up; ``measured`` is given where they have levels.

    Bars are as they were agreed on: see :func:`~cutline.core.problem.check_band` for new ones.
    """
    sds = [arm.sd for arm in arms]
    kind = measured or rewards
    if sds[0] is not None and kind.kind == "gaussian":
        kind = Rewards("gaussian", sd=[sd or math.nan for sd in sds])
    return Problem.kept(
        arms=[arm.name for arm in arms],
        threshold=[arm.threshold for arm in arms],
        precision=[arm.precision for arm in arms],
        rewards=kind,
        level=None if measured is None else [arm.level or 0.0 for arm in arms],
    )
