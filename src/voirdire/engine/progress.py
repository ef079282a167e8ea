"""What a run tells whoever watches it. Nothing here prints: `cli` brings a Progress that does."""

from typing import Protocol


class Progress(Protocol):
    """Told about one run, or one batch of calls: `started`, any number of the others, `finished`."""

    def started(self, total: int, *, known: int = 0) -> None:
        """Begin `total` calls; `known` of them are in the ledger already."""
        ...

    def expected(self, total: int) -> None:
        """Take another total: fewer calls are needed than was planned, or more."""
        ...

    def doing(self, what: str) -> None:
        """Say what goes on while nothing is asked; '': asking goes on."""
        ...

    def advanced(
        self,
        *,
        answered: int = 0,
        cached: int = 0,
        failed: int = 0,
        unreadable: int = 0,
        money: float | None = None,
    ) -> None:
        """Count calls that ended: answered now, taken from the ledger, or failed for good.

        `unreadable` counts those among them whose answer gave no value; `money` is what they cost in US dollars.
        A call that is not sent at all (stopped, too long) never arrives here.
        """
        ...

    def finished(self) -> None:
        """End the batch, whether or not every call ended."""
        ...


class NoProgress:
    """A Progress that says nothing."""

    def started(self, total: int, *, known: int = 0) -> None:
        """Ignore it."""

    def expected(self, total: int) -> None:
        """Ignore it."""

    def doing(self, what: str) -> None:
        """Ignore it."""

    def advanced(
        self,
        *,
        answered: int = 0,
        cached: int = 0,
        failed: int = 0,
        unreadable: int = 0,
        money: float | None = None,
    ) -> None:
        """Ignore it."""

    def finished(self) -> None:
        """Ignore it."""
