"""Recorded rewards to draw from: public data sets that come along, and CSV files of your own."""

import csv
import gzip
import io
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from cutline.core.rewards import Rewards
from cutline.simulation.arms import Recorded
from cutline.simulation.bandit import Bandit

# name: (kind of reward, title, source, licence); the folders of data/ hold the rest.
_SHIPPED = {
    "bluebirds": (
        "binary",
        "Bluebirds: 39 crowd labels for each of 108 photographs",
        "github.com/welinder/cubam, commit fe5ba700, demo/bluebirds",
        "BSD-style, 3 clauses; (c) 2011-2012 Peter Welinder, Caltech",
    ),
    "flaky_tests": (
        "binary",
        "Flaky tests: which of 431 tests of Apache HBase fail, in about 10,000 runs each",
        "github.com/AlshammariA/FlakeFlagger, commit 2fcbafc4, test-rerun-scripts/test_results.csv",
        "BSD, 3 clauses; (c) 2021 AlshammariA",
    ),
    "rtt_seattle": (
        "heavy",
        "Seattle: 98 round-trip times, in seconds, on each of 600 links between personal devices",
        "github.com/uofa-rzhu3/NetLatency-Data, commit a5845579, Seattle",
        "MIT; (c) 2016 uofa-rzhu3",
    ),
    "vm_noise": (
        "heavy",
        "VM noise: how far 166 benchmark metrics stray from their median on 1,000 fresh machines",
        "github.com/Azure/AzurePublicDataset, commit b469a113, vm-noise-data",
        "CC BY 4.0 (creativecommons.org/licenses/by/4.0/); Freischuetz, Kanellis, Kroth and "
        "Venkataraman, TUNA, EuroSys 2025; changed",
    ),
}
DATASETS = tuple(_SHIPPED)


@dataclass(frozen=True)
class Dataset:
    """Recorded arms with their names, and where they come from.

    ``truth`` holds what experts say of every arm (1 above, -1 below) where they were asked; the
    side of the recorded mean, which is what a rule can find out, need not agree with it.
    """

    name: str
    title: str
    arms: Recorded = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    source: str
    licence: str
    truth: tuple[int, ...] | None = field(default=None, repr=False)

    def bandit(self, **options: Any) -> Bandit:
        """The arms held against a bar; takes what :class:`Bandit` takes, less arms and names.

        >>> dataset("bluebirds").bandit(threshold=0.5, precision=0.1).above[:3]
        ('image 0', 'image 2', 'image 5')
        """
        return Bandit(self.arms, names=self.names, **options)


@lru_cache
def dataset(name: str) -> Dataset:
    """One of the data sets that come with cutline: bluebirds, flaky_tests, rtt_seattle, vm_noise.

    >>> birds = dataset("bluebirds")
    >>> birds.names[1], birds.arms.means[1].round(3), birds.truth[1]
    ('image 1', np.float64(0.487), 1)
    """
    if name not in _SHIPPED:
        raise ValueError(f"there is no data set {name!r}: one of {', '.join(DATASETS)}")
    kind, title, source, licence = _SHIPPED[name]
    folder = files("cutline.simulation") / "data" / name
    text = gzip.decompress((folder / "rewards.csv.gz").read_bytes()).decode()
    names, arms = _read(text, name, Rewards(kind))
    truth = None
    if (folder / "truth.csv").is_file():
        lines = (folder / "truth.csv").read_text("utf-8").splitlines()
        said = {row["arm"]: int(row["truth"]) for row in csv.DictReader(lines)}
        truth = tuple(said[arm] for arm in names)
    return Dataset(name, title, arms, names, source, licence, truth)


def dataset_from_csv(path: str | Path, *, rewards: Rewards | str) -> Dataset:
    """A data set of your own, from a CSV file with a row for every recorded trial.

    The first line names the columns. ``arm`` (a name) and ``reward`` (a number of the kind
    ``rewards``) are needed; ``times``, if there, says how many trials a row stands for; others are
    passed over. Arms keep the order in which they first appear.
    """
    kind = rewards if isinstance(rewards, Rewards) else Rewards(rewards)
    try:
        names, arms = _read(Path(path).read_text("utf-8-sig"), str(path), kind)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read as CSV in UTF-8: {error}") from error
    name = Path(path).stem
    return Dataset(
        name, f"{name}: {len(names)} recorded arms", arms, names, str(path), "not stated"
    )


def _read(text: str, file: str, kind: Rewards) -> tuple[tuple[str, ...], Recorded]:
    """The names of the arms, and the arms; a ValueError names the file and the line."""
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = [column.strip() for column in next(lines, [])]
    if not {"arm", "reward"} <= set(header):
        raise ValueError(
            f"{file}, line 1: the columns arm and reward are wanted, got {','.join(header)!r}"
        )
    arm_at, reward_at = header.index("arm"), header.index("reward")
    times_at = header.index("times") if "times" in header else None
    seen: dict[str, dict[float, int]] = {}
    for row in lines:
        if not row:
            continue
        try:
            if len(row) != len(header):
                raise ValueError(f"{len(header)} columns are wanted, got {len(row)}")
            arm = row[arm_at].strip()
            if not arm:
                raise ValueError("the arm has no name")
            reward = kind.check(_number(row[reward_at], "the reward"))
            times = 1.0 if times_at is None else _number(row[times_at], "times")
            if times < 1 or not times.is_integer():
                raise ValueError(f"times must be a whole number, 1 or more, got {times:g}")
        except ValueError as error:
            raise ValueError(f"{file}, line {lines.line_num}: {error}") from error
        counts = seen.setdefault(arm, {})
        counts[reward] = counts.get(reward, 0) + int(times)
    if not seen:
        raise ValueError(f"{file} holds no trials: at least one row below its header is wanted")
    return tuple(seen), Recorded.from_counts(list(seen.values()), kind)


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{what} must be a number, got {text!r}") from None
