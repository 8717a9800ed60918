"""The command line: it plays what was asked, bad input is one sentence, Ctrl-C loses no game."""

import contextlib
import csv
import io
import json
import math
import os
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import pytest

import cutline.cli.shared
import cutline.cli.simulate
import cutline.cli.theory
from cutline import (
    APT,
    CSAR,
    SLRD,
    UCBE,
    Bandit,
    Bernoulli,
    Beta,
    Gaussian,
    GCLStar,
    Result,
    RoundRobin,
    TopArms,
    Uniform,
    dataset,
    parse_rule,
    simulate,
    three_groups,
)
from cutline.cli import main
from cutline.figures.tables import result_rows
from cutline.rules import RULES
from cutline.simulation import EXPERIMENTS
from cutline.simulation.arms import FAMILIES
from cutline.simulation.datasets import DATASETS

COMMAND = str(Path(sys.executable).with_name("cutline"))
TWO_ARMS = "simulate --means 0.1,0.9 --threshold 0.5 --budget 20 --games 64"
CERTAIN = "simulate --means 0,1 --threshold 0.5 --rules round-robin --budget 1,4 --games 8"

MINE = '''
import math
from dataclasses import dataclass

from cutline import IndexRule, Policy


@dataclass(frozen=True)
class Mine(IndexRule):
    """APT with a power of its own."""

    power: float = 0.5

    @staticmethod
    def formula(pulls, total, tau, power):
        return abs(total / pulls - tau) * math.pow(pulls, power)


class AsksForColour(IndexRule):
    @staticmethod
    def formula(pulls, colour):
        return pulls


class CannotBeCompiled(IndexRule):
    @staticmethod
    def formula(pulls):
        return pulls + missing_name


class NoSuchArm(Policy):
    @staticmethod
    def choose(arms):
        return arms  # places are counted from 0


class NotStatic(IndexRule):
    def formula(self, pulls):
        return pulls


class NoRule:
    pass
'''


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def rows(self):
        return json.loads(self.out)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["cutline", *shlex.split(" ".join(words))])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


def files(folder):
    """What is in a folder, with its bytes; Python's own cache of a rule file aside."""
    found = (p for p in folder.rglob("*") if "__pycache__" not in p.parts)
    return {p.relative_to(folder): p.read_bytes() if p.is_file() else None for p in found}


# What is asked is what is played


def test_one_row_for_each_rule_and_budget_by_hand(run):
    # One pull of two arms leaves one unseen, which is wrong; four settle both, which are certain.
    ran = run(CERTAIN, "--format json")
    one, four = ran.rows
    assert (ran.code, ran.err) == (0, "")
    edge = 0.025 ** (1 / 8)  # Clopper-Pearson at 8 of 8
    assert one["rule"] == four["rule"] == "round-robin"
    assert (one["budget"], one["games"], one["wrong_games"]) == (1, 8, 8)
    assert (one["error_rate"], one["high"], one["wrong_arms"]) == (1, 1, 1)
    assert (four["budget"], four["games"], four["wrong_games"]) == (4, 8, 0)
    assert (four["error_rate"], four["low"], four["wrong_arms"]) == (0, 0, 0)
    assert (one["low"], four["high"]) == pytest.approx((edge, 1 - edge))


def test_the_table_for_people(run):
    assert run(CERTAIN).out == (
        "rule         budget  games  wrong  error rate   95 % interval  wrong arms\n"
        "round-robin       1      8      8       1.000  0.631 to 1.000       1.000\n"
        "round-robin       4      8      0           0      0 to 0.369           0\n"
    )


def test_json_gives_the_counts_of_simulate_with_every_rule_as_written(run):
    rules = {
        "slr-d": SLRD(),
        "apt:precision=5e-2": APT(precision=0.05),
        "ucbe:0.25": UCBE(0.25),
        "uniform": Uniform(),
        "ucbe:2:100": UCBE(2, 100),
        "csar:spend=1": CSAR(spend=1),
        "ucbe:complexity=100:c=2.0": UCBE(2, 100),
        "round-robin": RoundRobin(),
        "apt": APT(),
        "csar": CSAR(),
    }
    ran = run(
        "simulate --experiment three-groups --budget 60,40 --games 96 --seed 5 --format json",
        f"--rules '{', '.join(rules)}'",
    )
    result = simulate(
        three_groups(), list(rules.values()), budget=[40, 60], games=96, seed=5, replay=True
    )
    wanted = iter(
        (name, budget, int(result.wrong_games[r, h]), result.wrong_arms_curve[r, h])
        for r, name in enumerate(rules)
        for h, budget in enumerate((40, 60))
    )
    for row, (name, budget, wrong, wrong_arms) in zip(ran.rows, wanted, strict=True):
        assert (row["rule"], row["budget"], row["games"]) == (name, budget, 96)
        assert (row["wrong_games"], row["error_rate"]) == (wrong, wrong / 96)
        assert row["low"] <= row["error_rate"] <= row["high"]
        assert row["wrong_arms"] == wrong_arms
    assert len({row["wrong_games"] for row in ran.rows}) > 5  # not all the same by accident


def test_csv_holds_the_numbers_of_json(run):
    words = f"{TWO_ARMS} --rules apt,uniform --budget 10,20"
    from_csv = list(csv.DictReader(io.StringIO(run(words, "--format csv").out)))
    from_json = run(words, "--format json").rows
    assert [
        {key: type(value)(row[key]) for key, value in wanted.items()}
        for row, wanted in zip(from_csv, from_json, strict=True)
    ] == from_json


@pytest.mark.parametrize("arms", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_experiments_are_the_papers(run, experiment, arms):
    words = f"simulate --experiment {experiment} --arms {arms} --budget 20 --games 8 --rules apt"
    assert run(words, "--save r.json").code == 0
    assert Result.load("r.json").bandit == EXPERIMENTS[experiment](arms == "gaussian")


def test_an_experiment_can_have_another_bar(run):
    words = "simulate --experiment geometric --budget 20 --games 8 --rules apt --save r.json"
    run(words, "--threshold 0.3 --precision 0.02")
    problem = Result.load("r.json").bandit.problem
    assert (problem.threshold, problem.precision) == ((0.3,) * 10, (0.02,) * 10)


def test_arms_of_ones_own_with_a_bar_for_each(run):
    words = "simulate --arms gaussian --means -1,2.5,3 --sd 1,2,0 --budget 9 --games 8 --rules apt"
    assert run(words, "--threshold 0,2,4 --precision 0,.1,.2 --save r.json").code == 0
    bandit = Result.load("r.json").bandit
    assert bandit.arms == Gaussian([-1, 2.5, 3], sd=[1, 2, 0])
    assert bandit.problem.threshold == (0, 2, 4)
    assert bandit.problem.precision == (0, 0.1, 0.2)


@pytest.mark.parametrize(
    ("sd", "arms"),
    [
        # a = mean * (mean (1 - mean) / sd² - 1): 0.25 / 0.04 - 1 = 5.25, or 0.25 / 0.01 - 1 = 24
        ("", [2.625, 2.625]),
        ("--sd 0.2,0.1", [2.625, 12]),
    ],
)
def test_beta_arms_from_mean_and_sd(run, sd, arms):
    words = "simulate --arms beta --means 0.5,0.5 --threshold 0.4 --budget 9 --games 8 --rules apt"
    assert run(words, sd, "--save r.json").code == 0
    bandit = Result.load("r.json").bandit
    assert isinstance(bandit.arms, Beta)
    assert (bandit.arms.a, bandit.arms.b) == (pytest.approx(arms), pytest.approx(arms))
    assert bandit.problem.precision == (0, 0)


def test_gaussian_arms_have_sd_one_unless_said(run):
    run(TWO_ARMS, "--arms gaussian --rules apt --save r.json")
    assert Result.load("r.json").bandit.arms == Gaussian([0.1, 0.9], sd=1)


def test_a_saved_result_is_the_one_shown(run):
    ran = run(f"{TWO_ARMS} --budget 10,20 --rules uniform,apt --seed 3 --save r.json --format json")
    result = Result.load("r.json")
    assert result_rows(result) == ran.rows
    assert (result.seed, result.stretches) == (3, ((0, 64),))


def test_a_rule_of_ones_own_with_its_setting(run, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    # With power 1/2 it is APT at precision 0.
    ran = run(TWO_ARMS, "--rules mine.py:Mine,apt,./mine.py:Mine:-1 --format json")
    mine, apt, other = ran.rows
    assert [row["rule"] for row in ran.rows] == ["mine.py:Mine", "apt", "./mine.py:Mine:-1"]
    assert mine["wrong_games"] == apt["wrong_games"] < other["wrong_games"]


def test_a_changed_rule_is_the_one_that_is_played(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # as for most people
    file = tmp_path / "mine.py"
    indices = []
    for sign in "+-":
        file.write_text(
            "from cutline import IndexRule\nclass Mine(IndexRule):\n    @staticmethod\n"
            f"    def formula(pulls):\n        return {sign}pulls\n"
        )
        os.utime(file, (1e9, 1e9))
        indices.append(parse_rule(f"{file}:Mine").formula(3.0))
    assert indices == [3.0, -3.0]


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        'name = "mine"',
    ],
)
def test_a_rule_made_from_a_built_in_one_is_saved_so_that_it_is_found_again(run, tmp_path, body):
    (tmp_path / "mine.py").write_text(f"from cutline import APT\nclass Mine(APT):\n    {body}\n")
    run(TWO_ARMS, "--rules mine.py:Mine --save r.json")
    assert [type(r).__name__ for r in Result.load("r.json").parsed_rules()] == ["Mine"]


def test_along_reads_one_run_and_says_so(run):
    words = f"{TWO_ARMS} --budget 10,20 --rules csar,apt"
    replayed, along = run(words), run(words, "--along")
    assert "along one run" not in replayed.out
    heads, *lines = along.out.splitlines()
    assert heads.endswith("read")
    assert [line.endswith("along one run") for line in lines] == [True, True, False, False]
    readings = [row["reading"] for row in run(words, "--format json").rows]
    assert readings == ["replayed", "replayed", "anytime", "anytime"]
    # CSAR told 20 pulls has tried one arm only half of the time after 10; told 10, it has both.
    ten = [run(words, flag, "--format json").rows[0] for flag in ("", "--along")]
    assert ten[0]["wrong_games"] != ten[1]["wrong_games"]


# Other arms, other questions


def test_every_family_that_can_be_made_from_means_is_on_offer():
    choices = {p.name: p.type for p in cutline.cli.simulate.simulate.params}
    made = [name for name, kind in FAMILIES.items() if "from_means" in vars(kind)]
    assert list(choices["arms"].choices) == made
    assert list(choices["experiment"].choices) == list(EXPERIMENTS)
    assert set(choices["rewards"].choices) == {
        *("binary", "bounded", "poisson", "exponential", "gaussian", "heavy")
    }


@pytest.mark.parametrize(
    ("family", "sd"),
    [
        ("poisson", None),
        ("exponential", None),
        ("pareto", None),
        ("pareto", [1.5]),
        ("student-t", None),
        ("student-t", [1.5, 2.0]),
    ],
)
def test_arms_of_every_family(run, family, sd):
    words = f"simulate --arms {family} --means 1,2 --threshold 1.5 --budget 9 --games 8 --rules apt"
    flag = "" if sd is None else f"--sd {','.join(map(str, sd))}"
    assert run(words, flag, "--save r.json").code == 0
    assert Result.load("r.json").bandit.arms == FAMILIES[family].from_means([1, 2], sd)


def test_an_experiment_with_other_arms(run):
    words = "simulate --experiment arithmetic --arms beta --budget 20 --games 8 --rules apt"
    assert run(words, "--save r.json").code == 0
    means = EXPERIMENTS["arithmetic"](False).means
    assert Result.load("r.json").bandit == Bandit(
        Beta.from_means(means, None), threshold=0.5, precision=0.1
    )


@pytest.mark.parametrize("name", DATASETS)
def test_arms_from_a_shipped_data_set(run, name):
    words = f"simulate --data {name} --threshold 0.4 --precision 0.05 --rules apt"
    assert run(words, "--budget 700 --games 2 --save r.json").code == 0
    wanted = dataset(name).bandit(threshold=0.4, precision=0.05)
    assert Result.load("r.json").bandit == wanted


CSV = "arm,reward,times\nleft,0,3\nleft,1,1\nright,1,2\n"


def test_arms_from_a_file(run, tmp_path):
    (tmp_path / "mine.csv").write_text(CSV)
    words = "simulate --data mine.csv --threshold 0.5 --budget 9 --games 8 --rules apt --save r"
    assert run(words).code == 0
    bandit = Result.load("r").bandit
    assert bandit.problem.arms == ("left", "right")
    assert (bandit.means.tolist(), bandit.problem.rewards.kind) == ([0.25, 1], "binary")
    assert run(words, "--rewards heavy").code == 0
    assert Result.load("r").bandit.problem.rewards.kind == "heavy"


def test_a_file_that_holds_other_rewards_than_said(run, tmp_path):
    (tmp_path / "mine.csv").write_text("arm,reward\na,0.5\nb,1\n")
    words = "simulate --data mine.csv --threshold 0.5 --budget 9 --games 8 --rules apt"
    ran = run(words)
    assert (ran.code, ran.out) == (2, "")
    assert "mine.csv, line 2: a binary reward is 0 or 1, got 0.5" in ran.err
    assert run(words, "--rewards bounded").code == 0


@pytest.mark.parametrize(
    ("words", "level", "means"),
    [
        ("--means 1,2 --arms exponential --level 2", [2, 2], [math.exp(-2), math.exp(-1)]),
        ("--means 1,2 --arms exponential --level 1,4", [1, 4], [math.exp(-1), math.exp(-2)]),
        ("--data mine.csv --level 0.5", [0.5, 0.5], [0.25, 1]),
        ("--experiment geometric --arms gaussian --level 0.45", [0.45] * 10, None),
    ],
)
def test_a_level_asks_how_often_it_is_exceeded(run, tmp_path, words, level, means):
    (tmp_path / "mine.csv").write_text(CSV)
    rest = "--threshold 0.3 --budget 20 --games 8 --rules apt --save r.json"
    assert run("simulate", words, rest).code == 0
    bandit = Result.load("r.json").bandit
    assert (bandit.problem.level, bandit.problem.threshold[0]) == (tuple(level), 0.3)
    assert bandit.problem.rewards.kind == "binary"
    if means is None:  # the fifth arm is centred on the level
        assert bandit.means[4] == pytest.approx(0.5)
    else:
        assert bandit.means == pytest.approx(means)


def test_the_best_arm_is_looked_for_with_the_highest_mean(run):
    words = "simulate --means 0.2,0.8,0.5 --goal best-arm --rules apt,gcl --budget 30,60 --games 64"
    ran = run(words, "--format json --save r.json")
    assert (ran.code, ran.err) == (0, "note: the threshold is 0.8, the highest mean\n")
    bandit = Bandit(Bernoulli([0.2, 0.8, 0.5]), threshold=0.8)
    result = simulate(bandit, [APT(), GCLStar()], budget=[30, 60], games=64, goal=TopArms(1))
    assert ran.rows == result_rows(result)
    assert Result.load("r.json").bandit == bandit
    for row, regret in zip(ran.rows, result.regret_curve.ravel(), strict=True):
        assert row["regret"] == regret
        assert row["regret_low"] < row["regret"] < row["regret_high"]
    heads, *lines = run(words).out.splitlines()
    assert heads.split()[-1] == "regret"
    assert [line.split()[-1] for line in lines] == [f"{row['regret']:.4g}" for row in ran.rows]


def test_the_best_arms_are_looked_for_midway_to_the_next(run):
    words = "simulate --experiment three-groups --goal top:4 --rules apt --budget 40 --games 8"
    ran = run(words, "--save r.json")
    assert (ran.code, ran.err) == (0, "note: the threshold is 0.6, midway between ranks 4 and 5\n")
    result = Result.load("r.json")
    assert result.bandit == three_groups().for_top(4)
    assert result.goal == TopArms(4)


def test_a_bar_that_is_given_is_kept_for_the_best_arms_too(run):
    words = "simulate --experiment three-groups --goal best-arm --rules apt --budget 40 --games 8"
    ran = run(words, "--threshold 0.7 --save r.json")
    assert (ran.code, ran.err) == (0, "")
    problem = Result.load("r.json").bandit.problem
    assert (problem.threshold[0], problem.precision[0]) == (0.7, 0)  # not the experiment's 0.1
    run(words, "--precision 0.02 --save r.json")
    problem = Result.load("r.json").bandit.problem
    assert (problem.threshold[0], problem.precision[0]) == (0.9, 0.02)


def test_the_best_of_a_level_set_is_the_one_that_exceeds_it_most(run):
    words = "simulate --means 0,1 --arms gaussian --level 1 --goal best-arm --budget 9 --games 8"
    assert run(words, "--rules apt --save r.json").err.startswith("note: the threshold is 0.5,")
    assert Result.load("r.json").bandit.problem.threshold == (0.5, 0.5)


def test_the_picture_of_the_best_arm_says_what_is_wrong(run):
    run(TWO_ARMS, "--goal best-arm --plot x.svg")
    assert "<!-- probability of a wrong best arm -->" in Path("x.svg").read_text()


# The same games, however they are played


@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_the_seed_settles_everything(run, output):
    words = f"{TWO_ARMS} --budget 4 --rules apt,uniform --format {output}"
    first = run(words, "--seed 1").out
    assert run(words, "--seed 1").out == first
    assert run(words, "--seed 2").out != first


def test_the_number_of_threads_changes_nothing(run):
    words = f"{TWO_ARMS} --games 3000 --rules apt,uniform --format json"
    assert run(words, "--threads 1").out == run(words, "--threads 2").out


def test_two_halves_merge_to_the_whole(run):
    words = f"{TWO_ARMS} --rules apt,csar --budget 10,20"
    run(words, "--games 100 --save whole.json")
    run(words, "--games 30 --save first.json")
    run(words, "--games 70 --first-game 30 --save second.json")
    merged = Result.load("first.json").merge(Result.load("second.json"))
    merged.save("merged.json")
    assert Path("merged.json").read_text() == Path("whole.json").read_text()


# A TOML file


LISTS = """
means = [0.1, 0.6, 0.9]
threshold = [0.5, 0.5, 0.4]
precision = 0.05
budget = [20, 30]
rules = ["csar", "ucbe:0.25", "apt"]
games = 64
first-game = 7
seed = 3
threads = 1
along = true
format = "json"
"""
STRINGS = """
means = "0.1,0.6,0.9"
threshold = "0.5,0.5,0.4"
precision = "0.05"
budget = "20,30"
rules = "csar,ucbe:0.25,apt"
games = "64"
first_game = 7
seed = "3"
threads = "1"
along = "yes"
format = "json"
"""
FLAGS = (
    "simulate --means 0.1,0.6,0.9 --threshold 0.5,0.5,0.4 --precision 0.05 --budget 20,30 "
    "--rules csar,ucbe:0.25,apt --games 64 --first-game 7 --seed 3 --threads 1 --along "
    "--format json"
)


@pytest.mark.parametrize("text", [LISTS, STRINGS], ids=["lists", "strings"])
def test_a_file_says_the_same_as_flags(run, tmp_path, text):
    (tmp_path / "spec.toml").write_text(text)
    assert run("simulate spec.toml") == run(FLAGS)


def test_flags_win_over_a_file(run, tmp_path):
    (tmp_path / "spec.toml").write_text(LISTS)
    ran = run("simulate spec.toml --games 8 --rules uniform --budget 25")
    assert ran.rows == run(FLAGS, "--games 8 --rules uniform --budget 25").rows
    assert [(row["rule"], row["games"], row["budget"]) for row in ran.rows] == [("uniform", 8, 25)]


def test_a_file_can_name_an_experiment_and_where_to_save(run, tmp_path):
    (tmp_path / "spec.toml").write_text(
        'experiment = "arithmetic"\ngames = 8\nbudget = 20\nsave = "r.json"\nplot = "r.svg"\n'
    )
    assert run("simulate spec.toml").code == 0
    assert Result.load("r.json").bandit == EXPERIMENTS["arithmetic"](False)
    assert Path("r.svg").exists()


def test_a_flag_wins_over_every_other_way_to_name_arms_in_the_file(run, tmp_path):
    rest = 'rules = "apt"\nbudget = 120\ngames = 2\nthreshold = 0.5\nsave = "r.json"\n'
    ways = {
        "experiment": ("geometric", 'experiment = "geometric"\narms = "gaussian"\nsd = 0.3\n'),
        "means": ("0.1,0.9", 'means = [0.1, 0.9]\narms = "beta"\nsd = 0.2\n'),
        "data": ("bluebirds", 'data = "mine.csv"\nrewards = "heavy"\n'),
    }
    (tmp_path / "mine.csv").write_text(CSV)
    for in_file, (_, text) in ways.items():
        (tmp_path / "spec.toml").write_text(text + rest)
        for way, (value, _) in ways.items():
            if way != in_file or way == "data":  # the file's rewards are not those of bluebirds
                assert run(f"simulate spec.toml --{way} {value}").code == 0, (in_file, way)
                arms = {"experiment": 10, "means": 2, "data": 108}[way]
                assert len(Result.load("r.json").arms) == arms


def test_what_does_not_fit_within_a_file_is_refused(run, tmp_path):
    rest = 'rules = "apt"\nbudget = 120\ngames = 2\nthreshold = 0.5\n'
    for text, told in {
        'data = "bluebirds"\narms = "beta"\n': "--arms is for arms made from means",
        'data = "bluebirds"\nexperiment = "geometric"\n': "give one of --experiment",
        'means = [0.1, 0.9]\nrewards = "heavy"\n': "--rewards is for a CSV file",
    }.items():
        (tmp_path / "spec.toml").write_text(text + rest)
        ran = run("simulate spec.toml")
        assert (ran.code, ran.out) == (2, "")
        assert told in ran.err


# Pictures


@pytest.mark.parametrize(
    "words",
    [
        "--rules apt,uniform",
        "--rules apt,uniform --budget 13,20",
        "--rules apt,csar --along --budget 13,20",
        "--rules apt,csar",
        "--rules apt,csar --budget 33,60",
    ],
)
def test_a_picture_changes_no_number(run, words):
    words = f"{TWO_ARMS} {words} --format json"
    drawn = run(words, "--plot x.png")
    assert drawn == run(words)
    assert drawn.code == 0
    assert Path("x.png").exists()


def test_a_png(run):
    run(TWO_ARMS, "--plot x.png")
    data = Path("x.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert data[12:16] == b"IHDR"
    width, height = struct.unpack(">II", data[16:24])
    assert width > height > 500


def test_an_svg_names_the_rules(run):
    run(TWO_ARMS, "--rules ucbe:0.25,csar --plot x.svg")
    root = ElementTree.parse("x.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = Path("x.svg").read_text()  # letters are drawn as paths; matplotlib notes the words
    for word in ("UCBE(0.25)", "CSAR", "64 games, 2 arms", "horizon (pulls)"):
        assert f"<!-- {word} -->" in text


def test_picture_and_result_can_be_had_at_once(run, tmp_path):
    run(TWO_ARMS, "--plot x.png --save r.json")
    assert set(files(tmp_path)) == {Path("x.png"), Path("r.json")}
    assert Result.load("r.json").horizons.tolist() == list(range(1, 21))  # the whole curve


# Bad input

BAD = {
    "--rules nope": "unknown rule 'nope'",
    "--rules apt,uniform,nope:3": "unknown rule 'nope'",
    "--rules ,": "at least one rule",
    "--rules apt:colour=3": "no setting of that rule, which has: precision",
    "--rules ucbe:1:2:3": "'3' in 'ucbe:1:2:3' is no setting of that rule",
    "--rules ucbe:big": "'big' in 'ucbe:big' is not a number",
    "--rules slr-d --arms gaussian": "slr-d is for rewards in a range, these are gaussian",
    "--rules nofile.py:Mine": "there is no file nofile.py",
    "--rules broken.py:Mine": "broken.py could not be read: SyntaxError",
    "--rules raises.py:Mine": "raises.py could not be read: RuntimeError: no luck",
    "--rules mine.py": "say which class of mine.py",
    "--rules mine.py:Other": "mine.py has no rule called Other",
    "--rules mine.py:NoRule": "mine.py has no rule called NoRule",
    "--rules mine.py:Mine:power=x": "is not a number",
    "--rules mine.py:AsksForColour": "AsksForColour.formula asks for 'colour'",
    "--rules mine.py:CannotBeCompiled": "CannotBeCompiled with Bernoulli arms cannot be compiled",
    "--rules mine.py:NotStatic": "put @staticmethod before def formula",
    "--means 0.1,x": "--means takes numbers",
    "--means 0.1,,0.2": "--means takes numbers",
    "--means nan,0.1": "takes finite numbers of at most 1e+100 in size, got nan",
    "--means inf,0.1 --arms gaussian": "takes finite numbers of at most 1e+100 in size, got inf",
    "--means 0.1,1.1": "lies between 0 and 1, got 1.1",
    "--means=-0.1,0.1": "lies between 0 and 1, got -0.1",
    "--means 0,0.5 --arms beta": "strictly between 0 and 1",
    "--threshold nan": "--threshold takes finite numbers",
    "--threshold low": "--threshold takes numbers",
    "--threshold 0.5,0.4,0.3": "threshold must be one number or one per arm",
    "--precision -0.1": "precision must be 0 or more, got -0.1",
    "--precision 0.1,0.1,0.1": "precision must be one number or one per arm",
    "--precision inf": "--precision takes finite numbers",
    "--budget 1": "a budget of 1 cannot try 2 arms",
    "--budget 0": "at least 1, got 0",
    "--budget 20,0": "at least 1, got 0",
    "--budget -5": "at least 1, got -5",
    "--budget 10.5": "--budget takes whole numbers, got '10.5'",
    "--budget 1e2": "--budget takes whole numbers, got '1e2'",
    "--budget 99999999999": "below 4294967296",
    "--games 0": "games must be a whole number, at least 1, got 0",
    "--games 1.5": "--games",
    "--games many": "--games",
    "--seed -1": "seed must be a whole number from 0",
    "--seed 18446744073709551616": "seed must be a whole number from 0",
    "--first-game -1": "games are numbered from 0",
    "--first-game 281474976710656": "games are numbered from 0",
    "--threads 0": "threads must be a whole number, at least 1, got 0",
    "--experiment geometric": "give one of --experiment, --means and --data",
    "--experiment chess": "--experiment",
    "--arms cauchy": "--arms",
    "--arms duels": "--arms",
    "--arms recorded": "--arms",
    "--arms poisson --means=-1,2": "-1",
    "--arms pareto --means 0,2": "above 0, got 0.0",
    "--arms student-t --sd 0": "above 0, got 0.0",
    "--arms exponential --sd 1": "leave out sd",
    "--data bluebirds": "give one of --experiment, --means and --data",
    "--rewards heavy": "--rewards is for a CSV file of --data: leave it out",
    "--rewards cauchy": "--rewards",
    "--level high": "--level takes numbers",
    "--level 1,2,3": "level must be one number or one per arm",
    "--level nan": "--level takes finite numbers",
    "--goal worst": "a goal is sides, best-arm or top:M",
    "--goal top:0": "m is a whole number of arms, at least 1, got 0",
    "--goal top:2": "the best 2 of 2 arms leave nothing to find",
    "--goal top:x": "a goal is sides, best-arm or top:M",
    "--goal best-arm --threshold 0.5,0.6": "one threshold for all arms",
    "--sd 0.5": "leave out sd",
    "--arms gaussian --sd -1": "0 or more, got -1.0",
    "--arms gaussian --sd 1,2,3": "one number or one per arm",
    "--arms gaussian --sd wide": "--sd takes numbers",
    "--arms gaussian --sd nan": "takes finite numbers of at most 1e+100 in size, got nan",
    "--arms beta --sd 0.5": "below sqrt(mean (1 - mean))",
    "--arms beta --sd 0": "above 0",
    "--arms beta --sd -0.2": "above 0",
    "--arms beta --sd 0.1,0.1,0.1": "one number or one per arm",
    "--plot no/x.png": "there is no folder no",
    "--save no/x.json": "there is no folder no",
    "--plot .": "--plot",
    "--save .": "--save",
    "--save r.json --plot x.xyz": "xyz",
    "--save r.json --plot x": "ending",
    "--format xml": "--format",
    "--colour red": "--colour",
    "missing.toml": "missing.toml could not be read",
    "broken.toml": "broken.toml could not be read: ",
    "bytes.toml": "bytes.toml could not be read: ",
    ".": "could not be read",
    "unknown.toml": "there is no setting 'meens'; the keys are those of the flags: along, arms",
    "date.toml": "games",
    "half.toml": "games",
    "other.toml": "unknown rule 'other'",
    "broken.toml other.toml": "could not be read",
    "--rules ucbe:nan": "nan",
    "--rules ucbe:inf": "inf",
    "--rules ucbe:-1": "0 or more",
    "--rules ucbe:1:0": "above 0",
    "--rules apt:precision=-1": "0 or more",
    "--rules apt:precision=nan": "nan",
    "--rules exits.py:Mine": "exits.py could not be read: SystemExit",
    "--rules mine.py:NoSuchArm": "place of an arm",
    "number.toml": "ending of 3",
    "true.toml": "'true' is not a valid integer",
}


@pytest.mark.parametrize(
    ("words", "told"),
    BAD.items(),
)
def test_bad_input_is_one_sentence(run, tmp_path, words, told):
    for name, text in {
        "mine.py": MINE,
        "broken.py": "def (",
        "exits.py": "raise SystemExit(3)",
        "raises.py": "raise RuntimeError('no luck')",
        "broken.toml": "means = [0.1\n",
        "unknown.toml": "meens = [0.1]\n",
        "date.toml": "games = 2000-01-01\n",
        "half.toml": "games = 10.5\n",
        "number.toml": "plot = 3\n",
        "true.toml": "games = true\n",
        "other.toml": 'rules = "other"\n',
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    before = files(tmp_path)
    # A flag given twice counts the last time; files must be left to say the number of games.
    given = TWO_ARMS.removesuffix(" --games 64") if words.endswith(".toml") else TWO_ARMS
    ran = run(given, words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("cutline: ")
    assert ran.err.count("\n") == 1
    assert ran.err.endswith("\n")
    assert told in ran.err
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("simulate", "give one of --experiment, --means and --data"),
        ("simulate --threshold 0.5", "give one of --experiment, --means and --data"),
        ("simulate --data bluebirds", "give the bar with one of --at-least"),
        ("simulate --data bluebirds --experiment geometric", "give one of --experiment"),
        (
            "simulate --data sparrows --threshold 0.5",
            "(bluebirds, flaky_tests, rtt_seattle, vm_noise) or a",
        ),
        ("simulate --data gone.csv --threshold 0.5", "a CSV file that exists, got 'gone.csv'"),
        ("simulate --data file --threshold 0.5", "file, line 1: the columns arm and reward"),
        ("simulate --data bluebirds --threshold 0.5 --sd 1", "--sd is for arms made from means"),
        ("simulate --data bluebirds --threshold 0.5 --arms beta", "--arms is for arms made from"),
        ("simulate --data bluebirds --threshold 0.5 --rewards heavy", "--rewards is for a CSV"),
        ("simulate --data bluebirds --threshold 0.5 --budget 9", "cannot try 108 arms once each"),
        ("simulate --means 0.1,0.9", "give the bar with one of --at-least"),
        ("simulate a.toml b.toml", "b.toml"),
        ("simulat", "simulat"),
        ("paper --games 0", "games must be a whole number, at least 1, got 0"),
        ("paper --out file", "--out"),
        ("paper --out file/folder", "the folder file/folder cannot be made"),
    ],
)
def test_what_is_missing_or_too_much_is_one_sentence(run, tmp_path, words, told):
    for name in ("file", "a.toml", "b.toml"):
        (tmp_path / name).write_text("")
    before = files(tmp_path)
    ran = run(words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert told in ran.err
    assert files(tmp_path) == before


def test_a_tiny_budget_is_played_with_a_note(run):
    ran = run(f"{TWO_ARMS} --budget 3 --rules apt --format json")
    assert (ran.code, ran.rows[0]["budget"]) == (0, 3)
    assert ran.err.startswith("note: ")
    assert run(f"{TWO_ARMS} --budget 4 --rules apt").err == ""


def test_help_names_the_options(run):
    helped = run("simulate --help")
    assert (helped.code, helped.err) == (0, "")
    for option in ("--experiment", "--means", "--data", "--level", "--goal", "--along", "--plot"):
        assert option in helped.out
    assert all(name in helped.out for name in DATASETS)


def test_help_names_the_rules_by_what_they_are_for(run):
    helped = run("simulate --help").out
    listed = helped[helped.index("For the sides of arms:") : helped.index("--games")]
    names = [word.partition(":")[0] for word in re.findall(r"[\w:-]+", listed)]
    own = {name for name in RULES if name.startswith(("slr-", "auto-"))} - {"slr-d", "slr-v"}
    assert {name for name in names if name in RULES} == set(RULES) - own  # slr and auto pick those
    assert max(len(line) for line in listed.splitlines()) <= 80
    purposes = [line.strip() for line in listed.splitlines() if line.endswith(":")]
    assert len(purposes) == 6


def test_help_keeps_the_lines_of_its_examples(run):
    assert "\n  cutline simulate --means 0.1,0.4,0.9 " in run("simulate --help").out


# Real processes


def start(words, **streams):
    """Start the installed command so that Ctrl-C reaches it, even where tests themselves ignore it.

    A child inherits that a signal is ignored, but not a handler.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen([COMMAND, *words.split()], **streams)
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def terminal():
    """The two ends of a terminal: ours, and the one to hand to a process."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def read(end, until=None, seconds=90):
    """What a terminal shows, without its control sequences, until a pattern or the end."""
    seen, deadline = b"", time.monotonic() + seconds
    while True:
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode(errors="replace"))
        if until is not None and re.search(until, text):
            return text
        assert time.monotonic() < deadline, f"not seen in {seconds} s: {until}; but {text!r}"
        if select.select([end], [], [], 1)[0]:
            try:
                some = os.read(end, 1 << 16)
            except OSError:  # the other end is closed
                return text
            if not some:
                return text
            seen += some


def test_the_installed_command_keeps_output_and_errors_apart(run, tmp_path):
    words = f"{TWO_ARMS} --rules apt --format json"
    good = start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    bad = start("simulate", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = good.communicate()
    assert Ran(good.returncode, out, err) == run(words)
    out, err = bad.communicate()
    assert (bad.returncode, out) == (2, "")
    assert err == "cutline: say which arms: give one of --experiment, --means and --data\n"


def test_progress_is_shown_on_a_terminal_and_kept_out_of_the_output(run):
    words = f"{TWO_ARMS} --games 2000 --rules apt --format json"
    with terminal() as (ours, theirs):
        process = start(words, stdout=subprocess.PIPE, stderr=theirs, text=True)
        os.close(theirs)
        shown = read(ours)
        out, _ = process.communicate()
    assert re.search("2000/2000.* games", shown)
    assert Ran(process.returncode, out, "") == run(words)


def test_no_progress_when_only_the_output_is_a_terminal(run):
    words = f"{TWO_ARMS} --games 2000 --rules apt"
    with terminal() as (ours, theirs):
        process = start(words, stdout=theirs, stderr=subprocess.PIPE, text=True)
        os.close(theirs)
        shown = read(ours)
        _, err = process.communicate()
    assert shown.replace("\r\n", "\n") == run(words).out
    assert err == ""


def test_a_reader_that_leaves_is_no_bad_input(tmp_path):
    ours, theirs = os.pipe()
    os.close(ours)
    words = f"{TWO_ARMS} --rules apt --format json"
    process = start(words, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    _, err = process.communicate()
    assert err == ""
    assert process.returncode != 2


# Ctrl-C

NOTE = (
    r"note: stopped after (\d+) of (\d+) games; (--first-game (\d+) --games (\d+)) plays the rest"
)


def test_ctrl_c_shows_the_games_so_far_and_soon(run, tmp_path):
    words = f"{TWO_ARMS} --rules apt --games 100000000 --threads 2"
    run(words, "--games 8")  # compiled now, so that games are under way soon
    with terminal() as (ours, theirs):
        process = start(
            f"{words} --save first.json",
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
        )
        os.close(theirs)
        read(ours, until=r"[1-9]\d*/100000000")
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        shown = read(ours, seconds=10)
        out, _ = process.communicate()
    assert time.monotonic() - asked < 10
    assert process.returncode == 130
    found = re.search(NOTE, shown)
    played, all_games, _, first, rest = found.groups()
    assert int(all_games) == 100_000_000
    assert int(first) == int(played) == 100_000_000 - int(rest)
    # What was saved is whole: with a few games more it is the run that was never stopped.
    heads, row = out.splitlines()
    assert heads.startswith("rule")
    assert row.split()[:3] == ["apt", "20", played]
    run(words, f"--first-game {first} --games 8 --save second.json")
    run(words, f"--games {int(played) + 8} --save whole.json")
    Result.load("first.json").merge(Result.load("second.json")).save("merged.json")
    assert Path("merged.json").read_text() == Path("whole.json").read_text()


def test_ctrl_c_ends_a_game_that_would_take_an_hour(run, tmp_path):
    run(f"{TWO_ARMS} --rules apt --games 8")  # compiled now, so that games are under way soon
    words = f"{TWO_ARMS} --rules apt --games 64 --budget {2**32 - 1} --threads 2"
    process = start(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: seconds_of_work(process.pid) > 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err.strip()) == (130, "cutline: stopped")


def seconds_of_work(pid):
    """How much processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until(condition, seconds=60):
    """Wait for something that will be true."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def interrupt_after(done, monkeypatch):
    """Press Ctrl-C once that many games are done."""

    @contextlib.contextmanager
    def progress(what):
        def look(games, total):
            if games >= done:
                raise KeyboardInterrupt

        yield look

    monkeypatch.setattr(cutline.cli.shared, "progress", progress)


@pytest.mark.parametrize("first_game", [0, 50])
def test_going_on_as_told_gives_the_run_that_was_never_stopped(run, monkeypatch, first_game):
    words = f"{TWO_ARMS} --rules apt,uniform --budget 10,20 --threads 1"
    run(words, f"--games 1000 --first-game {first_game} --save whole.json")
    with monkeypatch.context() as patch:
        interrupt_after(1, patch)
        ran = run(words, f"--games 1000 --first-game {first_game} --save first.json")
    assert ran.code == 130
    played, all_games, flags, first, _ = re.fullmatch(NOTE + "\n", ran.err).groups()
    assert 0 < int(played) < int(all_games) == 1000
    assert int(first) == first_game + int(played)
    assert [line.split()[2] for line in ran.out.splitlines()[1:]] == [played] * 4
    assert run(words, flags, "--save second.json").code == 0
    Result.load("first.json").merge(Result.load("second.json")).save("merged.json")
    assert Path("merged.json").read_text() == Path("whole.json").read_text()


def test_ctrl_c_before_the_first_game_says_so(run, monkeypatch, tmp_path):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cutline.cli.simulate, "bandit_of", interrupted)
    ran = run(TWO_ARMS, "--save r.json")
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "cutline: stopped")
    assert files(tmp_path) == {}


def test_ctrl_c_in_paper_names_no_flag_that_paper_lacks(run, monkeypatch):
    interrupt_after(1, monkeypatch)
    ran = run("paper --games 3000 --threads 1")
    assert ran.code == 130
    assert "--first-game" not in ran.err


def test_flags_win_over_the_file_in_saying_which_arms(run, tmp_path):
    (tmp_path / "spec.toml").write_text('experiment = "geometric"\nrules = "apt"\nbudget = 40\n')
    words = "--means 0.1,0.9 --threshold 0.5 --games 8 --save r.json"
    assert run(f"simulate spec.toml {words}").code == 0
    assert Result.load("r.json").bandit.means.tolist() == [0.1, 0.9]


def test_a_rule_is_found_in_a_result_by_every_way_to_write_it(run, tmp_path):
    run(TWO_ARMS, "--rules apt,ucbe:1 --save r.json")
    result = Result.load("r.json")
    assert result.specs == ("apt", "ucbe:1")
    same = [result.difference(name, "apt") for name in ("ucbe", "ucbe:1", "ucbe:c=1", "UCBE(1)")]
    assert len(set(same)) == 1
