"""Who plays where: the contestants, and a fixed model of what they cost."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cutline.rules import parse_rule
from cutline.rules.base import IndexRule, Rule
from cutline.simulation.bandit import Bandit
from cutline.simulation.suite import Instance

LIMIT = 12.0  # seconds for a rule on an instance, by the cost model
PATIENCE = {"apt": 1e9, "auto": 1e9, "bayes-ucb": 45.0}  # other limits

# Made for one kind of reward; elsewhere they are asked for by name.
HEAVY_ONLY = ("apt-clipped", "apt-catoni", "apt-median")
MADE_FOR = {**dict.fromkeys(HEAVY_ONLY, "heavy"), "slr-v": "gaussian"}
# Who plays unless said.
CONTESTANTS = (
    *("apt", "auto", "slr", "slr-d", "slr-v", "lsa", "fwt", "evt", "aug-ucb", "csar", "ucbe"),
    *("pi", "tts", "bayes-ucb", *HEAVY_ONLY, "uniform", "oracle"),
)
QUICK = ("apt", "auto")

# Nanoseconds that a pull takes on one core: a part of its own, and one for each arm looked at.
# Measured once, on the build machine, and fixed, so that everybody plays the same cells.
COSTS = {
    "apt": (8, 0.13),
    "auto": (20, 0.15),
    "slr": (17, 0.14),
    "slr-d": (20, 1.3),
    "slr-v": (15, 0.11),
    "lsa": (10, 0.12),
    "fwt": (14, 0.13),
    "evt": (13, 0.1),
    "aug-ucb": (75, 0.9),
    "csar": (33, 0.7),
    "ucbe": (8, 0.14),
    "pi": (160, 0.0),
    "tts": (190, 1.35),
    "bayes-ucb": (7_300, 0.0),
    "apt-clipped": (15, 0.2),
    "apt-catoni": (22, 0.2),
    "apt-median": (27, 0.2),
    "uniform": (15, 0.0),
    "oracle": (9, 0.2),
}
TREE = 160  # from here on index rules do not look at every arm
CROWD = 0.008  # what an arm more costs all the same: memory that is further away
# A reward, beyond that of a coin.
DRAWS = {"gaussian": 6, "exponential": 6, "poisson": 20, "beta": 230, "pareto": 70}
DRAWS |= {"student-t": 115, "recorded": 100}
CORES = 2


@dataclass(frozen=True)
class Plan:
    """Who plays on which instance: the rules' names, and why the others do not."""

    instance: Instance
    budgets: tuple[int, ...]
    games: int
    rules: tuple[str, ...]
    unfit: dict[str, str] = field(default_factory=dict)  # in the rule's own words
    slow: dict[str, float] = field(default_factory=dict)  # seconds it would take


def plan(
    instance: Instance,
    names: Sequence[str],
    *,
    games: int | None = None,
    quick: bool = False,
    limit: float = LIMIT,
    all_apply: bool = False,
) -> Plan:
    """What is played on an instance; APT always is, and ``auto`` is never too slow.

    ``all_apply`` lets rules for one kind of reward play on others too, as when they are asked for.
    """
    problem = instance.bandit.problem
    budgets = instance.budgets[:1] if quick else instance.budgets
    count = games or (64 if quick else instance.games)
    playing: list[str] = []
    unfit: dict[str, str] = {}
    slow: dict[str, float] = {}
    for name in dict.fromkeys(("apt", *names)):
        rule = parse_rule(name)
        if MADE_FOR.get(name, problem.rewards.kind) != problem.rewards.kind and not all_apply:
            unfit[name] = f"is for {MADE_FOR[name]} rewards"
            continue
        try:
            rule.check(problem)
            rule.on(problem).check(problem)
        except ValueError as error:
            unfit[name] = str(error)
            continue
        seconds = predicted_seconds(name, rule, instance.bandit, budgets, count)
        if seconds > max(limit, PATIENCE.get(name, 0.0)):
            slow[name] = seconds
        else:
            playing.append(name)
    return Plan(instance, budgets, count, tuple(playing), unfit, slow)


def predicted_seconds(
    name: str, rule: Rule, bandit: Bandit, budgets: Sequence[int], games: int
) -> float:
    """How long a rule takes on an instance on two cores, by a fixed model of its cost."""
    arms = len(bandit.problem.arms)
    own, each = COSTS.get(name.partition(":")[0], COSTS["apt"])
    looks_once = isinstance(rule, IndexRule) and not rule.clocked
    looked_at = min(arms, TREE) if looks_once else arms
    cost = own + each * looked_at + CROWD * arms + DRAWS.get(bandit.arms.name, 0)
    pulls = budgets[-1] if rule.anytime else sum(budgets)
    return games * pulls * cost * 1e-9 / CORES
