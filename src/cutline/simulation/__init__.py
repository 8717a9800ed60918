"""Where the truth is known: bandits, simulated games and what they show."""

from cutline.simulation.arms import (
    Arms,
    Bernoulli,
    Beta,
    Duels,
    Exponential,
    Gaussian,
    Pareto,
    Poisson,
    Recorded,
    StudentT,
)
from cutline.simulation.bandit import Bandit
from cutline.simulation.datasets import dataset, dataset_from_csv
from cutline.simulation.experiments import (
    EXPERIMENTS,
    arithmetic,
    geometric,
    lower_bound_family,
    three_groups,
)
from cutline.simulation.goals import TopArms
from cutline.simulation.planning import past_rates, plan, resembling, share_above
from cutline.simulation.reference import play
from cutline.simulation.result import Result
from cutline.simulation.simulate import Interrupted, simulate

__all__ = [
    "EXPERIMENTS",
    "Arms",
    "Bandit",
    "Bernoulli",
    "Beta",
    "Duels",
    "Exponential",
    "Gaussian",
    "Interrupted",
    "Pareto",
    "Poisson",
    "Recorded",
    "Result",
    "StudentT",
    "TopArms",
    "arithmetic",
    "dataset",
    "dataset_from_csv",
    "geometric",
    "lower_bound_family",
    "past_rates",
    "plan",
    "play",
    "resembling",
    "share_above",
    "simulate",
    "three_groups",
]
