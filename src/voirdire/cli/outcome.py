"""Run the outcome study: is a decision scored by its luck?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from voirdire.cli._main import FINE
from voirdire.cli._options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_LEDGER,
    DEFAULT_OUT,
    DEFAULT_TIMEOUT,
    AsJson,
    Concurrency,
    DryRun,
    FormName,
    JudgeName,
    LedgerFile,
    MaxCalls,
    MaxCost,
    Out,
    Repeats,
    Timeout,
)
from voirdire.cli._run import Settings, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.model import Asking, Item


def command(
    judge: JudgeName,
    cases: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CASES", help="Case files or names of shipped cases; without any, the eight short ones."
        ),
    ] = None,
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judge", metavar="JUDGE", help="A further judge on the same cases; repeat for several."
        ),
    ] = None,
    inside: Annotated[
        bool, typer.Option("--inside", help="Also with the outcome inside the log instead of after it.")
    ] = False,
    awareness: Annotated[
        bool,
        typer.Option(
            "--awareness", help="Also ask, in a separate call, whether the prompt looks like a test."
        ),
    ] = False,
    committed: Annotated[
        bool, typer.Option("--commit", help="Also score first, reveal the outcome, and ask again.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="All three of them.")] = False,
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
    """Show a judge two runs alike but for what happened afterwards, and see whether the decision's score moves.

    Each version is asked ten times. The judge is first asked its own rule, planted judges run before anything is
    asked, and a control in which the agent acts differently shows that the judge is awake.
    """
    from voirdire.judges.planted import planted_judge
    from voirdire.studies.outcome import OutcomeOptions, examine_outcome, plan_outcome

    options = OutcomeOptions(
        repeats=repeats,
        inside=inside or everything,
        awareness=awareness or everything,
        committed=committed or everything,
    )
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
    items = _items(cases or [])
    with session(settings) as run:
        opened = [run.open(name, lambda backend: _asking(form, backend)) for name in [judge, *(judges or [])]]
        if not run.proceed([call for one in opened for call in plan_outcome(one, items, options)]):
            return FINE
        return run.finish(run.wait(examine_outcome(opened, items, run.asker, options, planted=planted_judge)))


def _items(names: Sequence[str]) -> list[Item]:
    from voirdire.importers.cases import read_case, short_cases

    return [read_case(name).item() for name in names or short_cases()]


def _asking(form: str | None, backend: str) -> Asking:
    from voirdire.engine.forms import Form, asking_in_form, default_form
    from voirdire.probes.outcome import PROBE

    return asking_in_form(PROBE.messages, PROBE.questions, Form(form) if form else default_form(backend))
