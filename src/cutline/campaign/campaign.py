"""One live game: which arm to try next, what came of it, and the answer at any moment."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn, overload

from cutline.campaign import moves
from cutline.campaign.access import Access
from cutline.campaign.agreement import (
    built_in,
    digest_of,
    question,
    same_rule,
    see_that_it_asks,
    see_that_it_is,
)
from cutline.campaign.errors import DifferentCampaign, StoreError, UnknownArm
from cutline.campaign.feeding import fed_rewards
from cutline.campaign.making import (
    MOST,
    about_of,
    arms_of,
    check_bar,
    check_lease,
    costs_of,
    name_of,
    names_of,
    playable,
    rule_of,
    settings_of,
    start_of,
    ties_of,
)
from cutline.campaign.pulls import Pull, Pulls
from cutline.campaign.records import CLOSED, PAUSED, RUNNING, Arm, Head, PullRow
from cutline.campaign.stores import Store, Transaction, open_store
from cutline.campaign.terms import Terms, problem_of
from cutline.campaign.verdicts import reasons_of, verdict_on
from cutline.core.bar import Bar
from cutline.core.chance import seed_key
from cutline.core.numbers import as_text, as_whole, is_whole, real, shown
from cutline.core.problem import Problem, check_band
from cutline.core.stopping import check_can_stop
from cutline.core.tally import Floats
from cutline.core.verdict import Verdict
from cutline.rules import Rule

LEASE = 900.0  # seconds that a pull may take before it is given up, unless there are heartbeats
PATIENCE = 5  # failed or lost pulls in a row after which an arm is suspended
PENDING = 2_000  # pulls that a look weighs without writing down what came of it


class Campaign:
    """A live game on a problem, kept in a store: close the program anywhere, and carry on.

    ``rule`` says which arm is next; ``budget`` is what may be spent, ``confidence`` when to stop
    (one of them is needed); ``store`` is None for memory, the path of a SQLite file, or
    ``postgresql://...``, and ``name`` the campaign's there. A campaign of that name is taken up
    again, if it is the same one. ``lost`` is what a failed or lost pull means: None, nothing is
    learned, which is honest only if that has nothing to do with the reward; or a reward. ``cost``
    is what one pull costs, a whole number of units, one for all or by arm. ``declared`` is how many
    arms there may be, where some are to be added later. ``lease`` is how many seconds a pull may
    take, ``patience`` how many failures in a row it takes at least to suspend an arm. ``about``
    is what else a reward depends on, such as a command line, as plain values: it is kept, and must
    be the same when the campaign is taken up again. ``bar`` is how the threshold was put, where a
    side of it is wanted: ``Bar.put("at most", 0.01, 0.005, "binary")`` for at most 1 % failures, a
    threshold of 0.99. It is kept, so that ``cutline show`` speaks of failures too, and must agree
    with the problem. All the rest must be the same as well, save ``lease`` and ``patience``, which
    stay as they were at first.

    >>> problem = Problem(arms=["a", "b"], threshold=0.5, rewards="binary")
    >>> campaign = Campaign(problem, budget=20)
    >>> while pull := campaign.ask():
    ...     outcome = campaign.tell(pull, 1 if pull.arm == "a" else 0)
    >>> verdict = campaign.verdict()
    >>> verdict.above, verdict.below
    (('a',), ('b',))
    """

    def __init__(
        self,
        problem: Problem,
        rule: Rule | str = "auto",
        *,
        budget: int | None = None,
        confidence: float | None = None,
        store: Store | str | None = None,
        name: str = "main",
        seed: int = 0,
        lost: float | None = None,
        cost: int | Sequence[int] | Mapping[str, int] = 1,
        unit: str = "pulls",
        declared: int | None = None,
        lease: float = LEASE,
        patience: int = PATIENCE,
        about: Mapping[str, object] | None = None,
        bar: Bar | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(f"a campaign is made of a Problem, got {shown(problem)}")
        given = rule_of(rule)
        settings = settings_of(
            problem,
            given,
            budget=budget,
            confidence=confidence,
            seed=seed,
            lost=lost,
            unit=unit,
            declared=declared,
            lease=lease,
            patience=patience,
        )
        arms = arms_of(problem, playable(given, problem), cost, seed)
        settings |= {"digest": digest_of(arms), "about": about_of(about)}
        settings["asked"] = None if bar is None else check_bar(bar, problem).to_dict()
        self.access = Access(open_store(store), name_of(name), given)
        self._keys = seed_key(seed)
        head = Head(0, self.name, 0.0, settings, settings["budget"])
        head.arms = head.unsettled = len(arms)
        terms = self.access.terms(settings)
        same: dict[float | None, float | None] = {}  # most stand alike: one number for them all
        for arm in arms:
            place = terms.place(arm, 0)
            arm.priority = same.setdefault(place, place)
        if not self.access.retry(lambda: self.access.store.create(head, arms)):
            see_that_it_is(self.access, head, arms)

    @classmethod
    def open(
        cls,
        store: Store | str,
        name: str = "main",
        *,
        rule: Rule | str | None = None,
        problem: Problem | None = None,
    ) -> "Campaign":
        """Take up a campaign that is in a store.

        What a store says is never loaded: a rule that is not built in is handed in again, as
        ``rule`` (an object, or ``"./mine.py:Mine"``), and must have the same class name and
        settings. Without it the counters and the trials can be looked at, and nothing else. Where a
        ``problem`` is given that is not the one that it began with, an error shows the difference.
        """
        campaign = cls.__new__(cls)
        campaign.access = Access(open_store(store), name_of(name))
        settings = campaign.access.head().settings
        campaign._keys = seed_key(settings["seed"])
        spec = settings["rule"]
        given = built_in(spec) if rule is None else rule_of(rule)
        if given is not None:
            if not same_rule(given.spec, spec):
                raise DifferentCampaign(
                    f"campaign {name!r} is played by {spec}, not by {given.spec}"
                )
            campaign.access.rule = given
        if not isinstance(problem, Problem | None):
            raise TypeError(f"problem must be a Problem, got {shown(problem)}")
        if problem is not None:
            see_that_it_asks(campaign.access, problem)
        return campaign

    # What workers do.

    @overload
    def ask(self, n: None = None, *, lease: float | None = None) -> Pull | Pulls: ...
    @overload
    def ask(self, n: int, *, lease: float | None = None) -> Pulls: ...
    def ask(self, n: int | None = None, *, lease: float | None = None) -> Pull | Pulls:
        """The next trial to make; with n, up to so many at once.

        Empty where there is none: then ``why`` is "wait", "paused" or "done" (see :class:`Pulls`).
        """
        if n is not None and (not is_whole(n) or not 1 <= n < MOST):
            raise ValueError(f"ask for a whole number of pulls, 1 or more, got {shown(n)}")
        held = None if lease is None else check_lease(lease)
        many = 1 if n is None else as_whole(n)
        given, why, until = self.access.do("ask", moves.ask, many, held)
        if not given:
            return Pulls.none(why, until)
        if n is None:
            row, arm = given[0]
            return self._pull(row, arm)
        return Pulls(self._pull(*each) for each in given)

    def tell(
        self,
        pull: Pull | str,
        reward: float,
        *,
        cost: int | None = None,
        note: str | None = None,
    ) -> str:
        """What came of a pull; when this returns, it is kept.

        "counted"; "again" for what was told before, which changes nothing; or "late" for a pull
        that was given up and cannot count any more. ``cost`` is what it cost in the end, no more
        than was reserved; ``note`` a short text that leads back to the trial.
        """
        text = None if note is None else _note(note)
        return self.access.do("tell", moves.report, _handle(pull), _value(reward), cost, text)

    def tell_many(
        self,
        results: Iterable[tuple[Pull | str, float]],
        *,
        costs: Sequence[int | None] | None = None,
        notes: Sequence[str | None] | None = None,
    ) -> list[str]:
        """Many results in one transaction: one that cannot be refuses them all."""
        pairs = _pairs(results)
        for name, given in (("costs", costs), ("notes", notes)):
            if given is None:
                continue
            if not isinstance(given, Sequence) or isinstance(given, str):
                raise TypeError(f"{name} must be a list, one for each result, got {shown(given)}")
            if len(given) != len(pairs):
                raise ValueError(
                    f"{name}: one for each of the {len(pairs)} results, got {len(given)}"
                )
        told = [
            (
                _handle(pull),
                _value(reward),
                None if costs is None else costs[i],
                None if notes is None else _note(notes[i]),
            )
            for i, (pull, reward) in enumerate(pairs)
        ]
        return self.access.do("tell", moves.report_all, told)

    def fail(self, pull: Pull | str, *, note: str | None = None) -> str:
        """A pull that gave no reward; see ``lost``. The answer is as of :meth:`tell`."""
        return self.access.do("fail", moves.report, _handle(pull), None, None, _note(note))

    def heartbeat(self, *pulls: Pull | str, lease: float | None = None) -> list[bool]:
        """Keep pulls for another lease; False for one that is not in flight any more."""
        handles = [_handle(pull) for pull in pulls]
        held = None if lease is None else check_lease(lease)
        return self.access.do("heartbeat", moves.heartbeat, handles, held)

    def give_back(self, *pulls: Pull | str, note: str | None = None) -> list[bool]:
        """Pulls that will not be made, through no fault of their arms: their budget is free again.

        Unlike a failure it says nothing of the arm, which is honest only if not being made has
        nothing to do with what would have come of it: trials that are always stopped because they
        hang should fail. False for one that is not in flight any more.
        """
        handles, text = [_handle(pull) for pull in pulls], _note(note)
        return self.access.do("give back", moves.give_back, handles, text)

    # What whoever runs the campaign does.

    def pause(self) -> None:
        """Hand out no more pulls for now; what is in flight may be told."""
        self.access.do("pause", lambda t, terms: moves.set_state(t, PAUSED))

    def resume(self, arm: str | None = None) -> None:
        """Go on after a pause; or ask a suspended arm again."""
        if arm is None:
            self.access.do("resume", lambda t, terms: moves.set_state(t, RUNNING))
        else:
            self.access.do("resume", lambda t, terms: moves.resume_arm(t, _named(t, arm)))

    def suspended(self) -> dict[str, str]:
        """The arms that are suspended, and why."""
        return self.access.look(reasons_of)

    def extend(self, *, budget: int | None = None, to: int | None = None) -> None:
        """Spend up to so much more than was agreed; or up to so much in all.

        With ``to``, several who extend to the same do it once; it never takes anything back.
        """
        if (budget is None) == (to is None):
            raise ValueError("extend(budget=...) by so much, or extend(to=...) so much in all")
        if to is not None and (not is_whole(to) or not 1 <= to < MOST):
            raise ValueError(
                "a budget is extended to a whole number, 1 or more and below 2**62, got "
                f"{shown(to)}"
            )

        def move(t: Transaction, terms: Terms) -> None:
            more = budget
            if more is None:
                more = as_whole(to) - (t.head.budget or 0)
                if more <= 0 and t.head.budget is not None:
                    return
            moves.extend(t, more)
            self.access.renumber(t)

        self.access.do("extend", move, again=budget is None)

    def add(
        self,
        arm: str,
        *,
        threshold: float | None = None,
        precision: float | None = None,
        level: float | None = None,
        sd: float | None = None,
        cost: int = 1,
    ) -> None:
        """One more arm; its numbers are those of the first arm unless given.

        Beyond the declared number of arms the promises of the verdict end, and it says so.
        """
        (name,) = names_of([as_text("an arm's name", arm)])
        numbers = {"threshold": threshold, "precision": precision, "level": level, "sd": sd}
        own = {what: real(what, value) for what, value in numbers.items() if value is not None}

        def move(t: Transaction, terms: Terms) -> None:
            moves.refuse_closed(t.head)
            if t.named(name) is not None:
                raise ValueError(f"there is an arm {name!r} in the campaign already")
            like = t.arm(0)
            for what, given, known in (("level", level, like.level), ("sd", sd, like.sd)):
                if given is not None and known is None:
                    raise ValueError(f"the arms of this campaign have no {what}")
            (price,) = costs_of(cost, [name])
            new = Arm(
                t.head.arms,
                name,
                own.get("threshold", like.threshold),
                own.get("precision", like.precision),
                own.get("level", like.level),
                own.get("sd", like.sd),
                price,
                float(ties_of(terms.seed, t.head.arms, 1)[0]),
            )
            alone = problem_of([new], terms.rewards)
            if threshold is not None or precision is not None:
                check_band(alone)
            if t.head.budget is None:
                check_can_stop(alone, terms.confidence)
            new.kept = start_of(terms.rule, alone)[0]
            moves.add(t, terms, new)
            self.access.renumber(t)

        self.access.do("add", move, again=False)

    def retire(self, arm: str) -> None:
        """Leave an arm out of the answer from now on; it still counts among those declared."""
        self.access.do("retire", lambda t, terms: moves.retire(t, _named(t, arm)))

    def attach(self, arm: str, rewards: Iterable[float], *, unpicked: bool = False) -> None:
        """Results of an arm that were made elsewhere, in the order in which they were made.

        They count in the mean and the choice, never in the budget. They count in the evidence only
        if you say that they are ``unpicked``: all there were, none left out because of its value.
        """
        if not isinstance(rewards, Iterable) or isinstance(rewards, str | bytes):
            raise TypeError(f"rewards must be a list of results, got {shown(rewards)}")
        if not isinstance(unpicked, bool):
            raise TypeError(f"unpicked is True or False, got {shown(unpicked)}")
        values = [_value(reward) for reward in rewards]

        def move(t: Transaction, terms: Terms) -> None:
            moves.attach(t, terms, _named(t, arm), values, weighs=unpicked)

        self.access.do("attach", move, again=False)

    def close(self) -> None:
        """End the campaign for good: nothing is asked or told any more."""
        self.access.do("close", lambda t, terms: moves.set_state(t, CLOSED))

    # What anybody may look at.

    def verdict(self, confidence: float | None = None) -> Verdict:
        """The answer now, at the campaign's confidence (0.95 where it has none) or another.

        Another than was fixed beforehand is fine to look at, but the promise is for one.
        """
        head = self.access.head()
        if head.pulls - head.weighed > PENDING and not _eager(head):
            with contextlib.suppress(StoreError):  # a store that cannot be written can be read
                self.access.do("weigh", moves.weigh)

        def history() -> list[Floats]:
            return self.access.do("look", fed_rewards)

        def look(t: Transaction, terms: Terms) -> Verdict:
            moves.weigh(t, terms)  # what is still missing
            return verdict_on(t.head, terms, t.all_arms(), confidence, history)

        return self.access.do("look", look)

    def _pull(self, row: PullRow, arm: Arm) -> Pull:
        key = (*self._keys, arm.number)
        values = (row.id, arm.name, row.nth, row.cost, row.expires or 0.0, key)
        return tuple.__new__(Pull, values)  # in half the time of Pull(...)

    @property
    def name(self) -> str:
        """What it is called in its store."""
        return self.access.name

    @property
    def problem(self) -> Problem:
        """The question: all arms that were ever in it."""

        return self.access.do("look", lambda t, terms: question(t.all_arms(), terms))

    @property
    def bar(self) -> Bar:
        """The bar as it was put; that of the first arm, where each has its own."""

        def look(t: Transaction) -> Bar:
            first = t.arm(0)
            return Bar.from_dict(t.head.settings.get("asked"), first.threshold, first.precision)

        return self.access.look(look)

    @property
    def budget(self) -> int | None:
        """What may be spent in all; None if the campaign ends at its confidence alone."""
        return self.access.head().budget

    @property
    def spent(self) -> int:
        """What the pulls that count have cost."""
        return self.access.head().spent

    @property
    def in_flight(self) -> int:
        """How many pulls are under way."""
        return self.access.head().flying

    @property
    def status(self) -> str:
        """ "running", "paused" or "closed"."""
        return self.access.head().state

    @property
    def confidence(self) -> float | None:
        """The confidence at which it stops, if any."""
        level: float | None = self.access.head().settings["confidence"]
        return level

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self.access.store

    def __enter__(self) -> "Campaign":
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the store; the campaign goes on."""
        self.access.store.release()

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or sent elsewhere: a campaign is one, and lives in its store."""
        raise TypeError(
            f"a campaign cannot be copied or pickled: where it is wanted, open it, with "
            f"Campaign.open({self.store.shown!r}, {self.name!r})"
            + (" (one in memory stays in its process)" if self.store.shown == "memory" else "")
        )

    def __repr__(self) -> str:
        return f"Campaign({self.name!r} in {self.access.store.shown})"


def _eager(head: Head) -> bool:
    return head.settings["confidence"] is not None


def _named(t: Transaction, name: str) -> Arm:
    arm = t.named(as_text("an arm's name", name))
    if arm is None:
        raise UnknownArm(f"there is no arm {shown(name)} in campaign {t.head.name!r}")
    return arm


def _handle(pull: Pull | str) -> str:
    return pull.id if isinstance(pull, Pull) else pull


def _pairs(results: object) -> list[tuple[Pull | str, float]]:
    """Results, each a trial and its reward."""
    wanted = "results must be pairs of a trial and its reward"
    if not isinstance(results, Iterable) or isinstance(results, str | bytes):
        raise TypeError(f"{wanted}, got {shown(results)}")
    pairs = list(results)
    for pair in pairs:
        if not isinstance(pair, Sequence) or isinstance(pair, str | bytes) or len(pair) != 2:
            raise TypeError(f"{wanted}, got {shown(pair)} among them")
    return pairs


def _value(reward: object) -> object:
    if reward is None:
        raise ValueError("a reward must be a number, got None: a pull that gave none has failed")
    return reward


def _note(note: str | None) -> str | None:
    if note is None:
        return None
    if not isinstance(note, str):
        raise ValueError(f"a note is a short text, got {shown(note)}")
    if len(note) > 10_000:
        raise ValueError(
            f"a note is a short text, 10,000 characters at most, got {len(note):,} characters"
        )
    # What a program prints may be anything; databases take none of these two.
    return note.encode("utf-8", "replace").decode("utf-8").replace("\0", "\\0")
