"""Numbers that no option can mean: one sentence and exit code 2, in every command."""

import json
import shlex
import sys

import click
import pytest

from cutline import Problem
from cutline.campaign import Campaign, identify
from cutline.cli.main import cli, main

NO_NUMBERS = ("nan", "inf", "-inf", "1e400", "9" * 400, "9" * 5000, "", "x")
# A line that works for each command, or fails for its folder once all numbers have been looked at.
LINES = {
    "run": "--arms a,b --precision 0.1 --store memory",
    "simulate": "--rules apt",
    "plan": "--no-relax",
    "theory": "--games 0",
    "show": "",
    "paper": "--out file/x",
    "examples": "--out file/x",
    "demo": "--out file/x",
    "tournament": "--quick --only none",
}
NEEDS = {
    "at_least": "",
    "at_most": "",
    "sd": "--reward stdout --rewards gaussian",
    "variance": "--reward stdout --rewards heavy",
    "span": "--reward stdout --rewards bounded",
    "timeout_counts": "--timeout 1",
    "share": "--arms 3",
    "spread": "--arms 3 --share 0.5",
}
LISTS = ("means", "sd", "level", "threshold", "at_least", "at_most", "precision", "budget", "span")


def number_options():
    """Every option of every command that takes a number, or several."""
    for name, command in cli.commands.items():
        for option in command.params:
            if not isinstance(option, click.Option) or option.is_flag:
                continue
            number = isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
            if number or (
                option.name in LISTS and isinstance(option.type, click.types.StringParamType)
            ):
                yield pytest.param(name, option.name, option.opts[0], id=f"{name} {option.opts[0]}")


def line_of(command, name):
    """A line to which the option can be added."""
    words = LINES[command]
    if command == "run":
        words += "" if name in ("at_least", "at_most", "threshold") else " --at-least 0.5"
        words += "" if name == "budget" else " --budget 3"
        words += f" {NEEDS.get(name, '')}"
    if command in ("simulate", "theory"):
        words += "" if name == "means" else " --means 0.2,0.8"
        words += "" if name in ("at_least", "at_most", "threshold") else " --threshold 0.5"
        words += " --arms gaussian" if name == "sd" else ""
    if command == "plan":
        share = name in ("share", "spread", "arms")
        words += " --at-most 0.5" if name != "at_most" else ""
        words = words.replace(" --at-most 0.5", "") if name in ("at_least", "threshold") else words
        words += f" {NEEDS.get(name, '')}" if share else ""
        words += " --share 0.5" if name == "arms" else ""
        words += "" if share or name == "means" else " --means 0.2,0.8"
        words += " --rewards gaussian" if name == "sd" else ""
    return words


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUTLINE_STORE", raising=False)
    (tmp_path / "file").touch()
    problem = Problem(arms=["a", "b"], threshold=0.5, precision=0.1, rewards="binary")
    about = {"command": "x"}
    with Campaign(problem, budget=9, store="cutline.db", about=about) as campaign:
        campaign.attach("a", [1] * 9, unpicked=True)
    return tmp_path


@pytest.fixture
def run(monkeypatch, capsys, folder):
    def run(words):
        monkeypatch.setattr(sys, "argv", ["cutline", *shlex.split(words)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.mark.parametrize(("command", "name", "option"), list(number_options()))
def test_what_is_no_number_is_one_sentence(run, command, name, option):
    for value in NO_NUMBERS:
        words = f"{command} {line_of(command, name)} {option}={shlex.quote(value)}"
        code, out, err = run(words + (" -- true" if command == "run" else ""))
        assert (code, out) == (2, ""), words
        assert err.startswith("cutline: "), err
        assert err.count("\n") == 1, err
        assert len(err) < 1_100


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("run --arms a,b --at-least 0.5 --budget 3 --lease 1e18 -- true", "at most 1e+09"),
        ("run --arms a,b --at-least 0.5 --budget 3 --timeout 1e300 -- true", "at most 1e+09"),
        ("run --arms a,b --at-most 1e-17 --budget 3 -- true", "cannot be told from 0"),
        ("plan --means 0.1,0.9 --at-least 0.5 --error 1e-320", "at least 1e-09"),
        ("plan --means 0.1,0.9 --at-least 0.5 --workers 100001", "--workers"),
        ("simulate --means 0.1,0.9 --threshold 0.5 --threads 9999", "at most 1,024"),
        ("simulate --means 0.1,0.9 --threshold 0.5 --budget 9999999999999999", "up to"),
        ("simulate --means 1e101,2 --arms gaussian --sd 1 --threshold 0.5", "at most 1e+100"),
        ("theory --means 0.1,0.9 --threshold 0.5 --games 0 --budget 9223372036854775808", "up to"),
    ],
)
def test_what_is_too_large_is_refused_and_not_clamped(run, words, says):
    code, out, err = run(words)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_no_number_is_shown_as_less_than_nothing(run):
    assert "-0" not in run("show --precision=-0.0")[1]
    assert "-0.0" not in run("show --precision=-0.0 --format json")[1]
    words = "run --arms a,b --threshold=-0.0 --precision=-0.0 --budget 3 --store memory"
    code, out, _ = run(f"{words} --reward stdout --rewards gaussian --format json -- echo 1")
    assert code == 3
    assert json.loads(out)["bar"] == "mean against 0"
    assert "-0.0" not in out.replace("e-0", "")


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e18, 10**400, "5", True])
def test_seconds_in_python(seconds):
    problem = Problem(arms=["a"], threshold=0.5, rewards="binary")
    with pytest.raises(ValueError, match="is a number of seconds above 0 and at most"):
        Campaign(problem, budget=3, lease=seconds)
    with pytest.raises(ValueError, match="is a number of seconds above 0 and at most"):
        identify(lambda arm: 1, ["a"], threshold=0.5, rewards="binary", budget=3, timeout=seconds)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("s.toml", "means = " + "[" * 20_000, "simulate s.toml --threshold 0.5"),
        ("s.toml", "means = 1" + "0" * 5000, "simulate s.toml --threshold 0.5"),
        ("s.toml", 'means = "\x00"', "simulate s.toml --threshold 0.5"),
        ("d.csv", 'arm,reward\na,"1', "simulate --data d.csv --threshold 0.5"),
        ("d.csv", "x" * 140_000 + "\n", "simulate --data d.csv --threshold 0.5"),
        ("d.csv", 'arm,rate\na,"1', "plan --like d.csv --at-least 0.5"),
        ("d.csv", "x" * 140_000 + "\n", "plan --like d.csv --at-least 0.5"),
        ("d.csv", "arm,rate\na,nan\n", "plan --like d.csv --at-least 0.5"),
        ("problems.toml", "x = " + "[" * 20_000, "tournament --data ."),
    ],
)
def test_files_that_cannot_be_read_are_one_sentence(run, folder, name, text, words):
    (folder / name).write_text(text)
    code, out, err = run(words)
    assert (code, out) == (2, "")
    assert err.startswith("cutline: ")
    assert err.count("\n") == 1
