"""The numbers of a report and of its picture: the bounds of core.theory, for the right problems."""

import csv
import json
import math

import numpy as np
import pytest

from cutline import (
    APT,
    CSAR,
    Bandit,
    Bernoulli,
    Beta,
    Exponential,
    Gaussian,
    Pareto,
    Poisson,
    Recorded,
    Rewards,
    StudentT,
    TopArms,
    simulate,
    three_groups,
)
from cutline.core.theory import (
    best_arm_complexity,
    clearance,
    corollary_1,
    corollary_2,
    csar_bound,
    kl_lower_bound,
    ordered_complexity,
    sharp_lower_bound,
    static_shares,
    theorem_1,
    theorem_2,
    theorem_3,
    theorem_4,
)
from cutline.figures.statements import Theory
from cutline.figures.tables import error_curves, regret_curves, result_rows
from cutline.figures.tables import theory_csv as as_csv
from cutline.figures.tables import theory_json as as_json
from cutline.figures.tables import theory_table as as_table
from cutline.figures.theory import along, panels, report, spaced
from cutline.simulation.goals import SIDES

BUDGETS = [5, 100, 1000, 50_000]
LOWER = ["Theorem 1 as printed", "Theorem 1", "Corollary 1"]
UPPER = ["Theorem 2 as printed", "Theorem 2", "Corollary 2"]
OF_CSAR = ["CSAR's bound as printed", "CSAR's bound"]
DIVERGENCE = "divergence lower bound"


def theory(bandit, goal=SIDES, budgets=BUDGETS, error=0.05):
    return Theory.of(bandit, goal, budgets=budgets, error=error)


def names(bandit, goal=SIDES):
    return [statement.name for statement in theory(bandit, goal).statements]


def told(bandit, goal=SIDES, result=None, **settings):
    return report(theory(bandit, goal, **settings), result)


def bounds_of(bandit):
    """All the bounds for the sides of arms, from core.theory, by name."""
    problem, mu = bandit.problem, bandit.means
    H, R, K = bandit.complexity(), bandit.noise_scale, len(mu)
    away = np.abs(mu - problem.thresholds)
    return {
        "Theorem 1 as printed": theorem_1(H, arms=K, noise_scale=R, printed=True),
        "Theorem 1": theorem_1(H, arms=K, noise_scale=R),
        "Corollary 1": corollary_1(H, arms=K, noise_scale=R),
        DIVERGENCE: kl_lower_bound(problem, mu, getattr(bandit.arms, "sd", None)),
        "Theorem 2 as printed": theorem_2(H, arms=K, noise_scale=R, printed=True),
        "Theorem 2": theorem_2(H, arms=K, noise_scale=R, clearance=clearance(problem, mu)),
        "Corollary 2": corollary_2(H, arms=K, noise_scale=R),
        "CSAR's bound as printed": csar_bound(away, noise_scale=R, printed=True),
        "CSAR's bound": csar_bound(away, noise_scale=R),
    }


# Which statements, and why not others


def test_bernoulli_arms_have_all_but_the_bound_for_normal_ones():
    known = theory(three_groups())
    assert [s.name for s in known.statements] == [*LOWER, DIVERGENCE, *UPPER, *OF_CSAR]
    assert known.notes == []
    assert known.rules == ["apt", "csar"]
    assert [s.rule for s in known.statements] == [None] * 4 + ["apt"] * 3 + ["csar"] * 2
    assert [s.side for s in known.statements] == ["lower"] * 4 + ["upper"] * 5
    assert [s.name for s in known.statements if s.printed] == [LOWER[0], UPPER[0], OF_CSAR[0]]


def test_normal_arms_have_the_sharp_bound_too():
    assert names(three_groups(True)) == [
        *(*LOWER, "sharp lower bound", DIVERGENCE),
        *(*UPPER, *OF_CSAR),
    ]


@pytest.mark.parametrize("arms", [Poisson([1.0, 2.0, 4.0]), Exponential([1.0, 2.0, 4.0])])
def test_without_a_noise_scale_the_divergence_bound_remains(arms):
    known = theory(Bandit(arms, threshold=3.0))
    assert [s.name for s in known.statements] == [DIVERGENCE]
    (note,) = known.notes
    assert "noise scale R" in note
    assert f"{arms.name} rewards have none" in note
    assert known.rules == ["apt"]


@pytest.mark.parametrize("arms", [Pareto([1.0, 2.0]), StudentT([1.0, 2.0], 3.0)])
def test_heavy_tails_have_no_bound_at_all(arms):
    known = theory(Bandit(arms, threshold=1.5))
    assert known.statements == []
    assert ["noise scale" in note for note in known.notes] == [True, False]
    assert "divergence lower bound is left out" in known.notes[1]


def test_beta_arms_have_a_scale_and_no_divergence():
    known = theory(Bandit(Beta.from_means([0.2, 0.9], None), threshold=0.5))
    assert [s.name for s in known.statements] == [*LOWER, *UPPER, *OF_CSAR]
    assert known.notes[0].startswith("the divergence lower bound is left out: beta arms")


def test_recorded_counts_are_not_taken_for_poisson_arms():
    arms = Recorded.from_samples([[0, 1, 5], [2, 3, 4]], Rewards("poisson"))
    assert names(Bandit(arms, threshold=2.5)) == []
    coins = Recorded.from_samples([[0, 1, 1], [0, 0, 1]], Rewards("binary"))
    assert DIVERGENCE in names(Bandit(coins, threshold=0.5))


def test_a_level_set_is_a_problem_of_coins():
    bandit = Bandit(Pareto([1.0, 2.0]), level=1.0, threshold=0.5)
    assert names(bandit) == [*LOWER, DIVERGENCE, *UPPER, *OF_CSAR]
    problem = told(bandit)["problem"]
    assert (problem["family"], problem["rewards"], problem["level"]) == ("pareto", "binary", [1, 1])


def test_problems_too_hard_for_theorem_1():
    # Two arms on the edges of the band of width 0.2 have 2 / 0.2^2 = 50; inside it is harder.
    bandit = Bandit(Bernoulli([0.45, 0.55]), threshold=0.5, precision=0.1)
    known = theory(bandit)
    assert [s.name for s in known.statements] == [DIVERGENCE, *UPPER, *OF_CSAR]
    assert "have a complexity below 50, and this problem has 88.89" in known.notes[0]
    easier = Bandit(Bernoulli([0.3, 0.55]), threshold=0.5, precision=[0.1, 0.0])
    assert names(easier)[:3] == LOWER  # the arm without a band can be as hard as one likes


def test_an_infinite_complexity():
    known = theory(Bandit(Bernoulli([0.5, 0.9]), threshold=0.5))
    assert [s.name for s in known.statements] == [DIVERGENCE]
    assert "H are left out: it is infinite" in known.notes[0]
    problem = report(known, None)["problem"]
    assert (problem["complexity"], problem["ordered_complexity"]) == (None, None)
    assert [arm["share"] for arm in problem["per_arm"]] == [None, None]
    (bound,) = report(known, None)["bounds"]
    assert {value["value"] for value in bound["values"]} == {0.25}
    assert bound["budget_for_error"] is None


def test_no_noise_at_all():
    known = theory(Bandit(Gaussian([0.0, 1.0], sd=0.0), threshold=0.5))
    assert known.statements == []
    assert "there is no noise" in known.notes[0]


def test_one_arm_has_no_printed_bound_for_csar():
    assert names(Bandit(Bernoulli([0.9]), threshold=0.5)) == [
        *(*LOWER, DIVERGENCE),
        *(*UPPER, "CSAR's bound"),
    ]


def test_the_best_arm_has_theorems_3_and_4():
    known = theory(Bandit(Bernoulli([0.2, 0.9]), threshold=0.9), TopArms(1))
    assert [(s.name, s.measure) for s in known.statements] == [
        ("Theorem 3 as printed", "error"),
        ("Theorem 3", "error"),
        ("Theorem 4 as printed", "regret"),
        ("Theorem 4", "regret"),
    ]
    assert (known.notes, known.rules) == ([], ["apt"])


def test_several_best_arms_leave_theorem_4():
    known = theory(Bandit(Bernoulli([0.2, 0.9, 0.9]), threshold=0.9), TopArms(1))
    assert [s.name for s in known.statements] == ["Theorem 4 as printed", "Theorem 4"]
    assert known.notes[0].startswith("left out: Theorem 3 needs a single best arm")
    level = theory(Bandit(Bernoulli([0.9, 0.9]), threshold=0.9), TopArms(1))
    assert level.statements == []


@pytest.mark.parametrize("change", [{"threshold": 0.8}, {"threshold": 0.9, "precision": 0.1}])
def test_the_best_arm_is_found_with_its_mean_alone(change):
    with pytest.raises(ValueError, match=r"told the best mean, 0\.9, with precision 0"):
        theory(Bandit(Bernoulli([0.2, 0.9]), **change), TopArms(1))


def test_the_top_arms_have_the_upper_bounds_for_sides():
    bandit = three_groups().for_top(4)
    known = theory(bandit, TopArms(4))
    assert [s.name for s in known.statements] == [*UPPER, *OF_CSAR]
    assert known.notes == ["lower bounds are left out: none is about the 4 best arms"]
    with pytest.raises(ValueError, match="splits them off"):
        theory(bandit, TopArms(3))
    with pytest.raises(ValueError, match="splits them off"):
        theory(three_groups(), TopArms(4))
    with pytest.raises(ValueError, match="leave nothing to find"):
        theory(three_groups(), TopArms(10))


@pytest.mark.parametrize("goal", [TopArms(1), TopArms(2)])
def test_the_best_arms_of_heavy_tails_have_no_bound(goal):
    bandit = Bandit(Pareto([1.0, 2.0, 4.0]), threshold=4.0)
    known = theory(bandit if goal.m == 1 else bandit.for_top(2), goal)
    assert known.statements == []
    assert "heavy rewards have none" in known.notes[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"error": 0.0}, "error must lie between 0 and 1, got 0.0"),
        ({"error": 1.0}, "error must lie between 0 and 1, got 1.0"),
        ({"budgets": [100, 0]}, "at least 1, got 0"),
    ],
)
def test_settings_that_make_no_sense(settings, words):
    with pytest.raises(ValueError, match=words):
        theory(three_groups(), **settings)


# Their numbers


@pytest.mark.parametrize("gaussian", [False, True])
def test_every_number_is_that_of_core_theory(gaussian):
    bandit = three_groups(gaussian)
    rows = {row["statement"]: row for row in told(bandit)["bounds"]}
    wanted = bounds_of(bandit)
    if gaussian:
        # The arms that count are 0.15 (twice) and 0.4 (six) from the threshold, with sd 1/2.
        wanted["sharp lower bound"] = sharp_lower_bound(
            [0.05] * 2 + [0.3] * 6, noise_scale=0.5, precision=0.1
        )
    assert rows.keys() == wanted.keys()
    for name, bound in wanted.items():
        row = rows[name]
        assert row["side"] == bound.side
        assert row["about"] == bound.about
        assert row["least"] == bound.least
        assert row["budget_for_error"] == bound.budget_for(0.05)
        assert [value["budget"] for value in row["values"]] == BUDGETS
        for value in row["values"]:
            if value["budget"] < bound.least:
                assert (value["value"], value["log_value"], value["vacuous"]) == (None, None, None)
            else:
                assert value["log_value"] == pytest.approx(bound.log_at(value["budget"]), rel=1e-12)
                assert value["value"] == pytest.approx(bound.at(value["budget"]), rel=1e-9)
                assert value["vacuous"] == bound.is_vacuous(value["budget"])


def test_the_sharp_bound_takes_every_arm_in_units_of_its_own_noise():
    bandit = Bandit(Gaussian([1.0, -4.0, 0.1], sd=[1.0, 2.0, 1.0]), threshold=0.0, precision=0.1)
    row = next(r for r in told(bandit)["bounds"] if r["statement"] == "sharp lower bound")
    # H' = 1/1^2 + 1/2^2 = 1.25 in those units; the third arm is on the edge, and free if mirrored.
    wanted = -math.log(4) - 2 * 100 / 1.25
    assert row["values"][1]["log_value"] == pytest.approx(wanted)


def test_another_error_asks_for_another_budget():
    bandit = three_groups()
    rows = {row["statement"]: row for row in told(bandit, error=0.001)["bounds"]}
    for name, bound in bounds_of(bandit).items():
        assert rows[name]["budget_for_error"] == bound.budget_for(0.001)


def test_theorem_2_knows_how_clear_the_arms_are_of_the_band():
    row = next(r for r in told(three_groups())["bounds"] if r["statement"] == "Theorem 2")
    # Arms at 0.15 of a gap of 0.25: the clearance is 0.6, and 33/16 (2.2 / 0.6)^2 = 27.7 for 33.
    assert row["budget_for_error"] < theorem_2(144.889, arms=10, noise_scale=0.5).budget_for(0.05)


def test_the_numbers_for_the_best_arm():
    bandit = Bandit(Bernoulli([0.2, 0.9, 0.5]), threshold=0.9)
    rows = {row["statement"]: row for row in told(bandit, TopArms(1))["bounds"]}
    for printed, end in ((True, " as printed"), (False, "")):
        third = theorem_3(bandit.means, noise_scale=0.5, printed=printed)
        assert rows["Theorem 3" + end]["values"][2]["value"] == pytest.approx(third.at(1000))
        assert rows["Theorem 3" + end]["budget_for_error"] == third.budget_for(0.05)
        fourth = rows["Theorem 4" + end]
        for value in fourth["values"][1:]:
            T = value["budget"]
            regret = theorem_4(bandit.means, budget=T, noise_scale=0.5, printed=printed)
            assert value["value"] == pytest.approx(regret)
            assert value["vacuous"] == (regret >= 0.7 * T)  # the worst arm loses 0.7 a pull
        assert fourth["values"][0]["value"] is None  # stated from two pulls an arm on
        assert (fourth["least"], fourth["budget_for_error"]) == (6, None)
    assert [value["vacuous"] for value in rows["Theorem 4"]["values"]] == [None, True, False, False]


# The problem


def test_the_problem_by_hand():
    bandit = Bandit(Bernoulli([0.1, 0.45, 0.75]), threshold=0.5, precision=0.1, names=list("abc"))
    problem = told(bandit)["problem"]
    # Gaps 0.5, 0.15 and 0.35; without precision 0.4, 0.05 and 0.25, the least of which rules.
    assert problem["arms"] == 3
    assert problem["counting"] == 2
    assert problem["complexity"] == pytest.approx(4 + 1 / 0.0225 + 1 / 0.1225)
    assert problem["ordered_complexity"] == pytest.approx(400)
    assert problem["noise_scale"] == 0.5
    assert problem["clearance"] == pytest.approx(0.25 / 0.35)
    assert [arm["arm"] for arm in problem["per_arm"]] == ["a", "b", "c"]
    assert [arm["right"] for arm in problem["per_arm"]] == [-1, 0, 1]
    assert [arm["gap"] for arm in problem["per_arm"]] == pytest.approx([0.5, 0.15, 0.35])
    shares = [arm["share"] for arm in problem["per_arm"]]
    assert shares == static_shares(bandit.gaps()).tolist()
    assert sum(shares) == pytest.approx(1)


def test_the_problem_of_the_best_arm():
    bandit = Bandit(Bernoulli([0.2, 0.9, 0.5]), threshold=0.9)
    problem = told(bandit, TopArms(1))["problem"]
    assert problem["complexity"] == best_arm_complexity(bandit.means)
    assert problem["ordered_complexity"] == ordered_complexity([0.7, 0.4])
    assert [arm["gap"] for arm in problem["per_arm"]] == pytest.approx([0.7, 0, 0.4])
    assert [arm["share"] for arm in problem["per_arm"]] == [None] * 3
    assert problem["goal"] == "best-arm"


def test_all_is_plain_json():
    for bandit in (
        three_groups(),
        Bandit(Bernoulli([0.5, 0.9]), threshold=0.5),
        Bandit(Pareto([1.0, 2.0]), threshold=1.5),
    ):
        values = told(bandit)
        assert json.loads(json.dumps(values, allow_nan=False)) == values


# The table and the CSV


@pytest.fixture(scope="module")
def played():
    return simulate(three_groups(), [APT(), CSAR()], budget=BUDGETS[:-1], games=64)


def test_what_was_simulated_is_beside_the_bounds(played):
    known = theory(three_groups(), budgets=[1000, 100])
    assert known.budgets == (100, 1000)
    rows = report(known, played)["simulated"]
    assert rows == result_rows(played.at([100, 1000]))
    assert [(row["rule"], row["budget"]) for row in rows] == [
        *(("apt", 100), ("apt", 1000)),
        *(("csar", 100), ("csar", 1000)),
    ]


def test_the_table_has_a_line_for_every_statement_under_whom_it_is_about(played):
    values = told(three_groups(), result=played, budgets=[5, 1000])
    lines = as_table(values).splitlines()
    heads = next(i for i, line in enumerate(lines) if "T = 5" in line)
    assert lines[heads].split() == ["T", "=", "5", "T", "=", "1,000", "for", "error", "0.05"]
    assert [line.split(",")[0] for line in lines[heads + 1 :] if line[0] != " "] == [
        "error of any algorithm",
        "error of APT",
        "error of CSAR",
    ]
    cells = {line[2:].partition("  ")[0]: line.split() for line in lines[heads + 1 :]}
    assert cells["at most, Theorem 2 as printed"][-3:] == ["–", "vacuous", "28,851"]
    assert cells["at most, Theorem 2"][-3:] == ["–", "vacuous", "8,679"]
    assert cells["at most, Corollary 2"][-3:] == ["–", "–", "44,156"]
    # At T = 1,000: -4 log(12 (log 1000 + 1) 10) - 3000 / (144.89 / 4) = -110.24, or 1.3e-48.
    assert cells["at least, Theorem 1 as printed"][-2:] == ["1.3e-48", "any"]
    assert cells["at least, divergence lower bound"][-3:] == ["43", "or", "more"]
    assert [line.split()[1:3] for line in lines if line.startswith("  in ")] == [
        ["64", "games"]
    ] * 2


def test_the_arms_are_listed_where_there_are_few():
    few = as_table(told(three_groups()))
    assert few.count("either") == 2
    assert "share of the static optimum" in few
    means = np.linspace(0.1, 0.45, 13)
    many = as_table(told(Bandit(Bernoulli(means), threshold=0.5)))
    low, high = np.min(gaps := 0.5 - means), np.max(gaps)
    least, most = (1 / gap**2 / np.sum(gaps**-2.0) for gap in (high, low))
    assert f"shares of the static optimum: {least:.2g} to {most:.3f}; --format json" in many
    assert "either" not in many


def test_the_table_of_what_cannot_be_said():
    text = as_table(told(Bandit(Bernoulli([0.5, 0.9]), threshold=0.5)))
    assert "H is infinite, H_2 is infinite" in text
    assert text.splitlines()[-1].split()[-2:] == ["0.250", "never"]
    empty = as_table(told(Bandit(Pareto([1.0, 2.0]), threshold=1.5)))
    assert "no noise scale R" in empty
    assert "T = " not in empty


def test_numbers_too_small_for_floats_are_shown_by_their_exponent():
    bandit = Bandit(Gaussian([0.0, 1.0], sd=1.0), threshold=0.5)
    text = as_table(told(bandit, budgets=[10_000]))
    # H' = 8, so the sharp bound is exp(-2500) / 4 = 10^(-1085.74 - 0.60) = 4.6e-1087
    assert "4.6e-1087" in text


def test_csv_has_a_row_for_every_number(played):
    values = told(three_groups(), result=played, budgets=[5, 1000])
    heads, *lines = as_csv(values).splitlines()
    assert heads.split(",")[:4] == ["statement", "measure", "side", "rule"]
    assert len(lines) == 2 * 9 + 2 * 2
    assert len(as_csv(told(Bandit(Pareto([1.0, 2.0]), threshold=1.5))).splitlines()) == 1


def test_csv_has_the_regret_of_the_best_arm():
    bandit = Bandit(Bernoulli([0.2, 0.9]), threshold=0.9)
    result = simulate(bandit, [APT()], budget=[50], games=64, goal=TopArms(1))
    rows = list(csv.DictReader(as_csv(told(bandit, TopArms(1), result, budgets=[50])).splitlines()))
    chance, regret = (row for row in rows if row["statement"] == "simulated")
    assert (chance["measure"], regret["measure"]) == ("error", "regret")
    assert float(regret["value"]) == result.regret[0]
    assert (float(regret["low"]), float(regret["high"])) == tuple(result.regret_interval()[0, 0])


def test_json_knows_no_infinity():
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"complexity": math.inf})


# The picture


def test_the_picture_reaches_to_where_the_upper_bounds_are_at_the_error(played):
    (panel,) = panels(theory(three_groups(), budgets=[100, 1000]), played)
    assert panel.horizons[0] == 10
    needed = csar_bound([0.4] * 6 + [0.15] * 2 + [0.05] * 2, noise_scale=0.5).budget_for(0.05)
    assert panel.horizons[-1] == math.ceil(1.5 * needed)
    for bound in panel.bounds:
        if bound.side == "upper":
            assert bound.values[-1] < 0.05
    assert (panel.wanted, set(panel.trivial.tolist())) == (0.05, {1.0})
    assert [curve.label for curve in panel.simulated] == ["APT", "CSAR"]
    for shown, curve in zip(panel.simulated, error_curves(played), strict=True):
        assert shown.rate.tolist() == curve.rate.tolist()


def test_the_curve_of_a_bound_is_the_bound(played):
    (panel,) = panels(theory(three_groups()), None)
    wanted = bounds_of(three_groups())
    assert [bound.label for bound in panel.bounds] == list(wanted)
    for bound in panel.bounds:
        for T, value in list(zip(bound.horizons.tolist(), bound.values, strict=True))[::40]:
            stated = wanted[bound.label].least <= T
            assert math.isnan(value) != stated
            if stated:
                assert value == pytest.approx(wanted[bound.label].at(T), rel=1e-12)


def test_what_is_out_of_view_is_known(played):
    (panel,) = panels(theory(three_groups(), budgets=[100, 1000]), played)
    where = {bound.label: panel.out_of_view(bound) for bound in panel.bounds}
    assert (where["Theorem 1"], where["Theorem 2"], where[DIVERGENCE]) == ("below", "", "")
    on_the_bar = Bandit(Bernoulli([0.5, 0.9]), threshold=0.5, precision=0.1)
    (panel,) = panels(theory(on_the_bar), None)
    assert panel.out_of_view(panel.bounds[-1]) == ""  # K^2 = 4 for ever, as H_2 is infinite
    five = Bandit(Bernoulli([0.5] + [0.9] * 5), threshold=0.5, precision=0.1)
    (panel,) = panels(theory(five), None)
    assert panel.out_of_view(panel.bounds[-1]) == "above"


def test_the_best_arm_has_a_panel_for_its_regret():
    bandit = Bandit(Bernoulli([0.2, 0.9, 0.5]), threshold=0.9)
    result = simulate(bandit, [APT()], budget=[10, 100], games=64, goal=TopArms(1))
    chance, regret = panels(theory(bandit, TopArms(1), budgets=[10, 100]), result)
    assert [bound.label for bound in chance.bounds] == ["Theorem 3 as printed", "Theorem 3"]
    assert [bound.label for bound in regret.bounds] == ["Theorem 4 as printed", "Theorem 4"]
    assert regret.horizons.tolist() == chance.horizons.tolist()
    assert regret.trivial == pytest.approx(0.7 * regret.horizons)
    assert regret.bounds[1].values[-1] < regret.trivial[-1]  # it says something in the end
    assert regret.simulated[0].rate.tolist() == regret_curves(result)[0].rate.tolist()
    assert regret.wanted is None
    assert regret.bottom < regret.simulated[0].rate.min()


def test_a_picture_of_regret_alone_reaches_to_where_the_bound_says_something():
    bandit = Bandit(Bernoulli([0.2, 0.9, 0.9]), threshold=0.9)
    (regret,) = panels(theory(bandit, TopArms(1), budgets=[6]), None)
    mended = regret.bounds[1].values
    assert mended[-1] < regret.trivial[-1]
    assert np.nanmax(mended / regret.trivial) > 1


def test_without_upper_bounds_the_picture_ends_at_the_budgets():
    bandit = Bandit(Poisson([1.0, 2.0, 4.0]), threshold=3.0)
    (panel,) = panels(theory(bandit, budgets=[100, 1000]), None)
    assert panel.horizons[-1] == 1500
    assert panel.top < 2


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="nothing to draw"):
        panels(theory(Bandit(Pareto([1.0, 2.0]), threshold=1.5)), None)


def test_gaps_beyond_all_patience_can_be_drawn():
    bandit = Bandit(Bernoulli([0.5 + 1e-10, 0.9]), threshold=0.5)
    (panel,) = panels(theory(bandit), None)
    assert (np.diff(panel.horizons) > 0).all()


def test_a_simulation_is_looked_at_between_the_budgets_and_not_beside_them():
    horizons = along(10, [500, 10_000])
    assert 15 < len(horizons) < 25
    assert all(10 <= h <= 10_000 for h in horizons)
    assert min(abs(math.log(h / b)) for h in horizons for b in (500, 10_000)) > 0.1
    assert along(10, [5]) == set()


def test_spaced_alike_in_ratio():
    assert spaced(3, 3, 10).tolist() == [3]
    assert spaced(5, 3, 10).tolist() == [5]
    ratios = np.diff(np.log(spaced(100, 10**6, 50)))
    assert ratios.max() / ratios.min() < 1.2
