"""Runs the tests of patches that come with some: the same tests must pass and fail before and after an edit."""

from collections.abc import Sequence

from voirdire.execution.run import execute
from voirdire.execution.tasks import Isolation, Limits, Sample, Task, TestKind, Tests
from voirdire.model import GroundTruth, Item
from voirdire.studies._injection_material import Tester

PRELUDE = "from typing import *\nimport math, re, heapq, itertools, collections\nfrom collections import *\nimport string\n"
"""Imports that functions written for a test of their own take for granted."""


def running(
    *, isolation: Isolation | None = None, unsafe: bool = False, workers: int | None = None
) -> Tester:
    """Return what runs the tests of Python programs whose items bring tests.

    Parts of such an item: `tests`, code that defines `check(candidate)`, and `entry_point`, the function to hand it.
    """

    def run(programs: Sequence[tuple[Item, str]]) -> list[str | None]:
        tasks = {
            item.id: _task(item) for item, _ in programs if {"tests", "entry_point"} <= item.parts.keys()
        }
        samples = [
            Sample(str(place), item.id, "", code)
            for place, (item, code) in enumerate(programs)
            if item.id in tasks
        ]
        limits = Limits(cpu_seconds=3.0, wall_seconds=30.0)
        results = execute(
            tasks.values(), samples, limits=limits, isolation=isolation, unsafe=unsafe, workers=workers
        )
        said = {result.sample_id: _words(result.truth) for result in results} if samples else {}
        return [said.get(str(place)) for place in range(len(programs))]

    return run


def _task(item: Item) -> Task:
    tests = Tests(TestKind.CHECK, code=item["tests"])
    return Task(item.id, item["entry_point"], tests, prompt=item.parts.get("prompt", ""), prelude=PRELUDE)


def _words(truth: GroundTruth) -> str:
    groups = "; ".join(f"{group.passed} of {group.total}" for group in truth.groups.values())
    return f"{truth.status.value}, {groups}" if groups else truth.status.value
