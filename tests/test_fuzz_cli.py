"""Every option of every command with odd values: one sentence and exit code 2, or it works."""

import contextlib
import io
import os
import re
import signal
import sys
import warnings

import click
import pytest

from cutline import Campaign, Problem
from cutline.cli.main import cli, main

SMALL = {
    "run": "run --arms a,b --at-least 0.5 --budget 4 --store memory --workers 2 -- true",
    "simulate": "simulate --means 0.2,0.8 --threshold 0.5 --budget 20 --games 64 --rules apt",
    "plan": "plan --arms 3 --share 0.5 --threshold 0.5 --precision 0.2",
    "theory": "theory --experiment three-groups --games 64",
    "list": "list",
    "show": "show",
    "export": "export",
    "audit": "audit",
    "upgrade": "upgrade cutline.db",
    "delete": "delete --yes",
    "resume": "resume",
}
"""A quick use of each command that works."""

PLAYED = {"plan", "simulate", "theory"}  # which play games for seconds with what they are given
LONG = {"demo", "paper", "examples", "tournament"}  # what they take is covered by the others

NUMBERS = (
    "", " ", "x", "0", "-1", "-0.0", "1", "1.5", "nan", "inf", "-inf", "1e400", "-1e400", "1e300",
    "1e18", "5e-324", str(2**31), str(2**63), str(2**64), "9" * 400, "0x10", "1_000", "١", "1,2",
    "0.5,0.5", ",", "1,,2", "1/2", "50%",
)  # fmt: skip
TEXTS = (
    "", " ", ",", "a,,b", "a\nb", "\x1b[31mred", "\x9b31m", "[bold]a[/]", "$x^2$", "{arm}", "{",
    "%s", "=1+1", "../x", "/no/such/file.csv", "~", "-", "--", "é💥", "\u202eabc", "a" * 5000, ".",
    "nan", "1e400", ":memory:", "postgresql://ann:secret@127.0.0.1:1/x",
    "postgresql://127.0.0.1:1/x?pass%77ord=secret", "mysql://ann:secret@x/y",
    "./mine.py:R", "apt:nan", "ucbe:1e400", "fwt:weights=1/2/x", "x.txt", "x.xlsx", "a=b",
)  # fmt: skip
EXITS = {0, 1, 2, 3, 4, 130}


def cases():
    """Each option of each command with each odd value, a command and an option at a time."""
    for name, command in sorted(cli.commands.items()):
        if name in LONG:
            continue
        assert name in SMALL, f"say how to use {name} in a moment"
        for option in command.params:
            if isinstance(option, click.Option) and not option.is_flag:
                marks = [pytest.mark.slow] if name in PLAYED else []
                yield pytest.param(name, option, id=f"{name} {option.opts[0]}", marks=marks)


def values_for(option):
    if isinstance(option.type, click.Choice):
        return ["", "x", "\x1b[31m"]
    number = isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
    return NUMBERS if number else NUMBERS + TEXTS


@contextlib.contextmanager
def given_up_after(seconds):
    """Press Ctrl-C after a while: some odd values ask for a lot of work, which may be stopped."""

    pressed = []

    def press(*_):
        pressed.append(True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield pressed
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder with a store, in which nothing waits for servers that are not there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTLINE_WAIT", "0.1")
    fresh_store()
    return tmp_path


def fresh_store():
    if not os.path.exists("cutline.db"):
        problem = Problem(arms=["a", "b"], threshold=0.5, rewards="binary")
        campaign = Campaign(problem, budget=6, store="cutline.db")
        campaign.tell(campaign.ask(), 1)
        campaign.store.release()


def call(words):
    """Run the command line in this process; its exit code (or what it died of) and its output."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    code = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cutline", *words])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", out)
        patch.setattr(warnings, "showwarning", warnings.showwarning)
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException as error:
            code = error
    return code, out.buffer.getvalue().decode("utf-8", "replace")


def faults_of(option, value, code, text):
    """What a user should never see."""
    words = f"{option} {value[:60]!r}"
    if code not in EXITS:
        yield f"{words}: ends with {code!r:.300}"
    for fault in ("Traceback", "secret"):
        if fault in text and not (fault == "secret" and option != "--store"):  # it was typed
            yield f"{words}: says {fault}: {text[-300:]!r}"
    odd = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    if odd:
        yield f"{words}: prints {odd[0]!r}: {text[max(0, odd.start() - 60) : odd.end() + 20]!r}"
    if re.search(r"(?<![\w.])-0(\.0+)?(?![\d.eE])", text) and value != "-0.0":  # it was typed
        yield f"{words}: prints -0: {text[-300:]!r}"


@pytest.mark.parametrize(("name", "option"), list(cases()))
def test_odd_values_of_an_option(place, name, option):
    faults = []
    for value in values_for(option):
        fresh_store()
        head, dash, tail = SMALL[name].partition(" -- ")
        words = [*head.split(), option.opts[0], value, *([dash.strip(), tail] if dash else [])]
        with given_up_after(3) as stopped:
            code, text = call(words)
        if not stopped:  # while it compiled, which complains
            faults += faults_of(option.opts[0], value, code, text)
    assert not faults, "\n".join(faults)
