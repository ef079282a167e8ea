"""A thread of its own for blocking work that holds something: one job at a time, stopped and joined at exit."""

from __future__ import annotations

import asyncio
import atexit
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")
Stop = Callable[[], bool]

LAST_WAIT = 60.0
"""Seconds that an ending waits for the running job, which was told to stop."""


class EndedError(Exception):
    """The worker ended before the job was begun."""


class Worker:
    """Runs jobs in the order they were handed over, and `last` at the end.

    A job gets `stop`, which turns true when nobody waits for it any more. One that was not begun raises EndedError.
    """

    def __init__(self, name: str, *, last: Callable[[], None]) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._ending = threading.Event()
        self._last = last
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()
        _ALL.add(self)

    async def run(self, job: Callable[[Stop], Result]) -> Result:
        """Run a job and return what it returns; where the caller is cancelled, the job is told to stop."""
        entry = self._entry(job)
        try:
            result: Result = await asyncio.wrap_future(entry.future)
        finally:
            entry.left.set()
        return result

    def run_now(self, job: Callable[[Stop], Result]) -> Result:
        """As `run`, for a caller that holds up its own thread."""
        result: Result = self._entry(job).future.result()
        return result

    def end(self) -> None:
        """Tell the running job to stop, drop those that wait, run `last`, and wait until all that is done."""
        if not self._ending.is_set():
            self._ending.set()
            self._jobs.put(None)
        self._thread.join(LAST_WAIT)

    def _entry(self, job: Callable[[Stop], Any]) -> _Job:
        entry = _Job(job, self._ending)
        if self._ending.is_set():
            entry.future.set_exception(EndedError())
        else:
            self._jobs.put(entry)
        return entry

    def _work(self) -> None:
        while (entry := self._jobs.get()) is not None:
            entry.work()
            del entry
        self._last()


class _Job:
    def __init__(self, job: Callable[[Stop], Any], ending: threading.Event) -> None:
        self.future: Future[Any] = Future()
        self.left = threading.Event()
        self._job = job
        self._ending = ending

    def work(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        if self._ending.is_set():
            self.future.set_exception(EndedError())
            return
        try:
            self.future.set_result(self._job(self._stop))
        except BaseException as error:
            self.future.set_exception(error)

    def _stop(self) -> bool:
        return self.left.is_set() or self._ending.is_set()


_ALL: weakref.WeakSet[Worker] = weakref.WeakSet()


def _end_all() -> None:
    for worker in list(_ALL):
        worker.end()


atexit.register(_end_all)
