"""LSA, the logarithmic-sample algorithm: as few wrong arms as possible."""

from dataclasses import dataclass

from cutline.core.logarithm import log_unit
from cutline.rules.base import IndexRule
from cutline.rules.kinds import InUnits


@dataclass(frozen=True)
class LSA(InUnits, IndexRule):
    r"""Pull where a pull saves most: APT's index, squared, and a price for every pull so far.

    .. math:: \alpha\,n_i \bigl(|\hat\mu_i - \tau| + \epsilon\bigr)^2 + \tfrac12 \ln n_i

    Tao, Blanco, Peng and Zhou (2019), "Thresholding bandit with optimal aggregate regret": for the
    expected number of wrong arms, where it does not sink the budget into arms that cannot be told.
    ``alpha`` is 1.35 as in their experiments. They have no precision: here it widens the gap, as in
    APT. Rewards are scaled to [0, 1]; see :func:`unit_width` for those without a range.

    >>> from cutline.core import Tally
    >>> round(LSA().index(Tally(20, 13.0), threshold=0.5, width=1.0), 10)  # 27 0.15^2 + ln(20)/2
    2.1053661368
    """

    name = "lsa"

    alpha: float = 1.35

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alpha > 0:
            raise ValueError(f"alpha of LSA must be above 0, got {self.alpha!r}")

    @staticmethod
    def formula(
        pulls: float, total: float, tau: float, eps: float, alpha: float, width: float
    ) -> float:
        """Sums in place of means, which keeps exact ties exact; ln n is -ln(1/n)."""
        gap = (abs(total - pulls * tau) + pulls * eps) / width
        share = 1.0 / pulls
        return alpha * (gap * gap * share) - 0.5 * log_unit(share)
