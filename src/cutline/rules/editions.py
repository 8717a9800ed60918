"""Built-in rules as they were when a campaign began: its choices must follow from its events.

Edition 1 gave every arm an infinite index whose far edge lay at or past the end of the rewards'
range; edition 2 asks whether a reward has been seen that is not at that end. Nothing else differs.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from cutline.rules.auto import Auto, AutoAtEnds, BoundedAuto, ExponentialAuto, PoissonAuto
from cutline.rules.base import IndexRule, parameter_names
from cutline.rules.slr import SLR, SLRD, ExponentialSLR, PoissonSLR, far_edge

EDITION = 2
_FIRST = (BoundedAuto, PoissonAuto, ExponentialAuto, SLR, PoissonSLR, ExponentialSLR)


def of_edition(rule: IndexRule, edition: int) -> IndexRule:
    """The rule as it is played in a campaign that began with this edition."""
    kind = type(rule)
    if edition >= EDITION:
        return AutoAtEnds(precision=rule.precision) if kind is Auto else rule
    if kind is AutoAtEnds:
        return Auto(precision=rule.precision)
    if kind not in (*_FIRST, SLRD):
        return rule
    name = "learn" if kind is SLRD else "formula"
    former = {name: staticmethod(_infinite_at_ends(getattr(kind, name)))}
    return type(kind.__name__, (kind,), former)(precision=rule.precision)  # type: ignore[no-any-return]


def _infinite_at_ends(function: Callable[..., float]) -> Callable[..., float]:
    names = parameter_names(function)

    @wraps(function)
    def former(*numbers: float) -> float:
        known: dict[str, Any] = dict(zip(names, numbers, strict=True))
        seen = known["pulls"] + ("reward" in known), known["total"] + known.get("reward", 0.0)
        far = far_edge(*seen, known["tau"], known["eps"])
        return function(*numbers) if 0.0 < far < known.get("width", math.inf) else math.inf

    return former
