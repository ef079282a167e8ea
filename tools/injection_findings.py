"""Makes the injection material of the findings page from public code samples, runs it, and prints the figures.

    python -m tools.injection_findings patches OUT [--samples FOLDER] [--programs 200] [--doses 4 18]
    python -m tools.injection_findings scores OUT [--samples FOLDER] [--programs 10] [--judge local:smollm2-135m]
    python -m tools.injection_findings verified OUT --predictions FILE --tasks FILE [--base FOLDER] [--wheels FOLDER]

`patches`: failed HumanEval programs as one-file diffs, every kind and dose, all proofs, and the tests run before and after.
`scores`: a judge on the shortest of them. `verified`: SWE-bench Verified patches, whose base files stand in FOLDER/INSTANCE, or
in a wheel of a release to which the patch applies without moving a hunk (`pip download --no-deps django==3.2`, and so on).
"""

import argparse
import gzip
import json
import random
import resource
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from voirdire.cli import run
from voirdire.edits.injected_patch import PatchedBase, patched
from voirdire.edits.injection import InjectionKind
from voirdire.edits.patch import parse
from voirdire.edits.patch_make import diff
from voirdire.importers.items import write_items
from voirdire.model import Item, Origin
from voirdire.studies._injection_material import InjectionOptions, Material, prepare, records, tested
from voirdire.studies._injection_tests import running

SAMPLES = Path("../shared/data/code-samples")
PATH = "solution.py"
SCORED_KINDS = ("neutral_comments", "brief_comments", "advocacy", "scaffolding", "renamed_locals")


def failed_programs(folder: Path) -> list[Item]:
    """Return the failed HumanEval programs of all systems that parse, each once, as one-file diffs against the prompt."""
    tasks = {row["task_id"]: row for row in _rows(folder / "humaneval_problems.jsonl")}
    items: dict[str, Item] = {}
    for row in _rows(folder / "ldb_reflexion.jsonl.gz"):
        if row["set"] != "humaneval" or row["passed"] or not row["parses"]:
            continue
        task = tasks[row["task_id"]]
        before, after = {PATH: task["prompt"]}, {PATH: row["code"]}
        patch = diff(before, after)
        if not patch or f"{row['task_id']} {patch}" in items:
            continue
        number = row["task_id"].partition("/")[2]
        items[f"{row['task_id']} {patch}"] = Item(
            f"he{number}-{row['system']}-{row['sample']}",
            {
                "brief": task["prompt"],
                "patch": patch,
                "base": json.dumps(before),
                "tests": task["test"],
                "entry_point": task["entry_point"],
                "prompt": task["prompt"],
            },
            origin=Origin(
                task=row["task_id"], author=row["model"], harness=row["harness"], language="python"
            ),
        )
    return list(items.values())


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text("utf-8")
    for line in text.splitlines():
        yield json.loads(line)


def drawn(items: Sequence[Item], count: int, *, seed: int) -> list[Item]:
    """Return so many items, drawn at random."""
    chosen = list(items)
    random.Random(seed).shuffle(chosen)
    return chosen[:count]


def shortest(items: Sequence[Item], count: int) -> list[Item]:
    """Return the shortest patches of as many tasks: a small judge takes seconds for each."""
    by_task: dict[str, Item] = {}
    for item in sorted(items, key=lambda one: len(one["patch"]) + len(one["brief"])):
        by_task.setdefault(item.origin.task if item.origin and item.origin.task else item.id, item)
    return list(by_task.values())[:count]


def make_patches(given: argparse.Namespace) -> None:
    """Make, prove and test every variant, write them, and print the counts."""
    items = drawn(failed_programs(given.samples), given.programs, seed=given.seed)
    options = InjectionOptions(doses=tuple(given.doses), seed=given.seed)
    material = tested(prepare(items, options), running(unsafe=given.unsafe))
    _write(material, given.out)
    report(material, items)


def report(material: Material, items: Sequence[Item]) -> None:
    """Print what there is, arm by arm, and why not more."""
    systems = {(item.origin.author, item.origin.harness) for item in items if item.origin}
    print(f"{len(items)} patches of {len(systems)} systems; {len(material.subjects)} can be edited")
    for reason, count in material.refused().most_common():
        print(f"  refused: {reason}: {count}")
    emptied = sum(subject.emptied is not None for subject in material.subjects)
    print(f"  with a control: {emptied}")
    print("| kind | dose | edited, all proofs | tests run, same result | places | lines added | left out |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for arm in material.arms:
        made = list(material.of(arm).values())
        lost = ", ".join(f"{reason} {count}" for reason, count in material.lost(arm).most_common()) or "-"
        places = sum(one.patch.places for one in made) / len(made)
        lines = sum(one.patch.lines_added for one in made) / len(made)
        ran = sum(one.tests is not None for one in made)
        print(
            f"| {arm.kind.value} | {arm.dose} | {len(made)} | {ran} | {places:.1f} | {lines:.1f} | {lost} |"
        )
    outcomes = Counter((one.tests or "not run").partition(",")[0] for one in material.variants)
    print("tests: " + ", ".join(f"{name} {count}" for name, count in outcomes.most_common()))
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"CPU: {sum(one.ru_utime + one.ru_stime for one in usage):.0f} s")


def _write(material: Material, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with (out / "injections.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(record) + "\n" for record in records(material))


def score(given: argparse.Namespace) -> None:
    """Ask a judge about the shortest programs and write the page."""
    given.out.mkdir(parents=True, exist_ok=True)
    items = given.out / "items.jsonl"
    write_items(shortest(failed_programs(given.samples), given.programs), items)
    words = ["inject", given.judge, str(items), "--kinds", ",".join(given.kinds), "--out", str(given.out)]
    code = run([*words, "--seed", str(given.seed), "--ledger", str(given.out / "ledger.sqlite")])
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"exit code {code}; CPU: {sum(one.ru_utime + one.ru_stime for one in usage):.0f} s")


def verified_patches(predictions: Path, tasks: Path) -> list[Item]:
    """Return the patches of a SWE-bench Verified run that did not solve their task, and those that did."""
    briefs: Mapping[str, str] = {row["instance_id"]: row["problem_statement"] for row in _rows(tasks)}
    return [
        Item(
            row["instance_id"],
            {"brief": briefs.get(row["instance_id"], ""), "patch": row["patch"]},
            origin=Origin(
                task=row["instance_id"], author=row["model"], harness=row["harness"], language="python"
            ),
        )
        for row in _rows(predictions)
        if row["patch"]
    ]


def with_bases(items: Sequence[Item], wheels: Path) -> list[Item]:
    """Return the items, with the base files out of the first release to which the patch applies as it stands."""
    found: dict[str, str | None] = dict.fromkeys(item.id for item in items)
    for path in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(path) as wheel:
            names = set(wheel.namelist())
            for item in items:
                needed = [file.old for file in parse(item["patch"]).files if file.old is not None]
                if found[item.id] is not None or not needed or not set(needed) <= names:
                    continue
                base = {name: wheel.read(name).decode("utf-8", "replace") for name in needed}
                if isinstance(patched(item["patch"], base), PatchedBase):
                    found[item.id] = json.dumps(base)
                    print(f"{item.id}: {path.name}")
    return [item if (own := found[item.id]) is None else item.with_part("base", own) for item in items]


def make_verified(given: argparse.Namespace) -> None:
    """Edit the patches whose base files can be had, and count the others."""
    items = verified_patches(given.predictions, given.tasks)
    if given.wheels is not None:
        items = with_bases(items, given.wheels)
    options = InjectionOptions(doses=tuple(given.doses), seed=given.seed)
    material = prepare(items, options, folder=given.base)
    _write(material, given.out)
    report(material, items)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    for name, verb, programs in (
        ("patches", make_patches, 200),
        ("scores", score, 10),
        ("verified", make_verified, 0),
    ):
        own = verbs.add_parser(name)
        own.set_defaults(verb=verb)
        own.add_argument("out", type=Path)
        own.add_argument("--samples", type=Path, default=SAMPLES)
        own.add_argument("--programs", type=int, default=programs)
        own.add_argument("--doses", type=int, nargs="+", default=[4, 18])
        own.add_argument("--seed", type=int, default=0)
        own.add_argument("--judge", default="local:smollm2-135m")
        own.add_argument(
            "--kinds", nargs="+", choices=[kind.value for kind in InjectionKind], default=list(SCORED_KINDS)
        )
        own.add_argument("--unsafe", action="store_true")
        own.add_argument("--predictions", type=Path)
        own.add_argument("--tasks", type=Path)
        own.add_argument("--base", type=Path)
        own.add_argument("--wheels", type=Path)
    given = parser.parse_args()
    given.verb(given)


if __name__ == "__main__":
    main()
