"""Let an example in a Markdown file end where its fence does, and write where nothing is lost."""

import doctest
import re
import signal

import pytest

# doctest reads on to the next blank line, and would take a closing ``` for expected output.
_EXAMPLE = doctest.DocTestParser._EXAMPLE_RE
doctest.DocTestParser._EXAMPLE_RE = re.compile(
    _EXAMPLE.pattern.replace("(?![ ]*>>>)", "(?![ ]*(?:>>>|```))"), _EXAMPLE.flags
)


@pytest.fixture(autouse=True)
def _examples_write_elsewhere(request, monkeypatch):
    """The examples of a page run in an empty folder."""
    if request.node.path.suffix == ".md":
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard():
    """Tests that press Ctrl-C work in the background, too, where a shell lets it be ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
