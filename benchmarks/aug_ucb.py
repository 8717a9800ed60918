"""AugUCB's Experiments 1, 4 and 5, its printed variances read as standard deviations.

    python benchmarks/aug_ucb.py

prints the share of 500 games with an error at 10,000 pulls, as in docs/rules.md.
"""

import numpy as np

from cutline import APT, AugUCB, Auto, Bandit, Gaussian, Uniform, simulate
from cutline.figures.text import aligned

RULES = {"apt": APT(), "aug-ucb": AugUCB(spend=0), "uniform": Uniform(), "auto": Auto()}
rng = np.random.default_rng(1)
EVEN = [*[0.5] * 5, *[0.6] * 5, *rng.uniform(0.38, 0.42, 90)]
UNEQUAL = [*[0.3] * 5, *[0.8] * 5, *rng.uniform(0.2, 0.3, 90)]
TWO_GROUPS = [0.45] * 5 + [0.55] * 5
PROBLEMS = {
    "1 arithmetic": ([0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8], EVEN),
    "4 two groups": (TWO_GROUPS, EVEN),
    "5 two groups, unequal noise": (TWO_GROUPS, UNEQUAL),
}

if __name__ == "__main__":
    rows = [["experiment", *RULES]]
    for name, (means, sds) in PROBLEMS.items():
        bandit = Bandit(Gaussian(means + [0.4] * 90, sd=sds), threshold=0.5, precision=0.05)
        result = simulate(bandit, list(RULES.values()), budget=[10_000], games=500, seed=3)
        rows.append([name, *(f"{100 * rate:.1f} %" for rate in result.error_rate)])
    print(aligned(rows), end="")
