"""Write the ledger's answers to a Parquet, CSV or JSON lines file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from voirdire.cli._main import harmless
from voirdire.cli._options import DEFAULT_LEDGER, AsJson, LedgerFile
from voirdire.errors import DataError, UsageError

Row = Mapping[str, object]

ROWS_AT_ONCE = 20_000

COLUMNS = {
    "judge": str,
    "judge_name": str,
    "item": str,
    "request": str,
    "repeat": int,
    "raw": str,
    "missing_because": str,
    "failed": bool,
    "input_tokens": int,
    "output_tokens": int,
    "cached_tokens": int,
    "money": float,
    "served": str,
    "seconds": float,
    "extra": str,
    "at": str,
    "body": str,
}
"""Columns of an export and their types; `extra` is JSON, `at` an ISO 8601 time in UTC."""


@dataclass
class Account:
    """What was written: answers, those that failed for good, and the judges they are from."""

    out: str
    answers: int = 0
    failed: int = 0
    judges: int = 0


def command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write: .parquet, .csv or .jsonl.")],
    ledger: LedgerFile = DEFAULT_LEDGER,
    requests: Annotated[
        bool, typer.Option("--requests", help="Also write the text of each request, as column `body`.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write every answer in the ledger, one row each, to a Parquet, CSV or JSON lines file.

    The ending of OUT decides the format; a file that is there is replaced. One row holds the judge's fingerprint and
    name, the item, the request's digest, the repeat, the raw answer or why there is none, tokens, money, the
    serving snapshot, seconds and the time.
    """
    write = _writer(out)
    account = Account(out=str(out))
    _write_whole(out, lambda path: write(path, _counted(_rows(ledger, requests=requests), account)))
    if as_json:
        print(json.dumps(vars(account)))
    else:
        print(harmless(f"{account.answers:,} answers of {account.judges:,} judges written to {out}"))


def _writer(out: Path) -> Callable[[Path, Iterator[Row]], None]:
    writers = {".parquet": _write_parquet, ".csv": _write_csv, ".jsonl": _write_json_lines}
    if out.suffix not in writers:
        raise UsageError(
            f"{out}: the format '{out.suffix or out.name}' is not known",
            hint="end it in .parquet, .csv or .jsonl",
        )
    return writers[out.suffix]


def _rows(path: Path, *, requests: bool) -> Iterator[Row]:
    from voirdire.engine.ledger import Ledger

    if not path.exists():
        raise DataError(
            f"there is no ledger '{path}'",
            hint="name it with --ledger or VOIRDIRE_LEDGER; a command that asks a judge makes one",
        )
    with Ledger(path) as ledger:
        yield from ledger.rows(bodies=requests)


def _counted(rows: Iterator[Row], account: Account) -> Iterator[Row]:
    judges = set()
    for row in rows:
        account.answers += 1
        account.failed += bool(row["failed"])
        judges.add(row["judge"])
        account.judges = len(judges)
        yield row


def _write_whole(out: Path, write: Callable[[Path], None]) -> None:
    """Let the file appear when it is complete, and leave an old one alone until then."""
    unfinished = out.with_name(f".{out.name}.part")
    try:
        write(unfinished)
        os.replace(unfinished, out)
    except OSError as error:
        raise UsageError(
            f"{out}: cannot be written: {(error.strerror or str(error)).lower()}",
            hint="name a file in a folder that exists and can be written",
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)


# --- formats ----------------------------------------------------------------------------------------


def _write_json_lines(path: Path, rows: Iterator[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(_json(row) + "\n")


def _write_csv(path: Path, rows: Iterator[Row]) -> None:
    import csv

    first = next(rows, {})
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=_columns(first))
        writer.writeheader()
        for row in [first] if first else []:
            writer.writerow(_flat(row))
        writer.writerows(_flat(row) for row in rows)


def _write_parquet(path: Path, rows: Iterator[Row]) -> None:
    import polars as pl

    first = list(islice(rows, ROWS_AT_ONCE))
    schema = {name: COLUMNS[name] for name in _columns(first[0] if first else {})}
    frames = [pl.DataFrame([_flat(row) for row in first], schema=schema)]
    while more := list(islice(rows, ROWS_AT_ONCE)):
        frames.append(pl.DataFrame([_flat(row) for row in more], schema=schema))
    pl.concat(frames).write_parquet(path)


def _columns(row: Row) -> list[str]:
    return list(row) or [name for name in COLUMNS if name != "body"]


def _flat(row: Row) -> dict[str, object]:
    """Return the row with `extra` as JSON and half characters as escapes, which tables cannot hold otherwise."""
    return {name: _cell(value) for name, value in row.items()}


def _cell(value: object) -> object:
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def _json(row: Row) -> str:
    text = json.dumps(row, ensure_ascii=False)
    return (
        text
        if text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
        else json.dumps(row)
    )
