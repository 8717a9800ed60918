"""The distributions of simulated arms, one family a file."""

from cutline.simulation.arms.base import Arms
from cutline.simulation.arms.bernoulli import Bernoulli
from cutline.simulation.arms.beta import Beta
from cutline.simulation.arms.gaussian import Gaussian
from cutline.simulation.arms.recorded import Recorded

__all__ = ["FAMILIES", "Arms", "Bernoulli", "Beta", "Gaussian", "Recorded"]

FAMILIES: dict[str, type[Arms]] = {
    kind.name: kind for kind in (Bernoulli, Gaussian, Beta, Recorded)
}
