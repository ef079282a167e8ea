"""Outcome-bias ratings become one verdict a rating, or an error that names the line."""

import json
from pathlib import Path

import pytest

from voirdire.errors import DataError
from voirdire.importers import outcome_bias

GOOD = {
    "judge": "J",
    "study": 1,
    "scenario": "flood",
    "outcome": "harm",
    "P_post": 5.0,
    "GR_post": 95,
    "Reckless": 2.0,
    "Negligent": 3.0,
    "Blame": 1.0,
    "Punish": 7.0,
}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_one_line_gives_one_verdict_for_each_rating(tmp_path: Path) -> None:
    frame = outcome_bias.read_verdicts(write(tmp_path / "r.jsonl", GOOD)).frame
    assert frame.select("item", "task", "study", "outcome", "question", "value", "repeat").rows() == [
        ("study 1/flood/harm", "flood", 1, "harm", "P_post", 5.0, 0),
        ("study 1/flood/harm", "flood", 1, "harm", "GR_post", 95.0, 0),
        ("study 1/flood/harm", "flood", 1, "harm", "Reckless", 2.0, 0),
        ("study 1/flood/harm", "flood", 1, "harm", "Negligent", 3.0, 0),
        ("study 1/flood/harm", "flood", 1, "harm", "Blame", 1.0, 0),
        ("study 1/flood/harm", "flood", 1, "harm", "Punish", 7.0, 0),
    ]


def test_completions_of_one_item_are_counted(tmp_path: Path) -> None:
    other = {**GOOD, "outcome": "no_harm"}
    frame = outcome_bias.read_verdicts(write(tmp_path / "r.jsonl", GOOD, other, GOOD)).frame
    blame = frame.filter(question="Blame")
    assert blame.select("outcome", "repeat").rows() == [("harm", 0), ("no_harm", 0), ("harm", 1)]


@pytest.mark.parametrize(
    ("value", "reason"),
    [(None, "the record holds no rating"), (8, "8 is outside 1 to 7"), (0.5, "0.5 is outside 1 to 7")],
)
def test_a_rating_that_cannot_be_one_is_missing(tmp_path: Path, value: float | None, reason: str) -> None:
    frame = outcome_bias.read_verdicts(write(tmp_path / "r.jsonl", {**GOOD, "Blame": value})).frame
    assert frame.filter(question="Blame").select("value", "missing_because").row(0) == (None, reason)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": "bad"}, "'outcome' is \"bad\""),
        ({"Blame": "four"}, "'Blame' must be a number or null, not \"four\""),
        ({"Blame": True}, "'Blame' must be a number or null, not true"),
        ({"Blame": float("nan")}, "'Blame' must be a number or null, not NaN"),
        ({"study": "1"}, "'study' must be an integer of zero or more, not \"1\""),
        ({"scenario": None}, "'scenario' must be a text, not null"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = write(tmp_path / "r.jsonl", GOOD, {**GOOD, **change})
    with pytest.raises(DataError) as raised:
        outcome_bias.read_verdicts(path)
    assert str(raised.value).startswith(f"{path}, line 2: {message}")


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    row = {key: value for key, value in GOOD.items() if key != "Punish"}
    with pytest.raises(DataError, match="line 1: there is no 'Punish'"):
        outcome_bias.read_verdicts(write(tmp_path / "r.jsonl", row))


def test_it_knows_its_own_format() -> None:
    assert outcome_bias.sniff(json.dumps(GOOD))
    assert not outcome_bias.sniff(json.dumps({"judge": "J"}))
