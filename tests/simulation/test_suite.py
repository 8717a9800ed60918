"""The suite: what must be in it, its budgets, and how they are found."""

import json

import numpy as np
import pytest

from cutline import APT, Bandit, Bernoulli, dataset, simulate
from cutline.core.intervals import clopper_pearson
from cutline.simulation.curves import crossing, grid
from cutline.simulation.suite import (
    MANY,
    SUITE,
    find_budgets,
    from_folder,
    is_rare,
    own_instances,
)
from cutline.simulation.suite.instance import TARGETS_MANY
from cutline.simulation.suite.search import apt_curve

# Instances are added, never removed: this list only grows.
NAMES = [
    *(
        "three-groups",
        "arithmetic",
        "geometric",
        "three-groups-gaussian",
        "arithmetic-gaussian",
        "geometric-gaussian",
    ),
    *(
        "geometric-exact",
        "radtke-2",
        "radtke-3",
        "ladder-20",
        "flaky-50",
        "tests-200",
        "prompts-30",
        "uniform-50",
        "uniform-50-high",
    ),
    *("exponential-20", "poisson-20", "fwt-1", "fwt-2", "fwt-2-band"),
    *("aug-ucb-1", "aug-ucb-2", "aug-ucb-3", "aug-ucb-4", "aug-ucb-5", "declared-20"),
    *("beta-12", "pareto-10", "student-10"),
    *("arms-50-high", "arms-500", "arms-500-low", "arms-5000", "arms-5000-low", "arms-5000-high"),
    *("bluebirds", "vm-noise-5", "vm-noise-10", "rtt-half", "rtt-one", "rtt-mean"),
]


def test_no_instance_is_ever_removed():
    assert set(NAMES) <= set(SUITE)


def test_every_instance_is_whole():
    for name, one in SUITE.items():
        assert one.name == name
        low, middle, high = one.budgets
        assert 2 * one.arms <= low < middle < high or one.arms > MANY, name
        assert one.arms <= low < middle < high, name
        assert np.any(one.bandit.truth != 0), name
        assert {-1, 1} <= set(one.bandit.truth.tolist()), f"{name} has arms on one side alone"
        assert one.why
        assert one.games == (2_000 if one.arms > 500 else 20_000)


def test_every_kind_of_reward_and_size_is_there():
    kinds = {one.bandit.problem.rewards.kind for one in SUITE.values()}
    assert kinds == {"binary", "bounded", "gaussian", "poisson", "exponential", "heavy"}
    assert {50, 500, 5000} <= {one.arms for one in SUITE.values()}
    sds = [SUITE[name].bandit.problem.sds for name in ("fwt-1", "declared-20", "aug-ucb-5")]
    assert set(sds[0]) == {1.0}
    assert set(sds[1]) == {0.2, 0.5, 1.0, 2.0}
    assert sds[2] is None  # not told


def test_means_are_those_of_the_sources():
    radtke_2, radtke_3 = SUITE["radtke-2"].bandit, SUITE["radtke-3"].bandit
    assert radtke_2.means.tolist() == [
        *(0.001, 0.005, 0.01, 0.015, 0.04, 0.06, 0.085, 0.09, 0.095, 0.099),
    ]
    assert (radtke_2.problem.threshold[0], radtke_2.problem.precision[0]) == (0.05, 0.0)
    assert radtke_2.complexity() == pytest.approx(24703, abs=1)  # as ALGORITHMS, section 2.5 says
    powers = [-4, -3.5, -3.25, -3, -2.75, -2.5, -2.25, -1.85, -1.75, -1.5, -1]
    assert np.log10(radtke_3.means) == pytest.approx(powers)
    assert radtke_3.problem.threshold[0] == 0.01
    assert SUITE["ladder-20"].bandit.means == pytest.approx(np.arange(0.405, 0.6, 0.01))
    k = np.arange(1, 51)
    assert SUITE["fwt-2"].bandit.means == pytest.approx((-1.0) ** k * (k / 50) ** 2)
    assert np.sum(SUITE["tests-200"].bandit.means == 0) == 160


def test_rare_is_a_binary_threshold_near_the_edge():
    rare = {name for name, one in SUITE.items() if one.rare}
    assert {"radtke-2", "radtke-3", "flaky-50", "prompts-30", "vm-noise-10", "rtt-one"} <= rare
    assert not rare & {"three-groups", "uniform-50-high", "rtt-half", "fwt-1", "poisson-20"}
    assert not is_rare(Bandit(Bernoulli([0.1, 0.9]), threshold=[0.05, 0.5]))


def test_recorded_levels_are_played_as_the_coins_they_are():
    coins = SUITE["vm-noise-5"].bandit
    drawn = dataset("vm_noise").bandit(level=0.05, threshold=0.2, precision=0.05)
    assert coins.means == pytest.approx(drawn.means)
    assert coins.truth.tolist() == drawn.truth.tolist()
    birds = dataset("bluebirds").bandit(threshold=0.5, precision=0.1)
    assert SUITE["bluebirds"].bandit.means == pytest.approx(birds.means)


@pytest.mark.parametrize("name", ["three-groups", "geometric-gaussian", "exponential-20", "fwt-1"])
def test_apt_errs_as_often_as_the_budgets_promise(name):
    one = SUITE[name]
    result = simulate(one.bandit, APT(), budget=list(one.budgets), games=4_000, seed=7)
    for wrong, promised in zip(result.wrong_games[0], (0.25, 0.05, 0.01), strict=True):
        # Rounding to two digits moves the rate by up to a fifth; 99.99 % for chance.
        low, high = clopper_pearson(int(wrong), 4_000, 0.9999)
        assert low <= 1.2 * promised
        assert high >= promised / 1.2


def test_many_arms_are_counted_in_arms():
    one = SUITE["rtt-half"]
    horizons, curve = apt_curve(one.bandit, one.budgets[1], 16, 3, None)
    # 16 games of 600 arms, 3 wrong ones in each: 48 in all, good to a half of itself.
    assert horizons[-1] == one.budgets[1]
    assert curve[-1] == pytest.approx(TARGETS_MANY[1], rel=0.5)


def test_crossing_by_hand():
    horizons = np.array([10, 20, 30, 40])
    falling = np.array([0.4, 0.1, 0.025, 0.0])
    assert crossing(horizons, falling, 0.2) == pytest.approx(15)  # half way in logarithms
    assert crossing(horizons, falling, 0.1) == 20
    assert crossing(horizons, falling, 0.5) == 10  # from the first on
    assert crossing(horizons, falling, 0.0125) == 35  # towards 0 there is no logarithm
    assert crossing(horizons[:3], falling[:3], 0.01) is None
    wavy = np.array([0.1, 0.04, 0.1, 0.05])
    assert crossing(horizons, wavy, 0.05) == 40  # the last time that it gets there
    assert grid(5, 5, 120) == [5]


def test_budgets_are_found_for_any_bandit():
    bandit = Bandit(Bernoulli([0.2, 0.3, 0.7, 0.8]), threshold=0.5)
    budgets, rates = find_budgets(bandit, games=4_000)
    assert rates == pytest.approx((0.25, 0.05, 0.01), rel=0.35)  # two digits of a small budget
    seen = simulate(bandit, APT(), budget=list(budgets), games=4_000, seed=8).error_curve[0]
    assert seen == pytest.approx(rates, rel=0.5)


def test_budgets_end_at_the_most():
    bandit = Bandit(Bernoulli([0.49, 0.51]), threshold=0.5)
    budgets, rates = find_budgets(bandit, most=400, games=512)
    assert budgets == (100, 200, 400)
    assert rates[2] > 0.25


def test_a_folder_of_ones_own(tmp_path):
    rows = ["a,1"] * 3 + ["a,0"] * 17 + ["b,1"] * 15 + ["b,0"] * 5
    (tmp_path / "trials.csv").write_text("\n".join(["arm,reward", *rows]))
    (tmp_path / "times.csv").write_text("arm,reward,times\nx,1.5,4\nx,0.5,4\ny,3,8\n")
    (tmp_path / "problems.toml").write_text(
        '[[problem]]\nfile = "trials.csv"\nthreshold = 0.5\nprecision = 0.1\n'
        '[[problem]]\nfile = "times.csv"\nname = "late"\nrewards = "heavy"\n'
        "level = 1.0\nthreshold = 0.75\n"
    )
    (name, bandit), (late, level) = from_folder(tmp_path)
    assert (name, bandit.means.tolist(), bandit.problem.precision[0]) == (
        "trials",
        [0.15, 0.75],
        0.1,
    )
    assert (late, level.means.tolist()) == ("late", [0.5, 1.0])
    told = []
    own = own_instances(tmp_path, games=256, tell=lambda done, all: told.append((done, all)))
    assert [one.name for one in own] == ["trials", "late"]
    assert told == [(1, 2), (2, 2)]
    assert own[0].budgets[0] < own[0].budgets[1] < own[0].budgets[2]
    assert own[0].group == "your own"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (None, "there is no file"),
        ("[[problem]\n", "cannot be read as TOML"),
        ("threshold = 1\n", r"must hold \[\[problem\]\] tables"),
        ('[[problem]]\nfile = "a.csv"\n', "problem 1: file and threshold are wanted"),
        ('[[problem]]\nfile = "a.csv"\nthreshold = 0.5\ncolour = 1\n', "colour"),
        ('[[problem]]\nfile = "b.csv"\nthreshold = 0.5\n', "there is no file .*b.csv"),
        ('[[problem]]\nfile = "a.csv"\nthreshold = 0.5\nrewards = "gold"\n', "kind of reward"),
        ('[[problem]]\nfile = "a.csv"\nthreshold = 0.5\nname = "radtke-2"\n', "is taken"),
        ('[[problem]]\nfile = "a.csv"\nthreshold = "high"\n', "problem 1"),
    ],
)
def test_a_bad_folder_says_what_is_wrong(tmp_path, text, wanted):
    (tmp_path / "a.csv").write_text("arm,reward\na,1\nb,0\n")
    if text is not None:
        (tmp_path / "problems.toml").write_text(text)
    with pytest.raises(ValueError, match=wanted):
        list(from_folder(tmp_path))


def test_instances_can_be_written_down():
    for one in SUITE.values():
        if one.arms <= MANY:
            json.dumps(one.bandit.to_dict())
