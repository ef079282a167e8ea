"""Outcome-bias ratings: hosted judges on one act that ended well and on the same act that ended in harm.

One line is one completion: `judge`, `study`, `scenario`, `outcome` (no_harm or harm), and six ratings.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from voirdire.errors import DataError
from voirdire.importers._json_lines import Row, read_rows
from voirdire.model import VerdictTable

SCALES: Mapping[str, tuple[float, float]] = {
    "P_post": (0.0, 100.0),
    "GR_post": (0.0, 100.0),
    "Reckless": (1.0, 7.0),
    "Negligent": (1.0, 7.0),
    "Blame": (1.0, 7.0),
    "Punish": (1.0, 7.0),
}
"""Each rating and its range: percent, or a scale from 1 to 7."""

KEYS = ("judge", "study", "scenario", "outcome", *SCALES)

OUTCOMES = ("no_harm", "harm")

Version = tuple[str, int, str, str]


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds outcome-bias ratings."""
    first = head.lstrip().partition("\n")[0]
    return all(f'"{key}"' in first for key in KEYS)


def read_verdicts(path: Path) -> VerdictTable:
    """Return one row per rating: six for each line of the file.

    `question` names the rating; `task` is the scenario, `item` the scenario in its study and with its outcome;
    `repeat` counts a judge's completions of one item. A rating that is null or outside its scale is missing, with
    the reason. Raises DataError naming the line where a key is missing or a value is unknown.
    """
    import polars as pl

    completions: Counter[Version] = Counter()
    rows: list[tuple[object, ...]] = []
    for row in read_rows(path):
        version = _version(row)
        rows.extend(_verdict(row, version, question, completions[version]) for question in SCALES)
        completions[version] += 1
    if not rows:
        raise DataError(f"{path}: no ratings in it", hint="give a file of outcome-bias ratings")
    return VerdictTable(pl.DataFrame(rows, schema=_schema(), orient="row"))


def _schema() -> Mapping[str, type]:
    return {
        "item": str,
        "task": str,
        "author": str,
        "harness": str,
        "judge": str,
        "study": int,
        "outcome": str,
        "question": str,
        "value": float,
        "order": str,
        "repeat": int,
        "missing_because": str,
        "truth_status": str,
        "truth_passed": bool,
    }


def _version(row: Row) -> Version:
    return row.text("judge"), row.integer("study"), row.text("scenario"), row.one_of("outcome", OUTCOMES)


def _verdict(row: Row, version: Version, question: str, repeat: int) -> tuple[object, ...]:
    judge, study, scenario, outcome = version
    value = row.number(question)
    missing = _why_missing(value, question)
    shown = None if missing else value
    item = f"study {study}/{scenario}/{outcome}"
    return (
        *(item, scenario, None, None, judge, study, outcome),
        *(question, shown, None, repeat, missing, None, None),
    )


def _why_missing(value: float | None, question: str) -> str | None:
    low, high = SCALES[question]
    if value is None:
        return "the record holds no rating"
    if not low <= value <= high:
        return f"{value:g} is outside {low:g} to {high:g}"
    return None
