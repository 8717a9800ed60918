"""What has been seen of an arm, in a few numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """What has been seen of one arm: pulls, and the sums of x - origin and its square.

    >>> tally = Tally(pulls=4, total=2.0)
    >>> tally.mean
    0.5
    >>> tally.add(1.0)
    Tally(pulls=5, total=3.0, squares=1.0, origin=0.0)
    """

    pulls: int = 0
    total: float = 0.0
    squares: float = 0.0
    origin: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of the rewards seen; an arm never pulled has none."""
        if self.pulls == 0:
            raise ValueError("an arm never pulled has no mean: look at tally.pulls first")
        return self.origin + self.total / self.pulls

    def add(self, reward: float) -> "Tally":
        """The tally after one more reward."""
        x = reward - self.origin
        return Tally(self.pulls + 1, self.total + x, self.squares + x * x, self.origin)


@dataclass(frozen=True, eq=False)
class Tallies:
    """The tallies of all arms, as arrays over arms; ``kept`` is what a rule keeps beside them.

    >>> tallies = Tallies.of([Tally(4, 2.0), Tally(0)])
    >>> tallies.means
    array([0.5, nan])
    >>> tallies[0].mean
    0.5
    """

    pulls: npt.NDArray[np.int64]
    total: Floats
    squares: Floats
    origin: Floats
    kept: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, tallies: list[Tally]) -> "Tallies":
        """Gather the tallies of the arms."""
        return cls(
            np.array([t.pulls for t in tallies], dtype=np.int64),
            np.array([t.total for t in tallies]),
            np.array([t.squares for t in tallies]),
            np.array([t.origin for t in tallies]),
        )

    @property
    def means(self) -> Floats:
        """The mean of every arm; nan where an arm was never pulled."""
        seen = self.pulls > 0
        means = np.full(len(self.pulls), np.nan)
        np.divide(self.total, self.pulls, out=means, where=seen)
        return means + self.origin

    def __len__(self) -> int:
        return len(self.pulls)

    def __getitem__(self, arm: int) -> Tally:
        return Tally(
            int(self.pulls[arm]),
            float(self.total[arm]),
            float(self.squares[arm]),
            float(self.origin[arm]),
        )
