"""What the statements take, checked."""

import math
import operator
from collections.abc import Sequence

import numpy as np

from cutline.core.numbers import real, shown
from cutline.core.tally import Floats

Numbers = Sequence[float] | Floats


def check_noise(noise_scale: float | None) -> float:
    """R, or a ValueError that says what it is."""
    if noise_scale is None:
        raise ValueError(
            "noise_scale is needed: the bounds hold for R-sub-Gaussian rewards and depend on R. "
            "It is 1/2 for rewards in [0, 1], half the width of the range for bounded ones, the "
            "standard deviation for gaussian ones (the largest where arms differ); poisson, "
            "exponential and heavy rewards have none"
        )
    if not 0 < noise_scale < math.inf:
        raise ValueError(
            f"noise_scale must be positive, got {noise_scale!r}: it is R, as for R-sub-Gaussian"
        )
    return float(noise_scale)


def check_arms(arms: int) -> int:
    """How many arms there are."""
    K = whole("arms", arms)
    if K < 1:
        raise ValueError(f"arms must be 1 or more, got {arms!r}")
    return K


def check_complexity(complexity: float) -> float:
    """H."""
    if not complexity > 0:
        raise ValueError(
            f"complexity must be positive, got {complexity!r}: it is the sum of 1/gap**2"
        )
    return float(complexity)


def check_confidence(confidence: float) -> None:
    """Refuse what is no chance."""
    try:
        number = real("confidence", confidence)
    except ValueError:
        number = math.nan
    if not 0 < number < 1:
        raise ValueError(
            f"confidence must lie between 0 and 1, got {shown(confidence)}: it is the chance of a "
            "right answer, 1 - delta"
        )


def whole(name: str, number: int) -> int:
    """A whole number."""
    try:
        return operator.index(number)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {number!r}") from None


def finite(name: str, values: Numbers) -> Floats:
    """Finite numbers, one per arm."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not numbers.size or not np.all(np.isfinite(numbers)):
        raise ValueError(f"{name} must be finite numbers, one per arm, got {values!r}")
    return numbers


def check_gaps(gaps: Numbers) -> Floats:
    """Distances, one per arm."""
    numbers = finite("gaps", gaps)
    if np.any(numbers < 0):
        raise ValueError(
            f"gaps must be 0 or more, got {float(np.min(numbers))!r}: they are distances"
        )
    return numbers
