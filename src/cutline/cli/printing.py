"""Names and counts as commands print them."""

from typing import Any


def printable(text: str, most: int = 60) -> str:
    r"""A text on one line, without what would move a terminal's cursor, and not too long.

    >>> printable("exit code 2\n\x1b[31mno such file"), printable("a" * 9, most=5)
    ('exit code 2 ?[31mno such file', 'aaaa…')
    """
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= most else line[: most - 1] + "…"


def shorten(name: str, width: int) -> str:
    """A long name by its end, where names of tests differ.

    >>> shorten("tests/test_a.py::test_long", 12)
    '…::test_long'
    """
    plain = "".join(c if c.isprintable() else "?" for c in name)
    return plain if len(plain) <= width else "…" + plain[len(plain) + 1 - width :]


def spent_of(row: dict[str, Any]) -> str:
    """What was spent, of what there is."""
    return f"{row['spent']:,}" + (f" of {row['budget']:,}" if row["budget"] is not None else "")
