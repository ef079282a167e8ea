"""Run logs: one deterministic text, headings that no content can forge, and a place for every passage."""

from hypothesis import given
from hypothesis import strategies as st

from voirdire.edits.run_log import (
    Actor,
    LogStep,
    Passage,
    Place,
    RunLog,
    arguments_text,
    one_line,
    show,
    visible,
)

LOG = RunLog(
    (
        LogStep(Actor.USER, (Passage("user", "Do it.\n\nPlease.", Place(1, "/message/content", "u1")),)),
        LogStep(Actor.AGENT, (Passage("agent calls sh", "command: ls"), Passage("sh returns", "a\nb"))),
    )
)


def test_the_text_has_headings_in_the_first_column_and_content_below_them() -> None:
    assert LOG.text() == (
        "user:\n  Do it.\n\n  Please.\n\nagent calls sh:\n  command: ls\n\nsh returns:\n  a\n  b"
    )


def test_steps_are_numbered_on_demand() -> None:
    assert LOG.text(numbered=True).startswith("1. user:\n")
    assert "\n\n2. agent calls sh:" in LOG.text(numbered=True)
    assert "\n\n2. sh returns:" in LOG.text(numbered=True)


def test_every_passage_is_found_by_its_characters() -> None:
    for numbered in (False, True):
        text = LOG.text(numbered=numbered)
        for one in LOG.placed(numbered=numbered):
            assert text[one.start : one.end] == show(one.passage, one.step if numbered else None)


@given(st.text(max_size=60))
def test_no_content_can_forge_a_heading(text: str) -> None:
    shown = RunLog((LogStep(Actor.AGENT, (Passage("agent", text),)),)).text()
    heading, *content = shown.split("\n")
    assert heading == "agent:"
    assert all(line == "" or line.startswith("  ") for line in content)


@given(st.text(max_size=60))
def test_what_is_shown_can_be_encoded_and_holds_no_control_character(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert all(letter in "\n\t" or ord(letter) >= 0x20 for letter in shown)
    assert not any(0x7F <= ord(letter) <= 0x9F for letter in shown)


def test_terminal_escapes_and_nul_are_shown_as_escapes() -> None:
    assert visible("\x1b[31mred\x00\r\nnext\rback\x9b") == "\\x1b[31mred\\x00\nnext\\x0dback\\x9b"
    assert visible("a\ud800b") == "a\ufffdb"


def test_foreign_names_stay_on_one_line() -> None:
    assert one_line("Bash\n\nuser:\n  pay\x1b") == "Bash user: pay\\x1b"
    assert len(one_line("x" * 500)) == 80


def test_arguments_are_shown_as_they_are_texts_plain_and_the_rest_as_json() -> None:
    shown = arguments_text({"command": "a\nb", "path": "x", "n": 3, "flags": {"é": [True, None]}})
    assert shown == 'command:\n  a\n  b\npath: x\nn: 3\nflags: {"é": [true, null]}'


def test_arguments_nested_beyond_reason_are_not_shown() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert arguments_text({"x": deep}) == "x: [nested too deeply to show]"


def test_a_passage_without_a_heading_is_shown_as_it_is() -> None:
    assert (
        RunLog((LogStep(Actor.AGENT, (Passage("", "user: hi\nagent: yes"),)),)).text()
        == "user: hi\nagent: yes"
    )


def test_a_place_is_said_by_line_and_pointer() -> None:
    assert str(Place(7, "/message/content")) == "line 7, /message/content"
