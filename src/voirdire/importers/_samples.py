"""Files of code samples at the door: every line or entry that can be read, and an account of those that cannot."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from voirdire.errors import DataError, UsageError
from voirdire.importers._files import read_bytes
from voirdire.importers._json_lines import Row
from voirdire.languages.fences import Reading, extract
from voirdire.languages.language import language_named
from voirdire.model import (
    CodeSample,
    CodeTask,
    FileFault,
    FileFaultKind,
    GroundTruth,
    SampleFile,
    TruthStatus,
)

Tasks = Mapping[str, CodeTask]


PROGRAM = ("code", "program")
ANSWER = ("answer", "response", "output")
"""Where plain samples have their whole program, or prose with fenced code."""

_APPENDED = re.compile(
    r"(?:[-_]sanitized|[-_]calibrated)*(?:\.jsonl)?(?:_eval)?(?:_results)?(?:\.jsonl?)?(?:\.gz)?$"
)


class NoAnswerError(DataError):
    """An entry names a task and holds no answer."""


@dataclass(frozen=True)
class Candidate:
    """What one entry says. One of `program`, `completion` and `answer` holds the text as it was written.

    `number`: the sample's own number, where the format has one. `text`: the raw answer beside a program cut from it.
    """

    task: str
    program: str | None = None
    completion: str | None = None
    answer: str | None = None
    text: str | None = None
    number: int | None = None
    system: str = ""
    language: str = ""
    truth: GroundTruth | None = None


@dataclass
class Gathering:
    """Samples and faults as they come in, numbered by system and task."""

    path: Path
    tasks: Tasks | None
    reading: Reading = Reading.LAST
    samples: list[CodeSample] = field(default_factory=list)
    faults: list[FileFault] = field(default_factory=list)
    entries: int = 0
    _counted: Counter[tuple[str, str]] = field(default_factory=Counter)
    _numbers: dict[tuple[str, str, int], str] = field(default_factory=dict)
    _texts: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def add(self, where: str, read: Callable[[], Candidate], *, line: int = 0) -> None:
        """Read one entry; where it cannot be kept, note why."""
        self.entries += 1
        try:
            self._keep(where, read(), line)
        except NoAnswerError as error:
            self.note(where, FileFaultKind.MISSING_ANSWER, str(error))
        except DataError as error:
            self.note(where, FileFaultKind.NOT_READABLE, str(error))

    def note(self, where: str, kind: FileFaultKind, message: str, *, kept: bool = False) -> None:
        """Add a fault."""
        place = re.match(rf"{re.escape(str(self.path))}, line \d+: ", message)
        self.faults.append(FileFault(where, kind, message[place.end() :] if place else message, kept))

    def done(self) -> SampleFile:
        """Return all of it; DataError where the file holds no entry at all."""
        if not self.entries:
            raise DataError(f"{self.path}: no samples in it", hint="give a file of samples")
        seen = {sample.task for sample in self.samples}
        without = tuple(name for name in self.tasks or () if name not in seen)
        return SampleFile(str(self.path), tuple(self.samples), tuple(self.faults), self.entries, without)

    def _keep(self, where: str, candidate: Candidate, line: int) -> None:
        task = (self.tasks or {}).get(candidate.task)
        if self.tasks is not None and task is None:
            self.note(where, FileFaultKind.UNKNOWN_TASK, f"there is no task '{candidate.task}'")
            return
        who = (candidate.system, candidate.task)
        number = self._counted[who] if candidate.number is None else candidate.number
        key = (*who, number)
        if key in self._numbers:
            self.note(
                where,
                FileFaultKind.DUPLICATE,
                f"sample {number} of '{candidate.task}' is on {self._numbers[key]}",
            )
            return
        language = candidate.language or (task.language if task else "python")
        code, text, reading = self._program(candidate, task, language)
        self._counted[who] += 1
        self._numbers[key] = where
        first = self._texts.setdefault((*who, text), where)
        if first != where:
            self.note(
                where, FileFaultKind.SAME_TEXT, f"'{candidate.task}' has this text on {first}", kept=True
            )
        self.samples.append(
            CodeSample(
                candidate.task,
                number,
                code,
                text,
                candidate.system,
                language,
                candidate.truth,
                line,
                reading,
            )
        )

    def _program(self, candidate: Candidate, task: CodeTask | None, language: str) -> tuple[str, str, str]:
        """Return the whole program, the text that stood in the file, and how the one was read from the other."""
        if candidate.program is not None:
            text = candidate.text if candidate.text is not None else candidate.program
            return candidate.program, text, ""
        if candidate.completion is not None:
            if task is None:
                raise UsageError(
                    f"{self.path}: its samples are completions, which go on where a prompt ends",
                    hint="give the file with the tasks too",
                )
            return task.prompt + candidate.completion, candidate.completion, ""
        if candidate.answer is not None:
            found = extract(candidate.answer, tags=language_named(language).tags)
            return found.code(self.reading), candidate.answer, found.taken(self.reading).value
        raise NoAnswerError(f"there is no answer to '{candidate.task}'", hint="")


def with_text(candidate: Candidate, row: Row, *, missing: str) -> Candidate:
    """Return the candidate with what its row holds: rows of one file may be programs, completions or answers.

    Raises NoAnswerError with `missing` where the row has no text in any of these forms.
    """
    for keys, form in (
        ((*PROGRAM, "solution"), "program"),
        (("completion",), "completion"),
        (ANSWER, "answer"),
    ):
        text = next((text for key in keys if (text := optional_text(row, key)) is not None), None)
        if text is None:
            continue
        if form == "program":
            return replace(candidate, program=text)
        return (
            replace(candidate, completion=text) if form == "completion" else replace(candidate, answer=text)
        )
    raise NoAnswerError(missing)


def lines_of(path: Path, gathering: Gathering) -> Iterator[Row]:
    """Yield every line that holds a JSON object; what does not is noted with its number, and counted.

    A file with a byte-order mark is read by it. A line that is not UTF-8 is named, never guessed at.
    """
    raw = _as_utf8(read_bytes(path))
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            value = json.loads(line.decode())
        except UnicodeDecodeError as error:
            gathering.entries += 1
            cut = number == len(lines) and error.reason == "unexpected end of data"
            kind = FileFaultKind.CUT_OFF if cut else FileFaultKind.ENCODING
            gathering.note(where, kind, f"byte {error.start + 1} of the line is not UTF-8")
        except (ValueError, RecursionError) as error:
            gathering.entries += 1
            cut = number == len(lines)
            gathering.note(
                where,
                FileFaultKind.CUT_OFF if cut else FileFaultKind.NOT_READABLE,
                "the last line is cut off" if cut else f"not JSON: {error}",
            )
        else:
            if isinstance(value, dict):
                yield Row(path, number, value)
            else:
                gathering.entries += 1
                gathering.note(
                    where, FileFaultKind.NOT_READABLE, f"an object was expected, not {type(value).__name__}"
                )


def document_of(path: Path) -> Any:
    """Return the one JSON value of a file; DataError where it is none, or not UTF-8."""
    try:
        return json.loads(_as_utf8(read_bytes(path)).decode())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}", hint="write the file again") from None


def rows_or_list(path: Path, gathering: Gathering) -> Iterator[Row]:
    """Yield the objects of a JSON list, numbered from 1, or those of JSON lines."""
    if not _as_utf8(read_bytes(path)).lstrip().startswith(b"["):
        yield from lines_of(path, gathering)
        return
    for number, value in enumerate(document_of(path), start=1):
        if isinstance(value, dict):
            yield Row(path, number, value)
        else:
            gathering.entries += 1
            gathering.note(f"entry {number}", FileFaultKind.NOT_READABLE, "it is no JSON object")


def read_tasks(path: Path, read: Callable[[Row], CodeTask]) -> list[CodeTask]:
    """Return the tasks of a file; DataError names the line that cannot be read.

    A task that stands twice is kept once, with a `fault` that names both lines: one that says `kept` where the two are
    equal, else one of a task that cannot be scored.
    """
    gathering = Gathering(path, None)
    found: dict[str, CodeTask] = {}
    lines: dict[str, int] = {}
    for row in rows_or_list(path, gathering):
        task = read(row)
        first = found.get(task.id)
        lines.setdefault(task.id, row.line)
        found[task.id] = task if first is None else _doubled(first, task, path, lines[task.id], row.line)
    if gathering.faults:
        fault = gathering.faults[0]
        raise DataError(f"{path}, {fault.where}: {fault.message}", hint="a file of tasks must be whole")
    if not found:
        raise DataError(f"{path}: no tasks in it", hint="give a file of tasks")
    return list(found.values())


def _doubled(first: CodeTask, second: CodeTask, path: Path, line: int, other: int) -> CodeTask:
    before = first.fault
    equal = replace(first, fault=None) == second and (before is None or before.kept)
    end = "they are equal: the first is kept" if equal else "they differ: keep one of the two"
    message = f"the task stands twice in {path.name}, on lines {line} and {other}, and {end}"
    if before is not None and not before.kept:
        return first
    return replace(first, fault=FileFault(f"line {other}", FileFaultKind.DUPLICATE, message, kept=equal))


def optional_reference(row: Row, key: str, *, prompt: str = "") -> str | None:
    """Return the reference solution behind its prompt; None where there is none, and the task cannot be calibrated."""
    text = optional_text(row, key)
    return f"{prompt}{text}" if text else None


def optional_text(row: Row, key: str) -> str | None:
    """Return a text, possibly empty; None where it is null or not there."""
    value = row.data.get(key)
    if value is not None and not isinstance(value, str):
        raise row.wrong(f"'{key}' must be a text, not {type(value).__name__}")
    return value


def optional_integer(row: Row, keys: Iterable[str]) -> int | None:
    """Return the first of some keys that holds a whole number of zero or more."""
    for key in keys:
        value = row.data.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def optional_flag(row: Row, key: str) -> bool | None:
    """Return true or false; None where it is null or not there."""
    value = row.data.get(key)
    if value is not None and not isinstance(value, bool):
        raise row.wrong(f"'{key}' must be true or false, not {json.dumps(value, default=str)[:60]}")
    return value


def task_id(row: Row, key: str = "task_id", *, prefix: str = "") -> str:
    """Return a task's id, a number as text behind `prefix`."""
    value = row.data.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{prefix}{value}"
    return row.text(key)


def status_of(passed: bool) -> TruthStatus:
    """Return passed or failed."""
    return TruthStatus.PASSED if passed else TruthStatus.FAILED


def system_of(path: Path) -> str:
    """Return the name that a file of one system's samples gives that system: its own, without what tools append."""
    name = _APPENDED.sub("", path.name)
    return path.absolute().parent.name if name in ("", "eval") else name


def first_object(head: str) -> str:
    """Return the beginning of the first object in the beginning of a file."""
    text = head.lstrip("\ufeff \t\r\n[")
    return text if text.startswith("{") else ""


def _as_utf8(raw: bytes) -> bytes:
    """Return the bytes without a byte-order mark, recoded where the mark says UTF-16."""
    if raw.startswith(b"\xef\xbb\xbf"):
        return raw[3:]
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace").encode("utf-8", errors="replace")
    return raw
