"""GCL*: the rule that APT becomes when the highest mean is known."""

from cutline.rules.base import IndexRule


class GCLStar(IndexRule):
    r"""Pull the arm that could best have the known highest mean (Salomon and Audibert 2011).

    .. math:: T_i(t)\,(\mu^* - \hat\mu_i(t))_+^2

    The threshold of the problem is the known highest mean. The paper says that APT with this
    threshold and precision 0 is GCL*. They agree while every arm's mean is below the threshold; an
    arm whose mean lies above it is pulled again at once here, while APT holds the distance against
    it on both sides. docs/howto/best-arm.md shows what that changes.

    >>> from cutline.core import Tally
    >>> GCLStar().index(Tally(4, 1.0), threshold=0.5), GCLStar().index(Tally(4, 3.0), threshold=0.5)
    (0.25, 0.0)
    """

    name = "gcl"

    @staticmethod
    def formula(pulls: float, total: float, tau: float) -> float:
        """n (mu* - mean)^2 where the mean falls short, 0 where it does not."""
        short = max(pulls * tau - total, 0.0)
        return short * short / pulls
