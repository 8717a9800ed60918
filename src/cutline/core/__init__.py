"""The question, what was seen, and the answer."""

from cutline.core.problem import Problem
from cutline.core.rewards import Rewards
from cutline.core.tally import Tallies, Tally

__all__ = ["Problem", "Rewards", "Tallies", "Tally"]
