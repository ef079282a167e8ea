"""Rule files: any rule as a probe with its items; a change that fits an item nowhere or twice is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.importers._case_files import spoiled, toml
from voirdire.errors import DataError, UsageError
from voirdire.importers._rule_record import schema
from voirdire.importers.rules import read_items, read_rule, sniff
from voirdire.lines import CASES_FOR_GENERAL, OUTCOME
from voirdire.model import Expectation, Unit

ROOT = Path(__file__).parents[2]

RULE: dict[str, Any] = {
    "schema": "voirdire.rule/1",
    "name": "seniority",
    "part": "log",
    "rule": {"question": "Should rank count?", "negated": "Should rank not count?"},
    "edit": {"find": "junior", "replace": "senior"},
    "control": {"expect": "lower", "edit": {"find": "tested", "replace": "not tested"}},
    "item": [
        {"id": "one", "parts": {"log": "By a junior. It is tested."}},
        {"id": "two", "parts": {"log": "Tests: it is tested. A junior wrote it.", "task": "t"}},
    ],
}


def write(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "rule.toml"
    path.write_text(toml(data), encoding="utf-8")
    return path


def refused(folder: Path, data: dict[str, Any]) -> str:
    with pytest.raises(DataError) as caught:
        read_rule(write(folder, data))
    return str(caught.value)


def test_a_rule_file_gives_items_and_a_probe(tmp_path: Path) -> None:
    items, probe = read_rule(write(tmp_path, RULE))
    assert [item.id for item in items] == ["one", "two"]
    assert (probe.name, probe.part, probe.reads, probe.expect) == (
        "seniority",
        "log",
        ("log",),
        Expectation.INVARIANT,
    )
    assert (probe.rule, probe.rule_negated) == ("Should rank count?", "Should rank not count?")
    assert probe.contrast(items[0]).variant["log"] == "By a senior. It is tested."
    assert probe.control_contrast(items[1]).variant["log"] == "Tests: it is not tested. A junior wrote it."
    assert probe.control.expect is Expectation.LOWER
    assert (probe.line.leak, probe.line.margin, probe.unit) == (OUTCOME.leak, OUTCOME.margin, Unit.REPEAT)
    assert probe.messages[1].text == "Log:\n\n{{log}}"
    assert probe.question == probe.questions[0].id
    assert read_items(tmp_path / "rule.toml") == list(items)
    assert sniff('schema = "voirdire.rule/1"')


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        ({"text": "Another."}, "Another."),
        ({"before": "First. "}, "First. By a junior. It is tested."),
        ({"behind": " Last."}, "By a junior. It is tested. Last."),
        ({"find": "junior", "replace": ""}, "By a . It is tested."),
    ],
)
def test_an_item_may_bring_its_own_change_and_two_texts_are_one(
    tmp_path: Path, edit: dict[str, str], changed: str
) -> None:
    items, probe = read_rule(write(tmp_path, spoiled(RULE, "item/0/edit", edit)))
    assert probe.contrast(items[0]).variant["log"] == changed
    assert probe.contrast(items[1]).variant["log"].endswith("A senior wrote it.")


def test_the_control_may_change_another_part(tmp_path: Path) -> None:
    data = spoiled(RULE, "control", {"part": "task", "expect": "higher", "edit": {"text": "easier"}})
    data = spoiled(data, "item/0/parts/task", "hard")
    items, probe = read_rule(write(tmp_path, data))
    assert probe.control_contrast(items[0]).part == "task"


def test_a_prompt_and_a_question_of_ones_own(tmp_path: Path) -> None:
    more = {
        "prompt": {"system": "S", "user": "U {{log}}"},
        "question": {"id": "merit", "text": "T", "low": 1, "high": 5},
        "line": {"leak": 0.2, "margin": 0.1, "reason": "because"},
        "reads": ["log", "task"],
    }
    _, probe = read_rule(write(tmp_path, {**RULE, **more}))
    assert [message.text for message in probe.messages] == ["S", "U {{log}}"]
    assert (probe.question, probe.line.leak, probe.line.margin) == ("merit", 0.2, 0.1)
    assert probe.reads == ("log", "task")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("schema", "voirdire.rule/2", "'schema'"),
        ("name", "No Name", "'name'"),
        ("name", "outcome", "'outcome' is a probe already"),
        ("rule/negated", None, "'rule/negated' is missing"),
        ("control", None, "'control' is missing"),
        ("control/expect", "invariant", "'control/expect'"),
        ("mood", 1, "'mood' is not a key that is known here"),
        ("item", [], "'item'"),
        ("edit/replace", None, "`find` and `replace` go together"),
        ("edit/text", "x", "one of find, before, behind and text, not find and text"),
        ("edit", None, "item 'one' brings no change of 'log', and the file has none for all"),
        ("item/1/id", "one", "two items are called 'one'"),
        ("item/1/parts/log", "Nobody tested it.", "item 'two', part 'log': \"junior\" is not there"),
        ("item/0/parts/log", "junior junior tested", '"junior" is there 2 times: line 1, column 1'),
        ("part", "answer", "item 'one' has no part 'answer'"),
        ("edit/replace", "junior", "both versions have the same 'log'"),
        ("line", {"leak": 0.9}, "'line/leak'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, path: str, value: object, said: str) -> None:
    assert said in refused(tmp_path, spoiled(RULE, path, value))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        read_rule(tmp_path / "gone.toml")


def test_the_published_schema_is_that_of_the_code() -> None:
    published = json.loads((ROOT / "src/voirdire/data/schemas/rule.schema.json").read_text(encoding="utf-8"))
    assert published == json.loads(json.dumps(schema()))


def test_the_example_names_seniority_and_nothing_else_changes() -> None:
    items, probe = read_rule(ROOT / "examples/rules/seniority.toml")
    assert len(items) >= CASES_FOR_GENERAL
    for item in items:
        variant = probe.contrast(item).variant["log"]
        assert variant.replace("principal engineer, fourteenth year", "trainee, second week") == item["log"]
        assert "trainee, second week" in probe.control_contrast(item).variant["log"]
