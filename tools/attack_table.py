"""Runs every hostile candidate at every level that this machine has, and writes what became of each.

    python -m tools.attack_table [--out docs/attacks.md]

The candidates and the way they are watched are those of `tests/execution/attacks.py`. Levels whose tool is missing are
named as not run. The column of `process` wants root, so that candidates are another user than the one who runs this.
"""

import argparse
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tests.execution.attacks import ATTACKS, LIMITS, Attack, Observation, observe
from voirdire.errors import UsageError
from voirdire.execution.levels import check_choice
from voirdire.execution.tasks import Isolation, Proof

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Column:
    """One level of isolation, with the tests on one side."""

    title: str
    isolation: Isolation
    proof: Proof


COLUMNS = (
    Column("process", Isolation.PROCESS, Proof.SEPARATE),
    Column("namespace", Isolation.NAMESPACE, Proof.SEPARATE),
    Column("bubblewrap", Isolation.BUBBLEWRAP, Proof.SEPARATE),
    Column("container", Isolation.CONTAINER, Proof.SEPARATE),
    Column("namespace, tests beside the candidate", Isolation.NAMESPACE, Proof.SHARED),
)

Seen = Mapping[str, Observation]


def observed(column: Column) -> Seen | str:
    """Return what was seen in a column, or why nothing was."""
    if column.isolation is Isolation.PROCESS and os.geteuid() != 0:
        return "it wants root, so that candidates are another user"
    try:
        check_choice(column.isolation, unsafe=True)
        return observe(column.isolation, column.proof)
    except UsageError as error:
        return str(error)


def cell(attack: Attack, seen: Seen | str) -> str:
    """Say in a few words what became of an attack."""
    if isinstance(seen, str):
        return "-"
    observation = seen[attack.name]
    faults = {
        "**earned credit**": observation.earned_credit,
        "**left processes**": observation.survivors > 0,
        "**left files**": observation.strays > 0,
        "**reached a socket of the host**": observation.reached > 0,
        "**harmed a process**": not observation.bystander_lives,
        "**harmed the next sample**": not observation.next_passed,
    }
    named = [words for words, happened in faults.items() if happened]
    return ", ".join(named) or f"stopped: {observation.status}"


def page(columns: Mapping[Column, Seen | str]) -> str:
    """Return the whole page."""
    lines = [
        "# Attacks by level of isolation",
        "",
        "What became of hostile candidates, as seen by the harness's own tests: did they earn credit, leave a process, a file or",
        "shared memory on the host, reach a socket of the host, harm another process, or spoil the sample after them? *Stopped*",
        "means none of these; the word after it is the status that the sample got. The claim is about these attacks, and no other.",
        "",
        f"{len(ATTACKS)} attacks under {LIMITS.cpu_seconds:g} s of CPU time, {LIMITS.memory_mb} MB of memory, {LIMITS.processes} processes and"
        f" {LIMITS.file_mb} MB of files; {platform.system()} {platform.machine()}, Python {platform.python_version()}.",
        "",
        *_notes(columns),
        "",
    ]
    for family, attacks in groupby(ATTACKS, key=lambda attack: attack.family):
        lines += [f"## {family.capitalize()}", "", *_table(list(attacks), columns), ""]
    return "\n".join([*lines, "Written by `python -m tools.attack_table`.", ""])


def _notes(columns: Mapping[Column, Seen | str]) -> list[str]:
    notes = [
        "- `process`: limits only, for trusted code only. What it shows here was seen as root, where candidates run as a user of",
        "  their own; without root they are the user who runs voirdire, and may harm whatever that user may.",
        "- The last column is `namespace` with `proof: shared`: tests that cannot be kept apart run in the candidate's interpreter,",
        *_forgeries(columns),
    ]
    return notes + [
        f"- `{column.title}`: not measured where this page was written, which had none at hand. How it is started is tested; what it"
        "\n  stops was not seen, and nothing is claimed of it."
        for column, why in columns.items()
        if isinstance(why, str)
    ]


def _forgeries(columns: Mapping[Column, Seen | str]) -> list[str]:
    """Name the attacks that earned credit beside the tests, and where such credit can be told from other credit."""
    credited = [
        name
        for column, seen in columns.items()
        if column.proof is Proof.SHARED and not isinstance(seen, str)
        for name, one in seen.items()
        if one.earned_credit
    ]
    return [
        f"  where a candidate that knows how can earn credit: {'; '.join(credited) or 'none of these'}.",
        "  Each such result says `proof: shared`, `voirdire execute` counts them, a replay's page names their number, and gives Pass@k a second time with",
        "  tests apart alone (*execution, tests apart alone*, in `pass_at_k.csv` too). Where a task has a",
        "  reference, calibration decides whether it is tested so, and no candidate can.",
    ]


def _table(attacks: list[Attack], columns: Mapping[Column, Seen | str]) -> list[str]:
    titles = [column.title for column in columns]
    head = [f"| attack | {' | '.join(titles)} |", f"| --- |{' --- |' * len(titles)}"]
    rows = [
        f"| {attack.name.replace('|', '/')} | {' | '.join(cell(attack, seen) for seen in columns.values())} |"
        for attack in attacks
    ]
    return head + rows


def main() -> None:
    """Run all columns and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "attacks.md")
    options = parser.parse_args()
    options.out.write_text(page({column: observed(column) for column in COLUMNS}))


if __name__ == "__main__":
    main()
