"""How often healthy arms are suspended, and broken ones are not, where calls fail by chance.

    python tools/suspensions.py [CAMPAIGNS OF EACH KIND, 100 unless said]

plays campaigns with `identify`, threads and coroutines, 8, 64 and 512 trials in flight, 10 % and
40 % failing calls, with and without an arm that always fails; failures come back at once, rewards
after a moment, which is the harder way round. It prints a line for each kind and exits with 1 if
any campaign suspended another arm than the broken one.
"""

import asyncio
import random
import sys
import time
import warnings

from cutline.campaign import Campaign, MemoryStore, Pull, identify

ARMS, BUDGET, MOMENT = 12, 1_500, 0.002
BROKEN = "broken"


def play(share: float, workers: int, kind: str, broken: bool, seed: int) -> tuple[set[str], int]:
    """One campaign; the arms it suspended, and how many failures that took."""
    arms: dict[str, float | None] = {f"arm {i}": 0.05 + 0.9 * i / ARMS for i in range(ARMS)}
    if broken:
        arms[BROKEN] = None

    def came(bias: float | None, pull: Pull) -> bool:
        luck = random.Random(pull.seed ^ seed << 32)
        if bias is None or luck.random() < share:
            raise ConnectionError("too many requests")
        return luck.random() < bias

    def call(bias: float | None, pull: Pull) -> bool:
        reward = came(bias, pull)
        time.sleep(MOMENT)
        return reward

    async def later(bias: float | None, pull: Pull) -> bool:
        reward = came(bias, pull)
        await asyncio.sleep(MOMENT)
        return reward

    store = MemoryStore()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        identify(
            call if kind == "threads" else later, arms, threshold=0.5, precision=0.05,
            rewards="binary", budget=BUDGET, workers=workers, seed=seed, store=store,
        )  # fmt: skip
    campaign = Campaign.open(store)
    found = campaign.suspended()
    counts = campaign.verdict()[BROKEN].counts if broken else None
    return set(found), counts.failed if counts is not None else 0


def main(campaigns: int) -> int:
    """All kinds."""
    wrong = 0
    print("failing  in flight  made by     broken  as it should be  failures of the broken arm")
    for share in (0.1, 0.4):
        for workers in (8, 64, 512):
            for kind in ("threads", "coroutines"):
                for broken in (False, True):
                    wanted: set[str] = {BROKEN} if broken else set()
                    runs = [play(share, workers, kind, broken, seed) for seed in range(campaigns)]
                    good = sum(found == wanted for found, _ in runs)
                    wrong += campaigns - good
                    took = sorted(failed for _, failed in runs)
                    most = f"{took[len(took) // 2]} (median), {took[-1]} (most)" if broken else ""
                    print(
                        f"{share:7.0%}  {workers:9}  {kind:10}  {'one' if broken else 'none':6}  "
                        f"{good:6} of {campaigns:<6}  {most}",
                        flush=True,
                    )
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 100) else 0)
