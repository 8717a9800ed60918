"""The budgets at which APT errs as often as wanted."""

import numpy as np

from cutline.core.tally import Floats, Ints
from cutline.rules import APT
from cutline.simulation.bandit import Bandit
from cutline.simulation.curves import crossing, grid
from cutline.simulation.simulate import simulate
from cutline.simulation.suite.instance import MANY, TARGETS, TARGETS_MANY, Budgets

POINTS = 120  # horizons on a curve


def find_budgets(
    bandit: Bandit,
    *,
    most: int = 200_000,
    games: int = 2_000,
    seed: int = 1,
    threads: int | None = None,
) -> tuple[Budgets, tuple[float, float, float]]:
    """The budgets at which APT errs as often as :data:`TARGETS` say, and how often it does there.

    Beyond 500 arms the share of wrong arms stands in for the share of wrong games. The budgets are
    rounded to two digits. No budget exceeds ``most``: where APT errs too often even then, they are
    spread evenly, as ratios, between the largest that was reached (or a quarter) and ``most``.

    >>> from cutline.simulation.arms import Bernoulli
    >>> find_budgets(Bandit(Bernoulli([0.2, 0.8]), threshold=0.5))[0]
    (4, 14, 24)
    """
    arms = len(bandit.problem.arms)
    targets = TARGETS_MANY if arms > MANY else TARGETS
    last, few = 8 * arms, min(games, 256)
    while last < most and apt_curve(bandit, last, few, seed, threads)[1][-1] > 0.8 * targets[-1]:
        last = min(3 * last, most)
    horizons, curve = apt_curve(bandit, last, games, seed, threads)
    while last < most and curve[-1] > targets[-1]:  # the few games were lucky
        last = min(2 * last, most)
        horizons, curve = apt_curve(bandit, last, games, seed, threads)
    found = [_two_digits(crossing(horizons, curve, target)) for target in targets]
    if curve[-1] > targets[-1]:
        low = found[0] if curve[-1] < targets[0] else most / 4
        found = [_two_digits(low ** (1 - x) * most**x) for x in (0.0, 0.5, 1.0)]
    # Some rules pull every arm twice before they choose.
    low = max(found[0], 2 * arms)
    budgets = (low, max(found[1], low + 1), max(found[2], low + 2, found[1] + 1))
    seen = np.interp(np.log(budgets), np.log(horizons), curve)
    return budgets, (float(seen[0]), float(seen[1]), float(seen[2]))


def apt_curve(
    bandit: Bandit, budget: int, games: int, seed: int, threads: int | None
) -> tuple[Ints, Floats]:
    """Horizons, each a few percent further, and the share of games (or arms) that APT has wrong."""
    arms = len(bandit.problem.arms)
    steps = grid(arms, budget, POINTS)
    result = simulate(
        bandit, APT(), budget=budget, horizons=steps, games=games, seed=seed, threads=threads
    )
    curve = result.wrong_arms_curve / arms if arms > MANY else result.error_curve
    return result.horizons, curve[0]


def _two_digits(value: float | None) -> int:
    return 0 if value is None else int(float(f"{value:.1e}"))
