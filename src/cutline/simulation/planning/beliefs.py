"""What is thought of the arms before any is tried: guessed means, past rates, or a share."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cutline.core.normal import normal_quantile
from cutline.core.rewards import Rewards
from cutline.core.tally import Floats
from cutline.simulation.datasets import dataset_from_csv

DRAWS = 16  # sets of means that stand for a prior
SPREADS = {"binary": 2.0, "poisson": 1.0, "exponential": 1.0}  # in log-odds, in logarithms


@dataclass(frozen=True, eq=False)
class Belief:
    """Sets of means to plan for, and what they stand for in words.

    A guess is one set. A prior is several, each as it might turn out: the games of a plan are
    shared out among them.
    """

    sets: Floats  # (draw, arm)
    words: str


def guessed(means: Sequence[float] | Floats) -> Belief:
    """One set: the means as somebody guesses them.

    >>> guessed([0.9, 0.95]).words
    '2 arms with guessed means, 0.9 to 0.95'
    """
    values = np.array(means, dtype=np.float64, ndmin=1)
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)):
        raise ValueError("means are finite numbers, one for every arm")
    return Belief(values[np.newaxis], f"{_arms(len(values))} with guessed means, {_range(values)}")


def as_passes(failures: Belief) -> Belief:
    """Failure rates as the pass rates that they leave, 1 less each; the words speak of failures.

    >>> belief = as_passes(guessed([0.1, 0.05]))
    >>> belief.sets, belief.words
    (array([[0.9 , 0.95]]), '2 arms with guessed failure rates, 0.05 to 0.1')
    """
    sets = np.round(1.0 - failures.sets, 15)  # 1 - 0.9 is 0.1
    return Belief(sets, failures.words.replace("means", "failure rates"))


MOST_MEANS = 2**24  # means that a belief holds, in all its draws: 128 MB


def share_above(
    share: float,
    *,
    arms: int,
    threshold: float,
    rewards: Rewards | str = "binary",
    spread: float | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Belief:
    """About this share of the arms is above the bar, and they differ as much as ``spread`` says.

    Means are normal with standard deviation ``spread``: in log-odds for binary rewards (2 unless
    said), in logarithms for counts and waiting times (1), as they are for gaussian ones (the sd of
    a reward). The middle is where the share comes out right.

    >>> flaky = share_above(0.1, arms=200, threshold=0.01)
    >>> flaky.sets.shape, float((flaky.sets > 0.01).mean())
    ((16, 200), 0.1)
    >>> print(flaky.words)
    200 arms, about 10 % above 0.01; means normal in log-odds with sd 2, half of them below 0.00078
    """
    kind = Rewards(rewards) if isinstance(rewards, str) else rewards
    if not 0 < share < 1:
        raise ValueError(
            f"share must lie between 0 and 1, got {share!r}: it is the part of the arms that is "
            "above the bar, 0.1 for about 10 %"
        )
    _whole("arms", arms)
    spread = _spread(kind, spread)
    tau = float(threshold)
    if kind.kind == "binary":
        if not 0 < tau < 1:
            raise ValueError(
                f"a share of arms above it needs a bar between 0 and 1, got {tau!r}: for a bar at "
                "the end guess the means"
            )
        bar, where = math.log(tau / (1 - tau)), " in log-odds"
    elif kind.kind == "gaussian":
        bar, where = tau, ""
    else:
        if not 0 < tau < math.inf:
            raise ValueError(f"a share of arms above it needs a bar above 0, got {tau!r}")
        bar, where = math.log(tau), " in logarithms"
    middle = bar - spread * normal_quantile(1 - share)

    def mean(z: Floats) -> Floats:
        with np.errstate(over="ignore"):  # 1 / (1 + infinity) is 0
            place = middle + spread * z
            if kind.kind == "binary":
                return np.asarray(1 / (1 + np.exp(-place)))
            return np.asarray(np.exp(place) if where else place)

    places = quantiles(draws, arms, seed)
    sets = mean(np.vectorize(normal_quantile, otypes=[float])(places))
    if not np.all(np.isfinite(sets)):
        raise ValueError(f"with a spread of {spread:g} some means are too large for any number")
    half = float(mean(np.zeros(1))[0])
    words = (
        f"{_arms(arms)}, about {100 * share:.3g} % above {tau:g}; means normal{where} "
        f"with sd {spread:g}, half of them below {half:.2g}"
    )
    return Belief(sets, words)


def resembling(
    rates: Sequence[float] | Floats, *, arms: int | None = None, draws: int = DRAWS, seed: int = 0
) -> Belief:
    """Means like these past ones: the very same, or with ``arms`` as many drawn from among them.

    >>> resembling([0.9, 0.99], arms=3).sets.shape
    (16, 3)
    """
    past = np.sort(guessed(rates).sets[0])
    if arms is None:
        belief = guessed(rates)
        return Belief(belief.sets, f"{_arms(len(past))} as in the past, means {_range(past)}")
    _whole("arms", arms)
    places = quantiles(draws, arms, seed)
    sets = past[np.minimum((places * len(past)).astype(np.int64), len(past) - 1)]
    return Belief(sets, f"{_arms(arms)} like {len(past)} past ones, means {_range(past)}")


def quantiles(draws: int, arms: int, seed: int) -> Floats:
    """Places in the law of a mean, for every draw and arm.

    The middles of draws x arms equal slices, each once, so that all draws together are the law as
    well as so many numbers can be; a single draw is as uneven as chance has it. An arm meets every
    ``draws``-th part of the law once.

    >>> np.sort(quantiles(2, 2, seed=0), axis=None)
    array([0.125, 0.375, 0.625, 0.875])
    """
    _whole("draws", draws)
    if draws * arms > MOST_MEANS:
        raise ValueError(
            f"{draws} draws of {arms:,} arms are too many to plan with: give at most "
            f"{MOST_MEANS // draws:,} arms"
        )
    chance = np.random.default_rng([seed, draws, arms])
    slices = (np.arange(draws * arms).reshape(draws, arms) + 0.5) / (draws * arms)
    return chance.permuted(chance.permuted(slices, axis=1), axis=0)


def past_rates(
    path: str | Path, *, rewards: Rewards | str = "binary", failures: bool = False
) -> Floats:
    """The mean of every arm in a CSV file: a row for an arm with its rate, or one for every trial.

    The columns are ``arm,rate``, or ``arm,reward`` and perhaps ``times`` as for
    :func:`~cutline.simulation.datasets.dataset_from_csv`. With ``failures`` what is given back are
    failure rates: a rate is taken for one, and a reward of 1 for a pass.
    """
    kind = Rewards(rewards) if isinstance(rewards, str) else rewards
    try:
        text = Path(path).read_text("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read as CSV in UTF-8: {error}") from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    header = [column.strip() for column in rows[0]] if rows else []
    if "reward" in header:
        means = dataset_from_csv(path, rewards=kind).arms.means
        return np.round(1.0 - means, 15) if failures else means
    if not {"arm", "rate"} <= set(header):
        raise ValueError(
            f"{path}, line 1: the columns arm and rate are wanted, or arm and reward, got "
            f"{','.join(header)!r}"
        )
    found: dict[str, float] = {}
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        if len(row) != len(header):
            raise ValueError(
                f"{path}, line {line}: {len(header)} columns are wanted, got {len(row)}"
            )
        named = dict(zip(header, (cell.strip() for cell in row), strict=True))
        if named["arm"] in found:
            raise ValueError(f"{path}, line {line}: the arm {named['arm']!r} is there twice")
        found[named["arm"]] = _rate(named["rate"], kind, f"{path}, line {line}")
    if not found:
        raise ValueError(f"{path} holds no rates: at least one row below its header is wanted")
    return np.array(list(found.values()))


def _rate(text: str, kind: Rewards, where: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        raise ValueError(f"{where}: the rate must be a number, got {text!r}") from None
    assert kind.low is not None and kind.high is not None
    if not (math.isfinite(rate) and kind.low <= rate <= kind.high):
        raise ValueError(
            f"{where}: the rate of {kind.kind} rewards lies between {kind.low:g} and "
            f"{kind.high:g}, got {text!r}"
        )
    return rate


def _spread(kind: Rewards, spread: float | None) -> float:
    if spread is None and kind.kind == "gaussian":
        if not isinstance(kind.sd, float):
            raise ValueError("a share of arms with gaussian rewards needs spread, or one sd")
        return kind.sd
    spread = SPREADS.get(kind.kind, 1.0) if spread is None else float(spread)
    if not 0 < spread < math.inf:
        raise ValueError(f"spread must be above 0, got {spread!r}: it says how much arms differ")
    return spread


def _whole(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number, at least 1, got {value!r}")


def _arms(count: int) -> str:
    return "1 arm" if count == 1 else f"{count:,} arms"


def _range(values: Floats) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
