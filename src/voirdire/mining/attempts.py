"""Attempt files: JSON lines, one per task, harness and sample, after a header line; the journal of `mine run`.

    {"schema": "voirdire.attempts/1"}
    {"key": "TASK/HARNESS/0", "task": "TASK", "harness": "HARNESS", "sample": 0, ...}

Fields of a line, all of them always there:

    key            task, harness and sample in one: what a later file of scores or test results is joined by
    task, base     id of the task in the task file, and the commit that the attempt began at
    harness        name of the harness; `command`: its words
    sample         number of the attempt among those of one task and harness, from 0
    model          the model that the harness used; null: not said
    cost           US dollars; null: not known. `input_tokens`, `output_tokens`: the same
    began          when it began, ISO 8601 in UTC; `seconds`: how long it took
    status         see AttemptStatus; `exit_code`: null where it was stopped; `fault`: what went wrong on our side
    diff           what it changed against `base`, in git's form; '' where nothing was, or where it was too large
    encoding       'utf-8', or 'latin-1' where the diff is not UTF-8: `diff.encode(encoding)` gives its bytes
    diff_bytes     how large the diff is, or the change is that was too large
    not_captured   paths that are in no diff, with the reason (a repository inside the repository, ...)
    report_fault   why what the harness said about its cost could not be read; null: it could, or it said nothing
    output         the end of what it printed

A line is written and flushed when its attempt has ended; a last line that was cut off is taken away when the file is
next opened. Where one key stands twice (an attempt that our side had broken was made again), the later line counts.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from voirdire.errors import DataError, UsageError
from voirdire.mining.tasks import MinedTask
from voirdire.model import Item, Origin

SCHEMA = "voirdire.attempts/1"


class AttemptStatus(StrEnum):
    """How an attempt ended. Only the last says nothing about the harness: such an attempt is made again."""

    FINISHED = "finished"
    """The command ended with exit code 0, whatever it changed."""
    FAILED = "failed"
    """It ended with another exit code or by a signal; what it had changed is kept."""
    TIMEOUT = "timeout"
    """It was stopped at the time limit; what it had changed is kept."""
    TOO_LARGE = "too_large"
    """What it changed is larger than the size limit, and is not kept."""
    INFRASTRUCTURE = "infrastructure"
    """The work tree could not be made or read, or the command could not be started."""


@dataclass(frozen=True)
class Attempt:
    """One attempt of one harness at one task; the fields are those of a line."""

    task: str
    base: str
    harness: str
    sample: int
    command: tuple[str, ...]
    model: str | None
    cost: float | None
    input_tokens: int | None
    output_tokens: int | None
    began: str
    seconds: float
    status: AttemptStatus
    exit_code: int | None = None
    fault: str | None = None
    diff: str = ""
    encoding: str = "utf-8"
    diff_bytes: int = 0
    not_captured: Mapping[str, str] = field(default_factory=dict)
    report_fault: str | None = None
    output: str = ""

    @property
    def key(self) -> str:
        """Task, harness and sample in one text."""
        return key_of(self.task, self.harness, self.sample)


def key_of(task: str, harness: str, sample: int) -> str:
    """Return what an attempt is joined by. A harness's name has no slash, so that it is unambiguous."""
    return f"{task}/{harness}/{sample}"


def item_of(task: MinedTask, attempt: Attempt) -> Item:
    """Return an attempt as an item: `task` is the brief, `response` the diff, `reference` the reference diff.

    Its origin names task, model, harness and sample, which no judge is shown.
    """
    parts = {"task": task.brief, "response": attempt.diff, "reference": task.reference.diff}
    origin = Origin(task.id, author=attempt.model, harness=attempt.harness, sample=attempt.sample)
    return Item(attempt.key, parts, origin)


def read_attempts(path: Path) -> Iterator[Attempt]:
    """Yield the attempts of a file in its order, of a key that stands there twice only the last.

    Raises UsageError where there is no such file, DataError, naming file and line, for anything that is not exactly
    an attempt file.
    """
    last = {str(row["key"]): number for number, row in _rows(path)}
    for number, row in _rows(path):
        if last[str(row["key"])] == number:
            yield _attempt_of(row, f"{path}:{number}")


class Journal:
    """An attempt file that is being written: knows what is in it, and adds one line at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def __enter__(self) -> "Journal":
        try:
            self._file = self.path.open("ab")
            _lock(self._file, self.path)
            _mend(self.path)
            if not self.path.stat().st_size:
                self._write({"schema": SCHEMA})
        except OSError as error:
            self.__exit__()
            raise _cannot_be_written(self.path, error) from None
        except UsageError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, attempt: Attempt) -> None:
        """Write one attempt, so that it is there whatever happens next. Raises UsageError where it cannot be."""
        try:
            self._write({"key": attempt.key, **asdict(attempt)})
        except OSError as error:
            raise _cannot_be_written(self.path, error) from None

    def _write(self, row: Mapping[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(row).encode("ascii") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


@dataclass(frozen=True)
class Done:
    """What a journal holds: per key whether it need not be made again, and each harness's command."""

    keys: frozenset[str]
    commands: Mapping[str, tuple[str, ...]]


def done_in(path: Path) -> Done:
    """Return what is in a journal, which may not be there yet, and whose last line may be cut off."""
    keys: dict[str, bool] = {}
    commands: dict[str, tuple[str, ...]] = {}
    if path.exists() and path.stat().st_size:
        for _, row in _rows(path, cut_off_is_fine=True):
            keys[str(row["key"])] = row["status"] != AttemptStatus.INFRASTRUCTURE
            commands[str(row["harness"])] = tuple(row["command"])
    return Done(frozenset(key for key, done in keys.items() if done), commands)


def _rows(path: Path, *, cut_off_is_fine: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if not raw.endswith(b"\n") and cut_off_is_fine:
                    return
                row = _row(raw, f"{path}:{number}")
                if number == 1:
                    _check_header(row, path)
                else:
                    yield number, _with_keys(row, f"{path}:{number}")
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {(error.strerror or str(error)).lower()}",
            hint="`voirdire mine run` writes an attempt file",
        ) from None


def _row(raw: bytes, place: str) -> dict[str, Any]:
    try:
        row = json.loads(raw)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise DataError(f"{place}: no line of an attempt file", hint=_ANOTHER)
    return row


_ANOTHER = "choose another file with --out, or remove the line"


def _check_header(row: Mapping[str, Any], path: Path) -> None:
    if row != {"schema": SCHEMA}:
        raise DataError(
            f"{path}:1: the header line of an attempt file is missing", hint="choose another file with --out"
        )


def _with_keys(row: dict[str, Any], place: str) -> dict[str, Any]:
    """Return a line that has what a journal goes by; DataError where it does not."""
    odd = [name for name in ("key", "harness", "status") if not isinstance(row.get(name), str)]
    if odd or not isinstance(row.get("command"), list):
        raise DataError(f"{place}: '{(odd or ['command'])[0]}' is missing or no text", hint=_ANOTHER)
    return row


def _attempt_of(row: Mapping[str, Any], place: str) -> Attempt:
    from pydantic import ValidationError

    from voirdire.mining._attempt_record import AttemptLine

    try:
        return AttemptLine.model_validate_json(json.dumps(row)).as_attempt()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the line"
        raise DataError(f"{place}: '{where}': {first['msg'].lower()}", hint=_ANOTHER) from None


def json_schema() -> dict[str, object]:
    """Return the JSON schema of one line of an attempt file: the header or an attempt."""
    from voirdire.mining._attempt_record import AttemptLine

    attempt = AttemptLine.model_json_schema(ref_template="#/$defs/{model}")
    definitions = attempt.pop("$defs", {})
    header = {
        "type": "object",
        "description": "The first line.",
        "properties": {"schema": {"const": SCHEMA}},
        "required": ["schema"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of an attempt file ({SCHEMA})",
        "oneOf": [header, attempt],
        "$defs": definitions,
    }


def _mend(path: Path) -> None:
    """Cut a last line that has no end: the run was killed while it was written."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        end = size
        while end and not _ends_line(file, end):
            start = max(0, end - (1 << 16))
            file.seek(start)
            end = start + file.read(end - start).rfind(b"\n") + 1
        if end < size:
            file.truncate(end)


def _ends_line(file: IO[bytes], end: int) -> bool:
    file.seek(end - 1)
    return file.read(1) == b"\n"


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep a second run away from the same file, where the system can."""
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{path}: another run writes into it", hint="wait for it, or choose another file with --out"
            ) from None


def _cannot_be_written(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path}: cannot be written: {(error.strerror or str(error)).lower()}",
        hint="name a file in a folder that exists and can be written",
    )
