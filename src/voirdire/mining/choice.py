"""Which commits become tasks, and why the others do not: the options, their defaults and the reasons."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import translate


class Unit(StrEnum):
    """What one task is made of."""

    COMMITS = "commits"
    """Each commit that is no merge."""
    MERGES = "merges"
    """Each merge into the main line, against what the main line was before: a whole pull request."""
    MAINLINE = "mainline"
    """Each step of the main line: merges, and commits made on it (a history of squashed pull requests)."""


class Reason(StrEnum):
    """Why a commit is no task. The value is what the preview says."""

    ROOT = "nothing comes before it in this clone"
    TRIVIAL = "the message is that of a revert, merge, release or the like"
    BOT = "made by a bot"
    MESSAGE_SHORT = "the message is too short"
    MESSAGE_LONG = "the message is too long"
    EMPTY = "it changes no file that counts"
    ONLY_TESTS = "it changes tests only"
    NO_TESTS = "it changes no tests"
    FILES = "too many files"
    FEW_LINES = "too few changed lines"
    MANY_LINES = "too many changed lines"
    BYTES = "the diff has too many bytes"
    BINARY = "a file is binary or larger than 1 MB"
    SUBMODULE = "a submodule changes"
    LINK = "a symbolic link changes"
    ENCODING = "a file is not UTF-8"
    SECRET_NAME = "a file's name holds a secret or an address"
    DUPLICATE = "another commit makes the same change"
    DAMAGED = "objects are missing or damaged"


EXCLUDED = (
    "*.lock",
    "*-lock.json",
    "*-lock.yaml",
    "*.sum",
    "*.min.js",
    "*.min.css",
    "*.map",
    "*.snap",
    "*.pb.go",
    "*_pb2.py",
    "*.svg",
    "vendor/*",
    "*/vendor/*",
    "third_party/*",
    "*/third_party/*",
    "node_modules/*",
    "*/node_modules/*",
    "dist/*",
    "*/dist/*",
)
"""Files that nobody writes by hand: they are left out of the diff, and named in the task."""

TESTS = (
    "test/*",
    "*/test/*",
    "tests/*",
    "*/tests/*",
    "testing/*",
    "*/testing/*",
    "spec/*",
    "*/spec/*",
    "__tests__/*",
    "*/__tests__/*",
    "testdata/*",
    "*/testdata/*",
    "src/test/*",
    "*/src/test/*",
    "*/test_*.py",
    "test_*.py",
    "*_test.py",
    "*/conftest.py",
    "conftest.py",
    "*_test.go",
    "*.test.[jt]s",
    "*.test.[jt]sx",
    "*.test.[cm][jt]s",
    "*.spec.[jt]s",
    "*.spec.[jt]sx",
    "*_spec.rb",
    "*_test.rb",
    "*Test.java",
    "*Tests.java",
    "*Test.kt",
    "*_test.exs",
    "*_test.cc",
    "*_test.cpp",
)
"""Files that are tests or belong to tests: they stand in a patch of their own."""


@dataclass(frozen=True)
class Choice:
    """What becomes a task. The defaults keep what one person could do in one sitting and a judge can read in one go.

    `shortest`, `longest`: characters of a brief; under 20 it asks for nothing that can be judged. `files`: files
    changed outside of tests, at most; `fewest`, `lines`: lines added and removed outside of tests; `size`: bytes of
    the diff, about 25,000 tokens. `with_tests`: only commits that also change tests. `bots`: keep what bots made.
    `exclude`, `tests`: globs over whole paths, in which `*` also spans folders. `limit`: this many tasks at most,
    the newest first.
    """

    unit: Unit = Unit.COMMITS
    shortest: int = 20
    longest: int = 8_000
    files: int = 10
    fewest: int = 3
    lines: int = 400
    size: int = 100_000
    with_tests: bool = False
    bots: bool = False
    exclude: tuple[str, ...] = EXCLUDED
    tests: tuple[str, ...] = TESTS
    limit: int | None = None


class Globs:
    """Paths that match one of several globs."""

    def __init__(self, globs: Sequence[str]) -> None:
        self._any = re.compile("|".join(translate(glob) for glob in globs) or r"(?!)")

    def __contains__(self, path: str) -> bool:
        return self._any.match(path) is not None
