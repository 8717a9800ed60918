"""Figures that the documentation states, held against what the code gives today."""

import re
from pathlib import Path

from click.testing import CliRunner

from cutline.cli.main import cli
from cutline.simulation.datasets import DATASETS
from cutline.simulation.suite import SUITE

ROOT = Path(__file__).parent.parent
WORDS = {3: "three", 4: "four", 5: "five", 6: "six"}


def read(name):
    """A page on one line."""
    return " ".join((ROOT / name).read_text().split())


def test_the_paper_map_gives_what_the_command_prints():
    ran = CliRunner().invoke(cli, ["theory", "--experiment", "three-groups", "--games", "100"])
    assert ran.exit_code == 0
    printed = re.search(r"Theorem 2 as printed .* ([\d,]+)\n", ran.output)[1]
    proven = re.search(r"Theorem 2  .* ([\d,]+)\n", ran.output)[1]
    page = read("docs/paper.md")
    assert f"Theorem 2 reaches an error of .05 at {proven} pulls" in page
    assert f"as printed {printed})" in page


def test_pages_count_the_data_sets_and_problems_there_are():
    assert f"{WORDS[len(DATASETS)]} real data sets" in read("README.md")
    assert f"{WORDS[len(DATASETS)].capitalize()} public data sets" in read("docs/data.md")
    assert f"On the {len(SUITE)} problems of [the tournament]" in read("README.md")
    assert f"on {len(SUITE)} instances" in read("docs/tournament.md")


def test_no_page_says_that_nothing_stops_at_a_confidence():
    for page in ROOT.glob("docs/**/*.md"):
        assert not re.search(r"stops at a confidence yet|nothing here does yet", read(page))
