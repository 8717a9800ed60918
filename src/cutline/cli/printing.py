"""All that commands print, and names and counts as they print them."""

import sys
from typing import Any

import click

from cutline.core.text import visible


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print lines of text, with nothing in them that a terminal would obey.

    Everything that commands print for people goes through here. What somebody else wrote is made
    :func:`visible` where it is put into a line, so that it cannot begin a line of its own.
    """
    click.echo("\n".join(map(visible, text.split("\n"))), err=err, nl=nl)


def hand_over(text: str) -> None:
    """Print data for a program as it is; for people, where the output is a terminal."""
    if sys.stdout.isatty():
        say(text, nl=False)
    else:
        sys.stdout.write(text)  # click would leave out what a terminal obeys: two names, one text
        sys.stdout.flush()


def printable(text: str, most: int = 60) -> str:
    r"""What a program said, on one line with single spaces, and not too long.

    >>> print(printable("exit code 2\n\x1b[31mno such file"), printable("a" * 9, most=5))
    exit code 2 \x1b[31mno such file aaaa…
    """
    return cut(visible(" ".join(text.split())), most)


def named(name: str, most: int = 60) -> str:
    r"""A name that somebody gave, not too long; two names never look alike for their spaces.

    >>> print(named("a\nb"))
    a\nb
    """
    return cut(visible(name), most)


def cut(text: str, most: int) -> str:
    """A text that is at most so long."""
    return text if len(text) <= most else text[: most - 1] + "…"


def shorten(name: str, width: int) -> str:
    """A long name by its end, where names of tests differ.

    >>> shorten("tests/test_a.py::test_long", 12)
    '…::test_long'
    """
    plain = visible(name)
    return plain if len(plain) <= width else "…" + plain[len(plain) + 1 - width :]


def spent_of(row: dict[str, Any]) -> str:
    """What was spent, of what there is."""
    return f"{row['spent']:,}" + (f" of {row['budget']:,}" if row["budget"] is not None else "")
