"""Make tasks from a git history, and run coding harnesses on them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from voirdire.cli._main import FINE, INCOMPLETE, harmless
from voirdire.cli._options import AsJson
from voirdire.cli._progress import duration, progress_on
from voirdire.cli._run import clock
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from voirdire.mining.attempts import Attempt
    from voirdire.mining.choice import Choice
    from voirdire.mining.history import LeftOut
    from voirdire.mining.replay import Limits, Plan, Runner
    from voirdire.mining.tasks import MinedTask

RUN = "run"
TASKS = Path("tasks.jsonl")
ATTEMPTS = Path("attempts.jsonl")
PREVIEWED = 10
SECONDS_BETWEEN_LINES = 5.0

Value = TypeVar("Value")


class TaskUnit(StrEnum):
    """What one task is made of, as on the command line."""

    COMMITS = "commits"
    MERGES = "merges"
    MAINLINE = "mainline"


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="REPO | run TASKS",
            help="A git repository to make tasks from; or `run` and a file of tasks to run harnesses on.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write; tasks.jsonl, or attempts.jsonl."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="This many tasks at most, newest first.")
    ] = None,
    rev: Annotated[
        str | None, typer.Option("--rev", metavar="REV", help="Mine what this commit reaches; default HEAD.")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="REV", help="Mine nothing that this commit reaches.")
    ] = None,
    unit: Annotated[
        TaskUnit | None,
        typer.Option(
            "--unit",
            help="A task is a commit (default), a merge into the main line, or any step of the main line.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The repository's name in the tasks; begins their ids."),
    ] = None,
    min_message: Annotated[
        int | None,
        typer.Option("--min-message", metavar="N", min=1, help="Characters of a brief; at least 20."),
    ] = None,
    max_message: Annotated[
        int | None, typer.Option("--max-message", metavar="N", min=1, help="At most 8,000.")
    ] = None,
    max_files: Annotated[
        int | None,
        typer.Option("--max-files", metavar="N", min=1, help="Changed files outside of tests; at most 10."),
    ] = None,
    min_lines: Annotated[
        int | None,
        typer.Option("--min-lines", metavar="N", min=0, help="Changed lines outside of tests; at least 3."),
    ] = None,
    max_lines: Annotated[
        int | None, typer.Option("--max-lines", metavar="N", min=1, help="At most 400.")
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option("--max-bytes", metavar="N", min=1, help="Bytes of the diff; at most 100,000."),
    ] = None,
    with_tests: Annotated[
        bool, typer.Option("--with-tests", help="Only commits that also change tests.")
    ] = False,
    bots: Annotated[bool, typer.Option("--bots", help="Also commits that bots made.")] = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude",
            metavar="GLOB",
            help="Further files to leave out, besides lock files, vendored and generated ones.",
        ),
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--tests", metavar="GLOB", help="Further files that are tests, besides the usual names."
        ),
    ] = None,
    harness: Annotated[
        list[str] | None,
        typer.Option(
            "--harness",
            metavar="NAME='COMMAND'",
            help="run: a command; {brief} in it is the brief's file, else the brief is its standard input.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME=MODEL", help="run: the model that a harness uses."),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option("--cost", metavar="NAME=USD", help="run: what one task costs a harness."),
    ] = None,
    repo: Annotated[
        Path | None,
        typer.Option("--repo", metavar="REPO", help="run: where the tasks come from; default: this folder."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", min=0.1, help="run: for one attempt; default 1,800."),
    ] = None,
    size_limit: Annotated[
        int | None,
        typer.Option("--size-limit", metavar="KB", min=1, help="run: for what it changes; default 1,000."),
    ] = None,
    history: Annotated[
        int | None,
        typer.Option(
            "--history",
            metavar="N",
            min=0,
            help="run: commits that a harness sees; default 50, 0: all there are.",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples", metavar="N", min=1, help="run: attempts of each harness at each task; default 1."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, help="run: attempts at once; default 1.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written or run, and write and run nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Make tasks from a git history: message as brief, diff as reference, tests apart, secrets taken out.

    `voirdire mine REPO` writes one task for each commit that fits and says why others do not. `voirdire mine run
    TASKS` gives each task to each harness, in a work tree at the commit before without any later history, and
    writes what it changed; the same command goes on where it was stopped. Nothing in the repository is obeyed: no
    hook, setting, filter or attribute. A harness is your own command, and runs as you.
    """
    mining: Mapping[str, Any] = {
        "--rev": rev,
        "--after": after,
        "--unit": unit,
        "--name": name,
        "--min-message": min_message,
        "--max-message": max_message,
        "--max-files": max_files,
        "--min-lines": min_lines,
        "--max-lines": max_lines,
        "--max-bytes": max_bytes,
        "--with-tests": with_tests,
        "--bots": bots,
        "--exclude": exclude,
        "--tests": tests,
    }
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
    shown = _Shown(dry_run=dry_run, as_json=as_json)
    if words[0] == RUN:
        _refuse(mining, "belongs to `voirdire mine REPO`")
        if len(words) != 2:
            raise UsageError("which tasks?", hint="voirdire mine run TASKS --harness NAME='COMMAND'")
        return _run(Path(words[1]), running, out or ATTEMPTS, limit, shown)
    _refuse(running, "belongs to `voirdire mine run TASKS`")
    if len(words) != 1:
        raise UsageError(
            f"one repository, not {len(words)}", hint="mine one after the other; or: mine run TASKS"
        )
    return _mine(Path(words[0]), mining, out or TASKS, limit, shown)


@dataclass(frozen=True)
class _Shown:
    """How the command answers."""

    dry_run: bool
    as_json: bool

    def say(self, text: str) -> None:
        """Print for a person: on standard output, which `--json` keeps for JSON alone."""
        print(harmless(text), file=sys.stderr if self.as_json else sys.stdout, flush=True)

    def tell(self, data: Mapping[str, object]) -> None:
        """Print for a program."""
        if self.as_json:
            print(json.dumps(data))


def _some(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _refuse(options: Mapping[str, Any], why: str) -> None:
    given = next((name for name, value in options.items() if value not in (None, False, [])), None)
    if given:
        raise UsageError(f"{given} {why}", hint="`voirdire mine --help` says what belongs to which")


def _or(value: Value | None, default: Value) -> Value:
    return default if value is None else value


# --- mining ---------------------------------------------------------------------------------------------


def _mine(source: Path, given: Mapping[str, Any], out: Path, limit: int | None, shown: _Shown) -> int:
    from voirdire.mining.git import mirror_of
    from voirdire.mining.history import count_commits

    choice = _choice(given, limit)
    _check_name(given["--name"])
    with mirror_of(source) as mirror:
        head = mirror.commit(_or(given["--rev"], "HEAD"))
        after = mirror.commit(given["--after"]) if given["--after"] else None
        total = count_commits(mirror, head, after, choice)
        shown.say(
            f"plan: {_some(total, 'commit')} of {source}, from {head[:12]} back{f' to {after[:12]}' if after else ''}"
        )
        preview = _Preview(total=total, say=shown.say)
        try:
            _write_tasks(
                mirror, (head, after), choice, given["--name"], None if shown.dry_run else out, preview
            )
        except KeyboardInterrupt:
            print("stopped by Ctrl-C or SIGTERM; nothing was written", file=sys.stderr)
            return INCOMPLETE
    shown.say(preview.text())
    shown.say("dry run: nothing was written" if shown.dry_run else f"tasks: {out}")
    shown.tell({"out": None if shown.dry_run else str(out), "head": head, **preview.data()})
    return FINE


def _choice(given: Mapping[str, Any], limit: int | None) -> Choice:
    from voirdire.mining.choice import Choice, Unit

    default = Choice()
    return Choice(
        unit=Unit(given["--unit"].value) if given["--unit"] else default.unit,
        shortest=_or(given["--min-message"], default.shortest),
        longest=_or(given["--max-message"], default.longest),
        files=_or(given["--max-files"], default.files),
        fewest=_or(given["--min-lines"], default.fewest),
        lines=_or(given["--max-lines"], default.lines),
        size=_or(given["--max-bytes"], default.size),
        with_tests=given["--with-tests"],
        bots=given["--bots"],
        exclude=(*default.exclude, *(given["--exclude"] or ())),
        tests=(*default.tests, *(given["--tests"] or ())),
        limit=limit,
    )


def _check_name(name: str | None) -> None:
    if name is not None and (not name or not name.isprintable() or len(name) > 200):
        raise UsageError(f"--name {name!r} is no name", hint="one line of printable characters")


def _write_tasks(
    mirror: Any,
    walk: tuple[str, str | None],
    choice: Choice,
    name: str | None,
    out: Path | None,
    preview: _Preview,
) -> None:
    from voirdire.mining.history import LeftOut, mine, with_repository
    from voirdire.mining.tasks import Header, writing

    header = Header(walk[0], choice.unit.value)
    with writing(out, header) if out is not None else nullcontext() as writer:
        for found in mine(mirror, walk[0], choice, after=walk[1]):
            if isinstance(found, LeftOut):
                preview.leave_out(found)
            else:
                task = with_repository(found, name)
                if writer is not None:
                    writer.write(task)
                preview.keep(task)


@dataclass
class _Preview:
    """Counts of what was mined, and the first tasks."""

    total: int
    say: Any
    looked: int = 0
    kept: int = 0
    tested: int = 0
    unfitting: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    briefs: Counter[str] = field(default_factory=Counter)
    diffs: Counter[str] = field(default_factory=Counter)
    rows: list[tuple[str, int, int, int, int, str]] = field(default_factory=list)
    last: float = field(default_factory=time.monotonic)

    def leave_out(self, commit: LeftOut) -> None:
        """Count a commit that is no task."""
        self.reasons[commit.reason.value] += 1
        self._advance()

    def keep(self, task: MinedTask) -> None:
        """Count a task."""
        self.kept += 1
        self.tested += bool(task.test_patch.diff)
        self.unfitting += not (task.reference.applies and task.test_patch.applies)
        self.briefs.update(task.brief_removed)
        self.diffs.update(task.reference.removed)
        self.diffs.update(task.test_patch.removed)
        if len(self.rows) < PREVIEWED:
            plain = [file for file in task.files if not file.test]
            added, removed = sum(file.added for file in plain), sum(file.removed for file in plain)
            tests = len(task.files) - len(plain)
            self.rows.append((task.id, len(plain), added, removed, tests, task.brief.partition("\n")[0]))
        self._advance()

    def _advance(self) -> None:
        self.looked += 1
        if time.monotonic() - self.last > SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            self.say(f"{self.looked:,} of {_some(self.total, 'commit')}, {_some(self.kept, 'task')}")

    def text(self) -> str:
        """Return the tables: tasks, what was left out and why, what was taken out."""
        lines = [
            f"{_some(self.kept, 'task')} from {_some(self.looked, 'commit')}, {self.tested:,} of them with tests"
        ]
        if self.rows:
            width = max(len(row[0]) for row in self.rows)
            lines.append(f"  {'task':<{width}}  files  added  removed  tests  brief")
            lines += [_task_row(row, width) for row in self.rows]
            more = self.kept - len(self.rows)
            lines += [f"  and {more:,} more"] if more else []
        if self.reasons:
            lines.append(f"left out, of {_some(self.looked, 'commit')}")
            lines += [f"  {count:>6,}  {_explained(reason)}" for reason, count in _by_count(self.reasons)]
        for what, removed in (("briefs", self.briefs), ("diffs", self.diffs)):
            if removed:
                said = ", ".join(f"{count:,} {kind}" for kind, count in _by_count(removed))
                lines.append(f"taken out of {what}: {said}")
        if self.unfitting:
            lines.append(
                f"{_some(self.unfitting, 'task')} with a diff that no longer applies, because a line of the base was changed"
            )
        return "\n".join(lines)

    def data(self) -> dict[str, object]:
        """Return the same as plain data."""
        return {
            "commits": self.looked,
            "tasks": self.kept,
            "with_tests": self.tested,
            "left_out": dict(_by_count(self.reasons)),
            "removed": {"briefs": dict(_by_count(self.briefs)), "diffs": dict(_by_count(self.diffs))},
            "not_applying": self.unfitting,
        }


def _explained(reason: str) -> str:
    """Return a reason with the option that would let such commits in, where there is one."""
    from voirdire.mining.choice import Reason

    options = {
        Reason.BOT: "--bots",
        Reason.MESSAGE_SHORT: "--min-message",
        Reason.MESSAGE_LONG: "--max-message",
        Reason.NO_TESTS: "without --with-tests",
        Reason.FILES: "--max-files",
        Reason.FEW_LINES: "--min-lines",
        Reason.MANY_LINES: "--max-lines",
        Reason.BYTES: "--max-bytes",
    }
    option = options.get(Reason(reason))
    return f"{reason} ({option})" if option else reason


def _by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _task_row(row: tuple[str, int, int, int, int, str], width: int) -> str:
    name, files, added, removed, tests, brief = row
    line = f"  {name:<{width}}  {files:>5}  {added:>5}  {removed:>7}  {tests:>5}  "
    room = max(20, 78 - len(line))
    return line + (brief if len(brief) <= room else f"{brief[: room - 1]}…")


# --- running --------------------------------------------------------------------------------------------


def _run(tasks: Path, given: Mapping[str, Any], out: Path, limit: int | None, shown: _Shown) -> int:
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
    limits, workers = _limits(given), _or(given["--workers"], 1)
    planned = plan(
        islice(read_tasks(tasks), limit), harnesses, samples=_or(given["--samples"], 1), done=done_in(out)
    )
    shown.say(_plan_text(planned, limits, workers, out, len(harnesses)))
    with mirror_of(_or(given["--repo"], Path())) as mirror:
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
        seconds=_or(given["--time-limit"], default.seconds),
        size=default.size if size is None else size * 1_000,
        history=_or(given["--history"], default.history),
    )


def _plan_text(planned: Plan, limits: Limits, workers: int, out: Path, harnesses: int) -> str:
    missing = len(planned.missing)
    lines = [
        f"plan: {_some(planned.tasks, 'task')}, {harnesses} {'harness' if harnesses == 1 else 'harnesses'}, "
        f"{_some(planned.total, 'attempt')}, {planned.total - missing:,} of them in {out} already, {missing:,} to run"
    ]
    if missing:
        costs = [one.harness.cost for one in planned.missing]
        known = [cost for cost in costs if cost is not None]
        money = f"about ${sum(known):,.2f} for {_some(len(known), 'attempt')}" if known else "no price known"
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


def _told_attempts(out: Path, planned: Plan, finished: bool, shown: _Shown) -> int:
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
        shown.say(f"{_some(broken, 'attempt')} broken on our side; the same command tries again")
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
        said = ", ".join(f"{count:,} {status}" for status, count in _by_count(self.statuses))
        money = f"; ${sum(self.costs):,.2f} for {len(self.costs):,}" if self.costs else ""
        return f"{said}; {self.empty:,} changed nothing; {duration(median(self.seconds))} each{money}"

    def data(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "statuses": dict(_by_count(self.statuses)),
            "changed_nothing": self.empty,
            "cost": sum(self.costs) if self.costs else None,
            "cost_known": len(self.costs),
            "seconds": sum(self.seconds),
        }
