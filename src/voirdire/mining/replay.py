"""Runs harnesses on tasks: plans what is missing, makes each attempt, hands over each result as it comes."""

import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError

from voirdire.errors import UsageError
from voirdire.mining.attempts import Attempt, AttemptStatus, Done, key_of
from voirdire.mining.git import GitFailed, Mirror
from voirdire.mining.harness import Ended, Harness, Report, read_report, run_harness
from voirdire.mining.tasks import MinedTask
from voirdire.mining.workspace import TooLarge, Workspace


@dataclass(frozen=True)
class Limits:
    """What one attempt may take. `seconds`: of time; `size`: bytes of the change; `history`: commits it sees, 0: all."""

    seconds: float = 1_800.0
    size: int = 1_000_000
    history: int = 50


@dataclass(frozen=True)
class Work:
    """What an attempt needs of a task: its id, where it begins and what is asked."""

    id: str
    base: str
    brief: str


@dataclass(frozen=True)
class Assignment:
    """One attempt to be made."""

    work: Work
    harness: Harness
    sample: int

    @property
    def key(self) -> str:
        """What the attempt will be joined by."""
        return key_of(self.work.id, self.harness.name, self.sample)


@dataclass(frozen=True)
class Plan:
    """What will be run: the attempts that are missing, of how many in all."""

    missing: tuple[Assignment, ...]
    tasks: int
    total: int


def plan(tasks: Iterable[MinedTask], harnesses: Sequence[Harness], *, samples: int, done: Done) -> Plan:
    """Return the attempts that are not in the journal, task by task.

    Raises UsageError where a harness's name stands in the journal with another command.
    """
    for harness in harnesses:
        before = done.commands.get(harness.name)
        if before is not None and before != harness.words:
            raise UsageError(
                f"harness '{harness.name}' was run with another command: {' '.join(before)}",
                hint="give this one another name, or choose another file with --out",
            )
    works = [Work(task.id, task.base, task.brief) for task in tasks]
    every = [
        Assignment(work, harness, sample)
        for work in works
        for harness in harnesses
        for sample in range(samples)
    ]
    return Plan(tuple(one for one in every if one.key not in done.keys), len(works), len(every))


def check_bases(mirror: Mirror, plan: Plan) -> None:
    """Raise UsageError where the repository lacks a commit that an attempt would begin at."""
    bases = sorted({one.work.base for one in plan.missing})
    told = mirror.git(
        "cat-file", "--batch-check=%(objecttype)", given="".join(f"{base}\n" for base in bases).encode()
    )
    lacking = [
        base
        for base, kind in zip(bases, told.decode("ascii", "replace").splitlines(), strict=True)
        if kind != "commit"
    ]
    if lacking:
        raise UsageError(
            f"{mirror.source}: {len(lacking):,} of {len(bases):,} commits to begin at are not there, such as {lacking[0]}",
            hint="name the repository that the tasks were mined from with --repo",
        )


@dataclass(frozen=True)
class Runner:
    """Makes attempts. `environment`: the user's, for the harness; `now`: the time as a text; `stop`: set to end."""

    mirror: Mirror
    limits: Limits
    environment: Mapping[str, str]
    now: Callable[[], str]
    stop: threading.Event

    def run(self, assignments: Sequence[Assignment], *, workers: int) -> Iterator[Attempt]:
        """Yield each attempt as it ends, in any order; none after `stop` is set."""
        waiting = iter(assignments)
        with ThreadPoolExecutor(workers, thread_name_prefix="attempt") as pool:
            running: set[Future[Attempt | None]] = set()
            try:
                while True:
                    while len(running) < workers and not self.stop.is_set():
                        following = next(waiting, None)
                        if following is None:
                            break
                        running.add(pool.submit(self.attempt, following))
                    if not running:
                        return
                    ended, running = wait(running, return_when=FIRST_COMPLETED)
                    for one in ended:
                        attempt = one.result()
                        if attempt is not None:
                            yield attempt
            finally:
                self.stop.set()

    def attempt(self, assignment: Assignment) -> Attempt | None:
        """Make one attempt in a folder of its own; None where it was stopped on the way."""
        began = self.now()
        with (
            tempfile.TemporaryDirectory(prefix="voirdire-task-", ignore_cleanup_errors=True) as outer,
            tempfile.TemporaryDirectory(
                prefix="private-", dir=self.mirror.folder.parent, ignore_cleanup_errors=True
            ) as inner,
        ):
            place = Path(outer).resolve()
            space = Workspace(self.mirror, assignment.work.base, place / "tree", Path(inner) / "store")
            try:
                space.make(history=self.limits.history)
                return self._attempt(assignment, space, place, began)
            except (GitFailed, OSError, SubprocessError) as error:
                return _broken(assignment, began, _reason(error))
            finally:
                space.remove()

    def _attempt(self, assignment: Assignment, space: Workspace, place: Path, began: str) -> Attempt | None:
        exchange = place / "exchange"
        exchange.mkdir()
        brief, result = exchange / "brief.md", exchange / "result.json"
        brief.write_text(assignment.work.brief + "\n", encoding="utf-8", newline="\n")
        ended = run_harness(
            assignment.harness,
            tree=space.tree,
            brief=brief,
            result=result,
            environment=self.environment,
            seconds=self.limits.seconds,
            stop=self.stop,
        )
        if ended.stopped:
            return None
        report = read_report(result)
        try:
            captured = space.capture(largest=self.limits.size)
        except TooLarge as large:
            return _made(assignment, began, ended, report, too_large=large.size)
        return _made(
            assignment,
            began,
            ended,
            report,
            diff=captured.diff,
            encoding=captured.encoding,
            not_captured=captured.not_captured,
        )


def _made(
    assignment: Assignment,
    began: str,
    ended: Ended,
    report: Report,
    *,
    too_large: int | None = None,
    diff: str = "",
    encoding: str = "utf-8",
    not_captured: Mapping[str, str] | None = None,
) -> Attempt:
    harness = assignment.harness
    return Attempt(
        task=assignment.work.id,
        base=assignment.work.base,
        harness=harness.name,
        sample=assignment.sample,
        command=harness.words,
        model=report.model if report.model is not None else harness.model,
        cost=report.cost if report.cost is not None else harness.cost,
        input_tokens=report.input_tokens,
        output_tokens=report.output_tokens,
        began=began,
        seconds=round(ended.seconds, 3),
        status=AttemptStatus.TOO_LARGE if too_large is not None else _status(ended),
        exit_code=ended.exit_code,
        diff=diff,
        encoding=encoding,
        diff_bytes=too_large if too_large is not None else len(diff.encode(encoding)),
        not_captured=not_captured or {},
        report_fault=report.fault,
        output=ended.output,
    )


def _status(ended: Ended) -> AttemptStatus:
    if ended.timed_out:
        return AttemptStatus.TIMEOUT
    return AttemptStatus.FINISHED if ended.exit_code == 0 else AttemptStatus.FAILED


def _broken(assignment: Assignment, began: str, reason: str) -> Attempt:
    nothing = Ended(exit_code=None, seconds=0.0, output="", timed_out=False)
    made = _made(assignment, began, nothing, Report())
    return Attempt(**{**vars(made), "status": AttemptStatus.INFRASTRUCTURE, "fault": reason, "cost": None})


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{(error.strerror or str(error)).lower()}: {os.fspath(error.filename or '')!r}"
    return str(error)
