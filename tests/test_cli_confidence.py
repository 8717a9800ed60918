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
    assert "lower bound on the mean pulls of any algorithm: 186.6" in table
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
    normal += ("--arms", "gaussian", "--confidence", "0.9", "--games", "50", "--rules", "apt")
    known = run(*normal, "--known-noise", "--format", "json").output
    unknown = run(*normal, "--format", "json").output
    assert json.loads(known)[0]["mean_pulls"] < json.loads(unknown)[0]["mean_pulls"]
    wild = ("simulate", "--means", "0,2", "--threshold", "1", "--precision", "0.5", "--games", "20")
    wild += ("--arms", "student-t", "--confidence", "0.9", "--rules", "apt")
    assert json.loads(run(*wild, "--variance", "5", "--format", "json").output)[0]["games"] == 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--confidence", "0.95", "--precision", "0"), "precision must be above 0"),
        (("--confidence", "2"), "confidence"),
        (("--confidence", "0.95", "--rules", "csar"), "must know the budget"),
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
