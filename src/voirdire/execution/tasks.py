"""What is run and what comes of it: tasks with tests, samples, limits, results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from voirdire.errors import UsageError
from voirdire.model import GroundTruth

PYTHON = "python"


class Isolation(StrEnum):
    """How a candidate is kept from the host."""

    PROCESS = "process"
    NAMESPACE = "namespace"
    BUBBLEWRAP = "bubblewrap"
    CONTAINER = "container"


class Proof(StrEnum):
    """Whether the process that saw the tests end held candidate code (`shared`) or none (`separate`)."""

    SEPARATE = "separate"
    SHARED = "shared"


class TestKind(StrEnum):
    """The forms tests have.

    `check`: code that defines `check(candidate)`. `program`: code that asserts, with the entry point's name bound.
    `unittest`: code with TestCase classes or `test_` functions. `streams`: what a program reads and must write.
    """

    __test__ = False

    CHECK = "check"
    PROGRAM = "program"
    UNITTEST = "unittest"
    STREAMS = "streams"


@dataclass(frozen=True)
class StreamCase:
    """Standard input, and the output that must follow."""

    given: str
    expected: str


@dataclass(frozen=True)
class Tests:
    """The tests of a task: code, or cases of the kind `streams`."""

    __test__ = False

    kind: TestKind
    code: str = ""
    cases: tuple[StreamCase, ...] = ()

    @classmethod
    def from_asserts(cls, asserts: Sequence[str], *, setup: str = "") -> "Tests":
        """Make tests of single assert statements, as MBPP has them; `setup` runs first."""
        return cls(TestKind.PROGRAM, code="\n".join([setup, *asserts]) + "\n")


@dataclass(frozen=True)
class Task:
    """A problem with tests.

    entry_point: the function the tests call, or `Class.method` of a fresh instance; '' for whole programs. prompt: what
    models saw; definitions in it may be used by the tests. reference: a complete program known to be right; '': none.
    prelude: code put before every candidate, such as usual imports. module: the name under which tests import the
    candidate. proof: which side runs the tests; None: separate where they can be split. total: tests that the reference
    runs; None: not known.
    """

    task_id: str
    entry_point: str
    tests: Tests
    prompt: str = ""
    language: str = PYTHON
    reference: str = ""
    prelude: str = ""
    module: str = "solution"
    proof: Proof | None = None
    total: int | None = None


@dataclass(frozen=True)
class Sample:
    """One candidate: a complete program. `system`: who wrote it."""

    sample_id: str
    task_id: str
    system: str
    code: str


MOST: Mapping[str, int] = {
    "cpu_seconds": 86_400,
    "wall_seconds": 604_800,
    "memory_mb": 4_194_304,
    "processes": 32_768,
    "file_mb": 1_048_576,
    "output_bytes": 1 << 30,
    "open_files": 1_048_576,
}
"""What a limit may be at most: a day of CPU, a week, 4 TB of memory; more is a slip, and kernels do not take it."""


@dataclass(frozen=True)
class Limits:
    """What one sample may use.

    CPU seconds are summed over its processes, so that a loaded machine fails nobody; the wall clock is a generous
    backstop for what sleeps. Memory is counted beyond the interpreter's own. `output_bytes`: of a whole program.
    """

    cpu_seconds: float = 5.0
    wall_seconds: float = 60.0
    memory_mb: int = 1024
    processes: int = 64
    file_mb: int = 64
    output_bytes: int = 4_000_000
    open_files: int = 128

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            most = MOST[name]
            if not 0 < value <= most:
                raise UsageError(
                    f"the limit {name} must be above zero and at most {most:,}, not {value:,}",
                    hint="leave it out for the default",
                )


@dataclass(frozen=True)
class Result:
    """What is known of one sample after its tests.

    truth: status, tests passed of total, isolation. error: one printable line, '' where all passed. proof: None where
    nothing was run. defined: functions that the candidate defines, where it lacks the entry point.
    """

    sample_id: str
    task_id: str
    system: str
    truth: GroundTruth
    proof: Proof | None = None
    error: str = ""
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    defined: tuple[str, ...] = field(default=())
