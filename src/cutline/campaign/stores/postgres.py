"""Campaigns on a PostgreSQL server, shared by any number of machines."""

import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from cutline.campaign.errors import StoreError, StoreUnavailable
from cutline.campaign.stores.base import Answer, without_password
from cutline.campaign.stores.connection import forked
from cutline.campaign.stores.guard import This
from cutline.campaign.stores.rows import SELECT_HEAD
from cutline.campaign.stores.schema import make_tables, upgrade_tables
from cutline.campaign.stores.sql import SQLStore
from cutline.core.numbers import MISTAKES

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:  # an extra
    raise StoreError("a PostgreSQL store needs psycopg: pip install 'cutline[postgres]'") from error

IDLE = 5.0  # seconds that a transaction that writes may wait for its worker: it takes milliseconds
NOW = "extract(epoch FROM clock_timestamp())::float8"
# What a server says to those whom it will not let in, however often they ask; without a code.
FOR_GOOD = (
    "does not exist",
    "authentication failed",
    "no pg_hba.conf entry",
    "no password supplied",
    "not permitted to log in",
    "not currently accepting connections",
    "permission denied",
    "certificate",
    "does not support SSL",
    "invalid ",
)
# What may go through later, by the server's codes (Appendix A of its manual):
# a connection that broke, transactions in each other's way, a server that goes down or comes up,
# too many connections, one that was idle for too long. Anything else stays as it is.
PASSING = ("08", "40001", "40P01", "57P01", "57P02", "57P03", "57P05", "53300", "25P03")
FULL = ("53100", "25006")  # no room on its disk; it may only be read
IDLE_STATUS = psycopg.pq.TransactionStatus.IDLE
_LEFT: list[Any] = []
ALONE = 0x6375746C  # the lock of those who make tables or campaigns


class PostgresStore(SQLStore):
    """A store on a server, in a schema of its own called cutline.

    ``where`` is a URL, postgresql://user@host:5432/database. Leases go by the server's clock.
    """

    def __init__(
        self,
        url: str,
        clock: Callable[[], float] | None = None,
        *,
        wait: float | None = None,
    ) -> None:
        super().__init__(wait)
        self.where = url
        self._clock = clock
        self.shown = without_password(url)
        parts = _parts(url)
        if parts is None:
            raise StoreError(
                "this is no PostgreSQL address: one is written postgresql://user@host:5432/database"
            )
        odd = any("@" in str(parts.get(name, "")) for name in ("host", "port", "dbname"))
        port = str(parts.get("port") or "")
        if odd or port.strip("0123456789,"):  # a password that was taken for something else
            raise StoreError(
                "in a PostgreSQL address, write an @ in a user's name or password as %40 and a / "
                "as %2F, and the port as a number"
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
        self._owner = os.getpid()
        self._inside = False  # a statement, from which nothing has come back yet
        self._db = self._try(
            lambda: psycopg.connect(
                url, autocommit=True, connect_timeout=10, keepalives_idle=15, keepalives_interval=5,
                keepalives_count=3,
            )
        )  # fmt: skip
        try:
            self.rows("SET search_path TO cutline")
            # One that is frozen or cut off in a transaction must not hold up others for ever.
            self.rows(f"SET idle_in_transaction_session_timeout = {1000 * IDLE:.0f}")
        except BaseException:
            self._db.close()
            raise

    @property
    def broken(self) -> bool:
        """Whether the connection is gone."""
        return bool(self._db.closed)

    @property
    def idle(self) -> bool:
        """See :class:`Connection`."""
        return not self._inside and self._db.pgconn.transaction_status == IDLE_STATUS

    def restore(self) -> bool:
        """See :class:`Connection`."""
        if self._inside or self._db.closed:
            return False  # the answer to the statement may still be on its way
        if not self.idle:
            self.rollback()
        return self.idle

    def _try(self, what: Callable[[], Answer]) -> Answer:
        """Do something with the server; what goes wrong is one sentence."""
        if self._owner != This.pid:
            raise StoreError(forked(without_password(self._url)))
        self._inside = True  # and it stays so where an interrupt comes before the answer
        handled = sys.exception()
        told: BaseException
        try:
            answer = what()
            self._inside = False
            return answer
        except psycopg.Error as error:
            interrupt = _interrupt(error, handled)
            if interrupt is None:
                self._inside = False
                told = _told(error, without_password(self._url))
            else:
                told = interrupt
        # Out here it does not carry psycopg's error along, which knows the whole address.
        raise told

    def begin(self, *, write: bool, synced: bool = True) -> None:
        # Always synced: the server may die and whoever asked be well.
        self._now = None
        # Somebody who looks holds up nobody, and may take his time.
        look = (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
            "SET LOCAL idle_in_transaction_session_timeout = 0"
        )
        self._try(lambda: self._db.execute("BEGIN" if write else look))

    def commit(self) -> None:
        self._try(lambda: self._db.execute("COMMIT"))

    def rollback(self) -> None:
        with contextlib.suppress(StoreError):  # it is gone with the connection
            self._try(lambda: self._db.execute("ROLLBACK"))

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        def get() -> list[Any]:
            cursor = self._db.execute(_marked(sql), values or None)
            return cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else []

        return self._try(get)

    def many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        if len(values) == 1:  # one trip is quicker than a pipeline
            self.rows(sql, values[0])
            return

        def put() -> None:
            with self._db.cursor() as cursor:
                cursor.executemany(_marked(sql), values)

        self._try(put)

    def script(self, sql: str) -> None:
        self._try(lambda: self._db.execute(sql))

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

    def columns(self, table: str) -> set[str]:
        sql = "SELECT column_name FROM information_schema.columns"
        found = self.rows(f"{sql} WHERE table_schema = 'cutline' AND table_name = ?", [table])
        return {row[0] for row in found}

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

    def leave(self) -> None:
        _LEFT.append(self._db)  # psycopg closes nothing that another process has opened


@cache
def _marked(sql: str) -> Any:
    """The statement with psycopg's marks for parameters."""
    return sql.replace("?", "%s")


def _parts(url: str) -> dict[str, Any] | None:
    """What an address says; None where it is none. Its error would repeat the address."""
    try:
        return conninfo_to_dict(url)
    except (psycopg.Error, UnicodeError):
        return None


def _interrupt(error: BaseException, handled: BaseException | None) -> BaseException | None:
    """What a signal's handler raised and psycopg took for a fault of its own, if it was so.

    ``handled`` is what the caller was dealing with already: psycopg had no part in that.
    """
    found = error.__context__
    while found is not None and found is not handled:
        if not isinstance(found, (psycopg.Error, OSError, *MISTAKES)):
            return found
        found = found.__context__
    return None


def _told(error: psycopg.Error, shown: str) -> StoreError:
    """What went wrong, and whether it may go through later."""
    line, code = _first_line(error), error.sqlstate
    if code in FULL:
        return StoreError(f"{shown} cannot be written to: {line}")
    if code is not None:
        passes = code.startswith(PASSING)
    else:  # no word from the server: the connection is gone, or there never was one
        cut_off = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        passes = cut_off and not any(words in str(error) for words in FOR_GOOD)
    if passes:
        return StoreUnavailable(f"{shown} does not answer: {line}")
    return StoreError(f"{shown}: {line}")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
