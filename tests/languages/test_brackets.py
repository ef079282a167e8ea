"""Brackets: what counts as one, what is wrong first, and the nearest text that parses."""

import ast
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from voirdire.languages.brackets import ALL, Fault, Faulty, first_fault, nearest, scan
from voirdire.languages.parsing import Parsers, shared_parsers
from voirdire.languages.python import LANGUAGE

SKIP = LANGUAGE.skip


def chars(code: str) -> str:
    return "".join(bracket.char for bracket in scan(code, SKIP).brackets)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("f(a[1]) # )", "([])"),
        ("x = '(' + \")\" + '''[\n]''' + {}", "{}"),
        ("x = '\\'(' ; y = (1)", "()"),
        ("x = 'open (\ny = [1]", "[]"),
        ('"""never ends ( [', ""),
    ],
)
def test_brackets_in_strings_and_comments_do_not_count(code: str, expected: str) -> None:
    assert chars(code) == expected


def test_a_string_that_never_ends_is_found() -> None:
    assert scan("x = 1\ny = 'abc\n", SKIP).open_string == 10
    assert scan("x = 'abc'\n", SKIP).open_string is None


@pytest.mark.parametrize(
    ("brackets", "fault"),
    [
        ("([]{})", None),
        ("())(", Faulty(Fault.UNMATCHED, 2)),
        ("([)]", Faulty(Fault.MISMATCHED, 2, 1)),
        ("([]", Faulty(Fault.NEVER_CLOSED, 0)),
        ("", None),
    ],
)
def test_the_first_fault(brackets: str, fault: Faulty | None) -> None:
    assert first_fault(brackets) == fault


def parses(texts: Sequence[str]) -> list[bool]:
    return [_parses(text) for text in texts]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@pytest.mark.parametrize(
    ("code", "edits", "text"),
    [
        ("x = f(1))\n", 1, "x = f(1)\n"),
        ("x = f((1)\ny = 2\n", 1, None),
        ("x = [1, 2)\n", 1, None),
        ("x = f(g(1]]\n", 2, None),
        ("x = f(g(h(1]]]\n", 3, None),
    ],
)
def test_how_far_the_nearest_parsing_text_is(code: str, edits: int, text: str | None) -> None:
    found = nearest(code, SKIP, parses=parses)
    assert found.edits == edits
    assert found.text is not None
    assert _parses(found.text)
    assert text is None or found.text == text
    assert found.exact == (edits < 3)


def test_a_fault_that_brackets_cannot_mend_is_given_up_within_the_limits() -> None:
    found = nearest("def f(:\n  ) return ] in (\n", SKIP, parses=parses, most_parses=200)
    assert (found.edits, found.text, found.exact) == (None, None, False)
    assert found.tried <= 200


def test_a_text_that_parses_is_no_edit_away() -> None:
    assert shared_parsers().nearest("x = 1").edits == 0


def test_the_pool_finds_what_a_plain_parser_finds() -> None:
    with Parsers(1) as parsers:
        assert parsers.nearest("def f(a):\n    return g(a))\n").text == "def f(a):\n    return g(a)\n"
        assert parsers.nearest("function f() { return g(1)); }", "javascript").edits == 1


@given(st.text(alphabet="ab,()[]{} ", max_size=9))
def test_one_edit_is_found_exactly_where_there_is_one(code: str) -> None:
    """Beside a search through all texts of one edit."""
    assume(not _parses(code) and code.strip())
    at_places = [
        code[:at] + char + code[at + drop :]
        for at in range(len(code) + 1)
        for drop in (0, 1)
        for char in ("", *ALL)
        if drop == 0 or code[at : at + 1] in tuple(ALL)
    ]
    there = any(_parses(text) for text in at_places if text.strip())
    found = nearest(code, SKIP, parses=lambda texts: [bool(t.strip()) and _parses(t) for t in texts])
    assert (found.edits == 1) == there
