"""The tournament's suite: bandits on which every rule is held against APT.

Instances are added, never removed. Means that a source does not print are the middle quantiles of a
law that is named, (i + 1/2) / K for arm i, so nothing was drawn by chance. The budgets are those
at which APT errs in 25, 5 and 1 % of games (beyond 500 arms: has 25, 5 and 1 wrong arms in 1,000);
``tools/suite_budgets.py`` finds them.
"""

from cutline.simulation.suite.budgets import BUDGETS, NOTES
from cutline.simulation.suite.folder import from_folder, own_instances
from cutline.simulation.suite.instance import MANY, Instance, is_rare
from cutline.simulation.suite.problems import GROUPS
from cutline.simulation.suite.search import find_budgets

SUITE: dict[str, Instance] = {
    name: Instance(name, group, make, BUDGETS[name], why, NOTES.get(name, ""))
    for group, rows in GROUPS.items()
    for name, make, why in rows
}

__all__ = [
    "BUDGETS",
    "MANY",
    "SUITE",
    "Instance",
    "find_budgets",
    "from_folder",
    "is_rare",
    "own_instances",
]
