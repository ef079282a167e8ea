"""Let a model explore a repository and write a checklist of each task, or check one that was written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire.cli._main import FINE, INCOMPLETE
from voirdire.cli._mined import CHECKLISTS, some, taken, write_rows
from voirdire.cli._options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_LEDGER,
    DEFAULT_TIMEOUT,
    AsJson,
    Concurrency,
    DryRun,
    LedgerFile,
    MaxCalls,
    MaxCost,
    Timeout,
)
from voirdire.cli._run import Settings, session
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from voirdire.cli._run import Session
    from voirdire.mining.checklists import Generator
    from voirdire.mining.exploration import Limits
    from voirdire.mining.tasks import MinedTask
    from voirdire.studies.checklists import Assignment, Explored


def command(
    tasks: Annotated[Path, typer.Argument(metavar="TASKS", help="What `voirdire mine` wrote.")],
    explorer: Annotated[
        str | None,
        typer.Option(
            "--explorer", metavar="JUDGE", help="The model that writes: an address or a judge file."
        ),
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option(
            "--given", metavar="FILE", help="A checklist file to be checked instead; nobody is asked."
        ),
    ] = None,
    repo: Annotated[
        Path,
        typer.Option(
            "--repo",
            metavar="REPO",
            help="Where the tasks come from; default: this folder.",
            show_default=False,
        ),
    ] = Path(),
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write; beside it, every step as FILE.steps.jsonl."
        ),
    ] = CHECKLISTS,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="This many tasks at most.")
    ] = None,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", min=1, help="Steps that look, for one checklist.")
    ] = 16,
    kilobytes: Annotated[
        int, typer.Option("--shown", metavar="KB", min=1, help="What an explorer is shown of the repository.")
    ] = 80,
    tokens: Annotated[
        int, typer.Option("--tokens", metavar="N", min=1, help="Tokens in and out, over all its answers.")
    ] = 250_000,
    tries: Annotated[
        int, typer.Option("--tries", metavar="N", min=1, help="Explorations of a task; more after a refusal.")
    ] = 1,
    ledger: LedgerFile = DEFAULT_LEDGER,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    timeout: Timeout = DEFAULT_TIMEOUT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Write for each task what a right patch must do, what must not change, and what is out of scope.

    The explorer sees the repository at the commit before, file by file, through three tools that only look: list,
    read, search. Each item must quote lines that stand there. A checklist of an explorer that leaves the repository, goes
    over its budget, or quotes what does not stand there is refused: the task then has none, with the reason.
    """
    from voirdire.mining.exploration import Limits
    from voirdire.mining.git import mirror_of
    from voirdire.studies.checklists import assignments

    if (explorer is None) == (given is None):
        raise UsageError(
            "who writes the checklists?",
            hint="--explorer JUDGE lets a model write; --given FILE checks a file",
        )
    settings = Settings(
        out=out.absolute().parent,
        ledger=ledger,
        max_calls=max_calls,
        max_cost=max_cost,
        concurrency=concurrency,
        timeout=timeout,
        dry_run=dry_run,
        as_json=as_json,
    )
    chosen: list[MinedTask] = taken(tasks, limit)
    with mirror_of(repo) as mirror, session(settings) as run:
        works = assignments(chosen, mirror)
        if given is not None:
            return _checked(given, works, out, run)
        assert explorer is not None
        limits = Limits(steps=steps, bytes=kilobytes * 1_000, tokens=tokens)
        return _explored(explorer, works, limits, tries, out, run)


def _checked(given: Path, works: list[Assignment], out: Path, run: Session) -> int:
    from voirdire.mining.checklists import read_checklists, write_checklists
    from voirdire.studies.checklists import check_given

    file = read_checklists(given)
    check_given(file, works)
    run.say(
        f"{some(len(file.written), 'checklist')} for {some(len(works), 'task')}: every quoted line stands there"
    )
    if not run.settings.dry_run and out.absolute() != given.absolute():
        write_checklists(out, file.generator, file.checklists.values())
        run.say(f"checklists: {out}")
    if run.settings.as_json:
        print(json.dumps({"out": str(out), "tasks": len(works), "written": len(file.written)}))
    return FINE


def _explored(
    address: str, works: list[Assignment], limits: Limits, tries: int, out: Path, run: Session
) -> int:
    from voirdire.mining.checklists import write_checklists
    from voirdire.studies._checklist_prompts import asking_at
    from voirdire.studies.checklists import Explorer, explore, generator_of, known, planned

    judge = run.open(address, lambda _: asking_at(0))
    explorer = Explorer(judge, limits, tries)
    courses = run.runner.run(known(explorer, works, run.asker))
    calls = planned(explorer, courses)
    run.say(
        f"{some(len(works), 'task')}; for each at most {some(limits.steps, 'step')} that look, "
        f"{limits.bytes:,} bytes shown, {limits.tokens:,} tokens, {explorer.tries} tr{'y' if explorer.tries == 1 else 'ies'}"
    )
    if not run.proceed(calls):
        return FINE
    explored = run.wait(explore(explorer, courses, run.asker))
    run.asker.spare(calls, because="explorers ended before their last step")
    generator = generator_of(judge, limits, explorer.tries)
    write_checklists(out, generator, explored.checklists)
    record = out.with_name(f"{out.name.removesuffix('.jsonl')}.steps.jsonl")
    write_rows(record, explored.steps)
    return _told(explored, generator, (out, record), run)


def _told(explored: Explored, generator: Generator, files: tuple[Path, Path], run: Session) -> int:
    out, record = files
    tasks = len(explored.checklists) + explored.unfinished
    run.say(f"{some(explored.written, 'checklist')} for {some(tasks, 'task')} by {generator.name}")
    for why, count in explored.refusals.items():
        run.say(f"  refused, {why}: {count:,}")
    for one in explored.checklists:
        if one.missing_because is not None:
            run.say(f"  {one.task}: {one.missing_because}")
    run.say(f"checklists: {out}")
    run.say(f"every step: {record}")
    account = run.asker.account
    if explored.unfinished:
        run.say(
            f"{some(explored.unfinished, 'task')} not finished: {account.partial}; the same command goes on"
        )
    if run.settings.as_json:
        print(
            json.dumps(
                {
                    "out": str(out),
                    "tasks": tasks,
                    "written": explored.written,
                    "refused": dict(explored.refusals),
                    "unfinished": explored.unfinished,
                    "generator": generator.fingerprint,
                    "asked": account.asked,
                    "cached": account.cached,
                }
            )
        )
    return FINE if explored.written and not explored.unfinished else INCOMPLETE
