"""Evidence in the simulator: its functions, compiled, over one array of columns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutline.core.evidence import Evidence
from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import wants, write_part
from cutline.simulation.bandit import Bandit

# The first rows; the live kernel knows them by number.
SUM_PULLS, SUM_TOTAL, SUM_SQUARES, TOP_ABOVE, TOP_BELOW, NULL = range(6)
_ROWS = ("pulls", "total", "squares", "top_above", "top_below", "null")


@dataclass(frozen=True)
class Grounds:
    """Where the evidence of every arm is kept, and the function that takes one more reward.

    ``weigh(proof, width, i, reward, step)`` adds a reward of arm i, ``step`` being the pulls told
    in the game so far; the largest logarithms of the e-values are kept as top_above and top_below.
    """

    rows: tuple[str, ...]
    weigh: Callable[..., Any]
    columns: Floats  # before the first pull, arms in the order they are named


def null_sides(problem: Problem, means: Floats) -> Floats:
    """Which claims would be false: -1 "above" (mean at the lower edge or less), 1 "below", 0 none.

    Both edges count, which is stricter than the loss. With precision 0 an arm at its threshold is
    above, so only "below" is false.

    >>> band = Problem(arms=3, threshold=0.5, precision=0.1, rewards="binary")
    >>> null_sides(band, np.array([0.4, 0.5, 0.6]))
    array([-1.,  0.,  1.])
    """
    tau, eps = problem.thresholds, problem.precisions
    slack = 1e-12 * (np.maximum(np.abs(tau), np.abs(means)) + eps)
    slack[eps == 0] = 0.0
    high = means >= tau + eps - slack
    low = (means <= tau - eps + slack) & ~high
    return high.astype(np.float64) - low


def grounds_of(evidence: Evidence | None, bandit: Bandit) -> Grounds:
    """The evidence of a bandit's arms; None weighs nothing."""
    problem = bandit.problem
    if evidence is None:
        nothing = write_part("def part(proof, width, i, reward, step):\n    pass\n")
        return Grounds(_ROWS, nothing, np.zeros((len(_ROWS), len(problem.arms))))
    evidence.check(problem)
    fixed = evidence.columns(problem)
    rows = (*_ROWS, *evidence.keeps, *fixed)
    columns = np.zeros((len(rows), len(problem.arms)))
    columns[NULL] = null_sides(problem, bandit.means)
    for row, values in zip(rows[len(rows) - len(fixed) :], fixed.values(), strict=True):
        columns[rows.index(row)] = values
    return Grounds(rows, _weigh(evidence, rows), columns)


def _weigh(evidence: Evidence, rows: tuple[str, ...]) -> Callable[..., Any]:
    owner = type(evidence).__name__
    known = (*rows[:3], *rows[len(_ROWS) :], "step")

    def call(name: str, function: Callable[..., Any], also: tuple[str, ...] = ()) -> str:
        names = wants(function, (*known, *also), f"{owner}.{name}")
        return f"{name}({', '.join(place(n) for n in names)})"

    def place(name: str) -> str:
        return f"proof[{rows.index(name)} * width + i]" if name in rows else name

    lines = ["def part(proof, width, i, reward, step):"]
    if evidence.learn is not None:
        kept = ", ".join(place(name) for name in evidence.keeps)
        lines.append(f"    {kept} = {call('learn', evidence.learn, ('reward',))}")
    lines += [
        f"    {place('pulls')} += 1.0",
        f"    {place('total')} += reward",
        f"    {place('squares')} += reward * reward",
    ]
    for name, top in (("log_above", "top_above"), ("log_below", "top_below")):
        function = getattr(evidence, name)
        lines += [f"    value = {call(name, function)}", f"    if value > {place(top)}:"]
        lines.append(f"        {place(top)} = value")
    names: dict[str, Any] = {"log_above": evidence.log_above, "log_below": evidence.log_below}
    if evidence.learn is not None:
        names["learn"] = evidence.learn
    return write_part("\n".join(lines) + "\n", **names)
