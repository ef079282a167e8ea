"""Cuts the real samples that ship for a replay from the whole sets: `python -m tools.replay_slice ../shared/data/code-samples`.

64 HumanEval problems, drawn by a seed; of each, four samples of CodeGen-16B and the programs that gpt-3.5-turbo-0613 wrote
in four harnesses, all with the result of HumanEval's own tests. What is written stands in `src/voirdire/data/replay`.
"""

import gzip
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUT = ROOT / "src" / "voirdire" / "data" / "replay"

PROBLEMS, SEED = 64, 1
CODEGEN, TURBO = "CodeGen-16B", "gpt-3.5-turbo-0613"
HARNESSES = ("direct", "ldb-function", "ldb-line", "ldb-block")
"""Of the second model: each harness's program is one sample, in this order."""

Row = dict[str, Any]


def cut(source: Path) -> tuple[list[Row], list[Row]]:
    """Return the tasks and the samples of the slice."""
    tasks = list(_rows(source / "humaneval_problems.jsonl"))
    drawn = set(random.Random(SEED).sample([task["task_id"] for task in tasks], PROBLEMS))
    kept = [
        {key: task[key] for key in ("task_id", "prompt", "entry_point", "canonical_solution", "test")}
        for task in tasks
        if task["task_id"] in drawn
    ]
    order = {task["task_id"]: place for place, task in enumerate(kept)}
    samples = [*_codegen(source, drawn), *_turbo(source, drawn)]
    return kept, sorted(samples, key=lambda row: (row["system"], row["sample"], order[row["task_id"]]))


def _codegen(source: Path, drawn: set[str]) -> Iterator[Row]:
    for row in _rows(source / "codegen16b_humaneval.jsonl.gz"):
        if row["task_id"] in drawn and row["sample"] < len(HARNESSES):
            yield _sample(row, CODEGEN, row["sample"])


def _turbo(source: Path, drawn: set[str]) -> Iterator[Row]:
    for row in _rows(source / "ldb_reflexion.jsonl.gz"):
        if (
            row["set"] == "humaneval"
            and row["model"] == TURBO
            and row["harness"] in HARNESSES
            and row["task_id"] in drawn
        ):
            yield _sample(row, TURBO, HARNESSES.index(row["harness"]))


def _sample(row: Row, system: str, number: int) -> Row:
    kept = {key: row[key] for key in ("code", "parses", "passed")}
    return {"task_id": row["task_id"], "system": system, "sample": number, **kept}


def _rows(path: Path) -> Iterator[Row]:
    raw = path.read_bytes()
    text = gzip.decompress(raw) if path.suffix == ".gz" else raw
    for line in text.splitlines():
        yield json.loads(line)


def _write(path: Path, rows: Sequence[Row]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def main(arguments: Sequence[str]) -> int:
    """Write the slice; its source is the folder named."""
    tasks, samples = cut(Path(arguments[0]))
    _write(OUT / "tasks.jsonl.gz", tasks)
    _write(OUT / "samples.jsonl.gz", samples)
    print(f"{len(tasks)} tasks, {len(samples)} samples")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
