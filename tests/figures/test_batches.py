"""The figure of batches: games go as a campaign's do, numbers by hand, a tiny run."""

import math

import pytest
from matplotlib.colors import to_hex

from cutline import APT, Auto, Bandit, Bernoulli, simulate, three_groups
from cutline.campaign import Campaign
from cutline.core.chance import REWARD, chance, seed_key, uniform
from cutline.figures.batches import (
    BATCHES,
    RANDOM,
    SLOW,
    TIMES,
    BatchedAPT,
    BatchedAuto,
    Case,
    as_text,
    cases,
    compare,
    more,
    times_budget,
    write,
)
from cutline.figures.draw import draw_batches
from cutline.simulation.engine import Player

SEED = 7
COINS = Bandit(Bernoulli([0.1, 0.3, 0.35, 0.45, 0.55, 0.65, 0.9]), threshold=0.5, precision=0.1)
BOTH = pytest.mark.parametrize(
    ("rule", "batched"), [(Auto(), BatchedAuto), (APT(), BatchedAPT)], ids=["auto", "apt"]
)


@BOTH
def test_a_batch_of_one_is_one_pull_after_another(rule, batched):
    for game in range(3):
        alone = Player(rule, COINS).picks(SEED, game, 150)
        assert Player(batched(1), COINS).picks(SEED, game, 150) == alone


@BOTH
@pytest.mark.parametrize("size", [5, 32])  # fewer than the arms, and more
def test_a_batch_is_what_a_campaign_hands_out(rule, batched, size):
    budget = 150  # 32 does not divide it: the last batch is a small one
    campaign = Campaign(COINS.problem, rule, budget=budget, seed=SEED)
    names, means = COINS.problem.arms, COINS.means.tolist()
    key0, key1 = seed_key(SEED)
    picks = []
    while True:
        pulls = []
        while len(pulls) < size and (more := campaign.ask(size - len(pulls))):
            pulls += more
        if not pulls:
            break
        told = []
        for pull in pulls:
            arm = names.index(pull.arm)
            luck = uniform(chance(key0, key1, 0, arm, pull.number, REWARD), 0)
            told.append((pull, 1 if luck > 1 - means[arm] else 0))
            picks.append(arm)
        campaign.tell_many(told)
    assert len(picks) == budget
    assert Player(batched(size), COINS).picks(SEED, 0, budget) == picks


def test_one_batch_for_the_whole_budget_is_every_arm_alike():
    picks = Player(BatchedAPT(512), three_groups()).picks(SEED, 0, 280)
    assert [picks.count(arm) for arm in range(10)] == [28] * 10


def test_the_budget_that_makes_up_for_batches_lies_between_those_played():
    errors = [0.08, 0.04, 0.02, 0.01, 0.005]
    assert times_budget(errors, 0.09) == times_budget(errors, 0.08) == 1.0
    assert times_budget(errors, 0.02) == pytest.approx(TIMES[2])
    # Halfway in logarithms between 0.02 at 1.1 and 0.01 at 1.2.
    assert times_budget(errors, 0.01 * math.sqrt(2)) == pytest.approx(1.15)
    assert times_budget(errors, 0.001) == math.inf
    assert [more(times) for times in (1.0, 1.126, math.inf, "")] == [
        "0 % more",
        "13 % more",
        "over 30 % more",
        "",
    ]


@pytest.fixture(scope="module")
def rows():
    return compare(Case("coins", three_groups(), 150, 1.0), 2_000, sizes=[8, 64], seed=SEED)


def test_every_rule_way_and_size_has_a_row(rows):
    found = {(row["rule"], row["way"], row["size"]) for row in rows}
    ways = {(way, size) for way in (BATCHES, RANDOM, SLOW) for size in (8, 64)}
    wanted = {(rule, *way) for rule in ("auto", "apt") for way in ways | {(BATCHES, 1)}}
    assert found == wanted | {("round-robin", BATCHES, 1)}
    assert len(rows) == len(found) == len(as_text(rows).splitlines()) - 1


def test_rows_hold_what_a_simulation_counts(rows):
    how = {"budget": [150], "games": 2_000, "seed": SEED}
    at = {(row["rule"], row["way"], row["size"]): row for row in rows}
    alone = simulate(three_groups(), [APT()], **how)
    late = simulate(three_groups(), [APT()], in_flight=64, delay="slow-failures", **how)
    for result, key in ((alone, ("apt", BATCHES, 1)), (late, ("apt", SLOW, 64))):
        assert at[key]["error"] == result.error_rate[0]
        assert [at[key]["low"], at[key]["high"]] == pytest.approx(result.interval[0].tolist())


def test_larger_batches_cost_more_and_small_ones_little(rows):
    at = {(row["rule"], row["way"], row["size"]): row["error"] for row in rows}
    for rule in ("auto", "apt"):
        alone, large = at[rule, BATCHES, 1], at[rule, BATCHES, 64]
        # About 0.06, 0.07 and 0.10; 2,000 games leave ±0.012.
        assert at[rule, BATCHES, 8] < alone + 0.025
        assert alone + 0.015 < large < at["round-robin", BATCHES, 1]
    times = {
        row["size"]: row["times"] for row in rows if (row["rule"], row["way"]) == ("apt", BATCHES)
    }
    assert times[1] == 1.0 < times[64]


def test_the_figure_shows_every_row_and_the_level_of_equal_repetition(rows):
    (ax,) = draw_batches(rows).axes
    lines = [line for line in ax.lines if len(line.get_xdata()) == 3]
    assert len(lines) == 2 * 3  # rules and ways, over one pull, 8 and 64
    for colour, rule in (("#0072b2", "auto"), ("#d55e00", "apt")):
        drawn = [line for line in lines if to_hex(line.get_color()) == colour]
        ends = {round(float(line.get_ydata()[-1]), 9) for line in drawn}
        assert ends == {round(r["error"], 9) for r in rows if (r["rule"], r["size"]) == (rule, 64)}
    alike = next(row["error"] for row in rows if row["rule"] == "round-robin")
    assert any(list(line.get_ydata()) == [alike, alike] for line in ax.lines)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "8", "64"]


def test_no_wrong_game_is_drawn_as_an_upper_limit(rows):
    fixed = [row | {"error": 0.0, "low": 0.0} if row["rule"] == "auto" else row for row in rows]
    (ax,) = draw_batches(fixed).axes
    high = {round(row["high"], 9) for row in fixed if row["rule"] == "auto"}
    shown = {
        round(float(y), 9)
        for marks in ax.collections
        if hasattr(marks, "get_offsets")
        for _, y in marks.get_offsets()
    }
    assert high <= shown


def test_a_tiny_run_writes_the_figure(tmp_path, monkeypatch):
    small = [Case("coins", three_groups(), 60, 1.0), Case("others", three_groups(), 90, 0.1)]
    monkeypatch.setattr("cutline.figures.batches.cases", lambda: small)
    lines = write(tmp_path, 100, sizes=[8]).splitlines()
    assert (tmp_path / "batches.png").read_bytes().startswith(b"\x89PNG")
    assert [sum(line.startswith(case.title) for line in lines) for case in small] == [9, 9]


def test_the_problems_are_those_of_the_page():
    known = [(len(case.bandit.problem.arms), case.budget) for case in cases()]
    assert known == [(10, 280), (20, 3_000), (200, 9_000)]
