"""cutline theory: the bounds of core.theory and simulated games, for the problem that was asked."""

import csv
import io
import json
import re
import shlex
import struct
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import cutline.cli.shared
import cutline.cli.simulate
import cutline.cli.theory
import cutline.figures.theory
from cutline import APT, CSAR, Bandit, Bernoulli, Gaussian, TopArms, dataset, simulate, three_groups
from cutline.cli import main
from cutline.core.theory import corollary_2, csar_bound, kl_lower_bound, theorem_1, theorem_4
from cutline.figures.statements import Theory
from cutline.figures.tables import result_rows, theory_csv, theory_json, theory_table
from cutline.figures.theory import report
from cutline.simulation import EXPERIMENTS
from cutline.simulation.goals import SIDES

QUICK = "theory --experiment three-groups --budget 40,100 --games 64"
BOUNDS = "theory --experiment three-groups --games 0"


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def values(self):
        return json.loads(self.out)

    @property
    def bounds(self):
        return {row["statement"]: row for row in self.values["bounds"]}


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
        return Ran(code, *capsys.readouterr())

    return run


def wanted(bandit, goal=SIDES, result=None, budgets=(100, 500, 10_000), error=0.05):
    return report(Theory.of(bandit, goal, budgets=budgets, error=error), result)


# Bounds


def test_the_numbers_are_those_of_core_theory(run):
    ran = run(BOUNDS, "--format json")
    assert (ran.code, ran.err) == (0, "")
    bandit = three_groups()
    H = bandit.complexity()
    for bound in (
        theorem_1(H, arms=10, noise_scale=0.5),
        corollary_2(H, arms=10, noise_scale=0.5),
        csar_bound([0.4] * 6 + [0.15] * 2 + [0.05] * 2, noise_scale=0.5),
    ):
        row = ran.bounds[bound.statement]
        assert row["budget_for_error"] == bound.budget_for(0.05)
        for value in row["values"]:
            if value["budget"] >= bound.least:
                assert value["log_value"] == pytest.approx(bound.log_at(value["budget"]))
                assert value["vacuous"] == bound.is_vacuous(value["budget"])
            else:
                assert value["value"] is None
    assert ran.bounds["divergence lower bound"]["values"][1]["value"] == pytest.approx(
        kl_lower_bound(bandit.problem, bandit.means).at(500)
    )


def test_json_has_the_problem_the_bounds_and_the_games(run):
    ran = run(QUICK, "--format json --seed 3")
    result = simulate(three_groups(), [APT(), CSAR()], budget=[40, 100], games=64, seed=3)
    assert ran.values == wanted(three_groups(), result=result, budgets=[40, 100])
    assert list(ran.values) == ["problem", "error", "bounds", "simulated", "notes"]
    assert ran.values["problem"]["complexity"] == pytest.approx(144.889, abs=1e-3)
    assert len(ran.values["problem"]["per_arm"]) == 10
    assert ran.values["simulated"] == result_rows(result)


@pytest.mark.parametrize(
    ("name", "show"), [("table", theory_table), ("json", theory_json), ("csv", theory_csv)]
)
def test_formats_show_the_same_numbers(run, name, show):
    result = simulate(three_groups(), [APT(), CSAR()], budget=[40, 100], games=64)
    ran = run(QUICK, f"--format {name}")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == show(wanted(three_groups(), result=result, budgets=[40, 100]))


def test_the_table_for_people(run):
    out = run(QUICK).out
    assert out.startswith(
        "10 bernoulli arms, threshold 0.5, precision 0.1; arms that count: 8\n"
        "H = 144.9, H_2 = 800 (at precision 0, for CSAR), R = 0.5\n\narm  mean   gap  answer"
    )
    assert re.search("Theorem 2 as printed +vacuous +vacuous +28,851\n", out)
    assert re.search("Corollary 2 +– +– +44,156\n", out)
    assert len(re.findall("in 64 games", out)) == 2


def test_csv_can_be_read_back(run):
    ran = run(QUICK, "--format csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert len(rows) == 9 * 2 + 2 * 2
    seen = [row for row in rows if row["statement"] == "simulated"]
    assert [(row["rule"], row["budget"], row["games"]) for row in seen] == [
        *(("apt", "40", "64"), ("apt", "100", "64")),
        *(("csar", "40", "64"), ("csar", "100", "64")),
    ]


def test_without_games_nothing_is_played(run, monkeypatch):
    def refuse(*args, **options):
        raise AssertionError("played")

    monkeypatch.setattr(cutline.cli.theory, "play", refuse)
    ran = run(BOUNDS, "--format json")
    assert (ran.code, ran.values["simulated"]) == (0, [])
    assert "games" not in run(BOUNDS).out


def test_an_error_of_ones_own(run):
    bounds = run(BOUNDS, "--error 0.001 --format json").bounds
    H = three_groups().complexity()
    needed = corollary_2(H, arms=10, noise_scale=0.5).budget_for(0.001)
    assert bounds["Corollary 2"]["budget_for_error"] == needed
    assert "for error 0.001\n" in run(BOUNDS, "--error 0.001").out


# Problems


@pytest.mark.parametrize("arms", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_experiments(run, experiment, arms):
    ran = run(f"theory --experiment {experiment} --arms {arms} --games 0 --format json")
    assert ran.values == wanted(EXPERIMENTS[experiment](arms == "gaussian"))


def test_arms_of_ones_own(run):
    ran = run(
        "theory --means 0,1,3 --arms gaussian --sd 1,1,2 --threshold 0.5,0.5,1 --precision 0,0.1,0",
        "--games 0 --format json",
    )
    arms = Gaussian([0, 1, 3], sd=[1, 1, 2])
    assert ran.values == wanted(Bandit(arms, threshold=[0.5, 0.5, 1], precision=[0, 0.1, 0]))


def test_recorded_arms(run):
    ran = run("theory --data bluebirds --threshold 0.5 --precision 0.1 --games 0 --format json")
    assert ran.values == wanted(dataset("bluebirds").bandit(threshold=0.5, precision=0.1))
    assert len(ran.values["problem"]["per_arm"]) == 108


def test_a_level_set_of_arms_that_have_no_scale_themselves(run):
    words = "theory --means 1,2 --arms pareto --level 1 --threshold 0.5 --games 0"
    ran = run(words, "--format json")
    assert (ran.err, ran.values["problem"]["noise_scale"]) == ("", 0.5)
    assert "2 pareto arms, level 1, threshold 0.5" in run(words).out


def test_what_is_left_out_is_said(run):
    ran = run("theory --means 1,2,4 --arms poisson --threshold 3 --games 8 --format json")
    assert ran.err == (
        "note: the bounds with a noise scale R are left out: poisson rewards have none\n"
    )
    assert list(ran.bounds) == ["divergence lower bound"]
    assert [row["rule"] for row in ran.values["simulated"]] == ["apt"] * 3
    assert ran.values["notes"] == [ran.err.removeprefix("note: ").strip()]


def test_the_best_arm(run):
    words = "theory --means 0.2,0.9,0.5 --goal best-arm --budget 30,300 --games 64"
    ran = run(words, "--format json")
    assert (ran.code, ran.err) == (0, "note: the threshold is 0.9, the highest mean\n")
    bandit = Bandit(Bernoulli([0.2, 0.9, 0.5]), threshold=0.9)
    result = simulate(bandit, [APT()], budget=[30, 300], games=64, goal=TopArms(1))
    assert ran.values == wanted(bandit, TopArms(1), result, budgets=[30, 300])
    bound = theorem_4(bandit.means, budget=300, noise_scale=0.5)
    assert ran.bounds["Theorem 4"]["values"][1]["value"] == pytest.approx(bound)
    out = run(words).out
    assert out.index("error of APT") < out.index("regret of APT")
    assert re.search(r"at most, Theorem 4 +vacuous +\d", out)


def test_the_top_arms(run):
    ran = run("theory --experiment three-groups --goal top:4 --budget 100 --games 64 --format json")
    bandit = three_groups().for_top(4)
    result = simulate(bandit, [APT(), CSAR()], budget=[100], games=64, goal=TopArms(4))
    assert ran.values == wanted(bandit, TopArms(4), result, budgets=[100])
    assert ran.err.splitlines() == [
        "note: the threshold is 0.6, midway between ranks 4 and 5",
        "note: lower bounds are left out: none is about the 4 best arms",
    ]


# A TOML file


def test_a_file_says_the_same_as_flags_and_serves_both_commands(run, tmp_path):
    (tmp_path / "spec.toml").write_text(
        'experiment = "three-groups"\nbudget = [40, 100]\ngames = 64\nerror = 0.01\n'
        'rules = ["uniform"]\nfirst-game = 0\nalong = false\nformat = "json"\n'
    )
    assert run("theory spec.toml") == run(QUICK, "--error 0.01 --format json")
    simulated = run("simulate spec.toml")
    assert simulated.code == 0
    assert [row["rule"] for row in simulated.values] == ["uniform", "uniform"]


def test_flags_win_over_a_file(run, tmp_path):
    (tmp_path / "spec.toml").write_text('experiment = "geometric"\ngames = 0\nerror = 0.01\n')
    ran = run("theory spec.toml --means 0.1,0.9 --threshold 0.5 --error 0.2 --format json")
    assert ran.values == wanted(Bandit(Bernoulli([0.1, 0.9]), threshold=0.5), error=0.2)


def test_a_key_that_no_command_knows(run, tmp_path):
    (tmp_path / "spec.toml").write_text('experiment = "geometric"\neror = 0.01\n')
    for command, keys in {
        "theory": "arms, at-least, at-most, budget, data",
        "simulate": "along, arms",
    }.items():
        ran = run(command, "spec.toml")
        assert (ran.code, ran.out) == (2, "")
        assert f"there is no setting 'eror'; the keys are those of the flags: {keys}" in ran.err


# Pictures


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (QUICK, ["Theorem 2 as printed", "CSAR", "error wanted"]),
        (BOUNDS, ["Theorem 2", "divergence lower bound", "error probability"]),
        (
            "theory --means 0.2,0.9 --goal best-arm --budget 40 --games 64",
            ["Theorem 3", "Theorem 4 as printed", "regret, in units of reward"],
        ),
        (
            "theory --means 1,2 --arms poisson --threshold 1.4 --budget 40 --games 64",
            [
                "divergence lower bound",
                "APT",
                "2 poisson arms, threshold 1.4, precision 0; 64 games",
            ],
        ),
        ("theory --means 1,2 --arms pareto --threshold 1.4 --budget 40 --games 64", ["APT"]),
    ],
)
def test_a_picture_names_what_it_shows(run, words, seen):
    assert run(words, "--plot x.svg").code == 0
    text = Path("x.svg").read_text()  # letters are drawn as paths; matplotlib notes the words
    for word in seen:
        assert f"<!-- {word} -->" in text


def test_a_picture_changes_no_number(run):
    drawn = run(QUICK, "--format json --plot x.png")
    assert drawn == run(QUICK, "--format json")
    data = Path("x.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width > height > 500


def test_a_picture_has_the_curve_between_the_budgets(run, monkeypatch):
    seen = []

    def look(theory, result):
        seen.append(result.horizons.tolist())
        raise ValueError("seen")

    monkeypatch.setattr(cutline.figures.theory, "panels", look)
    run("theory --experiment three-groups --budget 100 --games 8 --plot x.png")
    assert len(seen[0]) > 10
    assert (min(seen[0]), max(seen[0])) == (10, 100)


def test_the_same_picture_twice(run):
    for name in "ab":
        run(QUICK, f"--plot {name}.svg")
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()


# Bad input


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("theory", "give one of --experiment, --means and --data"),
        ("theory --means 0.1,0.9", "give the bar with one of --at-least"),
        (f"{BOUNDS} --error 0", "error must lie between 0 and 1, got 0.0"),
        (f"{BOUNDS} --error 1.5", "error must lie between 0 and 1, got 1.5"),
        (f"{BOUNDS} --error small", "--error"),
        (f"{BOUNDS} --budget 0", "at least 1, got 0"),
        (f"{BOUNDS} --budget many", "--budget takes whole numbers"),
        (f"{QUICK} --games -1", "games must be a whole number, at least 1, got -1"),
        (f"{QUICK} --budget 5", "a budget of 5 cannot try 10 arms"),
        (f"{QUICK} --threads 0", "threads must be a whole number"),
        (f"{QUICK} --seed -1", "seed must be a whole number"),
        (f"{BOUNDS} --plot x.xyz", "the ending of x.xyz must say what kind of picture"),
        (f"{BOUNDS} --plot no/x.png", "there is no folder no"),
        (f"{BOUNDS} --format xml", "--format"),
        (f"{BOUNDS} --rules apt", "--rules"),
        (f"{BOUNDS} --goal best", "a goal is sides, best-arm or top:M"),
        (f"{BOUNDS} --goal top:10", "leave nothing to find"),
        (f"{BOUNDS} --goal best-arm --threshold 0.5", "about APT told the best mean, 0.9,"),
        (f"{BOUNDS} --goal top:4 --threshold 0.5", "where the threshold splits them off"),
        (f"{BOUNDS} --goal top:4 --precision 0.1", "no mean is in the band around it"),
        (
            "theory --means 1,2 --arms pareto --threshold 1.4 --games 0 --plot x.png",
            "there is nothing to draw",
        ),
    ],
)
def test_bad_input_is_one_sentence(run, tmp_path, words, told):
    ran = run(words)
    assert ran.code == 2
    assert told in ran.err
    last = [line for line in ran.err.splitlines() if not line.startswith("note: ")]
    assert len(last) == 1
    assert last[0].startswith("cutline: ")
    assert list(tmp_path.iterdir()) == []


def test_bad_input_prints_nothing_before_it_is_known(run):
    assert run(f"{QUICK} --goal top:4 --threshold 0.5").out == ""


# Ctrl-C, help


def test_ctrl_c_shows_the_games_so_far(run, monkeypatch):
    @contextmanager
    def progress(what):
        def look(games, total):
            raise KeyboardInterrupt

        yield look

    monkeypatch.setattr(cutline.cli.shared, "progress", progress)
    ran = run(QUICK, "--games 5000 --threads 1 --format json")
    assert ran.code == 130
    (played,) = {row["games"] for row in ran.values["simulated"]}
    assert 0 < played < 5000
    assert ran.err == f"note: stopped after {played} of 5000 games\n"


def test_help_names_the_options_and_keeps_its_examples(run):
    helped = run("theory --help")
    assert (helped.code, helped.err) == (0, "")
    for option in ("--experiment", "--data", "--level", "--goal", "--error", "--games", "--plot"):
        assert option in helped.out
    assert "\n  cutline theory --experiment three-groups\n" in helped.out


def test_both_commands_take_the_same_problems(run):
    def options(command):
        return [p.name for p in command.params]

    simulated, proven = options(cutline.cli.simulate.simulate), options(cutline.cli.theory.theory)
    shared = simulated[: simulated.index("budget")]
    assert proven[: len(shared)] == shared
    assert {"spec", "experiment", "means", "data", "arms", "sd", "rewards", "level"} <= {*shared}
    assert {"goal", "threshold", "precision"} <= {*shared}


def test_help_brings_in_nothing_heavy():
    program = "import sys; from cutline.cli import cli; cli(['theory', '--help'])"
    shown = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    ran = subprocess.run(
        [sys.executable, "-c", shown + program], capture_output=True, text=True, check=True
    )
    assert "--error" in ran.stdout
    heavy = {"numba", "matplotlib", "scipy", "cutline.simulation", "cutline.figures.tables"}
    assert heavy.isdisjoint(ran.stderr.split())
