"""The shapes a rule can have.

A rule says which arm is pulled next. Its settings are frozen; what it has learned is in the numbers
it is handed. It is written as one plain scalar function whose *parameter names say what it needs*:

``pulls``, ``total``, ``squares``
    the arm's tally; the sums are of x - origin, and ``tau`` is counted from the same origin
``tau``, ``eps``
    the arm's threshold and the precision the rule uses
``arms``, ``budget``
    how many arms there are, and the horizon (asking for it makes a rule need the horizon)
``step``
    how many pulls were made before this one (clocked index rules and policies)
its own names
    the rule's settings, and the numbers it keeps for every arm

The same source runs as it is in a live game, and compiled in millions of simulated ones.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, final

import numpy as np

from cutline.core.problem import Problem
from cutline.core.tally import Floats, Tallies, Tally

TALLY = ("pulls", "total", "squares", "tau", "eps")

# Where arms stand in a live game, beside their index.
UNTOLD = -1e200  # comes before every index; over 1 + the pulls asked, fewest first
LATE = 1e300  # comes after every index
STUCK = 1e301  # after that: an arm never told with MANY in flight, which may be one that hangs
MANY = 5


@dataclass(frozen=True)
class Rule:
    """What all rules share: a name, settings, and an answer at any moment.

    ``precision`` is the epsilon the rule itself works with; None takes the problem's. It can differ
    from the precision by which the answer is judged.
    """

    name: ClassVar[str] = ""
    """How command lines call a built-in rule; others go by their file and class."""
    file: ClassVar[str] = ""
    """The file a rule from outside the package was loaded from."""
    needs_horizon: ClassVar[bool | None] = None
    """Whether the rule must know the budget; None: if a function of its own asks for it."""
    keeps: ClassVar[tuple[str, ...]] = ()
    """Names of the numbers kept for every arm beside pulls, total and squares."""
    merit: ClassVar[Callable[..., float]]
    """What the best arms are named by, where that is asked for: those with the highest merit. It
    may also ask for ``m``, how many are to be named, and a policy's for ``memory`` and for
    ``place``, the arm's place in the arrays."""

    precision: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
                if "tuple" not in str(setting.type):
                    raise ValueError(f"{setting.name} of a rule is one number, got {value!r}")
                value = tuple(map(float, value))  # one number per arm
                object.__setattr__(self, setting.name, value)
            for number in value if isinstance(value, tuple) else (value,):
                if number is not None and not math.isfinite(number):
                    raise ValueError(
                        f"{setting.name} of a rule must be a finite number, got {number!r}"
                    )
        if self.precision is not None and self.precision < 0:
            raise ValueError(f"precision must be 0 or more, got {self.precision!r}")

    def settings(
        self, problem: Problem, budget: int, means: Sequence[float] | Floats | None
    ) -> Mapping[str, float]:
        """The rule's own numbers for one problem and horizon: by default its fields.

        A field that holds one number per arm is none of them: such numbers are kept, by ``start``.
        """
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "precision"}
        numbers = {name: v for name, v in own.items() if not isinstance(v, tuple | None)}
        return {name: float(value) for name, value in numbers.items()}

    def check(self, problem: Problem) -> None:
        """Raise a ValueError where the rule is not made for such a problem; most take any."""

    def start(self, problem: Problem, means: Sequence[float] | Floats | None) -> Floats:
        """What is kept for every arm before the first pull: one row for each name in ``keeps``.

        ``means`` are the true ones, in a simulation, for yardsticks that are told them.
        """
        return np.zeros((len(self.keeps), len(problem.arms)))

    def on(self, problem: Problem) -> "Rule":
        """The rule as it is played on a problem: one that goes by the kind of reward gives another.

        Most are themselves on any problem.
        """
        return self

    @final
    def answer(self, problem: Problem, tallies: Tallies) -> list[bool | None]:
        """The answer now: the arms whose mean is at least their threshold (None: not yet seen).

        A rule with an ``estimate`` of its own puts that in place of the mean.
        """
        rule = self.on(problem)
        estimate = rule.own_estimate
        if estimate is None:
            return problem.decide(tallies)
        tau = problem.thresholds - tallies.origin
        eps = problem.precisions if rule.precision is None else rule.precision + 0.0 * tau
        known = {
            **{name: value + 0.0 * tau for name, value in rule.settings(problem, 0, None).items()},
            **{"pulls": tallies.pulls, "total": tallies.total, "squares": tallies.squares},
            **{"tau": tau, "eps": eps, "arms": len(tau) + 0.0 * tau, **tallies.kept},
        }
        rows = zip(*(known[name].tolist() for name in parameter_names(estimate)), strict=True)
        seen = tallies.pulls > 0
        return [
            bool(estimate(*row) >= t) if n else None
            for row, t, n in zip(rows, tau, seen, strict=True)
        ]

    @property
    def own_estimate(self) -> Callable[..., float] | None:
        """The rule's own estimate of a mean, counted from the origin, where it has one."""
        return None

    @property
    def anytime(self) -> bool:
        """Whether the rule plays without knowing the horizon.

        A rule with ``settings`` of its own, which are told the budget, counts as needing it unless
        it says ``needs_horizon = False``.
        """
        if self.needs_horizon is not None:
            return not self.needs_horizon
        functions = [self.body, getattr(type(self), "learn", None), self.own_estimate, self.merit]
        asked = [name for f in functions if f is not None for name in parameter_names(f)]
        return "budget" not in asked and type(self).settings is Rule.settings

    @property
    def body(self) -> Callable[..., Any]:
        """The function that makes the choice."""
        raise NotImplementedError

    @property
    def spec(self) -> str:
        """The rule as a command line writes it, e.g. ``ucbe:0.25``."""
        built_in = type(self).__module__.startswith("cutline.rules.")
        words = [self.name if built_in else f"{self.file}:{type(self).__name__}"]
        for f in sorted(fields(self), key=lambda f: bool(f.kw_only)):
            value = getattr(self, f.name)
            if value is not None and not (f.kw_only and value == f.default):
                written = _written(value, shortest)
                words.append(f"{f.name}={written}" if f.kw_only else written)
        return ":".join(words)

    def __str__(self) -> str:
        plain = [f for f in fields(self) if not f.kw_only and getattr(self, f.name) is not None]
        named = [f for f in fields(self) if f.kw_only and getattr(self, f.name) != f.default]
        shown = [_written(getattr(self, f.name), "{:g}".format) for f in plain]
        shown += [f"{f.name}={_written(getattr(self, f.name), '{:g}'.format)}" for f in named]
        return f"{type(self).__name__}({', '.join(shown)})" if shown else type(self).__name__


def shortest(number: float) -> str:
    """The fewest digits that give back the same number.

    >>> shortest(0.95), shortest(256.0)
    ('0.95', '256')
    """
    return repr(float(number)).removesuffix(".0")


def _written(value: float | tuple[float, ...], form: Callable[[float], str]) -> str:
    """A setting as a command line writes it: a number, or one per arm as ``1/5/1``."""
    return "/".join(map(form, value if isinstance(value, tuple) else (value,)))


def most_pulled(pulls: float, total: float, m: int) -> float:
    """The best arm is the most pulled one, as in the paper's Theorem 3; several go by mean."""
    return pulls if m == 1 else total / pulls


def highest_mean(pulls: Floats, total: Floats, place: int) -> float:
    """The best arms are those with the highest mean."""
    mean: float = total[place] / pulls[place]
    return mean


class IndexRule(Rule):
    """A rule that pulls the arm with the smallest index, a formula of that arm alone.

    Every arm is pulled ``first_pulls`` times to begin with; ties fall by a random order drawn anew
    for every game. A rule that keeps numbers of its own gives ``learn``, which takes ``reward``
    (counted from the origin) and the arm's numbers before the pull, and returns the kept ones. One
    that does not trust the mean gives ``estimate``, which is answered by in its place: a function
    of what a formula may ask for, save the step, counted from the origin.
    """

    first_pulls: ClassVar[int] = 1
    clocked: ClassVar[bool] = False

    formula: Callable[..., float]
    learn: Callable[..., Any] | None = None
    estimate: Callable[..., float] | None = None

    merit: ClassVar[Callable[..., float]] = staticmethod(most_pulled)

    @property
    def own_estimate(self) -> Callable[..., float] | None:
        """The static method ``estimate``, if there is one."""
        return None if type(self).estimate is None else _static(self, "estimate")

    @property
    def body(self) -> Callable[..., Any]:
        """The index formula."""
        return _static(self, "formula")

    def index(
        self, tally: Tally, *, threshold: float, precision: float = 0.0, **others: float
    ) -> float:
        """The index of one arm, for a look by hand; ``others`` are settings the formula names."""
        known = {
            "pulls": float(tally.pulls),
            "total": tally.total,
            "squares": tally.squares,
            "tau": threshold - tally.origin,
            "eps": precision if self.precision is None else self.precision,
            **{f.name: getattr(self, f.name) for f in fields(self)},
            **others,
        }
        return float(self.body(*(known[name] for name in parameter_names(self.body))))


class ClockedIndexRule(IndexRule):
    """An index rule whose formula also takes the step: all arms are looked at again each time."""

    clocked: ClassVar[bool] = True


class Policy(Rule):
    """A rule that looks at all arms at once: phases, active sets, randomised choices.

    ``choose`` is handed arrays over the arms (in the order in which ties fall), the ``step``, a
    ``memory`` of its own (an array of :meth:`memory` numbers, zero at first) and ``luck``, a
    uniform number drawn for the step (``chance`` gives more, by
    :func:`cutline.core.chance.uniform`); it returns the arm's place in the arrays, or -1 to stop
    before the budget is spent.
    """

    choose: Callable[..., int]

    merit: ClassVar[Callable[..., float]] = staticmethod(highest_mean)

    @property
    def body(self) -> Callable[..., Any]:
        """The choice."""
        return _static(self, "choose")

    def memory(self, arms: int) -> int:
        """How many numbers the policy remembers from step to step."""
        return 0


def _static(rule: Rule, name: str) -> Callable[..., Any]:
    kind = type(rule)
    function = inspect.getattr_static(kind, name, None)
    if not isinstance(function, staticmethod):
        raise TypeError(
            f"{kind.__name__} needs a static method {name}: put @staticmethod before def {name}"
        )
    return function.__func__


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """The parameter names of a function, in order."""
    return list(inspect.signature(function).parameters)


def one_threshold(rule: Rule, problem: Problem) -> None:
    """Refuse thresholds that differ between arms, for a rule that compares means.

    Sums on the whole line are counted from the arm's threshold, so means would be too; others are
    counted from the lower end of the range, and thresholds may differ.
    """
    if len(set(problem.origins.tolist())) > 1:
        raise ValueError(f"{rule.name} compares means of arms and takes one threshold for all")


def wants(
    function: Callable[..., Any], known: Sequence[str], owner: str, hint: str = ""
) -> list[str]:
    """The parameter names of a rule's function, or a TypeError that names the unknown one.

    >>> wants(lambda pulls, colour: 0.0, ["pulls", "total"], "Mine")
    Traceback (most recent call last):
    ...
    TypeError: Mine asks for 'colour'; what can be asked for: pulls, total
    """
    names = parameter_names(function)
    for name in names:
        if name not in known:
            can = ", ".join(known)
            raise TypeError(f"{owner} asks for {name!r}; what can be asked for: {can}{hint}")
    return names


def write_part(text: str, **names: Any) -> Callable[..., Any]:
    """A function from its text; ``names`` are what it calls."""
    namespace = dict(names)
    exec(text, namespace)
    part: Any = namespace["part"]
    part.borrows = True
    return part  # type: ignore[no-any-return]
