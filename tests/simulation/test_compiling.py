"""Compiled code: kept between runs, never stale, and shared by processes that start at once."""

import contextlib
import errno
import hashlib
import importlib
import json
import math
import os
import pickle
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import event

from cutline.rules import parse_rule
from cutline.simulation import Bandit, Bernoulli, Gaussian, engine, play, simulate
from cutline.simulation.compiling import CannotCompile, compile_kernel
from cutline.simulation.engine import Player

MEANS = (0.2, 0.45, 0.6, 0.9)
BINARY = Bandit(Bernoulli(MEANS), threshold=0.5)
GAUSSIAN = Bandit(Gaussian(MEANS, sd=0.5), threshold=0.5)
BUDGET, GAMES, SEED = 40, 96, 3

SIMULATE = ["simulate", "--means", ",".join(map(str, MEANS)), "--threshold", "0.5"]
SIMULATE += ["--budget", str(BUDGET), "--games", str(GAMES), "--seed", str(SEED)]
SIMULATE += ["--threads", "1", "--format", "json"]

# Every pass of numba's compiler counts, whatever asked for it.
WATCHED = """
import sys
from numba.core import event
from cutline.cli import main

with event.install_recorder("numba:run_pass") as passes:
    main()
print(len(passes.buffer), "passes", file=sys.stderr)
"""


def environment(cache: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "CUTLINE_CACHE_DIR": str(cache)}


def python(*arguments: str, cache: Path, **options: object) -> subprocess.CompletedProcess[str]:
    settings = {"env": environment(cache), "timeout": 300, **options}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **settings)


def cutline(*arguments: str, cache: Path, **options: object) -> tuple[list[dict], int]:
    """The rows that a command prints as JSON, and how many passes the compiler made for it."""
    ran = python("-c", WATCHED, *arguments, cache=cache, **options)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout), passes_in(ran.stderr)


def passes_in(said: str) -> int:
    count, word = said.splitlines()[-1].split()
    assert word == "passes"
    return int(count)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def wrong_by_hand(bandit, rule) -> tuple[int, int]:
    """In how many games the rule errs, and with how many arms in all, in plain Python."""
    wrong_games = wrong_arms = 0
    for game in range(GAMES):
        answer = rule.answer(
            bandit.problem, play(bandit, rule, budget=BUDGET, seed=SEED, game=game).tallies
        )
        wrong = sum((t > 0) != a for t, a in zip(bandit.truth, answer, strict=True) if t != 0)
        wrong_games += wrong > 0
        wrong_arms += wrong
    return wrong_games, wrong_arms


def wrong_in(row: dict) -> tuple[int, int]:
    return row["wrong_games"], round(row["wrong_arms"] * row["games"])


# --- What is kept, and by how many at once -------------------------------------------------------


CROWD = """
import json
import multiprocessing

import numba
from numba.core import event
from cutline import APT, Bandit, Bernoulli, simulate

bandit = Bandit(Bernoulli([0.2, 0.45, 0.6, 0.9]), threshold=0.5)
fork = multiprocessing.get_context("fork")
everybody = fork.Barrier(8, timeout=60)

def play(_):
    everybody.wait()
    with event.install_recorder("numba:run_pass") as passes:
        result = simulate(bandit, [APT()], budget=[40], games=96, seed=3, threads=1)
    return int(result.wrong_games[0, 0]), int(result.wrong_arms_sum[0, 0]), len(passes.buffer)

numba.njit(lambda x: x + 1.0)(1.0)  # what numba sets up once need not be done by all eight
with fork.Pool(8) as pool:
    print(json.dumps(pool.map(play, range(8), chunksize=1)))
"""


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """The cache folder that eight processes have filled together, and what each of them counted."""
    cache = tmp_path_factory.mktemp("crowd") / "not yet there"
    ran = python("-c", CROWD, cache=cache)
    assert ran.returncode == 0, ran.stderr
    return cache, json.loads(ran.stdout)


@pytest.fixture
def warm(crowd, tmp_path):
    """A cache folder of one's own that holds APT's games and the order of ties."""
    return shutil.copytree(crowd[0], tmp_path / "cache")


def test_eight_processes_on_a_cold_cache_agree(crowd):
    cache, said = crowd
    assert len(said) == 8
    assert sum(passes > 0 for *_, passes in said) > 1  # they did start together
    by_hand = wrong_by_hand(BINARY, parse_rule("apt"))
    assert [(games, arms) for games, arms, _ in said] == [by_hand] * 8
    # One file a kernel, and nothing half-written.
    assert sorted(name.partition("-")[0] for name in contents(cache)) == ["scan", "ties"]
    assert all(name.endswith(".nbc") for name in contents(cache))


def test_the_second_run_compiles_nothing(warm):
    kept = contents(warm)
    (row,), passes = cutline(*SIMULATE, "--rules", "apt", cache=warm)
    assert passes == 0
    assert contents(warm) == kept
    assert wrong_in(row) == wrong_by_hand(BINARY, parse_rule("apt"))


# --- Small functions: the same questions, asked of compile_kernel alone --------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("CUTLINE_CACHE_DIR", str(folder))
    return folder


def compiled(function, *arguments) -> tuple[object, int]:
    """What the compiled function returns, and how many passes it took to compile it."""
    with event.install_recorder("numba:run_pass") as passes:
        value = compile_kernel(function, "small")(*arguments)
    return value, len(passes.buffer)


def hypotenuse(a, b):
    return math.sqrt(a * a + b * b)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:-1],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: b"\0" * len(whole),
        lambda whole: bytes(byte ^ 255 for byte in whole),
        lambda whole: pickle.dumps("something else"),
    ],
    ids=["empty", "last byte lost", "half", "zeros", "inverted", "another pickle"],
)
def test_a_damaged_file_is_as_good_as_none(cache, damage):
    assert compiled(hypotenuse, 3.0, 4.0)[0] == 5.0
    (path,) = cache.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    value, passes = compiled(hypotenuse, 3.0, 4.0)
    assert value == 5.0
    assert passes > 0
    assert compiled(hypotenuse, 3.0, 4.0) == (5.0, 0)  # whole again


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("CUTLINE_CACHE_DIR", str(file / "below"))
    for _ in range(2):
        value, passes = compiled(hypotenuse, 3.0, 4.0)
        assert value == 5.0
        assert passes > 0
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


KERNEL_OF_ITS_OWN = """
import math
import sys
import numpy as np
from numba.core import event
from cutline.simulation.compiling import compile_kernel

{lines}

with event.install_recorder("numba:run_pass") as passes:
    print(compile_kernel(formula, "small")(3))
print(len(passes.buffer), "passes", file=sys.stderr)
"""


def test_damaged_machine_code_is_not_run(cache):
    """A block lost in the middle: the pickle still reads well, the code in it would kill us."""
    script = KERNEL_OF_ITS_OWN.format(lines="def formula(x):\n    return math.sqrt(x + 1.0)")
    assert python("-c", script, cache=cache).stdout == "2.0\n"
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    start = whole.index(b"\x7fELF") + 64  # past the header
    path.write_bytes(whole[:start] + b"\xcc" * 64 + whole[start + 64 :])
    ran = python("-c", script, cache=cache)
    assert (ran.returncode, ran.stdout) == (0, "2.0\n")


@pytest.mark.parametrize(
    "table", ["np.arange(200_000.0)", "np.arange(0.0, 9.0, 0.5)[::2]"], ids=["large", "strided"]
)
def test_a_table_that_numba_reads_in_place_can_be_used_in_every_run(cache, table):
    lines = f"TABLE = {table}\ndef formula(i):\n    return TABLE[i]"
    for _ in range(2):
        ran = python("-c", KERNEL_OF_ITS_OWN.format(lines=lines), cache=cache)
        assert (ran.returncode, ran.stdout) == (0, "3.0\n")


def test_what_is_kept_is_found_by_the_next_process(cache):
    """Nothing in the fingerprint is of one process alone, such as an address."""
    lines = """
import enum
import numba
from math import sqrt
from numpy import argmax

class Weights(enum.Enum):
    FIRST = 1.0

@numba.njit
def double(x):
    return 2 * x

VALUES = np.array([0.0, 4.0])

def formula(x):
    return double(x) + sqrt(VALUES[argmax(VALUES)]) + Weights.FIRST.value
"""
    script = KERNEL_OF_ITS_OWN.format(lines=lines)
    first, second = (python("-c", script, cache=cache) for _ in range(2))
    assert (first.stdout, second.stdout) == ("9.0\n", "9.0\n"), first.stderr
    assert passes_in(first.stderr) > 0
    assert passes_in(second.stderr) == 0


def test_a_cache_that_can_only_be_read_is_read(cache, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "not the owner")

    compiled(hypotenuse, 3.0, 4.0)
    monkeypatch.setattr(os, "utime", refuse)
    assert compiled(hypotenuse, 3.0, 4.0) == (5.0, 0)


def test_a_full_disk_leaves_no_temporary_file(cache, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "replace", refuse)
    assert compiled(hypotenuse, 3.0, 4.0)[0] == 5.0
    assert list(cache.iterdir()) == []


def planted(cache):
    """Plant code in the kept file; it leaves a trace where it is run."""
    (path,) = cache.iterdir()
    trace = cache.parent / "trace"
    content = pickle.dumps(Planted(str(trace)))
    path.write_bytes(hashlib.sha256(content).digest() + content)
    return path, trace


class Planted:
    """Something that writes a file when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.write_text, (Path(self.trace), "run")


@pytest.fixture
def unwarned(monkeypatch):
    """A process that has not complained about its cache yet."""
    monkeypatch.setattr("cutline.simulation.cache._refused", set())


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def give_away_folder(path):
    os.chown(path.parent, 65534, 65534)


def give_away_file(path):
    os.chown(path, 65534, 65534)


def open_folder_to_all(path):
    path.parent.chmod(0o777)


def open_folder_to_a_group(path):
    path.parent.chmod(0o770)


def open_file_to_all(path):
    path.chmod(0o666)


def leave_a_link(path):
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(give_away_folder, r"the folder .* belongs to somebody else", marks=needs_root),
        pytest.param(give_away_file, r"nbc belongs to somebody else", marks=needs_root),
        (open_folder_to_all, r"the folder .* can be written to by others .*chmod go-w"),
        (open_folder_to_a_group, r"the folder .* can be written to by others"),
        (open_file_to_all, r"nbc can be written to by others"),
        (leave_a_link, None),
    ],
)
@pytest.mark.usefixtures("unwarned")
def test_a_cache_that_others_can_write_to_is_not_read(cache, change, words):
    compiled(hypotenuse, 3.0, 4.0)
    path, trace = planted(cache)
    change(path)
    said = contextlib.nullcontext() if words is None else pytest.warns(RuntimeWarning, match=words)
    with said:
        value, passes = compiled(hypotenuse, 3.0, 4.0)
    assert value == 5.0
    assert passes > 0
    assert not trace.exists()
    assert compiled(hypotenuse, 3.0, 4.0)[0] == 5.0  # said once


def test_what_is_planted_would_run(cache):
    """The test above can fail: in a file of one's own, what is planted is run."""
    compiled(hypotenuse, 3.0, 4.0)
    _, trace = planted(cache)
    assert compiled(hypotenuse, 3.0, 4.0)[0] == 5.0
    assert trace.exists()


@pytest.mark.usefixtures("unwarned")
def test_a_command_says_in_a_note_why_it_compiles_again(warm):
    warm.chmod(0o777)
    ran = python("-m", "cutline.cli", *SIMULATE, "--rules", "apt", cache=warm)
    assert ran.returncode == 0
    assert ran.stderr.startswith(
        f"note: compiled code is not read from the cache, as the folder {warm}"
    )
    assert ran.stderr.count("\n") == 1


def test_the_cache_is_made_for_its_owner_alone(cache):
    before = os.umask(0)
    try:
        compiled(hypotenuse, 3.0, 4.0)
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    (path,) = cache.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# --- A change is never missed --------------------------------------------------------------------

TWICE = "def twice(x):\n    return 2.0 * x\n"
CALLS = "def formula(x):\n    return twice(x)\n"

# What is written, where all that changes is 2.0, which becomes 3.0.
CHANGES = {
    "the formula": {"mine": "def formula(x):\n    return 2.0 * x\n"},
    "a helper": {"mine": TWICE + CALLS},
    "an imported helper": {"mine": "from helpers import twice\n" + CALLS, "helpers": TWICE},
    "a helper of a module": {
        "mine": "import helpers\ndef formula(x):\n    return helpers.twice(x)\n",
        "helpers": TWICE,
    },
    "a constant": {"mine": "C = 2.0\ndef formula(x):\n    return C * x\n"},
    "a helper of a helper": {
        "mine": "from helpers import twice\n" + CALLS,
        "helpers": "import deeper\ndef twice(x):\n    return deeper.double(x) + 1.0\n",
        "deeper": "def double(x):\n    return 2.0 * x\n",
    },
    "a constant of a helper": {
        "mine": "import helpers\ndef formula(x):\n    return helpers.twice(x)\n",
        "helpers": "C = 2.0\ndef twice(x):\n    return C * x\n",
    },
    "a default": {"mine": "def twice(x, c=2.0):\n    return c * x\n" + CALLS},
    "what a closure holds": {
        "mine": "def times(c):\n    def formula(x):\n        return c * x\n    return formula\n"
        "formula = times(2.0)\n"
    },
    "a lambda": {"mine": "twice = lambda x: 2.0 * x\n" + CALLS},
    "a function inside": {
        "mine": "def formula(x):\n    def twice(y):\n        return 2.0 * y\n    return twice(x)\n"
    },
    "a tuple": {"mine": "C = (1.0, 2.0)\ndef formula(x):\n    return C[1] * x\n"},
    "one of many numbers": {
        "mine": "import numpy as np\nC = np.ones(5000)\nC[2500] = 2.0\n"
        "def formula(x):\n    return C[2500] * x\n"
    },
    "a helper that calls one of its own name": {
        "mine": "from helpers import twice\n" + CALLS,
        "helpers": "import deeper\ndef twice(x):\n    return deeper.twice(x) + 1.0\n",
        "deeper": TWICE,
    },
    "a constant of a module": {
        "mine": "import helpers\ndef formula(x):\n    return helpers.C * x\n",
        "helpers": "C = 2.0\n",
    },
    "which of two functions a name stands for": {
        "mine": "def once(x):\n    return x\ndef twice(x):\n    return x + x\n"
        "which = once if 2.0 < 2.5 else twice\n"
        "def formula(x):\n    return once(x) + twice(x) + which(x)\n"
    },
    "a function the user compiled": {"mine": "import numba\n@numba.njit\n" + TWICE + CALLS},
    "a compiled function of a module": {
        "mine": "import helpers\ndef formula(x):\n    return helpers.twice(x)\n",
        "helpers": "import numba\n@numba.njit\n" + TWICE,
    },
    "a ufunc the user compiled": {"mine": "import numba\n@numba.vectorize\n" + TWICE + CALLS},
    "one of many numbers in a tuple": {
        "mine": "import numpy as np\nC = (np.ones(5000),)\nC[0][2500] = 2.0\n"
        "def formula(x):\n    return C[0][2500] * x\n"
    },
    "an enumeration": {
        "mine": "import enum\nclass C(enum.Enum):\n    TWO = 2.0\n"
        "def formula(x):\n    return C.TWO.value * x\n"
    },
    "a lambda of a module": {
        "mine": "import helpers\ndef formula(x):\n    return helpers.twice(x)\n",
        "helpers": "twice = lambda x: 2.0 * x\n",
    },
    "a helper of a package": {
        "mine": "import pack.helpers\ndef formula(x):\n    return pack.helpers.twice(x)\n",
        "pack/helpers": TWICE,
    },
    "the order of the fields of a record": {
        "mine": "import numpy as np\n"
        "names = ['a', 'b'] if 2.0 < 2.5 else ['b', 'a']\n"
        "C = np.array([(2, 8)], dtype=[(name, 'f8') for name in names])\n"
        "def formula(x):\n    return C[0]['a'] * x\n"
    },
    "a helper that calls itself": {
        "mine": "def twice(x):\n    return 2.0 * twice(x - 1.0) if x > 0.0 else 1.0\n" + CALLS
    },
    "the order of the fields": {
        "mine": "from collections import namedtuple\n"
        "Pair = namedtuple('Pair', 'c other' if 2.0 < 2.5 else 'other c')\nPAIR = Pair(1.0, 4.0)\n"
        "def formula(x):\n    return PAIR.c * x\n"
    },
    "a constant of a module by another name": {
        "mine": "import helpers\ndef formula(x):\n    h = helpers\n    return h.C * x\n",
        "helpers": "C = 2.0\n",
    },
    "a constant of a module in a closure": {
        "mine": "def make():\n    import helpers\n\n    def formula(x):\n"
        "        return helpers.C * x\n\n    return formula\n\nformula = make()\n",
        "helpers": "C = 2.0\n",
    },
    "two functions that go by each other's name": {
        "mine": "import helpers\ndef formula(x):\n    return helpers.twice(x) - helpers.once(x)\n",
        "helpers": TWICE + "def once(x):\n    return x\nonce, twice = twice, once\n",
    },
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Write files, {name: source}, and import ``mine`` from them afresh."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a .pyc may be stale; that is Python's
    folder = tmp_path / "source"
    monkeypatch.syspath_prepend(folder)

    def forget() -> None:
        for name, module in list(sys.modules.items()):
            places = [getattr(module, "__file__", None), *getattr(module, "__path__", [])]
            if any(str(place).startswith(str(folder)) for place in places):
                del sys.modules[name]

    def write(files: dict[str, str]):
        for name, source in files.items():
            path = folder / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
        forget()
        importlib.invalidate_caches()
        return importlib.import_module("mine")

    yield write
    forget()


@pytest.mark.parametrize(
    "what",
    CHANGES,
)
def test_a_change_is_never_missed(cache, load, what):
    before = CHANGES[what]
    old = load(before).formula
    first = old(5.0)
    value, passes = compiled(old, 5.0)
    assert value == first
    assert passes > 0
    assert compiled(load(before).formula, 5.0) == (first, 0)  # the same text: nothing to do

    new = load({name: text.replace("2.0", "3.0") for name, text in before.items()}).formula
    assert new(5.0) != first
    assert compiled(new, 5.0)[0] == new(5.0)
    assert compiled(load(before).formula, 5.0) == (first, 0)  # and back


RULE = """
from cutline import IndexRule

class Mine(IndexRule):
    @staticmethod
    def formula(pulls, total, tau):
        return {formula}
"""


GAMES_OF_MINE = """
import json
from numba.core import event
from cutline import Bandit, Bernoulli, parse_rule, play
from cutline.simulation.engine import Player

bandit = Bandit(Bernoulli([0.2, 0.45, 0.6, 0.9]), threshold=0.5)
rule = parse_rule("./mine.py:Mine")
with event.install_recorder("numba:run_pass") as passes:
    player = Player(rule, bandit)
    picks = [player.picks(seed=3, game=game, budget=40) for game in range(6)]
played = [play(bandit, rule, budget=40, seed=3, game=game).arms for game in range(6)]
print(json.dumps([picks, played, len(passes.buffer)]))
"""


def test_an_edited_rule_plays_as_it_now_reads(warm, tmp_path):
    """The rule's own formula, then a helper of a helper, each in a file whose date stays."""
    near, evenly = "abs(total - pulls * tau)", "pulls + abs(total - pulls * tau) / 8.0"
    through = "helpers.side(total, pulls, tau)"
    leaning = f"pulls / 4.0 + {through}"

    def games(formula: str, size: str) -> tuple[list[list[int]], bool]:
        files = {
            "games.py": GAMES_OF_MINE,
            "mine.py": "import helpers\n" + RULE.format(formula=formula),
            "helpers.py": "from deeper import size\n"
            "def side(total, pulls, tau):\n    return size(total, pulls, tau)\n",
            "deeper.py": f"def size(total, pulls, tau):\n    return {size}\n",
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text)
            os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))
        ran = python("games.py", cache=warm, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        picks, played, passes = json.loads(ran.stdout)
        assert picks == played
        return picks, passes > 0

    first, second, third = games(through, near), games(leaning, near), games(leaning, evenly)
    assert [anew for _, anew in (first, second, third)] == [True, True, True]
    assert first[0] != second[0] != third[0]
    assert games(through, near) == (first[0], False)  # what was kept of it is still there


def test_an_edit_of_the_same_second_and_length_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    for number in (2.0, 3.0):
        path.write_text(RULE.format(formula=f"{number} * pulls"))
        os.utime(path, (1_700_000_000, 1_700_000_000))
        assert parse_rule(f"{path}:Mine").body(5.0, 0.0, 0.0) == 5.0 * number


def test_a_rule_file_may_import_the_file_beside_it(tmp_path):
    (tmp_path / "beside_mine.py").write_text("def half(x):\n    return x / 2.0\n")
    path = tmp_path / "mine.py"
    path.write_text("from beside_mine import half\n" + RULE.format(formula="half(pulls)"))
    assert parse_rule(f"{path}:Mine").body(5.0, 0.0, 0.0) == 2.5


# --- Rules without a file ------------------------------------------------------------------------

TYPED = """
import sys
from numba.core import event
from cutline import Bandit, Bernoulli, IndexRule, simulate

def closeness(total, pulls, tau):
    return abs(total - pulls * tau)

class Typed(IndexRule):
    @staticmethod
    def formula(pulls, total, tau):
        return closeness(total, pulls, tau) + pulls / 4.0

bandit = Bandit(Bernoulli([0.2, 0.45, 0.6, 0.9]), threshold=0.5)
with event.install_recorder("numba:run_pass") as passes:
    result = simulate(bandit, [Typed()], budget=40, games=96, seed=3, horizons=[40])
print(result.wrong_games[0, 0], result.wrong_arms_sum[0, 0])
print(len(passes.buffer), "passes", file=sys.stderr)
"""


def test_a_rule_typed_in_is_played_and_kept_like_any_other(warm):
    from_stdin = python("-", cache=warm, input=TYPED)
    from_argument = python("-c", TYPED, cache=warm)
    for ran in (from_stdin, from_argument):
        assert ran.returncode == 0, ran.stderr
    assert passes_in(from_stdin.stderr) > 0
    assert passes_in(from_argument.stderr) == 0  # the same code, though neither has a file

    names: dict = {}
    exec(TYPED.partition("bandit =")[0], names)
    expected = "{} {}\n".format(*wrong_by_hand(BINARY, names["Typed"]()))
    assert (from_stdin.stdout, from_argument.stdout) == (expected, expected)


# --- Rules of one's own --------------------------------------------------------------------------

RULES_OF_MINE = '''
import math
from dataclasses import dataclass
from typing import ClassVar
from cutline import ClockedIndexRule, IndexRule, Policy

REST = 4.0

def distance(total, pulls, tau):
    return abs(total - pulls * tau)

@dataclass(frozen=True)
class Near(IndexRule):
    """An index of the tally, with a setting, a helper and a constant."""

    lean: float = 0.25

    @staticmethod
    def formula(pulls, total, tau, lean):
        return distance(total, pulls, tau) / math.sqrt(pulls) + lean * pulls / REST

class Restless(ClockedIndexRule):
    """An index that grows old, so that arms left alone come first; the last reward is kept."""

    keeps: ClassVar = ("last",)

    @staticmethod
    def learn(reward):
        return reward

    @staticmethod
    def formula(pulls, total, tau, step, arms, last):
        return distance(total, pulls, tau) / pulls - math.sqrt(step / (arms * pulls)) + last / 4.0

class Streaks(Policy):
    """Stay with an arm for three pulls; then the least sure one, or any with some luck."""

    def memory(self, arms):
        return 2

    @staticmethod
    def choose(pulls, total, tau, memory, step, luck, arms):
        if step < arms:
            return step
        if memory[0] > 0.0:
            memory[0] -= 1.0
            return int(memory[1])
        best = 0
        if luck < 0.2:
            best = int(luck / 0.2 * arms)
        else:
            for i in range(arms):
                nearer = distance(total[i], pulls[i], tau[i])
                if nearer < distance(total[best], pulls[best], tau[best]):
                    best = i
        memory[0] = 2.0
        memory[1] = best
        return best

class Clipped(IndexRule):
    """Judge by a sum in which no single reward weighs much."""

    keeps: ClassVar = ("clipped",)

    @staticmethod
    def learn(reward, tau, clipped):
        return clipped + min(max(reward - tau, -0.3), 0.3)

    @staticmethod
    def formula(pulls, clipped):
        return abs(clipped) / math.sqrt(pulls)

class Swings(IndexRule):
    """Two pulls each; two numbers kept: the last reward and how far they wander; squares too."""

    first_pulls = 2
    keeps: ClassVar = ("last", "swing")

    @staticmethod
    def learn(reward, pulls, last, swing):
        if pulls == 0.0:
            return reward, 0.0
        return reward, swing + abs(reward - last)

    @staticmethod
    def formula(pulls, total, squares, tau, last, swing):
        spread = math.sqrt(max(squares - total * total / pulls, 0.0) + 0.01)
        return distance(total, pulls, tau) / spread + swing / 2.0 + abs(last)
'''
NAMES = ["Near:0.5", "Restless", "Streaks", "Clipped", "Swings"]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A folder with a file of rules, and a cache in which this process keeps what it compiles."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "mine.py").write_text(RULES_OF_MINE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUTLINE_CACHE_DIR", str(folder / "cache"))
        yield folder


def check_pull_by_pull(player: Player, rule) -> None:
    late = set()
    for game in (0, 1, 1_000_003):
        played = play(GAUSSIAN, rule, budget=90, seed=SEED, game=game).arms
        assert player.picks(SEED, game, 90) == played
        late.update(played[-30:])
    assert late == {0, 1, 2, 3}  # a rule that stays with one arm would show little


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_of_ones_own_plays_compiled_as_it_does_plainly(own, name):
    rule = parse_rule(f"{own}/mine.py:{name}")
    check_pull_by_pull(Player(rule, GAUSSIAN), rule)


def test_what_a_rule_keeps_is_kept_with_many_arms_too(own):
    rule = parse_rule(f"{own}/mine.py:Swings")
    check_pull_by_pull(Player(rule, GAUSSIAN, way="tree"), rule)


def test_a_clocked_rule_may_keep_the_step(tmp_path):
    (tmp_path / "mine.py").write_text("""
from cutline import ClockedIndexRule

class Longest(ClockedIndexRule):
    keeps = ("when",)

    @staticmethod
    def learn(step, when):
        return step

    @staticmethod
    def formula(when):
        return when
""")
    arms = play(BINARY, parse_rule(f"{tmp_path}/mine.py:Longest"), budget=12).arms
    assert arms == arms[:4] * 3  # whose turn is longest ago


def test_the_command_line_plays_rules_of_ones_own(own, monkeypatch):
    monkeypatch.setattr(engine, "_kernels", {})  # as in a new process
    rules = [parse_rule(f"{own}/mine.py:{name}") for name in NAMES]
    for rule in rules:
        Player(rule, GAUSSIAN)  # kept from here on, so that the command below compiles nothing
    specs = [f"./mine.py:{name}" for name in NAMES]
    arms = ["--arms", "gaussian", "--sd", "0.5"]
    rows, passes = cutline(
        *SIMULATE, *arms, "--rules", ",".join(specs), cache=own / "cache", cwd=own
    )
    assert passes == 0
    assert [row["rule"] for row in rows] == specs
    assert [wrong_in(row) for row in rows] == [wrong_by_hand(GAUSSIAN, rule) for rule in rules]
    assert len({wrong_in(row) for row in rows}) > 2  # they are not all alike


# --- What cannot be compiled ---------------------------------------------------------------------

UNCOMPILED = """
import math
import scipy.special
from cutline import IndexRule

class Mine(IndexRule):
    @staticmethod
    def formula(pulls, total):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "culprit"),
    [
        ("return scipy.special.expit(total)", "expit"),
        ("return float(f'{pulls:.3f}')", "f-strings"),
        ("return min((pulls, total), key=abs)", "key="),
    ],
)
def test_a_formula_that_cannot_be_compiled_is_named_in_one_line(cache, tmp_path, body, culprit):
    (tmp_path / "mine.py").write_text(UNCOMPILED.format(body=body))
    rule = parse_rule(f"{tmp_path}/mine.py:Mine")
    assert len(play(BINARY, rule, budget=BUDGET).arms) == BUDGET  # plain Python has no trouble
    with pytest.raises(CannotCompile) as raised:
        Player(rule, BINARY)
    assert str(raised.value).startswith("Mine with Bernoulli arms cannot be compiled: ")
    assert culprit in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("body", "culprit"),
    [
        ("return missing(pulls)", "'missing'"),
        ("return math.absent(pulls)", "'absent'"),
    ],
)
def test_a_formula_with_a_mistake_is_named_in_one_line(cache, tmp_path, body, culprit):
    """What plain Python would refuse as well, but only once it is met."""
    (tmp_path / "mine.py").write_text(UNCOMPILED.format(body=body))
    with pytest.raises(CannotCompile) as raised:
        simulate(BINARY, [parse_rule(f"{tmp_path}/mine.py:Mine")], budget=BUDGET, games=1)
    assert str(raised.value).startswith("Mine with Bernoulli arms cannot be compiled: ")
    assert culprit in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_policy_may_make_arrays(own, tmp_path, monkeypatch):
    (tmp_path / "whole.py").write_text("""
import numpy as np
from cutline import Policy

class Whole(Policy):
    @staticmethod
    def choose(pulls, total, tau, step, arms):
        if step < arms:
            return step
        return np.argmin(np.abs(total - pulls * tau) / np.sqrt(pulls))
""")
    rule = parse_rule(f"{tmp_path}/whole.py:Whole")
    monkeypatch.setattr(engine, "_kernels", {})  # as in a new process
    check_pull_by_pull(Player(rule, GAUSSIAN), rule)
    monkeypatch.setattr(engine, "_kernels", {})  # and in another
    with event.install_recorder("numba:run_pass") as passes:
        Player(rule, GAUSSIAN)
    assert len(passes.buffer) == 0


def test_a_settings_change_compiles_nothing(own):
    """The numbers in a rule and a bandit are arguments: one kernel serves them all."""
    Player(parse_rule(f"{own}/mine.py:Near:0.5"), GAUSSIAN)
    other = Bandit(Gaussian(np.linspace(-1.0, 1.0, 7), sd=2.0), threshold=0.1, precision=0.2)
    with event.install_recorder("numba:run_pass") as passes:
        simulate(other, [parse_rule(f"{own}/mine.py:Near:0.125")], budget=BUDGET, games=4)
    assert len(passes.buffer) == 0


STOPPED = """
import sys
from cutline import Auto, Bandit, Bernoulli, simulate

coins = Bandit(Bernoulli([0.2, 0.45, 0.6, 0.9]), threshold=0.5, precision=0.1)
for evidence in sys.argv[1:]:
    stops = simulate(coins, Auto(), games=20, confidence=0.9, evidence=evidence).stops
    print(int(stops.spent.sum()))
"""


def test_code_of_other_processes_is_not_taken_for_a_kernels_own(tmp_path):
    # Two kernels made by two processes alike call functions of the same name and number.
    def spent(*evidence):
        ran = python("-c", STOPPED, *evidence, cache=tmp_path)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.split()

    spent("betting")  # leaves the kernel that all share, so the two below start alike
    apart = [*spent("hoeffding"), *spent("beta-mixture")]
    assert apart[0] != apart[1]
    assert spent("hoeffding", "beta-mixture") == apart
    assert spent("beta-mixture", "hoeffding") == apart[::-1]
