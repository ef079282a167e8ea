"""Counts tests one by one: every assert that is executed is a test, and so is every method of a unittest class.

The same code runs beside the candidate (proof: shared) and away from it (proof: separate).
"""

import ast
import dis
import types
import unittest
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

CANDIDATE_FILE = "<candidate>"
TESTS_FILE = "<tests>"
COUNTER = "__voirdire_tally__"
EXCEPTION = "__voirdire_exception__"


class FromCandidate(Exception):
    """What a candidate raised, where its type is none of Python's own."""


@dataclass
class Tally:
    """How many tests passed of how many that ran; `constant`: asserts whose condition is a constant.

    `cause` and `first` describe the first test that did not pass: `assertion`, `candidate` (the candidate raised) or
    `memory`, and one line of text. `crashed`: the tests ended before their end.
    """

    passed: int = 0
    run: int = 0
    constant: int = 0
    cause: str = ""
    first: str = ""
    crashed: bool = False
    lines: list[str] = field(default_factory=list, repr=False)

    def succeeded(self) -> None:
        """Count a test that passed."""
        self.passed += 1
        self.run += 1

    def was_constant(self) -> None:
        """Count an assert that says nothing."""
        self.constant += 1

    def failed(self, error: BaseException, line: int = 0) -> None:
        """Count a test that did not pass."""
        self.run += 1
        self._note(error, line)

    def ended_early(self, error: BaseException) -> None:
        """Note an exception outside any test: what follows it never ran."""
        self.crashed = True
        self._note(error, 0)

    @property
    def all_passed(self) -> bool:
        """Whether there were tests, all of them ran and passed."""
        return not self.crashed and self.run > 0 and self.passed == self.run

    def _note(self, error: BaseException, line: int) -> None:
        if self.first:
            return
        self.cause = _cause(error)
        said = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        self.first = one_line(f"{described(error)}{': ' if said else ''}{said}")


@dataclass(frozen=True)
class Tests:
    """Compiled tests. `names`: global names they read and do not define. `kind`: `check`, `program` or `unittest`."""

    __test__ = False

    code: types.CodeType
    kind: str
    names: frozenset[str]
    lines: tuple[str, ...]


def compile_tests(text: str, kind: str) -> Tests:
    """Compile test code so that its asserts count. Raises SyntaxError and the like, as `compile` does."""
    tree = ast.parse(text)
    if kind != "unittest":
        tree = ast.fix_missing_locations(_Counted().visit(tree))
    code = compile(tree, TESTS_FILE, "exec", dont_inherit=True)
    return Tests(code=code, kind=kind, names=frozenset(_free_names(code)), lines=tuple(text.splitlines()))


def run_tests(tests: Tests, namespace: dict[str, Any], entry: Callable[..., Any], tally: Tally) -> None:
    """Run the tests in `namespace` and count them in `tally`; what is no Exception passes through."""
    namespace[COUNTER] = tally
    namespace[EXCEPTION] = Exception
    tally.lines = list(tests.lines)
    try:
        exec(tests.code, namespace)
        if tests.kind == "check":
            namespace["check"](entry)
        elif tests.kind == "unittest":
            _run_unittest(namespace, tally)
    except Exception as error:
        tally.ended_early(error)


def described(error: BaseException) -> str:
    """Return the type and the message of an exception, whatever its __str__ does."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    name = getattr(error, "shown_as", type(error).__name__)
    return f"{name}: {text}" if text else str(name)


def one_line(text: str, *, most: int = 300) -> str:
    """Return the text as one printable line of at most `most` characters."""
    flat = " ".join(text[: 4 * most].split())
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in flat)
    return shown if len(shown) <= most else shown[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _cause(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "memory"
    if getattr(error, "from_candidate", False) or _passed_through_candidate(error):
        return "candidate"
    return "assertion"


def _passed_through_candidate(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == CANDIDATE_FILE:
            return True
        trace = trace.tb_next
    return False


class _Counted(ast.NodeTransformer):
    """Turns each assert into one that counts; those inside `try` and `with` stay, as others may wait for them."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:  # noqa: N802
        if isinstance(node.test, ast.Constant):
            return ast.copy_location(
                ast.If(test=node.test, body=[_count("was_constant", node)], orelse=[node]), node
            )
        name = "_voirdire_error"
        arguments: list[ast.expr] = [ast.Name(name, ast.Load()), ast.Constant(node.lineno)]
        handler = ast.ExceptHandler(
            type=ast.Name(EXCEPTION, ast.Load()),
            name=name,
            body=[_count("failed", node, arguments)],
        )
        counted = ast.Try(body=[node], handlers=[handler], orelse=[_count("succeeded", node)], finalbody=[])
        return ast.copy_location(counted, node)

    def visit_Try(self, node: ast.Try) -> ast.AST:  # noqa: N802
        return node

    def visit_With(self, node: ast.With) -> ast.AST:  # noqa: N802
        return node


def _count(method: str, node: ast.AST, arguments: list[ast.expr] | None = None) -> ast.stmt:
    function = ast.Attribute(ast.Name(COUNTER, ast.Load()), method, ast.Load())
    return ast.copy_location(ast.Expr(ast.Call(function, arguments or [], [])), node)


def _free_names(code: types.CodeType) -> Iterator[str]:
    read, written = set[str](), set[str]()
    pending = [code]
    while pending:
        current = pending.pop()
        pending.extend(part for part in current.co_consts if isinstance(part, types.CodeType))
        for step in dis.get_instructions(current):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                read.add(step.argval)
            elif step.opname in ("STORE_GLOBAL", "STORE_NAME"):
                written.add(step.argval)
    yield from read - written - {COUNTER, EXCEPTION, "__name__"}


class _Counting(unittest.TestResult):
    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self._tally = tally

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        self._tally.succeeded()

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802, ARG002
        self._tally.failed(err[1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802, ARG002
        self._tally.failed(err[1])

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802, ARG002
        if err is not None:
            self._tally.failed(err[1])

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802, ARG002
        return

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802, ARG002
        self._tally.succeeded()

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802, ARG002
        self._tally.failed(AssertionError("passed, though it was expected to fail"))


def _run_unittest(namespace: Mapping[str, Any], tally: Tally) -> None:
    suite = unittest.TestSuite()
    for name, value in list(namespace.items()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase):
            suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(value))
        elif name.startswith("test_") and isinstance(value, types.FunctionType):
            suite.addTest(unittest.FunctionTestCase(value))
    suite.run(_Counting(tally))
