"""The question: which of these arms have a mean above the threshold?"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cutline.core.rewards import Rewards
from cutline.core.tally import Floats, Tallies
from cutline.core.text import visible

PerArm = float | Sequence[float] | Floats
Answer = Sequence[bool | None]


def per_arm(name: str, value: PerArm, arms: int) -> tuple[float, ...]:
    """One finite number for every arm, from one number or one per arm.

    >>> per_arm("threshold", 0.5, 2)
    (0.5, 0.5)
    """
    numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if numbers.ndim != 1 or len(numbers) not in (1, arms):
        raise ValueError(
            f"{name} must be one number or one per arm: there are {arms} arms and "
            f"{numbers.size} numbers"
        )
    for number in numbers[~np.isfinite(numbers)][:1].tolist():
        raise ValueError(f"{name} must be a finite number, got {number!r}")
    values = tuple(numbers.tolist())
    return values if len(values) == arms else values * arms  # one number is kept once


@dataclass(frozen=True, init=False)
class Problem:
    """Named arms, the bar they are held against, and what one trial gives back.

    ``arms`` is a number of arms, their names, or a mapping from name to anything; ``threshold``
    (the paper's tau) and ``precision`` (its epsilon: the half-width of the band around the
    threshold in which either answer is accepted) are one number or one per arm; ``rewards`` is a
    kind of reward. With ``level`` (one, or one per arm) the question is about a level set: is
    P(X > level) at least the threshold? What is measured is then as ``rewards`` says, and what
    counts is whether it lies above the level, a binary reward (Section 3.1 of the paper).

    >>> problem = Problem(arms=["a", "b", "c"], threshold=0.5, precision=0.1, rewards="binary")
    >>> means = [0.2, 0.45, 0.9]
    >>> problem.gaps(means)
    array([0.4 , 0.15, 0.5 ])
    >>> round(problem.complexity(means), 4)
    54.6944
    >>> problem.truth(means)
    array([-1,  0,  1], dtype=int8)
    >>> problem.loss(means, answer=[False, True, True]), problem.loss(means, [True, False, True])
    (0, 1)
    >>> late = Problem(arms=2, threshold=0.05, level=[0.2, 1.0], rewards="exponential")
    >>> late.rewards.kind, late.reward(0.7, arm=0), late.reward(0.7, arm=1)
    ('binary', 1.0, 0.0)
    """

    arms: tuple[str, ...]
    threshold: tuple[float, ...]
    precision: tuple[float, ...]
    rewards: Rewards
    level: tuple[float, ...] | None
    measured: Rewards

    def __init__(
        self,
        *,
        arms: int | Iterable[str] | Mapping[str, object],
        threshold: PerArm,
        precision: PerArm = 0.0,
        rewards: str | Rewards,
        level: PerArm | None = None,
    ) -> None:
        names = _names(arms)
        precisions = per_arm("precision", precision, len(names))
        for number in precisions:
            if number < 0:
                raise ValueError(
                    f"precision must be 0 or more, got {number!r}: it is the half-width "
                    "of the band around the threshold where either answer is accepted"
                )
        object.__setattr__(self, "arms", names)
        object.__setattr__(self, "threshold", per_arm("threshold", threshold, len(names)))
        object.__setattr__(self, "precision", precisions)
        measured = Rewards(rewards) if isinstance(rewards, str) else rewards
        levels = None if level is None else per_arm("level", level, len(names))
        object.__setattr__(self, "level", levels)
        object.__setattr__(self, "measured", measured)
        object.__setattr__(self, "rewards", measured if levels is None else Rewards("binary"))
        _ = self.sds  # refuses as many as do not fit the arms

    def reward(self, value: float, arm: int) -> float:
        """What a measured value counts for: itself, or whether it lies above the arm's level.

        A ValueError says why a value cannot be one.
        """
        number = self.measured.check(value)
        return number if self.level is None else float(number > self.level[arm])

    @property
    def thresholds(self) -> Floats:
        """The threshold of every arm, as an array."""
        return np.array(self.threshold)

    @property
    def precisions(self) -> Floats:
        """The precision of every arm, as an array."""
        return np.array(self.precision)

    @property
    def origins(self) -> Floats:
        """Where the sums of every arm are counted from; see :meth:`Rewards.origin`."""
        return np.array([self.rewards.origin(tau) for tau in self.threshold])

    @property
    def sds(self) -> Floats | None:
        """The known standard deviation of every arm's rewards, or None where it is not known."""
        sd = self.rewards.sd
        return None if sd is None else np.array(per_arm("sd", sd, len(self.arms)))

    def gaps(self, means: Sequence[float] | Floats, precision: PerArm | None = None) -> Floats:
        """How far every mean is from its threshold, plus the precision, eq. (1).

        Another ``precision`` than the problem's may be given, for rules that use their own.
        """
        mu = self._means(means)
        eps = self.precision if precision is None else per_arm("precision", precision, len(mu))
        gaps: Floats = np.abs(mu - self.thresholds) + np.array(eps)
        return gaps

    def complexity(self, means: Sequence[float] | Floats, precision: PerArm | None = None) -> float:
        """The paper's H, eq. (2): the sum of 1/gap**2. Infinite when a gap is 0."""
        gaps = self.gaps(means, precision)
        return math.inf if np.any(gaps == 0) else float(np.sum(gaps**-2.0))

    def truth(self, means: Sequence[float] | Floats) -> npt.NDArray[np.int8]:
        """What the right answer holds for every arm: 1 above, -1 below, 0 either will do.

        As in the paper, a mean of exactly threshold + precision must be found above, while one of
        exactly threshold - precision is free. "Exactly" allows for rounding: 0.8 - 0.1 in binary is
        a little more than 0.7, which must not turn an arm at 0.7 into one that counts.
        """
        mu, tau, eps = self._means(means), self.thresholds, self.precisions
        slack = 1e-12 * np.maximum(1.0, np.maximum(np.abs(tau), np.abs(mu)))
        slack[eps == 0] = 0.0  # one edge then, compared as given
        above = mu >= tau + eps - slack
        below = mu < tau - eps - slack
        return (above.astype(np.int8) - below.astype(np.int8)).astype(np.int8)

    def decide(self, tallies: Tallies) -> list[bool | None]:
        """The answer for every arm: is its mean at least its threshold? None if unseen."""
        side = tallies.total / np.maximum(tallies.pulls, 1) >= self.thresholds - tallies.origin
        return [bool(s) if n else None for s, n in zip(side, tallies.pulls, strict=True)]

    def wrong_arms(self, means: Sequence[float] | Floats, answer: Answer) -> int:
        """How many arms that count are on the wrong side in the answer (None counts as wrong)."""
        truth = self.truth(means)
        if len(answer) != len(truth):
            raise ValueError(f"an answer for {len(truth)} arms is wanted, got {len(answer)}")
        return sum(
            1
            for side, right in zip(answer, truth, strict=True)
            if right != 0 and (side is None or bool(side) != (right > 0))
        )

    def loss(self, means: Sequence[float] | Floats, answer: Answer) -> int:
        """The paper's loss: 1 when any arm that counts is on the wrong side, else 0."""
        return int(self.wrong_arms(means, answer) > 0)

    def _means(self, means: Sequence[float] | Floats) -> Floats:
        mu = np.asarray(means, dtype=np.float64)
        if mu.shape != (len(self.arms),):
            raise ValueError(f"one mean per arm is wanted: {len(self.arms)}, got {mu.size}")
        return mu


def _names(arms: int | Iterable[str] | Mapping[str, object]) -> tuple[str, ...]:
    if isinstance(arms, int | np.integer):
        names = tuple(str(i) for i in range(int(arms)))
    elif isinstance(arms, str):
        raise ValueError(f"arms must be a number or a list of names, got the one string {arms!r}")
    else:
        names = tuple(str(name) for name in arms)
    if not names:
        raise ValueError("a problem needs at least one arm")
    if len(set(names)) != len(names):
        twice = [name for name, times in Counter(names).items() if times > 1]
        raise ValueError(
            f"every arm needs a name of its own, seen twice: {', '.join(map(visible, twice[:5]))}"
        )
    return names
