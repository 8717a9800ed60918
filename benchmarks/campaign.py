"""How fast a live campaign is, as ratios in one run against what one would use instead.

    python benchmarks/campaign.py            some minutes
    python benchmarks/campaign.py --quick    seconds: smaller histories, one round

One pair is an ask and a tell. Machines are shared and noisy: every contender is timed several
times, in turn, and its best time counts.

In memory the contender is a bare heap loop: heapq, two lists, and the same formula. It keeps no
pulls, so it could not be told late, twice, or by many workers.

On disk every ask and every tell of a campaign is a transaction, and a tell is synced before it
returns (in a file, an ask is on disk with the next tell at the latest; a server syncs both). Beside
it: raw SQLite, one insert and one update of a row, each committed, the update synced; and Optuna,
whose ask and tell are timed bare, without a parameter to choose, so it does less than is asked of
us. A history is made by playing it, in batches, in the file; the server gets the same rows.
Contenders with a short history begin each round on a new store.
"""

import argparse
import heapq
import itertools
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from cutline import APT, Auto, Campaign, Problem
from cutline.figures.text import aligned

GOLDEN = 0.6180339887498949
THRESHOLD, PRECISION = 0.5, 0.05
NO_END = 10**12  # a budget that is never spent
BATCH = 1_000
ARMS = 1_000  # in stores
CROWD = 8  # processes on one store
RULES = {"apt": APT(), "auto": Auto()}

Turn = Callable[[], int]  # some pulls, and how many
spawned = multiprocessing.get_context("spawn")


def draw(arm: int) -> float:
    """A reward: 1 or 0, with means spread evenly over the arms."""
    return 1.0 if random.random() < arm * GOLDEN % 1.0 else 0.0


def question(arms: int) -> Problem:
    """As many coins as are wanted."""
    return Problem(arms=arms, threshold=THRESHOLD, precision=PRECISION, rewards="binary")


# In memory.


def heap_loop(rule: str, arms: int) -> Callable[[int], None]:
    """The bare loop: the lowest index is on top of the heap."""
    given = RULES[rule].body
    more = (1.0,) if rule == "auto" else ()  # the width of the rewards' range
    pulls, totals = [0.0] * arms, [0.0] * arms
    heap = [(-1.0, random.random(), arm) for arm in range(arms)]
    heapq.heapify(heap)

    def play(pairs: int) -> None:
        for _ in range(pairs):
            _, tie, arm = heap[0]
            n = pulls[arm] = pulls[arm] + 1.0
            s = totals[arm] = totals[arm] + draw(arm)
            heapq.heapreplace(heap, (given(n, s, THRESHOLD, PRECISION, *more), tie, arm))

    return play


def campaign_loop(rule: str, arms: int) -> Callable[[int], None]:
    """The same game as a campaign."""
    campaign = Campaign(question(arms), rule, budget=NO_END)

    def play(pairs: int) -> None:
        for _ in range(pairs):
            pull = campaign.ask()
            campaign.tell(pull, draw(int(pull.arm)))

    return play


LOOPS = {"campaign": campaign_loop, "heap": heap_loop}


def seconds_a_pair(play: Callable[[int], None], pairs: int) -> float:
    """Seconds of the processor: nothing waits here, and neighbours then matter less."""
    start = time.process_time()
    play(pairs)
    return (time.process_time() - start) / pairs


def in_turn(rule: str, arms: int, pairs: int, rounds: int) -> dict[str, float]:
    """Seconds a pair of both loops, the best of some rounds."""
    plays = {name: loop(rule, arms) for name, loop in LOOPS.items()}
    for play in plays.values():
        play(2 * arms)  # every arm was pulled
    best = dict.fromkeys(plays, math.inf)
    for _ in range(rounds):
        for name, play in plays.items():
            best[name] = min(best[name], seconds_a_pair(play, pairs))
    return best


def peak() -> float:
    """The most memory this process ever had, in MB."""
    try:
        text = Path("/proc/self/status").read_text()
        # Not ru_maxrss there: a process begins with that of the one that started it.
        return int(text.split("VmHWM:")[1].split()[0]) / 1e3
    except OSError:
        unit = 1e6 if sys.platform == "darwin" else 1e3
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def alone(pipe: Connection, loop: str, rule: str, arms: int, pairs: int, rounds: int) -> None:
    """Many arms in a process of their own: times and memory, early and once all were pulled."""
    before = peak()
    start = time.perf_counter()
    play = LOOPS[loop](rule, arms)
    made = time.perf_counter() - start
    early = min(seconds_a_pair(play, pairs) for _ in range(rounds))
    memory = peak()
    play(max(arms - rounds * pairs, 0))
    late = min(seconds_a_pair(play, pairs) for _ in range(rounds))
    pipe.send((made, early, late, before, memory, peak()))


def in_own_process(*job: Any) -> tuple[float, ...]:
    here, there = spawned.Pipe()
    process = spawned.Process(target=alone, args=(there, *job))
    process.start()
    there.close()
    found: tuple[float, ...] = here.recv()
    process.join()
    return found


def show_memory(quick: bool, rounds: int, aims: "Aims") -> None:
    """Pairs in memory, beside the bare heap loop."""
    rows = [["in memory, µs a pair", "arms", "campaign", "pairs/s", "heap loop", "ratio"]]
    for arms, rule in itertools.product((10, 1_000), RULES):
        best = in_turn(rule, arms, 2_000 if quick else 20_000, rounds)
        ours, bare = best["campaign"], best["heap"]
        rows.append([rule, f"{arms:,}", *_micro(ours), f"{1e6 * bare:.2f}", f"{ours / bare:.1f} x"])
        if arms == 1_000:
            aims.most(f"{rule}, 1,000 arms, µs a pair", 1e6 * ours, 10.0)
    show_table(rows)
    arms, pairs = (50_000, 5_000) if quick else (1_000_000, 50_000)
    rows = [
        [
            f"{arms:,} arms, each in its process",
            "s to make",
            "µs a pair: first",
            "all pulled",
            "MB: imports",
            "first",
            "all pulled",
        ]
    ]
    for rule, loop in itertools.product(RULES, LOOPS):
        made, early, late, before, *memory = in_own_process(loop, rule, arms, pairs, rounds)
        rows.append(
            [f"{rule}, {loop}", f"{made:.1f}", f"{1e6 * early:.1f}", f"{1e6 * late:.1f}"]
            + [f"{number:.0f}" for number in (before, *memory)]
        )
        if loop == "campaign" and not quick:
            aims.most(f"{rule}, {arms:,} arms, µs a pair", 1e6 * max(early, late), 20.0)
            aims.most(f"{rule}, {arms:,} arms, peak MB", memory[0], 500.0)
    show_table(rows)


def show_table(rows: list[list[str]]) -> None:
    print(aligned(rows), flush=True)


def _micro(seconds: float) -> list[str]:
    return [f"{1e6 * seconds:.2f}", f"{1 / seconds:,.0f}"]


# On disk: what plays on a store, opened in each process.


def open_campaign(address: str, batch: int) -> Turn:
    campaign = Campaign.open(address, "bench")

    def pair() -> int:
        pull = campaign.ask()
        campaign.tell(pull, draw(int(pull.arm)))
        return 1

    def many() -> int:
        pulls = campaign.ask(batch)
        campaign.tell_many([(pull, draw(int(pull.arm))) for pull in pulls])
        return len(pulls)

    return pair if batch == 1 else many


def open_raw(address: str, batch: int) -> Turn:
    """What no store on SQLite can beat: one row written, and written again."""
    import apsw

    file = apsw.Connection(address)
    file.set_busy_timeout(60_000)

    def pair() -> int:
        arm = random.randrange(ARMS)
        file.execute("PRAGMA synchronous = NORMAL")
        file.execute("INSERT INTO pull (arm) VALUES (?)", (arm,))
        row = file.last_insert_rowid()
        file.execute("PRAGMA synchronous = FULL")
        file.execute("UPDATE pull SET reward = ? WHERE id = ?", (draw(arm), row))
        return 1

    return pair


def open_optuna(address: str, batch: int) -> Turn:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage: Any = address
    if not address.startswith("sqlite:"):
        backend = optuna.storages.journal.JournalFileBackend(address)
        storage = optuna.storages.JournalStorage(backend)
    study = optuna.create_study(
        storage=storage,
        study_name="bench",
        sampler=optuna.samplers.RandomSampler(),
        load_if_exists=True,
    )

    def pair() -> int:
        study.tell(study.ask(), draw(1))
        return 1

    return pair


@dataclass(frozen=True)
class Job:
    """A contender: what opens it, and on which store each round."""

    name: str
    opens: Callable[[str, int], Turn]
    address: Callable[[], str]
    batch: int = 1
    seconds: float = 1.0


def work(pipe: Connection) -> None:
    """One process: opens a store, plays on it for some seconds, says how fast it was."""
    for opens, address, batch in iter(pipe.recv, None):
        turn = opens(address, batch)
        turn()
        pipe.send("ready")
        seconds = pipe.recv()
        start = now = time.perf_counter()
        pulls = 0
        while now - start < seconds:
            pulls += turn()
            now = time.perf_counter()
        pipe.send(pulls / (now - start))
        del turn


class Crew:
    """Processes that play, all on the same store."""

    def __init__(self, size: int) -> None:
        self._pipes, self._processes = [], []
        for _ in range(size):
            here, there = spawned.Pipe()
            process = spawned.Process(target=work, args=(there,), daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def play(self, job: Job, seconds: float) -> float:
        """Pulls a second, of all together."""
        what = (job.opens, job.address(), job.batch)
        for pipe in self._pipes:
            pipe.send(what)
        for pipe in self._pipes:
            pipe.recv()
        for pipe in self._pipes:
            pipe.send(seconds)
        return sum(pipe.recv() for pipe in self._pipes)

    def end(self) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join()


def speeds(jobs: list[Job], processes: int, rounds: int, scale: float) -> list[float]:
    """Pulls per second of every job: the best of some rounds, the jobs taking turns."""
    crew = Crew(processes)
    best = [0.0] * len(jobs)
    for _ in range(rounds):
        for i, job in enumerate(jobs):
            best[i] = max(best[i], crew.play(job, job.seconds * scale))
    crew.end()
    return best


class Places:
    """Stores on one disk: new ones, with some history."""

    def __init__(self, folder: Path, server: str | None) -> None:
        self.folder, self.server = folder, server
        self._numbers = itertools.count()

    def file(self) -> str:
        return str(self.folder / f"store-{next(self._numbers)}.db")

    def raw(self) -> str:
        """A file with the bare table, made before anybody opens it: WAL waits for nobody."""
        import apsw

        address = self.file()
        made = apsw.Connection(address)
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE pull (id INTEGER PRIMARY KEY, arm INTEGER, reward REAL)")
        made.close()
        return address

    def database(self) -> str:
        """A new database on the server."""
        import psycopg

        assert self.server is not None
        name = f"bench_{next(self._numbers)}"
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.server.removesuffix("postgres") + name

    def rdb(self) -> str:
        return f"sqlite:///{self.file()}"

    def played(self, new: Callable[[], str], pulls: int, arms: int = ARMS) -> str:
        """A new store with a history."""
        address = new()
        fill(address, pulls, arms)
        return address


def fill(address: str, pulls: int, arms: int) -> None:
    """Play a history in batches."""
    campaign = Campaign(question(arms), store=address, name="bench", budget=NO_END)
    while pulls > 0:
        asked = campaign.ask(min(pulls, 10 * BATCH))
        campaign.tell_many([(pull, draw(int(pull.arm))) for pull in asked])
        pulls -= len(asked)
    campaign.access.store.release()


def copy_history(file: str, server: str) -> None:
    """The campaign of a file on a server, row for row: to play it there would take minutes."""
    import apsw
    import psycopg

    fill(server, 0, ARMS)  # makes the tables
    source = apsw.Connection(file)
    with psycopg.connect(server) as target:
        for table in ("campaign", "arm", "pull", "event"):
            columns = ", ".join(row[1] for row in source.execute(f"PRAGMA table_info({table})"))
            target.execute(f"DELETE FROM cutline.{table}")
            with target.cursor().copy(f"COPY cutline.{table} ({columns}) FROM STDIN") as copy:
                for row in source.execute(f"SELECT {columns} FROM {table}"):
                    copy.write_row(row)
    source.close()
    with psycopg.connect(server, autocommit=True) as target:
        target.execute("VACUUM ANALYZE")  # as the server would do by itself a little later


def campaign_jobs(
    places: Places, new: Callable[[], str], short: int, long: int, old: str
) -> list[Job]:
    """One store's jobs: one by one and in batches, short histories and long ones."""

    def job(pulls: int, batch: int) -> Job:
        def young() -> str:
            return places.played(new, short)

        how = "one by one" if batch == 1 else f"batches of {batch:,}"
        address = young if pulls == short else (lambda: old)
        seconds = 1.0 if batch == 1 else 0.5
        name = f"cutline, {how}, {pulls:,} before"
        return Job(name, open_campaign, address, batch, seconds)

    return [job(pulls, batch) for batch in (1, BATCH) for pulls in (short, long)]


def show(title: str, jobs: list[Job], found: list[float]) -> None:
    """A table, with how many times faster than each job the first one is."""
    rows = [[title, "pulls/s", "µs a pull", "first is faster by"]]
    for job, speed in zip(jobs, found, strict=True):
        rows.append([job.name, f"{speed:,.0f}", f"{1e6 / speed:,.1f}", f"{found[0] / speed:.2f} x"])
    show_table(rows)


class Aims:
    """What was aimed at, and what came."""

    def __init__(self) -> None:
        self._rows = [["aim", "wanted", "found", "met"]]

    def most(self, what: str, found: float, wanted: float) -> None:
        met = "yes" if found <= wanted else "NO"
        self._rows.append([what, f"at most {wanted:,.4g}", _short(found), met])

    def least(self, what: str, found: float, wanted: float) -> None:
        met = "yes" if found >= wanted else "NO"
        self._rows.append([what, f"at least {_short(wanted)}", _short(found), met])

    def show(self) -> None:
        show_table(self._rows)


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def show_stores(args: argparse.Namespace, rounds: int, aims: Aims) -> None:
    """Campaigns on disk and what is beside them."""
    short, long = (1_000, 10_000) if args.quick else (1_000, args.history)
    scale = 0.15 if args.quick else 1.0
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="cutline-bench-", dir=args.folder))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        server = None if args.only == "sqlite" else stack.enter_context(postgres())
        places = Places(folder, server)
        stores: list[tuple[str, Callable[[], str]]] = []
        if args.only != "postgres":
            stores.append(("SQLite", places.file))
        if server is not None:
            stores.append(("PostgreSQL", places.database))
        print(f"stores in {folder} ({file_system(folder)})")
        start = time.perf_counter()
        old = {"SQLite": places.played(places.file, long)}
        if server is not None:
            old["PostgreSQL"] = places.database()
            copy_history(old["SQLite"], old["PostgreSQL"])
        print(f"a history of {long:,} pulls: {time.perf_counter() - start:.0f} s\n", flush=True)
        for kind, new in stores:
            for processes in (1, CROWD):
                jobs = campaign_jobs(places, new, short, long, old[kind])
                if kind == "SQLite":
                    jobs[2:2] = others(places, processes)
                found = speeds(jobs, processes, rounds, scale)
                show(f"{kind}, {processes} process{'es'[: 2 * (processes > 1)]}", jobs, found)
                judge(kind, processes, jobs, found, aims)


def others(places: Places, processes: int) -> list[Job]:
    """What is on the same disk beside us."""
    jobs = [Job("raw SQLite, one insert and one update", open_raw, places.raw)]
    if processes > 1:
        return jobs
    try:
        import optuna
    except ImportError:
        print("Optuna is not installed and left out (pip install 'cutline[bench]')\n")
        return jobs
    rdb, journal = places.rdb(), places.file()
    name = f"Optuna {optuna.__version__}"
    return [
        *jobs,
        Job(f"{name}, journal file", open_optuna, lambda: journal),
        Job(f"{name}, SQLite through its RDB", open_optuna, lambda: rdb, seconds=2.0),
    ]


def judge(kind: str, processes: int, jobs: list[Job], found: list[float], aims: Aims) -> None:
    """What the numbers say about the aims."""
    who = f"{kind}, {processes} process{'es' if processes > 1 else ''}"
    speed = {job.name: rate for job, rate in zip(jobs, found, strict=True)}
    ours = [rate for name, rate in speed.items() if name.startswith("cutline")]
    one, one_old, many, many_old = ours
    if processes == 1:
        aims.most(f"{who}: short over long history, one by one", one / one_old, 2.0)
        aims.most(f"{who}: short over long history, batches", many / many_old, 2.0)
    for name, rate in speed.items():
        if name.startswith("Optuna"):
            aims.least(f"{who}: times {name}", one_old / rate, 2.0 if "journal" in name else 20.0)
    if kind == "SQLite" and processes == 1:
        aims.least(f"{who}: pulls/s in batches", min(many, many_old), 50_000)


@contextmanager
def postgres() -> Iterator[str | None]:
    """The address of a server of our own, or None where there is none."""
    sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))
    import postgres as tool

    if tool.find_programs() is None:
        print("PostgreSQL is not installed and left out\n")
        yield None
        return
    with tool.running() as server:
        yield server.url


def file_system(folder: Path) -> str:
    """What kind of disk a folder is on: a RAM disk would prove nothing."""
    try:
        lines = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return "file system not known"
    mounts = [line.split(" ")[1:3] for line in lines]
    on = [(len(place), kind) for place, kind in mounts if folder.resolve().is_relative_to(place)]
    return max(on)[1]


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a look in seconds, with no judgement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--history", type=int, default=1_000_000, help="pulls of the long history")
    parser.add_argument("--folder", default=None, help="where stores are made, on the disk to time")
    parser.add_argument("--only", choices=("memory", "sqlite", "postgres"), help="a part of it")
    args = parser.parse_args()
    rounds = 1 if args.quick else args.rounds
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server and the files go too
    random.seed(1)
    aims = Aims()
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}\n")
    if args.only in (None, "memory"):
        show_memory(args.quick, rounds, aims)
    if args.only != "memory":
        show_stores(args, rounds, aims)
    if not args.quick:
        aims.show()


if __name__ == "__main__":
    main()
