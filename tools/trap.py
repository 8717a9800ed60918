"""Raise something at a line of one's choice, for tests of what an interrupt leaves behind."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import cutline

PACKAGE = str(Path(cutline.__file__).parent)


class Stop(BaseException):
    """An interrupt."""


class Trap:
    """Raises at the nth line of the package, or of a file, that is run within it.

    ``sprung`` says where it did; None where there are not so many lines.
    """

    def __init__(self, nth: int, error: type[BaseException] = Stop, inside: str = PACKAGE) -> None:
        self._left, self._error, self._inside = nth, error, inside
        self.sprung: str | None = None

    def __enter__(self) -> "Trap":
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(self._inside) else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line" and self.sprung is None:
            if self._left == 0:
                self.sprung = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise self._error
            self._left -= 1
        return self._line
