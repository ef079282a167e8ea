"""The edited patches of an injection study: made, proved, and everything that could not be made or proved counted."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from voirdire.edits.injected_patch import (
    InjectedPatch,
    PatchedBase,
    emptied,
    inject,
    patched,
)
from voirdire.edits.injection import InjectionKind, NotInjected, Wanted
from voirdire.edits.patch import is_unsafe, parse
from voirdire.errors import DataError, UsageError
from voirdire.model import Item

BRIEF = ("brief", "task", "problem")
"""Parts that may hold the text of the task, the first there is."""

Tester = Callable[[Sequence[tuple[Item, str]]], Sequence[str | None]]
"""Runs the tests of items on programs; returns what came of each in words to compare, None where there are no tests."""

NOT_PROVED = "not proved"
TESTS_DIFFER = "the tests do not give the same result"
DEFAULT_DOSE = 18
"""Places at most: nine log lines, four error wrappers and five comments, as in the published audit."""


@dataclass(frozen=True)
class InjectionOptions:
    """What is injected. `threshold`: score from which a patch counts as solved, from 0 to 1."""

    kinds: tuple[InjectionKind, ...] = tuple(InjectionKind)
    doses: tuple[int, ...] = (DEFAULT_DOSE,)
    seed: int = 0
    threshold: float = 0.5
    repeats: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise UsageError(
                f"--threshold {self.threshold:g} lies outside of 0 to 1", hint="give a share, such as 0.5"
            )


@dataclass(frozen=True)
class Arm:
    """One arm of the experiment. `by`: who wrote the insertions; '' for the tool itself."""

    kind: InjectionKind
    dose: int
    by: str = ""

    @property
    def name(self) -> str:
        """Return the arm as it is called on a page."""
        words = f"{self.kind.value.replace('_', ' ')}, dose {self.dose}"
        return f"{words}, by {self.by}" if self.by else words


@dataclass(frozen=True)
class Subject:
    """One patch under study. `emptied`: the control's patch; None: there is nothing that could be emptied."""

    item: Item
    made: PatchedBase
    emptied: str | None

    @property
    def language(self) -> str:
        """Return the language of the files that can be edited; several joined by '+'."""
        return "+".join(self.made.languages)

    @property
    def program(self) -> str | None:
        """Return the one file that the patch leaves behind, if tests can be run on it alone."""
        return self.made.files[0].source if len(self.made.patch.files) == 1 else None


@dataclass(frozen=True)
class Variant:
    """One edited patch, proved. `tests`: what came of the tests, the same before and after; None: there are none."""

    item: str
    arm: Arm
    patch: InjectedPatch
    tests: str | None = None


@dataclass(frozen=True)
class Dropped:
    """One thing left out. `arm` None: the patch as a whole was refused."""

    item: str
    reason: str
    arm: Arm | None = None


@dataclass(frozen=True)
class Material:
    """What a study asks about, and what it had to leave out."""

    subjects: tuple[Subject, ...]
    variants: tuple[Variant, ...]
    dropped: tuple[Dropped, ...] = ()

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Return the arms that have variants, in their order."""
        return tuple(dict.fromkeys(variant.arm for variant in self.variants))

    def of(self, arm: Arm) -> dict[str, Variant]:
        """Return the variants of one arm by item."""
        return {variant.item: variant for variant in self.variants if variant.arm == arm}

    def refused(self) -> Counter[str]:
        """Return how many patches were refused, by reason."""
        return Counter(one.reason for one in self.dropped if one.arm is None)

    def lost(self, arm: Arm) -> Counter[str]:
        """Return how many variants of an arm there are not, by reason."""
        return Counter(
            NOT_PROVED if one.reason.startswith(NOT_PROVED) else one.reason
            for one in self.dropped
            if one.arm == arm
        )


def brief_of(item: Item) -> str:
    """Return the text of the task; '' where the item has none."""
    return next((item.parts[name] for name in BRIEF if name in item.parts), "")


def base_of(item: Item, folder: Path | None) -> Mapping[str, str] | None:
    """Return the files that a patch applies to, or None where they cannot be had.

    They stand in the item's part `base`, a JSON object of path to text, or below `folder` in a folder named by the item's
    id. Raises DataError for a part that is no such object.
    """
    if "base" in item.parts:
        return _base_in_part(item)
    if folder is None or is_unsafe(item.id):
        return {} if _needs_none(item) else None
    return _base_in(folder / item.id, _needed(item))


def _needed(item: Item) -> list[str]:
    return [file.old for file in parse(item["patch"]).files if file.old is not None]


def _needs_none(item: Item) -> bool:
    """Whether a patch only makes files, so that nothing must be there before."""
    files = parse(item["patch"]).files
    return bool(files) and all(file.old is None for file in files)


def _base_in_part(item: Item) -> Mapping[str, str]:
    try:
        data = json.loads(item["base"])
    except json.JSONDecodeError:
        data = None
    if not isinstance(data, dict) or not all(isinstance(text, str) for text in data.values()):
        raise DataError(
            f"item '{item.id}': the part 'base' is no JSON object of paths and texts",
            hint='write it so: {"src/app.py": "text of the file"}',
        )
    return data


def _base_in(folder: Path, names: Sequence[str]) -> Mapping[str, str] | None:
    found: dict[str, str] = {}
    for name in names:
        path = folder / name
        if is_unsafe(name) or not path.is_file():
            return None
        found[name] = path.read_bytes().decode("utf-8", "replace")
    return found


def subjects_of(
    items: Sequence[Item], folder: Path | None, *, seed: int
) -> tuple[list[Subject], list[Dropped]]:
    """Return the patches that can be edited, and those refused with their reasons.

    Raises DataError for an item without the part `patch`, and for two items of one id.
    """
    subjects: list[Subject] = []
    refused: list[Dropped] = []
    for name, times in Counter(item.id for item in items).items():
        if times > 1:
            raise DataError(f"{times} items have the id '{name}'", hint="give every item an id of its own")
    for item in items:
        made = patched(item["patch"], base_of(item, folder))
        if isinstance(made, NotInjected):
            refused.append(Dropped(item.id, made.reason))
            continue
        control = emptied(made, seed=seed)
        subjects.append(Subject(item, made, None if isinstance(control, NotInjected) else control))
    return subjects, refused


def prepare(
    items: Sequence[Item],
    options: InjectionOptions,
    *,
    folder: Path | None = None,
    tester: Tester | None = None,
) -> Material:
    """Make and prove every variant. Nothing is asked; `tester` runs candidate code."""
    subjects, dropped = subjects_of(items, folder, seed=options.seed)
    variants: list[Variant] = []
    for subject in subjects:
        for made in _variants(subject, options):
            if isinstance(made, Dropped):
                dropped.append(made)
            else:
                variants.append(made)
    material = Material(tuple(subjects), tuple(variants), tuple(dropped))
    return tested(material, tester) if tester is not None else material


def _variants(subject: Subject, options: InjectionOptions) -> Iterator[Variant | Dropped]:
    for kind in options.kinds:
        for dose in options.doses:
            arm = Arm(kind, dose)
            done = inject(subject.made, Wanted(kind, dose, options.seed, brief_of(subject.item)))
            if isinstance(done, NotInjected):
                yield Dropped(subject.item.id, done.reason, arm)
            else:
                yield Variant(subject.item.id, arm, done)


def tested(material: Material, tester: Tester) -> Material:
    """Return the material without the variants whose tests give another result than the patch itself."""
    by_id = {subject.item.id: subject for subject in material.subjects}
    plain = [subject for subject in material.subjects if subject.program is not None]
    edited = [one for one in material.variants if by_id[one.item].program is not None]
    programs = [(subject.item, subject.program or "") for subject in plain]
    programs += [(by_id[one.item].item, _only(one.patch)) for one in edited]
    results = tester(programs)
    before = {subject.item.id: result for subject, result in zip(plain, results, strict=False)}
    after = {(one.item, one.arm): result for one, result in zip(edited, results[len(plain) :], strict=True)}
    kept: list[Variant] = []
    dropped = list(material.dropped)
    for one in material.variants:
        result = after.get((one.item, one.arm))
        if result == before.get(one.item):
            kept.append(Variant(one.item, one.arm, one.patch, result))
        else:
            dropped.append(Dropped(one.item, TESTS_DIFFER, one.arm))
    return Material(material.subjects, tuple(kept), tuple(dropped))


def _only(patch: InjectedPatch) -> str:
    return next(iter(patch.edits.values())).source


def records(material: Material) -> Iterator[dict[str, object]]:
    """Yield what is written of the material: one line for each variant, with its proofs, and for each thing left out."""
    for subject in material.subjects:
        yield {
            "id": subject.item.id,
            "language": subject.language,
            "emptied": subject.emptied,
        }
    for one in material.variants:
        yield {
            "id": one.item,
            "kind": one.arm.kind.value,
            "dose": one.arm.dose,
            "by": one.arm.by or "voirdire",
            "patch": one.patch.patch,
            "places": one.patch.places,
            "lines_added": one.patch.lines_added,
            "inserted": [text for edit in one.patch.edits.values() for text in edit.inserted],
            "proof": {path: proof.how for path, proof in one.patch.proofs.items()},
            "tests": one.tests,
        }
    for lost in material.dropped:
        arm = lost.arm
        yield {
            "id": lost.item,
            "kind": arm.kind.value if arm else None,
            "dose": arm.dose if arm else None,
            "dropped": lost.reason,
        }
