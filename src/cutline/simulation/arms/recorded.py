"""Arms that replay what was measured: a pull draws from stored rewards, with replacement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from cutline.core.problem import PerArm, per_arm
from cutline.core.rewards import Rewards
from cutline.core.tally import Floats
from cutline.simulation.arms.base import Arms


@dataclass(frozen=True)
class Recorded(Arms):
    """Arms that draw from stored values, each with the number of times it was seen.

    >>> arms = Recorded.from_samples([[0, 1, 1, 1], [0.5, 0.25]], Rewards("bounded"))
    >>> arms.means
    array([0.75 , 0.375])
    >>> Recorded.from_counts([{0: 90, 1: 10}], Rewards("binary")).means
    array([0.1])
    """

    name = "recorded"

    values: tuple[tuple[float, ...], ...]
    counts: tuple[tuple[int, ...], ...]
    kind: Rewards | str | dict[str, Any]

    def __post_init__(self) -> None:
        if isinstance(self.kind, Rewards):
            kind = self.kind
        else:
            kind = Rewards(self.kind) if isinstance(self.kind, str) else Rewards(**self.kind)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "values", tuple(tuple(map(float, row)) for row in self.values))
        object.__setattr__(self, "counts", tuple(tuple(map(int, row)) for row in self.counts))
        if not self.values or len(self.values) != len(self.counts):
            raise ValueError("recorded arms need stored values and their counts for every arm")
        for arm, (values, counts) in enumerate(zip(self.values, self.counts, strict=True)):
            if not values or len(values) != len(counts) or min(counts) < 1:
                raise ValueError(f"arm {arm} needs stored values, each seen at least once")
            if list(values) != sorted(set(values)):
                raise ValueError(f"the stored values of arm {arm} must rise: each once, sorted")
            for value in values:
                kind.check(value)

    @classmethod
    def from_counts(cls, counts: Sequence[Mapping[float, int]], rewards: Rewards | str) -> Self:
        """From a mapping value -> times seen for every arm."""
        rows = [sorted((float(v), int(n)) for v, n in row.items() if n) for row in counts]
        return cls(
            tuple(tuple(v for v, _ in row) for row in rows),
            tuple(tuple(n for _, n in row) for row in rows),
            rewards,
        )

    @classmethod
    def from_samples(cls, samples: Sequence[Sequence[float]], rewards: Rewards | str) -> Self:
        """From the rewards seen of every arm, in any order."""
        rows = [np.unique(np.asarray(row, dtype=float), return_counts=True) for row in samples]
        return cls(
            tuple(tuple(map(float, values)) for values, _ in rows),
            tuple(tuple(map(int, counts)) for _, counts in rows),
            rewards,
        )

    def to_dict(self) -> dict[str, Any]:
        """The stored data as plain values, for a file."""
        return super().to_dict() | {"kind": self.rewards.to_dict()}

    @staticmethod
    def quantile(
        u: float, start: float, size: float, seen: float, origin: float, table: Floats
    ) -> float:
        """The value whose run of the cumulative counts holds floor(u * seen), by bisection."""
        place = int(u * seen)
        low = int(start)
        high = low + int(size) - 1
        while low < high:
            middle = (low + high) // 2
            if place < table[2 * middle + 1]:
                high = middle
            else:
                low = middle + 1
        value: float = table[2 * low] - origin
        return value

    @property
    def rewards(self) -> Rewards:
        """As said when the data were stored."""
        assert isinstance(self.kind, Rewards)
        return self.kind

    @property
    def means(self) -> Floats:
        """The means of the stored rewards."""
        return np.array(
            [
                np.dot(values, counts) / sum(counts)
                for values, counts in zip(self.values, self.counts, strict=True)
            ]
        )

    @property
    def noise_scale(self) -> Floats | None:
        """Half of the range of binary and bounded rewards; others have no known scale."""
        if self.rewards.kind not in ("binary", "bounded"):
            return None
        low, high = self.rewards.low, self.rewards.high
        assert low is not None and high is not None
        return np.full(len(self), (high - low) / 2)

    def above(self, level: PerArm) -> Floats:
        """The share of the stored rewards above the level."""
        levels = per_arm("level", level, len(self))
        return np.array(
            [
                np.dot(np.array(values) > level, counts) / sum(counts)
                for values, counts, level in zip(self.values, self.counts, levels, strict=True)
            ]
        )

    def columns(self, origin: Floats) -> dict[str, Floats]:
        """Where an arm's values start in the table, how many there are, and how often seen."""
        sizes = np.array([len(row) for row in self.values], dtype=float)
        seen = np.array([sum(row) for row in self.counts], dtype=float)
        return {"start": np.cumsum(sizes) - sizes, "size": sizes, "seen": seen, "origin": origin}

    def table(self) -> Floats:
        """Pairs of a value and the count of all values up to it."""
        rows = [
            np.column_stack([values, np.cumsum(counts)])
            for values, counts in zip(self.values, self.counts, strict=True)
        ]
        return np.concatenate(rows).ravel()
