"""human-eval files: what is read, and every kind of bad input by its line."""

import gzip
import json
from pathlib import Path

import pytest

from tests.importers._code_files import FIXTURES, head, write_lines
from voirdire.errors import DataError, UsageError
from voirdire.importers.human_eval import read_samples, read_tasks, sniff
from voirdire.languages.gate import truth_with_parse
from voirdire.languages.parsing import parse
from voirdire.model import CodeTask, FileFaultKind, TestStyle, TruthStatus

FOLDER = FIXTURES / "human_eval"


@pytest.fixture
def tasks() -> dict[str, CodeTask]:
    return {task.id: task for task in read_tasks(FOLDER / "problems.jsonl")}


def test_a_task_carries_its_reference_and_its_tests(tasks: dict[str, CodeTask]) -> None:
    task = tasks["toy/0"]
    assert (task.entry_point, task.style, task.language) == ("sub", TestStyle.CHECK, "python")
    assert task.reference == task.prompt + "    return a - b\n"
    assert task.tests.startswith("def check(candidate):")


def test_a_sample_is_the_prompt_and_its_completion(tasks: dict[str, CodeTask]) -> None:
    read = read_samples(FOLDER / "samples.jsonl", tasks)
    assert [(one.task, one.number, one.line) for one in read.samples] == [
        ("toy/0", 0, 1),
        ("toy/0", 1, 2),
        ("toy/1", 0, 3),
        ("toy/1", 1, 4),
    ]
    assert read.samples[0].code == tasks["toy/0"].prompt + "    return a - b\n"
    assert read.samples[0].text == "    return a - b\n"
    assert read.samples[0].system == "samples"
    assert read.samples[0].truth is None
    assert read.faults == ()
    assert read.account == {"entries": 4, "samples": 4}


def test_results_an_empty_failure_a_time_out_and_a_syntax_error(tasks: dict[str, CodeTask]) -> None:
    read = read_samples(FOLDER / "samples.jsonl_results.jsonl", tasks, system="toy-model")
    truths = [one.truth for one in read.samples]
    assert [truth.status for truth in truths if truth] == [
        TruthStatus.PASSED,
        TruthStatus.FAILED,
        TruthStatus.TIMEOUT,
        TruthStatus.FAILED,
    ]
    assert [truth.label for truth in truths if truth][1] is None
    assert all(truth is not None and not truth.groups for truth in truths)
    assert {one.system for one in read.samples} == {"toy-model"}


def test_only_our_own_parse_says_that_a_failure_does_not_parse(tasks: dict[str, CodeTask]) -> None:
    """The recorded text of a syntax error is not enough: it may come from within the program."""
    last = read_samples(FOLDER / "samples.jsonl_results.jsonl", tasks).samples[3]
    assert last.truth is not None
    assert "never closed" in (last.truth.label or "")
    judged = truth_with_parse(last.truth, parse(last.code))
    assert judged is not None
    assert judged.status is TruthStatus.UNPARSABLE


def test_completions_without_their_tasks_are_no_programs() -> None:
    with pytest.raises(UsageError, match="completions") as error:
        read_samples(FOLDER / "samples.jsonl")
    assert "tasks" in error.value.hint


def good(number: int) -> dict[str, str]:
    return {"task_id": "toy/0", "completion": f"    return {number}\n"}


def test_bad_input_is_named_by_its_line_and_the_rest_is_read(
    tmp_path: Path, tasks: dict[str, CodeTask]
) -> None:
    lines = [
        json.dumps(good(0)).encode(),
        json.dumps({"task_id": "toy/77", "completion": "x"}).encode(),
        json.dumps({"task_id": "toy/0"}).encode(),
        json.dumps({"task_id": "toy/0", "completion": None}).encode(),
        '{"task_id": "toy/0", "completion": "é"}'.encode("latin-1"),
        b"not json",
        b"[1, 2]",
        json.dumps({"task_id": "toy/0", "completion": 7}).encode(),
        json.dumps(good(0)).encode(),
        b"",
        json.dumps(good(1)).encode(),
        json.dumps(good(2)).encode()[:-9],
    ]
    path = tmp_path / "samples.jsonl"
    path.write_bytes(b"\n".join(lines))
    read = read_samples(path, tasks)
    assert [(fault.where, fault.kind) for fault in read.faults] == [
        ("line 2", FileFaultKind.UNKNOWN_TASK),
        ("line 3", FileFaultKind.MISSING_ANSWER),
        ("line 4", FileFaultKind.MISSING_ANSWER),
        ("line 5", FileFaultKind.ENCODING),
        ("line 6", FileFaultKind.NOT_READABLE),
        ("line 7", FileFaultKind.NOT_READABLE),
        ("line 8", FileFaultKind.NOT_READABLE),
        ("line 9", FileFaultKind.SAME_TEXT),
        ("line 12", FileFaultKind.CUT_OFF),
    ]
    assert "toy/77" in read.faults[0].message
    assert "line 1" in read.faults[7].message
    assert [one.line for one in read.samples] == [1, 9, 11]
    assert [one.number for one in read.samples] == [0, 1, 2]
    assert [fault.kept for fault in read.faults if fault.kind is FileFaultKind.SAME_TEXT] == [True]
    assert read.without_samples == ("toy/1",)
    assert read.account == {
        "entries": 11,
        "samples": 3,
        "unknown task": 1,
        "no answer": 2,
        "not UTF-8": 1,
        "not readable": 3,
        "same text as another sample": 1,
        "cut off": 1,
        "tasks without samples": 1,
    }


def test_a_line_cut_within_a_character_is_cut_off(tmp_path: Path, tasks: dict[str, CodeTask]) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_bytes(json.dumps(good(0)).encode() + b'\n{"task_id": "toy/0", "completion": "\xc3')
    assert [fault.kind for fault in read_samples(path, tasks).faults] == [FileFaultKind.CUT_OFF]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_read(tmp_path: Path, tasks: dict[str, CodeTask], encoding: str) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_bytes((json.dumps(good(0)) + "\n").encode(encoding))
    assert len(read_samples(path, tasks).samples) == 1


def test_a_number_of_its_own_tells_a_sample_from_its_double(
    tmp_path: Path, tasks: dict[str, CodeTask]
) -> None:
    name = next(iter(tasks))
    rows = [
        {"task_id": name, "sample": number, "completion": f"    return {number}\n"} for number in (3, 3, 1)
    ]
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    read = read_samples(path, tasks)
    assert [sample.number for sample in read.samples] == [3, 1]
    assert [(fault.where, fault.kind) for fault in read.faults] == [("line 2", FileFaultKind.DUPLICATE)]


def test_packed_files_whole_and_broken_off(tmp_path: Path, tasks: dict[str, CodeTask]) -> None:
    text = "".join(json.dumps(good(number)) + "\n" for number in range(2_000))
    packed = gzip.compress(text.encode())
    path = tmp_path / "samples.jsonl.gz"
    path.write_bytes(packed)
    assert len(read_samples(path, tasks).samples) == 2_000
    path.write_bytes(packed[: len(packed) // 2])
    broken = read_samples(path, tasks)
    assert 0 < len(broken.samples) < 2_000
    assert {fault.kind for fault in broken.faults} <= {FileFaultKind.CUT_OFF}


def test_a_file_without_samples_and_one_that_is_not_there(tmp_path: Path, tasks: dict[str, CodeTask]) -> None:
    with pytest.raises(DataError, match="no samples"):
        read_samples(write_lines(tmp_path / "empty.jsonl", [""]), tasks)
    with pytest.raises(UsageError, match="no file"):
        read_samples(tmp_path / "none.jsonl", tasks)


def test_a_file_of_tasks_must_be_whole(tmp_path: Path) -> None:
    row = json.loads((FOLDER / "problems.jsonl").read_text().splitlines()[0])
    with pytest.raises(DataError, match="line 2: not JSON"):
        read_tasks(write_lines(tmp_path / "cut.jsonl", [row, '{"task_id": ']))
    with pytest.raises(DataError, match="line 1: there is no 'test'"):
        read_tasks(write_lines(tmp_path / "short.jsonl", [_without(row, "test")]))


def test_a_task_that_stands_twice_is_named_with_its_lines(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (FOLDER / "problems.jsonl").read_text().splitlines()[:2]]
    other = {**rows[0], "test": "def check(candidate):\n    pass\n"}
    for doubles, kept in (([rows[0]], True), ([other], False), ([other, rows[0]], False)):
        first, second = read_tasks(write_lines(tmp_path / "twice.jsonl", [*rows, *doubles]))
        assert second.fault is None
        assert first.fault is not None
        assert first.fault.kept is kept
        assert "lines 1 and 3" in first.fault.message


def test_a_task_without_its_reference_is_read(tmp_path: Path) -> None:
    row = json.loads((FOLDER / "problems.jsonl").read_text().splitlines()[0])
    for bare in (_without(row, "canonical_solution"), {**row, "canonical_solution": None}):
        (task,) = read_tasks(write_lines(tmp_path / "bare.jsonl", [bare]))
        assert task.reference is None


def _without(row: dict[str, str], key: str) -> dict[str, str]:
    return {name: value for name, value in row.items() if name != key}


def test_sniff_knows_problems_and_samples() -> None:
    assert sniff(head("human_eval/problems.jsonl"))
    assert sniff(head("human_eval/samples.jsonl"))
    assert not sniff(head("evalplus/samples.jsonl"))
    assert not sniff(head("swe_bench/dataset.jsonl"))
    assert not sniff("")


PROBLEMS_OF_OTHERS = [
    {
        "task_id": "JavaScript/0",
        "prompt": "const add = (a, b) => {\n",
        "canonical_solution": "  return a + b;\n}\n",
        "test": "console.assert(add(1, 2) === 3)\n",
    },
    {
        "task_id": "Go/0",
        "prompt": "func Add(a, b int) int {\n",
        "canonical_solution": "    return a + b\n}\n",
        "test_setup": 'package main\n\nimport "testing"\n',
        "test": "func TestAdd(t *testing.T) {}\n",
    },
    {
        "task_id": "Python/0",
        "prompt": "def add(a, b):\n",
        "canonical_solution": "    return a + b\n",
        "test": "def check(add):\n    assert add(1, 2) == 3\n\ncheck(add)\n",
    },
    {
        "task_id": "mine",
        "language": "ts",
        "prompt": "const one = (): number => ",
        "canonical_solution": "1",
        "test": "",
    },
]


def test_problems_in_other_languages_say_which_by_their_ids_or_by_themselves(tmp_path: Path) -> None:
    rows = [{**row, "test": row["test"] or "console.assert(one() === 1)"} for row in PROBLEMS_OF_OTHERS]
    path = write_lines(tmp_path / "problems.jsonl", rows)
    assert sniff(path.read_text()[:4096])
    javascript, go, python, own = read_tasks(path)
    assert [task.language for task in (javascript, go, python, own)] == [
        "javascript",
        "go",
        "python",
        "typescript",
    ]
    assert {task.style for task in (javascript, go, python, own)} == {TestStyle.ASSERTS}
    assert go.prompt == "package main\n\nfunc Add(a, b int) int {\n"
    assert go.reference == go.prompt + "    return a + b\n}\n"
    assert go.tests.startswith('package main\n\nimport "testing"\n\nfunc TestAdd')
    assert python.entry_point == "add"
    assert javascript.entry_point is None


def test_a_language_that_nobody_knows_is_named_with_its_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "problems.jsonl", [{**PROBLEMS_OF_OTHERS[0], "language": "cobol"}])
    with pytest.raises(DataError, match="line 1: there is no language 'cobol'"):
        read_tasks(path)
