"""The three forms in which the same questions can be put: text, JSON, typed decisions.

A study brings a prompt that says what is to be judged; the form adds how to answer, and picks the reader.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from voirdire.errors import UsageError
from voirdire.model import Asking, Message, ReaderSpec
from voirdire.questions import Checklist, Choice, Predicate, Question, Score


class Form(StrEnum):
    """How an answer is given: words on the first line, one JSON object, or probabilities per question."""

    TEXT = "text"
    JSON = "json"
    TYPED = "typed"


def default_form(backend: str) -> Form:
    """Return the form that suits a backend best: typed decisions where it makes them, else text."""
    return Form.TYPED if backend in ("local", "planted") else Form.TEXT


def form_of(asking: Asking) -> Form:
    """Return the form in which a judge is asked already, so that further questions are put the same way."""
    return {"typed": Form.TYPED, "json": Form.JSON}.get(asking.reader.name, Form.TEXT)


def asking_in_form(messages: Sequence[Message], questions: Sequence[Question], form: Form) -> Asking:
    """Return the prompt with the instruction of the form added to its last message, and the reader to match.

    Raises UsageError where the questions cannot be put in that form (a checklist in text).
    """
    asked = tuple(questions)
    if form is Form.TYPED:
        return Asking(tuple(messages), asked, ReaderSpec("typed"))
    how, reader = _json(asked) if form is Form.JSON else _text(asked)
    last = messages[-1]
    return Asking((*messages[:-1], Message(last.role, f"{last.text}\n\n{how}")), asked, reader)


def _text(questions: tuple[Question, ...]) -> tuple[str, ReaderSpec]:
    for question in questions:
        if isinstance(question, Checklist):
            raise UsageError(
                f"checklist '{question.id}' has no text form", hint="use --form json or --form typed"
            )
    listed = "\n".join(f"{_label(question)}: {question.text}{_levels(question)}" for question in questions)
    if len(questions) == 1 and not isinstance(questions[0], Score):
        question = questions[0]
        how = f"{question.text}\nAnswer with one word and nothing else: {_values(question)}."
        return how, ReaderSpec("exact", {"case_sensitive": False, "trailing_period": True})
    shape = " ".join(f"{_label(question)} <{_values(question)}>" for question in questions)
    how = f"{listed}\n\nThe first line of your answer must be exactly of this form:\n{shape}\nReasons may follow below it."
    labels: Mapping[str, str] = {question.id: _label(question) for question in questions}
    return how, ReaderSpec("first_line", {"labels": labels})


def _json(questions: tuple[Question, ...]) -> tuple[str, ReaderSpec]:
    listed = "\n".join(
        f'"{question.id}": {question.text}{_levels(question)} ({_values(question)})' for question in questions
    )
    return f"Answer with one JSON object and nothing else, with these fields:\n{listed}", ReaderSpec("json")


def _label(question: Question) -> str:
    return question.id.upper()


def _values(question: Question) -> str:
    match question:
        case Score():
            return f"integer from {question.low} to {question.high}"
        case Choice():
            return f"{', '.join(question.options[:-1])} or {question.options[-1]}"
        case Predicate():
            return "yes or no"
        case Checklist():
            return "an object with yes or no for each of: " + ", ".join(item.id for item in question.items)


def _levels(question: Question) -> str:
    if isinstance(question, Score) and question.levels:
        named = "; ".join(f"{question.low + k} = {text}" for k, text in enumerate(question.levels))
        return f" Levels: {named}."
    if isinstance(question, Choice) and question.descriptions:
        return " " + "; ".join(f"{option}: {text}" for option, text in question.descriptions.items()) + "."
    return ""
