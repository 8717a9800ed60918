"""The distributions of simulated arms, one family a file."""

from cutline.simulation.arms.base import Arms
from cutline.simulation.arms.bernoulli import Bernoulli
from cutline.simulation.arms.beta import Beta
from cutline.simulation.arms.duels import Duels
from cutline.simulation.arms.exponential import Exponential
from cutline.simulation.arms.gaussian import Gaussian
from cutline.simulation.arms.pareto import Pareto
from cutline.simulation.arms.poisson import Poisson
from cutline.simulation.arms.recorded import Recorded
from cutline.simulation.arms.student_t import StudentT

__all__ = [
    "FAMILIES",
    "Arms",
    "Bernoulli",
    "Beta",
    "Duels",
    "Exponential",
    "Gaussian",
    "Pareto",
    "Poisson",
    "Recorded",
    "StudentT",
]

FAMILIES: dict[str, type[Arms]] = {
    kind.name: kind
    for kind in (
        Bernoulli,
        Gaussian,
        Beta,
        Poisson,
        Exponential,
        Pareto,
        StudentT,
        Duels,
        Recorded,
    )
}
