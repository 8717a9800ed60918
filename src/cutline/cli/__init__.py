"""The command line."""

from cutline.cli.main import cli, main

__all__ = ["cli", "main"]
