"""How much will it take? Budgets and spends, from what is thought of the arms beforehand."""

from cutline.simulation.planning.beliefs import (
    Belief,
    as_passes,
    guessed,
    past_rates,
    resembling,
    share_above,
)
from cutline.simulation.planning.needs import Need, Workers
from cutline.simulation.planning.plan import PATIENCE, Plan, Relaxed, plan
from cutline.simulation.planning.spending import Spend

__all__ = [
    "PATIENCE",
    "Belief",
    "Need",
    "Plan",
    "Relaxed",
    "Spend",
    "Workers",
    "as_passes",
    "guessed",
    "past_rates",
    "plan",
    "resembling",
    "share_above",
]
