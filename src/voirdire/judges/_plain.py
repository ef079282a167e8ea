"""The request of a backend that is not a model: messages, named parts and questions as plain data."""

import ast
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path

from voirdire.errors import DataError, UsageError
from voirdire.judges._prompted import TYPED_ANSWER, Rendered
from voirdire.model import Answer, Asking, JudgeSpec, Request, canonical_json
from voirdire.questions import as_data


@dataclass
class PlainBodies:
    """Makes request bodies: canonical JSON of messages, parts, questions, reader (name, options) and any sampling."""

    sampling: Mapping[str, object] = field(default_factory=dict)
    _asked: dict[int, tuple[Asking, str]] = field(default_factory=dict)

    def request(self, item_id: str, messages: Rendered, parts: Mapping[str, str], asking: Asking) -> Request:
        """Return the request for one item."""
        shown = canonical_json({"messages": [list(message) for message in messages], "parts": dict(parts)})
        return Request(item_id=item_id, body=f"{shown[:-1]},{self._what_is_asked(asking)[1:]}")

    def _what_is_asked(self, asking: Asking) -> str:
        """Return what every body of an asking ends with; made once, because it costs more than the rest."""
        known = self._asked.get(id(asking))
        if known is None:
            data: dict[str, object] = {
                "questions": as_data(asking.questions),
                "reader": [asking.reader.name, asking.reader.options],
            }
            if self.sampling:
                data["sampling"] = dict(self.sampling)
            known = self._asked[id(asking)] = (asking, canonical_json(data))
        return known[1]


def typed_answer(answers: Mapping[str, object], *, served: str | None = None) -> Answer:
    """Return an Answer in the `typed` form; what is not plain data raises TypeError or ValueError."""
    return Answer(raw=canonical_json({"answers": answers}), served=served, extra=TYPED_ANSWER)


def folder_of(spec: JudgeSpec) -> Path:
    """Return the folder that a judge's relative paths start from: its file's, else the current one."""
    return Path(spec.path).resolve().parent if spec.path else Path.cwd()


def file_digest(path: Path) -> str:
    """Return 64 hexadecimal digits: SHA-256 of the file; UsageError where it cannot be read."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}", hint="correct the path"
        ) from None


def check_options(spec: JudgeSpec, known: frozenset[str]) -> None:
    """Raise UsageError for an option that the backend does not have."""
    for name in spec.options:
        if name not in known:
            near = get_close_matches(name, sorted(known), n=1)
            raise UsageError(
                f"{spec.path or spec.name}: backend '{spec.backend}' has no option '{name}'",
                hint=f"did you mean '{near[0]}'?"
                if near
                else f"its options: {', '.join(sorted(known)) or 'none'}",
            )


def switch(spec: JudgeSpec, name: str) -> bool:
    """Return an option as true or false; false where it is not given."""
    value = spec.options.get(name, False)
    if not isinstance(value, bool):
        raise UsageError(
            f"{spec.path or spec.name}: '{name}' is neither true nor false", hint=f"write `{name} = true`"
        )
    return value


def whole_number(spec: JudgeSpec, name: str, *, default: int, least: int) -> int:
    """Return an option as a whole number of at least `least`."""
    value = spec.options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(
            f"{spec.path or spec.name}: '{name}' is not a whole number of at least {least}",
            hint=f"write `{name} = {default}`",
        )
    return value


def existing_program(name: str, folder: Path, spec: JudgeSpec) -> str:
    """Return where the program is; UsageError where there is none."""
    local = folder / name
    found = (
        str(local) if os.sep in name and os.access(local, os.X_OK) and local.is_file() else shutil.which(name)
    )
    if found is None:
        raise UsageError(
            f"judge '{spec.name}': there is no program '{name}'",
            hint="give a program on the PATH, or a path to an executable file",
        )
    return found


def text_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file, split at line feeds alone; DataError where it is none."""
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}", hint="save the file as UTF-8") from None
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}", hint="correct the path"
        ) from None


def source_digests(start: Path, roots: Sequence[Path]) -> dict[str, str]:
    """Return the SHA-256 of a Python file and of every file below `roots` that it imports, directly or not.

    Found by reading import statements, those inside functions included; nothing is imported. What is loaded in another
    way (`importlib`, data files) is not seen.
    """
    found: dict[Path, str] = {}
    waiting = [start.resolve()]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = file_digest(path)
            waiting += _imported_files(path, [path.parent, *(root.resolve() for root in roots)])
    return {_short_name(path, start.resolve().parent): digest for path, digest in sorted(found.items())}


def _short_name(path: Path, folder: Path) -> str:
    return os.path.relpath(path, folder)


def _imported_files(path: Path, roots: Sequence[Path]) -> Iterator[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(roots, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            places = [path.parents[node.level - 1]] if 0 < node.level <= len(path.parents) else roots
            start = f"{node.module}." if node.module else ""
            names = [(places, f"{start}{alias.name}") for alias in node.names]
        else:
            continue
        for places, name in names:
            yield from _files_of(name, places)


def _files_of(name: str, places: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that importing the dotted name would run, from the first place that has its first step."""
    steps = [step for step in name.split(".") if step != "*"]
    for place in places:
        files = [
            file
            for n in range(1, len(steps) + 1)
            for base in [place.joinpath(*steps[:n])]
            for file in (base.with_suffix(".py"), base / "__init__.py")
            if file.is_file()
        ]
        if files:
            yield from (file.resolve() for file in files)
            return
