"""One probe on one judge for a test suite: examined from synchronous code, and what of it fails a test."""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from voirdire import plugins
from voirdire.engine.ask import Asker
from voirdire.engine.budget import Budget
from voirdire.engine.forms import asking_in_form, default_form
from voirdire.engine.ledger import Ledger
from voirdire.engine.measure import JUDGE
from voirdire.engine.pace import AdaptivePace
from voirdire.engine.progress import NoProgress
from voirdire.errors import UsageError
from voirdire.importers import rules
from voirdire.judges import open_judge, read_spec
from voirdire.judges.planted import planted_judge
from voirdire.lines import CASES_FOR_GENERAL
from voirdire.model import Examination, Item, Judge, Probe, Ruling
from voirdire.studies.check import items_of, shipped_items
from voirdire.studies.screen import examine_probes

Result = TypeVar("Result")


@dataclass(frozen=True)
class Limits:
    """How a test asks. None: the probe's own repeats, no limit."""

    ledger: Path
    repeats: int | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = 32


def examine_for_test(
    probe: str | Probe, judge: str | Judge, items: Sequence[Item] | str | Path | None, limits: Limits
) -> Examination:
    """Run the probe to its end, also where an event loop is running; a judge that is opened here is closed again.

    Raises UsageError where there is no such probe or nothing to ask about, and as `run_probe` does.
    """
    chosen, found = _material(probe, items)

    async def work() -> Examination:
        opened = _opened(judge, chosen) if isinstance(judge, str) else judge
        try:
            with Ledger(limits.ledger) as ledger:
                return await examine_probes(
                    opened,
                    [chosen],
                    found,
                    _asker(ledger, limits),
                    planted=planted_judge,
                    repeats=limits.repeats,
                )
        finally:
            if isinstance(judge, str):
                await opened.close()

    made = datetime.now(UTC).isoformat(timespec="seconds")
    return replace(_run(work()), made=made, version=version("voirdire"))


def failures(examination: Examination, *, permitted: bool) -> list[str]:
    """Return why a test fails, one sentence a finding; [] where it passes."""
    account = examination.account
    if account.partial is not None:
        return [f"the run is incomplete: {account.partial}; the ledger keeps what was answered"]
    passing = {Ruling.HOLDS, *((Ruling.PERMITTED,) if permitted else ())}
    general = [one for one in examination.findings if one.subject == JUDGE]
    cases = [one for one in examination.findings if one.subject != JUDGE]
    enough = not cases or len(cases) >= CASES_FOR_GENERAL
    bad = [one for one in general if enough and one.ruling not in passing]
    harmless = passing | ({Ruling.UNRESOLVED} if enough else set())
    bad += [one for one in cases if one.ruling not in harmless]
    return [" ".join(part for part in (one.sentence, one.settles) if part) for one in bad]


def _material(probe: str | Probe, items: Sequence[Item] | str | Path | None) -> tuple[Probe, list[Item]]:
    """Return the probe and what it is run on."""
    if isinstance(probe, str) and probe.endswith(".toml"):
        own, chosen = rules.read_rule(Path(probe))
        return chosen, list(own) if items is None else _items(items)
    chosen = plugins.load("probes", probe).PROBE if isinstance(probe, str) else probe
    found = shipped_items(chosen.name) if items is None else _items(items)
    if not found:
        raise UsageError(
            f"there are no items for the probe '{chosen.name}'",
            hint="give items, or the file that holds them",
        )
    return chosen, found


def _items(items: Sequence[Item] | str | Path) -> list[Item]:
    return items_of([str(items)]) if isinstance(items, str | Path) else list(items)


def _opened(judge: str, probe: Probe) -> Judge:
    spec = read_spec(judge)
    asking = asking_in_form(probe.messages, probe.questions, default_form(spec.backend))
    opened: Judge = open_judge(spec, asking)
    return opened


def _asker(ledger: Ledger, limits: Limits) -> Asker:
    return Asker(
        ledger=ledger,
        pace=AdaptivePace(concurrency=limits.concurrency),
        budget=Budget(max_calls=limits.max_calls, max_cost=limits.max_cost),
        progress=NoProgress(),
    )


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run asynchronous work to its end: in this thread, or in one of its own where a loop is running in this one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    results: list[Result] = []
    errors: list[BaseException] = []

    def apart() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=apart, name="voirdire-judge-holds")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
