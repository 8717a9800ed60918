"""Arms whose distributions are known, so that answers can be judged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.core.problem import PerArm, Problem
from cutline.core.rewards import Rewards
from cutline.core.tally import Floats
from cutline.core.theory import top_m_threshold
from cutline.simulation.arms import FAMILIES, Arms
from cutline.simulation.arms.level_set import LevelSet

# What the rewards of a family may be declared as: what they are, or something wider.
_HOLDS = {
    "binary": ("binary", "bounded"),
    "bounded": ("bounded",),
    "gaussian": ("gaussian", "heavy"),
    "poisson": ("poisson",),
    "exponential": ("exponential",),
    "heavy": ("heavy",),
}


@dataclass(frozen=True, init=False)
class Bandit:
    """Distributions for the arms, and the bar they are held against.

    >>> from cutline.simulation.arms import Bernoulli
    >>> bandit = Bandit(Bernoulli([0.1, 0.45, 0.9]), threshold=0.5, precision=0.1)
    >>> bandit.above, bandit.truth
    (('2',), array([-1,  0,  1], dtype=int8))
    >>> round(bandit.complexity(), 3)
    52.444

    With ``level`` the arms are asked how often they exceed it, and the threshold is a probability:

    >>> from cutline.simulation.arms import Gaussian
    >>> Bandit(Gaussian([0.0, 1.0]), level=1.0, threshold=0.3).means.round(4)
    array([0.1587, 0.5   ])

    ``rewards`` tells rules and evidence more than the family does, e.g. that the noise is known:

    >>> Bandit(Gaussian([0.0, 1.0]), threshold=0.5, rewards=Rewards("gaussian", sd=1)).problem.sds
    array([1., 1.])

    The right answers follow from the means; ``truth`` (1 above, -1 below, 0 either will do) gives
    others, such as expert labels that the crowd is held against.
    """

    arms: Arms
    problem: Problem
    given_truth: tuple[int, ...] | None

    def __init__(
        self,
        arms: Arms,
        *,
        threshold: PerArm,
        precision: PerArm = 0.0,
        level: PerArm | None = None,
        names: Iterable[str] | None = None,
        truth: Sequence[int] | None = None,
        rewards: Rewards | None = None,
    ) -> None:
        if isinstance(arms, LevelSet):
            raise ValueError("give the arms themselves, and their level with level=")
        own = arms.rewards
        if rewards is not None and not (
            rewards.kind in _HOLDS[own.kind] and (rewards.low, rewards.high) == (own.low, own.high)
        ):
            raise ValueError(
                f"these arms give {own.kind} rewards from {own.low:g} to {own.high:g}, "
                f"which cannot be taken for {rewards.kind} ones as described"
            )
        problem = Problem(
            arms=len(arms) if names is None else names,
            threshold=threshold,
            precision=precision,
            rewards=arms.rewards if rewards is None else rewards,
            level=level,
        )
        if len(problem.arms) != len(arms):
            raise ValueError(f"there are {len(arms)} arms and {len(problem.arms)} names")
        if truth is not None and (
            len(truth) != len(arms)
            or not set(truth) <= {-1, 0, 1}
            or any(isinstance(side, bool | np.bool_) for side in truth)
        ):
            raise ValueError("truth holds 1 (above), -1 (below) or 0 (either) for every arm")
        if problem.level is not None:
            arms = LevelSet(arms, problem.level)
        object.__setattr__(self, "arms", arms)
        object.__setattr__(self, "problem", problem)
        given = None if truth is None else tuple(int(side) for side in truth)
        object.__setattr__(self, "given_truth", given)

    @property
    def means(self) -> Floats:
        """The true mean of every arm."""
        return self.arms.means

    @property
    def above(self) -> tuple[str, ...]:
        """The names of the arms whose mean is at least their threshold (the paper's S_tau)."""
        side = self.means >= self.problem.thresholds
        return tuple(name for name, s in zip(self.problem.arms, side, strict=True) if s)

    @property
    def truth(self) -> npt.NDArray[np.int8]:
        """What the right answer holds for every arm; see :meth:`Problem.truth`."""
        if self.given_truth is not None:
            return np.array(self.given_truth, np.int8)
        return self.problem.truth(self.means)

    @property
    def noise_scale(self) -> float | None:
        """The paper's R, a sub-Gaussian scale of all arms, or None where there is none.

        >>> from cutline.simulation.arms import Bernoulli
        >>> Bandit(Bernoulli([0.1, 0.9]), threshold=0.5).noise_scale
        0.5
        """
        scales = self.arms.noise_scale
        return None if scales is None else float(np.max(scales))

    def gaps(self) -> Floats:
        """The paper's gaps, eq. (1)."""
        return self.problem.gaps(self.means)

    def complexity(self) -> float:
        """The paper's H, eq. (2)."""
        return self.problem.complexity(self.means)

    def for_best_arm(self) -> "Bandit":
        """The same arms with the highest mean as threshold, which APT must know (Section 3.2).

        >>> from cutline.simulation.arms import Bernoulli
        >>> Bandit(Bernoulli([0.1, 0.9]), threshold=0.5).for_best_arm().problem.threshold
        (0.9, 0.9)
        """
        return self._with_threshold(float(np.max(self.means)))

    def for_top(self, m: int) -> "Bandit":
        """The same arms with a threshold halfway between the m-th and the next highest mean."""
        return self._with_threshold(top_m_threshold(self.means, m))

    def _with_threshold(self, threshold: float) -> "Bandit":
        source = self.arms.arms if isinstance(self.arms, LevelSet) else self.arms
        names, level = self.problem.arms, self.problem.level
        return Bandit(
            source,
            threshold=threshold,
            level=level,
            names=names,
            rewards=self.problem.measured,
        )

    def to_dict(self) -> dict[str, Any]:
        """The bandit as plain values, for a file."""
        source = self.arms.arms if isinstance(self.arms, LevelSet) else self.arms
        values: dict[str, Any] = {
            "arms": source.to_dict(),
            "names": list(self.problem.arms),
            "threshold": list(self.problem.threshold),
            "precision": list(self.problem.precision),
        }
        if self.problem.level is not None:
            values["level"] = list(self.problem.level)
        if self.given_truth is not None:
            values["truth"] = list(self.given_truth)
        if self.problem.measured != source.rewards:
            values["rewards"] = self.problem.measured.to_dict()
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Bandit":
        """The bandit from :meth:`to_dict`."""
        arms = dict(values["arms"])
        family = arms.pop("family")
        if family not in FAMILIES:
            raise ValueError(f"unknown family of arms {family!r}: one of {', '.join(FAMILIES)}")
        return cls(
            FAMILIES[family](**arms),
            threshold=values["threshold"],
            precision=values["precision"],
            level=values.get("level"),
            names=values["names"],
            truth=values.get("truth"),
            rewards=Rewards(**values["rewards"]) if "rewards" in values else None,
        )
