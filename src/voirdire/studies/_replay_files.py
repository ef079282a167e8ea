"""Files of a replay: tasks, samples by checkpoint and pass, results of `voirdire execute`.

Which importer reads a file is decided by how it begins; what could not be read is accounted for, line by line.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

from voirdire import plugins
from voirdire.errors import DataError, UsageError
from voirdire.model import CodeTask, FileFault, SampleFile
from voirdire.studies._replay_run import run_notes
from voirdire.studies._replay_table import Key, SampleSet, Truth, passed_apart

if TYPE_CHECKING:
    import polars as pl

HEAD = 65_536
FAULTS_SHOWN = 5
ORDER = ("human_eval", "evalplus", "bigcodebench", "livecodebench", "mbpp", "code_samples")
"""Importers that know one format well are asked before the plain one."""


FORMS = {
    "samples": "samples are JSON lines with `task_id` and `completion`, `solution`, `code` or `answer`",
    "tasks": "tasks are problems of HumanEval, MBPP, BigCodeBench or LiveCodeBench as they are published, as JSON lines",
}


@dataclass(frozen=True)
class Source:
    """A samples file as it was named: CHECKPOINT@PASS=FILE, CHECKPOINT=FILE or FILE."""

    path: Path
    author: str = ""
    run: str = ""


def source_of(text: str) -> Source:
    """Return what an argument names. A name may hold neither '=' nor '@'; without one the file names its systems."""
    name, given, path = text.partition("=")
    if not given or Path(text).exists():
        return Source(Path(text))
    author, _, run = name.partition("@")
    if not author or not path:
        raise UsageError(f"'{text}' names no samples", hint="write CHECKPOINT=FILE or CHECKPOINT@PASS=FILE")
    return Source(Path(path), author.strip(), run.strip())


def read_tasks(paths: Sequence[Path]) -> dict[str, CodeTask]:
    """Return the tasks of all files by id. Raises DataError for a task in two files, UsageError for an unknown form."""
    tasks: dict[str, CodeTask] = {}
    for path in paths:
        for task in _importer(path, "read_tasks").read_tasks(path):
            if task.id in tasks:
                raise DataError(
                    f"{path}: the task '{task.id}' is in another file too", hint="give each task once"
                )
            tasks[task.id] = task
    return tasks


def read_sets(sources: Sequence[Source], tasks: Mapping[str, CodeTask]) -> list[SampleSet]:
    """Return the samples by checkpoint and pass, in the order in which they were named.

    A file without a name gives one set for each system in it; a named one must hold one system. Raises DataError where a
    checkpoint has two files in one pass, or a named file holds several systems.
    """
    sets = [found for source in sources for found in _sets_of(source, tasks)]
    names = [(one.author, one.run) for one in sets]
    for name in names:
        if names.count(name) > 1:
            where = f"'{name[0]}'" + (f" in pass '{name[1]}'" if name[1] else "")
            raise DataError(
                f"checkpoint {where} stands in two files",
                hint="name the passes: CHECKPOINT@first=FILE CHECKPOINT@second=FILE",
            )
    return sets


def _sets_of(source: Source, tasks: Mapping[str, CodeTask]) -> list[SampleSet]:
    read: SampleFile = _importer(source.path, "read_samples").read_samples(
        source.path, tasks, system=source.author
    )
    account = account_of(read)
    systems = list(dict.fromkeys(sample.system for sample in read.samples)) or [source.path.name]
    if source.author:
        if len(systems) > 1:
            raise DataError(
                f"{source.path} holds samples of {len(systems)} systems: {', '.join(systems[:4])}",
                hint="give the file without a name, and each system is a checkpoint of its own",
            )
        return [SampleSet(source.author, source.run, read.samples, account)]
    return [
        SampleSet(
            system,
            source.run,
            tuple(sample for sample in read.samples if sample.system == system),
            account if place == 0 else (),
        )
        for place, system in enumerate(systems)
    ]


def read_prelude(path: Path | None) -> str:
    """Return the code that stands before every candidate; '' without a file. UsageError where it cannot be read."""
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}", hint="give a Python file in UTF-8") from None


def account_of(read: SampleFile) -> tuple[str, ...]:
    """Return what a file held and what was wrong with it, the first faults of each kind with their place."""
    counts = ", ".join(f"{count:,} {what}" for what, count in read.account.items())
    name = Path(read.path).name
    lines = [f"{name}: {counts}"]
    if read.samples and read.without_samples:
        lines.append(f"{name}, no sample: {_first_of(read.without_samples)}")
    for kind in dict.fromkeys(fault.kind for fault in read.faults):
        faults = [fault for fault in read.faults if fault.kind is kind]
        if faults[0].kept:  # nothing is lost with them, and there may be as many as samples
            lines.append(f"{name}, {kind.value} (kept): {len(faults):,}, the first on {faults[0].where}")
        else:
            lines.append(f"{name}, {kind.value}: {named_faults(faults)}")
    return tuple(lines)


def named_faults(faults: Sequence[FileFault]) -> str:
    """Return the first faults in full, and the places of the others."""
    said = "; ".join(f"{fault.where}: {fault.message}" for fault in faults[:FAULTS_SHOWN])
    return said + _places([fault.where for fault in faults[FAULTS_SHOWN:]])


def _first_of(names: Sequence[str]) -> str:
    more = f", and {len(names) - FAULTS_SHOWN:,} more" if len(names) > FAULTS_SHOWN else ""
    return f"{', '.join(names[:FAULTS_SHOWN])}{more}"


def _places(wheres: Sequence[str]) -> str:
    """Name further places in a few words: lines that follow one another as one span; '' for none."""
    if not wheres:
        return ""
    words = [where.rpartition(" ") for where in wheres]
    if any(not number.isdecimal() or what != words[0][0] for what, _, number in words):
        return f"; and {len(wheres):,} more: {', '.join(wheres)}"
    numbers = sorted({int(number) for _, _, number in words})
    starts = [number for number in numbers if number - 1 not in set(numbers)]
    ends = [number for number in numbers if number + 1 not in set(numbers)]
    spans = [str(low) if low == high else f"{low}-{high}" for low, high in zip(starts, ends, strict=True)]
    plural = {"entry": "entries"}.get(words[0][0], f"{words[0][0]}s")
    return f"; and {len(wheres):,} more: {plural} {', '.join(spans)}"


def _importer(path: Path, door: str) -> ModuleType:
    what = "tasks" if door == "read_tasks" else "samples"
    if what == "tasks" and path.is_dir():
        raise UsageError(f"{path} is a folder", hint="name the file of tasks in it")
    head = _head(path)
    if not head.strip():
        raise DataError(f"{path}: the file is empty", hint=f"give a file of {what}")
    names = [name for name in ORDER if name in plugins.names("importers")]
    others = [name for name in plugins.names("importers") if name not in names]
    for name in [*names, *others]:
        module = plugins.load("importers", name)
        if hasattr(module, door) and module.sniff(head):
            return module
    raise DataError(f"{path}: no known form of {what}", hint=FORMS[what])


def _head(path: Path) -> str:
    try:
        if path.is_dir():
            return '{"task_id": "", "solution": ""}'
        with path.open("rb") as file:
            raw = _unpacked(file, packed=path.suffix == ".gz")
            marked = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
            return _first_line(raw.decode("utf-16" if marked else "utf-8", "replace"))
    except FileNotFoundError:
        raise UsageError(f"there is no file '{path}'", hint="correct the path") from None
    except (OSError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}", hint="correct the path or the file") from None


def _first_line(head: str) -> str:
    """Return the first line where it is an object of its own, so that no later text is taken for a key; else all."""
    line = head.lstrip("\ufeff \t\r\n").partition("\n")[0].strip()
    return line if line.startswith("{") and line.endswith("}") else head


def _unpacked(file: BinaryIO, *, packed: bool) -> bytes:
    """Return the beginning of a file, of a packed one unpacked, also where it breaks off."""
    data = file.read(HEAD)
    return zlib.decompressobj(wbits=31).decompress(data, HEAD) if packed else data


# --- tables -------------------------------------------------------------------------------------------


RESULT_COLUMNS = ("task_id", "sample", "status")


def read_frame(path: Path) -> "pl.DataFrame":
    """Return a Parquet, CSV or JSON lines file as a frame. Raises DataError or UsageError naming the file."""
    import polars as pl

    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".parquet": pl.read_parquet,
        ".csv": partial(pl.read_csv, infer_schema_length=None),
        ".jsonl": partial(pl.read_ndjson, infer_schema_length=None),
    }
    if path.suffix not in readers:
        raise UsageError(
            f"{path}: the form '{path.suffix}' is not known", hint="give .parquet, .jsonl or .csv"
        )
    try:
        return readers[path.suffix](path)
    except FileNotFoundError:
        raise UsageError(f"there is no file '{path}'", hint="correct the path") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(
            f"{path}: cannot be read: {str(error).partition(chr(10))[0]}", hint="write the file again"
        ) from None


def read_results(path: Path, one: SampleSet, *, alone: bool = True) -> dict[Key, Truth]:
    """Return what `voirdire execute` wrote about a set of samples.

    alone: the file was named as this set's, so that its rows need not name the set unless they name several. Raises
    DataError where the file is not such a file, has a sample twice, or was made from other programs.
    """
    frame = read_frame(path)
    _require(frame, RESULT_COLUMNS, path)
    for column, own in (("system", one.author), ("pass", one.run)):
        if column in frame.columns and (not alone or frame[column].n_unique() > 1):
            frame = frame.filter(frame[column] == own)
    codes = {(sample.task, sample.number): sample.code for sample in one.samples}
    truths: dict[Key, Truth] = {}
    for row in frame.iter_rows(named=True):
        key = (one.author, one.run, str(row["task_id"]), int(row["sample"]))
        if key in truths:
            raise DataError(
                f"{path}: sample {key[3]} of '{key[2]}' stands there twice", hint="keep one of the two"
            )
        code = codes.get((key[2], key[3]))
        if None not in (code, row.get("solution")) and not _same_program(code, row["solution"]):
            raise DataError(
                f"{path}: sample {key[3]} of '{key[2]}' is another program than in {one.name}",
                hint="run these samples with `voirdire execute`, and give what it writes",
            )
        passed = row.get("passed")
        apart = passed_apart(passed, row.get("proof"))
        truths[key] = Truth(row["status"], passed, row.get("passed_renamed"), apart)
    return truths


def _same_program(code: str | None, other: str) -> bool:
    """Whether two texts are one program; a table holds half characters as escapes."""
    return code == other or (code or "").encode("utf-8", "backslashreplace").decode("utf-8") == other


def notes_of_results(path: Path) -> tuple[str, ...]:
    """Return what the page says of how the samples of a results file were run; () where the file does not say."""
    frame = read_frame(path)
    return run_notes(frame.iter_rows(named=True)) if "isolation" in frame.columns else ()


def _require(frame: "pl.DataFrame", names: Sequence[str], path: Path) -> None:
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise DataError(
            f"{path}: no column '{absent[0]}', only {frame.columns}", hint="see docs/how-to/replay.md"
        )
