"""Verify what a judge's backend can do, by really asking it."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

from voirdire.cli._main import COLUMNS, FINE, INCOMPLETE, harmless
from voirdire.cli._options import DEFAULT_TIMEOUT, AsJson, DryRun, JudgeName, Timeout
from voirdire.cli._progress import progress_on
from voirdire.cli._run import forecast_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.studies.doctor import Capability, Diagnosis, Plan, Unread

CONCURRENCY = 4
ATTEMPTS = 3
SHOWN_RAW = 300


def command(
    judge: JudgeName, timeout: Timeout = DEFAULT_TIMEOUT, dry_run: DryRun = False, as_json: AsJson = False
) -> int:
    """Verify what a judge's backend can do, by really asking it.

    Servers ignore settings without a word, so nothing is believed: the schema names a field that the prompt does not,
    seeds are asked twice. A judge file's own prompt is tried on placeholder texts. Answers are asked afresh and not
    kept. The exit code is 0 where at least one answer could be read, 3 where none could.
    """
    from voirdire.cli._cache import with_models_folder
    from voirdire.judges import read_spec
    from voirdire.studies.doctor import plan_trial

    spec = with_models_folder(read_spec(judge))
    with asyncio.Runner() as runner:
        plan = runner.run(plan_trial(spec))
        try:
            _announce(plan, as_json=as_json, dry_run=dry_run)
            if dry_run:
                return FINE
            found = runner.run(_diagnosed(plan, timeout))
        finally:
            runner.run(plan.backend.close())
    print(json.dumps(asdict(found), indent=2) if as_json else harmless(told(found)))
    return FINE if found.readable else INCOMPLETE


async def _diagnosed(plan: Plan, timeout: float) -> Diagnosis:
    from voirdire.engine.pace import AdaptivePace
    from voirdire.studies.doctor import diagnose

    pace = AdaptivePace(concurrency=CONCURRENCY, timeout=timeout, attempts=ATTEMPTS)
    return await diagnose(plan, pace, progress_on(sys.stderr))


def _announce(plan: Plan, *, as_json: bool, dry_run: bool) -> None:
    if dry_run and as_json:
        print(json.dumps(asdict(plan.forecast)))
    else:
        print(forecast_text(plan.forecast), file=sys.stderr if as_json else sys.stdout, flush=True)


def told(found: Diagnosis) -> str:
    """Return the table, the answers that could not be read, and what to do."""
    unread = ["", "not read:", *map(_unread, found.unread)] if found.unread else []
    closing = [textwrap.fill(sentence, COLUMNS, subsequent_indent="  ") for sentence in found.closing]
    return "\n".join(["", _table(found.capabilities), *unread, "", *closing])


def _table(capabilities: Sequence[Capability]) -> str:
    width = max(len(capability.name) for capability in capabilities)
    return "\n".join(_row(capability, width) for capability in capabilities)


def _row(capability: Capability, width: int) -> str:
    lead = f"{capability.name:<{width}}  {capability.state.value:<7}  "
    lines = textwrap.wrap(
        capability.shown,
        COLUMNS,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def _unread(unread: Unread) -> str:
    """Return one answer on one line: what a judge says may not pass for what we say."""
    raw = unread.raw if len(unread.raw) <= SHOWN_RAW else f"{unread.raw[:SHOWN_RAW]}..."
    lead = f"  {unread.asked_for}: "
    said = json.dumps(raw, ensure_ascii=False) if raw else f"no text ({unread.reason})"
    return "\n".join(textwrap.wrap(lead + said, COLUMNS, subsequent_indent="    ", break_on_hyphens=False))
