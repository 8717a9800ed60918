"""Ink: what is drawn is there, inside the picture, and can be told apart."""

import itertools
import math
import struct
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgb

import cutline
from cutline import APT, CSAR, UCBE, Bandit, Bernoulli, Result, RoundRobin, TopArms, Uniform
from cutline.figures.draw import (
    draw_error_curves,
    draw_panels,
    draw_theory,
    plot,
    save_figure,
)
from cutline.figures.draw.base import STYLES
from cutline.figures.tables import Curve
from cutline.figures.theory import BoundCurve, BoundsPanel
from cutline.simulation.goals import SIDES

HORIZONS = np.arange(20, 501, 20)
RULES = [APT(), Uniform(), UCBE(0.25), UCBE(1), UCBE(256), CSAR(), RoundRobin()]


def curve(rate, label="APT", horizons=HORIZONS, games=1000):
    """A curve with an interval of three in a thousand around it."""
    rate = np.broadcast_to(np.asarray(rate, float), len(horizons))
    half = 3 / games
    return Curve(label, horizons, rate, np.maximum(rate - half, 0), np.minimum(rate + half, 1))


def played(wrong, rules=RULES, horizons=HORIZONS, games=1000, goal=SIDES):
    """A result with as many wrong games, one for each horizon, for every rule."""
    bandit = Bandit(Bernoulli([0.1, 0.9]), threshold=0.5)
    empty = Result.empty(bandit, rules, goal=goal, horizons=np.array(horizons), seed=0, replay=True)
    counts = np.broadcast_to(np.asarray(wrong, np.int64), (len(rules), len(horizons)))
    return empty.with_counts(((0, games),), wrong_games=counts)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().add_subplot()


def limits(ax):
    """The triangles, one array of places for every rule."""
    return [np.asarray(c.get_offsets()) for c in ax.collections if isinstance(c, PathCollection)]


def bands(ax):
    return [c for c in ax.collections if isinstance(c, PolyCollection)]


FALLING = np.where(HORIZONS < 400, 0.5 * np.exp(-HORIZONS / 60), 0)  # no wrong game from 400 on


def test_a_line_is_the_rate_on_a_log_scale(ax):
    draw_error_curves([curve(FALLING), curve(0.3, "Uniform")], ax)
    falling, flat = ax.lines
    assert ax.get_yscale() == "log"
    assert falling.get_xdata().tolist() == HORIZONS.tolist()
    seen = FALLING > 0
    assert falling.get_ydata()[seen].tolist() == FALLING[seen].tolist()
    assert np.isnan(falling.get_ydata()[~seen]).all()
    assert flat.get_ydata().tolist() == [0.3] * len(HORIZONS)
    assert [line.get_label() for line in ax.lines] == ["APT", "Uniform"]


def test_where_no_game_was_wrong_there_is_a_triangle_at_the_upper_limit(ax):
    draw_error_curves([curve(FALLING), curve(0.3, "Uniform")], ax)
    falling, flat = limits(ax)
    wanted = [[horizon, 0.003] for horizon in (400, 420, 440, 460, 480, 500)]
    assert falling.tolist() == pytest.approx(np.array(wanted))
    assert len(flat) == 0


def test_a_triangle_points_down_and_has_the_colour_of_its_line(ax):
    draw_error_curves([curve(FALLING), curve(FALLING, "Uniform")], ax)
    triangles = [c for c in ax.collections if isinstance(c, PathCollection)]
    for triangle, line in zip(triangles, ax.lines, strict=True):
        assert to_hex(triangle.get_edgecolor()[0]) == to_hex(line.get_color())
        corners = triangle.get_paths()[0].vertices[:3]
        tip = corners[corners[:, 1].argmin()]
        assert (corners[:, 1] < corners[:, 1].mean()).sum() == 1  # one corner below, two above
        assert tip[0] == pytest.approx(0)


def test_a_band_is_the_interval(ax):
    draw_error_curves([curve([0.2, 0.1, 0.0], horizons=np.array([10, 20, 30]))], ax)
    (band,) = bands(ax)
    corners = band.get_paths()[0].vertices
    for horizon, low, high in [(10, 0.197, 0.203), (20, 0.097, 0.103)]:
        ends = corners[corners[:, 0] == horizon][:, 1]
        assert (ends.min(), ends.max()) == pytest.approx((low, high))


def test_a_long_curve_has_a_few_triangles_only(ax):
    horizons = np.arange(1, 1001)
    draw_error_curves([curve(np.where(horizons < 500, 0.1, 0), horizons=horizons)], ax)
    (triangles,) = limits(ax)
    assert 5 < len(triangles) <= 26


def test_a_long_curve_has_a_triangle_at_the_budget(ax):
    horizons = np.arange(1, 1001)
    draw_error_curves([curve(np.where(horizons < 500, 0.1, 0), horizons=horizons)], ax)
    (triangles,) = limits(ax)
    assert triangles[:, 0].max() == 1000


@pytest.mark.parametrize(
    "rate",
    [
        FALLING,
        1,
        0,
        np.where(HORIZONS < 40, 1, 0),
    ],
    ids=["falling", "always wrong", "never wrong", "wrong at first"],
)
def test_every_rate_and_every_triangle_is_inside_the_axes(ax, rate):
    draw_error_curves([curve(rate)], ax)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    rates = ax.lines[0].get_xydata()
    points = np.vstack([rates[~np.isnan(rates[:, 1])], *limits(ax)])
    assert len(points) == len(HORIZONS)
    assert (points > (left, bottom)).all()
    assert (points < (right, top)).all()


def test_axes_say_what_they_show(ax):
    draw_error_curves([curve(0.3)], ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("horizon (pulls)", "error probability")


def test_styles_can_be_told_apart():
    colours = [np.array(to_rgb(colour)) for colour, _ in STYLES]
    for i, one in enumerate(colours):
        for other in colours[:i]:
            assert np.abs(one - other).max() > 0.2
    # Neighbours differ without colour too.
    dashes = [dash for _, dash in STYLES]
    assert all(a != b for a, b in itertools.pairwise(dashes))


@pytest.mark.parametrize(
    "count",
    [6, 8, 12],
)
def test_every_rule_has_a_look_of_its_own(ax, count):
    draw_error_curves([curve(0.1 + i / 100, f"rule {i}") for i in range(count)], ax)
    assert len({(line.get_color(), line._unscaled_dash_pattern) for line in ax.lines}) == count


def assert_nothing_is_clipped(figure):
    """All ink lies within the picture, and titles, labels and the legend below lie apart."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    ink = figure.get_tightbbox(renderer)  # in inches
    width, height = figure.get_size_inches()
    assert 0 <= ink.x0 < ink.x1 <= width
    assert 0 <= ink.y0 < ink.y1 <= height
    words = [w for ax in figure.axes for w in (ax.title, ax.xaxis.label, ax.yaxis.label)]
    words += [*figure.legends, *([figure._suptitle] if figure._suptitle else [])]
    boxes = [word.get_window_extent(renderer) for word in words]
    boxes = [box for box in boxes if box.width > 0]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i]), words[i]


def test_nothing_in_a_plot_is_clipped():
    rules = [*RULES, APT(precision=0.05)]
    ax = plot(played(1000 * FALLING, rules))
    assert [text.get_text() for text in ax.get_legend().get_texts()][: len(rules)] == [
        str(rule) for rule in rules
    ]
    assert ax.get_title() == "1,000 games, 2 arms"
    assert_nothing_is_clipped(ax.figure)


def test_nothing_in_panels_is_clipped():
    panels = [
        (f"Experiment {i}: a rather long name", [curve(FALLING, str(rule)) for rule in RULES[:6]])
        for i in (1, 2, 3)
    ]
    assert_nothing_is_clipped(draw_panels(panels, "Bernoulli arms, 5,000 games"))


def test_panels_share_their_scale_and_one_legend():
    panels = [("one", [curve(FALLING), curve(0.3, "Uniform")]), ("two", [curve(0.3), curve(0.2)])]
    figure = draw_panels(panels, "both")
    one, two = figure.axes
    assert one.get_ylim() == two.get_ylim()
    assert one.get_ylim()[0] < 0.001
    assert [ax.get_title() for ax in (one, two)] == ["one", "two"]
    assert (one.get_ylabel(), two.get_ylabel()) == ("error probability", "")
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["APT", "Uniform", "no wrong game: upper limit"]


def test_the_legend_explains_triangles_only_where_there_are_some():
    (legend,) = draw_panels([("one", [curve(0.3)])], "all wrong now and then").figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["APT"]


def test_the_legend_of_a_plot_explains_triangles_too():
    legend = plot(played(1000 * FALLING, RULES[:2])).get_legend()
    assert [text.get_text() for text in legend.get_texts()][2:] == ["no wrong game: upper limit"]


def test_a_result_at_one_horizon_has_something_to_see():
    line = plot(played(100, RULES[:1], horizons=[500])).lines[0]
    assert line.get_marker() not in ("None", "", None)


def test_plot_draws_into_the_axes_it_is_given(ax):
    assert cutline.plot(played(100), ax) is ax
    assert len(ax.lines) == len(RULES)


def test_only_a_result_can_be_plotted():
    with pytest.raises(TypeError, match="a Result or a Verdict, not list"):
        plot([1, 2])


def test_saved_pictures_hold_the_lines(tmp_path):
    from matplotlib.image import imread

    figure = plot(played(100, RULES[:2])).figure
    save_figure(figure, tmp_path / "x.png")
    save_figure(figure, tmp_path / "x.svg")
    data = (tmp_path / "x.png").read_bytes()
    assert struct.unpack(">II", data[16:24]) == (960, 630)  # 6.4 by 4.2 inches
    # Both rules err alike, so the second, dashed, lies over the first, which shows between.
    pixels = np.rint(255 * imread(tmp_path / "x.png")[:, :, :3]).astype(int) @ [1 << 16, 1 << 8, 1]
    assert {int(colour[1:], 16) for colour, _ in STYLES[:2]} <= set(pixels.flat)
    assert ElementTree.parse(tmp_path / "x.svg").getroot().tag.endswith("svg")


def test_the_same_result_gives_the_same_files(tmp_path):
    for ending in ("png", "svg"):
        for name in "ab":
            save_figure(
                plot(played(1000 * FALLING, RULES[:1])).figure, tmp_path / f"{name}.{ending}"
            )
        a, b = ((tmp_path / f"{name}.{ending}").read_bytes() for name in "ab")
        assert a == b, ending


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (SIDES, "error probability"),
        (TopArms(1), "probability of a wrong best arm"),
        (TopArms(2), "probability of a wrong arm"),
    ],
)
def test_a_plot_says_what_is_wrong(goal, words):
    assert plot(played(100, RULES[:1], goal=goal)).get_ylabel() == words


# Bounds


def bounds(simulated=True, upper=True, wanted=0.05):
    """A panel from 10 to 10,000 pulls: two upper bounds, a lower one, another out of sight."""
    horizons = np.geomspace(10, 10_000, 50).astype(np.int64)
    fall = np.exp(-horizons / 500)
    trivial = np.ones(50) if wanted is not None else 0.5 * horizons
    lines = [
        ("Theorem 1", "lower", False, 1e-9 * fall),
        ("sharp lower bound", "lower", False, fall),
    ]
    if upper:
        lines += [("Theorem 2 as printed", "upper", True, 99 * fall)]
        lines += [("Theorem 2", "upper", False, 9 * fall)]
    return BoundsPanel(
        label="error probability",
        horizons=horizons,
        trivial=trivial,
        wanted=wanted,
        bounds=[BoundCurve(name, side, p, horizons, y) for name, side, p, y in lines],
        simulated=[curve(FALLING), curve(0.1, "CSAR")] if simulated else [],
        bottom=1e-4,
        top=30.0,
    )


def entries(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_bounds_and_simulated_curves_are_on_logarithmic_scales():
    (ax,) = draw_theory([bounds()], "title").axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlim(), ax.get_ylim()) == ((10, 10_000), (1e-4, 30))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("budget (pulls)", "error probability")
    lines = {line.get_label(): line for line in ax.lines}
    panel = bounds()
    for bound in panel.bounds:
        label = bound.label if bound.label != "Theorem 1" else "Theorem 1, below the picture"
        assert lines[label].get_ydata().tolist() == bound.values.tolist()
    assert lines["APT"].get_xdata().tolist() == HORIZONS.tolist()


def test_what_is_printed_is_dashed_in_the_colour_of_what_is_proven():
    (ax,) = draw_theory([bounds()], "title").axes
    lines = {line.get_label(): line for line in ax.lines}
    printed, proven = lines["Theorem 2 as printed"], lines["Theorem 2"]
    assert (printed.get_linestyle(), proven.get_linestyle()) == ("--", "-")
    assert printed.get_color() == proven.get_color() != lines["sharp lower bound"].get_color()


def test_the_legend_names_groups_and_what_is_out_of_sight():
    (ax,) = draw_theory([bounds()], "title").axes
    assert entries(ax) == [
        *("simulated", "APT", "CSAR", "no wrong game: upper limit"),
        *("upper bounds", "Theorem 2 as printed", "Theorem 2"),
        *("lower bounds, in the worst case", "Theorem 1, below the picture", "sharp lower bound"),
        *("error wanted", "0.05"),
    ]
    bold = [t.get_text() for t in ax.get_legend().get_texts() if t.get_fontweight() == "bold"]
    assert bold == ["simulated", "upper bounds", "lower bounds, in the worst case", "error wanted"]


def test_the_legend_covers_no_curve():
    figure = draw_theory([bounds(), bounds(wanted=None)], "title")
    figure.canvas.draw()
    for ax in figure.axes:
        box = ax.get_legend().get_window_extent()
        assert not box.overlaps(ax.patch.get_window_extent())
    assert_nothing_is_clipped(figure)


@pytest.mark.parametrize("wanted", [0.05, None])
def test_where_upper_bounds_say_nothing_is_shaded(wanted):
    (ax,) = draw_theory([bounds(simulated=False, wanted=wanted)], "title").axes
    (shade,) = bands(ax)
    corners = shade.get_paths()[0].vertices
    edge = corners[corners[:, 1] < 30]
    wanted_edge = 1 if wanted is not None else 0.5 * edge[:, 0]
    assert edge[:, 1] == pytest.approx(wanted_edge + 0 * edge[:, 0])
    assert corners[:, 1].max() >= 30
    (words,) = ax.texts
    assert words.get_text() == "vacuous: a bound up here says nothing"
    assert words.xy == ((10, 1) if wanted is not None else (0, 1))  # on the edge, or in the corner


def test_nothing_is_shaded_where_there_is_no_upper_bound():
    (ax,) = draw_theory([bounds(simulated=False, upper=False)], "title").axes
    assert bands(ax) == []
    assert len(ax.texts) == 0
    assert "upper bounds" not in entries(ax)


def test_panels_of_errors_and_regret_share_their_budgets():
    figure = draw_theory([bounds(), bounds(wanted=None)], "all of it")
    above, below = figure.axes
    assert above.get_xlim() == below.get_xlim()
    assert above.get_position().y0 > below.get_position().y1
    assert (above.get_xlabel(), below.get_xlabel()) == ("", "budget (pulls)")
    assert figure.get_suptitle() == "all of it"
    assert "error wanted" not in entries(below)


COINS = {"good": [1] * 40, "unclear": [0, 1] * 5, "bad": [0] * 40}


def coins(statuses=(), **settings):
    """A verdict on four coins, the last never thrown; some may be suspended or retired."""
    problem = cutline.Problem(
        arms=["bad", "unseen", "good", "unclear"],
        **{"threshold": 0.5, "precision": 0.1, "rewards": "binary", **settings},
    )
    verdict = cutline.judge(problem, COINS)
    kept = [dict(statuses).get(arm, "open") for arm in problem.arms]
    return replace(verdict, rows=replace(verdict.rows, statuses=kept))


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def points(ax):
    return {line.get_label(): line.get_xydata().tolist() for line in ax.get_lines()}


def intervals(ax):
    """The horizontal lines: row, left end, right end."""
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    segments = [path for each in lines for path in each.get_segments()]
    flat = [segment for segment in segments if segment[0, 1] == segment[1, 1]]
    return sorted((segment[0, 1], *sorted(segment[:, 0])) for segment in flat)


def test_a_verdict_shows_the_arms_against_the_bar_the_highest_first():
    verdict = coins()
    ax = plot(verdict)
    assert names(ax) == ["good", "unclear", "bad", "unseen (never seen)"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first row is at the top
    found = points(ax)
    assert found["proven above, 1"] == [[1.0, 0]]
    assert found["undecided, 2"][0] == [0.5, 1]
    assert found["proven below, 1"] == [[0.0, 2]]
    assert [x for x, _ in found["the bar, 0.5"]] == [0.5, 0.5]
    wanted = [
        (0, verdict["good"].more_than, 1.0),
        (1, verdict["unclear"].low, verdict["unclear"].high),
        (2, 0.0, verdict["bad"].less_than),
        (3, 0.0, 1.0),
    ]
    assert intervals(ax) == [pytest.approx(each) for each in wanted]
    (band,) = ax.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((0.4, 0.6))
    assert ax.get_title() == "95 % bounds, all arms at once and at all times"
    assert_nothing_is_clipped(ax.figure)


def test_a_stroke_marks_what_was_proven_and_lies_beyond_the_far_edge():
    problem = cutline.Problem(arms=["a", "b"], threshold=0.01, precision=0.005, rewards="binary")
    verdict = cutline.judge(problem, {"a": [1, 0, 0], "b": [0] * 800})
    a, b = verdict.arms
    assert (a.proven, b.proven) == ("above", "below")
    assert a.low < 0.005  # another statement: its lower end lies on the far side of the edge
    strokes = [
        tuple(segment[0])
        for each in plot(verdict).collections
        if isinstance(each, LineCollection)
        for segment in each.get_segments()
        if segment[0, 0] == segment[1, 0]
    ]
    assert sorted(x for x, _ in strokes) == pytest.approx([0.005, b.less_than])
    assert b.less_than < 0.015
    assert all(low >= 0.005 or high <= 0.015 for _, low, high in intervals(plot(verdict)))


def test_arms_are_sorted_by_how_far_they_are_above_their_own_bar():
    ax = plot(coins(threshold=[0.1, 0.5, 0.9, 0.3]))  # -0.1, unseen, +0.1, +0.2
    assert names(ax) == ["unclear", "good", "bad", "unseen (never seen)"]
    bands = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
    assert bands == [pytest.approx((tau - 0.1, tau + 0.1)) for tau in (0.3, 0.9, 0.1, 0.5)]


def test_what_is_proven_has_a_colour_of_its_own():
    lines = {line.get_label(): line for line in plot(coins()).get_lines()}
    looks = {lines[what].get_color() for what in lines if what.startswith(("pro", "und"))}
    assert len(looks) == 3


def test_suspended_arms_are_hollow_and_retired_ones_left_out():
    ax = plot(coins([("good", "suspended"), ("bad", "retired"), ("unseen", "suspended")]))
    assert names(ax) == ["good (suspended)", "unclear", "unseen (never seen, suspended)"]
    hollow = [line for line in ax.get_lines() if line.get_markerfacecolor() == "white"]
    assert [[1.0, 0]] in [line.get_xydata().tolist() for line in hollow]
    assert "proven below, 1" not in points(ax)
    (legend,) = ax.figure.legends
    assert "hollow: suspended, 1" in [text.get_text() for text in legend.get_texts()]


def test_a_verdict_without_any_arm_left_can_be_drawn():
    assert names(plot(coins([(name, "retired") for name in (*COINS, "unseen")]))) == []


def test_a_verdict_that_promises_nothing_any_more_says_so():
    broken = replace(coins(), broken="the bar was moved")
    assert plot(broken).get_title() == "95 % bounds, without a guarantee any more"
    heavy = plot(coins(rewards="heavy", precision=0.0))
    assert heavy.get_title() == "means alone: nothing can be promised of such rewards"
    assert intervals(heavy) == []


@pytest.mark.parametrize("count", [1, 3, 60, 400])
def test_names_are_there_where_they_fit_and_nothing_is_clipped(count):
    problem = cutline.Problem(
        arms=[f"{i} {'a long name, ' * 6}" for i in range(count)], threshold=0.5, rewards="binary"
    )
    verdict = cutline.judge(problem, [[i % 2] * 3 for i in range(count)])
    ax = plot(verdict)
    assert_nothing_is_clipped(ax.figure)
    assert len(ax.get_yticks()) == (count if count <= 60 else 0)
    boxes = [text.get_window_extent() for text in ax.get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))
    assert ax.figure.get_size_inches()[1] < 20


def test_small_axes_get_no_names(ax):
    many = cutline.judge(cutline.Problem(arms=40, threshold=0.5, rewards="binary"), [[1, 0]] * 40)
    assert plot(many, ax) is ax
    assert names(ax) == []
    assert ax.get_ylabel() == "40 arms"
    assert ax.get_legend() is not None


def test_one_very_long_interval_does_not_squeeze_the_others():
    rewards = cutline.Rewards("gaussian")
    problem = cutline.Problem(arms=12, threshold=0.0, rewards=rewards)
    seen = [[1.0, 1.1, 0.9, 1.0] * 20] * 11
    verdict = cutline.judge(problem, [*seen, [-1.0, 3.0, 1.0] * 4])
    assert math.inf > verdict["11"].high > 4 * verdict["0"].high  # or this shows nothing
    left, right = plot(verdict).get_xlim()
    assert -0.5 < left < 0 < 1 < right < 1.5


def test_stopping_times_show_how_many_games_are_still_going():
    bandit = Bandit(Bernoulli([0.2, 0.9]), threshold=0.5, precision=0.2)
    result = cutline.simulate(bandit, [APT()], games=64, confidence=0.9, seed=2)
    ax = plot(result)
    line = ax.get_lines()[0]
    spent = result.stops.spent[0].tolist()
    assert list(line.get_xdata()) == [0, *spent, spent[-1]]
    assert (line.get_ydata()[0], line.get_ydata()[-1]) == (1.0, 0.0)
    assert ax.get_ylabel() == "share of games still going"
