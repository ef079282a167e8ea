"""Who judged: everything that was requested, hashed into a fingerprint, and which snapshots answered."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from voirdire.blocks import TableBlock
from voirdire.model import Examination, Identity
from voirdire.report.numerals import number
from voirdire.report.paper import Paper
from voirdire.report.tables import ShownTable, shown_table

PLACE = 60

_OWN = ("backend", "messages", "questions", "reader", "remedies")


@dataclass(frozen=True)
class Card:
    """One judge, ready for the template."""

    name: str
    fingerprint: str
    backend: Sequence[tuple[str, str]]
    messages: Sequence[tuple[str, str]]
    questions: ShownTable | None
    reader: str
    remedies: Sequence[str]
    others: Sequence[tuple[str, str]]


def section(examination: Examination, paper: Paper) -> Markup | None:
    """Return the judges and the served snapshots; None where neither is known."""
    served = sorted(examination.account.served.items())
    if not examination.judges and not served:
        return None
    table = (
        shown_table(TableBlock("Snapshots that answered", ["snapshot", "answers"], served))
        if served
        else None
    )
    return paper.fill(
        "judges.html",
        cards=[card(judge, paper.judge_name(judge.fingerprint)) for judge in examination.judges],
        served=table,
    )


def card(identity: Identity, name: str) -> Card:
    """Return what is known of a judge; fields of an unknown shape are shown as JSON."""
    fields = identity.fields
    backend = fields.get("backend")
    reader = fields.get("reader")
    return Card(
        name=name,
        fingerprint=identity.fingerprint,
        backend=[(key, _plain(value)) for key, value in backend.items()]
        if isinstance(backend, Mapping)
        else [],
        messages=_messages(fields.get("messages")),
        questions=_questions(fields.get("questions")),
        reader=_reader(reader),
        remedies=[_plain(remedy) for remedy in _items(fields.get("remedies"))],
        others=[(key, _plain(value)) for key, value in fields.items() if key not in _OWN],
    )


def _messages(messages: object) -> list[tuple[str, str]]:
    pairs = [
        message for message in _items(messages) if isinstance(message, list | tuple) and len(message) == 2
    ]
    return [(str(role), str(text)) for role, text in pairs]


def _questions(questions: object) -> ShownTable | None:
    rows = [
        (str(q.get("id", "")), str(q.get("kind", "")), str(q.get("text", "")), _answers(q))
        for q in _items(questions)
        if isinstance(q, Mapping)
    ]
    return shown_table(TableBlock("Questions", ["id", "kind", "asked", "answers"], rows)) if rows else None


def _answers(question: Mapping[str, object]) -> str:
    if question.get("kind") == "score":
        levels = ", ".join(str(level) for level in _items(question.get("levels")))
        return f"{question.get('low')} to {question.get('high')}{f': {levels}' if levels else ''}"
    if question.get("kind") == "choice":
        return ", ".join(str(option) for option in _items(question.get("options")))
    if question.get("kind") == "checklist":
        items = [item for item in _items(question.get("items")) if isinstance(item, Mapping)]
        return "; ".join(f"{item.get('text')} (weight {item.get('weight')})" for item in items)
    return "yes or no"


def _reader(reader: object) -> str:
    if not isinstance(reader, list | tuple) or not reader:
        return ""
    options = [option for option in reader[1:] if option]
    return " ".join([str(reader[0]), *(_plain(option) for option in options)])


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return number(value)
    return json.dumps(value, ensure_ascii=False, default=dict)
