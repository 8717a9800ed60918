"""Arms that win or lose against each other."""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from cutline.core.chance import Chance, uniform
from cutline.core.problem import PerArm
from cutline.core.rewards import Rewards
from cutline.core.tally import Floats
from cutline.simulation.arms.base import Arms, numbers
from cutline.simulation.arms.bernoulli import Bernoulli


@dataclass(frozen=True)
class Duels(Arms):
    """Options that are compared in pairs; a pull is one duel, 1 when it is won, else 0.

    ``preferences[i][j]`` is the chance that option i beats option j, 1 less that of the reverse;
    what stands on the diagonal does not matter. Every option is an arm, and a pull of it is a duel
    with one of the other options, drawn evenly: its mean is its Borda score, and a threshold of
    one half asks which options win more often than not.

    With ``reference`` every duel is with that option. It is then no arm itself: the other options
    are, in their order, so arm a is option a before the reference and option a + 1 from it on.

    >>> chances = [[0.5, 0.75, 1.0], [0.25, 0.5, 0.75], [0.0, 0.25, 0.5]]
    >>> Duels(chances).means
    array([0.875, 0.5  , 0.125])
    >>> Duels(chances, reference=1).means  # arms 0 and 1 are options 0 and 2
    array([0.75, 0.25])
    """

    name = "duels"

    preferences: tuple[tuple[float, ...], ...]
    reference: int | None = None

    def __post_init__(self) -> None:
        rows = [list(np.atleast_1d(row)) for row in self.preferences]
        if len(rows) < 2 or any(len(row) != len(rows) for row in rows):
            raise ValueError(
                "preferences must have a row and a column for each of at least two options, got "
                f"{len(rows)} rows of {', '.join(sorted({str(len(row)) for row in rows})) or 0}"
            )
        for i in range(len(rows)):
            rows[i][i] = 0.5
        chances = [tuple(map(float, row)) for row in rows]
        for i, row in enumerate(chances):
            for j, chance in enumerate(row):
                if not 0 <= chance <= 1:
                    raise ValueError(f"a preference is a chance from 0 to 1, got {chance!r}")
                if abs(chance + chances[j][i] - 1) > 1e-9:
                    raise ValueError(
                        f"the preferences of options {i} and {j} must add up to 1, got {chance!r} "
                        f"and {chances[j][i]!r}: one of the two wins"
                    )
        if self.reference is not None:
            known = hasattr(self.reference, "__index__") and not isinstance(self.reference, bool)
            if not known or self.reference not in range(len(chances)):
                raise ValueError(
                    f"the reference is the number of an option, 0 to {len(chances) - 1}, "
                    f"got {self.reference!r}"
                )
            object.__setattr__(self, "reference", operator.index(self.reference))
        object.__setattr__(self, "preferences", tuple(chances))

    @classmethod
    def from_strengths(cls, strengths: Sequence[float], reference: int | None = None) -> Self:
        """Bradley and Terry's model: option i beats j with chance s_i / (s_i + s_j).

        >>> Duels.from_strengths([3.0, 1.0]).means
        array([0.75, 0.25])
        """
        s = numbers("the strength of an option", strengths)
        for strength in s:
            if strength <= 0:
                raise ValueError(f"the strength of an option is above 0, got {strength!r}")
        return cls(tuple(tuple(1 / (1 + other / own) for other in s) for own in s), reference)

    @staticmethod
    def sample(
        chance: Chance, option: float, options: float, reference: float, table: Floats
    ) -> float:
        """Draw an opponent, unless it is the reference, and then who wins."""
        own = int(option)
        opponent = int(reference)
        if opponent < 0:
            opponent = int(uniform(chance, 0) * (options - 1.0))
            if opponent >= own:  # the others, in their order
                opponent += 1
        return 1.0 if uniform(chance, 1) > 1.0 - table[own * int(options) + opponent] else 0.0

    @property
    def rewards(self) -> Rewards:
        """Binary."""
        return Rewards("binary")

    @property
    def means(self) -> Floats:
        """The chance of winning a duel."""
        chances = self.preferences
        if self.reference is not None:
            return np.array([chances[i][self.reference] for i in self._options])
        others = len(chances) - 1
        return np.array(
            [math.fsum((*row[:i], *row[i + 1 :])) / others for i, row in enumerate(chances)]
        )

    @property
    def noise_scale(self) -> Floats:
        """One half, as for all rewards from 0 to 1."""
        return np.full(len(self), 0.5)

    def above(self, level: PerArm) -> Floats:
        """The means for levels from 0 up to, but not at, 1."""
        return Bernoulli(self.means).above(level)

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """The option that an arm is, how many there are, and the reference, or -1 for none."""
        option = np.array(self._options, dtype=float)
        reference = -1.0 if self.reference is None else float(self.reference)
        return {
            "option": option,
            "options": np.full(len(option), float(len(self.preferences))),
            "reference": np.full(len(option), reference),
        }

    def table(self) -> Floats:
        """The preferences, row by row."""
        return np.array(self.preferences).ravel()

    @property
    def _options(self) -> list[int]:
        """The option that every arm is."""
        return [i for i in range(len(self.preferences)) if i != self.reference]
