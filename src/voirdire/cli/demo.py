"""Examine the embedded judge on shipped items and audit recorded verdicts: one page, no key, no network."""

from __future__ import annotations

from typing import Annotated

import typer

from voirdire.cli._main import FINE
from voirdire.cli._options import (
    DEFAULT_LEDGER,
    DEFAULT_OUT,
    DEFAULT_TIMEOUT,
    AsJson,
    DryRun,
    LedgerFile,
    MaxCalls,
    Out,
    Timeout,
)
from voirdire.cli._run import Settings, session

SPECIMEN = "local:smollm2-135m"


def command(
    full: Annotated[
        bool,
        typer.Option("--full", help="Use all shipped items instead of a slice; takes a quarter of an hour."),
    ] = False,
    out: Out = DEFAULT_OUT,
    ledger: LedgerFile = DEFAULT_LEDGER,
    max_calls: MaxCalls = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Show what an examination finds, on a small model that ships with it.

    Asks the embedded judge about pairs in both orders and about runs that differ only in luck, audits recorded
    verdicts of hosted judges, and writes one page. The embedded judge is a specimen: it is meant to fail.
    """
    from voirdire.judges.planted import planted_judge
    from voirdire.studies import demo

    settings = Settings(
        out=out,
        ledger=ledger,
        max_calls=max_calls,
        concurrency=1,
        timeout=timeout,
        dry_run=dry_run,
        as_json=as_json,
    )
    parts = demo.parts_of(demo.full() if full else demo.QUICK)
    with session(settings) as run:
        judge = run.open(SPECIMEN, lambda _: demo.first_asking())
        if not run.proceed(demo.plan_demo(judge, parts)):
            return FINE
        run.say("The judge is a small model that ships with voirdire. It is a specimen and meant to fail.")
        return run.finish(run.wait(demo.examine_demo(judge, parts, run.asker, planted=planted_judge)))
