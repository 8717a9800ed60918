"""Imports point one way, and the check that says so sees every way to break it."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[1] / "tools" / "check_imports.py"


def check(*arguments: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHECK), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def package(tmp_path):
    """Write a small package, {file: source}, and return its folder; each layer is there, empty."""

    def write(files: dict[str, str]) -> Path:
        root = tmp_path / "cutline"
        layers = ("core", "rules", "simulation", "campaign", "figures", "service")
        empty = dict.fromkeys(["__init__.py", *(f"{layer}/__init__.py" for layer in layers)], "")
        for name, source in (empty | files).items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
        return root

    return write


def test_our_own_imports_point_one_way():
    ran = check()
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_what_the_layers_are_for_is_allowed(package):
    root = package(
        {
            "__init__.py": "from cutline.core import a\nfrom cutline import simulation\n",
            "_version.py": "__version__ = '1'\n",
            "core/a.py": "import math\nimport numpy as np\nfrom .b import c\n",
            "core/b.py": "from cutline._version import __version__ as c\n",
            "rules/apt.py": "from cutline.core.a import np\nfrom ..core import a\nfrom . import b",
            "simulation/engine.py": "import numba\nimport llvmlite.ir\nfrom cutline import core",
            "figures/tables.py": "from cutline.simulation import engine\n",
            "figures/draw.py": "def draw():\n    from matplotlib.figure import Figure\n",
            "cli.py": "import click\nimport cutline\nfrom cutline import simulate\n",
            "cli_tables.py": "def show():\n    import rich.table\n    from cutline import figures",
            "testing.py": "from cutline import core, rules, simulation\n",
        }
    )
    ran = check(root)
    assert (ran.returncode, ran.stdout) == (0, "")


@pytest.mark.parametrize(
    ("file", "source", "line", "said"),
    [
        ("core/a.py", "import math\nimport cutline.rules.apt\n", 2, "core must not import rules"),
        ("core/a.py", "from ..rules import apt\n", 1, "core must not import rules"),
        ("core/a.py", "from .. import rules\n", 1, "core must not import rules"),
        ("core/__init__.py", "from ..rules import apt\n", 1, "core must not import rules"),
        ("core/deep/a.py", "from ...rules import apt\n", 1, "core must not import rules"),
        (
            "core/a.py",
            "from cutline import (\n    core,\n    rules,\n)\n",
            3,
            "core must not import",
        ),
        ("core/a.py", "from cutline import APT\n", 1, "core must not import from cutline/__init__"),
        (
            "rules/a.py",
            "def f():\n    import cutline.simulation\n",
            2,
            "rules must not import simul",
        ),
        (
            "rules/a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import cutline.campaign\n",
            3,
            "rules must not import campaign",
        ),
        ("campaign/a.py", "from cutline import simulation\n", 1, "campaign must not import simul"),
        ("simulation/a.py", "import cutline.campaign\n", 1, "simulation must not import campaign"),
        ("service/a.py", "import cutline.figures\n", 1, "service must not import figures"),
        ("figures/a.py", "import cutline.cli\n", 1, "figures must not import cli"),
        ("testing.py", "import cutline.figures\n", 1, "testing must not import figures"),
        ("rules/a.py", "import cutline.testing\n", 1, "rules must not import testing"),
        ("core/a.py", "import numba as nb\n", 1, "numba is imported in simulation alone"),
        ("__init__.py", "from numba import njit\n", 1, "numba is imported in simulation alone"),
        (
            "figures/tables.py",
            "import matplotlib.figure\n",
            1,
            "matplotlib is imported in figures.draw",
        ),
        ("figures/__init__.py", "import matplotlib\n", 1, "matplotlib is imported in figures.draw"),
        ("service/a.py", "import click\n", 1, "click is imported in cli alone"),
        ("campaign/a.py", "from rich import print\n", 1, "rich is imported in cli alone"),
        ("simulation/a.py", "from scipy import stats\n", 1, "scipy is for tests alone"),
        (
            "core/a.py",
            "from importlib import import_module\nimport_module('cutline.rules')\n",
            2,
            "core must not import rules",
        ),
        ("misc.py", "", 1, "is in no layer"),
        ("core/a.py", "def\n", 1, "cannot be read"),
    ],
)
def test_an_import_that_points_the_wrong_way_is_named(package, file, source, line, said):
    root = package({file: source})
    ran = check(root)
    assert ran.returncode == 1
    found, _summary = ran.stdout.splitlines()
    assert found.startswith(f"{root / file}:{line}: ")
    assert said in found


def test_every_violation_is_named(package):
    root = package(
        {"core/a.py": "import cutline.rules\nimport numba\n", "rules/b.py": "import rich"}
    )
    assert [line.partition(": ")[0] for line in check(root).stdout.splitlines()[:-1]] == [
        f"{root}/core/a.py:1",
        f"{root}/core/a.py:2",
        f"{root}/rules/b.py:1",
    ]


def test_a_folder_that_is_no_package_is_an_error_not_a_pass(tmp_path):
    ran = check(tmp_path)
    assert ran.returncode == 2
    assert "not a package" in ran.stderr
