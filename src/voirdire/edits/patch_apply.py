"""Applies a patch to texts, exactly where `git apply --recount` would, and names whatever does not apply.

A hunk is looked for at its line and then ever further away, later lines first; a hunk that begins at line 1 must
stand at the beginning, one without context after it at the end. There is no fuzz: no context is dropped, no
whitespace forgiven. Either every hunk of every file applies or nothing does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from voirdire.edits.patch import FilePatch, Hunk, Patch, PatchFault, PatchFaultKind, split_lines


@dataclass(frozen=True)
class Applied:
    """What came of a patch. `files`: every file afterwards, untouched ones included; None where it did not apply.

    `faults`: everything that stood in the way, empty where it applied. `moved`: by path and number of the hunk, how
    many lines away from where its header says it was found, where that is not 0.
    """

    files: Mapping[str, str] | None
    faults: tuple[PatchFault, ...] = ()
    moved: Mapping[tuple[str, int], int] = field(default_factory=dict)


def apply(patch: Patch, files: Mapping[str, str]) -> Applied:
    """Return `files` (path to text) with the patch applied, or what stands in its way. Never raises.

    A patch that could not be wholly read does not apply: its faults come back.
    """
    work = _Work(files, patch)
    for file in patch.files:
        work.take(file)
    faults = (*patch.faults, *work.faults)
    if faults:
        return Applied(None, faults)
    after = work.result()
    if clash := _file_as_folder(after, work.written):
        message = f"it needs the folder '{clash[1]}', which is a file"
        return Applied(None, (PatchFault(PatchFaultKind.FILE_EXISTS, message, clash[0]),))
    return Applied(after, (), work.moved)


class _Work:
    """Files on their way from before to after, one part of the patch at a time."""

    def __init__(self, files: Mapping[str, str], patch: Patch) -> None:
        self._before = files
        self._leaving = {
            file.old for file in patch.files if file.old is not None and (file.new is None or file.renamed)
        }
        self._state: dict[str, str | None] = {}
        self._removed: list[str] = []
        self.written: dict[str, str] = {}
        self.faults: list[PatchFault] = []
        self.moved: dict[tuple[str, int], int] = {}

    def take(self, file: FilePatch) -> None:
        """Apply one file's part, or note why not."""
        if file.binary:
            self._fault(file, PatchFaultKind.BINARY, "its contents are not in the patch as text")
            return
        base = self._base_of(file)
        if base is None:
            return
        text = self._patched(file, base)
        if text is None:
            return
        if file.new is None and text:
            self._fault(
                file, PatchFaultKind.NOT_EMPTIED, "the patch deletes it, but not all of its lines are removed"
            )
            return
        self._keep(file, text)

    def result(self) -> dict[str, str]:
        """Return all files: what leaves is taken away first, then what is written is put in."""
        after = {name: text for name, text in self._before.items() if name not in self._removed}
        return {**after, **self.written}

    def _base_of(self, file: FilePatch) -> str | None:
        """Return the text that the hunks are applied to; None with a fault where there is none to be had."""
        if file.new is not None and file.old != file.new and self._is_taken(file):
            self._fault(
                file, PatchFaultKind.FILE_EXISTS, "the patch makes this file, but it is there already"
            )
            return None
        if file.old is None:
            if any(hunk.old for hunk in file.hunks):
                self._fault(file, PatchFaultKind.BROKEN, "it is said to be new, but old lines are expected")
                return None
            return ""
        moving = file.renamed or file.copied
        text = self._before.get(file.old) if moving else self._state.get(file.old, self._before.get(file.old))
        if text is None and not file.git and _only_inserts(file):
            return ""
        if text is None:
            self._fault(file, PatchFaultKind.NO_FILE, f"there is no file '{file.old}'")
        return text

    def _is_taken(self, file: FilePatch) -> bool:
        name = file.path
        gone = name in self._leaving or (name in self._state and self._state[name] is None)
        return name in self.written or (name in self._before and not gone)

    def _patched(self, file: FilePatch, base: str) -> str | None:
        image = _Image(base)
        fine = True
        for number, hunk in enumerate(file.hunks, start=1):
            found = image.take(hunk)
            if isinstance(found, int):
                if found:
                    self.moved[file.path, number] = found
            else:
                fine = False
                self._fault_of_mismatch(file, number, found)
        return image.text if fine else None

    def _keep(self, file: FilePatch, text: str) -> None:
        if file.new is not None:
            self._state[file.new] = text
            self.written[file.new] = text
        if file.old is not None and (file.new is None or file.renamed):
            self._state[file.old] = None
            self._removed.append(file.old)
            if file.new is None:
                self.written.pop(file.old, None)

    def _fault(self, file: FilePatch, kind: PatchFaultKind, message: str) -> None:
        self.faults.append(PatchFault(kind, message, file.path))

    def _fault_of_mismatch(self, file: FilePatch, number: int, found: "_Mismatch") -> None:
        self.faults.append(
            PatchFault(
                PatchFaultKind.MISMATCH,
                found.message,
                file.path,
                number,
                found.line,
                found.expected,
                found.found,
            )
        )


@dataclass(frozen=True)
class _Mismatch:
    """The first line, where the hunk should stand, that is not as the hunk says."""

    line: int
    expected: str | None
    found: str | None
    message: str


class _Image:
    """A file's lines while hunks are applied; lines that a hunk has touched are not touched again."""

    def __init__(self, text: str) -> None:
        self._lines = split_lines(text)
        self._touched = bytearray(len(self._lines))
        self._known = set(self._lines)

    @property
    def text(self) -> str:
        return "".join(self._lines)

    def take(self, hunk: Hunk) -> "int | _Mismatch":
        """Apply a hunk and return by how many lines it was moved, or why it does not apply."""
        old, new = hunk.old, hunk.new
        wanted = max(0, hunk.new_start - 1)
        at = self._place(old, wanted, at_start=hunk.old_start <= 1, at_end=_ends_changed(hunk))
        if at is None:
            return self._mismatch(old, min(wanted, len(self._lines)), hunk)
        self._lines[at : at + len(old)] = new
        self._touched[at : at + len(old)] = b"\1" * len(new)
        self._known.update(new)
        return at - wanted if hunk.new_start else 0

    def _place(self, old: Sequence[str], wanted: int, *, at_start: bool, at_end: bool) -> int | None:
        """Return the index nearest to `wanted` at which `old` stands, of two as near the later; None: nowhere."""
        last = len(self._lines) - len(old)
        if last < 0:
            return None
        if at_start or at_end:
            at = 0 if at_start else last
            fits = (not at_end or at == last) and self._stands(old, at, to_the_letter=at_end)
            return at if fits else None
        wanted = min(wanted, len(self._lines))
        if wanted <= last and self._stands(old, wanted):
            return wanted
        places = [
            at for at in occurrences(self._lines, old[:-1]) if at <= last and self._stands_last(old, at)
        ]
        for at in sorted(places, key=lambda place: (abs(place - wanted), place < wanted)):
            if not any(self._touched[at : at + len(old)]):
                return at
        return None

    def _stands(self, old: Sequence[str], at: int, *, to_the_letter: bool = False) -> bool:
        if any(self._touched[at : at + len(old)]):
            return False
        if to_the_letter or not old:
            return self._lines[at : at + len(old)] == list(old)
        return self._lines[at : at + len(old) - 1] == list(old[:-1]) and self._stands_last(old, at)

    def _stands_last(self, old: Sequence[str], at: int) -> bool:
        """Whether the last line of `old` stands there. One without newline also stands for one with, as for git."""
        if not old:
            return True
        here, wanted = self._lines[at + len(old) - 1], old[-1]
        if here == wanted:
            return True
        return (
            not wanted.endswith("\n") and here.startswith(wanted) and not here[len(wanted) :].strip(" \t\r\n")
        )

    def _mismatch(self, old: Sequence[str], wanted: int, hunk: Hunk) -> _Mismatch:
        at_start = hunk.old_start <= 1
        at = 0 if at_start else wanted
        for step, expected in enumerate(old):
            found = self._lines[at + step] if at + step < len(self._lines) else None
            if found != expected:
                message = (
                    f"line {at + step + 1} should be {_shown(expected)} and is {_shown(found)}"
                    f"{_why(expected, found)}"
                )
                return _Mismatch(at + step + 1, _bare(expected), _bare(found), message)
        line = at + len(old)
        found = self._lines[line] if line < len(self._lines) else None
        if found is not None and _ends_changed(hunk):
            message = f"the file should end before line {line + 1}, which is {_shown(found)}"
            return _Mismatch(line + 1, None, _bare(found), message)
        message = f"the lines from line {at + 1} were changed by an earlier hunk"
        return _Mismatch(at + 1, None, None, message)


def occurrences(lines: Sequence[str], pattern: Sequence[str]) -> list[int]:
    """Return every index at which `pattern` stands in `lines`, in order; every index where it is empty.

    Takes time linear in both (Knuth, Morris and Pratt 1977, doi:10.1137/0206024).
    """
    if not pattern:
        return list(range(len(lines) + 1))
    back = _borders(pattern)
    found: list[int] = []
    length = 0
    for at, line in enumerate(lines):
        while length and (length == len(pattern) or pattern[length] != line):
            length = back[length - 1]
        if pattern[length] == line:
            length += 1
        if length == len(pattern):
            found.append(at - length + 1)
    return found


def _borders(pattern: Sequence[str]) -> list[int]:
    """Return for each beginning of the pattern how long the longest end of it is that also begins it."""
    back = [0] * len(pattern)
    length = 0
    for at in range(1, len(pattern)):
        while length and pattern[length] != pattern[at]:
            length = back[length - 1]
        if pattern[length] == pattern[at]:
            length += 1
        back[at] = length
    return back


def _ends_changed(hunk: Hunk) -> bool:
    """Whether no context follows the hunk's last change: it then stands at the end of its file."""
    return not hunk.lines or hunk.lines[-1][0] != " "


def _only_inserts(file: FilePatch) -> bool:
    return len(file.hunks) == 1 and not file.hunks[0].old


def _file_as_folder(after: Mapping[str, str], written: Mapping[str, str]) -> tuple[str, str] | None:
    """Return a written path and the file that stands where it needs a folder; None where there is none such."""
    for name in written:
        steps = name.split("/")[:-1]
        for length in range(1, len(steps) + 1):
            folder = "/".join(steps[:length])
            if folder in after:
                return name, folder
    return None


def _why(expected: str, found: str | None) -> str:
    if found is None:
        return ""
    if found.rstrip("\r\n") == expected.rstrip("\r\n"):
        if found.endswith("\r\n") != expected.endswith("\r\n"):
            return " (line ends differ: CRLF and LF)"
        return " (the newline at the end of the file differs)"
    return " (only whitespace differs)" if found.split() == expected.split() else ""


def _bare(line: str | None) -> str | None:
    return None if line is None else line.removesuffix("\n")


def _shown(line: str | None) -> str:
    if line is None:
        return "past the end of the file"
    text = line.removesuffix("\n")
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
