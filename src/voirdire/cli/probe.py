"""Run probes on a judge: change one part of each item and see whether the verdict moves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
from voirdire.cli._run import Settings
from voirdire.cli._screen import kind_of, screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.model import Item, Probe


def command(
    judge: JudgeName,
    items: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="ITEMS", help="Item files or rule files; without any, shipped pairs are used."
        ),
    ] = None,
    probe: Annotated[
        list[str] | None,
        typer.Option(
            "--probe", "-p", metavar="NAME", help="Which probe; repeat for several. Default: all that fit."
        ),
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", metavar="N", min=1, help="Use only the first N items.")
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
    """Change one part of each item and see whether the judge's verdict moves.

    Planted judges with known faults run first; if one of them is misread, nothing is asked. The answers are kept in
    the ledger, so a run that was stopped goes on where it stopped.
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
    asked, probes = _material(items or [], probe or [], n)
    return screen(settings, judge, asked, probes, form)


def _material(files: Sequence[Path], names: Sequence[str], n: int | None) -> tuple[list[Item], list[Probe]]:
    """Return the items and the probes: a rule file brings its own probe, items take the probes that fit."""
    from voirdire.errors import UsageError
    from voirdire.importers.items import read_items
    from voirdire.importers.rules import read_rule
    from voirdire.studies._material import llmbar_pairs
    from voirdire.studies.screen import probes_named

    for path in files:
        _refuse_other_files(path)
    rules = [path for path in files if path.suffix == ".toml"]
    if rules:
        if len(files) > 1 or names:
            raise UsageError(
                f"a rule file is a probe of its own, so '{rules[0]}' goes alone",
                hint="run the rule file without further files and without --probe",
            )
        items, probe = read_rule(rules[0])
        return list(items)[:n], [probe]
    found = [item for path in files for item in read_items(path)] if files else llmbar_pairs(100, seed=0)
    return found[:n], probes_named(names, found[:n])


_INSTEAD = {
    "case file": "cases are examined by `voirdire outcome JUDGE {path}`",
    "judge file": "the judge stands first: `voirdire probe {path} ITEMS`",
    "": "`voirdire init` writes items.jsonl and rule.toml",
}


def _refuse_other_files(path: Path) -> None:
    """Raise UsageError for a TOML file that is no rule file: this command reads items and rules."""
    from voirdire.errors import UsageError

    kind = kind_of(path)
    if path.suffix != ".toml" or not path.is_file() or kind not in _INSTEAD:
        return
    raise UsageError(
        f"'{path}' is {f'a {kind}' if kind else 'no rule file'}; this command takes item files (JSON lines) or "
        'one rule file (TOML with schema = "voirdire.rule/1")',
        hint=_INSTEAD[kind].format(path=path),
    )
