import asyncio
import time
from collections.abc import Awaitable, Callable
from math import inf, nan

import pytest

from voirdire.engine.pace import AdaptivePace, NotSent
from voirdire.errors import JudgeError, QuotaError, TryAgain, UsageError
from voirdire.model import Answer

GOOD = Answer(raw="fine")


def attempts_that(*ends: Exception | Answer) -> Callable[[], Awaitable[Answer]]:
    """Return an attempt that ends so the first time, so the second time, ..."""
    left = list(ends)

    async def attempt() -> Answer:
        end = left.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    return attempt


def pace(**options: float) -> AdaptivePace:
    settings: dict[str, float] = {"first_wait": 0.001, "longest_wait": 0.004, "seed": 3, **options}
    return AdaptivePace(**settings)  # type: ignore[arg-type]


def sent(paced: AdaptivePace, *ends: Exception | Answer) -> Answer:
    return asyncio.run(paced.send(attempts_that(*ends)))


def test_what_may_heal_is_tried_again() -> None:
    assert sent(pace(), TryAgain("server error (503)"), TryAgain("timeout"), GOOD) == GOOD


def test_after_the_last_attempt_the_answer_failed_with_its_reason() -> None:
    ends: list[Exception | Answer] = [TryAgain("server error (500)"), TryAgain("server error (503)"), GOOD]
    assert sent(pace(attempts=2), *ends) == Answer(missing_because="server error (503)", failed=True)


BROKEN, BUSY = TryAgain("server error (500)"), TryAgain("rate limit (429)", after=0.001)


@pytest.mark.parametrize(
    ("before", "trouble", "made"),
    [([], BROKEN, 3), ([], BUSY, 8), ([GOOD], BROKEN, 8), ([BUSY, GOOD], BROKEN, 8)],
)
def test_all_attempts_are_for_a_server_that_is_known_to_live(
    before: list[Exception | Answer], trouble: TryAgain, made: int
) -> None:
    async def run() -> int:
        paced = pace()
        if before:
            await paced.send(attempts_that(*before))
        ends: list[Exception | Answer] = [trouble] * 20
        left = attempts_that(*ends)
        count = 0

        async def counted() -> Answer:
            nonlocal count
            count += 1
            return await left()

        assert (await paced.send(counted)).failed
        return count

    assert asyncio.run(run()) == made


@pytest.mark.parametrize("error", [JudgeError("no"), QuotaError("empty"), ValueError("a bug")])
def test_nothing_else_is_tried_again(error: Exception) -> None:
    with pytest.raises(type(error)):
        sent(pace(), error, GOOD)


def test_an_attempt_has_a_time_limit() -> None:
    async def hang() -> Answer:
        await asyncio.sleep(60)
        return GOOD

    began = time.monotonic()
    answer = asyncio.run(pace(timeout=0.05, attempts=2).send(hang))
    assert answer == Answer(missing_because="timeout", failed=True)
    assert time.monotonic() - began < 5


def test_no_more_are_in_flight_than_allowed() -> None:
    in_flight = 0
    most = 0

    async def attempt() -> Answer:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.001)
        in_flight -= 1
        return GOOD

    async def run() -> None:
        paced = pace(concurrency=5)
        await asyncio.gather(*(paced.send(attempt) for _ in range(100)))

    asyncio.run(run())
    assert most == 5


def test_a_wait_that_the_server_asks_for_is_obeyed_by_everybody() -> None:
    times: list[float] = []

    async def run() -> None:
        paced = pace(concurrency=4)
        first = asyncio.create_task(
            paced.send(attempts_that(TryAgain("rate limit (429)", after=0.2, slow_down=True), GOOD))
        )
        await asyncio.sleep(0.01)

        async def attempt() -> Answer:
            times.append(time.monotonic())
            return GOOD

        began = time.monotonic()
        await asyncio.gather(first, *(paced.send(attempt) for _ in range(6)))
        assert all(moment - began >= 0.15 for moment in times)

    asyncio.run(run())
    assert len(times) == 6


def test_a_wait_beyond_all_patience_is_not_waited_for() -> None:
    answer = sent(pace(patience=60), TryAgain("rate limit (429)", after=3600, slow_down=True), GOOD)
    assert answer == Answer(missing_because="rate limit (429)", failed=True)


def test_room_is_halved_once_for_a_round_of_refusals_and_grows_again() -> None:
    async def run() -> None:
        paced = pace(concurrency=16)
        busy = asyncio.Event()

        async def refused_once() -> Answer:
            if busy.is_set():
                return GOOD
            await asyncio.sleep(0.01)
            busy.set()
            raise TryAgain("rate limit (429)", slow_down=True)

        refused = [asyncio.create_task(paced.send(refused_once)) for _ in range(16)]
        await busy.wait()
        await asyncio.sleep(0)
        assert paced.room == 8
        await asyncio.gather(*refused)
        after_one_round = paced.room
        assert 8 < after_one_round < 11
        for _ in range(200):
            await paced.send(attempts_that(GOOD))
        assert paced.room == 16

    asyncio.run(run())


def test_room_never_falls_below_one() -> None:
    async def run() -> None:
        paced = pace(concurrency=4, attempts=10)
        await paced.send(attempts_that(GOOD))
        ends = [TryAgain("rate limit (429)", slow_down=True)] * 9
        assert await paced.send(attempts_that(*ends, GOOD)) == GOOD
        assert 1 <= paced.room < 3

    asyncio.run(run())


def test_a_cancelled_wait_blocks_nobody() -> None:
    async def run() -> None:
        paced = pace(concurrency=1)
        gate = asyncio.Event()

        async def held() -> Answer:
            await gate.wait()
            return GOOD

        first = asyncio.create_task(paced.send(held))
        await asyncio.sleep(0)
        second = asyncio.create_task(paced.send(attempts_that(GOOD)))
        third = asyncio.create_task(paced.send(attempts_that(GOOD)))
        await asyncio.sleep(0)
        gate.set()
        await first
        second.cancel()
        assert await asyncio.wait_for(third, 5) == GOOD

    asyncio.run(run())


def test_every_attempt_is_metered() -> None:
    class Counting:
        def __init__(self, allowed: int) -> None:
            self.allowed = allowed
            self.ends: list[tuple[Answer | None, bool]] = []

        async def open(self) -> bool:
            self.allowed -= 1
            return self.allowed >= 0

        def close(self, answer: Answer | None, *, maybe_paid: bool) -> None:
            self.ends.append((answer, maybe_paid))

    meter = Counting(3)
    ends: list[Exception | Answer] = [
        TryAgain("connection lost", maybe_paid=True),
        TryAgain("rate limit (429)"),
        GOOD,
    ]
    assert asyncio.run(pace().send_metered(attempts_that(*ends), meter)) == GOOD
    assert meter.ends == [(None, True), (None, False), (GOOD, True)]
    with pytest.raises(NotSent):
        asyncio.run(pace().send_metered(attempts_that(GOOD), Counting(0)))


@pytest.mark.parametrize(
    "options", [{"concurrency": 0}, {"timeout": 0}, {"timeout": inf}, {"timeout": nan}, {"attempts": 0}]
)
def test_nonsense_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        pace(**options)
