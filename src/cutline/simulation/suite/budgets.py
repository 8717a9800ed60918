"""The three budgets of every instance, and where they are not what they should be."""

from cutline.simulation.suite.instance import Budgets

# Found by tools/suite_budgets.py.
BUDGETS: dict[str, Budgets] = {
    "three-groups": (66, 170, 280),
    "arithmetic": (120, 230, 350),
    "geometric": (290, 540, 790),
    "three-groups-gaussian": (83, 200, 330),
    "arithmetic-gaussian": (140, 280, 430),
    "geometric-gaussian": (310, 580, 830),
    "geometric-exact": (890, 1_800, 2_700),
    "radtke-2": (3_300, 14_000, 25_000),
    "radtke-3": (6_200, 14_000, 30_000),
    "ladder-20": (10_000, 20_000, 40_000),
    "flaky-50": (24_000, 31_000, 40_000),
    "tests-200": (20_000, 24_000, 30_000),
    "prompts-30": (8_100, 13_000, 21_000),
    "uniform-50": (1_900, 3_400, 4_900),
    "uniform-50-high": (1_100, 2_200, 3_200),
    "exponential-20": (210, 460, 810),
    "poisson-20": (440, 940, 1_600),
    "fwt-1": (420, 620, 830),
    "fwt-2": (500, 1_000, 2_000),
    "fwt-2-band": (4_800, 8_400, 12_000),
    "aug-ucb-1": (2_700, 4_800, 6_900),
    "aug-ucb-2": (3_300, 5_500, 7_700),
    "aug-ucb-3": (2_500, 4_600, 6_800),
    "aug-ucb-4": (5_900, 9_500, 12_000),
    "aug-ucb-5": (11_000, 17_000, 22_000),
    "declared-20": (1_700, 3_100, 4_400),
    "beta-12": (110, 210, 350),
    "pareto-10": (63, 440, 2_000),
    "student-10": (190, 620, 1_900),
    "arms-50-high": (5_100, 7_200, 12_000),
    "arms-500": (11_000, 16_000, 20_000),
    "arms-500-low": (18_000, 24_000, 37_000),
    "arms-5000": (27_000, 62_000, 100_000),
    "arms-5000-low": (31_000, 83_000, 170_000),
    "arms-5000-high": (31_000, 83_000, 170_000),
    "bluebirds": (3_100, 4_600, 5_900),
    "vm-noise-5": (6_100, 8_800, 12_000),
    "vm-noise-10": (12_000, 21_000, 27_000),
    "rtt-half": (17_000, 41_000, 53_000),
    "rtt-one": (23_000, 110_000, 180_000),
    "rtt-mean": (4_600, 17_000, 60_000),
}

# Where 1 % takes more pulls than the tournament can afford.
NOTES = {
    "radtke-3": "At the largest budget APT still errs in 6 % of games.",
    "ladder-20": "APT errs in 94, 84 and 69 % of games; 25 % would take 120,000 pulls.",
    "flaky-50": "At the largest budget APT still errs in 15 % of games; 1 % would take 270,000 "
    "pulls.",
    "tests-200": "At the largest budget APT still errs in 16 % of games; 1 % would take over "
    "600,000 pulls.",
    "rtt-mean": "At the largest budget APT still has 3 wrong arms in 1,000; 1 would take 150,000 "
    "pulls.",
    "fwt-2": "Means as close to the threshold as 0.0004: some arm is always wrong, so arms are "
    "counted; the budgets are the paper's 500, and twice and four times it.",
}
