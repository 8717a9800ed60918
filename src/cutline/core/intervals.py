"""How sure a simulation is: intervals for rates, for means and for paired differences."""

import math
from statistics import NormalDist

from cutline.core.special import beta_quantile

# A variance this small beside the mean square may be nothing but rounding in the sums.
_ROUNDING = 1e-9


def clopper_pearson(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """The exact interval for a rate: whatever the rate, it is covered at least ``level`` often.

    Neither count needs to be whole (see :func:`bounded_mean`). No trials leave (0, 1).

    >>> low, high = clopper_pearson(0, 100)
    >>> low, round(high, 6)
    (0.0, 0.036217)
    """
    _check_level(level)
    if not 0 <= trials < math.inf:
        raise ValueError(f"trials must be 0 or more, got {trials!r}: it counts what was tried")
    if not 0 <= successes <= trials:
        raise ValueError(
            f"successes must lie between 0 and trials = {trials!r}, got {successes!r}: "
            "it counts the trials that went one way"
        )
    # The rates at which so many successes, or so few, have chance (1 - level) / 2.
    low = beta_quantile((1 - level) / 2, successes, trials - successes + 1) if successes else 0.0
    if successes == trials:
        return low, 1.0
    return low, beta_quantile((1 + level) / 2, successes + 1, trials - successes)


def bounded_mean(
    total: float, squares: float, games: int, top: float, level: float = 0.95
) -> tuple[float, float]:
    """An interval for the mean of something in [0, top], from its sum and its sum of squares.

    Korn and Graubard (1998): the Clopper-Pearson interval of the coin that has the same mean p (in
    units of ``top``), tossed until its mean varies as much as the one seen, n* = p(1 - p) / var
    times. For a quantity that is always 0 or ``top`` it is Clopper-Pearson itself.

    When all games agree n* = games, so the width is never 0. The level is approximate: with 10
    games 95 % may mean 93 %, and a rare large value that no game has shown is not allowed for.

    >>> low, high = bounded_mean(total=30.0, squares=50.0, games=100, top=5.0)
    >>> round(low, 3), round(high, 3)
    (0.186, 0.454)
    """
    _check_level(level)
    _check_sums(total, squares, games, top)
    if top == 0:
        return 0.0, 0.0
    if games == 0:
        return 0.0, float(top)
    p = min(total / games / top, 1.0)
    spread = squares - total * total / games
    n = float(games)
    if spread > _ROUNDING * squares:
        variance_of_mean = spread / (games - 1) / games / top**2
        # Nothing in [0, 1] varies more than a coin of the same mean, so n* < games is chance.
        n = max(n, p * (1 - p) / variance_of_mean)
    low, high = clopper_pearson(p * n, n, level)
    return low * top, high * top


def paired_difference(
    only_first: int, only_second: int, games: int, level: float = 0.95
) -> tuple[float, float]:
    r"""Tango's (1998) score interval for the difference p1 - p2 of two rates in the same games.

    All differences that the score test accepts, those with

    .. math:: |b - c - n\Delta| \le z\sqrt{n\,(2\tilde q + \Delta(1 - \Delta))}

    where b and c count the games that only the first and only the second got, n all games, and
    :math:`\tilde q` is the likeliest rate of c when the difference is :math:`\Delta`. The level is
    approximate. No games leave (-1, 1).

    >>> [round(end, 3) for end in paired_difference(only_first=1, only_second=7, games=21)]
    [-0.517, -0.026]
    """
    _check_level(level)
    if only_first < 0 or only_second < 0 or only_first + only_second > games:
        raise ValueError(
            "only_first and only_second must be 0 or more and together at most games = "
            f"{games!r}, got {only_first!r} and {only_second!r}: they count the games that "
            "went one way for one and the other way for the other"
        )
    if games == 0:
        return -1.0, 1.0
    z = -NormalDist().inv_cdf((1 - level) / 2)
    high = _score_end(only_first, only_second, games, z)
    # The lower end is the upper one with first and second exchanged.
    return 0.0 - _score_end(only_second, only_first, games, z), high  # never -0


def _score_end(b: int, c: int, n: int, z: float) -> float:
    """The largest difference that the score test accepts, by halving."""
    inside, outside = (b - c) / n, 1.0
    while inside < (delta := (inside + outside) / 2) < outside:
        # The likeliest rate of c given delta solves 2n q^2 + B q + C = 0 (its larger root).
        B = (2 * n - b + c) * delta - b - c
        C = -c * delta * (1 - delta)
        root = math.sqrt(max(B * B - 8 * n * C, 0.0))
        q = (root - B) / (4 * n) if B <= 0 else -2 * C / (B + root)
        if (n * delta - (b - c)) ** 2 <= z * z * n * (2 * q + delta * (1 - delta)):
            inside = delta
        else:
            outside = delta
    return inside


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(
            f"level must lie between 0 and 1, got {level!r}: it is the share of intervals "
            "that hold the truth, 0.95 as a rule"
        )


def _check_sums(total: float, squares: float, games: int, top: float) -> None:
    if not 0 <= games < math.inf:
        raise ValueError(f"games must be 0 or more, got {games!r}: it counts the terms of the sums")
    if not 0 <= top < math.inf:
        raise ValueError(f"top must be 0 or more, got {top!r}: it is the most one game can add")
    slack = 1 + _ROUNDING
    if not 0 <= total <= games * top * slack:
        raise ValueError(
            f"total must lie between 0 and games * top = {games * top!r}, got {total!r}: "
            "it is the sum over all games of a quantity between 0 and top"
        )
    if not (total * total <= games * squares * slack and squares <= top * total * slack):
        raise ValueError(
            f"squares must lie between total**2 / games and top * total, got {squares!r} with "
            f"total = {total!r}, games = {games!r}, top = {top!r}: it is the sum of the squares "
            "of the same quantity"
        )
