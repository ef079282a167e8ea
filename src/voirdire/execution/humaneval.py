"""The HumanEval problems, as they are shipped with the package."""

import gzip
import json
from importlib import resources

from voirdire.execution.tasks import Task, TestKind, Tests


def humaneval_tasks() -> list[Task]:
    """Return the 164 problems with their tests and reference solutions."""
    data = resources.files("voirdire").joinpath("data/humaneval/problems.jsonl.gz").read_bytes()
    return [_task(json.loads(line)) for line in gzip.decompress(data).splitlines()]


def _task(row: dict[str, str]) -> Task:
    return Task(
        task_id=row["task_id"],
        entry_point=row["entry_point"],
        tests=Tests(TestKind.CHECK, code=row["test"]),
        prompt=row["prompt"],
        reference=row["prompt"] + row["canonical_solution"],
    )
