"""Every error we raise on purpose, as one tree.

A message says what is wrong and where; its hint says what to do next. Only `cli` turns an error
into text and an exit code.
"""


class VoirdireError(Exception):
    """An error raised on purpose: `str()` gives the message, `hint` the next step ('' where there is none)."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(VoirdireError):
    """The caller asked for something that cannot be done as asked."""


class MissingExtraError(UsageError):
    """An optional part is not installed; the hint holds the command that installs it."""


class DataError(VoirdireError):
    """A file or a table does not hold what it should; the message names the place."""


class JudgeError(VoirdireError):
    """The judge cannot be asked at all (not: one answer cannot be read, which is a missing verdict)."""

    exit_code = 3


class QuotaError(JudgeError):
    """The judge's account is exhausted: no further call can be answered, what came in so far is kept."""


class SelfCheckError(VoirdireError):
    """A planted judge was misread: our own instrument is off, and nothing may be concluded."""

    exit_code = 3


class TryAgain(JudgeError):
    """One attempt failed in a way that may heal. `after`: seconds the server asked us to wait; None: it did not say.

    Raised by a backend, caught by the engine's pace; `reason` becomes the verdict's reason if it never heals.
    `maybe_paid`: the server may have answered and charged for it, though no answer arrived.
    """

    def __init__(
        self, reason: str, *, after: float | None = None, slow_down: bool = False, maybe_paid: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = after
        self.slow_down = slow_down
        self.maybe_paid = maybe_paid
