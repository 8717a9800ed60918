"""APT with robust estimates: against plain ones that keep all rewards, and what they are for."""

import math
from itertools import product
from statistics import median

import numpy as np
import pytest

from cutline import (
    APT,
    Bandit,
    CatoniAPT,
    ClippedAPT,
    Gaussian,
    MedianAPT,
    Pareto,
    Problem,
    Recorded,
    StudentT,
    Tally,
    parse_rule,
    play,
    simulate,
)
from cutline.core.tally import Tallies
from cutline.rules.base import parameter_names
from cutline.rules.robust import cut_at, median_of_nine, soft_cut
from cutline.simulation.engine import Player, orders
from cutline.testing import check_rule

MEANS = [0.4, 0.5, 0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.5, 1.6]
HEAVY = [
    Bandit(Pareto([0.5, 0.8, 1.1, 1.3, 2.0], shape=1.5), threshold=1.0, precision=0.1),
    Bandit(
        StudentT([0.5, 0.8, 1.1, 1.3, 2.0], degrees=[1.5, 2.2, 3.0, 1.2, 5.0], scale=0.5),
        threshold=[1.0, 1.0, 1.0, 1.5, 0.5],
        precision=[0.1, 0.1, 0.0, 0.3, 0.2],
    ),
]
# Bounded rewards are summed from 0, so that the threshold is not 0 within a rule.
BOUNDED = Bandit(
    Recorded.from_samples([[0.1, 0.2, 0.9], [0.5, 0.7], [0.0, 1.0, 1.0, 1.0]], "bounded"),
    threshold=0.5,
    precision=0.1,
)
WAYS = ["policy", "scan", "tree"]


def log_psi(z):
    """Catoni's influence function; as in the rule, what is beyond 1e9 counts as that."""
    a = min(abs(z), 1e9)
    return math.copysign(math.log1p(a + a * a / 2), z)


def clip(y, cut):
    return math.copysign(min(abs(y), cut), y)


def with_cuts(ys, width, spread):
    """Every reward with its cut, as the definition has it: all rewards are kept."""
    if spread is not None:
        return [(y, width * spread * math.sqrt(s)) for s, y in enumerate(ys, 1)]
    settled = []
    for n in range(1, len(ys) + 1):
        seen = list(ys[:n])
        largest = max(seen, key=abs)  # the first of equals
        seen.remove(largest)
        own = (sum(math.sqrt(abs(y)) for y in seen) / n) ** 2
        cut = max(width / 2 * own * n**0.75, 1e-12 * abs(largest), 1e-100)
        for y, _ in settled:
            seen.remove(y)
        settled += [(y, cut) for y in seen]  # the one that is not the largest any more, if any
    return [*settled, (largest, cut)]


def catoni_root(pairs):
    """Where the score is 0, by bisection: theta less tau."""
    low, high = (pick(y for y, _ in pairs) for pick in (min, max))
    for _ in range(200):
        middle = (low + high) / 2
        if sum(cut * log_psi((y - middle) / cut) for y, cut in pairs) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def plain_estimate(rule, ys):
    """The estimate less the threshold, from all rewards less the threshold."""
    if isinstance(rule, MedianAPT):
        k = int(rule.blocks)
        if len(ys) < 2 * k:
            return math.fsum(ys) / len(ys)
        return median(float(np.mean(ys[block::k])) for block in range(k))
    pairs = with_cuts(ys, rule.width, rule.spread)
    if isinstance(rule, CatoniAPT):
        return sum(cut * log_psi(y / cut) for y, cut in pairs) / len(ys)
    if rule.drop:
        *others, (largest, cut) = pairs
        kept = [y for y, c in others if abs(y) <= c]
        # The largest is told apart only where the spread is not known.
        last = clip(largest, cut) if rule.spread is None else largest * (abs(largest) <= cut)
        return (sum(kept) + last) / len(ys)
    return sum(clip(y, cut) for y, cut in pairs) / len(ys)


def asked(function, known):
    """Call a rule's function with what it asks for."""
    return function(*(known[name] for name in parameter_names(function)))


def fed(rule, ys, tau=0.0):
    """An arm's numbers after some rewards: what a formula may ask for."""
    problem = Problem(arms=1, threshold=tau, rewards="heavy")
    own = dict(rule.settings(problem, 0, None))
    known = {"pulls": 0.0, "total": 0.0, "tau": tau, **own, **dict.fromkeys(rule.keeps, 0.0)}
    for y in ys:
        kept = asked(rule.learn, {"reward": tau + y, **known})
        known |= dict(zip(rule.keeps, kept, strict=True))
        known["pulls"] += 1.0
        known["total"] += tau + y
    return known


def estimate(rule, ys, tau=0.0):
    return asked(rule.estimate, fed(rule, ys, tau))


def index(rule, ys, eps=0.0):
    return asked(rule.formula, {**fed(rule, ys), "eps": eps})


RULES = [
    ClippedAPT(),
    ClippedAPT(1.0),
    ClippedAPT(1.5, 0.3),
    ClippedAPT(drop=1),
    ClippedAPT(1.0, 0.5, drop=1),
    CatoniAPT(),
    CatoniAPT(2.0),
    CatoniAPT(0.5, 0.4),
    MedianAPT(3),
    MedianAPT(),
    MedianAPT(7),
    MedianAPT(9),
]
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.spec)


def by_arm(bandit, game):
    """The rewards of a game less their thresholds, arm by arm."""
    found = [[] for _ in bandit.problem.arms]
    for arm, reward in zip(game.arms, game.rewards, strict=True):
        found[arm].append(reward - bandit.problem.threshold[arm])
    return found


@each_rule
@pytest.mark.parametrize("bandit", [*HEAVY, BOUNDED], ids=["pareto", "t", "bounded"])
def test_it_is_what_all_rewards_together_give(rule, bandit):
    for game in range(12):
        played = play(bandit, rule, budget=10 + 20 * game, seed=8, game=game)
        tallies = played.tallies
        tau = bandit.problem.thresholds - tallies.origin
        own = dict(rule.settings(bandit.problem, 0, None))
        for arm, ys in enumerate(by_arm(bandit, played)):
            wanted = plain_estimate(rule, ys)
            known = {name: row[arm] for name, row in tallies.kept.items()} | own
            known |= {"pulls": float(tallies.pulls[arm]), "total": tallies.total[arm]}
            known |= {"tau": tau[arm], "eps": 0.25}
            assert asked(rule.estimate, known) - tau[arm] == pytest.approx(wanted, 1e-9, 1e-11)
            side = rule.answer(bandit.problem, tallies)[arm]
            assert side == (wanted >= 0) or abs(wanted) < 1e-11
            if not isinstance(rule, MedianAPT) or len(ys) >= 2 * rule.blocks:
                apt = math.sqrt(len(ys)) * (abs(wanted) + 0.25)
                assert asked(rule.formula, known) == pytest.approx(apt, 1e-9, 1e-9)


def test_a_known_value():
    xs = [2.5, -1, 0.3, 14, 0.8, -0.2, 1.7, 3.1]
    ys = [x - 0.5 for x in xs]
    # With the cut at 2 sqrt(s) the fourth reward, 13.5, counts as 4: 7.7 / 8.
    assert estimate(ClippedAPT(2.0, 1.0), ys) == pytest.approx(0.9625, rel=1e-14)
    assert estimate(ClippedAPT(2.0, 1.0), ys, tau=0.5) == pytest.approx(1.4625, rel=1e-14)
    assert estimate(ClippedAPT(2.0, 1.0, drop=1), ys) == pytest.approx(3.7 / 8, rel=1e-14)
    assert index(ClippedAPT(2.0, 1.0), ys, eps=0.1) == pytest.approx(8.5 / math.sqrt(8), rel=1e-14)


def test_the_cut_by_hand_where_the_spread_is_not_known():
    # 9 is kept apart. 1 comes second and is cut at (1/2)^2 2^(3/4) = 0.42; -1 at (2/3)^2 3^(3/4) =
    # 1.01, which lets it through; then ((1 + 1 + 2) / 4)^2 4^(3/4) = 2.83 is the cut for 4 and 9.
    second, last = 2**0.75 / 4, 2 * math.sqrt(2)
    wanted = (second - 1.0 + last + last) / 4
    assert estimate(ClippedAPT(), [9.0, 1.0, -1.0, 4.0]) == pytest.approx(wanted, rel=1e-14)
    assert cut_at(4.0, 9.0, 4.0, width=2.0, size=0.0, apart=1.0) == last
    # Known: the numbers of the arm do not matter.
    assert cut_at(4.0, 9.0, 4.0, width=2.0, size=3.0, apart=0.0) == 12.0


def test_catonis_function():
    for y in (0.0, 1e-6, 0.3, -2.0, 50.0, -1e7):
        for cut in (0.01, 1.0, 30.0):
            wanted = cut * log_psi(y / cut)
            assert soft_cut(y, cut) == pytest.approx(wanted, rel=1e-14, abs=3e-16 * cut)
    assert soft_cut(1e300, 1e-100) > 0 > soft_cut(-1e300, 1e-100)


@pytest.mark.parametrize("rule", [CatoniAPT(), CatoniAPT(0.5, 0.4), CatoniAPT(3.0)], ids=str)
@pytest.mark.parametrize("bandit", HEAVY, ids=["pareto", "t"])
def test_catonis_root_is_on_the_side_of_the_score(rule, bandit):
    sides = set()
    for game in range(8):
        played = play(bandit, rule, budget=300, seed=9, game=game)
        answer = rule.answer(bandit.problem, played.tallies)
        for side, ys in zip(answer, by_arm(bandit, played), strict=True):
            root = catoni_root(with_cuts(ys, rule.width, rule.spread))
            assert side == (root >= 0) or abs(root) < 1e-9
            sides.add(side)
    assert sides == {True, False}


def test_the_median_of_nine():
    # A network that is right for every row of zeros and ones is right for all numbers.
    for bits in product((0.0, 1.0), repeat=9):
        assert median_of_nine(*bits) == median(bits)


@pytest.mark.parametrize("blocks", [3, 5, 7, 9])
def test_the_median_of_some_blocks(blocks):
    rng = np.random.default_rng(blocks)
    for pulls in list(range(1, 4 * blocks + 2)) * 10:
        ys = rng.standard_t(1.2, size=pulls).tolist()
        wanted = plain_estimate(MedianAPT(blocks), ys)
        assert estimate(MedianAPT(blocks), ys, tau=3.0) == pytest.approx(3.0 + wanted, rel=1e-12)
        # In the index, blocks without a second reward stand at the threshold.
        means = [
            float(np.mean(ys[b::blocks])) if b + blocks < pulls else 0.0 for b in range(blocks)
        ]
        apt = math.sqrt(pulls) * (abs(median(means)) + 0.1)
        assert index(MedianAPT(blocks), ys, eps=0.1) == pytest.approx(apt, rel=1e-12)


@pytest.mark.parametrize("blocks", [3, 5, 9])
def test_a_median_bears_fewer_than_half_of_its_blocks_gone_wild(blocks):
    ys = [-1.0] * (4 * blocks)
    for block in range(blocks // 2):
        ys[block] = 1e9
    assert estimate(MedianAPT(blocks), ys) == -1.0
    ys[blocks - 1] = 1e9
    assert estimate(MedianAPT(blocks), ys) > 1e8


@pytest.mark.parametrize("rule", [ClippedAPT(), CatoniAPT(), MedianAPT()], ids=str)
def test_a_wild_first_reward_does_not_close_an_arm(rule):
    # APT's index after 1000 and three times -0.5: 499. A settled arm at 0.4 has that after 1.5
    # million pulls.
    assert APT().index(Tally(4, 998.5), threshold=0.0) > 499
    for pulls in range(1, 5):
        ys = [1000.0, *[-0.5] * (pulls - 1)]
        assert index(rule, ys, eps=0.1) < math.sqrt(pulls) * (2.0 + 0.1)
    assert estimate(rule, [1000.0, *[-0.5] * 99]) < 0
    # A single reward has a side all the same.
    assert (estimate(rule, [3.0]) >= 0, estimate(rule, [-3.0], tau=0.5) >= 0.5) == (True, False)


@pytest.mark.parametrize("rule", [ClippedAPT(), CatoniAPT()], ids=str)
def test_units_do_not_matter(rule):
    # Nothing in a rule that finds its own spread has a unit.
    for scale in (2.0**-30, 2.0**40):
        bandit = Bandit(StudentT([0.5, 1.5, 2.0], 2.0, 0.5), threshold=1.0, precision=0.125)
        arms = StudentT(np.array([0.5, 1.5, 2.0]) * scale, 2.0, 0.5 * scale)
        other = Bandit(arms, threshold=scale, precision=0.125 * scale)
        for game in range(5):
            games = [play(b, rule, budget=150, seed=2, game=game).arms for b in (bandit, other)]
            assert games[0] == games[1]


@each_rule
def test_rewards_at_the_threshold_and_rewards_that_do_not_vary(rule):
    assert estimate(rule, [0.0] * 30, tau=0.5) == 0.5
    assert index(rule, [0.0] * 9, eps=0.1) == pytest.approx(0.3)
    # As soon as the cut lets it through, a constant is its own mean.
    if not isinstance(rule, CatoniAPT):
        assert estimate(rule, [-0.25] * 2000, tau=0.5) == pytest.approx(0.25, abs=1e-3)
    assert estimate(rule, [0.0] * 5 + [-3.0] + [0.0] * 5, tau=0.5) <= 0.5


def test_with_many_pulls_it_is_the_mean():
    # The cut outgrows rewards with a finite variance: what is cut is a vanishing part.
    ys = np.random.default_rng(4).exponential(size=10_000) - 0.9
    assert estimate(ClippedAPT(), ys.tolist()) == pytest.approx(ys.mean(), abs=1e-3)
    assert estimate(ClippedAPT(2.0, 1.0), ys.tolist()) == pytest.approx(ys.mean(), abs=1e-3)
    assert estimate(CatoniAPT(), ys.tolist()) == pytest.approx(ys.mean(), abs=0.01)


# Losses of 0.5 and, one time in twenty, a gain of 12: a mean of 0.125 that few pulls do not show.
GAIN, LOSS = {-0.5: 19, 12.0: 1}, {0.5: 19, -12.0: 1}
RARE = Bandit(Recorded.from_counts([GAIN, GAIN, LOSS], "heavy"), threshold=0.0)


@pytest.mark.parametrize("rule", [ClippedAPT(), CatoniAPT(), MedianAPT()], ids=str)
def test_an_answer_goes_by_the_estimate(rule):
    apart = 0
    for game in range(20):
        tallies = play(RARE, rule, budget=30, seed=3, game=game).tallies
        answer = rule.answer(RARE.problem, tallies)
        means = RARE.problem.decide(tallies)
        apart += answer != means
        # The same numbers without what the rule keeps would have to go by the mean.
        assert APT().answer(RARE.problem, tallies) == means
    assert apart >= 5


def test_an_answer_from_kept_numbers_by_hand():
    problem = Problem(arms=["a", "b", "c"], threshold=1.0, rewards="heavy")
    # Sums are of x - 1. The mean of a is above the threshold, and its truncated mean below.
    kept = {"whole": np.array([-1.7, 0.0, 1.7])}  # all a rule answers by
    tallies = Tallies(
        np.array([9, 0, 9]), np.array([88.0, 0.0, -88.0]), np.zeros(3), np.ones(3), kept
    )
    assert ClippedAPT().answer(problem, tallies) == [False, None, True]
    assert APT().answer(problem, tallies) == [True, None, False]


# Widths so small that most of what lies above the threshold is cut off.
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", [ClippedAPT(0.25), CatoniAPT(0.1), MedianAPT()], ids=str)
def test_compiled_games_are_judged_by_the_estimate(rule, way):
    bandit, games, budgets = HEAVY[0], 30, [5, 20, 60]
    wanted, by_means = np.zeros(3, int), np.zeros(3, int)
    for game in range(games):
        for h, budget in enumerate(budgets):
            tallies = play(bandit, rule, budget=budget, seed=3, game=game).tallies
            answer = rule.answer(bandit.problem, tallies)
            wanted[h] += bandit.problem.wrong_arms(bandit.means, answer)
            means = bandit.problem.decide(tallies)
            by_means[h] += bandit.problem.wrong_arms(bandit.means, means)
    order = orders(3, 0, games, 5)
    counts = Player(rule, bandit, way=way).play(3, 0, games, order, np.array(budgets))
    assert counts.wrong_arms.tolist() == wanted.tolist()
    assert abs(wanted - by_means).max() >= 10  # or this would show nothing


def errors(arms, *rules, pulls, games=2000):
    bandit = Bandit(arms, threshold=1.0, precision=0.1)
    return simulate(bandit, rules, budget=[10 * pulls], games=games, seed=1).error_rate


def test_heavy_tails_to_one_side():
    # At 50 pulls an arm APT errs in 0.14 of the games, the others in 0.01 to 0.02.
    rules = APT(), ClippedAPT(), CatoniAPT(), MedianAPT()
    apt, *robust = errors(Pareto(MEANS, 2.0), *rules, pulls=50)
    assert max(robust) < apt / 3


def test_heavy_tails_to_both_sides():
    # At 50 pulls an arm APT errs in 0.27 of the games, with a clipped mean in 0.04.
    apt, clipped = errors(StudentT(MEANS, 2.2, 0.5), APT(), ClippedAPT(), pulls=50)
    assert clipped < apt / 3


def test_a_small_cut_is_not_biased_for_ever():
    # An infinite variance on one side, 500 pulls an arm: APT errs in 0.16 of the games, the others
    # in less than 0.01. With a cut that stays where it is they would all be wrong.
    rules = APT(), ClippedAPT(), CatoniAPT(), MedianAPT()
    apt, *robust = errors(Pareto(MEANS, 1.5), *rules, pulls=500, games=500)
    assert max(robust) < 0.03 < apt / 2


def test_clipping_costs_next_to_nothing_on_normal_rewards():
    # 10 pulls an arm: both err in 0.03 of the games; 4,000 of them leave 0.004 on a difference.
    apt, clipped = errors(Gaussian(MEANS, sd=0.5), APT(), ClippedAPT(), pulls=10, games=4000)
    assert clipped < apt + 0.008


# Not every rule with every law: each pair is compiled in three ways.
@pytest.mark.parametrize(
    ("rule", "bandit"),
    [(rule, HEAVY[0]) for rule in RULES]
    + [(rule, HEAVY[1]) for rule in RULES if isinstance(rule, ClippedAPT)],
    ids=lambda value: getattr(value, "spec", None) or value.arms.name,
)
def test_what_is_true_of_every_rule(rule, bandit):
    check_rule(rule, bandit, budget=100)


def test_on_coins_too():
    check_rule(ClippedAPT())  # there the threshold is not 0 within a rule


@each_rule
def test_none_needs_the_horizon(rule):
    assert rule.anytime


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ClippedAPT(0.0), "width must be above 0, got 0.0"),
        (lambda: ClippedAPT(-1.0), "width must be above 0"),
        (lambda: ClippedAPT(spread=0.0), "spread must be above 0, got 0.0"),
        (lambda: ClippedAPT(math.nan), "width of a rule must be a finite number"),
        (lambda: ClippedAPT(drop=0.5), "drop must be 1 .* got 0.5"),
        (lambda: CatoniAPT(0.0), "width must be above 0"),
        (lambda: CatoniAPT(spread=-2.0), "spread must be above 0, got -2.0"),
        (lambda: CatoniAPT(spread=math.inf), "spread of a rule must be a finite number"),
        (lambda: MedianAPT(4), "blocks must be 3, 5, 7 or 9, got 4"),
        (lambda: MedianAPT(11), "blocks must be 3, 5, 7 or 9, got 11"),
        (lambda: MedianAPT(1), "blocks must be 3, 5, 7 or 9, got 1"),
    ],
)
def test_bad_settings_get_a_clear_error(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@each_rule
def test_specs_lead_back(rule):
    assert parse_rule(rule.spec) == rule


def test_an_index_by_hand():
    # Settings of a rule that depend on a problem are given by name.
    tally = Tally(pulls=4, total=2.0)
    assert ClippedAPT().index(tally, threshold=0.0, precision=0.25, whole=1.0) == 1.0
