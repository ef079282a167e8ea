"""The JSON schema of an answer that the reader `json` reads: strict, one field per question.

Requests are canonical JSON, so a server sees the fields in alphabetical order, and most answer in that order.
"""

from collections.abc import Mapping, Sequence

from voirdire.questions import Checklist, Choice, Predicate, Question, Score

_MOST_LEVELS = 50


def response_format(questions: Sequence[Question], options: Mapping[str, object]) -> dict[str, object]:
    """Return the `response_format` of a chat request; `options` are the reader's (`pointer`, `pass_at`, ...)."""
    schema = _object({})
    for question in questions:
        _put(schema, _pointer(question, options), _field(question))
    if "pass_at" in options:
        _put(schema, str(options.get("pass_field", "/pass")), {"type": "boolean"})
    return {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}


def _field(question: Question) -> dict[str, object]:
    match question:
        case Predicate():
            return {"type": "boolean", "description": question.text}
        case Choice():
            return {"type": "string", "enum": list(question.options), "description": _options(question)}
        case Score():
            return {"type": "integer", **_range(question), "description": _levels(question)}
        case Checklist():
            items = {item.id: {"type": "boolean", "description": item.text} for item in question.items}
            return {**_object(items), "description": question.text}


def _range(question: Score) -> dict[str, object]:
    if question.high - question.low < _MOST_LEVELS:
        return {"enum": list(range(question.low, question.high + 1))}
    return {"minimum": question.low, "maximum": question.high}


def _levels(question: Score) -> str:
    named = [f"{question.low + k}: {level}" for k, level in enumerate(question.levels)]
    return "\n".join([question.text, *named])


def _options(question: Choice) -> str:
    described = question.descriptions or {}
    return "\n".join(
        [question.text, *(f"{name}: {described[name]}" for name in question.options if name in described)]
    )


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": dict(properties),
    }


def _pointer(question: Question, options: Mapping[str, object]) -> str:
    given = options.get("pointer")
    own = "/" + question.id.replace("~", "~0").replace("/", "~1")
    if isinstance(given, Mapping):
        return str(given.get(question.id, own))
    return given if isinstance(given, str) else own


def _put(schema: dict[str, object], pointer: str, field: Mapping[str, object]) -> None:
    """Place a field where the pointer leads, with an object for every step on the way."""
    *path, last = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    for step in path:
        schema = _inner(schema, step, _object({}))
    _inner(schema, last, dict(field))


def _inner(schema: dict[str, object], name: str, new: dict[str, object]) -> dict[str, object]:
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    if name not in properties:
        properties[name] = new
        required.append(name)
    found: dict[str, object] = properties[name]
    return found
