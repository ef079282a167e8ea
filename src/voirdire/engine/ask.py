"""Asks a batch of calls: what the ledger has is taken from it, the rest is asked, written down, then counted.

A few workers share the calls; each asks one, waits until its answer is in the ledger, and takes the next. A
stop (Ctrl-C, a budget, an exhausted quota, a judge that only fails) keeps what was answered.
"""

import asyncio
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import NamedTuple

from voirdire.engine.budget import Budget
from voirdire.engine.ledger import Entry, Key, Lease, Ledger
from voirdire.engine.pace import Attempt, BoundedPace, NotSent
from voirdire.engine.plan import Call, Forecast, total
from voirdire.engine.progress import Progress
from voirdire.engine.tally import Found, Tally, nothing_answered, why_failed
from voirdire.errors import DataError, QuotaError
from voirdire.model import Account, Answer, Judge, Verdict

__all__ = ["Asker", "Call", "Forecast"]

FAILURES_TO_STOP = 20
"""Calls in a row that failed for good, each after all its attempts, until the judge is taken to be gone."""

FAILURES_BEFORE_FIRST_ANSWER = 3
"""The same as long as no attempt of any call was ever answered."""

_INTERRUPTS: Mapping[int, str] = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}

_CLAIM_ROUNDS = 4
"""Calls claimed ahead for each worker: few enough that a second process finds some left."""


class Asker:
    """Asks for one run. `grace`: seconds that calls in flight have to end after Ctrl-C; a second one ends them.

    `poll`: seconds between looks at calls that another process is asking.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        pace: BoundedPace,
        budget: Budget,
        progress: Progress,
        grace: float = 5.0,
        poll: float = 0.25,
    ) -> None:
        self._ledger = ledger
        self._pace = pace
        self._budget = budget
        self._progress = progress
        self._grace = grace
        self._poll = poll
        self._tally = Tally()
        self._failed: dict[Key, Answer] = {}
        self._planned: set[Key] = set()
        self._spared: set[Key] = set()
        self._counted: set[Key] = set()
        self._foreseen: Forecast | None = None
        self._watched = False
        self._fewer_because = ""
        self._stopped: str | None = None
        self._gone = False
        self._active: set[_Batch] = set()

    @property
    def stopped(self) -> str | None:
        """Why no more calls are sent, or None while they are."""
        return self._stopped

    @property
    def account(self) -> Account:
        """What this run asked, paid and missed until now.

        `partial` where calls were not sent, and where nothing was answered or no answer about an item could be read.
        """
        account = self._tally.account(self._partial())
        at_most = self._foreseen.calls if self._foreseen is not None else 0
        return replace(account, at_most=at_most, fewer_because=self._fewer_because)

    def foresee(self, forecast: Forecast) -> None:
        """Take the plan of the whole run, which the account tells beside what was needed."""
        self._foreseen = forecast

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Show all batches asked within as one run of as many calls as were foreseen."""
        if self._foreseen is None:
            yield
            return
        self._watched = True
        self._progress.started(self._total, known=self._foreseen.cached)
        try:
            yield
        finally:
            self._watched = False
            self._progress.finished()

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """Say that something else than asking goes on."""
        self._progress.doing(what)
        try:
            yield
        finally:
            self._progress.doing("")

    def spare(self, calls: Sequence[Call], *, because: str) -> None:
        """Take note that calls of the plan are not needed, and why."""
        self._spared.update(key for key in self._keys(calls) if key not in self._planned)
        self._fewer_because = because
        self._retotal()

    def earlier_look(self, judge: Judge, family: str) -> int | None:
        """Return the smallest number of answers at which results of `family` were seen before, or None."""
        return min(self._ledger.looks(judge.identity, family), default=None)

    def record_look(self, judge: Judge, family: str, n: int) -> None:
        """Note that the results of `family` are seen now, at `n` answers a version."""
        self._ledger.record_look(judge.identity, family, n)

    def forecast(self, calls: Sequence[Call]) -> Forecast:
        """Return what `calls` will take. Asks and writes nothing.

        Raises UsageError, as asking would, where money is limited and a judge has no known price.
        """
        numbers: dict[int, int] = {}
        unknown: dict[str, int] = {}
        distinct: dict[tuple[int, str, int], Call] = {}
        for call in calls:
            judge = id(call.judge)
            if judge not in numbers:
                known = self._ledger.known_identity(call.judge.identity)
                below = unknown.setdefault(call.judge.identity.fingerprint, -len(unknown) - 1)
                numbers[judge] = below if known is None else known
            distinct[(numbers[judge], call.request.digest, call.repeat)] = call
        sendable = {Key(*key): call for key, call in distinct.items() if call.request.too_long is None}
        cached = self._ledger.answered(key for key in sendable if key.identity >= 0)
        missing = {key: call for key, call in sendable.items() if key not in cached}
        self._budget.check(call.request for call in missing.values())
        return Forecast(
            calls=len(distinct),
            cached=len(cached),
            too_long=len(distinct) - len(sendable),
            to_ask=len(missing),
            expected=total([call.request.expected for call in missing.values()]),
            worst=total([call.request.worst for call in missing.values()]),
            seconds=self._seconds(Counter(key.identity for key in missing)),
        )

    async def ask(self, calls: Sequence[Call]) -> list[tuple[Verdict, ...]]:
        """Return one verdict per question for every call, in the order of `calls`.

        Equal calls are asked once. A call that was not sent gives verdicts missing because "not asked: ...". Raises
        UsageError where money is limited and a judge has no known price, JudgeError where a judge cannot be asked
        at all, DataError where the ledger fails. Whatever ends it, what was answered is in the ledger.
        """
        began = time.perf_counter()
        keys = self._keys(calls)
        distinct: dict[Key, Call] = {}
        for key, call in zip(keys, calls, strict=True):
            distinct.setdefault(key, call)
        found = Found(self._tally, self._progress, self._failed, self._counted)
        self._planned.update(distinct)
        self._tally.planned = len(self._planned)
        if self._watched:
            self._retotal()
        else:
            self._progress.started(len(distinct))
        try:
            await self._answer_all(distinct, found)
        finally:
            if not self._watched:
                self._progress.finished()
            self._tally.seconds += time.perf_counter() - began
        return [
            self._verdicts(key, call, distinct[key], found) for key, call in zip(keys, calls, strict=True)
        ]

    def stop(self, reason: str) -> None:
        """Send no more calls; those in flight may end. The first reason stands."""
        if self._stopped is None:
            self._stopped = reason

    # --- inside

    @property
    def _total(self) -> int:
        """The calls of the run, as far as is known by now."""
        foreseen = self._foreseen.calls - len(self._spared) if self._foreseen is not None else 0
        return max(foreseen, len(self._planned))

    def _retotal(self) -> None:
        if self._watched:
            self._progress.expected(self._total)

    def _partial(self) -> str | None:
        in_vain = None if self._gone else self._tally.in_vain
        said = [reason for reason in (self._stopped, in_vain) if reason is not None]
        return "; ".join(said) or None

    def _fail(self, failures: int, why: str) -> None:
        """End the run where so many failures in a row show that the judge is gone."""
        heard = self._pace.heard
        if failures >= (FAILURES_TO_STOP if heard else FAILURES_BEFORE_FIRST_ANSWER):
            self._gone = self._gone or self._stopped is None
            self.stop(
                f"{failures} calls in a row failed: {why}" if heard else nothing_answered(why, failures)
            )

    def _keys(self, calls: Sequence[Call]) -> list[Key]:
        numbers: dict[int, int] = {}
        for call in calls:
            if id(call.judge) not in numbers:
                numbers[id(call.judge)] = self._ledger.identity_number(call.judge.identity)
        return [Key(numbers[id(call.judge)], call.request.digest, call.repeat) for call in calls]

    async def _answer_all(self, distinct: Mapping[Key, Call], found: Found) -> None:
        sendable: dict[Key, Call] = {}
        for key, call in distinct.items():
            if call.request.too_long is not None:
                found.unsendable(key, call, call.request.too_long)
            else:
                sendable[key] = call
        for key, answer in self._ledger.answers(sendable).items():
            found.cached(key, sendable.pop(key), answer)
        for key in self._failed.keys() & sendable.keys():
            found.cached(key, sendable.pop(key), self._failed[key])
        if sendable and self._stopped is None:
            self._budget.check(call.request for call in sendable.values())
            await self._ask(sendable, found)

    async def _ask(self, calls: dict[Key, Call], found: Found) -> None:
        batch = _Batch(self, calls, found, self._ledger.lease())
        with self._interruptible(batch):
            renewing = asyncio.create_task(batch.renew(self._ledger.lease_seconds / 4))
            try:
                await batch.run(self._poll)
            finally:
                renewing.cancel()
                batch.lease.release()

    def _verdicts(self, key: Key, call: Call, first: Call, found: Found) -> tuple[Verdict, ...]:
        answer = found.answers.get(key)
        if answer is None:
            answer = Answer(missing_because=f"not asked: {self._stopped}")
        elif call is first:
            return found.verdicts[key]
        return call.judge.read(call.request, answer, repeat=call.repeat)

    def _seconds(self, to_ask: Mapping[int, int]) -> float | None:
        """Return the time that earlier answers let expect for so many calls of each identity."""
        means = {identity: self._ledger.mean_seconds(identity) for identity in to_ask if identity >= 0}
        times = [means.get(identity) for identity in to_ask]
        known = [mean * n for mean, n in zip(times, to_ask.values(), strict=True) if mean is not None]
        return sum(known) / self._pace.concurrency if len(known) == len(to_ask) else None

    async def _send(self, call: Call) -> Answer | None:
        """Ask one call; None where the run is over for it."""
        try:
            if not self._budget.limited:
                return await call.judge.ask(call.request, repeat=call.repeat, pace=self._pace)
            return await self._send_metered(call)
        except NotSent:
            self.stop(f"{self._budget.limit} reached")
        except QuotaError as error:
            self.stop(f"quota exhausted: {error}")
        return None

    async def _send_metered(self, call: Call) -> Answer:
        meter = _Meter(self._budget, call, lambda: self._stopped is not None)
        if not await meter.begin():
            raise NotSent
        answer = None
        try:
            answer = await call.judge.ask(
                call.request, repeat=call.repeat, pace=_MeteredPace(self._pace, meter)
            )
            return answer
        finally:
            meter.end(answer)

    @contextmanager
    def _interruptible(self, batch: "_Batch") -> Iterator[None]:
        """Turn Ctrl-C and SIGTERM into a stop while a batch is asked.

        Elsewhere than in the main thread they are not ours to take, and neither is one that the program ignores or
        leaves to the system.
        """
        self._active.add(batch)
        first = len(self._active) == 1 and threading.current_thread() is threading.main_thread()
        previous = {number: signal.getsignal(number) for number in _INTERRUPTS} if first else {}
        ours = {number: handler for number, handler in previous.items() if callable(handler)}
        loop = asyncio.get_running_loop()

        def interrupted(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's shape
            loop.call_soon_threadsafe(self._interrupt, loop, _INTERRUPTS[number])

        for number in ours:
            signal.signal(number, interrupted)
        try:
            yield
        finally:
            self._active.discard(batch)
            for number, handler in ours.items():
                signal.signal(number, handler)

    def _interrupt(self, loop: asyncio.AbstractEventLoop, by: str) -> None:
        if self._stopped is None:
            self.stop(f"interrupted by {by}")
            loop.call_later(self._grace, self._abort)
        else:
            self._abort()

    def _abort(self) -> None:
        for batch in self._active:
            batch.abort()


class _Batch:
    """The calls of one `ask` that are not in the ledger, and the workers that ask them."""

    def __init__(self, asker: Asker, calls: Mapping[Key, Call], found: Found, lease: Lease) -> None:
        self._asker = asker
        self._calls = calls
        self._found = found
        self.lease = lease
        self._todo = deque(calls)
        self._ready: deque[Key] = deque()
        self._taken: list[Key] = []
        self._entries: list[Entry] = []
        self._commit: asyncio.Future[None] | None = None
        self._failures = 0
        self._workers: list[asyncio.Task[None]] = []
        self._concurrency = asker._pace.concurrency

    async def run(self, poll: float) -> None:
        """Ask all that is free; wait for what another process is asking; until nothing is left or all is stopped."""
        while self._asker.stopped is None:
            await self._work_through()
            if not self._taken or self._asker.stopped is not None:
                return
            await asyncio.sleep(poll)
            self._look_again()

    async def renew(self, every: float) -> None:
        """Keep the lease alive."""
        while True:
            await asyncio.sleep(every)
            with suppress(DataError):  # whatever is wrong with the ledger, the next answer will say it
                self.lease.renew()

    def abort(self) -> None:
        """End the calls in flight: their answers are lost."""
        for worker in self._workers:
            worker.cancel()

    async def _work_through(self) -> None:
        self._workers = [
            asyncio.create_task(self._work())
            for _ in range(min(self._concurrency, len(self._todo) + len(self._ready)))
        ]
        if not self._workers:
            return
        try:
            await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self.abort()
            ends = await asyncio.gather(*self._workers, return_exceptions=True)
            self._flush()
        for end in ends:
            if isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
                raise end

    async def _work(self) -> None:
        while (key := self._next()) is not None:
            call = self._calls[key]
            answer = await self._asker._send(call)
            if answer is None:
                return
            await self._committed(Entry(key, call.request, answer))

    def _next(self) -> Key | None:
        """Return a call that is ours to ask, or None where there is none or all is stopped."""
        while self._asker.stopped is None:
            if self._ready:
                return self._ready.popleft()
            if not self._todo:
                return None
            chunk = [
                self._todo.popleft() for _ in range(min(len(self._todo), _CLAIM_ROUNDS * self._concurrency))
            ]
            self._claim(chunk)
        return None

    def _claim(self, keys: Sequence[Key]) -> None:
        claimed = self.lease.claim({key: self._calls[key].request for key in keys})
        self._ready.extend(claimed.mine)
        self._taken.extend(claimed.taken)
        for key, answer in claimed.answers.items():
            self._found.cached(key, self._calls[key], answer)

    def _look_again(self) -> None:
        """Collect what the other process has answered by now, and try to claim the first of the rest."""
        answers = self._asker._ledger.answers(self._taken)
        for key, answer in answers.items():
            self._found.cached(key, self._calls[key], answer)
        rest = [key for key in self._taken if key not in answers]
        chunk = rest[: _CLAIM_ROUNDS * self._concurrency]
        self._taken = rest[len(chunk) :]
        self._claim(chunk)
        if self._ready:
            self._todo.extend(self._taken)
            self._taken.clear()

    async def _committed(self, entry: Entry) -> None:
        """Wait until the answer is in the ledger; answers that arrive together share one transaction."""
        self._entries.append(entry)
        if self._commit is None:
            loop = asyncio.get_running_loop()
            self._commit = loop.create_future()
            loop.call_soon(self._commit_now, self._commit)
        await self._commit

    def _commit_now(self, commit: asyncio.Future[None]) -> None:
        try:
            self._flush()
        except Exception as error:
            if commit.done():
                raise
            commit.set_exception(error)
        else:
            if not commit.done():
                commit.set_result(None)

    def _flush(self) -> None:
        """Write the answers that wait, then count them."""
        entries, self._entries, self._commit = self._entries, [], None
        if not entries:
            return
        try:
            earlier = self._asker._ledger.record(entries)
        except BaseException:
            self._entries = [*entries, *self._entries]  # paid for: tried once more when the batch ends
            raise
        for entry in entries:
            answer = earlier.get(entry.key, entry.answer)
            self._found.answered(entry.key, self._calls[entry.key], answer)
            self._failures = self._failures + 1 if answer.failed else 0
            if answer.failed:
                self._asker._fail(self._failures, why_failed(answer))


class _Meter:
    """Reserves the worst case of every attempt of one call before it is made, and settles it afterwards."""

    def __init__(self, budget: Budget, call: Call, stopped: Callable[[], bool]) -> None:
        self._budget = budget
        self._worst = call.request.worst
        self._stopped = stopped
        self._reserved = False
        self._unused = False

    async def begin(self) -> bool:
        """Reserve for the first attempt; also for a judge that never asks its pace."""
        self._reserved = self._unused = await self._reserve()
        return self._reserved

    async def open(self) -> bool:
        """Reserve for the next attempt."""
        if self._unused:
            self._unused = False
            return True
        self._reserved = await self._reserve()
        return self._reserved

    def close(self, answer: Answer | None, *, maybe_paid: bool) -> None:
        """Settle what the attempt cost, or may have cost."""
        if not self._reserved:
            return
        self._reserved = False
        if answer is None and not maybe_paid:
            self._budget.release(self._worst)
        else:
            self._budget.settle(self._worst, spent=None if answer is None else answer.money)

    def end(self, answer: Answer | None) -> None:
        """Settle what is still reserved."""
        self.close(answer, maybe_paid=False)

    async def _reserve(self) -> bool:
        if self._stopped() or not await self._budget.reserve(self._worst):
            return False
        if self._stopped():
            self._budget.release(self._worst)
            return False
        return True


class _MeteredPace(NamedTuple):
    """The run's pace for one call, with its attempts metered."""

    pace: BoundedPace
    meter: _Meter

    async def send(self, attempt: Attempt) -> Answer:
        """As the run's pace sends."""
        return await self.pace.send_metered(attempt, self.meter)
