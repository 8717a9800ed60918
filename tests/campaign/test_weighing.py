"""Evidence weighed in bulk: the numbers of weighing one by one, from every store."""

import random

import numpy as np
import pytest

from cutline import Problem, Rewards
from cutline.campaign import Campaign
from cutline.campaign.audit import audit
from cutline.campaign.looking import what_if
from cutline.campaign.records import ASKED, ATTACHED_UNWEIGHED
from cutline.core.evidence import Evidence

KINDS = {
    "coins": Problem(
        arms=5, threshold=[0.2, 0.5, 0.5, 0.9, 0.99], precision=0.01, rewards="binary"
    ),
    "levels": Problem(
        arms=5, threshold=0.5, level=[-1, 0, 0, 1, 2], precision=0.1, rewards="gaussian"
    ),
    "bounded": Problem(
        arms=5, threshold=1.0, precision=0.1, rewards=Rewards("bounded", low=-1, high=3)
    ),
    "normal": Problem(arms=5, threshold=[0, 1, 2, 3, 4], precision=0.1, rewards="gaussian"),
}


def deal(campaign, kind, moves, seed):
    """Random asks, tells in any order, failures, gifts back, attached results, late tells."""
    chance = random.Random(seed)
    out, gone = [], []
    for _ in range(moves):
        way = chance.random()
        if way < 0.45:
            out += campaign.ask(chance.randint(1, 2)) or []
        elif way < 0.9 and out:
            pull = out.pop(chance.randrange(len(out)))
            if chance.random() < 0.15:
                campaign.give_back(pull)
                gone.append(pull)
            elif chance.random() < 0.1:
                campaign.fail(pull)
            else:
                campaign.tell(pull, reward(kind, int(pull.arm), chance))
        elif way < 0.95 and gone:
            pull = gone.pop()
            campaign.tell(pull, reward(kind, int(pull.arm), chance))
        elif way < 0.97:
            arm = chance.randrange(5)
            values = [reward(kind, arm, chance) for _ in range(chance.randint(1, 9))]
            campaign.attach(str(arm), values, unpicked=chance.random() < 0.5)
        elif way > 0.99:
            campaign.verdict()


def reward(kind, arm, chance):
    if kind == "coins":
        return float(chance.random() < arm / 4)
    return chance.uniform(-1, 3) if kind == "bounded" else chance.gauss(arm / 2, 1)


def one_by_one(t, terms):
    """How it was done before: pull by pull, in the order asked for."""
    head, stuck = t.head, None
    for pull in list(t.since(head.weighed)):
        arm = t.arm(pull.arm)
        if pull.nth == arm.fed and pull.state != ASKED:
            arm.fed += 1
            if pull.reward is not None and pull.state != ATTACHED_UNWEIGHED:
                ledger = terms.ledger(arm)
                ledger.feed(terms.reward(arm, pull.reward))
                arm.proof = ledger.numbers
            t.save(arm)
        elif pull.nth >= arm.fed and stuck is None:
            stuck = pull.seq
    head.weighed = head.pulls if stuck is None else stuck


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["memory", "file"])
def test_bulk_gives_the_numbers_of_one_by_one(kind, where, tmp_path, monkeypatch):
    from cutline.campaign.moves import telling, weighing

    for seed in range(3):
        state = random.getstate()
        found = []
        for way in (weighing.weigh, one_by_one):
            for module in (telling, weighing):
                monkeypatch.setattr(module, "weigh", way)
            monkeypatch.setattr("cutline.campaign.moves.weigh", way)
            store = None if where == "memory" else str(tmp_path / f"{seed} {way.__name__}.db")
            campaign = Campaign(KINDS[kind], budget=400, store=store, seed=seed)
            deal(campaign, kind, 300, seed)
            campaign.verdict()
            campaign.access.do("weigh", way)
            found.append(
                campaign.access.do(
                    "look",
                    lambda t, terms: (
                        t.head.weighed,
                        [(arm.fed, arm.proof) for arm in t.all_arms()],
                    ),
                )
            )
            assert audit(campaign).holds
        random.setstate(state)
        assert found[0] == found[1]
        assert sum(fed for fed, _ in found[0][1]) > 40  # or this shows nothing
        monkeypatch.undo()


def test_a_what_if_weighs_in_bulk_what_was_told(monkeypatch):
    campaign = Campaign(KINDS["coins"], budget=400)
    deal(campaign, "coins", 500, 4)
    quick = what_if(campaign, threshold=0.6, precision=0.05).columns()
    monkeypatch.setattr("cutline.core.evidence.BetaMixture.feed_many", Evidence.feed_many)
    assert quick == what_if(campaign, threshold=0.6, precision=0.05).columns()


def test_a_trial_in_flight_holds_back_those_behind_it():
    campaign = Campaign(Problem(arms=1, threshold=0.5, rewards="binary"), budget=200)
    pulls = campaign.ask(100)
    campaign.tell_many((pull, 1) for pull in pulls[1:])
    assert campaign.verdict()["0"].ledger.state["pulls"] == 0
    campaign.tell(pulls[0], 0)
    assert campaign.verdict()["0"].ledger.state["pulls"] == 100


def test_only_what_changed_is_worked_out_again(monkeypatch):
    """Same tallies are worked out once, and after one more reward one arm is."""
    asked = []
    weights = Evidence.weights

    def watched(self, states, log_level):
        asked.append(len(states))
        return weights(self, states, log_level)

    monkeypatch.setattr("cutline.core.evidence.BetaMixture.weights", watched)
    rng = np.random.default_rng(1)
    problem = Problem(arms=300, threshold=0.5, precision=0.1, rewards="binary")
    campaign = Campaign(problem, budget=10**4)
    for name in problem.arms:
        campaign.attach(name, (rng.random(6) < 0.5).astype(float), unpicked=True)
    first = campaign.verdict()
    before = first.columns()
    assert asked == [7]  # of six tosses none to six are heads
    assert campaign.verdict().columns() == before
    assert sum(asked) == 7
    campaign.attach("17", [1.0], unpicked=True)
    after = campaign.verdict().columns()
    assert sum(asked) == 8
    assert first.columns() == before  # a verdict is of its moment
    changed = [i for i in range(300) if after["pulls"][i] != before["pulls"][i]]
    assert changed == [17]
    same = [i for i in range(300) if i != 17]
    for name, column in after.items():
        assert [column[i] for i in same] == [before[name][i] for i in same]
