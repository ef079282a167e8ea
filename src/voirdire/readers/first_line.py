"""The first line holds every value, each after its label; later lines may give reasons.

`PROCESS 3 DAMAGE 5` or `PROCESS: 3, DAMAGE: 5`. Option: `labels`, a table from question id to label (default: the id in
capitals; '' where one question is asked and the line holds its value alone). A score is an integer, bare or in
double square brackets; a predicate is yes or no; a choice is one of its options. The line is taken whole or not at
all: each label once, in any order, separated by spaces, commas, semicolons or bars, with at most a full stop at its
end. A later line that gives a label another value makes the answer missing: nobody can say which was meant.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from voirdire.errors import UsageError
from voirdire.model import Reading
from voirdire.questions import Checklist, Choice, Predicate, Question, Score
from voirdire.readers._options import only_known, only_questions, table
from voirdire.readers._reasons import Unreadable, quoted, unread
from voirdire.readers._values import all_missing, as_words, value_of

OPTIONS = frozenset({"labels"})

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_SEPARATOR = re.compile(r"[ \t]*[,;|][ \t]*|[ \t]+")
_END = re.compile(r"[ \t]*\.?[ \t]*\r?")
_MARKUP = r"[ \t*_`]*"
_LONGEST_NUMBER = 15


def read(raw: str, questions: Sequence[Question], options: Mapping[str, object]) -> Mapping[str, Reading]:
    """Return a value for every question, or for none with the reason."""
    labels = _labels(questions, options)
    first, _, later = raw.lstrip().partition("\n")
    try:
        said = _words_by_question(first, questions, labels)
        if said is None:
            raise Unreadable(unread(raw, _no_line(questions, labels)))
        values = {question.id: _value(question, said[question.id]) for question in questions}
        _not_contradicted(later, values, questions, labels)
    except Unreadable as why:
        return all_missing(questions, why.reason)
    return {name: Reading(value) for name, value in values.items()}


def speak(
    values: Mapping[str, float | str], questions: Sequence[Question], options: Mapping[str, object]
) -> str:
    """Return a line that reads as `values`: the inverse of `read`. Scores are whole."""
    labels = _labels(questions, options)
    return " ".join(f"{labels[each.id]} {as_words(each, values[each.id])}".lstrip() for each in questions)


def check(questions: Sequence[Question], options: Mapping[str, object]) -> None:
    """Raise UsageError for options that cannot read these questions."""
    only_known(options, OPTIONS, "first_line")
    labels = _labels(questions, options)
    only_questions(table(options, "labels", "first_line"), labels, "labels", "first_line")
    if any(isinstance(question, Checklist) for question in questions):
        raise UsageError(
            "reader 'first_line' cannot read a checklist", hint="use the reader 'json' or 'typed'"
        )
    if len(set(labels.values())) != len(labels) or ("" in labels.values() and len(labels) > 1):
        raise UsageError(
            f"reader 'first_line': the labels {list(labels.values())} do not tell the questions apart",
            hint="give each question its own label",
        )


def _labels(questions: Sequence[Question], options: Mapping[str, object]) -> dict[str, str]:
    named = table(options, "labels", "first_line")
    return {question.id: str(named.get(question.id, question.id.upper())).strip() for question in questions}


def _words_by_question(
    line: str, questions: Sequence[Question], labels: Mapping[str, str]
) -> dict[str, str] | None:
    """Return the word after each label, or None where the line is anything but these labels and words."""
    said: dict[str, str] = {}
    place = 0
    while True:
        for question in questions:
            match = _pair(labels[question.id], _accepted(question)).match(line, place)
            if match and question.id not in said:
                said[question.id] = match["value"] or match["bracketed"]
                place = match.end()
                break
        else:
            return None
        if len(said) == len(questions):
            return said if _END.fullmatch(line, place) else None
        separator = _SEPARATOR.match(line, place)
        if separator is None:
            return None
        place = separator.end()


def _accepted(question: Question) -> tuple[str, ...]:
    """Return the words that may answer, the longest first; () for a number."""
    match question:
        case Choice():
            return question.options
        case Predicate():
            return ("yes", "no", "Yes", "No", "YES", "NO")
        case _:
            return ()


@lru_cache(maxsize=512)
def _pair(label: str, words: tuple[str, ...]) -> re.Pattern[str]:
    between = r"(?:[ \t]*[:=][ \t]*|[ \t]+)" if label else ""
    return re.compile(re.escape(label) + between + _value_pattern(words) + r"(?![^\s,;|.])")


@lru_cache(maxsize=512)
def _again(label: str, words: tuple[str, ...]) -> re.Pattern[str]:
    """Match a later line that gives the label a value: at its start, or anywhere with a colon or equals sign."""
    name = re.escape(label)
    value = _value_pattern(words)
    if not label:
        return re.compile(rf"^[ \t]*{value}[ \t]*\.?[ \t]*$", re.MULTILINE)
    start = rf"^[ \t*_`#>-]*{name}{_MARKUP}[:=]?{_MARKUP}"
    anywhere = rf"(?<!\w){name}{_MARKUP}[:=]{_MARKUP}"
    return re.compile(rf"(?:{start}|{anywhere}){value}(?!\w)", re.MULTILINE)


def _value_pattern(words: tuple[str, ...]) -> str:
    one = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) if words else _NUMBER
    return rf"(?:\[\[[ \t]*(?P<bracketed>{one})[ \t]*\]\]|(?P<value>{one}))"


def _value(question: Question, word: str) -> float | str:
    if not isinstance(question, Score):
        return value_of(question, word, integers=True)
    if len(word) > _LONGEST_NUMBER:
        raise Unreadable(f"out of range: {quoted(word)} is not {question.low} to {question.high}")
    if "." in word:
        raise Unreadable(f"not an integer: {word}")
    return value_of(question, int(word), integers=True)


def _not_contradicted(
    later: str, values: Mapping[str, float | str], questions: Sequence[Question], labels: Mapping[str, str]
) -> None:
    """Raise Unreadable where a later line gives a label another value."""
    for question in questions:
        label = labels[question.id]
        if label not in later:
            continue
        for match in _again(label, _accepted(question)).finditer(later):
            word = match["value"] or match["bracketed"]
            if _value(question, word) != values[question.id]:
                raise Unreadable(
                    f"contradiction: {label or question.id} has two values, the second is {quoted(word)}"
                )


def _no_line(questions: Sequence[Question], labels: Mapping[str, str]) -> str:
    shape = {"score": "<integer>", "predicate": "<yes or no>", "choice": "<option>"}
    pairs = [f"{labels[each.id]} {shape.get(each.kind, '')}".strip() for each in questions]
    return f"no line '{' '.join(pairs)}'"
