"""When games stopped and what they had proven by then."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cutline.core.intervals import clopper_pearson
from cutline.core.tally import Floats, Ints


@dataclass(frozen=True, eq=False)
class Stops:
    """Over games, for every rule: pulls spent, arms left open, claims that were false.

    ``spent`` and ``levels`` are sorted along the games of a rule, so that parts of a simulation can
    be put together in any order. A game's level is the smallest error bound at which it has ever
    shown an arm as proven on the wrong side (1: never): at a level alpha fixed beforehand, at most
    a share alpha of games may lie at or below it.
    """

    settings: dict[str, Any]  # confidence, evidence, in_flight, delay, in_order
    spent: Ints  # (rule, game): pulls asked for
    levels: Floats  # (rule, game)
    finished: Ints  # (rule): games in which every arm's side was proven
    open_games: Ints  # (rule, arm): games in which the arm's side was not
    found_sum: Ints  # (rule, place): pulls until the first, second, ... arm was proven above
    found_games: Ints  # (rule, place): games in which that many were

    @property
    def mean_spent(self) -> Floats:
        """The mean pulls of a game, by rule."""
        return np.asarray(self.spent.mean(axis=1))

    @property
    def standard_error(self) -> Floats:
        """The standard error of the mean pulls, by rule."""
        games = self.spent.shape[1]
        spread = self.spent.std(axis=1, ddof=1) if games > 1 else np.full(len(self.spent), np.nan)
        return np.asarray(spread / np.sqrt(games))

    def quantile(self, share: float) -> Floats:
        """The pulls that this share of games got by with, by rule."""
        return np.asarray(np.quantile(self.spent, share, axis=1, method="higher"))

    def false_claims(self, level: float) -> Ints:
        """The games that ever showed an arm as proven on the wrong side at this error bound."""
        return np.asarray((self.levels <= level).sum(axis=1))

    def false_rate_interval(self, level: float, *, sure: float = 0.95) -> Floats:
        """Exact intervals for the share of such games: (rule, low and high)."""
        games = self.levels.shape[1]
        return np.array([clopper_pearson(int(n), games, sure) for n in self.false_claims(level)])

    @property
    def mean_found(self) -> Floats:
        """The mean pulls until the n-th arm was proven above, where it was: (rule, n from 1)."""
        with np.errstate(invalid="ignore"):
            return self.found_sum / self.found_games

    @property
    def mean_open(self) -> Floats:
        """The mean number of arms whose side was not proven in the end, by rule."""
        return np.asarray(self.open_games.sum(axis=1) / self.spent.shape[1])

    def __repr__(self) -> str:
        """Without its arrays."""
        rules, games = self.spent.shape
        return f"Stops({rules} rules, {games} games, mean pulls {self.mean_spent.round(1)})"

    def join(self, other: "Stops") -> "Stops":
        """The games of both."""
        if self.settings != other.settings:
            raise ValueError("results of different settings cannot be merged: how games stop")

        def together(mine: Any, its: Any) -> Any:
            return np.sort(np.concatenate([mine, its], axis=1), axis=1)

        return Stops(
            self.settings,
            together(self.spent, other.spent),
            together(self.levels, other.levels),
            self.finished + other.finished,
            self.open_games + other.open_games,
            self.found_sum + other.found_sum,
            self.found_games + other.found_games,
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for a file."""
        numbers = {name: getattr(self, name).tolist() for name in (*_WHOLE, "levels")}
        return {"settings": self.settings, **numbers}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Stops":
        """What :meth:`to_dict` gave."""
        whole = {name: np.array(values[name], np.int64) for name in _WHOLE}
        return cls(values["settings"], levels=np.array(values["levels"], np.float64), **whole)


_WHOLE = ("spent", "finished", "open_games", "found_sum", "found_games")
