"""Campaigns in one SQLite file, shared by any number of processes on one machine."""

import contextlib
import ctypes
import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import apsw

from cutline.campaign.errors import StoreError, StoreUnavailable
from cutline.campaign.stores import schema
from cutline.campaign.stores.connection import Busy, forked
from cutline.campaign.stores.guard import Guard, This
from cutline.campaign.stores.holders import holders
from cutline.campaign.stores.rows import SELECT_HEAD
from cutline.campaign.stores.sql import SQLStore

OURS = 0x6375746C  # "cutl": what a file of ours says it is
SLICE = 100  # milliseconds that SQLite itself waits for others before it lets go and tries again
NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "smb2", "9p", "afs", "ceph", "glusterfs", "lustre",
    "gpfs", "beegfs", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "ncpfs",
}  # fmt: skip


class SQLiteStore(SQLStore):
    """A store in one file; it is made when first used, for its owner alone to read (mode 600).

    Whatever is told or changed is on disk when it is acknowledged (write-ahead log, synced); an ask
    is with the next of these at the latest, as nobody who asked outlives a power cut here.
    The file must be on a disk of this machine: on a network file system SQLite's locks cannot be
    relied on, so that is refused. So is writing to a file that was deleted, moved or replaced
    while it was open, or that has several names (hard links). ``wait`` is how many seconds a call
    waits for a file that another process holds (see :func:`open_store`).
    """

    waits_for_fork = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        clock: Callable[[], float] = time.time,
        *,
        wait: float | None = None,
    ) -> None:
        super().__init__(wait)
        self.path = Path(path)
        self.where = self.shown = str(path)
        self._place = os.path.abspath(path)  # wherever this process goes later
        self._clock = clock

    def connect(self, *, make: bool) -> "_File":
        """See :class:`SQLStore`."""
        if not make and not os.path.exists(self._place):
            raise schema.Nothing(f"there is no file {self.path}, so no campaign in it")
        file = _File(self._place, self.shown, self._clock)
        try:
            schema.make_tables(file, self.where, make)
        except BaseException:
            file.close()
            raise
        return file

    def upgrade(self) -> tuple[int, Path]:
        """Bring an older file up to date after a copy; the version it had, and the copy."""
        return self._alone(self._upgrade)

    def _upgrade(self) -> tuple[int, Path]:
        file = _File(self._place, self.shown, self._clock, make=False)
        try:
            version = file.version()
            if version is not None and version >= schema.VERSION:
                raise StoreError(f"{self.path} is version {version}: there is nothing to upgrade")
            copy = self.path.with_name(f"{self.path.name}.version-{version}")
            made = copy.with_name(f"{copy.name}.{os.getpid()}")
            made.unlink(missing_ok=True)
            make_private(str(made))  # SQLite writes into an empty file as into none
            file.rows("VACUUM INTO ?", [str(made)])
            os.replace(made, copy)  # whole, or not there; an earlier one has less
            return schema.upgrade_tables(file), copy
        finally:
            file.close()

    def after_fork(self) -> None:
        """See :class:`Forkable`."""
        super().after_fork()
        _making.renew()
        for file in list(_File.opened):  # another thread was opening it
            file.leave()


# Files that were open when this process was forked, by device and number: SQLite believes that it
# holds locks on them, which are the parent's.
_left_open: set[tuple[int, int]] = set()

# Closing a file drops all locks that this process has on it, so none is opened while one is made.
_making = Guard()


def make_private(path: str) -> None:
    """Make an empty file that only its owner can read, whatever the umask."""
    made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        os.fchmod(made, 0o600)
    finally:
        os.close(made)


def identity(path: str) -> tuple[int, int] | None:
    """Which file it is that lies at a path; by looking only, as opening it could drop locks."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class FileBusy(Busy):
    """Another process holds the file."""

    def __init__(self, path: str, shown: str) -> None:
        super().__init__()
        self._path, self._shown = path, shown

    def explain(self, seconds: float) -> str:
        """See :class:`Busy`."""
        held = holders(f"{self._path}-shm", self._path)
        who = " and ".join(held) or "another process"
        stopped = any("stopped" in each for each in held)
        advice = "let it go on (kill -CONT), end it" if stopped else "let it finish or end it"
        return (
            f"{self._shown} was held by {who} for {seconds:g} seconds: {advice}, or wait longer "
            "(--wait, CUTLINE_WAIT, open_store(..., wait=...))"
        )


class _File:
    """One connection to a file."""

    opened: ClassVar["weakref.WeakSet[_File]"] = weakref.WeakSet()
    types: Mapping[str, str] = {
        "serial": "INTEGER PRIMARY KEY",
        "real": "REAL",
        "blob": "BLOB",
        "clustered": " WITHOUT ROWID",
    }

    def __init__(
        self, path: str, shown: str, clock: Callable[[], float], make: bool = True
    ) -> None:
        self._link, self._shown, self.clock = path, shown, clock
        self._path = os.path.realpath(path)  # its log lies beside the file itself
        self._log, self._index = f"{self._path}-wal", f"{self._path}-shm"
        self._owner = os.getpid()
        self._gone = False
        self._unchanging: tuple[int, int, int] | None = None
        self._synced = True
        self._db: apsw.Connection | None = None
        refuse_network(Path(self._path))
        try:
            _making.run(self._open, make)
            self._set_up()
        except apsw.Error as error:
            self.close()
            self._explain(error)
            raise
        except BaseException:
            self.close()
            raise

    def _open(self, make: bool) -> None:
        path = self._path
        if os.path.isdir(path):
            raise StoreError(f"{self._shown} is a folder: name a file in it")
        if not os.path.exists(path):
            self._make(make)
        found = os.stat(path)
        self._identity = (found.st_dev, found.st_ino)
        if self._identity in _left_open:
            raise StoreError(forked(self._shown))
        self._linked = found.st_nlink > 1
        self._read_only = self._linked or not self._can_write()
        _File.opened.add(self)
        self._db = self._open_to_read() if self._read_only else apsw.Connection(path)

    def _make(self, make: bool) -> None:
        folder, name = os.path.split(self._path)
        if not make:
            raise StoreError(f"there is no file {self._shown}")
        if not os.path.isdir(folder):
            raise StoreError(f"there is no folder {folder} to make {name} in")
        log = f"{self._path}-wal"
        if os.path.exists(log) and os.stat(log).st_size:
            raise StoreError(
                f"there is no file {self._shown}, but its log {name}-wal with results in it: put "
                "the file back beside it, or remove the log to begin anew"
            )
        try:
            make_private(self._path)
        except FileExistsError:
            pass  # somebody was quicker
        except OSError as error:
            raise StoreError(f"{self._shown} cannot be made: {error.strerror}") from None

    def _can_write(self) -> bool:
        """Whether this process may write the file and, beside it, its log."""
        if not os.access(self._path, os.W_OK):
            return False
        if os.access(os.path.dirname(self._path), os.W_OK | os.X_OK):
            return True
        return all(os.access(f"{self._path}{end}", os.W_OK) for end in ("-wal", "-shm"))

    def _open_to_read(self) -> apsw.Connection:
        path, log = self._path, f"{self._path}-wal"
        if os.path.exists(log) and os.stat(log).st_size:
            db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
            try:
                db.set_busy_timeout(SLICE)
                db.execute("PRAGMA user_version").fetchall()
                return db
            except (apsw.CantOpenError, apsw.ReadOnlyError):
                db.close(True)
                raise StoreError(
                    f"{self._shown} has a log beside it with results that are not in it yet, and "
                    "the folder cannot be written to: copy both to one that can"
                ) from None
            except BaseException:
                db.close(True)
                raise
        # Nobody writes, and without a log SQLite can be told so: else it would make files beside
        # it, where it may. Should somebody begin to, that is noticed at the end of a look.
        self._unchanging = self._stamp()
        uri = f"{Path(path).as_uri()}?immutable=1"
        return apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)

    def _set_up(self) -> None:
        db = self._db
        assert db is not None
        db.set_busy_timeout(SLICE)
        self.version()  # what is not ours is left as it is
        if not self._read_only:
            db.execute("PRAGMA journal_mode = WAL").fetchall()
            db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA trusted_schema = OFF")  # somebody else may have made the file
        db.execute("PRAGMA cache_size = -65536")
        # Or SQLite would plan a query anew for each value that is put into it.
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self._beside: tuple[tuple[int, int] | None, ...] | None = None
        self._own_log = identity(self._log)
        self._check_place(write=False)

    def _stamp(self) -> tuple[int, int, int]:
        found = os.stat(self._path)
        return found.st_ino, found.st_size, found.st_mtime_ns

    # Whether it is still the file that was opened.

    def _check_place(self, *, write: bool, done: str = "nothing was changed") -> None:
        """Raise where the file that is open is not the one at its path."""
        try:
            found = os.stat(self._link)
        except OSError:
            self._gone = True
            raise StoreError(
                f"{self._shown} is gone: it was deleted or moved while it was open, so {done}; put "
                "it back with the log beside it (-wal), or begin a new campaign"
            ) from None
        if (found.st_dev, found.st_ino) != self._identity:
            self._gone = True
            raise StoreError(
                f"{self._shown} is another file than the one that was opened: it was replaced, so "
                f"{done}{self._put_log_aside()}; open it anew to go on with what is there now"
            )
        if write and found.st_nlink > 1:
            raise StoreError(
                f"{self._shown} has {found.st_nlink} names (hard links), and a log beside one of "
                f"them is missed by those who use another, so {done}: remove the other names, or "
                "make a copy with cp and use that"
            )

    def _put_log_aside(self) -> str:
        """Take our log away from beside another file, which SQLite would ruin with it."""
        found = identity(self._log)
        if found is None or found not in (self._own_log, *(self._beside or ())):
            return ""  # the new file's
        aside = f"{self._log}.{time.time_ns()}"
        os.rename(self._log, aside)
        with contextlib.suppress(OSError):
            os.unlink(self._index)  # made again from a log
        return f", and its log was put aside as {os.path.basename(aside)}"

    def _check_log(self) -> None:
        """Raise where the log or its index were removed or replaced while they were open."""
        beside = (identity(self._log), identity(self._index))
        if self._beside is None:
            self._beside = beside
        if beside != self._beside or None in beside:
            self._gone = True
            raise StoreError(
                f"the log of {self._shown} ({os.path.basename(self._path)}-wal, -shm) was removed "
                "or replaced while it was open, so this and what was told since then may be lost: "
                "leave these files alone while a store is open; open it anew to go on"
            )

    @property
    def broken(self) -> bool:
        """Whether another connection is needed to go on."""
        if self._gone:
            return True
        if self._linked and (identity(self._path) is None or os.stat(self._path).st_nlink == 1):
            return True
        return self._unchanging is not None and self._changed()

    def _changed(self) -> bool:
        """Whether somebody wrote to a file that was opened as one that nobody writes to."""
        try:
            return self._stamp() != self._unchanging or bool(os.stat(f"{self._path}-wal").st_size)
        except OSError:
            return not os.path.exists(self._path)

    def _explain(self, error: apsw.Error) -> None:
        """Raise what SQLite says as one sentence that says what to do, where we have one."""
        if self._unchanging is not None and self._changed():
            raise StoreUnavailable(
                f"{self._shown} was written to while it was read: try again"
            ) from None
        if isinstance(error, apsw.NotADBError):
            raise StoreError(f"{self._shown} is not a store of cutline, nor any database") from None
        if isinstance(error, apsw.ReadOnlyError):
            raise StoreError(f"{self._shown} cannot be written to: nothing was changed") from None
        if isinstance(error, apsw.FullError | apsw.IOError):
            raise StoreError(
                f"{self._shown} could not be written ({error}): nothing was changed; is the disk "
                "full?"
            ) from error
        if isinstance(error, apsw.CantOpenError):
            raise StoreError(f"{self._shown} cannot be opened: {error}") from error
        if isinstance(error, apsw.BusyError):
            raise FileBusy(self._path, self._shown) from None
        if isinstance(error, apsw.CorruptError):
            raise StoreError(f"{self._shown} is damaged: {error}") from error

    def begin(self, *, write: bool, synced: bool = True) -> None:
        self._check_place(write=write)
        if write and self._read_only:
            raise StoreError(f"{self._shown} cannot be written to: nothing was changed")
        if write and synced != self._synced:
            self._synced = False  # first, lest an interrupt leave it said and not done
            self.rows(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            self._synced = synced
        self.rows("BEGIN IMMEDIATE" if write else "BEGIN")

    def commit(self) -> None:
        self.rows("COMMIT")
        if self._synced:  # a promise: look before anybody is told that it was kept
            self._check_place(write=True, done="what was just written may be lost")
            self._check_log()

    def rollback(self) -> None:
        if not self.idle:
            self.rows("ROLLBACK")
        if self._unchanging is not None and self._changed():
            raise StoreUnavailable(f"{self._shown} was written to while it was read: try again")

    @property
    def idle(self) -> bool:
        """See :class:`Connection`."""
        return self._db is not None and not self._db.in_transaction

    def restore(self) -> bool:
        """See :class:`Connection`."""
        db = self._db
        if db is None or self._gone:
            return False
        try:
            if db.in_transaction:
                db.execute("ROLLBACK")
            # A statement that was not read to its end would keep what it sees from moving on.
            return bool(db.txn_state() == apsw.SQLITE_TXN_NONE)
        except apsw.Error:
            return False

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._mine().execute(sql, values).fetchall()
        except apsw.Error as error:
            self._explain(error)
            raise

    def many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        try:
            self._mine().executemany(sql, values)
        except apsw.Error as error:
            self._explain(error)
            raise

    def _mine(self) -> apsw.Connection:
        if self._owner != This.pid:
            raise StoreError(forked(self._shown))
        assert self._db is not None
        return self._db

    def script(self, sql: str) -> None:
        self.rows(sql)

    def head(self, name: str, *, write: bool) -> list[Any]:
        return self.rows(SELECT_HEAD, [name])  # beginning has locked the file

    def alone(self) -> None:
        """Beginning has locked the file."""

    def columns(self, table: str) -> set[str]:
        return {row[0] for row in self.rows("SELECT name FROM pragma_table_info(?)", [table])}

    def version(self) -> int | None:
        if self.rows("PRAGMA application_id")[0][0] == OURS:
            return int(self.rows("PRAGMA user_version")[0][0])
        made = self.rows("SELECT 1 FROM sqlite_master LIMIT 1")
        if made and self.rows("PRAGMA application_id")[0][0] == OURS:
            return int(self.rows("PRAGMA user_version")[0][0])  # made between the two looks
        if made:
            raise StoreError(f"{self._shown} is a database of something else than cutline")
        if self._linked:
            raise StoreError(
                f"{self._shown} is empty under this name and has others (hard links): what was "
                "told may be in a log beside one of those, so open it by that name"
            )
        if self._read_only:
            raise StoreError(f"{self._shown} is empty and cannot be written to")
        return None

    def set_version(self, version: int) -> None:
        self.rows(f"PRAGMA application_id = {OURS}")
        self.rows(f"PRAGMA user_version = {version}")

    def compact(self) -> None:
        self.rows("VACUUM")

    def close(self) -> None:
        if self._owner != os.getpid():
            self.leave()
        elif self._db is not None:
            self._db.close(True)
            self._db = None

    def leave(self) -> None:
        """Never close it: SQLite would drop the log that it takes for its own."""
        if self._db is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))
            _left_open.add(self._identity)
            self._db = None


def refuse_network(path: Path, mounts: str = "/proc/self/mounts") -> None:
    """Raise where a file lies on a network file system, as far as this machine tells."""
    try:
        text = Path(mounts).read_text()
    except OSError:
        return  # not Linux: the documentation says it
    place = path.resolve()
    kind, length = "", -1
    for line in text.splitlines():
        _, folder, system, *_ = line.split(" ")
        folder = folder.replace("\\040", " ")
        if place.is_relative_to(folder) and len(folder) > length:
            kind, length = system, len(folder)
    if kind in NETWORK:
        raise StoreError(
            f"{path} lies on a network file system ({kind}), where SQLite can lose data: put it on "
            "a disk of this machine, or use a PostgreSQL server (postgresql://...)"
        )
