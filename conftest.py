"""Let an example in a Markdown file end where its fence does."""

import doctest
import re

# doctest reads on to the next blank line, and would take a closing ``` for expected output.
_EXAMPLE = doctest.DocTestParser._EXAMPLE_RE
doctest.DocTestParser._EXAMPLE_RE = re.compile(
    _EXAMPLE.pattern.replace("(?![ ]*>>>)", "(?![ ]*(?:>>>|```))"), _EXAMPLE.flags
)
