"""Real samples of several models, run again: the counts that their collectors verified come out."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from voirdire.execution.calibrate import calibrate
from voirdire.execution.humaneval import humaneval_tasks
from voirdire.execution.run import execute
from voirdire.execution.tasks import Limits, Proof, Result, Sample, Task, TestKind, Tests

DATA = Path(__file__).parents[3] / "shared" / "data" / "code-samples"
LIMITS = Limits(cpu_seconds=3)
PRELUDE = "from typing import *\nimport math, re, heapq, itertools, collections\nfrom collections import *\nimport string\n"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not DATA.exists(), reason="the collection of code samples is not here"),
]


def rows(name: str) -> list[dict[str, Any]]:
    data = (DATA / name).read_bytes()
    text = gzip.decompress(data) if name.endswith(".gz") else data
    return [json.loads(line) for line in text.splitlines()]


def humaneval() -> list[Task]:
    return [replace(task, prelude=PRELUDE) for task in humaneval_tasks()]


def run(tasks: list[Task], samples: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Result]]:
    given = (Sample(str(n), row["tests"], row["system"], row["code"]) for n, row in enumerate(samples))
    for result in execute(tasks, given, limits=LIMITS):
        yield samples[int(result.sample_id)], result


def test_codegen_passes_where_it_did() -> None:
    statuses: Counter[str] = Counter()
    differing = []
    for row, result in run(humaneval(), rows("codegen16b_humaneval.jsonl.gz")):
        statuses[str(result.truth.status)] += 1
        if (str(result.truth.status) == "passed") != row["passed"]:
            differing.append((row["task_id"], row["sample"], str(result.truth.status), result.error))
        assert (str(result.truth.status) == "unparsable") == (not row["parses"])
    assert statuses.total() == 16_400
    assert statuses["unparsable"] == 643
    assert len(differing) <= 8, differing
    assert abs(statuses["passed"] - 3792) <= 8


def test_the_debuggers_samples_pass_where_they_did() -> None:
    mbpp = [
        Task(
            row["tests"],
            _checked(row["source"]),
            Tests(TestKind.PROGRAM, code=row["source"]),
            prelude=PRELUDE,
        )
        for row in rows("ldb_reflexion_tests.jsonl")
    ]
    differing = []
    passed: Counter[str] = Counter()
    for row, result in run([*humaneval(), *mbpp], rows("ldb_reflexion.jsonl.gz")):
        passes = str(result.truth.status) == "passed"
        passed[f"{row['set']} {row['system']}"] += passes
        if passes != row["passed"]:
            differing.append((row["task_id"], row["system"], str(result.truth.status), result.error))
    assert len(differing) <= 8, differing
    assert passed["humaneval gpt-4o-2024-05-13+reflexion+ldb"] == 161
    assert passed["humaneval gpt-3.5-turbo-0613+reflexion+ldb"] == 156


def test_mbpp_references_pass_but_the_one_that_is_too_slow() -> None:
    calibration = calibrate(_mbpp(), limits=LIMITS)
    assert set(calibration.excluded) == {"MBPP/123"}
    assert sum(task.proof is Proof.SEPARATE for task in calibration.tasks) >= 960


def _mbpp() -> list[Task]:
    return [
        Task(
            row["task_id"],
            _tested(row),
            Tests.from_asserts(row["test_list"], setup=row["test_setup_code"]),
            reference=row["code"],
            prelude=PRELUDE,
        )
        for row in rows("mbpp_problems.jsonl")
    ]


def _checked(source: str) -> str:
    """Return the function that a test program hands to its own `check`."""
    names = [name for name in re.findall(r"\bcheck\((\w+)\)", source) if name != "candidate"]
    return names[-1] if names else ""


def _tested(row: dict[str, Any]) -> str:
    """Return the last function of the reference that a test calls."""
    defined = re.findall(r"def (\w+)\(", row["code"])
    called = [name for name in defined if any(f"{name}(" in test for test in row["test_list"])]
    return called[-1] if called else ""
