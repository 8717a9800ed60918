"""What a simulation found: counts, and the rates and intervals that follow from them."""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cutline._version import __version__
from cutline.core.intervals import bounded_mean, clopper_pearson, paired_difference
from cutline.core.tally import Floats, Ints
from cutline.rules import parse_rule
from cutline.rules.base import Rule
from cutline.simulation.bandit import Bandit
from cutline.simulation.goals import Goal, TopArms, parse_goal
from cutline.simulation.reach import digest
from cutline.simulation.stops import Stops

FORMAT = 3


@dataclass(frozen=True)
class Difference:
    """How much more often one rule errs than another in the same games.

    ``rate`` is the difference of the error rates; ``only_first`` and ``only_second`` count the
    games in which one of the two errs, the only ones that tell them apart.
    """

    rate: float
    low: float
    high: float
    only_first: int
    only_second: int


@dataclass(frozen=True, eq=False)
class Result:
    """Counts over games, for every rule and horizon, with the settings that made them.

    The last horizon is the budget: ``error_rate``, ``interval``, ``wrong_arms`` and ``mean_pulls``
    are taken there, the ``..._curve`` ones at every horizon. Counts of disjoint games add up; see
    :meth:`merge`.
    """

    bandit_values: dict[str, Any]
    rules: tuple[str, ...]  # as shown to people
    specs: tuple[str, ...]  # as a command line writes them
    code: tuple[str, ...]  # a fingerprint of every rule that is not the package's own
    anytime: tuple[bool, ...]
    relevant: int  # arms that count
    horizons: Ints
    seed: int
    replay: bool
    goal: Goal  # what games were judged by
    stretches: tuple[tuple[int, int], ...]  # (first game, games), apart and in order
    wrong_games: Ints  # (rule, horizon)
    wrong_arms_sum: Ints  # (rule, horizon)
    wrong_arms_squared: Ints  # (rule, horizon)
    pulls_sum: Ints  # (rule, arm), at the budget
    only: Ints  # (rule, other rule, horizon): games in which the first errs and the other does not
    regret_sum: Floats  # (rule, horizon); 0 where the goal is the sides of the arms
    regret_squared: Floats  # (rule, horizon)
    stops: Stops | None = None  # of games with evidence or with pulls in flight
    version: str = __version__

    @classmethod
    def empty(
        cls,
        bandit: Bandit,
        rules: Sequence[Rule],
        *,
        goal: Goal,
        horizons: Ints,
        seed: int,
        replay: bool,
    ) -> "Result":
        """No games yet."""
        shape = (len(rules), len(horizons))
        return cls(
            bandit_values=json.loads(json.dumps(bandit.to_dict())),  # as a file would give it
            rules=tuple(str(rule) for rule in rules),
            specs=tuple(rule.spec for rule in rules),
            code=tuple(_code(rule) for rule in rules),
            anytime=tuple(rule.anytime for rule in rules),
            relevant=goal.most_wrong(bandit),
            horizons=horizons,
            seed=seed,
            replay=replay,
            goal=goal,
            stretches=(),
            wrong_games=np.zeros(shape, np.int64),
            wrong_arms_sum=np.zeros(shape, np.int64),
            wrong_arms_squared=np.zeros(shape, np.int64),
            pulls_sum=np.zeros((len(rules), len(bandit.problem.arms)), np.int64),
            only=np.zeros((len(rules), *shape), np.int64),
            regret_sum=np.zeros(shape),
            regret_squared=np.zeros(shape),
        )

    def with_counts(
        self,
        stretches: tuple[tuple[int, int], ...],
        stops: Stops | None = None,
        **counts: Ints | Floats,
    ) -> "Result":
        """The same settings with other games."""
        return replace(self, stretches=stretches, stops=stops, **counts)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        """Without its arrays."""
        return f"Result({', '.join(self.specs)}; {self.games} games, {len(self.arms)} arms)"

    @property
    def bandit(self) -> Bandit:
        """The bandit that was played on."""
        return Bandit.from_dict(self.bandit_values)

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return tuple(self.bandit_values["names"])

    @property
    def budget(self) -> int:
        """The largest horizon."""
        return int(self.horizons[-1])

    @property
    def games(self) -> int:
        """How many games were played."""
        return sum(count for _, count in self.stretches)

    @property
    def next_game(self) -> int:
        """The number of the first game after all those played."""
        return max((first + count for first, count in self.stretches), default=0)

    def parsed_rules(self) -> list[Rule]:
        """The rules, ready to be simulated again."""
        return [parse_rule(spec) for spec in self.specs]

    @property
    def error_curve(self) -> Floats:
        """The share of games that are wrong, by rule and horizon."""
        return self.wrong_games / self.games

    @property
    def error_rate(self) -> Floats:
        """The share of games that are wrong at the budget, by rule."""
        return self.error_curve[:, -1]

    def error_interval(self, level: float = 0.95) -> Floats:
        """Exact (Clopper-Pearson) intervals for the error curve: (rule, horizon, low and high)."""
        known: dict[int, tuple[float, float]] = {}
        for wrong in {int(w) for w in self.wrong_games.flat}:
            known[wrong] = clopper_pearson(wrong, self.games, level)
        return np.array([[known[int(w)] for w in row] for row in self.wrong_games])

    @property
    def interval(self) -> Floats:
        """Exact 95 % intervals for the error rate at the budget, by rule."""
        return self.at([self.budget]).error_interval()[:, -1]

    @property
    def wrong_arms_curve(self) -> Floats:
        """The mean number of wrong arms, by rule and horizon."""
        return self.wrong_arms_sum / self.games

    @property
    def wrong_arms(self) -> Floats:
        """The mean number of wrong arms at the budget, by rule."""
        return self.wrong_arms_curve[:, -1]

    def wrong_arms_interval(self, level: float = 0.95) -> Floats:
        """Intervals for the mean number of wrong arms: (rule, horizon, low and high)."""
        return np.array(
            [
                [
                    bounded_mean(float(s), float(q), self.games, self.relevant, level)
                    for s, q in zip(sums, squares, strict=True)
                ]
                for sums, squares in zip(self.wrong_arms_sum, self.wrong_arms_squared, strict=True)
            ]
        )

    @property
    def regret_curve(self) -> Floats:
        """The mean pseudo-regret, by rule and horizon; for goals that name the best arms."""
        if not isinstance(self.goal, TopArms):
            raise ValueError("regret is kept when the goal is the best arm: goal=TopArms(1)")
        return self.regret_sum / self.games

    @property
    def regret(self) -> Floats:
        """The mean pseudo-regret at the budget, by rule."""
        return self.regret_curve[:, -1]

    def regret_interval(self, level: float = 0.95) -> Floats:
        """Intervals for the mean pseudo-regret: (rule, horizon, low and high)."""
        regrets = self.regret_curve * self.games
        most = (self.bandit.means.max() - self.bandit.means.min()) * self.horizons
        return np.array(
            [
                [
                    bounded_mean(min(float(s), self.games * top), float(q), self.games, top, level)
                    for s, q, top in zip(sums, squares, most.tolist(), strict=True)
                ]
                for sums, squares in zip(regrets, self.regret_squared, strict=True)
            ]
        )

    @property
    def mean_pulls(self) -> Floats:
        """The mean pulls of every arm at the budget: (rule, arm). Less in all if some were left."""
        return self.pulls_sum / self.games

    def difference(
        self, first: str, second: str, *, horizon: int | None = None, level: float = 0.95
    ) -> Difference:
        """How much more often ``first`` errs than ``second``, with an interval, in paired games."""
        i, j = self._rule(first), self._rule(second)
        h = self._horizon(self.budget if horizon is None else horizon)
        only_first, only_second = int(self.only[i, j, h]), int(self.only[j, i, h])
        low, high = paired_difference(only_first, only_second, self.games, level)
        rate = (only_first - only_second) / self.games
        return Difference(rate, low, high, only_first, only_second)

    def at(self, horizons: Sequence[int]) -> "Result":
        """The same result at some of its horizons only; the pulls stay those of whole games."""
        if not len(horizons):
            raise ValueError("name at least one horizon to look at")
        chosen = sorted({self._horizon(h) for h in horizons})
        return replace(
            self,
            horizons=self.horizons[chosen],
            wrong_games=self.wrong_games[:, chosen],
            wrong_arms_sum=self.wrong_arms_sum[:, chosen],
            wrong_arms_squared=self.wrong_arms_squared[:, chosen],
            only=self.only[:, :, chosen],
            regret_sum=self.regret_sum[:, chosen],
            regret_squared=self.regret_squared[:, chosen],
        )

    def merge(self, other: "Result") -> "Result":
        """The counts of both, which must be of the same settings and of different games."""
        for name in ("bandit_values", "specs", "code", "seed", "replay", "goal"):
            mine, its = getattr(self, name), getattr(other, name)
            if mine != its:
                what = {"bandit_values": "bandits", "code": "versions of a rule"}.get(name, name)
                raise ValueError(f"results of different settings cannot be merged: {what} differ")
        if not np.array_equal(self.horizons, other.horizons):
            raise ValueError("results of different settings cannot be merged: horizons differ")
        if (self.stops is None) != (other.stops is None):
            raise ValueError("results of different settings cannot be merged: how games stop")
        joined = None
        if self.stops is not None and other.stops is not None:
            joined = self.stops.join(other.stops)
        return self.with_counts(
            _join(self.stretches, other.stretches),
            joined,
            **{name: getattr(self, name) + getattr(other, name) for name in _COUNTS + _SUMS},
        )

    def save(self, path: str | Path) -> None:
        """Write everything to one JSON file."""
        values = {
            "format": FORMAT,
            "version": self.version,
            "bandit": self.bandit_values,
            "rules": [
                dict(zip(("rule", "shown", "code", "anytime"), values, strict=True))
                for values in zip(self.specs, self.rules, self.code, self.anytime, strict=True)
            ],
            "relevant": self.relevant,
            "horizons": self.horizons.tolist(),
            "seed": self.seed,
            "replay": self.replay,
            "goal": self.goal.spec,
            "stretches": self.stretches,
            "stops": None if self.stops is None else self.stops.to_dict(),
        } | {name: getattr(self, name).tolist() for name in _COUNTS + _SUMS}
        Path(path).write_text(json.dumps(values) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "Result":
        """Read what :meth:`save` wrote."""
        values = json.loads(Path(path).read_text())
        if not isinstance(values, dict) or "wrong_games" not in values:
            raise ValueError(f"{path} is not a result of a simulation")
        if values["format"] != FORMAT:
            raise ValueError(
                f"{path} has format {values['format']} (cutline {values['version']}), this cutline "
                f"reads format {FORMAT}: simulate again"
            )
        rules = values["rules"]
        counts: dict[str, Any] = {name: np.array(values[name], np.int64) for name in _COUNTS}
        counts |= {name: np.array(values[name], np.float64) for name in _SUMS}
        return cls(
            bandit_values=values["bandit"],
            rules=tuple(r["shown"] for r in rules),
            specs=tuple(r["rule"] for r in rules),
            code=tuple(r["code"] for r in rules),
            anytime=tuple(r["anytime"] for r in rules),
            relevant=values["relevant"],
            horizons=np.array(values["horizons"], np.int64),
            seed=values["seed"],
            replay=values["replay"],
            goal=parse_goal(values["goal"]),
            stretches=tuple((first, count) for first, count in values["stretches"]),
            stops=None if values["stops"] is None else Stops.from_dict(values["stops"]),
            version=values["version"],
            **counts,
        )

    def _rule(self, name: str) -> int:
        for known in (self.specs, self.rules):
            if name in known:
                return known.index(name)
        with contextlib.suppress(ValueError):
            return self.specs.index(parse_rule(name).spec)  # "ucbe" for "ucbe:1"
        raise ValueError(f"no rule {name!r} in this result, which has: {', '.join(self.specs)}")

    def _horizon(self, horizon: int) -> int:
        place = int(np.searchsorted(self.horizons, horizon))
        if place == len(self.horizons) or self.horizons[place] != horizon:
            raise ValueError(f"horizon {horizon} was not looked at; see result.horizons")
        return place


_COUNTS = ("wrong_games", "wrong_arms_sum", "wrong_arms_squared", "pulls_sum", "only")
_SUMS = ("regret_sum", "regret_squared")


def _code(rule: Rule) -> str:
    """A fingerprint of a rule of the user's, so that two versions of it are not mixed up."""
    if type(rule).__module__.startswith("cutline."):
        return ""
    functions = (
        rule.body,
        getattr(type(rule), "learn", None),
        rule.own_estimate,
        rule.merit,
        *(getattr(type(rule), name, None) for name in ("settings", "start", "on", "memory")),
    )
    return " ".join(
        digest(function, of_compiler=False) for function in functions if function is not None
    )


def _join(*parts: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for first, count in sorted(stretch for part in parts for stretch in part):
        if joined and first < sum(joined[-1]):
            raise ValueError(f"game {first} is in both results: games must be disjoint")
        if joined and first == sum(joined[-1]):
            joined[-1] = (joined[-1][0], joined[-1][1] + count)
        else:
            joined.append((first, count))
    return tuple(joined)
