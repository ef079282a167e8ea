"""What a run tells whoever watches it. Nothing here prints: `cli` brings a Progress that does."""

from typing import Protocol


class Progress(Protocol):
    """Told about one batch of calls at a time: `started`, any number of `advanced`, `finished`."""

    def started(self, total: int) -> None:
        """Begin a batch of `total` calls, those already in the ledger included."""
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

    def started(self, total: int) -> None:
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
