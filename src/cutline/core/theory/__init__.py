r"""What the paper proves, computed: complexities, static allocations, and its bounds.

A bound on the chance of an error is a :class:`Bound`, a function of the budget T of the shape

.. math:: \text{factor}(T)\,\exp(-\text{rate}\cdot(T - \text{start}))

Where a statement is printed with a slip, or its proof as written gives something else, the function
computes what the proof gives; ``printed=True`` computes the printed form. Throughout, H is the
complexity :meth:`Problem.complexity`, R the ``noise_scale`` and log the natural logarithm. The
thresholds and precisions may differ between arms.

All upper bounds are far from what happens: for the paper's Experiment 1, Theorem 2 promises an
error of 0.05 from some 10,000 pulls on, and APT errs less than once in 1,000 games after 500. Plan
with a simulation.
"""

from cutline.core.theory.bound import (
    Bound,
)
from cutline.core.theory.complexity import (
    best_arm_complexity,
    best_arm_gaps,
    clearance,
    ordered_complexity,
    separating_gaps,
    static_allocation,
    static_shares,
    top_m_gaps,
    top_m_threshold,
)
from cutline.core.theory.lower import (
    confidence_complexity,
    confidence_lower_bound,
    corollary_1,
    edge_divergences,
    kl_lower_bound,
    sharp_lower_bound,
    theorem_1,
)
from cutline.core.theory.upper import (
    corollary_2,
    csar_bound,
    theorem_2,
    theorem_3,
    theorem_4,
)

__all__ = [
    "Bound",
    "best_arm_complexity",
    "best_arm_gaps",
    "clearance",
    "confidence_complexity",
    "confidence_lower_bound",
    "corollary_1",
    "corollary_2",
    "csar_bound",
    "edge_divergences",
    "kl_lower_bound",
    "ordered_complexity",
    "separating_gaps",
    "sharp_lower_bound",
    "static_allocation",
    "static_shares",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "theorem_4",
    "top_m_gaps",
    "top_m_threshold",
]
