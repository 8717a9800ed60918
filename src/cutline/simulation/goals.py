"""What a game is judged by: the sides of all arms, or the best arms by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutline.core.tally import Floats
from cutline.core.theory.complexity import slack
from cutline.simulation.bandit import Bandit


@dataclass(frozen=True)
class Goal:
    """The paper's own: every arm on its side of the threshold."""

    @property
    def spec(self) -> str:
        """The goal as a command line writes it."""
        return "sides"

    def check(self, bandit: Bandit) -> None:
        """Raise a ValueError where the goal makes no sense for a bandit."""

    def truth(self, bandit: Bandit) -> Floats:
        """What is right for every arm: 1 above, -1 below, 0 either will do."""
        return bandit.truth.astype(np.float64)

    def most_wrong(self, bandit: Bandit) -> int:
        """How many arms can be wrong in one answer."""
        return int(np.count_nonzero(self.truth(bandit)))


SIDES = Goal()


@dataclass(frozen=True)
class TopArms(Goal):
    """The m arms with the highest means; with m = 1 the best arm (Section 3.2 of the paper).

    A rule recommends the arms with the highest :meth:`~cutline.rules.base.Rule.merit`, and those of
    them that are not among the m best are wrong. Beside that the pseudo-regret is kept: by how much
    the means of the arms pulled fall short of the highest mean, in all.

    >>> from cutline.simulation.arms import Bernoulli
    >>> TopArms(2).truth(Bandit(Bernoulli([0.9, 0.5, 0.5, 0.1]), threshold=0.5))
    array([ 1.,  0.,  0., -1.])
    """

    m: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.m, bool) or not isinstance(self.m, int) or self.m < 1:
            raise ValueError(f"m is a whole number of arms, at least 1, got {self.m!r}")

    @property
    def spec(self) -> str:
        """The goal as a command line writes it."""
        return "best-arm" if self.m == 1 else f"top:{self.m}"

    def check(self, bandit: Bandit) -> None:
        """As many arms as asked for, and more; one threshold for all, as means are compared."""
        if not 1 <= self.m < len(bandit.arms):
            raise ValueError(f"the best {self.m} of {len(bandit.arms)} arms leave nothing to find")
        if len(set(bandit.problem.threshold)) > 1:
            raise ValueError("the best arms are found with one threshold for all arms")
        if bandit.given_truth is not None:
            raise ValueError("the best arms follow from the means; a given truth is about sides")

    def truth(self, bandit: Bandit) -> Floats:
        """1 for arms that must be named, -1 for those that must not, 0 for equals at the edge."""
        means = bandit.means
        last = np.sort(means)[-self.m]
        level = np.abs(means - last) <= slack(means)
        above, below = (means > last) & ~level, (means < last) & ~level
        if np.count_nonzero(above | level) == self.m:
            above = above | level
        truth: Floats = above.astype(np.float64) - below
        return truth

    def most_wrong(self, bandit: Bandit) -> int:
        """How many arms can be wrong in one answer."""
        return self.m  # an arm never seen is not named


BEST_ARM = TopArms(1)


def parse_goal(text: str) -> Goal:
    """A goal from its name on a command line.

    >>> parse_goal("sides"), parse_goal("best-arm"), parse_goal("top:3")
    (Goal(), TopArms(m=1), TopArms(m=3))
    """
    name, _, number = text.partition(":")
    if text == "sides":
        return SIDES
    if text == "best-arm":
        return BEST_ARM
    if name == "top" and number.isdigit():
        return TopArms(int(number))
    raise ValueError(f"a goal is sides, best-arm or top:M (the best M arms), got {text!r}")


def top_judge(
    merit: Callable[..., float], m: int, rows: tuple[int, int, int]
) -> Callable[..., Any]:
    """The function that judges a game: (wrong arms among the m named, pseudo-regret so far).

    ``rows`` are those of pulls, of the truth and of what an arm's mean lacks to the highest.
    """
    pulls_row, truth_row, lack_row = rows

    def judge(columns, width, memory, step, settings, merits):  # type: ignore[no-untyped-def]
        regret, above = 0.0, 0
        for i in range(width):
            pulls = columns[pulls_row * width + i]
            above += 1 if columns[truth_row * width + i] > 0.0 else 0
            regret += pulls * columns[lack_row * width + i]
            merits[i] = -np.inf
            if pulls > 0.0:
                merits[i] = merit(columns, width, i, memory, step, settings)
        named_above, named_level = 0, 0
        for _ in range(m):
            best = 0
            for i in range(1, width):
                if merits[i] > merits[best]:
                    best = i
            truth = columns[truth_row * width + best]
            if merits[best] > -np.inf:
                named_above += 1 if truth > 0.0 else 0
                named_level += 1 if truth == 0.0 else 0
            merits[best] = -np.inf
        # Equals at the edge are right as far as the places go that better arms leave.
        wrong = float(m - named_above - min(named_level, m - above))
        return wrong, regret

    return judge


def no_judge(columns, width, memory, step, settings, merits):  # type: ignore[no-untyped-def]
    """Sides are counted pull by pull; nothing is left to judge."""
    return 0.0, 0.0
