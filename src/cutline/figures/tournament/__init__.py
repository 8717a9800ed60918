"""The tournament: every rule on every instance of the suite, relative to APT.

All rules of an instance meet the same games, so their errors are compared game by game.
"""

from cutline.figures.tournament.games import budget_ratio, play_instance
from cutline.figures.tournament.overview import Overview, overview
from cutline.figures.tournament.page import as_page, as_text
from cutline.figures.tournament.plans import (
    CONTESTANTS,
    COSTS,
    LIMIT,
    QUICK,
    plan,
    predicted_seconds,
)
from cutline.figures.tournament.ratios import discordant, paired_ratio
from cutline.figures.tournament.summary import (
    as_json,
    beyond_chance,
    geometric_mean,
    report,
    summarize,
    worse_rows,
)

__all__ = [
    "CONTESTANTS",
    "COSTS",
    "LIMIT",
    "QUICK",
    "Overview",
    "as_json",
    "as_page",
    "as_text",
    "beyond_chance",
    "budget_ratio",
    "discordant",
    "geometric_mean",
    "overview",
    "paired_ratio",
    "plan",
    "play_instance",
    "predicted_seconds",
    "report",
    "summarize",
    "worse_rows",
]
