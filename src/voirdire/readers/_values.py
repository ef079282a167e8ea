"""One piece of plain data as the value of one question, and back: the same rules for every reader."""

import math
from collections.abc import Mapping, Sequence

from voirdire.model import Reading
from voirdire.questions import Checklist, Choice, Predicate, Question, Score
from voirdire.readers._reasons import Unreadable, quoted


def all_missing(questions: Sequence[Question], reason: str) -> dict[str, Reading]:
    """Return the same reason for every question: an answer is accepted whole or not at all."""
    missing = Reading(None, reason)
    return {question.id: missing for question in questions}


def value_of(question: Question, data: object, *, integers: bool) -> float | str:
    """Return the value that `data` (from JSON) states for the question; Unreadable where it states none.

    Score: a number in its range (`integers`: a whole one), or the name of a level. Predicate: true, false, 'yes',
    'no' or P(yes) in [0, 1]. Choice: an option; where the options are '1' and '0', also 1, 0, true and false. Checklist: a table of predicates by item, or a number in [0, 1].
    """
    if data is None:
        raise Unreadable(f"null: '{question.id}' has no value")
    match question:
        case Score():
            return _score(question, data, integers=integers)
        case Predicate():
            return _share(data)
        case Choice():
            return _option(question, data)
        case Checklist():
            return _weighted_mean(question, data)


def in_range(question: Score, number: float) -> float:
    """Return the number as a float; Unreadable where it lies outside the question's range."""
    if not question.low <= number <= question.high:
        raise Unreadable(f"out of range: {_brief(number)} is not {question.low} to {question.high}")
    return float(number)


def as_words(question: Question, value: float | str) -> str:
    """Return a value in the words that a text answer uses: a whole level, 'yes' or 'no', an option.

    A number between two levels goes to the nearer one (half goes up), one outside the range to its end.
    """
    match question:
        case Score():
            return str(nearest_level(question, float(value)))
        case Predicate():
            return "yes" if float(value) >= 0.5 else "no"
        case Choice():
            return str(value)
        case Checklist():
            return repr(min(1.0, max(0.0, float(value))))


def within(question: Question, value: float | str) -> float | str:
    """Return a number no farther out than the ends of the question's range; an option as it is."""
    if isinstance(value, str):
        return value
    low, high = (question.low, question.high) if isinstance(question, Score) else (0, 1)
    return min(float(high), max(float(low), float(value)))


def nearest_level(question: Score, value: float) -> int:
    """Return the whole level nearest to `value`; half goes up."""
    return min(question.high, max(question.low, math.floor(value + 0.5)))


def _score(question: Score, data: object, *, integers: bool) -> float:
    if isinstance(data, str):
        if data in question.levels:
            return float(question.low + question.levels.index(data))
        raise Unreadable(f"wrong type: {quoted(data)} is text, not a number")
    number = _number(data)
    if integers and number != int(number):
        raise Unreadable(f"not an integer: {_brief(number)}")
    return in_range(question, number)


def _share(data: object) -> float:
    if isinstance(data, bool):
        return 1.0 if data else 0.0
    if isinstance(data, str):
        word = data.casefold()
        if word in ("yes", "no"):
            return 1.0 if word == "yes" else 0.0
        raise Unreadable(f"wrong type: {quoted(data)} is neither yes nor no")
    number = _number(data)
    if not 0 <= number <= 1:
        raise Unreadable(f"out of range: {_brief(number)} is not 0 to 1")
    return float(number)


def _option(question: Choice, data: object) -> str:
    if isinstance(data, bool | int | float) and data in (0, 1) and set(question.options) == {"0", "1"}:
        return str(int(data))
    if not isinstance(data, str):
        raise Unreadable(f"wrong type: {type(data).__name__}, not an option")
    if data not in question.options:
        raise Unreadable(f"not an option: {quoted(data)}")
    return data


def _weighted_mean(question: Checklist, data: object) -> float:
    if not isinstance(data, Mapping):
        return _share(data)
    known = {item.id for item in question.items}
    for name in data:
        if name not in known:
            raise Unreadable(f"unknown checklist item: {quoted(str(name))}")
    for item in question.items:
        if data.get(item.id) is None:
            raise Unreadable(f"no answer to checklist item: '{item.id}'")
    total = sum(item.weight for item in question.items)
    return sum(item.weight * _share(data[item.id]) for item in question.items) / total


def _number(data: object) -> float:
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise Unreadable(f"wrong type: {type(data).__name__}, not a number")
    if isinstance(data, float) and not math.isfinite(data):
        raise Unreadable(f"not a finite number: {data}")
    return data


def _brief(number: float) -> str:
    if isinstance(number, int) and abs(number) >= 10**15:
        return "a number of more than 15 digits"
    return f"{number:g}" if isinstance(number, float) else str(number)
