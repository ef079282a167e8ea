"""Make tasks from a git history, for coding harnesses to be run on."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire.cli._main import FINE, INCOMPLETE
from voirdire.cli._mined import TASKS, Shown, by_count, either, some
from voirdire.cli._options import AsJson
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from voirdire.mining.choice import Choice
    from voirdire.mining.history import LeftOut
    from voirdire.mining.tasks import MinedTask

PREVIEWED = 10
SECONDS_BETWEEN_LINES = 5.0


class TaskUnit(StrEnum):
    """What one task is made of, as on the command line."""

    COMMITS = "commits"
    MERGES = "merges"
    MAINLINE = "mainline"


def command(
    repo: Annotated[Path, typer.Argument(metavar="REPO", help="A git repository to make tasks from.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write; default: tasks.jsonl."),
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Make tasks from a git history: message as brief, diff as reference, tests apart, secrets taken out.

    Writes one task for each commit that fits and says why others do not. Nothing in the repository is obeyed: no hook,
    setting, filter or attribute. Then: `voirdire mine run` gives the tasks to coding harnesses, `voirdire mine
    checklists` lets a model write a checklist of each, `voirdire mine score` judges what the harnesses made, and
    `voirdire mine validity` shows whether that judge can be trusted.
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
    return _mine(repo, mining, out or TASKS, limit, Shown(dry_run=dry_run, as_json=as_json))


def _mine(source: Path, given: Mapping[str, Any], out: Path, limit: int | None, shown: Shown) -> int:
    from voirdire.mining.git import mirror_of
    from voirdire.mining.history import count_commits

    choice = _choice(given, limit)
    _check_name(given["--name"])
    with mirror_of(source) as mirror:
        head = mirror.commit(either(given["--rev"], "HEAD"))
        after = mirror.commit(given["--after"]) if given["--after"] else None
        total = count_commits(mirror, head, after, choice)
        shown.say(
            f"plan: {some(total, 'commit')} of {source}, from {head[:12]} back{f' to {after[:12]}' if after else ''}"
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
        shortest=either(given["--min-message"], default.shortest),
        longest=either(given["--max-message"], default.longest),
        files=either(given["--max-files"], default.files),
        fewest=either(given["--min-lines"], default.fewest),
        lines=either(given["--max-lines"], default.lines),
        size=either(given["--max-bytes"], default.size),
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
            self.say(f"{self.looked:,} of {some(self.total, 'commit')}, {some(self.kept, 'task')}")

    def text(self) -> str:
        """Return the tables: tasks, what was left out and why, what was taken out."""
        lines = [
            f"{some(self.kept, 'task')} from {some(self.looked, 'commit')}, {self.tested:,} of them with tests"
        ]
        if self.rows:
            width = max(len(row[0]) for row in self.rows)
            lines.append(f"  {'task':<{width}}  files  added  removed  tests  brief")
            lines += [_task_row(row, width) for row in self.rows]
            more = self.kept - len(self.rows)
            lines += [f"  and {more:,} more"] if more else []
        if self.reasons:
            lines.append(f"left out, of {some(self.looked, 'commit')}")
            lines += [f"  {count:>6,}  {_explained(reason)}" for reason, count in by_count(self.reasons)]
        for what, removed in (("briefs", self.briefs), ("diffs", self.diffs)):
            if removed:
                said = ", ".join(f"{count:,} {kind}" for kind, count in by_count(removed))
                lines.append(f"taken out of {what}: {said}")
        if self.unfitting:
            lines.append(
                f"{some(self.unfitting, 'task')} with a diff that no longer applies, because a line of the base was changed"
            )
        return "\n".join(lines)

    def data(self) -> dict[str, object]:
        """Return the same as plain data."""
        return {
            "commits": self.looked,
            "tasks": self.kept,
            "with_tests": self.tested,
            "left_out": dict(by_count(self.reasons)),
            "removed": {"briefs": dict(by_count(self.briefs)), "diffs": dict(by_count(self.diffs))},
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


def _task_row(row: tuple[str, int, int, int, int, str], width: int) -> str:
    name, files, added, removed, tests, brief = row
    line = f"  {name:<{width}}  {files:>5}  {added:>5}  {removed:>7}  {tests:>5}  "
    room = max(20, 78 - len(line))
    return line + (brief if len(brief) <= room else f"{brief[: room - 1]}…")
