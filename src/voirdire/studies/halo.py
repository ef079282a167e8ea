"""The halo study: tables of judged answers, joined with recorded scores, audited judge by judge, on one page.

Nobody is asked. Tables may hold their scores, or be outcomes alone (predictions with what a harness left, programs with
their results) that recorded scores are joined to; without any scores the page says what came of running the answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire.audits import halo
from voirdire.audits._halo_calibration import to_execute
from voirdire.audits._halo_table import Answers, HaloOptions, answers_of
from voirdire.audits._replay_rulings import counted
from voirdire.blocks import Cell, TableBlock
from voirdire.engine.conclude import conclude
from voirdire.errors import DataError, UsageError
from voirdire.importers import code_samples, swe_bench, swe_bench_pro
from voirdire.importers._samples import PROGRAM
from voirdire.importers.verdict_tables import (
    joined,
    read_scores,
    read_verdicts,
    table_of_items,
    table_of_samples,
)
from voirdire.model import (
    Account,
    Estimate,
    Examination,
    Finding,
    FindingKind,
    Identity,
    OutcomeFile,
    Ruling,
    SampleFile,
    VerdictTable,
)

if TYPE_CHECKING:
    import polars as pl

HEAD = 65_536
FAULTS_SHOWN = 3


@dataclass(frozen=True)
class Read:
    """A table to audit, and what was wrong with the files that it came from."""

    table: VerdictTable
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Audited:
    """What the study gave: the page's content, and what to execute next (None: nothing is left, or nothing is judged)."""

    examination: Examination
    next: "pl.DataFrame | None"


def read_tables(paths: Sequence[Path], scores: Sequence[tuple[str, Path]] = ()) -> Read:
    """Return the tables as one, joined with recorded scores; `scores` names a judge ('' for the file's own) and a file.

    Files of SWE-bench predictions and of SWE-bench Pro patches are read with what their harness left beside them; all else
    is a table (see `importers.verdict_tables`). Raises UsageError where there is no table, DataError as its readers do.
    """
    import polars as pl

    if not paths:
        raise UsageError("there is no table to audit", hint="voirdire halo TABLE [--scores FILE]")
    read = [_read(path) for path in paths]
    table = VerdictTable(pl.concat([one.table.frame for one in read], how="vertical"))
    if scores:
        found = [read_scores(path, judge) for judge, path in scores]
        own = table.frame.filter(pl.col("value").is_not_null() & pl.col("judge").is_not_null())
        kept = [VerdictTable(own.with_columns(pl.lit(False).alias("item_given")))] if own.height else []
        answers = table.frame.unique(["system", "task", "sample"], keep="first", maintain_order=True)
        table = joined(VerdictTable(answers), [*kept, *found])
    return Read(_judged(table), tuple(note for one in read for note in one.notes))


def _judged(table: VerdictTable) -> VerdictTable:
    """Return the table with a name for a judge whose scores came without one."""
    import polars as pl

    named = pl.when(pl.col("judge").is_null() & pl.col("value").is_not_null()).then(pl.lit("judge"))
    frame = table.frame.with_columns(named.otherwise(pl.col("judge")).alias("judge"))
    names = frame["judge"].drop_nulls().unique().to_list()
    if len(names) == 1:
        frame = frame.with_columns(pl.lit(names[0]).alias("judge"))
    return VerdictTable(frame)


def _read(path: Path) -> Read:
    head = _head(path)
    if '"model_patch":' in head and not any(f'"{key}":' in head for key in ("score", "truth", "status")):
        return _outcomes(swe_bench.read_outcomes(path))
    if '"prefix":' in head and swe_bench_pro.sniff(head):
        return _outcomes(swe_bench_pro.read_outcomes(path))
    if _is_prose(head):
        return _programs(code_samples.read_samples(path))
    return Read(read_verdicts(path))


def _is_prose(head: str) -> bool:
    """Whether a file holds answers out of which the code is still to be taken."""
    keys = (*PROGRAM, "patch", "solution", "score", "value")
    return code_samples.sniff(head) and not any(f'"{key}":' in head.partition("\n")[0] for key in keys)


def _programs(read: SampleFile) -> Read:
    if not read.samples:
        raise DataError(f"{read.path}: no entry could be read", hint="see what is wrong with its first line")
    return Read(table_of_samples(read.samples), _faults(read))


def _outcomes(read: OutcomeFile) -> Read:
    if not read.items:
        raise DataError(f"{read.path}: no entry could be read", hint="see what is wrong with its first line")
    return Read(table_of_items(read.items), _faults(read))


def _faults(read: OutcomeFile | SampleFile) -> tuple[str, ...]:
    if not read.faults:
        return ()
    shown = "; ".join(f"{fault.where}: {fault.message}" for fault in read.faults[:FAULTS_SHOWN])
    more = f"; and {len(read.faults) - FAULTS_SHOWN} more" if len(read.faults) > FAULTS_SHOWN else ""
    return (f"{Path(read.path).name}: {len(read.faults)} entries with faults: {shown}{more}",)


def _head(path: Path) -> str:
    """Return the beginning of a text file; '' for a packed one or one that cannot be read, whose reader says why."""
    try:
        with path.open("rb") as file:
            raw = file.read(HEAD)
    except OSError:
        return ""
    return "" if raw.startswith((b"\x1f\x8b", b"PAR1")) else raw.decode("utf-8", "replace")


def of_judges(table: VerdictTable, names: Sequence[str]) -> VerdictTable:
    """Return the rows of some judges; UsageError where one is not in the table. No names: all rows."""
    if not names:
        return table
    there = table.frame["judge"].drop_nulls().unique().sort().to_list()
    for name in names:
        if name not in there:
            raise UsageError(f"there are no scores of '{name}'", hint=f"judges: {', '.join(there) or 'none'}")
    return VerdictTable(table.frame.filter(table.frame["judge"].is_in(list(names))))


def examine_halo(read: Read, options: HaloOptions) -> Audited:
    """Audit every judge of the table. Raises DataError as the audit does."""
    outcomes = halo.outcomes(read.table)
    if not read.table.frame["value"].is_not_null().any():
        silent = replace(outcomes, flags=(NOBODY_JUDGED, *outcomes.flags))
        return Audited(_examination([silent], [], read), None)
    judged = answers_of(read.table, options)
    identities = [_identity(one) for one in judged]
    findings = [
        finding
        for answers, identity in zip(judged, identities, strict=True)
        for finding in _findings(answers, identity, options)
    ]
    beside = _side_by_side(findings, identities)
    return Audited(_examination([*findings, *beside, outcomes], identities, read), _next(judged[0], options))


NOBODY_JUDGED = "there are no scores: nothing is said about a judge; give recorded verdicts with --scores"


def _identity(answers: Answers) -> Identity:
    return Identity(f"{answers.judge} (recorded)", {"backend": "recorded", "judge": answers.judge})


def _findings(answers: Answers, identity: Identity, options: HaloOptions) -> list[Finding]:
    ruled = conclude(
        halo.measured(answers, options),
        judge=identity.fingerprint,
        family="spreads between systems of this table",
        kind=FindingKind.AUDIT,
    )
    described = [replace(one, judge=identity.fingerprint) for one in halo.described(answers, options)]
    return [*ruled, *described]


def _side_by_side(findings: Sequence[Finding], judges: Sequence[Identity]) -> list[Finding]:
    """Return the judges of one table beside one another; nothing where there is one."""
    if len(judges) < 2:
        return []
    rows: list[list[Cell]] = []
    for judge in judges:
        own = [one for one in findings if one.judge == judge.fingerprint]
        spread = next(one for one in own if one.name == "zero_pass" and one.subject == "judge")
        limit = next(one for one in own if one.name == "resolution").estimate or Estimate(None)
        best = next(one for one in own if one.name == "best_of_n").estimate or Estimate(None)
        deviation, gap = spread.estimate or Estimate(None), spread.control or Estimate(None)
        rows.append(
            [
                *(judge.name, spread.ruling.value if spread.ruling else ""),
                *(deviation.value, deviation.low, deviation.high, sum(deviation.missing.values())),
                *(gap.value, limit.value, limit.low, limit.high, best.value),
            ]
        )
    leaking = sum(row[1] == Ruling.LEAKS.value for row in rows)
    return [
        Finding(
            id="halo_judges/all",
            kind=FindingKind.AUDIT,
            name="halo_judges",
            subject=f"{len(judges)} judges",
            judge="",
            sentence=f"{len(judges)} judges of the same answers: the scores of {leaking} follow who wrote what passes nothing.",
            blocks=(
                TableBlock(
                    title="Judges side by side",
                    columns=(
                        *("judge", "ruling", "deviation where nothing passes", "low", "high", "missing"),
                        *("gap between passing and failing", "resolution limit, share of success"),
                        *("limit, low", "limit, high", "gain of best of N"),
                    ),
                    rows=rows,
                    note="Each on the answers that it scored, brought to 0 to 1 from its own scale.",
                ),
            ),
        )
    ]


def _examination(findings: Sequence[Finding], judges: Sequence[Identity], read: Read) -> Examination:
    frame = read.table.frame
    missing = int(frame["value"].null_count()) if judges else 0
    scored, unnamed = frame.height - missing, frame["judge"].null_count()
    notes = [
        f"{scored:,} scores of {counted(len(judges), 'judge')}; {missing:,} answers have none."
        if judges
        else NOBODY_JUDGED,
        "Nobody was asked: scores and outcomes are as the files hold them.",
        *([f"{unnamed:,} answers name no judge and have no score: left out."] if judges and unnamed else []),
        *read.notes,
    ]
    return Examination(
        title="Do the scores follow who wrote it?",
        judges=list(judges),
        findings=list(findings),
        account=Account(),
        notes=notes,
    )


def _next(answers: Answers, options: HaloOptions) -> "pl.DataFrame | None":
    if answers.scored["known"].all():
        return None
    return to_execute(answers, options)
