"""How long a verdict takes with all its numbers, and how long weighing takes.

    python benchmarks/verdict.py            about a minute
    python benchmarks/verdict.py --quick    seconds: a tenth of the arms and rewards

"All numbers" are those of ``Verdict.columns()`` (sides, what is proven, bounds, intervals,
e-values, the model's chances, counts), ``error_bound`` and ``error_estimate``. Campaigns are in
memory unless said otherwise. "After one more" is the best of five looks, each after one more
reward. Times are processor time, so that others on the machine count little.
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cutline import Campaign, Problem, Rewards, Verdict
from cutline.campaign import moves
from cutline.figures.text import aligned

NO_END = 10**12  # a budget that is never spent
Draw = Callable[[np.random.Generator, int, float], list[float]]


def coins(rng: np.random.Generator, n: int, mean: float) -> list[float]:
    """Rewards of 0 and 1."""
    return (rng.random(n) < mean).astype(float).tolist()


KINDS: dict[str, tuple[Rewards, Draw]] = {
    "binary": (Rewards("binary"), coins),
    "bounded": (Rewards("bounded"), lambda rng, n, mean: rng.random(n).tolist()),
    "gaussian, sd known": (
        Rewards("gaussian", sd=1.0),
        lambda rng, n, mean: rng.normal(mean, 1.0, n).tolist(),
    ),
    "gaussian": (Rewards("gaussian"), lambda rng, n, mean: rng.normal(mean, 1.0, n).tolist()),
    "poisson": (Rewards("poisson"), lambda rng, n, mean: rng.poisson(mean, n).tolist()),
    "exponential": (
        Rewards("exponential"),
        lambda rng, n, mean: rng.exponential(mean + 0.1, n).tolist(),
    ),
    "heavy, variance known": (
        Rewards("heavy", variance=1.0),
        lambda rng, n, mean: rng.normal(mean, 0.5, n).tolist(),
    ),
}


def campaign(kind: str, rewards: list[list[float]], store: str | None = None) -> Campaign:
    """A campaign whose arms have these rewards, none of them weighed yet."""
    problem = Problem(arms=len(rewards), threshold=0.5, precision=0.05, rewards=KINDS[kind][0])
    made = Campaign(problem, budget=NO_END, store=store)
    for name, own in zip(problem.arms, rewards, strict=True):
        made.attach(name, own, unpicked=True)
    return made


def drawn(kind: str, arms: int, each: int) -> list[list[float]]:
    """So many rewards for each of so many arms, whose means are spread evenly at random."""
    rng = np.random.default_rng(1)
    return [KINDS[kind][1](rng, each, mean) for mean in rng.random(arms).tolist()]


def all_different(arms: int) -> list[list[float]]:
    """Tosses of coins, no two of which were tossed as often with as many heads."""
    tallies = ((n, s) for n in itertools.count(20) for s in range(n + 1))
    return [[1.0] * s + [0.0] * (n - s) for n, s in itertools.islice(tallies, arms)]


def numbers(verdict: Verdict) -> None:
    """Work out all numbers."""
    verdict.columns()
    _ = verdict.error_bound, verdict.error_estimate


def timed(work: Callable[[], object]) -> float:
    """How many seconds of processor time it took."""
    start = time.process_time()
    work()
    return time.process_time() - start


def looks(made: Campaign, *, weighed: bool) -> tuple[str, str]:
    """A verdict with all numbers, and one after one more reward."""
    if weighed:
        made.verdict()
    first = timed(lambda: numbers(made.verdict()))
    again = []
    for i in range(5):
        made.attach(str(i), [1.0], unpicked=True)
        again.append(timed(lambda: numbers(made.verdict())))
    return f"{first:.2f} s", f"{min(again) * 1e3:.0f} ms"


def weighing(made: Campaign, rewards: int) -> str:
    """How long weighing all rewards takes, in microseconds each."""
    return f"{timed(lambda: made.access.do('weigh', moves.weigh)) / rewards * 1e6:.2f}"


def show_verdicts(arms: int) -> None:
    """Verdicts with all numbers."""
    lines = [("verdict with all numbers", "found", "aim", "after one more", "aim")]
    first, again = looks(campaign("binary", drawn("binary", arms, 6)), weighed=False)
    lines.append((f"{arms:,} coins, 6 tosses each, not weighed yet", first, "0.5", again, "50"))
    first, again = looks(campaign("binary", all_different(arms)), weighed=True)
    lines.append((f"{arms:,} coins, {arms:,} different tallies", first, "3", again, "50"))
    for kind in KINDS:
        first, again = looks(campaign(kind, drawn(kind, arms // 10, 100)), weighed=True)
        lines.append((f"{arms // 10:,} arms, {kind}, 100 rewards each", first, "", again, ""))
    print(aligned(lines, left=(0,)))


def show_weighing(arms: int) -> None:
    """Rewards that nobody looked at yet."""
    lines = [("weighing", "µs a reward", "aim")]
    for many, each in ((arms // 10, 1_000), (1, 100 * arms), (arms, 100), (arms, 6)):
        took = weighing(campaign("binary", drawn("binary", many, each)), many * each)
        lines.append((f"binary, {many:,} arms with {each:,} each", took, "3"))
    few = arms // 10
    with tempfile.TemporaryDirectory() as folder:
        made = campaign("binary", drawn("binary", few, 300), str(Path(folder) / "a.db"))
        lines.append((f"binary, {few:,} arms with 300 each, file", weighing(made, few * 300), ""))
    for kind in list(KINDS)[1:]:
        made = campaign(kind, drawn(kind, few // 10, 300))
        lines.append((f"{kind}, {few // 10:,} arms with 300 each", weighing(made, few * 30), ""))
    print(aligned(lines, left=(0,)))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    arms = 1_000 if parser.parse_args().quick else 10_000
    show_verdicts(arms)
    show_weighing(arms)


if __name__ == "__main__":
    main()
