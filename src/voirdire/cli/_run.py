"""What every judging command does: open the judge, say what it will take, ask, write the page, return the code.

with session(settings) as run:
    judge = run.open(text)
    if not run.proceed(calls):
        return FINE
    return run.finish(run.wait(examine(judge, run.asker)))
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import textwrap
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from voirdire.cli._main import COLUMNS, FINE, INCOMPLETE, harmless
from voirdire.cli._options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_LEDGER,
    DEFAULT_OUT,
    DEFAULT_SEED,
    DEFAULT_TIMEOUT,
)
from voirdire.cli._progress import duration, progress_on
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from voirdire.engine.ask import Asker
    from voirdire.engine.plan import Call, Forecast
    from voirdire.model import Account, Asking, Cost, Examination, Finding, Judge

Result = TypeVar("Result")


def clock() -> datetime:
    """Return the time now: the one place that looks at a clock for what is written."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Settings:
    """What the shared options say. `repeats`, `max_calls`, `max_cost` None: the probe's own number, no limit."""

    out: Path = DEFAULT_OUT
    ledger: Path = DEFAULT_LEDGER
    repeats: int | None = None
    seed: int = DEFAULT_SEED
    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    timeout: float = DEFAULT_TIMEOUT
    dry_run: bool = False
    as_json: bool = False


@dataclass
class Session:
    """One command's run: an asker with its ledger, and one event loop for all that is awaited."""

    settings: Settings
    asker: Asker
    runner: asyncio.Runner
    opened: list[Judge] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)

    def open(self, text: str, asking: Callable[[str], Asking] | None = None) -> Judge:
        """Open the judge that an address or a judge file names; closed when the session ends.

        `asking` gives, for a backend's name, what a judge without a prompt of its own is asked.
        """
        from voirdire.cli._cache import with_models_folder
        from voirdire.judges import open_judge, read_spec

        spec = with_models_folder(read_spec(text))
        judge: Judge = open_judge(spec, asking(spec.backend) if asking else None)
        self.opened.append(judge)
        self.addresses.append(text)
        return judge

    def proceed(self, calls: Sequence[Call]) -> bool:
        """Print what the calls will take and make the folder of the results; False where `--dry-run` ends the command here."""
        forecast = self.asker.forecast(calls)
        self.asker.foresee(forecast)
        if self.settings.dry_run and self.settings.as_json:
            print(json.dumps(asdict(forecast)))
        else:
            self.say(forecast_text(forecast))
        if not self.settings.dry_run:
            _made(self.settings.out)
        return not self.settings.dry_run

    def wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run asynchronous work to its end; all batches of calls that it asks are shown as one run."""
        with self.asker.watched():
            return self.runner.run(work)

    def say(self, text: str) -> None:
        """Print for a person: on standard output, which `--json` keeps for JSON alone."""
        print(harmless(text), file=sys.stderr if self.settings.as_json else sys.stdout, flush=True)

    def finish(self, examination: Examination) -> int:
        """Write findings.json and the page, print what was found, return the exit code."""
        from voirdire.report.findings_file import to_text

        examination, page = self.write(examination)
        if self.settings.as_json:
            print(to_text(examination).rstrip("\n"))
        self.say(found_text(examination, judges=self.addresses))
        self.say(f"report: {page}")
        return FINE if examination.account.partial is None else INCOMPLETE

    def write(self, examination: Examination) -> tuple[Examination, Path]:
        """Write findings.json and the page; return the examination with its date, and the page's path."""
        from voirdire.report.write import write

        whole = dated(examination)
        with self.asker.busy("drawing the page"):
            return whole, write(whole, self.settings.out)


@contextmanager
def session(settings: Settings) -> Iterator[Session]:
    """Open the ledger and an asker; at the end close every judge that was opened, whatever happened.

    Raises UsageError, before anything is asked, where the page could not be written.
    """
    _refuse_unwritable(settings.out)
    from voirdire.engine.ask import Asker
    from voirdire.engine.budget import Budget
    from voirdire.engine.ledger import Ledger
    from voirdire.engine.pace import AdaptivePace

    with Ledger(settings.ledger) as ledger, asyncio.Runner() as runner:
        asker = Asker(
            ledger=ledger,
            pace=AdaptivePace(concurrency=settings.concurrency, timeout=settings.timeout),
            budget=Budget(max_calls=settings.max_calls, max_cost=settings.max_cost),
            progress=progress_on(sys.stderr),
        )
        running = Session(settings=settings, asker=asker, runner=runner)
        try:
            yield running
        finally:
            runner.run(_close(running.opened))


def _refuse_unwritable(out: Path) -> None:
    """Raise UsageError where `out` is no folder and cannot become one, or cannot be written into."""
    there = next(path for path in (out, *out.resolve().parents) if path.exists())
    if not there.is_dir():
        raise UsageError(
            f"--out {out}: '{there}' is a file, not a folder", hint="name another folder with --out"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(
            f"--out {out}: the folder '{there}' cannot be written into",
            hint="name another folder with --out, or make this one writable",
        )


def _made(out: Path) -> None:
    """Make the folder of the results before anything is paid for; UsageError where it cannot be."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--out {out}: the folder cannot be made: {(error.strerror or str(error)).lower()}",
            hint="name another folder with --out",
        ) from None


async def _close(judges: Sequence[Judge]) -> None:
    for judge in judges:
        await judge.close()


# --- what is said -----------------------------------------------------------------------------------


def forecast_text(forecast: Forecast) -> str:
    """Return what a batch will take: calls, tokens, money and time, each with its worst case or what is not known."""
    known = f", {forecast.cached:,} of them in the ledger already" if forecast.cached else ""
    long = f", {forecast.too_long:,} too long to be sent" if forecast.too_long else ""
    lines = [f"plan: {_calls(forecast.calls)}{known}{long}, {forecast.to_ask:,} to ask"]
    if forecast.to_ask and (forecast.worst.input_tokens or forecast.worst.output_tokens):
        lines.append(f"      {_tokens(forecast.expected, forecast.worst)}")
    if forecast.to_ask:
        lines.append(f"      {_money(forecast.expected, forecast.worst)}; {_time(forecast.seconds)}")
    return "\n".join(lines)


def found_text(examination: Examination, *, judges: Sequence[str] = ()) -> str:
    """Return every finding's ruling and sentence, then what is incomplete. `judges`: as the command line names them."""
    from voirdire.report.missing import missing_answers

    lines = [_found_line(finding) for finding in examination.findings]
    account = examination.account
    if account.partial is None and missing_answers(account):
        lines.append(textwrap.fill(_missing(account), COLUMNS, subsequent_indent="  "))
    if account.partial is not None:
        said = f"partial: {account.partial.rstrip('.')}."
        if account.asked + account.cached > account.failed:
            said += " What came in is kept"
            said += (
                ", and is not asked for again."
                if account.read == 0
                else "; the same command goes on from there."
            )
        lines.append(textwrap.fill(said, COLUMNS, subsequent_indent="  "))
        if account.read == 0:
            lines.append(
                f"  hint: `voirdire doctor {judges[0] if judges else 'JUDGE'}` shows what it answers"
            )
    return "\n".join(lines)


def _missing(account: Account) -> str:
    from voirdire.report.missing import missing_answers

    reasons = sorted(account.unreadable.items(), key=lambda pair: (-pair[1], pair[0]))
    reasons += [("the call failed for good", account.failed)] if account.failed else []
    said = ", ".join(f"{harmless(reason)} ({n:,})" for reason, n in reasons)
    return f"missing: {missing_answers(account):,} of {account.planned:,} answers: {said}"


def dated(examination: Examination) -> Examination:
    """Return the examination with the time at which it was finished, in UTC, and the version that made it."""
    from importlib.metadata import version

    now = clock().astimezone(UTC).isoformat(timespec="seconds")
    return replace(examination, made=now, version=version("voirdire"))


def _found_line(finding: Finding) -> str:
    ruling = finding.ruling.value if finding.ruling else ""
    lead = f"{ruling:<11} "
    indent = " " * len(lead)
    return "\n".join(textwrap.wrap(finding.sentence, COLUMNS, initial_indent=lead, subsequent_indent=indent))


def _calls(n: int) -> str:
    return f"{n:,} call" if n == 1 else f"{n:,} calls"


def _tokens(expected: Cost, worst: Cost) -> str:
    usual = f"about {expected.input_tokens:,} tokens in and {expected.output_tokens:,} out"
    return f"{usual}, at worst {worst.input_tokens:,} and {worst.output_tokens:,}"


def _money(expected: Cost, worst: Cost) -> str:
    if worst.money is None:
        return "no price known"
    if worst.money == 0:
        return "free"
    usual = worst.money if expected.money is None else expected.money
    return f"about {_dollars(usual)}, at worst {_dollars(worst.money)}"


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.1 else f"${amount:.2g}"


def _time(seconds: float | None) -> str:
    return "time not known before the first answers" if seconds is None else f"about {duration(seconds)}"
