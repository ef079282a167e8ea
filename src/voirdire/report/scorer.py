"""Who scores, by kind: rubric generator, model, served snapshot, prompt, questions, scale, and what else makes a scorer.

Two examinations of one scorer agree in all of them. What differs is shown as the lines that went and those that came.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from enum import StrEnum

from voirdire.model import Identity

LINES_SHOWN = 12
"""Lines of a difference that are shown."""

LINE_LENGTH = 160

_SCALE = ("low", "high", "levels", "options")
_NAMED = ("backend", "messages", "questions", "reader", "remedies", "rubric_generator")


class Kind(StrEnum):
    """What makes a scorer, by kind."""

    RUBRIC_GENERATOR = "rubric generator"
    MODEL = "judge model"
    SNAPSHOT = "served snapshot"
    PROMPT = "prompt"
    QUESTIONS = "questions"
    SCALE = "scale"
    READER = "reader"
    SAMPLING = "sampling"
    REMEDIES = "remedies"
    OTHER = "other settings"


@dataclass(frozen=True)
class IdentityChange:
    """One kind of a scorer's settings that differs: `lines` begin with '-' (before) or '+' (now)."""

    kind: Kind
    lines: tuple[str, ...]


def by_kind(identity: Identity, served: Collection[str]) -> Mapping[str, object]:
    """Return all that makes a scorer, by the word of its kind, as plain data."""
    fields = identity.fields
    backend = fields.get("backend")
    model = dict(backend) if isinstance(backend, Mapping) else {"backend": backend}
    sampling = model.pop("sampling", None)
    questions = fields.get("questions")
    asked = (
        [one for one in questions if isinstance(one, Mapping)] if isinstance(questions, list | tuple) else []
    )
    found: Mapping[Kind, object] = {
        Kind.RUBRIC_GENERATOR: fields.get("rubric_generator"),
        Kind.MODEL: model,
        Kind.SNAPSHOT: sorted(served),
        Kind.PROMPT: fields.get("messages"),
        Kind.QUESTIONS: [_without(one, _SCALE) for one in asked],
        Kind.SCALE: {str(one.get("id")): _only(one, _SCALE) for one in asked},
        Kind.READER: fields.get("reader"),
        Kind.SAMPLING: sampling,
        Kind.REMEDIES: fields.get("remedies"),
        Kind.OTHER: {name: value for name, value in fields.items() if name not in _NAMED},
    }
    return {kind.value: _plain(value) for kind, value in found.items()}


def changes(
    before: Mapping[str, object], now: Mapping[str, object], *, unknown: Collection[Kind] = ()
) -> list[IdentityChange]:
    """Return what differs between two scorers; `unknown`: kinds that are not known of the present one."""
    found = []
    for kind in Kind:
        old, new = before.get(kind.value), now.get(kind.value)
        if kind not in unknown and old != new:
            found.append(IdentityChange(kind, _difference(_lines(kind, old), _lines(kind, new))))
    return found


def _without(question: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: value for name, value in question.items() if name not in names}


def _only(question: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: question[name] for name in names if name in question}


def _plain(value: object) -> object:
    """Return a value as JSON gives it back, so that a stored scorer equals a present one."""
    return json.loads(json.dumps(value, default=dict))


def _lines(kind: Kind, value: object) -> list[str]:
    if value is None:
        return []
    if kind is Kind.PROMPT and isinstance(value, list):
        return [line for message in value for line in _message(message)]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return [str(one) for one in value]
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _message(message: object) -> list[str]:
    if isinstance(message, list) and len(message) == 2:
        return [f"[{message[0]}]", *str(message[1]).splitlines()]
    return [str(message)]


def _difference(before: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    compared = list(unified_diff(before, now, lineterm="", n=0))[2:]
    lines = [_cut(line) for line in compared if not line.startswith("@@")]
    more = len(lines) - LINES_SHOWN
    return (*lines[:LINES_SHOWN], *([f"... and {more} more lines"] if more > 0 else []))


def _cut(line: str) -> str:
    return line if len(line) <= LINE_LENGTH else f"{line[: LINE_LENGTH - 3]}..."
