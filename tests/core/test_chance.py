"""Chance: the published generator, and draws that depend on what they are for and nothing else."""

import itertools

import numpy as np
import pytest
from scipy import stats

from cutline.core.chance import REWARD, RULE, TIE, chance, philox, seed_key, uniform
from cutline.simulation.compiling import compile_kernel

# Known-answer vectors of the authors' library (Random123, kat_vectors, philox4x32 with 10 rounds).
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def words(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "wanted"), KNOWN)
def test_philox_gives_the_published_answers_plain_and_compiled(counter, key, wanted):
    assert list(philox(*words(counter), *words(key))) == words(wanted)
    assert list(compile_kernel(philox, "philox")(*words(counter), *words(key))) == words(wanted)


def test_a_draw_depends_on_everything_it_is_for():
    base = {"k0": 1, "k1": 2, "game": 3, "arm": 4, "pull": 5, "purpose": REWARD}
    drawn = {uniform(chance(**base), 0), uniform(chance(**base), 1)}
    changes = {"k0": 9, "k1": 9, "game": 2**40 + 3, "arm": 9, "pull": 2**31, "purpose": TIE}
    for name, value in [*changes.items(), ("purpose", RULE), ("game", 2**32 + 3)]:
        drawn.add(uniform(chance(**{**base, name: value}), 0))
    assert len(drawn) == 2 + len(changes) + 2


def test_no_two_draws_of_a_small_world_are_alike():
    world = itertools.product(range(8), range(8), range(8), (REWARD, TIE, RULE), range(4))
    drawn = [uniform(chance(1, 0, g, a, p, purpose), d) for g, a, p, purpose, d in world]
    assert len(set(drawn)) == len(drawn) == 8 * 8 * 8 * 3 * 4


def test_uniforms_are_uniform_and_never_at_the_ends():
    drawn = np.array([uniform(chance(5, 6, g, 0, p, 0), 0) for g in range(100) for p in range(200)])
    assert drawn.min() > 0
    assert drawn.max() < 1
    assert stats.kstest(drawn, "uniform").pvalue > 1e-4
    # Neighbouring pulls are unrelated: the correlation of 20,000 pairs stays within 4 errors.
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 4 / np.sqrt(len(drawn))


def test_the_ends_of_the_range(monkeypatch):
    monkeypatch.setattr("cutline.core.chance.philox", lambda *_: (0, 0, 0, 0))
    assert uniform(chance(0, 0, 0, 0, 0, 0), 0) == 2.0**-53
    monkeypatch.setattr("cutline.core.chance.philox", lambda *_: (2**32 - 1,) * 4)
    assert uniform(chance(0, 0, 0, 0, 0, 0), 0) == 1 - 2.0**-53


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, "1"])
def test_a_seed_is_a_whole_number_of_64_bits(seed):
    with pytest.raises(ValueError, match="seed must be"):
        seed_key(seed)
