"""The tournament's suite: bandits on which every rule is held against APT.

Instances are added, never removed. Means that a source does not print are the middle quantiles of a
law that is named, (i + 1/2) / K for arm i, so nothing was drawn by chance. The budgets are those
at which APT errs in 25, 5 and 1 % of games (beyond 500 arms: has 25, 5 and 1 wrong arms in 1,000);
``tools/suite_budgets.py`` finds them.
"""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from cutline.core.rewards import Rewards
from cutline.core.special import beta_quantile
from cutline.core.tally import Floats, Ints
from cutline.rules import APT
from cutline.simulation.arms import (
    Bernoulli,
    Beta,
    Exponential,
    Gaussian,
    Pareto,
    Poisson,
    StudentT,
)
from cutline.simulation.bandit import Bandit
from cutline.simulation.datasets import dataset, dataset_from_csv
from cutline.simulation.experiments import EXPERIMENTS, geometric
from cutline.simulation.simulate import simulate

Budgets = tuple[int, int, int]

TARGETS = (0.25, 0.05, 0.01)  # share of games in which APT errs
TARGETS_MANY = (0.025, 0.005, 0.001)  # share of arms that APT has wrong
MANY = 500  # arms; beyond, some arm is wrong in most games
GAMES, GAMES_MANY = 20_000, 2_000


@dataclass(frozen=True)
class Instance:
    """A bandit of the suite with three budgets, and why it is there.

    ``note`` says where the budgets are not those at which APT errs in 25, 5 and 1 % of games.
    """

    name: str
    group: str
    make: Callable[[], Bandit] = field(repr=False)
    budgets: Budgets
    why: str
    note: str = ""

    @cached_property
    def bandit(self) -> Bandit:
        """The bandit, made when it is first asked for."""
        return self.make()

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return len(self.bandit.problem.arms)

    @property
    def games(self) -> int:
        """How many games a cell of the tournament takes."""
        return GAMES if self.arms <= MANY else GAMES_MANY

    @property
    def rare(self) -> bool:
        """Whether the question is about rare events: a binary threshold up to 0.1, or from 0.9."""
        return is_rare(self.bandit)


def is_rare(bandit: Bandit) -> bool:
    """Whether rewards are binary and every threshold is at most 0.1 or at least 0.9.

    >>> is_rare(Bandit(Bernoulli([0.0, 0.1]), threshold=0.05))
    True
    """
    tau = bandit.problem.thresholds
    edge = bool(np.all((tau <= 0.1) | (tau >= 0.9)))
    return bandit.problem.rewards.kind == "binary" and edge


def beta_middles(a: float, b: float, arms: int) -> list[float]:
    """The quantiles (i + 1/2) / arms of Beta(a, b), i = 0, 1, ...

    >>> beta_middles(1, 1, 4)
    [0.125, 0.375, 0.625, 0.875]
    """
    return [float(f"{beta_quantile((i + 0.5) / arms, a, b):.12g}") for i in range(arms)]


def log_middles(low: float, high: float, arms: int) -> list[float]:
    """The quantiles (i + 1/2) / arms of the law whose logarithm is uniform between two numbers.

    >>> [round(x, 6) for x in log_middles(0.01, 1.0, 2)]
    [0.031623, 0.316228]
    """
    return [float(low * (high / low) ** ((i + 0.5) / arms)) for i in range(arms)]


def _coins(means: Sequence[float], tau: float, eps: float) -> Bandit:
    return Bandit(Bernoulli(means), threshold=tau, precision=eps)


def _beta_coins(a: float, b: float, arms: int, tau: float, eps: float) -> Bandit:
    return _coins(beta_middles(a, b, arms), tau, eps)


def _known(means: Sequence[float], sd: Any, tau: float, eps: float) -> Bandit:
    """Normal rewards whose sds are declared."""
    rewards = Rewards("gaussian", sd=sd)
    return Bandit(Gaussian(means, sd), threshold=tau, precision=eps, rewards=rewards)


def _paper(name: str, gaussian: bool) -> Bandit:
    bandit = EXPERIMENTS[name](gaussian)
    return _known(bandit.means.tolist(), 0.5, 0.5, 0.1) if gaussian else bandit


def _geometric_exact() -> Bandit:
    return _coins(geometric().means.tolist(), 0.5, 0.0)


RADTKE_2 = [0.001, 0.005, 0.01, 0.015, 0.04, 0.06, 0.085, 0.09, 0.095, 0.099]
RADTKE_3 = [10.0**x for x in (-4, -3.5, -3.25, -3, -2.75, -2.5, -2.25, -1.85, -1.75, -1.5, -1)]
LADDER = [round(0.405 + 0.01 * i, 3) for i in range(20)]
FLAKY = log_middles(1e-4, 0.3, 50)
TESTS = [0.0] * 160 + log_middles(1e-4, 1e-3, 20) + log_middles(0.03, 0.5, 20)
PROMPTS = [round(0.8 + 0.19 * (i + 0.5) / 30, 6) for i in range(30)]


def _steps(centre: float, ratio: float) -> list[float]:
    """Ten means on each side of a centre, each so much times further away than the last."""
    return [centre * ratio**k for k in (*range(-10, 0), *range(1, 11))]


def _fwt_1() -> Bandit:
    return _known([(-1.0) ** k for k in range(1, 101)], 1.0, 0.0, 0.0)


def _fwt_2(eps: float) -> Bandit:
    return _known([(-1.0) ** k * (k / 50) ** 2 for k in range(1, 51)], 1.0, 0.0, eps)


# AugUCB's ten arms that differ; 30 others (there 90, to keep games short) have mean 0.4.
AUG_UCB = {
    "arithmetic": [0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8],
    "geometric": geometric().means.tolist(),
    "three-groups": [0.1] * 3 + [0.35, 0.45, 0.55, 0.65] + [0.9] * 3,
    "two-groups": [0.45] * 5 + [0.55] * 5,
}


def _aug_ucb(name: str, sds: tuple[float, float, float, float]) -> Bandit:
    """Normal rewards whose sds differ and are not told; the background's are evenly spread."""
    low, high, first, last = sds
    spread = [first + (last - first) * (i + 0.5) / 30 for i in range(30)]
    arms = Gaussian(AUG_UCB[name] + [0.4] * 30, [low] * 5 + [high] * 5 + spread)
    return Bandit(arms, threshold=0.5, precision=0.05)


def _declared() -> Bandit:
    means = [0.1 * k for k in (*range(-10, 0), *range(1, 11))]
    return _known(means, [0.2, 0.5, 1.0, 2.0] * 5, 0.0, 0.1)


def _bounded() -> Bandit:
    """Beta arms, a third each with a tiny, a middling and a large spread."""
    means = [0.2 + 0.6 * (i + 0.5) / 12 for i in range(12)]
    arms = Beta.from_means(means, sd=[0.01, 0.1, 0.3] * 4)
    return Bandit(arms, threshold=0.5, precision=0.05)


HEAVY = [0.4, 0.5, 0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.5, 1.6]


def _recorded(name: str, **options: Any) -> Bandit:
    return dataset(name).bandit(**options)


def _exceeding(name: str, level: float, tau: float, eps: float) -> Bandit:
    """Recorded trials that exceed a level or not, as the coins that they are: much faster."""
    data = dataset(name)
    coins = Bernoulli(data.arms.above(level).tolist())
    return Bandit(coins, threshold=tau, precision=eps, names=data.names)


EVEN = (0.5, 0.6, 0.38, 0.42)  # AugUCB prints these as variances; its code takes them for sds
UNEQUAL = (0.3, 0.8, 0.2, 0.3)
FEWER = " with 30 arms in the background, not 90; sds not told"

Row = tuple[str, Callable[[], Bandit], str]

_GROUPS: dict[str, list[Row]] = {
    "the paper": [
        *((name, partial(_paper, name, False), "the paper, Section 4") for name in EXPERIMENTS),
        *(
            (f"{name}-gaussian", partial(_paper, name, True), "the paper, Appendix B; sd ½ known")
            for name in EXPERIMENTS
        ),
    ],
    # The first three of the twelve rows that cutline's default was first measured on are the
    # paper's Bernoulli experiments, above; the other nine follow.
    "coins": [
        ("geometric-exact", _geometric_exact, "Experiment 3 with precision 0"),
        ("radtke-2", partial(_coins, RADTKE_2, 0.05, 0.0), "Radtke's Sim 2"),
        ("radtke-3", partial(_coins, RADTKE_3, 0.01, 0.0), "Radtke's Sim 3"),
        (
            "ladder-20",
            partial(_coins, LADDER, 0.5, 0.0),
            "the LSA paper's: 0.405, 0.415, ..., 0.595",
        ),
        (
            "flaky-50",
            partial(_coins, FLAKY, 0.01, 0.005),
            "flaky tests; failure rates log-uniform from 0.0001 to 0.3",
        ),
        (
            "tests-200",
            partial(_coins, TESTS, 0.01, 0.005),
            "160 tests never fail; rates of 20 are log-uniform from 0.0001 to 0.001, of 20 from "
            "0.03 to 0.5",
        ),
        (
            "prompts-30",
            partial(_coins, PROMPTS, 0.9, 0.02),
            "success rates evenly spread from 0.8 to 0.99",
        ),
        ("uniform-50", partial(_beta_coins, 1, 1, 50, 0.5, 0.05), "means uniform from 0 to 1"),
        ("uniform-50-high", partial(_beta_coins, 1, 1, 50, 0.8, 0.05), "the same, threshold 0.8"),
    ],
    "counts and times": [
        (
            "exponential-20",
            lambda: Bandit(Exponential(_steps(1.0, 1.2)), threshold=1.0, precision=0.05),
            "Radtke's Sim 4 in spirit: means 1.2^k, k = ±1, ..., ±10",
        ),
        (
            "poisson-20",
            lambda: Bandit(Poisson(_steps(0.4, 1.25)), threshold=0.4, precision=0.02),
            "Radtke's Sim 5 in spirit: means 0.4 × 1.25^k, k = ±1, ..., ±10",
        ),
    ],
    "FWT": [
        ("fwt-1", _fwt_1, "means (-1)^k, sd 1 known"),
        ("fwt-2", partial(_fwt_2, 0.0), "means (-1)^k (k/50)², sd 1 known"),
        ("fwt-2-band", partial(_fwt_2, 0.1), "the same with precision 0.1"),
    ],
    "unequal noise": [
        *(
            (
                f"aug-ucb-{i + 1}",
                partial(_aug_ucb, name, EVEN),
                f"AugUCB's Experiment {i + 1}{FEWER}",
            )
            for i, name in enumerate(AUG_UCB)
        ),
        ("aug-ucb-5", partial(_aug_ucb, "two-groups", UNEQUAL), f"AugUCB's Experiment 5{FEWER}"),
        ("declared-20", _declared, "means ±0.1, ..., ±1; sds 0.2, 0.5, 1, 2 in turn, known"),
    ],
    "bounded and heavy": [
        ("beta-12", _bounded, "Beta arms, means from 0.2 to 0.8, sds 0.01, 0.1, 0.3 in turn"),
        (
            "pareto-10",
            lambda: Bandit(Pareto(HEAVY, 2.5), threshold=1.0, precision=0.1),
            "shape 2.5",
        ),
        (
            "student-10",
            lambda: Bandit(StudentT(HEAVY, 3.0, 0.5), threshold=1.0, precision=0.1),
            "3 degrees of freedom, scale ½",
        ),
    ],
    "many arms": [
        ("arms-50-high", partial(_beta_coins, 9, 1, 50, 0.9, 0.04), "means of Beta(9, 1)"),
        ("arms-500", partial(_beta_coins, 0.5, 0.5, 500, 0.5, 0.1), "means of Beta(½, ½)"),
        ("arms-500-low", partial(_beta_coins, 0.25, 2.25, 500, 0.1, 0.08), "means of Beta(¼, 2¼)"),
        ("arms-5000", partial(_beta_coins, 0.5, 0.5, 5000, 0.5, 0.1), "means of Beta(½, ½)"),
        (
            "arms-5000-low",
            partial(_beta_coins, 0.25, 2.25, 5000, 0.1, 0.08),
            "means of Beta(¼, 2¼)",
        ),
        (
            "arms-5000-high",
            partial(_beta_coins, 2.25, 0.25, 5000, 0.9, 0.08),
            "means of Beta(2¼, ¼)",
        ),
    ],
    "recorded": [
        (
            "bluebirds",
            partial(_exceeding, "bluebirds", 0.5, 0.5, 0.1),
            "crowd labels for photographs",
        ),
        (
            "vm-noise-5",
            partial(_exceeding, "vm_noise", 0.05, 0.2, 0.05),
            "benchmarks that stray by over 5 % in a fifth of runs",
        ),
        (
            "vm-noise-10",
            partial(_exceeding, "vm_noise", 0.1, 0.1, 0.03),
            "benchmarks that stray by over 10 % in a tenth of runs",
        ),
        (
            "rtt-half",
            partial(_exceeding, "rtt_seattle", 0.5, 0.2, 0.05),
            "links over half a second in a fifth of trips",
        ),
        (
            "rtt-one",
            partial(_exceeding, "rtt_seattle", 1.0, 0.05, 0.02),
            "links over a second in a twentieth of trips",
        ),
        (
            "rtt-mean",
            partial(_recorded, "rtt_seattle", threshold=0.4, precision=0.1),
            "links whose mean trip takes 0.4 s",
        ),
    ],
}

# Found by tools/suite_budgets.py.
BUDGETS: dict[str, Budgets] = {
    "three-groups": (66, 170, 280),
    "arithmetic": (120, 230, 350),
    "geometric": (290, 540, 790),
    "three-groups-gaussian": (83, 200, 330),
    "arithmetic-gaussian": (140, 280, 430),
    "geometric-gaussian": (310, 580, 830),
    "geometric-exact": (890, 1_800, 2_700),
    "radtke-2": (3_300, 14_000, 25_000),
    "radtke-3": (6_200, 14_000, 30_000),
    "ladder-20": (10_000, 20_000, 40_000),
    "flaky-50": (24_000, 31_000, 40_000),
    "tests-200": (20_000, 24_000, 30_000),
    "prompts-30": (8_100, 13_000, 21_000),
    "uniform-50": (1_900, 3_400, 4_900),
    "uniform-50-high": (1_100, 2_200, 3_200),
    "exponential-20": (210, 460, 810),
    "poisson-20": (440, 940, 1_600),
    "fwt-1": (420, 620, 830),
    "fwt-2": (500, 1_000, 2_000),
    "fwt-2-band": (4_800, 8_400, 12_000),
    "aug-ucb-1": (2_700, 4_800, 6_900),
    "aug-ucb-2": (3_300, 5_500, 7_700),
    "aug-ucb-3": (2_500, 4_600, 6_800),
    "aug-ucb-4": (5_900, 9_500, 12_000),
    "aug-ucb-5": (11_000, 17_000, 22_000),
    "declared-20": (1_700, 3_100, 4_400),
    "beta-12": (110, 210, 350),
    "pareto-10": (63, 440, 2_000),
    "student-10": (190, 620, 1_900),
    "arms-50-high": (5_100, 7_200, 12_000),
    "arms-500": (11_000, 16_000, 20_000),
    "arms-500-low": (18_000, 24_000, 37_000),
    "arms-5000": (27_000, 62_000, 100_000),
    "arms-5000-low": (31_000, 83_000, 170_000),
    "arms-5000-high": (31_000, 83_000, 170_000),
    "bluebirds": (3_100, 4_600, 5_900),
    "vm-noise-5": (6_100, 8_800, 12_000),
    "vm-noise-10": (12_000, 21_000, 27_000),
    "rtt-half": (17_000, 41_000, 53_000),
    "rtt-one": (23_000, 110_000, 180_000),
    "rtt-mean": (4_600, 17_000, 60_000),
}

# Where 1 % takes more pulls than the tournament can afford.
NOTES = {
    "radtke-3": "At the largest budget APT still errs in 6 % of games.",
    "ladder-20": "APT errs in 94, 84 and 69 % of games; 25 % would take 120,000 pulls.",
    "flaky-50": "At the largest budget APT still errs in 15 % of games; 1 % would take 270,000 "
    "pulls.",
    "tests-200": "At the largest budget APT still errs in 15 % of games; 1 % would take over "
    "600,000 pulls.",
    "rtt-mean": "At the largest budget APT still has 3 wrong arms in 1,000; 1 would take 150,000 "
    "pulls.",
    "fwt-2": "Means as close to the threshold as 0.0004: some arm is always wrong, so arms are "
    "counted; the budgets are the paper's 500, and twice and four times it.",
}

SUITE: dict[str, Instance] = {
    name: Instance(name, group, make, BUDGETS[name], why, NOTES.get(name, ""))
    for group, rows in _GROUPS.items()
    for name, make, why in rows
}


def find_budgets(
    bandit: Bandit,
    *,
    most: int = 200_000,
    games: int = 2_000,
    seed: int = 1,
    threads: int | None = None,
) -> tuple[Budgets, tuple[float, float, float]]:
    """The budgets at which APT errs as often as :data:`TARGETS` say, and how often it does there.

    Beyond 500 arms the share of wrong arms stands in for the share of wrong games. The budgets are
    rounded to two digits. No budget exceeds ``most``: where APT errs too often even then, they are
    spread evenly, as ratios, between the largest that was reached (or a quarter) and ``most``.

    >>> find_budgets(Bandit(Bernoulli([0.2, 0.8]), threshold=0.5))[0]
    (4, 14, 24)
    """
    arms = len(bandit.problem.arms)
    targets = TARGETS_MANY if arms > MANY else TARGETS
    last, few = 8 * arms, min(games, 256)
    while last < most and apt_curve(bandit, last, few, seed, threads)[1][-1] > 0.8 * targets[-1]:
        last = min(3 * last, most)
    horizons, curve = apt_curve(bandit, last, games, seed, threads)
    while last < most and curve[-1] > targets[-1]:  # the few games were lucky
        last = min(2 * last, most)
        horizons, curve = apt_curve(bandit, last, games, seed, threads)
    found = [_two_digits(crossing(horizons, curve, target)) for target in targets]
    if curve[-1] > targets[-1]:
        low = found[0] if curve[-1] < targets[0] else most / 4
        found = [_two_digits(low ** (1 - x) * most**x) for x in (0.0, 0.5, 1.0)]
    budgets = (found[0], max(found[1], found[0] + 1), max(found[2], found[0] + 2, found[1] + 1))
    seen = np.interp(np.log(budgets), np.log(horizons), curve)
    return budgets, (float(seen[0]), float(seen[1]), float(seen[2]))


def apt_curve(
    bandit: Bandit, budget: int, games: int, seed: int, threads: int | None
) -> tuple[Ints, Floats]:
    """Horizons, each a few percent further, and the share of games (or arms) that APT has wrong."""
    arms = len(bandit.problem.arms)
    steps = grid(arms, budget)
    result = simulate(
        bandit, APT(), budget=budget, horizons=steps, games=games, seed=seed, threads=threads
    )
    curve = result.wrong_arms_curve / arms if arms > MANY else result.error_curve
    return result.horizons, curve[0]


def grid(first: int, last: int, points: int = 120) -> list[int]:
    """Horizons from the first to the last, evenly spread as ratios.

    >>> grid(10, 1000, 5)
    [10, 32, 100, 316, 1000]
    """
    return sorted({round(x) for x in np.geomspace(min(first, last), last, points)})


def crossing(horizons: Ints, curve: Floats, target: float) -> float:
    """The horizon from which on a curve stays at or below a target, on a line of log errors.

    Infinite where it does not get there; the first horizon where it always is.

    >>> crossing(np.array([10, 20, 30]), np.array([0.4, 0.1, 0.025]), 0.05)
    25.0
    """
    above = np.flatnonzero(curve > target)
    if len(above) == 0:
        return float(horizons[0])
    i = int(above[-1])
    if i + 1 == len(curve):
        return float("inf")
    if curve[i + 1] <= 0:  # no line of logarithms ends there: straight, between the two
        share = (curve[i] - target) / curve[i]
    else:
        share = np.log(curve[i] / target) / np.log(curve[i] / curve[i + 1])
    return float(horizons[i] + share * (horizons[i + 1] - horizons[i]))


def _two_digits(value: float) -> int:
    return 0 if value == float("inf") else int(float(f"{value:.1e}"))


def from_folder(folder: str | Path) -> Iterator[tuple[str, Bandit]]:
    """The problems of a folder of recorded rewards: names and bandits.

    ``problems.toml`` holds a table ``[[problem]]`` for each: ``file`` (see
    :func:`~cutline.simulation.datasets.dataset_from_csv`), ``threshold``, and as needed
    ``precision``, ``rewards`` (binary unless said), ``level`` and ``name``.
    """
    listed = Path(folder) / "problems.toml"
    if not listed.is_file():
        raise ValueError(
            f"there is no file {listed}: it names the problems to play, a [[problem]] table each"
        )
    try:
        values = tomllib.loads(listed.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{listed} cannot be read as TOML: {error}") from error
    tables = values.get("problem")
    if not isinstance(tables, list) or not tables or set(values) != {"problem"}:
        raise ValueError(f"{listed} must hold [[problem]] tables, at least one, and nothing else")
    seen = set(SUITE)
    for place, table in enumerate(tables, 1):
        try:
            name, bandit = _problem(Path(folder), table)
            if name in seen:
                raise ValueError(f"the name {name!r} is taken: give another with name = ...")
        except (ValueError, TypeError, OSError) as error:
            raise ValueError(f"{listed}, problem {place}: {error}") from error
        seen.add(name)
        yield name, bandit


def own_instances(
    folder: str | Path,
    *,
    games: int = 2_000,
    threads: int | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> list[Instance]:
    """The problems of a folder as instances, with budgets found on the spot.

    ``tell`` is called with the problems done and the problems in all.
    """
    listed = list(from_folder(folder))  # all are read before the first is played
    found = []
    for place, (name, bandit) in enumerate(listed, 1):
        budgets, rates = find_budgets(bandit, games=games, threads=threads)
        target = (TARGETS_MANY if len(bandit.problem.arms) > MANY else TARGETS)[-1]
        share = "of arms" if target < 0.01 else "of games"
        note = f"APT still errs in {rates[2]:.1%} {share} at the largest budget."
        note = note if rates[2] > 1.5 * target else ""
        make = partial(_same, bandit)
        found.append(Instance(name, "your own", make, budgets, f"from {folder}", note))
        if tell is not None:
            tell(place, len(listed))
    return found


def _same(bandit: Bandit) -> Bandit:
    return bandit


def _problem(folder: Path, table: Any) -> tuple[str, Bandit]:
    known = {"file", "threshold", "precision", "rewards", "level", "name"}
    if not isinstance(table, dict) or not {"file", "threshold"} <= set(table) <= known:
        raise ValueError(
            f"file and threshold are wanted, and perhaps {', '.join(sorted(known))}; "
            f"got {', '.join(table) if isinstance(table, dict) else table!r}"
        )
    if not isinstance(table["file"], str) or not (folder / table["file"]).is_file():
        raise ValueError(f"there is no file {folder / str(table['file'])}")
    data = dataset_from_csv(folder / table["file"], rewards=table.get("rewards", "binary"))
    options = {key: table[key] for key in ("threshold", "precision", "level") if key in table}
    return str(table.get("name", data.name)), data.bandit(**options)
