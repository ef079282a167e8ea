"""Parsing: kinds with evidence, places, and parsers that survive what they are given."""

import ast
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import MissingExtraError, UsageError
from voirdire.languages import language as languages
from voirdire.languages.parsing import PARSER_KINDS, ParseKind, Parsers, parse

KIND = ParseKind


@pytest.fixture(scope="module")
def parsers() -> Iterator[Parsers]:
    with Parsers(1) as some:
        yield some


@pytest.mark.parametrize(
    ("code", "kind", "truncated", "line"),
    [
        ("x = 1\n", KIND.PARSES, False, None),
        ("", KIND.EMPTY, False, None),
        (" \t\r\n\f\n", KIND.EMPTY, False, None),
        ("\ufeff\n", KIND.EMPTY, False, None),
        ("x = f(1))\n", KIND.EXTRA_CLOSING, False, 1),
        ("def f(a):\n    return [a)]\n", KIND.EXTRA_CLOSING, False, 2),
        ("x = 1)\ny = 2]\n", KIND.UNMATCHED_CLOSING, False, 1),
        ("x = [1, 2)\n", KIND.MISMATCHED, False, 1),
        ("x = f(1, 2\ny = 3\n", KIND.NEVER_CLOSED, False, 1),
        ("x = f(1, [2", KIND.NEVER_CLOSED, True, 1),
        ("def f(a:\n    return a\n", KIND.NEVER_CLOSED, False, 1),
        ("x = 'abc\ny = 1\n", KIND.UNTERMINATED_STRING, False, 1),
        ("x = 'abc", KIND.UNTERMINATED_STRING, True, 1),
        ("def f():\n    '''doc\n    return 1\n", KIND.UNTERMINATED_STRING, True, 2),
        ("  x = 1\ny = 2\n", KIND.INDENTATION, False, 1),
        ("if x:\ny = 1\n", KIND.INDENTATION, False, 2),
        ("if x:\n        y = 1\n    z = 2\n", KIND.INDENTATION, False, 3),
        ("if x:\n\ty = 1\n        z = 2\n", KIND.INDENTATION, False, 3),
        ("def f(a):", KIND.CUT_OFF, True, 1),
        ("x = 1\ny = x +", KIND.CUT_OFF, True, 2),
        ("try:\n    x = 1\n", KIND.CUT_OFF, True, 2),
        ("Here is the code you asked for:\nx = 1\n", KIND.PROSE, False, 1),
        ("I'm sorry, I don't know this function.\n", KIND.PROSE, False, 1),
        ("```python\nx = 1\n```\n", KIND.PROSE, False, 1),
        ("x = 1\n**Note** that this is it\n", KIND.PROSE, False, 2),
        ("print 'x'\n", KIND.OTHER, False, 1),
        ("x = 1 2 y\n", KIND.OTHER, False, 1),
        ("x = 1\0", KIND.NUL_BYTE, False, None),
        ("x = '\ud800'", KIND.HALF_CHARACTER, False, None),
        ("(" * 300 + ")" * 300, KIND.RECURSION, False, 1),
        ("a" + ".b" * 100_000, KIND.RECURSION, False, None),
    ],
)
def test_each_kind_with_its_line(
    parsers: Parsers, code: str, kind: ParseKind, truncated: bool, line: int | None
) -> None:
    said = parsers.parse([code])[0]
    assert (said.kind, said.truncated, said.ok) == (kind, truncated, kind is KIND.PARSES)
    assert said.line == line
    assert parsers.parses([code]) == [said.ok]


def test_the_evidence_is_the_line_at_fault(parsers: Parsers) -> None:
    said = parsers.parse(["x = 1\r\ny = g(x]\r\nz = 2"])[0]
    assert (said.evidence, said.line, said.column) == ("y = g(x]", 2, 8)
    assert "does not match" in said.message
    long = parsers.parse(["x = [" + "1, " * 500 + ")"])[0]
    assert len(long.evidence) == 160


def test_nesting_made_to_crash_a_parser_fails_that_text_alone(parsers: Parsers) -> None:
    hostile = [
        "-" * 500_000 + "1",
        "lambda:" * 100_000 + "1",
        "a if b else " * 100_000 + "c",
        "f" + "()" * 100_000,
    ]
    mixed = ["x = 1", *hostile, "y = 2", *("[" * 10_000 for _ in range(3)), "z = 3"]
    said = parsers.parse(mixed)
    assert [one.ok for one in said] == [True, *[False] * 4, True, *[False] * 3, True]
    assert {one.kind for one in said[1:5]} <= PARSER_KINDS


def test_the_grammar_stands_in_every_answer(parsers: Parsers) -> None:
    import platform

    said = parsers.parse(["x", "(", ""])
    assert {one.grammar for one in said} == {f"CPython {platform.python_version()}"}
    javascript = parsers.parse(["let x = 1"], "javascript")[0].grammar
    assert javascript.startswith("tree-sitter-javascript ")
    assert " on tree-sitter " in javascript


def test_warnings_about_escapes_are_no_errors(parsers: Parsers) -> None:
    assert parsers.parses(["x = '\\d'\ny = 1 is 1\n"]) == [True]


def test_many_texts_in_order_by_several_processes() -> None:
    texts = [f"x = {number}" + (")" if number % 3 == 0 else "") for number in range(2_000)]
    with Parsers(2) as several:
        assert several.parses(texts) == [number % 3 != 0 for number in range(2_000)]
        assert [one.ok for one in several.parse(texts)] == [number % 3 != 0 for number in range(2_000)]
        assert several.parses([]) == []


@given(st.text(alphabet="ab1 =()[]{}:\n'\"#,.\\\t", max_size=40))
def test_ours_is_the_interpreters_verdict(code: str) -> None:
    assert parse(code).ok is (_parses_here(code) and bool(code.strip()))


def _parses_here(code: str) -> bool:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return True


# --- processes that die -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mortal() -> Iterator[Parsers]:
    with Parsers(2, worker="tests.languages.dying_worker") as some:
        yield some


@pytest.mark.parametrize(
    ("word", "kind", "message"),
    [
        ("SEGV", KIND.CRASHED, "SIGSEGV"),
        ("EXIT", KIND.CRASHED, "exit code 3"),
        ("KILL", KIND.MEMORY, "memory"),
        ("MEMORY", KIND.MEMORY, ""),
        ("SPIN", KIND.TIME, "too long"),
        ("SLEEP", KIND.TIME, "too long"),
    ],
)
def test_a_worker_that_dies_costs_its_text_and_no_other(
    mortal: Parsers, word: str, kind: ParseKind, message: str
) -> None:
    texts = [*(f"x = {number}" for number in range(300)), f"# {word}", "y = (", "z = 1"]
    said = mortal.parse(texts)
    assert [one.kind for one in said[300:]] == [kind, KIND.NEVER_CLOSED, KIND.PARSES]
    assert message in said[300].message
    assert all(one.ok for one in said[:300])


def test_the_kind_of_a_dead_parser_is_named_so() -> None:
    assert KIND.CRASHED.value == "parser_crashed"


def test_a_text_that_kills_is_never_let_pass(mortal: Parsers) -> None:
    assert mortal.parses(["x", "# SEGV", "y"]) == [True, False, True]


# --- other languages --------------------------------------------------------------------------------

GOOD = {
    "javascript": "function f(a) { return `${a}]`; } // (\n",
    "typescript": "function f(a: number): string { return `(`; }\n",
    "go": "package main\n\nfunc f(a []int) int { return a[0] } // {\n",
    "java": "class A { char c = ')'; String s = \"(\"; int f() { return 1; } }\n",
    "rust": "fn f<'a>(x: &'a str) -> char { let r = r#\"(\"#; ')' }\n",
    "cpp": 'int f() { int x = 1\'000; auto s = R"x(()x"; return x; }\n',
    "any_python": "print 'python 2'\n",
}


@pytest.mark.parametrize("name", sorted(GOOD))
def test_good_code_parses_and_an_extra_bracket_breaks_it(parsers: Parsers, name: str) -> None:
    good, broken, empty = parsers.parse([GOOD[name], GOOD[name] + ")\n", " \n"], name)
    assert (good.ok, broken.ok, empty.kind) == (True, False, KIND.EMPTY)
    assert broken.kind is KIND.EXTRA_CLOSING
    assert (broken.line, broken.column, broken.evidence) == (GOOD[name].count("\n") + 1, 1, ")")


@pytest.mark.parametrize(
    ("name", "code", "kind"),
    [
        ("javascript", "function f(a) { return [a; }", KIND.MISMATCHED),
        ("javascript", "const x = 'abc;\n", KIND.UNTERMINATED_STRING),
        ("go", "package main\nfunc f() int { return 1 ", KIND.NEVER_CLOSED),
        ("java", "Here is the class that you wanted:\nclass A {}", KIND.PROSE),
        ("rust", "fn f() -> i32 { 1 + }", KIND.OTHER),
        ("cpp", "int f() { return g((1); }", KIND.MISMATCHED),
        ("typescript", "x = \ud800", KIND.HALF_CHARACTER),
    ],
)
def test_kinds_in_other_languages(parsers: Parsers, name: str, code: str, kind: ParseKind) -> None:
    assert parsers.parse([code], name)[0].kind is kind


def test_deep_nesting_in_another_language_is_survived(parsers: Parsers) -> None:
    texts = ["let x = 1", "(" * 200_000, "let y = " + "[" * 50_000 + "]" * 50_000, "let z = 2"]
    said = parsers.parse(texts, "javascript")
    assert (said[0].ok, said[1].ok, said[3].ok) == (True, False, True)


def test_a_language_is_known_by_its_tags_and_unknown_ones_are_named() -> None:
    assert languages.language_named("JS").name == "javascript"
    assert languages.language_named("c++").name == "cpp"
    with pytest.raises(UsageError, match="no language 'cobol'") as error:
        languages.language_named("cobol")
    assert "rust" in error.value.hint
    assert set(languages.names()) == {"python", *GOOD}


def test_a_missing_grammar_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    languages.grammar_version.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="grammar of go") as error:
        parse("package main", "go")
    assert "voirdire[grammars]" in error.value.hint
    monkeypatch.undo()
    languages.grammar_version.cache_clear()
