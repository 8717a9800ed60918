"""An outage: trials worked, and now all or most arms fail. Wait, and make one trial at a time."""

import math
import time

PAUSES = (1.0, 60.0)  # seconds between two trials: the first, and the longest


class Outage:
    """Since when, and when to try again; times are by the monotonic clock."""

    def __init__(self, give_up_after: float, arms: frozenset[int] = frozenset()) -> None:
        self.arms = arms  # those that fail while others work; none where all fail
        self.began = time.monotonic()
        self.until = self.began + give_up_after
        self._pause = PAUSES[0]
        self.next_try = self.began + self._pause
        self.probe: str | None = None  # the trial that is to show whether it is over

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return time.monotonic() - self.began

    @property
    def is_given_up(self) -> bool:
        """Whether it has lasted too long."""
        return time.monotonic() >= self.until

    def may_try(self) -> bool:
        """Whether it is time for another trial."""
        return self.probe is None and time.monotonic() >= self.next_try

    def tried(self, key: str) -> None:
        """A trial has come back without a reward; a longer pause if it was the one to show it."""
        if key == self.probe:
            self.probe = None
            self._pause = min(2.0 * self._pause, PAUSES[1])
            self.next_try = time.monotonic() + self._pause

    def worked(self, key: str) -> None:
        """A trial of an arm that works has given a reward: the next one may begin at once."""
        if key == self.probe:
            self.probe = None
            self.next_try = time.monotonic()

    @property
    def who(self) -> str:
        """What fails, in words."""
        return "most arms" if self.arms else "all trials"

    def __str__(self) -> str:
        left = self.next_try - time.monotonic()
        then = f"next try in {math.ceil(left)} s" if left > 0 else "trying"
        return f"waiting: {self.who} fail since {in_words(self.seconds)}, {then}"


def in_words(seconds: float) -> str:
    """A time as people say it.

    >>> in_words(42), in_words(1800), in_words(9000)
    ('42 s', '30 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.3g} h"
