"""What a PostgreSQL server refuses, what is worth another try, and what an address may show."""

import random
import time
import traceback

import pytest

from cutline import Problem
from cutline.campaign import (
    Campaign,
    CampaignError,
    StoreError,
    StoreUnavailable,
    UnknownCampaign,
    audit,
    open_store,
)
from cutline.campaign.stores.base import without_password

pytestmark = pytest.mark.usefixtures("releases")

SECRET = "s3cr3t"


def said(error):
    """All that an error says, and those that it carries along."""
    found = "".join(traceback.format_exception(error))
    while error is not None:
        found += f"{error} {error!r} {error.args}"
        error = error.__cause__ or error.__context__
    return found


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{SECRET}@127.0.0.1:1/x",
        f"postgresql://127.0.0.1:1/x?user=ann&password={SECRET}",
        f"postgresql://127.0.0.1:1/x?user=ann&pass%77ord={SECRET}",
        f"postgresql://127.0.0.1:1/x?user=ann&%70assword={SECRET}",
        f"postgresql://127.0.0.1:1/x?user=ann&passwd={SECRET}",
        f"postgresql://127.0.0.1:1/x?user=ann&PASSWORD={SECRET}",
        f"postgresql://127.0.0.1:1/x?sslpassword={SECRET}",
        f"postgresql://127.0.0.1:1/x?oauth_client_secret={SECRET}",
        f"postgresql://127.0.0.1:1/x?scram_client_key={SECRET}",
        f"postgresql://127.0.0.1:1/x?options=-cmy.token%3D{SECRET}",
        f"postgresql://127.0.0.1:1/x?{SECRET}",
        f"postgresql://127.0.0.1:1/x?password=a@{SECRET}",
        f"postgresql://127.0.0.1:1/x?user=ann&password=a&b={SECRET}",
        f"postgresql://ann:a@{SECRET}@127.0.0.1:1/x",
        f"postgresql://ann:{SECRET}/x@127.0.0.1:1/x",
        f"postgresql://ann:{SECRET}?x@127.0.0.1:1/x",
        f"postgresql://ann:{SECRET}#x@127.0.0.1:1/x",
        f"postgresql://ann:{SECRET}/x",
        f"postgresql://ann:{SECRET} x@127.0.0.1:1/x",
        f"postgresql://ann:{SECRET}%zz@127.0.0.1:1/x",
        f"postgresql://ann:{SECRET}\0@127.0.0.1:1/x",
        f"postgresql://ann:{SECRET}\ud800@127.0.0.1:1/x",
        f"postgres://ann:{SECRET}@127.0.0.1:1/x",
        f"POSTGRESQL://ann:{SECRET}@127.0.0.1:1/x",
        f"mysql://ann:{SECRET}@127.0.0.1/x",
        f"mysql://127.0.0.1/x?passwd={SECRET}",
        f"host=127.0.0.1 user=ann passwd={SECRET}",
        f"host=127.0.0.1 user=ann password = {SECRET}",
        f"passwd={SECRET}",
        f"ann:{SECRET}@127.0.0.1/x",
    ],
)
def test_no_part_of_an_address_that_may_be_a_secret_is_shown(address, monkeypatch):
    monkeypatch.setenv("CUTLINE_WAIT", "0")
    assert SECRET not in without_password(address) or "://" not in address
    problem = Problem(arms=2, threshold=0.5, rewards="binary")
    for move in (
        lambda: open_store(address).heads(),
        lambda: Campaign.open(address),
        lambda: Campaign(problem, store=address, budget=9),
    ):
        with pytest.raises((CampaignError, ValueError)) as told:
            move()
        assert SECRET not in said(told.value)


def test_what_is_no_secret_is_shown():
    for address in (
        "postgresql://ann@db.example:5432/evals?sslmode=require&application_name=x",
        "postgresql://[::1]:5432/evals",
        "postgresql://a:1,b:2/evals?target_session_attrs=any",
        "postgresql:///evals?host=%2Fvar%2Frun",
    ):
        assert without_password(address) == address


# Names.


def named(*names):
    return Problem(arms=names, threshold=0.5, precision=0.1, rewards="binary")


@pytest.mark.parametrize("size", [3_000, 1_000_000])
def test_a_name_may_be_a_prompt(address, size):
    deal = random.Random(1)  # what repeats itself would be compressed
    long, other, third = ("".join(deal.choices("abcdefgh é漢", k=size)) for _ in range(3))
    problem = named(long, f"{long}!", other)
    with Campaign(problem, store=address, budget=40) as campaign:
        for trial in campaign.ask(6):
            campaign.tell(trial, trial.arm == long)
        campaign.add(third)
        with pytest.raises(ValueError, match="there is an arm"):
            campaign.add(long)
        campaign.retire(other)
        campaign.tell(campaign.ask(), 1)
    with Campaign(problem, store=address, budget=40) as campaign:
        assert campaign.verdict()[long].pulls >= 2
        assert audit(campaign).holds


def test_a_name_that_is_longer_than_any_store_takes_is_refused(address):
    long = "x" * (2**22 + 1)
    with pytest.raises(ValueError, match="4,194,304"):
        Campaign(named("a", long), store=address, budget=40)
    with pytest.raises(UnknownCampaign):
        Campaign.open(address)
    with Campaign(named("a"), store=address, budget=40) as campaign:
        with pytest.raises(ValueError, match="4,194,304"):
            campaign.add(long)
        assert audit(campaign).holds


# What is tried again.


def test_what_will_not_go_away_is_said_at_once(database):
    campaign = Campaign(named("a", "b"), store=database, budget=40)
    rows = campaign.store.db().rows
    trial = campaign.ask()
    role = f"guest_{random.SystemRandom().getrandbits(40):x}"
    rows(f"CREATE ROLE {role} LOGIN")
    for spoil, mend in (
        ("ALTER TABLE pull ADD CONSTRAINT never CHECK (state <> 1)", "DROP CONSTRAINT never"),
        ("ALTER TABLE pull RENAME COLUMN late TO tardy", "RENAME COLUMN tardy TO late"),
        ("ALTER TABLE pull ALTER note TYPE VARCHAR(3)", "ALTER note TYPE TEXT"),
    ):
        rows(spoil)
        began = time.monotonic()
        with pytest.raises(StoreError) as told:
            campaign.tell(trial, 1, note="a longer note")
        assert not isinstance(told.value, StoreUnavailable)
        assert time.monotonic() - began < 5
        rows(f"ALTER TABLE pull {mend}")
    began = time.monotonic()
    for bad in (
        database.replace("cutline@", "nobody@"),
        database.replace("cutline@", f"{role}@"),
        f"{database}_not",
        f"{database}?sslmode=require",
        f"{database}?sslmode=perhaps",
        f"{database}?unheard=of",
    ):
        with pytest.raises(StoreError) as told:
            Campaign(named("a", "b"), store=bad, budget=40)
        assert not isinstance(told.value, StoreUnavailable), bad
    assert time.monotonic() - began < 10
    rows(f"DROP ROLE {role}")
    assert campaign.tell(trial, 1) == "counted"
    assert audit(campaign).holds


def test_what_passes_is_tried_again(database):
    import psycopg

    campaign = Campaign(named("a", "b"), store=database, budget=40)
    own = campaign.store.db().rows("SELECT pg_backend_pid()")[0][0]
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [own])
    assert campaign.tell(campaign.ask(), 1) == "counted"
