"""Progress: what the line says, and when it says anything."""

import io

import pytest

from voirdire.cli._progress import (
    SAMPLES,
    Counts,
    LineProgress,
    LiveProgress,
    described,
    duration,
    progress_on,
)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (7500, "2 h 5 min")]
)
def test_durations_read_as_spoken(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_line_tells_done_cached_failed_rate_and_time_left() -> None:
    counts = Counts(total=1200, began=0.0, answered=300, cached=580, failed=20, unreadable=5, money=1.5)
    assert described(counts, now=160.0) == (
        "900 of 1,200 calls, 580 from the ledger, 20 failed, 5 unreadable, $1.50, 2.0/s, 2 min left"
    )


def test_answers_from_the_ledger_do_not_count_for_the_rate() -> None:
    assert described(Counts(total=10, began=0.0, cached=9), now=1.0) == "9 of 10 calls, 9 from the ledger"


def test_elsewhere_than_on_a_terminal_there_is_one_line_a_minute() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = LineProgress(stream, clock)
    progress.started(600)
    for _ in range(180):
        clock.now += 1
        progress.advanced(answered=1)
    progress.finished()
    assert stream.getvalue().splitlines() == [
        "voirdire: 60 of 600 calls, 1.0/s, 9 min left",
        "voirdire: 120 of 600 calls, 1.0/s, 8 min left",
        "voirdire: 180 of 600 calls, 1.0/s, 7 min left",
    ]


def test_short_batches_stay_silent_until_a_minute_has_passed_in_all() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = LineProgress(stream, clock)
    for _ in range(3):
        progress.started(1)
        clock.now += 25
        progress.advanced(answered=1)
        progress.finished()
    assert len(stream.getvalue().splitlines()) == 1


def test_a_terminal_gets_the_live_line_and_others_do_not() -> None:
    assert isinstance(progress_on(Terminal()), LiveProgress)
    assert isinstance(progress_on(io.StringIO()), LineProgress)


def test_the_live_line_is_drawn_and_taken_away() -> None:
    clock, stream = Clock(), Terminal()
    progress = LiveProgress(stream, clock)
    progress.started(40)
    clock.now += 2
    progress.advanced(answered=20, failed=1)
    progress.finished()
    assert "21 of 40 calls, 1 failed" in stream.getvalue()
    progress.finished()


def test_the_time_left_is_for_the_calls_that_will_really_be_made() -> None:
    counts = Counts(total=100, known=60, began=0.0, answered=10, cached=20)
    assert counts.to_ask == 30
    assert described(counts, now=10.0) == "30 of 100 calls, 20 from the ledger, 1.0/s, 30 s left"


def test_while_something_else_is_done_the_clock_of_the_rate_stands_still() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = LineProgress(stream, clock)
    progress.started(300)
    for _ in range(2):
        progress.doing("checking the instrument")
        clock.now += 40
        progress.doing("")
    progress.expected(130)
    for _ in range(10):
        clock.now += 1
        progress.advanced(answered=1)
    assert stream.getvalue().splitlines() == [
        "voirdire: checking the instrument",
        "voirdire: 1 of 130 calls, 1.0/s, 2 min left",
    ]


def test_the_live_line_says_what_else_is_done_with_and_without_calls() -> None:
    clock, stream = Clock(), Terminal()
    progress = LiveProgress(stream, clock)
    progress.started(40)
    progress.doing("checking the instrument")
    progress.doing("")
    progress.expected(20)
    progress.finished()
    progress.doing("drawing the page")
    progress.doing("")
    assert "checking the instrument" in stream.getvalue()
    assert "drawing the page" in stream.getvalue()
    assert progress._shown is None


def test_samples_that_are_run_are_not_called_calls() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = progress_on(stream, clock, words=SAMPLES)
    progress.started(300)
    progress.advanced(cached=100)
    clock.now += 60
    progress.advanced(answered=120, unreadable=3)
    assert stream.getvalue() == (
        "voirdire: 220 of 300 samples, 100 run before, 3 without a result, 2.0/s, 40 s left\n"
    )
