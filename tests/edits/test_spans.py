"""Spans.

Where two texts differ, and one string changed inside raw JSON with every other character left alone.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.edits.spans import (
    RawSpan,
    apply_spans,
    changes,
    locate,
    position,
    quoted,
    replace_in_json,
    replace_once,
)
from voirdire.errors import DataError

TEXTS = st.text(alphabet=st.sampled_from('ab .!\n"\\/é☃\U0001f600\x00\x1b{}[]:,'), max_size=40)


def rebuilt(base: str, variant: str) -> str:
    done, at = "", 0
    for change in changes(base, variant):
        done += base[at : change.base_at.offset] + change.variant
        at = change.base_at.offset + len(change.base)
    return done + base[at:]


@given(TEXTS, TEXTS)
def test_the_changes_and_nothing_else_turn_the_base_into_the_variant(base: str, variant: str) -> None:
    assert rebuilt(base, variant) == variant


@given(TEXTS)
def test_equal_texts_have_no_changes(text: str) -> None:
    assert changes(text, text) == ()


def test_one_sentence_that_differs_is_one_place_however_many_words_differ() -> None:
    found = changes("It ran. All 12 rows are there. End.", "It ran. Of the rows 3 are lost. End.")
    assert len(found) == 1
    assert found[0].base_at.offset == 8


def test_an_equal_sentence_between_makes_two_places_each_with_line_and_offset() -> None:
    found = changes("One.\nTwo. Three.\n", "Uno.\nTwo. Tres.\n")
    assert [(one.base, one.variant) for one in found] == [("One", "Uno"), ("hree", "res")]
    assert str(found[1].base_at) == "line 2, column 7 (offset 11)"


def test_a_position_counts_lines_and_columns_from_one() -> None:
    assert str(position("ab\ncd", 4)) == "line 2, column 2 (offset 4)"


def test_a_text_that_stands_once_is_replaced() -> None:
    assert replace_once("a b c", "b", "x", where="here") == "a x c"


@pytest.mark.parametrize(
    ("find", "said"),
    [
        ("z", "is not there"),
        ("a", "is there 2 times: line 1, column 1 (offset 0); line 2, column 1 (offset 2)"),
    ],
)
def test_a_text_that_stands_nowhere_or_twice_is_refused_with_its_places(find: str, said: str) -> None:
    with pytest.raises(DataError, match="here: ") as caught:
        replace_once("a\na", find, "x", where="here")
    assert said in str(caught.value)


@given(before=TEXTS, find=TEXTS, after=TEXTS, new=TEXTS, ascii_only=st.booleans())
def test_a_string_inside_raw_json_is_changed_and_no_other_character(
    before: str, find: str, after: str, new: str, ascii_only: bool
) -> None:
    find = f"<<{find}>>"
    data = {"x": [1, {"k/~": before + find + after, "other": find}], "y": find}
    document = json.dumps(data, ensure_ascii=ascii_only, indent=1)
    span = replace_in_json(document, "/x/1/k~1~0", find, new, where="here")
    changed = apply_spans(document, [span])
    expected = {"x": [1, {"k/~": before + new + after, "other": find}], "y": find}
    assert json.loads(changed) == expected
    assert changed[: span.start] == document[: span.start]
    assert changed[span.start + len(span.raw) :] == document[span.end :]


def test_a_whole_string_is_replaced_where_nothing_is_to_be_found() -> None:
    document = '{"a": "old", "b": 2}'
    assert apply_spans(document, [replace_in_json(document, "/a", None, 'n"ew', where="here")]) == (
        '{"a": "n\\"ew", "b": 2}'
    )


def test_escapes_of_every_length_keep_their_places() -> None:
    document = '{"a": "\\u00e9\\ud83d\\ude00\\n\\"x\\" end"}'
    assert apply_spans(document, [replace_in_json(document, "/a", "x", "y", where="here")]) == (
        '{"a": "\\u00e9\\ud83d\\ude00\\n\\"y\\" end"}'
    )


def test_the_last_of_two_equal_keys_counts_as_json_is_read() -> None:
    start, end = locate('{"a": 1, "a": [2, 3]}', "/a/1", where="here")
    assert (start, end) == (18, 19)


@pytest.mark.parametrize("pointer", ["/b", "/a/0", "/a/x/y", "a"])
def test_a_pointer_that_leads_nowhere_is_refused(pointer: str) -> None:
    with pytest.raises(DataError, match="here: "):
        locate('{"a": "text"}', pointer, where="here")


def test_what_is_no_text_cannot_be_replaced() -> None:
    with pytest.raises(DataError, match="is no text"):
        replace_in_json('{"a": 5}', "/a", None, "x", where="here")


def test_two_changes_of_one_stretch_are_refused() -> None:
    with pytest.raises(DataError, match="overlap"):
        apply_spans("abcdef", [RawSpan(0, 3, "x"), RawSpan(2, 4, "y")])


def test_a_quotation_is_short_and_steers_no_terminal() -> None:
    said = quoted("\x1b[2J\x9b31m\u202e" + "x" * 200)
    assert len(said) < 100
    assert "\x1b" not in said
    assert "\x9b" not in said
