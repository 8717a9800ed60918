"""Make tests/campaign/data/store-vN.db: a store file of today's version N, kept for ever.

    python tools/make_store.py

It holds a campaign to which everything has happened. It is made once for each version of the
tables and never again: that a later cutline can open it is the point.
"""

from pathlib import Path
from typing import Any

from cutline import Problem
from cutline.campaign import Campaign, audit
from cutline.campaign.stores.schema import VERSION
from cutline.campaign.stores.sqlite import SQLiteStore

FILE = Path(__file__).parents[1] / "tests" / "campaign" / "data" / f"store-v{VERSION}.db"
LEASE = 100.0


def everything_happens(campaign: Any, clock: list[float]) -> None:
    """All that can happen to a pull and to an arm."""
    for n in range(60):
        pull = campaign.ask()
        if pull.arm == "suspended":
            campaign.fail(pull, note="it broke")
        else:
            campaign.tell(pull, n % 2, note=f"trial {n}")
    slow, slower = campaign.ask(2)
    clock[0] += LEASE + 1
    campaign.tell(campaign.ask(), 1)  # the two are given up
    assert campaign.tell(slow, 1) == "counted"  # late, and there is room
    campaign.attach("good", [1, 1, 0, 1], unpicked=True)
    campaign.attach("bad", [0, 0], unpicked=False)
    campaign.add("added", threshold=0.4, cost=2)
    campaign.retire("retired")
    campaign.pause()
    campaign.resume()
    campaign.give_back(campaign.ask(), note="not made")
    while pull := campaign.ask():
        campaign.tell(pull, 1, cost=1)
    assert campaign.tell(slower, 0) == "late"  # and there is none
    campaign.resume("suspended")
    campaign.extend(budget=60)
    while campaign.budget - campaign.spent > 25:
        for pull in campaign.ask(8):
            if pull.arm == "suspended":
                campaign.fail(pull)
            else:
                campaign.tell(pull, 0)
    flying, *_ = campaign.ask(3)  # one is kept, two are lost
    clock[0] += LEASE - 1
    campaign.heartbeat(flying)
    clock[0] += 2
    campaign.ask()


def make(path: Path) -> None:
    """Such a store at this path."""
    clock = [1_700_000_000.0]
    names = ["good", "bad", "even", "retired", "suspended"]
    problem = Problem(arms=names, threshold=0.5, precision=0.1, rewards="binary")
    store = SQLiteStore(path, lambda: clock[0])
    campaign = Campaign(problem, store=store, budget=90, declared=6, lease=LEASE)
    everything_happens(campaign, clock)
    print(audit(campaign), campaign.in_flight, campaign.verdict().unmeasured)
    store.compact()
    store.release()


def main() -> None:
    FILE.parent.mkdir(exist_ok=True)
    if FILE.exists():
        raise SystemExit(f"{FILE} is there already, and is never made again")
    make(FILE)
    print(FILE.name, FILE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
