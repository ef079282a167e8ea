"""Counts tests one by one: every assert that is executed is a test, and so is every method of a unittest class.

The same code runs beside the candidate (proof: shared) and away from it (proof: separate). What is here is held by
every fork, so it needs few modules: that is why its types are no dataclasses.
"""

import types
from collections.abc import Callable
from typing import Any, NamedTuple

CANDIDATE_FILE = "<candidate>"
TESTS_FILE = "<tests>"
COUNTER = "__voirdire_tally__"
EXCEPTION = "__voirdire_exception__"


class FromCandidate(Exception):
    """What a candidate raised, where its type is none of Python's own."""


class Tally:
    """How many tests passed of how many that ran; `constant`: asserts whose condition is a constant.

    `cause` and `first` describe the first test that did not pass: `assertion`, `candidate` (the candidate raised) or
    `memory`, and one line of text. `crashed`: the tests ended before their end.
    """

    def __init__(self) -> None:
        self.passed = 0
        self.run = 0
        self.constant = 0
        self.cause = ""
        self.first = ""
        self.crashed = False
        self.lines: tuple[str, ...] = ()

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


class Tests(NamedTuple):
    """Compiled tests. `names`: global names they read and do not define. `kind`: `check`, `program` or `unittest`."""

    code: types.CodeType
    kind: str
    names: frozenset[str]
    lines: tuple[str, ...]


def run_tests(tests: Tests, namespace: dict[str, Any], entry: Callable[..., Any], tally: Tally) -> None:
    """Run the tests in `namespace` and count them in `tally`; what is no Exception passes through."""
    namespace[COUNTER] = tally
    namespace[EXCEPTION] = Exception
    tally.lines = tests.lines
    try:
        exec(tests.code, namespace)
        if tests.kind == "check":
            namespace["check"](entry)
        elif tests.kind == "unittest":
            from voirdire.execution.jail.unittests import run_classes

            run_classes(namespace, tally)
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
