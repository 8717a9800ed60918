"""One game, played pull by pull in plain Python: what the simulator must agree with."""

from dataclasses import dataclass

import numpy as np

from cutline.core.chance import RULE, TIE, chance, seed_key, uniform
from cutline.core.tally import Floats, Tallies
from cutline.rules.base import Policy, Rule
from cutline.simulation.bandit import Bandit
from cutline.simulation.goals import SIDES
from cutline.simulation.parts import PULLS, TOTAL, assemble


@dataclass(frozen=True)
class Game:
    """The arms pulled in one game, by number and in order, their rewards, and the final tallies."""

    arms: list[int]
    rewards: list[float]
    tallies: Tallies


def tie_order(seed: int, game: int, arms: int) -> list[int]:
    """The arms in the order in which ties fall in one game: a random order, by a key per arm.

    >>> tie_order(seed=1, game=0, arms=4), tie_order(seed=1, game=0, arms=5)
    ([0, 3, 2, 1], [0, 3, 2, 4, 1])
    """
    key0, key1 = seed_key(seed)
    keys = [uniform(chance(key0, key1, game, arm, 0, TIE), 0) for arm in range(arms)]
    return sorted(range(arms), key=keys.__getitem__)


def play(bandit: Bandit, rule: Rule, *, budget: int, seed: int = 0, game: int = 0) -> Game:
    """Play one game in plain Python, with the rewards the simulator draws for it.

    >>> from cutline.rules import APT
    >>> from cutline.simulation import three_groups
    >>> play(three_groups(), APT(), budget=14, seed=1).arms[10:]
    [6, 6, 6, 0]
    """
    rule = rule.on(bandit.problem)
    parts = assemble(rule, bandit, SIDES)
    key0, key1 = seed_key(seed)
    width = len(bandit.problem.arms)
    order = tie_order(seed, game, width)
    table = bandit.arms.table()
    settings = parts.values(rule, bandit, budget)
    flat = parts.columns(rule, bandit, SIDES)[:, order].ravel()
    # Policies slice their columns and need arrays; formulas get Python's own floats.
    columns = flat if isinstance(rule, Policy) else flat.tolist()
    memory = np.zeros(rule.memory(width) if isinstance(rule, Policy) else 0)
    squares = np.zeros(width)
    arms: list[int] = []
    rewards: list[float] = []
    for step in range(budget):
        what = chance(key0, key1, game, 0, step, RULE)
        i = parts.pick(columns, width, memory, step, settings, what, uniform(what, 0))
        if not -1 <= i < width:
            raise ValueError(f"choose must return the place of an arm, or -1, not {i!r}")
        if i < 0:
            break
        reward = float(parts.draw(columns, width, i, key0, key1, game, table))
        parts.learn(columns, width, i, reward, step, settings)
        columns[PULLS * width + i] += 1.0
        columns[TOTAL * width + i] += reward
        squares[i] += reward * reward
        if parts.layout.squares:
            columns[parts.layout.squares * width + i] += reward * reward
        arms.append(order[i])
        rewards.append(reward + bandit.problem.origins[order[i]])
    back = np.argsort(order)

    def row(number: int) -> Floats:
        return np.array(columns[number * width : (number + 1) * width])

    return Game(
        arms,
        rewards,
        Tallies(
            row(PULLS).astype(np.int64)[back],
            row(TOTAL)[back],
            squares[back],
            bandit.problem.origins,
            {name: row(parts.layout.rows.index(name))[back] for name in rule.keeps},
        ),
    )
