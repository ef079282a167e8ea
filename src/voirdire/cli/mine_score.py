"""Judge patches by checklist, plainly, or with test output, blind to who wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire.cli._main import FINE, INCOMPLETE
from voirdire.cli._mined import some, taken, write_rows
from voirdire.cli._options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_LEDGER,
    DEFAULT_SEED,
    DEFAULT_TIMEOUT,
    AsJson,
    Concurrency,
    DryRun,
    FormName,
    LedgerFile,
    MaxCalls,
    MaxCost,
    Seed,
    Timeout,
)
from voirdire.cli._rubric import ChecklistsFile, JudgeAddress, Methods, OutcomesFile, Repo
from voirdire.cli._run import Settings, session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.cli._run import Session
    from voirdire.studies.rubric import Scored

SCORES = Path("scores.jsonl")
NAMED = 10
"""Patches that do not apply which are named; the others are counted."""


def command(
    tasks: Annotated[Path, typer.Argument(metavar="TASKS", help="What `voirdire mine` wrote.")],
    attempts: Annotated[Path, typer.Argument(metavar="ATTEMPTS", help="What `voirdire mine run` wrote.")],
    judge: JudgeAddress,
    by: Methods = None,
    checklists: ChecklistsFile = None,
    outcomes: OutcomesFile = None,
    repo: Repo = Path(),
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write; beside it, the verdict on every item of a checklist as FILE.items.jsonl.",
        ),
    ] = SCORES,
    form: FormName = None,
    seed: Seed = DEFAULT_SEED,
    ledger: LedgerFile = DEFAULT_LEDGER,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    timeout: Timeout = DEFAULT_TIMEOUT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Score every attempt from 0 to 1 and write a table that `voirdire halo` reads.

    The judge sees the brief, the patch, and the checklist or the tests' output; never model, harness or reference. The
    order of a checklist's items is shuffled by the seed. A patch that does not apply is named, with the status
    `not_applied`, and not judged; a score of which one item cannot be read is missing, with its bounds.
    """
    from voirdire.cli._rubric import attempts_of, panel_of
    from voirdire.mining.git import mirror_of
    from voirdire.studies.rubric import score

    settings = Settings(
        out=out.absolute().parent,
        ledger=ledger,
        seed=seed,
        max_calls=max_calls,
        max_cost=max_cost,
        concurrency=concurrency,
        timeout=timeout,
        dry_run=dry_run,
        as_json=as_json,
    )
    with session(settings) as run:
        panel = panel_of(run, judge, by, checklists, form=form, seed=seed)
        with mirror_of(repo) as mirror:
            judged = attempts_of(attempts, taken(tasks, None), outcomes, mirror)
        if not run.proceed(list(panel.calls(judged).values())):
            return FINE
        scored = run.wait(score(panel, judged, run.asker))
        write_rows(out, scored.rows)
        by_item = out.with_name(f"{out.name.removesuffix('.jsonl')}.items.jsonl")
        if scored.items:
            write_rows(by_item, scored.items)
        return _told(scored, out, by_item, run)


def _told(scored: Scored, out: Path, by_item: Path, run: Session) -> int:
    for name, rows in _grouped(scored.rows).items():
        run.say(f"{name}: {_summary(rows)}")
    for key, why in list(scored.not_applied.items())[:NAMED]:
        run.say(f"not_applied: {key}: {why}")
    more = len(scored.not_applied) - NAMED
    if more > 0:
        run.say(f"not_applied: {more:,} more")
    run.say(f"scores: {out}")
    if scored.items:
        run.say(f"item by item: {by_item}")
    account = run.asker.account
    if account.partial is not None:
        run.say(f"partial: {account.partial}. What came in is kept; the same command goes on from there.")
    if run.settings.as_json:
        read = sum(row["score"] is not None for row in scored.rows)
        print(
            json.dumps(
                {
                    "out": str(out),
                    "scores": read,
                    "missing": len(scored.rows) - read,
                    "not_applied": dict(scored.not_applied),
                    "partial": account.partial,
                    "asked": account.asked,
                    "cached": account.cached,
                }
            )
        )
    return FINE if account.partial is None else INCOMPLETE


def _grouped(rows: Sequence[Mapping[str, object]]) -> dict[str, list[Mapping[str, object]]]:
    groups: dict[str, list[Mapping[str, object]]] = {}
    for row in rows:
        system = "+".join(str(row[name]) for name in ("model", "harness") if row.get(name))
        groups.setdefault(f"{row['judge']}, {system}", []).append(row)
    return groups


def _summary(rows: Sequence[Mapping[str, object]]) -> str:
    values = [float(value) for row in rows if isinstance(value := row["score"], int | float)]
    missing = len(rows) - len(values)
    mean = f"mean {sum(values) / len(values):.2f} of {some(len(values), 'score')}" if values else "no score"
    return f"{mean}{f', {missing:,} missing' if missing else ''}"
