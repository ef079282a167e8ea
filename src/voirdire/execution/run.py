"""Runs candidates against tests: the driver that hands samples to workers and believes only what they have seen.

with Harness(tasks) as harness: ...          # or, in one go:
for result in execute(tasks, samples): ...
"""

import os
import secrets
import select
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from voirdire.errors import UsageError
from voirdire.execution import levels
from voirdire.execution.jail.settings import Settings
from voirdire.execution.jail.tally import one_line
from voirdire.execution.tasks import (
    Isolation,
    Limits,
    Proof,
    Result,
    Sample,
    StreamCase,
    Task,
    TestKind,
)
from voirdire.execution.toolchains import Command, command_of
from voirdire.execution.worker import Given, Worker, WorkerLost, make_scratch
from voirdire.model import GroundTruth, TestGroup, TruthSource, TruthStatus

PRELOAD = (
    *("math", "re", "collections", "typing", "itertools", "heapq", "json", "random", "string", "datetime"),
    *("functools", "bisect", "copy", "operator"),
)
"""Modules that candidates use most; each makes every fork a little dearer, so that rarer ones are left to them."""

IN_HAND = 2
"""Samples a worker holds at once: the next is there when one is done."""

ATTEMPTS = 2
"""A worker may be lost with a sample once; if it happens again, the sample has no result."""

EXCLUDED = "the task is excluded: "
"""Begins the error of a sample that was not run because its task cannot be scored."""

BLANK = "there is nothing to parse"
"""The error of a sample that is empty or white space."""

GRACE_SECONDS = 60.0
"""Beyond a sample's own limits, before a worker that does not answer is given up."""


def execute(
    tasks: Iterable[Task],
    samples: Iterable[Sample],
    *,
    limits: Limits | None = None,
    isolation: Isolation | None = None,
    workers: int | None = None,
    on_result: Callable[[Result], None] | None = None,
    unsafe: bool = False,
    excluded: Mapping[str, str] | None = None,
    image: str = levels.IMAGE,
) -> Iterator[Result]:
    """Yield one result for each sample, as they come: not in the order of the samples.

    isolation: None takes `namespace`, or where it is not allowed and `unsafe` is set, `process`. workers: as many as
    this process may use processors by default. on_result: called with each result before it is yielded. excluded: task
    ids that are not run, each with the reason. A sample of an unknown or excluded task has the status not_run.
    Raises UsageError where a language has no tool, and with the first result where the isolation cannot be had.
    """
    known = {task.task_id: task for task in tasks}
    orders = {name: _order_of(task) for name, task in known.items()}
    foreign = next((known[name] for name, order in orders.items() if order.command), None)
    if foreign and isolation is Isolation.CONTAINER:
        raise UsageError(
            f"task '{foreign.task_id}': a container runs Python only, and this is {foreign.language}",
            hint="use --isolation namespace, which shows candidates the tools of this machine",
        )
    plan = _plan(orders.values(), limits or Limits(), image)

    def run() -> Iterator[Result]:
        pool = _Pool(plan=plan, isolation=isolation, workers=workers or _processors(), unsafe=unsafe)
        try:
            yield from _Run(pool, orders, known, excluded or {}).results(samples)
        finally:
            pool.close()

    return run() if on_result is None else _told(run(), on_result)


def check_isolation(
    isolation: Isolation | None,
    *,
    limits: Limits | None = None,
    unsafe: bool = False,
    image: str = levels.IMAGE,
) -> None:
    """Start one worker and end it; the arguments are those of `execute`. UsageError where the isolation cannot be had."""
    plan = _plan((), limits or Limits(), image)
    _Pool(plan=plan, isolation=isolation, workers=1, unsafe=unsafe).close()


def _told(results: Iterator[Result], on_result: Callable[[Result], None]) -> Iterator[Result]:
    for result in results:
        on_result(result)
        yield result


@dataclass(frozen=True)
class _Order:
    """A task as workers take it; `command` for languages other than Python."""

    data: Mapping[str, Any]
    command: Command | None


def _order_of(task: Task) -> _Order:
    command = command_of(task)
    kind = "command" if command and task.tests.kind == TestKind.PROGRAM else str(task.tests.kind)
    cases = task.tests.cases if task.tests.kind == TestKind.STREAMS else (StreamCase("", ""),) * bool(command)
    data = {
        "id": task.task_id,
        "kind": kind,
        "entry": task.entry_point,
        "module": task.module,
        "prompt": task.prompt,
        "prelude": "" if command else task.prelude,
        "tests": task.tests.code,
        "cases": [[case.given, case.expected] for case in cases],
        "command": command.as_data() if command else None,
    }
    return _Order(data, command)


@dataclass(frozen=True)
class _Plan:
    """What all workers of a run have in common."""

    limits: Limits
    preludes: tuple[str, ...]
    preload: tuple[str, ...]
    roots: tuple[str, ...]
    image: str


def _plan(orders: Iterable[_Order], limits: Limits, image: str) -> _Plan:
    held = list(orders)
    uses_numpy = any(
        "numpy" in text for order in held for text in (order.data["tests"], order.data["prelude"])
    )
    uses_unittest = any(order.data["kind"] == TestKind.UNITTEST for order in held)
    commands = [order.command for order in held if order.command]
    return _Plan(
        limits=limits,
        preludes=tuple(sorted({order.data["prelude"] for order in held} - {""}))[:100],
        preload=(
            *PRELOAD,
            *(("numpy",) if uses_numpy else ()),
            *(("voirdire.execution.jail.unittests",) if uses_unittest else ()),
        ),
        roots=tuple(sorted({*levels.interpreter_roots(), *(root for one in commands for root in one.roots)})),
        image=image,
    )


class _Pool:
    """Workers of one run, all of one isolation."""

    def __init__(self, *, plan: _Plan, isolation: Isolation | None, workers: int, unsafe: bool) -> None:
        self._plan = plan
        self._size = workers
        self._made = 0
        self.workers: list[Worker] = []
        self.isolation = isolation or Isolation.NAMESPACE
        if isolation:
            levels.check_choice(isolation, unsafe=unsafe)
        self._may_fall_back = isolation is None and unsafe
        self._is_default = isolation is None
        self._start_first()

    def _start_first(self) -> None:
        try:
            if self._is_default:
                levels.check_choice(self.isolation, unsafe=False)
            self.add()
        except UsageError as error:
            if self._may_fall_back:
                self.isolation, self._may_fall_back = Isolation.PROCESS, False
                self.add()
                return
            raise UsageError(
                f"no candidate code is run here: the isolation '{self.isolation}' cannot be had: {error}",
                hint=error.hint
                or f"{self._elsewhere()}; or --unsafe, which sets limits only ({levels.TRUSTED_ONLY})",
            ) from None

    def _elsewhere(self) -> str:
        others = [level for level in Isolation if level not in (Isolation.PROCESS, self.isolation)]
        return f"use --isolation {' or '.join(others)}"

    def grow(self, wanted: int) -> None:
        """Start workers until there are as many as wanted and allowed."""
        while len(self.workers) < min(self._size, wanted):
            self.add()

    def add(self) -> None:
        """Start one worker. Raises UsageError where it cannot be started."""
        worker = Worker(self._shell(), self._settings())
        try:
            worker.wait_until_ready()
        except BaseException:
            worker.close()
            raise
        self.workers.append(worker)

    def drop(self, worker: Worker) -> None:
        """End a worker."""
        self.workers.remove(worker)
        worker.close()

    def close(self) -> None:
        """End all workers."""
        while self.workers:
            self.workers.pop().close()

    @property
    def patience(self) -> float:
        """Seconds after which a worker that has not answered is given up."""
        limits = self._plan.limits
        return limits.wall_seconds + 2 * limits.cpu_seconds + GRACE_SECONDS

    def _shell(self) -> levels.Shell:
        return levels.shell_for(
            self.isolation, limits=self._plan.limits, roots=self._plan.roots, image=self._plan.image
        )

    def _settings(self) -> Settings:
        limits = self._plan.limits
        in_host = self.isolation == Isolation.PROCESS
        self._made += 1
        return Settings(
            cpu=limits.cpu_seconds,
            wall=limits.wall_seconds,
            memory=limits.memory_mb << 20,
            processes=limits.processes,
            files=limits.file_mb << 20,
            output=limits.output_bytes,
            open_files=limits.open_files,
            namespaces=self.isolation in (Isolation.NAMESPACE, Isolation.BUBBLEWRAP),
            user=_throwaway_user(self._made),
            scratch=make_scratch() if in_host else levels.SCRATCH,
            preload=self._plan.preload,
            preludes=self._plan.preludes,
            roots=self._plan.roots,
        )


def _throwaway_user(place: int) -> int:
    """Return a user id that nobody has: candidates of each worker run as one of their own, where we are root."""
    return 0x70000000 + (os.getpid() & 0xFFFF) * 1024 + 2 * (place % 512) + 1


@dataclass
class _Pending:
    sample: Sample
    attempts: int = 0


class _Run:
    """One pass over the samples."""

    def __init__(
        self,
        pool: _Pool,
        orders: Mapping[str, _Order],
        tasks: Mapping[str, Task],
        barred: Mapping[str, str],
    ) -> None:
        self._pool = pool
        self._orders = orders
        self._tasks = tasks
        self._barred = barred
        self._waiting: deque[int] = deque()
        self._pending: dict[int, _Pending] = {}
        self._number = 0

    def results(self, samples: Iterable[Sample]) -> Iterator[Result]:
        """Yield results until every sample has one."""
        source = iter(samples)
        exhausted = False
        while True:
            while not exhausted and len(self._waiting) < IN_HAND:
                sample = next(source, None)
                if sample is None:
                    exhausted = True
                    break
                reason = self._why_not(sample)
                if reason:
                    yield _not_run(sample, reason)
                elif _is_blank(sample.code):
                    yield self._unparsable(sample)
                else:
                    self._enqueue(sample)
            if exhausted and not self._pending:
                return
            yield from self._hand_out()
            if exhausted or len(self._waiting) >= IN_HAND:
                yield from self._collect()

    def _why_not(self, sample: Sample) -> str:
        if sample.task_id in self._barred:
            return f"{EXCLUDED}{self._barred[sample.task_id]}"
        if sample.task_id not in self._orders:
            return f"there is no task '{sample.task_id}'"
        return ""

    def _unparsable(self, sample: Sample) -> Result:
        """Return the result of a sample without a character of code, which no language's parser need be asked about."""
        task = self._tasks[sample.task_id]
        truth = GroundTruth(
            source=TruthSource.TESTS,
            status=TruthStatus.UNPARSABLE,
            groups={"tests": TestGroup(0, task.total or 0)},
            isolation=str(self._pool.isolation),
        )
        proof = task.proof or Proof.SEPARATE
        return Result(sample.sample_id, sample.task_id, sample.system, truth, proof=proof, error=BLANK)

    def _enqueue(self, sample: Sample) -> None:
        self._number += 1
        self._pending[self._number] = _Pending(sample)
        self._waiting.append(self._number)

    def _hand_out(self) -> Iterator[Result]:
        self._pool.grow(len(self._pending))
        for worker in list(self._pool.workers):
            while self._waiting and len(worker.in_hand) < IN_HAND:
                number = self._waiting.popleft()
                sample = self._pending[number].sample
                task = self._tasks[sample.task_id]
                order = {"task": sample.task_id, "code": sample.code, "proof": task.proof}
                try:
                    worker.give(
                        Given(number, secrets.token_hex(16)), self._orders[sample.task_id].data, order
                    )
                except WorkerLost:
                    yield from self._lose(worker)
                    break

    def _collect(self) -> Iterator[Result]:
        poll = select.poll()
        workers = {worker.fileno(): worker for worker in self._pool.workers if worker.in_hand}
        for fd in workers:
            poll.register(fd, select.POLLIN)
        for fd, _ in poll.poll(1000):
            worker = workers[fd]
            try:
                given, data = worker.take()
            except WorkerLost:
                yield from self._lose(worker)
                continue
            pending = self._pending.pop(given.number)
            yield self._result(pending.sample, data)
        now = time.monotonic()
        for worker in workers.values():
            if worker.in_hand and now - worker.busy_since > self._pool.patience:
                yield from self._lose(worker)

    def _lose(self, worker: Worker) -> Iterator[Result]:
        """Give up a worker; what it worked on gets another chance, what it had not begun goes to others."""
        if worker not in self._pool.workers:
            return
        numbers = [given.number for given in worker.in_hand]
        self._pool.drop(worker)
        for number in reversed(numbers):
            self._waiting.appendleft(number)
        if not numbers:
            return
        first = self._pending[numbers[0]]
        first.attempts += 1
        if first.attempts >= ATTEMPTS:
            self._waiting.remove(numbers[0])
            del self._pending[numbers[0]]
            yield _result_without_run(
                first.sample,
                TruthStatus.INFRASTRUCTURE,
                "the worker was lost with it, twice",
                self._pool.isolation,
            )

    def _result(self, sample: Sample, data: Mapping[str, Any]) -> Result:
        task = self._tasks[sample.task_id]
        total = max(int(data["run"]), task.total or 0)
        groups = {"tests": TestGroup(int(data["passed"]), total)}
        if data["constant"]:
            groups["constant"] = TestGroup(int(data["constant"]), int(data["constant"]))
        truth = GroundTruth(
            source=TruthSource.TESTS,
            status=TruthStatus(data["status"]),
            groups=groups,
            isolation=str(self._pool.isolation),
        )
        return Result(
            sample_id=sample.sample_id,
            task_id=sample.task_id,
            system=sample.system,
            truth=truth,
            proof=Proof(data["proof"]),
            error=one_line(data["error"]),
            cpu_seconds=float(data["cpu"]),
            wall_seconds=float(data["wall"]),
            defined=tuple(data["defined"]),
        )


def _is_blank(code: str) -> bool:
    return not code.removeprefix("\ufeff").strip()


def _not_run(sample: Sample, reason: str) -> Result:
    return _result_without_run(sample, TruthStatus.NOT_RUN, reason, None)


def _result_without_run(
    sample: Sample, status: TruthStatus, reason: str, isolation: Isolation | None
) -> Result:
    truth = GroundTruth(
        source=TruthSource.TESTS, status=status, isolation=str(isolation) if isolation else None
    )
    return Result(sample.sample_id, sample.task_id, sample.system, truth, error=one_line(reason))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
