"""Scores real programs with any judge, from 0 to 1, as a file that `voirdire halo --scores` takes.

    python -m tools.halo_specimen FOLDER [--judge local:smollm2-135m | --length] [--tasks 60] [--failed] [--out scores.jsonl]

FOLDER holds `ldb_reflexion.jsonl.gz` (programs of six models in seven harnesses with their results) and the problem files of
HumanEval and MBPP. `--tasks N` draws N tasks by the seed, `--failed` asks about programs that fail alone: where nothing
passes is where a halo shows. `--length` asks nobody: a score that reads nothing but how long a program is. Answers go to a ledger, so that a stopped run goes on; then

    voirdire halo FOLDER/ldb_reflexion.jsonl.gz --scores NAME=scores.jsonl --out DIR
"""

import argparse
import json
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from voirdire.cli._run import Settings, session
from voirdire.engine.forms import asking_in_form, default_form
from voirdire.engine.plan import Call
from voirdire.importers import human_eval, mbpp
from voirdire.importers.verdict_tables import read_verdicts
from voirdire.model import Asking, CodeTask, Item, Message, Verdict
from voirdire.questions import Score

PROGRAMS = "ldb_reflexion.jsonl.gz"
HIGHEST = 10
TYPICAL_LENGTH = 800
"""Characters at which a score by length reaches 0.63."""

MESSAGES = (
    Message(
        "user",
        "A programming task:\n\n{{task}}\n\nA program written for it:\n\n{{response}}\n\n"
        "Judge how much of what the task asks for the program does. Nothing else counts.",
    ),
)
QUESTION = Score(
    "done",
    "How much of the task does the program do, from 0 (nothing) to 10 (all of it)?",
    low=0,
    high=HIGHEST,
)


def asking(backend: str) -> Asking:
    """Return what the judge is asked, in the form that suits it."""
    return asking_in_form(MESSAGES, (QUESTION,), default_form(backend))


def tasks_of(folder: Path) -> dict[str, CodeTask]:
    """Return the problems of both sets by id."""
    read = [
        *human_eval.read_tasks(folder / "humaneval_problems.jsonl"),
        *mbpp.read_tasks(folder / "mbpp_problems.jsonl"),
    ]
    return {task.id: task for task in read}


def programs(folder: Path, *, tasks: int | None, failed: bool, seed: int) -> pl.DataFrame:
    """Return the programs to be asked about, one row each."""
    frame = read_verdicts(folder / PROGRAMS).frame
    if failed:
        frame = frame.filter(~pl.col("truth_passed"))
    names = sorted(frame["task"].unique().to_list())
    drawn = random.Random(seed).sample(names, min(tasks, len(names))) if tasks else names
    return frame.filter(pl.col("task").is_in(drawn))


def items_of(frame: pl.DataFrame, tasks: dict[str, CodeTask]) -> list[Item]:
    """Return each program with its task's text; who wrote it is nowhere in it."""
    return [
        Item(f"program-{number}", {"task": tasks[task].prompt, "response": text})
        for number, (task, text) in enumerate(frame.select("task", "text").iter_rows())
    ]


def row_of(
    system: str, task: str, sample: int, score: float | None, missing: str | None = None
) -> dict[str, object]:
    """Return one line of the file."""
    return {"system": system, "task": task, "sample": sample, "score": score, "missing_because": missing}


def score_row(system: str, task: str, sample: int, verdict: Verdict) -> dict[str, object]:
    """Return a verdict's line: a score from 0 to 1, or why there is none."""
    value = verdict.value
    if isinstance(value, int | float):
        return row_of(system, task, sample, value / HIGHEST)
    return row_of(system, task, sample, None, verdict.missing_because)


def answers(frame: pl.DataFrame, given: argparse.Namespace) -> list[Verdict] | None:
    """Return the judge's verdict on every program; None where only the plan was asked for."""
    items = items_of(frame, tasks_of(given.folder))
    with session(Settings(ledger=given.ledger, dry_run=given.dry_run)) as running:
        judge = running.open(given.judge, asking)
        calls = [Call(judge, judge.render(item)) for item in items]
        if not running.proceed(calls):
            return None
        return [verdicts[0] for verdicts in running.wait(running.asker.ask(calls))]


def length_score(text: str) -> float:
    """Return 0 for an empty program, and nearer to 1 the longer it is."""
    return round(1 - math.exp(-len(text) / TYPICAL_LENGTH), 6)


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask about every program and write the scores."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--judge", default="local:smollm2-135m")
    parser.add_argument("--length", action="store_true")
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--failed", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("scores.jsonl"))
    parser.add_argument("--ledger", type=Path, default=Path(".voirdire/ledger.sqlite"))
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args(arguments)
    frame = programs(given.folder, tasks=given.tasks, failed=given.failed, seed=given.seed)
    who = frame.select("system", "task", "sample").iter_rows()
    if given.length:
        rows = [
            row_of(system, task, sample, length_score(text))
            for (system, task, sample), text in zip(who, frame["text"], strict=True)
        ]
    else:
        asked = answers(frame, given)
        if asked is None:
            return 0
        rows = [
            score_row(system, task, sample, answer)
            for (system, task, sample), answer in zip(who, asked, strict=True)
        ]
    lines = [json.dumps(row) for row in rows]
    given.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(lines):,} programs: {given.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
