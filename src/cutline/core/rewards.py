"""What one trial gives back: the kind of reward and its range."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cutline.core.numbers import MISTAKES, real, shown

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
        if not isinstance(self.kind, str) or self.kind not in _RANGES:
            raise ValueError(
                f"the kind of reward must be one of {', '.join(_RANGES)}, got {shown(self.kind)}"
            )
        low, high = _RANGES[self.kind]
        if self.kind == "bounded":
            low = low if self.low is None else _bound("the low end", self.low)
            high = high if self.high is None else _bound("the high end", self.high)
            if not low < high:
                raise ValueError(f"bounded rewards need low below high, got {low!r} and {high!r}")
            if high - low < 1.0 / LARGEST:
                raise ValueError(
                    f"bounds of rewards must be at least {1.0 / LARGEST:g} apart, got {low!r} and "
                    f"{high!r}"
                )
        elif not (_is(self.low, low) and _is(self.high, high)):
            raise ValueError(f"only bounded rewards take low and high, {self.kind} has its own")
        object.__setattr__(self, "low", low + 0)  # -0.0 is 0
        object.__setattr__(self, "high", high + 0)
        if self.sd is not None:
            given: Any = self.sd
            several = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
            several = several and not (isinstance(given, np.ndarray) and not given.ndim)
            sds = tuple(real("sd", sd) for sd in (given if several else (given,)))
            _positive("sd", sds, self.kind, "gaussian")
            object.__setattr__(self, "sd", sds if several else sds[0])
        if self.variance is not None:
            variance = real("variance", self.variance)
            _positive("variance", (variance,), self.kind, "heavy")
            object.__setattr__(self, "variance", variance)

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

        >>> Rewards("bounded", -1, 3).bar(2.0), Rewards("bounded", 0, 1).bar(1.0)
        (3.0, 0.999999999)
        """
        tau = threshold - self.origin(threshold)
        return tau * HAIR if self.kind == "bounded" and threshold == self.high else tau

    def check(self, value: Any) -> float:
        """The reward as a float, or a ValueError that says why it cannot be one."""
        number = value if type(value) is float else _number(value)
        if self.kind == "binary" and number in (0.0, 1.0):
            return number
        if not math.isfinite(number):
            raise ValueError(f"a reward must be a finite number, got {shown(value)}")
        if self.kind == "binary":
            raise ValueError(f"a binary reward is 0 or 1, got {shown(value)}")
        if abs(number) > LARGEST:
            raise ValueError(f"a reward must be at most {LARGEST:g} in size, got {shown(value)}")
        assert self.low is not None and self.high is not None
        if self.kind == "poisson" and not number.is_integer():
            raise ValueError(f"a poisson reward is a whole number, got {shown(value)}")
        if not self.low <= number <= self.high:
            raise ValueError(
                f"a {self.kind} reward lies between {self.low:g} and {self.high:g}, got "
                f"{shown(value)}"
            )
        return number


def _number(value: Any) -> float:
    """A value as a float; one that is too large for it is infinite."""
    if type(value) is not int and (
        isinstance(value, str | bytes) or not hasattr(value, "__float__")
    ):
        raise ValueError(f"a reward must be a number, got {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except MISTAKES as error:
        raise ValueError(f"a reward must be a number, got {shown(value)}") from error


def _is(given: object, own: float) -> bool:
    """Whether an end of the range was left out, or is the kind's own."""
    return given is None or (isinstance(given, int | float) and given == own)


def _bound(name: str, value: object) -> float:
    """An end of the range of bounded rewards, as whole a number as it was given."""
    number = real(f"{name} of bounded rewards", value)
    if abs(number) > LARGEST:
        raise ValueError(f"{name} of bounded rewards is beyond {LARGEST:g}: {shown(value)}")
    return value if type(value) in (int, float) else number  # type: ignore[return-value]


def _positive(name: str, values: Sequence[float], kind: str, wanted: str) -> None:
    if kind != wanted:
        raise ValueError(f"{name} is for {wanted} rewards, these are {kind}")
    for value in values:
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} of {wanted} rewards must be above 0, got {shown(value)}")
        if not 1 / LARGEST <= value <= LARGEST:
            raise ValueError(
                f"{name} of {wanted} rewards must lie between {1 / LARGEST:g} and {LARGEST:g}, got "
                f"{value!r}"
            )
