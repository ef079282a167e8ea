import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.judges._kit import ITEM, RULE_ITEM, ask_once, asking
from voirdire.errors import DataError, UsageError
from voirdire.judges import open_judge, read_spec
from voirdire.model import Item
from voirdire.questions import Choice

HEADER: dict[str, object] = {"schema": "voirdire.verdicts/1", "judge": "some model, in May"}
PARTS = dict(ITEM.parts)
HARM = {**PARTS, "outcome": "8,412 people got the wrong e-mail"}
RULE = asking(questions=(Choice("rule", "Answer yes or no.", ("yes", "no")),), prompt="May it move?")


def recorded(folder: Path, *rows: dict[str, object], header: dict[str, object] | None = HEADER) -> str:
    path = folder / "verdicts.jsonl"
    lines = [header, *rows] if header is not None else list(rows)
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return f"recorded:{path}"


def row(
    value: object, *, parts: dict[str, str] = PARTS, question: str = "process", **more: object
) -> dict[str, object]:
    return {"item": ITEM.id, "parts": parts, "question": question, "value": value, **more}


def values(
    address: str, item: Item = ITEM, *, reader: str = "first_line", repeat: int = 0
) -> dict[str, object]:
    verdicts = ask_once(read_spec(address), asking(reader), item, repeat)
    return {name: verdict.value for name, verdict in verdicts.items()}


def test_verdicts_are_found_by_item_parts_and_repeat(tmp_path: Path) -> None:
    address = recorded(
        tmp_path,
        row(2), row(1, question="damage"),
        row(3, repeat=1), row(1, question="damage", repeat=1),
        row(0, parts=HARM), row(9, parts=HARM, question="damage"),
    )  # fmt: skip
    harm = ITEM.with_part("outcome", HARM["outcome"])
    assert values(address) == {"process": 2.0, "damage": 1.0}
    assert values(address, repeat=1) == {"process": 3.0, "damage": 1.0}
    assert values(address, harm) == {"process": 0.0, "damage": 9.0}


def test_digests_stand_for_texts_and_further_parts_do_not_matter(tmp_path: Path) -> None:
    digests = {name: sha256(text.encode()).hexdigest().upper() for name, text in PARTS.items()}
    digests["author"] = "0" * 64
    whole: dict[str, object] = {
        "item": ITEM.id,
        "parts_sha256": digests,
        "raw": "PROCESS 3 DAMAGE 5\nReasons.",
    }
    address = recorded(tmp_path, whole)
    assert values(address) == {"process": 3.0, "damage": 5.0}
    assert ask_once(read_spec(address), asking("first_line"))["process"].raw == "PROCESS 3 DAMAGE 5\nReasons."


def test_a_pair_is_found_by_what_stands_first(tmp_path: Path) -> None:
    question = Choice("better", "?", ("first", "second"))
    pair = Item("p", {"task": "t", "response_a": "a", "response_b": "b", "order": "ab"})
    what = asking("exact", (question,), "{{task}} {{first}} {{second}}")
    rows: list[dict[str, object]] = [
        {"item": "p", "parts": {**pair.parts, "order": order}, "question": "better", "value": value}
        for order, value in (("ab", "first"), ("ba", "second"))
    ]
    address = recorded(tmp_path, *rows)
    assert ask_once(read_spec(address), what, pair)["better"].value == "first"
    assert ask_once(read_spec(address), what, pair.with_part("order", "ba"))["better"].value == "second"


def test_probabilities_and_reasons_are_kept(tmp_path: Path) -> None:
    question = Choice("better", "?", ("first", "second"))
    address = recorded(
        tmp_path,
        row(None, question="better", probabilities={"first": 0.25, "second": 0.75}, raw="B"),
        row(None, question="better", missing_because="refusal", repeat=1),
    )
    verdict = ask_once(read_spec(address), asking("exact", (question,)))["better"]
    assert (verdict.value, verdict.probabilities) == ("second", {"first": 0.25, "second": 0.75})
    again = ask_once(read_spec(address), asking("exact", (question,)), repeat=1)["better"]
    assert (again.value, again.missing_because) == (None, "refusal")


@pytest.mark.parametrize(
    ("item", "repeat"),
    [
        (Item("another", PARTS), 0),
        (ITEM, 1),
        (ITEM.with_part("log", "another log"), 0),
    ],
)
def test_what_is_not_there_is_missing(tmp_path: Path, item: Item, repeat: int) -> None:
    address = recorded(tmp_path, row(2), row(1, question="damage"))
    verdict = ask_once(read_spec(address), asking(), item, repeat)["process"]
    assert (verdict.value, verdict.missing_because) == (None, "not recorded")


def test_a_question_that_was_not_recorded_is_missing_alone(tmp_path: Path) -> None:
    verdicts = ask_once(read_spec(recorded(tmp_path, row(2))), asking())
    assert verdicts["process"].value == 2.0
    assert verdicts["damage"].missing_because == "not recorded"


def test_it_cannot_be_asked_its_rule(tmp_path: Path) -> None:
    address = recorded(tmp_path, row(2), row("yes", question="rule"))
    assert ask_once(read_spec(address), RULE, RULE_ITEM)["rule"].missing_because == "not recorded"
    assert ask_once(read_spec(address), RULE, Item(ITEM.id, {}))["rule"].missing_because == "not recorded"


def test_out_of_range_in_the_file_is_missing_too(tmp_path: Path) -> None:
    verdict = ask_once(read_spec(recorded(tmp_path, row(85))), asking())["process"]
    assert verdict.missing_because == "out of range: 85 is not 0 to 10"


def test_two_versions_that_the_prompt_cannot_tell_apart_are_missing(tmp_path: Path) -> None:
    address = recorded(tmp_path, row(2), row(5, parts=HARM))
    verdict = ask_once(read_spec(address), asking(prompt="{{log}}"))["process"]
    assert (verdict.missing_because or "").startswith("recorded more than once")


def test_another_file_is_another_judge(tmp_path: Path) -> None:
    prints = [
        open_judge(read_spec(recorded(tmp_path, row(value))), asking()).identity.fingerprint
        for value in (2, 3, 2)
    ]
    assert prints[0] == prints[2] != prints[1]


def test_a_path_in_a_judge_file_starts_at_that_file(tmp_path: Path) -> None:
    recorded(tmp_path, row(2))
    toml = tmp_path / "mine.toml"
    toml.write_text('backend = "recorded"\nmodel = "verdicts.jsonl"\n')
    assert ask_once(read_spec(str(toml)), asking())["process"].value == 2.0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"item": "i", "question": "q", "value": 1}], ":2: the line says nothing of what the judge saw"),
        ([{"parts": PARTS, "question": "q", "value": 1}], ":2: 'item' is missing or not text"),
        ([row(1, repeat=-1)], ":2: 'repeat' is not a whole number"),
        ([row(1, repeat=True)], ":2: 'repeat' is not a whole number"),
        ([row(None)], ":2: no value, probabilities or missing_because"),
        ([row(1), row(2)], ":3: question 'process' is recorded twice"),
        (
            [row(1, question="x"), {"item": ITEM.id, "parts": PARTS, "raw": "x"}],
            ":3: this repeat is recorded twice",
        ),
        ([{"item": ITEM.id, "parts": PARTS}], ":2: 'raw' is missing or not text"),
        ([{"item": ITEM.id, "parts": {"log": 3}, "raw": "x"}], ":2: 'parts' is not a table of texts"),
    ],
)
def test_a_mistake_in_the_file_is_said_with_its_line(
    tmp_path: Path, rows: list[dict[str, object]], message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        open_judge(read_spec(recorded(tmp_path, *rows)), asking())
    assert caught.value.hint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b'{"item": "i"}\n', ":1: no header of a verdict file"),
        (b'{"schema": "voirdire.items/1"}\n', ":1: no header of a verdict file"),
        (b'{"schema": "voirdire.verdicts/1"}\n\nPROCESS 3\n', ":3: not JSON"),
        (b'{"schema": "voirdire.verdicts/1"}\n[1]\n', ":2: not a JSON object"),
        (b"\xff\xfe", "not UTF-8 at byte 0"),
    ],
)
def test_another_kind_of_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        open_judge(read_spec(f"recorded:{path}"), asking())


def test_no_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        open_judge(read_spec(f"recorded:{tmp_path / 'none.jsonl'}"), asking())
