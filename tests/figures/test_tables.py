"""Numbers for people and programs, from counts written by hand."""

import csv
import io
import json
import math

import numpy as np
import pytest

from cutline import APT, CSAR, UCBE, Bandit, Bernoulli, Result, TopArms
from cutline.figures.tables import (
    as_table,
    error_curves,
    rate,
    regret_curves,
    result_rows,
    wide_table,
)
from cutline.figures.text import aligned, as_csv, as_json
from cutline.simulation.goals import SIDES

BANDIT = Bandit(Bernoulli([0.1, 0.5, 0.9]), threshold=0.5, precision=0.1)  # the middle arm is free


def counted(rules, wrong_games, wrong_arms, *, horizons, games=100, replay=True):
    """A result with these counts, one row for every rule and one column for every horizon."""
    wrong = np.array(wrong_games)
    empty = Result.empty(
        BANDIT, rules, goal=SIDES, horizons=np.array(horizons), seed=1, replay=replay
    )
    return empty.with_counts(
        ((0, games),),
        wrong_games=wrong,
        wrong_arms_sum=np.array(wrong_arms),
        wrong_arms_squared=np.array(wrong_arms),  # no game with two wrong arms
    )


@pytest.fixture
def result():
    return counted([APT(), CSAR()], [[25, 0], [100, 4]], [[25, 0], [100, 4]], horizons=[30, 60])


def test_rows_by_hand(result):
    rows = result_rows(result)
    assert [(row["rule"], row["budget"]) for row in rows] == [
        ("apt", 30),
        ("apt", 60),
        ("csar", 30),
        ("csar", 60),
    ]
    assert [row["wrong_games"] for row in rows] == [25, 0, 100, 4]
    assert [row["error_rate"] for row in rows] == [0.25, 0, 1, 0.04]
    assert [row["wrong_arms"] for row in rows] == [0.25, 0, 1, 0.04]
    assert {row["games"] for row in rows} == {100}
    edge = 0.025 ** (1 / 100)  # Clopper-Pearson with no wrong game, and with none right
    assert (rows[1]["low"], rows[1]["high"]) == (0, pytest.approx(1 - edge))
    assert (rows[2]["low"], rows[2]["high"]) == (pytest.approx(edge), 1)
    for row in rows:
        assert row["low"] <= row["error_rate"] <= row["high"]
        assert row["wrong_arms_low"] <= row["wrong_arms"] <= row["wrong_arms_high"]
    # Two arms count, so no wrong arm in 100 games leaves twice the interval of a rate.
    assert rows[1]["wrong_arms_high"] == pytest.approx(2 * (1 - edge))


def test_rows_carry_the_names_they_are_given(result):
    assert {row["rule"] for row in result_rows(result, ["mine", "yours"])} == {"mine", "yours"}


@pytest.mark.parametrize(("replay", "reading"), [(True, "replayed"), (False, "along one run")])
def test_rows_say_how_a_rule_was_read(replay, reading):
    rules = [APT(), CSAR(), UCBE(1)]
    result = counted(rules, [[1]] * 3, [[1]] * 3, horizons=[9], replay=replay)
    assert [row["reading"] for row in result_rows(result)] == ["anytime", reading, reading]


def test_rows_are_plain_numbers(result):
    rows = result_rows(result)
    assert json.loads(as_json(rows)) == rows
    for row in rows:
        assert {type(value) for value in row.values()} == {str, int, float}


def test_csv_holds_every_digit(result):
    rows = result_rows(result, ["apt", "with,comma"])
    read = list(csv.DictReader(io.StringIO(as_csv(rows))))
    for got, wanted in zip(read, rows, strict=True):
        assert {key: type(wanted[key])(value) for key, value in got.items()} == wanted


def test_the_table(result):
    assert as_table(result_rows(result)) == (
        "rule  budget  games  wrong  error rate     95 % interval  wrong arms\n"
        "apt       30    100     25       0.250    0.169 to 0.347       0.250\n"
        "apt       60    100      0           0       0 to 0.0362           0\n"
        "csar      30    100    100       1.000    0.964 to 1.000       1.000\n"
        "csar      60    100      4      0.0400  0.0110 to 0.0993      0.0400\n"
    )


def test_the_table_says_what_was_read_along_one_run():
    rows = result_rows(counted([APT(), CSAR()], [[1]] * 2, [[1]] * 2, horizons=[9], replay=False))
    heads, apt, csar = as_table(rows).splitlines()
    assert heads.endswith("  read")
    assert apt.endswith("  anytime")
    assert csar.endswith("  along one run")


def test_the_wide_table_shows_some_horizons(result):
    assert wide_table(result, ["a", "long name"], [60]) == (
        "           T = 60\na               0\nlong name  0.0400\n"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1, "1.000"),
        (0.25, "0.250"),
        (0.1, "0.100"),
        (0.04321, "0.0432"),
        (0.01, "0.0100"),
        (0.00999, "0.01"),
        (0.00054, "0.00054"),
        (0.00001, "1e-05"),
        (2.5, "2.500"),  # a mean number of wrong arms
    ],
)
def test_a_rate_has_about_three_digits(value, shown):
    assert rate(value) == shown


def test_columns_line_up():
    assert aligned([["", "T = 9"], ["long", "1"], ["x", "22"]]) == (
        "      T = 9\nlong      1\nx        22\n"
    )


def test_no_line_ends_in_a_blank():
    assert aligned([["a", "b"], ["a", ""]]) == "a  b\na\n"


def test_curves_are_the_rates_with_their_intervals(result):
    apt, csar = error_curves(result)
    assert (apt.label, csar.label) == ("APT", "CSAR")
    for curve, rates in ((apt, [0.25, 0]), (csar, [1, 0.04])):
        assert curve.horizons.tolist() == [30, 60]
        assert curve.rate.tolist() == rates
        assert (curve.low <= curve.rate).all()
        assert (curve.rate <= curve.high).all()
    # At another level the end of the interval moves: (1 - high)^100 = (1 - level) / 2.
    (wider, _) = error_curves(result, level=0.99)
    assert (1 - wider.high[1]) ** 100 == pytest.approx(0.005)
    assert math.isclose((1 - apt.high[1]) ** 100, 0.025)


def test_curves_say_what_was_read_along_one_run():
    result = counted([APT(), CSAR()], [[1]] * 2, [[1]] * 2, horizons=[9], replay=False)
    assert [curve.label for curve in error_curves(result)] == ["APT", "CSAR, along one run"]


def regretted(goal):
    """One rule, ten games, each of which lost 6 of the most it can, 0.8 in each of 30 pulls."""
    empty = Result.empty(BANDIT, [APT()], goal=goal, horizons=np.array([30]), seed=1, replay=True)
    return empty.with_counts(
        ((0, 10),),
        wrong_games=np.array([[2]]),
        wrong_arms_sum=np.array([[2]]),
        wrong_arms_squared=np.array([[2]]),
        regret_sum=np.array([[60.0]]),
        regret_squared=np.array([[360.0]]),
    )


def test_the_best_arms_bring_a_column_for_the_regret():
    (row,) = rows = result_rows(regretted(TopArms(1)))
    assert row["regret"] == 6
    assert row["regret_low"] < 6 < row["regret_high"] < 24
    heads, line = as_table(rows).splitlines()
    assert heads.endswith("wrong arms  regret")
    assert line.split()[-1] == "6"
    assert list(row)[-4:] == ["regret", "regret_low", "regret_high", "reading"]


def test_sides_have_no_regret():
    (row,) = rows = result_rows(regretted(SIDES))
    assert not any(key.startswith("regret") for key in row)
    assert "regret" not in as_table(rows)


def test_regret_curves():
    (curve,) = regret_curves(regretted(TopArms(2)))
    assert (curve.label, curve.rate.tolist()) == ("APT", [6])
    assert curve.low[0] < 6 < curve.high[0]
