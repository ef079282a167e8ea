"""Processes that parse, and are replaced when a text kills them: the verdict falls on that text alone."""

import marshal
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import voirdire
from voirdire.errors import VoirdireError
from voirdire.languages._worker import WALL_SECONDS, Grammar

BATCH_TEXTS = 256
BATCH_CHARACTERS = 1_000_000
"""What one request holds at most, so that two workers finish at about the same time."""

WORKER = "voirdire.languages._worker"


_Request = tuple[Grammar, bool, list[str]]


class Failure(NamedTuple):
    """Why one text did not parse, as the parser put it; `error`: the class of its exception, or what ended it.

    `incomplete`: the text only breaks off too early. `UNSAID` where nobody asked.
    """

    error: str
    message: str
    line: int | None = None
    column: int | None = None
    incomplete: bool = False


UNSAID = Failure("SyntaxError", "")

ENDED_BY_TIME = "time"
ENDED_BY_MEMORY = "memory"
ENDED_BY_CRASH = "crash"


@dataclass(frozen=True)
class _Batch:
    indexes: Sequence[int]
    died: bool = False


class Pool:
    """Up to `workers` parsing processes, started when first needed. To be closed."""

    def __init__(self, workers: int | None = None, *, worker: str = WORKER) -> None:
        self._most = workers or os.cpu_count() or 1
        self._module = worker
        self._idle: list[_Worker] = []
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def failures(self, grammar: Grammar, texts: Sequence[str], *, careful: bool) -> dict[int, Failure]:
        """Return by index why a text did not parse, if `careful`; a text that parses is not in it."""
        job = _Job(grammar, texts, careful)
        workers = min(self._most, job.left.qsize())
        if workers > 1:
            with ThreadPoolExecutor(workers) as threads:
                for done in [threads.submit(self._work_on, job) for _ in range(workers)]:
                    done.result()
        else:
            self._work_on(job)
        if job.answered != len(texts):
            raise VoirdireError(
                f"only {job.answered} of {len(texts)} texts were parsed",
                hint="run it again; nothing was kept",
            )
        return job.found

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.close()

    def _work_on(self, job: "_Job") -> None:
        worker = self._taken()
        try:
            while (batch := job.next()) is not None:
                answer = worker.ask(job.request(batch))
                if answer is not None:
                    job.answer(batch, answer)
                    continue
                ended = worker.close()
                worker = _Worker(self._module)
                job.worker_died(batch, ended)
        except BaseException:
            worker.close()
            raise
        with self._lock:
            self._idle.append(worker)

    def _taken(self) -> "_Worker":
        with self._lock:
            if self._owner != os.getpid():
                self._owner, self._idle = os.getpid(), []
            worker = self._idle.pop() if self._idle else None
        return worker or _Worker(self._module)


class _Job:
    """Texts to be parsed, in batches that several threads hand to their workers."""

    def __init__(self, grammar: Grammar, texts: Sequence[str], careful: bool) -> None:
        self.left: queue.SimpleQueue[_Batch] = queue.SimpleQueue()
        self.found: dict[int, Failure] = {}
        self.answered = 0
        self._grammar = grammar
        self._texts = texts
        self._careful = careful
        self._lock = threading.Lock()
        for batch in _batches(texts):
            self.left.put(batch)

    def next(self) -> _Batch | None:
        try:
            return self.left.get_nowait()
        except queue.Empty:
            return None

    def request(self, batch: _Batch) -> _Request:
        return self._grammar, self._careful, [self._texts[index] for index in batch.indexes]

    def answer(self, batch: _Batch, failures: list[Any]) -> None:
        if self._careful:
            found = {batch.indexes[index]: Failure(*said) for index, said in failures}
        else:
            found = dict.fromkeys((batch.indexes[index] for index in failures), UNSAID)
        with self._lock:
            self.found.update(found)
            self.answered += len(batch.indexes)

    def worker_died(self, batch: _Batch, ended: Failure) -> None:
        """Blame a text only when it was alone, and after a first death: a worker may die of something else."""
        if batch.died and len(batch.indexes) == 1:
            with self._lock:
                self.found[batch.indexes[0]] = ended
                self.answered += 1
            return
        for index in batch.indexes:
            self.left.put(_Batch((index,), died=True))


class _Worker:
    """One parsing process and the pipes to it."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-S", "-W", "ignore", "-c", f"from {module} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": _search_path()},
        )
        self._overdue = False

    def ask(self, request: _Request) -> list[Any] | None:
        """Return the failures, or None where the process died of the request or had to be ended."""
        watch = None if hasattr(signal, "setitimer") else self._watched()
        try:
            body = marshal.dumps(request)
            self._stdin.write(len(body).to_bytes(8, "little"))
            self._stdin.write(body)
            self._stdin.flush()
            head = self._stdout.read(8)
            answer = self._stdout.read(int.from_bytes(head, "little")) if len(head) == 8 else b""
            failures: list[Any] | None = marshal.loads(answer) if answer else None
            return failures
        except (BrokenPipeError, EOFError):
            return None
        finally:
            if watch is not None:
                watch.cancel()

    def close(self) -> Failure:
        """End the process where it still runs; say what ended it where it does not."""
        for pipe in (self._stdin, self._stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                continue
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return self._ended(code)

    def _ended(self, code: int) -> Failure:
        if self._overdue or code in {-getattr(signal, name, 0) for name in ("SIGPROF", "SIGALRM")} - {0}:
            return Failure(ENDED_BY_TIME, "the parser took too long")
        if code == -getattr(signal, "SIGKILL", 0):
            return Failure(ENDED_BY_MEMORY, "the system ended the parser, as it does where memory runs out")
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Failure(ENDED_BY_CRASH, f"the parser died: {how}")

    def _watched(self) -> threading.Timer:
        """Return a running clock that ends the process, for systems whose kernel does not watch its time."""
        watch = threading.Timer(WALL_SECONDS, self._end)
        watch.daemon = True
        watch.start()
        return watch

    def _end(self) -> None:
        self._overdue = True
        self._process.kill()

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout


def _batches(texts: Sequence[str]) -> Iterator[_Batch]:
    start, size = 0, 0
    for index, text in enumerate(texts):
        if index > start and (index - start == BATCH_TEXTS or size + len(text) > BATCH_CHARACTERS):
            yield _Batch(range(start, index))
            start, size = index, 0
        size += len(text)
    if start < len(texts):
        yield _Batch(range(start, len(texts)))


def _search_path() -> str:
    """Return where a worker finds what we find; never the folder it happens to start in, where a candidate may write."""
    house = os.path.dirname(os.path.dirname(os.path.abspath(voirdire.__file__)))
    return os.pathsep.join([house, *(folder for folder in sys.path if folder)])
