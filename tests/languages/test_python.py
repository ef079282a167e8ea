"""What a program defines, and the renaming of its one function."""

import ast
import dis

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import DataError
from voirdire.languages.python import defined_functions, defines, lone_function, renamed

RECURSIVE = '''\
@cache
def fib(n, fib2=3):
    """fib here"""
    x = [fib(k) for k in range(n)]
    y = [fib for fib in x]
    def inner(fib):
        return fib(1)
    other.fib = "fib"
    é = fib(2)
    return fib(n - 1) + (lambda fib: fib)(2)
print(fib(3))
'''


def test_functions_of_the_top_level_in_order() -> None:
    code = (
        "def a(): pass\nasync def b():\n    def c(): pass\nclass D:\n    def e(self): pass\ndef a(): pass\n"
    )
    assert defined_functions(code) == ("a", "b")


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("def f(): pass", True),
        ("class f: pass", True),
        ("f = lambda: 1", True),
        ("from m import g as f", True),
        ("import f.g", True),
        ("if x:\n    def f(): pass", True),
        ("def g(f): pass", False),
        ("def g():\n    f = 1", False),
        ("x = [f for f in y]", False),
        ("m.f = 1", False),
    ],
)
def test_whether_a_name_means_something_at_the_top_level(code: str, known: bool) -> None:
    assert defines(code, "f") is known


def test_the_one_function_where_the_tested_name_is_missing() -> None:
    assert lone_function("def min_cost(a): pass", "minimum_cost") == "min_cost"
    assert lone_function("def f(a): pass", "f") is None
    assert lone_function("def f(): pass\ndef g(): pass", "h") is None
    assert lone_function("def f(): pass\nh = f", "h") is None


def test_renaming_touches_the_definition_and_what_refers_to_it() -> None:
    expected = '''\
@cache
def g(n, fib2=3):
    """fib here"""
    x = [g(k) for k in range(n)]
    y = [fib for fib in x]
    def inner(fib):
        return fib(1)
    other.fib = "fib"
    é = g(2)
    return g(n - 1) + (lambda fib: fib)(2)
print(g(3))
'''
    assert renamed(RECURSIVE, "fib", "g") == expected


def test_line_ends_and_tabs_stay_as_they_are() -> None:
    assert (
        renamed("def f(n):\r\n\treturn f(n)\r\n", "f", "long_name")
        == "def long_name(n):\r\n\treturn long_name(n)\r\n"
    )


@pytest.mark.parametrize(
    ("code", "new", "match"),
    [
        ("def f(): pass\ndef f(): pass", "g", "2 times"),
        ("x = 1", "g", "0 times"),
        ("def f(g): pass", "g", "means something"),
        ("def f(): pass", "class", "no name"),
        ("def f(", "g", "does not parse"),
    ],
)
def test_a_renaming_that_cannot_be_is_refused(code: str, new: str, match: str) -> None:
    with pytest.raises(DataError, match=match):
        renamed(code, "f", new)


NAMES = st.sampled_from(["f", "x", "y"])
LEAVES = st.one_of(NAMES, st.just("f(x)"), st.just("'f'"), st.just("x.f"))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(NAMES, inner).map(lambda p: f"(lambda {p[0]}: {p[1]})"),
        st.tuples(inner, NAMES, inner).map(lambda p: f"[{p[0]} for {p[1]} in {p[2]}]"),
        st.tuples(inner, NAMES, inner).map(lambda p: f"sum({p[0]} for {p[1]} in {p[2]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]}, {p[1]})"),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS, NAMES)
def test_renaming_there_and_back_gives_the_same_program(expression: str, parameter: str) -> None:
    code = f"def f({parameter}):\n    return {expression}\n"
    there = renamed(code, "f", "qq")
    assert defined_functions(there) == ("qq",)
    assert {_ids(there).count("f")} <= {_ids(code).count("f") - _ids(there).count("qq")}
    back = ast.parse(there)
    for node in ast.walk(back):
        if isinstance(node, ast.Name) and node.id == "qq":
            node.id = "f"
        if isinstance(node, ast.FunctionDef):
            node.name = "f"
    assert ast.dump(back) == ast.dump(ast.parse(code))


def _ids(code: str) -> list[str]:
    return [node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]


@given(EXPRESSIONS, st.sampled_from(["x", "y"]))
def test_a_renamed_program_means_the_same_to_the_compiler(expression: str, parameter: str) -> None:
    """In the compiled code no `f` is read as a global any more, and `qq` is as often as `f` was."""
    code = f"def f({parameter}):\n    return {expression}\n"
    assert _globals(renamed(code, "f", "qq"), "f") == 0
    assert _globals(renamed(code, "f", "qq"), "qq") == _globals(code, "f")


def _globals(code: str, name: str) -> int:
    """Return how often the compiled code reads or writes a global of this name inside functions."""
    inside, found = [compile(code, "x", "exec")], 0
    while inside:
        one = inside.pop()
        inside.extend(part for part in one.co_consts if isinstance(part, type(one)))
        found += sum(each.argval == name for each in dis.get_instructions(one) if "GLOBAL" in each.opname)
    return found
