"""The calibration figure: games as a verdict would judge them, bins by hand, a tiny run."""

import csv

import numpy as np
import pytest

from cutline import Auto, Tally, judge
from cutline.core.evidence import BetaMixture, Ledger, arm_columns
from cutline.figures.calibration import (
    ARMS,
    LAWS,
    PRECISION,
    THRESHOLD,
    Said,
    Tables,
    as_text,
    bins,
    calibrate,
    coins,
    play,
    said,
    write,
)


@pytest.fixture(scope="module")
def tables():
    return Tables.of(coins(1), 60)


@pytest.mark.parametrize("seed", range(4))
def test_a_game_goes_and_is_judged_as_pull_by_pull(tables, seed):
    """The default rule written out, the same luck, and the verdict on what it saw."""
    arms = (ARMS, 2)[seed % 2]  # with two arms the bound comes below 1
    means, budget = np.random.default_rng([seed, 9]).uniform(size=(1, arms)), 60
    luck = np.random.default_rng(seed)
    rewards = [[] for _ in range(arms)]
    at = {"threshold": THRESHOLD, "precision": PRECISION, "width": 1.0}
    for _ in range(budget):
        unseen = [i for i in range(arms) if not rewards[i]]
        tallies = [Tally(len(seen), float(sum(seen))) for seen in rewards]
        arm = unseen[0] if unseen else int(np.argmin([Auto().index(t, **at) for t in tallies]))
        rewards[arm].append(int(luck.uniform(size=1)[0] < means[0, arm]))
    problem = coins(arms)
    verdict = judge(problem, dict(zip(problem.arms, rewards, strict=True)))
    pulls, ones, above, below = play(tables, means, budget, np.random.default_rng(seed))
    ledgers = [Ledger(BetaMixture(), arm_columns(BetaMixture(), problem, 0)) for _ in rewards]
    for ledger, seen in zip(ledgers, rewards, strict=True):
        for reward in seen:
            ledger.feed(reward)
    assert above[0].tolist() == pytest.approx([ledger.top_above for ledger in ledgers])
    assert below[0].tolist() == pytest.approx([ledger.top_below for ledger in ledgers])
    assert pulls[0].tolist() == [len(seen) for seen in rewards]
    assert ones[0].tolist() == [sum(seen) for seen in rewards]
    game = said(tables, means, budget, np.random.default_rng(seed))
    assert game.error_estimate[0] == pytest.approx(verdict.error_estimate, rel=1e-9)
    assert game.error_bound[0] == pytest.approx(verdict.error_bound, rel=1e-9)
    assert arms == ARMS or game.error_bound[0] < 1
    answer = [arm.side == "above" for arm in verdict.arms]
    assert game.wrong[0] == problem.loss(means[0], answer)


def test_the_bound_of_sure_games_is_small(tables):
    """All ones: nothing is random, and the bound goes below 1."""
    means = np.repeat([[1.0, 0.0]], 3, axis=0)
    sure = said(tables, means, 40, np.random.default_rng(1))
    verdict = judge(coins(2), {"0": [1] * 20, "1": [0] * 20})
    assert sure.error_bound == pytest.approx([verdict.error_bound] * 3)
    assert verdict.error_bound < 0.01
    assert not sure.wrong.any()


def test_the_bound_is_that_of_the_side_reported(tables):
    """Twelve ones, then thirteen zeros: much has spoken for "above", but the mean is below."""

    class Scripted:
        rewards = iter([1] * 12 + [0] * 13)

        def uniform(self, size):
            return np.full(size, 1.0 - next(self.rewards))

    game = said(tables, np.array([[0.5]]), 25, Scripted())
    verdict = judge(coins(1), {"0": [1] * 12 + [0] * 13})
    assert verdict.below == ("0",)
    assert game.error_bound[0] == pytest.approx(verdict.error_bound)
    assert verdict.error_bound > 0.5


def test_bins_hold_what_lies_above_their_lower_end_and_up_to_the_upper():
    part = Said(
        np.array([0.0, 0.001, 0.0011, 0.02, 1.0]),
        np.array([1.0, 0.5, 0.3, 0.05, 1.0]),
        np.array([False, False, True, False, True]),
    )
    rows = bins("law", [part, part])
    estimates = [row for row in rows if row["shown"] == "error_estimate"]
    assert [(row["from"], row["to"], row["games"], row["wrong"]) for row in estimates] == [
        (0.0, 0.001, 4, 0),
        (0.001, 0.003, 2, 2),
        (0.01, 0.03, 2, 0),
        (0.6, 1.0, 2, 2),
    ]
    assert estimates[0]["mean_shown"] == pytest.approx(0.0005)
    assert estimates[0]["low"] == 0.0
    assert estimates[0]["high"] == pytest.approx(1 - 0.025 ** (1 / 4))  # none of 4
    bounds = {row["to"]: row["games"] for row in rows if row["shown"] == "error_bound"}
    assert bounds == {0.1: 2, 0.3: 2, 0.6: 2, 1.0: 4}


def test_laws_draw_means_as_they_say():
    rng, shape = np.random.default_rng(1), (2_000, ARMS)
    anywhere, crowded, low = (law(rng, shape) for law in LAWS.values())
    assert anywhere.shape == crowded.shape == low.shape == shape
    assert 0 < anywhere.min() < 0.01 < 0.99 < anywhere.max() < 1
    assert abs(crowded - THRESHOLD).max() <= 0.1
    assert np.mean(low < 0.2) == pytest.approx(0.9 + 0.1 * 0.2, abs=0.01)


def test_a_tiny_run_stands_where_the_figure_does(tmp_path):
    """The estimate is near the truth for means anywhere, too bold in a crowd; the bound holds."""
    text = write(tmp_path, 2_000, budgets=[100], seed=3)
    assert (tmp_path / "calibration.png").read_bytes().startswith(b"\x89PNG")
    with open(tmp_path / "calibration.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(text.splitlines()) - 1
    at = {(row["law"].split()[1], row["shown"], row["to"]): row for row in rows}
    anywhere = at["anywhere", "error_estimate", "0.6"]
    # 1,000 games or so leave ±0.03 around 0.46, where 0.42 is said.
    assert abs(float(anywhere["share_wrong"]) - float(anywhere["mean_shown"])) < 0.12
    crowd = at["within", "error_estimate", "0.6"]
    assert float(crowd["share_wrong"]) > float(crowd["mean_shown"]) + 0.1
    for row in rows:
        if row["shown"] == "error_bound":
            assert float(row["low"]) <= float(row["mean_shown"])


def test_equal_seeds_give_equal_rows():
    one, two, other = (
        calibrate(50, laws=list(LAWS)[:1], budgets=[30], seed=seed) for seed in (1, 1, 2)
    )
    assert one == two != other
    assert "error_bound" in as_text(one)
