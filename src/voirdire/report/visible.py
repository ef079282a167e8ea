"""Makes every character of an untrusted text visible: controls by their names, hidden characters by their code.

Judge answers, logs and candidate texts may hold terminal escapes, bidirectional overrides, zero-width characters
and broken surrogates. On the page they can neither act nor hide.
"""

import re

from markupsafe import Markup, escape

PAGE_LIMIT = 5_000
"""Characters of one text that the page shows; the whole text stays in findings.json."""

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e01ef]"
    # joiners stand in emoji and in the scripts that need them; anywhere else they hide
    "|(?<![\u0600-\u0dff\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]"
)

_CONTROLS = [
    "NUL",
    "SOH",
    "STX",
    "ETX",
    "EOT",
    "ENQ",
    "ACK",
    "BEL",
    "BS",
    "HT",
    "LF",
    "VT",
    "FF",
    "CR",
    "SO",
    "SI",
    "DLE",
    "DC1",
    "DC2",
    "DC3",
    "DC4",
    "NAK",
    "SYN",
    "ETB",
    "CAN",
    "EM",
    "SUB",
    "ESC",
    "FS",
    "GS",
    "RS",
    "US",
]


def visible(text: str) -> str:
    """Return `text` with every control and hidden character replaced by a visible one; not escaped for HTML.

    New line and tab stay. Lone surrogates become U+FFFD.
    """
    return _HIDDEN.sub(lambda match: _symbol(match[0]), _whole(text))


def marked(text: str) -> Markup:
    """Return `text` escaped for HTML, each made-visible character in a `span` of class `ctl`."""
    escaped = str(escape(_whole(text)))
    return Markup(_HIDDEN.sub(lambda match: f'<span class="ctl">{_symbol(match[0])}</span>', escaped))


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` visible, on one line and at most `limit` characters long: for headings, labels and titles."""
    line = visible(text).replace("\n", " ⏎ ").replace("\t", " ")
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def shortened(text: str, limit: int) -> tuple[str, int]:
    """Return the first `limit` characters, and how many were left out."""
    return text[:limit], max(0, len(text) - limit)


def _whole(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _symbol(character: str) -> str:
    code = ord(character)
    if code < len(_CONTROLS):
        return f"⟨{_CONTROLS[code]}⟩"
    return "⟨DEL⟩" if code == 0x7F else f"⟨U+{code:04X}⟩"
