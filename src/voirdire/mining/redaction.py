"""Takes secrets and e-mail addresses out of briefs and diffs, and counts what it took.

Removed are the kinds in `SECRETS`, private keys from their first line to their last, and e-mail addresses. Kept are
addresses at the domains that are reserved for examples (example.com, .test, .invalid, ...), which belong to nobody,
and file names such as `logo@2x.png`. A secret without a form of its own, such as a password in prose, is not found.

A diff keeps its lines: only what stands after a line's mark is changed. Where that is a line that must be found in the
base file, the diff no longer applies, and says so.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

EMAIL = "email"
PRIVATE_KEY = "private key"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.ASCII)


SECRETS: Mapping[str, re.Pattern[str]] = {
    "AWS key": _pattern(r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b"),
    "GitHub token": _pattern(r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b|\bgithub_pat_[A-Za-z0-9_]{22,255}\b"),
    "GitLab token": _pattern(r"\bglpat-[A-Za-z0-9_-]{20,64}"),
    "Slack token": _pattern(
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}|hooks\.slack\.com/services/[A-Za-z0-9/_-]{20,120}"
    ),
    "Google key": _pattern(r"\bAIza[A-Za-z0-9_-]{35}"),
    "Stripe key": _pattern(r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}\b"),
    "model API key": _pattern(r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,250}"),
    "npm token": _pattern(r"\bnpm_[A-Za-z0-9]{36}\b"),
    "PyPI token": _pattern(r"\bpypi-[A-Za-z0-9_-]{50,250}"),
    "Hugging Face token": _pattern(r"\bhf_[A-Za-z0-9]{30,50}\b"),
    "SendGrid key": _pattern(r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    "JSON web token": _pattern(
        r"\beyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"
    ),
    "authorization header": _pattern(
        r"(?i:\bauthorization\b['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?:bearer|basic)\s{1,4})[^\s'\"]{8,500}"
    ),
    "password in a URL": _pattern(r"(?<=://)[^\s/:@'\"<>{}$]{1,64}:[^\s/@'\"<>{}$]{1,128}(?=@)"),
    "assigned secret": _pattern(
        r"(?i:(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key)[A-Za-z0-9_]{0,32}['\"]?\s{0,4}[:=]\s{0,4})"
        r"(?:'(?=[^']{0,250}\d)(?=[^']{0,250}[A-Za-z])[A-Za-z0-9+/_=.~-]{16,250}'|\"(?=[^\"]{0,250}\d)(?=[^\"]{0,250}[A-Za-z])[A-Za-z0-9+/_=.~-]{16,250}\")"
    ),
}
"""Secrets by kind: the forms that their makers gave them, and quoted values assigned to a name that says so."""

_ADDRESS = _pattern(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@((?:[A-Za-z0-9-]{1,63}\.){1,8})([A-Za-z]{2,24})(?![A-Za-z0-9-])(?!\()"
)
_RESERVED = ("example.com", "example.org", "example.net", "example", "test", "invalid", "localhost")
_PICTURES = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "ico"})
_MARK = re.compile(r"^[ +-]", re.MULTILINE)
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


@dataclass(frozen=True)
class Redacted:
    """A text without its secrets. `removed`: how many of each kind; `applies`: a diff still fits its base."""

    text: str
    removed: Mapping[str, int] = field(default_factory=dict)
    applies: bool = True


def redacted_text(text: str) -> Redacted:
    """Return a text with each secret and address replaced by `[KIND removed]`."""
    if not _may_hold_some(text):
        return Redacted(text)
    cleaning = _Cleaning()
    lines = [cleaning.line(line) for line in text.split("\n")]
    return Redacted("\n".join(lines), cleaning.counts)


def redacted_diff(diff: str) -> Redacted | None:
    """Return a diff in git's form with the text of its lines cleaned; None where a file's name holds a secret."""
    if not _may_hold_some(_MARK.sub("", diff)):
        return Redacted(diff)
    cleaning = _Cleaning()
    applies = True
    lines: list[str] = []
    for kind, line in _kinds(diff):
        cleaned = _cleaned(kind, line, cleaning)
        if cleaned != line and kind == _Kind.HEADER:
            return None
        applies = applies and (cleaned == line or kind != _Kind.OLD)
        lines.append(cleaned)
    return Redacted("\n".join(lines), cleaning.counts, applies)


def _may_hold_some(text: str) -> bool:
    """Whether a look at the whole text finds anything: most hold nothing, and are not looked at line by line."""
    return (
        any(pattern.search(text) for pattern in SECRETS.values())
        or _ADDRESS.search(text) is not None
        or _KEY_BEGINS.search(text) is not None
    )


class _Kind:
    HEADER, HUNK, OLD, NEW = range(4)


def _kinds(diff: str) -> Iterator[tuple[int, str]]:
    """Yield each line of a diff that git wrote, with what it is."""
    in_hunk = False
    for line in diff.split("\n"):
        if line.startswith("diff --git "):
            in_hunk = False
        if line.startswith("@@ "):
            in_hunk = True
            yield _Kind.HUNK, line
        elif not in_hunk:
            yield _Kind.HEADER, line
        else:
            yield (_Kind.NEW if line.startswith("+") else _Kind.OLD), line


def _cleaned(kind: int, line: str, cleaning: "_Cleaning") -> str:
    if kind == _Kind.HUNK:
        cleaning.new_place()
        head, mark, heading = line.partition(" @@")
        return f"{head}{mark}{cleaning.line(heading)}"
    if kind == _Kind.HEADER:
        cleaning.new_place()
        return cleaning.line(line)
    return line[:1] + cleaning.line(line[1:])


class _Cleaning:
    """Cleans line after line, and remembers where it is inside a private key."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._in_key = False

    @property
    def counts(self) -> dict[str, int]:
        return dict(sorted(self._counts.items()))

    def new_place(self) -> None:
        """A hunk or file begins: what was open is not continued here."""
        self._in_key = False

    def line(self, line: str) -> str:
        if self._in_key:
            ended = _KEY_ENDS.search(line)
            self._in_key = ended is None
            return f"[{PRIVATE_KEY} removed]{self._clean(line[ended.end() :]) if ended else ''}"
        begun = _KEY_BEGINS.search(line)
        if begun is None:
            return self._clean(line)
        self._counts[PRIVATE_KEY] += 1
        ended = _KEY_ENDS.search(line, begun.end())
        self._in_key = ended is None
        rest = self._clean(line[ended.end() :]) if ended else ""
        return f"{self._clean(line[: begun.start()])}[{PRIVATE_KEY} removed]{rest}"

    def _clean(self, line: str) -> str:
        for kind, pattern in SECRETS.items():
            line = pattern.sub(self._counted(kind), line)
        return _ADDRESS.sub(self._address, line) if "@" in line else line

    def _counted(self, kind: str) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:  # noqa: ARG001 - the shape that `sub` calls
            self._counts[kind] += 1
            return f"[{kind} removed]"

        return replace

    def _address(self, match: re.Match[str]) -> str:
        domain = f"{match[1]}{match[2]}".lower()
        if match[2].lower() in _PICTURES or any(
            domain == one or domain.endswith(f".{one}") for one in _RESERVED
        ):
            return match[0]
        self._counts[EMAIL] += 1
        return f"[{EMAIL} removed]"
