"""Many at once: the same digits as one by one, and as before there was a way to do it at once."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from cutline.core.bulk import log_beta_mills_many
from cutline.core.evidence import BetaMixture, Betting, Evidence, Ledger, arm_columns
from cutline.core.evidence.edges import edge_where
from cutline.core.problem import Problem
from cutline.core.tails import log_beta_mills


def coins_at(thresholds, precision):
    evidence = BetaMixture()
    thresholds = np.asarray(thresholds)
    problem = Problem(
        arms=len(thresholds),
        threshold=thresholds,
        precision=np.minimum(precision, np.minimum(thresholds, 1.0 - thresholds)),
        rewards="binary",
    )
    columns = evidence.columns(problem)
    return evidence, [
        {name: float(column[arm]) for name, column in columns.items()}
        for arm in range(len(thresholds))
    ]


def halved(excess, inside, end):
    """The edge as it was sought before: by halving, down to the last digit."""
    if excess(end) < 0.0:
        return end
    if excess(inside) >= 0.0:
        return inside
    outside = end
    while (middle := 0.5 * (inside + outside)) not in (inside, outside):
        inside, outside = (middle, outside) if excess(middle) < 0.0 else (inside, middle)
    return outside


def test_mills_ratios_of_many_have_the_digits_of_one():
    rng = np.random.default_rng(1)
    n = np.floor(10 ** rng.uniform(0, 5, 4000))
    a = np.floor(n * rng.random(4000) ** rng.choice([0.2, 1, 5], 4000)) + 0.5
    b = n + 1.0 - a
    x = rng.random(4000) ** rng.choice([0.1, 1, 9], 4000)
    x[:2000] = np.clip(a / n + rng.normal(size=4000) / np.sqrt(n), 1e-9, 1 - 1e-9)[:2000]
    many = log_beta_mills_many(x, 1.0 - x, a, b)
    one = [log_beta_mills(*map(float, each)) for each in zip(x, 1.0 - x, a, b, strict=True)]
    assert many.tolist() == one
    front = a * np.log(x) + b * np.log1p(-x) - special.betaln(a, b)
    tail = special.betainc(a, b, x)
    sure = tail > 1e-200
    assert np.log(tail[sure]) - front[sure] == pytest.approx(many[sure], rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_intervals_of_many_coins_are_those_of_one_and_those_by_halving(level):
    rng = np.random.default_rng(2)
    thresholds = rng.random(400)
    evidence, columns = coins_at(thresholds, 0.0)
    pulls = np.floor(10 ** rng.uniform(0, 5, 400)) - 1.0
    ones = np.floor(pulls * rng.random(400) ** rng.choice([0.1, 1, 9], 400))
    states = [
        {"pulls": n, "total": s, "squares": s, "step": n, **own}
        for n, s, own in zip(pulls.tolist(), ones.tolist(), columns, strict=True)
    ]
    log_level = math.log(2 * 400 / (1 - level))
    many = evidence.weights(states, log_level)
    assert many == Evidence.weights(evidence, states, log_level)
    for state, found in zip(states[::8], many[::8], strict=True):
        n, s = state["pulls"], state["total"]
        mean = s / max(n, 1.0)

        def lower(m, n=n, s=s):
            own = coin_columns(m, 0.5)
            return BetaMixture.log_above(n, s, m, 1.0, own["prior_above"]) - log_level

        def upper(m, n=n, s=s):
            own = coin_columns(0.5, m)
            return BetaMixture.log_below(n, s, m, 1.0, own["prior_below"]) - log_level

        wanted = halved(lower, mean, 0.0), halved(upper, mean, 1.0)
        assert found[:2] == pytest.approx(wanted, rel=1e-12, abs=0)


def coin_columns(low, high):
    from cutline.core.evidence.beta import log_beta_prior

    return {"prior_above": log_beta_prior(low), "prior_below": log_beta_prior(1.0 - high)}


@given(
    seed=st.integers(0, 10**6),
    arms=st.integers(1, 8),
    precision=st.sampled_from([0.0, 0.05, 0.2]),
    alike=st.booleans(),
    longest=st.sampled_from([3, 40, 400]),
)
@settings(max_examples=40, deadline=None)
def test_rewards_fed_in_bulk_give_the_numbers_of_one_by_one(seed, arms, precision, alike, longest):
    rng = np.random.default_rng(seed)
    thresholds = np.full(arms, rng.random()) if alike else rng.choice([0, 0.05, 0.5, 0.9, 1], arms)
    evidence, columns = coins_at(thresholds, precision)
    bulk = [Ledger(evidence, own) for own in columns]
    single = [Ledger(evidence, own) for own in columns]
    for _ in range(3):  # from nothing, and from what was fed before
        counts = rng.integers(0, longest + 1, arms)
        biases = np.repeat(rng.choice([0, 0.03, 0.5, 0.93, 1], arms), counts)
        rewards = (rng.random(counts.sum()) < biases).astype(float)
        evidence.feed_many(bulk, rewards, counts.tolist())
        Evidence.feed_many(evidence, single, rewards, counts.tolist())
        assert [each.numbers for each in bulk] == [each.numbers for each in single]
        assert [each.state for each in bulk] == [each.state for each in single]


def test_other_evidence_is_fed_one_by_one():
    evidence = Betting()
    own = arm_columns(evidence, Problem(arms=1, threshold=0.5, rewards="bounded"), 0)
    ledger, wanted = Ledger(evidence, own), Ledger(evidence, own)
    rewards = np.random.default_rng(3).random(50)
    evidence.feed_many([ledger], rewards, [50])
    for reward in rewards.tolist():
        wanted.feed(reward)
    assert ledger.numbers == wanted.numbers


def test_bounded_rewards_weighed_as_coins_are_fed_one_by_one():
    evidence = BetaMixture()
    own = arm_columns(evidence, Problem(arms=1, threshold=0.5, rewards="bounded"), 0)
    ledger, wanted = Ledger(evidence, own), Ledger(evidence, own)
    rewards = np.random.default_rng(3).random(50)
    evidence.feed_many([ledger], rewards, [50])
    for reward in rewards.tolist():
        wanted.feed(reward)
    assert ledger.numbers == wanted.numbers


@pytest.mark.parametrize("root", [1e-12, 1e-3, 0.3, 0.999999])
def test_an_edge_is_found_to_the_last_digits(root):
    calls = []

    def excess(m):
        calls.append(m)
        return (root - m) * 50 + (root - m) ** 3

    assert edge_where(excess, 1.0, 0.0) == pytest.approx(root, rel=1e-12)
    assert len(calls) < 40
    assert edge_where(lambda m: math.inf if m < root else -1.0, 1.0, 0.0) == pytest.approx(root)
