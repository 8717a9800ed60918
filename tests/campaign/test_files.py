"""What may happen to a store's file, and who may use it: gone, linked, held, private, read-only."""

import math
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
import soak
from click.testing import CliRunner

from cutline import Problem
from cutline.campaign import Campaign, StoreBusy, StoreError, audit, open_store
from cutline.campaign.stores import MemoryStore
from cutline.campaign.stores.holders import holders
from cutline.campaign.stores.sqlite import SQLiteStore
from cutline.cli import main
from cutline.cli.main import cli

pytestmark = pytest.mark.usefixtures("releases")


def new(store, **settings):
    problem = Problem(arms=["a", "b", "c"], threshold=0.5, rewards="binary")
    return Campaign(problem, store=store, **{"budget": 100, **settings})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


# The file is gone.


def delete(path):
    path.unlink()


def replace(path):
    other = path.with_name("other.db")
    with new(str(other)):
        pass
    other.replace(path)


def move(path):
    path.rename(path.with_name("moved.db"))


def move_folder(path):
    path.parent.rename(path.parent.with_name("elsewhere"))


def delete_all(path):
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


def remove_log(path):
    path.with_name("store.db-wal").unlink()


def remove_index(path):
    path.with_name("store.db-shm").unlink()


HARM = [delete, replace, move, move_folder, delete_all, remove_log, remove_index]


@pytest.mark.parametrize("harm", HARM)
def test_nothing_is_acknowledged_that_goes_nowhere(tmp_path, harm):
    folder = tmp_path / "here"
    folder.mkdir()
    path = folder / "store.db"
    campaign = new(str(path))
    pulls = campaign.ask(10)
    campaign.tell(pulls[0], 1)
    harm(path)
    with pytest.raises(StoreError) as told:
        campaign.tell(pulls[1], 1)
    assert any(words in str(told.value) for words in ("is gone", "was replaced", "was removed"))
    assert "store.db" in str(told.value)


def test_what_was_moved_and_is_put_back_goes_on(path):
    campaign = new(str(path))
    pulls = campaign.ask(3)
    campaign.tell(pulls[0], 1)
    path.rename(path.with_name("away.db"))
    with pytest.raises(StoreError, match="is gone"):
        campaign.tell(pulls[1], 1)
    with pytest.raises(StoreError, match="no file"):
        campaign.tell(pulls[1], 1)
    path.with_name("away.db").rename(path)
    assert campaign.tell(pulls[1], 1) == "counted"
    assert campaign.spent == 2
    assert audit(campaign).holds


def test_a_log_that_is_left_over_is_not_thrown_away_with_a_new_file(path):
    """SQLite removes a log that it finds beside an empty file."""
    campaign = new(str(path))
    campaign.tell(campaign.ask(), 1)
    moved = path.with_name("moved.db")
    path.rename(moved)
    with pytest.raises(StoreError, match=r"its log store\.db-wal with results in it"):
        new(str(path))
    moved.rename(path)
    assert Campaign.open(str(path)).spent == 1


def test_a_new_store_at_the_place_of_one_that_was_deleted_is_left_alone(path):
    """Whoever has the old one open must not remove the new one's log when he lets go."""
    old = new(str(path))
    pull = old.ask()
    delete_all(path)
    fresh = new(str(path))
    fresh.tell(fresh.ask(), 1)
    with pytest.raises(StoreError, match="was replaced"):
        old.tell(pull, 1)
    old.store.release()
    fresh.tell(fresh.ask(), 1)
    fresh.store.release()
    assert Campaign.open(str(path)).spent == 2


def test_a_file_put_in_the_place_of_an_open_one_is_not_mixed_with_its_log(path):
    """SQLite takes whatever log lies beside a file for its own, and would ruin the new file."""
    backup = path.with_name("backup.db")
    with new(str(backup)) as other:
        other.tell(other.ask(), 1)
    old = new(str(path))
    for pull in old.ask(5):
        old.tell(pull, 1)
    pull = old.ask()
    os.replace(backup, path)
    with pytest.raises(StoreError, match=r"was replaced.*its log was put aside as store\.db-wal\."):
        old.tell(pull, 1)
    (aside,) = path.parent.glob("store.db-wal.*")
    assert aside.stat().st_size > 0
    assert CliRunner().invoke(cli, ["audit", "--store", str(path)]).exit_code == 0
    assert old.spent == 1  # what is there now
    old.tell(old.ask(), 1)
    old.store.release()
    with Campaign.open(str(path)) as there:
        assert there.spent == 2
        assert audit(there).holds


def test_a_hard_link_is_read_and_not_written(path):
    campaign = new(str(path))
    pulls = campaign.ask(3)
    campaign.tell(pulls[0], 1)
    backup = path.with_name("backup.db")
    backup.hardlink_to(path)
    with pytest.raises(StoreError, match=r"has 2 names \(hard links\).*nothing was changed"):
        campaign.tell(pulls[1], 1)
    assert campaign.spent == 1  # reading goes on
    assert campaign.verdict().above
    with pytest.raises(StoreError, match="is empty under this name and has others"):
        Campaign.open(str(backup))
    with Campaign.open(str(path)) as anew:
        assert anew.spent == 1  # opened anew, too
    campaign.store.release()
    with pytest.raises(StoreError, match="2 names"):
        Campaign.open(str(backup)).ask()
    assert Campaign.open(str(backup)).spent == 1  # whoever was last has put all into the file
    backup.unlink()
    assert campaign.tell(pulls[1], 1) == "counted"


def test_a_reader_of_a_linked_file_writes_again_once_it_is_single(path):
    with new(str(path)) as campaign:
        pull = campaign.ask()
    path.with_name("backup.db").hardlink_to(path)
    again = Campaign.open(str(path))
    with pytest.raises(StoreError, match="2 names"):
        again.tell(pull, 1)
    path.with_name("backup.db").unlink()
    assert again.tell(pull, 1) == "counted"


def test_a_symbolic_link_and_its_target_are_one_store(tmp_path, nursery):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "store.db", tmp_path / "link.db"
    link.symlink_to(target)  # which is not there yet
    campaign = new(str(link), budget=300)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    workers = [
        nursery.start("work", store=str(place), log=str(tmp_path / f"{i}.log"), work=0.001, seed=i,
                      only_tell=True)
        for i, place in enumerate((link, target))
    ]  # fmt: skip
    assert nursery.wait(*workers) == [0, 0]
    assert sorted(p.name for p in tmp_path.iterdir() if "db" in p.name) == ["link.db"]
    assert campaign.spent == 300
    assert list(soak.find_faults(str(target), tmp_path)) == []
    link.unlink()
    link.symlink_to(tmp_path / "another.db")
    with pytest.raises(StoreError, match="is gone"):
        campaign.spent  # noqa: B018


def test_a_relative_path_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    campaign = new("store.db")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    campaign.tell(campaign.ask(), 1)
    campaign.store.release()
    assert campaign.spent == 1
    assert list(Path().iterdir()) == []


# Waiting.


def frozen(nursery, campaign, path, tmp_path):
    """A process that was stopped in the middle of a transaction."""
    worker = nursery.start(
        "move", move="tell", store=str(path), pull=campaign.ask().id, log=str(tmp_path / "one.log"),
        point="tell written", signal=signal.SIGSTOP,
    )  # fmt: skip
    nursery.wait_until_stopped(worker)
    return worker


def test_who_holds_the_file_is_named(path, tmp_path, nursery):
    campaign = new(str(path))
    worker = frozen(nursery, campaign, path, tmp_path)
    start = time.monotonic()
    with pytest.raises(StoreBusy) as told:
        Campaign.open(open_store(str(path), wait=0.3)).ask()
    assert 0.3 <= time.monotonic() - start < 5.0
    assert f"held by process {worker} (python" in str(told.value)
    assert "stopped) for 0.3 seconds" in str(told.value)
    assert "kill -CONT" in str(told.value)
    assert Campaign.open(open_store(str(path), wait=0.3)).spent == 0  # to look is no matter
    command = [sys.executable, "-m", "cutline.cli", "delete", "--store", str(path)]
    said = subprocess.run(
        [*command, "--name", "main", "--yes", "--wait", "0.2"],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert said.returncode == 2
    assert f"held by process {worker}" in said.stderr
    nursery.signal(worker, signal.SIGCONT)
    nursery.wait(worker)
    assert campaign.spent == 1


def test_to_wait_for_ever_is_a_setting(path, tmp_path, nursery):
    campaign = new(str(path))
    worker = frozen(nursery, campaign, path, tmp_path)
    patient = Campaign.open(open_store(str(path), wait=math.inf))
    asked = threading.Thread(target=patient.ask)
    asked.start()
    asked.join(1.0)
    assert asked.is_alive()
    nursery.signal(worker, signal.SIGCONT)
    asked.join(20.0)
    assert not asked.is_alive()
    nursery.wait(worker)


def test_how_long_to_wait_is_said_in_seconds(path, monkeypatch):
    assert open_store(str(path)).wait == 60.0
    monkeypatch.setenv("CUTLINE_WAIT", "forever")
    assert open_store(str(path)).wait == math.inf
    assert open_store(str(path), wait=1).wait == 1.0
    for wrong in (-1, math.nan, "soon", True):
        with pytest.raises(ValueError, match="wait is a number of seconds"):
            open_store(str(path), wait=wrong)
    monkeypatch.setenv("CUTLINE_WAIT", "soon")
    with pytest.raises(ValueError, match="CUTLINE_WAIT: wait is"):
        open_store(str(path))


def test_nobody_is_named_where_the_system_says_nothing(path, tmp_path):
    new(str(path))
    assert holders(str(path), proc=str(tmp_path)) == []


# A clock that is set back.


@pytest.mark.parametrize("hours", [5, 100_000])
def test_a_clock_set_back_keeps_no_trial_beyond_its_lease(store, clock, hours):
    campaign = new(store, budget=3, lease=60.0)
    dead = campaign.ask()
    clock.pass_(20.0)
    beating = campaign.ask()
    clock.pass_(-3600.0 * hours)
    campaign.heartbeat(beating)
    clock.pass_(39.0)
    assert len(campaign.ask(3)) == 1  # the others are in flight
    clock.pass_(3.0)
    assert len(campaign.ask(3)) == 1  # the dead one's is handed out again
    assert campaign.heartbeat(dead) == [False]
    assert campaign.tell(beating, 1) == "counted"
    assert audit(campaign).holds


def test_a_clock_that_steps_by_less_than_a_second_changes_nothing(store, clock):
    campaign = new(store, budget=1, lease=60.0)
    pull = campaign.ask()
    clock.pass_(-0.5)
    assert campaign.ask().until == pull.expires


# Who may read it.


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_new_file_is_for_its_owner_alone(path, umask):
    before = os.umask(umask)
    try:
        campaign = new(str(path))
        campaign.tell(campaign.ask(), 1)
    finally:
        os.umask(before)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
    assert modes == dict.fromkeys(["store.db", "store.db-wal", "store.db-shm"], 0o600)


def test_the_copy_of_an_upgrade_is_for_its_owner_alone(path):
    old = Path(__file__).parent / "data" / "store-v1.db"
    shutil.copy(old, path)
    path.chmod(0o644)
    _, copy = SQLiteStore(path).upgrade()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o644  # as its owner has it


@pytest.fixture
def shelf():
    """A folder that everybody can read and only we can write to."""
    folder = Path(tempfile.mkdtemp(prefix="cutline-shelf-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_another(*command, store):
    """A command of cutline as another user, who may only read: its exit code and what it says.

    A process of ours becomes somebody else, once it has made the same call on a copy: the other
    may not be able to read what Python would load.
    """
    if os.geteuid() != 0:
        pytest.skip("LEFT OUT: only root can be somebody else")
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory() as folder:
        copy, said = Path(folder) / "copy.db", Path(folder) / "said"
        with new(str(copy)) as campaign:
            campaign.tell(campaign.ask(), 1)
        pid = os.fork()
        if not pid:
            code = 99
            try:
                out = os.open(said, os.O_CREAT | os.O_RDWR)
                os.dup2(out, 1)
                os.dup2(out, 2)
                run_command(*command, "--store", str(copy))
                sys.stdout.flush()
                os.ftruncate(out, 0)
                os.lseek(out, 0, os.SEEK_SET)
                os.setgroups([])
                os.setgid(nobody.pw_gid)
                os.setuid(nobody.pw_uid)
                code = run_command(*command, "--store", str(store))
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), said.read_text()


def run_command(*arguments):
    sys.argv = ["cutline", *arguments]
    sys.stdout, sys.stderr = (os.fdopen(os.dup(n), "w") for n in (1, 2))
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0


LOOKS = [["list"], ["show"], ["audit"], ["export"]]


@pytest.mark.parametrize("mode", [0o644, 0o666])
def test_a_file_in_a_folder_that_cannot_be_written_to_is_read(shelf, mode):
    path = shelf / "store.db"
    with new(str(path)) as campaign:
        campaign.tell(campaign.ask(), 1)
    path.chmod(mode)
    for look in LOOKS:
        code, said = as_another(*look, store=path)
        assert code == 0, said
    code, said = as_another("delete", "--name", "main", "--yes", store=path)
    assert code == 2
    assert "cannot be written to" in said
    assert [p.name for p in shelf.iterdir()] == ["store.db"]


def test_a_file_is_read_while_its_owner_writes(shelf):
    path = shelf / "store.db"
    campaign = new(str(path))
    path.chmod(0o644)
    campaign.store.release()
    for turn in range(3):
        campaign.tell(campaign.ask(), 1)
        code, said = as_another("list", "--format", "json", store=path)
        assert code == 0, said
        assert f'"spent": {turn + 1}' in said
        campaign.spent  # noqa: B018 (it was closed for the fork)
    code, said = as_another("audit", store=path)
    assert code == 0, said


def test_a_log_that_was_left_by_a_crash_is_named_where_it_cannot_be_read(shelf):
    path = shelf / "store.db"
    campaign = new(str(path))
    campaign.tell(campaign.ask(), 1)
    crashed = shelf / "crashed.db"
    shutil.copy(path, crashed)
    shutil.copy(f"{path}-wal", f"{crashed}-wal")
    for each in (crashed, Path(f"{crashed}-wal")):
        each.chmod(0o644)
    code, said = as_another("list", store=crashed)
    assert code == 2
    assert "has a log beside it with results that are not in it yet" in said


def test_a_file_that_changes_while_it_is_read_is_read_again(path, monkeypatch):
    """Without a log beside it, it is opened as one that nobody writes to; somebody may begin to."""
    with new(str(path)) as campaign:
        pulls = campaign.ask(5)
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda place, mode: not mode & os.W_OK)
    reader = Campaign.open(str(path))
    assert reader.spent == 0
    monkeypatch.undo()
    with Campaign.open(str(path)) as writer:
        writer.tell(pulls[0], 1)
    monkeypatch.setattr(os, "access", lambda place, mode: not mode & os.W_OK)
    assert reader.spent == 1
    tells = iter(pulls[1:2])

    def look(t):
        monkeypatch.undo()
        for pull in tells:
            with Campaign.open(str(path)) as writer:
                writer.tell(pull, 1)
        return t.head.spent

    assert reader.access.look(look) == 2  # and not what it had seen at first


def test_memory_waits_for_nobody():
    assert MemoryStore().wait == 0.0
