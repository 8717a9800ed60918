"""Numbers that somebody handed in, as plain ones, or an error that says what was wanted."""

import math
import operator
from typing import Any

import numpy as np

# What somebody else's __float__, __str__ or __repr__ raises by mistake. Anything else passes
# through: it may be raised by a signal's handler, such as a timeout, and is not the value's fault.
MISTAKES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError,
    TypeError, ValueError,
)  # fmt: skip


def real(name: str, value: Any) -> float:
    """A finite number as a float; text is none, nor is a list of numbers.

    >>> from decimal import Decimal
    >>> real("threshold", Decimal("0.5"))
    0.5
    >>> real("threshold", 10**400)
    Traceback (most recent call last):
    ...
    ValueError: threshold must be a finite number, got one that is too large
    """
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise ValueError(f"{name} must be a number, got {shown(value)}")
    if isinstance(value, np.ndarray) and value.ndim:
        raise ValueError(f"{name} must be one number, got {value.size}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a finite number, got one that is too large") from None
    except MISTAKES as error:
        raise ValueError(f"{name} must be a number, got {shown(value)}") from error
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {shown(value)}")
    return number


def is_whole(value: object) -> bool:
    """Whether a value is a whole number by its type: an int, numpy's too, but not True or 1.0."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def as_whole(value: Any) -> int:
    """A whole number as Python's own."""
    return operator.index(value)


def as_text(name: str, value: object) -> str:
    """A value as text."""
    try:
        return str(value)
    except MISTAKES as error:
        raise TypeError(f"{name} must be a text, got {shown(value)}") from error


def shown(value: object) -> str:
    """A value as a message shows it: in short, whatever it is."""
    try:
        text = repr(value)
    except MISTAKES:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."
