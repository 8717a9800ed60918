"""A campaign by hand: small numbers, then the simulator's own choices, then what is proven."""

import math
from collections import deque

import numpy as np
import pytest

import cutline
from cutline import APT, Bandit, Bernoulli, Exponential, Gaussian, Problem, Rewards, simulate
from cutline.campaign import (
    Campaign,
    DifferentCampaign,
    MemoryStore,
    Pull,
    UnknownArm,
    UnknownCampaign,
    audit,
)
from cutline.campaign.moves.suspending import LAST_RUN
from cutline.core.chance import REWARD, chance, seed_key, uniform
from cutline.core.evidence import BetaMixture
from cutline.simulation.engine import Player
from cutline.simulation.live import Live
from cutline.simulation.reference import play, tie_order

COINS = Problem(arms=["a", "b", "c"], threshold=0.5, precision=0.1, rewards="binary")


def told(rule, results, **options):
    """A campaign whose arms have these results."""
    problem = Problem(arms=list(results), threshold=0.5, precision=0.1, rewards="binary")
    campaign = Campaign(problem, rule, budget=1_000, **options)
    for name, rewards in results.items():
        campaign.attach(name, rewards)
    return campaign


# --- choices -------------------------------------------------------------------------------------


def test_apt_asks_for_the_arm_nearest_the_threshold():
    campaign = told(APT(), {"a": [0, 0, 0, 0], "b": [0, 1, 0, 1], "c": [1] * 9})
    assert campaign.ask().arm == "b"  # 2·0.6, 2·0.1, 3·0.6


def test_pulls_in_flight_count_while_the_mean_stays():
    campaign = told(APT(), {"a": [0, 1] * 8, "b": [0, 1] * 8, "c": [0, 1] * 32})
    # 4·0.1, 4·0.1 and 8·0.1: a and b are asked alike until each has 64 pulls, counting those asked
    arms = [pull.arm for pull in campaign.ask(99)]
    assert arms.count("a") in (48, 49)
    assert arms.count("b") in (48, 49)
    assert arms.count("c") in (1, 2, 3)


def test_an_arm_never_told_comes_first_and_the_one_with_fewest_in_flight_before_others():
    campaign = Campaign(COINS, "apt", budget=100)
    first = campaign.ask(3)
    assert sorted(pull.arm for pull in first) == ["a", "b", "c"]
    campaign.tell(first[0], 1)
    assert sorted(pull.arm for pull in campaign.ask(2)) == sorted(p.arm for p in first[1:])


BANDITS = {
    "coins": Bandit(Bernoulli([0.05, 0.3, 0.42, 0.5, 0.6, 0.8, 0.9]), threshold=0.5, precision=0.1),
    "rare": Bandit(Bernoulli([0.001, 0.02, 0.09, 0.2]), threshold=0.05, precision=0.01),
    "normal": Bandit(Gaussian([0.1, 0.4, 0.6, 2.0], sd=0.5), threshold=0.5),
    "known": Bandit(
        Gaussian([0.1, 0.4, 0.6, 2.0], sd=[0.5, 1.0, 0.2, 0.7]),
        threshold=0.5,
        rewards=Rewards("gaussian", sd=[0.5, 1.0, 0.2, 0.7]),
    ),
    "waits": Bandit(Exponential([0.5, 1.5, 2.5, 4.0]), threshold=2.0, precision=0.1),
    "heavy": Bandit(
        Gaussian([0.1, 0.4, 0.6, 2.0], sd=0.5), threshold=0.5, rewards=Rewards("heavy")
    ),
}  # fmt: skip


def drawn(bandit, arm, number, seed):
    """The reward that the simulator draws for an arm's pull."""
    what = chance(*seed_key(seed), 0, arm, number, REWARD)
    columns = bandit.arms.columns(bandit.problem.origins)
    mine = {name: column[arm] for name, column in columns.items()}
    value = bandit.arms.quantile(uniform(what, 0), *mine.values())
    return value + bandit.problem.origins[arm]


def played(bandit, rule, budget, seed, **options):
    """The arms that a campaign asks for, with the simulator's rewards."""
    campaign = Campaign(bandit.problem, rule, budget=budget, seed=seed, **options)
    arms = []
    while pull := campaign.ask():
        arm = int(pull.arm)
        arms.append(arm)
        campaign.tell(pull, drawn(bandit, arm, pull.number, seed))
    assert campaign.ask().why == "done"
    return arms, campaign


@pytest.mark.parametrize("name", ["coins", "rare", "normal", "known"])
@pytest.mark.parametrize(
    "rule", ["auto", "apt", "slr", "lsa", "ucbe:1:50", "fwt", "hdoc", "round-robin"]
)
def test_the_choices_are_those_of_the_simulator(name, rule):
    bandit = BANDITS[name]
    rule = cutline.parse_rule(rule)
    try:
        wanted = play(bandit, rule, budget=150, seed=5).arms
    except ValueError as refused:
        with pytest.raises(ValueError, match=str(refused)[:20]):
            Campaign(bandit.problem, rule, budget=150)
        return
    arms, campaign = played(bandit, rule, 150, 5)
    assert arms == wanted
    assert audit(campaign).holds


@pytest.mark.parametrize("name", ["heavy", "normal"])
@pytest.mark.parametrize("rule", ["apt-clipped", "apt-catoni", "evt", "auto"])
def test_rules_that_keep_numbers_of_their_own_make_the_simulators_choices(name, rule):
    bandit = BANDITS[name]
    rule = cutline.parse_rule(rule)
    if rule.name == "evt" and name == "heavy":
        return
    arms, campaign = played(bandit, rule, 200, 2)
    game = play(bandit, rule, budget=200, seed=2)
    assert arms == game.arms
    sides = [campaign.verdict()[arm].side for arm in bandit.problem.arms]
    wanted = rule.answer(bandit.problem, game.tallies)
    assert sides == ["above" if side else "below" for side in wanted]


def test_the_choices_are_the_same_in_every_store(store):
    bandit = BANDITS["coins"]
    arms, campaign = played(bandit, "auto", 120, 9, store=store)
    assert arms == play(bandit, cutline.Auto(), budget=120, seed=9).arms
    assert audit(campaign).holds


@pytest.mark.parametrize("rule", ["auto", "apt-clipped"])
def test_choices_with_pulls_in_flight_are_those_of_the_simulator(rule, store):
    bandit, in_flight, budget, seed = BANDITS["normal"], 8, 160, 4
    rule = cutline.parse_rule(rule)
    wanted = Player(rule, bandit, live=Live(in_flight=in_flight)).picks(seed, 0, budget)
    campaign = Campaign(bandit.problem, rule, budget=budget, seed=seed, store=store)
    out, arms = deque(campaign.ask(in_flight)), []
    while out:
        pull = out.popleft()  # all take the same time
        arms.append(int(pull.arm))
        campaign.tell(pull, drawn(bandit, int(pull.arm), pull.number, seed))
        out += campaign.ask(1)
    assert arms == wanted
    assert audit(campaign).holds


def test_ties_fall_by_the_seed_not_by_the_list():
    for seed in (0, 1, 2**40):
        problem = Problem(arms=50, threshold=0.5, rewards="binary")
        first = [int(pull.arm) for pull in Campaign(problem, budget=50, seed=seed).ask(50)]
        assert first == tie_order(seed, 0, 50)


def test_a_rule_that_looks_at_the_clock_is_asked_anew_each_time(store):
    bandit = BANDITS["coins"]
    arms, campaign = played(bandit, cutline.HDoC(), 60, 1, store=store)
    assert arms == play(bandit, cutline.HDoC(), budget=60, seed=1).arms
    assert audit(campaign).holds


def test_a_trials_seed_is_its_own_and_the_same_in_every_replay():
    pulls = Campaign(COINS, "apt", budget=30, seed=5).ask(30)
    again = Campaign(COINS, "apt", budget=30, seed=5).ask(30)
    seeds = [pull.seed for pull in pulls]
    assert len(set(seeds)) == 30
    assert seeds == [pull.seed for pull in again]
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_no_two_trials_of_an_arm_have_the_same_seed():
    key = (5, 0, 17)
    seeds = {Pull("", "", number, 1, 0.0, key).seed for number in range(100_000)}
    assert len(seeds) == 100_000


# --- budget, cost, leases ------------------------------------------------------------------------


def test_the_budget_is_spent_exactly_and_given_back_on_failure(store):
    campaign = Campaign(COINS, budget=5, store=store)
    pulls = campaign.ask(9)
    assert len(pulls) == 5
    waiting = campaign.ask()
    assert not waiting
    assert waiting.why == "wait"
    assert waiting.until == pulls[0].expires
    campaign.fail(pulls[0])
    again = campaign.ask()
    assert again
    for pull in [*pulls[1:], again]:
        campaign.tell(pull, 1)
    assert (campaign.ask().why, campaign.spent, campaign.in_flight) == ("done", 5, 0)
    campaign.extend(budget=2)
    assert len(campaign.ask(9)) == 2


def test_costs_are_reserved_and_the_rest_is_given_back(store):
    problem = Problem(arms=["dear", "cheap"], threshold=0.5, rewards="binary")
    campaign = Campaign(problem, "apt", budget=10, cost={"dear": 4}, store=store)
    costs = {pull.arm: pull for pull in campaign.ask(2)}
    assert {name: pull.cost for name, pull in costs.items()} == {"dear": 4, "cheap": 1}
    campaign.tell(costs["dear"], 1, cost=3)
    campaign.tell(costs["cheap"], 1)
    assert campaign.spent == 4
    left = campaign.ask(9)  # 6 units: one dear one and two cheap ones, or cheap ones alone
    assert sum(pull.cost for pull in left) <= 6
    while more := campaign.ask(9):
        left = (*left, *more)
    assert sum(pull.cost for pull in left) == 6
    with pytest.raises(ValueError, match="from 0 to"):
        campaign.tell(left[0], 1, cost=9)


def test_a_lost_pull_comes_back_and_may_still_be_told(store, clock):
    campaign = Campaign(COINS, budget=3, store=store, lease=10)
    pulls = campaign.ask(3)
    campaign.heartbeat(pulls[2], lease=100)
    clock.pass_(11)
    replaced = campaign.ask(9)  # two leases have run out
    assert len(replaced) == 2
    assert campaign.tell(pulls[0], 1) == "late"  # the budget is reserved by those asked since
    campaign.fail(replaced[0])
    assert campaign.tell(pulls[1], 1) == "counted"  # there is room again
    assert campaign.tell(pulls[1], 1) == "again"
    assert campaign.tell(pulls[0], 1) == "late"
    counts = [arm.counts for arm in campaign.verdict().arms]
    assert sum(c.late for c in counts) == 1
    assert sum(c.told for c in counts) == 1
    assert audit(campaign).holds


def test_a_lost_pull_may_stand_for_a_reward(store, clock):
    problem = Problem(arms=["hangs"], threshold=0.5, rewards="binary")
    campaign = Campaign(problem, budget=8, lost=0, store=store, lease=10, patience=2)
    for _ in range(8):
        pull = campaign.ask()
        clock.pass_(11)
    assert campaign.ask().why == "done"
    verdict = campaign.verdict()
    assert (verdict.below, verdict["hangs"].pulls, campaign.spent) == (("hangs",), 8, 8)
    assert verdict["hangs"].counts.lost == 8
    assert verdict.unmeasured == ()
    assert campaign.tell(pull, 1) == "late"
    assert audit(campaign).holds


def test_an_arm_that_always_fails_is_suspended_and_starves_nobody(store):
    campaign = Campaign(COINS, budget=60, store=store)
    asked = []
    while pull := campaign.ask():
        asked.append(pull.arm)
        if pull.arm == "b":
            campaign.fail(pull, note="it broke")
        else:
            campaign.tell(pull, 1)
    verdict = campaign.verdict()
    assert verdict.unmeasured == ("b",)
    failed = verdict["b"].counts.failed
    # It rests after failures; and by Fisher's test the chance of such a run, over so many trials,
    # is below 1 in 1,000 just when it is suspended.
    assert "b b b" not in " ".join(asked)
    first, chance = asked.index("b"), []
    for n in range(first + 1, len(asked) + 1):
        if asked[n - 1] == "b":
            since = asked[first:n]
            chance.append(n * (n + 1) / math.comb(len(since), since.count("b")))
    assert chance[-1] < 1e-3 <= min(chance[:-1])
    reason = f"{failed} failures in a row, where 0 % of the others' trials fail; last: it broke"
    assert campaign.suspended() == {"b": reason}
    assert verdict.above == ("a", "c")
    assert campaign.spent == 60
    assert audit(campaign).holds
    campaign.extend(budget=3)
    campaign.resume("b")
    assert campaign.ask().arm == "b"


def test_a_worker_that_dies_with_many_pulls_of_an_arm_does_not_suspend_it(store, clock):
    problem = Problem(arms=["a"], threshold=0.5, rewards="binary")
    campaign = Campaign(problem, budget=30, store=store, lease=10)
    for _ in range(4):
        assert len(campaign.ask(9)) == 9
        clock.pass_(11)
    assert campaign.ask()
    assert campaign.verdict().unmeasured == ()
    for _ in range(LAST_RUN - 5):
        clock.pass_(11)
        assert campaign.ask(9)
    clock.pass_(11)
    assert campaign.ask().why == "done"  # a hundred times in a row, and no arm to compare with
    assert campaign.suspended() == {
        "a": "100 failures in a row, where 0 % of the others' trials fail; last: lost"
    }
    assert audit(campaign).holds


def test_an_arm_never_told_does_not_take_all_workers(store):
    problem = Problem(arms=["hangs", "b", "c"], threshold=0.5, precision=0.1, rewards="binary")
    campaign = Campaign(problem, budget=100, store=store)
    for _ in range(40):
        pull = campaign.ask()
        if pull.arm != "hangs":
            campaign.tell(pull, 1)
    assert campaign.verdict()["hangs"].counts.asked == 5


def test_pausing_stops_asks_and_not_tells(store):
    campaign = Campaign(COINS, budget=30, store=store)
    pull = campaign.ask()
    campaign.pause()
    assert campaign.ask().why == "paused"
    assert campaign.tell(pull, 1) == "counted"
    campaign.resume()
    assert campaign.ask()
    assert audit(campaign).holds


# --- arms come and go ----------------------------------------------------------------------------


def test_arms_added_within_the_declared_number_keep_the_promise(store):
    campaign = Campaign(COINS, budget=90, store=store, declared=4)
    campaign.add("d", threshold=0.9)
    while pull := campaign.ask():
        campaign.tell(pull, 1)
    verdict = campaign.verdict()
    assert verdict.declared == 4
    assert verdict.problem.threshold == (0.5, 0.5, 0.5, 0.9)
    assert "no guarantee" not in verdict.assumes
    campaign.add("e")
    assert "beyond the 4 declared" in campaign.verdict().assumes
    assert "beyond the 4 declared" in str(campaign.verdict())


def test_a_retired_arm_leaves_the_answer_and_still_counts_among_the_declared(store):
    campaign = Campaign(COINS, budget=60, store=store)
    pulls = {pull.arm: pull for pull in campaign.ask(3)}
    campaign.retire("b")
    campaign.tell(pulls["b"], 1)
    for name in "ac":
        campaign.tell(pulls[name], 1)
    assert "b" not in {pull.arm for pull in campaign.ask(20)}
    verdict = campaign.verdict()
    assert verdict.above == ("a", "c")
    assert verdict.retired == ("b",)
    assert verdict.declared == 3
    assert verdict["b"].pulls == 1
    with pytest.raises(UnknownArm, match="'z'"):
        campaign.retire("z")


def test_attached_results_count_in_the_mean_and_in_the_evidence_only_if_unpicked(store):
    campaign = Campaign(COINS, budget=10, store=store)
    campaign.attach("a", [1] * 40)
    campaign.attach("b", [1] * 40, unpicked=True)
    verdict = campaign.verdict()
    assert (verdict["a"].mean, verdict["b"].mean, campaign.spent) == (1.0, 1.0, 0)
    assert (verdict["a"].p_value, verdict["a"].proven) == (1.0, None)
    assert verdict["b"].proven == "above"
    assert audit(campaign).holds


# --- evidence ------------------------------------------------------------------------------------


def test_evidence_takes_results_in_the_order_asked_for(store):
    problem = Problem(arms=["a"], threshold=0.5, precision=0.1, rewards="binary")
    campaign = Campaign(problem, budget=40, store=store)
    pulls = campaign.ask(40)
    for pull in pulls[1:]:
        campaign.tell(pull, 1)  # thirty-nine ones come back before the first
    verdict = campaign.verdict()
    assert verdict["a"].mean == 1.0
    assert verdict["a"].p_value == 1.0  # the first one is still out
    campaign.tell(pulls[0], 0)
    wanted = cutline.judge(problem, {"a": [0] + [1] * 39})
    assert campaign.verdict()["a"].p_value == wanted["a"].p_value
    assert campaign.verdict()["a"].low == wanted["a"].low


@pytest.mark.parametrize("confidence", [None, 0.95])
@pytest.mark.parametrize("name", ["coins", "known", "waits", "heavy"])
def test_the_verdict_is_that_on_the_recorded_rewards(name, confidence):
    if name == "heavy" and confidence is not None:
        return
    bandit = BANDITS[name]
    campaign = Campaign(bandit.problem, budget=120, confidence=confidence, seed=3)
    rng = np.random.default_rng(1)
    asked = []  # in the order asked for
    out = []
    while True:
        out += campaign.ask(5)
        if not out:
            break
        asked += out[-5:]
        rng.shuffle(out)
        back, out = out[:4], out[4:]
        campaign.tell_many((p, drawn(bandit, int(p.arm), p.number, 3)) for p in back)
    rewards = {arm: [] for arm in bandit.problem.arms}
    for arm, own in rewards.items():
        pulls = campaign.verdict()[arm].pulls
        own += [drawn(bandit, int(arm), number, 3) for number in range(pulls)]
    wanted = cutline.judge(bandit.problem, rewards, confidence=0.95)
    for mine, theirs in zip(campaign.verdict(0.95).arms, wanted.arms, strict=True):
        assert (mine.proven, mine.side, mine.pulls) == (theirs.proven, theirs.side, theirs.pulls)
        assert mine.p_value == pytest.approx(theirs.p_value, rel=1e-9)
        assert mine.low == pytest.approx(theirs.low, rel=1e-9, abs=1e-9)
    assert audit(campaign).holds


def test_a_campaign_stops_at_its_confidence_as_the_simulator_does():
    bandit = BANDITS["coins"]
    campaign = Campaign(bandit.problem, confidence=0.9, seed=6)
    while pull := campaign.ask():
        campaign.tell(pull, drawn(bandit, int(pull.arm), pull.number, 6))
    assert campaign.verdict().error_bound <= 0.1
    result = simulate(bandit, [cutline.Auto()], budget=None, confidence=0.9, games=1, seed=6)
    assert campaign.spent == result.stops.spent[0][0]
    assert campaign.verdict().undecided == ()


def test_settled_arms_are_not_asked_again(store):
    problem = Problem(arms=["easy", "hard"], threshold=0.5, precision=0.1, rewards="binary")
    campaign = Campaign(problem, budget=200, confidence=0.95, store=store)
    for flip in range(200):
        pull = campaign.ask()
        if not pull:
            break
        campaign.tell(pull, 1 if pull.arm == "easy" else flip % 2)
    verdict = campaign.verdict()
    assert verdict["easy"].proven == "above"
    assert verdict["easy"].pulls < 30
    assert audit(campaign).holds


def test_a_result_out_of_turn_opens_an_arm_again_whose_side_it_changes(store):
    problem = Problem(arms=["a"], threshold=0.5, precision=0.1, rewards="binary")
    campaign = Campaign(problem, confidence=0.95, store=store)
    pulls = campaign.ask(60)
    for pull in pulls[:8]:
        campaign.tell(pull, 1)
    assert campaign.verdict()["a"].proven == "above"
    for pull in pulls[9:]:
        campaign.tell(pull, 0)  # the ninth is still out: nothing of this is weighed yet
    verdict = campaign.verdict()
    assert (verdict["a"].side, verdict["a"].proven) == ("below", "above")
    assert verdict.error_bound == 1.0
    assert campaign.ask()  # so it is not done
    assert audit(campaign).holds


def test_extending_to_a_total_happens_once(store):
    campaign = Campaign(COINS, budget=10, store=store)
    for _ in range(2):
        campaign.extend(to=30)
    campaign.extend(to=20)
    assert campaign.budget == 30
    with pytest.raises(ValueError, match="so much in all"):
        campaign.extend(budget=1, to=3)


def test_opening_makes_no_store(tmp_path):
    with pytest.raises(UnknownCampaign, match="there is no file"):
        Campaign.open(str(tmp_path / "typo.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_opens_by_the_problem_it_began_with(store):
    campaign = Campaign(COINS, budget=10, store=store, declared=4)
    campaign.add("d")
    assert Campaign.open(store, problem=COINS).problem.arms == ("a", "b", "c", "d")


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_names_that_a_store_cannot_keep_are_refused(name):
    with pytest.raises(ValueError, match="cannot keep"):
        Campaign(Problem(arms=[name], threshold=0.5, rewards="binary"), budget=3)
    campaign = Campaign(COINS, budget=3)
    with pytest.raises(ValueError, match="cannot keep"):
        campaign.add(name)


def test_an_added_arm_must_let_the_campaign_end():
    campaign = Campaign(COINS, confidence=0.9, declared=4)
    with pytest.raises(ValueError, match="precision must be above 0"):
        campaign.add("d", precision=0)


def test_levels_are_stored_raw_and_counted_as_whether_above(store):
    problem = Problem(arms=2, threshold=0.5, level=[0.2, 1.0], rewards="exponential")
    campaign = Campaign(problem, budget=4, store=store)
    for pull in campaign.ask(4):
        campaign.tell(pull, 0.7)
    verdict = campaign.verdict()
    assert [verdict[arm].mean for arm in problem.arms] == [1.0, 0.0]
    assert campaign.problem == problem
    rows = campaign.access.do("look", lambda t, _: [p.reward for p in t.since(0)])
    assert rows == [0.7] * 4


def test_a_range_that_begins_at_one_is_counted_from_there():
    problem = Problem(arms=["low", "high"], threshold=3, rewards=Rewards("bounded", 1, 5))
    campaign = Campaign(problem, budget=20)
    while pull := campaign.ask():
        campaign.tell(pull, 2.0 if pull.arm == "low" else 4.0)
    verdict = campaign.verdict()
    assert (verdict.below, verdict.above) == (("low",), ("high",))
    assert (verdict["low"].mean, verdict["high"].mean) == (2.0, 4.0)
    assert audit(campaign).holds


# --- opening again -------------------------------------------------------------------------------


def test_a_campaign_is_taken_up_where_it_was(store):
    first = Campaign(COINS, budget=10, store=store, name="x")
    first.tell(first.ask(), 1, note="trace 17")
    again = Campaign(COINS, budget=10, store=store, name="x")
    assert again.spent == 1
    opened = Campaign.open(store, "x", problem=COINS)
    assert opened.problem == COINS
    assert opened.spent == 1


def test_another_problem_under_the_same_name_is_an_error_that_shows_the_difference(store):
    Campaign(COINS, budget=10, store=store)
    other = Problem(arms=["a", "b", "d"], threshold=0.5, precision=0.1, rewards="binary")
    with pytest.raises(DifferentCampaign, match=r"without c and with d"):
        Campaign(other, budget=10, store=store)
    with pytest.raises(DifferentCampaign, match="budget was 10 and is now 20"):
        Campaign(COINS, budget=20, store=store)
    lower = Problem(arms=["a", "b", "c"], threshold=0.4, precision=0.1, rewards="binary")
    with pytest.raises(DifferentCampaign, match=r"threshold of 'a' was 0.5 and is now 0.4"):
        Campaign.open(store, problem=lower)
    with pytest.raises(UnknownCampaign, match="'other'"):
        Campaign.open(store, "other")


def test_what_a_campaign_is_about_may_change_while_there_is_nothing_in_it(store):
    """A command that was mistyped need not be a campaign for ever; but two must not be mixed."""
    Campaign(COINS, budget=10, store=store, about={"command": "typo"})
    mine = Campaign(COINS, budget=10, store=store, about={"command": "mine"})
    pull = mine.ask()
    lower = Problem(arms=["a", "b", "c"], threshold=0.4, precision=0.1, rewards="binary")
    for problem in (COINS, lower):
        with pytest.raises(DifferentCampaign, match="command was 'mine' and is now 'other'"):
            Campaign(problem, budget=10, store=store, about={"command": "other"})
    mine.give_back(pull)
    with pytest.raises(DifferentCampaign, match=r"threshold of 'a' was 0.5 and is now 0.4"):
        Campaign(lower, budget=10, store=store, about={"command": "other"})
    Campaign(COINS, budget=10, store=store, about={"command": "mine"})  # the other left no trace


def test_many_campaigns_live_in_one_store(store):
    for name in ("one", "two", "three"):
        campaign = Campaign(COINS, budget=10, store=store, name=name)
        campaign.tell(campaign.ask(), 1)
    assert [head.name for head in store.heads()] == ["one", "two", "three"]
    store.delete("two")
    store.compact()
    assert [head.name for head in store.heads()] == ["one", "three"]
    assert Campaign.open(store, "three").spent == 1
    with pytest.raises(UnknownCampaign):
        Campaign.open(store, "two")


# --- what cannot be used live --------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["csar", "uniform", "tts", "aug-ucb"])
def test_a_policy_says_why_it_cannot_be_used_live(rule):
    with pytest.raises(ValueError, match="cannot be used live: it looks at all arms at once"):
        Campaign(COINS, rule, budget=10)


def test_a_rule_that_must_know_the_budget_needs_one():
    with pytest.raises(ValueError, match="must know the budget"):
        Campaign(COINS, "ucbe:1:5", confidence=0.9)
    with pytest.raises(ValueError, match="budget, a confidence"):
        Campaign(COINS)


def test_a_rule_that_goes_by_the_budget_is_placed_anew_when_it_is_extended(store):
    bandit = BANDITS["coins"]
    rule = cutline.parse_rule("ucbe:1:50")
    _, campaign = played(bandit, rule, 40, 1, store=store)
    campaign.extend(budget=40)
    for _ in range(40):
        pull = campaign.ask()
        campaign.tell(pull, drawn(bandit, int(pull.arm), pull.number, 1))
    assert audit(campaign).holds


def test_many_arms_are_asked_one_after_another_before_any_is_asked_again():
    problem = Problem(arms=20_000, threshold=0.5, rewards="binary")
    campaign = Campaign(problem, "apt", budget=30_000)
    pulls = campaign.ask(3)
    for pull in pulls:
        campaign.tell(pull, 1)
    assert not {pull.arm for pull in campaign.ask(1_000)} & {pull.arm for pull in pulls}


def test_the_memory_of_threads_is_one():
    store = MemoryStore()
    from concurrent.futures import ThreadPoolExecutor

    campaign = Campaign(COINS, budget=2_000, store=store)

    def work(_):
        while pull := campaign.ask():
            campaign.tell(pull, 1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert campaign.spent == 2_000
    assert audit(campaign).holds
    assert math.isfinite(campaign.verdict().error_bound)
    assert BetaMixture().name == campaign.verdict().evidence.name
