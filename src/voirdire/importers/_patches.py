"""Files of patches at the door: predictions in their several shapes, and test groups kept apart."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from voirdire.errors import DataError
from voirdire.importers._json_lines import Row
from voirdire.importers._samples import Gathering, document_of, lines_of, rows_or_list
from voirdire.model import (
    FileFault,
    FileFaultKind,
    GroundTruth,
    Item,
    Origin,
    OutcomeFile,
    TestGroup,
    TruthSource,
    TruthStatus,
)

FAIL_TO_PASS = "FAIL_TO_PASS"
PASS_TO_PASS = "PASS_TO_PASS"

Ids = Mapping[str, frozenset[str]]
"""Test ids by group."""


def predictions(path: Path, gathering: Gathering) -> Iterator[tuple[str, Row]]:
    """Yield where each prediction stands, and the prediction: of JSON lines, a JSON list, or a dict by instance."""
    if path.name.removesuffix(".gz").endswith(".jsonl"):
        for row in lines_of(path, gathering):
            yield f"line {row.line}", row
        return
    document = document_of(path)
    if isinstance(document, dict) and not {"instance_id", "model_patch"} <= document.keys():
        for number, (name, value) in enumerate(document.items(), start=1):
            if isinstance(value, dict):
                yield name, Row(path, number, {"instance_id": name, **value})
            else:
                gathering.entries += 1
                gathering.note(name, FileFaultKind.NOT_READABLE, "a prediction is a JSON object")
        return
    for row in rows_or_list(path, gathering):
        yield f"entry {row.line}", row


class Patches:
    """Items as they come in, each system's patch for an instance once."""

    def __init__(self, path: Path) -> None:
        self._gathering = Gathering(path, None)
        self._path = path
        self._items: dict[str, Item] = {}
        self._where: dict[str, str] = {}

    def read(self, read: Callable[[Row], Item]) -> OutcomeFile:
        """Return every item that `read` makes of a prediction, and what was wrong with the others."""
        for where, row in predictions(self._path, self._gathering):
            self._gathering.entries += 1
            try:
                self._keep(where, read(row))
            except DataError as error:
                self._gathering.note(where, FileFaultKind.NOT_READABLE, str(error))
        faults: tuple[FileFault, ...] = tuple(self._gathering.faults)
        if not self._gathering.entries:
            raise DataError(f"{self._path}: no predictions in it", hint="give a file of predictions")
        return OutcomeFile(str(self._path), tuple(self._items.values()), faults)

    def _keep(self, where: str, item: Item) -> None:
        if item.id in self._items:
            message = f"'{item.id}' is on {self._where[item.id]} already"
            self._gathering.note(where, FileFaultKind.DUPLICATE, message)
            return
        self._items[item.id] = item
        self._where[item.id] = where


def item_of(
    instance: str, system: str, patch: str, *, truth: GroundTruth | None, task: Mapping[str, Any] | None
) -> Item:
    """Return a patch as an item: `response` is the patch; `task` and `reference` where the data set is known."""
    parts = {"response": patch}
    if task is not None:
        parts = {
            "task": str(task.get("problem_statement") or ""),
            **parts,
            "reference": str(task.get("patch") or ""),
        }
    return Item(f"{system}/{instance}", parts, Origin(task=instance, author=system), truth)


def truth_of_tests(
    status: TruthStatus, groups: Mapping[str, TestGroup] | None = None, label: str | None = None
) -> GroundTruth:
    """Return what the tests said."""
    return GroundTruth(TruthSource.TESTS, status, groups or {}, label=label)


def dataset_beside(path: Path, names: tuple[str, ...]) -> Mapping[str, Mapping[str, Any]]:
    """Return the rows of the data set by instance, from the first of `names` that stands beside the file."""
    for name in names:
        beside = path.with_name(name)
        if beside.is_file():
            gathering = Gathering(beside, None)
            found = {row.text("instance_id"): row.data for row in lines_of(beside, gathering)}
            if gathering.faults:
                fault = gathering.faults[0]
                raise DataError(f"{beside}, {fault.where}: {fault.message}", hint="a data set must be whole")
            return found
    return {}


def listed(value: Any, read: Callable[[str], Any]) -> frozenset[str]:
    """Return test ids given as a list, or as a text that holds one; DataError where it holds something else."""
    try:
        found = read(value) if isinstance(value, str) else value
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found = None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise DataError(f"a list of test ids was expected, not {json.dumps(value, default=str)[:60]}")
    return frozenset(found)


def counted(ids: Ids, passed: Callable[[str, str], bool]) -> dict[str, TestGroup]:
    """Return how many tests of each group passed."""
    return {
        group: TestGroup(sum(passed(group, test) for test in tests), len(tests))
        for group, tests in ids.items()
    }
