"""cutline list, audit, upgrade and delete, and what all commands on a store share."""

import contextlib
import csv
import io
import json
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutline.cli.shared import formatted, one_sentence

if TYPE_CHECKING:
    from cutline.campaign import Audit, Campaign, Store

STORE = "cutline.db"
FAULTS = "its records do not follow from one another, so something else has changed them"

in_store = click.option(
    "--store",
    "where",
    default=STORE,
    show_default=True,
    envvar="CUTLINE_STORE",
    show_envvar=True,
    metavar="FILE|URL",
    help="Where campaigns are kept: a SQLite file, or postgresql://...",
)
by_name = click.option("--name", help="Which campaign; needed where the store holds more than one.")


# Opening.


@contextlib.contextmanager
def existing_store(where: str) -> Iterator["Store"]:
    """The store at a path or an address, let go of at the end; what goes wrong is one sentence."""
    from cutline.campaign import CampaignError, open_store

    with one_sentence():
        if "://" not in where:
            _see_that_there_is(Path(where))
        try:
            store = open_store(where)
            try:
                yield store
            finally:
                store.release()
        except CampaignError as error:
            raise click.UsageError(str(error).replace(where, shown(where))) from error


def _see_that_there_is(path: Path) -> None:
    """Looking must not make a store where there is none."""
    if path.is_dir():
        raise click.UsageError(f"{path} is a folder: name the file of a store with --store")
    if not path.exists():
        raise click.UsageError(
            f"there is no store {path}: name a file or postgresql://... with --store, or set "
            "CUTLINE_STORE"
        )
    if path.stat().st_size == 0:
        raise click.UsageError(f"{path} is empty: no campaign was ever kept in it")


@contextlib.contextmanager
def stored_campaign(where: str, name: str | None) -> Iterator["Campaign"]:
    """The campaign of this name in a store; the only one where no name is given."""
    from cutline.campaign import Campaign

    with existing_store(where) as store:
        yield Campaign.open(store, pick(store, name))


def pick(store: "Store", name: str | None) -> str:
    """The name of the campaign that is meant."""
    names = [head.name for head in store.heads()]
    place = shown(store.where)
    if not names:
        raise click.UsageError(f"there is no campaign in {place}")
    listed = ", ".join(names[:10]) + (" and more" if len(names) > 10 else "")
    if name is not None and name not in names:
        raise click.UsageError(f"there is no campaign {name!r} in {place}; it holds {listed}")
    if name is None and len(names) > 1:
        raise click.UsageError(f"say which campaign of {place} with --name: {listed}")
    return names[0] if name is None else name


def shown(where: str) -> str:
    """A store's address without a password."""
    from cutline.campaign.stores.base import without_password

    return without_password(where)


# Printing.


def aligned(lines: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Columns side by side, those named in ``left`` flush left, the others right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = []
    for line in lines:
        cells = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip() + "\n")
    return "".join(text)


def as_csv(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Rows as comma-separated values; nothing where there is no value."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_json(value: Any) -> str:
    """A value as JSON; null for numbers that JSON cannot hold."""
    return json.dumps(finite(value), indent=1, allow_nan=False) + "\n"


def finite(value: Any) -> Any:
    """The same with None in place of infinite numbers and those that are none."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def spent_of(row: dict[str, Any]) -> str:
    """What was spent, of what there is."""
    budget = "no limit" if row["budget"] is None else f"{row['budget']:,}"
    return f"{row['spent']:,} of {budget}"


# Commands.


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
            click.echo(as_json(rows), nl=False)
        elif format == "csv":
            columns = list(rows[0]) if rows else ["name"]
            click.echo(as_csv(rows, columns), nl=False)
        elif rows:
            click.echo(_list_table(rows), nl=False)
        else:
            click.echo(f"there is no campaign in {shown(where)}")


def _list_table(rows: Sequence[dict[str, Any]]) -> str:
    heads = ["campaign", "status", "arms", "settled", "spent", "in flight", "created"]
    lines = [
        [
            printable(row["name"]),
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


def printable(text: str, most: int = 60) -> str:
    r"""A text on one line, without what would move a terminal's cursor, and not too long.

    >>> printable("exit code 2\n\x1b[31mno such file"), printable("a" * 9, most=5)
    ('exit code 2 ?[31mno such file', 'aaaa…')
    """
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= most else line[: most - 1] + "…"


@click.command()
@in_store
@by_name
def audit(where: str, name: str | None) -> None:
    """Replay a stored campaign and see that everything in it follows.

    Every ask is made again and must choose the same arm; every count, tally, piece of evidence and
    place in line must come out the same. Exit code 0 if the campaign holds, 1 if it does not.

    \b
    cutline audit --store evals.db --name nightly
    """  # noqa: D301 (as above)
    with stored_campaign(where, name) as campaign:
        pulls = campaign.access.head().pulls
        with _working(f"replaying {pulls:,} pulls"):
            found = _audited(campaign)
        click.echo(
            f"campaign {campaign.name!r} in {shown(where)}: "
            f"{found.events:,} events replayed, {found.pulls:,} pulls"
        )
        for fault in found.faults:
            click.echo(f"fault: {fault}")
        click.echo("it holds" if found.holds else f"it does not hold: {FAULTS}")
    if not found.holds:
        sys.exit(1)


def _audited(campaign: "Campaign") -> "Audit":
    from cutline.campaign import Audit
    from cutline.campaign import audit as replay

    try:
        return replay(campaign)
    except (AssertionError, LookupError, TypeError, ValueError, ArithmeticError) as error:
        # What was damaged may name what is not there.
        pulls = campaign.access.head().pulls
        what = f"the replay broke off: {type(error).__name__} {error}".rstrip()
        return Audit(0, pulls, (what,))


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
@click.argument("where", default=STORE, envvar="CUTLINE_STORE", metavar="[STORE]")
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
            click.echo(f"{shown(where)} is up to date: nothing was to be done")
            return
        server = "://" in where
        if server and not backed_up:
            raise click.UsageError(
                f"make a dump of {shown(where)} first (pg_dump --schema=cutline ADDRESS > FILE), "
                "then say --backed-up"
            )
        done: Any = store.upgrade()  # type: ignore[attr-defined]  # both kinds of tables have it
        had = done if server else done[0]
        click.echo(f"{shown(where)} was version {had} and is up to date now")
        if not server:
            click.echo(f"the file as it was: {done[1]}")


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
            click.confirm(
                f"Delete campaign {chosen!r} in {shown(where)}, {head.arms:,} arms and "
                f"{head.pulls:,} pulls{flying}, for good?",
                abort=True,
                err=True,
            )
        store.delete(chosen)
        click.echo(f"campaign {chosen!r} was deleted from {shown(where)}")
        if compact:
            with _working("giving the room back"):
                store.compact()
