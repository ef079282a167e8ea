"""One of several words, and nothing else, is the whole answer.

Options: `words`, a table from each word to what it means (an option's name, or a number; default: the options, 'yes'
and 'no', or the levels); `case_sensitive` (default true); `trailing_period` (default false), which lets one full stop
follow. The whole answer is compared, so a word that holds another (INCORRECT, CORRECT) is never taken for it.
"""

from collections.abc import Mapping, Sequence

from voirdire.errors import UsageError
from voirdire.model import Reading
from voirdire.questions import Checklist, Choice, Predicate, Question, Score
from voirdire.readers._options import only_known, switch, table
from voirdire.readers._reasons import Unreadable, unread
from voirdire.readers._values import all_missing, as_words, value_of

OPTIONS = frozenset({"words", "case_sensitive", "trailing_period"})


def read(raw: str, questions: Sequence[Question], options: Mapping[str, object]) -> Mapping[str, Reading]:
    """Return the value that the word stands for, or the reason why there is none."""
    question = _only(questions)
    words = _words(question, options)
    said = raw.strip()
    if switch(options, "trailing_period", "exact", default=False):
        said = said.removesuffix(".")
    if not switch(options, "case_sensitive", "exact", default=True):
        said = said.casefold()
        words = {word.casefold(): value for word, value in words.items()}
    if said not in words:
        return all_missing(questions, unread(raw, f"not one of {', '.join(words)}"))
    return {question.id: Reading(words[said])}


def speak(
    values: Mapping[str, float | str], questions: Sequence[Question], options: Mapping[str, object]
) -> str:
    """Return the word whose meaning is nearest to the value: the inverse of `read`."""
    question = _only(questions)
    value = values[question.id]
    words = _words(question, options)
    for word, meaning in words.items():
        if meaning == value:
            return word
    numbers = {word: meaning for word, meaning in words.items() if isinstance(meaning, float)}
    if isinstance(value, str) or not numbers:
        raise UsageError(f"no word of the reader 'exact' stands for {value!r}", hint="add it to `words`")
    return min(numbers, key=lambda word: abs(numbers[word] - value))


def check(questions: Sequence[Question], options: Mapping[str, object]) -> None:
    """Raise UsageError for options that cannot read these questions."""
    only_known(options, OPTIONS, "exact")
    words = list(_words(_only(questions), options))
    switch(options, "trailing_period", "exact", default=False)
    if not switch(options, "case_sensitive", "exact", default=True):
        words = [word.casefold() for word in words]
    if len(words) < 2 or len(set(words)) != len(words):
        raise UsageError(
            f"reader 'exact': {words} are not two or more distinct words", hint="list each word once"
        )


def _only(questions: Sequence[Question]) -> Question:
    if len(questions) != 1 or isinstance(questions[0], Checklist):
        raise UsageError(
            "reader 'exact' reads one word as the answer to one question",
            hint="ask one predicate, choice or score, or use the reader 'json'",
        )
    return questions[0]


def _words(question: Question, options: Mapping[str, object]) -> dict[str, float | str]:
    given = table(options, "words", "exact") or _own_words(question)
    return {word.strip(): _meaning(question, word, meaning) for word, meaning in given.items()}


def _own_words(question: Question) -> dict[str, object]:
    match question:
        case Choice():
            return {option: option for option in question.options}
        case Predicate():
            return {"yes": 1.0, "no": 0.0}
        case Score():
            levels = range(question.low, question.high + 1)
            return {as_words(question, level): level for level in levels}
        case Checklist():
            return {}


def _meaning(question: Question, word: str, meaning: object) -> float | str:
    try:
        return value_of(question, meaning, integers=False)
    except Unreadable as why:
        raise UsageError(
            f"reader 'exact': word '{word}' cannot answer '{question.id}': {why.reason}",
            hint="map each word to an option or to a number in the question's range",
        ) from None
