"""Anything may happen in any order: the campaign against a simple model, on every store."""

import math
import uuid

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cutline import Problem, judge
from cutline.campaign import Campaign, CampaignClosed, ConflictingTell, audit
from cutline.campaign.stores import MemoryStore
from cutline.campaign.stores.sqlite import SQLiteStore
from cutline.simulation.reference import tie_order

SEED, LEASE, PATIENCE = 3, 100.0, 3
TAU, EPS = 0.5, 0.1
UNLIKELY, LAST_RUN = 30.0, 5  # so that arms are suspended within a few pulls


class Arm:
    """All that is known of an arm in the model."""

    def __init__(self, cost):
        self.cost, self.status = cost, "open"
        self.rewards, self.streak, self.places, self.tripped = [], 0, 0, 0
        self.failing_from = 0
        self.line = {}  # what evidence takes, by place; None: nothing came of it
        self.fed, self.taken = 0, []  # places passed, and what was taken from them

    def settle(self, place, value):
        """A place in line is settled: evidence goes on as far as it can."""
        self.line[place] = value
        while self.fed in self.line:
            if self.line[self.fed] is not None:
                self.taken.append(self.line[self.fed])
            self.fed += 1

    def verdict(self):
        """What the rewards prove, in the order in which evidence took them."""
        problem = Problem(arms=1, threshold=TAU, precision=EPS, rewards="binary")
        return judge(problem, [self.taken]).arms[0]

    def closed(self, bar, arms):
        """Whether the side it is on is proven, with so many arms in all."""
        if bar is None or not self.rewards:
            return False
        said = self.verdict()
        above = sum(self.rewards) / len(self.rewards) >= TAU
        top = said.ledger.top_above if above else said.ledger.top_below
        return top >= math.log(arms / bar)

    def index(self, flying):
        """APT's, with pulls in flight taken for ones that returned the mean."""
        n = len(self.rewards)
        if n == 0:
            return -1e200 / (1 + flying) if flying < 5 else 1e301 * (1 + flying)
        m = n + flying
        total = sum(self.rewards) * m / n
        return (abs(total - m * TAU) + m * EPS) / math.sqrt(m)


class Model:
    """What a campaign is, written down in the plainest way: lists, looked through each time."""

    def __init__(self, costs, budget, lost):
        self.arms = [Arm(cost) for cost in costs]
        self.budget, self.lost = budget, lost
        self.pulls = {}  # handle -> [arm, state, value, expires, number, place, lost when]
        self.attached = 0
        self.spent, self.paused, self.closed = 0, False, False

    def flying(self, arm=None):
        return sum(p[1] == "asked" and arm in (None, p[0]) for p in self.pulls.values())

    def reserved(self):
        return sum(self.arms[p[0]].cost for p in self.pulls.values() if p[1] == "asked")

    def left(self):
        return self.budget - self.spent - self.reserved()

    def count(self, arm, value, cost):
        self.arms[arm].rewards.append(value)
        self.spent += cost

    def drop(self, pull, state):
        arm = self.arms[pull[0]]
        pull[1] = state
        if self.lost is None:
            # losses of pulls that were in flight together count once
            together = state == "lost" and pull[4] <= arm.tripped
            if not together:
                arm.failing_from = min(arm.failing_from, pull[4]) if arm.streak else pull[4]
                arm.streak += 1
            pull[6] = len(self.pulls)
            if state == "lost" and not together:
                arm.tripped = len(self.pulls)
        else:
            pull[2] = self.lost
            self.count(pull[0], self.lost, arm.cost)
        arm.settle(pull[5], self.lost)
        if self.lost is None and arm.status == "open" and self.broken(pull[0]):
            arm.status = "suspended"

    def rests(self, i):
        arm = self.arms[i]
        broken = arm.streak >= PATIENCE or (arm.streak > 0 and not arm.rewards)
        return broken and self.lost is None

    def healthy(self, i):
        return self.arms[i].streak < PATIENCE

    def asked_so_far(self):
        return len(self.pulls) + self.attached

    def broken(self, i):
        """Whether the longest run of failures since its last reward is not by chance."""
        if self.healthy(i):
            return False
        run = longest = told = failed = tripped = 0
        for arm, state, _, _, number, _, lost_when in self.pulls.values():
            if number < self.arms[i].failing_from:
                continue
            if arm != i:
                told += state in ("told", "late")
                failed += state in ("asked", "failed", "lost") and self.healthy(arm)
            elif state in ("told", "late"):
                run = longest = told = failed = 0
            elif state == "asked":
                run = 0
            elif state == "failed":
                run += 1
            elif state == "lost" and number > tripped:
                run += 1
                tripped = lost_when
            longest = max(longest, run)
        others = [k for k in range(len(self.arms)) if k != i]
        alone = not any(
            self.arms[k].status == "open"
            and not self.settled(k)
            and (not self.rests(k) or any(p[:2] == [k, "told"] for p in self.pulls.values()))
            for k in others
        )
        if alone:
            came = [(p[1], self.healthy(p[0])) for p in self.pulls.values() if p[0] != i]
            told = sum(state == "told" for state, _ in came)
            failed = sum(state in ("asked", "failed", "lost") and well for state, well in came)
        chance = 1.0
        for k in range(longest):
            chance *= (failed + 1 + k) / (told + failed + 1 + k)
        asked = self.asked_so_far()
        unlikely = chance * asked * (asked + 1) < UNLIKELY
        return longest >= PATIENCE and (
            unlikely or longest >= (LAST_RUN if alone else 10 * LAST_RUN)
        )

    def expire(self, now):
        over = [p for p in self.pulls.values() if p[1] == "asked" and p[3] <= now]
        for pull in sorted(over, key=lambda p: p[3]):
            self.drop(pull, "lost")

    def next_arm(self):
        order = tie_order(SEED, 0, len(self.arms))
        able = [i for i in order if self.arms[i].status == "open" and not self.settled(i)]
        able = [i for i in able if self.arms[i].cost <= self.left()]
        failed = any(p[1] in ("failed", "lost") for p in self.pulls.values())
        failed = failed and any(arm.rewards for arm in self.arms)
        turn = failed and (self.asked_so_far() + 1) % 4 == 0

        def stands(i):
            if self.rests(i):
                return not turn, self.arms[i].streak + self.flying(i)
            return turn, self.arms[i].index(self.flying(i))

        return min(able, key=stands, default=None)

    def settled(self, i):
        return self.arms[i].closed(self.bar, len(self.arms))

    def tell(self, handle, value, cost=None):
        """The answer, or the error's type."""
        pull = self.pulls[handle]
        arm = self.arms[pull[0]]
        cost = arm.cost if cost is None else cost
        if pull[1] == "asked":
            pull[1:3] = "told", value
            arm.streak = 0
            self.count(pull[0], value, cost)
            arm.settle(pull[5], value)
            return "counted"
        if pull[1] in ("lost", "returned"):
            if (pull[1] == "lost" and self.lost is not None) or self.left() < cost:
                pull[1:3] = "late", value
                return "late"
            pull[1:3] = "told", value
            arm.streak = 0
            self.count(pull[0], value, cost)
            if pull[5] < arm.fed:  # its turn has passed, so it is now
                arm.taken.append(value)
            else:
                arm.settle(pull[5], value)
            return "counted"
        if pull[1] == "failed" or pull[2] != value:
            return ConflictingTell
        return "late" if pull[1] == "late" else "again"

    def fail(self, handle):
        pull = self.pulls[handle]
        if pull[1] == "asked":
            self.drop(pull, "failed")
            return "counted"
        return {"told": ConflictingTell, "failed": "again"}.get(pull[1], "late")


class Machine(RuleBasedStateMachine):
    store = None
    clock = None

    @initialize(
        costs=st.lists(st.sampled_from([1, 1, 1, 2, 5]), min_size=1, max_size=5),
        budget=st.integers(1, 40),
        lost=st.sampled_from([None, None, 0.0]),
        confidence=st.sampled_from([None, None, 0.6]),
    )
    def begin(self, costs, budget, lost, confidence):
        names = [f"arm {i}" for i in range(len(costs))]
        problem = Problem(arms=names, threshold=TAU, precision=EPS, rewards="binary")
        self.name = uuid.uuid4().hex
        self.campaign = Campaign(
            problem, "apt", budget=budget, confidence=confidence, store=self.store, name=self.name,
            seed=SEED, lost=lost, cost=costs, lease=LEASE, patience=PATIENCE,
        )  # fmt: skip
        self.model = Model(costs, budget, lost)
        self.model.bar = None if confidence is None else 1.0 - confidence
        self.handles = []

    def expect(self, wanted, do):
        """Do it, and see the answer or the error that the model gives."""
        if self.model.closed:
            with pytest.raises(CampaignClosed):
                do()
        elif isinstance(wanted, type):
            with pytest.raises(wanted):
                do()
        else:
            assert do() == wanted

    @rule(n=st.integers(1, 6), seconds=st.sampled_from([LEASE, LEASE / 2, 3 * LEASE]))
    def ask(self, n, seconds):
        model = self.model
        if model.closed:
            with pytest.raises(CampaignClosed):
                self.campaign.ask(n)
            return
        pulls = self.campaign.ask(n, lease=seconds)
        model.expire(self.clock.now)
        if model.paused:
            assert (pulls, pulls.why) == ((), "paused")
            return
        for pull in pulls:
            wanted = model.next_arm()
            assert wanted is not None, f"{pull} could not be paid"
            assert pull.arm == f"arm {wanted}"
            arm = model.arms[wanted]
            assert (pull.number, pull.cost) == (arm.places, arm.cost)
            number, ends = len(model.pulls) + 1, self.clock.now + seconds
            model.pulls[pull.id] = [wanted, "asked", None, ends, number, arm.places, 0]
            arm.places += 1
            self.handles.append(pull.id)
        assert len(set(self.handles)) == len(self.handles)
        if not pulls:
            assert model.next_arm() is None
            standing = any(
                arm.status != "retired" and not model.settled(i) for i, arm in enumerate(model.arms)
            )
            assert pulls.why == ("wait" if model.flying() and standing else "done")
            if pulls.why == "wait":
                ends = [p[3] for p in model.pulls.values() if p[1] == "asked"]
                assert pulls.until == min(ends)
        elif len(pulls) < n:  # fewer only where costs differ or the budget ends
            assert len({arm.cost for arm in model.arms}) > 1 or model.next_arm() is None

    @precondition(lambda self: self.handles)
    @rule(data=st.data(), value=st.sampled_from([0.0, 1.0]))
    def tell(self, data, value):
        handle = data.draw(st.sampled_from(self.handles[-12:]))
        wanted = CampaignClosed if self.model.closed else self.model.tell(handle, value)
        self.expect(wanted, lambda: self.campaign.tell(handle, value))

    @precondition(lambda self: self.handles)
    @rule(data=st.data(), value=st.sampled_from([0.0, 1.0]), share=st.sampled_from([0, 1]))
    def tell_cheaper(self, data, value, share):
        handle = data.draw(st.sampled_from(self.handles[-12:]))
        cost = share * self.model.arms[self.model.pulls[handle][0]].cost
        wanted = CampaignClosed if self.model.closed else self.model.tell(handle, value, cost)
        self.expect(wanted, lambda: self.campaign.tell(handle, value, cost=cost))

    @precondition(lambda self: self.handles and not self.model.closed)
    @rule(data=st.data())
    def tell_many(self, data):
        chosen = data.draw(st.lists(st.sampled_from(self.handles[-12:]), max_size=8))
        values = [data.draw(st.sampled_from([0.0, 1.0])) for _ in chosen]
        before = self.campaign.verdict().columns()
        if self._conflicts(chosen, values):
            with pytest.raises(ConflictingTell):
                self.campaign.tell_many(zip(chosen, values, strict=True))
            same = str(self.campaign.verdict().columns()) == str(before)
            assert same, "a refused tell_many changed something"
            return
        pairs = list(zip(chosen, values, strict=True))
        assert self.campaign.tell_many(pairs) == [self.model.tell(h, v) for h, v in pairs]

    def _conflicts(self, chosen, values):
        said = {}
        for handle, value in zip(chosen, values, strict=True):
            _, state, old, *_ = self.model.pulls[handle]
            if said.setdefault(handle, value) != value:
                return True
            if state == "failed" or (state in ("told", "late") and old != value):
                return True
        return False

    @precondition(lambda self: self.handles)
    @rule(data=st.data())
    def fail(self, data):
        handle = data.draw(st.sampled_from(self.handles[-12:]))
        wanted = CampaignClosed if self.model.closed else self.model.fail(handle)
        self.expect(wanted, lambda: self.campaign.fail(handle, note="no"))

    @precondition(lambda self: self.handles and not self.model.closed)
    @rule(data=st.data())
    def heartbeat(self, data):
        handle = data.draw(st.sampled_from(self.handles[-12:]))
        pull = self.model.pulls[handle]
        assert self.campaign.heartbeat(handle) == [pull[1] == "asked"]
        if pull[1] == "asked":
            pull[3] = self.clock.now + LEASE

    @precondition(lambda self: self.handles and not self.model.closed)
    @rule(data=st.data())
    def give_back(self, data):
        handle = data.draw(st.sampled_from(self.handles[-12:]))
        pull = self.model.pulls[handle]
        assert self.campaign.give_back(handle) == [pull[1] == "asked"]
        if pull[1] == "asked":
            pull[1] = "returned"
            self.model.arms[pull[0]].settle(pull[5], None)

    @rule(seconds=st.sampled_from([1.0, LEASE / 3, LEASE, 2 * LEASE]))
    def time_passes(self, seconds):
        self.clock.pass_(seconds)

    @precondition(lambda self: not self.model.closed and len(self.model.arms) < 8)
    @rule(cost=st.sampled_from([1, 3]))
    def add(self, cost):
        name = f"arm {len(self.model.arms)}"
        self.campaign.add(name, cost=cost)
        self.model.arms.append(Arm(cost))
        with pytest.raises(ValueError, match="already"):
            self.campaign.add(name)

    @precondition(lambda self: not self.model.closed)
    @rule(data=st.data())
    def retire(self, data):
        arm = data.draw(st.integers(0, len(self.model.arms) - 1))
        self.campaign.retire(f"arm {arm}")
        self.model.arms[arm].status = "retired"

    @precondition(lambda self: not self.model.closed)
    @rule(data=st.data())
    def resume_arm(self, data):
        arm = data.draw(st.integers(0, len(self.model.arms) - 1))
        if self.model.arms[arm].status == "retired":
            with pytest.raises(ValueError, match="for good"):
                self.campaign.resume(f"arm {arm}")
            return
        self.campaign.resume(f"arm {arm}")
        if self.model.arms[arm].status == "suspended":
            self.model.arms[arm].status, self.model.arms[arm].streak = "open", 0

    @precondition(lambda self: not self.model.closed)
    @rule(
        data=st.data(), values=st.lists(st.sampled_from([0.0, 1.0]), max_size=4), way=st.booleans()
    )
    def attach(self, data, values, way):
        arm = data.draw(st.integers(0, len(self.model.arms) - 1))
        self.campaign.attach(f"arm {arm}", values, unpicked=way)
        self.model.arms[arm].rewards += values
        self.model.attached += len(values)
        for value in values:
            self.model.arms[arm].settle(self.model.arms[arm].places, value if way else None)
            self.model.arms[arm].places += 1

    @precondition(lambda self: not self.model.closed)
    @rule()
    def pause_or_resume(self):
        if self.model.paused:
            self.campaign.resume()
        else:
            self.campaign.pause()
        self.model.paused = not self.model.paused

    @precondition(lambda self: not self.model.closed)
    @rule(more=st.integers(1, 10))
    def extend(self, more):
        self.campaign.extend(budget=more)
        self.model.budget += more

    @rule()
    def look(self):
        self.campaign.verdict()

    @rule()
    def open_again(self):
        self.campaign = Campaign.open(self.store, self.name)

    @precondition(lambda self: len(self.handles) > 8)
    @rule()
    def close(self):
        self.campaign.close()
        self.model.closed = True

    @invariant()
    def counters_agree(self):
        model, campaign = self.model, self.campaign
        assert campaign.spent == model.spent
        assert campaign.in_flight == model.flying()
        assert campaign.budget == model.budget
        assert campaign.spent + model.reserved() <= campaign.budget

    def teardown(self):
        if not hasattr(self, "model"):
            return
        verdict = self.campaign.verdict()
        for i, arm in enumerate(self.model.arms):
            said = verdict[f"arm {i}"]
            states = [p[1] for p in self.model.pulls.values() if p[0] == i]
            assert said.pulls == len(arm.rewards)
            assert said.status == arm.status
            assert said.counts.asked == len(states)
            for state in ("told", "failed", "lost", "late", "returned"):
                assert getattr(said.counts, state) == states.count(state)
            if arm.rewards:
                assert said.mean == pytest.approx(sum(arm.rewards) / len(arm.rewards))
                top = arm.verdict().ledger
                spoken = top.top_above if said.side == "above" else top.top_below
                assert said.p_value == pytest.approx(math.exp(-spoken), rel=1e-9)
        found = audit(self.campaign)
        assert found.holds, found.faults


@pytest.fixture(autouse=True)
def _arms_are_suspended_sooner(monkeypatch):
    monkeypatch.setattr("cutline.campaign.moves.suspending.FALSE_SUSPENSION", UNLIKELY)
    monkeypatch.setattr("cutline.campaign.moves.suspending.LAST_RUN", LAST_RUN)


def play(store, clock, examples, steps=30):
    """Let the machine run on a store."""
    kind = type("OnStore", (Machine,), {"store": store, "clock": clock})
    run_state_machine_as_test(
        kind,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_anything_may_happen_in_memory(clock):
    play(MemoryStore(clock), clock, 150)


def test_anything_may_happen_in_a_file(tmp_path, clock):
    store = SQLiteStore(tmp_path / "store.db", clock)
    play(store, clock, 25)
    store.release()


def test_anything_may_happen_on_a_server(database, clock):
    from cutline.campaign.stores.postgres import PostgresStore

    store = PostgresStore(database, clock)
    play(store, clock, 15)
    store.release()
