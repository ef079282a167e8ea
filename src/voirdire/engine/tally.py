"""Counts the answers of a run as they come, and says where all of them were in vain."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from voirdire.engine.ledger import Key
from voirdire.engine.plan import Call
from voirdire.engine.progress import Progress
from voirdire.model import Account, Answer, Verdict

REASONS_TOLD = 3
"""Reasons named where nothing at all was answered, or could be read; the commonest come first."""


class Found:
    """Answers and verdicts of one `ask`, counted as they come; what an earlier `ask` counted is not counted again."""

    def __init__(
        self, tally: Tally, progress: Progress, failed: dict[Key, Answer], counted: set[Key]
    ) -> None:
        self.answers: dict[Key, Answer] = {}
        self.verdicts: dict[Key, tuple[Verdict, ...]] = {}
        self._tally = tally
        self._progress = progress
        self._failed = failed
        self._counted = counted

    def answered(self, key: Key, call: Call, answer: Answer) -> None:
        """Take an answer that was asked for now."""
        if answer.failed:
            self._failed[key] = answer
        ended = self._keep(key, call, answer)
        if ended is None:
            return
        self._tally.add_asked(ended)
        self._progress.advanced(
            answered=not answer.failed,
            failed=answer.failed,
            unreadable=ended.unreadable,
            money=answer.money,
        )

    def cached(self, key: Key, call: Call, answer: Answer) -> None:
        """Take an answer that was there already."""
        ended = self._keep(key, call, answer)
        if ended is None:
            return
        self._tally.add_cached(ended)
        self._progress.advanced(cached=not answer.failed, failed=answer.failed, unreadable=ended.unreadable)

    def unsendable(self, key: Key, call: Call, reason: str) -> None:
        """Take a call that cannot be sent."""
        ended = self._keep(key, call, Answer(missing_because=reason))
        if ended is not None:
            self._tally.add(ended)

    def _keep(self, key: Key, call: Call, answer: Answer) -> Ended | None:
        """Keep the answer and read it; None where this call is counted already."""
        verdicts = call.judge.read(call.request, answer, repeat=call.repeat)
        self.answers[key] = answer
        self.verdicts[key] = verdicts
        if key in self._counted:
            return None
        self._counted.add(key)
        return Ended(call, answer, verdicts)


class Ended(NamedTuple):
    """A call with its answer and what was read of it."""

    call: Call
    answer: Answer
    verdicts: tuple[Verdict, ...]

    @property
    def reasons(self) -> set[str]:
        """Why values are missing."""
        return {verdict.missing_because for verdict in self.verdicts if verdict.missing_because is not None}

    @property
    def unreadable(self) -> bool:
        """Whether there was an answer, and a value is missing."""
        return bool(self.reasons) and not self.answer.failed

    @property
    def was_read(self) -> bool:
        """Whether it gave any value."""
        return any(verdict.value is not None for verdict in self.verdicts)


def why_failed(answer: Answer) -> str:
    """Return why a call failed, in the server's words where it has any."""
    return str(answer.extra.get("message") or answer.missing_because)


def nothing_answered(why: str, tried: int) -> str:
    """Return in words that no call of the run was answered; `tried`: how many were given up."""
    return f"no call was answered: {why} ({tried} tried)"


def _commonest(reasons: Counter[str]) -> str:
    return ", ".join(f"{reason} ({n:,})" for reason, n in reasons.most_common(REASONS_TOLD))


class Tally:
    """The counts behind an Account."""

    def __init__(self) -> None:
        self.planned = 0
        self.asked = 0
        self.from_ledger = 0
        self.failed = 0
        self.unreadable: Counter[str] = Counter()
        self.input_tokens = 0
        self.output_tokens = 0
        self.money = 0.0
        self.unpriced = False
        self.seconds = 0.0
        self.served: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.read = 0
        self.unread: Counter[str] = Counter()
        self.about_items = 0

    def add_asked(self, ended: Ended) -> None:
        """Count an answer that was asked for, and what it used."""
        answer = ended.answer
        self.asked += 1
        self.input_tokens += answer.usage.input_tokens or 0
        self.output_tokens += answer.usage.output_tokens or 0
        self.money += answer.money or 0.0
        self.unpriced |= answer.money is None and not answer.failed
        self.add(ended)

    def add_cached(self, ended: Ended) -> None:
        """Count an answer that cost nothing now."""
        self.from_ledger += not ended.answer.failed
        self.add(ended)

    def add(self, ended: Ended) -> None:
        """Count what every call has, sent or not."""
        answer = ended.answer
        if answer.failed:
            self.failed += 1
            self.failures[why_failed(answer)] += 1
        else:
            self.unreadable.update(ended.reasons)
        if answer.served is not None:
            self.served[answer.served] += 1
        if not ended.call.about_itself:
            self.about_items += 1
            self.read += ended.was_read
            if not ended.was_read:
                self.unread.update(ended.reasons)

    @property
    def in_vain(self) -> str | None:
        """Why all that was asked about items gave nothing; None where it gave something, or nothing was asked."""
        if self.read or not self.about_items:
            return None
        if self.failed == self.asked and not self.from_ledger and self.failures:
            return nothing_answered(self.failures.most_common(1)[0][0], self.failed)
        n = f"{self.about_items:,}"
        return f"{n} of {n} answers could not be read: {_commonest(self.unread)}"

    def account(self, partial: str | None) -> Account:
        """Return the counts as they stand."""
        return Account(
            planned=self.planned,
            asked=self.asked,
            cached=self.from_ledger,
            failed=self.failed,
            unreadable=dict(self.unreadable),
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            money=None if self.unpriced or self._paid_for_nothing else self.money,
            seconds=self.seconds,
            partial=partial,
            served=dict(self.served),
            read=self.read if self.about_items else None,
        )

    @property
    def _paid_for_nothing(self) -> bool:
        """Whether calls were made and none was answered: what they cost, if anything, nobody said."""
        return self.asked > 0 and self.failed == self.asked and not self.money
