"""What the distributions of a bandit's arms have in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from cutline.core.problem import PerArm, per_arm
from cutline.core.rewards import Rewards
from cutline.core.tally import Floats


@dataclass(frozen=True)
class Arms:
    """One family of distributions, a member for every arm.

    A family gives one of two plain scalar functions, whose further parameters are named like the
    columns of :meth:`columns` (or ``table``, for stored data):

    ``quantile(u, ...)``
        the reward as a function of one uniform, where that is cheap: monotone, so arms that differ
        in one number meet the same luck
    ``sample(chance, ...)``
        the reward from as many draws ``uniform(chance, 0)``, ``uniform(chance, 1)``, ... as needed
    """

    name: ClassVar[str]
    quantile: ClassVar[Callable[..., float] | None] = None
    sample: ClassVar[Callable[..., float] | None] = None

    @property
    def rewards(self) -> Rewards:
        """The kind of reward these arms give."""
        raise NotImplementedError

    @property
    def means(self) -> Floats:
        """The mean of every arm."""
        raise NotImplementedError

    @property
    def noise_scale(self) -> Floats | None:
        r"""The paper's R of every arm, or None where no such scale is known to hold.

        A sub-Gaussian scale: :math:`E\,e^{s(X - \mu)} \le e^{R^2 s^2 / 2}` for every s. It is the
        sd of normal rewards and half the width of bounded ones; heavier tails have none.
        """
        return None

    def above(self, level: PerArm) -> Floats:
        """P(X > level) of every arm, strictly above; one level or one per arm."""
        raise ValueError(f"{self.name} arms do not know how often they exceed a level")

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """The numbers that make up every arm, such that rewards come out as x - origin."""
        raise NotImplementedError

    def table(self) -> Floats:
        """Stored data that all arms share; most families have none."""
        return np.empty(0)

    @classmethod
    def from_means(cls, means: Sequence[float], sd: PerArm | None) -> Self:
        """The family with these means (and spread), as command lines give them."""
        raise ValueError(f"{cls.name} arms cannot be made from means alone")

    def to_dict(self) -> dict[str, Any]:
        """The arms as plain values, for a file."""
        return {"family": self.name} | {f.name: getattr(self, f.name) for f in fields(self)}

    def __len__(self) -> int:
        return len(self.means)


def numbers(name: str, values: PerArm, arms: int | None = None) -> tuple[float, ...]:
    """Finite numbers, one for every arm; without ``arms`` there are as many as are given."""
    count = int(np.size(values)) if arms is None else arms
    if count == 0:
        raise ValueError(f"{name}: at least one arm is needed")
    return per_arm(name, values, count)


def tails(tail: Callable[..., float], level: PerArm, *parameters: PerArm) -> Floats:
    """``tail(level, ...)`` of every arm, for parameters with one number per arm each."""
    levels = per_arm("level", level, int(np.size(parameters[0])))
    return np.asarray(np.vectorize(tail, otypes=[float])(levels, *parameters))


def no_spread(family: str, sd: PerArm | None) -> None:
    """Refuse a spread where the mean settles it."""
    if sd is not None:
        raise ValueError(f"{family} arms have no spread of their own: leave out sd")
