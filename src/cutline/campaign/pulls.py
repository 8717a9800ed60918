"""Trials to make, as an ask hands them out."""

from typing import NamedTuple

from cutline.core.chance import REWARD, chance, uniform


class Pull(NamedTuple):
    """One trial to make: of which arm, and the handle to report it by.

    ``number`` counts the arm's pulls from 0, ``cost`` is what was reserved for it, and at
    ``expires`` (seconds since 1970) it is given up unless it was told or a heartbeat came.
    """

    id: str
    arm: str
    number: int
    cost: int
    expires: float
    key: tuple[int, int, int]

    @property
    def seed(self) -> int:
        """A whole number below 2**31 that is this trial's alone, the same in every replay."""
        key0, key1, arm = self.key
        what = chance(key0, key1, 0, arm, 0, REWARD)
        start, stride = (int(uniform(what, draw) * 2**31) for draw in (0, 1))
        return (start + self.number * (2 * stride + 1)) % 2**31  # no two of an arm are the same


class Pulls(tuple[Pull, ...]):
    """What an ask hands out. Where it is empty, ``why`` says why.

    ``"wait"``: all that is left is in flight, ``until`` its first lease runs out; ``"paused"``;
    ``"done"``.
    """

    why: str = ""
    until: float | None = None

    @classmethod
    def none(cls, why: str, until: float | None) -> "Pulls":
        """Nothing, and why."""
        empty = cls()
        empty.why, empty.until = why, until
        return empty
