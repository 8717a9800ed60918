"""What cannot be is refused with a sentence that says why, and nothing changes."""

import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import apsw
import numpy as np
import pytest

from cutline import Problem, Rewards
from cutline.campaign import (
    Campaign,
    CampaignClosed,
    CampaignError,
    ConflictingTell,
    DifferentCampaign,
    StoreError,
    StoreUnavailable,
    UnknownArm,
    UnknownCampaign,
    UnknownPull,
    audit,
    open_store,
)
from cutline.campaign.stores import schema
from cutline.campaign.stores.sqlite import SQLiteStore, refuse_network
from cutline.cli import main
from cutline.rules.base import IndexRule

TABLES = ("campaign", "arm", "pull", "event")


pytestmark = pytest.mark.usefixtures("releases")


def new(store, rewards="binary", **settings):
    problem = Problem(arms=["a", "b", "c"], threshold=0.5, precision=0.1, rewards=rewards)
    return Campaign(problem, store=store, **{"budget": 300, "lease": 100.0, **settings})


def everything(store):
    """All that is in a store: every row of every table, or what memory holds."""
    if hasattr(store, "db"):
        rows = [store.db().rows(f"SELECT * FROM {table}") for table in TABLES]
        return [sorted(map(repr, table)) for table in rows]
    games = [store._games[head.name] for head in store.heads()]
    return [repr((game.head, game._arms, game._pulls, game._events)) for game in games]


class Unchanged:
    """A with block in which something is refused and nothing changes; ``of`` says what."""

    def __init__(self, store, error, match=None, of=None):
        self._store, self._of = store, of
        self._raises = pytest.raises(error, match=match)

    def __enter__(self):
        self._before = everything(self._store)
        return self._raises.__enter__()

    def __exit__(self, *error):
        try:
            swallowed = self._raises.__exit__(*error)
        except BaseException as wrong:
            wrong.add_note(f"it was {self._of!r:.80}")
            raise
        assert everything(self._store) == self._before, self._of
        return swallowed


# Rewards.

NOT_REWARDS = [
    math.nan, math.inf, -math.inf, 0.5, 2, -1, 10**400, None, "1", "one", b"1", [1], 1j, object(),
]  # fmt: skip


def test_what_is_no_reward(store):
    campaign = new(store)
    pull = campaign.ask()
    for value in NOT_REWARDS:
        with Unchanged(store, ValueError, "reward", of=value):
            campaign.tell(pull, value)
        with Unchanged(store, ValueError, "reward", of=value):
            campaign.attach("a", [1, 0, value, 1])
    assert campaign.tell(pull, 1) == "counted"  # the pull is as good as before


class Logarithms(IndexRule):
    """A rule that cannot learn from a 0."""

    name = "logarithms"
    keeps = ("sum",)

    def start(self, problem, means):
        return np.zeros((1, len(problem.arms)))

    @staticmethod
    def learn(reward, sum):
        return sum + math.log(reward)

    @staticmethod
    def formula(pulls, sum):
        return pulls + sum


@pytest.mark.parametrize("lost", [None, 0])
def test_a_rule_that_cannot_take_a_reward(store, lost):
    campaign = new(store, rule=Logarithms(), lost=lost)
    pulls = campaign.ask(3)
    with Unchanged(store, ValueError, "math domain"):
        campaign.tell(pulls[0], 0)
    with Unchanged(store, ValueError, "math domain"):
        campaign.attach("a", [0, 1])
    if lost is not None:
        with Unchanged(store, ValueError, "math domain"):
            campaign.fail(pulls[1])
    assert campaign.tell(pulls[0], 1) == "counted"
    assert audit(campaign).holds


def test_a_reward_that_is_out_of_range(store):
    for rewards, value in (
        (Rewards("bounded", low=-1, high=1), 1.1),
        (Rewards("bounded", low=-1, high=1), -1.1),
        (Rewards("poisson"), 1.5),
        (Rewards("poisson"), -1),
        (Rewards("poisson"), 1e101),
        (Rewards("exponential"), -0.1),
        (Rewards("gaussian"), -1e101),
        (Rewards("gaussian", sd=1.0), math.inf),
        (Rewards("heavy", variance=1.0), math.nan),
    ):
        campaign = new(store, rewards, name=f"{rewards} {value}")
        pull = campaign.ask()
        with Unchanged(store, ValueError, "reward", of=(rewards, value)):
            campaign.tell(pull, value)
        assert campaign.fail(pull) == "counted"
        assert campaign.spent == 0  # and its budget is back


def test_one_bad_among_a_hundred_refuses_them_all(store):
    campaign = new(store)
    pulls = campaign.ask(101)
    campaign.tell(pulls[100], 1)
    good = [(pull, 1) for pull in pulls[:100]]
    for bad, error in (
        ([*good[:99], (pulls[99], math.nan)], ValueError),
        ([(pulls[0], None), *good[1:]], ValueError),
        ([*good, ("7-0123456789abcdef", 1)], UnknownPull),
        ([*good, (pulls[50], 0)], ConflictingTell),  # told twice in one call
        ([*good, (pulls[100], 0)], ConflictingTell),  # told before
    ):
        with Unchanged(store, error):
            campaign.tell_many(bad)
    assert campaign.tell_many(good) == ["counted"] * 100
    assert audit(campaign).holds


def test_a_bad_cost_among_a_hundred_refuses_them_all(store):
    campaign = new(store)
    pulls = campaign.ask(100)
    with Unchanged(store, ValueError, "from 0 to 1, what was reserved"):
        campaign.tell_many([(pull, 1) for pull in pulls], costs=[1] * 99 + [2])
    with Unchanged(store, ValueError):
        campaign.tell_many([(pull, 1) for pull in pulls], costs=[1] * 99)  # one is missing
    with Unchanged(store, ValueError):
        campaign.tell_many([(pull, 1) for pull in pulls], notes=["x"] * 99)


def test_a_bad_cost_or_note(store):
    campaign = new(store)
    pull = campaign.ask()
    for cost in (-1, 2, 0.5, True, "1"):
        with Unchanged(store, ValueError, "the cost of a pull of arm", of=cost):
            campaign.tell(pull, 1, cost=cost)
    for note in ("x" * 10_001, b"bytes", 7):
        with Unchanged(store, ValueError, "a note is a short text", of=note):
            campaign.tell(pull, 1, note=note)
        with Unchanged(store, ValueError, "a note is a short text", of=note):
            campaign.fail(pull, note=note)


def test_a_note_may_be_any_text_that_a_program_printed(store):
    campaign = new(store)
    for note in ("a\x00b", "\udce9", "\N{SNOWMAN}" * 100):
        assert campaign.tell(campaign.ask(), 1, note=note) == "counted"
        assert campaign.fail(campaign.ask(), note=note) == "counted"


# Pulls.


def handles(pull):
    """What is no pull of the campaign."""
    number, _, token = pull.id.partition("-")
    return [
        "", "x", "-", "0", "0-", f"{number}-{token[:-1]}", f"{number}-{'0' * 16}",
        f"{number}-{token}0", f"1{number}-{token}", f"-{number}-{token}", f" {pull.id}",
        f"{'9' * 30}-{token}", f"{2**63}-{token}", f"{'9' * 5000}-{token}", f"\u0663-{token}",
        f"0{number}-{token}", None, 7, 0.5, (),
    ]  # fmt: skip


def _own(campaign):
    with campaign.store.begin(campaign.name, "look") as t:
        return {pull.id for pull in t.since(0)}


def test_what_is_no_pull(store):
    campaign = new(store)
    pull = campaign.ask()
    for handle in handles(pull):
        with Unchanged(store, UnknownPull, "is no pull of campaign 'main'"):
            campaign.tell(handle, 1)
        with Unchanged(store, UnknownPull):
            campaign.fail(handle)
        with Unchanged(store, UnknownPull):
            campaign.heartbeat(pull, handle)
    assert campaign.tell(pull, 1) == "counted"


def test_a_pull_of_another_campaign(store):
    campaign, other = new(store), new(store, name="other")
    theirs = other.ask()
    campaign.ask()
    for move in (campaign.fail, campaign.heartbeat, lambda pull: campaign.tell(pull, 1)):
        with Unchanged(store, UnknownPull):
            move(theirs)
    assert other.tell(theirs, 1) == "counted"


def test_what_was_attached_cannot_be_told(store):
    campaign = new(store)
    campaign.attach("a", [1])
    (attached,) = _own(campaign)
    with Unchanged(store, UnknownPull):
        campaign.tell(attached, 1)


def test_a_second_report_that_conflicts(store):
    campaign = new(store)
    told, failed = campaign.ask(2)
    assert campaign.tell(told, 1) == "counted"
    assert campaign.fail(failed) == "counted"
    conflict = "was reported as 1 before, and is now reported as 0: each pull counts once"
    with Unchanged(store, ConflictingTell, conflict):
        campaign.tell(told, 0)
    with Unchanged(store, ConflictingTell, "as 1 before, and is now reported failed"):
        campaign.fail(told)
    with Unchanged(store, ConflictingTell, "failed before, and is now reported as 1"):
        campaign.tell(failed, 1)
    before = everything(store)
    assert campaign.tell(told, 1) == "again"
    assert campaign.fail(failed) == "again"
    assert campaign.heartbeat(told, failed) == [False, False]
    assert everything(store) == before


def test_a_worker_that_was_given_up_cannot_settle_somebody_elses_pull(store, clock):
    campaign = new(store, budget=1)
    lost = campaign.ask()
    clock.pass_(101)
    again = campaign.ask()  # the same budget, another pull
    assert again.id != lost.id
    assert campaign.heartbeat(lost, again) == [False, True]
    assert campaign.tell(lost, 0) == "late"
    assert campaign.tell(again, 1) == "counted"
    assert campaign.tell(lost, 0) == "late"
    with Unchanged(store, ConflictingTell):
        campaign.tell(lost, 1)
    assert campaign.spent == 1
    assert campaign.verdict().above + campaign.verdict().below == (again.arm,)
    assert audit(campaign).holds


def test_a_pull_that_is_kept_by_heartbeats_is_not_given_to_another(store, clock):
    campaign = new(store, budget=1)
    pull = campaign.ask()
    for _ in range(20):
        clock.pass_(99)
        assert campaign.heartbeat(pull) == [True]
        assert campaign.ask().why == "wait"
    assert campaign.tell(pull, 1) == "counted"
    assert campaign.ask().why == "done"


# The campaign.


def test_a_closed_campaign(store):
    campaign = new(store)
    pull = campaign.ask()
    campaign.close()
    moves = [
        campaign.ask,
        lambda: campaign.ask(3),
        lambda: campaign.tell(pull, 1),
        lambda: campaign.tell_many([(pull, 1)]),
        lambda: campaign.fail(pull),
        lambda: campaign.heartbeat(pull),
        lambda: campaign.add("d"),
        lambda: campaign.retire("a"),
        lambda: campaign.attach("a", [1]),
        lambda: campaign.extend(budget=5),
        lambda: campaign.resume("a"),
        campaign.pause,
        campaign.resume,
    ]
    for move in moves:
        with Unchanged(store, CampaignClosed, "campaign 'main' was closed for good"):
            move()
    assert campaign.verdict().unseen == ("a", "b", "c")
    before = everything(store)
    campaign.close()
    assert campaign.status == "closed"
    assert everything(store) == before


BAD_SETTINGS = [
    ({"budget": None}, "give a budget, a confidence to stop at, or both"),
    ({"budget": 0}, "budget must be 1 or more, got 0"),
    ({"budget": -5}, "budget must be 1 or more"),
    ({"budget": 10.0}, "budget must be a whole number"),
    ({"budget": True}, "budget must be a whole number"),
    ({"budget": "10"}, "budget must be a whole number"),
    ({"budget": 10**30}, "budget"),
    ({"confidence": 0.0}, "confidence"),
    ({"confidence": 1.0}, "confidence"),
    ({"confidence": 95}, "confidence"),
    ({"confidence": math.nan}, "confidence"),
    ({"lost": 0.5}, "lost is the reward that a lost pull stands for"),
    ({"lost": math.nan}, "lost is the reward that a lost pull stands for"),
    ({"lost": "0"}, "lost is the reward that a lost pull stands for"),
    ({"declared": 2}, "declared is how many arms there may be: 3 or more, got 2"),
    ({"declared": 3.5}, "declared is how many arms there may be"),
    ({"declared": "many"}, "declared is how many arms there may be"),
    ({"cost": -1}, "a pull costs a whole number of units"),
    ({"cost": 0.5}, "a pull costs a whole number of units"),
    ({"cost": 10**30}, "cost"),
    ({"cost": [1, 2]}, "cost must be one number or one per arm: 3, got 2"),
    ({"cost": {"d": 1}}, "cost names no arm of the problem: d"),
    ({"lease": 0}, "a lease is a number of seconds above 0"),
    ({"lease": -1}, "a lease is a number of seconds above 0"),
    ({"lease": math.inf}, "a lease is a number of seconds above 0"),
    ({"lease": math.nan}, "a lease is a number of seconds above 0"),
    ({"lease": "soon"}, "a lease is a number of seconds above 0"),
    ({"patience": 0}, "patience must be a whole number, 1 or more"),
    ({"patience": 2.5}, "patience must be a whole number, 1 or more"),
    ({"seed": -1}, "seed must be a whole number"),
    ({"seed": 2**64}, "seed must be a whole number"),
    ({"rule": "csar"}, "csar cannot be used live: it looks at all arms at once"),
    ({"rule": "oracle"}, "oracle"),
    ({"rule": "ucbe:1", "budget": None, "confidence": 0.9}, "must know the budget"),
    ({"rule": "best"}, "unknown rule 'best'"),
]


def test_bad_settings_make_no_campaign(store):
    for settings, match in BAD_SETTINGS:
        with pytest.raises(ValueError, match=match):
            new(store, **settings)
        assert store.heads() == [], settings


@pytest.mark.parametrize("rule", ["sar", "tts", "roundrobin", "ugape", "csar"])
def test_rules_that_cannot_be_used_live_say_why(rule):
    with pytest.raises(ValueError, match=r"cannot be used live|unknown rule"):
        new(None, rule=rule)


def test_a_confidence_that_can_never_be_reached(store):
    problem = Problem(arms=["a"], threshold=0.5, rewards="binary")  # precision 0
    with pytest.raises(ValueError, match="precision"):
        Campaign(problem, confidence=0.95, store=store)
    unknown = Problem(arms=["a"], threshold=0.5, precision=0.1, rewards="heavy")
    with pytest.raises(ValueError, match="cannot stop at a confidence"):
        Campaign(unknown, confidence=0.95, store=store)
    assert store.heads() == []


def test_names_that_are_there_twice(store):
    with pytest.raises(ValueError, match="every arm needs a name of its own"):
        Problem(arms=["a", "b", "a"], threshold=0.5, rewards="binary")
    campaign = new(store)
    with Unchanged(store, ValueError, "there is an arm 'a' in the campaign already"):
        campaign.add("a")
    campaign.retire("a")
    with Unchanged(store, ValueError, "already"):
        campaign.add("a")


def test_a_bad_arm_is_not_added(store):
    campaign = new(store)
    campaign.tell(campaign.ask(), 1)
    for numbers in (
        {"threshold": math.nan},
        {"threshold": math.inf},
        {"threshold": "high"},
        {"precision": -0.1},
        {"precision": math.nan},
        {"cost": -1},
        {"cost": 1.5},
        {"cost": 10**30},
        {"level": 0.3},  # the campaign's arms have none
        {"sd": 1.0},
    ):
        with Unchanged(store, ValueError, of=numbers):
            campaign.add("d", **numbers)
    campaign.add("d")
    assert audit(campaign).holds


def test_arms_that_are_not_there(store):
    campaign = new(store)
    for move in (
        lambda: campaign.retire("z"),
        lambda: campaign.resume("z"),
        lambda: campaign.attach("z", [1]),
    ):
        with Unchanged(store, UnknownArm, "there is no arm 'z' in campaign 'main'"):
            move()
    campaign.retire("a")
    with Unchanged(store, ValueError, "arm 'a' was retired, which is for good"):
        campaign.resume("a")


def test_a_bad_extension(store):
    campaign = new(store)
    for budget in (0, -1, 1.5, True, "5", None, 2**63):
        with Unchanged(store, ValueError, "budget", of=budget):
            campaign.extend(budget=budget)


def test_there_is_nothing_to_extend_without_a_budget(store):
    campaign = new(store, budget=None, confidence=0.9)
    with Unchanged(store, ValueError, "the campaign has no budget to extend"):
        campaign.extend(budget=5)


def test_a_bad_number_of_pulls_or_a_bad_lease(store):
    campaign = new(store)
    pull = campaign.ask()
    for n in (0, -1, True, 1.5, "3"):
        with Unchanged(store, ValueError, "ask for a whole number of pulls, 1 or more", of=n):
            campaign.ask(n)
    for lease in (0, -1, math.nan, math.inf, "soon"):
        with Unchanged(store, ValueError, "a lease is a number of seconds above 0", of=lease):
            campaign.ask(lease=lease)
        with Unchanged(store, ValueError, "a lease is a number of seconds above 0", of=lease):
            campaign.heartbeat(pull, lease=lease)


def test_another_campaign_of_the_same_name(store):
    new(store)
    with Unchanged(store, DifferentCampaign, "budget was 300 and is now 301"):
        new(store, budget=301)
    other = Problem(arms=["a", "b", "x"], threshold=0.5, precision=0.1, rewards="binary")
    with Unchanged(store, DifferentCampaign, "without c and with x"):
        Campaign(other, budget=300, store=store)
    with Unchanged(store, DifferentCampaign, "without c and with x"):
        Campaign.open(store, problem=other)
    with Unchanged(store, UnknownCampaign, "there is no campaign 'mine'"):
        Campaign.open(store, "mine")
    with Unchanged(store, UnknownCampaign, "there is no campaign 'mine'"):
        store.delete("mine")


# Files.


def test_files_that_are_no_store(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database\n" * 1000)
    other = tmp_path / "other.db"
    with apsw.Connection(str(other)) as db:
        db.execute("CREATE TABLE songs (name TEXT)")
    db.close()
    for path, match in (
        (text, "is not a store of cutline, nor any database"),
        (other, "is a database of something else than cutline"),
        (tmp_path, "is a folder: name a file in it"),
        (tmp_path / "no" / "store.db", "there is no folder .*no to make store.db in"),
    ):
        before = path.read_bytes() if path.is_file() else None
        with pytest.raises(StoreError, match=match):
            new(str(path))
        with pytest.raises(StoreError, match=match if path.exists() else "there is no file"):
            Campaign.open(str(path))
        assert before is None or path.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "other.db"]


def test_addresses_that_are_no_store():
    with pytest.raises(ValueError, match=r"a store is a file or postgresql://"):
        open_store("mysql://somewhere/x")


def test_a_file_that_is_cut_short_is_said_to_be_damaged(tmp_path):
    path = tmp_path / "store.db"
    with new(str(path)) as campaign:
        campaign.attach("a", [1, 0] * 5_000)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match="damaged"):
        audit(Campaign.open(str(path)))


AS_ANOTHER_USER = """
import os, sys
from cutline.campaign import Campaign, StoreError, audit
from cutline.campaign.stores import sqlite
path, pull = sys.argv[1:]
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    campaign = Campaign.open(path)
    print(audit(campaign).holds, campaign.spent, len(campaign.verdict().arms))
except StoreError as error:
    sys.exit(print(error))
for move in (campaign.ask, lambda: campaign.tell(pull, 1), lambda: campaign.add("z")):
    try:
        print(move())
    except StoreError as error:
        print(error)
"""


def as_another_user(path, pull):
    """What somebody sees who may not write; modes do not bind root, so root becomes nobody."""
    return subprocess.run(
        [sys.executable, "-c", AS_ANOTHER_USER, str(path), pull.id],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip


@pytest.fixture
def open_folder():
    """A folder that every user can get at."""
    folder = Path(tempfile.mkdtemp(prefix="cutline-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("folder_mode", [0o777, 0o555])
@pytest.mark.parametrize("in_use", [True, False])
def test_a_file_that_may_only_be_read(open_folder, folder_mode, in_use):
    path = open_folder / "store.db"
    campaign = new(str(path))
    campaign.tell(campaign.ask(), 1)
    pull = campaign.ask()
    if not in_use:
        campaign.store.release()
    before = everything(SQLiteStore(path))
    for file in open_folder.iterdir():
        file.chmod(0o444)
    open_folder.chmod(folder_mode)
    first, *refused = as_another_user(path, pull)
    assert first == "True 1 3"  # all of it can be read
    assert refused == [f"{path} cannot be written to: nothing was changed"] * 3
    open_folder.chmod(0o755)
    for file in open_folder.iterdir():
        file.chmod(0o644)
    assert everything(SQLiteStore(path)) == before
    assert campaign.tell(pull, 1) == "counted"


def test_a_file_with_an_unmerged_log_is_not_read_without_it(open_folder):
    """What was acknowledged is in the log beside the file; a reader must not miss it."""
    path = open_folder / "store.db"
    campaign = new(str(path))
    pull = campaign.ask()
    campaign.store.db().rows("PRAGMA wal_checkpoint")
    campaign.tell(campaign.ask(), 1)
    copy = open_folder / "copy.db"
    shutil.copy(path, copy)
    shutil.copy(f"{path}-wal", f"{copy}-wal")  # as a killed process leaves it, on a disk to read
    for file in (copy, Path(f"{copy}-wal")):
        file.chmod(0o444)
    open_folder.chmod(0o555)
    first = as_another_user(copy, pull)[0]
    assert first == "True 1 3" or "has a log beside it" in first  # all of it, or that it cannot


FULL = """
import resource, sys
from cutline.campaign import Campaign, StoreError, audit

campaign = Campaign.open(sys.argv[1])
pulls = campaign.ask(200)
def dump():
    with campaign.store.begin("main", "look") as t:
        return repr((t.head, t.all_arms(), list(t.since(0)), list(t.events())))
import os
size = os.stat(sys.argv[1] + "-wal").st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100_000, resource.RLIM_INFINITY))
told = 0
before = dump()
try:
    for pull in pulls:
        campaign.tell(pull, 1, note="x" * 9_000)
        told += 1
        before = dump()
except StoreError as error:
    print(error)
print(0 < told < 200, dump() == before, campaign.spent == told)
for _ in range(3):  # still full, and still the same
    try:
        campaign.tell_many([(p, 1) for p in pulls[told:]], notes=["x" * 9_000] * (200 - told))
    except StoreError as error:
        print("again:", error)
print(dump() == before)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
said = set(campaign.tell_many([(p, 1) for p in pulls[told:]]))
print(said, campaign.spent, audit(campaign).holds)
print(campaign.store.db().rows("PRAGMA integrity_check"))
"""


def test_a_full_disk(tmp_path):
    """A limit on the size of files stands for it: a write beyond it fails in the same place."""
    path = tmp_path / "store.db"
    new(str(path)).store.release()
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    full, first, *again, same, rest, whole = done.stdout.splitlines()
    assert full.startswith(f"{path} could not be written")
    assert full.endswith("nothing was changed; is the disk full?")
    assert first == "True True True"
    assert again == [f"again: {full}"] * 3
    assert same == "True"
    assert rest == "{'counted'} 200 True"
    assert whole == "[('ok',)]"


def test_a_disk_that_is_full_from_the_start(tmp_path):
    script = (
        "import resource, sys\n"
        "from cutline import Problem, Campaign\n"
        "from cutline.campaign import StoreError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "try:\n"
        "    Campaign(Problem(arms=2, threshold=0.5, rewards='binary'), budget=9,"
        " store=sys.argv[1])\n"
        "except StoreError:\n"
        "    sys.exit(7)\n"
    )
    path = tmp_path / "store.db"
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == 7
    assert new(str(path)).ask()  # and once there is room, it is made


def test_a_network_file_system(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda / ext4 rw 0 0\n"
        "tank:/home /home nfs4 rw 0 0\n"
        "//box/my\\040share /mnt/my\\040share cifs rw 0 0\n"
        "/dev/sdb /home/ann/disk xfs rw 0 0\n"
    )
    for path, kind in (("/home/ann/x.db", "nfs4"), ("/mnt/my share/x.db", "cifs")):
        with pytest.raises(StoreError, match=rf"network file system \({kind}\).*PostgreSQL server"):
            refuse_network(Path(path), str(mounts))
    for path in ("/srv/x.db", "/home/ann/disk/x.db", "/homes/x.db"):
        refuse_network(Path(path), str(mounts))
    refuse_network(Path("/home/ann/x.db"), str(tmp_path / "not linux"))


# Versions.

TODAY = schema.VERSION
NEXT = TODAY + 1


def set_version(address, version):
    store = open_store(address)
    store.db().set_version(version)
    store.release()


def set_today(monkeypatch, version):
    """Make cutline one of another version."""
    monkeypatch.setattr(schema, "VERSION", version)


def test_a_store_of_a_newer_version(address):
    campaign = new(address)
    before = everything(campaign.store)
    set_version(address, 99)
    for move in (lambda: Campaign.open(address), lambda: new(address), open_store(address).heads):
        with pytest.raises(
            StoreError, match=rf"newer cutline .*version 99.*knows {schema.VERSION}.*use that one"
        ):
            move()
    with pytest.raises(StoreError, match="version 99"):
        open_store(address).upgrade()
    assert everything(campaign.store) == before  # by the connection that was there before


def test_a_store_of_an_older_version(address, monkeypatch):
    campaign = new(address)
    before = everything(campaign.store)
    set_today(monkeypatch, NEXT)
    with pytest.raises(StoreError, match=rf"older cutline .*run 'cutline upgrade {address}' once"):
        Campaign.open(address)
    assert everything(campaign.store) == before


def test_an_upgrade_that_fails_changes_nothing(address, monkeypatch):
    campaign = new(address)
    before = everything(campaign.store)
    set_today(monkeypatch, NEXT)
    bad = "CREATE TABLE hues (hue {real}); INSERT INTO nowhere VALUES (1);"
    monkeypatch.setattr(schema, "MIGRATIONS", {TODAY: bad})
    with pytest.raises(Exception, match="nowhere"):
        open_store(address).upgrade()
    set_today(monkeypatch, TODAY)
    assert everything(open_store(address)) == before
    with pytest.raises(Exception, match="hues"):
        open_store(address).db().rows("SELECT * FROM hues")


def test_the_copy_that_an_upgrade_keeps_is_of_the_store_as_it_was(tmp_path, monkeypatch):
    """An upgrade failed, the campaign went on, and it is upgraded again: the copy has it all."""
    path = tmp_path / "store.db"
    campaign = new(str(path))
    monkeypatch.setattr(schema, "MIGRATIONS", {TODAY: "INSERT INTO nowhere VALUES (1);"})
    set_today(monkeypatch, NEXT)
    with pytest.raises(Exception, match="nowhere"):
        SQLiteStore(path).upgrade()
    campaign.tell(campaign.ask(), 1)
    before = everything(campaign.store)
    campaign.store.release()
    monkeypatch.setattr(schema, "MIGRATIONS", {TODAY: "CREATE TABLE hues (hue REAL);"})
    had, copy = SQLiteStore(path).upgrade()
    assert had == TODAY
    set_today(monkeypatch, TODAY)
    assert everything(SQLiteStore(copy)) == before


def test_there_is_nothing_to_upgrade(tmp_path):
    with pytest.raises(StoreError, match="there is no file"):
        SQLiteStore(tmp_path / "no.db").upgrade()
    assert list(tmp_path.iterdir()) == []


# Servers.


def test_a_server_that_is_not_there(monkeypatch):
    monkeypatch.setenv("CUTLINE_WAIT", "0.1")
    url = "postgresql://ann:secret@127.0.0.1:1/x"
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1/x does not answer") as away:
        new(url)
    assert "secret" not in str(away.value)
    with pytest.raises(StoreError, match="is no PostgreSQL address") as told:
        open_store("postgresql://ann:secret@[nowhere/x")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann@corp:secret@127.0.0.1:1/x",
        "postgresql://ann:sec@secret@127.0.0.1:1/x",
        "postgresql://ann:sec/secret@127.0.0.1:1/x",
        "postgresql:/ann:secret@127.0.0.1:1/x",
        "host=127.0.0.1 user=ann password=secret",
        "mysql://ann:secret@127.0.0.1/x",
    ],
)
def test_an_address_that_is_not_quite_one_does_not_show_its_password(address, monkeypatch, capsys):
    with pytest.raises((StoreError, ValueError)) as told:
        open_store(address)
    assert "secret" not in str(told.value)
    monkeypatch.setattr(sys, "argv", ["cutline", "list", "--store", address])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr()
    assert "postgresql://" in said.err or "%40" in said.err
    assert "secret" not in said.out + said.err


def test_no_password_is_shown(database):
    """It goes into logs and terminals."""
    url = database.replace("cutline@", "cutline:secret@")
    campaign = new(url)
    with pytest.raises(UnknownCampaign) as unknown:
        Campaign.open(url, "mine")
    with pytest.raises(DifferentCampaign) as different:
        new(url, budget=5)
    set_version(url, 99)
    with pytest.raises(StoreError) as newer:
        Campaign.open(url)
    for text in (str(unknown.value), str(different.value), str(newer.value), repr(campaign)):
        assert "secret" not in text


def test_a_server_that_may_only_be_read(database, monkeypatch):
    monkeypatch.setenv("CUTLINE_WAIT", "0.1")
    campaign = new(database)
    pull = campaign.ask()
    name = database.rpartition("/")[2]
    rows = campaign.store.db().rows
    rows(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    reader = Campaign.open(database)
    assert reader.verdict().unseen == ("a", "b", "c")
    with Unchanged(campaign.store, StoreError, "cannot be written to: .*read-only"):
        reader.tell(pull, 1)
    assert campaign.tell(pull, 1) == "counted"


def test_a_user_of_the_server_who_has_no_right(database):
    campaign = new(database)
    rows = campaign.store.db().rows
    role = f"guest_{random.SystemRandom().getrandbits(40):x}"
    rows(f"CREATE ROLE {role} LOGIN")
    guest = database.replace("cutline@", f"{role}@")
    with Unchanged(campaign.store, StoreError, "permission denied"):
        new(guest)
    with pytest.raises(CampaignError):
        Campaign.open(guest)
    rows(f"DROP ROLE {role}")


# A file of the first version, kept for ever.


def test_a_store_file_of_version_1_opens_and_goes_on(tmp_path):
    path = tmp_path / "store.db"
    shutil.copy(Path(__file__).parent / "data" / "store-v1.db", path)
    SQLiteStore(path).upgrade()
    campaign = Campaign.open(str(path))
    assert audit(campaign).holds
    verdict = campaign.verdict()
    counts = [arm.counts for arm in verdict.arms]
    for what in ("asked", "told", "failed", "lost", "late", "attached"):
        assert sum(getattr(each, what) for each in counts) > 0
    assert verdict.retired == ("retired",)
    assert verdict.unmeasured == ("suspended",)
    assert verdict.broken is None
    assert campaign.in_flight == 2
    with campaign.store.begin("main", "look") as t:
        kinds = {event.kind for event in t.events()}
    assert kinds >= {"add", "retire", "extend", "told late", "kept late", "resume arm"}
    campaign.resume("suspended")
    campaign.extend(budget=20)
    while pull := campaign.ask():
        campaign.tell(pull, 1)
    assert campaign.spent == campaign.budget
    assert audit(campaign).holds
    assert os.stat(path).st_size < 200_000
