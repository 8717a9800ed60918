"""Where the truth is known: bandits, simulated games and what they show."""

from cutline.simulation.arms import Arms, Bernoulli, Beta, Gaussian, Recorded
from cutline.simulation.bandit import Bandit
from cutline.simulation.experiments import EXPERIMENTS, arithmetic, geometric, three_groups
from cutline.simulation.reference import play
from cutline.simulation.result import Result
from cutline.simulation.simulate import Interrupted, simulate

__all__ = [
    "EXPERIMENTS",
    "Arms",
    "Bandit",
    "Bernoulli",
    "Beta",
    "Gaussian",
    "Interrupted",
    "Recorded",
    "Result",
    "arithmetic",
    "geometric",
    "play",
    "simulate",
    "three_groups",
]
