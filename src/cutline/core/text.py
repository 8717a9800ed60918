"""Texts that somebody else wrote, as they may be shown."""

import re

_PLAIN = re.compile(r"[^\x20-\x7e]+")  # most texts hold nothing else than letters of ASCII


def visible(text: str) -> str:
    r"""A text on one line with nothing in it that a terminal would obey.

    Control characters, line breaks, escape sequences, and what turns the direction of writing are
    written out as Python writes them; letters of all languages stay as they are.

    >>> print(visible("naïve \x1b[31mred\x1b[0m\nand \u202eback"))
    naïve \x1b[31mred\x1b[0m\nand \u202eback
    """
    return _PLAIN.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    return "".join(c if c.isprintable() else _escaped(c) for c in found[0])


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
