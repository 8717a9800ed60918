"""Workers of a campaign that may die at any moment; for the tests and for tools/soak.py.

    python tests/campaign/worker.py '{"task": "work", "store": "a.db", "log": "a.log"}'
    python tests/campaign/worker.py

The first is one worker. The second is a nursery: it has everything imported, reads one command a
line as JSON, and forks a worker in milliseconds. When its input ends it kills them all. What a
worker was acknowledged goes to its log, one JSON list a line, written after the call returned.
"""

import contextlib
import fcntl
import gc
import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from importlib import import_module
from itertools import count

from cutline import Problem
from cutline.campaign import Campaign, StoreError, StoreUnavailable, audit, open_store
from cutline.campaign.stores import base, schema


def trap(point, nth=1, number=signal.SIGKILL):
    """Send this process a signal when it comes to a point of a transaction for the nth time."""
    left = nth

    def reached(here):
        nonlocal left
        if here == point:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), number)

    base.reached = reached


class Log:
    """What was acknowledged; a line is written whole, and a killed process has written it."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def __call__(self, *what):
        os.write(self._file, json.dumps(what).encode() + b"\n")


def reward_of(pull):
    """The reward of a trial: the same whoever makes it, and however often."""
    return pull.seed % 2


class Work:
    """Ask, work, tell, until there is nothing more to do; sometimes something else."""

    def __init__(self, campaign, log, options):
        self._campaign, self._log = campaign, log
        self._chance = random.Random(options.get("seed", 0))
        self._busy = options.get("work", 0.003)  # seconds that a trial takes on average
        self._fails, self._hangs = options.get("fails"), options.get("hangs")
        self._only_tell = options.get("only_tell", False)
        self._name = f"extra-{os.getpid()}-{time.monotonic_ns()}"

    def run(self):
        """Until the campaign is done."""
        while True:
            pulls = self._campaign.ask(self._chance.choice((1, 1, 1, 2, 5)))
            if not pulls and pulls.why == "done":
                return
            if not pulls:
                time.sleep(self._chance.uniform(0.005, 0.05))
                continue
            for pull in pulls:
                self._log("ask", pull.id, pull.arm)
            pulls = sorted(pulls, key=lambda pull: pull.arm == self._hangs)  # it holds up no other
            time.sleep(self._chance.expovariate(1.0 / self._busy))
            if self._chance.random() < 0.3:
                self._tell_all(pulls)
            else:
                for pull in pulls:
                    self._settle(pull)
            if not self._only_tell and self._chance.random() < 0.02:
                self._change_arms()

    def _tell_all(self, pulls):
        good = [p for p in pulls if p.arm not in (self._fails, self._hangs)]
        rewards = [reward_of(p) for p in good]
        said = self._campaign.tell_many(list(zip(good, rewards, strict=True)))
        for pull, reward, answer in zip(good, rewards, said, strict=True):
            self._log("tell", pull.id, reward, answer)
        for pull in pulls:
            if pull not in good:
                self._settle(pull)

    def _settle(self, pull):
        if pull.arm == self._hangs:
            time.sleep(max(0.0, pull.expires - time.time() + 0.2))  # and never heard of again
            return
        luck = 1.0 if self._only_tell else self._chance.random()
        if luck < 0.05 or pull.arm == self._fails:
            self._log("fail", pull.id, self._campaign.fail(pull, note="failed"))
            return
        if luck < 0.08:
            self._log("give back", pull.id, self._campaign.give_back(pull)[0])
            return
        if luck < 0.2:
            self._log("heartbeat", pull.id, self._campaign.heartbeat(pull)[0])
        reward = reward_of(pull)
        for _ in range(2 if luck < 0.3 else 1):  # told twice, it counts once
            cost = 1 if luck < 0.4 else None  # less than was reserved, where that was 2
            said = self._campaign.tell(pull, reward, cost=cost, note="told")
            self._log("tell", pull.id, reward, said)

    def _change_arms(self):
        try:
            self._campaign.add(self._name)
            self._log("add", self._name)
            self._campaign.retire(self._name)
            self._log("retire", self._name)
        except StoreUnavailable:
            pass  # an arm is not added again: it may have been
        except ValueError as error:
            if "already" not in str(error):
                raise


class Timeout(Exception):
    """An interrupt that looks like an ordinary error."""


class Restless:
    """A campaign whose calls are interrupted by signals, and made again until they come through.

    Signals come from a timer of its own, at random moments within ``most`` seconds, and from
    outside (SIGUSR1). Their handler raises, once or several times in a call, but only in a call.
    """

    def __init__(self, campaign, log, options):
        self._campaign, self._log = campaign, log
        self._chance = random.Random(options.get("seed", 0))
        self._most = options.get("most", 0.004)
        self._error, self._left = Timeout, 0
        for number in (signal.SIGALRM, signal.SIGUSR1):
            signal.signal(number, self._ring)
        # Raised where Python cannot pass it on, in a weak reference's callback say, it is gone;
        # without a word, by a function in which no signal is handled.
        sys.unraisablehook = id

    def _ring(self, number, frame):
        if self._left and frame.f_code is not Restless.call.__code__:
            self._left -= 1
            raise self._error

    def __getattr__(self, name):
        made = getattr(self._campaign, name)
        return lambda *given, **named: self.call(made, given, named)

    def call(self, made, given, named):
        for tries in count():
            self._error = self._chance.choice([KeyboardInterrupt, Timeout])
            again = self._chance.choice([0.0, 0.0, 0.00005, 0.0003])
            # More and more time, or a server that is called anew each time would never answer.
            first = self._chance.uniform(0.00001, self._most * 1.5**tries)
            signal.setitimer(signal.ITIMER_REAL, first, again)
            self._left = self._chance.choice([1, 1, 2, 5])
            try:
                return made(*given, **named)
            except (KeyboardInterrupt, Timeout):
                pass
            finally:
                self._left = 0
                signal.setitimer(signal.ITIMER_REAL, 0)
            self._log("interrupted")


def work(options, log):
    campaign = Campaign.open(options["store"], options.get("name", "main"))
    if options.get("interrupts"):
        campaign = Restless(campaign, log, options)
    Work(campaign, log, options).run()


def work_in_memory(options, log):
    """The same without a store, where nobody else can check it afterwards; a thread looks on."""
    campaign = make({**options, "store": None})
    over, looks = threading.Event(), []

    def look():
        while not over.is_set():
            start = time.monotonic()
            campaign.verdict()
            looks.append(time.monotonic() - start)
            time.sleep(0.001)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    told = []

    def keep(*what):
        told.append(what)
        log(*what)

    restless = Restless(campaign, keep, options)
    Work(restless, keep, {"work": 1e-6, **options}).run()
    over.set()
    thread.join(20.0)
    assert not thread.is_alive(), "another thread is held up"
    report = audit(campaign)
    assert report.holds, report.faults
    with campaign.store.begin("main", "look") as t:
        assert (t.head.spent, t.head.flying) == (t.head.budget, 0), t.head
        kept = {pull.id: pull for pull in t.since(0)}
    for kind, *what in told:
        if kind == "tell":
            row = kept[what[0]]
            value = row.late if what[2] == "late" else row.reward
            assert value == what[1], (what, row)
    log("looked", len(looks), max(looks))


def make(options):
    """The campaign that is described, new or as it is."""
    problem = Problem(arms=options["arms"], threshold=0.5, rewards="binary")
    return Campaign(problem, store=options["store"], name="main", **options["settings"])


def create(options, log):
    """Make a campaign, or find that it is there; then ask for some pulls."""
    campaign = make(options)
    log("created")
    for _ in range(options.get("asks", 0)):
        pull = campaign.ask()
        log("ask", pull.id, pull.arm)


def move(options, log):
    """One move, on a campaign that is there."""
    campaign = Campaign.open(options["store"])
    name, pull, arm = options["move"], options.get("pull"), options.get("arm")
    if name == "ask":
        log("ask", campaign.ask().id)
    elif name == "tell":
        log("tell", pull, 1, campaign.tell(pull, 1))
    elif name == "fail":
        log("fail", pull, campaign.fail(pull))
    elif name == "give back":
        log("give back", pull, campaign.give_back(pull)[0])
    elif name == "heartbeat":
        log("heartbeat", pull, campaign.heartbeat(pull, lease=1000.0)[0])
    elif name == "tell_many":
        log("told", campaign.tell_many([(pull, 1) for pull in options["pulls"]]))
    elif name == "add":
        log("add", arm, campaign.add(arm))
    elif name == "retire":
        log("retire", arm, campaign.retire(arm))
    elif name == "extend":
        log("extend", campaign.extend(budget=1))


def upgrade(options, log):
    """Bring a store to a version that is yet to come."""
    schema.VERSION = options["version"]
    schema.MIGRATIONS = {schema.VERSION - 1: options["migration"]}
    log("upgrade", str(open_store(options["store"]).upgrade()))


def freeze(options, log):
    """Ask, stop until somebody says to go on, tell."""
    campaign = Campaign.open(options["store"])
    pull = campaign.ask()
    log("ask", pull.id, pull.arm)
    os.kill(os.getpid(), signal.SIGSTOP)
    log("tell", pull.id, 1, campaign.tell(pull, 1))


class Family:
    """A process and its descendants, at work on one campaign; see ``family``."""

    def __init__(self, options, log):
        self._options, self._log = options, log
        self._chance = random.Random(options["seed"])
        # Held by all of them, as it is inherited, until the last one has ended.
        self._alive = os.open(options["alive"], os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._alive, fcntl.LOCK_EX)
        self._children = []

    def play(self, campaign, pairs):
        for _ in range(pairs):
            pull = campaign.ask()
            reward = reward_of(pull)
            self._log("tell", pull.id, reward, campaign.tell(pull, reward))

    def fork(self, campaign, generation):
        """A child that uses the campaign it was born with, or opens it anew by its path."""
        pid = os.fork()
        if pid:
            self._children.append(pid)
            return
        code = 1
        try:
            self._log = Log(f"{self._options['log'][:-4]}-{os.getpid()}.log")
            self._children = []
            shared = self._options["shared"]
            mine = campaign if shared else Campaign.open(self._options["store"])
            self.play(mine, self._options["pairs"])
            if generation < self._options["generations"]:
                self.fork(mine, generation + 1)
            self.play(mine, self._options["pairs"])
            if self._chance.random() < 0.5:
                mine.store.release()
            self.wait()
            code = 0
        except BaseException:
            self._log("error", traceback.format_exc())
        finally:
            if self._options["tidy"]:  # as a program ends, through all that Python tears down
                del campaign
                gc.collect()
            os._exit(code)

    def wait(self):
        for pid in self._children:
            _, status = os.waitpid(pid, 0)
            if status:
                self._log("error", f"a child ended with {status}")


def family(options, log):
    """Fork before, between or after moves; children share the object or open the path anew.

    In the end the parent closes the campaign, exits, or is killed, while they are at work.
    """
    members = Family(options, log)
    pairs, when = options["pairs"], options["when"]
    campaign = make(options) if when == "before" else Campaign.open(options["store"])
    if when != "before":
        members.play(campaign, pairs)
    if when == "after":
        campaign.store.release()
    for _ in range(options["children"]):
        members.fork(campaign, 1)
        if when == "between":
            members.play(campaign, 2)
    if options["end"] == "close":
        campaign.store.release()
        members.wait()
        members.play(campaign, 2)
    elif options["end"] == "kill":
        members.play(campaign, pairs // 2)
        os.kill(os.getpid(), signal.SIGKILL)


def run(options):
    """A task from beginning to end; what goes wrong is logged."""
    log = Log(options["log"])
    try:
        time.sleep(max(0.0, options.get("at", 0.0) - time.time()))  # all at once
        if "point" in options:
            number = signal.Signals(options.get("signal", signal.SIGKILL))
            trap(options["point"], options.get("nth", 1), number)
        TASKS[options["task"]](options, log)
    except BaseException:
        log("error", traceback.format_exc())
        raise


TASKS = {f.__name__: f for f in (work, work_in_memory, create, move, upgrade, freeze, family)}


class Nursery:
    """Forks workers, signals them, and says how they ended."""

    def __init__(self):
        self._alive, self._stopped = set(), set()

    def start(self, options):
        pid = os.fork()
        if not pid:
            code = 1
            try:
                os.dup2(os.open(os.devnull, os.O_RDWR), 0)
                os.dup2(2, 1)  # the answers are the nursery's to write
                run(options)
                code = 0
            finally:
                os._exit(code)
        self._alive.add(pid)
        return pid

    def signal(self, options):
        """Only to a child of ours that has not been waited for, so never to somebody else."""
        if options["pid"] not in self._alive:
            return False
        os.kill(options["pid"], options["signal"])
        return True

    def poll(self, options):
        """How workers ended since the last time, and who is stopped."""
        ended = {}
        for pid in list(self._alive):
            done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if not done:
                continue
            if os.WIFSTOPPED(status):
                self._stopped.add(pid)
            elif os.WIFCONTINUED(status):
                self._stopped.discard(pid)
            else:
                ended[pid] = os.waitstatus_to_exitcode(status)
                self._alive.discard(pid)
                self._stopped.discard(pid)
        return {"ended": ended, "stopped": list(self._stopped)}

    def close(self):
        for pid in self._alive:
            os.kill(pid, signal.SIGKILL)
        for pid in self._alive:
            os.waitpid(pid, 0)


def main():
    if len(sys.argv) > 1:
        run(json.loads(sys.argv[1]))
        return
    for store in ("sqlite", "postgres"):  # imported once, before the forks
        with contextlib.suppress(StoreError):  # no psycopg here
            import_module(f"cutline.campaign.stores.{store}")
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until a worker is ready for it
    nursery = Nursery()
    print(json.dumps("ready"), flush=True)
    try:
        for line in sys.stdin:
            options = json.loads(line)
            answer = getattr(nursery, options.pop("do"))(options)
            print(json.dumps(answer), flush=True)
    finally:
        nursery.close()


if __name__ == "__main__":
    main()
