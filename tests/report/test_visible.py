"""Hidden characters become visible, everything else stays."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.report.visible import marked, one_line, shortened, visible

ANY_TEXT = st.text(st.characters(codec=None, categories=None) | st.integers(0, 0x10FFFF).map(chr))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "⟨ESC⟩[31m"),
        ("\x00", "⟨NUL⟩"),
        ("\x7f\x85", "⟨DEL⟩⟨U+0085⟩"),
        ("a\r\nb", "a⟨CR⟩\nb"),
        ("\u202egnp.exe", "⟨U+202E⟩gnp.exe"),
        ("pass\u200bword", "pass⟨U+200B⟩word"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("\ud800!", "\ufffd!"),
        ("\ud83d\ude00", "😀"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("👩\u200d💻 नमस्\u200dते می\u200cخواهم", "👩\u200d💻 नमस्\u200dते می\u200cخواهم"),
        ("ad\u200dmin", "ad⟨U+200D⟩min"),
        ("日本語 naïve Ελλάδα", "日本語 naïve Ελλάδα"),
    ],
)
def test_hidden_characters_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY_TEXT)
def test_nothing_that_acts_is_left(text: str) -> None:
    left = {character for character in visible(text) if character not in "\n\t\u200c\u200d"}
    assert not [character for character in left if unicodedata.category(character) in ("Cc", "Cs")]
    assert not left & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff")


@given(ANY_TEXT)
def test_marked_text_holds_no_tag_but_ours(text: str) -> None:
    rest = str(marked(text)).replace('<span class="ctl">', "").replace("</span>", "")
    assert "<" not in rest
    assert '"' not in rest


@given(ANY_TEXT, st.integers(2, 30))
def test_one_line_is_one_line_and_no_longer_than_asked(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit


def test_shortened_says_how_much_was_left_out() -> None:
    assert shortened("abcdef", 4) == ("abcd", 2)
    assert shortened("abc", 4) == ("abc", 0)
