"""MBPP tasks in their three shapes."""

import json
from pathlib import Path

import pytest

from tests.importers._code_files import write_lines
from voirdire.errors import DataError
from voirdire.importers.mbpp import entry_point, read_tasks, sniff
from voirdire.model import TestStyle

ORIGINAL = {
    "task_id": 7,
    "text": "Write a function to subtract.",
    "code": "def helper(a):\r\n    return a\r\ndef sub(a, b):\r\n    return helper(a) - b",
    "test_list": ["assert sub(3, 1) == 2", "assert sub(1, 1) == 0"],
    "test_setup_code": "x = 1",
    "challenge_test_list": [],
}

FUNCTION = {
    "task_id": "MBPP/7",
    "prompt": "def sub(a, b):\n",
    "entry_point": "sub",
    "canonical_solution": "    return a - b\n",
    "test": "def check(candidate):\n    assert candidate(3, 1) == 2\n",
}

WHOLE = Path(__file__).parents[3] / "shared" / "data" / "code-samples"


def test_assertions_name_the_entry_point_that_the_prompt_does_not(tmp_path: Path) -> None:
    (task,) = read_tasks(write_lines(tmp_path / "mbpp.jsonl", [ORIGINAL]))
    assert (task.id, task.entry_point, task.style, task.setup) == (
        "MBPP/7",
        "sub",
        TestStyle.ASSERTS,
        "x = 1",
    )
    assert task.tests == "assert sub(3, 1) == 2\nassert sub(1, 1) == 0\n"
    assert task.reference == ORIGINAL["code"]


def test_the_sanitized_list_in_one_document(tmp_path: Path) -> None:
    row = {**ORIGINAL, "prompt": "Subtract.", "test_imports": ["import math"]}
    del row["text"], row["test_setup_code"]
    path = tmp_path / "sanitized-mbpp.json"
    path.write_text(json.dumps([row]))
    (task,) = read_tasks(path)
    assert (task.prompt, task.setup) == ("Subtract.", "import math")


def test_function_prompts(tmp_path: Path) -> None:
    (task,) = read_tasks(write_lines(tmp_path / "mbpp.jsonl", [FUNCTION]))
    assert (task.style, task.reference) == (TestStyle.CHECK, "def sub(a, b):\n    return a - b\n")


def test_an_entry_point_that_cannot_be_found_is_none() -> None:
    assert entry_point("def f(): pass", ["assert g() == 1"]) is None
    assert entry_point("def f(: pass", ["assert f() == 1"]) is None
    assert entry_point("def f(): pass", ["assert set(f()) == 1"]) == "f"


def test_tests_that_are_no_texts_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: 'test_list' must be a list of texts"):
        read_tasks(write_lines(tmp_path / "mbpp.jsonl", [{**ORIGINAL, "test_list": [1]}]))


def test_sniff_knows_each_shape() -> None:
    assert sniff(json.dumps(ORIGINAL))
    assert sniff(json.dumps(FUNCTION))
    assert not sniff(json.dumps({**FUNCTION, "task_id": "HumanEval/7"}))


@pytest.mark.skipif(not WHOLE.exists(), reason="the whole set is not here")
def test_every_published_task_has_its_entry_point() -> None:
    tasks = read_tasks(WHOLE / "mbpp_problems.jsonl")
    assert len(tasks) == 974
    assert all(task.entry_point for task in tasks)
    assert len(read_tasks(WHOLE / "mbpp_sanitized.jsonl")) == 427
