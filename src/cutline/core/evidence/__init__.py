"""Evidence: what the rewards of an arm prove, however they were chosen and whenever one looks."""

from cutline.core.evidence.base import Evidence

__all__ = ["Evidence"]
