"""cutline list, audit, upgrade and delete."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from cutline.cli.printing import hand_over, named, printable, say, spent_of
from cutline.cli.shared import formatted
from cutline.cli.stores.opening import (
    STORE,
    by_name,
    by_rule,
    existing_store,
    in_store,
    pick,
    stored_campaign,
    waits,
)
from cutline.core.text import visible
from cutline.figures.text import aligned, as_csv, as_json

FAULTS = "its records do not follow from one another, so something else has changed them"


@click.command("list")
@in_store
@formatted
def list_(where: str, format: str) -> None:
    """List the campaigns of a store.

    "done" means that nothing is in flight and nothing is left to spend or to settle; settled arms
    are those proven at the campaign's confidence, and those retired.

    \b
    cutline list --store evals.db
    CUTLINE_STORE=postgresql://ann@db.example/evals cutline list --format json
    """  # noqa: D301 (click wants the backspace itself before lines it should leave as they are)
    with existing_store(where) as store:
        from cutline.campaign.looking import head_row

        rows = [head_row(head) for head in store.heads()]
        for row in rows:
            made = datetime.fromtimestamp(row["created"], UTC)
            row["created"] = made.strftime("%Y-%m-%dT%H:%M:%SZ")
        if format == "json":
            say(as_json(rows), nl=False)
        elif format == "csv":
            columns = list(rows[0]) if rows else ["name"]
            hand_over(as_csv(rows, columns))
        elif rows:
            say(_list_table(rows), nl=False)
        else:
            say(f"there is no campaign in {store.shown}")


def _list_table(rows: Sequence[dict[str, Any]]) -> str:
    heads = ["campaign", "status", "arms", "settled", "spent", "in flight", "created"]
    lines = [
        [
            named(row["name"]),
            row["status"],
            f"{row['arms']:,}",
            "-" if row["settled"] is None else f"{row['settled']:,}",
            spent_of(row),
            f"{row['in_flight']:,}",
            row["created"].replace("T", " ").removesuffix(":00Z").removesuffix("Z") + " UTC",
        ]
        for row in rows
    ]
    return aligned([heads, *lines], left=(0, 1))


@click.command()
@in_store
@by_name
@by_rule
def audit(where: str, name: str | None, rule: str | None) -> None:
    """Replay a stored campaign and see that everything in it follows.

    Every ask is made again and must choose the same arm; every count, tally, piece of evidence and
    place in line must come out the same, and every row must be as it was written, by its checksum
    (which is there against accident, not against forgery). Exit code 0 if the campaign holds, 1 if
    it does not.

    \b
    cutline audit --store evals.db --name nightly
    """  # noqa: D301 (as above)
    from cutline.campaign import audit as replay

    with stored_campaign(where, name, rule) as campaign:
        pulls = campaign.access.head().pulls
        with _working(f"replaying {pulls:,} pulls"):
            found = replay(campaign)
        say(
            f"campaign {campaign.name!r} in {campaign.store.shown}: "
            f"{found.events:,} events replayed, {found.pulls:,} pulls"
        )
        if found.unchecked:
            say(
                f"{found.unchecked:,} rows are from before checksums were kept: a note, a token or "
                "a late value that was changed in one of them goes unnoticed"
            )
        for fault in found.faults:
            say(f"fault: {visible(fault)}")
        say("it holds" if found.holds else f"it does not hold: {FAULTS}")
    if not found.holds:
        sys.exit(1)


@contextlib.contextmanager
def _working(what: str) -> Iterator[None]:
    """Show on a terminal's stderr that something goes on."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@click.command()
@in_store
@by_name
@by_rule
@click.option("--arm", "arms", multiple=True, help="Only this arm; may be given several times.")
def resume(where: str, name: str | None, rule: str | None, arms: tuple[str, ...]) -> None:
    """Go on with a campaign that is paused, and try its suspended arms again.

    Arms are suspended where their trials fail and the others' do not. cutline run and identify
    do the same when they are started again.

    \b
    cutline resume --store evals.db --name nightly
    cutline resume --store evals.db --arm terse --arm polite
    """  # noqa: D301 (as above)
    with stored_campaign(where, name, rule) as campaign:
        suspended = campaign.suspended()
        paused = campaign.status == "paused" and not arms
        if paused:
            campaign.resume()
            say(f"campaign {named(campaign.name)} goes on")
        for arm in arms or suspended:
            campaign.resume(arm)
            why = (
                f" (it was suspended: {printable(suspended[arm], 200)})" if arm in suspended else ""
            )
            say(f"{named(arm)} is tried again{why}")
        if not (paused or arms or suspended):
            say(f"campaign {named(campaign.name)} is not paused, and no arm is suspended")


@click.command()
@click.argument("where", default=STORE, envvar="CUTLINE_STORE", metavar="[STORE]")
@waits
@click.option(
    "--backed-up",
    is_flag=True,
    help="There is a dump of the PostgreSQL database that it could be restored from.",
)
def upgrade(where: str, backed_up: bool) -> None:
    """Bring a store of an older cutline up to date.

    A SQLite file is copied first, to a file beside it that says its version. A PostgreSQL database
    is for you to dump first. Stop the workers before: an older cutline cannot use the store after.

    \b
    cutline upgrade evals.db
    pg_dump --schema=cutline postgresql://ann@db.example/evals > evals.sql
    cutline upgrade postgresql://ann@db.example/evals --backed-up
    """  # noqa: D301 (as above)
    with existing_store(where) as store:
        from cutline.campaign import OlderStore

        try:
            store.heads()
        except OlderStore:
            pass
        else:
            say(f"{store.shown} is up to date: nothing was to be done")
            return
        server = "://" in where
        if server and not backed_up:
            raise click.UsageError(
                f"make a dump of {store.shown} first (pg_dump --schema=cutline ADDRESS > FILE), "
                "then say --backed-up"
            )
        done: Any = store.upgrade()  # type: ignore[attr-defined]  # both kinds of tables have it
        had = done if server else done[0]
        say(f"{store.shown} was version {had} and is up to date now")
        if not server:
            say(f"the file as it was: {done[1]}")


@click.command()
@in_store
@by_name
@click.option("--yes", is_flag=True, help="Do not ask. Needs --name.")
@click.option("--compact", is_flag=True, help="Give the room back, which takes a while.")
def delete(where: str, name: str | None, yes: bool, compact: bool) -> None:
    """Remove a campaign with all its pulls, for good.

    \b
    cutline delete --store evals.db --name nightly
    cutline delete --store evals.db --name nightly --yes --compact
    """  # noqa: D301 (as above)
    with existing_store(where) as store:
        if yes and name is None:
            raise click.UsageError("with --yes say which campaign with --name")
        chosen = pick(store, name)
        if not yes:
            if not sys.stdin.isatty():
                raise click.UsageError(
                    f"deleting campaign {chosen!r} is for good: say --yes where nobody can be asked"
                )
            (head,) = (head for head in store.heads() if head.name == chosen)
            flying = f", {head.flying:,} of them in flight" if head.flying else ""
            question = (
                f"Delete campaign {chosen!r} in {store.shown}, {head.arms:,} arms and "
                f"{head.pulls:,} pulls{flying}, for good?"
            )
            click.confirm(visible(question), abort=True, err=True)
        store.delete(chosen)
        say(f"campaign {chosen!r} was deleted from {store.shown}")
        if compact:
            with _working("giving the room back"):
                store.compact()
