"""AugUCB: arms are dropped once their variance-aware interval leaves the threshold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cutline.core.problem import Problem
from cutline.core.tally import Floats
from cutline.rules.base import Policy
from cutline.rules.evt import biased_variance
from cutline.rules.kinds import in_a_range, unit_width

# The places of the memory: the phase m, when it ends, 2 s_i over root_i, open arms, whether all
# arms are to be looked at; from HEAD on, for every arm, its gap, its root sqrt((v + 1) / n), 1 for
# a dropped arm, and the pulls and total that these are of.
PHASE, END, REACH, OPEN, ALL, HEAD = range(6)


def first_psi(arms: int, budget: float) -> float:
    """psi_0 = T / (128 ln(3/16 K ln K)^2), for at least 5 arms.

    >>> round(first_psi(10, 500), 6), round(first_psi(100, 10_000), 6)
    (1.825932, 3.930404)
    """
    log = math.log(3.0 / 16.0 * arms * math.log(arms))
    return budget / (128.0 * log * log)


def last_phase(budget: float) -> int:
    """M = floor(log2(T / e) / 2): phases are renewed while m is at most M.

    >>> last_phase(500), last_phase(10_000)
    (3, 5)
    """
    return math.floor(0.5 * (math.log(budget) - 1.0) / math.log(2.0))


def halved(phase: float) -> float:
    """e_m = 2^-m.

    >>> halved(3.0)
    0.125
    """
    e = 1.0
    for _ in range(int(phase)):
        e *= 0.5
    return e


def phase_pulls(phase: float, psi: float, budget: float) -> int:
    """l_m = ceil(2 psi_m ln(T e_m) / e_m), given psi_0, of which psi_m is the part e_m.

    >>> [phase_pulls(m, first_psi(10, 500), 500) for m in (0, 1, 2)]
    [23, 21, 18]
    """
    return math.ceil(2.0 * psi * math.log(budget * halved(phase)))


def reach(phase: float, psi: float, rho: float, budget: float) -> float:
    """2 sqrt(rho psi_m ln(T e_m) / 4): an interval's half-width 2 s_i over sqrt((v_i + 1) / n_i).

    >>> s = 0.5 * reach(0.0, first_psi(10, 500), 1 / 3, 500) * math.sqrt(1.2 / 20)
    >>> round(s, 7)
    0.2381958
    """
    e = halved(phase)
    return math.sqrt(rho * psi * e * max(math.log(budget * e), 0.0))


@dataclass(frozen=True)
class AugUCB(Policy):
    r"""Pull the open arm that may be nearest the threshold; drop those that surely are not.

    .. math:: |\hat\mu_i - \tau| - 2 s_i, \qquad
              s_i = \sqrt{\frac{\rho\,\psi_m (\hat v_i + 1) \ln(T e_m)}{4 n_i}}

    Mukherjee, Naveen, Sudarsanam and Ravindran (2017), "Thresholding bandits with augmented UCB".
    After every pull, arms with :math:`|\hat\mu_i - \tau| > 2 s_i` are dropped. Phases m = 0, 1, ...
    halve e_m, from 1: with t pulls made, phase m is over when t reaches N_m, where N_0 = K l_0 and
    N_m = t + (open arms) l_m at its start; see :func:`phase_pulls`. The variance is that of
    the rewards seen, divided by n. All arms are pulled once to begin with.

    As published the rule stops when no arm is open (``spend=0``), and leaves budget unspent; here
    the rest goes to APT over all arms. It must know the horizon, and takes at least 5 arms: with
    fewer ln(3/16 K ln K), by whose square psi is divided, is near 0 or means nothing.
    The precision counts in APT's part alone. It is for rewards in a range, scaled to [0, 1];
    normal ones are taken as they are, as in the authors' experiments.
    """

    name = "aug-ucb"

    rho: float = 1.0 / 3.0
    spend: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.rho > 0:
            raise ValueError(f"rho of AugUCB must be above 0, got {self.rho!r}")
        if self.spend not in (0.0, 1.0):
            raise ValueError(
                f"spend must be 1 (what is left when no arm is open goes to APT) or 0 (it stays "
                f"unspent), got {self.spend!r}"
            )

    def check(self, problem: Problem) -> None:
        """At least five arms, and rewards with a unit."""
        in_a_range(self.name, problem, "gaussian")
        if len(problem.arms) < 5:
            raise ValueError(
                f"aug-ucb is for 5 arms or more, these are {len(problem.arms)}: its exploration "
                "factor is a division by nearly 0 with 4, and has no meaning with fewer"
            )

    def memory(self, arms: int) -> int:
        """Some numbers, and five for every arm."""
        return HEAD + 5 * arms

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """rho, psi_0, the unit of the rewards, and what is done with the rest."""
        in_range = problem.rewards.kind in ("binary", "bounded")
        return {
            "rho": self.rho,
            "psi": first_psi(max(len(problem.arms), 5), budget),
            "width": unit_width(problem) if in_range else 1.0,
            "spend": self.spend,
        }

    @staticmethod
    def choose(
        pulls: Floats, total: Floats, squares: Floats, tau: Floats, eps: Floats, memory: Floats,
        arms: int, step: int, budget: float, rho: float, psi: float, width: float, spend: float,
    ) -> int:  # fmt: skip
        """Look at the arms that have changed, drop the settled, take the open one nearest tau."""
        roots, dropped = HEAD + arms, HEAD + 2 * arms
        seen, sums = HEAD + 3 * arms, HEAD + 4 * arms
        if step == 0:
            memory[END] = arms * phase_pulls(0.0, psi, budget)
            memory[REACH] = reach(0.0, psi, rho, budget)
            memory[OPEN] = arms
        if step < arms:
            return step
        for i in range(arms):
            changed = memory[seen + i] != pulls[i] or memory[sums + i] != total[i]
            if changed:
                memory[seen + i] = pulls[i]
                memory[sums + i] = total[i]
                variance = biased_variance(pulls[i], total[i], squares[i]) / (width * width)
                memory[HEAD + i] = abs(total[i] - pulls[i] * tau[i]) / (pulls[i] * width)
                memory[roots + i] = math.sqrt((variance + 1.0) / pulls[i])
            # Within a phase only an arm that has changed can be the next to drop.
            if (
                (changed or memory[ALL] > 0.0)
                and memory[dropped + i] == 0.0
                and memory[HEAD + i] > memory[REACH] * memory[roots + i]
            ):
                memory[dropped + i] = 1.0
                memory[OPEN] -= 1.0
        memory[ALL] = 0.0
        if step >= memory[END] and memory[PHASE] <= last_phase(budget):
            memory[PHASE] += 1.0
            memory[REACH] = reach(memory[PHASE], psi, rho, budget)
            memory[END] = step + memory[OPEN] * phase_pulls(memory[PHASE], psi, budget)
            memory[ALL] = 1.0
        if memory[OPEN] == 0.0 and spend == 0.0:
            return -1
        best, lowest = -1, math.inf
        for i in range(arms):
            if memory[OPEN] == 0.0:
                value = (abs(total[i] - pulls[i] * tau[i]) + pulls[i] * eps[i]) / math.sqrt(
                    pulls[i]
                )
            elif memory[dropped + i] == 0.0:
                value = memory[HEAD + i] - memory[REACH] * memory[roots + i]
            else:
                value = math.inf
            if value < lowest:
                best, lowest = i, value
        return best
