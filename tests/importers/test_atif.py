"""ATIF: read strictly, every fault with its place, and rendered for the judge."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from voirdire.errors import DataError, UsageError
from voirdire.importers.atif import from_data, log_of, read_items, read_trajectory, sniff, to_data, validate

SHARED = Path(__file__).parents[3] / "shared"

GOOD: dict[str, Any] = {
    "schema_version": "ATIF-v1.8",
    "session_id": "run-1",
    "agent": {"name": "some-agent", "version": "1.0", "model_name": "model-a"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Fix it."},
        {
            "step_id": 2,
            "source": "agent",
            "message": "Look first.",
            "reasoning_content": "Read the file.",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "cat x"}}
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c1", "content": "def f(): pass"},
                    {"content": [{"type": "text", "text": "note"}, {"type": "image", "source": {}}]},
                ]
            },
            "metrics": {"prompt_tokens": 10},
        },
        {"step_id": 3, "source": "agent", "message": "Fixed."},
    ],
}


def broken(path: str, value: object) -> dict[str, Any]:
    data: Any = deepcopy(GOOD)
    at: Any = data
    *outer, last = path.split("/")
    for token in outer:
        at = at[int(token)] if isinstance(at, list) else at[token]
    if value is None:
        del at[last]
    else:
        at[int(last) if isinstance(at, list) else last] = value
    return dict(data)


def test_a_trajectory_is_read_and_rendered_with_results_below_their_calls() -> None:
    log = log_of(from_data(GOOD, where="x"))
    assert log.text(numbered=True) == (
        "1. user:\n  Fix it.\n\n2. agent thinks:\n  Read the file.\n\n2. agent:\n  Look first.\n\n"
        "2. agent calls bash:\n  command: cat x\n\n2. bash returns:\n  def f(): pass\n\n"
        "2. tool returns:\n  note\n\n2. tool returns:\n  [image]\n\n3. agent:\n  Fixed."
    )


def test_what_is_written_validates_and_reads_back() -> None:
    once = to_data(from_data(GOOD, where="x"))
    validate(once, where="x")
    assert to_data(from_data(once, where="x")) == once


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("schema_version", "ATIF-v2.0", "schema_version"),
        ("schema_version", None, "'schema_version' is missing"),
        ("agent/name", "", "agent/name"),
        ("agent/version", None, "'agent/version' is missing"),
        ("steps", [], "'steps'"),
        ("steps/1/step_id", 3, "/steps/1/step_id: it is 3"),
        ("steps/0/source", "tool", "'steps/0/source'"),
        ("steps/0/message", None, "'steps/0/message' is missing"),
        ("steps/0/mood", "good", "'steps/0/mood' is not a key that is known here"),
        ("steps/0/tool_calls", [], "/steps/0/tool_calls: only an agent's step"),
        ("steps/0/reasoning_content", "hm", "/steps/0/reasoning_content: only an agent's step"),
        ("steps/1/tool_calls/0/arguments", "cat x", "steps/1/tool_calls/0/arguments"),
        ("steps/1/observation/results/0/source_call_id", "c9", "no call of this step has the id 'c9'"),
        (
            "steps/1/observation/results/0/subagent_trajectory_ref",
            [{"trajectory_id": "gone"}],
            "there is no sub-agent 'gone'",
        ),
    ],
)
def test_a_fault_is_named_with_its_place(path: str, value: object, said: str) -> None:
    with pytest.raises(DataError) as caught:
        validate(broken(path, value), where="file.json")
    assert str(caught.value).startswith("file.json: ")
    assert said in str(caught.value)
    assert caught.value.hint


def test_copied_context_is_not_judged_twice() -> None:
    data = broken("steps/0/is_copied_context", True)
    log = log_of(from_data(data, where="x"))
    assert log.copied == 1
    assert "Fix it." not in log.text()


def test_an_item_is_made_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode())
    assert sniff(path.read_text(encoding="utf-8")[:500])
    (item,) = read_items(path)
    assert item["log"].startswith("1. user:")
    assert item.origin is not None
    assert (item.origin.author, item.origin.harness) == ("model-a", "some-agent 1.0")


@pytest.mark.parametrize("text", ["{", "[]", "7", "null", "[" * 200_000])
def test_what_is_no_trajectory_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"run\.json: "):
        read_trajectory(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        read_trajectory(tmp_path / "gone.json")


@pytest.mark.skipif(not SHARED.exists(), reason="the sample collection is not here")
def test_the_sample_with_a_subagent_goes_through() -> None:
    found = read_trajectory(SHARED / "samples/atif/trajectory.json")
    assert [one.trajectory_id for one in found.subagents] == ["sub-1"]
    assert found.steps[3].results[0].subagents == ("sub-1",)
    assert len(log_of(found).steps) == 5
