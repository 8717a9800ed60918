"""Where the truth is not known: one live game, kept in a store."""

from cutline.campaign.audit import Audit, audit
from cutline.campaign.campaign import Campaign
from cutline.campaign.errors import (
    CampaignClosed,
    CampaignError,
    ConflictingTell,
    DifferentCampaign,
    NothingWorks,
    OlderStore,
    RuleNeeded,
    StoreBusy,
    StoreError,
    StoreUnavailable,
    UnknownArm,
    UnknownCampaign,
    UnknownPull,
)
from cutline.campaign.identify import identify
from cutline.campaign.progress import Progress
from cutline.campaign.pulls import Pull, Pulls
from cutline.campaign.stores import MemoryStore, Store, open_store

__all__ = [
    "Audit",
    "Campaign",
    "CampaignClosed",
    "CampaignError",
    "ConflictingTell",
    "DifferentCampaign",
    "MemoryStore",
    "NothingWorks",
    "OlderStore",
    "Progress",
    "Pull",
    "Pulls",
    "RuleNeeded",
    "Store",
    "StoreBusy",
    "StoreError",
    "StoreUnavailable",
    "UnknownArm",
    "UnknownCampaign",
    "UnknownPull",
    "audit",
    "identify",
    "open_store",
]
