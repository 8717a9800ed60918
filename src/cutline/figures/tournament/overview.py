"""What the overview figure shows: numbers, no ink."""

from dataclasses import dataclass

from cutline.figures.tables import Row
from cutline.figures.tournament.summary import geometric_mean, measure


@dataclass(frozen=True)
class Overview:
    """What the overview figure shows: a ratio to APT for every instance and rule, None: no cell."""

    rules: tuple[str, ...]
    groups: tuple[str, ...]  # of every instance
    names: tuple[str, ...]
    rare: tuple[bool, ...]
    ratios: tuple[tuple[float | None, ...], ...]  # (instance, rule)
    title: str


def overview(found: Row) -> Overview:
    """The geometric mean over an instance's budgets of every rule's error relative to APT's."""
    rules = tuple(line["rule"] for line in found["summary"] if line["rule"] != "apt") or ("apt",)
    seen: dict[tuple[str, str], list[float]] = {}
    for row in found["rows"]:
        seen.setdefault((row["instance"], row["rule"]), []).append(row[measure(row)])
    instances = found["instances"]
    return Overview(
        rules=rules,
        groups=tuple(one["group"] for one in instances),
        names=tuple(one["name"] for one in instances),
        rare=tuple(one["rare"] for one in instances),
        ratios=tuple(
            tuple(geometric_mean(seen.get((one["name"], rule), [])) for rule in rules)
            for one in instances
        ),
        title="Error relative to APT in the same games (below 1 is better)",
    )
