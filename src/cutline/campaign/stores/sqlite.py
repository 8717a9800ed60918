"""Campaigns in one SQLite file, shared by any number of processes on one machine."""

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from cutline.campaign.errors import StoreError
from cutline.campaign.stores import schema
from cutline.campaign.stores.rows import SELECT_HEAD
from cutline.campaign.stores.sql import SQLStore

OURS = 0x6375746C  # "cutl": what a file of ours says it is
PATIENCE = 60.0  # seconds that a writer waits for the others
NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "smb2", "9p", "afs", "ceph", "glusterfs", "lustre",
    "gpfs", "beegfs", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "ncpfs",
}  # fmt: skip


class SQLiteStore(SQLStore):
    """A store in one file; it is made when first used.

    Whatever is told or changed is on disk when it is acknowledged (write-ahead log, synced); an ask
    is with the next of these at the latest, as nobody who asked outlives a power cut here.
    The file must be on a disk of this machine: on a network file system SQLite's locks cannot be
    relied on, so that is refused.
    """

    def __init__(self, path: str | os.PathLike[str], clock: Callable[[], float] = time.time):
        super().__init__()
        self.path = Path(path)
        self.where = self.shown = str(path)
        self._clock = clock

    def connect(self, *, make: bool) -> "_File":
        """See :class:`SQLStore`."""
        if not make and not self.path.exists():
            raise schema.Nothing(f"there is no file {self.path}, so no campaign in it")
        file = _File(self.path, self._clock)
        try:
            schema.make_tables(file, self.where, make)
        except BaseException:
            file.close()
            raise
        return file

    def upgrade(self) -> tuple[int, Path]:
        """Bring an older file up to date after a copy; the version it had, and the copy."""
        file = _File(self.path, self._clock, make=False)
        try:
            version = file.version()
            if version is not None and version >= schema.VERSION:
                raise StoreError(f"{self.path} is version {version}: there is nothing to upgrade")
            copy = self.path.with_name(f"{self.path.name}.version-{version}")
            made = copy.with_name(f"{copy.name}.{os.getpid()}")
            made.unlink(missing_ok=True)
            file.rows("VACUUM INTO ?", [str(made)])
            os.replace(made, copy)  # whole, or not there; an earlier one has less
            return schema.upgrade_tables(file), copy
        finally:
            file.close()


class _File:
    """One connection to a file."""

    broken = False
    types: Mapping[str, str] = {
        "serial": "INTEGER PRIMARY KEY",
        "real": "REAL",
        "blob": "BLOB",
        "clustered": " WITHOUT ROWID",
    }

    def __init__(self, path: Path, clock: Callable[[], float], make: bool = True) -> None:
        self._path, self.clock = path, clock
        refuse_network(path)
        if path.is_dir():
            raise StoreError(f"{path} is a folder: name a file in it")
        if not path.exists():
            if not make:
                raise StoreError(f"there is no file {path}")
            if not path.parent.is_dir():
                raise StoreError(f"there is no folder {path.parent} to make {path.name} in")
        self._read_only = path.exists() and not os.access(path, os.W_OK)
        try:
            self._db = self._open()
            self._db.set_busy_timeout(int(1000 * PATIENCE))
            self.version()  # what is not ours is left as it is
            if not self._read_only:
                self._patiently("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")
            self._synced = True
            self._db.execute("PRAGMA trusted_schema = OFF")  # somebody else may have made the file
            self._db.execute("PRAGMA cache_size = -65536")
            # Or SQLite would plan a query anew for each value that is put into it.
            self._db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        except apsw.Error as error:
            self._explain(error)
            raise

    def _open(self) -> apsw.Connection:
        if not self._read_only:
            return apsw.Connection(str(self._path))
        db = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            db.execute("PRAGMA user_version").fetchall()
        except apsw.CantOpenError:  # no room for a log beside it, so nobody writes
            log = self._path.with_name(f"{self._path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise StoreError(
                    f"{self._path} has a log beside it with results that are not in it yet, and "
                    "the folder cannot be written to: copy both to one that can"
                ) from None
            uri = f"{self._path.resolve().as_uri()}?immutable=1"
            return apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        return db

    def _patiently(self, sql: str) -> None:
        """For what does not wait by itself."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._db.execute(sql).fetchall()
                return
            except apsw.BusyError:
                if time.monotonic() > until:
                    raise
                time.sleep(random.uniform(0.001, 0.02))

    def _explain(self, error: apsw.Error) -> None:
        """Raise what SQLite says as one sentence that says what to do, where we have one."""
        if isinstance(error, apsw.NotADBError):
            raise StoreError(f"{self._path} is not a store of cutline, nor any database") from None
        if isinstance(error, apsw.ReadOnlyError):
            raise StoreError(f"{self._path} cannot be written to: nothing was changed") from None
        if isinstance(error, apsw.FullError | apsw.IOError):
            raise StoreError(
                f"{self._path} could not be written ({error}): nothing was changed; is the disk "
                "full?"
            ) from error
        if isinstance(error, apsw.CantOpenError):
            raise StoreError(f"{self._path} cannot be opened: {error}") from error
        if isinstance(error, apsw.BusyError):
            raise StoreError(
                f"{self._path} was held by another process for {PATIENCE:g} seconds"
            ) from None
        if isinstance(error, apsw.CorruptError):
            raise StoreError(f"{self._path} is damaged: {error}") from error

    def begin(self, *, write: bool, synced: bool = True) -> None:
        if write and self._read_only:
            raise StoreError(f"{self._path} cannot be written to: nothing was changed")
        if write and synced != self._synced:
            self._synced = False  # first, lest an interrupt leave it said and not done
            self.rows(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            self._synced = synced
        self.rows("BEGIN IMMEDIATE" if write else "BEGIN")

    def commit(self) -> None:
        self.rows("COMMIT")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._db.execute(sql, values).fetchall()
        except apsw.Error as error:
            self._explain(error)
            raise

    def many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        try:
            self._db.executemany(sql, values)
        except apsw.Error as error:
            self._explain(error)
            raise

    def script(self, sql: str) -> None:
        self.rows(sql)

    def head(self, name: str, *, write: bool) -> list[Any]:
        return self.rows(SELECT_HEAD, [name])  # beginning has locked the file

    def alone(self) -> None:
        """Beginning has locked the file."""

    def version(self) -> int | None:
        if self.rows("PRAGMA application_id")[0][0] == OURS:
            return int(self.rows("PRAGMA user_version")[0][0])
        made = self.rows("SELECT 1 FROM sqlite_master LIMIT 1")
        if made and self.rows("PRAGMA application_id")[0][0] == OURS:
            return int(self.rows("PRAGMA user_version")[0][0])  # made between the two looks
        if made:
            raise StoreError(f"{self._path} is a database of something else than cutline")
        if self._read_only:
            raise StoreError(f"{self._path} is empty and cannot be written to")
        return None

    def set_version(self, version: int) -> None:
        self.rows(f"PRAGMA application_id = {OURS}")
        self.rows(f"PRAGMA user_version = {version}")

    def compact(self) -> None:
        self.rows("VACUUM")

    def close(self) -> None:
        self._db.close()


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
