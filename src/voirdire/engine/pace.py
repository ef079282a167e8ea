"""How fast a judge is asked: bounded, adapting, patient with what may heal and with nothing else.

Room for calls grows by one for every full round of answers and is halved when the server asks to slow down, at most
once a round (Chiu and Jain 1989, additive increase and multiplicative decrease). A wait that the server asks
for holds for everybody.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from math import inf
from typing import Protocol

from voirdire.errors import TryAgain, UsageError
from voirdire.model import Answer, Pace

Attempt = Callable[[], Awaitable[Answer]]

ATTEMPTS_BEFORE_FIRST_ANSWER = 3
"""Attempts of a call as long as nothing at all was answered, so that a server that is not there is noticed early."""


class BoundedPace(Pace, Protocol):
    """A Pace that says how many calls it lets be in flight at most, and can count each attempt."""

    @property
    def concurrency(self) -> int:
        """The most attempts that are ever in flight."""
        ...

    @property
    def heard(self) -> bool:
        """Whether any attempt was ever answered."""
        ...

    async def send_metered(self, attempt: Attempt, meter: "Meter") -> Answer:
        """As `send`, with every single attempt announced to `meter` before and settled after."""
        ...


class Meter(Protocol):
    """Counts the attempts of one call."""

    async def open(self) -> bool:
        """Wait until an attempt may be made; False: none may be made any more."""
        ...

    def close(self, answer: Answer | None, *, maybe_paid: bool) -> None:
        """Take note of how it ended: answered, or not, and if not whether it may have been paid for."""
        ...


class NotSent(Exception):
    """The meter allows no attempt any more."""


class AdaptivePace:
    """Sends attempts, at most `concurrency` at once, each at most `timeout` seconds, at most `attempts` for one call.

    Between attempts it waits as long as the server says; where it says nothing, `first_wait` seconds, doubled each
    time up to `longest_wait`, less up to a quarter by chance. A server that asks to wait longer than `patience`
    seconds is not waited for. After the last attempt the answer is `failed`, with the reason of that attempt. As long
    as nothing was ever answered, and the server does not say how long to wait, three attempts are all.
    """

    def __init__(
        self,
        *,
        concurrency: int = 32,
        timeout: float = 120.0,
        attempts: int = 8,
        first_wait: float = 0.5,
        longest_wait: float = 30.0,
        patience: float = 300.0,
        seed: int | None = None,
    ) -> None:
        if concurrency < 1 or attempts < 1 or not 0 < timeout < inf:
            raise UsageError(
                f"cannot ask {concurrency} at once, {attempts} times, {timeout:g} s each",
                hint="give numbers above zero",
            )
        self._concurrency = concurrency
        self._timeout = timeout
        self._attempts = attempts
        self._first_wait = first_wait
        self._longest_wait = longest_wait
        self._patience = patience
        self._chance = random.Random(seed)
        self._room = float(concurrency)
        self._in_flight = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._resume_at = 0.0
        self._cut_at = 0.0
        self._heard = False

    @property
    def heard(self) -> bool:
        """Whether any attempt was ever answered."""
        return self._heard

    @property
    def concurrency(self) -> int:
        """The most attempts that are ever in flight."""
        return self._concurrency

    @property
    def room(self) -> float:
        """How many attempts may be in flight at present, from 1 to `concurrency`."""
        return self._room

    async def send(self, attempt: Attempt) -> Answer:
        """Run `attempt` when there is room, and again where it raises TryAgain; see the class."""
        return await self._send(attempt, None)

    async def send_metered(self, attempt: Attempt, meter: Meter) -> Answer:
        """As `send`; raises NotSent where the meter allows no attempt."""
        return await self._send(attempt, meter)

    async def _send(self, attempt: Attempt, meter: Meter | None) -> Answer:
        for tried in range(1, self._attempts + 1):
            if meter is not None and not await meter.open():
                raise NotSent
            try:
                answer = await self._attempt(attempt)
            except TryAgain as trouble:
                if meter is not None:
                    meter.close(None, maybe_paid=trouble.maybe_paid)
                wait = self._wait_after(trouble, tried)
                if tried >= self._worth_trying(trouble) or wait > self._patience:
                    return Answer(missing_because=trouble.reason, failed=True)
                if wait:
                    await asyncio.sleep(wait)
            except BaseException as error:
                if meter is not None:
                    meter.close(None, maybe_paid=isinstance(error, asyncio.CancelledError))
                raise
            else:
                if meter is not None:
                    meter.close(answer, maybe_paid=True)
                return answer
        raise AssertionError("the last attempt always returns")

    def _worth_trying(self, trouble: TryAgain) -> int:
        """Return how many attempts a call may have that has met `trouble`."""
        known_to_live = self._heard or trouble.after is not None
        return self._attempts if known_to_live else min(self._attempts, ATTEMPTS_BEFORE_FIRST_ANSWER)

    async def _attempt(self, attempt: Attempt) -> Answer:
        """Make one attempt in a slot of its own, within the time limit."""
        loop = asyncio.get_running_loop()
        await self._enter(loop)
        started = loop.time()
        try:
            async with asyncio.timeout(self._timeout):
                answer = await attempt()
        except TimeoutError:
            raise TryAgain("timeout", maybe_paid=True) from None
        except TryAgain as trouble:
            if trouble.slow_down:
                self._slow_down(loop, started, trouble.after)
            raise
        else:
            self._heard = True
            if self._room < self._concurrency:
                self._room = min(self._concurrency, self._room + 1 / self._room)
            return answer
        finally:
            self._in_flight -= 1
            self._wake()

    async def _enter(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for a slot, and for the end of a wait that the server asked for."""
        try:
            while not await self._entered(loop):
                pass
        except asyncio.CancelledError:
            self._wake()
            raise

    async def _entered(self, loop: asyncio.AbstractEventLoop) -> bool:
        pause = self._resume_at - loop.time() if self._resume_at else 0.0
        if pause > 0:
            await asyncio.sleep(pause)
            return False
        if self._in_flight < int(self._room):
            self._in_flight += 1
            return True
        turn: asyncio.Future[None] = loop.create_future()
        self._queue.append(turn)
        await turn
        return False

    def _wake(self) -> None:
        """Let as many of those who wait try again as there are free slots."""
        free = int(self._room) - self._in_flight
        while free > 0 and self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

    def _slow_down(self, loop: asyncio.AbstractEventLoop, started: float, after: float | None) -> None:
        """Halve the room, once for all attempts that were in flight together; hold everybody for `after` seconds."""
        if started >= self._cut_at:
            self._room = max(1.0, self._room / 2)
            self._cut_at = loop.time()
        if after is not None and after <= self._patience:
            self._resume_at = max(self._resume_at, loop.time() + after)

    def _wait_after(self, trouble: TryAgain, tried: int) -> float:
        if trouble.after is not None:
            return max(0.0, trouble.after)
        longest: float = min(self._longest_wait, self._first_wait * 2 ** (tried - 1))
        return longest * (1 - self._chance.random() / 4)
