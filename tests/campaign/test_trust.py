"""What a store says is data: it is never followed to code."""

import json

import apsw
import pytest
from click.testing import CliRunner

from cutline import Problem
from cutline.campaign import Campaign, DifferentCampaign, RuleNeeded, audit
from cutline.cli.main import cli
from cutline.rules import parse_rule

pytestmark = pytest.mark.usefixtures("releases")

RULE = """
import os, pathlib
pathlib.Path(__file__).with_name("ran").touch()
from dataclasses import dataclass
from cutline.rules import IndexRule

@dataclass(frozen=True)
class Mine(IndexRule):
    weight: float = 1.0

    @staticmethod
    def formula(pulls, weight):
        return weight * pulls

class Other(IndexRule):
    @staticmethod
    def formula(pulls):
        return -pulls
"""


@pytest.fixture
def mine(tmp_path):
    """A rule in a file, which leaves a trace where it is run."""
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "mine.py").write_text(RULE)
    return folder / "mine.py"


def ran(mine):
    """Whether the file was run since we last looked."""
    trace = mine.with_name("ran")
    found = trace.exists()
    trace.unlink(missing_ok=True)
    return found


def play(campaign):
    for _ in range(5):
        campaign.tell_many([(trial, i % 2) for i, trial in enumerate(campaign.ask(4))])


@pytest.fixture
def store(tmp_path, mine):
    """A store whose campaign is played by that rule."""
    problem = Problem(arms=["a", "b"], threshold=0.5, precision=0.1, rewards="binary")
    file = str(tmp_path / "store.db")
    with Campaign(problem, f"{mine}:Mine:0.5", store=file, budget=30) as campaign:
        play(campaign)
    assert ran(mine)
    return file


def cutline(*words):
    """What a command gives."""
    done = CliRunner().invoke(cli, [*map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, " ".join(done.stderr.split())


@pytest.mark.parametrize("command", ["show", "audit", "show --format json", "show --threshold 0.6"])
def test_a_command_does_not_run_the_code_that_a_store_names(store, mine, command):
    code, out, err = cutline(*command.split(), "--store", store)
    assert not ran(mine)
    assert (code, out) == (2, "")
    assert "--rule ./mine.py:Mine:0.5" in err


@pytest.mark.parametrize(
    "command", ["list", "export", "export --what arms", "export --format jsonl", "show --pulls a"]
)
def test_what_needs_no_rule_works_without_it(store, mine, command):
    code, out, err = cutline(*command.split(), "--store", store)
    assert not ran(mine)
    assert (code, err) == (0, "")
    assert out


def test_the_rule_is_handed_in_from_wherever_it_lies(store, mine, tmp_path):
    elsewhere = tmp_path / "other.py"
    elsewhere.write_text(mine.read_text())
    for file in (mine, elsewhere):
        code, out, err = cutline("audit", "--store", store, "--rule", f"{file}:Mine:0.5")
        assert (code, err) == (0, "")
        assert "it holds" in out
        assert cutline("show", "--store", store, "--rule", f"{file}:Mine:0.5")[0] == 0
        with Campaign.open(store, rule=f"{file}:Mine:0.5") as campaign:
            assert audit(campaign).holds
    problem = Problem(arms=["a", "b"], threshold=0.5, precision=0.1, rewards="binary")
    with Campaign(problem, f"{elsewhere}:Mine:0.5", store=store, budget=30) as campaign:
        assert campaign.spent == 20  # the same one, taken up


@pytest.mark.parametrize("other", ["Mine:0.6", "Other", "Mine:0.5:precision=0.1", None])
def test_another_rule_than_the_store_says_is_refused(store, mine, other):
    given = "apt" if other is None else f"{mine}:{other}"
    code, _, err = cutline("audit", "--store", store, "--rule", given)
    assert code == 2
    assert f"is played by {mine}:Mine:0.5, not by " in err
    with pytest.raises(DifferentCampaign):
        Campaign.open(store, rule=given)


def test_a_campaign_that_lacks_its_rule_counts_and_says_what_to_hand_in(store, mine):
    with Campaign.open(store) as campaign:
        assert (campaign.spent, campaign.budget, campaign.in_flight) == (20, 30, 0)
        assert (campaign.status, campaign.confidence) == ("running", None)
        for move in (campaign.ask, campaign.verdict, lambda: campaign.add("c"), campaign.pause):
            with pytest.raises(RuleNeeded, match=r"Mine:0\.5"):
                move()
    assert not ran(mine)


def spoil(file, **settings):
    """Change what a store says of its campaign."""
    db = apsw.Connection(file)
    ((text,),) = db.execute("SELECT settings FROM campaign").fetchall()
    db.execute("UPDATE campaign SET settings = ?", [json.dumps({**json.loads(text), **settings})])
    db.close()


@pytest.mark.parametrize("rule", ["{mine}:Mine", "../rules/mine.py:Mine", ":Mine", "", 7, None])
def test_whatever_a_store_names_is_not_followed(tmp_path, mine, rule):
    problem = Problem(arms=["a", "b"], threshold=0.5, precision=0.1, rewards="binary")
    file = str(tmp_path / "other.db")
    with Campaign(problem, store=file, budget=30) as campaign:
        play(campaign)
    spoil(file, rule=rule.format(mine=mine) if isinstance(rule, str) else rule)
    for command in ("list", "show", "audit", "export"):
        code, _, err = cutline(command, "--store", file)
        assert code == (0 if command in ("list", "export") else 2), err
    assert not ran(mine)
    with pytest.raises(DifferentCampaign, match="rule"):
        Campaign(problem, store=file, budget=30)


EVIL = "__import__('pathlib').Path('{trace}').touch()"


@pytest.mark.parametrize(
    "settings",
    [
        {"rewards": {"kind": "bounded", "low": EVIL, "high": 1}},
        {"rewards": {"kind": "bounded", "low": [EVIL], "high": 1}},
        {"rewards": {"kind": EVIL}},
        {"numbers": {EVIL: 1.0, "arms": EVIL}},
        {"rule": f"apt:precision={EVIL}"},
        {"rule": f"auto:{EVIL}"},
        {"levels": EVIL},
        {"uneven": EVIL},
        {"lost": EVIL},
        {"bar": EVIL},
        {"about": {EVIL: EVIL}},
    ],
)
def test_no_setting_becomes_code(tmp_path, mine, settings):
    problem = Problem(arms=["a", "b"], threshold=0.5, precision=0.1, rewards="bounded")
    file, trace = str(tmp_path / "other.db"), mine.with_name("ran")
    with Campaign(problem, store=file, budget=30) as campaign:
        play(campaign)
    spoil(file, **json.loads(json.dumps(settings).replace("{trace}", str(trace))))
    for command in ("list", "show", "audit", "export", "export --what arms"):
        cutline(*command.split(), "--store", file)
    assert not trace.exists()


def test_a_rule_from_a_file_keeps_its_class_and_settings_in_the_store(mine):
    assert parse_rule(f"{mine}:Mine:0.5").spec == f"{mine}:Mine:0.5"
