"""Runs the HumanEval references while every processor has other work, and writes what came of it into docs/findings.md.

    python -m tools.busy_machine [--passes N] [--write]

The same ten passes are a slow test (`tests/execution/test_humaneval.py`); this says by how much they had time to spare.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.execution.busy import LIMITS, busy_processors, failures, references
from voirdire.execution.tasks import Result

ROOT = Path(__file__).parents[1]
FINDINGS = ROOT / "docs" / "findings.md"
BEGIN, END = "<!-- busy machine: written by tools/busy_machine.py -->", "<!-- busy machine: end -->"


def section(passes: Sequence[list[Result]]) -> str:
    """Return what came of the passes, in a few sentences."""
    results = [result for one in passes for result in one]
    failed = [fault for one in passes for fault in failures(one)]
    costly = max(results, key=lambda result: result.cpu_seconds)
    slow = max(results, key=lambda result: result.wall_seconds)
    named = "".join(f"\n- {name}: {status}, {error}" for name, status, error in failed)
    return (
        f"{len(passes)} passes in a row over the {len(passes[0])} HumanEval references, tests apart from them, while one process for each\n"
        f"of {os.cpu_count()} processors computed without pause: {len(results) - len(failed):,} of {len(results):,} passed. What counts is CPU time: at most {costly.cpu_seconds:.1f}\n"
        f"of {LIMITS.cpu_seconds:g} s were used ({costly.task_id}), where the clock showed up to {slow.wall_seconds:.1f} s ({slow.task_id}).\n"
        f"`python -m tools.busy_machine --write` repeats it, and so does a slow test.{named}\n"
    )


def written(page: str, text: str) -> str:
    """Return the page with its section replaced, or with one at its end."""
    body = f"{BEGIN}\n\n{text}\n{END}\n"
    if BEGIN in page:
        head, _, rest = page.partition(BEGIN)
        return head + body + rest.partition(f"{END}\n")[2]
    return f"{page.rstrip()}\n\n## Right candidates on a busy machine\n\n{body}"


def main(arguments: Sequence[str]) -> int:
    """Run the passes, print the section, and with --write put it into the docs. 1 where any reference failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    with busy_processors():
        passes = [references() for _ in range(given.passes)]
    text = section(passes)
    print(text)
    if given.write:
        FINDINGS.write_text(written(FINDINGS.read_text(encoding="utf-8"), text), encoding="utf-8")
    return int(any(failures(one) for one in passes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
