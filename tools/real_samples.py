"""Runs whole public sets of real generations and writes parse shares and Pass@k into docs/findings.md.

    python -m tools.real_samples FOLDER [--write] [--results FILE]

FOLDER holds `humaneval_problems.jsonl`, `mbpp_problems.jsonl`, `codegen16b_humaneval.jsonl.gz`, `ldb_reflexion.jsonl.gz` and
`ldb_reflexion_tests.jsonl`: HumanEval, MBPP, 16,400 samples of CodeGen-16B and 6,487 programs of 22 systems. FILE keeps the
results, so that a second call goes on where the first one stopped.
"""

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from voirdire.audits._replay_curves import pass_at_every_k
from voirdire.cli.execute import Journal
from voirdire.importers import human_eval, mbpp
from voirdire.languages.parsing import Parsers
from voirdire.model import CodeSample, CodeTask, TestStyle
from voirdire.stats.proportion import wilson
from voirdire.stats.shares import mean_share
from voirdire.studies._replay_run import Row, RunOptions, beside_note, calibrated, run_rows
from voirdire.studies._replay_table import SampleSet

ROOT = Path(__file__).parents[1]
FINDINGS = ROOT / "docs" / "findings.md"
BEGIN, END = "<!-- real samples: written by tools/real_samples.py -->", "<!-- real samples: end -->"

PRELUDE = """from typing import *
import math, re, heapq, itertools, collections
from collections import *
import string
"""
"""What stood before every program when its source ran it."""

CALL = re.compile(r"check\((\w+)\)\s*\Z")
CODEGEN = "CodeGen-16B"

Data = dict[str, Any]


@dataclass(frozen=True)
class Real:
    """A public set: tasks by id, samples by system, and what their source says of each sample by key."""

    tasks: Mapping[str, CodeTask]
    sets: Sequence[SampleSet]
    recorded: Mapping[tuple[str, str, int], Data]


def read(folder: Path) -> Real:
    """Return all of it. Programs whose source used tests of its own are tasks of their own: 'MBPP/76#0'."""
    tasks = {task.id: task for task in human_eval.read_tasks(folder / "humaneval_problems.jsonl")}
    own = {row["tests"]: _own_task(row) for row in _rows(folder / "ldb_reflexion_tests.jsonl")}
    samples: dict[str, list[CodeSample]] = {}
    recorded: dict[tuple[str, str, int], Data] = {}
    counted: dict[tuple[str, str], int] = {}
    for row in [*_rows(folder / "codegen16b_humaneval.jsonl.gz"), *_rows(folder / "ldb_reflexion.jsonl.gz")]:
        system = CODEGEN if row["model"] == CODEGEN else f"{row['system']} on {row['set']}"
        number = counted[system, row["tests"]] = counted.get((system, row["tests"]), -1) + 1
        samples.setdefault(system, []).append(
            CodeSample(row["tests"], number, row["code"], row["code"], system)
        )
        recorded[system, row["tests"], number] = row
    return Real(
        tasks={**tasks, **own},
        sets=[SampleSet(system, "", found) for system, found in samples.items()],
        recorded=recorded,
    )


def _own_task(row: Data) -> CodeTask:
    """Return a task with the tests that the source ran. It has no reference: MBPP's is not written for them."""
    found = CALL.search(row["source"])
    return CodeTask(
        id=row["tests"],
        prompt="",
        tests=row["source"],
        style=TestStyle.ASSERTS,
        entry_point=found[1] if found else None,
    )


def _rows(path: Path) -> Iterator[Data]:
    raw = path.read_bytes()
    for line in (gzip.decompress(raw) if path.suffix == ".gz" else raw).splitlines():
        yield json.loads(line)


# --- running ------------------------------------------------------------------------------------------


def run_all(real: Real, journal: Journal) -> tuple[list[Row], Mapping[str, str]]:
    """Run what the journal does not hold yet and return all results, and the tasks that were excluded."""
    options = RunOptions(prelude=PRELUDE, renamed=False)
    done = journal.keys()
    calibration = calibrated(real.tasks, options, sets=real.sets, done=done)
    with Parsers() as parsers, journal.open() as write:
        todo = run_rows(real.sets, real.tasks, options, calibration=calibration, parsers=parsers, done=done)
        for count, row in enumerate(todo, start=1):
            write(row)
            if count % 2000 == 0:
                print(f"{count:,} run", file=sys.stderr, flush=True)
    return journal.finish(finished=True), calibration.excluded


def without_prelude(real: Real, rows: Sequence[Row]) -> list[Row]:
    """Run the samples that passed once more, without what their source put before them, and return the results."""
    passed = {(row["system"], row["task_id"], row["sample"]) for row in rows if row["passed"] is True}
    sets = [
        replace(
            one,
            samples=[
                sample for sample in one.samples if (sample.system, sample.task, sample.number) in passed
            ],
        )
        for one in real.sets
    ]
    options = RunOptions(renamed=False, calibrate=False)
    calibration = calibrated(real.tasks, options)
    with Parsers() as parsers:
        return list(run_rows(sets, real.tasks, options, calibration=calibration, parsers=parsers))


def prelude_note(rows: Sequence[Row], bare: Sequence[Row]) -> str:
    """Say what stands before every program and what it changes. `bare`: what `without_prelude` gave for `rows`."""
    lost = [row for row in bare if row["passed"] is not True]
    changed = []
    for system in sorted({str(row["system"]) for row in lost}):
        known = [row for row in rows if row["system"] == system and row["passed"] is not None]
        passed = sum(row["passed"] is True for row in known)
        less = sum(row["system"] == system for row in lost)
        changed.append(
            f"{system} {passed / len(known):.4f} to {(passed - less) / len(known):.4f} ({less} {'program' if less == 1 else 'programs'})"
        )
    imports = "; ".join(f"`{line}`" for line in PRELUDE.splitlines())
    return (
        f"Before every program stand the imports that its source put there: {imports}. `voirdire execute` puts nothing before a program "
        f"unless `--prelude FILE` says so: without them {len(lost):,} of the {len(bare):,} programs that pass do not, for want of a name, and "
        f"shares of passing programs fall from {'; '.join(changed)}; the other systems stay."
    )


def references(folder: Path) -> str:
    """Run the reference solutions of both sets and return how many pass."""
    said = []
    for name, tasks in (
        ("HumanEval", human_eval.read_tasks(folder / "humaneval_problems.jsonl")),
        ("MBPP", mbpp.read_tasks(folder / "mbpp_problems.jsonl")),
    ):
        failed = calibrated({task.id: task for task in tasks}, RunOptions()).excluded
        named = (
            f" (excluded: {'; '.join(f'{task}, {why}' for task, why in failed.items())})" if failed else ""
        )
        said.append(
            f"{len(tasks) - len(failed)} of {len(tasks)} {name} references pass three times in a row with time to spare{named}"
        )
    return "; ".join(said)


# --- what was found -----------------------------------------------------------------------------------


def section(real: Real, rows: Sequence[Row], excluded: Mapping[str, str], said: str, prelude: str) -> str:
    """Return the section of docs/findings.md. `said`: of the references; `prelude`: what `prelude_note` gives."""
    by_system: dict[str, list[Row]] = {}
    for row in rows:
        by_system.setdefault(str(row["system"]), []).append(row)
    differ = [
        row for row in rows if row["passed"] is not None and row["passed"] != _recorded(real, row)["passed"]
    ]
    parse_differ = [row for row in rows if (row["status"] == "unparsable") == _recorded(real, row)["parses"]]
    run = sum(row["passed"] is not None for row in rows)
    levels = ", ".join(sorted({str(row["isolation"]) for row in rows if row["isolation"]}))
    lines = [
        f"{run:,} of {len(rows):,} samples of {len(by_system)} systems were run against their tests (isolation {levels}); {said}.",
        f"{_excluded(excluded)}{len(differ)} results differ from",
        f"those recorded with the sets{_examples(differ)}; what parses differs for {len(parse_differ)}. Intervals are 95 %: Wilson's for",
        "shares of single programs, over problems where there are several samples of each. `python -m tools.real_samples FOLDER --write`",
        f"repeats it. {_beside(rows)}",
        "",
        prelude,
        "",
        "| system | programs | not parsing | Pass@1 | published |",
        "| --- | --- | --- | --- | --- |",
    ]
    for system, found in sorted(by_system.items()):
        lines.append(_system_row(real, system, found))
    return "\n".join([*lines, "", *_many(by_system[CODEGEN])]) + "\n"


def _system_row(real: Real, system: str, rows: Sequence[Row]) -> str:
    known = [row for row in rows if row["passed"] is not None]
    broken = sum(row["status"] == "unparsable" for row in rows)
    shares = _by_task(known)
    single = max(n for n, _ in shares.values()) == 1
    passed = sum(row["passed"] is True for row in known)
    share = wilson(passed, len(known)) if single else mean_share([c / n for n, c in shares.values()])
    published = [_recorded(real, row)["published_pass"] for row in rows]
    told = "" if None in published else f"{sum(map(bool, published)) / len(published):.4f}"
    return (
        f"| {system} | {len(rows):,} | {broken:,} ({100 * broken / len(rows):.2f} %) "
        f"| {share.value:.4f} [{share.low:.4f}, {share.high:.4f}] | {told} |"
    )


def _many(rows: Sequence[Row]) -> list[str]:
    """Return Pass@k of the system with many samples a problem."""
    shares = _by_task([row for row in rows if row["passed"] is not None])
    n, c = (np.array([pair[place] for pair in shares.values()]) for place in (0, 1))
    curves = pass_at_every_k(n, c)
    said = []
    for k in (1, 10, 32, 100):
        if k <= curves.shape[1]:
            share = mean_share(curves[:, k - 1])
            said.append(f"Pass@{k} {share.value:.3f} [{share.low:.3f}, {share.high:.3f}]")
    broken = {str(row["task_id"]) for row in rows if row["status"] == "unparsable"}
    never = sum(hits == 0 for _, hits in shares.values())
    return [
        f"{CODEGEN}, {int(n.min())} samples of each of {len(shares)} problems: {', '.join(said)}. Samples that do not parse lie in "
        f"{len(broken)} problems; {never} problems have no passing sample.",
    ]


def _by_task(rows: Sequence[Row]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        n, c = found.get(str(row["task_id"]), (0, 0))
        found[str(row["task_id"])] = n + 1, c + (row["passed"] is True)
    return found


def _recorded(real: Real, row: Row) -> Data:
    return real.recorded[str(row["system"]), str(row["task_id"]), int(str(row["sample"]))]


def _excluded(names: Mapping[str, str]) -> str:
    return f"Excluded, because their own reference fails: {', '.join(names)}. " if names else ""


def _beside(rows: Sequence[Row]) -> str:
    note = beside_note(rows)
    return (
        f"{note}."
        if note
        else "Every sample that passed was tested from a process of its own (proof: separate)."
    )


def _examples(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    statuses: dict[str, int] = {}
    for row in rows:
        statuses[str(row["status"])] = statuses.get(str(row["status"]), 0) + 1
    return f" (now {', '.join(f'{count} {status}' for status, count in sorted(statuses.items()))})"


def written(page: str, text: str) -> str:
    """Return the page with its section replaced, or with one at its end."""
    body = f"{BEGIN}\n\n{text}\n{END}\n"
    if BEGIN in page:
        head, _, rest = page.partition(BEGIN)
        return head + body + rest.partition(f"{END}\n")[2]
    return f"{page.rstrip()}\n\n## Real generations, run\n\n{body}"


def main(arguments: Sequence[str]) -> int:
    """Run everything, print the section, and with --write put it into the docs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, default=Path("real-samples.jsonl"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    real = read(given.folder)
    rows, excluded = run_all(real, Journal.at(given.results))
    note = prelude_note(rows, without_prelude(real, rows))
    text = section(real, rows, excluded, references(given.folder), note)
    print(text)
    if given.write:
        FINDINGS.write_text(written(FINDINGS.read_text(encoding="utf-8"), text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
