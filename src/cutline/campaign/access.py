"""A campaign in a store, as one process gets at it: one move, one transaction."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from cutline.campaign.errors import RuleNeeded, StoreUnavailable
from cutline.campaign.making import numbers_of, playable, played_on
from cutline.campaign.records import Head
from cutline.campaign.stores import Store, Transaction
from cutline.campaign.stores.base import Patience
from cutline.campaign.terms import Terms, problem_of
from cutline.rules.base import Rule, parameter_names
from cutline.rules.editions import of_edition

Answer = TypeVar("Answer")


class Access:
    """Where a campaign is and by which rule it is played; nothing of what is in it."""

    def __init__(self, store: Store, name: str, rule: Rule | None = None) -> None:
        self.store, self.name, self._rule = store, name, rule
        self._known: tuple[dict[str, Any], Terms] | None = None

    @property
    def rule(self) -> Rule:
        """The rule that was agreed on; an error where it is somebody's own and not handed in."""
        if self._rule is None:
            raise rule_needed(self.name, self.head().settings["rule"])
        return self._rule

    @rule.setter
    def rule(self, rule: Rule) -> None:
        self._rule = rule

    def head(self) -> Head:
        """The campaign's counters now."""
        return self.look(lambda t: t.head)

    def look(self, what: Callable[[Transaction], Answer], *, again: bool = True) -> Answer:
        """Look at records alone, which needs no rule; ``again`` as of :meth:`do`."""

        def look() -> Answer:
            return self.store.run(self.name, "look", what)

        return self.retry(look) if again else look()

    def terms(self, settings: dict[str, Any]) -> Terms:
        """What settings mean; those of a campaign are the same object until they change."""
        known = self._known
        if known is None or settings is not known[0]:
            if self._rule is None:  # said from what was read: we are in a transaction
                raise rule_needed(self.name, settings["rule"])
            rule = playable(self._rule, played_on(settings))
            rule = of_edition(rule, settings.get("edition", 1))
            known = self._known = (settings, Terms.of(settings, rule))
        return known[1]

    def do(
        self,
        move: str,
        what: Callable[..., Answer],
        *given: object,
        again: bool = True,
    ) -> Answer:
        """One move in one transaction, ``what(transaction, terms, *given)``.

        ``again``: once more where the store does not answer.
        """

        def work(t: Transaction) -> Answer:
            settings, known = t.head.settings, self._known
            terms = known[1] if known and known[0] is settings else self.terms(settings)
            t.place = terms.place
            return what(t, terms, *given)

        patience = None
        while True:
            try:
                return self.store.run(self.name, move, work)
            except StoreUnavailable:
                if not again:
                    raise
                patience = patience or Patience(self.store.wait)
                if not patience.wait():
                    raise

    def retry(self, what: Callable[[], Answer]) -> Answer:
        """Try for a while. A tell that was kept is known again; a lost ask comes back by lease."""
        patience = Patience(self.store.wait)
        while True:
            try:
                return what()
            except StoreUnavailable:
                if not patience.wait():
                    raise

    def renumber(self, t: Transaction) -> None:
        """The rule's numbers anew, where it goes by the budget or by how many arms there are."""
        settings = t.head.settings
        terms = self.terms(settings)
        rule = terms.rule
        asked = [name for f in (rule.body, type(rule).learn) if f for name in parameter_names(f)]
        if rule.anytime and "arms" not in asked:
            return
        arms = t.all_arms()
        numbers = numbers_of(rule, problem_of(arms, terms.rewards), t.head.budget)
        t.head.settings = {**settings, "numbers": numbers}
        t.place = self.terms(t.head.settings).place
        for arm in arms:
            t.touch(arm)


def rule_needed(name: str, spec: object) -> RuleNeeded:
    """What to say where a rule of somebody's own is needed and was not handed in."""
    file, _, wanted = str(spec).partition(":")
    typed = f"{Path(file).name or 'mine.py'}:{wanted}"
    return RuleNeeded(
        f"campaign {name!r} is played by {str(spec)!r}, a rule that is not built in, and what a "
        f"store names is never loaded: hand it in from a file of yours, with --rule ./{typed} in a "
        f"command, or rule={f'./{typed}'!r} or the rule itself in Campaign.open"
    )
