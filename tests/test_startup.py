"""A command answers at once: what is heavy is imported when it is first needed."""

import subprocess
import sys

import pytest

HEAVY = ("numba", "llvmlite", "matplotlib", "scipy", "sqlite3")

LOADED_BY_THE_COMMAND = """
import sys
from cutline.cli import main

try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_the_import_brings_in_nothing_heavy():
    loaded = run("-c", "import sys, cutline; print(*sys.modules)").stdout.split()
    assert "cutline.rules.apt" in loaded
    assert {*HEAVY, "click", "rich", "cutline.simulation", "cutline.cli"}.isdisjoint(loaded)


def test_what_is_heavy_comes_when_it_is_first_used():
    ran = run("-c", "import sys, cutline; cutline.simulate; print(*sys.modules)")
    assert "numba" in ran.stdout.split()
    assert "matplotlib" not in ran.stdout.split()


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["--version"]])
def test_help_brings_in_nothing_heavy(arguments):
    ran = run("-c", LOADED_BY_THE_COMMAND, *arguments)
    assert "cutline" in ran.stdout
    assert "click" in ran.stderr.split()
    assert {*HEAVY, "rich", "cutline.simulation"}.isdisjoint(ran.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "most"),
    [(["-c", "import cutline"], 0.3), (["-m", "cutline.cli", "--help"], 0.5)],
    ids=["import", "help"],
)
def test_starting_takes_little_time(arguments, most):
    """Numba alone would take 0.3 s of processor time more; the best of five forgives a busy day."""
    resource = pytest.importorskip("resource")

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    times = []
    for _ in range(5):
        before = spent()
        run(*arguments)
        times.append(spent() - before)
    assert min(times) < most
