"""Why an answer cannot be read: a short stable phrase, then, after a colon, the detail."""

import re

EMPTY = "empty answer"
REFUSAL = "refusal"

_LONGEST_DETAIL = 60

_DECLINES = re.compile(
    r"\W{0,4}(?:(?:i['’]?m|i am|we are) (?:really |very |so )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai"
    r"|i (?:can['’]?t|cannot|can not|could not|won['’]?t|will not|must decline|have to decline|refuse|decline)"
    r"|i(?:['’]m| am) (?:unable|not able|not comfortable))\b",
    re.IGNORECASE,
)
_THE_TASK = re.compile(
    r"\b(?:help|assist|rate|rating|score|scoring|judge|evaluate|assess|grade|provide|comply|answer|review|continue"
    r"|decline|refuse|do that|do this|with that|with this|your request|this request)\b",
    re.IGNORECASE,
)
_BEGINNING = 300


class Unreadable(Exception):
    """One answer cannot be read; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def unread(raw: str, otherwise: str) -> str:
    """Return why `raw` has not the form asked for: it is empty, a refusal, or `otherwise`."""
    if not raw or raw.isspace():
        return EMPTY
    return REFUSAL if is_refusal(raw) else otherwise


def is_refusal(raw: str) -> bool:
    """Whether an answer plainly declines: it begins by doing so and names what it declines."""
    beginning = raw[:_BEGINNING].lstrip()
    return bool(_DECLINES.match(beginning) and _THE_TASK.search(beginning))


def quoted(text: str) -> str:
    """Return untrusted text as a short detail: one line, printable, quoted."""
    short = text if len(text) <= _LONGEST_DETAIL else text[: _LONGEST_DETAIL - 3] + "..."
    return "'" + "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in short) + "'"
