"""The moving parts of a game, put together for one rule and one family of arms.

What is known of all arms lies in one flat array of columns: row ``r`` of arm ``i`` is
``columns[r * width + i]``, where ``width`` is the number of arms (or of games played side by side).
The rule's and the family's functions name what they need; here those names become places in that
array, by writing small functions as text. The parts are plain Python: the reference plays with them
as they are, the simulator compiles them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutline.core.chance import REWARD, uniform
from cutline.core.chance import chance as chance_of
from cutline.core.problem import Problem
from cutline.core.rewards import HAIR
from cutline.core.tally import Floats
from cutline.rules.base import (
    TALLY,
    IndexRule,
    Policy,
    Rule,
    most_pulled,
    parameter_names,
    wants,
    write_part,
)
from cutline.simulation.arms import Arms
from cutline.simulation.arms.level_set import LevelSet
from cutline.simulation.bandit import Bandit
from cutline.simulation.goals import Goal, TopArms, no_judge, top_judge

# The first rows of every layout; the kernels know them by number.
PULLS, TOTAL, TRUTH, ARM, PARAMETERS = range(5)


@dataclass(frozen=True)
class Layout:
    """Where every number of an arm is kept: names by row.

    The arms' parameters follow the first four rows; then come the rows that change with a pull
    beside pulls and total (``changing`` to ``tau``), and last the threshold and the precision.
    """

    rows: tuple[str, ...]
    changing: int

    @property
    def tau(self) -> int:
        """The row of the threshold; the precision is the next."""
        return len(self.rows) - 2

    @property
    def squares(self) -> int:
        """The row of the sum of squares, or 0 where the rule does not ask for it."""
        return self.rows.index("squares") if "squares" in self.rows else 0

    def place(self, name: str) -> str:
        """How an arm's number is read in generated text."""
        return f"columns[{self.rows.index(name)} * width + i]"


@dataclass(frozen=True)
class Parts:
    """The functions of a game, and the layout they agree on.

    ``draw(columns, width, i, key0, key1, game, table)``: the next reward of arm i
    ``learn(columns, width, i, reward, step, settings)``: what the rule keeps beside the tally
    ``above(columns, width, i, settings)``: whether the rule's answer for arm i is "above"
    ``index(columns, width, i, step, settings)``: an index rule's formula
    ``pick(columns, width, memory, step, settings, chance, luck)``: the arm to pull
    ``judge(columns, width, memory, step, settings, merits)``: wrong arms and regret, where the goal
    is not the sides of the arms

    ``lucky`` says whether the rule asks for a uniform number at every step, ``judged`` whether the
    goal has a judge.
    """

    layout: Layout
    settings: tuple[str, ...]
    draw: Callable[..., float]
    learn: Callable[..., Any]
    above: Callable[..., bool]
    index: Callable[..., float] | None
    pick: Callable[..., int]
    judge: Callable[..., Any]
    lucky: bool
    judged: bool

    def values(self, rule: Rule, bandit: Bandit, budget: int) -> tuple[float, ...]:
        """The numbers behind the names in ``settings``, for one horizon."""
        known = _settings(rule, bandit, budget)
        return tuple(float(known[name]) for name in self.settings)

    def columns(self, rule: Rule, bandit: Bandit, goal: Goal) -> Floats:
        """The columns before the first pull, one row each, arms in the order they are named."""
        problem = bandit.problem
        eps = problem.precisions if rule.precision is None else rule.precision
        origins = problem.origins
        known: dict[str, Any] = {
            "truth": goal.truth(bandit),
            "lack": np.max(bandit.means) - bandit.means,
            "arm": np.arange(len(problem.arms)),
            "tau": problem.thresholds - origins,
            "eps": eps,
            **{f"arms.{name}": row for name, row in bandit.arms.columns(origins).items()},
            **dict(zip(rule.keeps, rule.start(problem, bandit.means), strict=True)),
        }
        zero = np.zeros(len(problem.arms))
        return np.array([known.get(name, zero) + zero for name in self.layout.rows])


def assemble(rule: Rule, bandit: Bandit, goal: Goal) -> Parts:
    """The parts of a game of this rule on this bandit."""
    rule.check(bandit.problem)
    goal.check(bandit)
    own = _settings(rule, bandit, budget=len(bandit.problem.arms))
    taken = {*TALLY, "truth", "arm", "lack"}
    clash = set(rule.keeps) & set(own) | (set(own) | set(rule.keeps)) & taken
    if clash:
        raise TypeError(f"{type(rule).__name__} uses the name {clash.pop()!r} twice")
    body = rule.body
    owner = type(rule).__name__
    learn = getattr(type(rule), "learn", None) if isinstance(rule, IndexRule) else None
    if isinstance(rule, IndexRule):
        clock = ("step",) if rule.clocked else ()
        known = (*TALLY, *clock, *own, *rule.keeps)
        named = wants(body, known, f"{owner}.formula", _hint(rule, body, own))
    else:
        known = (*TALLY, "memory", "step", "luck", "chance", *own)
        named = wants(body, known, f"{owner}.choose", _hint(rule, body, own))
    if learn is not None:
        named = named + wants(learn, ("reward", *known), f"{owner}.learn")
    estimate = rule.own_estimate
    if estimate is not None:
        lasting = [name for name in own if name != "budget"]  # an answer may come at any time
        named = named + wants(estimate, (*TALLY, *lasting, *rule.keeps), f"{owner}.estimate")
    if isinstance(rule, Policy):
        for name in ("estimate", "learn"):
            if hasattr(type(rule), name):
                raise TypeError(f"{owner} is a Policy, which takes no {name}: see memory")
    if isinstance(goal, TopArms):
        names = getattr(rule, "m", goal.m)
        if names != goal.m:
            raise ValueError(f"{rule.spec} names {names:g} of the arms, and the goal is {goal.m}")
        named = named + wants(rule.merit, (*known, "place", "m"), f"{owner}.merit")
    settings = tuple(name for name in own if name in named)

    parameters = tuple(f"arms.{name}" for name in bandit.arms.columns(bandit.problem.origins))
    parameters += ("lack",) if isinstance(goal, TopArms) else ()
    changing = (("squares",) if "squares" in named else ()) + rule.keeps
    layout = Layout(
        ("pulls", "total", "truth", "arm", *parameters, *changing, "tau", "eps"),
        changing=PARAMETERS + len(parameters),
    )
    index = _index_part(layout, settings, body) if isinstance(rule, IndexRule) else None
    if isinstance(rule, Policy):
        pick = _policy_part(layout, settings, body)
    else:
        assert isinstance(rule, IndexRule) and index is not None
        pick = lowest_index(index, rule.first_pulls)
    judge = no_judge
    if isinstance(goal, TopArms):
        merit = _merit_part(layout, settings, rule, goal.m)
        judge = top_judge(merit, goal.m, (PULLS, TRUTH, layout.rows.index("lack")))
    return Parts(
        layout,
        settings,
        draw=_draw_part(layout, bandit.arms),
        learn=_learn_part(layout, settings, learn, rule.keeps),
        above=_above_part(layout, settings, estimate, bandit.problem),
        index=index,
        pick=pick,
        judge=judge,
        lucky="luck" in named,
        judged=isinstance(goal, TopArms),
    )


def lowest_index(index: Callable[..., float], first_pulls: int) -> Callable[..., int]:
    """Play an index rule as a policy: look at every arm, take the first with the lowest index."""

    def pick(columns, width, memory, step, settings, chance, luck):  # type: ignore[no-untyped-def]
        if step < first_pulls * width:
            return step % width
        arm = 0
        lowest = index(columns, width, 0, step, settings)
        for i in range(1, width):
            value = index(columns, width, i, step, settings)
            if value < lowest:
                arm = i
                lowest = value
        return arm

    return pick


def _hint(rule: Rule, body: Callable[..., Any], own: Mapping[str, float]) -> str:
    """What a rule's author may have forgotten."""
    names = parameter_names(body)
    if "step" in names and isinstance(rule, IndexRule) and not rule.clocked:
        return "; a formula that takes the step makes a ClockedIndexRule"
    forgotten = (name for name in names if name not in own)
    if any(name in vars(type(rule)).get("__annotations__", {}) for name in forgotten):
        return "; settings need @dataclass(frozen=True) before the class"
    return ""


def _settings(rule: Rule, bandit: Bandit, budget: int) -> Mapping[str, float]:
    own = rule.settings(bandit.problem, budget, bandit.means)
    return {**own, "arms": len(bandit.problem.arms), "budget": budget}


def _index_part(
    layout: Layout, settings: tuple[str, ...], formula: Callable[..., float]
) -> Callable[..., float]:
    called = ", ".join(_argument(layout, settings, name) for name in parameter_names(formula))
    return write_part(
        "def part(columns, width, i, step, settings):\n"
        f"    value = formula({called})\n"
        "    return value if value == value else infinity\n",  # not a number: never first
        formula=formula,
        infinity=math.inf,
    )


def _learn_part(
    layout: Layout,
    settings: tuple[str, ...],
    learn: Callable[..., Any] | None,
    keeps: tuple[str, ...],
) -> Callable[..., Any]:
    head = "def part(columns, width, i, reward, step, settings):\n"
    if learn is None:
        return write_part(head + "    pass\n")
    called = ", ".join(_argument(layout, settings, name) for name in parameter_names(learn))
    kept = ", ".join(layout.place(name) for name in keeps)
    return write_part(f"{head}    {kept} = learn({called})\n", learn=learn)


def _above_part(
    layout: Layout,
    settings: tuple[str, ...],
    estimate: Callable[..., float] | None,
    problem: Problem,
) -> Callable[..., bool]:
    pulls, total, tau = (layout.place(name) for name in ("pulls", "total", "tau"))
    # One rounded division: S >= n tau would put 7 of 100 below 0.07.
    value = f"{total} / max({pulls}, 1.0)"
    if estimate is not None:
        called = ", ".join(_argument(layout, settings, name) for name in parameter_names(estimate))
        value = f"estimate({called})"
    rewards = problem.rewards
    if rewards.kind == "bounded" and rewards.high in problem.threshold:  # see Rewards.bar
        assert rewards.low is not None and rewards.high is not None
        tau = f"({tau} if {tau} < {rewards.high - rewards.low!r} else {tau} * {HAIR!r})"
    return write_part(
        f"def part(columns, width, i, settings):\n    return {value} >= {tau}\n",
        estimate=estimate,
    )


def _merit_part(
    layout: Layout, settings: tuple[str, ...], rule: Rule, m: int
) -> Callable[..., float]:
    argument = _over_arms if isinstance(rule, Policy) else _argument
    merit = rule.merit
    if m > 1 and merit is most_pulled and rule.own_estimate is not None:
        merit = rule.own_estimate  # several arms are named by mean, or what stands for it
    called = ", ".join(argument(layout, settings, name) for name in parameter_names(merit))
    return write_part(
        f"def part(columns, width, place, memory, step, settings):\n    i = place\n"
        f"    return merit({called})\n",
        merit=merit,
        m=m,
    )


def _policy_part(
    layout: Layout, settings: tuple[str, ...], choose: Callable[..., int]
) -> Callable[..., int]:
    called = ", ".join(_over_arms(layout, settings, name) for name in parameter_names(choose))
    return write_part(
        "def part(columns, width, memory, step, settings, chance, luck):\n"  # one name for all
        f"    return choose({called})\n",
        choose=choose,
    )


def _draw_part(layout: Layout, arms: Arms) -> Callable[..., float]:
    source = arms.arms if isinstance(arms, LevelSet) else arms
    draw = source.quantile if source.quantile is not None else source.sample
    if draw is None:
        raise TypeError(f"{type(source).__name__} needs a static method quantile or sample")
    first, *names = parameter_names(draw)
    known = [name.removeprefix("arms.") for name in layout.rows[PARAMETERS : layout.changing]]
    wants(draw, (first, *known, "table"), f"{type(source).__name__}.{draw.__name__}")
    rest = ", ".join(n if n == "table" else layout.place(f"arms.{n}") for n in names)
    luck = "uniform(what, 0)" if source.quantile is not None else "what"
    value = f"draw({luck}, {rest})"
    if isinstance(arms, LevelSet):
        value = f"1.0 if {value} > {layout.place('arms.level')} else 0.0"
    return write_part(
        "def part(columns, width, i, key0, key1, game, table):\n"
        f"    arm = int({layout.place('arm')})\n"
        f"    pull = int({layout.place('pulls')})\n"
        f"    what = chance_of(key0, key1, game, arm, pull, {REWARD})\n"
        f"    return {value}\n",
        draw=draw,
        uniform=uniform,
        chance_of=chance_of,
    )


def _over_arms(layout: Layout, settings: tuple[str, ...], name: str) -> str:
    """How generated text hands a policy what it asks for: arrays over the arms."""
    if name in TALLY:
        row = layout.rows.index(name)
        return f"columns[{row} * width : {row + 1} * width]"
    return "width" if name == "arms" else _argument(layout, settings, name)


def _argument(layout: Layout, settings: tuple[str, ...], name: str) -> str:
    if name in layout.rows:
        return layout.place(name)
    return f"settings[{settings.index(name)}]" if name in settings else name
