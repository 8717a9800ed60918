"""cutline run: trials that are commands, kept, resumed, stopped, watched."""

import contextlib
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from cutline.campaign import Campaign, audit
from cutline.campaign.runner.lookout import POOL, Lookout
from cutline.cli import main
from cutline.cli.run.arms import read_arms
from cutline.cli.run.axis import scale, strip
from cutline.cli.run.screen import Lines, Screen, view_for
from cutline.cli.run.trial import Outcome, Trial, codes
from cutline.cli.run.watch import Watch
from cutline.core.bar import Bar
from cutline.core.problem import Problem
from cutline.core.rewards import Rewards

# The arm is the exit code.
EXIT = ["sh", "-c", 'exit "$1"', "sh", "{arm}"]
# The same, but the arm 00 passes only about two times of three.
SLOWER = '[ $1 = 00 ] && case $CUTLINE_PULL in *[147]) exit 1;; esac; exit "$1"'
SURE = "--at-least 0.5 --precision 0.3 --confidence 0.95"  # a few pulls settle an arm


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def arms(self):
        return {arm["arm"]: arm for arm in self.json["arms"]}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `cutline run` in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(words, command=EXIT):
        monkeypatch.setattr(sys, "argv", ["cutline", "run", *shlex.split(words), "--", *command])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run


@pytest.fixture
def start():
    """Start `cutline run` as a process of its own; none outlives the test."""
    started = []

    def start(folder, words, command, **more):
        argv = [sys.executable, "-m", "cutline", "run", *shlex.split(words), "--", *command]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(argv, cwd=folder, **pipes, **more))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_for(what, seconds=30.0):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.02)


def alive(pid):
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# What an outcome means.


@pytest.mark.parametrize(
    ("script", "zero_on", "reward", "how"),
    [
        ("exit 0", "", 1.0, "exit code 0"),
        ("exit 1", "", 0.0, "exit code 1"),
        *((f"exit {code}", "", None, f"exit code {code}") for code in (2, 3, 5, 77, 126, 127, 255)),
        ("kill -9 $$", "", None, "ended by SIGKILL"),
        ("kill -SEGV $$", "", None, "ended by SIGSEGV"),
        ("exit 2", "2,3", 0.0, "exit code 2"),
        ("exit 4", "2,3", None, "exit code 4"),
        ("kill -SEGV $$", "3,SIGSEGV", 0.0, "ended by SIGSEGV"),
        ("kill -9 $$", "9", None, "ended by SIGKILL"),  # 9 is a code, not the signal
    ],
)
def test_the_exit_code_is_the_reward_or_the_pull_has_failed(run, script, zero_on, reward, how):
    zero = ["--zero-on", zero_on] if zero_on else []
    words = shlex.join(["--arms", "a", "--at-least", "0.5", "--budget", "1", *zero])
    ran = run(f"{words} --check --format json", ["sh", "-c", script])
    assert (ran.json["reward"], ran.json["outcome"].partition(",")[0]) == (reward, how)
    assert ran.code == (2 if reward is None else 0)
    ran = run(f"{words} --store memory --workers 1 --format json", ["sh", "-c", script])
    if reward is None:  # nothing ever works
        assert (ran.code, ran.out) == (2, "")
        assert (
            f"no trial has succeeded: all 10 so far failed, the last one of arm 'a' with: {how}"
            in (ran.err)
        )
        return
    assert (ran.arms["a"]["pulls"], ran.arms["a"]["mean"], ran.code) == (1, reward, 3)


@pytest.mark.parametrize(
    ("printed", "reward"),
    [
        ("0.25", 0.25),
        ("seed 3\nscore: 0.5 points\n", 0.5),
        ("score=1e-1", 0.1),
        ("[0.2, .75]", 0.75),
        ("accuracy 1.", 1.0),
        ("12,0.75", 0.75),
        ("took 0.97s, 12.5ms, 1,000 steps", None),  # not numbers by themselves
        ("0.5 then v2beta a1 x_3", 0.5),  # parts of words are not numbers
        ("", None),
        ("nothing", None),
        ("0.5 and nan", None),
        ("0.5 -inf", None),
        ("0.5 -0.5", None),  # out of range
        ("93", None),
        # What is no plain number is not guessed at.
        *((text, None) for text in ("7/10", "7 / 10", "7 of 10", "7 out of 10", "50%", "50 %")),
        *(
            (text, None)
            for text in ("1,000", "0,9", "0.7-0.8", "0.5±0.1", "0.5 +/- 0.1", "\u22120.5")
        ),
        *((text, None) for text in ("0.5 or 7/10", "0.5 at 50%", "1\u00a0000", "1 000", "[0,1]")),
        # Words, dates, times and versions are no numbers.
        ("0.5 on 2026-11-18 at 12:30:01", 0.5),
        ("0.5\n[2026-11-18T12:00:00Z] done 18/11/2026", 0.5),
        ("0.5 by 1.2.3, v2, gpt-4, 0x1F, /tmp/7/10", 0.5),
        ("\x1b[32m0.5\x1b[0m", 0.5),
        ('{"seed": 7, "score":0.5}', 0.5),
        ("a:1;b:0.5.", 0.5),
    ],
)
def test_the_last_number_printed_is_the_reward(printed, reward):
    trial = Trial(("x",), Rewards("bounded"), reads=True)
    assert trial.meaning(0, printed)[0] == reward
    assert trial.meaning(1, printed)[0] is None  # it has failed, whatever it printed


def test_a_number_that_is_not_plain_fails_the_pull_and_says_why(run):
    words = "--arms a --at-least 0.5 --budget 5 --reward stdout --rewards bounded --check"
    ran = run(words, ["echo", "score: 7/10"])
    assert ran.code == 2
    assert "printed 7/10 last, which is no plain number" in ran.out


def test_rewards_are_read_from_standard_output_alone(run):
    words = "--arms 2,9 --threshold 5 --budget 8 --reward stdout --rewards poisson --store memory"
    command = ["sh", "-c", "echo lines 100; echo took $1 ms; echo 77 >&2", "sh", "{arm}"]
    ran = run(f"{words} --format json", command)
    assert {name: arm["mean"] for name, arm in ran.arms.items()} == {"2": 2.0, "9": 9.0}
    assert ran.json["spent"] == 8
    ran = run(words, ["echo", "2.5"])
    assert ran.code == 2
    assert "a poisson reward is a whole number, got 2.5" in ran.err


def test_signals_and_codes_that_count_as_zero():
    assert codes("") == frozenset()
    assert codes("2, 3,SIGSEGV") == {2, 3, -signal.SIGSEGV}
    for bad in ("0", "256", "-1", "x", "SIGNOT"):
        with pytest.raises(ValueError, match="--zero-on takes exit codes from 1 to 255"):
            codes(bad)


def test_a_note_says_how_a_trial_failed(run):
    run("--arms 1,7 --at-least 0.5 --budget 2 --workers 1", [*EXIT[:2], 'echo "oh $1" >&2; exit $1',
        "sh", "{arm}"])  # fmt: skip
    campaign = Campaign.open("cutline.db", "main")
    with campaign.store.begin("main", "look") as t:
        notes = {(pull.arm, pull.note) for pull in t.since(0)}
    assert notes == {(0, "exit code 1: oh 1"), (1, "exit code 7: oh 7")}
    assert Outcome(1.0, "exit code 0", "fine").note is None
    assert len(Outcome(None, "exit code 2", "x" * 5000).note) == 200


# What a command is given.


def test_places_are_filled_in_and_set_as_variables(run, tmp_path):
    (tmp_path / "arms.csv").write_text('name,file,max tokens\nfirst,"a b.txt",7\nsecond,c.txt,8\n')
    script = (
        'echo "$1|$2|$3|$4|$CUTLINE_ARM|$CUTLINE_ARM_FILE|$CUTLINE_ARM_MAX_TOKENS|$CUTLINE_PULL|'
        '$CUTLINE_SEED" >> seen'
    )
    command = ["sh", "-c", script, "sh", "<{arm}>", "{arm.file}:{arm.max tokens}", "{pull}{}"]
    ran = run("--arms arms.csv --threshold 0.5 --budget 6 --workers 1", [*command, "{seed}"])
    assert ran.code == 3
    seen = [line.split("|") for line in Path("seen").read_text().splitlines()]
    assert {tuple(line[:2]) for line in seen} == {
        ("<first>", "a b.txt:7"),
        ("<second>", "c.txt:8"),
    }
    for one, two, three, four, *variables in seen:
        assert variables == [one[1:-1], *two.split(":"), three[:-2], four]
    first = [line for line in seen if line[4] == "first"]
    assert [line[7] for line in first] == [str(number) for number in range(len(first))]
    seeds = [line[8] for line in seen]
    assert len(set(seeds)) == 6
    Path("seen").unlink()
    again = "--arms arms.csv --threshold 0.5 --budget 6 --workers 1 --name again"
    run(again, [*command, "{seed}"])
    assert [line.split("|")[8] for line in Path("seen").read_text().splitlines()] == seeds
    Path("seen").unlink()
    run(f"{again} --name other --seed 1", [*command, "{seed}"])
    assert seeds[0] not in Path("seen").read_text()


def test_there_is_no_shell(run, tmp_path):
    (tmp_path / "x").touch()
    arms = ["; rm x", "$(rm x)", "`rm x`", "a && rm x", "-rf", "*", "two words"]
    (tmp_path / "arms.txt").write_text("\n".join(arms) + "\n\n")
    command = [
        sys.executable,
        "-c",
        "import sys; open('got', 'a').write(repr(sys.argv[1:]) + '\\n')",
    ]
    ran = run("--arms arms.txt --at-least 0.5 --budget 7 --workers 1", [*command, "{arm}"])
    assert ran.code == 3
    got = Path("got").read_text().splitlines()
    assert sorted(got) == sorted(repr([arm]) for arm in arms)
    assert Path("x").exists()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", "x y\n\n  b \r\nc#1\n", {"x y": {}, "b": {}, "c#1": {}}),
        ("a.csv", "arm,n\na,1\nb,\n", {"a": {"arm": "a", "n": "1"}, "b": {"arm": "b", "n": ""}}),
        ("a.csv", "n,name\n1,a\n", {"a": {"n": "1", "name": "a"}}),
        ("a.csv", '\ufeffid,q\n"a,b","l1\nl2"\n', {"a,b": {"id": "a,b", "q": "l1\nl2"}}),
        ("a.tsv", "arm\tn\na b\t1\n", {"a b": {"arm": "a b", "n": "1"}}),
        ("a.jsonl", '"a"\n3\n\n', {"a": {}, "3": {}}),
        ("a.json", '["a", 3,\n "c d"]', {"a": {}, "3": {}, "c d": {}}),
        ("a.json", '[{"arm": "a", "n": 1}]', {"a": {"arm": "a", "n": "1"}}),
        ("a.txt", '["a", "b"]', {"a": {}, "b": {}}),
        ("a.txt", "[a]\n[b]\n", {"[a]": {}, "[b]": {}}),  # no JSON
        ("a.txt", '{"arm": "a", "n": 1}\n', {"a": {"arm": "a", "n": "1"}}),
        ("a.txt", "# tests\na\n  #b\n", {"a": {}}),
        ("a.csv", "arm\n#a\n", {"#a": {"arm": "#a"}}),
        ("a.txt", "a\u2028b\x0bc\n", {"a\u2028b\x0bc": {}}),
        (
            "a.jsonl",
            '{"q": "line\u2028sep", "arm": "a", "n": 1.5, "on": true, "no": null, "l": [1]}\n',
            {
                "a": {
                    "q": "line\u2028sep",
                    "arm": "a",
                    "n": "1.5",
                    "on": "true",
                    "no": "",
                    "l": "[1]",
                }
            },
        ),
    ],
)
def test_arms_from_files(tmp_path, monkeypatch, name, text, expected):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(text.encode())
    assert {arm.name: dict(arm.fields) for arm in read_arms(name)} == expected


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.txt", "\n \n", "there are no arms in a.txt"),
        ("a.csv", "", "there are no arms in a.csv"),
        ("a.csv", "arm,n\na,1,2\n", "a.csv, line 2: 2 columns are wanted"),
        ("a.csv", "arm,n\na\n", "a.csv, line 2: 2 columns are wanted"),
        ("a.csv", "arm,n\n,1\n", "an arm without a name in a.csv"),
        ("a.jsonl", '"a"\n{"arm": \n', "a.jsonl, line 2: not JSON"),
        ("a.jsonl", "[1]\n", "a.jsonl, line 1: a text or an object is wanted"),
        ("a.jsonl", "[" * 200_000 + "\n", "line 1: brackets within brackets, too deep"),
        ("a.jsonl", '{"arm": "a", "n": 1, "n": 2}', "line 1: the field 'n' is there twice"),
        ("a.jsonl", '{"arm": ' + "9" * 5000 + "}", "a.jsonl, line 1: Exceeds the limit"),
        ("a.json", "[" * 200_000, "brackets within brackets, too deep"),
        ("a.json", '{"a": 1}', "a.json: a list of texts or objects is wanted, got an object"),
        ("a.json", '"a"\n"b"\n', "a.json, line 2: not JSON"),
        ("a.json", "[true]", "a.json, entry 1: a text or an object is wanted, got true or false"),
        ("a.json", "[]", "there are no arms in a.json"),
        ("a.csv", 'arm,n\na,"1\n', "a.csv: a quote is opened and not closed"),
        ("a.csv", '"arm,n\na,1\n', "a quote is opened and not closed"),
        ("a.csv", "x" * 131_073 + "\na\n", "a.csv: a cell has more than 131,072 characters"),
        ("a.csv", "arm,n,n\na,1,2\n", "a.csv, line 1: there are two columns 'n'"),
        ("a.csv", "arm;n\na;1\n", "are not separated by the commas"),
        ("a.yaml", "- a\n- b\n", "arms are not read from .yaml files such as a.yaml"),
        ("a.txt", "# a\n#b\n", "there are no arms in a.txt"),
        ("a.txt", "a\0b\n", "holds a zero byte"),
        ("a.txt", b"\xff\xfe", "not a text file in UTF-8"),
        ("missing.txt", None, "there is no file missing.txt"),
        ("missing.json", None, "there is no file missing.json"),
        ("missing.yml", None, "there is no file missing.yml"),
        ("tests/missing", None, "there is no file tests/missing"),
        ("./missing", None, "there is no file ./missing"),
        ("'~/missing'", None, "there is no file ~/missing"),
        (".", None, "is a folder"),
        ("'t[1,2]'", None, "'t[1' has a bracket that is closed in another"),
        ("a,,b", None, "an arm without a name in --arms"),
        ("a,b,a", None, "seen twice: a"),
    ],
)
def test_arms_that_cannot_be(run, name, text, says):
    if text is not None:
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    ran = run(f"--arms {name} --at-least 0.5 --budget 5")
    assert ran.code == 2
    assert says in ran.err
    assert not Path("cutline.db").exists()


@pytest.mark.parametrize(
    ("words", "command", "says"),
    [
        ("--arms login", EXIT, "note: one arm, 'login': there is no file of that name\n"),
        ("--arms c.txt", EXIT, "note: 2 lines that begin with # in c.txt skipped; CSV and JSON"),
        ("--arms j.txt", EXIT, "note: j.txt is read as a JSON list, 2 arms\n"),
        ("--arms h.csv", EXIT, "note: arms are named by the first column of h.csv, 'login';"),
        ("--arms a,b", ["true", "{arm}", "{file}", "a{x.y}b", "{pull}"], "note: {file}, {x.y} in"),
    ],
)
def test_what_may_have_been_meant_otherwise_is_said(run, words, command, says):
    Path("c.txt").write_text("# one\n0\n#two\n1\n")
    Path("j.txt").write_text('["0", "1"]')
    Path("h.csv").write_text("login\n0\n1\n")
    ran = run(f"{words} --at-least 0.5 --budget 4 --store memory", command)
    assert says in ran.err
    assert ran.code in (1, 2, 3, 4)


@pytest.mark.parametrize("text", ["{}", "${HOME}", "{{arm}}", "{1,2}", "{ x }", "awk {print}"])
def test_braces_of_other_languages_are_no_places(text):
    trial = Trial(("x", "{arm}", "{arm.f}", "{seed}", text), Rewards("binary"))
    assert trial.unknown_places() == (["{print}"] if "print" in text else [])


def test_arms_from_standard_input(start, tmp_path):
    words = f"--arms - {SURE} --store memory --format json"
    process = start(tmp_path, words, EXIT, stdin=subprocess.PIPE)
    out, err = process.communicate("0\n1\n", timeout=60)
    assert process.returncode == 1, err
    assert [arm["verdict"] for arm in json.loads(out)["arms"]] == [
        "clears the bar",
        "fails the bar",
    ]


@pytest.mark.parametrize(
    ("words", "command", "says"),
    [
        ("--arms a,b --budget 5", ["true"], "one of --at-least, --at-most and --threshold"),
        ("--arms a,b --at-least 1 --at-most 0.1 --budget 5", ["true"], "two ways to give one bar"),
        ("--arms a,b --at-least 95 --budget 5", ["true"], "--at-least is a rate, from 0 to 1"),
        ("--arms a,b --at-least 0.9", ["true"], "give a budget, a confidence to stop at, or both"),
        ("--arms a,b --at-least 0.9 --budget 0", ["true"], "budget must be 1 or more"),
        ("--arms a,b --at-least 0.9 --budget 5 --rule csar", ["true"], "cannot be used live"),
        (
            "--arms a,b --at-least 0.9 --budget 5 --rewards poisson",
            ["true"],
            "need --reward stdout",
        ),
        ("--arms a,b --at-least 0.9 --budget 5 --reward stdout", ["true"], "needs --rewards"),
        ("--arms a,b --at-least 0.9 --budget 5 --timeout 0", ["true"], "--timeout is a number of"),
        ("--arms a,b --at-least 0.9 --budget 5 --timeout-counts 0", ["true"], "needs --timeout"),
        (
            "--arms a,b --at-least 0.9 --budget 5 --timeout 1 --timeout-counts 2",
            ["true"],
            "a binary reward is 0 or 1",
        ),
        ("--arms a,b --at-least 0.9 --budget 5", ["./no-such"], "there is no command './no-such'"),
        ("--arms a,b --at-least 0.9 --budget 5", ["true", "{arm.x}"], "asks for {arm.x}"),
        (
            "--arms a,b --at-least 0.9 --budget 5 --store no/where.db",
            ["true"],
            "there is no folder",
        ),
        ("--arms a,b --at-least 0.9 --budget 5 --lease 0", ["true"], "a lease is a number"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(run, words, command, says):
    ran = run(words, command)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert not Path("cutline.db").exists()


def test_the_command_may_follow_without_dashes(run):
    ran = run(f"--arms 0 {SURE} --store memory sh -c 'exit $1' sh {{arm}}", [])
    assert ran.code == 0


def test_a_command_that_goes_missing_fails_the_pull(run, tmp_path):
    good = tmp_path / "good"
    good.write_text("#!/bin/sh\nexit 0\n")
    good.chmod(0o755)
    (tmp_path / "unable").write_text("no program\n")
    ran = run(f"--arms good,gone,unable {SURE} --workers 2 --store memory", ["./{arm}"])
    assert ran.code == 4
    assert "1 clears the bar" in ran.out
    assert "2 suspended" in ran.out
    assert "'./gone' could not be started: No such file or directory" in ran.out
    assert "'./unable' could not be started: Permission denied" in ran.out


# The bar, and the exit code.


@pytest.mark.parametrize(
    ("words", "code", "ending"),
    [
        ("--arms 0,00 --at-least 0.5", 0, "every arm is proven to be where it should be"),
        ("--arms 0,1 --at-least 0.5", 1, "some arm is proven to fail the bar"),
        ("--arms 0,1 --at-most 0.5", 1, "some arm is proven to fail the bar"),
        ("--arms 0,00 --at-most 0.5", 0, "every arm is proven to be where it should be"),
        ("--arms 0,1 --threshold 0.5", 0, "the side of every arm is proven"),
        ("--arms 0,2 --at-least 0.5", 4, "some arm was suspended, its trials giving no reward"),
        ("--arms 0,1,2 --at-least 0.5", 1, "some arm is proven to fail the bar"),
        ("--arms 0,1,2 --threshold 0.5", 4, "some arm was suspended, its trials giving no reward"),
    ],
)
def test_the_exit_code_says_how_it_ended(run, words, code, ending):
    ran = run(f"{words} --precision 0.3 --confidence 0.95 --store memory")
    assert ran.code == code
    assert ran.out.splitlines()[-1] == f"exit code {code}: {ending}"


def test_undecided_arms_have_a_code_and_a_way_on(run):
    ran = run("--arms 0,00 --at-least 0.5 --budget 6")
    assert ran.code == 3
    assert "2 undecided" in ran.out
    assert "start again with more than --budget 6 to go on" in ran.err


def test_within_the_precision_either_answer_is_right(run):
    """Half of the trials pass: proven within 0.5 ± 0.45, on whatever side of 0.5 the mean is."""
    ran = run(
        "--arms a --at-least 0.5 --precision 0.45 --budget 60 --store memory --workers 1",
        ["sh", "-c", "exit $(($CUTLINE_PULL % 2))"],
    )
    assert ran.code == 0
    assert "within precision" in ran.out


def test_at_most_is_about_failures_for_exit_codes_and_about_the_mean_otherwise(run):
    """Of 40 trials two fail: 5 % is at most 10 %, and not at most 1 %."""
    command = ["sh", "-c", "case $CUTLINE_PULL in 7|23) exit 1;; esac"]
    words = "--arms a --budget 40 --workers 1 --store memory --format json"
    ran = run(f"{words} --at-most 0.1", command)
    assert (ran.json["threshold"], ran.json["wanted"]) == (0.1, "at most")
    assert (ran.arms["a"]["mean"], ran.arms["a"]["side"]) == (0.05, "below")
    ran = run(f"{words} --at-most 0.01", command)
    assert (ran.json["threshold"], ran.json["measure"]) == (0.01, "failure rate")
    assert ran.arms["a"]["side"] == "above"
    table = run(words.replace("json", "table") + " --at-most 0.01", command).out
    row = next(line for line in table.splitlines() if line.startswith("a "))
    assert row.split()[2] == "0.05"  # failures, as the bar is about them
    words += " --reward stdout --rewards exponential"
    ran = run(f"{words} --at-most 2", ["echo", "0.5"])
    assert (ran.json["threshold"], ran.json["wanted"], ran.code) == (2.0, "at most", 0)
    ran = run(f"{words} --at-most 2", ["echo", "9"])
    assert ran.code == 1


def test_the_table_leads_with_what_needs_a_look(run, tmp_path):
    arms = [*(f"00{i}" for i in range(30)), "1", "2"]
    (tmp_path / "arms.txt").write_text("\n".join(arms))
    script = 'case $1 in 00*) exit 0;; *) exit "$1";; esac'
    ran = run(f"--arms arms.txt {SURE} --store memory", ["sh", "-c", script, "sh", "{arm}"])
    lines = ran.out.splitlines()
    assert lines[0].endswith("1 fails the bar, 1 suspended, 30 clear the bar")
    assert [line.split()[0] for line in lines[3:5]] == ["1", "2"]
    assert sum("clears the bar" in line for line in lines) == 20
    assert "… and 10 more: clear the bar" in lines
    assert "error bound" in ran.out
    assert "no arm's mean drifts" in ran.out


def test_of_many_undecided_arms_those_tried_are_shown(run, tmp_path):
    (tmp_path / "arms.txt").write_text("\n".join(f"arm-{i}" for i in range(30)))
    ran = run("--arms arms.txt --at-least 0.5 --budget 8 --store memory", ["true", "{arm}"])
    rows = [line.split() for line in ran.out.splitlines() if line.startswith("arm-")]
    assert [row[-1] for row in rows] == ["1"] * 8 + ["0"] * 12
    assert "… and 10 more: undecided" in ran.out
    assert "times as many" not in ran.out  # nothing is known yet that equal trials would not know


def test_what_was_saved_is_told(run):
    ran = run(
        f"--arms 0,1,00 {SURE} --store memory --workers 1", ["sh", "-c", SLOWER, "sh", "{arm}"]
    )
    pulls = [int(line.split()[-1]) for line in ran.out.splitlines() if "the bar  " in line]
    assert len(pulls) == 3
    alike, times = 3 * max(pulls), 3 * max(pulls) / sum(pulls)
    assert f"would have been {alike} pulls, {times:.2g} times as many" in ran.out


def test_json_holds_everything(run):
    ran = run(f"--arms 0,1,2 {SURE} --format json")
    value = ran.json
    assert ran.code == value["exit_code"] == 1
    assert value["campaign"] == "main"
    assert value["store"] == "cutline.db"
    assert value["spent"] == sum(arm["pulls"] for arm in value["arms"])
    assert value["error_bound"] == 1.0
    assert [arm["verdict"] for arm in value["arms"]] == [
        "clears the bar",
        "fails the bar",
        "suspended",
    ]
    verdict = Campaign.open("cutline.db", "main").verdict()
    for name, numbers in verdict.columns().items():
        assert [arm[name] for arm in value["arms"]] == [n if n == n else None for n in numbers]


def test_check_tries_one_arm_and_leaves_nothing(run):
    ran = run("--arms 0,1 --at-most 0.02 --precision 0.01 --budget 5 --check")
    assert ran.code == 0
    assert ran.out.splitlines()[:4] == [
        "arms      2: 0, 1",
        "bar       failure rate at most 0.02 ± 0.01",
        "arm       0",
        "command   sh -c 'exit \"$1\"' sh 0",
    ]
    assert "CUTLINE_PULL=0" in ran.out
    assert ran.out.splitlines()[-1] == "reward    1"
    assert not Path("cutline.db").exists()
    ran = run("--arms 9 --at-most 0.02 --budget 5 --check")
    assert (ran.code, ran.out.splitlines()[-1]) == (2, "reward    none: a failed pull")


# Time.


def test_a_timeout_kills_the_whole_group_and_fails_the_pull(run):
    script = "sleep 300 & echo $! >> children; sleep 301 & echo $! >> children; wait"
    words = "--arms a --at-least 0.5 --budget 3 --timeout 0.5 --workers 2 --store memory"
    ran = run(words, ["sh", "-c", script])
    assert ran.code == 2
    assert "with: timed out after 0.5 s" in ran.err
    children = Path("children").read_text().split()
    assert 10 <= len(children) <= 24
    wait_for(lambda: not any(map(alive, children)), 5)


def test_a_timeout_can_count(run):
    words = "--arms 0,60 --at-least 0.5 --budget 4 --timeout 1.5 --workers 2 --store memory"
    command = ["sleep", "{arm}"]
    ran = run(f"{words} --timeout-counts 0 --format json", command)
    assert (ran.arms["0"]["mean"], ran.arms["60"]["mean"], ran.json["spent"]) == (1.0, 0.0, 4)


LEAVES = ["sh", "-c", "sleep 60 & echo $! >> children; exit 0"]


@pytest.fixture
def children():
    """The processes that trials have left behind, ended in the end."""

    def pids():
        return [int(line) for line in Path("children").read_text().split()]

    yield pids
    for pid in pids():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_what_a_trial_leaves_behind_ends_with_it(run, children):
    """And holds nothing up: a child that keeps the output open would hold a pipe."""
    began = time.monotonic()
    ran = run("--arms a --at-least 0.5 --budget 2 --store memory --format json", LEAVES)
    assert time.monotonic() - began < 15
    assert ran.arms["a"]["told"] == len(children()) == 2
    wait_for(lambda: not any(map(alive, children())), 5)
    run("--arms a --at-least 0.5 --budget 2 --check", LEAVES)
    wait_for(lambda: not any(map(alive, children())), 5)


def test_what_a_trial_leaves_on_purpose_is_kept(run, children):
    words = "--arms a --at-least 0.5 --budget 2 --store memory --keep-children --format json"
    assert run(words, LEAVES).arms["a"]["told"] == 2
    assert all(map(alive, children()))


def test_a_trial_that_is_stopped_ends_with_its_children_in_any_case(run, children):
    script = "sleep 60 & echo $! >> children; wait"
    words = "--arms a --at-least 0.5 --budget 1 --timeout 0.5 --timeout-counts 0 --store memory"
    run(f"{words} --keep-children", ["sh", "-c", script])
    wait_for(lambda: not any(map(alive, children())), 5)


def test_a_trial_longer_than_the_lease_is_kept_by_heartbeats(run):
    words = "--arms a --at-least 0.5 --budget 2 --workers 2 --lease 1.5 --format json"
    ran = run(words, ["sleep", "4"])
    arm = ran.arms["a"]
    assert (arm["told"], arm["lost"], arm["late"], arm["asked"]) == (2, 0, 0, 2)


def test_as_many_trials_run_at_a_time_as_there_are_workers(run):
    """Each trial waits until four have begun: with three workers none would end."""
    script = 'touch "began.$$"; until [ $(ls began.* | wc -l) -ge 4 ]; do sleep 0.05; done'
    words = "--arms a,b --at-least 0.5 --budget 8 --workers 4 --timeout 20 --store memory"
    ran = run(f"{words} --format json", ["sh", "-c", script])
    assert ran.json["spent"] == 8
    assert sum(arm["failed"] for arm in ran.arms.values()) == 0


# Kept, and taken up again.


def test_started_again_it_does_nothing_twice(run):
    script = ["sh", "-c", "echo $CUTLINE_ARM $CUTLINE_PULL >> seen"]
    ran = run("--arms a,b --at-least 0.5 --budget 6", script)
    assert "a new campaign 'main' in cutline.db" in ran.err
    again = run("--arms a,b --at-least 0.5 --budget 6", script)
    assert again.out == ran.out
    assert "going on with campaign 'main' in cutline.db, where 6 pulls were made" in again.err
    more = run("--arms a,b --at-least 0.5 --budget 10 --format json", script)
    assert "its budget was 6 and is 10 from now on" in more.err
    assert (more.json["spent"], more.json["budget"]) == (10, 10)
    same = run("--arms a,b --at-least 0.5 --budget 10 --format json", script)
    assert same.json["spent"] == 10
    assert "its budget was" not in same.err
    seen = Path("seen").read_text().splitlines()
    assert len(seen) == len(set(seen)) == 10
    less = run("--arms a,b --at-least 0.5 --budget 6", script)
    assert less.code == 2
    assert "has a budget of 10, got --budget 6" in less.err
    assert audit(Campaign.open("cutline.db", "main")).holds


def test_a_campaign_that_attached_results_have_decided(run):
    words = "--arms a,b --at-least 0.5 --budget 40 --confidence 0.95"
    gives = ["sh", "-c", "kill $$"]  # no reward, so nothing is spent
    assert run(words, gives).code == 2
    with Campaign.open("cutline.db") as campaign:
        for arm in ("a", "b"):
            campaign.attach(arm, [1] * 60, unpicked=True)
    ran = run(words, gives)
    assert ran.code == 0
    assert "spent: 0 of 40 pulls" in ran.out


def test_what_was_not_kept_cannot_go_on(run):
    words = "--arms a --at-least 0.5 --budget 4"
    assert "start again with more than --budget 4" in run(words, ["true"]).err
    assert "start again" not in run(f"{words} --store memory", ["true"]).err


@pytest.mark.parametrize(
    ("words", "command", "says"),
    [
        ("--arms 0,1,2 --at-least 0.5 --budget 4", EXIT, "its 2 arms are not these 3: with 2"),
        (
            "--arms 0,1 --at-least 0.6 --budget 4",
            EXIT,
            "the bar was pass rate at least 0.5 and is now",
        ),
        ("--arms 0,1 --at-least 0.5 --budget 4 --seed 1", EXIT, "seed was 0 and is now 1"),
        (
            "--arms 0,1 --at-least 0.5 --budget 4 --confidence 0.9",
            EXIT,
            "confidence was not given and is now 0.9",
        ),
        ("--arms 0,1 --at-least 0.5 --budget 4", ["true", "{arm}"], "command was 'sh -c"),
        (
            "--arms 0,1 --at-least 0.5 --budget 4 --zero-on 2",
            EXIT,
            "zero-on was not given and is now 2.",
        ),
        (
            "--arms 0,1 --at-least 0.5 --budget 4 --timeout 3",
            EXIT,
            "timeout was not given and is now 3",
        ),
    ],
)
def test_other_arguments_are_another_campaign(run, words, command, says):
    first = run("--arms 0,1 --at-least 0.5 --budget 4 --format json")
    ran = run(words, command)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "or another --name for a new one" in ran.err
    assert run("--arms 0,1 --at-least 0.5 --budget 4 --format json").out == first.out
    assert run(f"{words} --name other", command).code != 2


def test_other_fields_are_another_campaign(run):
    Path("a.csv").write_text("arm,n\na,0\n")
    command = ["sh", "-c", "exit {arm.n}"]
    run("--arms a.csv --at-least 0.5 --budget 2", command)
    Path("a.csv").write_text("arm,n\na,1\n")
    ran = run("--arms a.csv --at-least 0.5 --budget 2", command)
    assert ran.code == 2
    assert ": the fields of the arms are others. Give the same arguments" in ran.err


def test_other_arms_are_named_and_nothing_that_follows_from_them(run):
    """A digest of fields and a count of arms told nobody anything."""
    run("--arms 0,1 --at-least 0.5 --budget 4")
    ran = run("--arms 0,1,2 --at-least 0.5 --budget 4")
    assert "its 2 arms are not these 3: with 2. Give the same arguments as before" in ran.err
    ran = run("--arms 0,1,2 --at-least 0.5 --budget 4 --seed 1")
    assert "with 2; seed was 0 and is now 1. Give" in ran.err


def test_arms_that_name_nothing_are_refused(run):
    for nothing in ("''", "' '"):
        ran = run(f"--arms {nothing} --at-least 0.5 --budget 4")
        assert ran.code == 2
        assert "--arms names nothing" in ran.err


@pytest.mark.parametrize(
    ("bar", "instead"),
    [
        ("--at-most 0", "ask --at-most 0.005 --precision 0.005"),
        ("--at-least 1", "ask --at-least 0.995 --precision 0.005"),
        ("--at-least 0.99", None),
    ],
)
def test_a_spent_budget_at_a_bar_that_cannot_be_proven_says_what_to_ask(run, bar, instead):
    """More of the budget would never do."""
    ran = run(f"--arms 0,1 {bar} --budget 9")
    assert "the budget is spent" in ran.err
    assert ("no budget proves that an arm never fails" in ran.err) == (instead is not None)
    assert (instead or "") in ran.err


def test_a_bar_close_to_an_end_is_not_shown_as_the_end(run):
    ran = run("--arms 0 --at-least 0.999999999999 --budget 3")
    assert "(pass rate at least 0.999999999999)" in ran.out


def test_one_pull_is_no_plural(run):
    ran = run("--arms 1 --at-least 1 --budget 1")
    assert "1 fails the bar: pass rate 0, less than 0.9866, 1 pull\n" in ran.err


def test_a_command_that_never_gave_a_reward_may_be_mended(run):
    assert run("--arms 0,1 --at-least 0.5 --budget 4", ["sh", "-c", "exit 3"]).code == 2
    ran = run("--arms 0,1 --at-least 0.5 --budget 4 --format json")
    assert ran.json["spent"] == 4


def test_a_suspended_arm_is_tried_again_and_its_reason_is_shown(run):
    Path("code").write_text("2")
    words = f"--arms 0,code {SURE}"
    command = ["sh", "-c", "[ $1 = 0 ] || exit $(cat code)", "sh", "{arm}"]
    reason = "failures in a row, where 0 % of the others' trials fail; last: exit code 2"
    ran = run(f"{words} --format json", command)
    assert ran.code == 4
    assert reason in ran.json["suspended"]["code"]
    assert f"cutline: code is suspended: {ran.json['suspended']['code']}" in ran.err
    assert reason in run(words, command).out
    Path("code").write_text("0")
    ran = run(words, command)
    assert ran.code == 0
    assert "code had been suspended, and is tried again" in ran.err
    assert audit(Campaign.open("cutline.db")).holds


def test_an_outage_is_waited_out_and_suspends_nobody(run, monkeypatch):
    """Trials fail from the 30th on for as long as a file is there, which a trial takes away."""
    monkeypatch.setattr("cutline.campaign.runner.outage.PAUSES", (0.2, 1.0))
    script = """
        echo x >> count
        [ $(wc -l < count) -lt 30 ] && exit 0
        [ $(wc -l < count) -gt 60 ] && exit 0
        echo no network >&2; exit 7
    """
    words = "--arms a,b,c --at-least 0.5 --budget 60 --workers 4 --format json"
    ran = run(words, ["sh", "-c", script])
    assert ran.json["spent"] == 60
    assert ran.json["suspended"] == {}
    assert "where trials worked before: waiting, with one trial at a time, " in ran.err
    assert "for up to 30 min; last: exit code 7: no network" in ran.err
    assert "cutline: trials work again after " in ran.err
    assert audit(Campaign.open("cutline.db")).holds


def test_an_outage_that_lasts_is_given_up_and_the_next_run_goes_on(run, monkeypatch):
    monkeypatch.setattr("cutline.campaign.runner.outage.PAUSES", (0.1, 0.2))
    script = "echo x >> count; [ -e mended ] || [ $(wc -l < count) -lt 20 ] || exit 7"
    words = "--arms a,b,c --at-least 0.5 --budget 40 --workers 2 --give-up-after 1"
    began = time.monotonic()
    ran = run(words, ["sh", "-c", script])
    assert time.monotonic() - began < 20
    assert ran.code == 2
    assert "exit code 2: trials failed for too long, so this is the verdict so far" in ran.out
    assert "given up; the same command goes on from here" in ran.err
    Path("mended").touch()
    ran = run(f"{words} --format json", ["sh", "-c", script])
    assert (ran.json["spent"], ran.json["suspended"]) == (40, {})


def test_killed_and_started_again_it_spends_exactly_the_budget(start, tmp_path):
    """SIGKILL three times on the way."""
    words = "--arms a,b,c --at-least 0.6 --budget 100 --workers 4 --lease 1 --format json"
    command = ["sh", "-c", "sleep 0.2; case $CUTLINE_SEED in *[012]) exit 1;; esac"]
    store = tmp_path / "cutline.db"
    spent = 0
    for _ in range(3):
        process = start(tmp_path, words, command)
        wait_for(partial(_reached, store, spent + 8, process))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        spent = Campaign.open(str(store), "main").spent
    assert 24 <= spent < 100
    process = start(tmp_path, words, command)
    out, err = process.communicate(timeout=60)
    assert process.returncode in (0, 1, 3), err
    assert out, err
    value = json.loads(out)
    assert value["spent"] == value["budget"] == 100
    assert sum(arm["told"] for arm in value["arms"]) == 100
    assert 1 <= sum(arm["lost"] for arm in value["arms"]) <= 12
    assert {arm["status"] for arm in value["arms"]} == {"open"}
    campaign = Campaign.open(str(store), "main")
    assert campaign.in_flight == 0
    found = audit(campaign)
    assert found.holds, found.faults


def _reached(store, goal, process):
    """Whether so much is spent; a store that is just being made is not."""
    assert process.poll() is None, process.communicate()
    try:
        return store.exists() and Campaign.open(str(store), "main").spent >= goal
    except Exception:
        return False


def test_a_trial_that_ctrl_c_has_ended_did_not_fail(start, tmp_path):
    """In a terminal it reaches a trial, too, in the moment before that has left the group."""
    words = "--arms a --at-least 0.5 --budget 20 --workers 1 --format json"
    later = 'setsid sh -c "touch apart; sleep 0.05; kill -INT $PPID" &'  # the trial goes first
    script = f"{later} until [ -e apart ]; do sleep 0.01; done; kill -INT $$"
    process = start(tmp_path, words, ["sh", "-c", script])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    arm = json.loads(out)["arms"][0]
    assert (arm["failed"], arm["returned"]) == (0, 1)


def test_one_arm_is_not_suspended_for_a_kill(start, tmp_path):
    """All eight workers were on it: eight pulls in a row are lost, and say nothing of the arm."""
    words = "--arms a --at-least 0.5 --budget 20 --lease 1 --format json"
    (tmp_path / "trial").write_text("sleep 15")
    process = start(tmp_path, words, ["sh", "trial"])
    store = tmp_path / "cutline.db"
    wait_for(lambda: store.exists() and _flying(store) == 8)
    process.kill()
    process.communicate()
    campaign = Campaign.open(str(store), "main")
    with campaign.store.begin("main", "look") as t:
        assert t.head.flying == 8
    (tmp_path / "trial").write_text("exit 0")
    process = start(tmp_path, words, ["sh", "trial"])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    arm = json.loads(out)["arms"][0]
    assert (arm["told"], arm["lost"]) == (20, 8)


def _flying(store):
    try:
        return Campaign.open(str(store), "main").in_flight
    except Exception:
        return 0


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_it_says_where_it_stands_and_how_to_go_on(start, tmp_path, kind):
    slow = "echo $$ >> pids; sleep 300 & echo $! >> pids; wait"
    script = f"if [ $CUTLINE_PULL -ge 3 ] && [ ! -e fast ]; then {slow}; fi"
    words = "--arms a,b --at-least 0.5 --budget 60 --workers 3"
    process = start(tmp_path, words, ["sh", "-c", script])
    store, pids = tmp_path / "cutline.db", tmp_path / "pids"
    wait_for(lambda: pids.exists() and len(pids.read_text().split()) == 6)
    began = time.monotonic()
    process.send_signal(kind)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 15
    assert process.returncode == 130, err
    assert "exit code 130: stopped on the way" in out
    assert "2 arms (pass rate at least 0.5): 2 undecided" in out
    assert "the same command goes on from here (campaign 'main' in cutline.db)" in err
    wait_for(lambda: not any(map(alive, pids.read_text().split())), 5)
    campaign = Campaign.open(str(store), "main")
    assert campaign.in_flight == 0  # given back at once, no lease to wait for
    spent = campaign.spent
    assert 3 <= spent <= 6
    (tmp_path / "fast").touch()
    again = start(tmp_path, f"{words} --format json", ["sh", "-c", script])
    out, err = again.communicate(timeout=60)
    value = json.loads(out)
    assert f"where {spent} pulls were made" in err
    assert value["spent"] == 60
    assert sum(arm["returned"] for arm in value["arms"]) == 3
    assert not any(arm["failed"] for arm in value["arms"])
    assert audit(Campaign.open(str(store), "main")).holds


@contextlib.contextmanager
def in_terminal(folder, words, command):
    """`cutline run` in the foreground of a terminal of its own; its process and the master end."""
    argv = [sys.executable, "-m", "cutline", "run", *shlex.split(words), "--", *command]
    pid, master = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execv(argv[0], argv)
    opened = [master]
    drain = threading.Thread(target=_drain, args=[master], daemon=True)
    drain.start()

    def close():  # as a terminal window that is shut, or an ssh that is cut
        os.close(opened.pop())

    try:
        yield pid, close
    finally:
        for end in opened:
            os.close(end)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _drain(master):
    with contextlib.suppress(OSError):
        while os.read(master, 65536):
            pass


def test_a_closed_terminal_ends_trials_and_gives_them_back(tmp_path):
    slow = "echo $$ >> pids; sleep 300 & echo $! >> pids; wait"
    words = "--arms a,b --at-least 0.5 --budget 60 --workers 3"
    pids = tmp_path / "pids"
    with in_terminal(tmp_path, words, ["sh", "-c", slow]) as (pid, close):
        wait_for(lambda: pids.exists() and len(pids.read_text().split()) == 6)
        assert all(map(alive, pids.read_text().split()))
        close()
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    wait_for(lambda: not any(map(alive, pids.read_text().split())), 5)
    campaign = Campaign.open(str(tmp_path / "cutline.db"), "main")
    assert campaign.in_flight == 0
    assert sum(arm.counts.returned for arm in campaign.verdict().arms) == 3
    assert audit(campaign).holds


def test_nohup_goes_on_when_the_terminal_is_gone(start, tmp_path):
    """A SIGHUP that was ignored at the start stays ignored."""
    words = "--arms a --at-least 0.5 --budget 3 --workers 1 --format json"
    script = "touch began; until [ -e go ]; do sleep 0.02; done"

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = start(tmp_path, words, ["sh", "-c", script], preexec_fn=ignore)
    wait_for((tmp_path / "began").exists)
    process.send_signal(signal.SIGHUP)
    (tmp_path / "go").touch()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert json.loads(out)["spent"] == 3


def test_exit_codes_are_seen_where_the_end_of_children_was_ignored(start, tmp_path):
    """A shell that ignores SIGCHLD hands that on, and then no exit code is to be had."""

    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    words = "--arms a --at-least 0.5 --budget 3 --workers 1 --format json"
    process = start(tmp_path, words, ["sh", "-c", "exit 1"], preexec_fn=ignore)
    out, err = process.communicate(timeout=60)
    assert json.loads(out)["arms"][0]["mean"] == 0, err


def test_two_runs_share_a_campaign(start, tmp_path):
    words = "--arms a,b --at-least 0.5 --budget 40 --workers 2 --format json"
    command = ["sh", "-c", "sleep 0.02; echo $CUTLINE_ARM $CUTLINE_PULL >> seen"]
    both = [start(tmp_path, words, command) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode in (0, 3), err
        assert json.loads(out)["spent"] == 40
    seen = (tmp_path / "seen").read_text().splitlines()
    assert len(seen) == len(set(seen)) == 40


def test_a_store_that_breaks_on_the_way_is_one_sentence(run, monkeypatch):
    from cutline.campaign import StoreError

    def broken(*_, **__):
        raise StoreError("the disk is full")

    monkeypatch.setattr("cutline.campaign.moves.report_all", broken)
    ran = run("--arms a,b --at-least 0.5 --budget 40", ["sleep", "0.05"])
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "cutline: the disk is full"


@pytest.mark.parametrize("error", [RuntimeError("oh"), BrokenPipeError()])
def test_what_nobody_thought_of_is_no_verdict(run, monkeypatch, error):
    """Python ends with 1 on an error, and 1 says that an arm fails the bar."""

    def broken(*_):
        raise error

    monkeypatch.setattr("cutline.cli.run.command.report", broken)
    monkeypatch.setattr("os.dup2", lambda *_: None)
    ran = run(f"--arms 0,1 {SURE} --store memory")
    assert ran.code == 2
    assert ("RuntimeError: oh" in ran.err) == (type(error) is RuntimeError)


# The how-to.


def test_the_howto_does_what_it_says(tmp_path, monkeypatch):
    """Its project and its commands, with less to spend."""
    text = (Path(__file__).parents[1] / "docs/howto/flaky-tests.md").read_text()
    blocks = re.findall(r"```(python|sh)\n(.*?)```", text, re.DOTALL)
    (project,) = (block for kind, block in blocks if kind == "python")
    commands = [block.strip() for kind, block in blocks if kind == "sh"]
    assert len(commands) == 4
    (tmp_path / "test_shop.py").write_text(project)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    ran = []
    for command in commands:
        fewer = command.replace("--budget 1000", "--budget 6").replace("--workers 4", "--workers 2")
        shell = ["bash", "-c", fewer]
        ran.append(subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, timeout=120))
    assert (tmp_path / "tests.txt").read_text().count("test_shop.py::") == 6
    assert ran[1].returncode == 0, ran[1].stderr
    said = ran[1].stdout.splitlines()
    shown = text[text.index("bar       failure rate") :].splitlines()
    assert said[1:7] == [*shown[:6]]  # the bar, the arm, the command, the variables
    assert said[-1] == "reward    1"
    for each in ran[2:]:
        assert each.returncode in (1, 3), each.stderr
        assert "spent: 6 of 6 pulls\n" in each.stdout


# The view.


def campaign_of(arms, rates, pulls, **more):
    """A campaign in memory in which the arms were tried."""
    problem = Problem(arms=arms, threshold=0.9, precision=0.05, rewards="binary")
    campaign = Campaign(problem, budget=100_000, **more)
    for number in range(pulls):
        pull = campaign.ask()
        rate = rates[pull.key[2]]  # the arm's number
        campaign.tell(pull, float((number * 0.6180339887) % 1 < rate))
    return campaign


@pytest.mark.parametrize("confidence", [None, 0.95])
@pytest.mark.parametrize("arms", [6, POOL + 50])
def test_a_glance_sees_what_the_verdict_says(arms, confidence):
    rates = [0.5 if number % 7 == 3 else 0.97 for number in range(arms)]
    campaign = campaign_of(arms, rates, 8 * arms, confidence=confidence)
    found = Lookout(campaign, rows=True).look(everything=True)
    verdict = campaign.verdict()
    assert [arm.arm for arm in found.news] == [a.arm for a in verdict.arms if a.proven]
    assert found.tried == {arm.arm for arm in verdict.arms if arm.pulls}
    for arm in (*found.news, *found.rows):
        same = verdict[arm.arm]
        assert arm == same
        assert (arm.low, arm.high, arm.proven) == (same.low, same.high, same.proven)
    assert found.head.spent == campaign.spent
    undecided = [arm for arm in found.rows if arm.proven is None]
    assert list(found.rows[: len(undecided)]) == undecided
    assert [arm.p_value for arm in undecided] == sorted(
        (arm.p_value for arm in undecided), reverse=True
    )
    if arms <= POOL:
        assert len(found.rows) == arms


def test_an_arm_is_news_once():
    campaign = campaign_of(["good", "bad"], [1.0, 0.0], 0)
    bar = Bar(0.9, 0.05, "at least", "pass rate")
    watch = Watch(campaign, bar)
    news = []
    for number in range(120):
        pull = campaign.ask()
        campaign.tell(pull, float(pull.arm == "good"))
        watch.lookout.hear(pull)
        news += [(number, arm.arm, watch.news(arm, None, 99)) for arm in watch.look()]
    assert sorted(arm for _, arm, _ in news) == ["bad", "good"]
    line = next(line for _, arm, line in news if arm == "bad")
    assert line.startswith("bad fails the bar: pass rate 0, less than ")
    assert watch.counts() == "2 of 2 arms settled, 1 fails the bar"
    again = Watch(campaign, bar)
    assert again.look(everything=True) == []
    assert again.settled == watch.settled == {"bad": True, "good": False}


def test_what_is_drawn_is_where_it_is():
    bar = Bar(0.9, 0.05, "at least")
    low, high = scale(bar, [(0.6, 0.95), (0.5, 0.98), (0.7, 1.0), (0.0, 1.0)])
    assert (low, high) == (0.5, 1.0)  # the one that is wide is cut, and what is near is not
    drawn = strip(low, high, 0.9, (0.0, 1.0), 0.75, 51)
    assert (drawn[0], drawn[25], drawn[40], drawn[50]) == ("◂", "●", "┼", "┤")
    drawn = strip(low, high, 0.9, (0.5, 0.7), 0.6, 51)
    assert (drawn[0], drawn[10], drawn[20], drawn[40]) == ("├", "●", "┤", "│")
    flipped = Bar(0.1, 0.05, "at most", flipped=True)
    assert round(flipped.shown(flipped.threshold), 12) == 0.1
    assert strip(0.0, 1.0, 0.5, (float("-inf"), float("inf")), float("nan"), 5) == "◂─┼─▸"


def test_the_picture_fits_the_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("LINES", "15")
    arms = [f"tests/test_orders.py::test_{'very_' * 9}long_{i}" for i in range(40)]
    campaign = campaign_of(arms, [0.9] * 40, 200)
    bar = Bar(0.9, 0.05, "at least", "pass rate")
    screen = Screen("title " * 30, bar)
    with screen._console.capture() as captured:
        screen._console.print(screen.picture(Watch(campaign, bar), [], 3))
    lines = captured.get().splitlines()
    assert 10 < len(lines) < 15
    assert max(map(len, lines)) <= 70
    assert "200 of 100,000 pulls" in captured.get()
    assert "3 of another run" in captured.get()
    assert lines[-1].count("┼") + lines[-1].count("●") >= 1
    assert "long_" in lines[-1]


@pytest.mark.parametrize("columns", [20, 40, 54])
def test_the_picture_has_no_line_that_wraps(monkeypatch, columns):
    """Rows that wrapped were left standing each time the view was drawn again."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "12")
    campaign = campaign_of([f"arm {i}" for i in range(9)], [0.9] * 9, 200)
    bar = Bar(0.9, 0.05, "at least", "pass rate")
    screen = Screen("title " * 30, bar)
    with screen._console.capture() as captured:
        screen._console.print(screen.picture(Watch(campaign, bar), [], 3))
    lines = captured.get().splitlines()
    assert len(lines) == 4 + 2 + 5  # the spend, the head of the table, its rows
    assert max(map(len, lines)) <= columns
    assert lines[-1].startswith("arm ")


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch):
    """Nothing was shown there until the end."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = Bar(0.9, 0.05, "at least", "pass rate")
    for term, view in (("dumb", Lines), ("xterm", Screen)):
        monkeypatch.setenv("TERM", term)
        assert isinstance(view_for("title", bar), view)


def test_lines_where_there_is_no_terminal(run):
    ran = run(f"--arms 0,1,2 {SURE} --store memory --workers 1")
    assert "cutline: 1 fails the bar: pass rate 0, less than " in ran.err
    assert "cutline: 2 is suspended: " in ran.err
    assert "\x1b" not in ran.err + ran.out


def test_the_view_in_a_real_terminal(tmp_path):
    tmux = shutil.which("tmux")
    if tmux is None:
        if os.environ.get("CI"):
            pytest.fail("CI must look at the view in a terminal, and there is no tmux")
        pytest.skip("LEFT OUT: no tmux here (apt-get install tmux)")
    socket = str(tmp_path / "socket")
    words = "--arms steady,shaky --at-most 0.2 --precision 0.1 --budget 2000 --workers 2"
    script = "sleep 0.03; [ $1 = steady ] && exit 0; case $CUTLINE_SEED in *[0-4]) exit 1;; esac"
    argv = [sys.executable, "-m", "cutline", "run", *shlex.split(words), "--"]
    command = shlex.join([*argv, "sh", "-c", script, "sh", "{arm}"]) + "; echo rc $?; sleep 60"

    def call(*arguments):
        ran = [tmux, "-S", socket, "-f", "/dev/null", *arguments]
        return subprocess.run(ran, capture_output=True, text=True, check=True).stdout

    def screen():
        return call("capture-pane", "-p", "-t", "view", "-S", "-50")

    kept = []
    call("new-session", "-d", "-s", "view", "-x", "90", "-y", "24", "-c", str(tmp_path), command)
    try:
        wanted = (
            "✗ shaky fails the bar: failures 0.",
            "✓ steady clears the bar: failures 0, less than ",
            "cutline failure rate at most 0.2 ± 0.1 · main in cutline.db",
            "2 of 2 arms settled, 1 fails the bar",
            " of 2,000 pulls",
            "/s, about ",
            "in flight: ",
            "least decided first",
            "\nsteady ",
            "\nshaky ",
        )

        def complete():
            kept[:] = [screen()]
            return all(words in kept[0] for words in wanted)

        wait_for(complete)
        shown = kept[0]
        rows = [line for line in shown.splitlines() if line.startswith(("shaky ", "steady "))]
        assert len(rows) == 2
        assert all("●" in row for row in rows)
        call("send-keys", "-t", "view", "C-c")
        wait_for(lambda: "rc 130" in screen())
        after = screen()
        assert "least decided first" not in after  # the view is gone, the verdict is there
        assert "exit code 130: stopped on the way" in after
    finally:
        call("kill-server")
