"""Briefs: what of a commit message was asked for."""

import pytest

from voirdire.mining.brief import TRAILERS, brief_of, is_trivial


@pytest.mark.parametrize("trailer", TRAILERS)
def test_trailers_go_and_are_counted(trailer: str) -> None:
    found = brief_of(f"Do it\n\nBecause.\n\n{trailer.capitalize()}: Somebody <a@b.de>\n")
    assert (found.text, found.trailers) == ("Do it\n\nBecause.", 1)


def test_sentences_with_a_colon_stay() -> None:
    text = "Parse headers\n\nNote: this also fixes folding.\nExample: a: b"
    assert brief_of(text).text == text


def test_the_subject_of_a_merge_goes_and_its_description_stays() -> None:
    assert brief_of("Merge pull request #12 from a/b\n\nFix the parser\n").text == "Fix the parser"
    assert brief_of("Merge branch 'x' into main\n").text == ""
    assert brief_of("Merge sort is used for lists").text == "Merge sort is used for lists"


def test_blanks_and_line_ends_are_tidied() -> None:
    assert brief_of("  A\r\n\r\n\r\n\r\nb  \r\n\0").text == "A\n\nb"


def test_where_it_was_picked_from_goes() -> None:
    assert brief_of("A\n\n(cherry picked from commit 0123456789abcdef)\n").text == "A"


@pytest.mark.parametrize(
    "text", ["Revert it", "Bump x from 1 to 2", "Release 3", "v1.2", "1.2.3rc1", "fixup! A", "WIP", "Merge x"]
)
def test_trivial_messages(text: str) -> None:
    assert is_trivial(text)


@pytest.mark.parametrize(
    "text", ["Reverse the list", "Bumper cars", "1.5 times faster parsing", "Versions are compared"]
)
def test_messages_that_only_begin_alike(text: str) -> None:
    assert not is_trivial(text)
