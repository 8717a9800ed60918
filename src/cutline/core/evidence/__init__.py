"""Evidence: what the rewards of an arm prove, however they were chosen and whenever one looks."""

from cutline.core.evidence.base import Evidence, Ledger, arm_columns
from cutline.core.evidence.beta import BetaMixture
from cutline.core.evidence.betting import Betting
from cutline.core.evidence.catoni import Catoni
from cutline.core.evidence.counts import PoissonMixture
from cutline.core.evidence.normal import NormalMixture
from cutline.core.evidence.student import TMixture
from cutline.core.evidence.union import CLUCB, Hoeffding
from cutline.core.evidence.waits import ExponentialMixture
from cutline.core.problem import Problem

__all__ = [
    "CLUCB",
    "EVIDENCE",
    "BetaMixture",
    "Betting",
    "Catoni",
    "Evidence",
    "ExponentialMixture",
    "Hoeffding",
    "Ledger",
    "NormalMixture",
    "PoissonMixture",
    "TMixture",
    "arm_columns",
    "default_evidence",
    "parse_evidence",
]

EVIDENCE: dict[str, type[Evidence]] = {
    kind.name: kind
    for kind in (
        BetaMixture, Betting, NormalMixture, TMixture, PoissonMixture, ExponentialMixture,
        Catoni, Hoeffding, CLUCB,
    )
}  # fmt: skip
"""All kinds of evidence, by name."""


def parse_evidence(name: str) -> Evidence:
    """Evidence by its name.

    >>> parse_evidence("betting")
    Betting()
    """
    if name not in EVIDENCE:
        raise ValueError(f"unknown evidence {name[:80]!r}: one of {', '.join(EVIDENCE)}")
    return EVIDENCE[name]()


def default_evidence(problem: Problem) -> Evidence | None:
    """The evidence that fits a problem's rewards; None where nothing can be promised.

    That is the case for heavy rewards without a bound on their variance.

    >>> default_evidence(Problem(arms=2, threshold=0.5, rewards="binary"))
    BetaMixture()
    >>> default_evidence(Problem(arms=2, threshold=0.5, rewards="heavy")) is None
    True
    """
    rewards = problem.rewards
    if rewards.kind == "heavy":
        return None if rewards.variance is None else Catoni()
    if rewards.kind == "gaussian":
        return TMixture() if rewards.sd is None else NormalMixture()
    kinds: dict[str, type[Evidence]] = {
        "binary": BetaMixture,
        "bounded": Betting,
        "poisson": PoissonMixture,
        "exponential": ExponentialMixture,
    }
    return kinds[rewards.kind]()
