"""Plain JSON lines: programs, completions and answers, numbered or not."""

import json
from pathlib import Path

import pytest

from tests.importers._code_files import write_lines
from voirdire.importers.code_samples import read_samples, sniff
from voirdire.languages.fences import Reading
from voirdire.model import CodeTask, FileFaultKind, TestGroup, TestStyle, TruthStatus

WHOLE = Path(__file__).parents[3] / "shared" / "data" / "code-samples" / "ldb_reflexion.jsonl.gz"


def test_each_form_becomes_a_program(tmp_path: Path) -> None:
    answer = "Here:\n```python\nx = 1\n```\n```\nout\n```\n"
    rows = [
        {"task_id": "t", "code": "x = 0\n"},
        {"task_id": "t", "completion": "    pass\n"},
        {"task_id": "t", "answer": answer},
        {"task": "t", "response": "no code"},
        {"task_id": "t", "program": "x = 4", "response": "raw"},
    ]
    path = write_lines(tmp_path / "mine.jsonl", rows)
    tasks = {"t": CodeTask("t", "def f():\n", "", TestStyle.CHECK)}
    read = read_samples(path, tasks)
    assert [one.code for one in read.samples] == [
        "x = 0\n",
        "def f():\n    pass\n",
        "out\n",
        "no code",
        "x = 4",
    ]
    assert [one.reading for one in read.samples] == ["", "", "last fenced block", "the whole answer", ""]
    assert [one.text for one in read.samples][2:] == [answer, "no code", "raw"]
    assert [one.number for one in read.samples] == [0, 1, 2, 3, 4]
    first = read_samples(path, tasks, reading=Reading.FIRST)
    assert first.samples[2].code == "x = 1\n"


def test_a_numbered_sample_that_comes_twice_is_a_duplicate(tmp_path: Path) -> None:
    row = {"task_id": "t", "system": "s", "sample": 3, "code": "x"}
    rows = [row, {**row, "code": "y"}, {**row, "system": "other"}, {**row, "sample": 4}]
    read = read_samples(write_lines(tmp_path / "mine.jsonl", rows))
    assert [(fault.where, fault.kind) for fault in read.faults] == [
        ("line 2", FileFaultKind.DUPLICATE),
        ("line 4", FileFaultKind.SAME_TEXT),
    ]
    assert "line 1" in read.faults[0].message
    assert [(one.system, one.number, one.code) for one in read.samples] == [
        ("s", 3, "x"),
        ("other", 3, "x"),
        ("s", 4, "x"),
    ]


@pytest.mark.parametrize(
    ("known", "status"),
    [
        ({"passed": True, "n_pass": 7, "n_run": 7}, TruthStatus.PASSED),
        (
            {"passed": False, "parses": False, "n_pass": 0, "n_run": 0, "error": "SyntaxError"},
            TruthStatus.UNPARSABLE,
        ),
        ({"passed": False, "error": "timeout"}, TruthStatus.TIMEOUT),
        ({"passed": False, "n_pass": 2, "n_run": 7}, TruthStatus.FAILED),
    ],
)
def test_what_is_known_of_a_sample(tmp_path: Path, known: dict[str, object], status: TruthStatus) -> None:
    path = write_lines(tmp_path / "mine.jsonl", [{"task_id": "t", "code": "x", **known}])
    (sample,) = read_samples(path).samples
    assert sample.truth is not None
    assert sample.truth.status is status
    run = known.get("n_run")
    assert dict(sample.truth.groups) == (
        {"tests": TestGroup(int(str(known["n_pass"])), int(str(run)))} if run else {}
    )


def test_a_flag_that_is_no_flag_is_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "mine.jsonl", [{"task_id": "t", "code": "x", "passed": "yes"}])
    (fault,) = read_samples(path).faults
    assert (fault.where, fault.message) == ("line 1", "'passed' must be true or false, not \"yes\"")


def test_sniff_knows_samples_and_no_tasks() -> None:
    assert sniff(json.dumps({"task_id": "t", "code": "x"}))
    assert sniff(json.dumps({"task": "t", "answer": "x"}))
    assert not sniff(json.dumps({"task_id": "t", "code": "x", "test_list": []}))
    assert not sniff(json.dumps({"task_id": "t"}))


@pytest.mark.slow
@pytest.mark.skipif(not WHOLE.exists(), reason="the whole set is not here")
def test_the_real_programs_of_six_models() -> None:
    read = read_samples(WHOLE)
    assert len(read.samples) == read.entries == 6487
    assert len({one.system for one in read.samples}) == 15
    assert (
        sum(one.truth is not None and one.truth.status is TruthStatus.UNPARSABLE for one in read.samples)
        == 52
    )
