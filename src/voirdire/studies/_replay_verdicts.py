"""Recorded verdicts of a replay: read row by row, what is wrong named with its place, the rest kept."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire.errors import DataError, UsageError
from voirdire.model import FileFault, FileFaultKind
from voirdire.studies._replay_files import named_faults, read_frame
from voirdire.studies._replay_table import SampleSet

if TYPE_CHECKING:
    import polars as pl

Row = Mapping[str, object]
Placed = tuple[str, Row]

ALIASES = {"task_id": "task", "verdict": "value", "checkpoint": "author"}
COLUMNS = ("task", "sample", "value")
ACCEPTED, NOT_ACCEPTED = frozenset({"1", "1.0", "true"}), frozenset({"0", "0.0", "false"})
"""What a verdict may be as text, in any case; besides 1, 0, true, false and null."""


@dataclass(frozen=True)
class Recorded:
    """Verdicts as a replay joins them, at most one per sample and judge. `account`: what of the file was left out."""

    frame: "pl.DataFrame"
    account: tuple[str, ...] = ()


def read_verdicts(path: Path, judge: str, sets: Sequence[SampleSet]) -> Recorded:
    """Return recorded verdicts: value 1, 0 or missing with its reason.

    The file has `task` (or `task_id`), `sample` and `value` (or `verdict`): 1, 0, true, false, null; besides
    `checkpoint` (or `author`) and `pass` where there are several sets, `judge`, `missing_because`. Of two rows on one
    sample the first counts; a text that is no verdict is missing; a row on no sample of `sets` is left out; all are
    accounted for. Raises DataError where no row has a column, for a checkpoint that is not there, and for a number that
    is neither 1 nor 0: verdicts on another scale.
    """
    faults: list[FileFault] = []
    rows = [(where, _renamed(row)) for where, row in _rows(path, faults)]
    names = {name for _, row in rows for name in row}
    for name in COLUMNS:
        if name not in names:
            raise DataError(
                f"{path}: no column '{name}', only {sorted(names)}", hint="see docs/how-to/replay.md"
            )
    reading = _Reading(path, judge, sets, names, faults)
    for where, row in rows:
        reading.take(where, row)
    return Recorded(reading.frame(), reading.account())


def _renamed(row: Row) -> Row:
    return {ALIASES.get(name, name): value for name, value in row.items()}


def _rows(path: Path, faults: list[FileFault]) -> Iterator[Placed]:
    """Give the rows with their places: lines of JSON lines; rows, from 1 after any heading, of a table."""
    if path.suffix != ".jsonl":
        yield from ((f"row {n}", row) for n, row in enumerate(read_frame(path).iter_rows(named=True), 1))
        return
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise UsageError(f"there is no file '{path}'", hint="correct the path") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error}", hint="write the file again") from None
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            cut = n == len(lines)
            kind = FileFaultKind.CUT_OFF if cut else FileFaultKind.NOT_READABLE
            faults.append(
                FileFault(f"line {n}", kind, "the last line is cut off" if cut else "it is no JSON")
            )
            continue
        if isinstance(row, dict):
            yield f"line {n}", row
        else:
            faults.append(FileFault(f"line {n}", FileFaultKind.NOT_READABLE, "it is no object"))


class _Reading:
    """The rows of one file, taken one after the other."""

    def __init__(
        self, path: Path, judge: str, sets: Sequence[SampleSet], names: set[str], faults: list[FileFault]
    ) -> None:
        self._path, self._judge, self._faults = path, judge, faults
        self._known = {
            (one.author, one.run): {(sample.task, sample.number) for sample in one.samples} for one in sets
        }
        self._tasks = {sample.task for one in sets for sample in one.samples}
        self._kept: dict[tuple[str, str, str, int, str], tuple[float | None, str | None]] = {}
        self._first: dict[tuple[str, str, str, int, str], str] = {}
        self._unread: list[FileFault] = []
        self._default = self._only_set(names)

    def _only_set(self, names: set[str]) -> tuple[str, str]:
        authors, runs = ({key[place] for key in self._known} for place in (0, 1))
        if "author" not in names and len(authors) > 1:
            raise DataError(
                f"{self._path}: it does not say whose samples it judges", hint="add the column `checkpoint`"
            )
        if "pass" not in names and len(runs) > 1:
            raise DataError(f"{self._path}: it does not say in which pass", hint="add the column `pass`")
        return next(iter(authors)), "" if "pass" in names else next(iter(runs))

    def take(self, where: str, row: Row) -> None:
        """Keep a row, or note what is wrong with it."""
        author, run = (
            _text(row.get(name)) or self._default[place] for place, name in enumerate(("author", "pass"))
        )
        if (author, run) not in self._known:
            listed = ", ".join(f"{name}@{of}" if of else name for name, of in sorted(self._known))
            raise DataError(
                f"{self._path}, {where}: there are no samples of '{author}'"
                + (f" in pass '{run}'" if run else ""),
                hint=f"checkpoints: {listed}",
            )
        task, number = _text(row.get("task")), _number(row.get("sample"))
        if not task or number is None:
            self._fault(where, FileFaultKind.NOT_READABLE, "it names no task and sample")
            return
        if (task, number) not in self._known[author, run]:
            what = f"sample {number} of '{task}'" if task in self._tasks else f"task '{task}'"
            self._fault(where, FileFaultKind.UNKNOWN_TASK, f"there is no {what} among the samples")
            return
        key = (author, run, task, number, self._judge or _text(row.get("judge")) or self._path.stem)
        if key in self._kept:
            said = f"sample {number} of '{task}' is on {self._first[key]}, which counts"
            self._fault(where, FileFaultKind.DUPLICATE, said)
            return
        self._first[key] = where
        self._kept[key] = self._verdict(where, row, task, number)

    def _verdict(self, where: str, row: Row, task: str, number: int) -> tuple[float | None, str | None]:
        value = row.get("value")
        if value is None or value == "":
            return None, _text(row.get("missing_because")) or None
        word = str(value).strip().casefold()
        if word in ACCEPTED | NOT_ACCEPTED:
            return float(word in ACCEPTED), None
        if isinstance(value, int | float):
            raise DataError(
                f"{self._path}, {where}: task '{task}', sample {number}: the verdict is {value:g}",
                hint="a verdict is 1, 0 or null with its reason in `missing_because`",
            )
        shown = str(value) if len(str(value)) <= 40 else f"{str(value)[:39]}…"
        said = f"{shown!r} is neither 1 nor 0"
        self._unread.append(FileFault(where, FileFaultKind.NOT_READABLE, said))
        return None, said

    def _fault(self, where: str, kind: FileFaultKind, message: str) -> None:
        self._faults.append(FileFault(where, kind, message))

    def account(self) -> tuple[str, ...]:
        """Return one line for each kind of thing that was wrong, with its places."""
        name = self._path.name
        kinds = dict.fromkeys(fault.kind for fault in self._faults)
        by_kind = {kind.value: [fault for fault in self._faults if fault.kind is kind] for kind in kinds}
        lines = [f"{name}, {len(found):,} {kind}: {named_faults(found)}" for kind, found in by_kind.items()]
        if self._unread:
            lines.append(f"{name}, {len(self._unread):,} missing, no verdict: {named_faults(self._unread)}")
        return tuple(lines)

    def frame(self) -> "pl.DataFrame":
        """Return what was kept, with the columns that `with_verdicts` joins."""
        import polars as pl

        keys, said = list(self._kept), list(self._kept.values())
        return pl.DataFrame(
            {
                **{
                    name: pl.Series([key[place] for key in keys], dtype=pl.String)
                    for place, name in ((0, "author"), (1, "pass"), (2, "task"), (4, "judge"))
                },
                "missing_because": pl.Series([why for _, why in said], dtype=pl.String),
                "sample": pl.Series([key[3] for key in keys], dtype=pl.Int64),
                "value": pl.Series([value for value, _ in said], dtype=pl.Float64),
            }
        )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _number(value: object) -> int | None:
    """Return a sample's number; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None
