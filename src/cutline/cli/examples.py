"""cutline paper and cutline examples: figures, tables and checks into a folder."""

import sys
from pathlib import Path

import click

from cutline.cli.printing import say
from cutline.cli.shared import (
    GAMES_HELP,
    folder,
    into_folder,
    note,
    one_sentence,
    play,
    seeded,
    threaded,
)


@click.command()
@click.option("--games", type=int, default=5000, show_default=True, help=GAMES_HELP)
@into_folder
@seeded
@threaded
def paper(games: int, out: str, seed: int, threads: int | None) -> None:
    """Play the paper's experiments: figures, tables, and a check against exact values.

    Three bandits of ten arms, Bernoulli and Gaussian, six rules, horizons up to 500. Writes two
    figures (PNG and SVG), one JSON file for each bandit, and all numbers as CSV.
    """
    with one_sentence():
        from cutline.core.chance import seed_key
        from cutline.figures.paper import run_paper
        from cutline.simulation.simulate import check_games

        check_games(games, threads=threads)
        seed_key(seed)
        folder(out)
        code = run_paper(Path(out), games, seed, threads, play, say)
        if code == 130:
            note(f"stopped; {out} holds the experiments that were finished")
        sys.exit(code)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--games", type=int, default=1000, show_default=True, help=GAMES_HELP)
@into_folder
@seeded
@threaded
def examples(names: tuple[str, ...], games: int, out: str, seed: int, threads: int | None) -> None:
    """Play worked examples: a table, a figure and the numbers of each.

    \b
    labels       yes or no by a crowd: which photographs show which bird
    anomalies    which benchmarks stray too often on fresh cloud machines
    duels        which options win half of their duels
    best-arm     the best arm and the reward on the way, highest mean known
    heavy-tails  APT with estimates that one wild reward cannot move

    Without names, all of them. The pages in docs/howto say what they show.
    """  # noqa: D301 (as above)
    with one_sentence():
        from cutline.core.chance import seed_key
        from cutline.figures.examples import EXAMPLES, run_examples
        from cutline.simulation.simulate import check_games

        for name in names:
            if name not in EXAMPLES:
                raise ValueError(f"there is no example {name!r}: one of {', '.join(EXAMPLES)}")
        check_games(games, threads=threads)
        seed_key(seed)
        folder(out)
        chosen = list(names or EXAMPLES)
        code = run_examples(chosen, Path(out), games, seed, threads, play, say)
        if code == 130:
            note(f"stopped; {out} holds the examples that were finished")
        sys.exit(code)
