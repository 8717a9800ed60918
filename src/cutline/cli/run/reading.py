"""The last number that a command printed, or why it cannot be told."""

import re

# Colours and other escape sequences, which are no part of what is said.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")
# What joins two numbers to something else than one: 7 / 10, 7 out of 10, 50 %, 0.9 ± 0.1.
_JOINED = re.compile(
    r"(?<=[\d.])(?:[ \t]*(?:(/|±|\+/-|×)[ \t]*(?=[-+.\d])|((?:out )?of) (?=\d)|(%))"
    r"|[\u00a0\u2009\u202f](?=\d{3}\b))"
)
_PIECE = re.compile(r"[\w.,:;%/±×+\-\u2212\u00b7~^*]+")
_NUMBER = re.compile(
    r"[-+]?(?:(?:(?!0[0-9])[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|nan|inf(?:inity)?)",
    re.IGNORECASE,
)
# Dates, times of day and versions: several numbers, and none of them a result.
_SEVERAL = re.compile(r"\d+([-/.])\d+(?:\1\d+)+|\d+(?::\d+)+(?:[.,]\d+)?")
_TIME = re.compile(r"\d\d:\d\d")


def last_number(printed: str) -> tuple[float | None, str]:
    """The last number by itself, and what was found, in words; None where there is no such.

    A number may stand in brackets or behind a name (``score=0.5``). Words with digits in them
    (``12ms``, ``v2``, ``0x1F``), dates, times of day and versions are passed over. What looks like
    a result and is no plain number (``7/10``, ``50%``, ``1,000``, ``3-4``) is not guessed at.

    >>> last_number("seed 7, score: 0.25 (took 3s)")
    (0.25, 'printed 0.25')
    >>> last_number("0.7 of all: 7/10")
    (None, 'printed 7/10 last, which is no plain number: print the reward by itself, as in 0.7')
    >>> last_number("done at 12:30:01 with v2")
    (None, 'no number was printed')
    """

    def join(found: re.Match[str]) -> str:
        return "/" if found[2] else found[1] or found[3] or "\u00b7"

    text = _JOINED.sub(join, _ESCAPES.sub("", printed))
    for piece in reversed(_PIECE.findall(text)):
        for word in reversed(_words(piece)):
            if _NUMBER.fullmatch(word):
                return float(word), f"printed {word}"
            if _is_unclear(word):
                return None, (
                    f"printed {word} last, which is no plain number: print the reward by itself, "
                    "as in 0.7"
                )
    return None, "no number was printed"


def _words(piece: str) -> list[str]:
    """The parts of something without spaces: behind a colon or a semicolon, between commas."""
    whole = piece.strip(",;:").removesuffix(".") if not _NUMBER.fullmatch(piece) else piece
    if _SEVERAL.fullmatch(whole) or _TIME.search(whole):
        return []
    parts = [part for part in re.split(r"[:;]", whole) if part]
    found: list[str] = []
    for part in parts:
        among = part.strip(",").split(",")
        whole_numbers = [each.lstrip("-+").isdecimal() for each in among]
        # 1,000 and 0,5 are one number to some, and 3,4 is two to others.
        found += [part.strip(",")] if all(whole_numbers) else among
    return found


def _is_unclear(word: str) -> bool:
    """Whether it looks like a result and is no plain number."""
    if not re.match(r"[-+\u2212~]?\.?\d", word):
        return False
    return not re.search(r"[^\W\d]", word)  # with letters in it, it is a word
