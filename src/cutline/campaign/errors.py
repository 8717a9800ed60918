"""What can go wrong with a campaign, named for what happened."""

from cutline.core.text import visible


class CampaignError(Exception):
    """The root of all that follows; names of arms and campaigns in it are shown as plain text."""

    def __str__(self) -> str:
        return visible(super().__str__())


class UnknownPull(CampaignError):
    """A pull that this campaign never handed out."""


class UnknownArm(CampaignError):
    """A name that is no arm of the campaign."""


class ConflictingTell(CampaignError):
    """A pull that was settled already, with another value."""


class CampaignClosed(CampaignError):
    """The campaign was closed for good."""


class NothingWorks(CampaignError):
    """Trials fail, and none has ever succeeded."""


class UnknownCampaign(CampaignError):
    """No campaign of that name is in the store."""


class DifferentCampaign(CampaignError):
    """A campaign of that name is there, and asks another question or plays by other rules."""


class RuleNeeded(CampaignError):
    """The campaign is played by a rule that is not built in, and nobody has handed it in."""


class StoreError(CampaignError):
    """The store cannot be used: a wrong file, another version, no room, no permission."""


class OlderStore(StoreError):
    """The store was written by an older cutline and is to be upgraded first."""


class StoreUnavailable(StoreError):
    """The store does not answer now; what was under way may or may not have been written."""


class StoreBusy(StoreError):
    """Another process held the store for longer than was to be waited for."""
