"""One JSON object that is the whole answer, read by pointer.

The answer is the object alone, or one ```json fence that holds it alone. Options: `pointer`, the JSON pointer
(RFC 6901) of each question's field, as a table by question id or as text where one question is asked (default: the
field named after the question); `pass_at`, the score from which the answer's own verdict must be a pass, with
`pass_field` (default '/pass') and `pass_question` (default: the only Score): a contradiction makes the answer missing.
"""

import re
from collections.abc import Mapping, Sequence

from voirdire.errors import UsageError
from voirdire.model import Reading, canonical_json
from voirdire.questions import Checklist, Predicate, Question, Score
from voirdire.readers._object import one_object
from voirdire.readers._options import only_known, only_questions, table, text
from voirdire.readers._reasons import Unreadable, quoted
from voirdire.readers._values import all_missing, nearest_level, value_of

OPTIONS = frozenset({"pointer", "pass_at", "pass_field", "pass_question"})

_FENCE = re.compile(r"```json[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL)
_PASSES = {"pass": True, "passed": True, "yes": True, "fail": False, "failed": False, "no": False}


def read(raw: str, questions: Sequence[Question], options: Mapping[str, object]) -> Mapping[str, Reading]:
    """Return a value for every question, or for none with the reason."""
    try:
        answer = one_object(raw, unfenced(raw))
        values = {
            question.id: value_of(question, _at(answer, pointer), integers=True)
            for question, pointer in zip(questions, _pointers(questions, options), strict=True)
        }
        _agrees(answer, values, questions, options)
    except Unreadable as why:
        return all_missing(questions, why.reason)
    return {name: Reading(value) for name, value in values.items()}


def unfenced(raw: str) -> str:
    """Return what one ```json fence holds alone, or the answer as it is where there is none."""
    fence = _FENCE.fullmatch(raw.strip())
    return fence[1] if fence else raw


def speak(
    values: Mapping[str, float | str], questions: Sequence[Question], options: Mapping[str, object]
) -> str:
    """Return an answer that reads as `values`: the inverse of `read`. Scores are whole."""
    answer: dict[str, object] = {}
    for question, pointer in zip(questions, _pointers(questions, options), strict=True):
        _put(answer, pointer, _plain(question, values[question.id]))
    if "pass_at" in options:
        passed = nearest_level(*_judged(values, questions, options)) >= _pass_at(options)
        _put(answer, text(options, "pass_field", "json", default="/pass"), passed)
    return canonical_json(answer)


def check(questions: Sequence[Question], options: Mapping[str, object]) -> None:
    """Raise UsageError for options that cannot read these questions."""
    only_known(options, OPTIONS, "json")
    pointers = _pointers(questions, options)
    if len(set(pointers)) != len(pointers):
        raise UsageError(
            "reader 'json': two questions read the same field", hint="give each its own `pointer`"
        )
    pass_field = text(options, "pass_field", "json", default="/pass")
    _apart([*pointers, pass_field] if "pass_at" in options else pointers)
    for pointer in [*pointers, pass_field]:
        if not pointer.startswith("/"):
            raise UsageError(
                f"reader 'json': '{pointer}' is not a JSON pointer", hint=f"write '/{pointer}' (RFC 6901)"
            )
    if "pass_at" in options:
        _pass_at(options)
        _judge_question(questions, options)


def _apart(pointers: Sequence[str]) -> None:
    """Raise UsageError where one pointer leads through another's field."""
    for outer in pointers:
        for inner in pointers:
            if inner.startswith(outer + "/"):
                raise UsageError(
                    f"reader 'json': '{inner}' lies inside '{outer}'",
                    hint="read each value from a field of its own",
                )


def _pointers(questions: Sequence[Question], options: Mapping[str, object]) -> list[str]:
    given = options.get("pointer")
    if isinstance(given, str):
        if len(questions) != 1:
            raise UsageError(
                f"reader 'json': one pointer for {len(questions)} questions",
                hint="write `pointer = { id = '/field', ... }`",
            )
        return [given]
    named = table(options, "pointer", "json")
    only_questions(named, [question.id for question in questions], "pointer", "json")
    return [str(named.get(question.id, "/" + _escaped(question.id))) for question in questions]


def _at(answer: object, pointer: str) -> object:
    """Return what stands at the pointer; Unreadable where nothing does, or null."""
    found = answer
    for step in _steps(pointer):
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isascii() and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            raise Unreadable(f"no field: '{pointer}'")
    if found is None:
        raise Unreadable(f"null: '{pointer}'")
    return found


def _agrees(
    answer: Mapping[str, object],
    values: Mapping[str, float | str],
    questions: Sequence[Question],
    options: Mapping[str, object],
) -> None:
    """Raise Unreadable where the answer's own pass or fail contradicts its score."""
    if "pass_at" not in options:
        return
    said = _passed(_at(answer, text(options, "pass_field", "json", default="/pass")))
    question, score = _judged(values, questions, options)
    if said != (score >= _pass_at(options)):
        raise Unreadable(
            f"contradiction: {question.id} {score:g} and {'pass' if said else 'fail'}, "
            f"but the line is {_pass_at(options):g}"
        )


def _passed(data: object) -> bool:
    if isinstance(data, bool):
        return data
    if isinstance(data, str) and data.casefold() in _PASSES:
        return _PASSES[data.casefold()]
    raise Unreadable(f"wrong type: {quoted(str(data))} is neither pass nor fail")


def _judged(
    values: Mapping[str, float | str], questions: Sequence[Question], options: Mapping[str, object]
) -> tuple[Score, float]:
    question = _judge_question(questions, options)
    return question, float(values[question.id])


def _judge_question(questions: Sequence[Question], options: Mapping[str, object]) -> Score:
    name = options.get("pass_question")
    scores = [each for each in questions if isinstance(each, Score) and name in (None, each.id)]
    if len(scores) != 1:
        raise UsageError(
            f"reader 'json': `pass_at` needs one score to compare, and there are {len(scores)}",
            hint="name it with `pass_question`",
        )
    return scores[0]


def _pass_at(options: Mapping[str, object]) -> float:
    line = options["pass_at"]
    if isinstance(line, bool) or not isinstance(line, int | float):
        raise UsageError("reader 'json': `pass_at` is not a number", hint="write `pass_at = 7`")
    return line


def _plain(question: Question, value: float | str) -> object:
    match question:
        case Score():
            return nearest_level(question, float(value))
        case Predicate() | Checklist():
            return min(1.0, max(0.0, float(value)))
        case _:
            return value


def _put(answer: dict[str, object], pointer: str, value: object) -> None:
    *path, last = _steps(pointer)
    place = answer
    for step in path:
        inner = place.setdefault(step, {})
        assert isinstance(inner, dict)  # `check` refuses pointers that collide
        place = inner
    place[last] = value


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
