"""Anchor sets asked again over time: read from tables, or from the findings of several runs of one examination."""

from collections.abc import Sequence
from pathlib import Path

from voirdire.audits.drift import Drift, drifts, finding_of
from voirdire.errors import DataError
from voirdire.importers import anchors
from voirdire.model import Account, Examination, VerdictTable
from voirdire.studies.check import read_examination


def read_drifts(paths: Sequence[Path]) -> tuple[Drift, ...]:
    """Return the charts of all tables, and of all findings files together; raises as their readers and the audit do."""
    files = [path for path in paths if path.suffix == ".json" or path.is_dir()]
    tables = [anchors.read_verdicts(path) for path in paths if path not in files]
    if files:
        tables.append(table_of_runs([read_examination(path) for path in files]))
    return tuple(one for table in tables for one in drifts(table))


def table_of_runs(runs: Sequence[Examination]) -> VerdictTable:
    """Return each finding's value by item or case, one run per examination, in the order in which they were made.

    A judge is told by its fingerprint: one that was changed on purpose is another judge. Raises DataError where an
    examination says nothing of when it was made, two were made at the same time, or no finding has values by item.
    """
    import polars as pl

    times = [run.made for run in runs]
    if not all(times) or len(set(times)) < len(times):
        raise DataError(
            "the examinations do not all say when they were made, or two were made at the same time",
            hint="give each run's own findings.json once",
        )
    rows = [
        (item, run.made, value, finding.judge, finding.name)
        for run in sorted(runs, key=lambda one: one.made)
        for finding in run.findings
        if finding.estimate is not None
        for item, value in finding.estimate.by_unit.items()
    ]
    if not rows:
        raise DataError(
            "the examinations hold no values by item", hint="examine the judge again with this release"
        )
    names = {judge.fingerprint: judge.name for run in runs for judge in run.judges}
    frame = pl.DataFrame(
        rows,
        schema={
            "item": pl.String,
            "time": pl.String,
            "value": pl.Float64,
            "judge": pl.String,
            "question": pl.String,
        },
        orient="row",
    )
    called = pl.col("judge").replace_strict(
        {mark: f"{name} ({mark[:12]})" for mark, name in names.items()}, default=pl.col("judge")
    )
    return VerdictTable(frame.with_columns(called))


def drift_page(found: Sequence[Drift]) -> Examination:
    """Return the charts as a page's content."""
    return Examination(
        title="Do the scores of the anchors stay where they were?",
        judges=(),
        findings=[finding_of(one) for one in found],
        account=Account(),
        notes=("Nobody was asked: the scores are as the files hold them.",),
    )
