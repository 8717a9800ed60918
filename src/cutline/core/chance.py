"""Chance as a pure function of what it is for.

A draw is Philox4x32-10 (Salmon et al. 2011) with the seed as key and *what the draw is for* as
counter: the game, the arm, the pull, the purpose and the number of the draw within the pull.
Nothing depends on the order of work, so any number of threads, chunks or machines meets the same
rewards, and two rules that are compared meet the same rewards too.

Everything here is plain integer arithmetic on values below 2**63 after masking, so the same source
runs in Python and compiled.
"""

from cutline.core.numbers import is_whole, shown

REWARD, TIE, RULE, DELAY = 0, 1, 2, 3  # purposes

GAMES = 2**48  # games, counted from 0, that one seed can tell apart
PULLS = 2**32  # pulls of one arm
DRAWS = 2**12  # draws within one pull

_MASK = 0xFFFFFFFF


def seed_key(seed: int) -> tuple[int, int]:
    """The two key words of a seed.

    >>> seed_key(1), seed_key(2**32)
    ((1, 0), (0, 1))
    """
    if not is_whole(seed) or not 0 <= seed < 2**64:
        raise ValueError(f"seed must be a whole number from 0 to 2**64 - 1, got {shown(seed)}")
    return int(seed) & _MASK, int(seed) >> 32


def _round(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    p0 = 0xD2511F53 * c0
    p1 = 0xCD9E8D57 * c2
    return (
        ((p1 >> 32) & _MASK) ^ c1 ^ k0,
        p1 & _MASK,
        ((p0 >> 32) & _MASK) ^ c3 ^ k1,
        p0 & _MASK,
    )


def philox(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """Ten rounds of Philox4x32: four 32-bit words for a counter and a key.

    >>> [f"{word:08x}" for word in philox(0, 0, 0, 0, 0, 0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    # Written out: a loop here would keep the compiler from drawing for many games at once.
    a, b = 0x9E3779B9, 0xBB67AE85
    c0, c1, c2, c3 = c0 & _MASK, c1 & _MASK, c2 & _MASK, c3 & _MASK
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (k0 + a) & _MASK, (k1 + b) & _MASK)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (k0 + 2 * a) & _MASK, (k1 + 2 * b) & _MASK)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (k0 + 3 * a) & _MASK, (k1 + 3 * b) & _MASK)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (k0 + 4 * a) & _MASK, (k1 + 4 * b) & _MASK)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (k0 + 5 * a) & _MASK, (k1 + 5 * b) & _MASK)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (k0 + 6 * a) & _MASK, (k1 + 6 * b) & _MASK)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (k0 + 7 * a) & _MASK, (k1 + 7 * b) & _MASK)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, (k0 + 8 * a) & _MASK, (k1 + 8 * b) & _MASK)
    return _round(c0, c1, c2, c3, (k0 + 9 * a) & _MASK, (k1 + 9 * b) & _MASK)


Chance = tuple[int, int, int, int, int, int]


def chance(k0: int, k1: int, game: int, arm: int, pull: int, purpose: int) -> Chance:
    """What a draw is for, ready for :func:`uniform`: the key and the counter."""
    return (k0, k1, pull, arm, game & _MASK, ((game >> 32) << 16) | purpose)


def uniform(what: Chance, draw: int) -> float:
    """A uniform number in (0, 1), never 0 or 1: an odd multiple of 2**-53.

    ``draw`` numbers the draws within one pull, for those that need several.

    >>> uniform(chance(1, 0, game=0, arm=3, pull=7, purpose=REWARD), 0)
    0.7027391153640642
    """
    k0, k1, c0, c1, c2, c3 = what
    high, low, _, _ = philox(c0, c1, c2, c3 + (draw << 4), k0, k1)
    return (2.0 * ((high << 20) | (low >> 12)) + 1.0) * 1.1102230246251565e-16
