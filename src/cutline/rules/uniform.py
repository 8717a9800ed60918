"""Uniform allocation: every pull goes to an arm drawn at random."""

from cutline.rules.base import Policy


class Uniform(Policy):
    """Draw the arm uniformly and independently at every step, as the paper does.

    There is no first pass over the arms, so at a small budget some may stay unseen; they count as
    wrong. :class:`RoundRobin` spends the same budget evenly.

    >>> Uniform.choose(arms=10, luck=0.25)
    2
    """

    name = "uniform"

    @staticmethod
    def choose(arms: int, luck: float) -> int:
        """An arm drawn at random."""
        return int(luck * arms)
