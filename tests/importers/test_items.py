"""Item files: what is read, what is written, and what every wrong file is told."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import DataError
from voirdire.importers.items import json_schema, read_items, sniff, write_items
from voirdire.model import GroundTruth, Item, Origin, TestGroup, TruthSource, TruthStatus

HEADER = '{"schema": "voirdire.items/1"}\n'
GOOD = '{"id": "a", "parts": {"task": "add"}}\n'


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def test_reads_parts_origin_and_truth(tmp_path: Path) -> None:
    line = {
        "id": "he-1",
        "parts": {"task": "Add two numbers.", "response": "def add(a, b): return a + b"},
        "origin": {"task": "HumanEval/1", "author": "m", "harness": "h", "sample": 3, "language": "python"},
        "truth": {
            "source": "tests",
            "status": "passed",
            "groups": {"base": {"passed": 4, "total": 4}},
            "isolation": "namespace",
            "label": "ok",
        },
    }
    assert read_items(written(tmp_path, HEADER + json.dumps(line))) == [
        Item(
            "he-1",
            {"task": "Add two numbers.", "response": "def add(a, b): return a + b"},
            Origin("HumanEval/1", "m", "h", 3, "python"),
            GroundTruth(
                TruthSource.TESTS,
                TruthStatus.PASSED,
                {"base": TestGroup(4, 4)},
                isolation="namespace",
                label="ok",
            ),
        )
    ]


def test_origin_and_truth_may_be_left_out(tmp_path: Path) -> None:
    assert read_items(written(tmp_path, HEADER + GOOD)) == [Item("a", {"task": "add"})]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xef\xbb\xbf" + (HEADER + GOOD).encode(), id="byte order mark"),
        pytest.param((HEADER + GOOD).replace("\n", "\r\n"), id="Windows line ends"),
        pytest.param(f"\n{HEADER}\n\n{GOOD}\n\n", id="blank lines"),
        pytest.param((HEADER + GOOD).rstrip("\n"), id="no newline at the end"),
    ],
)
def test_harmless_differences_are_read(tmp_path: Path, content: str | bytes) -> None:
    assert [item.id for item in read_items(written(tmp_path, content))] == ["a"]


def test_a_line_separator_inside_a_text_does_not_end_the_line(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + '{"id": "a", "parts": {"task": "one\u2028two\x85three"}}\n')
    assert read_items(path)[0]["task"] == "one\u2028two\x85three"


def test_only_a_header_is_no_items(tmp_path: Path) -> None:
    assert read_items(written(tmp_path, HEADER)) == []


WRONG = {
    "empty file": (b"", ": the file is empty"),
    "no header": (GOOD, ":1: the header line is missing"),
    "a list for a header": ("[]\n", ":1: the header line is missing"),
    "another version": ('{"schema": "voirdire.items/2"}\n', ":1: the schema is 'voirdire.items/2'"),
    "more in the header": (
        '{"schema": "voirdire.items/1", "id": "a"}\n',
        ":1: the header holds more than the schema",
    ),
    "Latin-1": (HEADER.encode() + '{"id": "é"'.encode("latin-1"), ":2: byte 39 is not UTF-8"),
    "UTF-16": ((HEADER + GOOD).encode("utf-16"), ":1: byte 0 is not UTF-8"),
    "not JSON": (HEADER + "id: a\n", ":2: not JSON at column 1: expecting value"),
    "an error in the middle": (
        HEADER + '{"id" "a"}\n' + GOOD,
        ":2: not JSON at column 7: expecting ':' delimiter",
    ),
    "two objects on a line": (HEADER + '{"id": "a"} {"id": "b"}\n', ":2: not JSON at column 13: extra data"),
    "cut in a string": (HEADER + GOOD + '{"id": "b", "parts": {"task": "ad', ":3: the line is cut off"),
    "cut after a key": (HEADER + GOOD + '{"id": "b", "parts":', ":3: the line is cut off"),
    "cut before a brace": (HEADER + GOOD + '{"id": "b", "parts": {"task": "x"}', ":3: the line is cut off"),
    "a list": (HEADER + "[1]\n", ":2: an item is a JSON object, not a list"),
    "no id": (HEADER + '{"parts": {"task": "x"}}\n', ":2: 'id' is missing"),
    "empty id": (HEADER + '{"id": "", "parts": {"task": "x"}}\n', ":2: 'id' is empty"),
    "a number for an id": (
        HEADER + '{"id": 7, "parts": {"task": "x"}}\n',
        ":2: 'id' is a number, not a string",
    ),
    "no parts": (HEADER + '{"id": "a"}\n', ":2: 'parts' is missing"),
    "empty parts": (HEADER + '{"id": "a", "parts": {}}\n', ":2: 'parts' is empty"),
    "a number for a part": (
        HEADER + '{"id": "a", "parts": {"task": 3.5}}\n',
        ":2: 'parts.task' is a number, not a string",
    ),
    "null for a part": (
        HEADER + '{"id": "a", "parts": {"task": null}}\n',
        ":2: 'parts.task' is null, not a string",
    ),
    "NaN": (HEADER + '{"id": "a", "parts": {"task": NaN}}\n', ":2: NaN is not JSON"),
    "a text outside parts": (
        HEADER + '{"id": "a", "task": "x", "parts": {"b": "c"}}\n',
        ":2: there is no field 'task'",
    ),
    "a key twice": (
        HEADER + '{"id": "a", "parts": {"x": "1", "x": "2"}}\n',
        ":2: the key 'x' stands twice in one object",
    ),
    "an id twice": (HEADER + GOOD + GOOD, ":3: the id 'a' is taken by line 2"),
    "half a character": (HEADER + '{"id": "a", "parts": {"task": "\\ud83d"}}\n', ":2: a text holds half"),
    "an unknown status": (
        HEADER + '{"id": "a", "parts": {"task": "x"}, "truth": {"source": "tests", "status": "ok"}}\n',
        ":2: 'truth.status': input should be 'passed', 'failed'",
    ),
    "true for a count": (
        HEADER
        + '{"id": "a", "parts": {"t": "x"}, "truth": {"source": "tests", "status": "passed", '
        + '"groups": {"base": {"passed": true, "total": 1}}}}\n',
        ":2: 'truth.groups.base.passed': input should be a valid integer",
    ),
    "nested without end": (HEADER + '{"id":' + "[" * 100_000 + "\n", ":2: nested too deeply"),
    "a number without end": (HEADER + '{"id":' + "9" * 10_000 + "}\n", ":2: Exceeds the limit"),
}


@pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_file_is_told_where_and_what_next(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(DataError) as caught:
        read_items(path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert caught.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file") as caught:
        read_items(tmp_path / "none.jsonl")
    assert "voirdire init" in caught.value.hint


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: is a directory"):
        read_items(tmp_path)


text = st.text(st.characters(exclude_categories=["Cs"]))
origins = st.builds(
    Origin, *[st.none() | text] * 3, st.none() | st.integers(-(2**40), 2**40), st.none() | text
)
groups = st.dictionaries(text, st.builds(TestGroup, st.integers(0, 99), st.integers(0, 99)), max_size=2)
truths = st.builds(
    GroundTruth,
    st.sampled_from(TruthSource),
    st.sampled_from(TruthStatus),
    groups,
    st.none() | text,
    st.none() | text,
)
items = st.builds(
    Item,
    text.filter(bool),
    st.dictionaries(text, text, min_size=1, max_size=3),
    st.none() | origins,
    st.none() | truths,
)


@given(st.lists(items, unique_by=lambda item: item.id, max_size=4))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, given_items: list[Item]
) -> None:
    path = tmp_path_factory.mktemp("items") / "items.jsonl"
    write_items(given_items, path)
    assert read_items(path) == given_items
    assert sniff(path.read_text(encoding="utf-8"))


def test_two_items_with_one_id_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    with pytest.raises(DataError, match="2 items have the id 'a'"):
        write_items([Item("a", {"x": "1"}), Item("a", {"x": "2"})], path)
    assert not path.exists()


def test_an_item_that_cannot_be_written_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + GOOD)
    with pytest.raises(DataError, match="surrogate"):
        write_items([Item("a", {"x": "\ud83d"})], path)
    assert path.read_text() == HEADER + GOOD


@pytest.mark.parametrize(
    ("head", "is_ours"),
    [(HEADER, True), ("\ufeff" + HEADER, True), (GOOD, False), ("", False), (GOOD + HEADER, False)],
)
def test_sniff_knows_the_header(head: str, is_ours: bool) -> None:
    assert sniff(head) is is_ours


def test_the_schema_names_every_field() -> None:
    published = json.dumps(json_schema())
    for name in (
        "id",
        "parts",
        "origin",
        "truth",
        "sample",
        "status",
        "groups",
        "isolation",
        "infrastructure",
    ):
        assert f'"{name}"' in published
