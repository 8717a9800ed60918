"""Instances of your own, from a folder of recorded rewards."""

import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cutline.simulation.bandit import Bandit
from cutline.simulation.datasets import dataset_from_csv
from cutline.simulation.suite.budgets import BUDGETS
from cutline.simulation.suite.instance import MANY, TARGETS, TARGETS_MANY, Instance
from cutline.simulation.suite.search import find_budgets


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
    except RecursionError:
        raise ValueError(f"{listed}: brackets within brackets, too deep to be read") from None
    tables = values.get("problem")
    if not isinstance(tables, list) or not tables or set(values) != {"problem"}:
        raise ValueError(f"{listed} must hold [[problem]] tables, at least one, and nothing else")
    seen = set(BUDGETS)
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
