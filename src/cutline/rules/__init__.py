"""The sampling rules, one a file, and how a command line names them."""

import sys
import types
from dataclasses import fields
from pathlib import Path

from cutline.core.numbers import shown
from cutline.rules.apt import APT
from cutline.rules.aug_ucb import AugUCB
from cutline.rules.auto import (
    Auto,
    BoundedAuto,
    ExponentialAuto,
    GaussianAuto,
    PoissonAuto,
    StudentAuto,
)
from cutline.rules.base import ClockedIndexRule, IndexRule, Policy, Rule
from cutline.rules.bayes_ucb import BayesUCB
from cutline.rules.best_ucbe import BestUCBE
from cutline.rules.csar import CSAR
from cutline.rules.evt import EVT
from cutline.rules.fwt import FWT
from cutline.rules.gcl import GCLStar
from cutline.rules.hdoc import LUCBG, HDoC
from cutline.rules.lsa import LSA
from cutline.rules.oracle import Oracle
from cutline.rules.posterior import PI, TTS
from cutline.rules.robust import CatoniAPT, ClippedAPT, MedianAPT
from cutline.rules.round_robin import RoundRobin
from cutline.rules.sar import SAR
from cutline.rules.slr import (
    SLR,
    SLRD,
    SLRV,
    ExponentialSLR,
    GaussianSLR,
    PoissonSLR,
    UnequalGaussianSLR,
)
from cutline.rules.ucb1 import UCB1
from cutline.rules.ucbe import UCBE
from cutline.rules.ugape import UGapE
from cutline.rules.uniform import Uniform

__all__ = [
    "APT",
    "CSAR",
    "EVT",
    "FWT",
    "LSA",
    "LUCBG",
    "PI",
    "RULES",
    "SAR",
    "SLR",
    "SLRD",
    "SLRV",
    "TTS",
    "UCB1",
    "UCBE",
    "AugUCB",
    "Auto",
    "BayesUCB",
    "BestUCBE",
    "CatoniAPT",
    "ClippedAPT",
    "ClockedIndexRule",
    "GCLStar",
    "HDoC",
    "IndexRule",
    "MedianAPT",
    "Oracle",
    "Policy",
    "RoundRobin",
    "Rule",
    "UGapE",
    "Uniform",
    "parse_rule",
]

_THRESHOLDS = (Auto, APT, Uniform, RoundRobin, UCBE, CSAR, SLR, SLRD, SLRV, Oracle)
_FEW_ERRORS = (LSA, FWT)
_VARIANCE = (EVT, AugUCB)
_POSTERIOR = (BayesUCB, PI, TTS)
_CONFIDENCE = (HDoC, LUCBG)
_FAMILIES = (
    BoundedAuto, GaussianAuto, StudentAuto, PoissonAuto, ExponentialAuto,
    PoissonSLR, ExponentialSLR, GaussianSLR, UnequalGaussianSLR,
)  # fmt: skip
_HEAVY = (ClippedAPT, CatoniAPT, MedianAPT)
_BEST = (GCLStar, BestUCBE, UGapE, SAR, UCB1)
_SIDES = (*_THRESHOLDS, *_FEW_ERRORS, *_VARIANCE, *_POSTERIOR, *_CONFIDENCE)

RULES: dict[str, type[Rule]] = {kind.name: kind for kind in (*_SIDES, *_FAMILIES, *_HEAVY, *_BEST)}


def parse_rule(text: str) -> Rule:
    """A rule from its name on a command line, with its settings after colons.

    A rule of your own is named by its file and class: ``./mine.py:MyRule`` or
    ``./mine.py:MyRule:0.5``.

    >>> parse_rule("apt"), parse_rule("ucbe:0.25"), parse_rule("apt:precision=0.05")
    (APT(precision=None), UCBE(precision=None, c=0.25, complexity=None), APT(precision=0.05))
    >>> parse_rule("fwt:weights=1/5/1").weights  # a setting with one number per arm
    (1.0, 5.0, 1.0)
    """
    name, *values = text.strip().split(":")
    if not name and values:
        raise ValueError(f"the rule {values[0]} came from no file, so it cannot be found by name")
    if name.endswith(".py"):
        if not values:
            raise ValueError(f"say which class of {name} is the rule, e.g. {name}:MyRule")
        kind = _from_file(name, values.pop(0))
    elif name in RULES:
        kind = RULES[name]
    else:
        raise ValueError(
            f"unknown rule {shown(name)}: one of {', '.join(RULES)}, or a class of your own as "
            "./mine.py:MyRule"
        )
    return _build(kind, text, values)


def _build(kind: type[Rule], text: str, values: list[str]) -> Rule:
    plain = iter([f.name for f in fields(kind) if not f.kw_only])
    known = {f.name for f in fields(kind)}
    settings: dict[str, float | tuple[float, ...]] = {}
    for value in values:
        key, _, number = value.rpartition("=")
        key = key or next(plain, "")
        if key not in known:
            takes = ", ".join(sorted(known))
            raise ValueError(
                f"{value!r} in {text!r} is no setting of that rule, which has: {takes}"
            )
        try:
            several = tuple(map(float, number.split("/")))  # 1/5/1: one per arm
            settings[key] = several if len(several) > 1 else several[0]
        except ValueError:
            raise ValueError(f"{number!r} in {text!r} is not a number") from None
    return kind(**settings)  # type: ignore[arg-type]  # which take which, the rule itself says


def _from_file(path: str, name: str) -> type[Rule]:
    file = Path(path).resolve()
    if not file.is_file():
        raise ValueError(f"there is no file {path}")
    loaded = types.ModuleType(f"cutline_rules_{file.stem}")
    loaded.__file__ = str(file)
    sys.modules[loaded.__name__] = loaded  # dataclasses look their module up
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(file.parent))  # it may import the files beside it
    try:
        # Read and compiled here: Python's own cache takes an edit within a second for none.
        exec(compile(file.read_bytes(), str(file), "exec"), loaded.__dict__)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path} could not be read: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(file.parent))
        sys.dont_write_bytecode = written
    kind = getattr(loaded, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Rule)):
        raise ValueError(f"{path} has no rule called {name}")
    if kind.__module__ == loaded.__name__:  # not one that the file has only imported
        kind.file = path
    return kind
