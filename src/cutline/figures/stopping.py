"""When games stopped at a confidence, as rows and as a table."""

from collections.abc import Sequence

from cutline.core.theory import confidence_lower_bound
from cutline.figures.tables import Row, aligned, rate
from cutline.simulation.arms import Gaussian
from cutline.simulation.bandit import Bandit
from cutline.simulation.result import Result
from cutline.simulation.stops import Stops

LEVEL = 0.95  # of the intervals shown


def stop_rows(result: Result, names: Sequence[str] | None = None) -> list[Row]:
    """One row for every rule: pulls until a game stopped, and how often it was wrong."""
    stops = result.stops
    if stops is None or stops.settings["confidence"] is None:
        raise ValueError("stopping times are kept when a confidence is given: confidence=0.95")
    confidence = float(stops.settings["confidence"])
    floor = settling_bound(result.bandit, confidence)
    quantiles = {name: stops.quantile(share) for name, share in (("median", 0.5), ("90 %", 0.9))}
    false = stops.false_claims(1.0 - confidence)
    intervals = result.at([result.budget]).error_interval(LEVEL)[:, -1]
    return [
        {
            "rule": name,
            "confidence": confidence,
            "games": result.games,
            "mean_pulls": float(stops.mean_spent[r]),
            "standard_error": float(stops.standard_error[r]),
            "median_pulls": int(quantiles["median"][r]),
            "pulls_of_90_percent": int(quantiles["90 %"][r]),
            "settled_games": int(stops.finished[r]),
            "mean_open_arms": float(stops.open_sum[r] / result.games),
            "wrong_games": int(result.wrong_games[r, -1]),
            "error_rate": float(result.error_rate[r]),
            "low": float(intervals[r, 0]),
            "high": float(intervals[r, 1]),
            "false_claims": int(false[r]),
            "lower_bound": floor,
            "mean_pulls_to_find": _found(stops, r),
        }
        for r, name in enumerate(names or result.specs)
    ]


def _found(stops: Stops, rule: int) -> list[float]:
    """The mean pulls until the first, second, ... arm was proven above, where any was."""
    seen = stops.found_games[rule] > 0
    return [float(x) for x in stops.mean_found[rule][seen]]


def settling_bound(bandit: Bandit, confidence: float) -> float | None:
    """What any algorithm needs on average (for a confidence near 1), or None if it is not known."""
    sd = bandit.arms.sd if isinstance(bandit.arms, Gaussian) else None
    try:
        return confidence_lower_bound(bandit.problem, bandit.means, confidence, sd=sd, within=True)
    except ValueError:  # no family with one parameter
        return None


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
        table += f"lower bound on the mean pulls of any algorithm: {floor:.4g}\n"
    return table
