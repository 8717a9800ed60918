"""Stores to test on: memory, a SQLite file, a PostgreSQL server started for the tests."""

import os
import time
import uuid

import postgres
import pytest
import soak

from cutline.campaign.stores import MemoryStore, sql
from cutline.campaign.stores.sqlite import SQLiteStore


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server, one for each process that runs tests."""
    if postgres.find_programs() is None:
        if os.environ.get("CI"):
            pytest.fail("CI must test with PostgreSQL, and there is none")
        pytest.skip("LEFT OUT: no PostgreSQL here (apt-get install postgresql)")
    with postgres.running() as running:
        yield running


@pytest.fixture
def database(server):
    """The address of an empty database."""
    import psycopg

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.url.removesuffix("postgres") + name


@pytest.fixture
def releases(monkeypatch):
    """Let go of every connection in the end, as a program does that ends."""
    made, begin = [], sql.SQLStore.__init__

    def remember(store, *given, **named):
        begin(store, *given, **named)
        made.append(store)

    monkeypatch.setattr(sql.SQLStore, "__init__", remember)
    yield
    for store in made:
        store.release()


@pytest.fixture(scope="module")
def nursery():
    """A warm process that brings up workers."""
    with soak.Nursery() as made:
        yield made


class Clock:
    """Time that passes when told to."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now

    def pass_(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request, tmp_path, clock):
    """Each kind of store, empty, whose clock stands still."""
    if request.param == "memory":
        yield MemoryStore(clock)
        return
    if request.param == "sqlite":
        made = SQLiteStore(tmp_path / "store.db", clock)
    else:
        from cutline.campaign.stores.postgres import PostgresStore

        made = PostgresStore(request.getfixturevalue("database"), clock)
    yield made
    made.release()


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path):
    """Where each kind of durable store is, as a user writes it."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    return request.getfixturevalue("database")


def wait_for(what, seconds=30.0):
    """Wait until something is true."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.01)
