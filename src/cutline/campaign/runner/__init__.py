"""The one loop that plays campaigns, and the drivers that make its trials.

:class:`Runner` asks, has trials made, and tells what came of them. How a trial is made is a
driver's business: a small class that is told "start this" and says when it is done.
"""

from cutline.campaign.runner.lookout import Glance, Lookout
from cutline.campaign.runner.runner import GIVE_UP_AFTER, Flight, Observer, Runner
from cutline.campaign.runner.trials import INTERRUPTED, TIMED_OUT, Done, Driver, Outcome

__all__ = [
    "GIVE_UP_AFTER",
    "INTERRUPTED",
    "TIMED_OUT",
    "Done",
    "Driver",
    "Flight",
    "Glance",
    "Lookout",
    "Observer",
    "Outcome",
    "Runner",
]
