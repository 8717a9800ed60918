"""Kill or interrupt the workers of a campaign for a while, and see that nothing is lost.

    python tools/soak.py --store sqlite --minutes 10 --workers 8
    python tools/soak.py --store postgres --minutes 10 --workers 8
    python tools/soak.py --store sqlite --minutes 10 --forks
    python tools/soak.py --store postgres --minutes 10 --interrupts

Workers ask, tell, fail, send heartbeats, add and retire arms. They are killed (SIGKILL) at random
moments and at the named points of a transaction, or frozen past their lease, and started again; a
PostgreSQL server that was started for this is killed too. In the end they are left alone until the
budget is spent, and then everything is checked: the audit, the budget to the last unit, and every
answer that a worker ever got. With --forks, families of processes fork before, between and after
calls while one of them closes the campaign, exits or is killed, and every acknowledged tell must be
there. With --interrupts nobody is killed: signals whose handler raises come at random moments of
the workers' calls, which they make again; meanwhile nobody else may be held up for long. Exit code
1 if anything is wrong. The tests use the same engine.
"""

import argparse
import contextlib
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import postgres

from cutline import Problem
from cutline.campaign import Campaign, audit, open_store
from cutline.campaign.records import FAILED, LATE, LOST, RETIRED, RETURNED, SUSPENDED, TOLD
from cutline.campaign.stores.sqlite import SQLiteStore

WORKER = Path(__file__).parents[1] / "tests" / "campaign" / "worker.py"
MOVES = ("ask", "tell", "fail", "heartbeat", "give back", "add", "retire")
POINTS = ("before", "written", "committed")
LEASE = 1.0  # seconds
HELD_UP = 4.0  # seconds that a call may take while others are interrupted; a server ends what is
# left open after 5
PATIENCE = 120.0  # seconds that anything may take before we give up


def wait_for(what: Callable[[], bool], look: Callable[[], None] = lambda: None) -> None:
    """Wait until something is true, looking again and again."""
    until = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > until:
            raise TimeoutError(f"it took more than {PATIENCE:g} seconds")
        time.sleep(0.005)
        look()


class Nursery:
    """Workers, forked by a process that has everything imported, so that a start is cheap."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # forking and threads do not mix
        )
        self._answer()
        self.ended: dict[int, int] = {}
        """How each worker ended: an exit code, or minus a signal."""
        self._stopped: set[int] = set()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the nursery of workers has died")
        return json.loads(line)

    def _do(self, what: str, **options: Any) -> Any:
        assert self._process.stdin is not None
        print(json.dumps({"do": what, **options}), file=self._process.stdin, flush=True)
        return self._answer()

    def start(self, task: str, **options: Any) -> int:
        """Start a worker on a task of tests/campaign/worker.py; its process id."""
        return int(self._do("start", task=task, **options))

    def signal(self, pid: int, number: int) -> bool:
        """Signal a worker; False if it has ended."""
        return bool(self._do("signal", pid=pid, signal=int(number)))

    def poll(self) -> None:
        """Bring ``ended`` up to date."""
        seen = self._do("poll")
        self.ended |= {int(pid): code for pid, code in seen["ended"].items()}
        self._stopped = set(seen["stopped"])

    def wait(self, *pids: int) -> list[int]:
        """Wait until workers have ended; how they did."""
        wait_for(lambda: all(pid in self.ended for pid in pids), self.poll)
        return [self.ended[pid] for pid in pids]

    def wait_until_stopped(self, pid: int) -> None:
        """Wait until a worker is stopped."""
        wait_for(lambda: pid in self._stopped, self.poll)

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it; it kills its workers first."""
        self._process.communicate(timeout=PATIENCE)


@dataclass(frozen=True)
class Outcome:
    """What a soak did, and what it found wrong."""

    kills: int
    freezes: int
    outages: int
    answers: int
    pulls: int
    spent: int
    events: int
    interrupts: int
    slowest: float
    faults: tuple[str, ...]


class Soak:
    """A campaign, its workers, and somebody who kills them, or interrupts them.

    ``outage`` is called now and then: it ends the server and starts it again.
    """

    def __init__(
        self,
        store: str,
        folder: Path,
        *,
        workers: int = 8,
        confidence: float | None = None,
        every: float = 0.03,
        outage: Callable[[], None] | None = None,
        interrupts: bool = False,
        seed: int = 1,
    ) -> None:
        self._chance = random.Random(seed)
        self._folder, self._places, self._every = folder, workers, every
        self._outage, self._next_outage = outage, time.monotonic() + 1.0
        names = [f"arm {i}" for i in range(12)]
        self._campaign = Campaign(
            # Rewards are coins, so no arm is ever proven and the budget decides.
            Problem(arms=names, threshold=0.5, precision=0.01, rewards="binary"),
            budget=200 if interrupts else 500,
            confidence=confidence,
            store=store,
            cost={name: 1 + i % 2 for i, name in enumerate(names)},
            lease=LEASE,
        )
        self._nursery = Nursery()
        self._workers: dict[int, int] = {}  # place -> process id
        self._frozen: dict[int, float] = {}  # process id -> until when
        self._interrupts = interrupts
        self._slowest = 0.0
        self.kills = self.freezes = self.outages = 0

    def run(self, *, kills: int = 0, seconds: float = 0.0) -> Outcome:
        """Go on for so many kills and so many seconds, let the rest be done, and check."""
        until = time.monotonic() + seconds
        with self._nursery:
            while self.kills < kills or time.monotonic() < until:
                if self._interrupts:
                    self._interrupt()
                else:
                    self._harm()
                self._replace()
                self._feed()
                time.sleep(self._chance.expovariate(1.0 / self._every))
            self._drain()
        return self._check()

    def _harm(self) -> None:
        """One bad thing."""
        if self._outage is not None and time.monotonic() > self._next_outage:
            self._outage()
            self.outages += 1
            self._next_outage = time.monotonic() + self._chance.uniform(1.0, 4.0)
        for pid, until in list(self._frozen.items()):
            if until < time.monotonic():
                self._nursery.signal(pid, signal.SIGCONT)
                del self._frozen[pid]
        if not self._workers:
            return
        pid = self._workers[self._chance.choice(list(self._workers))]
        if self._chance.random() < 0.1 and len(self._frozen) < 2:
            self.freezes += self._nursery.signal(pid, signal.SIGSTOP)
            self._frozen[pid] = time.monotonic() + self._chance.uniform(0.0, 2.0 * LEASE)
        else:
            self._nursery.signal(pid, signal.SIGKILL)

    def _interrupt(self) -> None:
        """A signal from outside, beside those that the workers send themselves."""
        if self._workers:
            pid = self._workers[self._chance.choice(list(self._workers))]
            self._nursery.signal(pid, signal.SIGUSR1)
        start = time.monotonic()
        self._campaign.store.run("main", "ask", lambda t: None)  # as one who is not interrupted
        self._slowest = max(self._slowest, time.monotonic() - start)

    def _replace(self, **options: Any) -> None:
        """Start workers where there are none any more."""
        self._nursery.poll()
        for place in range(self._places):
            pid = self._workers.get(place)
            if pid is not None and pid in self._nursery.ended:
                self.kills += self._nursery.ended[pid] == -signal.SIGKILL
                self._frozen.pop(pid, None)
                del self._workers[place]
            if place not in self._workers:
                self._workers[place] = self._start(place, **options)

    def _start(self, place: int, **options: Any) -> int:
        if self._interrupts:
            server = "://" in self._campaign.store.where  # which takes longer to answer
            options = {"interrupts": True, "most": 0.03 if server else 0.004, **options}
        elif not options and self._chance.random() < 0.3:  # it will kill itself, at a named point
            point = f"{self._chance.choice(MOVES)} {self._chance.choice(POINTS)}"
            options = {"point": point, "nth": self._chance.randint(1, 5)}
        return self._nursery.start(
            "work",
            store=self._campaign.store.where,
            log=str(self._folder / f"worker-{place}.log"),
            seed=self._chance.getrandbits(32),
            **options,
        )

    def _feed(self) -> None:
        """Keep the campaign going: more budget, and another chance for suspended arms."""
        if self._frozen:
            return  # one may hold the campaign, and only we can let it go on
        head = self._campaign.access.head()
        if head.left is not None and head.left < 100:
            self._campaign.extend(budget=200)
        self._resume()

    def _resume(self) -> None:
        with self._campaign.store.begin("main", "look") as t:
            suspended = [arm.name for arm in t.all_arms() if arm.status == SUSPENDED]
        for name in suspended:
            self._campaign.resume(name)

    def _drain(self) -> None:
        """Leave the workers alone until there is nothing more to do."""
        for pid in self._frozen:
            self._nursery.signal(pid, signal.SIGCONT)
        self._frozen.clear()
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:  # beyond that, the check says what is missing
            head = self._campaign.access.head()
            if head.spent == head.budget and not head.flying:
                break
            self._resume()
            self._replace(only_tell=True)
            time.sleep(0.1)
        self._nursery.wait(*self._workers.values())  # the last ask says "done", and they end
        for pid in self._workers.values():
            self.kills += self._nursery.ended[pid] == -signal.SIGKILL

    def _check(self) -> Outcome:
        faults = list(find_faults(self._campaign.store.where, self._folder))
        codes = Counter(self._nursery.ended.values())
        faults += [f"{n} workers ended with {code}" for code, n in codes.items() if code > 0]
        head = self._campaign.access.head()
        kinds = Counter(kind for kind, *_ in acknowledged(self._folder))
        interrupts = kinds.pop("interrupted", 0)
        if self._interrupts and self._slowest > HELD_UP:
            faults.append(f"a call was held up for {self._slowest:.1f} seconds")
        self._campaign.store.release()
        return Outcome(
            self.kills,
            self.freezes,
            self.outages,
            kinds.total(),
            head.pulls,
            head.spent,
            head.events,
            interrupts,
            self._slowest,
            tuple(faults),
        )


def play_family(nursery: Nursery, store: str, folder: Path, chance: random.Random) -> Iterator[str]:
    """Let a process fork while a campaign is played, somehow, and say what is wrong afterwards.

    The campaign is in the store; a third process may be writing all the while.
    """
    alive = folder / "alive"
    options = {
        "when": chance.choice(["before", "between", "after"]),
        "shared": chance.random() < 0.5,
        "end": chance.choice(["close", "exit", "kill"]),
        "generations": chance.choice([1, 1, 2, 3]),
        "children": chance.choice([1, 2]),
        "tidy": chance.random() < 0.5,
        "pairs": chance.choice([3, 10, 20]),
        "seed": chance.getrandbits(32),
    }
    opened = open_store(store)
    with opened.begin("main", "look") as t:
        names = [arm.name for arm in t.all_arms()]
        settings = {"budget": t.head.budget}
    opened.release()
    third = None
    if chance.random() < 0.5:
        third = nursery.start("work", store=store, log=str(folder / "third.log"), only_tell=True)
    first = nursery.start(
        "family",
        store=store,
        log=str(folder / "family.log"),
        alive=str(alive),
        arms=names,
        settings=settings,
        **options,
    )
    code = nursery.wait(first)[0]
    with alive.open() as file:  # it is locked until the last of them has ended
        wait_for(lambda: _can_lock(file.fileno()))
    if third is not None:
        nursery.signal(third, signal.SIGKILL)
        nursery.wait(third)
    if code != (-signal.SIGKILL if options["end"] == "kill" else 0):
        yield f"the parent ended with {code}: {options}"
    for fault in find_faults(store, folder, spent=False):
        yield f"{fault}; {options}"


def _can_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def acknowledged(folder: Path) -> list[list[Any]]:
    """What workers were answered, as they wrote it down."""
    logs = sorted(folder.glob("*.log"))
    return [json.loads(line) for log in logs for line in log.read_text().splitlines()]


def find_faults(store: str, folder: Path, *, spent: bool = True) -> Iterator[str]:
    """What is wrong in a store, opened anew, given what workers were answered.

    ``spent``: the campaign is over, so that its budget must be spent to the last unit.
    """
    opened = open_store(store)
    campaign = Campaign.open(opened)
    yield from audit(campaign).faults
    if isinstance(opened, SQLiteStore):
        said = opened.db().rows("PRAGMA integrity_check")
        if said != [("ok",)]:
            yield f"integrity_check: {said}"
    with opened.begin("main", "look") as t:
        head, arms, pulls = t.head, {a.name: a for a in t.all_arms()}, {p.id: p for p in t.since(0)}
    if spent and (head.spent, head.reserved, head.flying) != (head.budget, 0, 0):
        yield f"{head.spent} of {head.budget} is spent, {head.reserved} reserved: {head}"
    if len(pulls) != head.pulls or sorted(p.seq for p in pulls.values()) != [*range(head.pulls)]:
        yield "pulls are not numbered one by one"
    asked: Counter[str] = Counter()
    for kind, *what in acknowledged(folder):
        if kind == "error":
            yield f"a worker met an error:\n{what[0]}"
        elif kind in ("add", "retire"):
            arm = arms.get(what[0])
            if arm is None or (kind == "retire" and arm.status != RETIRED):
                yield f"{kind} of arm {what[0]!r} was acknowledged, and there is {arm}"
        elif kind in ("ask", "tell", "fail", "heartbeat", "give back"):
            pull = pulls.get(what[0])
            asked[what[0]] += kind == "ask"
            if pull is None:
                yield f"{kind} of pull {what[0]} was acknowledged, and it is not there"
            elif kind == "tell" and not _was_kept(pull.state, pull.reward, pull.late, *what[1:]):
                yield f"tell {what} was acknowledged, and there is {pull}"
            elif kind == "fail" and pull.state not in (
                (LOST, LATE) if what[1] == "late" else (FAILED,)
            ):
                yield f"fail {what} was acknowledged, and there is {pull}"
            elif kind == "give back" and what[1] and pull.state != RETURNED:
                yield f"give back {what} was acknowledged, and there is {pull}"
    yield from (f"pull {pull} was handed out {n} times" for pull, n in asked.items() if n > 1)
    opened.release()


def _was_kept(
    state: int, reward: float | None, late: float | None, told: float, answer: str
) -> bool:
    if answer == "late":
        return (state, late) == (LATE, told)
    return answer in ("counted", "again") and (state, reward) == (TOLD, told)


@contextlib.contextmanager
def a_store(kind: str, folder: Path) -> Iterator[tuple[str, Callable[[], None] | None]]:
    """A store to soak, and how to end its server."""
    if kind == "sqlite":
        yield str(folder / "soak.db"), None
        return
    with postgres.running() as server:

        def outage() -> None:
            server.kill()
            server.start()

        yield server.url, outage


def soak_forks(kind: str, seconds: float, seed: int) -> int:
    """One family of processes after another, each on a campaign of its own."""
    chance, until, played = random.Random(seed), time.monotonic() + seconds, 0
    with contextlib.ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cutline-forks-")))
        where, _ = stack.enter_context(a_store(kind, top))
        nursery = stack.enter_context(Nursery())
        while time.monotonic() < until:
            folder = top / str(played)
            folder.mkdir()
            place = where if "://" in where else str(folder / "soak.db")
            store = open_store(place)
            if "://" in place and played:
                store.delete("main")
            problem = Problem(arms=["a", "b", "c"], threshold=0.5, rewards="binary")
            Campaign(problem, budget=100_000, store=store)
            store.release()
            faults = list(play_family(nursery, place, folder, chance))
            played += 1
            for fault in faults[:50]:
                print(f"family {played}: {fault}")
            if faults:
                return 1
    print(f"forks     {played} families of processes: nothing is missing, all holds")
    return 0


def main() -> int:
    says = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    says.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    says.add_argument("--at", help="the file or address, instead of one made for this")
    says.add_argument("--folder", type=Path, help="where logs go, and stay")
    says.add_argument("--minutes", type=float, default=10.0)
    says.add_argument("--workers", type=int, default=8)
    says.add_argument("--seed", type=int, default=1)
    says.add_argument("--forks", action="store_true", help="fork families of processes instead")
    says.add_argument("--interrupts", action="store_true", help="interrupt workers, kill nobody")
    given = says.parse_args()
    if given.forks:
        return soak_forks(given.store, 60.0 * given.minutes, given.seed)
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="cutline-soak-"))
        )
        folder.mkdir(parents=True, exist_ok=True)
        where, outage = (
            (given.at, None) if given.at else stack.enter_context(a_store(given.store, folder))
        )
        soak = Soak(
            where, folder, workers=given.workers, outage=outage, interrupts=given.interrupts,
            seed=given.seed,
        )  # fmt: skip
        outcome = soak.run(seconds=60.0 * given.minutes)
    if given.interrupts:
        print(
            f"signals   {outcome.interrupts} calls interrupted, and made again; nobody else was "
            f"held up for more than {outcome.slowest:.2f} seconds"
        )
    else:
        print(
            f"kills     {outcome.kills}, and {outcome.freezes} freezes, {outcome.outages} outages"
        )
    print(
        f"pulls     {outcome.pulls} asked, {outcome.spent} units spent, {outcome.answers} answers"
    )
    print(f"audit     {outcome.events} events replayed", end="")
    print(": all holds" if not outcome.faults else "; WRONG:")
    for fault in outcome.faults[:50]:
        print(f"  {fault}")
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
