"""Checklist and outcome files: round trips, and every mistake named with its file, line and key."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from voirdire.errors import DataError, UsageError
from voirdire.mining.checklists import (
    Evidence,
    Generator,
    ItemKind,
    TaskChecklist,
    WrittenItem,
    read_checklists,
    write_checklists,
)
from voirdire.mining.outcomes import read_outcomes
from voirdire.model import TruthStatus

HEADER = {"schema": "voirdire.checklists/1", "generator": {"name": "by hand"}}
ITEM = {"id": "one", "kind": "does", "text": "It does.", "weight": 2}
ONE = TaskChecklist(
    "t1", "a" * 40, (WrittenItem("one", ItemKind.DOES, "It does.", 2.0, (Evidence("a.py", 1, 2, "x\ny"),)),)
)
NONE = TaskChecklist("t2", "b" * 40, missing_because="over budget: steps")


def written(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    write_checklists(path, Generator("m", "f" * 64, {"steps": 3}), [ONE, NONE])
    found = read_checklists(path)
    assert found.checklists == {"t1": ONE, "t2": NONE}
    assert found.generator == Generator("m", "f" * 64, {"steps": 3})
    assert found.written == [ONE]


def test_checklists_by_hand_are_told_apart_by_what_they_say(tmp_path: Path) -> None:
    prints = {
        read_checklists(
            written(tmp_path / "c.jsonl", [HEADER, {"task": "t", "items": [{**ITEM, "weight": weight}]}])
        ).generator.fingerprint
        for weight in (1, 2, 2.0)
    }
    assert len(prints) == 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "1: the header line of a checklist file is missing"),
        ([{"schema": "voirdire.tasks/1"}], "1: the header line"),
        ([{**HEADER, "who": 1}], "1: 'who'"),
        ([{**HEADER, "generator": {}}], "1: 'generator.name'"),
        ([HEADER, {"task": "t", "items": [{**ITEM, "wieght": 1}]}], "2: 'items.0.wieght'"),
        ([HEADER, {"task": "t", "items": []}], "2: "),
        ([HEADER, {"task": "t", "items": [ITEM], "missing_because": "x"}], "missing_because"),
        (
            [HEADER, {"task": "t", "items": [ITEM]}, {"task": "t", "items": [ITEM]}],
            "3: the task 't' stands there twice",
        ),
        ([HEADER, ["t"]], "2: "),
    ],
)
def test_a_wrong_checklist_file_is_refused(tmp_path: Path, rows: Sequence[object], said: str) -> None:
    with pytest.raises(DataError) as caught:
        read_checklists(written(tmp_path / "c.jsonl", rows))
    assert said in str(caught.value)
    assert caught.value.hint


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    for read in (read_checklists, read_outcomes):
        with pytest.raises(UsageError, match="cannot be read"):
            read(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="cannot be written"):
        write_checklists(tmp_path / "no" / "c.jsonl", Generator("m", "f" * 64), [ONE])


OUTCOMES = {"schema": "voirdire.outcomes/1"}


def test_outcomes_are_read_by_key(tmp_path: Path) -> None:
    row = {"key": "t/h/0", "status": "failed", "f2p_passed": 0, "f2p_total": 2, "output": "no"}
    found = read_outcomes(written(tmp_path / "o.jsonl", [OUTCOMES, row]))
    assert found["t/h/0"].status is TruthStatus.FAILED
    assert (found["t/h/0"].f2p_total, found["t/h/0"].p2p_total) == (2, None)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"key": "k"}, "'status'"),
        ({"key": "k", "status": "solved"}, "'status'"),
        ({"key": "k", "status": "passed", "f2p_passed": 3, "f2p_total": 2}, "3 of 2 tests passed"),
        ({"key": "k", "status": "passed", "f2p_passed": 3}, "3 of None tests passed"),
        ({"key": "k", "status": "passed", "note": ""}, "'note'"),
        ([], "'the line'"),
    ],
)
def test_a_wrong_outcome_is_refused(tmp_path: Path, row: Any, said: str) -> None:
    with pytest.raises(DataError) as caught:
        read_outcomes(written(tmp_path / "o.jsonl", [OUTCOMES, row]))
    assert said in str(caught.value)


def test_an_outcome_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    good = {"key": "k", "status": "passed"}
    path = written(tmp_path / "o.jsonl", [OUTCOMES, good, good])
    with pytest.raises(DataError, match=r"o\.jsonl:3: 'k' stands there twice"):
        read_outcomes(path)


def test_the_example_is_a_checklist_file() -> None:
    example = Path(__file__).parents[2] / "examples/checklists/this-repository.jsonl"
    assert [len(one.items) for one in read_checklists(example).written] == [4, 4, 4]
