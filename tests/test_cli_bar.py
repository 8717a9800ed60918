"""A bar is spoken of as it was put: --at-least, --at-most and --threshold in every command."""

import contextlib
import csv
import io
import json
import re
import shlex
import sys
from dataclasses import dataclass

import apsw
import pytest

from cutline import Problem
from cutline.campaign import Campaign, DifferentCampaign, audit
from cutline.cli import main
from cutline.core.bar import Bar, less_from_one

# Of 200 trials "flaky" fails 20, and "steady" none.
FLAKY = ["sh", "-c", "case {arm}$CUTLINE_PULL in flaky*5) exit 1;; esac"]
ASKED = "run --arms flaky,steady --budget 200 --workers 1 --precision 0.02"


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUTLINE_STORE", raising=False)

    def run(words, command=()):
        argv = ["cutline", *shlex.split(words), *(["--", *command] if command else [])]
        monkeypatch.setattr(sys, "argv", argv)
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run


def row_of(text, arm):
    (line,) = (line for line in text.splitlines() if line.startswith(f"{arm} "))
    return re.split(r"\s{2,}", line)


# What is kept.


def test_one_less_a_number_is_what_one_would_write():
    assert [less_from_one(x) for x in (0.01, 0.9, 0.97, 1e-15, 0.0)] == [
        0.99, 0.1, 0.03, 0.999999999999999, 1.0,
    ]  # fmt: skip
    assert str(less_from_one(1.0)) == "0.0"
    with pytest.raises(ValueError, match="cannot be told from 0"):
        Bar.put("at most", 1e-17, 0.0, "binary")


def test_a_campaign_keeps_the_bar_as_it_was_put(run):
    run(f"{ASKED} --at-most 0.07", FLAKY)
    campaign = Campaign.open("cutline.db")
    assert campaign.bar == Bar(0.07, 0.02, "at most", "failure rate", flipped=True)
    assert set(campaign.problem.threshold) == {0.93}
    assert audit(campaign).holds
    again = run(f"{ASKED} --at-least 0.93", FLAKY)  # the same threshold, another question
    assert again.code == 2
    assert "the bar was failure rate at most 0.07 and is now pass rate at least 0.93" in again.err
    assert run(f"{ASKED} --at-most 0.07", FLAKY).code == 3


def test_a_bar_must_be_the_problems():
    problem = Problem(arms=["a"], threshold=0.9, rewards="binary")
    with pytest.raises(ValueError, match="the problem has others"):
        Campaign(problem, budget=9, bar=Bar.put("at most", 0.2, 0.0, "binary"))
    assert Campaign(problem, budget=9).bar == Bar(0.9)
    assert Campaign(problem, budget=9, bar=Bar.put("at most", 0.1, 0.0, "binary")).bar.flipped


def test_a_campaign_from_before_is_a_plain_threshold(run):
    """Its store does not say how the bar was put; the same command goes on with it."""
    run(f"{ASKED} --at-most 0.07", FLAKY)
    campaign = Campaign.open("cutline.db")
    with campaign.store.begin("main", "agree") as t:
        t.head.settings = {k: v for k, v in t.head.settings.items() if k != "asked"}
    assert campaign.bar == Bar(0.93, 0.02)
    assert row_of(run("show").out, "flaky")[5] == "0.93 ± 0.02"
    assert "failures" in run("show --at-most 0.07").out
    assert "going on with campaign" in run(f"{ASKED} --at-most 0.07", FLAKY).err


def test_an_audit_sees_a_bar_that_was_changed(run):
    run(f"{ASKED} --at-most 0.07", FLAKY)
    campaign = Campaign.open("cutline.db")
    with campaign.store.begin("main", "agree") as t:
        t.head.settings = {**t.head.settings, "asked": {**t.head.settings["asked"], "value": 0.5}}
    assert any("the bar as it was put" in fault for fault in audit(campaign).faults)


@pytest.mark.parametrize(
    "kept",
    [
        {},
        [],
        "x",
        {"sense": "\x1b[31m", "value": 0.07, "measure": "failure rate", "flipped": True},
        {"sense": "at most", "value": "x", "measure": "failure rate", "flipped": True},
        {"sense": "at most", "value": 0.07, "measure": "\x1b[31m", "flipped": True},
    ],
)
def test_a_bar_that_is_damaged_is_one_sentence(run, kept):
    run(f"{ASKED} --at-most 0.07", FLAKY)
    with contextlib.closing(apsw.Connection("cutline.db")) as db:
        ((text,),) = db.execute("SELECT settings FROM campaign").fetchall()
        changed = json.dumps({**json.loads(text), "asked": kept})
        db.execute("UPDATE campaign SET settings = ?", (changed,))
    for command in ("show", "show --format json", "show --at-most 0.1"):
        ran = run(command)
        assert (ran.code, ran.out) == (2, "")
        assert "the bar that the campaign keeps is damaged" in ran.err
        assert ran.err.count("\n") == 1
        assert "\x1b" not in ran.err
    assert run("audit").code == 1
    assert run(f"{ASKED} --at-most 0.07", FLAKY).code == 2


# What is shown.


def test_show_speaks_of_failures_after_at_most(run):
    ran = run(f"{ASKED} --at-most 0.07", FLAKY)
    said = row_of(ran.out, "flaky")
    out = run("show").out
    heads = re.split(r"\s{2,}", out.split("\n\n")[1].splitlines()[0])
    assert heads[:7] == ["arm", "so far", "verdict", "failures", "known", "bar", "pulls"]
    shown = dict(zip(heads, row_of(out, "flaky"), strict=False))
    assert (shown["so far"], shown["verdict"], shown["bar"]) == ("fails", said[1], "0.07 ± 0.02")
    assert (shown["failures"], shown["known"]) == (said[2], said[3])
    assert 0.08 < float(shown["failures"]) < 0.12
    assert "(failure rate at most 0.07 ± 0.02)" in out
    assert "0.93" not in out
    assert row_of(out, "steady")[3] == "0"
    assert "-0" not in out


def test_run_and_show_print_one_shape_of_json(run):
    for name, bar in (("a", "--at-most 0.07"), ("b", "--at-least 0.93"), ("c", "--threshold 0.93")):
        ran = run(f"{ASKED} --name {name} {bar} --format json", FLAKY).json
        assert run(f"show --name {name} --format json").json == ran
    a, b, c = (run(f"show --name {name} --format json").json for name in "abc")
    assert (a["measure"], a["wanted"], a["threshold"]) == ("failure rate", "at most", 0.07)
    assert (b["measure"], b["wanted"], b["threshold"]) == ("pass rate", "at least", 0.93)
    assert (c["measure"], c["wanted"], c["threshold"]) == ("pass rate", None, 0.93)
    assert a.keys() == b.keys() == c.keys()
    for mine, other in zip(a["arms"], b["arms"], strict=True):  # the same trials, mirrored
        assert mine["mean"] == less_from_one(other["mean"])
        assert (mine["low"], mine["high"]) == tuple(
            map(less_from_one, (other["high"], other["low"]))
        )
        assert mine["side"] == {"above": "below", "below": "above"}[other["side"]]
        assert (mine["log_above"], mine["log_below"]) == (other["log_below"], other["log_above"])
        assert (mine["verdict"], mine["p_value"]) == (other["verdict"], other["p_value"])
        assert mine["low"] <= mine["mean"] <= mine["high"]
    rows = list(csv.DictReader(io.StringIO(run("show --name a --format csv").out)))
    assert [float(row["mean"]) for row in rows] == [arm["mean"] for arm in a["arms"]]
    assert {row["threshold"] for row in rows} == {"0.07"}


def test_the_picture_is_of_failures(run):
    from cutline.figures.draw import plot

    run(f"{ASKED} --at-most 0.07", FLAKY)
    assert run("show --plot flaky.svg").code == 0
    campaign = Campaign.open("cutline.db")
    ax = plot(campaign.verdict(), bar=campaign.bar)
    assert ax.get_xlabel() == "failure rate"
    assert any(list(line.get_xdata()) == [0.07, 0.07] for line in ax.lines)
    assert "the bar, 0.07" in [str(line.get_label()) for line in ax.lines]
    assert plot(campaign.verdict()).get_xlabel() == "mean"


def test_what_if_is_taken_in_the_campaigns_own_sense(run):
    run(f"{ASKED} --at-most 0.07", FLAKY)
    out = run("show --at-most 0.5 --precision 0.1").out
    assert "What if failure rate at most 0.5 ± 0.1: the same rewards" in out
    assert row_of(out, "flaky")[2] == "clears the bar"
    assert row_of(run("show --at-least 0.5 --precision 0.1").out, "flaky")[2] == "clears the bar"
    told = run("show --at-most 0.5,0.05 --format json").json
    assert (told["what_if"], told["threshold"]) == (True, [0.5, 0.05])
    refused = run("show --threshold 0.05")
    assert refused.code == 2
    assert refused.err == (
        "cutline: this campaign was asked with a failure rate at most 0.07 ± 0.02: give --at-most "
        "0.05 for the share that may fail, or --at-least for the share that should pass\n"
    )
    assert "two ways to give one bar" in run("show --at-most 0.1 --at-least 0.9").err
    assert "a rate, from 0 to 1" in run("show --at-most 5").err
    assert "finite" in run("show --at-most nan").err


def test_where_a_one_may_be_a_failure_nothing_is_guessed(run):
    """Made in Python, a reward of 1 may be a pass or a failure."""
    problem = Problem(arms=["a", "b"], threshold=0.05, precision=0.02, rewards="binary")
    with Campaign(problem, budget=9, store="cutline.db", name="plain"):
        pass
    put = Bar(0.05, 0.02, "at most", "failure rate")
    with Campaign(problem, budget=9, store="cutline.db", name="put", bar=put) as campaign:
        campaign.attach("a", [1] * 30, unpicked=True)
        campaign.attach("b", [0] * 300, unpicked=True)
    assert "does not say whether" in run("show --name plain --at-most 0.1").err
    assert run("show --name plain --threshold 0.1").code == 0
    out = run("show --name put").out
    assert row_of(out, "a")[1:4] == ["fails", "fails the bar", "1"]
    assert row_of(out, "b")[1:4] == ["clears", "clears the bar", "0"]
    assert out.index("\nb ") < out.index("\na ")  # the furthest on the wanted side come first
    out = run("show --name put --at-least 0.9 --precision 0.05").out  # of passes
    assert row_of(out, "b")[2:4] == ["clears the bar", "1"]


def test_other_rewards_than_binary_are_as_they_are(run):
    words = "run --arms 1,9 --budget 60 --reward stdout --rewards poisson --precision 1"
    run(f"{words} --at-most 4", ["echo", "{arm}"])
    told = run("show --format json").json
    assert (told["bar"], told["measure"], told["threshold"]) == ("mean below 4 ± 1", "mean", 4)
    assert [arm["mean"] for arm in told["arms"]] == [1, 9]
    assert [arm["verdict"] for arm in told["arms"]] == ["clears the bar", "fails the bar"]
    assert run("show --threshold 5").code == 0  # the same measure: no two readings
    stored = Campaign.open("cutline.db")
    other = {"bar": Bar.put("at least", 4, 1, "poisson"), "budget": 60, "store": "cutline.db"}
    with pytest.raises(DifferentCampaign, match="the bar was mean below 4 and is now"):
        Campaign(stored.problem, about=stored.access.head().settings["about"], **other)


# Before any trial.


def test_plan_takes_failure_rates_with_at_most(run):
    """The same plan as of the pass rates, said in failures."""
    small = "--precision 0.02 --error 0.2 --no-relax"
    ran = run(f"plan --means 0.01,0.2 --at-most 0.1 {small}")
    assert ran.out.splitlines()[:2] == [
        "Assumed: 2 arms with guessed failure rates, 0.01 to 0.2",
        "Bar:     failure rate at most 0.1, precision 0.02, binary rewards",
    ]
    told = run(f"plan --means 0.01,0.2 --at-most 0.1 {small} --format json").json
    same = run(f"plan --means 0.99,0.8 --at-least 0.9 {small} --format json").json
    assert told["rules"] == same["rules"]
    assert (told["measure"], told["wanted"], told["threshold"]) == ("failure rate", "at most", 0.1)
    assert (same["measure"], same["wanted"], same["threshold"]) == ("pass rate", "at least", 0.9)
    assert "one of --at-least" in run(f"plan --means 0.1,0.2 {small}").err


def test_the_share_of_at_most_misses_the_bar(run):
    """One arm in five fails more often than 10 % of the time, and not four of five."""
    words = "plan --arms 10 --share 0.2 --precision 0.05 --error 0.3 --no-relax"
    out = run(f"{words} --at-most 0.1").out
    assert "about 20 % above 0.1;\n         failure rates normal in log-odds" in out
    from cutline.simulation.planning import as_passes, share_above

    passes = as_passes(share_above(0.2, arms=10, threshold=0.1)).sets
    assert float((passes < 0.9).mean()) == 0.2


def test_past_rates_are_of_failures_with_at_most(run, tmp_path):
    from cutline.simulation.planning import past_rates

    (tmp_path / "rates.csv").write_text("arm,rate\na,0.01\nb,0.2\n")
    (tmp_path / "trials.csv").write_text("arm,reward,times\na,1,99\na,0,1\nb,1,4\nb,0,1\n")
    for name in ("rates.csv", "trials.csv"):
        assert sorted(past_rates(name, failures=True)) == [0.01, 0.2]
        out = run(f"plan --like {name} --at-most 0.1 --error 0.3 --no-relax").out
        assert "failure rates 0.01 to 0.2" in out


def test_simulate_and_theory_take_failure_rates_with_at_most(run, tmp_path):
    games = "--precision 0.02 --budget 60 --games 200 --rules apt --format json"
    told = run(f"simulate --means 0.01,0.2 --at-most 0.1 {games}").json
    assert told == run(f"simulate --means 0.99,0.8 --at-least 0.9 {games}").json
    assert told == run(f"simulate --means 0.99,0.8 --threshold 0.9 {games}").json
    assert run("theory --means 0.01,0.2 --at-most 0.1 --precision 0.02 --games 0").code in (0, 2)
    (tmp_path / "spec.toml").write_text('means = [0.01, 0.2]\n"at-most" = 0.1\n')
    assert run(f"simulate spec.toml {games}").json == told
    assert run(f"simulate spec.toml --threshold 0.5 {games}").code == 0  # a flag wins over it
    assert "give --threshold" in run("simulate --data flaky_tests --at-most 0.05").err
    words = "--means 1,2 --arms gaussian --sd 1 --budget 9 --games 9 --rules apt"
    assert run(f"simulate {words} --at-most 1.5").code == 0  # the mean, as it is


# Bars at the end of a rate, and bands past it


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--at-most 0.01 --precision 0.02 --budget 9", "around --at-most 0.01 reaches past 0"),
        ("--at-least 0.95 --precision 0.1 --budget 9", "at most 0.05 makes sense there"),
        ("--at-most 0 --confidence 0.9", "ask --at-most 0.005 --precision 0.005: one failure"),
        ("--at-least 1 --confidence 0.9", "ask --at-least 0.995 --precision 0.005: one failure"),
        ("--threshold 1 --confidence 0.9", "ask threshold=0.995, precision=0.005"),
    ],
)
def test_bands_past_the_end_and_bars_without_an_end_are_refused(run, words, said):
    for line in (f"run --arms a,b {words}", f"simulate --means 0.1,0.2 --games 9 {words}"):
        ran = run(line, ["true"] if line.startswith("run") else ())
        assert (ran.code, ran.out) == (2, "")
        assert said in ran.err


def test_at_most_0_spends_its_budget_on_arms_that_have_not_failed(run):
    fails = ["sh", "-c", "test {arm} = never"]
    ran = run(
        "run --arms never,once,other --at-most 0 --budget 30 --workers 1 --format json", fails
    )
    pulls = {arm["arm"]: arm["pulls"] for arm in ran.json["arms"]}
    assert pulls == {"never": 28, "once": 1, "other": 1}
    assert "-0" not in re.sub(r"e-\d+", "", ran.out)
    assert "Infinity" not in ran.out
