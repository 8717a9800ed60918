"""Round robin: all arms alike."""

from cutline.rules.base import IndexRule


class RoundRobin(IndexRule):
    """Pull the arm with the fewest pulls, so that all get their turn.

    Where games stop at a confidence and settled arms are left alone, it is CLUCB's choice for
    thresholds: the open arm with the widest confidence interval.

    >>> RoundRobin.formula(pulls=3.0)
    3.0
    """

    name = "round-robin"

    @staticmethod
    def formula(pulls: float) -> float:
        """The pulls so far."""
        return pulls
