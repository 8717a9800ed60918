"""The loops that play games, written to be compiled.

Four ways to play, one signature (the last takes one argument more):

* :func:`scan_kernel`: index rules with few arms. 64 games advance in lockstep; every step is a few
  short loops over the games, each of which becomes vector code.
* :func:`tree_kernel`: index rules with many arms. A tree over the indices replaces the scan, so a
  pull costs O(log K).
* :func:`policy_kernel`: everything else. Each game makes its own choice, 16 games draw together.
* :func:`live_kernel`: pulls in flight, evidence, stopping at a confidence. One game at a time.

Games lie in blocks of 64, so that "which games are wrong" is one 64-bit word for a block and a
horizon; results of different rules are compared word by word. Arms lie in the order in which ties
fall in their game, so "the first of the lowest" is how ties are settled.

A kernel adds to what it is given as ``out``: ``words[block, h]``, for every horizon the sum of
wrong arms and of its square, and at the end the pulls of every arm; the arms pulled, if wanted.
"""

from cutline.simulation.kernels.live import live_kernel
from cutline.simulation.kernels.policy import policy_kernel
from cutline.simulation.kernels.scan import scan_kernel
from cutline.simulation.kernels.shared import BUNDLE, LANES, tie_orders
from cutline.simulation.kernels.tree import MOST_ARMS, tree_kernel

__all__ = [
    "BUNDLE",
    "LANES",
    "MOST_ARMS",
    "live_kernel",
    "policy_kernel",
    "scan_kernel",
    "tie_orders",
    "tree_kernel",
]
