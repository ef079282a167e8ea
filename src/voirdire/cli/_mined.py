"""What the commands about tasks from a git history share: how they answer, and how counts are said."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from voirdire.cli._main import harmless
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from voirdire.mining.tasks import MinedTask

TASKS = Path("tasks.jsonl")
ATTEMPTS = Path("attempts.jsonl")
CHECKLISTS = Path("checklists.jsonl")

Value = TypeVar("Value")


@dataclass(frozen=True)
class Shown:
    """How the command answers."""

    dry_run: bool
    as_json: bool

    def say(self, text: str) -> None:
        """Print for a person: on standard output, which `--json` keeps for JSON alone."""
        print(harmless(text), file=sys.stderr if self.as_json else sys.stdout, flush=True)

    def tell(self, data: dict[str, object]) -> None:
        """Print for a program."""
        if self.as_json:
            print(json.dumps(data))


def some(count: int, what: str) -> str:
    """Return a count with its noun in the right number."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def either(value: Value | None, default: Value) -> Value:
    """Return a value, or the default where there is none."""
    return default if value is None else value


def by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return names with their counts, the most frequent first."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def taken(tasks: Path, limit: int | None) -> list[MinedTask]:
    """Return the first tasks of a file. Raises as its reader does."""
    from itertools import islice

    from voirdire.mining.tasks import read_tasks

    return list(islice(read_tasks(tasks), limit))


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write JSON lines; the file appears under its name only when it is whole. UsageError where it cannot be."""
    unfinished = path.with_name(f".{path.name}.part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        unfinished.replace(path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written: {(error.strerror or str(error)).lower()}",
            hint="name a file in a folder that exists and can be written",
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)
