"""Patches as people have them: a unified diff read into files, hunks and lines, and everything wrong in it named.

Read are the forms of `git diff`, `git format-patch`, `diff -u` and `diff -ru`, with or without prefixes, with quoted
names, CRLF, and the sloppiness that models and data sets have: hunk headers whose counts are wrong (counted again, as
`git apply --recount` does, and marked), text around the patch, context lines whose blank was trimmed, a last line
without its newline. Nothing is guessed beyond that: what cannot be placed is a `PatchFault`, never a shorter patch.

Texts are split at "\\n" alone, so that carriage returns, form feeds and the like stay inside their lines.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

NOTHING = "/dev/null"

MARKS = " +-"
"""First letters of a hunk's lines: kept, added, removed."""


class PatchFaultKind(StrEnum):
    """What can be wrong with a patch, or between a patch and the files."""

    NO_PATCH = "no patch"
    """Text without any file header; an empty text is an empty patch and has no fault."""
    BROKEN = "broken"
    """A header or hunk that cannot be read, or that contradicts itself."""
    UNSAFE_NAME = "unsafe name"
    """A path that leaves the tree, is absolute, or reaches into `.git`."""
    BINARY = "binary"
    """The contents of a binary file are not in the patch, or not as text."""
    NO_FILE = "no such file"
    FILE_EXISTS = "file exists"
    """A file that the patch makes is there already."""
    MISMATCH = "does not match"
    """A hunk's old lines stand nowhere in the file."""
    NOT_EMPTIED = "not emptied"
    """A file that the patch deletes would keep lines."""


@dataclass(frozen=True)
class PatchFault:
    """One thing that is wrong: in which file, at which hunk, and what was expected and found there.

    `path` '': not about one file. `hunk`: its number in the file's part of the patch, from 1; None: the whole file.
    `line`: line of the file, from 1, or of the patch where the patch itself is `BROKEN`; None: no line.
    `expected`, `found`: the lines without their newline; None: there is none (the file ends there).
    """

    kind: PatchFaultKind
    message: str
    path: str = ""
    hunk: int | None = None
    line: int | None = None
    expected: str | None = None
    found: str | None = None

    def __str__(self) -> str:
        place = ", ".join(
            [*([self.path] if self.path else []), *([f"hunk {self.hunk}"] if self.hunk is not None else [])]
        )
        return f"{place}: {self.message}" if place else self.message


@dataclass(frozen=True)
class Hunk:
    """One hunk. `lines`: each with its mark before it (see MARKS), and its newline unless the file has none there.

    `old_start`, `new_start`: as in the header; `heading`: what follows the second @@. `recounted`: the header's counts
    were wrong, and the lines were counted instead (a patch that was cut off looks like that too).
    """

    old_start: int
    new_start: int
    lines: tuple[str, ...]
    heading: str = ""
    recounted: bool = False

    @property
    def old(self) -> list[str]:
        """The lines that must be there, without marks."""
        return [line[1:] for line in self.lines if line[0] != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that stand there afterwards, without marks."""
        return [line[1:] for line in self.lines if line[0] != "-"]

    @property
    def added(self) -> list[str]:
        """The lines that are new, without marks."""
        return [line[1:] for line in self.lines if line[0] == "+"]

    @property
    def removed(self) -> list[str]:
        """The lines that are gone, without marks."""
        return [line[1:] for line in self.lines if line[0] == "-"]


@dataclass(frozen=True)
class FilePatch:
    """What a patch does to one file. `old` None: the file is made; `new` None: it is deleted.

    `old_mode`, `new_mode`: as in the header ('100755'); None: not said. `binary`: contents are not given as text.
    `copied`: `old` stays. `git`: the header is git's, which says whether a file is made; in others an insertion into
    nothing makes the file where there is none.
    """

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...] = ()
    old_mode: str | None = None
    new_mode: str | None = None
    binary: bool = False
    copied: bool = False
    git: bool = True

    @property
    def path(self) -> str:
        """The file's name afterwards, or before where it is deleted."""
        return self.new if self.new is not None else self.old or ""

    @property
    def renamed(self) -> bool:
        """Whether the file has another name afterwards."""
        return self.old is not None and self.new is not None and self.old != self.new and not self.copied


@dataclass(frozen=True)
class Patch:
    """A patch: what it does to each file, in its order, and what in it could not be read."""

    files: tuple[FilePatch, ...] = ()
    faults: tuple[PatchFault, ...] = ()

    @property
    def recounted(self) -> int:
        """How many hunks had wrong counts in their header."""
        return sum(hunk.recounted for file in self.files for hunk in file.hunks)

    @property
    def added(self) -> int:
        """How many lines are added."""
        return sum(line[0] == "+" for file in self.files for hunk in file.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        """How many lines are removed."""
        return sum(line[0] == "-" for file in self.files for hunk in file.hunks for line in hunk.lines)


def parse(text: str) -> Patch:
    """Return the patch that `text` holds; whatever cannot be read stands among its faults. Never raises."""
    reading = _Reading(split_lines(text))
    reading.run()
    if not reading.files and not reading.faults and text.strip():
        message = "there is no file header in this text"
        return Patch(faults=(PatchFault(PatchFaultKind.NO_PATCH, message),))
    return Patch(tuple(reading.files), tuple(reading.faults))


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, each with its newline but for a last one that has none."""
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + ([rest] if rest else [])


def quoted_name(name: str) -> str:
    """Return a path as git writes it in a header: in quotes with escapes where it holds what would end it."""
    if not _NEEDS_QUOTES.search(name):
        return name
    return '"' + _NEEDS_QUOTES.sub(_escaped, name) + '"'


# --- headers ------------------------------------------------------------------------------------------

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)", re.DOTALL)
_SIGNATURE = re.compile(r"\d[\w.+-]*(?: .*)?\s*$")
_NEEDS_QUOTES = re.compile('[\x00-\x1f\x7f"\\\\]')
_ESCAPE = re.compile(r'\\([0-3][0-7]{2}|[abfnrtv"\\])')
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_BY_CODE = {code: letter for letter, code in _LETTERS.items()}
_PREFIXES = frozenset("abciow12")
_EXTENDED = (
    "old mode ",
    "new mode ",
    "deleted file mode ",
    "new file mode ",
    "copy from ",
    "copy to ",
    "rename from ",
    "rename to ",
    "rename old ",
    "rename new ",
    "similarity index ",
    "dissimilarity index ",
    "index ",
)


@dataclass
class _Header:
    """What a file's header says, name by name; `line`: where it begins in the patch, from 1."""

    line: int
    git: bool
    told: dict[str, str] = field(default_factory=dict)
    names: tuple[str, str] | None = None
    binary: bool = False


class _Reading:
    """Walks once through the lines of a patch."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)
        if self._lines and not self._lines[-1].endswith("\n"):
            self._lines[-1] += "\n"
        self._at = 0
        self.files: list[FilePatch] = []
        self.faults: list[PatchFault] = []

    def run(self) -> None:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("diff --git "):
                self._file(self._git_header())
            elif self._is_file_header(self._at):
                self._file(self._plain_header())
            elif line.startswith(("@@ -", "@@@ ")):
                self._stray_hunk()
            else:
                self._at += 1

    def _git_header(self) -> _Header:
        header = _Header(self._at + 1, git=True, names=_names_of_git_line(self._lines[self._at]))
        self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            key = next((key for key in _EXTENDED if line.startswith(key)), None)
            if key is not None:
                header.told[key.strip()] = line[len(key) :].rstrip("\r\n")
            elif self._is_file_header(self._at, loosely=True):
                self._take_names(header)
                break
            elif line.startswith(("Binary files ", "GIT binary patch")):
                header.binary = True
                self._at += 1
                break
            else:
                break
            self._at += 1
        return header

    def _plain_header(self) -> _Header:
        header = _Header(self._at + 1, git=False)
        self._take_names(header)
        return header

    def _take_names(self, header: _Header) -> None:
        header.told["---"], header.told["+++"] = (
            _name_of(self._lines[self._at + ahead][4:]) for ahead in (0, 1)
        )
        self._at += 2

    def _is_file_header(self, at: int, *, loosely: bool = False) -> bool:
        """Whether the names of a file begin here; outside of git's form a hunk must follow."""
        here = self._lines[at : at + 3]
        return (
            len(here) >= 2
            and here[0].startswith("--- ")
            and here[1].startswith("+++ ")
            and (loosely or (len(here) == 3 and here[2].startswith("@@ ")))
        )

    def _file(self, header: _Header) -> None:
        hunks, whole = self._hunks(header)
        old, new = _old_and_new(header)
        path = new or old or ""
        if old is None and new is None:
            self._fault(PatchFaultKind.BROKEN, "the header names no file", line=header.line)
            return
        unsafe = next((name for name in (old, new) if name is not None and is_unsafe(name)), None)
        if unsafe is not None:
            message = f"the name {unsafe!r} leaves the tree, is absolute or reaches into .git"
            self._fault(PatchFaultKind.UNSAFE_NAME, message, path=path)
            return
        if not whole:
            return
        copied = "copy from" in header.told
        self.files.append(
            FilePatch(
                old,
                new,
                tuple(hunks),
                old_mode=header.told.get("old mode") or header.told.get("deleted file mode"),
                new_mode=header.told.get("new mode") or header.told.get("new file mode"),
                binary=header.binary,
                copied=copied,
                git=header.git,
            )
        )

    def _hunks(self, header: _Header) -> tuple[list[Hunk], bool]:
        """Return the hunks that follow, and whether all of them could be read."""
        hunks: list[Hunk] = []
        whole = True
        number = 0
        while self._at < len(self._lines) and self._lines[self._at].startswith("@@"):
            number += 1
            hunk = self._hunk()
            if hunk is None:
                whole = False
                place = _old_and_new(header)
                said = self._lines[self._at].rstrip("\r\n")
                message = f"the hunk header is not readable: {said[:80]!r}"
                path = place[1] or place[0] or ""
                self._fault(PatchFaultKind.BROKEN, message, path=path, hunk=number, line=self._at + 1)
                self._skip_body()
            else:
                hunks.append(hunk)
        return hunks, whole

    def _hunk(self) -> Hunk | None:
        match = _HUNK.match(self._lines[self._at])
        if match is None:
            return None
        old_start, old, new_start, new = (int(one) if one is not None else 1 for one in match.groups()[:4])
        start = self._at + 1
        end = self._counted_end(start, old, new)
        recounted = end is None or self._goes_on(end)
        if end is None or recounted:
            end = self._recounted_end(start)
        self._at = end
        lines = tuple(_body(self._lines[start:end]))
        return Hunk(old_start, new_start, lines, match[5].strip("\r\n"), recounted)

    def _counted_end(self, at: int, old: int, new: int) -> int | None:
        """Return where the hunk ends by the counts of its header; None where its lines are others."""
        while old > 0 or new > 0:
            mark = self._lines[at][0] if at < len(self._lines) else ""
            if mark in (" ", "\n", "\r"):
                old, new = old - 1, new - 1
            elif mark == "-":
                old -= 1
            elif mark == "+":
                new -= 1
            elif mark != "\\":
                return None
            at += 1
        if old < 0 or new < 0:
            return None
        return at + 1 if at < len(self._lines) and self._lines[at].startswith("\\ ") else at

    def _goes_on(self, at: int) -> bool:
        """Whether what follows a hunk is more of the hunk, so that its counts were too small."""
        return at < len(self._lines) and self._lines[at][0] in " +-\\" and not self._ends_hunk(at)

    def _recounted_end(self, at: int) -> int:
        while at < len(self._lines) and self._lines[at][0] in " +-\\\n\r" and not self._ends_hunk(at):
            at += 1
        return at

    def _ends_hunk(self, at: int) -> bool:
        return self._is_file_header(at) or self._is_signature(at)

    def _is_signature(self, at: int) -> bool:
        """Whether the signature of a mailed patch begins here: '-- ', git's version, and the end or another mail."""
        here = self._lines[at : at + 4]
        if len(here) < 2 or here[0].rstrip("\r\n") not in ("-- ", "--") or not _SIGNATURE.match(here[1]):
            return False
        after = next((line for line in here[2:] if line.strip()), "")
        return not after or after.startswith("From ")

    def _stray_hunk(self) -> None:
        message = "a hunk without a file header before it"
        self._fault(PatchFaultKind.BROKEN, message, line=self._at + 1)
        self._skip_body()

    def _skip_body(self) -> None:
        self._at = self._recounted_end(self._at + 1)

    def _fault(
        self,
        kind: PatchFaultKind,
        message: str,
        *,
        path: str = "",
        hunk: int | None = None,
        line: int | None = None,
    ) -> None:
        self.faults.append(PatchFault(kind, message, path, hunk, line))


def _body(lines: Sequence[str]) -> Iterator[str]:
    """Yield a hunk's lines: a trimmed blank line gets its mark back, a line before '\\ ' loses its newline."""
    for number, line in enumerate(lines):
        if line.startswith("\\"):
            continue
        marked = line if line[0] in MARKS else f" {line}"
        follows = lines[number + 1] if number + 1 < len(lines) else ""
        yield marked.removesuffix("\n") if follows.startswith("\\ ") else marked


# --- names --------------------------------------------------------------------------------------------


def is_unsafe(name: str) -> bool:
    """Whether a path leaves the tree, is absolute, reaches into `.git`, or is no path at all."""
    steps = name.split("/")
    return "\0" in name or any(step in ("", ".", "..") or step.lower() == ".git" for step in steps)


def _name_of(text: str) -> str:
    """Return the name in what follows '--- ' or '+++ ': up to a tab, or in quotes."""
    text = text.rstrip("\r\n")
    if text.startswith('"'):
        name, _ = _unquoted(text)
        if name is not None:
            return name
    return text.partition("\t")[0].rstrip(" ") if "\t" in text else text


def _names_of_git_line(line: str) -> tuple[str, str] | None:
    """Return both names in a line 'diff --git a/NAME b/NAME'; None where they cannot be told apart."""
    text = line.removeprefix("diff --git ").rstrip("\r\n")
    if text.startswith('"'):
        old, rest = _unquoted(text)
        new = _unquoted(rest[1:])[0] if rest.startswith(' "') else rest.removeprefix(" ")
        return (old, new) if old is not None and new else None
    if text.endswith('"') and ' "' in text:
        old, _, rest = text.partition(' "')
        new = _unquoted(f'"{rest}')[0]
        return (old, new) if new is not None else None
    halves = [(text[:at], text[at + 1 :]) for at in _middle_blanks(text)]
    return next(((old, new) for old, new in halves if _same_but_for_prefix(old, new)), None)


def _middle_blanks(text: str) -> Iterator[int]:
    """Yield where two names of the same length, or of lengths that differ by their prefixes, could part."""
    middle = len(text) // 2
    for at in range(max(0, middle - 32), min(len(text), middle + 33)):
        if text[at] == " ":
            yield at


def _same_but_for_prefix(old: str, new: str) -> bool:
    return old == new or old.partition("/")[2] == new.partition("/")[2] != ""


def _unquoted(text: str) -> tuple[str | None, str]:
    """Return a name in quotes at the beginning of `text`, and what follows it; None where it has no end."""
    at = 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    if at >= len(text):
        return None, ""
    pieces: list[bytes] = []
    last = 1
    for match in _ESCAPE.finditer(text, 1, at):
        pieces.append(_bytes_of(text[last : match.start()]))
        code = _LETTERS.get(match[1])
        pieces.append(bytes([code if code is not None else int(match[1], 8)]))
        last = match.end()
    pieces.append(_bytes_of(text[last:at]))
    return b"".join(pieces).decode("utf-8", "surrogateescape"), text[at + 1 :]


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass" if not _ESCAPED_BYTES.search(text) else "surrogateescape")


_ESCAPED_BYTES = re.compile("[\udc80-\udcff]")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\{_BY_CODE[code]}" if code in _BY_CODE else f"\\{code:03o}"


def _old_and_new(header: _Header) -> tuple[str | None, str | None]:
    """Return the file's name before and after; None on the side where there is no file."""
    told = header.told
    for before, after in (
        ("rename from", "rename to"),
        ("copy from", "copy to"),
        ("rename old", "rename new"),
    ):
        if before in told and after in told:
            return _whole_name(told[before]), _whole_name(told[after])
    old, new = _without_prefixes(*_names_told(header))
    if "new file mode" in told:
        return None, new or old
    if "deleted file mode" in told:
        return old or new, None
    if old is not None and new is not None and not header.git:
        shorter = old if new.startswith(old) else new
        return shorter, shorter
    return old, new


def _names_told(header: _Header) -> tuple[str | None, str | None]:
    if "---" in header.told:
        return _none_for_nothing(header.told["---"]), _none_for_nothing(header.told["+++"])
    return header.names or (None, None)


def _whole_name(text: str) -> str:
    name, _ = _unquoted(text) if text.startswith('"') else (text, "")
    return text if name is None else name


def _none_for_nothing(name: str) -> str | None:
    return None if name == NOTHING else name


def _without_prefixes(old: str | None, new: str | None) -> tuple[str | None, str | None]:
    """Take away `a/` and `b/`, or the folders that `diff -r` compared; names without such stay as they are."""
    if old is None or new is None:
        return _without_known_prefix(old), _without_known_prefix(new)
    (before, _, old_rest), (after, _, new_rest) = old.partition("/"), new.partition("/")
    if before != after and old_rest and old_rest == new_rest:
        return old_rest, new_rest
    if (before, after) == ("a", "b") and old_rest and new_rest:
        return old_rest, new_rest
    return old, new


def _without_known_prefix(name: str | None) -> str | None:
    if name is None:
        return None
    before, _, rest = name.partition("/")
    return rest if before in _PREFIXES and rest else name
