"""Anchor tables: scores of the same items, asked again and again, one row per item and run.

JSON lines, CSV or Parquet with the columns `item`, `value` (a number; empty or null: it could not be read) and `time` or
`run`. `time` holds numbers or ISO 8601 dates and orders the runs; `run` holds any names, and the runs stand in the order
in which they first appear. `judge` and `question` may stand beside them; further columns are passed over.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.errors import DataError, UsageError
from voirdire.importers._json_lines import read_rows
from voirdire.model import VerdictTable

if TYPE_CHECKING:
    import polars as pl

HINT = "an anchor table has the columns item, value, and time or run"


def sniff(head: str) -> bool:
    """Whether a file that begins with this text is an anchor table as JSON lines or CSV."""
    first = head.lstrip("\ufeff").partition("\n")[0].strip()
    if first.startswith("{"):
        return all(f'"{name}":' in first for name in ("item", "value")) and (
            '"time":' in first or '"run":' in first
        )
    columns = {name.strip().strip('"') for name in first.split(",")}
    return {"item", "value"} <= columns and bool({"time", "run"} & columns)


def read_verdicts(path: Path) -> VerdictTable:
    """Return a table with item, time, value, judge and question, the runs in order.

    Raises UsageError where there is no such file or its kind is not known; DataError with file, row and column where a
    value is not what its column holds, and where times are partly numbers and partly dates.
    """
    import polars as pl

    rows = _rows(path)
    if not rows:
        raise DataError(f"{path}: no rows", hint=HINT)
    ordered = _ordered([_moment(row, place) for place, row in rows], path)
    frame = pl.DataFrame(
        {
            "item": [_named(row, "item", place) for place, row in rows],
            "time": ordered,
            "value": [_number(row, place) for place, row in rows],
            "judge": [str(row.get("judge") or "") for _, row in rows],
            "question": [str(row.get("question") or "") for _, row in rows],
        },
        schema_overrides={"value": pl.Float64},
    )
    return VerdictTable(frame)


Row = tuple[str, Mapping[str, Any]]


def _rows(path: Path) -> list[Row]:
    """Return every row with its place."""
    suffixes = path.suffixes
    if ".jsonl" in suffixes:
        return [(f"{row.path}, line {row.line}", row.data) for row in read_rows(path)]
    if path.suffix not in (".csv", ".parquet"):
        raise UsageError(
            f"'{path}' is no table that is read here", hint="give a .jsonl, .csv or .parquet file"
        )
    if not path.is_file():
        raise UsageError(f"there is no file '{path}'", hint="check the path")
    frame = _frame(path)
    return [(f"{path}, row {number}", row) for number, row in enumerate(frame.iter_rows(named=True), 1)]


def _frame(path: Path) -> "pl.DataFrame":
    import polars as pl

    try:
        if path.suffix == ".csv":
            return pl.read_csv(path, infer_schema=False)
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).splitlines()[0]
        raise DataError(f"{path}: cannot be read: {first}", hint=HINT) from None


def _named(row: Mapping[str, Any], column: str, place: str) -> str:
    value = row.get(column)
    if value is None or value == "":
        raise DataError(f"{place}: there is no '{column}'", hint=HINT)
    return str(value)


def _number(row: Mapping[str, Any], place: str) -> float | None:
    if "value" not in row:
        raise DataError(f"{place}: there is no 'value'", hint=HINT)
    value = row["value"]
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise DataError(
            f"{place}: 'value' is {value!r}, not a number", hint="leave it empty where nothing was read"
        )
    return number


Moment = tuple[str, float | datetime | str]
"""What a run is called, and what it is ordered by: a number, a date, or a name."""


def _moment(row: Mapping[str, Any], place: str) -> Moment:
    time = row.get("time")
    if time is None or time == "":
        name = _named(row, "run", place)
        return name, name
    if isinstance(time, datetime):
        return time.isoformat(), time if time.tzinfo else time.replace(tzinfo=UTC)
    try:
        return str(time), float(time)
    except (TypeError, ValueError):
        pass
    try:
        moment = datetime.fromisoformat(str(time))
    except ValueError:
        raise DataError(
            f"{place}: 'time' is {time!r}, neither a number nor an ISO 8601 date",
            hint="call the column 'run' where its names have no order of their own",
        ) from None
    return str(time), moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _ordered(moments: list[Moment], path: Path) -> "pl.Series":
    """Return the runs' names as an ordered category."""
    import polars as pl

    kinds = {type(key) for _, key in moments}
    if len(kinds) > 1:
        raise DataError(
            f"{path}: runs are named in different ways, as numbers, dates or names",
            hint="name all of them alike",
        )
    keys: dict[Any, str] = {}
    for name, key in moments:
        keys.setdefault(key, name)
    order = list(keys) if kinds == {str} else sorted(keys)
    return pl.Series("time", [keys[key] for _, key in moments], dtype=pl.Enum([keys[key] for key in order]))
