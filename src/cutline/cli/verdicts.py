"""A verdict for programs: the one shape in which `run` and `show` print it."""

from typing import TYPE_CHECKING, Any

from cutline.core.bar import THRESHOLD, Bar

if TYPE_CHECKING:
    from cutline.campaign import Campaign
    from cutline.core.verdict import Verdict

Row = dict[str, Any]

CLEAR, FAILING, ERROR, UNDECIDED, SUSPENDED, STOPPED = 0, 1, 2, 3, 4, 130
ENDS = {
    CLEAR: "every arm is proven to be where it should be",
    FAILING: "some arm is proven to fail the bar",
    ERROR: "trials failed for too long, so this is the verdict so far",
    UNDECIDED: "some arm is undecided",
    SUSPENDED: "some arm was suspended, its trials giving no reward",
    STOPPED: "stopped on the way",
}
FLIPPED = (
    "mean",
    "more_than",
    "less_than",
    "low",
    "high",
    "threshold",
)  # columns that are 1 less where failures are asked


def exit_code(verdict: "Verdict", bar: Bar) -> int:
    """What a verdict means for whoever asked, as a number."""
    standing = [bar.standing(arm) for arm in verdict.arms]
    for words, code in (
        ("fails the bar", FAILING),
        ("suspended", SUSPENDED),
        ("undecided", UNDECIDED),
    ):
        if words in standing:
            return code
    return CLEAR


def ending(code: int, bar: Bar) -> str:
    """An exit code in words."""
    if code == CLEAR and bar.expected is None:
        return "the side of every arm is proven"
    return ENDS[code]


def headline(verdict: "Verdict", bar: Bar) -> str:
    """How many arms there are, against which bar, and how many of them stand where."""
    kinds: dict[str, int] = {}
    for arm in verdict.arms:
        kinds[bar.standing(arm)] = kinds.get(bar.standing(arm), 0) + 1
    said = []
    for kind in ("fails the bar", "below", "suspended", "undecided", "above", "clears the bar"):
        if kind in kinds:
            words = kind if kinds[kind] == 1 else kind.replace("s the bar", " the bar")
            said.append(f"{kinds[kind]:,} {words}")
    said += [f"{kinds[kind]:,} {kind}" for kind in ("within precision", "retired") if kind in kinds]
    arms = f"{len(verdict.arms):,} arm{'s' * (len(verdict.arms) != 1)}"
    return f"{arms} ({bar.words}): {', '.join(said)}"


def arm_rows(verdict: "Verdict", bar: Bar, called: dict[str, str] | None = None) -> list[Row]:
    """What is known of every arm, one row each, in the order of the problem.

    All numbers and sides are about the bar's measure: where failures are asked about, ``mean`` is
    the failure rate, and an arm below the bar fails less often than it may.
    """
    columns = verdict.columns()
    problem = verdict.problem
    columns["threshold"], columns["precision"] = list(problem.threshold), list(problem.precision)
    if called is not None:
        columns["called"] = [bar.side(called.get(arm.arm)) for arm in verdict.arms]
    if bar.flipped:
        for name in FLIPPED:
            columns[name] = [None if value is None else bar.shown(value) for value in columns[name]]
        for name in ("side", "proven"):
            columns[name] = [bar.side(value) for value in columns[name]]
        pairs = ("more_than", "less_than"), ("low", "high"), ("log_above", "log_below")
        for one, other in pairs:
            columns[one], columns[other] = columns[other], columns[one]
    columns["verdict"] = [bar.standing(arm) for arm in verdict.arms]
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def report_of(
    campaign: "Campaign",
    verdict: "Verdict",
    bar: Bar,
    *,
    code: int | None = None,
    what_if: bool = False,
    rate: float | None = None,
) -> Row:
    """A verdict with all numbers of all arms, as plain values; docs/howto/json.md names the keys.

    ``code`` is the exit code of a run, where it is not what the verdict alone says.
    """
    from cutline.campaign.looking import head_row

    head = head_row(campaign.access.head())
    code = exit_code(verdict, bar) if code is None else code
    called = None if rate is None else verdict.discoveries(rate)
    rows = arm_rows(verdict, bar, called)
    return {
        "campaign": head.pop("name"),
        "store": campaign.store.shown,
        **{key: head[key] for key in ("status", "rule", "budget", "spent", "unit", "in_flight")},
        "bar": words_of(verdict, bar),
        "measure": bar.measure,
        "wanted": None if bar.sense == THRESHOLD else bar.sense,
        "threshold": _one([row["threshold"] for row in rows]),
        "precision": _one([row["precision"] for row in rows]),
        "stops_at": head["confidence"],
        "confidence": verdict.confidence,
        "declared": verdict.declared,
        "guarantee": verdict.evidence is not None and verdict.broken is None,
        "assumes": verdict.assumes,
        "error_bound": verdict.error_bound,
        "error_estimate": verdict.error_estimate,
        "what_if": what_if,
        "rate": rate,
        "exit_code": code,
        "exit": ending(code, bar),
        "suspended": campaign.suspended(),
        "arms": rows,
    }


def words_of(verdict: "Verdict", bar: Bar) -> str:
    """The bar in words, where it may be another for every arm."""
    problem = verdict.problem
    if len(set(zip(problem.threshold, problem.precision, strict=True))) == 1:
        return bar.words
    return f"{bar.relation} a bar for each arm"


def _one(values: list[float]) -> float | list[float]:
    """A number that is the same for all arms; else one for each."""
    return values[0] if len(set(values)) == 1 else values
