"""When games stopped at a confidence, as rows and as a table."""

import math
from collections.abc import Sequence

from cutline.core.theory import confidence_lower_bound
from cutline.figures.tables import Row, rate
from cutline.figures.text import aligned
from cutline.simulation.arms import Gaussian
from cutline.simulation.bandit import Bandit
from cutline.simulation.result import Result
from cutline.simulation.stops import Stops

LEVEL = 0.95  # of the intervals shown
MOST = 8  # undecided arms that are named


def stop_rows(result: Result, names: Sequence[str] | None = None) -> list[Row]:
    """One row for every rule: pulls until a game stopped, and how often it was wrong."""
    stops = result.stops
    if stops is None or stops.settings["confidence"] is None:
        raise ValueError("stopping times are kept when a confidence is given: confidence=0.95")
    confidence = float(stops.settings["confidence"])
    floor = settling_bound(result.bandit, confidence)
    # To be right about all arms at once, each is held to its share of what may be wrong.
    of_all = settling_bound(result.bandit, 1.0 - (1.0 - confidence) / len(result.arms))
    quantiles = {name: stops.quantile(share) for name, share in (("median", 0.5), ("90 %", 0.9))}
    false = stops.false_claims(1.0 - confidence)
    intervals = result.at([result.budget]).error_interval(LEVEL)[:, -1]
    return [
        {
            "rule": name,
            "confidence": confidence,
            "games": result.games,
            "mean_pulls": float(stops.mean_spent[r]),
            "standard_error": _finite(float(stops.standard_error[r])),
            "median_pulls": int(quantiles["median"][r]),
            "pulls_of_90_percent": int(quantiles["90 %"][r]),
            "settled_games": int(stops.finished[r]),
            "mean_open_arms": float(stops.mean_open[r]),
            "open_arms": _open(result, r),
            "wrong_games": int(result.wrong_games[r, -1]),
            "error_rate": float(result.error_rate[r]),
            "low": float(intervals[r, 0]),
            "high": float(intervals[r, 1]),
            "false_claims": int(false[r]),
            "lower_bound": floor,
            "times_lower_bound": _over(float(stops.mean_spent[r]), floor),
            "times_lower_bound_of_all": _over(float(stops.mean_spent[r]), of_all),
            "mean_pulls_to_find": _found(stops, r),
        }
        for r, name in enumerate(names or result.specs)
    ]


def _found(stops: Stops, rule: int) -> list[Row]:
    """The mean pulls until the first, second, ... arm was proven above, and in how many games."""
    pairs = zip(stops.mean_found[rule], stops.found_games[rule], strict=True)
    return [{"mean_pulls": float(mean), "games": int(games)} for mean, games in pairs if games]


def _open(result: Result, rule: int) -> dict[str, float]:
    """The share of games in which each arm was left open, where it ever was."""
    assert result.stops is not None
    shares = result.stops.open_games[rule] / result.games
    return {arm: float(x) for arm, x in zip(result.arms, shares, strict=True) if x > 0}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _over(above: float, below: float | None) -> float | None:
    return above / below if below else None


def settling_bound(bandit: Bandit, confidence: float) -> float | None:
    """What any algorithm needs on average, or None where it is not known or infinite.

    Arms inside the band count, for which it is proven in the limit of a confidence of 1 alone.
    """
    sd = bandit.arms.sd if isinstance(bandit.arms, Gaussian) else None
    try:
        bound = confidence_lower_bound(bandit.problem, bandit.means, confidence, sd=sd, within=True)
    except ValueError:  # no family with one parameter
        return None
    return _finite(bound)


def stop_table(rows: Sequence[Row]) -> str:
    """The rows as a table for people, with what any algorithm would need below it."""
    columns = {
        "rule": [row["rule"] for row in rows],
        "games": [str(row["games"]) for row in rows],
        "mean pulls": [f"{row['mean_pulls']:.5g}" for row in rows],
        "median": [str(row["median_pulls"]) for row in rows],
        "90 % of games": [str(row["pulls_of_90_percent"]) for row in rows],
        "settled": [str(row["settled_games"]) for row in rows],
        "open arms": [rate(row["mean_open_arms"]) for row in rows],
        "error rate": [rate(row["error_rate"]) for row in rows],
        "95 % interval": [f"{rate(row['low'])} to {rate(row['high'])}" for row in rows],
    }
    table = aligned([list(columns), *zip(*columns.values(), strict=True)])
    floor = rows[0]["lower_bound"]
    if floor is not None:
        table += f"lower bound on the mean pulls, for a confidence near 1: {floor:.4g}\n"
        for row in rows:
            table += (
                f"{row['rule']}: {row['times_lower_bound']:.3g} times that, or "
                f"{row['times_lower_bound_of_all']:.3g} times what proving every arm apart takes\n"
            )
    for row in rows:
        most = sorted(row["open_arms"].items(), key=lambda item: -item[1])[:MOST]
        if most:
            named = ", ".join(f"{arm} ({share:.0%})" for arm, share in most)
            table += f"{row['rule']}: arms left undecided, with the share of games: {named}"
            table += ", ...\n" if len(row["open_arms"]) > MOST else "\n"
    return table
