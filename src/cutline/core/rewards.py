"""What one trial gives back: the kind of reward and its range."""

import math
from dataclasses import dataclass
from typing import Any

_RANGES = {
    "binary": (0.0, 1.0),
    "bounded": (0.0, 1.0),
    "gaussian": (-math.inf, math.inf),
    "poisson": (0.0, math.inf),
    "exponential": (0.0, math.inf),
    "heavy": (-math.inf, math.inf),
}


@dataclass(frozen=True)
class Rewards:
    """The kind of reward a problem has.

    ``binary`` (0 or 1), ``bounded`` (any number from ``low`` to ``high``), ``gaussian``,
    ``poisson`` (counts), ``exponential`` (waiting times) or ``heavy`` (anything with a mean).

    >>> Rewards("binary").check(1)
    1.0
    >>> Rewards("bounded", low=-1, high=1).check(2)
    Traceback (most recent call last):
    ...
    ValueError: a bounded reward lies between -1 and 1, got 2
    """

    kind: str
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in _RANGES:
            raise ValueError(
                f"the kind of reward must be one of {', '.join(_RANGES)}, got {self.kind!r}"
            )
        low, high = _RANGES[self.kind]
        if self.kind == "bounded":
            low = low if self.low is None else self.low
            high = high if self.high is None else self.high
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ValueError(
                    f"bounded rewards need finite bounds, low below high, got {low!r} and {high!r}"
                )
        elif (self.low, self.high) not in ((None, None), (low, high)):
            raise ValueError(f"only bounded rewards take low and high, {self.kind} has its own")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def to_dict(self) -> dict[str, Any]:
        """The kind as plain values, for a file."""
        bounds = {"low": self.low, "high": self.high} if self.kind == "bounded" else {}
        return {"kind": self.kind, **bounds}

    def origin(self, threshold: float) -> float:
        """Where an arm's sums are counted from.

        Counts stay whole numbers when summed from 0, so exact ties stay exact; rewards on the whole
        line are summed as x - threshold, which keeps the digits when values are large.

        >>> Rewards("binary").origin(0.5), Rewards("gaussian").origin(1e9)
        (0.0, 1000000000.0)
        """
        if self.kind in ("gaussian", "heavy"):
            return threshold
        assert self.low is not None
        return self.low

    def check(self, value: float) -> float:
        """The reward as a float, or a ValueError that says why it cannot be one."""
        assert self.low is not None and self.high is not None
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"a reward must be a finite number, got {value!r}")
        if self.kind == "binary" and number not in (0.0, 1.0):
            raise ValueError(f"a binary reward is 0 or 1, got {value!r}")
        if self.kind == "poisson" and not number.is_integer():
            raise ValueError(f"a poisson reward is a whole number, got {value!r}")
        if not self.low <= number <= self.high:
            raise ValueError(
                f"a {self.kind} reward lies between {self.low:g} and {self.high:g}, got {value!r}"
            )
        return number
