"""cutline simulate with a confidence to stop at, and with pulls in flight."""

import json

import pytest
from click.testing import CliRunner

from cutline.cli.main import cli

THREE = ["simulate", "--experiment", "three-groups", "--games", "200", "--seed", "1"]


def run(*words):
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


def test_stopping_times_as_a_table_and_as_json():
    table = run(*THREE, "--rules", "auto", "--confidence", "0.95").output
    assert table.splitlines()[0].split()[:3] == ["rule", "games", "mean"]
    assert "lower bound on the mean pulls, for a confidence near 1: 186.6" in table
    assert "times what proving every arm apart takes" in table
    (row,) = json.loads(
        run(*THREE, "--rules", "auto", "--confidence", "0.95", "--format", "json").output
    )
    assert row["rule"] == "auto"
    assert row["settled_games"] == 200
    assert 400 < row["mean_pulls"] < 500
    assert row["median_pulls"] <= row["pulls_of_90_percent"]
    assert row["lower_bound"] == pytest.approx(186.6, abs=0.1)


def test_stopping_times_are_drawn(tmp_path):
    path = tmp_path / "stops.svg"
    run(*THREE, "--rules", "auto", "--confidence", "0.95", "--plot", str(path))
    assert "share of games still going" in path.read_text()


def test_a_budget_ends_games_that_are_not_settled():
    words = ("--rules", "auto", "--confidence", "0.95", "--budget", "300", "--format", "json")
    (row,) = json.loads(run(*THREE, *words).output)
    assert row["settled_games"] < 200
    assert row["pulls_of_90_percent"] == 300
    assert row["mean_open_arms"] > 0
    assert row["mean_open_arms"] == pytest.approx(sum(row["open_arms"].values()))
    table = run(*THREE, *words[:-2]).output
    named = table[table.index("arms left undecided") :]
    assert "3 (" in named or "4 (" in named or "5 (" in named  # those next to the bar


def test_what_has_no_number_is_null_and_csv_holds_no_lists():
    sharp = ("simulate", "--means", "0.5,0.9", "--threshold", "0.5", "--budget", "100")
    sharp += ("--confidence", "0.95", "--games", "1", "--rules", "auto", "--format")
    (row,) = json.loads(run(*sharp, "json").output)
    assert row["standard_error"] is None
    assert row["lower_bound"] is None
    head, line = run(*sharp, "csv").output.splitlines()
    assert "mean_pulls_to_find" not in head
    assert len(head.split(",")) == len(line.split(","))


def test_pulls_in_flight_and_other_evidence():
    words = ("--rules", "apt", "--budget", "200", "--format", "json")
    alone, many = (
        json.loads(run(*THREE, *words, "--in-flight", n, "--delay", "random").output)[0]
        for n in ("1", "64")
    )
    assert many["wrong_games"] > alone["wrong_games"]
    loose, tight = (
        json.loads(run(*THREE, *words, "--confidence", "0.9", "--evidence", name).output)[0]
        for name in ("hoeffding", "beta-mixture")
    )
    assert loose["mean_open_arms"] > tight["mean_open_arms"]


def test_what_rules_and_evidence_are_told_of_the_noise():
    normal = ("simulate", "--means", "0,1,2", "--threshold", "0.5", "--precision", "0.2")
    normal += ("--arms", "gaussian", "--confidence", "0.9", "--games", "50", "--rules", "auto")
    known = run(*normal, "--known-noise", "--format", "json").output
    unknown = run(*normal, "--format", "json").output
    assert json.loads(known)[0]["mean_pulls"] < json.loads(unknown)[0]["mean_pulls"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--confidence", "0.95", "--precision", "0"), "precision must be above 0"),
        (("--confidence", "2"), "confidence"),
        (("--confidence", "0.95", "--rules", "csar"), "does not leave settled arms alone"),
        (("--confidence", "0.95", "--budget", "100,200"), "take one budget"),
        (("--evidence", "hoeffding"), "goes with --confidence"),
        (("--confidence", "0.95", "--goal", "best-arm", "--budget", "99"), "about the sides"),
        (("--known-noise", "--variance", "2"), "--variance for heavy tails"),
        (("--confidence", "0.95", "--evidence", "magic"), "unknown evidence 'magic'"),
        (("--in-flight", "0"), "in_flight must be a whole number"),
        (("--known-noise",), "--known-noise is for gaussian arms"),
        (("--variance", "2"), "variance is for heavy rewards"),
    ],
)
def test_bad_input_gets_one_sentence(words, message):
    told = run(*THREE, *words)
    assert told.exit_code == 2
    assert message in told.output
