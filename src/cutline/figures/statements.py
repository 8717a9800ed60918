"""What is proven about one problem: the statements that cover it, and what is left out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cutline.core.theory import (
    Bound,
    best_arm_gaps,
    clearance,
    corollary_1,
    corollary_2,
    csar_bound,
    kl_lower_bound,
    sharp_lower_bound,
    theorem_1,
    theorem_2,
    theorem_3,
    theorem_4,
)
from cutline.simulation.arms import Exponential, Gaussian, Poisson, Recorded
from cutline.simulation.bandit import Bandit
from cutline.simulation.goals import Goal, TopArms


@dataclass(frozen=True, eq=False)
class Statement:
    """A bound on the errors or the regret of one rule, or of every algorithm.

    ``rule`` is whose it is, None for any algorithm; ``measure`` is "error", a chance, or "regret",
    in units of reward. ``log_trivial`` is the logarithm of what holds without proof: a chance is at
    most 1, a regret at most what the worst arm loses.
    """

    name: str
    about: str
    measure: str
    side: str
    rule: str | None
    least: int
    log_at: Callable[[int], float]
    log_trivial: Callable[[int], float]
    budget_for: Callable[[float], int] | None

    @property
    def printed(self) -> bool:
        """Whether it is the paper's form, where that differs from what the proof gives."""
        return self.name.endswith(" as printed")

    def log_value(self, budget: int) -> float | None:
        """The logarithm of the bound; None below the budgets it is stated for."""
        return None if budget < self.least else self.log_at(budget)

    def is_vacuous(self, budget: int) -> bool:
        """Whether the bound says nothing, at a budget it is stated for."""
        log = self.log_at(budget)
        return log >= self.log_trivial(budget) if self.side == "upper" else log == -math.inf

    def needed(self, error: float) -> int | None:
        """The budget that brings an upper bound to an error, or that a lower one asks for.

        None where no budget does, and for regret.
        """
        if self.budget_for is None:
            return None
        try:
            return self.budget_for(error)
        except ValueError:  # an exponent of 0
            return None


@dataclass(frozen=True, eq=False)
class Theory:
    """What is proven about a bandit, lower bounds first, and ``notes`` on what is left out."""

    bandit: Bandit
    goal: Goal
    budgets: tuple[int, ...]
    error: float
    statements: list[Statement]
    notes: list[str]

    @classmethod
    def of(cls, bandit: Bandit, goal: Goal, *, budgets: Sequence[int], error: float) -> "Theory":
        """The statements that cover this case, to be looked at for these budgets and error."""
        if not 0 < error < 1:
            raise ValueError(f"error must lie between 0 and 1, got {error!r}: it is a chance")
        if min(budgets) < 1:
            raise ValueError(f"a budget is a whole number of pulls, at least 1, got {min(budgets)}")
        if not isinstance(goal, TopArms):
            found, notes = _sides(bandit)
        else:
            goal.check(bandit)
            found, notes = _best_arm(bandit) if goal.m == 1 else _top_arms(bandit, goal.m)
        return cls(bandit, goal, tuple(sorted(set(budgets))), error, found, notes)

    @property
    def rules(self) -> list[str]:
        """The rules to simulate beside the bounds: APT, and others that a statement is about."""
        return sorted({"apt", *(s.rule for s in self.statements if s.rule is not None)})

    def of_measure(self, measure: str) -> list[Statement]:
        """The statements about errors, or about regret."""
        return [s for s in self.statements if s.measure == measure]


def _sides(bandit: Bandit) -> tuple[list[Statement], list[str]]:
    by_divergence, notes = _by_divergence(bandit)
    if (why := _no_scale(bandit) or _no_complexity(bandit)) is not None:
        return by_divergence, [why, *notes]
    by_gaps, left_out = _by_gaps(bandit)
    return by_gaps + by_divergence + _upper(bandit), left_out + notes


def _by_gaps(bandit: Bandit) -> tuple[list[Statement], list[str]]:
    """Theorem 1, its corollary, and the sharper bound for normal arms."""
    problem, H = bandit.problem, bandit.complexity()
    K, R = len(bandit.arms), bandit.noise_scale
    found, notes = [], []
    # An arm outside the band has a gap of 2 eps at least: harder problems are hard within it.
    with np.errstate(divide="ignore"):
        most = float(np.sum((2 * problem.precisions) ** -2.0))
    if most * (1 - 1e-12) > H:
        alike = 0.5 * math.sqrt(K / most)  # one precision for all that allows for as much
        found = [
            theorem_1(H, arms=K, noise_scale=R, printed=True),
            theorem_1(H, arms=K, noise_scale=R),
            corollary_1(H, arms=K, noise_scale=R, precision=alike),
        ]
    else:
        notes.append(
            f"Theorem 1 and its corollary are left out: {K} arms outside the band have a "
            f"complexity below {most:.4g}, and this problem has {H:.4g}"
        )
    if isinstance(bandit.arms, Gaussian):
        away, sd = np.abs(bandit.means - problem.thresholds), np.array(bandit.arms.sd)
        # An arm at the edge, mirrored, is free; one without noise tells all at once.
        counts = (away > problem.precisions * (1 + 1e-9)) & (sd > 0)
        if np.any(counts):  # distances in units of each arm's own noise, which then is 1
            found.append(sharp_lower_bound(away[counts] / sd[counts], noise_scale=1.0))
    return [_from_bound(bound, None) for bound in found], notes


def _by_divergence(bandit: Bandit) -> tuple[list[Statement], list[str]]:
    """The lower bound for families that their mean settles; binary arms are one of them."""
    arms, problem = bandit.arms, bandit.problem
    if not (isinstance(arms, Gaussian | Poisson | Exponential) or problem.rewards.kind == "binary"):
        why = f"{arms.name} arms are of no family that is known by its mean"
    else:
        try:
            sd = arms.sd if isinstance(arms, Gaussian) else None
            return [_from_bound(kl_lower_bound(problem, bandit.means, sd), None)], []
        except ValueError as error:
            why = str(error)
    return [], [f"the divergence lower bound is left out: {why}"]


def _upper(bandit: Bandit) -> list[Statement]:
    """Theorem 2 and its corollary for APT, and the bound that CSAR comes with."""
    K, H, R = len(bandit.arms), bandit.complexity(), bandit.noise_scale
    away = bandit.problem.gaps(bandit.means, precision=0)
    free = clearance(bandit.problem, bandit.means)
    of_apt = [
        theorem_2(H, arms=K, noise_scale=R, printed=True),
        theorem_2(H, arms=K, noise_scale=R, clearance=free),
        corollary_2(H, arms=K, noise_scale=R),
    ]
    forms = (True, False) if K > 1 else (False,)  # the printed one divides by log(K)
    of_csar = [csar_bound(away, noise_scale=R, printed=printed) for printed in forms]
    return [_from_bound(b, "apt") for b in of_apt] + [_from_bound(b, "csar") for b in of_csar]


def _top_arms(bandit: Bandit, m: int) -> tuple[list[Statement], list[str]]:
    """With every arm on its side the m best are the ones above, so bounds on sides hold here."""
    truth = bandit.truth
    if np.count_nonzero(truth > 0) != m or np.any(truth == 0):
        raise ValueError(
            f"the bounds are about the {m} best arms where the threshold splits them off and no "
            "mean is in the band around it: leave out threshold and precision"
        )
    why = _no_scale(bandit) or _no_complexity(bandit)
    found = [] if why else _upper(bandit)
    notes = [why] if why else []
    return found, [*notes, f"lower bounds are left out: none is about the {m} best arms"]


def _best_arm(bandit: Bandit) -> tuple[list[Statement], list[str]]:
    """Theorem 3 for the chance to name a wrong arm, and Theorem 4 for the regret."""
    means, R, best = bandit.means, bandit.noise_scale, float(np.max(bandit.means))
    if set(bandit.problem.threshold) != {best} or any(bandit.problem.precision):
        raise ValueError(
            f"Theorems 3 and 4 are about APT told the best mean, {best:g}, with precision 0: leave "
            "out threshold and precision"
        )
    if (why := _no_scale(bandit)) is not None:
        return [], [why]
    found, notes = [], []
    try:
        for printed in (True, False):
            found.append(_from_bound(theorem_3(means, noise_scale=R, printed=printed), "apt"))
    except ValueError as error:
        notes.append(f"left out: {error}")
    if best_arm_gaps(means).size:
        found += [_theorem_4(bandit, printed) for printed in (True, False)]
    else:
        notes.append("Theorem 4 is left out: every arm is a best one, and nothing can be lost")
    return found, notes


def _theorem_4(bandit: Bandit, printed: bool) -> Statement:
    means, R = bandit.means, bandit.noise_scale
    lost = float(np.max(best_arm_gaps(means)))
    return Statement(
        name="Theorem 4 as printed" if printed else "Theorem 4",
        about="the mean pseudo-regret of APT told the best mean, in units of reward",
        measure="regret",
        side="upper",
        rule="apt",
        least=2 * len(means),
        log_at=lambda T: math.log(theorem_4(means, budget=T, noise_scale=R, printed=printed)),
        log_trivial=lambda T: math.log(T * lost),
        budget_for=None,
    )


def _from_bound(bound: Bound, rule: str | None) -> Statement:
    return Statement(
        name=bound.statement.removeprefix("the "),
        about=bound.about,
        measure="error",
        side=bound.side,
        rule=rule,
        least=bound.least,
        log_at=bound.log_at,
        log_trivial=lambda T: 0.0,
        budget_for=bound.budget_for,
    )


def _no_scale(bandit: Bandit) -> str | None:
    """Why the bounds with a noise scale say nothing, if so."""
    if bandit.noise_scale is None:
        kind, recorded = bandit.problem.rewards.kind, isinstance(bandit.arms, Recorded)
        what = f"recorded {kind} rewards" if recorded else f"{kind} rewards"
        return f"the bounds with a noise scale R are left out: {what} have none"
    if bandit.noise_scale == 0:
        return "the bounds with a noise scale R are left out: there is no noise"
    return None


def _no_complexity(bandit: Bandit) -> str | None:
    if bandit.complexity() < math.inf:
        return None
    return (
        "the bounds with the complexity H are left out: it is infinite, as the mean of an arm is "
        "its threshold and the precision 0"
    )
