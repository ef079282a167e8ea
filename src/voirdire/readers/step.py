"""One step of a model that works with tools: one JSON object that names the tool, alone or in one ```json fence.

The question is a choice of tools; its value is what stands under the question's id. The other fields of the object are the
tool's arguments: they are checked by whoever runs the tool. Chat servers are asked in plain text. It has no options.
"""

from collections.abc import Mapping, Sequence

from voirdire.errors import UsageError
from voirdire.model import Reading, canonical_json
from voirdire.questions import Choice, Question
from voirdire.readers._object import one_object
from voirdire.readers._options import only_known
from voirdire.readers._reasons import Unreadable
from voirdire.readers._values import all_missing, value_of
from voirdire.readers.json import unfenced


def read(
    raw: str,
    questions: Sequence[Question],
    options: Mapping[str, object],  # noqa: ARG001 - the shape of every reader
) -> Mapping[str, Reading]:
    """Return the tool that is named, or the reason why there is none."""
    question = _only(questions)
    try:
        said = fields(raw).get(question.id)
        return {question.id: Reading(value_of(question, said, integers=True))}
    except Unreadable as why:
        return all_missing(questions, why.reason)


def fields(raw: str) -> dict[str, object]:
    """Return all fields of the object: the tool and its arguments. Raises Unreadable."""
    return one_object(raw, unfenced(raw))


def speak(
    values: Mapping[str, float | str],
    questions: Sequence[Question],
    options: Mapping[str, object],  # noqa: ARG001 - the shape of every reader
) -> str:
    """Return an object that reads as `values`: the inverse of `read`."""
    question = _only(questions)
    return canonical_json({question.id: values[question.id]})


def check(questions: Sequence[Question], options: Mapping[str, object]) -> None:
    """Raise UsageError for any option, and where something else than one choice is asked."""
    only_known(options, frozenset(), "step")
    _only(questions)


def _only(questions: Sequence[Question]) -> Choice:
    if len(questions) != 1 or not isinstance(questions[0], Choice):
        raise UsageError(
            "reader 'step' reads one choice, the tool", hint="use the reader 'json' for other questions"
        )
    return questions[0]
