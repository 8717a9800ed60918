"""cutline list, show, export, audit, upgrade, delete: what they print, and what they refuse.

On a SQLite file; tests/campaign/test_looking.py runs them on a PostgreSQL server too.
"""

import contextlib
import csv
import io
import json
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from cutline import Problem
from cutline.campaign import Campaign
from cutline.campaign.looking import each_arm, each_pull
from cutline.campaign.stores import schema, sqlite
from cutline.cli import main
from cutline.core.bar import Bar

COMMAND = str(Path(sys.executable).with_name("cutline"))


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
    monkeypatch.delenv("CUTLINE_STORE", raising=False)

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


def coins(*names, **settings):
    return Problem(
        arms=names or ["heads", "edge", "tails"],
        **{"threshold": 0.5, "precision": 0.1, "rewards": "binary", **settings},
    )


MEANS = {"heads": [1], "edge": [1, 0], "tails": [0]}


def play(store="cutline.db", name="nightly", budget=60, problem=None, turns=999, **settings):
    """A campaign whose arms give 1, 1 and 0 in turn, or 0; some at a time."""
    size = max(10, budget // 50)
    with Campaign(problem or coins(), budget=budget, store=store, name=name, **settings) as played:
        for _ in range(turns):
            pulls = played.ask(size)
            if not pulls:
                break
            values = [MEANS.get(p.arm, [1])[p.number % len(MEANS.get(p.arm, [1]))] for p in pulls]
            notes = [f"trace {pull.arm}/{pull.number}" for pull in pulls]
            played.tell_many(zip(pulls, values, strict=True), notes=notes)
    return played


def change(statement, store="cutline.db"):
    """What somebody else might do to a store."""
    with contextlib.closing(apsw.Connection(store)) as connection:
        connection.execute(statement).fetchall()


def rows_of(each, campaign):
    found = []
    with campaign:
        each(campaign, found.extend)
    return found


def table(text):
    """The cells of a table, by its heads; cells are apart by two spaces or more."""
    heads, *lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return [dict(zip(heads, line, strict=True)) for line in lines]


def verdict_table(text):
    """The table inside what show prints: between the first empty line and the next."""
    return table(text.split("\n\n")[1])


# Which store, which campaign


def test_the_store_is_a_flag_then_the_environment_then_a_file_here(run, monkeypatch):
    play("cutline.db", "here")
    play("other.db", "there")
    play("third.db", "far")
    assert json.loads(run("list --format json").out)[0]["name"] == "here"
    monkeypatch.setenv("CUTLINE_STORE", "other.db")
    assert json.loads(run("list --format json").out)[0]["name"] == "there"
    assert json.loads(run("list --store third.db --format json").out)[0]["name"] == "far"
    assert "there is no campaign 'x' in other.db" in run("show --name x").err


@pytest.mark.parametrize("command", ["list", "show", "export", "audit", "delete", "upgrade"])
def test_looking_makes_no_store(run, command, tmp_path):
    ran = run(command)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("cutline: there is no store cutline.db: name a file or postgresql://")
    Path("empty.db").touch()
    words = f"{command} empty.db" if command == "upgrade" else f"{command} --store empty.db"
    assert "empty.db is empty" in run(words).err
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {"empty.db": 0}


@pytest.mark.parametrize("command", ["list", "show", "audit", "delete --name x --yes"])
def test_wrong_files_are_refused_in_one_sentence(run, command):
    Path("text.db").write_text("arm,reward\n" * 100)
    change("CREATE TABLE t (x)", "other.db")
    Path("folder").mkdir()
    for name, words in (
        ("text.db", "is not a store of cutline, nor any database"),
        ("other.db", "is a database of something else than cutline"),
        ("folder", "is a folder"),
        ("mysql://host/x", "a store is a file or postgresql://..."),
    ):
        ran = run(f"{command} --store {name}")
        assert (ran.code, ran.out) == (2, "")
        assert words in ran.err
        assert ran.err.count("\n") == 1
    assert Path("text.db").read_text() == "arm,reward\n" * 100


def test_the_name_may_be_left_out_where_there_is_one_campaign(run):
    play(name="nightly")
    assert run("show").out.startswith("nightly: ")
    play(name="weekly")
    ran = run("show")
    assert ran.code == 2
    assert ran.err == "cutline: say which campaign of cutline.db with --name: nightly, weekly\n"
    assert run("show --name weekly").out.startswith("weekly: ")
    ran = run("show --name dayly")
    assert ran.err == (
        "cutline: there is no campaign 'dayly' in cutline.db; it holds nightly, weekly\n"
    )
    play(name="bar 1, auto")  # a name as it would be typed: where it ends can be seen
    assert "it holds nightly, weekly, 'bar 1, auto'\n" in run("show --name bar").err


# list


def test_list_says_how_far_each_campaign_is(run):
    play(name="nightly", confidence=0.9, budget=500)
    play(name="weekly", budget=1234, turns=3)
    with Campaign.open("cutline.db", "weekly") as weekly:
        weekly.ask(2)
        weekly.pause()
    nightly, weekly = table(run("list").out)
    assert (nightly["campaign"], nightly["status"], nightly["arms"]) == ("nightly", "done", "3")
    assert re.fullmatch(r"\d\d\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC", nightly["created"])
    assert (weekly["status"], weekly["settled"], weekly["in flight"]) == ("paused", "-", "2")
    assert weekly["spent"] == "72 of 1,234"
    rows = json.loads(run("list --format json").out)
    assert [row["spent"] for row in rows] == [int(nightly["spent"].split()[0]), 72]
    assert rows[0]["settled"] == int(nightly["settled"])
    from_csv = list(csv.DictReader(io.StringIO(run("list --format csv").out)))
    assert [row["budget"] for row in from_csv] == ["500", "1234"]


def test_list_of_a_store_whose_campaigns_are_gone(run):
    play()
    assert run("delete --name nightly --yes").code == 0
    assert run("list").out == "there is no campaign in cutline.db\n"
    assert run("list --format json").out == "[]\n"
    assert run("show").err == "cutline: there is no campaign in cutline.db\n"


# show


def test_show_is_the_verdict_sorted_by_how_far_arms_are_above_the_bar(run):
    play(budget=90, problem=coins("tails", "heads", "edge"))
    verdict = Campaign.open("cutline.db", "nightly").verdict()
    ran = run("show")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("nightly: done; 90 of 90 pulls spent; rule auto\n")
    rows = verdict_table(ran.out)
    assert [row["arm"] for row in rows] == ["heads", "edge", "tails"]
    for row in rows:
        arm = verdict[row["arm"]]
        assert row["side"] == arm.side
        assert row["proven"] == (arm.proven or "undecided")
        assert row["mean"] == f"{arm.mean:.4g}"
        assert row["known"] == Bar(0.5).known(arm)
        assert (row["bar"], row["pulls"]) == ("0.5 ± 0.1", str(arm.pulls))
    assert set(rows[0]) == {"arm", "side", "proven", "mean", "known", "bar", "pulls"}
    assert f"at most {verdict.error_bound:.3g} (error bound)" in ran.out
    assert f"about {verdict.error_estimate:.3g} (a model's estimate, no guarantee)" in ran.out
    assert ran.out.endswith(f"assumes: {verdict.assumes}\n")
    # Against bars of their own: 1 - 0.9, 0.5 - 0.1, 0 - 0.5.
    rows = verdict_table(run("show --threshold 0.5,0.9,0.1").out)
    assert [row["arm"] for row in rows] == ["edge", "heads", "tails"]


def test_show_names_what_went_wrong_with_pulls(run):
    problem = coins("fine", "broken", "gone")
    with Campaign(problem, budget=99, store="cutline.db", patience=2) as campaign:
        campaign.retire("gone")
        while not campaign.suspended():
            pull = campaign.ask()
            if pull.arm == "broken":
                campaign.fail(pull, note="it\nbroke")
            else:
                campaign.tell(pull, 1)
        campaign.ask()
    out = run("show").out
    fine, broken = verdict_table(out)
    assert (fine["arm"], fine["failed"]) == ("fine", "0")
    assert int(fine["asked"]) == int(fine["told"]) + 1
    assert (broken["proven"], broken["side"]) == ("suspended", "unseen")
    assert "lost" not in fine
    run_of = f"{broken['failed']} failures in a row, where 0 % of the others' trials fail"
    assert f"suspended: broken, {run_of}; last: it broke\n" in out
    assert "cutline resume tries what is suspended again" in out
    ran = run("resume")
    assert ran.out.startswith("broken is tried again (it was suspended: ")
    assert run("resume").out == "campaign main is not paused, and no arm is suspended\n"
    assert run("resume --arm broken").out == "broken is tried again\n"
    assert run("resume --arm nobody").code == 2
    with Campaign.open("cutline.db") as campaign:
        campaign.pause()
    assert run("resume").out == "campaign main goes on\n"
    assert "retired, 1: gone (left out of the answer)" in out
    assert "2 arms at confidence 0.95" in out
    assert ", 1 in flight; " in out


def test_show_in_other_forms_holds_every_number(run):
    play(budget=90)
    verdict = Campaign.open("cutline.db", "nightly").verdict()
    told = json.loads(run("show --format json").out)
    assert (told["campaign"], told["status"], told["spent"]) == ("nightly", "done", 90)
    assert (told["error_bound"], told["guarantee"], told["what_if"]) == (
        verdict.error_bound,
        True,
        False,
    )
    columns = verdict.columns()
    for place, row in enumerate(told["arms"]):
        assert {name: row[name] for name in columns} == {n: v[place] for n, v in columns.items()}
        assert (row["threshold"], row["precision"]) == (0.5, 0.1)
    from_csv = list(csv.DictReader(io.StringIO(run("show --format csv").out)))
    assert [row["arm"] for row in from_csv] == ["heads", "edge", "tails"]
    assert [float(row["mean"]) for row in from_csv] == columns["mean"]


def test_an_arm_never_seen_has_no_mean_in_json(run):
    play(problem=coins("a", "b", rewards="gaussian"), turns=0)
    told = json.loads(run("show --format json").out)
    assert [(arm["mean"], arm["low"], arm["high"]) for arm in told["arms"]] == [(None,) * 3] * 2


def test_of_many_arms_the_least_settled_are_shown(run):
    names = [f"arm-{i}" for i in range(60)]
    with Campaign(coins(*names), budget=5000, store="cutline.db") as campaign:
        for i, name in enumerate(names):
            campaign.attach(name, [1] * (30 if i < 15 else 3), unpicked=True)
    out = run("show").out
    more = "... and 20 more arms (15 proven above, 5 undecided): --all lists them\n"
    assert more in out
    rows = verdict_table(out.replace(more, ""))
    assert len(rows) == 40
    assert {row["proven"] for row in rows} == {"undecided"}
    assert len(verdict_table(run("show --all").out)) == 60
    assert len(json.loads(run("show --format json").out)["arms"]) == 60


def test_show_at_another_confidence(run):
    with Campaign(coins("a"), budget=5000, store="cutline.db") as campaign:
        campaign.attach("a", [1] * 9, unpicked=True)
    assert verdict_table(run("show").out)[0]["proven"] == "above"
    assert verdict_table(run("show --confidence 0.99999").out)[0]["proven"] == "undecided"
    ran = run("show --confidence 2")
    assert ran.code == 2
    assert "confidence" in ran.err


def test_what_if_says_that_the_guarantee_is_lost(run):
    play(budget=90)
    ran = run("show --threshold 0.97")
    assert ran.code == 2
    assert "at most 0.03 makes sense" in ran.err  # the precision is still the campaign's
    ran = run("show --threshold 0.8")
    assert "What if mean against 0.8 ± 0.1: the same rewards, counted and weighed again" in ran.out
    assert "A bar chosen after looking loses the guarantee" in ran.out
    assert "assumes: no guarantee any more: " in ran.out
    assert [row["bar"] for row in verdict_table(ran.out)] == ["0.8 ± 0.1"] * 3
    told = json.loads(run("show --threshold 0.97 --precision 0.01 --format json").out)
    assert (told["guarantee"], told["what_if"]) == (False, True)
    assert told["arms"][0]["precision"] == 0.01
    assert "one per arm" in run("show --threshold 0.1,0.2").err
    assert "takes numbers with commas" in run("show --threshold high").err


def test_calls_of_which_few_are_false(run):
    play(budget=200)
    verdict = Campaign.open("cutline.db", "nightly").verdict()
    called = verdict.discoveries(0.05)
    assert called  # or it shows nothing
    out = run("show --rate 0.05").out
    assert {
        row["arm"]: row["called"] for row in verdict_table(out) if row["called"] != "-"
    } == called
    assert "called: 1 above, 1 below; of such calls at most the share 0.05 is false" in out
    told = json.loads(run("show --rate 0.05 --format json").out)
    assert {arm["arm"]: arm["called"] for arm in told["arms"] if arm["called"]} == called
    assert "rate must lie between 0 and 1" in run("show --rate 5").err


def test_pulls_lead_back_to_the_trial(run):
    with Campaign(coins("a b"), budget=9, store="cutline.db") as campaign:
        campaign.tell(campaign.ask(), 1, note="trace 17\n\x1b[31m" + "x" * 99)
        campaign.fail(campaign.ask(), note="exit code 3")
        flying = campaign.ask()
        campaign.attach("a b", [0])
    out = run("show --pulls 'a b'").out
    rows = table("".join(out.splitlines(keepends=True)[:3]))
    assert [row["state"] for row in rows] == ["told", "failed"]
    assert rows[0]["note"].startswith("trace 17 \\x1b[31mxxx")
    assert "\x1b" not in out
    assert rows[1]["note"] == "exit code 3"
    assert flying.id in out
    told = json.loads(run("show --pulls 'a b' --format json").out)
    assert [row["state"] for row in told] == ["told", "failed", "asked", "attached, not weighed"]
    assert told[0]["note"].endswith("x" * 99)
    from_csv = list(csv.DictReader(io.StringIO(run("show --pulls 'a b' --format csv").out)))
    assert from_csv[1]["note"] == "exit code 3"
    assert "there is no arm 'x'" in run("show --pulls x").err
    assert "leave --threshold" in run("show --pulls 'a b' --threshold 0.3").err


def test_the_picture_is_written(run, tmp_path):
    play(budget=90)
    assert run("show --plot arms.png").code == 0
    assert Path("arms.png").read_bytes()[:4] == b"\x89PNG"
    assert run("show --plot arms.svg --threshold 0.9").code == 0
    words = Path("arms.svg").read_text()
    assert "<svg" in words
    ran = run("show --plot arms.txt")
    assert (ran.code, ran.out) == (2, "")
    assert "what kind of picture" in ran.err


def test_a_file_that_cannot_be_written_can_be_shown(run, monkeypatch, tmp_path):
    play(budget=4000)  # more pulls than a look weighs without writing down what came of it
    verdict = run("show").out
    Path("cutline.db").chmod(0o444)
    may = os.access
    store = tmp_path / "cutline.db"

    def access(path, mode):  # root may do anything, so it is told here
        return may(path, mode) and not (mode == os.W_OK and Path(path).resolve() == store)

    monkeypatch.setattr(os, "access", access)
    before = store.read_bytes()
    assert run("show").out == verdict
    assert run("list").code == run("audit").code == run("export").code == 0
    ran = run("delete --name nightly --yes")
    assert ran.code == 2
    assert "cannot be written to: nothing was changed" in ran.err
    assert store.read_bytes() == before


def test_a_campaign_by_a_rule_that_is_gone_says_so(run, tmp_path):
    Path("mine.py").write_text(
        "from cutline import IndexRule\n"
        "class Mine(IndexRule):\n"
        "    @staticmethod\n"
        "    def formula(pulls): return pulls\n"
    )
    from cutline import parse_rule

    play(rule=parse_rule("./mine.py:Mine"), budget=20)
    assert run("show --rule ./mine.py:Mine").code == 0
    Path("mine.py").unlink()
    ran = run("show --rule ./mine.py:Mine")
    assert ran.code == 2
    assert "mine.py" in ran.err
    assert run("list").code == 0


# export


def exported_csv(text, types):
    kinds = {"int": int, "float": float, "str": str}
    return [
        {key: kinds[types[key].__name__](value) if value else None for key, value in row.items()}
        for row in csv.DictReader(io.StringIO(text))
    ]


@pytest.mark.parametrize("what", ["pulls", "arms"])
def test_exports_read_back_equal(run, what):
    from pyarrow import parquet

    from cutline.campaign import looking

    with Campaign(coins(), budget=99, store="cutline.db", patience=2) as campaign:
        for _ in range(20):
            pull = campaign.ask()
            if pull.arm == "tails":
                campaign.fail(pull, note='a "quoted", note\nof two lines')
            else:
                campaign.tell(pull, 1, note="ä → ß")
        campaign.ask()
    types = looking.PULL_COLUMNS if what == "pulls" else looking.ARM_COLUMNS
    wanted = rows_of(each_pull if what == "pulls" else each_arm, Campaign.open("cutline.db"))
    assert len(wanted) == (21 if what == "pulls" else 3)
    assert exported_csv(run(f"export --what {what}").out, types) == wanted
    lines = run(f"export --what {what} --format jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == wanted
    for ending in ("csv", "jsonl", "ndjson", "parquet"):
        ran = run(f"export --what {what} --out rows.{ending}")
        assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert exported_csv(Path("rows.csv").read_text(encoding="utf-8"), types) == wanted
    assert (
        Path("rows.jsonl").read_text() == Path("rows.ndjson").read_text() == "\n".join([*lines, ""])
    )
    read = parquet.read_table("rows.parquet")
    assert read.to_pylist() == wanted
    names = {"int": "int64", "float": "double", "str": "string"}
    assert {f.name: str(f.type) for f in read.schema} == {
        name: names[kind.__name__] for name, kind in types.items()
    }


def test_an_export_is_written_in_pieces(run, monkeypatch):
    from pyarrow import parquet

    from cutline.campaign import looking

    monkeypatch.setattr(looking.each_pull, "__defaults__", (16,))
    play(budget=60)
    assert run("export --out pulls.parquet").code == 0
    found = parquet.ParquetFile("pulls.parquet")
    assert [found.metadata.row_group(i).num_rows for i in range(4)] == [16, 16, 16, 12]


def test_an_export_that_breaks_off_leaves_the_file_as_it_was(run, monkeypatch, tmp_path):
    play(budget=60)
    Path("pulls.csv").write_text("before")

    def broken(campaign, take):
        take([])
        raise OSError("no space left")

    monkeypatch.setattr("cutline.campaign.looking.each_pull", broken)
    ran = run("export --out pulls.csv")
    assert (ran.code, ran.err) == (2, "cutline: no space left\n")
    assert Path("pulls.csv").read_text() == "before"
    assert not list(tmp_path.glob(".*"))


def test_parquet_without_pyarrow_says_what_to_install(run, monkeypatch, tmp_path):
    play(budget=20)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    ran = run("export --out pulls.parquet")
    assert ran.code == 2
    assert "pip install 'cutline[parquet]'" in ran.err
    assert not list(tmp_path.glob("*pulls*"))
    monkeypatch.undo()


def test_parquet_wants_a_file_and_a_folder_that_is_there(run):
    play(budget=20)
    assert "name one with --out" in run("export --format parquet").err
    assert "there is no folder nowhere" in run("export --out nowhere/pulls.csv").err


def test_a_reader_that_leaves_is_no_error(run, tmp_path):
    play(budget=3000)
    ours, theirs = os.pipe()
    os.close(ours)
    ran = subprocess.run([COMMAND, "export"], stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    assert (ran.returncode, ran.stderr) == (1, "")


# audit


def test_audit_says_what_was_replayed(run):
    play(budget=60)
    ran = run("audit")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "campaign 'nightly' in cutline.db: 120 events replayed, 60 pulls\nit holds\n"
    )


DAMAGE = {
    "a reward": ("UPDATE pull SET reward = 1 - reward WHERE seq = 3", "replay"),
    "a reward, and the tally": (
        "UPDATE pull SET reward = 1 - reward WHERE seq = 3;"
        "UPDATE arm SET total = total + 1 WHERE number = 0",
        "replay",
    ),
    "the arm of a pull": ("UPDATE pull SET arm = (arm + 1) % 3 WHERE seq = 3", "is of arm"),
    "an arm that is not there": ("UPDATE pull SET arm = 77 WHERE seq = 3", "fault"),
    "a priority": ("UPDATE arm SET priority = priority + 1 WHERE number = 0", "priority"),
    "a tally": ("UPDATE arm SET total = total + 1 WHERE number = 1", "total"),
    "evidence": ("UPDATE arm SET proof = x'0000000000000000' WHERE number = 1", "fault"),
    "a count": ("UPDATE arm SET told = told - 1 WHERE number = 1", "told is"),
    "what was spent": ("UPDATE campaign SET spent = spent - 5", "is what was spent"),
    "the budget": ("UPDATE campaign SET budget = 39", "40 spent and 0 reserved of 39"),
    "a threshold": ("UPDATE arm SET threshold = 0.55 WHERE number = 1", "fault"),
    "a pull that is gone": ("DELETE FROM pull WHERE seq = 7", "fault"),
    "an arm that is gone": ("DELETE FROM arm WHERE number = 2", "fault"),
    "the last arm's pulls": ("DELETE FROM pull WHERE arm = 2", "fault"),
    "a settled pull in flight again": ("UPDATE pull SET state = 0 WHERE seq = 9", "fault"),
    "an order of events": (
        "UPDATE pull SET settled = 1000 + settled WHERE seq = 5", "missing or numbered twice",
    ),
    "a state nobody knows": ("UPDATE pull SET state = 99 WHERE seq = 5", "fault"),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_audit_finds_what_was_changed(run, what):
    statement, words = DAMAGE[what]
    play(budget=60, turns=4)
    assert run("audit").code == 0
    change(statement)
    ran = run("audit")
    assert (ran.code, ran.err) == (1, "")
    assert words in ran.out
    assert "fault: " in ran.out
    assert ran.out.splitlines()[-1].startswith("it does not hold: ")


def test_a_damaged_file_is_an_error_in_one_sentence(run):
    play(budget=3000)
    data = bytearray(Path("cutline.db").read_bytes())
    for page in range(3, len(data) // 4096):
        data[4096 * page : 4096 * page + 64] = b"\xff" * 64
    Path("cutline.db").write_bytes(data)
    for command in ("audit", "export", "show"):
        ran = run(command)
        assert ran.code in (1, 2)
        assert "Traceback" not in ran.err
        assert ran.code == 1 or "is damaged" in ran.err


# upgrade


@pytest.fixture
def newer(monkeypatch):
    """A cutline of tomorrow, whose tables have a column more."""

    def become():
        had = schema.VERSION
        monkeypatch.setattr(schema, "VERSION", had + 1)
        monkeypatch.setitem(schema.MIGRATIONS, had, "ALTER TABLE event ADD COLUMN colour TEXT")

    return become


def test_upgrade_copies_and_migrates(run, newer):
    had = schema.VERSION
    copied = f"cutline.db.version-{had}"
    play(budget=30)
    wanted = run("show").out
    newer()
    ran = run("show")
    assert ran.code == 2
    assert "run 'cutline upgrade cutline.db' once" in ran.err
    ran = run("upgrade cutline.db")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"cutline.db was version {had} and is up to date now\nthe file as it was: {copied}\n"
    )
    assert run("show").out == wanted
    with contextlib.closing(apsw.Connection(copied)) as copy:
        assert copy.execute("PRAGMA user_version").get == had
        assert copy.execute("SELECT count(*) FROM pull").get == 30
    assert run("upgrade cutline.db").out == "cutline.db is up to date: nothing was to be done\n"


def test_there_is_nothing_to_do_and_no_copy_for_a_store_of_today(run, tmp_path):
    play(budget=30)
    ran = run("upgrade")
    assert (ran.code, ran.out) == (0, "cutline.db is up to date: nothing was to be done\n")
    assert [path.name for path in tmp_path.iterdir()] == ["cutline.db"]


def test_a_newer_store_is_refused_and_left_alone(run, tmp_path):
    play(budget=30)
    change("PRAGMA user_version = 7")
    before = Path("cutline.db").read_bytes()
    for command in ("list", "show", "upgrade cutline.db", "delete --name nightly --yes"):
        ran = run(command)
        assert ran.code == 2
        assert "was written by a newer cutline" in ran.err
    assert Path("cutline.db").read_bytes() == before
    assert not list(tmp_path.glob("*version*"))


def test_a_file_without_tables_cannot_be_upgraded(run):
    Path("text.db").write_text("hello " * 500)
    assert "is not a store of cutline" in run("upgrade text.db").err
    assert "there is no store gone.db" in run("upgrade gone.db").err


# delete


def test_delete_wants_to_be_sure(run):
    play(name="nightly")
    play(name="weekly")
    ran = run("delete --name nightly")
    assert ran.code == 2
    assert ran.err == (
        "cutline: deleting campaign 'nightly' is for good: say --yes where nobody can be asked\n"
    )
    assert "with --yes say which campaign" in run("delete --yes").err
    assert len(json.loads(run("list --format json").out)) == 2
    ran = run("delete --name nightly --yes")
    assert (ran.code, ran.out) == (0, "campaign 'nightly' was deleted from cutline.db\n")
    (left,) = json.loads(run("list --format json").out)
    assert left["name"] == "weekly"
    assert run("audit").code == 0
    with contextlib.closing(apsw.Connection("cutline.db")) as connection:
        for name in ("arm", "pull", "event"):
            count = connection.execute(f"SELECT count(DISTINCT campaign) FROM {name}").get
            assert count == (0 if name == "event" else 1)


def test_compacting_gives_the_room_back(run):
    play(budget=20_000, name="large")
    play(budget=20, name="small")
    large = Path("cutline.db").stat().st_size
    assert run("delete --name large --yes").code == 0
    kept = Path("cutline.db").stat().st_size
    assert kept > large / 2
    play(budget=20, name="third")
    assert run("delete --name third --yes --compact").code == 0
    assert Path("cutline.db").stat().st_size < large / 10
    assert run("audit").code == 0


def answer(words, said):
    """Run a command on a terminal, and type an answer when it asks."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *shlex.split(words)], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown, until = b"", time.monotonic() + 60
    try:
        while time.monotonic() < until:
            if not select.select([ours], [], [], 1)[0]:
                continue
            try:
                some = os.read(ours, 4096)
            except OSError:
                break
            if not some:
                break
            shown += some
            if said and b"[y/N]" in shown:
                os.write(ours, said.encode())
                said = ""
    finally:
        os.close(ours)
    return process.wait(60), shown.decode()


def test_on_a_terminal_it_asks_first(run):
    play(budget=60)
    code, shown = answer("delete", "n\n")
    assert code == 130
    assert "Delete campaign 'nightly' in cutline.db, 3 arms and 60 pulls, for good? [y/N]" in shown
    assert len(json.loads(run("list --format json").out)) == 1
    code, shown = answer("delete", "y\n")
    assert code == 0
    assert "was deleted" in shown
    assert run("list --format json").out == "[]\n"


def test_a_store_is_let_go_of(run, monkeypatch):
    """No log is left beside the file, so that it can be copied as it is."""
    play(budget=30)
    released = []
    real = sqlite.SQLiteStore.release

    def release(store):
        real(store)
        released.append(Path("cutline.db-wal").exists())

    monkeypatch.setattr(sqlite.SQLiteStore, "release", release)
    for command in ("list", "show", "audit", "export", "show --name x"):
        released.clear()
        run(command)
        assert released == [False], command


def test_a_network_file_system_is_refused(run, monkeypatch, tmp_path):
    play(budget=30)
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nhost:/b {tmp_path} nfs4 rw 0 0\n")
    real = sqlite.refuse_network
    monkeypatch.setattr(sqlite, "refuse_network", lambda path: real(path, str(mounts)))
    ran = run("show")
    assert ran.code == 2
    assert "lies on a network file system (nfs4)" in ran.err


# What is not what it looks like


@pytest.mark.parametrize("command", ["list", "show", "export", "audit", "delete --yes --name x"])
def test_names_that_only_sqlite_knows_are_refused(run, command, tmp_path):
    for name in (":memory:", "file:x.db?mode=memory"):
        ran = run(f"{command} --store '{name}'")
        assert (ran.code, ran.out) == (2, "")
        assert 'give "memory" (or None in Python)' in ran.err
    assert "memory keeps nothing" in run(f"{command} --store memory").err
    assert not list(tmp_path.iterdir())


def test_a_store_in_memory_goes_by_its_name_in_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="SQLite's own names"):
        Campaign(coins(), budget=9, store=":memory:")
    assert Campaign(coins(), budget=9, store="memory").store.where == "memory"
    assert not list(tmp_path.iterdir())


def test_an_export_is_what_its_name_says(run):
    play()
    ran = run("export --out p.xlsx")
    assert ran.code == 2
    assert "use --out FILE.csv, which spreadsheets open" in ran.err
    assert "says no format that can be written" in run("export --out p.dat").err
    assert "are two formats: give one" in run("export --out p.csv --format jsonl").err
    assert "cutline.db is the store itself" in run("export --out cutline.db --format csv").err
    assert run("export --out p.dat --format csv").code == 0
    assert run("export --out pulls").code == 0
    assert Path("pulls").read_text() == Path("p.dat").read_text() == run("export").out
    assert run("audit").code == 0
