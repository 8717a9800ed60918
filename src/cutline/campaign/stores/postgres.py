"""Campaigns on a PostgreSQL server, shared by any number of machines."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from cutline.campaign.errors import StoreError, StoreUnavailable
from cutline.campaign.stores.base import without_password
from cutline.campaign.stores.rows import SELECT_HEAD
from cutline.campaign.stores.schema import make_tables, upgrade_tables
from cutline.campaign.stores.sql import SQLStore

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:  # an extra
    raise StoreError("a PostgreSQL store needs psycopg: pip install 'cutline[postgres]'") from error

IDLE = 5.0  # seconds that a transaction that writes may wait for its worker: it takes milliseconds
NOW = "extract(epoch FROM clock_timestamp())::float8"
# What a server says to those whom it will not let in, however often they ask.
FOR_GOOD = (
    "does not exist",
    "authentication failed",
    "no pg_hba.conf entry",
    "no password supplied",
)
ALONE = 0x6375746C  # the lock of those who make tables or campaigns


class PostgresStore(SQLStore):
    """A store on a server, in a schema of its own called cutline.

    ``where`` is a URL, postgresql://user@host:5432/database. Leases go by the server's clock.
    """

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        super().__init__()
        self.where = url
        self._clock = clock
        self.shown = without_password(url)
        try:
            parts = conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            raise StoreError(
                "this is no PostgreSQL address: one is written postgresql://user@host:5432/database"
            ) from None
        if any("@" in str(parts.get(name, "")) for name in ("host", "port", "dbname")):
            raise StoreError(
                "in a PostgreSQL address, write an @ in a user's name or password as %40 and a / "
                "as %2F"
            )

    def connect(self, *, make: bool) -> "_Server":
        """See :class:`SQLStore`."""
        server = _Server(self.where, self._clock)
        try:
            make_tables(server, self.shown, make)
        except BaseException:
            server.close()
            raise
        return server

    def upgrade(self) -> int:
        """Bring older tables up to date, all or nothing; the version they had."""
        server = _Server(self.where, self._clock)
        try:
            return upgrade_tables(server)
        finally:
            server.close()


class _Server:
    """One connection."""

    types: Mapping[str, str] = {
        "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "real": "DOUBLE PRECISION",
        "blob": "BYTEA",
        "clustered": "",
    }

    def __init__(self, url: str, clock: Callable[[], float] | None) -> None:
        self._url, self._own_clock = url, clock
        self._now: float | None = None
        with self._errors():
            self._db = psycopg.connect(
                url, autocommit=True, connect_timeout=10, keepalives_idle=15, keepalives_interval=5,
                keepalives_count=3,
            )  # fmt: skip
            self._db.execute("SET search_path TO cutline")
            # One that is frozen or cut off in a transaction must not hold up the others for ever.
            self._db.execute(f"SET idle_in_transaction_session_timeout = {1000 * IDLE:.0f}")

    @property
    def broken(self) -> bool:
        """Whether the connection is gone."""
        return bool(self._db.closed)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.InsufficientPrivilege as error:
            raise StoreError(f"{without_password(self._url)}: {_first_line(error)}") from error
        except (psycopg.errors.DiskFull, psycopg.errors.ReadOnlySqlTransaction) as error:
            raise StoreError(
                f"{without_password(self._url)} cannot be written to: {_first_line(error)}"
            ) from error
        except (
            psycopg.OperationalError,
            psycopg.InterfaceError,
            psycopg.errors.IdleInTransactionSessionTimeout,
        ) as error:
            if any(words in str(error) for words in FOR_GOOD):
                raise StoreError(f"{without_password(self._url)}: {_first_line(error)}") from None
            # Nobody there, a connection that broke, a deadlock: it may go through later.
            raise StoreUnavailable(
                f"{without_password(self._url)} does not answer: {_first_line(error)}"
            ) from error

    def begin(self, *, write: bool, synced: bool = True) -> None:
        # Always synced: the server may die and whoever asked be well.
        self._now = None
        # Somebody who looks holds up nobody, and may take his time.
        look = (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
            "SET LOCAL idle_in_transaction_session_timeout = 0"
        )
        with self._errors():
            self._db.execute("BEGIN" if write else look)

    def commit(self) -> None:
        with self._errors():
            self._db.execute("COMMIT")

    def rollback(self) -> None:
        with contextlib.suppress(psycopg.Error):  # it is gone with the connection
            self._db.execute("ROLLBACK")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._errors():
            cursor = self._db.execute(_marked(sql), values or None)
            return cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else []

    def many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        if len(values) == 1:  # one trip is quicker than a pipeline
            self.rows(sql, values[0])
            return
        with self._errors(), self._db.cursor() as cursor:
            cursor.executemany(_marked(sql), values)

    def script(self, sql: str) -> None:
        with self._errors():
            self._db.execute(sql)

    def head(self, name: str, *, write: bool) -> list[Any]:
        # One trip for the row, the lock and the time.
        lock = " FOR UPDATE" if write else ""
        found = self.rows(SELECT_HEAD.replace(" FROM ", f", {NOW} FROM ") + lock, [name])
        for row in found:
            self._now = float(row[-1])
        return [row[:-1] for row in found]

    def alone(self) -> None:
        self.rows(f"SELECT pg_advisory_xact_lock({ALONE})")
        self.rows("CREATE SCHEMA IF NOT EXISTS cutline")

    def clock(self) -> float:
        if self._own_clock is not None:
            return self._own_clock()
        if self._now is None:
            self._now = float(self.rows(f"SELECT {NOW}")[0][0])
        return self._now

    def version(self) -> int | None:
        if self.rows("SELECT to_regclass('cutline.version')")[0][0] is None:
            return None
        return int(self.rows("SELECT number FROM version")[0][0])

    def set_version(self, version: int) -> None:
        self.rows("CREATE TABLE IF NOT EXISTS version (number BIGINT NOT NULL)")
        self.rows("DELETE FROM version")
        self.rows("INSERT INTO version VALUES (?)", [version])

    def compact(self) -> None:
        self.rows("VACUUM (FULL) campaign, arm, pull, event")

    def close(self) -> None:
        self._db.close()


@cache
def _marked(sql: str) -> Any:
    """The statement with psycopg's marks for parameters."""
    return sql.replace("?", "%s")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
