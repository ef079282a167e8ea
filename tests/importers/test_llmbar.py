"""LLMBar judgments become two verdicts a line, or an error that names the line."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from voirdire.errors import DataError, UsageError
from voirdire.importers import llmbar

GOOD = {"subset": "S", "idx": 3, "judge": "J", "method": "CoT", "w12": 1, "w21": 2, "label": 2}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def test_one_line_gives_one_verdict_for_each_order(tmp_path: Path) -> None:
    frame = llmbar.read_verdicts(write(tmp_path / "j.jsonl", GOOD)).frame
    assert frame.select(
        "item", "judge", "model", "method", "order", "value", "truth_label", "slots"
    ).rows() == [
        ("S/3", "J CoT", "J", "CoT", "ab", "first", "b", True),
        ("S/3", "J CoT", "J", "CoT", "ba", "first", "b", True),
    ]


@pytest.mark.parametrize(
    ("w12", "w21", "values"),
    [
        (1, 1, ["first", "second"]),
        (2, 2, ["second", "first"]),
        (2, 1, ["second", "second"]),
        (None, 1, [None, "second"]),
    ],
)
def test_a_winner_becomes_the_slot_it_stood_in(
    tmp_path: Path, w12: int | None, w21: int | None, values: list[str | None]
) -> None:
    frame = llmbar.read_verdicts(write(tmp_path / "j.jsonl", {**GOOD, "w12": w12, "w21": w21})).frame
    assert frame["value"].to_list() == values


def test_a_null_winner_is_missing_with_a_reason(tmp_path: Path) -> None:
    frame = llmbar.read_verdicts(write(tmp_path / "j.jsonl", {**GOOD, "w21": None})).frame
    assert frame["missing_because"].to_list() == [None, "the record names no winner"]


def test_rating_methods_have_no_slots(tmp_path: Path) -> None:
    rows = ({**GOOD, "method": method} for method in ("Rating", "Rating_NoRules", "Vanilla"))
    frame = llmbar.read_verdicts(write(tmp_path / "j.jsonl", *rows)).frame
    assert frame["slots"].to_list() == [False, False, False, False, True, True]


def test_packed_and_plain_files_read_alike(tmp_path: Path) -> None:
    plain = write(tmp_path / "j.jsonl", GOOD)
    packed = tmp_path / "j.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert llmbar.read_verdicts(packed).frame.equals(llmbar.read_verdicts(plain).frame)


def test_labels_may_stand_in_the_instances_beside(tmp_path: Path) -> None:
    write(tmp_path / "instances.jsonl", {"subset": "S", "idx": 3, "label": 1})
    row = {key: value for key, value in GOOD.items() if key != "label"}
    frame = llmbar.read_verdicts(write(tmp_path / "j.jsonl", row)).frame
    assert frame["truth_label"].unique().to_list() == ["a"]


def without(key: str) -> dict[str, object]:
    return {name: value for name, value in GOOD.items() if name != key}


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({**GOOD, "w12": 3, "idx": 4}, "'w12' is 3"),
        ({**GOOD, "w12": True, "idx": 4}, "'w12' is true"),
        ({**GOOD, "w12": "1", "idx": 4}, "'w12' is \"1\""),
        ({**GOOD, "label": 0, "idx": 4}, "'label' is 0"),
        ({**GOOD, "idx": -1}, "'idx' must be an integer of zero or more, not -1"),
        ({**GOOD, "judge": ""}, "'judge' must be a text, not \"\""),
        (without("w21") | {"idx": 4}, "there is no 'w21', only ['idx', 'judge'"),
        (without("label") | {"idx": 4}, "nothing says which output is better"),
        (GOOD, "J CoT on S 3 stands on line 1 already"),
        ("[1, 2]", "a JSON object was expected, not [1, 2]"),
        ('{"subset": "S"', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"idx": ' + "9" * 5000 + "}", "not JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, second: object, message: str) -> None:
    path = write(tmp_path / "j.jsonl", GOOD, second)
    with pytest.raises(DataError) as raised:
        llmbar.read_verdicts(path)
    assert str(raised.value).startswith(f"{path}, line 2: {message}")


def test_an_unknown_value_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        llmbar.read_verdicts(write(tmp_path / "j.jsonl", {**GOOD, "w12": "A" * 500}))
    assert raised.value.hint == "known values: 1, 2, null"
    assert len(str(raised.value)) < 200 + len(str(tmp_path))


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(GOOD).encode() * 50)[:-12])
    with pytest.raises(DataError, match="the gzip file is broken"):
        llmbar.read_verdicts(path)


def test_other_bytes_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"subset": "\xff"}\n')
    with pytest.raises(DataError, match="not UTF-8"):
        llmbar.read_verdicts(path)


def test_an_empty_file_holds_no_judgments(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no judgments in it"):
        llmbar.read_verdicts(write(tmp_path / "j.jsonl", ""))


def test_an_absent_file_is_the_callers_to_fix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        llmbar.read_verdicts(tmp_path / "none.jsonl")


def test_it_knows_its_own_format() -> None:
    assert llmbar.sniff(json.dumps(GOOD) + "\n{")
    assert not llmbar.sniff(json.dumps(without("w21")))
    assert not llmbar.sniff("")


def test_missing_values_keep_their_column_types(tmp_path: Path) -> None:
    frame = llmbar.read_verdicts(write(tmp_path / "j.jsonl", {**GOOD, "w12": None, "w21": None})).frame
    assert frame.schema["value"] == pl.String
    assert frame.schema["truth_passed"] == pl.Boolean
