"""Run the outcome study: is a decision scored by its luck?"""

from __future__ import annotations

from pathlib import Path
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
from voirdire.cli._screen import asking_of, kind_of, screen

if TYPE_CHECKING:
    from collections.abc import Sequence


def command(
    judge: JudgeName,
    cases: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CASES", help="Case files or names of shipped cases; without any, the twelve short ones."
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
    window: Annotated[
        bool, typer.Option("--window", help="Show each log through the window that its case declares.")
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
    rule = _rule_file(cases or [])
    if rule is not None:
        from voirdire.importers.rules import read_rule

        items, probe = read_rule(rule)
        return screen(settings, judge, items, [probe], form)
    from voirdire.judges.planted import planted_judge
    from voirdire.probes.outcome import PROBE
    from voirdire.studies._cases import read_cases
    from voirdire.studies.outcome import OutcomeOptions, examine_outcome, plan_outcome

    material = read_cases(cases or [], windowed=None if window else ())
    options = OutcomeOptions(
        repeats=repeats,
        inside=inside or everything,
        awareness=awareness or everything,
        committed=committed or everything,
        rule=material.rule,
        notes=material.notes,
    )
    with session(settings) as run:
        opened = [
            run.open(name, lambda backend: asking_of(PROBE, form, backend))
            for name in [judge, *(judges or [])]
        ]
        if not run.proceed([call for one in opened for call in plan_outcome(one, material.items, options)]):
            return FINE
        work = examine_outcome(opened, material.items, run.asker, options, planted=planted_judge)
        return run.finish(run.wait(work))


def _rule_file(names: Sequence[str]) -> Path | None:
    """Return the rule file where one is named; UsageError where it does not go alone, or what is named is no case."""
    from voirdire.errors import UsageError

    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"the case '{twice}' is named twice", hint="name each case once")
    kinds = {path: kind_of(path) for path in map(Path, names) if path.is_file()}
    rules = [path for path, kind in kinds.items() if kind == "rule file"]
    if rules and len(names) > 1:
        raise UsageError(
            f"'{rules[0]}' is a rule file, a probe of its own, and goes alone",
            hint="run it without further files, and the cases without it",
        )
    for path, kind in kinds.items():
        if kind not in ("case file", "rule file"):
            raise UsageError(
                f"'{path}' is {_named(kind)}; this command takes cases "
                '(TOML with schema = "voirdire.case/1", or names of shipped ones) or one rule file',
                hint=_INSTEAD[kind].format(path=path),
            )
    return rules[0] if rules else None


def _named(kind: str) -> str:
    return f"an {kind}" if kind.startswith("i") else f"a {kind}" if kind else "no case file"


_INSTEAD = {
    "item file": "items are examined by `voirdire probe JUDGE {path}`",
    "judge file": "the judge stands first, a further one behind --judge",
    "": "`voirdire init` writes case.toml, a whole case with comments",
}
