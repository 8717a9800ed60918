"""The tournament's numbers: ratios with intervals, budgets by interpolation, the page and JSON."""

import json
import math
import re

import numpy as np
import pytest
from scipy.optimize import minimize

from cutline import APT, Bandit, Bernoulli, StudentT, Uniform, simulate
from cutline.figures.draw import draw_overview
from cutline.figures.tournament import (
    CONTESTANTS,
    COSTS,
    as_json,
    as_page,
    as_text,
    beyond_chance,
    budget_ratio,
    discordant,
    geometric_mean,
    overview,
    paired_ratio,
    plan,
    play_instance,
    predicted_seconds,
    report,
    summarize,
    worse_rows,
)
from cutline.rules import RULES, parse_rule
from cutline.simulation.suite import SUITE, Instance

EASY = Instance(
    "easy",
    "tests",
    lambda: Bandit(Bernoulli([0.1, 0.4, 0.6, 0.9]), threshold=0.5),
    (20, 60, 140),
    "four coins",
)
LOW = Instance(
    "low",
    "tests",
    lambda: Bandit(Bernoulli([0.01, 0.03, 0.1, 0.2]), threshold=0.05),
    (60, 200, 400),
    "four rare events",
)


def play(what, bandit, rules, *, budgets, also=(), **options):
    options["horizons"] = {*budgets, *also}
    return simulate(bandit, rules, budget=budgets, **options), False


def played(*instances, rules=("apt", "ucbe", "uniform"), games=2_000, **options):
    plans = [plan(one, rules, games=games, **options) for one in instances]
    rows = [row for p in plans for row in play_instance(p, play, p.instance.name, seed=3)]
    return plans, rows


@pytest.fixture(scope="module")
def found():
    plans, rows = played(EASY, LOW, rules=["apt", "slr", "ucbe", "uniform", "bayes-ucb"])
    return report(plans, rows, seed=3, command="cutline tournament")


def likeliest(theta, both, first, second, games):
    """The constrained rates by brute force."""
    none = games - both - first - second

    def minus_log(x):
        p11, p01 = np.exp(x)
        p10 = (theta - 1) * p11 + theta * p01
        p00 = 1 - p11 - p01 - p10
        if min(p10, p00) <= 0:
            return 1e9
        return -(
            both * np.log(p11) + first * np.log(p10) + second * np.log(p01) + none * np.log(p00)
        )

    p11 = max(both, 1) / games / max(theta, 1)
    start = np.log([p11, max(second, 1) / games + p11 * max(1 - theta, 0) / theta])
    options = {"xatol": 1e-10, "fatol": 1e-10, "maxiter": 20_000}
    best = minimize(minus_log, start, method="Nelder-Mead", options=options)
    p11, p01 = np.exp(best.x)
    return (theta - 1) * p11 + (1 + theta) * p01


@pytest.mark.parametrize(
    ("both", "first", "second"), [(10, 5, 20), (3, 30, 4), (50, 12, 11), (0, 7, 9)]
)
@pytest.mark.parametrize("theta", [0.4, 1.0, 2.5])
def test_the_likeliest_rates_against_brute_force(both, first, second, theta):
    ours = discordant(theta, both, first, second, 500)
    assert ours == pytest.approx(likeliest(theta, both, first, second, 500), rel=1e-3)


def test_ratio_intervals_cover_the_ratio():
    rng = np.random.default_rng(5)
    for rates in ([0.02, 0.03, 0.01], [0.004, 0.002, 0.02], [0.1, 0.02, 0.1]):
        ratio = (rates[0] + rates[1]) / (rates[0] + rates[2])
        draws = rng.multinomial(2_000, [*rates, 1 - sum(rates)], size=600)
        ends = [paired_ratio(*map(int, d[:3]), 2_000, 0.9) for d in draws]
        misses = sum(not low <= ratio <= high for low, high in ends)
        # 10 % of 600 draws: 60, with a standard deviation of 7; the level is approximate.
        assert 30 < misses < 95


def test_ratio_intervals_at_the_edges():
    assert paired_ratio(0, 0, 0, 100, 0.999) == (0.0, math.inf)
    low, high = paired_ratio(0, 0, 200, 20_000, 0.999)
    assert low == 0
    assert 0.03 < high < 0.08  # 7.6 wrong games would go unseen once in 2,000 times: 7.6 / 200
    swapped_low, swapped_high = paired_ratio(0, 200, 0, 20_000, 0.999)
    assert swapped_low == pytest.approx(1 / high, rel=1e-6)
    assert swapped_high == math.inf
    low, high = paired_ratio(50, 0, 0, 1_000, 0.999)  # the same games
    assert low < 1 < high
    one, other = paired_ratio(20, 10, 30, 1_000, 0.999), paired_ratio(20, 30, 10, 1_000, 0.999)
    assert one[0] == pytest.approx(1 / other[1], rel=1e-6)


def test_budget_ratio_by_hand():
    horizons, curve = np.array([10, 20, 40]), np.array([0.4, 0.1, 0.025])
    assert budget_ratio(horizons, curve, 0.2, 20) == (pytest.approx(0.75), "=")
    assert budget_ratio(horizons, curve, 0.05, 40) == (pytest.approx(0.75), "=")
    assert budget_ratio(horizons, curve, 0.01, 20) == (2.0, ">")
    assert budget_ratio(horizons, curve, 0.5, 20) == (0.5, "<")
    assert budget_ratio(horizons, curve, 0.0, 20) == (None, "=")


def test_rows_are_the_simulation(found):
    result = simulate(EASY.bandit, [APT(), Uniform()], budget=[20, 60, 140], games=2_000, seed=3)
    for h, budget in enumerate(EASY.budgets):
        apt, uniform = (
            next(
                row
                for row in found["rows"]
                if (row["instance"], row["budget"], row["rule"]) == ("easy", budget, rule)
            )
            for rule in ("apt", "uniform")
        )
        assert apt["wrong_games"] == result.wrong_games[0, h]
        assert uniform["wrong_games"] == result.wrong_games[1, h]
        assert uniform["only_rule"] == result.only[1, 0, h]
        assert uniform["wrong_arms"] == result.wrong_arms_curve[1, h]
        both = uniform["wrong_games"] - uniform["only_rule"]
        assert both == apt["wrong_games"] - uniform["only_apt"]
        assert uniform["ratio"] == (uniform["wrong_games"] + 0.5) / (apt["wrong_games"] + 0.5)
        assert uniform["ratio_low"] <= uniform["ratio"] <= uniform["ratio_high"]
        assert uniform["low"] <= uniform["error_rate"] <= uniform["high"]
        assert (apt["ratio"], apt["budget_ratio"], apt["arms_ratio"]) == (1, 1, 1)
        assert apt["ratio_low"] <= 1 <= apt["ratio_high"]


def test_replayed_rules_meet_the_same_games(found):
    budgets = list(EASY.budgets)
    names = ["apt", "ucbe"]
    rules = [parse_rule(name) for name in names]
    result = simulate(EASY.bandit, rules, budget=budgets, games=2_000, seed=3)
    rows = [row for row in found["rows"] if (row["instance"], row["rule"]) == ("easy", "ucbe")]
    assert [row["wrong_games"] for row in rows] == result.wrong_games[1].tolist()
    assert [row["only_rule"] for row in rows] == result.only[1, 0].tolist()


def test_uniform_is_found_to_be_worse_and_to_need_more(found):
    last = next(r for r in found["rows"] if r["rule"] == "uniform" and r["budget"] == 140)
    # Uniform errs over three times as often here, in 2,000 games.
    assert beyond_chance(last) == 1
    assert (last["budget_ratio"], last["budget_ratio_is"]) == (1.0, ">")
    assert last in worse_rows(found["rows"], "uniform")
    first = next(r for r in found["rows"] if r["rule"] == "uniform" and r["budget"] == 20)
    assert first["budget_ratio"] > 1


def test_summary_by_hand():
    row = {"rule": "x", "rare": False, "told_by": "games", "instance": "i", "arms": 4}
    apart = {"ratio_low": 0.1, "ratio_high": 9.0, "arms_ratio_low": 0.1, "arms_ratio_high": 9.0}
    rows = [
        row | apart | {"budget": 10, "ratio": 0.5, "arms_ratio": 0.25, "budget_ratio": 0.5},
        row | apart | {"budget": 20, "ratio": 2.0, "arms_ratio": 1.0, "budget_ratio": 2.0},
        row | apart | {"budget": 30, "ratio": 8.0, "arms_ratio": 4.0, "budget_ratio": None},
        row
        | {"rare": True, "budget": 40, "ratio": 99.0, "ratio_low": 5.0, "ratio_high": 100.0}
        | {"told_by": "arms", "arms_ratio": 0.5, "arms_ratio_low": 0.4, "arms_ratio_high": 0.6}
        | {"budget_ratio": 0.7},
    ]
    for one, sign in zip(rows, "=>==", strict=True):
        one["budget_ratio_is"] = sign
    (line,) = summarize(rows)
    assert line["other"]["error"] == pytest.approx(2.0)
    assert line["other"]["wrong_arms"] == pytest.approx(1.0)
    assert line["other"]["budget"] == pytest.approx(1.0)
    assert (line["other"]["budget_is"], line["other"]["rows"]) == (">", 3)
    assert line["rare"]["error"] is None  # games do not tell there
    assert line["rare"]["wrong_arms"] == pytest.approx(0.5)
    assert (line["rare"]["better"], line["other"]["worse"]) == (1, 0)
    assert (line["worst"]["ratio"], line["worst"]["budget"]) == (8.0, 30)
    assert geometric_mean([]) is None


def test_many_wrong_games_are_told_by_arms():
    hard = Instance(
        "hard",
        "tests",
        lambda: Bandit(Bernoulli([0.49] * 10 + [0.51] * 10), threshold=0.5),
        (40, 60, 80),
        "no hope",
    )
    _, rows = played(hard, rules=["apt"], games=256)
    assert {row["told_by"] for row in rows} == {"arms"}


def test_what_does_not_apply_or_takes_too_long_sits_out():
    heavy = Instance(
        "heavy",
        "tests",
        lambda: Bandit(StudentT([0.0, 2.0], 3.0), threshold=1.0),
        (10, 20, 30),
        "",
    )
    planned = plan(heavy, ["slr", "apt-clipped", "uniform"])
    assert planned.rules == ("apt", "apt-clipped", "uniform")
    assert "heavy" in planned.unfit["slr"]
    assert "apt-clipped" in plan(EASY, ["apt-clipped"]).unfit
    assert plan(EASY, ["apt-clipped"], all_apply=True).rules == ("apt", "apt-clipped")
    planned = plan(EASY, ["slr", "uniform"], limit=1e-9)
    assert planned.rules == ("apt",)  # APT always plays
    assert set(planned.slow) == {"slr", "uniform"}
    if "auto" in RULES:
        assert plan(EASY, ["auto"], limit=1e-9).rules == ("apt", "auto")


def test_costs_are_the_same_everywhere():
    bandit = SUITE["three-groups"].bandit
    seconds = predicted_seconds("csar", parse_rule("csar"), bandit, (100, 200, 300), 1_000)
    own, each = COSTS["csar"]
    per_pull = own + 10 * each + 0.08
    assert seconds == pytest.approx(1_000 * 600 * per_pull * 1e-9 / 2)  # replayed: 100 + 200 + 300
    assert all(name in COSTS for name in CONTESTANTS)
    assert set(CONTESTANTS) <= set(RULES)


def test_the_whole_tournament_is_affordable():
    seconds = pulls = 0.0
    for one in SUITE.values():
        pulls += one.budgets[-1] * one.games
        planned = plan(one, CONTESTANTS)
        seconds += sum(
            predicted_seconds(name, parse_rule(name), one.bandit, planned.budgets, planned.games)
            for name in planned.rules
        )
    assert pulls < 1.05e10
    assert seconds < 30 * 60


def test_the_page_shows_what_was_found(found):
    page = as_page(found)
    assert page.startswith("# Tournament\n")
    table = page.split("## Summary")[1].split("## ")[0]
    for rule in ("apt", "slr", "ucbe", "uniform"):
        assert re.search(rf"^\| {rule} \|", table, re.M)
    for row in found["rows"]:
        if row["rule"] == "slr" and row["error_rate"] >= 0.1:
            assert f"{row['error_rate']:.3f}" in page
    assert "four coins" in page
    assert "seed 3, 2,000 games" in page
    assert "## Where `auto`" not in page or "auto" in RULES
    widths = {}
    for block in re.findall(r"(?:^\|.*\n)+", page, re.M):
        widths = {line.count("|") for line in block.splitlines()}
        assert len(widths) == 1, block


def test_the_page_says_who_sat_out():
    plans, rows = played(EASY, rules=["apt", "pi", "uniform"], games=128, limit=1e-4)
    found = report(plans, rows, limit=1e-4)
    assert {cell["rule"] for cell in found["too_slow"]} == {"pi", "uniform"}
    for text in (as_page(found), as_text(found)):
        assert "pi on easy" in text
    plans, rows = played(EASY, rules=["apt"], games=64)
    assert "not played, stopped before: low" in as_text(report([*plans, plan(LOW, ["apt"])], rows))


def test_auto_is_watched():
    plans, rows = played(EASY, rules=["apt", "uniform"])
    for row in rows:
        row["rule"] = row["rule"].replace("uniform", "auto")
    found = report(plans, rows)
    assert found["auto_worse"]
    assert "auto is worse than APT beyond chance (99.9 %) in" in as_text(found)
    assert "easy at 140" in as_page(found).split("## Where `auto`")[1].split("##")[0]


def test_json_holds_all_numbers(found):
    again = json.loads(as_json(found))
    assert again["rows"] == found["rows"]
    assert {one["name"]: one["budgets"] for one in again["instances"]}["easy"] == [20, 60, 140]
    assert [one["rare"] for one in again["instances"]] == [False, True]


def test_the_overview_shows_a_ratio_for_every_instance_and_rule(found):
    shown = overview(found)
    assert shown.names == ("easy", "low")
    assert "apt" not in shown.rules
    r = shown.rules.index("uniform")
    own = [x["ratio"] for x in found["rows"] if (x["instance"], x["rule"]) == ("easy", "uniform")]
    assert shown.ratios[0][r] == pytest.approx(np.prod(own) ** (1 / 3))
    words = [text.get_text() for text in draw_overview(shown).axes[0].texts]
    assert len(words) == 2 * len(shown.rules) + 1  # and the group


def test_ctrl_c_leaves_the_instance_out():
    def stopping(what, bandit, rules, **options):
        raise KeyboardInterrupt

    assert play_instance(plan(EASY, ["apt"], games=64), stopping, "easy") is None
