"""The paper's three experiments (Section 4 and Appendix B), as bandits."""

from collections.abc import Callable, Sequence

from cutline.simulation.arms import Bernoulli, Gaussian
from cutline.simulation.arms.base import numbers
from cutline.simulation.bandit import Bandit


def three_groups(gaussian: bool = False) -> Bandit:
    """Experiment 1: three easy arms on each side, two hard ones, two that do not count.

    >>> round(three_groups().complexity(), 3)
    144.889
    """
    return _bandit([0.1] * 3 + [0.35, 0.45, 0.55, 0.65] + [0.9] * 3, gaussian)


def arithmetic(gaussian: bool = False) -> Bandit:
    """Experiment 2: eight arms in steps of 0.05 away from the threshold, two that do not count.

    >>> round(arithmetic().complexity(), 3)
    171.938
    """
    return _bandit([0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8], gaussian)


def geometric(gaussian: bool = False) -> Bandit:
    """Experiment 3: eight arms in powers of 0.2 away from the band, two that do not count.

    The paper leaves the d of the upper half undefined; 0.2 mirrors the lower half.

    >>> round(geometric().complexity(), 3)
    231.548
    """
    low = [0.4 - 0.2**i for i in (1, 2, 3, 4)]
    high = [0.6 + 0.2**i for i in (4, 3, 2, 1)]
    return _bandit([*low, 0.45, 0.55, *high], gaussian)


def lower_bound_family(
    distances: Sequence[float], *, threshold: float = 0.0, precision: float = 0.0, sd: float = 1.0
) -> list[Bandit]:
    """Theorem 1's problems B^0, ..., B^K: Gaussian arms, all above the band; in B^i arm i below.

    Arm j lies ``distances[j]`` beyond the band's edge, so all have the same complexity. Arms are
    counted from 1 in the name B^i, from 0 in the bandits. (The paper prints d_i for every arm of
    B^i; its proof has d_j for arm j, as here.)

    >>> [bandit.means.tolist() for bandit in lower_bound_family([0.5, 1.0], precision=0.25)]
    [[0.75, 1.25], [-0.75, 1.25], [0.75, -1.25]]
    """
    gaps = numbers("the distance of an arm", distances)
    if min(gaps) < 0:
        raise ValueError(f"distances are 0 or more, got {min(gaps)!r}")
    bandits = []
    for flipped in range(-1, len(gaps)):
        signs = [-1.0 if j == flipped else 1.0 for j in range(len(gaps))]
        means = [threshold + s * (d + precision) for s, d in zip(signs, gaps, strict=True)]
        bandits.append(Bandit(Gaussian(means, sd), threshold=threshold, precision=precision))
    return bandits


def _bandit(means: Sequence[float], gaussian: bool) -> Bandit:
    arms = Gaussian(means, sd=0.5) if gaussian else Bernoulli(means)  # variance 0.25
    return Bandit(arms, threshold=0.5, precision=0.1)


EXPERIMENTS: dict[str, Callable[[bool], Bandit]] = {
    "three-groups": three_groups,
    "arithmetic": arithmetic,
    "geometric": geometric,
}
