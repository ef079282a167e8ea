"""Task files: JSON lines of tasks from a git history, after a header line with the schema version.

    {"schema": "voirdire.tasks/1", "head": "<commit>", "unit": "commits"}
    {"id": "0123456789abcdef", "commit": "...", "base": "...", "made": 1700000000, "brief": "...",
     "reference": {"diff": "...", "removed": {}, "applies": true}, "test_patch": {...},
     "files": [{"path": "src/x.py", "before": null, "added": 3, "removed": 1, "test": false}],
     "left_out": [], "brief_removed": {"trailer": 1}, "repository": null}

The reader hands out one task after the other and holds one at a time; an error names the file and the line.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from voirdire.errors import DataError, UsageError

SCHEMA = "voirdire.tasks/1"


@dataclass(frozen=True)
class ChangedFile:
    """One file that the reference or the test patch changes. `before`: its name before, where it was renamed."""

    path: str
    added: int
    removed: int
    test: bool = False
    before: str | None = None


@dataclass(frozen=True)
class TaskPatch:
    """A diff without its secrets. `removed`: how many of each kind; `applies`: whether it still fits its base."""

    diff: str
    removed: Mapping[str, int] = field(default_factory=dict)
    applies: bool = True


@dataclass(frozen=True)
class MinedTask:
    """One task: the brief, the commit to begin at, the reference, and the tests that came with it, kept apart.

    `commit`, `base`: whole names; `made`: when, in seconds since 1970. `left_out`: files of the commit that are in no
    patch, because they are generated or vendored. `brief_removed`: how many secrets, addresses and trailers were
    taken out of the brief.
    """

    id: str
    commit: str
    base: str
    made: int
    brief: str
    reference: TaskPatch
    test_patch: TaskPatch
    files: tuple[ChangedFile, ...]
    left_out: tuple[str, ...] = ()
    brief_removed: Mapping[str, int] = field(default_factory=dict)
    repository: str | None = None


@dataclass(frozen=True)
class Header:
    """The first line: the commit that was mined from, and what a task is made of."""

    head: str
    unit: str


@contextmanager
def writing(path: Path, header: Header) -> Iterator["TaskWriter"]:
    """Open a task file to be written task by task; it appears under its name only when it is whole.

    Raises UsageError where it cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            file.write(_line({"schema": SCHEMA, **asdict(header)}))
            yield TaskWriter(file)
        os.replace(unfinished, path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written: {(error.strerror or str(error)).lower()}",
            hint="name a file in a folder that exists and can be written",
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)


class TaskWriter:
    """Writes tasks into an open file."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, task: MinedTask) -> None:
        """Add one task."""
        self._file.write(_line(asdict(task)))


def read_tasks(path: Path) -> Iterator[MinedTask]:
    """Yield the tasks of a file in its order.

    Raises UsageError where there is no such file, DataError, naming file and line, for anything that is not exactly
    a task file: another header, a line that is cut off, a field too many or of another type, an id used twice.
    """
    ids: set[str] = set()
    lines = _numbered(path)
    _check_header(path, next(lines, (1, b"")))
    for number, raw in lines:
        task = _task_of(_parsed(path, number, raw), f"{path}:{number}")
        if task.id in ids:
            raise DataError(f"{path}:{number}: the id '{task.id}' stands there twice", hint="mine it again")
        ids.add(task.id)
        yield task


def json_schema() -> dict[str, object]:
    """Return the JSON schema of one line of a task file: the header or a task."""
    task = _model().model_json_schema(ref_template="#/$defs/{model}")
    definitions = task.pop("$defs", {})
    header = {
        "type": "object",
        "description": "The first line.",
        "properties": {
            "schema": {"const": SCHEMA},
            "head": {"type": "string", "description": "commit that was mined from"},
            "unit": {"enum": ["commits", "merges", "mainline"]},
        },
        "required": ["schema", "head", "unit"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of a task file ({SCHEMA})",
        "oneOf": [header, task],
        "$defs": definitions,
    }


def ids_of(tasks: Iterable[MinedTask]) -> list[str]:
    """Return the ids of tasks, in order."""
    return [task.id for task in tasks]


def _line(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False) + "\n"


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if raw.strip():
                    yield number, raw
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {(error.strerror or str(error)).lower()}",
            hint="`voirdire mine REPO` writes a task file",
        ) from None


def _check_header(path: Path, first: tuple[int, bytes]) -> None:
    number, raw = first
    header = _parsed(path, number, raw) if raw else None
    found = header.get("schema") if isinstance(header, dict) else None
    if found != SCHEMA:
        raise DataError(
            f"{path}:{number}: the header line of a task file is missing"
            if found is None
            else f"{path}:{number}: the schema is {found!r}, not '{SCHEMA}'",
            hint="`voirdire mine REPO` writes a task file",
        )


def _parsed(path: Path, number: int, raw: bytes) -> object:
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        what = "not a whole line of JSON" if raw.endswith(b"\n") else "cut off"
        raise DataError(f"{path}:{number}: the line is {what}", hint="mine it again") from None


def _task_of(data: object, place: str) -> MinedTask:
    from pydantic import ValidationError

    try:
        found: MinedTask = _model().model_validate_json(json.dumps(data)).as_task()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the line"
        raise DataError(f"{place}: '{where}': {first['msg'].lower()}", hint="mine it again") from None
    return found


def _model() -> Any:
    from voirdire.mining._task_record import TaskLine

    return TaskLine
