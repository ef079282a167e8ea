"""LLMBar judgments: winners that hosted judges named in both orders, with the known better one.

One line is one judge and prompting method on one instance: `w12` is the winner with output 1 shown first, `w21` with
output 2 shown first; both name an output (1 or 2) or are null. Our output 1 is response a.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from voirdire.errors import DataError
from voirdire.importers._json_lines import Row, read_rows
from voirdire.model import VerdictTable

KEYS = ("subset", "idx", "judge", "method", "w12", "w21")

NO_WINNER = "the record names no winner"

Instance = tuple[str, int]


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds LLMBar judgments."""
    first = head.lstrip().partition("\n")[0]
    return all(f'"{key}"' in first for key in KEYS)


def read_verdicts(path: Path) -> VerdictTable:
    """Return two rows per line of the file, orders 'ab' and 'ba'.

    `judge` is model and method together, since another prompt is another judge; both also stand alone in `model`
    and `method`. `value`: 'first' or 'second', the slot of the winner; `truth_label`: 'a' or 'b'. `slots` is
    False for the rating methods, which show one output at a time: their two orders differ in how a tie was broken,
    not in what was shown. A line's `label`, or else `instances.jsonl` or `instances.jsonl.gz` beside the file, says
    which output is better. Raises DataError naming the line where a key is missing, a value is unknown, or a
    judgment stands twice.
    """
    import polars as pl

    labels = _labels_beside(path)
    seen: dict[tuple[str, str, Instance], int] = {}
    rows = [verdict for row in read_rows(path) for verdict in _verdicts(_once(row, seen), labels)]
    if not rows:
        raise DataError(f"{path}: no judgments in it", hint="give a file of LLMBar judgments")
    return VerdictTable(pl.DataFrame(rows, schema=_schema(), orient="row"))


def _schema() -> Mapping[str, type]:
    return {
        "item": str,
        "task": str,
        "subset": str,
        "author": str,
        "harness": str,
        "judge": str,
        "model": str,
        "method": str,
        "question": str,
        "value": str,
        "order": str,
        "repeat": int,
        "missing_because": str,
        "truth_status": str,
        "truth_passed": bool,
        "truth_label": str,
        "slots": bool,
    }


def _once(row: Row, seen: dict[tuple[str, str, Instance], int]) -> Row:
    """Return the row, unless the same judgment stood on an earlier line."""
    key = (row.text("judge"), row.text("method"), _instance(row))
    if key in seen:
        raise row.wrong(
            f"{key[0]} {key[1]} on {key[2][0]} {key[2][1]} stands on line {seen[key]} already",
            hint="keep one of the two lines",
        )
    seen[key] = row.line
    return row


def _verdicts(row: Row, labels: Mapping[Instance, int]) -> Iterator[tuple[object, ...]]:
    instance = _instance(row)
    item = f"{instance[0]}/{instance[1]}"
    model, method = row.text("judge"), row.text("method")
    better = "ab"[_label(row, labels) - 1]
    slots = not method.startswith("Rating")
    for key, order in (("w12", "ab"), ("w21", "ba")):
        winner = row.one_of(key, (1, 2, None))
        value = None if winner is None else ("first" if "ab"[winner - 1] == order[0] else "second")
        missing = NO_WINNER if winner is None else None
        judge = f"{model} {method}"
        who = (item, item, instance[0], None, None, judge, model, method)
        yield (*who, "better", value, order, 0, missing, None, None, better, slots)


def _instance(row: Row) -> Instance:
    return row.text("subset"), row.integer("idx")


def _label(row: Row, labels: Mapping[Instance, int]) -> int:
    if "label" in row.data:
        return row.one_of("label", (1, 2))
    if _instance(row) not in labels:
        raise row.wrong(
            "nothing says which output is better",
            hint="add `label` (1 or 2) to each line, or put LLMBar's instances.jsonl.gz beside the file",
        )
    return labels[_instance(row)]


def _labels_beside(path: Path) -> dict[Instance, int]:
    for name in ("instances.jsonl", "instances.jsonl.gz"):
        beside = path.with_name(name)
        if beside.is_file():
            return {_instance(row): row.one_of("label", (1, 2)) for row in read_rows(beside)}
    return {}
