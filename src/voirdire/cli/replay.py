"""Replay judged code samples: what parses, who approves of what cannot run, Pass@k three ways."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire.cli._main import FINE
from voirdire.cli._options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_LEDGER,
    DEFAULT_OUT,
    DEFAULT_SEED,
    DEFAULT_TIMEOUT,
    AsJson,
    Concurrency,
    DryRun,
    LedgerFile,
    MaxCalls,
    MaxCost,
    Out,
    Seed,
    Timeout,
)
from voirdire.cli._run import Session, Settings, session
from voirdire.cli.execute import Isolation, Unsafe
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.languages.parsing import Parsers
    from voirdire.model import CodeTask, Judge
    from voirdire.studies._replay_run import Row
    from voirdire.studies._replay_table import Key, SampleSet, Truth
    from voirdire.studies._replay_verdicts import Recorded
    from voirdire.studies.replay import Material, Replayed, ReplayOptions


def command(
    samples: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SAMPLES",
            help="CHECKPOINT=FILE or CHECKPOINT@PASS=FILE, or FILE, whose systems are the checkpoints. The first is the base.",
        ),
    ] = None,
    tasks: Annotated[
        list[Path] | None,
        typer.Option("--tasks", "-t", metavar="FILE", help="A file of tasks; repeat for several."),
    ] = None,
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judge", "-j", metavar="JUDGE", help="A judge to ask; repeat for strong and weak side by side."
        ),
    ] = None,
    verdicts: Annotated[
        list[str] | None,
        typer.Option(
            "--verdicts", metavar="[NAME=]FILE", help="Recorded verdicts: .jsonl, .csv or .parquet."
        ),
    ] = None,
    results: Annotated[
        list[str] | None,
        typer.Option(
            "--results",
            metavar="[CHECKPOINT[@PASS]=]FILE",
            help="What `voirdire execute` wrote, for one set or for all.",
        ),
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Run the samples now, in place of --results.")] = False,
    isolation: Isolation = None,
    unsafe: Unsafe = False,
    prelude: Annotated[
        Path | None,
        typer.Option("--prelude", metavar="FILE", help="With --run: code put before every candidate."),
    ] = None,
    dose: Annotated[
        str,
        typer.Option(
            metavar="SHARES",
            help="Shares of the base's samples that get an extra bracket; 'none' for no damage.",
        ),
    ] = "0.1,0.2,0.3,0.4,0.5,0.6",
    dosed: Annotated[
        str | None,
        typer.Option("--dosed", metavar="CHECKPOINT", help="Whose samples are damaged; default: the first."),
    ] = None,
    bracket_only: Annotated[
        bool,
        typer.Option("--bracket-only", help="No other damage: no cut, deleted return or renamed function."),
    ] = False,
    prompt: Annotated[
        Path | None,
        typer.Option("--prompt", metavar="FILE", help="A prompt file in place of the one that ships."),
    ] = None,
    print_prompt: Annotated[
        bool, typer.Option("--print-prompt", help="Print the prompt that ships, to be changed, and stop.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="Only the first N samples of each task and set."),
    ] = None,
    problems: Annotated[
        int | None,
        typer.Option("--problems", metavar="N", min=1, help="Only N of the tasks, drawn by the seed."),
    ] = None,
    seed: Seed = DEFAULT_SEED,
    out: Out = DEFAULT_OUT,
    ledger: LedgerFile = DEFAULT_LEDGER,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    timeout: Timeout = DEFAULT_TIMEOUT,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Read judged samples again: by parser, by gate and by execution, and damage some to see which judge notices.

    Writes report.html, findings.json, replay.parquet (one row per sample and judge), pass_at_k.csv and differences.csv.
    A judge sees problem, gold answer and candidate and answers 1 or 0; `--print-prompt` prints what it is asked.
    """
    if print_prompt:
        from voirdire.studies._replay_judge import shipped_prompt

        print(shipped_prompt(), end="")
        return FINE
    if not samples or not tasks:
        raise UsageError(
            "a replay needs samples and their tasks",
            hint="voirdire replay base=a.jsonl trained=b.jsonl --tasks tasks.jsonl",
        )
    settings = Settings(
        out=out,
        ledger=ledger,
        seed=seed,
        max_calls=max_calls,
        max_cost=max_cost,
        concurrency=concurrency,
        timeout=timeout,
        dry_run=dry_run,
        as_json=as_json,
    )
    from voirdire.languages.parsing import Parsers
    from voirdire.studies._replay_files import read_sets, read_tasks, source_of
    from voirdire.studies.replay import examine_replay, plan_replay, prepare, sliced

    known = read_tasks(tasks)
    sets = read_sets([source_of(text) for text in samples], known)
    account = [f"{one.name}: {line}" for one in sets for line in one.account]
    recorded = _recorded(verdicts or [], sets)
    account += [line for one in recorded for line in one.account]
    known, sets = sliced(known, sets, problems=problems, limit=limit, seed=seed)
    options = _options(dose, dosed, seed, bracket_only=bracket_only)
    with session(settings) as running, Parsers() as parsers:
        for line in account:
            running.say(line)
        truth, notes = _truth(results or [], sets)
        if run and not dry_run:
            truth, notes = _run_now(running, known, sets, parsers, (isolation, unsafe, prelude))
        material = _material(known, sets, truth, recorded, notes)
        opened = [_open(running, name, prompt) for name in judges or []]
        ready = prepare(material, options, parsers=parsers)
        if not running.proceed(plan_replay(opened, ready)):
            return FINE
        replayed = running.wait(examine_replay(opened, ready, running.asker))
        code = running.finish(replayed.examination)
        _write_tables(replayed, settings.out)
        return code


def _options(dose: str, dosed: str | None, seed: int, *, bracket_only: bool) -> ReplayOptions:
    from voirdire.studies.replay import BRACKET_ALONE, ReplayOptions

    shares = () if dose.strip() in ("", "none", "0") else tuple(_share(word) for word in dose.split(","))
    chosen = ReplayOptions(doses=shares, dosed=dosed, seed=seed)
    return ReplayOptions(shares, dosed, BRACKET_ALONE, seed) if bracket_only else chosen


def _share(word: str) -> float:
    try:
        share = float(word)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise UsageError(
            f"--dose: '{word.strip()}' is no share", hint="give shares like 0.1,0.3,0.6, or 'none'"
        )
    return share


def _open(running: Session, text: str, prompt: Path | None) -> Judge:
    """Open a judge that keeps the contract: temperature 0, one character."""
    from voirdire.cli._cache import with_models_folder
    from voirdire.judges import open_judge, read_spec
    from voirdire.studies._replay_judge import contract_spec, read_prompt

    spec = contract_spec(with_models_folder(read_spec(text)))
    judge: Judge = open_judge(spec, read_prompt(prompt).asking(spec.backend))
    running.opened.append(judge)
    return judge


def _recorded(verdicts: Sequence[str], sets: Sequence[SampleSet]) -> list[Recorded]:
    from voirdire.studies._replay_verdicts import read_verdicts

    return [read_verdicts(path, judge, sets) for judge, path in map(_named_file, verdicts)]


def _material(
    tasks: Mapping[str, CodeTask],
    sets: Sequence[SampleSet],
    truth: Mapping[Key, Truth],
    recorded: Sequence[Recorded],
    notes: tuple[str, ...],
) -> Material:
    from voirdire.studies.replay import Material

    said = tuple(line for one in recorded for line in one.account)
    frames = [one.frame for one in recorded if one.frame.height]
    return Material(tasks=tasks, sets=sets, truth=truth, recorded=frames, notes=(*said, *notes))


def _truth(results: Sequence[str], sets: Sequence[SampleSet]) -> tuple[dict[Key, Truth], tuple[str, ...]]:
    from voirdire.studies._replay_files import notes_of_results, read_results

    truth: dict[Key, Truth] = {}
    notes: list[str] = []
    for text in results:
        name, path = _named_file(text)
        author, _, run = name.partition("@")
        chosen = [one for one in sets if not name or (one.author == author and run in ("", one.run))]
        if not chosen:
            known = ", ".join(one.name for one in sets)
            raise UsageError(f"--results: there are no samples of '{name}'", hint=f"checkpoints: {known}")
        found = [read_results(path, one, alone=len(chosen) == 1) for one in chosen]
        if not any(found):
            raise UsageError(
                f"--results: nothing in {path} belongs to {', '.join(one.name for one in chosen)}",
                hint="name whose results they are: --results CHECKPOINT=FILE",
            )
        for one in found:
            truth |= one
        notes += (f"{path.name}: {note}" for note in notes_of_results(path))
    return truth, tuple(notes)


def _named_file(text: str) -> tuple[str, Path]:
    name, given, path = text.partition("=")
    return (name, Path(path)) if given and not Path(text).exists() else ("", Path(text))


def _run_now(
    running: Session,
    tasks: Mapping[str, CodeTask],
    sets: Sequence[SampleSet],
    parsers: Parsers,
    how: tuple[Isolation, bool, Path | None],
) -> tuple[dict[Key, Truth], tuple[str, ...]]:
    """Run everything and return what came of it, and what the page must say of how it was run."""
    from voirdire.cli._progress import SAMPLES, progress_on
    from voirdire.execution.tasks import Isolation as Chosen
    from voirdire.studies._replay_files import read_prelude
    from voirdire.studies._replay_run import RunOptions, calibrated, run_notes, run_rows, truth_of_row

    isolation, unsafe, prelude = how
    options = RunOptions(
        isolation=Chosen(isolation.value) if isolation else None,
        unsafe=unsafe,
        prelude=read_prelude(prelude),
    )
    progress = progress_on(sys.stderr, words=SAMPLES)
    progress.doing("runs the reference solutions, three times each")
    calibration = calibrated(tasks, options, sets=sets)
    progress.doing("")
    for task, why in calibration.excluded.items():
        running.say(f"excluded: {task}: {why}")
    progress.started(sum(len(one.samples) for one in sets))
    truth: dict[Key, Truth] = {}
    rows: list[Row] = []
    for row in run_rows(sets, tasks, options, calibration=calibration, parsers=parsers):
        key, found = truth_of_row(row)
        truth[key] = found
        rows.append({name: row[name] for name in ("task_id", "passed", "proof", "isolation", "error")})
        progress.advanced(answered=1)
    progress.finished()
    return truth, run_notes(rows)


def _write_tables(replayed: Replayed, out: Path) -> None:
    from voirdire.audits.replay import curve_frame, difference_frame

    replayed.frame.write_parquet(out / "replay.parquet")
    curve_frame(replayed.counted).write_csv(out / "pass_at_k.csv")
    difference_frame(replayed.counted).write_csv(out / "differences.csv")
    if replayed.dosed is not None:
        replayed.dosed.write_parquet(out / "dose.parquet")
