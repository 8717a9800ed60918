"""cutline tournament: the whole path with few games, and errors in one sentence."""

import json

import pytest

from cutline.cli import main
from cutline.figures import tournament as numbers
from cutline.simulation.suite import SUITE


@pytest.fixture
def cutline(capsys, monkeypatch):
    """Run a command; its exit code, what it printed, and what it said beside that."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["cutline", "tournament", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_quick_plays_everything_into_a_folder(cutline, tmp_path):
    code, out, err = cutline("--quick", "--out", tmp_path, "--threads", 2)
    assert code == 0
    assert "relative to APT" in out
    assert "written to" in err
    assert {path.name for path in tmp_path.iterdir()} == {
        f"tournament.{ending}" for ending in ("md", "json", "png", "svg")
    }
    found = json.loads((tmp_path / "tournament.json").read_text())
    assert [one["name"] for one in found["instances"]] == list(SUITE)
    assert found["quick"] is True
    assert {row["games"] for row in found["rows"]} == {64}
    assert {row["rule"] for row in found["rows"]} <= set(numbers.QUICK)
    page = (tmp_path / "tournament.md").read_text("utf-8")
    assert all(f"**{name}**" in page for name in SUITE)
    assert "cutline tournament --quick" in page


def test_chosen_instances_rules_and_games(cutline):
    words = ("--only", "three-groups,fwt-1", "--rules", "uniform", "--games", 128)
    code, out, _ = cutline(*words, "--format", "json", "--seed", 5)
    found = json.loads(out)
    assert code == 0
    assert [one["name"] for one in found["instances"]] == ["three-groups", "fwt-1"]
    assert {row["rule"] for row in found["rows"]} == {"apt", "uniform"}
    assert {row["games"] for row in found["rows"]} == {128}
    assert len(found["rows"]) == 2 * 2 * 3
    assert "--seed 5" in found["command"]
    assert cutline(*words, "--format", "json", "--seed", 5, "--threads", 1)[1] == out


def test_data_of_ones_own_is_played_as_well(cutline, tmp_path):
    rows = [f"arm {i},{int(t < 2 + 5 * i)}" for i in range(4) for t in range(20)]
    (tmp_path / "trials.csv").write_text("\n".join(["arm,reward", *rows]))
    (tmp_path / "problems.toml").write_text('[[problem]]\nfile = "trials.csv"\nthreshold = 0.5\n')
    code, out, _ = cutline(
        "--quick", "--data", tmp_path, "--only", "trials", "--rules", "apt", "--format", "json"
    )
    found = json.loads(out)
    assert code == 0
    assert [(one["name"], one["group"]) for one in found["instances"]] == [("trials", "your own")]
    (row,) = found["rows"]
    assert 0.05 < row["error_rate"] < 0.55  # a quarter, by 256 games and a budget of few pulls


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "nowhere"], "there is no instance 'nowhere': one of three-groups"),
        (["--rules", "nobody"], "unknown rule 'nobody'"),
        (["--games", "0"], "games must be a whole number"),
        (["--threads", "0"], "threads must be a whole number"),
        (["--limit", "0"], "--limit is a number of seconds, above 0"),
        (["--seed", "-1"], "seed"),
        (["--data", "/nowhere"], "'/nowhere' does not exist"),
        (["--format", "csv"], "'csv' is not one of"),
    ],
)
def test_bad_input_is_one_sentence(cutline, words, said):
    code, out, err = cutline(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_a_folder_without_problems_is_one_sentence(cutline, tmp_path):
    code, _, err = cutline("--data", tmp_path)
    assert code == 2
    assert "problems.toml: it names the problems to play" in err


def test_ctrl_c_keeps_what_was_played(cutline, monkeypatch, tmp_path):
    finished = numbers.play_instance
    seen = []

    def stopping(planned, *arguments, **options):
        seen.append(planned)
        return None if len(seen) == 2 else finished(planned, *arguments, **options)

    monkeypatch.setattr(numbers, "play_instance", stopping)
    words = ("--only", "three-groups,arithmetic,geometric", "--quick", "--rules", "apt")
    code, out, err = cutline(*words, "--out", tmp_path)
    assert code == 130
    assert "stopped before: arithmetic, geometric" in out
    assert "1 of 3 instances were finished" in err
    found = json.loads((tmp_path / "tournament.json").read_text())
    assert {row["instance"] for row in found["rows"]} == {"three-groups"}


def test_ctrl_c_before_the_first_leaves_nothing(cutline, monkeypatch):
    monkeypatch.setattr(numbers, "play_instance", lambda *arguments, **options: None)
    code, out, err = cutline("--only", "three-groups", "--quick")
    assert (code, out) == (130, "")
    assert "stopped" in err


def test_help_names_the_files(cutline):
    code, out, _ = cutline("--help")
    assert code == 0
    assert "problems.toml" in out
