"""What one trial gives back: the kind of reward and its range."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_RANGES = {
    "binary": (0.0, 1.0),
    "bounded": (0.0, 1.0),
    "gaussian": (-math.inf, math.inf),
    "poisson": (0.0, math.inf),
    "exponential": (0.0, math.inf),
    "heavy": (-math.inf, math.inf),
}
HAIR = 1.0 - 1e-9  # of a sum of rewards at the end of a range, what rounding leaves for certain
LARGEST = 1e100  # beyond, sums of squares would overflow


@dataclass(frozen=True)
class Rewards:
    """The kind of reward a problem has.

    ``binary`` (0 or 1), ``bounded`` (any number from ``low`` to ``high``), ``gaussian``,
    ``poisson`` (counts), ``exponential`` (waiting times) or ``heavy`` (anything with a mean).
    ``sd`` is the standard deviation of gaussian rewards (or a sub-Gaussian scale), one or one per
    arm, where it is known; ``variance`` is a number that no arm's variance exceeds, for heavy ones.

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
    sd: float | Sequence[float] | None = field(default=None, kw_only=True)
    variance: float | None = field(default=None, kw_only=True)

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
            if max(abs(low), abs(high)) > LARGEST:
                raise ValueError(
                    f"bounds of rewards must be at most {LARGEST:g} in size, got {low!r} and "
                    f"{high!r}"
                )
        elif (self.low, self.high) not in ((None, None), (low, high)):
            raise ValueError(f"only bounded rewards take low and high, {self.kind} has its own")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.sd is not None:
            several = isinstance(self.sd, Sequence | np.ndarray)
            sds = tuple(map(float, self.sd)) if several else (float(self.sd),)  # type: ignore[arg-type]
            _positive("sd", sds, self.kind, "gaussian")
            object.__setattr__(self, "sd", sds if several else sds[0])
        if self.variance is not None:
            _positive("variance", (float(self.variance),), self.kind, "heavy")
            object.__setattr__(self, "variance", float(self.variance))

    def to_dict(self) -> dict[str, Any]:
        """The kind as plain values, for a file."""
        values: dict[str, Any] = {"kind": self.kind}
        if self.kind == "bounded":
            values |= {"low": self.low, "high": self.high}
        known = {"sd": self.sd, "variance": self.variance}
        return values | {name: value for name, value in known.items() if value is not None}

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

    def bar(self, threshold: float) -> float:
        """What the mean, counted from the origin, must reach to be above: the threshold.

        A hair less at the upper end of bounded rewards, as sums are rounded: rewards that are all
        at the end have their mean there.

        >>> Rewards("bounded", -1, 3).bar(2.0), Rewards("bounded", 0, 0.1).bar(0.1)
        (3.0, 0.0999999999)
        """
        tau = threshold - self.origin(threshold)
        return tau * HAIR if self.kind == "bounded" and threshold == self.high else tau

    def check(self, value: float) -> float:
        """The reward as a float, or a ValueError that says why it cannot be one."""
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if self.kind == "binary" and number in (0.0, 1.0):
            return number
        if not math.isfinite(number):
            raise ValueError(f"a reward must be a finite number, got {value!r}")
        if self.kind == "binary":
            raise ValueError(f"a binary reward is 0 or 1, got {value!r}")
        if abs(number) > LARGEST:
            raise ValueError(f"a reward must be at most {LARGEST:g} in size, got {value!r}")
        assert self.low is not None and self.high is not None
        if self.kind == "poisson" and not number.is_integer():
            raise ValueError(f"a poisson reward is a whole number, got {value!r}")
        if not self.low <= number <= self.high:
            raise ValueError(
                f"a {self.kind} reward lies between {self.low:g} and {self.high:g}, got {value!r}"
            )
        return number


def _positive(name: str, values: Sequence[float], kind: str, wanted: str) -> None:
    if kind != wanted:
        raise ValueError(f"{name} is for {wanted} rewards, these are {kind}")
    for value in values:
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} of {wanted} rewards must be above 0, got {value!r}")
        if not 1 / LARGEST <= value <= LARGEST:
            raise ValueError(
                f"{name} of {wanted} rewards must lie between {1 / LARGEST:g} and {LARGEST:g}, got "
                f"{value!r}"
            )
