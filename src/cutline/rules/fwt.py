"""FWT: errors that cost something, an amount of its own for every arm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from cutline.core.logarithm import log_positive
from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import IndexRule
from cutline.rules.kinds import unit_width


@dataclass(frozen=True)
class FWT(IndexRule):
    r"""Pull the arm whose possible error costs most, as far as its rewards tell.

    .. math:: \max(x_i, 1) - \ln \max(x_i, 1) + \ln(n_i / a_i), \qquad
              x_i = \frac{n_i (|\hat\mu_i - \tau| + \epsilon)^2}{2 \sigma_i^2}

    The rule of the FWT paper (known to us by its rule and settings, not by its authors), for the
    sum of the costs a_i of the wrong arms: ``weights``, one per arm, or all alike. With ``gaps=1``
    an error costs the arm's distance from the threshold:
    :math:`x' - \tfrac32 \ln x' + \tfrac32 \ln n_i` with :math:`x' = \max(x_i, \tfrac32)`; a weight
    then counts on top, as -ln a_i. The paper has no precision: here it widens the gap, as in APT.

    ``sd`` is the noise; without it, what the problem knows: each arm's own standard deviation, half
    the width of a range, else 1. Like APT it goes by the gap alone: thresholds near the ends of a
    range are better served by :class:`SLR`.

    >>> from cutline.core import Tally
    >>> at = {"threshold": 0.5, "rate": 2.0, "worth": 0.0}  # sd 1/2: 1/(2 sd^2) = 2
    >>> round(FWT().index(Tally(20, 13.0), **at, power=1.0), 10)  # x = 0.9, so 1 + ln 20
    3.9957322736
    """

    name = "fwt"
    keeps: ClassVar[tuple[str, ...]] = ("rate", "worth")
    needs_horizon: ClassVar[bool] = False

    sd: float | None = None
    weights: tuple[float, ...] | None = field(default=None, kw_only=True)
    gaps: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.weights, int | float):  # a single arm's, from a command line
            object.__setattr__(self, "weights", (float(self.weights),))
        super().__post_init__()
        if self.sd is not None and not self.sd > 0:
            raise ValueError(f"sd of FWT must be above 0, got {self.sd!r}")
        for weight in self.weights or ():
            if not weight > 0:
                raise ValueError(
                    f"weights of FWT must be above 0, got {weight!r}: each is the cost of an error "
                    "on its arm"
                )
        if self.gaps not in (0.0, 1.0):
            raise ValueError(
                f"gaps must be 1 (an error costs the arm's gap) or 0 (it costs its weight alone), "
                f"got {self.gaps!r}"
            )

    def check(self, problem: Problem) -> None:
        """There must be a weight for every arm, if there are any."""
        if self.weights is not None and len(self.weights) != len(problem.arms):
            raise ValueError(
                f"weights of FWT are one per arm: there are {len(problem.arms)} arms and "
                f"{len(self.weights)} weights"
            )

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The factor of the logarithms, below which x counts as that much."""
        return {"power": 1.5 if self.gaps else 1.0}

    def start(self, problem: Problem, means: Sequence[float] | Floats | None) -> Floats:
        """For every arm 1 / (2 sd^2) and ln of its weight, which never change."""
        self.check(problem)
        K = len(problem.arms)
        in_range = problem.rewards.kind in ("binary", "bounded")
        known = problem.sds if self.sd is None else np.full(K, self.sd)
        sds = np.full(K, 0.5 * unit_width(problem) if in_range else 1.0) if known is None else known
        weights = np.ones(K) if self.weights is None else np.array(self.weights)
        return np.array([0.5 / sds**2, np.log(weights)])

    @staticmethod
    def learn(rate: float, worth: float) -> tuple[float, float]:
        """Nothing is learned."""
        return rate, worth

    @staticmethod
    def formula(
        pulls: float, total: float, tau: float, eps: float, rate: float, worth: float, power: float
    ) -> float:
        """With x' = max(x, power): x' - power ln x' + power ln n - ln a."""
        gap = abs(total - pulls * tau) + pulls * eps
        x = max(rate * gap * gap / pulls, power)
        return x + power * log_positive(max(pulls / x, 1e-18)) - worth
