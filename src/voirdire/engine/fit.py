"""Whether a probe, a judge's prompt and the items fit together: checked before anything is planned, in every run.

What is refused here would else be found by the self-check, or by nobody: a question under another id, options that the
probe cannot read, a prompt that does not show what is changed, one text under two names.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from voirdire import plugins
from voirdire.edits.pairs import order_of
from voirdire.errors import DataError, UsageError
from voirdire.model import Asking, Item, Probe, Request
from voirdire.questions import Choice, Question, Score

SLOTS = ("first", "second")
"""What a choice between two candidates must be able to answer."""

_NAMED = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def check_asking(probe: Probe, asking: Asking) -> None:
    """Raise UsageError where the judge is not asked what the probe compares, or not shown what it changes."""
    _check_questions(probe, asking)
    _check_prompt(probe, asking)
    _check_reader(probe, asking)


def check_requests(items: Sequence[Item], requests: Sequence[Sequence[Request]]) -> None:
    """Raise where two requests that must differ are the same text.

    requests: of each item the four of its versions: base, variant, control base, control variant. UsageError where the
    judge is shown the same text for both sides of a contrast, DataError where one item is a copy of another.
    """
    seen: dict[tuple[str, ...], str] = {}
    for item, versions in zip(items, requests, strict=True):
        digests = tuple(request.digest for request in versions)
        for name, first in (("", 0), ("control's ", 2)):
            if digests[first] == digests[first + 1]:
                raise UsageError(
                    f"item '{item.id}': the judge's prompt shows the same text for the {name}base and its variant",
                    hint="name the part that is changed in the prompt, as {{name}}",
                )
        if digests in seen:
            raise DataError(
                f"item '{item.id}' is a copy of '{seen[digests]}': the judge would be shown the same texts",
                hint="keep one of them; repeats of one item are made by --repeats",
            )
        seen[digests] = item.id


def compared(probe: Probe, asking: Asking) -> Mapping[str, Question]:
    """Return the judge's questions that the probe compares, by id; UsageError where one is missing."""
    answered = {question.id: question for question in asking.questions}
    needed = _needed(probe)
    for name in needed:
        if name not in answered:
            raise UsageError(
                f"probe '{probe.name}' compares the question '{name}', but the judge answers "
                f"{', '.join(answered)}",
                hint=f"the probe needs [[question]] with the id {' and one with the id '.join(needed)}; "
                "rename the one that asks for it",
            )
    return {name: answered[name] for name in needed}


def _needed(probe: Probe) -> list[str]:
    return list(dict.fromkeys([probe.question, *([probe.check.question] if probe.check else [])]))


def check_items(probe: Probe, items: Sequence[Item]) -> None:
    """Raise UsageError where there are no items, DataError for two of one id and for a pair without an order."""
    if not items:
        raise UsageError(f"probe '{probe.name}' was given no items", hint="name a file of items or cases")
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise DataError(f"two items have the id '{item.id}'", hint="give every item an id of its own")
        seen.add(item.id)
        if {"response_a", "response_b", "order"} <= item.parts.keys():
            order_of(item)


def _check_questions(probe: Probe, asking: Asking) -> None:
    own = {question.id: question for question in probe.questions}
    for name, question in compared(probe, asking).items():
        if name not in own:
            continue
        if isinstance(question, Choice) != isinstance(own[name], Choice):
            raise UsageError(
                f"probe '{probe.name}': the question '{name}' is a {question.kind.value}, "
                f"but the probe compares a {own[name].kind.value}",
                hint=f'write kind = "{own[name].kind.value}" in its [[question]]',
            )
        wanted = own[name]
        if isinstance(question, Choice) and isinstance(wanted, Choice):
            _check_options(probe, question, wanted)


def _check_options(probe: Probe, question: Choice, own: Choice) -> None:
    lacking = [option for option in SLOTS if option in own.options and option not in question.options]
    if lacking:
        raise UsageError(
            f"probe '{probe.name}': the question '{question.id}' has no option {' or '.join(map(repr, lacking))}, "
            f"only {', '.join(question.options)}",
            hint=f"the probe reads the options {', '.join(own.options)}; where the prompt wants other words, "
            "the reader's `words` or `labels` say what they stand for",
        )


def _check_prompt(probe: Probe, asking: Asking) -> None:
    named = {name for message in asking.messages for name in _NAMED.findall(message.text)}
    hidden = [part for part in probe.reads if part not in named]
    if hidden:
        raise UsageError(
            f"probe '{probe.name}' means nothing where the judge does not see {' and '.join(map(repr, hidden))}: "
            f"its prompt shows only {', '.join(sorted(named)) or 'no part'}",
            hint=f"write {', '.join('{{' + part + '}}' for part in hidden)} into the prompt",
        )


def _check_reader(probe: Probe, asking: Asking) -> None:
    """Say what the probe must be able to read in the reader's own form, as the self-check will, and read it back."""
    reader = plugins.load("readers", asking.reader.name)
    if not hasattr(reader, "speak"):
        return
    for values in _ends(asking):
        spoken = reader.speak(values, asking.questions, asking.reader.options)
        read = reader.read(spoken, asking.questions, asking.reader.options)
        for name in _needed(probe):
            if read[name].value is None:
                raise UsageError(
                    f"probe '{probe.name}': the reader '{asking.reader.name}' does not read its own "
                    f"{spoken!r} for '{name}': {read[name].missing_because}",
                    hint="correct the options of [reader]",
                )


def _ends(asking: Asking) -> Iterator[dict[str, float | str]]:
    """Give both ends of what the compared questions can be answered, with anything for the others."""
    for end in (0, 1):
        yield {question.id: _end(question, end) for question in asking.questions}


def _end(question: Question, end: int) -> float | str:
    if isinstance(question, Choice):
        slots = [slot for slot in SLOTS if slot in question.options] or list(question.options)
        return slots[end] if len(slots) > end else question.options[end]
    return float((question.low, question.high)[end]) if isinstance(question, Score) else float(end)
