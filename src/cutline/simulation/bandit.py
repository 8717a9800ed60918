"""Arms whose distributions are known, so that answers can be judged."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cutline.core.problem import PerArm, Problem
from cutline.core.tally import Floats
from cutline.simulation.arms import FAMILIES, Arms


@dataclass(frozen=True, init=False)
class Bandit:
    """Distributions for the arms, and the bar they are held against.

    >>> from cutline.simulation.arms import Bernoulli
    >>> bandit = Bandit(Bernoulli([0.1, 0.45, 0.9]), threshold=0.5, precision=0.1)
    >>> bandit.above, bandit.truth
    (('2',), array([-1,  0,  1], dtype=int8))
    >>> round(bandit.complexity(), 3)
    52.444
    """

    arms: Arms
    problem: Problem

    def __init__(
        self,
        arms: Arms,
        *,
        threshold: PerArm,
        precision: PerArm = 0.0,
        names: Iterable[str] | None = None,
    ) -> None:
        problem = Problem(
            arms=len(arms) if names is None else names,
            threshold=threshold,
            precision=precision,
            rewards=arms.rewards,
        )
        if len(problem.arms) != len(arms):
            raise ValueError(f"there are {len(arms)} arms and {len(problem.arms)} names")
        object.__setattr__(self, "arms", arms)
        object.__setattr__(self, "problem", problem)

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
        return self.problem.truth(self.means)

    def gaps(self) -> Floats:
        """The paper's gaps, eq. (1)."""
        return self.problem.gaps(self.means)

    def complexity(self) -> float:
        """The paper's H, eq. (2)."""
        return self.problem.complexity(self.means)

    def to_dict(self) -> dict[str, Any]:
        """The bandit as plain values, for a file."""
        return {
            "arms": self.arms.to_dict(),
            "names": list(self.problem.arms),
            "threshold": list(self.problem.threshold),
            "precision": list(self.problem.precision),
        }

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
            names=values["names"],
        )
