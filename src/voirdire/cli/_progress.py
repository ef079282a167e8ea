"""Shows how far a run is: a live line on a terminal, one plain line a minute elsewhere.

Both tell calls done, failed and taken from the ledger, the rate and the time left, on standard error.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from voirdire.engine.progress import Progress

SECONDS_BETWEEN_LINES = 60.0
SECONDS_BETWEEN_DRAWINGS = 0.1

Clock = Callable[[], float]


@dataclass(frozen=True)
class Words:
    """What a run counts, where those come from that were there already, and what one without a result is."""

    things: str
    kept: str
    without: str


CALLS = Words("calls", "from the ledger", "unreadable")
SAMPLES = Words("samples", "run before", "without a result")


@dataclass
class Counts:
    """Calls of one run or batch by how they ended; `began` is when it started, in seconds of some clock.

    `known`: how many of all are in the ledger already, and take no time. `idle`: seconds in which nothing was asked.
    """

    total: int
    began: float
    known: int = 0
    idle: float = 0.0
    answered: int = 0
    cached: int = 0
    failed: int = 0
    unreadable: int = 0
    money: float | None = None
    words: Words = CALLS

    @property
    def done(self) -> int:
        """Calls that ended, in whichever way."""
        return self.answered + self.cached + self.failed

    def add(self, *, answered: int, cached: int, failed: int, unreadable: int, money: float | None) -> None:
        """Count calls that ended."""
        self.answered += answered
        self.cached += cached
        self.failed += failed
        self.unreadable += unreadable
        if money is not None:
            self.money = (self.money or 0.0) + money

    def rate(self, now: float) -> float | None:
        """Return calls that were really made, per second of asking; None where there is none yet."""
        made = self.answered + self.failed
        elapsed = now - self.began - self.idle
        return made / elapsed if made and elapsed > 0 else None

    @property
    def to_ask(self) -> int:
        """Calls that are still to be made, as far as is known."""
        return max(0, self.total - self.done - max(0, self.known - self.cached))


def progress_on(stream: TextIO, clock: Clock = time.monotonic, *, words: Words = CALLS) -> Progress:
    """Return the Progress that suits `stream`: live where it is a terminal, else a line a minute."""
    suited = LiveProgress if stream.isatty() else LineProgress
    return suited(stream, clock, words=words)


def described(counts: Counts, now: float) -> str:
    """Return where a batch stands, in one line."""
    rate = counts.rate(now)
    pieces = [
        f"{counts.done:,} of {counts.total:,} {counts.words.things}",
        f"{counts.cached:,} {counts.words.kept}" if counts.cached else "",
        f"{counts.failed:,} failed" if counts.failed else "",
        f"{counts.unreadable:,} {counts.words.without}" if counts.unreadable else "",
        f"${counts.money:,.2f}" if counts.money is not None else "",
        f"{rate:,.1f}/s" if rate else "",
        f"{duration(counts.to_ask / rate)} left" if rate and counts.done < counts.total else "",
    ]
    return ", ".join(piece for piece in pieces if piece)


def duration(seconds: float) -> str:
    """Return a time as a person says it: '40 s', '3 min', '2 h 5 min'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def _idled(counts: Counts, since: float | None, what: str, now: float) -> float | None:
    """Return since when nothing is asked, adding to the idle time what is over; None: asking goes on."""
    if since is not None:
        counts.idle += now - since
    return now if what else None


class LineProgress:
    """One line a minute, and none for a batch that is over before; one where something else begins for the first time."""

    def __init__(self, stream: TextIO, clock: Clock = time.monotonic, *, words: Words = CALLS) -> None:
        self._stream = stream
        self._words = words
        self._clock = clock
        self._said = clock()
        self._counts = Counts(total=0, began=self._said, words=words)
        self._idle_since: float | None = None
        self._done: set[str] = set()

    def started(self, total: int, *, known: int = 0) -> None:
        """Begin to count; the minute runs on from the batch before, so that short batches stay silent together."""
        self._counts = Counts(total=total, began=self._clock(), known=known, words=self._words)

    def expected(self, total: int) -> None:
        """Count towards another total."""
        self._counts.total = total

    def doing(self, what: str) -> None:
        """Say it once, however often it is done; the clock of the rate stands still meanwhile."""
        if what and what not in self._done:
            self._done.add(what)
            print(f"voirdire: {what}", file=self._stream, flush=True)
        self._idle_since = _idled(self._counts, self._idle_since, what, self._clock())

    def advanced(
        self,
        *,
        answered: int = 0,
        cached: int = 0,
        failed: int = 0,
        unreadable: int = 0,
        money: float | None = None,
    ) -> None:
        """Count, and say a line where the last one is a minute old."""
        self._counts.add(answered=answered, cached=cached, failed=failed, unreadable=unreadable, money=money)
        now = self._clock()
        if now - self._said >= SECONDS_BETWEEN_LINES:
            self._said = now
            print(f"voirdire: {described(self._counts, now)}", file=self._stream, flush=True)

    def finished(self) -> None:
        """Say nothing: the result follows."""


class LiveProgress:
    """A bar and a line that is redrawn in place; gone when the batch is over."""

    def __init__(self, stream: TextIO, clock: Clock = time.monotonic, *, words: Words = CALLS) -> None:
        self._stream = stream
        self._words = words
        self._clock = clock
        self._drawn = clock()
        self._counts = Counts(total=0, began=self._drawn, words=words)
        self._shown: RichProgress | None = None
        self._idle_since: float | None = None
        self._alone = False

    def started(self, total: int, *, known: int = 0) -> None:
        """Draw an empty bar."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.finished()
        self._counts = Counts(total=total, began=self._clock(), known=known, words=self._words)
        self._shown = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            console=Console(file=self._stream),
            transient=True,
        )
        self._shown.add_task(described(self._counts, self._clock()), total=total)
        self._shown.start()

    def expected(self, total: int) -> None:
        """Draw towards another total."""
        self._counts.total = total
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], total=total)

    def doing(self, what: str) -> None:
        """Show it in the place of the counts, or alone; the clock of the rate stands still meanwhile."""
        self._idle_since = _idled(self._counts, self._idle_since, what, self._clock())
        if self._alone and not what:
            self.finished()
            return
        if what and self._shown is None:
            self.started(0)
            self._alone = True
        if self._shown is not None:
            text = what or described(self._counts, self._clock())
            total = None if self._alone else self._counts.total
            self._shown.update(self._shown.task_ids[0], description=text, total=total)
            self._shown.refresh()

    def advanced(
        self,
        *,
        answered: int = 0,
        cached: int = 0,
        failed: int = 0,
        unreadable: int = 0,
        money: float | None = None,
    ) -> None:
        """Count and redraw."""
        self._counts.add(answered=answered, cached=cached, failed=failed, unreadable=unreadable, money=money)
        now = self._clock()
        if self._shown is not None and now - self._drawn >= SECONDS_BETWEEN_DRAWINGS:
            self._drawn = now
            text = described(self._counts, now)
            self._shown.update(self._shown.task_ids[0], completed=self._counts.done, description=text)

    def finished(self) -> None:
        """Take the bar away."""
        self._alone = False
        if self._shown is not None:
            self._shown.stop()
            self._shown = None
