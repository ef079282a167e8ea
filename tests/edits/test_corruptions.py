"""Damage to code: seeded, verified, one thing at a time."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.edits.corruptions import (
    Corrupted,
    Corruption,
    chosen_for_dose,
    cut_off,
    deleted_return,
    extra_bracket,
    renamed_entry_point,
)
from voirdire.errors import DataError, UsageError
from voirdire.languages.parsing import Parsers, shared_parsers

CODE = '''\
def fib(n):
    """Not a bracket: )."""
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)
'''


@pytest.fixture(scope="module")
def parsers() -> Parsers:
    return shared_parsers()


@pytest.mark.parametrize("seed", range(20))
def test_one_extra_bracket_breaks_parsing_and_changes_nothing_else(parsers: Parsers, seed: int) -> None:
    found = extra_bracket(CODE, seed=seed, parses=parsers.parses)
    assert found.code[: found.offset] + found.code[found.offset + 1 :] == CODE
    assert found.code[found.offset] in ")]}"
    assert parsers.parses([found.code]) == [False]
    assert parsers.nearest(found.code).edits == 1
    assert found == extra_bracket(CODE, seed=seed, parses=parsers.parses)


def test_the_bracket_falls_in_different_places(parsers: Parsers) -> None:
    assert len({extra_bracket(CODE, seed=seed, parses=parsers.parses).offset for seed in range(20)}) > 5


@pytest.mark.parametrize("seed", range(10))
def test_a_cut_leaves_a_beginning_that_does_not_parse(parsers: Parsers, seed: int) -> None:
    found = cut_off(CODE, seed=seed, parses=parsers.parses)
    assert CODE.startswith(found.code)
    assert 0 < len(found.code) == found.offset < len(CODE)
    assert parsers.parses([found.code]) == [False]


@pytest.mark.parametrize("seed", range(5))
def test_a_deleted_return_still_parses_and_is_gone(seed: int) -> None:
    found = deleted_return(CODE, seed=seed)
    assert _returns(found.code) == _returns(CODE) - 1
    assert found.code[: found.offset] == CODE[: found.offset]
    assert found.code[found.offset :].startswith("pass")


def test_a_deleted_return_over_several_lines_with_other_characters() -> None:
    found = deleted_return("def f(é):\n    return (é +\n        'ü')\n", seed=0)
    assert found.code == "def f(é):\n    pass\n"


def _returns(code: str) -> int:
    return sum(isinstance(node, ast.Return) for node in ast.walk(ast.parse(code)))


def test_a_renamed_entry_point_recurses_under_its_new_name() -> None:
    found = renamed_entry_point(CODE, "fib")
    scope: dict[str, object] = {}
    exec(found.code, scope)
    assert "fib" not in scope
    renamed = scope["fib_2"]
    assert callable(renamed)
    assert renamed(10) == 55
    assert found.corruption is Corruption.RENAMED_ENTRY_POINT


@pytest.mark.parametrize("damage", ["bracket", "cut", "return", "name"])
def test_what_cannot_be_damaged_is_refused(parsers: Parsers, damage: str) -> None:
    with pytest.raises(DataError):
        _damaged(damage, "x = 1\n" if damage != "bracket" else " \n", parsers)


def _damaged(damage: str, code: str, parsers: Parsers) -> Corrupted:
    if damage == "bracket":
        return extra_bracket(code, seed=0, parses=parsers.parses)
    if damage == "cut":
        return cut_off("x\n", seed=0, parses=parsers.parses)
    return deleted_return(code, seed=0) if damage == "return" else renamed_entry_point(code, "f")


def test_other_languages_get_brackets_and_cuts(parsers: Parsers) -> None:
    code = "function f(a) { return a + 1; }\n"
    assert not parsers.parses(
        [extra_bracket(code, seed=1, parses=_javascript, language="javascript").code], "js"
    )[0]
    assert not parsers.parses([cut_off(code, seed=1, parses=_javascript, language="javascript").code], "js")[
        0
    ]


def _javascript(texts: object) -> list[bool]:
    return shared_parsers().parses(list(texts), "javascript")  # type: ignore[call-overload]


@given(st.integers(0, 200), st.floats(0, 1), st.floats(0, 1), st.integers(0, 5))
def test_a_larger_dose_holds_a_smaller_one(samples: int, one: float, other: float, seed: int) -> None:
    small, large = sorted((one, other))
    few, many = (chosen_for_dose(samples, share, seed=seed) for share in (small, large))
    assert few <= many
    assert len(few) == round(samples * small)


def test_a_dose_is_a_share() -> None:
    with pytest.raises(UsageError, match=r"dose of 1\.2"):
        chosen_for_dose(10, 1.2, seed=0)
