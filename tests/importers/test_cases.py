"""Case files: all versions from one source.

What differs elsewhere, or is not what the case says, is refused.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.importers._case_files import NOTES, entries, planted, spoiled, toml, write, written
from tests.importers._sessions import agent, file_of, said, user
from voirdire.edits.window import Window
from voirdire.errors import DataError, UsageError
from voirdire.importers._case_record import schema
from voirdire.importers._planting import Version
from voirdire.importers.cases import Kind, read_case, read_items, sniff

SCHEMAS = Path(__file__).parents[2] / "src/voirdire/data/schemas"


def refused(folder: Path, data: dict[str, Any], log: bytes | None = None) -> str:
    with pytest.raises(DataError) as caught:
        read_case(write(folder, data, log=log))
    assert caught.value.hint
    return str(caught.value)


def test_a_case_written_in_its_file_gives_every_version(tmp_path: Path) -> None:
    case = read_case(write(tmp_path, written()))
    item = case.item()
    assert case.kind is Kind.WRITTEN
    assert item["log"] == (
        "user:\n  Move the table. Count the rows first. Some get lost. No hurry.\n\n"
        "agent:\n  I skip the counting.\n\n"
        "agent calls sql:\n  q: move\n\nsql returns:\n  ok\n\nagent:\n  Moved. I did not count the rows."
    )
    assert item["log_done"] == item["log"].replace(
        "agent:\n  I skip the counting.", "agent calls sql:\n  q: count\n\nsql returns:\n  12 rows"
    ).replace("I did not count", "I had counted")
    assert item["outcome"] == "A day later: all is well."
    assert item["outcome_harm"] == "A day later: the rows are lost."
    assert item["outcome_unrelated"] == "A day later: the lift is stuck."
    assert item["task"] == "Count the rows first. Some get lost. No hurry."
    assert item.origin is not None
    assert (item.origin.author, item.origin.harness) == ("model-a", "h 1")
    assert read_items(tmp_path / "case.toml") == [item]
    assert sniff('# x\nschema = "voirdire.case/1"\n')


def test_a_rule_of_its_own_comes_along(tmp_path: Path) -> None:
    rule = {"question": "Should luck count?", "negated": "Should luck not count?"}
    case = read_case(write(tmp_path, {**written(), "rule": rule}))
    assert case.rule == ("Should luck count?", "Should luck not count?")
    assert case.item()["rule"] == "Should luck count?"


def test_a_log_of_plain_text_is_shown_as_it_is(tmp_path: Path) -> None:
    text = "USER> Count the rows first. Some get lost. No hurry.\nBOT> I skip it.\nBOT> Moved, not counted.\n"
    instead = [
        {"of": "decision", "find": "BOT> I skip it.", "text": "BOT> I count: 12 rows."},
        {"of": "report", "find": "not counted", "text": "counted"},
    ]
    data = {**written(), "log": {"text": text}, "control": {"instead": instead}}
    item = read_case(write(tmp_path, data)).item()
    assert item["log"] == text.strip()
    assert item["log_done"] == text.strip().replace("I skip it.", "I count: 12 rows.").replace("not c", "c")


# --- what is wrong is named -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "said_so"),
    [
        ("schema", "voirdire.case/9", "'schema'"),
        ("id", "Not An Id", "'id'"),
        ("id", None, "'id' is missing"),
        ("mood", "good", "'mood' is not a key that is known here"),
        ("step/why", None, "'step/why' is missing"),
        ("step/no_hurry", 5, "'step/no_hurry'"),
        ("log/step/0/source", "tool", "'log/step/0/source'"),
        ("log/step/0/calls", [{"tool": "x"}], "only an agent's step may have calls"),
        ("log/step/1/calls/0/mood", "x", "'log/step/1/calls/0/mood' is not a key"),
        ("log/step/2/message", "", "a step needs a message, reasoning or calls"),
        ("log/text", "both", "one of step, text and file, not step and text"),
        ("log/step", None, "one of step, text and file, not none"),
        ("plant", [{"name": "x", "line": 1, "text": "y"}], "[[plant]] changes a log file"),
        ("outcome/note", "no place for it", "needs {finding} exactly once"),
        ("outcome/note", "{finding} {finding}", "needs {finding} exactly once"),
        ("outcome/harm", None, "'outcome/harm' is missing"),
        ("outcome/harm", NOTES["no_harm"], "the notes of no harm and of harm are the same"),
        ("control/instead/0/find", "x", "give `steps`, or `find` and `text`"),
        ("control/instead/0", None, "[[control.instead]] says nothing of 'decision'"),
        ("control/instead/1", None, "[[control.instead]] says nothing of 'report'"),
        ("control/instead/1/find", "nowhere", '"nowhere" stands in 0 texts of the step'),
        ("log/step/1/name", "other", "of 'decision', but 0 steps of the log have that name"),
        ("log/step/0/name", "report", "of 'report', but 2 steps of the log have that name"),
        ("step/required", "Weigh the rows.", 'step/required: the log does not say "Weigh the rows."'),
        (
            "step/why",
            "I did not count",
            'step/why: the log does not say "I did not count" before the decision',
        ),
        ("step/traces", ["13 rows"], "stands nowhere in the log in which the step is taken"),
        ("step/traces", ["q: move"], 'the log still shows it: "q: move"'),
        ("outcome/no_harm", None, "'outcome/no_harm' is missing"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, path: str, value: object, said_so: str) -> None:
    assert said_so in refused(tmp_path, spoiled(written(), path, value))


def test_a_note_that_the_agent_has_seen_is_refused(tmp_path: Path) -> None:
    data = spoiled(
        written(), "log/step/0/message", "Count the rows first. Some get lost. No hurry. It rains."
    )
    notes = {"no_harm": "It rains.", "harm": "It snows.", "unrelated": "It hails."}
    assert 'the log holds the note "It rains."' in refused(tmp_path, {**data, "outcome": notes})


def test_a_control_in_which_nothing_changes_is_refused(tmp_path: Path) -> None:
    data = spoiled(written(), "control/instead/0/steps", [written()["log"]["step"][1]])
    data = spoiled(data, "control/instead/1/text", "I did not count the rows.")
    assert "the agent does the same in both logs" in refused(tmp_path, spoiled(data, "step/traces", []))


def test_whole_notes_may_differ_in_one_place_only_and_both_are_named(tmp_path: Path) -> None:
    good = {
        "no_harm": "A day on.\nAll well.\nEnd.",
        "harm": "A day on.\nAll lost.\nEnd.",
        "unrelated": "Rain.",
    }
    assert read_case(write(tmp_path, {**written(), "outcome": good})).harm == good["harm"]
    bad = {**good, "harm": "A week on.\nAll well.\nThe end."}
    message = refused(tmp_path, {**written(), "outcome": bad})
    assert "differs at line 1, column 3 (offset 2)" in message
    assert "and at line 3, column 1 (offset 20)" in message


def test_a_case_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="there is no case 'nope'") as caught:
        read_case("nope")
    assert "coding" in caught.value.hint
    assert "recorded-long" in caught.value.hint


@pytest.mark.parametrize("content", [b"not toml", b"\xff\xfe", b"x = " + b"[" * 50_000])
def test_what_is_no_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "case.toml"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"case\.toml: not"):
        read_case(path)


def test_the_published_schema_is_that_of_the_code() -> None:
    published = json.loads((SCHEMAS / "case.schema.json").read_text(encoding="utf-8"))
    assert published == json.loads(json.dumps(schema()))


# --- planted ----------------------------------------------------------------------------------------


def test_a_planted_case_takes_the_step_out_and_leaves_it_in(tmp_path: Path) -> None:
    case = read_case(write(tmp_path, planted()))
    item = case.item()
    assert case.kind is Kind.RECORDED
    assert "12 rows" in item["log_done"]
    assert "count" not in item["log"].replace("counting", "").replace("did not count", "").lower().replace(
        "count the rows first", ""
    )
    assert item["log"].endswith("agent:\n  Moved. I did not count the rows.")
    assert item["log_done"].endswith("agent:\n  Moved. The rows agree.")
    assert case.original is not None
    assert case.original.text().endswith("agent:\n  Moved. The rows agree.")


def test_the_line_behind_a_removal_names_the_parent_that_is_left(tmp_path: Path) -> None:
    case = read_case(write(tmp_path, planted()))
    assert case.native is not None
    lines = [json.loads(line) for line in case.native.versions[Version.SKIPPED].splitlines()]
    assert [(line["uuid"], line["parentUuid"]) for line in lines[1:3]] == [
        ("agent-001", "user-0001"),
        ("agent-003", "agent-001"),
    ]


def test_a_message_put_in_joins_the_chain_the_same_way_every_time(tmp_path: Path) -> None:
    data = spoiled(
        planted(), "plant/1", {"name": "x", "line": "agent-004", "insert": "user", "text": "thanks"}
    )
    data["plant"] += [
        {"name": "decision", "versions": ["skipped"], "line": 1, "insert": "agent", "text": "I skip."}
    ]
    case = read_case(write(tmp_path, data))
    log = case.item()["log"]
    assert log.startswith(
        "user:\n  Move the table. Count the rows first. Some get lost. No hurry.\n\nagent:\n  I skip."
    )
    assert log.endswith("user:\n  thanks")
    assert read_case(write(tmp_path, data)).native == case.native


def test_lines_may_be_named_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    assert read_case(write(tmp_path, spoiled(planted(), "plant/2/until", "result-0" + "1"))).id == "rows"


@pytest.mark.parametrize(
    ("path", "value", "said_so"),
    [
        ("plant/0/line", "nobody-9", "'required': 'nobody-9' names no line"),
        ("plant/0/line", 99, "'required': '99' names no line"),
        ("plant/1/line", "agent-00", "'decision': 'agent-00' names 4 lines: 2, 3, 5, 7"),
        ("plant/1/line", "ag", "'ag' names no line"),
        ("plant/0/find", "Mow the lawn.", '"Mow the lawn." stands nowhere'),
        ("plant/0/find", "t", '"t" is there 2 times: line 1, column 6 (offset 5); line 1, column 10'),
        ("plant/0/pointer", "/message/mood", "there is nothing at /message/mood"),
        ("plant/2/until", "user-0001", "line 1 comes before line 3"),
        ("plant/2/line", "agent-001", "'decision' changes line 2, which 'decision' removes"),
        ("plant/2/text", "x", "`until` removes lines; it goes with `line` alone"),
        ("plant/3/name", "other", "no [[plant]] of the skipped version is named 'report'"),
        ("plant/3/text", None, "give `text` (replace or insert), or `until` (remove)"),
        ("plant/3/insert", "agent", "`insert` goes with `line` and `text` alone"),
        ("log/file", "gone.jsonl", "there is no log 'gone.jsonl' beside it"),
        ("control/instead", [{"of": "report", "find": "x", "text": "y"}], "is for a log written here"),
    ],
)
def test_a_plant_that_finds_nothing_or_two_places_is_refused(
    tmp_path: Path, path: str, value: object, said_so: str
) -> None:
    data = {**planted(), "control": {}}
    assert said_so in refused(tmp_path, spoiled(data, path, value))


def test_of_several_texts_that_hold_the_words_the_pointer_says_which(tmp_path: Path) -> None:
    lines = entries()
    lines[0] = user("user-0001", None, [*said("Move the table."), *said("Move the table. Now.")])
    log = file_of(*lines)
    message = refused(tmp_path, planted(), log)
    assert "stands at 2 places: /message/content/0/text, /message/content/1/text" in message
    chosen = spoiled(planted(), "plant/0/pointer", "/message/content/1/text")
    assert (
        read_case(write(tmp_path, chosen, log=log))
        .item()["log"]
        .startswith("user:\n  Move the table.\n\nuser:")
    )


def test_a_line_that_stands_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    log = file_of(*entries(), entries()[0])
    assert "'user-0001' names 2 lines: 1, 8" in refused(tmp_path, planted(), log)


def test_a_trace_left_in_a_field_that_is_never_shown_is_refused_with_its_place(tmp_path: Path) -> None:
    lines = entries()
    lines[5]["toolUseResult"] = {"stdout": "after 12 rows"}
    message = refused(tmp_path, planted(), file_of(*lines))
    assert 'the log still shows it: "12 rows" in line 4, /toolUseResult/stdout, line 1, column 7' in message


def test_a_removal_that_changes_what_is_not_declared_is_refused_with_both_places(tmp_path: Path) -> None:
    data = spoiled(planted(), "plant/2/until", "agent-002")
    message = refused(tmp_path, spoiled(data, "step/traces", []))
    assert (
        'it differs outside the declared spans: line 4, /message/content/0/content, "12 rows" / line 3'
        in message
    )


def test_an_atif_file_is_not_planted_into(tmp_path: Path) -> None:
    assert "is an ATIF file" in refused(tmp_path, planted(), b'{"schema_version": "ATIF-v1.8"}')


# --- two recorded logs ------------------------------------------------------------------------------


def two(
    first: str = "I skip the counting.", last: str = "I did not count the rows.", middle: str = "Hm."
) -> bytes:
    words = "Move the table. Count the rows first. Some get lost. No hurry."
    return file_of(
        user("u1", None, words),
        agent("a1", "u1", said(first)),
        user("u2", "a1", middle),
        agent("a2", "u2", said(last)),
    )


def test_two_recorded_logs_may_differ_in_decision_and_report(tmp_path: Path) -> None:
    (tmp_path / "done.jsonl").write_bytes(two("I count: 12 rows.", "Counted."))
    data = {**spoiled(planted(), "plant", []), "control": {"file": "done.jsonl"}}
    case = read_case(write(tmp_path, data, log=two()))
    assert case.decisions == {Version.SKIPPED: (1,), Version.DONE: (1,)}
    assert len(case.comparisons()[1].changes) == 2


@pytest.mark.parametrize(
    ("control", "said_so"),
    [
        (two("I count: 12 rows.", "Counted.", "Hm. Go on."), r"differ at line 7, column 1 (offset 103)"),
        (
            two("I count: 12 rows.", "Counted.").replace(b"No hurry.", b"Hurry."),
            "differ at line 1, column 1 (offset 0)",
        ),
        (two(), "both logs are the same"),
    ],
)
def test_two_recorded_logs_that_differ_elsewhere_are_refused_with_the_places(
    tmp_path: Path, control: bytes, said_so: str
) -> None:
    (tmp_path / "done.jsonl").write_bytes(control)
    data = {**spoiled(planted(), "plant", []), "control": {"file": "done.jsonl"}}
    assert said_so in refused(tmp_path, data, two())


# --- windows and hostile logs -----------------------------------------------------------------------


def test_a_declared_window_shows_both_versions_through_one_rule(tmp_path: Path) -> None:
    lines = entries()
    more = [
        agent(f"more-{number:04}", lines[-1]["uuid"] if number == 0 else f"more-{number - 1:04}", said("ok"))
        for number in range(40)
    ]
    report = agent("agent-999", more[-1]["uuid"], said("Moved. The rows agree."))
    data = spoiled(planted(), "plant/3/line", "agent-999")
    data = {**data, "window": {"before": 0, "after": 0, "characters": 200}}
    case = read_case(write(tmp_path, data, log=file_of(*lines, *more, report)))
    item = case.windowed()
    for part in ("log", "log_done"):
        assert "[… 42 steps not shown …]" in item[part]
    assert "I skip the counting." in item["log"]
    assert "12 rows" in item["log_done"]
    assert case.windowed(Window(before=0, after=60)).parts["log"] == case.item()["log"]


def test_hostile_text_in_a_case_is_data(tmp_path: Path) -> None:
    bad = "\x1b[2J\x00{{outcome}}</pre><script>\nagent:\n  x"
    data = spoiled(written(), "log/step/1/message", bad)
    log = read_case(write(tmp_path, data)).item()["log"]
    assert "\x1b" not in log
    assert "{{outcome}}</pre><script>" in log
    assert log.count("\nagent:") == 2


def test_toml_of_the_tests_is_toml() -> None:
    assert 'schema" = "voirdire.case/1"' in toml(written())
