"""Run coding harnesses on tasks from a git history, and keep what each of them changes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire.cli._main import FINE, INCOMPLETE
from voirdire.cli._mined import ATTEMPTS, Shown, by_count, either, some
from voirdire.cli._options import AsJson
from voirdire.cli._progress import duration, progress_on
from voirdire.cli._run import clock
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from voirdire.mining.attempts import Attempt
    from voirdire.mining.replay import Limits, Plan, Runner


def command(
    tasks: Annotated[Path, typer.Argument(metavar="TASKS", help="What `voirdire mine` wrote.")],
    harness: Annotated[
        list[str] | None,
        typer.Option(
            "--harness",
            metavar="NAME='COMMAND'",
            help="A command; {brief} in it is the brief's file, else the brief is its standard input.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME=MODEL", help="The model that a harness uses."),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option("--cost", metavar="NAME=USD", help="What one task costs a harness."),
    ] = None,
    repo: Annotated[
        Path | None,
        typer.Option("--repo", metavar="REPO", help="Where the tasks come from; default: this folder."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", min=0.1, help="For one attempt; default 1,800."),
    ] = None,
    size_limit: Annotated[
        int | None,
        typer.Option("--size-limit", metavar="KB", min=1, help="For what it changes; default 1,000."),
    ] = None,
    history: Annotated[
        int | None,
        typer.Option(
            "--history",
            metavar="N",
            min=0,
            help="Commits that a harness sees; default 50, 0: all there are.",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples", metavar="N", min=1, help="Attempts of each harness at each task; default 1."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, help="Attempts at once; default 1.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="File to write."),
    ] = ATTEMPTS,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="This many tasks at most, as the file has them."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be run, and run nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Give each task to each harness, in a work tree at the commit before without any later history.

    Writes what each changed; the same command goes on where it was stopped. Nothing in the repository is obeyed: no
    hook, setting, filter or attribute. A harness is your own command, and runs as you.
    """
    running: Mapping[str, Any] = {
        "--harness": harness,
        "--model": model,
        "--cost": cost,
        "--repo": repo,
        "--time-limit": time_limit,
        "--size-limit": size_limit,
        "--history": history,
        "--samples": samples,
        "--workers": workers,
    }
    return _run(tasks, running, out, limit, Shown(dry_run=dry_run, as_json=as_json))


def _run(tasks: Path, given: Mapping[str, Any], out: Path, limit: int | None, shown: Shown) -> int:
    import threading
    from itertools import islice

    from voirdire.mining.attempts import done_in
    from voirdire.mining.git import mirror_of
    from voirdire.mining.harness import harness_of, with_models
    from voirdire.mining.replay import Runner, check_bases, plan
    from voirdire.mining.tasks import read_tasks

    if not given["--harness"]:
        raise UsageError("no harness was named", hint="voirdire mine run TASKS --harness NAME='COMMAND'")
    models, costs = _named(given["--model"], "--model"), _amounts(given["--cost"])
    harnesses = with_models([harness_of(text) for text in given["--harness"]], models, costs)
    limits, workers = _limits(given), either(given["--workers"], 1)
    planned = plan(
        islice(read_tasks(tasks), limit), harnesses, samples=either(given["--samples"], 1), done=done_in(out)
    )
    shown.say(_plan_text(planned, limits, workers, out, len(harnesses)))
    with mirror_of(either(given["--repo"], Path())) as mirror:
        check_bases(mirror, planned)
        if shown.dry_run:
            shown.tell({"tasks": planned.tasks, "attempts": planned.total, "missing": len(planned.missing)})
            return FINE
        runner = Runner(mirror, limits, dict(os.environ), _now, threading.Event())
        finished = _attempts(runner, planned, workers, out)
    return _told_attempts(out, planned, finished, shown)


def _now() -> str:
    return clock().isoformat(timespec="seconds")


def _named(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts or ():
        name, separator, value = text.partition("=")
        if not separator or not name or not value:
            raise UsageError(f"{option} {text}: not of the form NAME=...", hint=f"{option} NAME=...")
        found[name] = value
    return found


def _amounts(texts: Sequence[str] | None) -> dict[str, float]:
    from math import isfinite

    found: dict[str, float] = {}
    for name, value in _named(texts, "--cost").items():
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = -1.0
        if not (isfinite(found[name]) and found[name] >= 0):
            raise UsageError(f"--cost {name}={value}: no amount", hint="US dollars a task, such as 0.25")
    return found


def _limits(given: Mapping[str, Any]) -> Limits:
    from voirdire.mining.replay import Limits

    default = Limits()
    size = given["--size-limit"]
    return Limits(
        seconds=either(given["--time-limit"], default.seconds),
        size=default.size if size is None else size * 1_000,
        history=either(given["--history"], default.history),
    )


def _plan_text(planned: Plan, limits: Limits, workers: int, out: Path, harnesses: int) -> str:
    missing = len(planned.missing)
    lines = [
        f"plan: {some(planned.tasks, 'task')}, {harnesses} {'harness' if harnesses == 1 else 'harnesses'}, "
        f"{some(planned.total, 'attempt')}, {planned.total - missing:,} of them in {out} already, {missing:,} to run"
    ]
    if missing:
        costs = [one.harness.cost for one in planned.missing]
        known = [cost for cost in costs if cost is not None]
        money = f"about ${sum(known):,.2f} for {some(len(known), 'attempt')}" if known else "no price known"
        lines.append(
            f"      at worst {duration(limits.seconds * -(-missing // workers))}, {workers} at once; {money}"
        )
    return "\n".join(lines)


def _attempts(runner: Runner, planned: Plan, workers: int, out: Path) -> bool:
    """Make the attempts that are missing and write each as it ends; False where Ctrl-C ended it."""
    from voirdire.mining.attempts import AttemptStatus, Journal

    progress = progress_on(sys.stderr)
    progress.started(planned.total)
    progress.advanced(cached=planned.total - len(planned.missing))
    try:
        with Journal(out) as journal:
            for attempt in runner.run(planned.missing, workers=workers):
                journal.add(attempt)
                broken = attempt.status is AttemptStatus.INFRASTRUCTURE
                progress.advanced(answered=not broken, failed=broken, money=attempt.cost)
    except KeyboardInterrupt:
        runner.stop.set()
        return False
    finally:
        progress.finished()
    return True


def _told_attempts(out: Path, planned: Plan, finished: bool, shown: Shown) -> int:
    from voirdire.mining.attempts import read_attempts

    by_harness: dict[str, _Tally] = {}
    for attempt in read_attempts(out):
        by_harness.setdefault(attempt.harness, _Tally()).add(attempt)
    for name, tally in by_harness.items():
        shown.say(f"{name}: {tally.text()}")
    shown.say(f"attempts: {out}")
    if not finished:
        print("stopped by Ctrl-C or SIGTERM; the same command goes on from there", file=sys.stderr)
    broken = sum(tally.statuses["infrastructure"] for tally in by_harness.values())
    if broken:
        shown.say(f"{some(broken, 'attempt')} broken on our side; the same command tries again")
    harnesses = {name: tally.data() for name, tally in by_harness.items()}
    shown.tell({"out": str(out), "finished": finished, "attempts": planned.total, "harnesses": harnesses})
    return FINE if finished and not broken else INCOMPLETE


@dataclass
class _Tally:
    """What came of one harness's attempts."""

    statuses: Counter[str] = field(default_factory=Counter)
    empty: int = 0
    costs: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, attempt: Attempt) -> None:
        """Count one attempt."""
        self.statuses[attempt.status.value] += 1
        self.empty += not attempt.diff_bytes
        self.seconds.append(attempt.seconds)
        if attempt.cost is not None:
            self.costs.append(attempt.cost)

    def text(self) -> str:
        """Return it as a person reads it."""
        said = ", ".join(f"{count:,} {status}" for status, count in by_count(self.statuses))
        money = f"; ${sum(self.costs):,.2f} for {len(self.costs):,}" if self.costs else ""
        return f"{said}; {self.empty:,} changed nothing; {duration(median(self.seconds))} each{money}"

    def data(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "statuses": dict(by_count(self.statuses)),
            "changed_nothing": self.empty,
            "cost": sum(self.costs) if self.costs else None,
            "cost_known": len(self.costs),
            "seconds": sum(self.seconds),
        }
