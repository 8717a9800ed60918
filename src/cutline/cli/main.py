"""All commands together, and what an exit code means."""

import os
import sys
import warnings

import click

from cutline._version import __version__
from cutline.cli.demo import demo
from cutline.cli.examples import examples, paper
from cutline.cli.plan import plan
from cutline.cli.printing import cut, say
from cutline.cli.run import run
from cutline.cli.shared import note
from cutline.cli.simulate import simulate
from cutline.cli.stores.commands import audit, delete, list_, resume, upgrade
from cutline.cli.stores.export import export
from cutline.cli.stores.show import show
from cutline.cli.theory import theory
from cutline.cli.tournament import tournament
from cutline.core.text import visible

LONGEST = 1_000  # characters of an error that are shown


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="cutline")
def cli() -> None:
    """Which of these noisy options clear the bar?

    cutline decides which option to try next, so that within a budget it knows which are above a
    threshold and which are below (the thresholding bandit problem).
    """


for command in (
    run, demo, simulate, plan, theory, paper, examples, tournament,
    list_, show, export, audit, resume, upgrade, delete,
):  # fmt: skip
    cli.add_command(command)


def _as_note(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning as a command shows everything beside its output."""
    note(str(message))


def _open_what_was_closed() -> None:
    """Let standard streams that were closed at the start (``>&-``) lead to nowhere.

    Python has None in their place, and the next file that is opened would get their number, which
    trials inherit.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        nowhere = os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
        os.set_inheritable(nowhere, True)
        setattr(sys, name, os.fdopen(nowhere, "w" if number else "r", encoding="utf-8"))


def main() -> None:
    """Run the command line; exit code 2 for bad input, 130 after Ctrl-C."""
    _open_what_was_closed()
    warnings.showwarning = _as_note
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(0)
    except click.ClickException as error:
        say(f"cutline: {cut(visible(error.format_message()), LONGEST)}", err=True)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        say("cutline: stopped", err=True)
        sys.exit(130)
