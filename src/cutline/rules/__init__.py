"""The sampling rules, one a file, and how a command line names them."""

import importlib.util
import sys
from dataclasses import fields
from pathlib import Path

from cutline.rules.apt import APT
from cutline.rules.base import ClockedIndexRule, IndexRule, Policy, Rule
from cutline.rules.csar import CSAR
from cutline.rules.round_robin import RoundRobin
from cutline.rules.slr import SLRD
from cutline.rules.ucbe import UCBE
from cutline.rules.uniform import Uniform

__all__ = [
    "APT",
    "CSAR",
    "RULES",
    "SLRD",
    "UCBE",
    "ClockedIndexRule",
    "IndexRule",
    "Policy",
    "RoundRobin",
    "Rule",
    "Uniform",
    "parse_rule",
]

RULES: dict[str, type[Rule]] = {
    kind.name: kind for kind in (APT, Uniform, RoundRobin, UCBE, CSAR, SLRD)
}


def parse_rule(text: str) -> Rule:
    """A rule from its name on a command line, with its settings after colons.

    A rule of your own is named by its file and class: ``./mine.py:MyRule`` or
    ``./mine.py:MyRule:0.5``.

    >>> parse_rule("apt"), parse_rule("ucbe:0.25"), parse_rule("apt:precision=0.05")
    (APT(precision=None), UCBE(precision=None, c=0.25, complexity=None), APT(precision=0.05))
    """
    name, *values = text.strip().split(":")
    if name.endswith(".py"):
        if not values:
            raise ValueError(f"say which class of {name} is the rule, e.g. {name}:MyRule")
        kind = _from_file(name, values.pop(0))
    elif name in RULES:
        kind = RULES[name]
    else:
        raise ValueError(
            f"unknown rule {name!r}: one of {', '.join(RULES)}, or a class of your own as "
            "./mine.py:MyRule"
        )
    return _build(kind, text, values)


def _build(kind: type[Rule], text: str, values: list[str]) -> Rule:
    plain = iter([f.name for f in fields(kind) if not f.kw_only])
    known = {f.name for f in fields(kind)}
    settings: dict[str, float] = {}
    for value in values:
        key, _, number = value.rpartition("=")
        key = key or next(plain, "")
        if key not in known:
            takes = ", ".join(sorted(known))
            raise ValueError(
                f"{value!r} in {text!r} is no setting of that rule, which has: {takes}"
            )
        try:
            settings[key] = float(number)
        except ValueError:
            raise ValueError(f"{number!r} in {text!r} is not a number") from None
    return kind(**settings)


def _from_file(path: str, name: str) -> type[Rule]:
    file = Path(path).resolve()
    if not file.is_file():
        raise ValueError(f"there is no file {path}")
    module = f"cutline_rules_{file.stem}"
    spec = importlib.util.spec_from_file_location(module, file)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module] = loaded  # dataclasses look their module up
    try:
        spec.loader.exec_module(loaded)
    except Exception as error:
        raise ValueError(f"{path} could not be read: {type(error).__name__}: {error}") from error
    kind = getattr(loaded, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Rule)):
        raise ValueError(f"{path} has no rule called {name}")
    kind.file = path
    return kind
