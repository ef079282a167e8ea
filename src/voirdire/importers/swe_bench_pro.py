"""SWE-bench Pro: patches, with the test results of each beside them. Imported, never run.

Groups are counted from `output.json` against the two lists of the data set, which are Python literals in texts. A patch
has passed where every test of both lists passed. `eval_results.json` alone cannot tell a failure from a run without
any output: such a patch is `not_run`.
"""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from voirdire.errors import DataError
from voirdire.importers._json_lines import Row
from voirdire.importers._patches import (
    FAIL_TO_PASS,
    PASS_TO_PASS,
    Patches,
    counted,
    dataset_beside,
    item_of,
    listed,
    truth_of_tests,
)
from voirdire.importers._samples import document_of, first_object
from voirdire.model import GroundTruth, Item, OutcomeFile, TruthStatus

DATASETS = ("raw_sample.jsonl", "dataset.jsonl", "dataset.jsonl.gz")
NO_OUTPUT = "no test results were kept: it failed, or it never ran"


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds SWE-bench Pro patches."""
    first = first_object(head)
    return (
        '"instance_id"' in first
        and '"patch"' in first
        and '"model_patch"' not in first
        and '"repo"' not in first
    )


def read_items(path: Path) -> list[Item]:
    """Return the patches of a file as items, with their truth; see `read_outcomes`."""
    return list(read_outcomes(path).items)


def read_outcomes(path: Path) -> OutcomeFile:
    """Return the patches of a file with the results beside it, in `INSTANCE/PREFIX_output.json`.

    The lists of tests are read from `raw_sample.jsonl` or `dataset.jsonl` in the same folder; without them nothing can
    be counted, and only what `eval_results.json` says to have passed is known.
    """
    tasks = dataset_beside(path, DATASETS)
    said = path.with_name("eval_results.json")
    bits = document_of(said) if said.is_file() else {}
    if not isinstance(bits, dict):
        raise DataError(
            f"{said}: true or false by instance was expected", hint="remove it, or write it again"
        )

    def item(row: Row) -> Item:
        instance, system = row.text("instance_id"), row.text("prefix")
        patch = row.data.get("patch")
        if patch is not None and not isinstance(patch, str):
            raise row.wrong("'patch' must be a text or null")
        task = tasks.get(instance)
        truth = _truth(path.parent, instance, system, patch or "", task, bits.get(instance))
        return item_of(instance, system, patch or "", truth=truth, task=task)

    return Patches(path).read(item)


def _truth(
    folder: Path, instance: str, system: str, patch: str, task: Mapping[str, Any] | None, bit: Any
) -> GroundTruth | None:
    if not patch.strip():
        return truth_of_tests(TruthStatus.NOT_APPLIED, label="empty patch")
    output = folder / instance / f"{system}_output.json"
    if task is None or not output.is_file():
        if bit is True:
            return truth_of_tests(TruthStatus.PASSED)
        return None if bit is None else truth_of_tests(TruthStatus.NOT_RUN, label=NO_OUTPUT)
    passed = _passed(output)
    groups = counted(
        {group: listed(task.get(group.lower()), ast.literal_eval) for group in (FAIL_TO_PASS, PASS_TO_PASS)},
        lambda _, test: test in passed,
    )
    done = all(group.passed == group.total for group in groups.values())
    return truth_of_tests(TruthStatus.PASSED if done else TruthStatus.FAILED, groups)


def _passed(path: Path) -> frozenset[str]:
    """Return the names of the tests that passed; skipped ones did not."""
    document = document_of(path)
    tests = document.get("tests") if isinstance(document, dict) else None
    if not isinstance(tests, list):
        raise DataError(f"{path}: there are no 'tests' in it", hint="remove it, or write it again")
    return frozenset(
        str(test.get("name")) for test in tests if isinstance(test, dict) and test.get("status") == "PASSED"
    )
