"""Counts the methods of unittest classes; a module of its own, as `unittest` is dear to hold in every fork."""

import unittest
from types import FunctionType
from typing import Any

from voirdire.execution.jail.tally import Tally


class Counting(unittest.TestResult):
    """Puts every test method into a tally."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self._tally = tally

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802, D102, ARG002
        self._tally.succeeded()

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802, D102, ARG002
        self._tally.failed(err[1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802, D102, ARG002
        self._tally.failed(err[1])

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802, D102, ARG002
        if err is not None:
            self._tally.failed(err[1])

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802, D102, ARG002
        return

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802, D102, ARG002
        self._tally.succeeded()

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802, D102, ARG002
        self._tally.failed(AssertionError("passed, though it was expected to fail"))


def run_classes(namespace: dict[str, Any], tally: Tally) -> None:
    """Run the TestCase classes and the `test_` functions that stand in a namespace."""
    suite = unittest.TestSuite()
    for name, value in list(namespace.items()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase):
            suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(value))
        elif name.startswith("test_") and isinstance(value, FunctionType):
            suite.addTest(unittest.FunctionTestCase(value))
    suite.run(Counting(tally))
