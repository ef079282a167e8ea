"""JSON lines at the door: one object a line, packed by gzip or not, every complaint with its file and line."""

import gzip
import json
import math
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from voirdire.errors import DataError, UsageError

Known = TypeVar("Known", bound="str | int | None")


@dataclass(frozen=True)
class Row:
    """One object of a JSON lines file and where it stands. Its readers raise DataError naming that place."""

    path: Path
    line: int
    data: Mapping[str, Any]

    def text(self, key: str) -> str:
        """Return a text that is not empty."""
        value = self._present(key)
        if not isinstance(value, str) or not value:
            raise self.wrong(f"'{key}' must be a text, not {_shown(value)}")
        return value

    def integer(self, key: str) -> int:
        """Return an integer of zero or more."""
        value = self._present(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(f"'{key}' must be an integer of zero or more, not {_shown(value)}")
        return value

    def number(self, key: str) -> float | None:
        """Return a finite number, or None where the value is null."""
        value = self._present(key)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise self.wrong(f"'{key}' must be a number or null, not {_shown(value)}")
        return float(value)

    def one_of(self, key: str, known: Collection[Known]) -> Known:
        """Return the value if it is one of those known."""
        value = self._present(key)
        for candidate in known:
            if type(value) is type(candidate) and value == candidate:
                return candidate
        raise self.wrong(f"'{key}' is {_shown(value)}", hint=f"known values: {', '.join(map(_shown, known))}")

    def wrong(self, message: str, *, hint: str = "") -> DataError:
        """Return the error to raise about this row."""
        return DataError(f"{self.path}, line {self.line}: {message}", hint=hint)

    def _present(self, key: str) -> Any:
        if key not in self.data:
            raise self.wrong(f"there is no '{key}', only {sorted(self.data)}")
        return self.data[key]


def read_rows(path: Path) -> Iterator[Row]:
    """Give every row in order; empty lines are passed over.

    Raises UsageError where there is no such file, DataError where it is not UTF-8, not whole, or a line is not
    a JSON object.
    """
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            yield Row(path, number, _object(path, number, line))


def _object(path: Path, number: int, line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}, line {number}: not JSON: {error}", hint="every line holds one JSON object"
        ) from None
    if not isinstance(value, dict):
        raise DataError(
            f"{path}, line {number}: a JSON object was expected, not {_shown(value)}",
            hint="every line holds one JSON object",
        )
    return value


def _lines(path: Path) -> Iterator[str]:
    try:
        with _opened(path) as stream:
            yield from stream
    except (FileNotFoundError, IsADirectoryError):
        raise UsageError(
            f"there is no file '{path}'", hint="give the path of a .jsonl or .jsonl.gz file"
        ) from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: {error}", hint="save the file as UTF-8") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: the gzip file is broken: {error}", hint="copy it again") from None


def _opened(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def _shown(value: object) -> str:
    """Return a value as JSON, cut where it is long: it comes from outside."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
