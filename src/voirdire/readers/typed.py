"""Typed answers, as a backend with typed decisions or a Python function gives them: canonical JSON.

`{"answers": {question id: {"value"?, "probabilities"?, "label_mass"?, "probability_source"?, "items"?,
"missing_because"?}}}`. Probabilities stand under every label: 'yes' and 'no' for a predicate, the options of a
choice, the integers of a score as text; their sum is 1 within rounding. They decide the value: P(yes), the most likely
option (an exact tie at the top is missing), the expectation over levels. Without them `value` is the value; `items`
are the answers to a checklist's items, each in the same form. The whole must be well formed or all is missing; within
a well-formed answer each question is answered, or missing, for itself. It has no options.
"""

import math
from collections.abc import Mapping, Sequence

from voirdire.model import Reading, canonical_json
from voirdire.questions import Checklist, Choice, Predicate, Question, Score
from voirdire.readers._object import one_object
from voirdire.readers._options import only_known
from voirdire.readers._reasons import EMPTY, Unreadable, quoted
from voirdire.readers._values import all_missing, value_of, within

ROUNDING = 0.02
"""How far probabilities may miss the sum 1: servers print two or three digits of each."""

_SAME = 1e-6


def read(
    raw: str,
    questions: Sequence[Question],
    options: Mapping[str, object],  # noqa: ARG001 - the shape of every reader
) -> Mapping[str, Reading]:
    """Return a Reading per question, with probabilities in label order where they were given."""
    try:
        answers = one_object(raw, raw).get("answers")
        if not isinstance(answers, dict):
            raise Unreadable("no field: '/answers'")
    except Unreadable as why:
        return all_missing(questions, why.reason)
    return {question.id: _reading(question, answers.get(question.id)) for question in questions}


def speak(
    values: Mapping[str, float | str],
    questions: Sequence[Question],
    options: Mapping[str, object],  # noqa: ARG001 - the shape of every reader
) -> str:
    """Return an answer that reads as `values`, without probabilities: the inverse of `read`."""
    return canonical_json(
        {"answers": {each.id: {"value": within(each, values[each.id])} for each in questions}}
    )


def speak_probabilities(values: Mapping[str, float | str], questions: Sequence[Question]) -> str:
    """Return an answer with probabilities that reads as `values`.

    A score between two levels is spread over these two; an option has all of the probability.
    """
    return canonical_json(
        {"answers": {each.id: _spread(each, within(each, values[each.id])) for each in questions}}
    )


def check(
    questions: Sequence[Question],  # noqa: ARG001 - the shape of every reader
    options: Mapping[str, object],
) -> None:
    """Raise UsageError for any option: there is none."""
    only_known(options, frozenset(), "typed")


def labels_of(question: Question) -> tuple[str, ...]:
    """Return the labels that carry probability, in order; none for a checklist, whose items carry them."""
    match question:
        case Predicate():
            return ("yes", "no")
        case Choice():
            return question.options
        case Score():
            return tuple(str(level) for level in range(question.low, question.high + 1))
        case Checklist():
            return ()


def _reading(question: Question, entry: object) -> Reading:
    try:
        return _stated(question, entry)
    except Unreadable as why:
        return Reading(None, why.reason)


def _stated(question: Question, entry: object) -> Reading:
    if entry is None:
        raise Unreadable(f"no answer: '{question.id}'")
    if not isinstance(entry, dict):
        raise Unreadable(f"wrong type: the answer to '{question.id}' is not an object")
    reason = entry.get("missing_because")
    if reason is not None:
        raise Unreadable(str(reason) or EMPTY)
    if isinstance(question, Checklist) and entry.get("items") is not None:
        return _checklist(question, entry["items"])
    if entry.get("probabilities") is None:
        return Reading(value_of(question, entry.get("value"), integers=False), label_mass=_mass(entry))
    return _distribution(question, entry)


def _distribution(question: Question, entry: Mapping[str, object]) -> Reading:
    probabilities = _probabilities(question, entry["probabilities"])
    value = _most_likely_value(question, probabilities)
    stated = entry.get("value")
    if stated is not None:
        _agrees(question, value_of(question, stated, integers=False), value, probabilities)
    source = entry.get("probability_source")
    return Reading(
        value,
        probabilities=probabilities,
        probability_source=source if isinstance(source, str) else None,
        label_mass=_mass(entry),
    )


def _probabilities(question: Question, data: object) -> dict[str, float]:
    labels = labels_of(question)
    if not isinstance(data, dict) or set(data) != set(labels) or not labels:
        raise Unreadable(f"wrong labels: '{question.id}' has the labels {quoted(', '.join(labels))}")
    shares = {label: _share(data[label]) for label in labels}
    total = math.fsum(shares.values())
    if abs(total - 1) > ROUNDING:
        raise Unreadable(f"probabilities do not add up: their sum is {total:.3g}")
    return shares


def _share(data: object) -> float:
    if isinstance(data, bool) or not isinstance(data, int | float) or not 0 <= data <= 1:
        raise Unreadable(f"not a probability: {quoted(str(data))}")
    return float(data)


def _most_likely_value(question: Question, probabilities: Mapping[str, float]) -> float | str:
    total = math.fsum(probabilities.values())
    if isinstance(question, Predicate):
        return probabilities["yes"] / total
    if isinstance(question, Score):
        expected = math.fsum(int(level) * share for level, share in probabilities.items()) / total
        return min(float(question.high), max(float(question.low), expected))
    top = max(probabilities.values())
    likeliest = [option for option, share in probabilities.items() if share == top]
    if len(likeliest) > 1:
        raise Unreadable(f"tie between {' and '.join(likeliest)}")
    return likeliest[0]


def _agrees(
    question: Question, stated: float | str, value: float | str, probabilities: Mapping[str, float]
) -> None:
    """Raise Unreadable where a stated value is neither what its probabilities give nor the likeliest level."""
    if isinstance(stated, str) or isinstance(value, str):
        same = stated == value
    else:
        same = abs(stated - value) <= _SAME or (
            isinstance(question, Score)
            and probabilities.get(f"{stated:.0f}" if stated == int(stated) else "")
            == max(probabilities.values())
        )
    if not same:
        raise Unreadable(f"contradiction: the value {quoted(str(stated))} is not what its probabilities give")


def _checklist(question: Checklist, items: object) -> Reading:
    if not isinstance(items, dict):
        raise Unreadable("wrong type: the items of a checklist are not an object")
    shares: dict[str, object] = {}
    for item in question.items:
        reading = _stated(Predicate(item.id, item.text), items.get(item.id))
        shares[item.id] = reading.value
    unknown = {name: None for name in items if name not in shares}
    return Reading(value_of(question, {**shares, **unknown}, integers=False))


def _spread(question: Question, value: float | str) -> dict[str, object]:
    shares = dict.fromkeys(labels_of(question), 0.0)
    match question:
        case Checklist():
            return {"value": value}
        case Choice():
            shares[str(value)] = 1.0
        case Predicate():
            shares = {"yes": float(value), "no": 1.0 - float(value)}
        case Score():
            below = min(question.high - 1, math.floor(float(value)))
            shares[str(below)], shares[str(below + 1)] = below + 1 - float(value), float(value) - below
    return {"probabilities": shares, "label_mass": 1.0, "probability_source": "planted"}


def _mass(entry: Mapping[str, object]) -> float | None:
    mass = entry.get("label_mass")
    return None if mass is None else _share(mass)
