"""Bars at the end of the rewards' range, live: who is asked, what is kept, and what was before."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cutline import Campaign, Problem, Rewards, identify, judge
from cutline.campaign import audit
from cutline.campaign.looking import what_if
from cutline.campaign.stores.sqlite import SQLiteStore

RATES = {"never": 0.0, "rarely": 0.1, "often": 0.3, "half": 0.5}
BARS = [(0.9, 0.2), (0.01, 0.02), (1.0, 0.01)]
WORDS = "reaches past"


def games(problem, rule="auto", budget=60, **settings):
    """A campaign in which "never" passes always and the others fail at their first trial."""
    campaign = Campaign(problem, rule, budget=budget, **settings)
    while pull := campaign.ask():
        campaign.tell(pull, 1.0 if pull.arm in ("never", "also") else 0.0)
    return campaign


@pytest.mark.parametrize("rewards", ["binary", Rewards("bounded", 0, 1)])
@pytest.mark.parametrize("rule", ["auto", "slr", "auto:precision=0.05"])
def test_live_an_arm_that_has_failed_waits_until_no_other_is_open(rule, rewards):
    arms = ["never", "rarely", "often", "also"]
    if rule == "auto:precision=0.05":
        rewards = "binary"
    campaign = games(Problem(arms=arms, threshold=1.0, rewards=rewards), rule)
    pulls = {arm.arm: arm.pulls for arm in campaign.verdict().arms}
    assert pulls["rarely"] == pulls["often"] == 1
    assert abs(pulls["never"] - pulls["also"]) <= 1


def test_live_arms_that_have_all_failed_take_turns():
    problem = Problem(arms=["rarely", "often", "half"], threshold=1.0, rewards="binary")
    pulls = [arm.pulls for arm in games(problem).verdict().arms]
    assert pulls == [20, 20, 20]


def test_what_is_said_of_an_arm_that_never_failed_and_of_one_that_did(tmp_path):
    problem = Problem(arms=["never", "often"], threshold=1.0, rewards="binary")
    campaign = games(problem, budget=20, store=str(tmp_path / "s.db"))
    never, often = campaign.verdict().arms
    assert (never.side, never.proven, often.side, often.proven) == ("above", None, "below", "below")
    assert often.log_below == math.inf
    assert often.p_value == 0.0
    assert often.wrong_chance == 0.0
    # 19 passes: half an atom at 1, half Jeffreys' prior
    odds = math.exp(math.lgamma(19.5) - math.lgamma(20)) / math.sqrt(math.pi)
    assert never.wrong_chance == pytest.approx(odds / (1 + odds), rel=1e-12)
    assert math.copysign(1, campaign.verdict().error_estimate) == 1
    found = audit(campaign)
    assert found.holds, found.faults
    again = Campaign.open(str(tmp_path / "s.db"))
    assert again.verdict()["often"].log_below == math.inf
    assert json.loads(json.dumps({"p": often.p_value}, allow_nan=False)) == {"p": 0.0}


def test_without_a_budget_only_a_band_can_be_settled():
    with pytest.raises(ValueError, match=r"exactly 1 needs a budget.*threshold=0\.995, precision="):
        Campaign(Problem(arms=2, threshold=1.0, rewards="binary"), confidence=0.95)
    # What it names has an end, for arms that never fail and for those that do.
    band = Problem(arms=["never", "often"], threshold=0.95, precision=0.05, rewards="binary")
    campaign = games(band, budget=None, confidence=0.9)
    verdict = campaign.verdict()
    assert [arm.proven for arm in verdict.arms] == ["above", "below"]
    assert verdict["often"].pulls == 1
    assert verdict.error_bound <= 0.1


@pytest.mark.parametrize(("threshold", "precision"), BARS)
def test_a_band_past_the_end_is_refused_everywhere(threshold, precision):
    bar = {"threshold": threshold, "precision": precision}
    with pytest.raises(ValueError, match=WORDS):
        Problem(arms=2, rewards="binary", **bar)
    with pytest.raises(ValueError, match=WORDS):
        identify(lambda arm: 1, ["a"], rewards="binary", budget=5, **bar)
    campaign = Campaign(Problem(arms=["a"], threshold=0.5, rewards="binary"), budget=5)
    with pytest.raises(ValueError, match=WORDS):
        campaign.add("b", **bar)
    with pytest.raises(ValueError, match=WORDS):
        what_if(campaign, **bar)
    assert len(campaign.problem.arms) == 1
    for beyond in (90.0, -0.1):
        with pytest.raises(ValueError, match="out of reach"):
            campaign.add("b", threshold=beyond)
        with pytest.raises(ValueError, match="out of reach"):
            what_if(campaign, threshold=beyond)


def test_a_precision_alone_may_not_reach_past_the_end_either():
    campaign = Campaign(Problem(arms=["a"], threshold=0.95, rewards="binary"), budget=5)
    with pytest.raises(ValueError, match=r"at most 0\.05 makes sense"):
        what_if(campaign, precision=0.1)
    with pytest.raises(ValueError, match=r"at most 0\.05 makes sense"):
        campaign.add("b", precision=0.1)
    assert what_if(campaign, precision=0.05).problem.precision == (0.05,)


def test_the_bounds_of_the_rewards_need_not_hold_one_half():
    """Which evidence there is was asked of a problem at 1/2, which may lie outside."""
    problem = Problem(arms=["never", "a"], threshold=-3.0, rewards=Rewards("bounded", -5, -1))
    campaign = Campaign(problem, budget=6)
    while pull := campaign.ask():
        campaign.tell(pull, -1.0 if pull.arm == "never" else -5.0)
    assert campaign.verdict().above == ("never",)


@pytest.fixture
def earlier(tmp_path):
    """A store file of an earlier cutline, with campaigns at the ends of ranges and past them."""
    path = tmp_path / "store.db"
    shutil.copy(Path(__file__).parent / "data" / "store-v1-ends.db", path)
    SQLiteStore(path).upgrade()
    return str(path)


NAMES = [
    "bar 1, auto", "bar 1, slr", "bar 1, slr-d", "bar 0, auto", "touches 1", "past 1",
    "past 1, stops", "out of range", "bounded at 1", "bounded past", "counts at 0", "waits past 0",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_campaigns_from_before_open_and_follow_from_their_events(earlier, name):
    campaign = Campaign.open(earlier, name)
    found = audit(campaign)
    assert found.holds, found.faults
    assert str(campaign.verdict())
    campaign.extend(budget=10)  # they go on as they began
    while pull := campaign.ask():
        campaign.tell(pull, 1.0)
    found = audit(campaign)
    assert found.holds, found.faults


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("past 1", "precision 0.1 around threshold 0.95 reaches past 1"),
        ("out of range", "threshold 90 is out of reach"),
        ("touches 1", None),
    ],
)
def test_show_says_what_is_wrong_with_a_bar_from_before(earlier, name, says):
    """An arm that never failed was "proven below, less than 1" without a word."""
    words = [sys.executable, "-m", "cutline", "show", "--store", earlier, "--name", name]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ("that is refused now" in ran.stderr) == (says is not None)
    assert (says or "") in ran.stderr


def test_recorded_rewards_at_the_end_of_a_range_that_rounds():
    """Ten times 0.1 is a little less than 1: rewards that are all at the top are at the top."""
    rewards = Rewards("bounded", 0.0, 0.1)
    problem = Problem(arms=["top", "less"], threshold=0.1, rewards=rewards)
    verdict = judge(problem, {"top": [0.1] * 10, "less": [0.1] * 9 + [0.09]})
    assert (verdict["top"].side, verdict["top"].proven) == ("above", None)
    assert (verdict["less"].side, verdict["less"].proven) == ("below", "below")
    campaign = Campaign(problem, budget=40)
    while pull := campaign.ask():
        campaign.tell(pull, 0.1 if pull.arm == "top" else 0.09)
    assert campaign.verdict().above == ("top",)
    assert campaign.verdict()["less"].pulls == 1
