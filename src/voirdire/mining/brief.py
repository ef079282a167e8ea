"""Makes a brief of a commit message: what was asked for, without who signed it or where it went afterwards."""

import re
from dataclasses import dataclass, field

TRAILERS = (
    "signed-off-by",
    "co-authored-by",
    "co-developed-by",
    "reviewed-by",
    "acked-by",
    "tested-by",
    "reported-by",
    "suggested-by",
    "approved-by",
    "author",
    "cc",
    "change-id",
    "reviewed-on",
    "commit-queue",
    "git-svn-id",
    "differential revision",
    "pull-request",
    "gerrit-id",
    "generated-by",
    "assisted-by",
)
"""Lines at the end of a message that say who or where, not what."""

TRIVIAL = re.compile(
    r"(?:revert\b|reapply\b|merge\b|bump\b|release\b|version\b|prepare (?:for )?(?:next|release)|v?\d+\.\d+[.\w-]*$"
    r"|wip\b|fixup!|squash!|amend!|initial commit|update (?:changelog|dependencies|copyright)|\[?ci skip)",
    re.IGNORECASE,
)
"""Beginnings of messages that are no brief: reverts, merges, releases, unfinished work."""

MERGE_SUBJECT = re.compile(
    r"Merge (?:pull request #\d+|branch |remote-tracking branch |tag |commit )\S*[^\n]*\n*"
)
"""What git and its hosts put before the message of a merge."""

_TRAILER = re.compile(r"([A-Za-z][A-Za-z -]{1,30}[A-Za-z]|cc): ?\S", re.IGNORECASE)
_PICKED = re.compile(r"\(cherry[ -]picked from commit [0-9a-f]{7,64}\)")


@dataclass(frozen=True)
class Brief:
    """A message without its trailers. `trailers`: how many lines were taken away."""

    text: str
    trailers: int = field(default=0)


def brief_of(message: str) -> Brief:
    """Return the brief in a commit message: no subject line of a merge, no trailers, blanks tidied."""
    text = message.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    text = MERGE_SUBJECT.sub("", text.lstrip(), count=1) if text.lstrip().startswith("Merge ") else text
    lines = [line.rstrip() for line in text.split("\n")]
    kept = [line for line in lines if not _is_trailer(line)]
    tidy = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return Brief(tidy, len(lines) - len(kept))


def is_trivial(text: str) -> bool:
    """Whether a brief is one of those that ask for nothing: see TRIVIAL."""
    return bool(TRIVIAL.match(text.lstrip()))


def _is_trailer(line: str) -> bool:
    match = _TRAILER.match(line)
    return bool(match and match[1].lower() in TRAILERS) or bool(_PICKED.match(line.strip()))
