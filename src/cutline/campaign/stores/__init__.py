"""Where campaigns live."""

import os
import re
from importlib import import_module
from pathlib import Path

from cutline.campaign.stores.base import Store, Transaction, without_password
from cutline.campaign.stores.memory import MemoryStore

__all__ = ["MemoryStore", "Store", "Transaction", "open_store"]

# PostgreSQL's other way of writing an address, host=... password=..., and a beginning left out.
_CONNINFO = re.compile(
    r"(?:^|\s)(?:host|hostaddr|user|dbname|service|\w*pass\w*)\s*=|^[^/\s:@]+:[^\s@]+@", re.I
)


def open_store(
    where: "Store | str | os.PathLike[str] | None", *, wait: float | None = None
) -> Store:
    """The store at a path or an address; None or "memory" is memory; a store is itself.

    ``wait`` is how many seconds a call waits for a file that another process holds, or for a server
    that does not answer: a minute unless said here or by the variable CUTLINE_WAIT; ``math.inf``
    is for ever. A store that is handed in keeps its own.

    >>> open_store(None).where
    'memory'
    """
    if where is None or where == "memory":
        return MemoryStore()
    if isinstance(where, str | os.PathLike):
        text = os.fspath(where)
        if text.startswith(("postgresql://", "postgres://")):
            store: Store = import_module("cutline.campaign.stores.postgres").PostgresStore(
                text, wait=wait
            )
            return store
        if text.startswith(("file:", ":")) or not text:
            raise ValueError(
                "a store is the path of a file, postgresql://..., or memory; SQLite's own names "
                'such as :memory: are not taken: give "memory" (or None in Python) for one that '
                "keeps nothing"
            )
        if "://" in text:
            shown = without_password(text)
            raise ValueError(f"a store is a file or postgresql://..., got {shown!r}")
        if text.startswith(("postgresql:", "postgres:")) or _CONNINFO.search(text):
            raise ValueError("a PostgreSQL store is written postgresql://user@host:5432/database")
        store = import_module("cutline.campaign.stores.sqlite").SQLiteStore(Path(text), wait=wait)
        return store
    return where
