"""The ratio of two error rates in the same games, with a score interval."""

import math
from collections.abc import Callable
from statistics import NormalDist


def paired_ratio(
    both: int, only_first: int, only_second: int, games: int, level: float
) -> tuple[float, float]:
    r"""Nam and Blackwelder's (2002) score interval for the ratio of two rates in the same games.

    All ratios :math:`\theta = p_1 / p_2` that the score test accepts, those with

    .. math:: |x_1 - \theta x_2| \le z \sqrt{n\,\theta\,(\tilde p_{10} + \tilde p_{01})}

    where x counts the games that each has wrong and :math:`\tilde p` are the likeliest rates of the
    games that only one of them has wrong, given :math:`\theta`. The level is approximate.

    >>> low, high = paired_ratio(both=10, only_first=5, only_second=20, games=1000, level=0.95)
    >>> round(low, 3), round(high, 3)
    (0.308, 0.783)
    """
    first, second = both + only_first, both + only_second
    if first == 0 and second == 0:
        return 0.0, math.inf
    z = NormalDist().inv_cdf((1 + level) / 2)

    def accepted(theta: float) -> bool:
        differ = discordant(theta, both, only_first, only_second, games)
        return (first - theta * second) ** 2 <= z * z * games * theta * differ

    if first == second and only_first == 0:  # never apart: exactly the same games
        middle = 1.0
    else:
        middle = max(first, 1e-3) / max(second, 1e-3)
    low = 0.0 if first == 0 else _end(accepted, middle, 1e-12)
    return low, math.inf if second == 0 else _end(accepted, middle, 1e12)


def _end(accepted: Callable[[float], bool], inside: float, outside: float) -> float:
    """The last ratio that is accepted between one that is and one that is not, by halving."""
    for _ in range(45):
        middle = math.sqrt(inside * outside)
        if accepted(middle):
            inside = middle
        else:
            outside = middle
    return inside


def discordant(theta: float, both: int, only_first: int, only_second: int, games: int) -> float:
    """The likeliest rate of games that one alone has wrong, when the rates' ratio is theta.

    With a multiplier m for the constraint p11 + p10 = theta (p11 + p01), the likeliest rates are
    counts over n + m g, where g is 1 - theta, 1 and -theta; m is found by halving.
    """
    n = float(games)
    least = 1e-12 * n  # a multiplier at its bound leaves a count of 0 over 0
    low, high = -n, n / theta
    for _ in range(60):
        m = (low + high) / 2
        slope = (
            (1 - theta) * both / max(n + m * (1 - theta), least)
            + only_first / max(n + m, least)
            - theta * only_second / max(n - theta * m, least)
        )
        low, high = (m, high) if slope > 0 else (low, m)
    p11 = both / max(n + m * (1 - theta), least)
    if only_second > 0:
        p01 = only_second / max(n - theta * m, least)
        p10 = max((theta - 1) * p11 + theta * p01, 0.0)
    else:
        p10 = only_first / max(n + m, least) if only_first else max((theta - 1) * p11, 0.0)
        p01 = max((p10 - (theta - 1) * p11) / theta, 0.0)
    return p10 + p01
