"""What a sample's status, counts, proof and error are, in the isolation that is the default here."""

import os
import signal
import time
from typing import Any

import pytest

from tests.execution.candidates import SHORT, program, run_all, run_one
from voirdire.errors import UsageError
from voirdire.execution.jail import process_table
from voirdire.execution.run import execute
from voirdire.execution.tasks import Limits, Proof, Result, Sample, StreamCase, Task, TestKind, Tests
from voirdire.model import TestGroup, TruthSource

ADDS = program("assert f(1, 2) == 3\nassert f(0, 0) == 0\n")


@pytest.mark.parametrize(
    ("code", "status", "counts", "error"),
    [
        ("def f(a, b): return a + b", "passed", (2, 2), ""),
        ("def f(a, b): return a * b", "failed", (1, 2), "AssertionError: assert f(1, 2) == 3"),
        ("def f(a, b): return a.b", "error", (0, 2), "AttributeError"),
        ("def f(a): return a", "error", (0, 2), "TypeError"),
        ("raise ValueError('at once')\ndef f(a, b): return a + b", "error", (0, 0), "ValueError: at once"),
        ("def f(a, b):\n  while True: pass", "timeout", (0, 0), "CPU time"),
        ("def f(a, b): return [0] * 10**10", "memory", (0, 2), "MemoryError"),
        ("def f(a, b) return a", "unparsable", (0, 0), "SyntaxError"),
        ("def f(a, b): return a\0", "unparsable", (0, 0), "null"),
        ("(" * 300 + ")" * 300, "unparsable", (0, 0), "nested"),
        ("def add(a, b): return a + b\ndef help_out(): pass", "no_entry_point", (0, 0), "add, help_out"),
        ("f = 3", "no_entry_point", (0, 0), "no function"),
        ("", "unparsable", (0, 0), "nothing to parse"),
        (" \n\t\n", "unparsable", (0, 0), "nothing to parse"),
        ("# only this", "no_entry_point", (0, 0), "no function"),
        ("import os\nos._exit(0)", "error", (0, 0), "exit code 0"),
        ("import sys\nsys.exit()", "error", (0, 0), "SystemExit"),
        ("def f(a, b): return object()", "failed", (0, 2), "object"),
    ],
)
def test_each_end_has_its_status_its_counts_and_one_line(
    code: str, status: str, counts: tuple[int, int], error: str
) -> None:
    result = run_one(ADDS, code)
    assert str(result.truth.status) == status
    assert result.truth.groups["tests"] == TestGroup(*counts)
    assert error in result.error
    assert len(result.error.splitlines()) <= 1
    assert result.truth.source is TruthSource.TESTS
    assert result.truth.isolation == "namespace"
    assert result.proof is Proof.SEPARATE


def test_a_missing_entry_point_names_what_is_there_instead() -> None:
    assert run_one(ADDS, "def add(a, b): return a + b").defined == ("add",)


def test_cpu_and_wall_seconds_are_told_apart() -> None:
    sleeps, works = run_all(
        program("assert f() == 1\n"),
        ["import time\ndef f():\n  time.sleep(0.4)\n  return 1", "def f():\n  sum(range(10**7))\n  return 1"],
    )
    assert sleeps.wall_seconds >= 0.4
    assert sleeps.cpu_seconds < 0.3
    assert works.cpu_seconds > sleeps.cpu_seconds


def test_the_kernels_own_limit_is_a_backstop_since_it_counts_the_ticks_of_others_too() -> None:
    task = program(f"soft, hard = f()\nassert hard > soft >= 2 * {SHORT.cpu_seconds}\n")
    limits, signalled = run_all(
        task,
        [
            "import resource\ndef f(): return resource.getrlimit(resource.RLIMIT_CPU)",
            "import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGXCPU)",
        ],
    )
    assert str(limits.truth.status) == "passed"
    assert str(signalled.truth.status) == "timeout"


def test_helpers_that_the_prompt_defines_may_be_used_by_the_tests() -> None:
    task = program(
        "assert f(double(4)) == 8\n",
        prompt="def double(n):\n    return 2 * n\n\ndef f(n):\n    '''Same.'''\n",
    )
    assert str(run_one(task, "def f(n): return n").truth.status) == "passed"


def test_an_argument_changed_in_place_is_seen_by_the_tests() -> None:
    task = program("words = [['b'], 'a']\nassert f(words) is None\nassert words == [['b', 'c'], 'a', 'd']\n")
    result = run_one(task, "def f(words):\n  words[0].append('c')\n  words.append('d')")
    assert str(result.truth.status) == "passed"
    assert result.proof is Proof.SEPARATE


def test_exceptions_arrive_as_the_nearest_of_pythons_own() -> None:
    tests = "try:\n  f()\n  raised = None\nexcept LookupError as error:\n  raised = type(error)\nassert raised is KeyError\n"
    assert (
        str(run_one(program(tests), "class Gone(KeyError): pass\ndef f(): raise Gone('x')").truth.status)
        == "passed"
    )


def test_tests_that_hand_over_more_than_plain_data_run_beside_the_candidate() -> None:
    given_a_function = program("assert f(lambda n: n + 1) == 2\n")
    needs_a_class = program("assert f(Node(3)) == 3\n")
    one = run_one(given_a_function, "def f(g): return g(1)")
    other = run_one(
        needs_a_class, "class Node:\n  def __init__(self, n): self.n = n\ndef f(node): return node.n"
    )
    assert [(str(result.truth.status), result.proof) for result in (one, other)] == [
        ("passed", Proof.SHARED)
    ] * 2


def test_asserts_whose_condition_is_a_constant_are_counted_apart() -> None:
    result = run_one(program("assert True, 'said'\nassert f() == 1\n"), "def f(): return 2")
    assert result.truth.groups == {"tests": TestGroup(0, 1), "constant": TestGroup(1, 1)}


@pytest.mark.parametrize("tests", ["assert True\n", "for n in f():\n  assert n\n"])
def test_without_a_test_that_ran_there_is_no_credit(tests: str) -> None:
    assert str(run_one(program(tests), "def f(): return []").truth.status) == "failed"


def test_a_sample_that_no_test_called_earns_nothing() -> None:
    assert str(run_one(program("assert 1 + 1 == 2\n"), "def f(:").truth.status) == "failed"


def test_tests_that_do_not_compile_are_the_tasks_fault() -> None:
    result = run_one(program("assert f( == 1\n"), "def f(): return 1")
    assert str(result.truth.status) == "infrastructure"
    assert "cannot be loaded" in result.error


def test_tests_that_never_end_do_not_stop_the_run() -> None:
    task = program("n = f()\nwhile n: pass\nassert n == 0\n")
    stuck, fine = run_all(task, ["def f(): return 1", "def f(): return 0"])
    assert str(stuck.truth.status) == "error"
    assert str(fine.truth.status) == "passed"


def test_unittest_files_count_their_methods() -> None:
    code = (
        "import unittest\nfrom solution import f\n"
        "class Both(unittest.TestCase):\n"
        "  def test_one(self): self.assertEqual(f(1), 2)\n"
        "  def test_two(self): self.assertEqual(f(2), 3)\n"
        "def test_three():\n  assert f(3) == 4\n"
    )
    task = Task("task", "f", Tests(TestKind.UNITTEST, code=code))
    right, wrong = run_all(task, ["def f(n): return n + 1", "def f(n): return 2"])
    assert (str(right.truth.status), right.truth.groups["tests"]) == ("passed", TestGroup(3, 3))
    assert (str(wrong.truth.status), wrong.truth.groups["tests"]) == ("failed", TestGroup(1, 3))
    assert right.proof is Proof.SEPARATE


def test_a_method_of_a_fresh_instance_can_be_the_entry_point() -> None:
    task = program("assert candidate(2) == 4\nassert candidate(3) == 6\n", entry="Solution.twice")
    code = "class Solution:\n  def __init__(self): self.calls = 0\n  def twice(self, n):\n    self.calls += 1\n    return 2 * n * self.calls"
    assert str(run_one(task, code).truth.status) == "passed"
    assert str(run_one(task, "class Solution: pass").truth.status) == "no_entry_point"


STREAMS = Task(
    "task", "", Tests(TestKind.STREAMS, cases=(StreamCase("3 4\n", "7\n"), StreamCase("1 2", "3.0")))
)


@pytest.mark.parametrize(
    ("code", "status", "counts"),
    [
        ("a, b = map(int, input().split())\nprint(a + b)", "passed", (2, 2)),
        ("import sys\na, b = map(int, sys.stdin.read().split())\nprint(a + b)\nsys.exit()", "passed", (2, 2)),
        ("print(7)", "failed", (1, 2)),
        ("import os\nos._exit(0)", "error", (0, 2)),
        ("import sys\nsys.exit(3)", "error", (0, 2)),
        ("print(1 / 0)", "error", (0, 2)),
        ("while True: print('7' * 10_000)", "failed", (0, 2)),
        ("while True: pass", "timeout", (0, 1)),
        ("print(", "unparsable", (0, 1)),
    ],
)
def test_whole_programs_read_and_write(code: str, status: str, counts: tuple[int, int]) -> None:
    result = run_one(STREAMS, code)
    assert (str(result.truth.status), result.truth.groups["tests"]) == (status, TestGroup(*counts))
    assert result.proof is Proof.SEPARATE


def test_unknown_and_excluded_tasks_are_not_run_and_say_why() -> None:
    samples = [Sample("a", "other", "s", ""), Sample("b", "task", "s", "def f(a, b): return a + b")]
    results = list(
        execute([ADDS], samples, limits=SHORT, workers=1, excluded={"task": "its reference fails"})
    )
    assert [(str(result.truth.status), result.error) for result in results] == [
        ("not_run", "there is no task 'other'"),
        ("not_run", "the task is excluded: its reference fails"),
    ]
    assert results[0].proof is None


def test_results_are_told_before_they_are_yielded_and_samples_are_read_as_needed() -> None:
    told: list[Result] = []
    taken = 0

    def endless() -> object:
        nonlocal taken
        while True:
            taken += 1
            yield Sample(str(taken), "task", "s", "def f(a, b): return a + b")

    results = execute([ADDS], endless(), limits=SHORT, workers=2, on_result=told.append)  # type: ignore[arg-type]
    first = next(results)
    assert told[0] == first
    assert taken < 20
    results.close()  # type: ignore[attr-defined]


def test_a_worker_that_dies_is_replaced_and_its_sample_run_again() -> None:
    samples = [Sample(str(n), "task", "s", "def f(a, b): return a + b") for n in range(12)]
    results = []
    before = set(process_table.descendants(os.getpid()))
    for result in execute([ADDS], samples, limits=SHORT, workers=1):
        results.append(result)
        if len(results) == 3:
            ours = [pid for pid in process_table.descendants(os.getpid()) if pid not in before]
            os.kill(ours[0], signal.SIGKILL)
    assert sorted(int(result.sample_id) for result in results) == list(range(12))
    assert {str(result.truth.status) for result in results} == {"passed"}


def test_nothing_is_left_when_the_caller_stops_early() -> None:
    before = set(process_table.descendants(os.getpid()))
    samples = [Sample(str(n), "task", "s", "def f(a, b):\n  while True: pass") for n in range(4)]
    results = execute([ADDS], [*samples[:1], *samples], limits=Limits(cpu_seconds=0.2), workers=2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 5
    while set(process_table.descendants(os.getpid())) - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not set(process_table.descendants(os.getpid())) - before


def test_random_and_hashes_start_alike_in_every_run() -> None:
    task = program("assert f() == f.__name__ or True\nassert f() == 0\n")
    code = "import random\ndef f(): return (random.random(), list({'a', 'b', 'c', 'd'}))"
    tests = program("import sys\nassert f() is not None\nassert f() == -1\n")
    first, second = run_all(tests, [code, code])
    assert first.error == second.error
    assert str(run_one(task, code).truth.status) == "failed"


@pytest.mark.parametrize("name", ["cpu_seconds", "memory_mb", "processes"])
def test_a_limit_must_be_above_zero(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        Limits(**{name: 0})
    absurds: tuple[Any, ...] = (float("inf"), float("nan"), 10**14)
    for absurd in absurds:
        with pytest.raises(UsageError, match=rf"the limit {name} must be above zero and at most [\d,]+, not"):
            Limits(**{name: absurd})
