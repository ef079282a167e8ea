"""Errors: one tree, each with a message, a hint and an exit code."""

import inspect

import pytest

from voirdire import errors
from voirdire.errors import (
    DataError,
    JudgeError,
    MissingExtraError,
    QuotaError,
    SelfCheckError,
    TryAgain,
    UsageError,
    VoirdireError,
)


def test_every_error_is_in_the_tree() -> None:
    classes = [
        kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__
    ]
    assert len(classes) == 8
    assert all(issubclass(kind, VoirdireError) for kind in classes)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (UsageError, 2),
        (MissingExtraError, 2),
        (DataError, 2),
        (JudgeError, 3),
        (QuotaError, 3),
        (SelfCheckError, 3),
    ],
)
def test_the_exit_code_says_whose_it_is(kind: type[VoirdireError], code: int) -> None:
    error = kind("what", hint="next")
    assert (str(error), error.hint, error.exit_code) == ("what", "next", code)


def test_a_hint_may_be_missing() -> None:
    assert VoirdireError("what").hint == ""


def test_try_again_carries_what_the_server_said() -> None:
    error = TryAgain("rate_limited", after=2.5, slow_down=True)
    assert (error.reason, error.after, error.slow_down, error.exit_code) == ("rate_limited", 2.5, True, 3)
