"""cutline demo: a durable campaign over real flaky tests, with a worker killed on the way."""

import multiprocessing
import os
import random
import shutil
import sys
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutline.cli.printing import say
from cutline.cli.shared import folder, into_folder, one_sentence, progress, seeded
from cutline.core.bar import AT_MOST, FAILURE_RATE, Bar

if TYPE_CHECKING:
    from cutline.campaign import Campaign
    from cutline.core.verdict import Verdict
    from cutline.simulation.datasets import Dataset

THRESHOLD, PRECISION, CONFIDENCE = 0.05, 0.02, 0.95
BAR = Bar(THRESHOLD, PRECISION, AT_MOST, FAILURE_RATE)  # a reward of 1 is a failure
BATCH = 25  # trials that a worker takes at a time
LEASE = 3.0  # seconds until what a dead worker held is asked again
KILL_AFTER = 20_000  # trials: about a third of what it takes
NAME = "demo"


@click.command()
@into_folder
@click.option(
    "--workers", type=click.IntRange(2), default=4, show_default=True, help="Worker processes."
)
@seeded
def demo(out: str, workers: int, seed: int) -> None:
    """Which of 431 real tests fail more than 5 % of the time?

    Several worker processes play one campaign in a file, one of them is killed on the way, and the
    verdict comes with a picture and with what equal repetition would have needed. A trial draws
    from recorded runs of the tests of Apache HBase (about 10,000 of each; see docs/data.md).
    """
    with one_sentence():
        folder(out)
        _play(Path(out), workers, seed)


def _play(out: Path, workers: int, seed: int) -> None:
    from cutline.campaign import Campaign, audit
    from cutline.core.problem import Problem
    from cutline.figures.draw import plot
    from cutline.figures.draw.base import new_figure
    from cutline.simulation import dataset

    tests = dataset("flaky_tests")
    file = out / "demo.db"
    for old in (file, file.with_name("demo.db-wal"), file.with_name("demo.db-shm")):
        old.unlink(missing_ok=True)
    problem = Problem(arms=tests.names, threshold=THRESHOLD, precision=PRECISION, rewards="binary")
    campaign = Campaign(
        problem, confidence=CONFIDENCE, store=str(file), name=NAME, seed=seed, lease=LEASE,
        bar=BAR,
    )  # fmt: skip
    say(
        f"Which of {len(problem.arms)} tests of Apache HBase fail more than {THRESHOLD:.0%} of the "
        f"time?\n{workers} workers share one campaign, kept in {file}; it stops when every test "
        f"is settled\nat {CONFIDENCE:.0%} confidence (within {PRECISION:.0%} of the bar either "
        "answer will do)."
    )
    began = time.monotonic()
    _let_them_work(campaign, workers, str(file))
    took = time.monotonic() - began
    verdict = campaign.verdict()
    _say(verdict, campaign.spent, took, tests)
    found = audit(campaign)
    follows = "everything follows" if found.holds else f"it does not hold: {found.faults[0]}"
    say(f"audit: {found.events:,} events replayed from the file, {follows}")
    picture = out / "demo.png"
    figure = new_figure(7.5, 4.8)
    plot(verdict, figure.add_subplot(), bar=BAR)
    figure.savefig(picture, dpi=150)
    # As it was called, such as .venv/bin/cutline, where the shell does not know it by its name.
    program = "cutline" if shutil.which("cutline") else sys.argv[0]
    said = [f"{program} {command} --store {file}" for command in ("show", "export", "audit")]
    say(f"picture: {picture}\nlook around: {', '.join(said)}")


def _let_them_work(campaign: "Campaign", workers: int, file: str) -> None:
    """Start the workers, kill one of them on the way, and wait until the campaign is done."""
    start = multiprocessing.get_context("spawn")
    team: list[BaseProcess] = [
        start.Process(target=work, args=(file,), daemon=True) for _ in range(workers)
    ]
    for each in team:
        each.start()
    arms = campaign.access.head().arms
    victim: BaseProcess | None = team[0]
    with progress("settling", "tests") as shown:
        while any(each.is_alive() for each in team):
            settled = arms - campaign.access.head().unsettled
            if shown is not None:
                shown(settled, arms)
            spent = campaign.spent
            if victim is not None and spent >= KILL_AFTER:
                victim.kill()
                victim.join()
                say(
                    f"after {spent:,} trials one worker is killed (SIGKILL): what it had told is "
                    "kept, what it held is asked again"
                )
                victim = None
            time.sleep(0.05)
    for each in team:
        each.join()
    if campaign.ask(1).why != "done":
        raise click.ClickException("the workers ended before the campaign did")


def work(file: str) -> None:
    """A worker: take some trials, make them, tell what came of them; until all is done."""
    from cutline.campaign import Campaign
    from cutline.simulation import dataset

    tests = dataset("flaky_tests")
    rates = dict(zip(tests.names, tests.arms.means.tolist(), strict=True))
    campaign = Campaign.open(file, NAME)
    while True:
        pulls = campaign.ask(BATCH)
        if pulls:
            campaign.tell_many(
                (pull, int(random.Random(pull.seed).random() < rates[pull.arm])) for pull in pulls
            )
        elif pulls.why == "done":
            os._exit(0)  # nothing to tidy up, as the one that was killed shows
        else:
            time.sleep(0.05)


def _say(verdict: "Verdict", spent: int, took: float, tests: "Dataset") -> None:
    """The answer, whether it is right, and what equal repetition would have taken."""
    from cutline.core.bar import Bar

    arms = len(verdict.arms)
    proven = Counter(arm.proven for arm in verdict.arms)
    hardest = max(verdict.arms, key=lambda arm: arm.pulls)
    lost = sum(arm.counts.lost for arm in verdict.arms if arm.counts)
    say(
        f"\n{spent:,} trials in {took:.0f} s; {lost} were lost with the worker and made again\n"
        f"{proven['above']} tests fail more than {THRESHOLD:.0%} of the time, {proven['below']} do "
        f"not, {proven['within precision']} within {PRECISION:.0%} of it either way, "
        f"{len(verdict.undecided)} undecided\n"
        f"chance that any is on the wrong side: at most {verdict.error_bound:.3f}"
    )
    say(f"\n   runs  failed  {'known':<33}  the tests that took most")
    for arm in sorted(verdict.arms, key=lambda arm: -arm.pulls)[:5]:
        known = Bar(THRESHOLD).known(arm)
        say(f"{arm.pulls:7,}  {arm.mean:6.3f}  {known:<33}  {arm.arm}: {arm.proven}")
    half = sorted(arm.pulls for arm in verdict.arms)[arms // 2]
    say(f"{half:7,}  is what half of the tests took at most")
    truth = dict(zip(tests.names, tests.arms.means.tolist(), strict=True))
    count = [a for a in verdict.arms if abs(truth[a.arm] - THRESHOLD) >= PRECISION]
    right = sum((truth[arm.arm] >= THRESHOLD) == (arm.side == "above") for arm in count)
    say(
        f"\nAgainst all recorded runs: {right} of the {len(count)} tests outside the band are on "
        f"the right side.\nThe hardest test took {hardest.pulls:,} runs to settle. Running every "
        f"test as often: {arms * hardest.pulls:,} trials,\n{arms * hardest.pulls / spent:.0f} "
        "times as many for the same answer."
    )
