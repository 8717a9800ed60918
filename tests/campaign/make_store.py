"""Make tests/campaign/data/store-v1.db: a store file of the first version, kept for ever.

    python tests/campaign/make_store.py

It holds a campaign to which everything has happened. It is made once for each version of the
tables and never again: that a later cutline can open it is the point.
"""

from pathlib import Path

from cutline import Problem
from cutline.campaign import Campaign, audit
from cutline.campaign.stores.schema import VERSION
from cutline.campaign.stores.sqlite import SQLiteStore

FILE = Path(__file__).parent / "data" / f"store-v{VERSION}.db"
LEASE = 100.0


def everything_happens(campaign, clock):
    """All that can happen to a pull and to an arm."""
    for n in range(30):
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
    campaign.extend(budget=25)
    while len(pulls := campaign.ask(8)) == 8:
        for pull in pulls:
            if pull.arm == "suspended":
                campaign.fail(pull)
            else:
                campaign.tell(pull, 0)
        if campaign.budget - campaign.spent <= 10:
            break
    flying, *_ = campaign.ask(3)  # one is kept, two are lost
    clock[0] += LEASE - 1
    campaign.heartbeat(flying)
    clock[0] += 2
    campaign.ask()


def main():
    FILE.parent.mkdir(exist_ok=True)
    FILE.unlink(missing_ok=True)
    clock = [1_700_000_000.0]
    names = ["good", "bad", "even", "retired", "suspended"]
    problem = Problem(arms=names, threshold=0.5, precision=0.1, rewards="binary")
    store = SQLiteStore(FILE, lambda: clock[0])
    campaign = Campaign(problem, store=store, budget=60, declared=6, lease=LEASE)
    everything_happens(campaign, clock)
    print(audit(campaign), campaign.in_flight, campaign.verdict().unmeasured)
    store.compact()
    store.release()
    print(FILE.name, FILE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
