"""A judge made of a backend and what it is asked: fills the prompt, sends it, reads the answer.

Backends differ in how a request is sent; all else is the same for all of them and stands here.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import ModuleType
from typing import Protocol

from voirdire import plugins
from voirdire.edits.pairs import shown
from voirdire.errors import UsageError
from voirdire.model import (
    Answer,
    Asking,
    Identity,
    Item,
    Judge,
    Pace,
    ReaderSpec,
    Reading,
    Request,
    Verdict,
)
from voirdire.questions import Question, as_data

Rendered = Sequence[tuple[str, str]]
"""A filled prompt: (role, text) of each message."""


class Backend(Protocol):
    """One way to reach a model. One instance serves many askings; `close` ends it."""

    @property
    def settings(self) -> Mapping[str, object]:
        """Plain data that tells this backend, model, endpoint and sampling from any other: part of the identity."""
        ...

    @property
    def deterministic(self) -> bool:
        """Whether the settings promise the same answer to the same request."""
        ...

    def prepare(self, item_id: str, messages: Rendered, parts: Mapping[str, str], asking: Asking) -> Request:
        """Return the call: `body` is canonical JSON of all that is sent. `parts`: those that the prompt names."""
        ...

    async def send(self, request: Request, *, repeat: int) -> Answer:
        """Make one attempt. Raises TryAgain for what may heal, QuotaError or JudgeError for what ends the run."""
        ...

    async def close(self) -> None:
        """Free what is held."""
        ...


@dataclass(frozen=True)
class PromptedJudge:
    """The judge that every prompted backend becomes."""

    name: str
    backend: Backend
    asking: Asking
    remedies: tuple[Mapping[str, object], ...] = ()
    rules: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @cached_property
    def identity(self) -> Identity:
        """Hash of backend, prompt, questions, reader and remedies."""
        return Identity(
            name=self.name,
            fields={
                "backend": dict(self.backend.settings),
                "messages": [[message.role, message.text] for message in self.asking.messages],
                "questions": as_data(self.asking.questions),
                "reader": [self.asking.reader.name, dict(self.asking.reader.options)],
                "remedies": [dict(remedy) for remedy in self.remedies],
                **({"about": self.asking.about} if self.asking.about else {}),
            },
        )

    @property
    def deterministic(self) -> bool:
        """As the backend's settings promise."""
        return self.backend.deterministic

    def reasking(self, asking: Asking, *, name: str = "") -> Judge:
        """Return the same backend, asked something else."""
        return replace(self, asking=asking, name=name or self.name)

    def render(self, item: Item) -> Request:
        """Fill the prompt with the item's parts, once: what a part contains is never filled again."""
        parts = shown(item.parts)
        named = self._named
        absent = [name for name in named if name not in parts]
        if absent:
            raise UsageError(
                f"judge '{self.name}': the prompt names '{absent[0]}', but item '{item.id}' has only {sorted(parts)}",
                hint=f"correct the name in the prompt, or add the part '{absent[0]}' to the items",
            )
        messages = [(message.role, fill(message.text, parts)) for message in self.asking.messages]
        visible = {name: parts[name] for name in named}
        return self.backend.prepare(item.id, messages, visible, self.asking)

    @cached_property
    def _named(self) -> list[str]:
        """The parts that the prompt names, sorted."""
        return sorted({name for message in self.asking.messages for name in placeholders(message.text)})

    async def ask(self, request: Request, *, repeat: int, pace: Pace) -> Answer:
        """Send the request at the pace given.

        A backend that works on one request at a time has a `turn`: waiting for it is no part of an attempt, which has
        a time limit.
        """
        turn = getattr(self.backend, "turn", nullcontext)
        async with turn():
            return bounded(await pace.send(lambda: self.backend.send(request, repeat=repeat)))

    def read(self, request: Request, answer: Answer, *, repeat: int) -> tuple[Verdict, ...]:
        """Read the whole answer or none of it; one verdict per question."""
        questions = self.asking.questions
        readings = (
            {question.id: Reading(None, answer.missing_because) for question in questions}
            if answer.missing_because
            else read_answer(answer.raw, _form_of(answer, self.asking))
        )
        fingerprint = self.identity.fingerprint
        return tuple(
            _verdict(request, answer, question, readings[question.id], repeat, fingerprint)
            for question in questions
        )

    async def close(self) -> None:
        """Close the backend, for every judge that shares it."""
        await self.backend.close()


LONGEST_READ = 1_000_000
"""Characters of an answer that are read: a thousand pages of reasons. A longer one is missing."""

KEPT_OF_LONGER = 20_000
"""Characters kept of an answer that is too long to be read."""

LONGEST_NOTE = 1000
"""Characters kept of a reason, a snapshot's name and whatever else stands beside an answer's text."""


def bounded(answer: Answer) -> Answer:
    """Return the answer as it is, or only its beginning where it is beyond all measure, and then as missing.

    What a judge says is kept for good and shown: nothing that it says may be without end.
    """
    reason, raw = answer.missing_because, answer.raw
    notes = [note for note in (reason, answer.served, *answer.extra.values()) if isinstance(note, str)]
    if len(raw) <= LONGEST_READ and all(len(note) <= LONGEST_NOTE for note in notes):
        return answer
    if len(raw) > LONGEST_READ:
        cut = f"the first {KEPT_OF_LONGER:,} characters are kept"
        reason = f"{reason or f'too long to be read: {len(raw):,} characters'}; {cut}"
        raw = raw[:KEPT_OF_LONGER]
    return replace(
        answer,
        raw=raw,
        missing_because=None if reason is None else reason[:LONGEST_NOTE],
        served=None if answer.served is None else answer.served[:LONGEST_NOTE],
        extra={
            name: value[:LONGEST_NOTE] if isinstance(value, str) else value
            for name, value in answer.extra.items()
        },
    )


TYPED_ANSWER: Mapping[str, object] = {"form": "typed"}
"""What a backend puts into `Answer.extra` when it returns values in the `typed` form to a question asked in text."""


def read_answer(raw: str, asking: Asking) -> Mapping[str, Reading]:
    """Return a Reading for every question, from the reader that the asking names."""
    reader = reader_named(asking.reader.name)
    readings: Mapping[str, Reading] = reader.read(raw, asking.questions, asking.reader.options)
    return readings


@cache
def reader_named(name: str) -> ModuleType:
    """Return the reader's module; UsageError where there is none. Looked up once: reading is done per answer."""
    return plugins.load("readers", name)


def check_reader(asking: Asking) -> None:
    """Raise UsageError where the reader does not exist, or cannot read these questions with its options."""
    reader = reader_named(asking.reader.name)
    if hasattr(reader, "check"):
        reader.check(asking.questions, asking.reader.options)


def _form_of(answer: Answer, asking: Asking) -> Asking:
    if answer.extra.get("form") == "typed" and asking.reader.name != "typed":
        return replace(asking, reader=ReaderSpec("typed"))
    return asking


_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def placeholders(template: str) -> list[str]:
    """Return the part names that a template uses, in order."""
    return _PLACEHOLDER.findall(template)


def fill(template: str, parts: Mapping[str, str]) -> str:
    """Replace each {{name}} by its part, in one pass."""
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], template)


def _verdict(
    request: Request, answer: Answer, question: Question, reading: Reading, repeat: int, judge: str
) -> Verdict:
    return Verdict(
        item_id=request.item_id,
        question_id=question.id,
        value=reading.value,
        raw=answer.raw,
        missing_because=reading.missing_because,
        probabilities=reading.probabilities,
        probability_source=reading.probability_source,
        label_mass=reading.label_mass,
        confidence=confidence(reading.probabilities, question),
        repeat=repeat,
        served=answer.served,
        usage=answer.usage,
        money=answer.money,
        judge=judge,
    )


def confidence(probabilities: Mapping[str, float] | None, question: Question) -> float | None:
    """Return the confidence in [0, 1] by one formula for every backend, or None without probabilities.

    Choice with n options and largest share m: (m - 1/n) / (1 - 1/n). Predicate: the same with n = 2. Score with L
    levels, most likely level k: max(0, 1 - sum p_i |i - k| / D) with D = sum |i - (L-1)/2| / L. As TypeSafe documents
    them for System One; servers put other quantities under the same name, so theirs is never used.
    """
    if not probabilities:
        return None
    total = sum(probabilities.values())
    shares = [value / total for value in probabilities.values()] if total > 0 else []
    if len(shares) < 2:
        return None
    if question.kind == "score":
        levels = len(shares)
        mode = shares.index(max(shares))
        spread = sum(abs(level - (levels - 1) / 2) for level in range(levels)) / levels
        return max(0.0, 1 - sum(share * abs(level - mode) for level, share in enumerate(shares)) / spread)
    return (max(shares) - 1 / len(shares)) / (1 - 1 / len(shares))
