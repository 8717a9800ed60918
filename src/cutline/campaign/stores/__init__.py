"""Where campaigns live."""

import os
import re
from importlib import import_module
from pathlib import Path

from cutline.campaign.stores.base import Store, Transaction, without_password
from cutline.campaign.stores.memory import MemoryStore
from cutline.core.numbers import shown

__all__ = ["MemoryStore", "Store", "Transaction", "open_store"]

# PostgreSQL's other way of writing an address, host=... password=..., and a beginning left out.
_CONNINFO = re.compile(
    r"(?:^|\s)(?:host|hostaddr|user|dbname|service|\w*pass\w*)\s*=|^[^/\s:@]+:[^\s@]+@", re.I
)

_HALF = re.compile("[\ud800-\udfff]")
LONGEST = 4_000  # characters of a path or an address
_VERBS = ("create", "begin", "heads", "delete", "release")


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
    if where is None or (isinstance(where, str) and where == "memory"):
        return MemoryStore()
    if isinstance(where, str | os.PathLike):
        text = os.fsdecode(where)
        if "\0" in text or _HALF.search(text):
            raise ValueError("a store's path or address is text, without zero bytes, in UTF-8")
        too_long = "://" not in text and max(map(len, text.split("/"))) > 255
        if too_long or len(text) > LONGEST:
            raise ValueError(f"a store's path or address is too long: {shown(text)}")
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
            address = without_password(text)
            raise ValueError(f"a store is a file or postgresql://..., got {address!r}")
        if text.startswith(("postgresql:", "postgres:")) or _CONNINFO.search(text):
            raise ValueError("a PostgreSQL store is written postgresql://user@host:5432/database")
        store = import_module("cutline.campaign.stores.sqlite").SQLiteStore(Path(text), wait=wait)
        return store
    if isinstance(where, type) or not all(hasattr(where, verb) for verb in _VERBS):
        raise TypeError(
            f"a store is the path of a file, postgresql://..., None for memory, or a store object, "
            f"got {shown(where)}"
        )
    return where
