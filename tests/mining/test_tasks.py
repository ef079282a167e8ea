"""Task files: written and read again, schema, and every complaint with its line."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from voirdire.errors import DataError, UsageError
from voirdire.mining.tasks import ChangedFile, Header, MinedTask, TaskPatch, json_schema, read_tasks, writing

TASK = MinedTask(
    id="0123456789abcdef",
    commit="0123456789abcdef" + "0" * 24,
    base="1" * 40,
    made=1_700_000_000,
    brief="Größe zählen\nin Zeilen",
    reference=TaskPatch("diff --git a/x b/x\n", {"email": 1}, applies=False),
    test_patch=TaskPatch(""),
    files=(ChangedFile("x", 1, 2), ChangedFile("tests/y", 1, 2, test=True, before="tests/z")),
    left_out=("go.sum",),
    brief_removed={"trailer": 2},
)


def written(path: Path, *tasks: MinedTask) -> Path:
    with writing(path, Header("2" * 40, "commits")) as writer:
        for task in tasks:
            writer.write(task)
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    assert list(read_tasks(written(tmp_path / "t.jsonl", TASK))) == [TASK]


def test_every_line_fits_the_schema(tmp_path: Path) -> None:
    Draft202012Validator.check_schema(json_schema())
    checked = Draft202012Validator(json_schema())
    rows = [json.loads(line) for line in written(tmp_path / "t.jsonl", TASK).read_text("utf-8").splitlines()]
    assert [list(checked.iter_errors(row)) for row in rows] == [[], []]
    assert list(checked.iter_errors({**rows[1], "more": 1}))


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"

    def stopped() -> None:
        with writing(path, Header("2" * 40, "commits")) as writer:
            writer.write(TASK)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda lines: lines[1:], ":1: the header line"),
        (lambda lines: ['{"schema": "voirdire.tasks/9"}', *lines[1:]], "voirdire.tasks/9"),
        (lambda lines: [lines[0], lines[1][:-30]], ":2: the line is"),
        (lambda lines: [*lines, lines[1]], ":3: the id"),
        (lambda lines: [lines[0], lines[1].replace('"made": 1700000000', '"made": "1"')], ":2: 'made'"),
        (lambda lines: [lines[0], lines[1].replace('"brief"', '"briefs"')], ":2: 'brief"),
        (lambda lines: [lines[0], lines[1].replace("1111", "--al")], ":2: 'base'"),
        (lambda lines: [lines[0], "[" * 100_000], ":2: the line is"),
        (lambda lines: [lines[0], "\udcff"], ":2: the line is"),
    ],
)  # fmt: skip
def test_complaints_name_file_and_line(tmp_path: Path, spoil: object, said: str) -> None:
    assert callable(spoil)
    path = written(tmp_path / "t.jsonl", TASK)
    lines = spoil(path.read_text("utf-8").splitlines())
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError) as caught:
        list(read_tasks(path))
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_empty_file_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").touch()
    with pytest.raises(DataError, match="header"):
        list(read_tasks(tmp_path / "t.jsonl"))
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_tasks(tmp_path / "none.jsonl"))
    with pytest.raises(UsageError, match="cannot be written"):
        written(tmp_path / "no" / "t.jsonl")
