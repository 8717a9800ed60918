"""The paper's experiments: what is written, what is shown, and the check that can fail."""

import csv
import io
import json
import struct
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from cutline import APT, Result, RoundRobin, Uniform, parse_rule, simulate
from cutline.cli import cli
from cutline.figures import paper
from cutline.figures.paper import HORIZONS, RULES, check_line, compare_with_exact, run_paper
from cutline.simulation import EXPERIMENTS
from cutline.simulation.goals import SIDES

GAMES = 64
BANDITS = [(name, kind) for kind in ("bernoulli", "gaussian") for name in EXPERIMENTS]
SHOWN = [*RULES, "round-robin"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("paper") / "made" / "here"


@pytest.fixture(scope="module")
def ran(out):
    """The whole command, once."""
    return CliRunner().invoke(cli, ["paper", "--games", str(GAMES), "--out", str(out)])


def test_all_goes_well(ran):
    assert (ran.exit_code, ran.stderr) == (0, "")


def test_everything_is_written_and_nothing_else(ran, out):
    wanted = {f"{name}-{kind}.json" for name, kind in BANDITS} | {"paper.csv"}
    wanted |= {f"paper-{kind}.{e}" for kind in ("bernoulli", "gaussian") for e in ("png", "svg")}
    assert {path.name for path in out.iterdir()} == wanted
    last = ran.stdout.splitlines()[-1]
    assert last.startswith(f"written to {out}/: ")
    assert all(name in last for name in wanted)


def test_a_table_for_every_experiment(ran):
    blocks = ran.stdout.split("\n\n")
    titles = [block.splitlines()[0] for block in blocks[:-1]]
    assert titles == [
        f"Experiment {i}: {name}, {kind} arms, 64 games: error probability"
        for kind in ("bernoulli", "gaussian")
        for i, name in ((1, "three groups"), (2, "arithmetic"), (3, "geometric"))
    ]
    for block in blocks[:-1]:
        _, heads, *lines = block.splitlines()
        assert heads.split("T = ")[1:] == ["100  ", "200  ", "300  ", "400  ", "500"]
        assert [line.split()[0] for line in lines] == SHOWN


@pytest.mark.parametrize(("name", "kind"), BANDITS)
def test_results_can_be_loaded_and_repeated(ran, out, name, kind):
    result = Result.load(out / f"{name}-{kind}.json")
    assert result.bandit == EXPERIMENTS[name](kind == "gaussian")
    assert result.specs == tuple(parse_rule(name).spec for name in SHOWN)
    assert result.horizons.tolist() == list(HORIZONS) == list(range(20, 501, 20))
    assert (result.games, result.seed, result.replay) == (GAMES, 0, True)
    again = simulate(result.bandit, [APT()], budget=list(HORIZONS), games=GAMES, seed=0)
    assert again.wrong_games[0].tolist() == result.wrong_games[0].tolist()


def test_the_csv_holds_every_number_of_the_results(ran, out):
    rows = list(csv.DictReader(io.StringIO((out / "paper.csv").read_text())))
    assert len(rows) == 6 * 7 * 25
    read = {
        (row["experiment"], row["arms"], row["rule"], int(row["budget"])): int(row["wrong_games"])
        for row in rows
    }
    for name, kind in BANDITS:
        result = Result.load(out / f"{name}-{kind}.json")
        for r, rule in enumerate(SHOWN):
            for h, budget in enumerate(HORIZONS):
                assert read[name, kind, rule, budget] == result.wrong_games[r, h]
    assert {float(row["error_rate"]) * GAMES == int(row["wrong_games"]) for row in rows} == {True}


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian"])
def test_pictures(ran, out, kind):
    data = (out / f"paper-{kind}.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width > 2 * height > 1000  # three panels side by side
    assert ElementTree.parse(out / f"paper-{kind}.svg").getroot().tag.endswith("}svg")
    text = (out / f"paper-{kind}.svg").read_text()  # letters are paths, words are kept as notes
    names = ["APT", "Uniform", "UCBE(0.25)", "UCBE(1)", "UCBE(256)", "CSAR"]
    titles = ["Experiment 1: three groups", "Experiment 2: arithmetic", "Experiment 3: geometric"]
    for word in [*names, *titles, f"{kind.capitalize()} arms, 64 games"]:
        assert text.count(f"<!-- {word} -->") == 1
    assert "<!-- RoundRobin -->" not in text  # played for the check alone


def test_the_check_is_shown(ran):
    line = ran.stdout.splitlines()[-2]
    # 3 experiments, 2 kinds of arms, 2 rules, 25 horizons
    assert line.startswith(
        "check: uniform and round robin against exact probabilities, 300 points: they agree ("
    )


def counted(bandit, games, rates):
    """A result of uniform and round robin at 100 and 500 pulls with these error rates."""
    empty = Result.empty(
        bandit,
        [Uniform(), RoundRobin()],
        goal=SIDES,
        horizons=np.array([100, 500]),
        seed=0,
        replay=True,
    )
    wrong = np.rint(np.array(rates) * games).astype(np.int64)
    return empty.with_counts(((0, games),), wrong_games=wrong)


@pytest.mark.parametrize(
    ("name", "kind", "wanted"),
    [
        # ALGORITHMS 2.1: uniform at 100 and 500, then round robin
        ("three-groups", "bernoulli", [0.32526, 0.0318, 0.32348, 0.03050]),
        ("arithmetic", "bernoulli", [0.5277, 0.0358, 0.52183, 0.03386]),
        ("geometric", "bernoulli", [0.8097, 0.2819, 0.81564, 0.27972]),
        ("three-groups", "gaussian", [0.36308, 0.03584, 0.33658, 0.03361]),
        ("arithmetic", "gaussian", [0.56513, 0.04184, 0.53659, 0.03854]),
        ("geometric", "gaussian", [0.81684, 0.29174, 0.80719, 0.28532]),
    ],
)
def test_exact_values_stand_beside_simulated_ones(name, kind, wanted):
    bandit = EXPERIMENTS[name](kind == "gaussian")
    result = counted(bandit, 1000, [[0.4, 0.3], [0.2, 0.1]])
    exact, simulated, wrong = zip(*compare_with_exact(bandit, result), strict=True)
    assert exact == pytest.approx(wanted, abs=6e-5)
    assert simulated == (0.4, 0.3, 0.2, 0.1)
    assert wrong == (400, 300, 200, 100)


def test_the_check_agrees_when_rates_are_as_they_should_be():
    checks = [(0.1, 0.1, 1000), (0.1, 0.103, 1030), (0.5, 0.5, 5000)]  # at most 1 standard error
    line, good = check_line(checks, 10_000)
    assert good
    assert line.endswith("3 points: they agree (largest distance 1.0 standard errors)")


@pytest.mark.parametrize(
    ("wrong", "misses"),
    # sqrt(0.1 * 0.9 / 10,000) = 0.003. All three points at 99.9 % leave 3.6 of them for each.
    [([1099, 1000, 1000], 0), ([1120, 1000, 1000], 1), ([880, 1000, 1120], 2), ([0, 0, 0], 3)],
)
def test_the_check_counts_the_points_that_do_not_agree(wrong, misses):
    line, good = check_line([(0.1, w / 10_000, w) for w in wrong], 10_000)
    assert good == (misses == 0)
    assert (f"{misses} DO NOT AGREE" in line) == (misses > 0)


def test_more_points_are_allowed_to_stray_further():
    stray = (0.1, 0.1120, 1120)  # 4 standard errors
    assert not check_line([stray], 10_000)[1]
    assert check_line([stray] + [(0.1, 0.1, 1000)] * 299, 10_000)[1]


def pretend(rate_of, *, stopped=False):
    """A simulate that plays nothing, and errs as often as ``rate_of(rule, exact)`` says."""

    def simulate(what, bandit, rules, *, budgets, games, seed, threads):
        empty = Result.empty(
            bandit, rules, goal=SIDES, horizons=np.array(budgets), seed=seed, replay=True
        )
        exact = [e for e, _, _ in compare_with_exact(bandit, empty.with_counts(((0, games),)))]
        uniform, round_robin = np.array(exact).reshape(2, -1)
        known = {Uniform(): uniform, RoundRobin(): round_robin}
        rates = [rate_of(rule, known.get(rule, uniform)) for rule in rules]
        wrong = np.rint(np.array(rates) * games).astype(np.int64)
        return empty.with_counts(((0, games),), wrong_games=wrong), stopped

    return simulate


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Run the paper on one bandit, pretended and not drawn; (exit code, what is shown)."""
    monkeypatch.setattr(paper, "save_figure", lambda figure, path: None)
    monkeypatch.setattr(paper, "EXPERIMENTS", {"geometric": EXPERIMENTS["geometric"]})

    def run(simulate):
        shown = []
        code = run_paper(tmp_path, 5000, 1, None, simulate, shown.append)
        return code, shown

    return run


def test_a_simulator_that_is_right_passes(quick):
    code, shown = quick(pretend(lambda rule, exact: exact))
    assert code == 0
    assert "they agree (largest distance 0.0" in shown[-2]


@pytest.mark.parametrize("kind", [Uniform, RoundRobin])
def test_a_simulator_that_is_wrong_in_one_rule_fails(quick, kind):
    code, shown = quick(pretend(lambda rule, e: e * 0.8 if isinstance(rule, kind) else e))
    assert code == 1
    assert "DO NOT AGREE" in shown[-2]


def test_rules_that_have_no_exact_value_are_not_checked(quick):
    code, _ = quick(pretend(lambda rule, e: 0 * e if isinstance(rule, APT) else e))
    assert code == 0


def test_ctrl_c_leaves_nothing_half_done(quick, tmp_path):
    code, shown = quick(pretend(lambda rule, exact: exact, stopped=True))
    assert (code, shown) == (130, [])
    assert list(tmp_path.iterdir()) == []


def test_the_results_are_json(ran, out):
    for name, kind in BANDITS:
        values = json.loads((out / f"{name}-{kind}.json").read_text())
        assert values["bandit"]["arms"]["family"] == kind
