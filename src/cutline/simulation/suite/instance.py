"""What an instance of the tournament's suite is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cutline.simulation.bandit import Bandit

Budgets = tuple[int, int, int]

TARGETS = (0.25, 0.05, 0.01)  # share of games in which APT errs
TARGETS_MANY = (0.025, 0.005, 0.001)  # share of arms that APT has wrong
MANY = 500  # arms; beyond, some arm is wrong in most games
GAMES, GAMES_MANY = 20_000, 2_000


@dataclass(frozen=True)
class Instance:
    """A bandit of the suite with three budgets, and why it is there.

    ``note`` says where the budgets are not those at which APT errs in 25, 5 and 1 % of games.
    """

    name: str
    group: str
    make: Callable[[], Bandit] = field(repr=False)
    budgets: Budgets
    why: str
    note: str = ""

    @cached_property
    def bandit(self) -> Bandit:
        """The bandit, made when it is first asked for."""
        return self.make()

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return len(self.bandit.problem.arms)

    @property
    def games(self) -> int:
        """How many games a cell of the tournament takes."""
        return GAMES if self.arms <= MANY else GAMES_MANY

    @property
    def rare(self) -> bool:
        """Whether the question is about rare events: a binary threshold up to 0.1, or from 0.9."""
        return is_rare(self.bandit)


def is_rare(bandit: Bandit) -> bool:
    """Whether rewards are binary and every threshold is at most 0.1 or at least 0.9.

    >>> from cutline.simulation.arms import Bernoulli
    >>> is_rare(Bandit(Bernoulli([0.0, 0.1]), threshold=0.05))
    True
    """
    tau = bandit.problem.thresholds
    edge = bool(np.all((tau <= 0.1) | (tau >= 0.9)))
    return bandit.problem.rewards.kind == "binary" and edge
