"""What can happen in a campaign, as changes to its records inside one transaction.

Every store plays by these: the transaction hands out records and takes them back changed. A move
checks all it was given before it changes anything.
"""

from cutline.campaign.moves.asking import DONE, ask
from cutline.campaign.moves.flying import drop, give_back, hand_back, heartbeat, refuse_closed
from cutline.campaign.moves.managing import add, attach, extend, resume_arm, retire, set_state
from cutline.campaign.moves.suspending import FALSE_SUSPENSION, WINDOW, Run, chance_of, excuse
from cutline.campaign.moves.telling import COUNTED, TOO_LATE, Report, report, report_all
from cutline.campaign.moves.weighing import weigh

__all__ = [
    "COUNTED",
    "DONE",
    "FALSE_SUSPENSION",
    "TOO_LATE",
    "WINDOW",
    "Report",
    "Run",
    "add",
    "ask",
    "attach",
    "chance_of",
    "drop",
    "excuse",
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
