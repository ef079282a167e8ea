"""Tells a line of prose or markup from a line of code."""

import re
from collections.abc import Container
from itertools import pairwise

_FENCE = re.compile(r"\s*(?:`{3}|~{3})")
_HEADING = re.compile(r"\s*(?:#{2,6} +\S|\*\*\S)")
_LEAD = re.compile(r"^\s*(?:[-*+>•]|\d+[.)])?\s*")
_QUOTED = re.compile(r"(?<!\w)[\"'`].*")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*[.,:;!?]?\Z")

WORD_PAIRS = 2
"""Plain words side by side, twice on a line, are no code: a language with keywords needs something between names."""


def is_prose(line: str, *, keywords: Container[str], line_comment: str) -> bool:
    """Whether a line reads as a sentence, a heading or a fence, and not as code.

    What stands in quotes or in a comment counts for nothing; `keywords` may stand beside another word.
    """
    if _FENCE.match(line) or (line_comment != "#" and _HEADING.match(line)) or line.lstrip().startswith("**"):
        return True
    code = line.partition(line_comment)[0]
    words = _QUOTED.sub("", _LEAD.sub("", code)).split()
    plain = [bool(_WORD.match(word)) and word.rstrip(".,:;!?") not in keywords for word in words]
    return sum(left and right for left, right in pairwise(plain)) >= WORD_PAIRS
