"""The worked examples: small games, whole outputs."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from cutline import APT, Bandit, Bernoulli, Uniform, dataset, simulate
from cutline.core.theory import theorem_4
from cutline.figures import examples
from cutline.figures.draw import draw_figure
from cutline.figures.examples import EXAMPLES, run_examples, shares, wrong_arms


def play_small(bandit, rules, budgets, **options):
    return simulate(bandit, list(rules), budget=budgets, games=64, seed=3, **options)


def small(what, bandit, rules, *, budgets, **options):
    """As the command line plays, with few games."""
    return simulate(bandit, rules, budget=budgets, **options), False


@pytest.fixture(scope="module")
def shown():
    return {name: make(play_small) for name, make in EXAMPLES.items()}


def test_every_example_has_a_table_rows_and_a_figure(shown):
    for name, example in shown.items():
        assert len(example.table.splitlines()) > 3, name
        assert example.rows
        assert all(row.keys() == example.rows[0].keys() for row in example.rows)
        assert len(draw_figure(example.panels, example.title).axes) == 2, name
        json.dumps(example.rows)


def test_adaptive_rules_need_fewer_labels_and_runs(shown):
    def last(name, rule, **wanted):
        rows = [r for r in shown[name].rows if r["rule"] == rule]
        rows = [r for r in rows if all(r[k] == v for k, v in wanted.items())]
        return {row["budget"]: row["wrong_arms"] for row in rows}

    apt = last("labels", APT(precision=0.1).spec, judge="crowd")
    uniform = last("labels", "uniform", judge="crowd")
    assert apt[20 * 108] < uniform[39 * 108]  # as good with half of the labels
    apt, uniform = last("anomalies", "apt"), last("anomalies", "uniform")
    assert apt[30 * 166] < uniform[50 * 166]
    for question in ("against the option in use", "against each other"):
        apt, uniform = (last("duels", r, duels=question) for r in ("apt", "uniform"))
        assert sum(apt.values()) < sum(uniform.values())


def test_the_expert_is_another_judge_than_the_crowd(shown):
    rows = [r for r in shown["labels"].rows if r["budget"] == 39 * 108]
    wrong = {(r["judge"], r["rule"]): r["wrong_arms"] for r in rows}
    apt = APT(precision=0.1).spec
    # 26 of 108 photographs are out of reach for any majority
    assert wrong["crowd", apt] < 5
    assert abs(wrong["expert", apt] - 26) < 2


def test_apt_regrets_less_than_those_that_only_name_the_best_arm(shown):
    rows = {r["rule"]: r for r in shown["best-arm"].rows if r["budget"] == 3000}
    assert 5 * rows["apt"]["regret"] < rows["sar:1"]["regret"]
    assert 3 * rows["apt"]["regret"] < rows["ucb1:2"]["regret"]
    # and Theorem 4 is far above
    bandit = examples.arithmetic().for_best_arm()
    assert rows["apt"]["regret"] < 0.1 * theorem_4(bandit.means, budget=3000, noise_scale=0.5)


def test_curves_are_per_arm():
    bandit = Bandit(Bernoulli([0.1, 0.6, 0.9]), threshold=0.5)
    result = play_small(bandit, [Uniform()], [30, 60])
    (right,), (wrong,) = shares(result, 3), wrong_arms(result, 3)
    assert right.horizons.tolist() == wrong.horizons.tolist() == [10, 20]
    assert np.allclose(right.rate, 1 - wrong.rate / 3)
    assert np.all(right.low <= right.rate)
    assert np.all(right.rate <= right.high)


def test_where_no_arm_was_wrong_no_limit_is_drawn():
    sure = Bandit(Bernoulli([0.0, 1.0]), threshold=0.5)
    (curve,) = wrong_arms(play_small(sure, [APT()], [10]), 2)
    assert curve.rate.tolist() == [0]
    assert np.isnan(curve.high).all()


def test_files_are_written(tmp_path):
    said = []
    code = run_examples(["duels"], tmp_path, 64, 3, 1, small, said.append)
    assert code == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"duels.png", "duels.svg", "duels.csv"}
    with open(tmp_path / "duels.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["duels"] for row in rows} == {"against the option in use", "against each other"}
    assert said[-1].startswith("written to")


def test_stopped_is_said(tmp_path):
    def stopped(*args, **options):
        return small(*args, **options)[0], True

    assert run_examples(["duels"], tmp_path, 64, 3, 1, stopped, print) == 130
    assert not list(tmp_path.iterdir())


def test_the_ceiling_drawn_is_the_majoritys(shown):
    data = dataset("bluebirds")
    right = np.mean((data.arms.means >= 0.5) == (np.array(data.truth) > 0))
    example = shown["labels"]
    lines = draw_figure(example.panels, example.title).axes[1].get_lines()
    assert any(np.allclose(line.get_ydata(), right) for line in lines)


def run_cutline(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "cutline", *words], capture_output=True, text=True, cwd=cwd
    )


def test_the_command(tmp_path):
    done = run_cutline("examples", "labels", "--games", "32", "--out", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "crowd: APT(precision=0.1)" in done.stdout
    assert (tmp_path / "here" / "labels.png").stat().st_size > 10_000
    bad = run_cutline("examples", "birds", cwd=tmp_path)
    assert bad.returncode == 2
    assert bad.stderr.startswith("cutline: there is no example 'birds': one of labels")
    bad = run_cutline("examples", "--games", "0", cwd=tmp_path)
    assert (bad.returncode, "games must be a whole number" in bad.stderr) == (2, True)
