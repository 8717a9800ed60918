"""What somebody else wrote cannot move a terminal, whatever is printed where."""

import ast
import contextlib
import csv
import io
import os
import pty
import select
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cutline import Problem
from cutline.campaign import Campaign, NothingWorks, identify
from cutline.cli import printing
from cutline.core.text import visible

# Colours, a title, the direction of writing, a line of its own, markup, mathematics, a formula.
EVIL = "=\x1b[31mred\x1b]0;title\x07\u202eback\n\rcutline: all is well\x9b2J\x7f[bold]$x$\u2028"
FOLDER = Path(printing.__file__).parent


def obeyed(text):
    """What is in a text that a terminal would obey, line breaks aside."""
    return sorted({c for c in text if not (c.isprintable() or c == "\n")})


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with hostile texts in every field."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUTLINE_STORE", raising=False)
    problem = Problem(
        arms=[EVIL, EVIL + "2", EVIL + "3"], threshold=0.5, precision=0.1, rewards="binary"
    )
    with Campaign(
        problem, budget=60, store="evil.db", name=EVIL, unit=EVIL, about={EVIL: EVIL}, patience=2
    ) as campaign:
        for _ in range(40):
            pull = campaign.ask()
            if pull.arm == EVIL:
                campaign.fail(pull, note=EVIL)
            else:
                campaign.tell(pull, 1, note=EVIL)
        campaign.retire(EVIL + "3")
    return "evil.db"


def commands(store):
    yield f"list --store {store}"
    yield f"list --store {store} --format json"
    for more in (
        "", "--all", "--format json", "--at-most 0.1", "--threshold 0.7", "--rate 0.1",
        "--plot x.svg", "--plot x.png", "--pulls a", "--name b", "--confidence 2",
    ):  # fmt: skip
        yield f"show --store {store} {more}"
    yield f"show --store {store} --pulls {shlex.quote(EVIL)}"
    yield f"export --store {store} --format jsonl"
    yield f"export --store {store} --out no/{shlex.quote(EVIL)}.csv"
    yield f"audit --store {store}"
    yield f"upgrade {store}"
    yield f"delete --store {store}"
    yield f"run --store {store} --name {shlex.quote(EVIL)} --arms a,b --at-least 0 --budget 9 -- x"
    arms = shlex.quote(EVIL.replace("\n", "") + "," + "b")
    run = f"run --arms {arms} --at-least 0.5 --budget 12 --workers 2"
    yield f"{run} --store memory -- sh -c 'printf %s {{arm}} >&2; exit 3'"
    yield f"{run} --store memory --check -- printf %s {{arm}} {shlex.quote(EVIL)}"
    yield f"{run} --store {shlex.quote(EVIL)}.db -- true {{arm}} {shlex.quote('{x}' + EVIL)}"
    yield f"{run} --store memory --rule {shlex.quote(EVIL)} -- true"
    yield f"run --arms {arms},b --at-least 0.5 --budget 3 -- {shlex.quote(EVIL)}"
    yield f"simulate --means {shlex.quote(EVIL)} --threshold 0.5"
    yield f"plan --like {shlex.quote(EVIL)} --at-least 0.5"
    yield shlex.quote(EVIL)


def test_nothing_that_a_terminal_obeys_is_printed(store):
    """Every command in one process each, its output and its errors."""
    began = "import sys, io, contextlib\nfrom cutline.cli import main\nimport shlex, json\n"
    script = (
        began
        + "for words in json.load(sys.stdin):\n"
        + "    sys.argv = ['cutline', *shlex.split(words)]\n"
        + "    out, err = io.StringIO(), io.StringIO()\n"
        + "    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):\n"
        + "        try:\n            main()\n            code = 0\n"
        + "        except SystemExit as end:\n            code = end.code\n"
        + "    print(json.dumps([words, code, out.getvalue(), err.getvalue()]))\n"
    )
    import json

    words = list(commands(store))
    ran = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(words), capture_output=True, text=True,
        timeout=100,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(told) == len(words)
    for command, code, out, err in told:
        assert not obeyed(out), command
        assert not obeyed(err), command
        assert "Traceback" not in err, err
        assert code in (0, 1, 2, 3, 4, None), command
        lines = (out + err).splitlines()
        assert not [line for line in lines if line.startswith("cutline: all is well")], command


def test_the_view_in_a_terminal_shows_markup_and_escapes_as_they_are(tmp_path):
    """A real terminal: what is drawn there moves the cursor, and names do not."""
    arms = tmp_path / "arms.csv"
    with arms.open("w", newline="") as file:
        csv.writer(file).writerows([["arm"], ["\x1b]0;title\x07[red]a[/red]"], ["b"]])
    words = (
        f"run --arms {arms} --at-least 0.5 --precision 0.3 --confidence 0.9 --store memory "
        "--workers 1 -- sh -c 'sleep 0.3; exit 1'"
    )
    shown = in_terminal(words, tmp_path)
    assert "[red]a" in shown
    assert "\\x1b]0;title" in shown
    assert "\x1b]0;" not in shown
    assert "\x07" not in shown


def test_csv_on_a_terminal_is_shown_and_in_a_pipe_is_data(store, tmp_path):
    shown = in_terminal(f"export --store {store} --what arms", tmp_path)
    assert "\\x1b[31m" in shown
    assert not obeyed(shown.replace("\r\n", "\n"))
    piped = subprocess.run(
        [sys.executable, "-m", "cutline", "export", "--store", store, "--what", "arms"],
        capture_output=True, cwd=tmp_path, check=True,
    ).stdout.decode()  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(piped, newline="")))
    assert [row["arm"] for row in rows] == [f"'{EVIL}", f"'{EVIL}2", f"'{EVIL}3"]


def test_names_that_are_written_out_have_room(tmp_path):
    """A column was as wide as the names are, and not as what is printed for them."""
    for name, printed in (("a\u200db", "a\\u200db"), ("x\x1b]1m[", "x\\x1b]1m[")):
        words = f"run --store memory --arms '{name},c' --at-least 0.5 --budget 2 -- true"
        ran = subprocess.run(
            [sys.executable, "-m", "cutline", *shlex.split(words)],
            capture_output=True, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
        assert f"\n{printed}  undecided " in ran.stdout


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", ["run", "show", "run --check", "run --arms -"])
def test_closed_streams_lead_to_nowhere(tmp_path, words, closed):
    """It was a traceback, and an exit code that says nothing of the arms."""
    asked = " --arms a,b --at-least 0.5 --precision 0.3 --budget 60"
    line = f"{sys.executable} -m cutline "
    if words == "show":
        subprocess.run(f"{line}run {asked} -- true", shell=True, cwd=tmp_path, check=True)
        line += "show"
    else:
        line += words + (asked.replace("--arms a,b", "") if words.endswith("-") else asked)
        line += " -- sh -c 'echo out; echo err >&2'"
    ran = subprocess.run(
        f"{line} {closed}", shell=True, cwd=tmp_path, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in ran.stderr
    assert ran.returncode == (2 if words.endswith(" -") else 0)
    if words.endswith(" -") and "2>&-" not in closed:
        assert ran.stderr == "cutline: there are no arms in standard input\n"


def test_what_the_system_says_is_put_into_words(store):
    """It was "[Errno 28] No space left on device"."""
    for words in (f"show --store {store}", f"export --store {store}"):
        with open("/dev/full", "w") as full:
            ran = subprocess.run(
                [sys.executable, "-m", "cutline", *words.split()],
                stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            )  # fmt: skip
        said = "cutline: the output could not be written: No space left on device\n"
        assert (ran.returncode, ran.stderr) == (2, said)


def test_csv_of_show_keeps_names_apart(tmp_path):
    """What a terminal would obey was left out in a pipe, so that two names became one."""
    names = ["x\x1b[31mred", "xred"]
    problem = Problem(arms=names, threshold=0.5, rewards="binary")
    Campaign(problem, budget=9, store=str(tmp_path / "n.db")).close()
    for words in ("show --format csv", "list --format csv"):
        done = subprocess.run(
            [sys.executable, "-m", "cutline", *words.split(), "--store", "n.db"],
            capture_output=True, cwd=tmp_path, check=True,
        )  # fmt: skip
        rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
        if "arm" in rows[0]:
            assert [row["arm"] for row in rows] == names


def in_terminal(words, folder, columns=120):
    """All that a command writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cutline", *shlex.split(words)],
        cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "LINES": "30"},
    )  # fmt: skip
    os.close(theirs)
    found, until = b"", time.monotonic() + 60
    with contextlib.suppress(OSError):  # how a terminal ends
        while time.monotonic() < until:
            if select.select([ours], [], [], 0.1)[0]:
                some = os.read(ours, 65536)
                if not some:
                    break
                found += some
    process.kill()
    process.wait()
    os.close(ours)
    return found.decode()


def test_a_spreadsheet_finds_no_formula(store, tmp_path):
    from cutline.figures.text import as_csv

    rows = [{"arm": text, "mean": -0.5} for text in ("=1", "+1", "-1", "@x", "\tx", "\rx", "x=1")]
    cells = list(csv.reader(io.StringIO(as_csv(rows), newline="")))[1:]
    assert [cell[0][0] for cell in cells] == ["'"] * 6 + ["x"]
    assert {cell[1] for cell in cells} == {"-0.5"}
    for more, wanted in (("", "'" + EVIL), ("--raw", EVIL)):
        out = tmp_path / "p.csv"
        argv = [sys.executable, "-m", "cutline", "export", "--store", store, "--out", str(out)]
        subprocess.run([*argv, *more.split()], cwd=tmp_path, check=True)
        with out.open(newline="") as file:
            assert {row["note"] for row in csv.DictReader(file)} == {wanted}
    from cutline.campaign.looking import each_pull

    found = []
    with Campaign.open(store, EVIL) as campaign:
        each_pull(campaign, found.extend)
    assert {row["note"] for row in found} == {EVIL}  # what is kept is as it was told


def test_what_python_shows_is_visible_too(store, recwarn, capsys):
    campaign = Campaign.open(store, EVIL)
    for text in (str(campaign.verdict()), repr(campaign), repr(campaign.verdict())):
        assert not obeyed(text)
    with pytest.raises(Exception, match="no arm") as caught:
        campaign.resume(EVIL + "9")
    assert not obeyed(str(caught.value))

    def broken(arm):
        raise ValueError(EVIL)

    def partly(arm):
        return arm == EVIL or broken(arm)

    given = {"threshold": 0.5, "rewards": "binary", "unit": EVIL, "progress": True}
    with pytest.raises(NothingWorks) as nothing:
        identify(broken, [EVIL, EVIL + "2"], budget=20, **given)
    assert not obeyed(str(nothing.value))
    identify(partly, [EVIL, EVIL + "2"], budget=200, **given)
    assert "failures in a row" in str(recwarn.list[-1].message)
    assert not any(obeyed(str(each.message)) for each in recwarn.list)
    assert not obeyed(capsys.readouterr().err.replace("\r", ""))


def test_names_are_written_as_they_are_in_pictures(store):
    from cutline.figures.draw import plot

    ax = plot(Campaign.open(store, EVIL).verdict())
    labels = ax.get_yticklabels()
    assert any("$x$" in label.get_text() for label in labels)
    assert not any(label.get_parse_math() for label in labels)
    assert not any(obeyed(label.get_text()) for label in labels)


def test_commands_print_in_one_place_only():
    """click.echo and print are called in printing.py alone."""
    for path in sorted(FOLDER.rglob("*.py")):
        calls = [
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        ]
        names = {ast.unparse(call.func) for call in calls}
        if path.name != "printing.py":
            assert not names & {"click.echo", "print", "click.secho"}, path


def test_letters_of_all_languages_stay(store):
    assert visible("naïve 日本語 ±½ \\ 👍") == "naïve 日本語 ±½ \\ 👍"
    assert visible("a\tb\x00\ud800") == "a\\tb\\x00\\ud800"


def test_a_row_is_a_line_on_a_narrow_terminal(tmp_path):
    names = [f"tests/integration/test_something_rather_long.py::test_{i}" for i in range(3)]
    problem = Problem(arms=names, threshold=0.5, precision=0.1, rewards="binary")
    with Campaign(problem, budget=60, store=str(tmp_path / "n.db")) as campaign:
        campaign.attach(names[0], [1] * 30, unpicked=True)
    for columns in (100, 160):
        shown = in_terminal("show --store n.db", tmp_path, columns)
        rows = [line.rstrip() for line in shown.splitlines() if line.startswith("tests/")]
        assert len(rows) == 3
        assert max(map(len, rows)) <= columns
        assert ("…" in rows[0]) == (columns == 100)
