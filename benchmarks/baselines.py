"""What one would write instead of cutline's compiled simulator, for the benchmark to beat.

Several ways to play the same games: pull every arm once, then by APT the arm of least
(|S - n tau| + n eps) / sqrt(n), the lowest-numbered one of a tie. Each returns how many games
are wrong at each horizon 1, ..., budget. A game is wrong while an arm with mean >= threshold +
precision has not been accepted (empirical mean >= threshold), or one with mean < threshold -
precision not rejected; an arm not yet pulled is neither. `sd` is the Gaussian rewards' standard
deviation, None for Bernoulli rewards.
"""

import math
import os
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np

THREE_GROUPS = (0.1, 0.1, 0.1, 0.35, 0.45, 0.55, 0.65, 0.9, 0.9, 0.9)


def costs(means: Sequence[float], threshold: float, precision: float) -> list[int]:
    """What accepting each arm adds to a game's mistakes: 1 if it is low, -1 if high, else 0."""
    low, high = threshold - precision, threshold + precision
    return [1 if mean < low else -1 if mean >= high else 0 for mean in means]


def python_apt(
    means: Sequence[float],
    sd: float | None,
    threshold: float,
    precision: float,
    budget: int,
    games: int,
    seed: int,
) -> np.ndarray:
    """Play in pure Python, one game at a time."""
    rng = random.Random(seed)
    uniform, gauss = rng.random, rng.gauss
    cost, roots = costs(means, threshold, precision), [math.sqrt(n) for n in range(budget + 1)]
    arms, errors = len(means), [0] * budget
    for _ in range(games):
        pulls, totals = [0] * arms, [0.0] * arms
        index = [-1.0] * arms  # below any real index, so every arm comes up once
        above = [c > 0 for c in cost]  # the wrong answer, until the arm is pulled
        mistakes = sum(map(abs, cost))
        for step in range(budget):
            arm = index.index(min(index))
            pulls[arm] = n = pulls[arm] + 1
            reward = uniform() < means[arm] if sd is None else gauss(means[arm], sd)
            totals[arm] = total = totals[arm] + reward
            distance = total - n * threshold
            index[arm] = (abs(distance) + n * precision) / roots[n]
            if above[arm] != (distance >= 0):
                above[arm] = not above[arm]
                mistakes += cost[arm] if above[arm] else -cost[arm]
            errors[step] += mistakes > 0
    return np.array(errors)


def plain_numpy_apt(
    means: Sequence[float],
    sd: float | None,
    threshold: float,
    precision: float,
    budget: int,
    games: int,
    seed: int,
    batch: int = 2_000,
) -> np.ndarray:
    """Play `batch` games at once in NumPy as one would at first: `argmin`, then one arm a game."""
    rng = np.random.Generator(np.random.SFC64(seed))
    mu, arms = np.array(means), len(means)
    cost = np.array(costs(means, threshold, precision))
    errors = np.zeros(budget, np.int64)
    for done in range(0, games, batch):
        size = min(batch, games - done)
        rows = np.arange(size)
        pulls, total = np.zeros((size, arms)), np.zeros((size, arms))
        index = np.full((size, arms), -1.0)  # below any real index, so every arm comes up once
        wrong = np.broadcast_to(cost != 0, (size, arms)).copy()
        mistakes = wrong.sum(axis=1)
        for step in range(budget):
            arm = index.argmin(axis=1)
            noise = rng.random(size) < mu[arm] if sd is None else rng.normal(mu[arm], sd)
            n = pulls[rows, arm] + 1.0
            s = total[rows, arm] + noise
            pulls[rows, arm] = n
            total[rows, arm] = s
            distance = s - n * threshold
            index[rows, arm] = (np.abs(distance) + n * precision) / np.sqrt(n)
            now = np.where(distance >= 0, cost[arm] > 0, cost[arm] < 0)
            mistakes += now.astype(np.int64) - wrong[rows, arm]
            wrong[rows, arm] = now
            errors[step] += np.count_nonzero(mistakes)
    return errors


def numpy_apt(
    means: Sequence[float],
    sd: float | None,
    threshold: float,
    precision: float,
    budget: int,
    games: int,
    seed: int,
    batch: int = 8_000,
) -> np.ndarray:
    """Play `batch` games at once in NumPy, on one core."""
    rng = np.random.Generator(np.random.SFC64(seed))
    errors = np.zeros(budget, np.int64)
    for done in range(0, games, batch):
        size = min(batch, games - done)
        errors += numpy_batch(rng, np.array(means), sd, threshold, precision, budget, size)
    return errors


def numpy_batch(
    rng: np.random.Generator,
    means: np.ndarray,
    sd: float | None,
    tau: float,
    eps: float,
    budget: int,
    games: int,
    block: int = 16,
) -> np.ndarray:
    """One batch: row i is arm i, column j is game j.

    `argmin` and scattered writes are what costs. So an arm's index, its number and its pulls
    share one integer: the index's float64 bits order as they do when read as an int64, and their
    lowest ones (13 of 52 for 10 arms and 500 pulls) make room for the rest. Then a plain minimum,
    several times faster than `argmin`, finds the arm and its pulls too.
    """
    arms, cost = len(means), np.array(costs(means.tolist(), tau, eps))[:, None]
    bad = np.where(cost == 0, 2, cost > 0).astype(np.uint8)  # the wrong value of `above`, if any
    wide = budget.bit_length()
    low = (1 << wide + (arms - 1).bit_length()) - 1
    columns, roots = np.arange(games), np.sqrt(np.arange(budget + 1))

    def draw(out: np.ndarray) -> None:
        if sd is None:
            rng.random(out=out)
        else:
            np.multiply(rng.standard_normal(out=out), sd, out=out)

    draw(first := np.empty((arms, games)))
    totals = (first < means[:, None]) * 1.0 if sd is None else first + means[:, None]
    keys = (np.abs(totals - tau) + eps).view(np.int64) & ~low
    keys |= (np.arange(arms)[:, None] << wide) + 1
    above = (totals >= tau).view(np.uint8)
    wrong = above == bad
    errors = [(wrong[: t + 1].any(0) | cost[t + 1 :].any()).sum() for t in range(arms)]

    at_totals, at_keys, at_above = totals.reshape(-1), keys.reshape(-1), above.reshape(-1)
    key, arm, cell, n = np.empty((4, games), np.int64)
    mean, total, distance, index, pulls = np.empty((5, games))
    up, lost = np.empty((2, games), bool)
    noise = np.empty((block, games))
    for step in range(budget - arms):
        if step % block == 0:
            draw(noise)
        np.minimum.reduce(keys, axis=0, out=key)
        key &= low
        key += 1  # one more pull
        np.right_shift(key, wide, out=arm)
        np.bitwise_and(key, (1 << wide) - 1, out=n)
        np.copyto(pulls, n)
        np.multiply(arm, games, out=cell)
        cell += columns
        means.take(arm, out=mean, mode="clip")  # clip: "raise" would copy `out`
        at_totals.take(cell, out=total, mode="clip")
        if sd is None:
            total += np.less(noise[step % block], mean, out=up)
        else:
            total += np.add(noise[step % block], mean, out=mean)
        at_totals[cell] = total
        np.subtract(total, np.multiply(pulls, tau, out=distance), out=distance)
        at_above[cell] = np.greater_equal(distance, 0, out=up).view(np.uint8)
        np.abs(distance, out=distance)
        pulls *= eps
        distance += pulls
        np.divide(distance, roots.take(n, out=index, mode="clip"), out=index)
        bits = index.view(np.int64)
        bits &= ~low
        bits |= key
        at_keys[cell] = bits
        np.equal(above, bad, out=wrong)
        errors.append(np.count_nonzero(np.logical_or.reduce(wrong, axis=0, out=lost)))
    return np.array(errors[:budget])


def plain_jax_apt(
    means: Sequence[float],
    sd: float | None,
    threshold: float,
    precision: float,
    budget: int,
    games: int,
    seed: int,
    batch: int = 20_000,
    dtype: str = "float64",
) -> np.ndarray:
    """Play `batch` games at once in JAX as one would at first: `argmin`, then a mask."""
    import jax

    with jax.enable_x64(dtype == "float64"):
        program = plain_jax_program(tuple(means), sd, threshold, precision, budget, batch, dtype)
        keys = jax.random.split(jax.random.key(seed), math.ceil(games / batch))
        return np.asarray(sum(np.asarray(program(key)) for key in keys))


@cache
def plain_jax_program(
    means: tuple[float, ...],
    sd: float | None,
    tau: float,
    eps: float,
    budget: int,
    games: int,
    dtype: str,
) -> Callable[[Any], Any]:
    """One batch in one `scan`: row j is game j, column i is arm i."""
    import jax
    from jax import numpy as jnp

    mu, arms = np.array(means, dtype), np.arange(len(means))
    cost = np.array(costs(means, tau, eps))

    def step(state: Any, key: Any) -> Any:
        pulls, total, index = state
        arm = jnp.argmin(index, axis=1)
        mean = jnp.asarray(mu)[arm]
        if sd is None:
            reward = (jax.random.uniform(key, (games,), dtype) < mean).astype(dtype)
        else:
            reward = mean + sd * jax.random.normal(key, (games,), dtype)
        pulled = arm[:, None] == arms
        pulls = pulls + pulled
        total = total + jnp.where(pulled, reward[:, None], 0)
        seen = jnp.maximum(pulls, 1)
        new = (jnp.abs(total - pulls * tau) + pulls * eps) / jnp.sqrt(seen)
        index = jnp.where(pulled, new, index)
        wrong = jnp.where(total >= pulls * tau, cost > 0, cost < 0) | ((pulls == 0) & (cost != 0))
        return (pulls, total, index), jnp.any(wrong, axis=1).sum()

    @jax.jit
    def play(key: Any) -> Any:
        none = jnp.zeros((games, len(means)), dtype)
        return jax.lax.scan(step, (none, none, none - 1), jax.random.split(key, budget))[1]

    return play


def jax_apt(
    means: Sequence[float],
    sd: float | None,
    threshold: float,
    precision: float,
    budget: int,
    games: int,
    seed: int,
    batch: int = 2_000,
    dtype: str = "float32",
    workers: int | None = None,
) -> np.ndarray:
    """Play `batch` games at once in JAX, a batch on each of `workers` cores (all, if None).

    A second call with the same settings finds the program compiled. A power of two makes a poor
    `batch`: its rows fall on the same cache lines, and the speed halves.
    """
    import jax

    batch = min(batch, games)
    program = jax_program(tuple(means), sd, threshold, precision, budget, batch, dtype)

    def play(number: int) -> np.ndarray:
        # These two hold for one thread. The older threefry counter takes half the work.
        with jax.enable_x64(dtype == "float64"), jax.threefry_partitionable(False):
            key = jax.random.fold_in(jax.random.key(seed), number)
            return np.asarray(program(key, min(batch, games - number * batch)))

    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        return np.asarray(sum(pool.map(play, range(math.ceil(games / batch)))))


@cache
def jax_program(
    means: tuple[float, ...],
    sd: float | None,
    tau: float,
    eps: float,
    budget: int,
    games: int,
    dtype: str,
    block: int = 10,
) -> Callable[[Any, int], Any]:
    """Compile one batch: row i is arm i, column j is game j, of which the first `live` count.

    XLA repeats for every arm whatever it can fuse into an (arms, games) result. So a step only
    records what it pulled, and the next step writes that into the rows: selections alone, with
    no square root or reward among them. One reduction, simpler than `argmin`, finds the arm of
    least index together with all that is known of it.
    """
    import jax
    from jax import lax
    from jax import numpy as jnp

    arms, real = len(means), np.dtype(dtype).type
    mean_of, arm_of = np.array(means, dtype)[:, None], np.arange(arms, dtype=np.int32)[:, None]
    cost_of = np.array(costs(means, tau, eps), np.int32)[:, None]

    def draw(key: Any, shape: tuple[int, int]) -> Any:
        if sd is None:
            return jax.random.uniform(key, shape, dtype)
        return real(sd) * jax.random.normal(key, shape, dtype)

    def reward(noise: Any, mean: Any) -> Any:
        return (noise < mean).astype(dtype) if sd is None else noise + mean

    def index(pulls: Any, total: Any) -> Any:
        return (jnp.abs(total - pulls * tau) + pulls * eps) / jnp.sqrt(pulls)

    def lesser(one: Any, other: Any) -> Any:
        return tuple(jnp.where(other[0] < one[0], o, i) for i, o in zip(one, other, strict=True))

    def step(alive: Any, state: Any, noise: Any) -> Any:
        rows, (arm, *last), mistakes = state
        rows = [jnp.where(arm == arm_of, new, old) for new, old in zip(last, rows, strict=True)]
        known = [*rows, *(jnp.broadcast_to(x, (arms, games)) for x in (arm_of, mean_of, cost_of))]
        start = [real(np.inf), *(x.dtype.type(0) for x in known[1:])]
        _, n, total, arm, mean, cost = lax.reduce(known, start, lesser, (0,))
        was_above = total >= n * tau
        n, total = n + 1, total + reward(noise, mean)
        mistakes += cost * ((total >= n * tau).astype(np.int32) - was_above.astype(np.int32))
        wrong = ((mistakes > 0) & alive).sum(dtype=np.int32)
        return (rows, (arm, index(n, total), n, total), mistakes), wrong

    @jax.jit
    def play(key: Any, live: int) -> Any:
        keys = jax.random.split(key, 1 + max(0, math.ceil((budget - arms) / block)))
        alive = np.arange(games) < live
        totals = reward(draw(keys[0], (arms, games)), mean_of)
        pulls = jnp.ones_like(totals)
        wrong = jnp.where(totals >= tau, cost_of > 0, cost_of < 0)
        early = [(wrong[: t + 1].any(0) | cost_of[t + 1 :].any()) & alive for t in range(arms)]
        rows = [index(pulls, totals), pulls, totals]
        last = (jnp.zeros(games, np.int32), *(row[0] for row in rows))
        state = (rows, last, wrong.sum(0, dtype=np.int32))

        def steps(state: Any, key: Any) -> Any:
            return lax.scan(partial(step, alive), state, draw(key, (block, games)))

        _, later = lax.scan(steps, state, keys[1:])
        errors = [jnp.stack(early).sum(1, dtype=np.int32), later.reshape(-1)]
        return jnp.concatenate(errors)[:budget]

    return play


if __name__ == "__main__":
    for sd in (None, 0.5):
        for play, games in (
            (python_apt, 500),
            (plain_numpy_apt, 8_000),
            (numpy_apt, 16_000),
            (jax_apt, 64_000),
        ):
            settings = (THREE_GROUPS, sd, 0.5, 0.1, 500, games)
            play(*settings, seed=0)  # JAX compiles here
            start = time.perf_counter()
            errors = play(*settings, seed=1)
            speed = games * 500 / (time.perf_counter() - start)
            rates = " ".join(f"{rate:.4f}" for rate in errors[99::100] / games)
            print(f"{play.__name__:10} sd={sd}: {speed / 1e6:5.1f} M pulls/s, error {rates}")
