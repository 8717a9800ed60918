"""cutline plan: what it prints, what it draws, what it refuses."""

import json
import shlex
import struct
import sys
from dataclasses import dataclass

import pytest

from cutline.cli import main
from cutline.figures.planning import as_json, as_text, picture, report
from cutline.simulation.planning import plan

SMALL = "plan --means 0.1,0.3,0.7,0.9 --threshold 0.5 --precision 0.1"


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(words):
        monkeypatch.setattr(sys, "argv", ["cutline", *shlex.split(words)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run


@pytest.fixture(scope="module")
def small():
    return plan([0.1, 0.3, 0.7, 0.9], threshold=0.5, precision=0.1)


def test_the_table_says_what_was_assumed_what_is_needed_and_what_would_change(run, small):
    ran = run(SMALL)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == as_text(small)
    lines = ran.out.splitlines()
    assert lines[:3] == [
        "Assumed: 4 arms with guessed means, 0.1 to 0.9",
        "Bar:     0.5, precision 0.1, binary rewards",
        "Target:  a chance of 0.05 that any arm is on the wrong side",
    ]
    auto, robin = lines[5:7]
    assert auto.startswith("the default rule (auto)")
    assert f" {small.default.budget} " in auto
    assert robin.split()[4] == str(small.uniform.budget)
    assert robin.endswith("computed")
    assert "Stopping at 95 % confidence instead" in ran.out
    assert f"{round(small.stop.mean)} pulls on average" in ran.out
    assert lines[-3].split()[-2:] == [str(small.default.budget), str(small.uniform.budget)]
    assert [line.split()[0].strip(",") for line in lines[-4:]] == ["0.05", "0.1", "0.15", "0.2"]


def test_json_holds_everything(run, small):
    ran = run(SMALL + " --format json")
    assert ran.out == as_json(small)
    values = json.loads(ran.out)
    assert list(values) == [
        *("assumed", "arms", "sets", "rewards", "measure", "wanted", "threshold", "precision"),
        *("target", "rules", "stop", "workers", "relaxed", "looked_at", "seed", "notes"),
    ]
    assert values["target"] == {"of": "error", "value": 0.05}
    auto, robin = values["rules"]
    assert (auto["rule"], robin["rule"]) == ("auto", "round-robin")
    assert auto["low"] <= auto["predicted"] <= auto["high"]
    assert auto["pulls_per_arm"] == auto["budget"] / 4
    assert robin["games"] == 0
    assert auto["curve"][0]["budget"] == 4
    assert values["stop"]["mean"] == small.stop.mean
    assert [row["precision"] for row in values["relaxed"]] == pytest.approx([0.05, 0.15, 0.2])
    assert values["workers"] is None


def test_a_share_and_wrong_arms(run):
    ran = run(
        "plan --arms 8 --share 0.25 --spread 3 --at-least 0.5 --precision 0.1 --wrong-arms 1 "
        "--no-relax"
    )
    assert ran.code == 0
    assert "8 arms, about 25 % above 0.5;" in ran.out
    assert "normal in log-odds with sd 3, half of them below 0.12 (16 draws of all" in ran.out
    assert "Target:  1 arm on the wrong side on average" in ran.out
    assert "predicted wrong arms" in ran.out
    assert "one draw in ten\ntakes less than" in ran.out
    assert "if the precision is" not in ran.out


def test_past_rates_and_workers(run, tmp_path):
    (tmp_path / "past.csv").write_text("arm,rate\na,0.1\nb,0.3\nc,0.7\nd,0.9\n")
    same = run("plan --like past.csv --threshold 0.5 --precision 0.1 --no-relax --workers 64")
    assert same.code == 0
    assert "4 arms as in the past, means 0.1 to 0.9" in same.out
    assert "With 64 pulls in flight the same budget gives an error of" in same.out
    drawn = run("plan --like past.csv --arms 8 --threshold 0.5 --precision 0.1 --format json")
    assert json.loads(drawn.out)["assumed"] == "8 arms like 4 past ones, means 0.1 to 0.9"


def test_without_precision_there_is_no_stop_and_nothing_to_relax(run):
    ran = run("plan --means 0.1,0.3,0.7,0.9 --threshold 0.5")
    assert "To see the spend when stopping at a confidence, give a precision." in ran.out
    assert "if the precision is" not in ran.out


def test_a_budget_out_of_reach_is_more_than(run):
    ran = run("plan --means 0.499,0.9 --threshold 0.5 --most 500")
    assert ran.code == 0
    assert "more than 500" in ran.out
    assert "more than 50,000" in ran.out


def test_a_picture(run, tmp_path, small):
    assert run(SMALL + " --no-relax --plot plan.png").code == 0
    data = (tmp_path / "plan.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert (width, height) == (1080, 660)
    shown = picture(small)
    assert shown.needed == (small.default.budget, small.uniform.budget)
    assert shown.y[0] < shown.target < shown.y[1]
    assert all(shown.x[0] < budget < shown.x[1] for budget in shown.needed)
    assert shown.others[0][1] == small.stop.mean


def test_a_report_is_plain(small):
    assert json.loads(json.dumps(report(small))) == report(small)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("plan --threshold 0.5", "say which arms: give one of --means, --like and --share"),
        ("plan --means 0.1 --share 0.2 --arms 3 --threshold 0.5", "give one of --means, --like"),
        ("plan --means 0.1,0.2", "give the bar with one of --at-least"),
        ("plan --share 0.1 --threshold 0.5", "--share needs --arms"),
        ("plan --share 0.1 --arms 2 --threshold 0.5,0.6", "one bar for all arms"),
        ("plan --share 1.1 --arms 2 --threshold 0.5", "share must lie between 0 and 1"),
        ("plan --share 0.1 --arms 0 --threshold 0.5", "arms must be a whole number, at least 1"),
        ("plan --means 0.1 --arms 3 --threshold 0.5", "--means says how many"),
        ("plan --means 0.1 --spread 3 --threshold 0.5", "--spread goes with --share"),
        ("plan --means 0.1,x --threshold 0.5", "--means takes numbers with commas"),
        ("plan --means 0.1 --threshold 50", "--threshold is a rate, from 0 to 1"),
        ("plan --means 0.1 --threshold 0.5 --precision=-1", "precision must be 0 or more"),
        ("plan --means 0.5 --threshold 0.5", "no budget tells its side; give a precision"),
        ("plan --means 0.1 --threshold 0.5 --error 0.1 --wrong-arms 1", "give one of the two"),
        ("plan --means 0.1 --threshold 0.5 --confidence 0.9", "the precision must be above 0"),
        (
            "plan --means 0,0.1 --at-most 0 --confidence 0.9",
            "--at-most 0 has no --confidence to stop at: no number of trials proves",
        ),
        ("plan --means 0.1 --threshold 0.5 --workers 0", "Invalid value for '--workers': 0"),
        ("plan --means 0.1 --threshold 0.5 --sd 2", "sd is for gaussian rewards"),
        ("plan --means 0.1 --threshold 0.5 --rewards gaussian", "gaussian rewards need --sd"),
        ("plan --like none.csv --threshold 0.5", "none.csv cannot be read: No such file"),
        ("plan --means 0.1 --threshold 0.5 --plot x.txt", "what kind of picture"),
        ("plan --means 0.1 --threshold 0.5 --plot no/x.png", "there is no folder no"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(run, words, said):
    ran = run(words)
    assert ran.code == 2
    assert ran.out == ""
    assert said in ran.err
    assert ran.err.startswith("cutline: ")
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("bar", "end", "near"), [("--at-least", "1", "0.995"), ("--at-most", "0", "0.005")]
)
def test_a_bar_that_cannot_be_proven_is_told_what_to_ask(run, bar, end, near):
    """It said "give a precision", which is refused there."""
    told = run(f"plan --means 0.1,0.2 {bar} {end} --error 0.2").out
    assert f"proves a rate of exactly {end}." in told
    assert f"such as {near} with a precision of 0.005." in told
    assert run(f"plan --means 0.1,0.2 {bar} {near} --precision 0.005 --error 0.2").code == 0


def test_help_shows_the_examples(run):
    ran = run("plan --help")
    assert ran.code == 0
    assert "cutline plan --arms 200 --share 0.1 --at-most 0.01" in ran.out
