"""Round robin: every arm in turn."""

from cutline.rules.base import Policy


class RoundRobin(Policy):
    """Pull the arms in turn; what is left over after the last whole round goes to random arms.

    >>> [RoundRobin.choose(arms=3, step=t) for t in range(5)]
    [0, 1, 2, 0, 1]
    """

    name = "round-robin"

    @staticmethod
    def choose(arms: int, step: int) -> int:
        """The arms in the order in which ties fall, again and again."""
        return step % arms
