"""Compiles test code so that every assert counts, and says which global names it needs."""

import ast
import dis
import types
from typing import TypedDict

from voirdire.execution.jail.tally import COUNTER, EXCEPTION, TESTS_FILE, Tests

_ERROR = "_voirdire_error"


def compile_tests(text: str, kind: str) -> Tests:
    """Compile test code so that its asserts count. Raises SyntaxError and the like, as `compile` does."""
    tree = ast.parse(text)
    if kind != "unittest":
        tree.body = _counted(tree.body)
    code = compile(tree, TESTS_FILE, "exec", dont_inherit=True)
    return Tests(code=code, kind=kind, names=_free_names(code), lines=tuple(text.splitlines()))


def _counted(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements in which each assert counts; those inside `try` and `with` stay, as others may wait for them."""
    return [_counted_statement(statement) for statement in body]


def _counted_statement(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.Assert):
        return _counted_assert(statement)
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        statement.body = _counted(statement.body)
    elif isinstance(statement, (ast.If, ast.For, ast.While)):
        statement.body = _counted(statement.body)
        statement.orelse = _counted(statement.orelse)
    return statement


def _counted_assert(node: ast.Assert) -> ast.stmt:
    """Return `try: the assert; except Exception as error: failed(error, line); else: succeeded()`.

    Each new node is given its place, as looking for nodes without one would walk through the whole assert.
    """
    at = _Place(
        lineno=node.lineno,
        col_offset=node.col_offset,
        end_lineno=node.end_lineno,
        end_col_offset=node.end_col_offset,
    )
    if isinstance(node.test, ast.Constant):
        return ast.If(test=node.test, body=[_count("was_constant", at)], orelse=[node], **at)
    error = ast.Name(_ERROR, ast.Load(), **at)
    handler = ast.ExceptHandler(
        type=ast.Name(EXCEPTION, ast.Load(), **at),
        name=_ERROR,
        body=[_count("failed", at, error, ast.Constant(node.lineno, **at))],
        **at,
    )
    return ast.Try(body=[node], handlers=[handler], orelse=[_count("succeeded", at)], finalbody=[], **at)


class _Place(TypedDict):
    lineno: int
    col_offset: int
    end_lineno: int | None
    end_col_offset: int | None


def _count(method: str, at: _Place, *arguments: ast.expr) -> ast.stmt:
    function = ast.Attribute(ast.Name(COUNTER, ast.Load(), **at), method, ast.Load(), **at)
    return ast.Expr(ast.Call(function, list(arguments), [], **at), **at)


def _free_names(code: types.CodeType) -> frozenset[str]:
    """Return the global names that code reads and does not bind itself."""
    read, written = set[str](), set[str]()
    pending = [code]
    while pending:
        current = pending.pop()
        pending.extend(part for part in current.co_consts if isinstance(part, types.CodeType))
        extended = 0
        for operation, low in zip(current.co_code[::2], current.co_code[1::2], strict=True):
            argument = extended | low
            extended = argument << 8 if operation == dis.EXTENDED_ARG else 0
            if operation in _READS:
                read.add(current.co_names[argument >> _READS[operation]])
            elif operation in _WRITES:
                written.add(current.co_names[argument])
    return frozenset(read - written - {COUNTER, EXCEPTION, "__name__"})


_READS = {dis.opmap["LOAD_GLOBAL"]: 1, dis.opmap["LOAD_NAME"]: 0}
"""Instructions that read a global name, and how far their argument is shifted above the name's place."""

_WRITES = {dis.opmap["STORE_GLOBAL"], dis.opmap["STORE_NAME"]}
