"""Compare a judge with its baseline, or watch anchors for drift; the exit code is for CI."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire.cli._main import FINE, GATE_FAILED, INCOMPLETE, harmless
from voirdire.cli._options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_LEDGER,
    DEFAULT_OUT,
    DEFAULT_TIMEOUT,
    AsJson,
    Concurrency,
    DryRun,
    FormName,
    LedgerFile,
    MaxCalls,
    MaxCost,
    Out,
    Repeats,
    Timeout,
)
from voirdire.cli._run import Settings, dated, session
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire.cli._options import Form
    from voirdire.cli._run import Session
    from voirdire.model import Asking, Judge
    from voirdire.report.baseline_file import Baseline
    from voirdire.studies.check import Gate


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BASELINE JUDGE FILES",
            help="What `voirdire baseline` wrote; the judge in use; then its new findings.json (or folder), or the items "
            "to ask about again. Items that ship need no naming; with findings the judge may be left out.",
        ),
    ] = None,
    identity: Annotated[
        bool, typer.Option("--identity", help="Only compare who scores with the baseline; ask nobody.")
    ] = False,
    anchors: Annotated[
        list[Path] | None,
        typer.Option(
            "--anchors",
            metavar="FILE",
            help="Scores of anchors over time (columns item, value, time or run), or findings.json of several runs; "
            "repeat for several.",
        ),
    ] = None,
    form: FormName = None,
    repeats: Repeats = None,
    out: Out = DEFAULT_OUT,
    ledger: LedgerFile = DEFAULT_LEDGER,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    timeout: Timeout = DEFAULT_TIMEOUT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Compare a judge with its baseline, finding by finding on the same items, and watch anchors for drift.

    With a judge alone the baseline's probes and items are asked again through the ledger. A scorer that changed and was
    not examined again fails, and so does a finding that got worse beyond noise. Writes junit.xml, summary.md and
    check.json. The exit code is 0 for passed, 1 for failed, 3 for incomplete: never passed.
    """
    settings = Settings(
        out=out,
        ledger=ledger,
        repeats=repeats,
        max_calls=max_calls,
        max_cost=max_cost,
        concurrency=concurrency,
        timeout=timeout,
        dry_run=dry_run,
        as_json=as_json,
    )
    if not words and not anchors:
        raise UsageError(
            "nothing to check", hint="`voirdire check BASELINE JUDGE`, or `voirdire check --anchors FILE`"
        )
    gate = _against_baseline(words, settings, form, identity=identity) if words else None
    if gate is None and words:
        return FINE
    return _finish(_with_anchors(gate, anchors or [], out), settings)


def _against_baseline(
    words: Sequence[str], settings: Settings, form: Form | None, *, identity: bool
) -> Gate | None:
    """Return what the check found; None where `--dry-run` ends it."""
    from voirdire.report.baseline_file import read_baseline
    from voirdire.studies.check import check_examination, check_identity, read_examination

    baseline = read_baseline(Path(words[0]))
    findings = [Path(word) for word in words[1:] if _holds_findings(Path(word))]
    judge, *files = [word for word in words[1:] if Path(word) not in findings] or [""]
    if len(findings) > 1 or not (judge or findings) or (findings and identity):
        raise UsageError(
            f"there {'is 1 findings file' if len(findings) == 1 else f'are {len(findings)} findings files'} and "
            f"{'a' if judge else 'no'} judge to compare with the baseline",
            hint="give one findings.json, or a judge to be asked again, or a judge with --identity",
        )
    if not judge:
        return check_examination(baseline, read_examination(findings[0]))
    with session(settings) as run:
        opened = run.open(judge, _asking(baseline, files, form))
        if findings:
            return check_examination(baseline, read_examination(findings[0]), opened.identity)
        if identity:
            return check_identity(baseline, opened.identity)
        return _asked_again(run, baseline, opened, files)


def _asked_again(run: Session, baseline: Baseline, judge: Judge, files: Sequence[str]) -> Gate | None:
    from voirdire.judges.planted import planted_judge
    from voirdire.studies.check import check_examination, examine_again, plan_again, what_to_ask

    again, repeats = what_to_ask(baseline, files), run.settings.repeats
    if not run.proceed(plan_again(again, judge, repeats=repeats)):
        return None
    work = examine_again(again, judge, run.asker, planted=planted_judge, repeats=repeats)
    examination, page = run.write(run.wait(work))
    run.say(f"report: {page}")
    return check_examination(baseline, examination, judge.identity)


def _holds_findings(path: Path) -> bool:
    return path.suffix == ".json" or (path / "findings.json").is_file()


def _asking(baseline: Baseline, files: Sequence[str], form: Form | None) -> Callable[[str], Asking] | None:
    """Return what a judge without a prompt of its own is asked; None where the baseline's probe is not known here."""
    from voirdire.cli._screen import asking_of
    from voirdire.studies.check import first_probe

    probe = first_probe(baseline, files)
    return None if probe is None else lambda backend: asking_of(probe, form, backend)


def _with_anchors(gate: Gate | None, anchors: Sequence[Path], out: Path) -> Gate:
    """Add the drift charts; their page stands beside the files of the check, or is its report where nobody was asked."""
    from voirdire.studies._anchors import drift_page, read_drifts
    from voirdire.studies.check import Gate

    found = gate or Gate()
    if not anchors:
        return found
    from voirdire.report.write import write

    drifts = read_drifts(anchors)
    write(dated(drift_page(drifts)), out / "drift")
    return replace(found, drifts=drifts)


def _finish(gate: Gate, settings: Settings) -> int:
    """Write what CI reads, print what was found, return the exit code."""
    from voirdire.report.write import make_folder, write_whole
    from voirdire.studies._check_texts import junit, markdown, plain_text, to_json
    from voirdire.studies.check import Verdict

    make_folder(settings.out)
    for name, text in (
        ("junit.xml", junit(gate)),
        ("summary.md", markdown(gate)),
        ("check.json", to_json(gate)),
    ):
        write_whole(settings.out / name, text)
    if settings.as_json:
        print(to_json(gate).rstrip("\n"))
    stream = sys.stderr if settings.as_json else sys.stdout
    print(harmless(plain_text(gate)), file=stream)
    if gate.drifts:
        print(harmless(f"drift: {settings.out / 'drift' / 'report.html'}"), file=stream)
    print(harmless(f"written: {settings.out}/junit.xml, summary.md, check.json"), file=stream)
    return {Verdict.PASSED: FINE, Verdict.FAILED: GATE_FAILED, Verdict.INCOMPLETE: INCOMPLETE}[gate.verdict]
