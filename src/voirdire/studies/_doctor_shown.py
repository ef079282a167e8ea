"""What a backend's answers show: one state and one sentence for each capability, and which form to use. Pure."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from voirdire.engine.forms import Form
from voirdire.errors import JudgeError
from voirdire.judges.python import NOT_SHOWN
from voirdire.judges.recorded import NOT_RECORDED
from voirdire.lines import LABEL_MASS_FLAG
from voirdire.model import Answer, Request, Verdict
from voirdire.studies._doctor_exercises import HIDDEN_KEY, Exercise, Name, Setting

SHOWN = 60
"""Characters of an answer that a sentence repeats."""

KEPT = 2000
"""Characters that are kept of an answer which could not be read."""


class State(StrEnum):
    """Whether a backend has a capability, as far as was seen."""

    CAN = "can"
    CANNOT = "cannot"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Reply:
    """One answer with its verdicts."""

    repeat: int
    answer: Answer
    verdicts: tuple[Verdict, ...]

    @property
    def was_read(self) -> bool:
        """Whether every question has a value."""
        return all(verdict.missing_because is None for verdict in self.verdicts)

    @property
    def why_not(self) -> str:
        """The first reason why a value is missing."""
        return next((verdict.missing_because for verdict in self.verdicts if verdict.missing_because), "")


@dataclass(frozen=True)
class Evidence:
    """All that was seen. `refused`: why an exercise could not be put at all; `error`: what ended the asking."""

    judge: str
    planned: int
    deterministic: bool
    exercises: Mapping[Name, Exercise]
    requests: Mapping[Name, Request]
    replies: Mapping[Name, Sequence[Reply]]
    refused: Mapping[Name, str]
    error: JudgeError | None
    context: int | None
    has_own_prompt: bool
    is_file: bool

    @property
    def all_replies(self) -> list[Reply]:
        """Every reply."""
        return [reply for replies in self.replies.values() for reply in replies]

    @property
    def answered(self) -> list[Answer]:
        """Every answer that arrived."""
        return [reply.answer for reply in self.all_replies if not reply.answer.failed]

    def texts(self, name: Name) -> list[tuple[int, str]]:
        """Return repeat and raw text of the answers that have one, in the order of the repeats."""
        replies = self.replies.get(name, ())
        found = [(reply.repeat, reply.answer.raw) for reply in replies if not reply.answer.failed]
        return sorted((repeat, raw) for repeat, raw in found if raw)


@dataclass(frozen=True)
class Capability:
    """One row: what it is, whether the backend can, and how that was shown."""

    name: str
    state: State
    shown: str


@dataclass(frozen=True)
class Unread:
    """An answer that could not be read, as it came (untrusted text, its first KEPT characters)."""

    asked_for: str
    reason: str
    raw: str


@dataclass(frozen=True)
class Diagnosis:
    """What was found. `form`: the form to use; None: none was read. `closing`: what to do next, in sentences."""

    judge: str
    planned: int
    made: int
    capabilities: tuple[Capability, ...]
    readable: bool
    form: Form | None
    closing: tuple[str, ...]
    unread: tuple[Unread, ...]


def diagnosis_of(evidence: Evidence) -> Diagnosis:
    """Return what the evidence shows."""
    form = _form(evidence)
    read = [
        name for name in (*FORM_OF, Name.SCHEMA, Name.OWN_PROMPT) if _read(evidence, name)[0] is State.CAN
    ]
    return Diagnosis(
        judge=evidence.judge,
        planned=evidence.planned,
        made=len(evidence.all_replies),
        capabilities=tuple(Capability(name, *show(evidence)) for name, show in _rows(evidence).items()),
        readable=bool(read),
        form=form,
        closing=tuple(_closing(evidence, form, readable=bool(read))),
        unread=_unread(evidence),
    )


Shown = tuple[State, str]

FORM_OF: Mapping[Name, Form] = {
    Name.WORD: Form.TEXT,
    Name.LINE: Form.TEXT,
    Name.JSON: Form.JSON,
    Name.CHOICE: Form.TYPED,
    Name.SCORES: Form.TYPED,
    Name.SCORE: Form.TYPED,
    Name.RECORDED: Form.TYPED,
}

FOR_ITSELF = (Name.SCORE, Name.RECORDED)
"""Questions that no other form is asked, so that they say nothing about which form suits better."""

TYPED = tuple(name for name, form in FORM_OF.items() if form is Form.TYPED)


def _rows(evidence: Evidence) -> Mapping[str, Callable[[Evidence], Shown]]:
    own = {"own prompt": lambda seen: _read(seen, Name.OWN_PROMPT)} if evidence.has_own_prompt else {}
    return {
        "reachable": _reachable,
        **own,
        "text: one word": lambda seen: _read(seen, Name.WORD),
        "text: first line": lambda seen: _read(seen, Name.LINE),
        "JSON": lambda seen: _read(seen, Name.JSON),
        "JSON schema obeyed": _schema,
        "typed decisions": _typed,
        "probabilities": _probabilities,
        "label mass": _label_mass,
        "seed respected": _seed,
        "repeats identical": _repeats,
        "deterministic promise": _promise,
        "snapshot reported": _snapshot,
        "usage counted": _usage,
        "context limit known": _context,
        "price known": _price,
    }


# --- is anybody there -------------------------------------------------------------------------------


def _reachable(seen: Evidence) -> Shown:
    arrived = len(seen.answered)
    if arrived:
        return State.CAN, f"It answered {arrived} of {len(seen.all_replies)} calls."
    if seen.error is not None:
        return State.CANNOT, _told(seen, str(seen.error))
    failed = [reply.answer for reply in seen.all_replies]
    if failed:
        return State.CANNOT, f"No call was answered: {_failure(failed[0])}."
    return State.UNKNOWN, "There was nothing to ask."


# --- can its answers be read ------------------------------------------------------------------------


def _read(seen: Evidence, name: Name) -> Shown:
    if name in seen.refused:
        return State.CANNOT, _told(seen, seen.refused[name])
    replies = seen.replies.get(name)
    if not replies or not seen.answered:
        return _not_asked(seen)
    reply = replies[0]
    if reply.answer.failed:
        return _not_answered(reply.answer)
    if reply.why_not == NOT_RECORDED:
        return State.UNKNOWN, "The file holds no answer to it."
    if reply.why_not.startswith(NOT_SHOWN):
        return State.UNKNOWN, _sentence(f"Not called: {reply.why_not.replace('the judge', 'it', 1)}")
    if not reply.was_read:
        return State.CANNOT, _sentence(f"Not read: {reply.why_not}")
    values = ", ".join(f"{verdict.question_id} {_value(verdict)}" for verdict in reply.verdicts)
    return State.CAN, f"Read as {values}."


def _not_asked(seen: Evidence) -> Shown:
    if seen.is_file:
        return State.UNKNOWN, "Not asked: a file answers only what it holds."
    return State.UNKNOWN, "Nothing was answered." if seen.all_replies and not seen.answered else "Not asked."


def _not_answered(answer: Answer) -> Shown:
    """Return what a failed call shows: a request that was turned down with a reason will be turned down again."""
    if "message" in answer.extra:
        return State.CANNOT, f"The server turned it down: {_failure(answer)}."
    return State.UNKNOWN, f"The call failed: {_failure(answer)}."


def _failure(answer: Answer) -> str:
    said = answer.extra.get("message")
    reason = (answer.missing_because or "no reason given").rstrip(".")
    return f"{reason}, {_quoted(said)}" if isinstance(said, str) and said else reason


def _schema(seen: Evidence) -> Shown:
    state, shown = _read(seen, Name.SCHEMA)
    request = seen.requests.get(Name.SCHEMA)
    if request is not None and HIDDEN_KEY not in request.body:
        return State.CANNOT, "No schema is sent with the question."
    if state is State.CAN:
        return (
            state,
            "It filled in a field that only the schema names, with a word that only the schema names.",
        )
    if state is State.CANNOT and seen.replies.get(Name.SCHEMA):
        return state, f"{shown} Only the schema names that field and its words."
    return state, shown


def _typed(seen: Evidence) -> Shown:
    asked = [name for name in TYPED if name in seen.refused or name in seen.replies]
    found = [_read(seen, name) for name in asked] or [_not_asked(seen)]
    read = [shown for state, shown in found if state is State.CAN]
    unread = [shown for state, shown in found if state is State.CANNOT]
    if read and unread:
        return State.CAN, f"{' '.join(read)} Another one: {unread[0][:1].lower()}{unread[0][1:]}"
    if read:
        return State.CAN, " ".join(read)
    return (State.CANNOT, unread[0]) if unread else found[0]


def _typed_verdicts(seen: Evidence) -> list[Verdict]:
    replies = [reply for name in TYPED for reply in seen.replies.get(name, ())]
    return [verdict for reply in replies for verdict in reply.verdicts if verdict.value is not None]


def _probabilities(seen: Evidence) -> Shown:
    verdicts = _typed_verdicts(seen)
    if not verdicts:
        return _without_typed(seen)
    given = sum(verdict.probabilities is not None for verdict in verdicts)
    if given == len(verdicts):
        return State.CAN, "Every label of every typed question came with one."
    return State.CANNOT, f"{given} of {len(verdicts)} typed values came with them."


def _label_mass(seen: Evidence) -> Shown:
    verdicts = _typed_verdicts(seen)
    if not verdicts:
        return _without_typed(seen)
    masses = [verdict.label_mass for verdict in verdicts if verdict.label_mass is not None]
    if not masses:
        return State.CANNOT, "No typed value came with it."
    least = f"At least {min(masses):.2f} of its probability lay on the labels offered"
    if min(masses) < LABEL_MASS_FLAG:
        return State.CAN, f"{least}: below {LABEL_MASS_FLAG:g} it wanted to say something else."
    return State.CAN, f"{least}."


def _without_typed(seen: Evidence) -> Shown:
    state, _ = _typed(seen)
    return state, "No typed decision came back."


# --- does it repeat itself --------------------------------------------------------------------------


def _repeats(seen: Evidence) -> Shown:
    return _sameness(seen, Name.REPEATS, _in_setting_of(seen, Name.REPEATS))


def _promise(seen: Evidence) -> Shown:
    if not seen.deterministic:
        return State.UNKNOWN, "Its settings promise no equal answers."
    return _sameness(seen, Name.PROMISE, seen.texts(Name.PROMISE))


def _in_setting_of(seen: Evidence, name: Name) -> list[tuple[int, str]]:
    """Return the answers to the request for something made up, of all repeats in the setting of `name`."""
    exercise = seen.exercises.get(name)
    both = [seen.exercises[one] for one in (Name.SEEDS, Name.REPEATS) if one in seen.exercises]
    same = [one.name for one in both if exercise is not None and one.setting is exercise.setting]
    return [text for one in same for text in seen.texts(one)]


def _sameness(seen: Evidence, name: Name, texts: Sequence[tuple[int, str]]) -> Shown:
    """Return whether the answers to one request, one of each repeat, are the same to the letter."""
    if name in seen.refused:
        return State.CANNOT, _told(seen, seen.refused[name])
    answers = [*dict(texts).values()]
    if len(answers) < 2:
        return _too_few(seen, name)
    at = " at temperature 0" if seen.exercises[name].setting is Setting.ZERO else ""
    different = len(set(answers))
    if different == 1:
        return State.CAN, f"{len(answers)} answers to one request{at} were the same to the letter."
    return State.CANNOT, f"{len(answers)} answers to one request{at} were {different} different ones."


def _seed(seen: Evidence) -> Shown:
    if Name.SEEDS in seen.refused:
        return State.CANNOT, _told(seen, seen.refused[Name.SEEDS])
    by_seed: dict[int, list[str]] = {}
    for repeat, raw in seen.texts(Name.SEEDS):
        by_seed.setdefault(repeat, []).append(raw)
    pairs = [texts for texts in by_seed.values() if len(texts) == 2]
    if len(pairs) < 2:
        return _too_few(seen, Name.SEEDS)
    same = sum(first == second for first, second in pairs)
    if same < len(pairs):
        return (
            State.CANNOT,
            f"Asked twice with one seed, {len(pairs) - same} of {len(pairs)} answers changed.",
        )
    if len({raw for _, raw in _in_setting_of(seen, Name.SEEDS)}) == 1:
        return State.UNKNOWN, f"Its answers never varied, with {len(pairs)} seeds or with one."
    return State.CAN, f"{len(pairs)} seeds, each asked twice: the answer changed with the seed alone."


def _too_few(seen: Evidence, name: Name) -> Shown:
    replies = seen.replies.get(name, ())
    failed = next((reply.answer for reply in replies if reply.answer.failed), None)
    if failed is not None:
        return _not_answered(failed)
    return (State.UNKNOWN, "Too few answers to compare.") if replies else _not_asked(seen)


# --- what comes beside an answer --------------------------------------------------------------------


def _snapshot(seen: Evidence) -> Shown:
    if not seen.answered:
        return State.UNKNOWN, "No answer came."
    names = _served(seen)
    if not names:
        return State.CANNOT, "No answer says what served it."
    if len(names) > 1:
        return State.CAN, f"Answers came from {len(names)} of them: {', '.join(map(_quoted, names))}."
    return State.CAN, f"It calls itself {_quoted(names[0])}."


def _served(seen: Evidence) -> list[str]:
    return sorted({answer.served for answer in seen.answered if answer.served})


def _usage(seen: Evidence) -> Shown:
    answers = [answer for answer in seen.answered if answer.raw]
    if not answers:
        return State.UNKNOWN, "No answer came."
    counted = [
        (answer.usage.input_tokens, answer.usage.output_tokens)
        for answer in answers
        if answer.usage.input_tokens is not None and answer.usage.output_tokens is not None
    ]
    if len(counted) < len(answers):
        return State.CANNOT, f"{len(counted)} of {len(answers)} answers came with their tokens counted."
    given, made = (sum(counts) for counts in zip(*counted, strict=True))
    return State.CAN, f"{given:,} tokens in and {made:,} out, in {len(counted)} answers."


def _context(seen: Evidence) -> Shown:
    if seen.context is None:
        return State.UNKNOWN, "Its settings do not say (`context`), so nothing is held back as too long."
    return State.CAN, f"{seen.context:,} tokens by its settings; what is longer is not sent."


def _price(seen: Evidence) -> Shown:
    prices = [
        request.expected.money for request in seen.requests.values() if request.expected.money is not None
    ]
    paid = prices or [answer.money for answer in seen.answered if answer.money is not None and answer.raw]
    if not paid:
        return State.UNKNOWN, "No price is known, so money cannot be planned or limited."
    if not any(paid):
        return State.CAN, "Free."
    return State.CAN, f"About ${sum(paid) / len(paid):.2g} for a call like these."


# --- what to do with it -----------------------------------------------------------------------------


def _form(seen: Evidence) -> Form | None:
    """Return the form to use: one in which all comparable questions were read before one in which only some were.

    What was not shown either way counts for none.
    """
    states = {name: _read(seen, name)[0] for name in FORM_OF if name in seen.replies}
    compared = [name for name in states if name not in FOR_ITSELF]
    whole = [form for form in Form if _known(states, compared, form) == {State.CAN}]
    some = [form for form in Form if State.CAN in _known(states, states, form)]
    obeyed = [Form.JSON] if _schema(seen)[0] is State.CAN else []
    order = (Form.TYPED, *obeyed, Form.TEXT, Form.JSON)
    return next((form for among in (whole, some) for form in order if form in among), None)


def _known(states: Mapping[Name, State], names: Iterable[Name], form: Form) -> set[State]:
    """Return what is known of those questions in that form."""
    return {states[name] for name in names if FORM_OF[name] is form} - {State.UNKNOWN}


def _closing(seen: Evidence, form: Form | None, *, readable: bool) -> list[str]:
    said = [*_about_own_prompt(seen, form), *_about_form(seen, form)]
    if not readable:
        return [_nothing_read(seen)]
    return [*said, *_about_repeats(seen), *_about_snapshots(seen)]


def _nothing_read(seen: Evidence) -> str:
    if seen.error is not None and seen.error.hint:
        return f"It cannot be asked. {_sentence(seen.error.hint)}"
    if not seen.answered:
        return "It cannot be asked: see that it runs and that its address is right."
    if any(reply.why_not == "truncated" for reply in seen.all_replies):
        return "No answer could be read; some were cut at their limit: raise `max_tokens`."
    return "No answer could be read: with this judge every verdict would be missing."


def _about_own_prompt(seen: Evidence, form: Form | None) -> list[str]:
    if not seen.has_own_prompt:
        return []
    if _read(seen, Name.OWN_PROMPT)[0] is State.CAN:
        return ["The judge file's own prompt is used as it stands, and its answer was read."]
    instead = f", or leave out [prompt] and [[question]] and use --form {form}" if form else ""
    return [f"The answer to the judge file's own prompt was not read: correct [prompt] or [reader]{instead}."]


def _about_form(seen: Evidence, form: Form | None) -> list[str]:
    if form is None or seen.has_own_prompt:
        return []
    asked = [name for name, of in FORM_OF.items() if of is form and name in seen.replies]
    partly = any(_read(seen, name)[0] is not State.CAN for name in asked)
    return [f"Use --form {form}{'; it answers only some questions so' if partly else ''}."]


def _about_repeats(seen: Evidence) -> list[str]:
    if seen.deterministic:
        if _promise(seen)[0] is State.CAN:
            return ["Repeats are meaningless: it says the same again. Ask about more items instead."]
        return ["Its settings promise the same answer again, and that was not seen: do not rely on it."]
    if Name.SEEDS in seen.replies and _seed(seen)[0] is State.UNKNOWN and _repeats(seen)[0] is State.CAN:
        return ["Its answers never varied, so repeats may be meaningless: ask about more items instead."]
    return []


def _about_snapshots(seen: Evidence) -> list[str]:
    if len(_served(seen)) < 2:
        return []
    return ["More than one snapshot answers under this name: pin one, or results cannot be compared."]


def _unread(seen: Evidence) -> tuple[Unread, ...]:
    return tuple(
        Unread(name.value, reply.why_not, reply.answer.raw[:KEPT])
        for name, replies in seen.replies.items()
        if name not in (Name.REPEATS, Name.SEEDS, Name.PROMISE)
        for reply in replies
        if reply.answer.raw and not reply.was_read
    )


# --- words ------------------------------------------------------------------------------------------


def _value(verdict: Verdict) -> str:
    return _quoted(verdict.value) if isinstance(verdict.value, str) else f"{verdict.value:.4g}"


def _quoted(text: str) -> str:
    """Return untrusted text on one line, in quotation marks."""
    return json.dumps(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...", ensure_ascii=False)


def _told(seen: Evidence, message: str) -> str:
    """Return an error's message as a sentence, without the judge's name, which everybody knows here."""
    return _sentence(message.removeprefix(f"judge '{seen.judge}': "))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
