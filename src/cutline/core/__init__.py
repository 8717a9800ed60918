"""The question, what has been seen, and the answer."""

from cutline.core.bar import Bar
from cutline.core.evidence import Evidence
from cutline.core.problem import Problem
from cutline.core.rewards import Rewards
from cutline.core.tally import Tallies, Tally
from cutline.core.verdict import Verdict, judge

__all__ = ["Bar", "Evidence", "Problem", "Rewards", "Tallies", "Tally", "Verdict", "judge"]
