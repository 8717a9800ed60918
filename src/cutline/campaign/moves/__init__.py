"""What can happen in a campaign, as changes to its records inside one transaction.

Every store plays by these: the transaction hands out records and takes them back changed. A move
checks all it was given before it changes anything.
"""

from cutline.campaign.moves.asking import DONE, ask
from cutline.campaign.moves.flying import drop, give_back, hand_back, heartbeat, refuse_closed
from cutline.campaign.moves.managing import add, attach, extend, resume_arm, retire, set_state
from cutline.campaign.moves.telling import COUNTED, TOO_LATE, Report, report, report_all
from cutline.campaign.moves.weighing import weigh

__all__ = [
    "COUNTED",
    "DONE",
    "TOO_LATE",
    "Report",
    "add",
    "ask",
    "attach",
    "drop",
    "extend",
    "give_back",
    "hand_back",
    "heartbeat",
    "refuse_closed",
    "report",
    "report_all",
    "resume_arm",
    "retire",
    "set_state",
    "weigh",
]
