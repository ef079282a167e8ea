"""Audit scores against executed tests: does the judge follow who wrote an answer where nothing works?"""

from __future__ import annotations

import sys
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire.cli._main import FINE, harmless
from voirdire.cli._options import DEFAULT_OUT, DEFAULT_SEED, AsJson, Out, Seed
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from voirdire.model import Examination
    from voirdire.studies.halo import Audited


def command(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE",
            help="Answers with system, task, score and outcome: .jsonl, .csv, .parquet; or SWE-bench predictions.",
        ),
    ],
    scores: Annotated[
        list[str] | None,
        typer.Option("--scores", metavar="[JUDGE=]FILE", help="Recorded scores to join; repeat for several."),
    ] = None,
    judges: Annotated[
        list[str] | None,
        typer.Option("--judge", "-j", metavar="NAME", help="Only this judge's scores; repeat for several."),
    ] = None,
    scale: Annotated[
        list[str] | None,
        typer.Option(
            "--scale",
            metavar="[JUDGE=]LOW,HIGH",
            help="Ends of the scale, of all judges or of one; default: 0,1.",
        ),
    ] = None,
    everywhere: Annotated[
        bool,
        typer.Option(
            "--everywhere", help="Correct also pairs of systems farther apart than the resolution limit."
        ),
    ] = False,
    at_random: Annotated[
        bool,
        typer.Option(
            "--drawn-at-random",
            help="Executed answers were drawn at random, whatever their scores look like.",
        ),
    ] = False,
    execute_next: Annotated[
        int,
        typer.Option("--next", metavar="N", min=1, help="How many further answers to name for execution."),
    ] = 50,
    seed: Seed = DEFAULT_SEED,
    out: Out = DEFAULT_OUT,
    as_json: AsJson = False,
) -> int:
    """Compare solve rates with mean scores, where nothing passes above all, and correct averages by few executed tests.

    Nobody is asked. Writes report.html and findings.json, and to_execute.csv where answers are left that were not executed. A
    table's columns: system (or model and harness), task, score, judge; status or passed; f2p_passed, f2p_total, p2p_passed,
    p2p_total; code or patch; repository; label_chance. Answers and scores may come in two files.
    """
    from voirdire.audits._halo_table import HaloOptions
    from voirdire.studies.halo import Read, examine_halo, of_judges, read_tables

    every, own = _scales(scale or [])
    options = HaloOptions(
        scale=every,
        scales=own,
        everywhere=everywhere,
        labels_drawn=at_random,
        execute_next=execute_next,
        seed=seed,
    )
    _make(out)
    read = read_tables(tables, [_named_file(text) for text in scores or []])
    audited = examine_halo(Read(of_judges(read.table, judges or []), read.notes), options)
    _finish(audited, out, as_json=as_json)
    return FINE


Ends = tuple[float, float]


def _scales(texts: list[str]) -> tuple[Ends | None, dict[str, Ends]]:
    """Return the ends of the scale of all judges (None: not given), and of those that have their own."""
    every: Ends | None = None
    own: dict[str, Ends] = {}
    for text in texts:
        judge, given, ends = text.rpartition("=")
        try:
            low, high = (float(word) for word in ends.split(","))
        except ValueError:
            raise UsageError(
                f"--scale: '{text}' is no scale", hint="give its two ends, as in --scale 0,10"
            ) from None
        if given:
            own[judge] = (low, high)
        else:
            every = (low, high)
    return every, own


def _named_file(text: str) -> tuple[str, Path]:
    name, given, path = text.partition("=")
    return (name, Path(path)) if given and not Path(text).exists() else ("", Path(text))


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}", hint="name another folder with --out") from None


def _finish(audited: Audited, out: Path, *, as_json: bool) -> None:
    """Write the page, findings and what to execute next; print what was found."""
    from voirdire.cli._run import found_text
    from voirdire.report.findings_file import to_text
    from voirdire.report.write import write

    examination = _dated(audited.examination)
    page = write(examination, out)
    if as_json:
        print(to_text(examination).rstrip("\n"))
    stream = sys.stderr if as_json else sys.stdout
    print(harmless(found_text(examination)), file=stream)
    if audited.next is not None:
        audited.next.write_csv(out / "to_execute.csv")
        print(f"to execute next: {out / 'to_execute.csv'}", file=stream)
    print(f"report: {page}", file=stream, flush=True)


def _dated(examination: Examination) -> Examination:
    from dataclasses import replace
    from importlib.metadata import version

    from voirdire.cli._run import clock

    now = clock().astimezone(UTC).isoformat(timespec="seconds")
    return replace(examination, made=now, version=version("voirdire"))
