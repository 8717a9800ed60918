"""The interval of bounded rewards: the betting process inverted, by hand and in games."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline import Campaign, Problem, Rewards, judge
from cutline.campaign.looking import what_if
from cutline.core.evidence import Betting, Ledger, arm_columns
from cutline.core.evidence.wagers import GRIDS, wagers_interval


def ever(rewards, m):
    """The most that the gambler who doubts m ever had, in logarithms: the evidence itself."""
    problem = Problem(arms=1, threshold=m, rewards="bounded")
    ledger = Ledger(Betting(), arm_columns(Betting(), problem, 0))
    for reward in rewards:
        ledger.feed(reward)
    return ledger.top_above


def by_hand(rewards, log_level):
    """The lower end by its definition, point by point."""
    low = 0.0
    for power, share in GRIDS:
        place = round(low * 2**power) + 1
        while place < 2**power and ever(rewards, place / 2**power) >= log_level - math.log(share):
            place += 1
        low = (place - 1) / 2**power
    return low


@pytest.mark.parametrize("seed", range(6))
def test_the_ends_are_the_last_of_the_rejected_points(seed):
    rng = np.random.default_rng(seed)
    x = (rng.beta(2, 5, 60), rng.random(40), np.round(rng.random(50)), np.full(30, 0.8))[seed % 4]
    level = math.log(40) if seed < 4 else math.log(2000)
    low, high = wagers_interval(x, level)
    assert low == by_hand(x.tolist(), level)
    assert high == 1.0 - by_hand((1.0 - x).tolist(), level)


def test_it_is_narrower_than_the_interval_before():
    rng = np.random.default_rng(1)
    ratios = []
    for n in (50, 500, 5000):
        for x in (rng.beta(2, 5, n), rng.random(n), 0.4 + 0.1 * rng.random(n)):
            ledger = Ledger(Betting(), arm_columns(Betting(), bounded(), 0))
            for reward in x.tolist():
                ledger.feed(reward)
            low, high = ledger.interval(math.log(40))
            mine = wagers_interval(x, math.log(40))
            ratios.append((high - low) / (mine[1] - mine[0]))
    assert min(ratios) > 1.05
    assert max(ratios) > 1.8


def bounded(arms=1, threshold=0.5, precision=0.1):
    return Problem(arms=arms, threshold=threshold, precision=precision, rewards="bounded")


def test_it_holds_the_mean_at_all_times():
    """200 games of 150 rewards, looked at after every few: at most 10 % ever leave out the mean."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(200):
        x = rng.beta(0.4, 1.2, 150)  # of mean 1/4
        ends = [wagers_interval(x[:n], math.log(20)) for n in range(10, 151, 14)]
        wrong += any(not low <= 0.25 <= high for low, high in ends)
    assert wrong / 200 < 0.1 + 3 * math.sqrt(0.1 * 0.9 / 200)


@given(
    rewards=st.lists(st.floats(0, 1), max_size=40),
    repeat=st.integers(1, 6),
    threshold=st.sampled_from([0.1, 0.5, 0.8]),
    precision=st.sampled_from([0.0, 0.05]),
)
@settings(max_examples=60, deadline=None)
def test_what_is_shown_never_contradicts_what_is_proven(rewards, repeat, threshold, precision):
    arm = judge(bounded(1, threshold, precision), [rewards * repeat], confidence=0.8).arms[0]
    if arm.more_than is not None:
        assert arm.more_than >= max(threshold - precision, arm.low)
    if arm.less_than is not None:
        assert arm.less_than <= min(threshold + precision, arm.high)
    assert 0.0 <= arm.low <= arm.high <= 1.0
    if arm.proven == "above":
        assert arm.high >= arm.more_than


def test_few_rewards_leave_the_whole_range():
    problem = Problem(arms=3, threshold=2.0, precision=0.5, rewards=Rewards("bounded", 1, 5))
    verdict = judge(problem, [[], [2.0], [5.0] * 60])
    assert [(arm.low, arm.high) for arm in verdict.arms[:2]] == [(1.0, 5.0)] * 2
    assert verdict["2"].low > 4.0
    assert verdict["2"].high == 5.0


def test_a_campaign_reads_the_rewards_it_weighed(tmp_path):
    rng = np.random.default_rng(3)
    for store in (None, str(tmp_path / "a.db")):
        campaign = Campaign(bounded(2), budget=400, store=store)
        told = {"0": [], "1": []}
        for _ in range(120):
            pull = campaign.ask()
            told[pull.arm].append(round(float(rng.random()), 3))
            campaign.tell(pull, told[pull.arm][-1])
        verdict = campaign.verdict()
        before = judge(bounded(2), told)
        campaign.attach("0", [0.9] * 50, unpicked=True)  # after the verdict
        campaign.tell(campaign.ask(), 0.5)
        for arm in ("0", "1"):
            assert (verdict[arm].low, verdict[arm].high) == (before[arm].low, before[arm].high)
            ledger = before[arm].ledger
            assert verdict[arm].high - verdict[arm].low < 0.9 * np.ptp(
                ledger.interval(verdict.rows.log_level)
            )
        assert campaign.verdict()["0"].low != verdict["0"].low
        asked = what_if(campaign, threshold=0.4)
        assert asked["0"].low == campaign.verdict()["0"].low
        campaign.store.release()
        assert campaign.verdict()["0"].low == asked["0"].low


def test_what_came_late_is_read_in_the_order_it_was_weighed():
    campaign = Campaign(bounded(1), budget=400)
    rng = np.random.default_rng(4)
    pulls = campaign.ask(60)
    campaign.give_back(*pulls[::7])
    values = rng.random(60).round(3).tolist()
    rest = [i for i in range(60) if i % 7]
    campaign.tell_many((pulls[i], values[i]) for i in rest)
    campaign.verdict()
    for i in range(0, 60, 7):
        campaign.tell(pulls[i], values[i])
    verdict = campaign.verdict()
    order = [values[i] for i in [*rest, *range(0, 60, 7)]]
    wanted = judge(bounded(1), [order]).arms[0]
    assert verdict["0"].ledger.numbers == pytest.approx(wanted.ledger.numbers)
    assert (verdict["0"].low, verdict["0"].high) == (wanted.low, wanted.high)


def test_a_verdict_on_bounded_rewards_can_be_pickled():
    campaign = Campaign(bounded(2), budget=100)
    campaign.attach("0", [0.2, 0.3] * 20, unpicked=True)
    verdict = campaign.verdict()
    same = pickle.loads(pickle.dumps(verdict))
    assert same == verdict
    assert str(same.columns()) == str(verdict.columns())


def test_rewards_that_are_gone_are_missed_in_words(tmp_path):
    campaign = Campaign(bounded(1), budget=100, store=str(tmp_path / "a.db"))
    campaign.attach("0", [0.2, 0.3] * 20, unpicked=True)
    verdict = campaign.verdict()
    campaign.store.delete("main")
    Campaign(bounded(1), budget=100, store=campaign.store)
    with pytest.raises(ValueError, match="are not in the store any more"):
        print(verdict)
