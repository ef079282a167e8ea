"""Injections into JavaScript and Go, tried on diffs made for the purpose, and what came out written into docs/findings.md.

    python -m tools.injection_specimen --make [--folder DIR]     makes the diffs again: needs npm and go
    python -m tools.injection_specimen [--write] [--folder DIR]  every kind at two doses on each, with the packages' tests

A made diff takes one function of a small permissive package, empties it (the base), and puts it back with one seeded fault
in it that the package's own tests catch (the patch). So every line of the function is an added line, and the patch is wrong.
An edit counts as proved where its patch applies, changes added lines only and its syntax is shown to be the same; and its
tests count as the same where each test of the package passes or fails as it did before.
"""

import argparse
import gzip
import json
import random
import resource
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from tools._injection_faults import Fault, Function, faults, functions
from tools._injection_packages import Outcome, Package, packages
from voirdire.edits.injected_patch import InjectedPatch, PatchedBase, inject, patched
from voirdire.edits.injection import Injected, InjectionKind, NotInjected, Wanted, injector_for
from voirdire.edits.patch import parse
from voirdire.edits.patch_apply import apply
from voirdire.edits.patch_make import diff

ROOT = Path(__file__).parents[1]
DATA = ROOT / "src" / "voirdire" / "data" / "injections"
FINDINGS = ROOT / "docs" / "findings.md"
BEGIN, END = "<!-- injections: written by tools/injection_specimen.py -->", "<!-- injections: end -->"

PER_LANGUAGE = 30
MOST_OF_ONE = 5
"""Diffs that one package gives at most."""

TRIES = 4
"""Faults that are tried in one function."""

WORKERS = 4
"""Packages whose tests run at once: each in a folder of its own."""

DOSES = (2, 8)
SEED = 7

Row = dict[str, Any]


def shipped() -> list[Row]:
    """Return the diffs that ship, each with its base."""
    raw = gzip.decompress((DATA / "diffs.jsonl.gz").read_bytes())
    return [json.loads(line) for line in raw.splitlines()]


# --- making -----------------------------------------------------------------------------------------


def make(found: Sequence[Package]) -> list[Row]:
    """Return the made diffs, 30 for each language where the packages give so many."""
    rows: list[Row] = []
    for language in ("javascript", "go"):
        sources = [_of_package(package) for package in found if package.language == language]
        rows += list(islice(_in_turn(sources), PER_LANGUAGE))
    return rows


def _in_turn(sources: list[Iterator[Row]]) -> Iterator[Row]:
    """Yield one row of each source after another, for `MOST_OF_ONE` rounds."""
    with ThreadPoolExecutor(WORKERS) as pool:
        for _ in range(MOST_OF_ONE):
            yield from filter(None, pool.map(lambda source: next(source, None), sources))


def _of_package(package: Package) -> Iterator[Row]:
    """Yield diffs of one package whose fault its tests catch, functions in a seeded order."""
    places = [
        (path, function)
        for path in package.files
        for function in functions(package.read(path), package.language)
    ]
    random.Random(SEED).shuffle(places)
    for path, function in places:
        source = package.read(path)
        sound = package.outcome(path, source)
        for fault in faults(source, package.language, function, seed=SEED)[:TRIES]:
            row = _made(package, path, source, function, fault, sound)
            if row is not None:
                yield row
                break


def _made(
    package: Package, path: str, source: str, function: Function, fault: Fault, sound: Outcome | None
) -> Row | None:
    """Return a diff; None where the tests miss the fault, or do not run with it."""
    editor = injector_for(package.language)
    wanted = Wanted(InjectionKind.NEUTRAL_COMMENTS, 1, SEED, lines=function.lines)
    emptied = editor.stub(source, wanted)
    if not isinstance(emptied, Injected) or sound is None:
        return None
    faulty = package.outcome(path, fault.source)
    if faulty is None or len(faulty) < 3 or _passed(faulty) == 0 or _passed(faulty) >= _passed(sound):
        return None
    patch = diff({path: emptied.source}, {path: fault.source})
    if isinstance(patched(patch, {path: emptied.source}), NotInjected):
        return None
    return {
        "id": f"{package.name}:{path}:{function.name}:{fault.line}",
        "made": True,
        "language": package.language,
        "package": package.name,
        "version": package.version,
        "licence": package.licence,
        "path": path,
        "function": function.name,
        "fault": {"kind": fault.kind, "line": fault.line, "old": fault.old, "new": fault.new},
        "tests": {"passed": _passed(faulty), "run": len(faulty), "passed_without_fault": _passed(sound)},
        "brief": _brief(package, path, function),
        "base": emptied.source,
        "patch": patch,
    }


def _passed(outcome: Outcome) -> int:
    return sum(passed for _, passed in outcome)


def _brief(package: Package, path: str, function: Function) -> str:
    about = function.comment or f"It belongs to {package.name}: {package.about.rstrip('.')}."
    return f"Implement `{function.name}` in {path}. {about} The tests of {package.name} must pass."


def write_data(rows: Sequence[Row], found: Sequence[Package]) -> None:
    """Write the diffs and the licences of what they were made from."""
    DATA.mkdir(parents=True, exist_ok=True)
    body = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (DATA / "diffs.jsonl.gz").write_bytes(gzip.compress(body.encode(), 9, mtime=0))
    used = {row["package"] for row in rows}
    texts = {
        f"{package.name} {package.version} ({package.licence})": package.licence_text
        for package in found
        if package.language != "go" and package.name in used and package.licence_text
    }
    whole = "\n".join(f"{'=' * 80}\n{name}\n{'=' * 80}\n\n{text.strip()}\n" for name, text in texts.items())
    (DATA / "LICENSES.txt").write_text(whole, encoding="utf-8")


# --- trying -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One kind at one dose on one diff. `refused`: why there is no edit; None where there is one, which then is proved.

    `same`: whether every test came out as before; None where nothing was run.
    """

    language: str
    kind: InjectionKind
    dose: int
    places: int = 0
    lines: int = 0
    refused: str | None = None
    same: bool | None = None
    note: str = ""


def trials(rows: Sequence[Row], found: Sequence[Package]) -> list[Trial]:
    """Return every kind at both doses on each diff, each edit with its tests."""
    by_name = {package.name: package for package in found}
    groups = [[row for row in rows if row["package"] == name] for name in by_name]

    def tried(group: Sequence[Row]) -> list[Trial]:
        return [trial for row in group for trial in _trials(row, by_name[row["package"]])]

    with ThreadPoolExecutor(WORKERS) as pool:
        return [trial for group in pool.map(tried, groups) for trial in group]


def _trials(row: Row, package: Package) -> Iterator[Trial]:
    base = patched(row["patch"], {row["path"]: row["base"]})
    assert isinstance(base, PatchedBase)
    runs: dict[str, Outcome | None] = {}

    def outcome(text: str) -> Outcome | None:
        if text not in runs:
            runs[text] = package.outcome(row["path"], text)
        return runs[text]

    before = outcome(base.after[row["path"]])
    for kind in InjectionKind:
        for dose in DOSES:
            done = inject(base, Wanted(kind, dose, SEED, brief=row["brief"]))
            if isinstance(done, NotInjected):
                yield Trial(row["language"], kind, dose, refused=done.reason)
                continue
            after = outcome(edited_text(row, done))
            note = "" if after == before else f"{row['id']}: {_difference(before, after)}"
            yield Trial(
                row["language"], kind, dose, done.places, done.lines_added, None, after == before, note
            )


def edited_text(row: Row, done: InjectedPatch) -> str:
    """Return the file that an edited patch leaves."""
    files = apply(parse(done.patch), {row["path"]: row["base"]}).files
    assert files is not None
    return files[row["path"]]


def _difference(before: Outcome | None, after: Outcome | None) -> str:
    if before is None or after is None:
        return "out of time"
    if len(after) < 2:
        return "does not build"
    changed = {name for name, _ in set(before) ^ set(after)}
    return f"other outcome of {len(changed)} tests, such as {min(changed)}" if changed else "another order"


# --- the page ---------------------------------------------------------------------------------------


def section(rows: Sequence[Row], tried: Sequence[Trial], cpu: float) -> str:
    """Return the page's section."""
    lines = [
        "JavaScript and Go, made diffs only: one function of a small permissive package, emptied in the base and put back by the patch",
        "with one seeded fault that the package's own tests catch. They ship with the package (`src/voirdire/data/injections`).",
        f"`python -m tools.injection_specimen --write` repeats every edit and every test run ({round(cpu / 60, 1)} minutes of CPU) and writes what follows.",
        "An edit is counted where its proof holds, its patch applies to the same base and changes added lines alone; one whose",
        f"proof fails would stand under *not proved*. Doses: at most {DOSES[0]} and at most {DOSES[1]} places.",
        "",
    ]
    for language, title in (("javascript", "JavaScript"), ("go", "Go")):
        own = [trial for trial in tried if trial.language == language]
        lines += [*_made_line(title, [row for row in rows if row["language"] == language]), ""]
        lines += [*_table(own), "", *_notes(own)]
    return "\n".join(lines).rstrip() + "\n"


def _made_line(title: str, rows: Sequence[Row]) -> list[str]:
    packages_used = len({row["package"] for row in rows})
    kinds = Counter(row["fault"]["kind"] for row in rows)
    named = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    added = sorted(sum(len(hunk.added) for hunk in parse(row["patch"]).files[0].hunks) for row in rows)
    return [
        f"**{title}**: {len(rows)} made diffs from {packages_used} packages, median {added[len(added) // 2]} added lines; faults: {named}."
    ]


def _table(tried: Sequence[Trial]) -> list[str]:
    lines = [
        "| kind | edits | places | lines added | refused | not proved | tests the same |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind in InjectionKind:
        own = [trial for trial in tried if trial.kind is kind]
        edits = [trial for trial in own if trial.refused is None]
        failed = sum(_is_unproved(trial) for trial in own)
        cells = [
            kind.value.replace("_", " "),
            _by_dose(edits),
            " + ".join(str(sum(one.places for one in edits if one.dose == dose)) for dose in DOSES),
            " + ".join(str(sum(one.lines for one in edits if one.dose == dose)) for dose in DOSES),
            str(len(own) - len(edits) - failed),
            str(failed),
            f"{sum(trial.same is True for trial in edits)} of {len(edits)}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _by_dose(edits: Sequence[Trial]) -> str:
    return " + ".join(str(sum(one.dose == dose for one in edits)) for dose in DOSES)


def _is_unproved(trial: Trial) -> bool:
    return trial.refused is not None and trial.refused.startswith("not proved")


def _notes(tried: Sequence[Trial]) -> list[str]:
    reasons = Counter(trial.refused for trial in tried if trial.refused is not None)
    lines = [f"- Refused: {reason} ({count})." for reason, count in sorted(reasons.items())]
    lines += [f"- Tests not the same ({one.kind}, dose {one.dose}): {one.note}." for one in tried if one.note]
    return [*lines, ""]


def with_section(page: str, text: str) -> str:
    """Return the page with the section between its markers, at the end where there are none yet."""
    if BEGIN in page:
        head, tail = page[: page.index(BEGIN)], page[page.index(END) + len(END) :]
        return f"{head}{BEGIN}\n\n{text}\n{END}{tail}"
    return (
        f"{page.rstrip()}\n\n## Injections, proved and run: JavaScript and Go\n\n{BEGIN}\n\n{text}\n{END}\n"
    )


def main() -> None:
    """Make the diffs, or try all injections on those that ship."""
    parser = argparse.ArgumentParser(description="made diffs for injections, and what injections do to them")
    parser.add_argument("--make", action="store_true", help="make the diffs again")
    parser.add_argument("--write", action="store_true", help="write the section of docs/findings.md")
    parser.add_argument(
        "--folder", type=Path, help="where the packages are kept; a temporary one if not given"
    )
    parser.add_argument("--limit", type=int, help="only so many diffs of each language")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        found = packages((given.folder or Path(temporary)).resolve())
        if given.make:
            rows = make(found)
            write_data(rows, found)
            print(json.dumps(Counter(row["language"] for row in rows)))
            return
        rows = _limited(shipped(), given.limit)
        text = section(rows, trials(rows, found), _cpu())
    print(text)
    if given.write:
        page = FINDINGS.read_text(encoding="utf-8")
        FINDINGS.write_text(with_section(page, text), encoding="utf-8")


def _limited(rows: Sequence[Row], limit: int | None) -> list[Row]:
    seen: Counter[str] = Counter()
    kept = []
    for row in rows:
        seen[row["language"]] += 1
        if limit is None or seen[row["language"]] <= limit:
            kept.append(row)
    return kept


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
