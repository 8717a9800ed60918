"""Looking into a campaign: rows of pulls and arms, and the answer for another bar, exactly."""

import csv
import io
import json
import random
import shlex
import sys
from pathlib import Path

import pytest

from cutline import APT, Problem, Rewards
from cutline.campaign import Campaign, UnknownArm, audit
from cutline.campaign.looking import (
    ARM_COLUMNS,
    PULL_COLUMNS,
    each_arm,
    each_pull,
    head_row,
    pulls_of,
    what_if,
)
from cutline.cli import main

NUMBERS = ("side", "proven", "p_value", "pulls", "mean", "low", "high", "log_above", "log_below")

# The kind of reward, a bar, another one, and a draw of arm 0, 1 or 2.
KINDS = {
    "binary": ("binary", 0.5, 0.6, lambda rng, arm: float(rng.random() < 0.3 + 0.2 * arm)),
    "bounded": ("bounded", 0.5, 0.45, lambda rng, arm: rng.betavariate(1 + arm, 2)),
    "gaussian": ("gaussian", 0.0, 0.3, lambda rng, arm: rng.gauss(arm - 1, 1)),
    "known noise": (Rewards("gaussian", sd=1.0), 1e6, 1e6 - 0.3, lambda rng, _: rng.gauss(1e6, 1)),
    "poisson": ("poisson", 3.0, 2.5, lambda rng, arm: float(rng.randrange(2 * arm + 3))),
    "exponential": ("exponential", 1.0, 1.4, lambda rng, arm: rng.expovariate(1 / (arm + 1))),
    "heavy": (Rewards("heavy", variance=4.0), 0.0, 0.5, lambda rng, arm: rng.gauss(arm - 1, 2)),
    "no promise": ("heavy", 0.0, 0.5, lambda rng, arm: rng.gauss(arm - 1, 2)),
}  # fmt: skip


def rows_of(each, campaign, **options):
    found = []
    each(campaign, found.extend, **options)
    return found


def answers(verdict):
    return [tuple(getattr(arm, name) for name in NUMBERS) for arm in verdict.arms]


def asked_for(campaign):
    """The rewards that count of every arm, in the order asked for."""
    found = {}
    for row in rows_of(each_pull, campaign):
        if row["reward"] is not None:
            found.setdefault(row["arm"], []).append(row["reward"])
    return found


# What if


@pytest.mark.parametrize("kind", KINDS)
def test_what_if_is_a_fresh_campaign_with_that_bar_and_the_same_rewards(store, kind):
    rewards, bar, other, draw = KINDS[kind]
    rng = random.Random(kind)

    def problem(threshold):
        return Problem(arms=["a", "b", "c"], threshold=threshold, precision=0.1, rewards=rewards)

    campaign = Campaign(problem(bar), budget=120, store=store, name="one")
    while pulls := campaign.ask(10):
        campaign.tell_many([(pull, draw(rng, "abc".index(pull.arm))) for pull in pulls])
    fresh = Campaign(problem(other), budget=120)
    for arm, values in asked_for(campaign).items():
        fresh.attach(arm, values, unpicked=True)
    found = what_if(campaign, threshold=other)
    assert answers(found) == answers(fresh.verdict())
    assert answers(found) != answers(campaign.verdict())  # or it shows nothing
    assert found.problem.threshold == (other,) * 3
    assert audit(campaign).holds  # looking changed nothing


def test_the_own_bar_gives_the_own_verdict_and_keeps_the_promise(store, clock):
    campaign = eventful(store, clock)
    verdict, again = campaign.verdict(), what_if(campaign, threshold=0.5, precision=0.1)
    assert answers(again) == answers(verdict)
    assert [arm.counts for arm in again.arms] == [arm.counts for arm in verdict.arms]
    assert [arm.status for arm in again.arms] == [arm.status for arm in verdict.arms]
    assert (again.broken, again.assumes) == (None, verdict.assumes)
    assert (again.confidence, again.error_bound) == (verdict.confidence, verdict.error_bound)


def test_a_bar_chosen_after_looking_loses_the_guarantee_and_the_verdict_says_so(store):
    campaign = Campaign(Problem(arms=2, threshold=0.5, rewards="binary"), budget=9, store=store)
    found = what_if(campaign, threshold=0.6)
    assert found.assumes.startswith("no guarantee any more: ")
    assert "chosen after looking" in found.assumes
    assert "chosen after looking" in what_if(campaign, precision=0.2).assumes
    campaign.add("more")
    assert "arms were added" in what_if(campaign, threshold=0.6).assumes


def eventful(store, clock, confidence=None):
    """A campaign in which pulls come out of turn, fail, get lost, come late, and arms change."""
    problem = Problem(arms=["a", "b", "c", "d"], threshold=0.5, precision=0.1, rewards="binary")
    campaign = Campaign(
        problem, budget=300, confidence=confidence, store=store, declared=5, lease=100.0, patience=3
    )
    rng = random.Random(4)
    lost = []
    for turn in range(40):
        pulls = list(campaign.ask(6))
        rng.shuffle(pulls)
        for pull in pulls:
            draw = rng.random()
            if draw < 0.1:
                lost.append(pull)
            elif draw < 0.2 and pull.arm != "c":
                campaign.fail(pull, note="broke")
            else:
                campaign.tell(pull, int(rng.random() < "abcde".index(pull.arm) / 4), note="x")
        if turn % 5 == 4:
            clock.pass_(101.0)
            campaign.ask()  # what was lost is given up
            while len(lost) > 2:
                campaign.tell(lost.pop(rng.randrange(len(lost))), rng.randrange(2))
        if turn == 9:
            campaign.attach("a", [1, 0, 1], unpicked=True)
            campaign.attach("b", [1, 1, 1])
            campaign.add("e")
        if turn == 20:
            campaign.retire("d")
    return campaign


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_pulls_out_of_turn_and_late_ones_are_weighed_as_they_were(store, clock, confidence):
    campaign = eventful(store, clock, confidence)
    kinds = {event.kind for event in looked(campaign, lambda t: t.events())}
    assert {"told late", "add", "retire"} <= kinds  # or it shows nothing
    stored = looked(campaign, lambda t: [arm.lost + arm.failed for arm in t.all_arms()])
    assert sum(stored) > 5
    assert answers(what_if(campaign, threshold=0.5)) == answers(campaign.verdict())
    assert audit(campaign).holds


def looked(campaign, what):
    return campaign.access.do("look", lambda t, terms: what(t))


def test_what_if_per_arm_and_with_levels(store):
    problem = Problem(arms=["a", "b"], threshold=0.5, level=[1.0, 2.0], rewards="gaussian")
    campaign = Campaign(problem, budget=8, store=store)
    for arm, values in (("a", [0.0, 1.5, 3.0, 3.0]), ("b", [0.0, 1.5, 3.0, 3.0])):
        campaign.attach(arm, values, unpicked=True)
    assert campaign.verdict().above == ("a", "b")
    assert what_if(campaign, threshold=[0.75, 0.75]).above == ("a",)
    with pytest.raises(ValueError, match="one per arm: there are 2 arms and 3 numbers"):
        what_if(campaign, threshold=[0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="precision must be 0 or more"):
        what_if(campaign, precision=-1.0)


def test_what_if_at_another_confidence(store):
    campaign = Campaign(Problem(arms=1, threshold=0.5, rewards="binary"), budget=50, store=store)
    campaign.attach("0", [1] * 9, unpicked=True)
    assert what_if(campaign, threshold=0.6, confidence=0.5)["0"].proven == "above"
    assert what_if(campaign, threshold=0.6, confidence=0.9999)["0"].proven is None


def test_what_if_takes_up_the_rule_that_the_campaign_has(store):
    problem = Problem(arms=2, threshold=0.5, rewards="binary")
    campaign = Campaign(problem, APT(precision=0.2), budget=50, store=store)
    assert what_if(campaign, threshold=0.7).unseen == ("0", "1")


# Rows


def test_pulls_are_rows_in_the_order_asked_for(store, clock):
    problem = Problem(arms=["a"], threshold=0.5, rewards="binary")
    campaign = Campaign(problem, budget=4, store=store, lease=10.0, cost=2)
    first = campaign.ask()
    clock.pass_(11.0)
    second = campaign.ask()
    third = campaign.ask()
    campaign.tell(third, 1, cost=1, note="trace 3\nline 2")
    campaign.tell(second, 0)
    assert campaign.tell(first, 1) == "late"
    campaign.attach("a", [1])
    columns = ("seq", "number", "state", "reward", "late", "cost", "note")
    found = rows_of(each_pull, campaign)
    assert [tuple(row[c] for c in columns) for row in found] == [
        (0, 0, "late", None, 1.0, 2, None),
        (1, 1, "told", 0.0, None, 2, None),
        (2, 2, "told", 1.0, None, 1, "trace 3\nline 2"),
        (3, 3, "attached, not weighed", 1.0, None, 0, None),
    ]
    assert [row["id"] for row in found[:3]] == [first.id, second.id, third.id]
    # Asked, given up, asked, asked, told, told, told late, attached.
    assert [(row["asked"], row["settled"]) for row in found] == [(1, 2), (3, 6), (4, 5), (8, 8)]
    assert pulls_of(campaign, "a") == found
    assert all(list(row) == list(PULL_COLUMNS) for row in found)


def test_pulls_in_flight_have_nothing_yet(store):
    campaign = Campaign(Problem(arms=2, threshold=0.5, rewards="binary"), budget=4, store=store)
    pull = campaign.ask()
    (row,) = pulls_of(campaign, pull.arm)
    assert (row["state"], row["reward"], row["settled"], row["note"]) == ("asked", None, None, None)


def test_the_pulls_of_an_arm_are_its_own(store):
    campaign = Campaign(Problem(arms=3, threshold=0.5, rewards="binary"), budget=300, store=store)
    while pulls := campaign.ask(50):
        campaign.tell_many([(pull, int(pull.arm == "1")) for pull in pulls])
    found = [row for row in rows_of(each_pull, campaign) if row["arm"] == "1"]
    assert pulls_of(campaign, "1") == found
    assert [row["number"] for row in found] == list(range(len(found)))
    assert len(found) > 64
    with pytest.raises(UnknownArm, match="no arm 'x' in campaign 'main'"):
        pulls_of(campaign, "x")


def test_rows_come_in_chunks_of_one_moment(store):
    campaign = Campaign(Problem(arms=7, threshold=0.5, rewards="binary"), budget=25, store=store)
    campaign.tell_many([(pull, 1) for pull in campaign.ask(25)])
    sizes = []
    assert each_pull(campaign, lambda rows: sizes.append(len(rows)), size=10) == 25
    assert sizes == [10, 10, 5]
    sizes.clear()
    assert each_arm(campaign, lambda rows: sizes.append(len(rows)), size=4) == 7
    assert sizes == [4, 3]


def test_arms_are_rows_with_counts_and_means(store, clock):
    campaign = eventful(store, clock)
    rows = rows_of(each_arm, campaign)
    columns = campaign.verdict().columns()
    assert all(list(row) == list(ARM_COLUMNS) for row in rows)
    for name in ("arm", "pulls", "status", "asked", "told", "failed", "lost", "late", "attached"):
        assert [row[name] for row in rows] == columns[name], name
    for row, mean in zip(rows, columns["mean"], strict=True):
        assert row["mean"] == pytest.approx(mean)
    assert [row["number"] for row in rows] == [0, 1, 2, 3, 4]


def test_the_mean_of_an_arm_never_seen_is_nothing(store):
    campaign = Campaign(Problem(arms=1, threshold=0.5, rewards="gaussian"), budget=4, store=store)
    assert rows_of(each_arm, campaign)[0]["mean"] is None
    campaign.attach("0", [2.0, 4.0])
    assert rows_of(each_arm, campaign)[0]["mean"] == pytest.approx(3.0)


def test_a_campaign_in_a_few_words(store):
    problem = Problem(arms=["a", "b"], threshold=0.5, precision=0.2, rewards="binary")
    campaign = Campaign(problem, budget=1000, confidence=0.9, store=store, name="n", unit="cents")
    pull = campaign.ask()
    row = head_row(campaign.access.head())
    assert (row["name"], row["status"], row["in_flight"]) == ("n", "running", 1)
    campaign.tell(pull, 1)
    campaign.attach("a", [1] * 40, unpicked=True)
    assert head_row(campaign.access.head())["settled"] == 1
    campaign.retire("b")
    row = head_row(campaign.access.head())
    assert (row["status"], row["settled"], row["arms"]) == ("done", 2, 2)
    assert (row["spent"], row["budget"], row["unit"]) == (1, 1000, "cents")
    campaign.close()
    assert head_row(campaign.access.head())["status"] == "closed"
    other = Campaign(problem, budget=1, store=store, name="other")
    assert head_row(other.access.head())["settled"] is None
    other.tell(other.ask(), 1)
    assert head_row(other.access.head())["status"] == "done"


# The commands, on a file and on a server


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
        return code, said.out, said.err

    return run


def test_the_commands_work_alike_on_every_store(run, address, monkeypatch):
    problem = Problem(arms=["a", "b"], threshold=0.5, precision=0.1, rewards="binary")
    with Campaign(problem, budget=60, store=address, name="nightly") as campaign:
        while pulls := campaign.ask(10):
            campaign.tell_many([(pull, int(pull.arm == "a")) for pull in pulls])
        verdict = campaign.verdict()
        wanted = rows_of(each_pull, campaign)
    monkeypatch.setenv("CUTLINE_STORE", address)

    code, out, err = run("list --format json")
    assert (code, err) == (0, "")
    (row,) = json.loads(out)
    assert (row["name"], row["status"], row["spent"]) == ("nightly", "done", 60)

    code, out, err = run("show --format json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert [arm["mean"] for arm in told["arms"]] == [arm.mean for arm in verdict.arms]
    assert told["error_bound"] == verdict.error_bound

    code, out, err = run("show --threshold 0.97 --precision 0.01 --plot what-if.png")
    assert (code, err) == (0, "")
    assert Path("what-if.png").stat().st_size > 5_000

    code, out, err = run("export")
    assert (code, err) == (0, "")
    assert [row["id"] for row in csv.DictReader(io.StringIO(out))] == [row["id"] for row in wanted]

    code, out, err = run("audit")
    assert (code, err) == (0, "")
    assert out.endswith("it holds\n")

    code, out, err = run(f"upgrade {address}")
    assert (code, err) == (0, "")
    assert "nothing was to be done" in out

    code, out, err = run("delete --name nightly --yes --compact")
    assert (code, err) == (0, "")
    assert run("list")[1].startswith("there is no campaign in ")


OLDER = "ALTER TABLE arm ADD COLUMN colour TEXT"


def test_a_server_is_upgraded_after_a_dump(run, database, monkeypatch):
    from cutline.campaign.stores import schema

    problem = Problem(arms=2, threshold=0.5, rewards="binary")
    with Campaign(problem, budget=6, store=database) as campaign:
        campaign.tell(campaign.ask(), 1)
    had = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", had + 1)
    monkeypatch.setitem(schema.MIGRATIONS, had, OLDER)
    code, _, err = run(f"list --store {database}")
    assert code == 2
    assert "older cutline" in err
    code, _, err = run(f"upgrade {database}")
    assert code == 2
    assert "make a dump of" in err
    assert "--backed-up" in err
    code, out, _ = run(f"upgrade {database} --backed-up")
    assert code == 0
    assert f"was version {had} and is up to date now" in out
    assert "nothing was to be done" in run(f"upgrade {database} --backed-up")[1]
    code, out, _ = run(f"show --store {database} --format json")
    assert json.loads(out)["spent"] == 1


def test_a_newer_server_is_refused_and_left_alone(run, database):
    import psycopg

    with Campaign(Problem(arms=2, threshold=0.5, rewards="binary"), budget=6, store=database):
        pass
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE cutline.version SET number = 99")
    for words in (f"list --store {database}", f"upgrade {database} --backed-up"):
        code, _, err = run(words)
        assert code == 2
        assert "newer cutline" in err
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT number FROM cutline.version").fetchone() == (99,)


DAMAGE = {
    "a reward": "UPDATE cutline.pull SET reward = 1 - reward WHERE seq = 3",
    "an arm": "UPDATE cutline.pull SET arm = 1 - arm WHERE seq = 3",
    "a priority": "UPDATE cutline.arm SET priority = priority + 1 WHERE number = 0",
    "the spend": "UPDATE cutline.campaign SET spent = spent + 1",
    "a lost pull": "DELETE FROM cutline.pull WHERE seq = 7",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_audit_finds_what_was_changed_on_a_server(run, database, what):
    import psycopg

    with Campaign(
        Problem(arms=2, threshold=0.5, precision=0.1, rewards="binary"), budget=30, store=database
    ) as campaign:
        for _ in range(4):
            campaign.tell_many([(pull, i % 2) for i, pull in enumerate(campaign.ask(5))])
    assert run(f"audit --store {database}")[0] == 0
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(DAMAGE[what])
    code, out, err = run(f"audit --store {database}")
    assert (code, err) == (1, "")
    assert "fault: " in out
    assert "it does not hold" in out


def test_a_password_is_not_shown(run, database):
    url = database.replace("cutline@", "cutline:secret@")
    with Campaign(Problem(arms=2, threshold=0.5, rewards="binary"), budget=6, store=url):
        pass
    for words in ("list", "show", "show --format json", "audit", "audit --name other"):
        _, out, err = run(f"{words} --store {url}")
        assert out + err
        assert "secret" not in out + err
    assert ":***@" in run(f"audit --store {url}")[1]


def test_a_server_that_is_not_there_is_said_at_once(run):
    code, out, err = run("list --store postgresql://cutline@127.0.0.1:9/nowhere")
    assert (code, out) == (2, "")
    assert "does not answer" in err
