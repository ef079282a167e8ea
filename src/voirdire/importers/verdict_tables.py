"""Tables of judged answers: who wrote what for which task, what the judge said, and what came of running it.

JSON lines, CSV or Parquet, one row per answer and judge. Columns go by several names, so that the tables people have can
be read as they are (`COLUMNS`); all but the system and the task may be missing. A row whose `resolved` is an object gives
one answer for each of its runs. Nothing is guessed: a value that is not of its column's kind is an error with its place.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.errors import DataError, UsageError
from voirdire.importers._files import read_bytes
from voirdire.importers._json_lines import read_rows
from voirdire.importers._patches import FAIL_TO_PASS, PASS_TO_PASS
from voirdire.importers._samples import first_object
from voirdire.model import CodeSample, GroundTruth, Item, TruthStatus, VerdictTable

if TYPE_CHECKING:
    import polars as pl

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "system": ("system", "model_name_or_path"),
    "model": ("model", "author"),
    "harness": ("harness", "scaffold"),
    "task": ("task", "task_id", "instance_id"),
    "sample": ("sample", "attempt", "sample_id"),
    "item": ("item", "item_id"),
    "judge": ("judge",),
    "score": ("score", "value", "judge_score"),
    "missing_because": ("missing_because",),
    "status": ("status", "truth_status"),
    "passed": ("passed", "resolved", "truth_passed"),
    "f2p_passed": ("f2p_passed", "f2p_pass"),
    "f2p_total": ("f2p_total",),
    "p2p_passed": ("p2p_passed", "p2p_pass"),
    "p2p_total": ("p2p_total",),
    "tests_passed": ("tests_passed", "n_pass"),
    "tests_total": ("tests_total", "n_run"),
    "reason": ("reason", "error"),
    "label_chance": ("label_chance",),
    "repository": ("repository", "repo", "set"),
    "language": ("language",),
    "text": ("patch", "code", "program", "solution", "text"),
}
"""What is read, and the names a column of it may have; the first one that is there counts."""

STATUSES: Mapping[str, TruthStatus] = {
    **{status.value: status for status in TruthStatus},
    "resolved": TruthStatus.PASSED,
    "ok": TruthStatus.PASSED,
    "unresolved": TruthStatus.FAILED,
    "empty_patch": TruthStatus.NOT_APPLIED,
    "no_parse": TruthStatus.UNPARSABLE,
    "infra": TruthStatus.INFRASTRUCTURE,
    "missing": TruthStatus.NOT_RUN,
    "not_reported": TruthStatus.NOT_RUN,
}
"""The words of a `status`, and what they mean here."""

TIMED_OUT = frozenset({"timeout", "timed out", "killed"})
YES, NO = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})

_REPOSITORY = re.compile(r"(?:instance_)?([^_/][^/]*?)__(.+?)-[^-]+(?:-v\w+)?$")


def sniff(head: str) -> bool:
    """Whether a file that begins with this text is a JSON lines table with a judge's score."""
    first = first_object(head)
    return any(f'"{name}":' in first for name in COLUMNS["score"]) and any(
        f'"{name}":' in first for name in COLUMNS["task"]
    )


def read_verdicts(path: Path) -> VerdictTable:
    """Return a table with one row per answer and judge, in the columns that `voirdire halo` takes.

    An answer without a score has a null `value`, and `missing_because` says why. Raises UsageError where there is no such
    file or its kind is not known, DataError with file, row and column where a value is not what its column holds.
    """
    return VerdictTable(_frame([_answer(record) for record in _records(path)], path))


def read_scores(path: Path, judge: str = "") -> VerdictTable:
    """Return recorded verdicts to be joined with answers that have none: who or which item, judge and value.

    `judge`: the judge's name where the file does not say it; by default the file's name. Raises as `read_verdicts`,
    and DataError where the file holds no scores.
    """
    rows = [_answer(record, named=False) for record in _records(path)]
    frame = _frame(rows, path)
    if not any(row["scored"] for row in rows):
        raise DataError(
            f"{path}: no column '{COLUMNS['score'][0]}'",
            hint=f"name it one of: {', '.join(COLUMNS['score'])}",
        )
    import polars as pl

    return VerdictTable(frame.with_columns(pl.col("judge").fill_null(judge or path.stem)))


def table_of_items(items: Sequence[Item]) -> VerdictTable:
    """Return answers that an importer read, with what came of them and no score yet."""
    return VerdictTable(_frame([_answer_of_item(item) for item in items], Path("items")))


def table_of_samples(samples: Sequence[CodeSample]) -> VerdictTable:
    """Return programs that an importer read, with what came of them and no score yet."""
    return VerdictTable(_frame([_answer_of_sample(sample) for sample in samples], Path("samples")))


def joined(answers: VerdictTable, scores: Sequence[VerdictTable]) -> VerdictTable:
    """Return the answers with the scores of every judge: by item where the scores name items, else by system, task, sample.

    An answer that a judge did not score is missing with that reason. Raises DataError where a score is about no answer, or
    a judge scored one twice.
    """
    import polars as pl

    bare = answers.frame.drop("judge", "value", "missing_because")
    parts = [
        _joined(bare, one)
        for table in scores
        for one in table.frame.partition_by("judge", maintain_order=True)
    ]
    return VerdictTable(pl.concat(parts)) if parts else answers


def _joined(bare: "pl.DataFrame", scores: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    by_item = scores["item_given"].all()
    keys = ["item"] if by_item else ["system", "task", "sample"]
    judge = scores["judge"][0]
    twice = scores.filter(pl.struct(keys).is_duplicated())
    if twice.height:
        raise DataError(f"judge '{judge}' scored {_named(twice, keys)} twice", hint="keep one of the two")
    strange = scores.join(bare, on=keys, how="anti")
    if strange.height:
        raise DataError(
            f"judge '{judge}': {strange.height} scores are about no answer in the table, first {_named(strange, keys)}",
            hint="name systems, tasks and samples as the table does",
        )
    said = scores.select(*keys, "judge", "value", "missing_because", pl.lit(True).alias("was_asked"))
    return (
        bare.join(said, on=keys, how="left", maintain_order="left")
        .with_columns(
            pl.lit(judge).alias("judge"),
            pl.when(pl.col("was_asked").is_null())
            .then(pl.lit(NOT_JUDGED))
            .otherwise(pl.col("missing_because"))
            .alias("missing_because"),
        )
        .drop("was_asked")
    )


def _named(frame: "pl.DataFrame", keys: Sequence[str]) -> str:
    row = frame.row(0, named=True)
    return ", ".join(f"{key} '{row[key]}'" for key in keys)


# --- files to records ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Record:
    """One row of a file, and where it stands."""

    path: Path
    place: str
    data: Mapping[str, Any]

    def given(self, column: str) -> tuple[str, Any]:
        """Return under which name a column stands, and its value; ('', None) where there is none or it is empty."""
        for name in COLUMNS[column]:
            value = self.data.get(name)
            if value is not None and value != "" and not (isinstance(value, float) and math.isnan(value)):
                return name, value
        return "", None

    def has(self, column: str) -> bool:
        """Whether the row has the column, whatever it holds."""
        return any(name in self.data for name in COLUMNS[column])

    def wrong(self, name: str, message: str, *, hint: str = "") -> DataError:
        """Return the error to raise about one value."""
        return DataError(f"{self.path}, {self.place}, column '{name}': {message}", hint=hint)

    def text(self, column: str) -> str | None:
        """Return a text, or a number as one."""
        name, value = self.given(column)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(name, f"a text was expected, not {_shown(value)}")
        return str(value)

    def number(self, column: str) -> float | None:
        """Return a finite number."""
        name, value = self.given(column)
        if value is None:
            return None
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise self.wrong(
                    name,
                    f"{_shown(value)} is no number",
                    hint="leave it empty, and say why in 'missing_because'",
                ) from None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong(name, f"{_shown(value)} is no number")
        return float(value)

    def count(self, column: str) -> int | None:
        """Return a whole number of zero or more."""
        number = self.number(column)
        if number is None:
            return None
        if number < 0 or number != int(number):
            raise self.wrong(self.given(column)[0], f"{number:g} is no count")
        return int(number)

    def flag(self, column: str) -> bool | None:
        """Return true or false, however it is written."""
        name, value = self.given(column)
        if value is None or isinstance(value, bool):
            return value
        word = str(int(value) if isinstance(value, float) and value == int(value) else value).strip().lower()
        if word in YES | NO:
            return word in YES
        raise self.wrong(name, f"{_shown(value)} is neither true nor false")


def _records(path: Path) -> Iterator[_Record]:
    name = path.name.removesuffix(".gz")
    rows: Iterator[tuple[str, Mapping[str, Any]]]
    if name.endswith((".jsonl", ".ndjson")):
        rows = ((f"line {row.line}", row.data) for row in read_rows(path))
    elif name.endswith(".csv"):
        rows = _csv_rows(path)
    elif name.endswith(".parquet"):
        rows = _parquet_rows(path)
    else:
        raise UsageError(
            f"{path}: the form '{path.suffix}' is not known", hint="give .jsonl, .csv or .parquet"
        )
    for place, data in rows:
        yield from _expanded(_Record(path, place, data))


def _csv_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: {error}", hint="save the file as UTF-8") from None
    csv.field_size_limit(1 << 28)
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for row in reader:
        if None in row:
            raise DataError(
                f"{path}, line {reader.line_num}: it has more fields than the header", hint="quote its commas"
            )
        yield f"line {reader.line_num}", row


def _parquet_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except FileNotFoundError:
        raise UsageError(f"there is no file '{path}'", hint="correct the path") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(
            f"{path}: cannot be read: {str(error).splitlines()[0]}", hint="write it again"
        ) from None
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        yield f"row {number}", row


def _expanded(record: _Record) -> Iterator[_Record]:
    """Yield the record, or one for each run where its `resolved` holds several."""
    runs = record.data.get("resolved")
    if not isinstance(runs, Mapping):
        yield record
        return
    for system, passed in runs.items():
        if passed is not None:
            data = {**record.data, "resolved": passed, "system": system}
            yield _Record(record.path, f"{record.place}, run '{system}'", data)


# --- records to answers -------------------------------------------------------------------------------

Answer = dict[str, Any]
NOT_JUDGED = "not judged"


def _answer(record: _Record, *, named: bool = True) -> Answer:
    """Return one row of the table. `named`: it must say which system's answer to which task it is."""
    model, harness = record.text("model"), record.text("harness")
    system, task = record.text("system") or _system(model, harness), record.text("task")
    item, sample = record.text("item"), record.count("sample") or 0
    if (system is None or task is None) and (named or item is None):
        lacking = "system" if system is None else "task"
        raise DataError(
            f"{record.path}, {record.place}: there is no column '{lacking}', only {sorted(record.data)[:12]}",
            hint=f"name it one of: {', '.join(COLUMNS[lacking])}"
            + (", or give 'model' and 'harness'" if lacking == "system" else ""),
        )
    value = record.number("score")
    truth = _truth(record)
    chance = record.number("label_chance")
    if chance is not None and not 0 < chance <= 1:
        raise record.wrong("label_chance", f"a chance of {chance:g} is not above 0 and at most 1")
    missing = record.text("missing_because")
    return {
        "item": item or _item(system, task, sample),
        "item_given": item is not None,
        "task": task,
        "system": system,
        "author": model,
        "harness": harness,
        "sample": sample,
        "judge": record.text("judge"),
        "scored": record.has("score"),
        "value": value,
        "missing_because": (missing or NOT_JUDGED) if value is None else None,
        **truth,
        "label_chance": chance,
        "repository": record.text("repository") or repository_of(task or ""),
        "language": record.text("language"),
        "text": _text(record),
    }


def _text(record: _Record) -> str | None:
    name, value = record.given("text")
    if value is not None and not isinstance(value, str):
        raise record.wrong(name, f"a text was expected, not {_shown(value)}")
    return value


def _system(model: str | None, harness: str | None) -> str | None:
    return "+".join(part for part in (model, harness) if part) or None


def _item(system: str | None, task: str | None, sample: int) -> str:
    return f"{system}/{task}" + (f"#{sample}" if sample else "")


def repository_of(task: str) -> str | None:
    """Return the repository that an id like `owner__name-123` names; None for another kind of id."""
    found = _REPOSITORY.match(task)
    return f"{found[1]}/{found[2]}" if found else None


def _truth(record: _Record) -> Answer:
    """Return what came of running the answer; nothing where the row does not say."""
    nested = record.data.get("truth")
    if isinstance(nested, Mapping):
        groups = nested.get("groups")
        flat = {key: value for key, value in nested.items() if key != "groups"}
        counts = _nested_groups(groups) if isinstance(groups, Mapping) else {}
        record = _Record(record.path, record.place, {**record.data, **flat, **counts})
    elif nested is not None:
        record = _Record(record.path, record.place, {**record.data, "status": nested})
    groups = {
        name: (record.count(f"{key}_passed"), record.count(f"{key}_total"))
        for name, key in ((FAIL_TO_PASS, "f2p"), (PASS_TO_PASS, "p2p"), ("tests", "tests"))
    }
    known = {name: (passed, total) for name, (passed, total) in groups.items() if None not in (passed, total)}
    for name, (passed, total) in known.items():
        if (passed or 0) > (total or 0):
            raise DataError(
                f"{record.path}, {record.place}: {passed} of {total} tests of {name} passed",
                hint="a total is not smaller than what passed",
            )
    status, reason = _status(record, known), record.text("reason")
    for name, (passed, total) in known.items():
        if status is TruthStatus.PASSED and (passed or 0) < (total or 0):
            raise DataError(
                f"{record.path}, {record.place}: the answer passed, but only {passed} of {total} tests of {name} did",
                hint="correct the status or the counts: one of them is wrong",
            )
    return _truth_columns(status, known, reason)


def _nested_groups(groups: Mapping[str, Any]) -> Answer:
    keys = {FAIL_TO_PASS: "f2p", PASS_TO_PASS: "p2p"}
    found: Answer = {}
    for name, one in groups.items():
        if isinstance(one, Mapping):
            key = keys.get(name, "tests")
            found |= {f"{key}_passed": one.get("passed"), f"{key}_total": one.get("total")}
    return found


def _status(record: _Record, groups: Mapping[str, tuple[int | None, int | None]]) -> TruthStatus | None:
    word, passed = record.text("status"), record.flag("passed")
    if word is not None:
        if word not in STATUSES:
            raise record.wrong(
                record.given("status")[0], f"'{word}' is no status", hint=f"known: {', '.join(STATUSES)}"
            )
        return STATUSES[word]
    if passed:
        return TruthStatus.PASSED
    if record.data.get("parses") is False:
        return TruthStatus.UNPARSABLE
    if record.data.get("applied") is False:
        return TruthStatus.NOT_APPLIED
    if passed is None and not groups:
        return None
    if passed is None:
        done = all(good == total for good, total in groups.values())
        return TruthStatus.PASSED if done else TruthStatus.FAILED
    return TruthStatus.TIMEOUT if record.text("reason") in TIMED_OUT else TruthStatus.FAILED


def _truth_columns(
    status: TruthStatus | None, groups: Mapping[str, tuple[int | None, int | None]], reason: str | None
) -> Answer:
    target = groups.get(FAIL_TO_PASS) or groups.get("tests")
    return {
        "truth_status": status.value if status else None,
        "truth_passed": None if status is None else status is TruthStatus.PASSED,
        "target_passed": target[0] if target else None,
        "target_total": target[1] if target else None,
        "tests_passed": sum(passed or 0 for passed, _ in groups.values()) if groups else None,
        "tests_total": sum(total or 0 for _, total in groups.values()) if groups else None,
        "reason": reason,
    }


def _answer_of_item(item: Item) -> Answer:
    origin = item.origin
    task = (origin.task if origin else None) or item.id
    author, harness = (origin.author, origin.harness) if origin else (None, None)
    return {
        **_plain_answer(
            item.id, task, _system(author, harness) or "unknown", (origin and origin.sample) or 0
        ),
        "author": author if harness else None,
        "harness": harness,
        **_known_truth(item.truth),
        "repository": repository_of(task),
        "language": origin.language if origin else None,
        "text": item.parts.get("response"),
    }


def _answer_of_sample(sample: CodeSample) -> Answer:
    return {
        **_plain_answer(
            _item(sample.system, sample.task, sample.number), sample.task, sample.system, sample.number
        ),
        **_known_truth(sample.truth),
        "repository": repository_of(sample.task),
        "language": sample.language,
        "text": sample.code,
    }


def _plain_answer(item: str, task: str, system: str, sample: int) -> Answer:
    return {
        "item": item,
        "item_given": True,
        "task": task,
        "system": system,
        "author": None,
        "harness": None,
        "sample": sample,
        "judge": None,
        "scored": False,
        "value": None,
        "missing_because": NOT_JUDGED,
        "label_chance": None,
    }


def _known_truth(truth: GroundTruth | None) -> Answer:
    if truth is None:
        return _truth_columns(None, {}, None)
    groups = {name: (group.passed, group.total) for name, group in truth.groups.items()}
    return _truth_columns(truth.status, groups, truth.label)


def _frame(rows: Sequence[Answer], path: Path) -> "pl.DataFrame":
    import polars as pl

    if not rows:
        raise DataError(f"{path}: there are no rows in it", hint="give one row per answer")
    kinds: dict[str, Any] = {
        **dict.fromkeys(
            ("item", "task", "system", "author", "harness", "judge", "missing_because"), pl.String
        ),
        **dict.fromkeys(("truth_status", "reason", "repository", "language", "text"), pl.String),
        **dict.fromkeys(("value", "label_chance"), pl.Float64),
        **dict.fromkeys(("sample", "target_passed", "target_total", "tests_passed", "tests_total"), pl.Int64),
        **dict.fromkeys(("item_given", "truth_passed"), pl.Boolean),
    }
    return pl.DataFrame({name: [_clean(row[name]) for row in rows] for name in kinds}, schema=kinds)


def _clean(value: Any) -> Any:
    """Return a text without half characters, which no table holds; all else as it is."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
