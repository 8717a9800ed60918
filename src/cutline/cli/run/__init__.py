"""cutline run: which arms clear the bar, each trial being a command."""

from cutline.cli.run.command import run as run
