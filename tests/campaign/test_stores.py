"""What is true of every store, and that the check itself can fail."""

import pytest

from cutline.campaign import MemoryStore
from cutline.campaign.stores import open_store
from cutline.testing import check_store


@pytest.mark.parametrize("seed", range(8))
def test_memory_is_a_store(seed):
    store = MemoryStore()
    check_store(lambda: store, seed=seed)


def test_files_and_servers_are_stores(address):
    opened = []

    def open_it():
        opened.append(open_store(address))
        return opened[-1]

    check_store(open_it, moves=200)
    for store in opened:
        store.release()


class Forgetful(MemoryStore):
    """Loses an arm's last reward now and then."""

    def run(self, name, move, work):
        game = self._games[name]
        if move == "look" and game.head.told > 40:
            arm = max(game._arms, key=lambda arm: arm.pulls)
            arm.total = 0.0
        return super().run(name, move, work)


class Generous(MemoryStore):
    """Forgets what was reserved."""

    def run(self, name, move, work):
        game = self._games[name]
        if game.head.events > 50:
            game.head.reserved = 0
        return super().run(name, move, work)


class Careless(MemoryStore):
    """Goes on asking for arms that were retired."""

    def run(self, name, move, work):
        game = self._games[name]
        for arm in game._arms:
            if arm.status == "retired":
                arm.status = "open"
        return super().run(name, move, work)


class Hasty(MemoryStore):
    """Begins at the front of the line again where it should read on."""

    def run(self, name, move, work):
        game = self._games[name]
        if "first" not in vars(game):
            first = game.first
            game.first = lambda n, left, after=None: first(n, left)
        return super().run(name, move, work)


@pytest.mark.parametrize("broken", [Forgetful, Generous, Careless, Hasty])
def test_a_store_that_loses_something_is_found_out(broken):
    store = broken()
    with pytest.raises(AssertionError):
        check_store(lambda: store)
