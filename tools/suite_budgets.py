"""Find the budgets of the tournament's suite: where APT errs in 25, 5 and 1 % of games.

    python tools/suite_budgets.py [NAME...]

prints a line for each instance (all of them unless some are named), to be put into ``BUDGETS`` of
src/cutline/simulation/suite/budgets.py, with the shares at which APT errs there and the pulls that
one rule then plays in the tournament. Those that are capped in ``MOST`` take their three budgets
from what the tournament can afford. About ten minutes on two cores.
"""

import sys
import time

from cutline.simulation.suite import SUITE, find_budgets

# Largest budgets, where 1 % would take a game too long to be played 20,000 times by every rule.
MOST = {
    "radtke-3": 30_000,
    "ladder-20": 40_000,
    "flaky-50": 40_000,
    "tests-200": 30_000,
    "fwt-2": 2_000,
    "rtt-mean": 60_000,
}
PULLS = 1e8  # about what the search may play at the largest budget, for one instance


def main(names: list[str]) -> int:
    for name in names or SUITE:
        if name not in SUITE:
            print(f"suite_budgets: there is no instance {name!r}", file=sys.stderr)
            return 2
        instance = SUITE[name]
        began = time.perf_counter()
        most = MOST.get(name, 2_000_000)
        rough, _ = find_budgets(instance.bandit, most=most, games=instance.games // 40)
        games = int(min(max(PULLS / rough[2], instance.games // 40), instance.games))
        budgets, rates = find_budgets(instance.bandit, most=most, games=games)
        pulls = budgets[2] * instance.games
        shown = ", ".join(f"{rate:.3g}" for rate in rates)
        spent = time.perf_counter() - began
        line = f'    "{name}": ({budgets[0]:_}, {budgets[1]:_}, {budgets[2]:_}),'
        print(f"{line}  # {shown}; {pulls:.1e} pulls, found in {spent:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
