"""Show whether a rubric judge tells right patches from patches that do nothing of the task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from voirdire.cli._main import FINE
from voirdire.cli._mined import taken
from voirdire.cli._options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_LEDGER,
    DEFAULT_OUT,
    DEFAULT_SEED,
    DEFAULT_TIMEOUT,
    AsJson,
    Concurrency,
    DryRun,
    FormName,
    LedgerFile,
    MaxCalls,
    MaxCost,
    Out,
    Seed,
    Timeout,
)
from voirdire.cli._rubric import ChecklistsFile, JudgeAddress, Methods, OutcomesFile, Repo
from voirdire.cli._run import Settings, session
from voirdire.errors import UsageError


def command(
    tasks: Annotated[Path, typer.Argument(metavar="TASKS", help="What `voirdire mine` wrote.")],
    judge: JudgeAddress,
    attempts: Annotated[
        Path | None,
        typer.Argument(metavar="ATTEMPTS", help="What `voirdire mine run` wrote; with --outcomes."),
    ] = None,
    by: Methods = None,
    checklists: ChecklistsFile = None,
    outcomes: OutcomesFile = None,
    repo: Repo = Path(),
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="This many tasks at most.")
    ] = None,
    form: FormName = None,
    seed: Seed = DEFAULT_SEED,
    out: Out = DEFAULT_OUT,
    ledger: LedgerFile = DEFAULT_LEDGER,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    timeout: Timeout = DEFAULT_TIMEOUT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Ask a rubric judge about patches whose worth is known, and rule on whether it can be trusted.

    Of each task: what was merged must score high; no change, a change that does nothing and what was merged for another
    task low; the same patch twice the same. With attempts and what came of their tests: what passes above what fails,
    and the mean of what fails along with the solve rate. Writes report.html and findings.json.
    """
    from voirdire.cli._rubric import attempts_of, panel_of
    from voirdire.judges.planted import planted_judge
    from voirdire.mining.git import mirror_of
    from voirdire.studies.validity import examine_validity, plan_validity, prepare

    if (attempts is None) != (outcomes is None):
        raise UsageError(
            "attempts and their outcomes belong together",
            hint="name both, ATTEMPTS and --outcomes FILE, or neither",
        )
    settings = Settings(
        out=out,
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
        chosen = taken(tasks, limit)
        with mirror_of(repo) as mirror:
            some = limit is not None
            made = attempts_of(attempts, chosen, outcomes, mirror, some=some) if attempts is not None else []
            suite = prepare(chosen, mirror, made)
        if not run.proceed(plan_validity(panel, suite)):
            return FINE
        work = examine_validity(panel, suite, run.asker, planted=planted_judge, seed=seed)
        return run.finish(run.wait(work))
