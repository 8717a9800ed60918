"""The question: which of these arms have a mean above the threshold?"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.core.numbers import as_text, as_whole, is_whole, real, shown
from cutline.core.rewards import Rewards
from cutline.core.tally import Floats, Tallies
from cutline.core.text import visible

PerArm = float | Sequence[float] | Floats
Answer = Sequence[bool | None]
MOST_ARMS = 10_000_000


def per_arm(name: str, value: PerArm, arms: int) -> tuple[float, ...]:
    """One finite number for every arm, from one number or one per arm.

    >>> per_arm("threshold", 0.5, 2)
    (0.5, 0.5)
    """
    numbers = np.atleast_1d(_floats(name, value))
    if numbers.ndim != 1 or len(numbers) not in (1, arms):
        raise ValueError(
            f"{name} must be one number or one per arm: there are {arms} arms and "
            f"{numbers.size} numbers"
        )
    for number in numbers[~np.isfinite(numbers)][:1].tolist():
        raise ValueError(f"{name} must be a finite number, got {number!r}")
    values = tuple((numbers + 0.0).tolist())  # -0 is 0
    return values if len(values) == arms else values * arms  # one number is kept once


def _floats(name: str, value: object) -> Floats:
    """Numbers as floats; text is none."""
    wanted = (
        "one mean per arm is wanted"
        if name == "means"
        else f"{name} must be one number or one per arm"
    )
    try:
        given = np.asarray(value)
    except (TypeError, ValueError, OverflowError):  # lists of different lengths
        raise ValueError(f"{wanted}, got {shown(value)}") from None
    if given.dtype.kind in "fiub":
        return given.astype(np.float64)
    if given.dtype.kind != "O" or given.ndim > 1:
        raise TypeError(f"{wanted}, got {shown(value)}")
    found = [real(name, number) for number in given.ravel()]  # Decimal, Fraction, large ints
    return np.array(found).reshape(given.shape)


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
        self._set(arms, threshold, precision, rewards, level)
        check_band(self)

    @classmethod
    def kept(
        cls,
        *,
        arms: Iterable[str],
        threshold: PerArm,
        precision: PerArm,
        rewards: Rewards,
        level: PerArm | None = None,
    ) -> "Problem":
        """A problem as it was agreed on earlier, when a band could reach past the range."""
        problem = cls.__new__(cls)
        problem._set(arms, threshold, precision, rewards, level)
        return problem

    def _set(
        self,
        arms: int | Iterable[str] | Mapping[str, object],
        threshold: PerArm,
        precision: PerArm,
        rewards: str | Rewards,
        level: PerArm | None,
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
        if not isinstance(measured, Rewards):
            raise TypeError(
                "rewards must be a kind of reward, such as 'binary' or Rewards('bounded', 0, 10), "
                f"got {shown(rewards)}"
            )
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
    def edges(self) -> tuple[Floats, Floats]:
        """Both edges of every arm's band, threshold - precision and threshold + precision.

        They are counted from the origin, as sums are. One that misses an end of the rewards' range
        by rounding alone is put there: 0.2 + 0.1 is a little more than 0.3.

        >>> Problem(arms=1, threshold=0.2, precision=0.1, rewards=Rewards("bounded", 0, 0.3)).edges
        (array([0.1]), array([0.3]))
        """
        tau, eps, origins = self.thresholds, self.precisions, self.origins
        low, high = tau - origins - eps, tau - origins + eps
        for end in (self.rewards.low, self.rewards.high):
            if end is not None and math.isfinite(end):
                place, slack = end - origins, _slack(tau, eps, end)
                low = np.where(abs(low - place) <= slack, place, low)
                high = np.where(abs(high - place) <= slack, place, high)
        return low, high

    def arm_edges(self, arm: int) -> tuple[float, float]:
        """The edges of one arm's band; see :attr:`edges`."""
        tau, eps = self.threshold[arm], self.precision[arm]
        origin = self.rewards.origin(tau)
        edges = [tau - origin - eps, tau - origin + eps]
        for end in (self.rewards.low, self.rewards.high) if eps else ():
            if end is not None and math.isfinite(end):
                slack = _slack(tau, eps, end)
                edges = [end - origin if abs(e - end + origin) <= slack else e for e in edges]
        return edges[0], edges[1]

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
        with np.errstate(over="ignore"):  # a gap so small is none
            return math.inf if np.any(gaps == 0) else float(np.sum(gaps**-2.0))

    def truth(self, means: Sequence[float] | Floats) -> npt.NDArray[np.int8]:
        """What the right answer holds for every arm: 1 above, -1 below, 0 either will do.

        As in the paper, a mean of exactly threshold + precision must be found above, while one of
        exactly threshold - precision is free. "Exactly" allows for rounding: 0.8 - 0.1 in binary is
        a little more than 0.7, which must not turn an arm at 0.7 into one that counts.
        """
        mu, tau, eps = self._means(means), self.thresholds, self.precisions
        slack = 1e-12 * (np.maximum(np.abs(tau), np.abs(mu)) + eps)
        slack[eps == 0] = 0.0  # one edge then, compared as given
        above = mu >= tau + eps - slack
        below = mu < tau - eps - slack
        return (above.astype(np.int8) - below.astype(np.int8)).astype(np.int8)

    def decide(self, tallies: Tallies) -> list[bool | None]:
        """The answer for every arm: is its mean at least its threshold? None if unseen."""
        bars = self.thresholds - tallies.origin
        if self.rewards.kind == "bounded" and self.rewards.high in self.threshold:
            bars = np.array([self.rewards.bar(tau) for tau in self.threshold])
        side = tallies.total / np.maximum(tallies.pulls, 1) >= bars
        return [bool(s) if n else None for s, n in zip(side, tallies.pulls, strict=True)]

    def wrong_arms(self, means: Sequence[float] | Floats, answer: Answer) -> int:
        """How many arms that count are on the wrong side in the answer (None counts as wrong)."""
        truth = self.truth(means)
        if isinstance(answer, str | bytes) or not isinstance(answer, Sequence | np.ndarray):
            raise TypeError(f"an answer is a list of sides, one per arm, got {shown(answer)}")
        answer = list(np.atleast_1d(answer)) if isinstance(answer, np.ndarray) else answer
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
        mu = _floats("means", means)
        if mu.shape != (len(self.arms),):
            raise ValueError(f"one mean per arm is wanted: {len(self.arms)}, got {mu.size}")
        return mu


def check_band(problem: Problem, name: str = "threshold") -> None:
    """Raise a ValueError where a threshold or its band lies past the end of the rewards' range.

    A band may touch the end; what misses it by rounding alone touches it. ``name`` is how whoever
    asked calls the threshold.
    """
    kind, low, high = problem.rewards.kind, problem.rewards.low, problem.rewards.high
    assert low is not None and high is not None
    tau, eps = problem.thresholds, problem.precisions
    outside = np.flatnonzero((tau < low) | (tau > high))
    if outside.size:
        raise ValueError(_outside(problem, int(outside[0]), name))
    under = eps - (tau - low) > _slack(tau, eps, low)
    over = eps - (high - tau) > _slack(tau, eps, high)
    past = np.flatnonzero(under | over)
    if past.size:
        arm = int(past[0])
        bar, band = float(tau[arm]), float(eps[arm])
        most = min(bar - low, high - bar)
        end = low if bar - low == most else high
        fits = f"a precision of at most {most:.12g} makes sense there"
        if not most:  # at the end itself
            inward = bar + (0.5 if bar == low else -0.5) * band
            fits = f"{name} {inward:.12g} with precision {0.5 * band:.12g} asks about that band"
        raise ValueError(
            f"precision {band:.12g} around {name} {bar:.12g}{_of(problem, arm)} reaches past "
            f"{end:g}, where the means of {kind} rewards end: {fits}"
        )


def _outside(problem: Problem, arm: int, name: str) -> str:
    kind, low, high = problem.rewards.kind, problem.rewards.low, problem.rewards.high
    tau = problem.threshold[arm]
    assert high is not None
    where = f"lie between {low:g} and {high:g}" if math.isfinite(high) else f"are {low:g} or more"
    said = f"{name} {tau:.12g}{_of(problem, arm)} is out of reach: the means of {kind} rewards "
    percent = (low, high) == (0.0, 1.0) and 1 < tau <= 100
    return said + where + (f"; for {tau:g} % write {tau / 100:.12g}" if percent else "")


def _of(problem: Problem, arm: int) -> str:
    alike = len(set(problem.threshold)) == len(set(problem.precision)) == 1
    return "" if alike else f" of arm {problem.arms[arm]!r}"


def _slack(tau: Any, eps: Any, end: float) -> Any:
    """How far from an end of the range a band's edge may be by rounding alone: a few last digits.

    A threshold without a band is where it was put.
    """
    scale = abs(tau) + eps + (abs(end) if math.isfinite(end) else 0.0)
    return 2.0**-49 * scale * (eps > 0)


def _names(arms: int | Iterable[str] | Mapping[str, object]) -> tuple[str, ...]:
    if isinstance(arms, str | bytes):
        raise ValueError(
            f"arms must be a number or a list of names, got the one string {shown(arms)}"
        )
    if is_whole(arms):
        some: Iterable[object] = range(min(as_whole(arms), MOST_ARMS + 1))
    elif isinstance(arms, Iterable) and not (isinstance(arms, np.ndarray) and not arms.ndim):
        some = arms
    else:
        raise TypeError(f"arms must be a number or a list of names, got {shown(arms)}")
    many = isinstance(some, range) and len(some) > MOST_ARMS
    names = () if many else tuple(as_text("an arm's name", n) for n in islice(some, MOST_ARMS + 1))
    if many or len(names) > MOST_ARMS:
        raise ValueError(f"a problem has {MOST_ARMS:,} arms at most, got more")
    if not names:
        raise ValueError("a problem needs at least one arm")
    if len(set(names)) != len(names):
        twice = [name for name, times in Counter(names).items() if times > 1]
        raise ValueError(
            f"every arm needs a name of its own, seen twice: {', '.join(map(visible, twice[:5]))}"
        )
    return names
