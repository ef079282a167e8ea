"""What a backend is asked to show what it can do: the questions of our own probes, and three that test one thing each."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from voirdire.engine.forms import Form, asking_in_form
from voirdire.judges._prompted import placeholders
from voirdire.lines import IDENTICAL_TO_STOP
from voirdire.model import Asking, Item, JudgeSpec, Message, ReaderSpec
from voirdire.probes import outcome, position
from voirdire.questions import Choice, Score
from voirdire.studies._doctor_recorded import RecordedTrial, own_trial, value_trial


class Setting(StrEnum):
    """The settings that an exercise is asked with."""

    OWN = "its own settings"
    ZERO = "temperature 0"
    SEEDED = "temperature 1 and a seed"


class Name(StrEnum):
    """What is asked, by what it shows."""

    WORD = "one word"
    LINE = "first line"
    JSON = "JSON"
    SCHEMA = "JSON schema"
    CHOICE = "typed choice"
    SCORES = "typed scores"
    SCORE = "typed score"
    PROMISE = "promise"
    REPEATS = "repeats"
    SEEDS = "seeds"
    RECORDED = "recorded answer"
    OWN_PROMPT = "own prompt"


@dataclass(frozen=True)
class Exercise:
    """One thing to ask. `repeats`: the repeat numbers, in order; one that stands twice is asked twice, afresh."""

    name: Name
    asking: Asking
    item: Item
    setting: Setting = Setting.OWN
    repeats: tuple[int, ...] = (0,)


SEED = 20
SEED_PAIRS = (0, 0, 1, 1, 2, 2)
"""Repeat k is asked with SEED + k: three seeds, each twice. A judge of two answers that ignores seeds passes for one
that heeds them in 3 of 32 tries; one that makes up a text practically never."""

REPEATS = tuple(range(3, 3 + IDENTICAL_TO_STOP))
"""Others than those of the seeds, so that a judge to which the repeat is all shows more of its answers."""

SAMPLING: Mapping[Setting, Mapping[str, object]] = {
    Setting.OWN: {},
    Setting.ZERO: {"temperature": 0},
    Setting.SEEDED: {"temperature": 1.0, "seed": SEED},
}

HIDDEN_KEY = "fruit_7q"
HIDDEN_OPTIONS = ("quince", "medlar")

PARTS: Mapping[str, str] = {
    "task": "Name the capital of France.",
    "response": "The capital of France is Paris.",
    "response_a": "The capital of France is Paris.",
    "response_b": "The capital of France is Lyon.",
    "order": "ab",
    "log": (
        "user:\n  Tell the list that the office is closed on Monday. Send a test to yourself first.\n"
        "agent:\n  Sent to the list. I skipped the test."
    ),
    "outcome": "Everybody got the message, and it was right.",
}

ANY_ASKING = asking_in_form(outcome.PROBE.messages, outcome.PROBE.questions, Form.JSON)
"""What a judge is opened with before it is asked anything."""

_SCHEMA_MESSAGES = (
    Message(
        "user",
        "Task:\n{{task}}\n\nResponse:\n{{response}}\n\nIs the response right? Answer with one JSON object.",
    ),
)
_EVERYTHING = "\n".join(f"{name}: {{{{{name}}}}}" for name in (*PARTS, "first", "second"))
_ALL_PARTS = (Message("user", _EVERYTHING),)
"""Every part is shown, so that a function gets those that it names."""

_QUALITY = Score("quality", "How good is the response to the task?", 0, 10)

_RANDOM_MESSAGES = (
    Message(
        "user",
        f"Leave aside what stands here:\n{_EVERYTHING}\n\n"
        "Make up a number at random, and on the lines below it write ten words at random.",
    ),
)
_RANDOM = Score("number", "Which number did you make up?", 0, 999_999)


def exercises_for(spec: JudgeSpec) -> list[Exercise]:
    """Return everything to ask of a judge that makes no promise; of a file of verdicts, what it holds."""
    if spec.backend == "recorded":
        return _recorded(spec)
    item = _item(spec)
    pair, run = position.PROBE, outcome.PROBE
    hidden = (Choice(HIDDEN_KEY, "Which of the two?", HIDDEN_OPTIONS),)
    made_up = asking_in_form(_RANDOM_MESSAGES, (_RANDOM,), Form.TEXT)
    zero, seeded = (Setting.ZERO, Setting.SEEDED) if _samples(spec) else (Setting.OWN, Setting.OWN)
    own = [Exercise(Name.OWN_PROMPT, spec.asking, item)] if spec.asking else []
    return [
        Exercise(Name.WORD, asking_in_form(pair.messages, pair.questions, Form.TEXT), item),
        Exercise(Name.LINE, asking_in_form(run.messages, run.questions, Form.TEXT), item),
        Exercise(Name.JSON, asking_in_form(run.messages, run.questions, Form.JSON), item),
        Exercise(Name.SCHEMA, Asking(_SCHEMA_MESSAGES, hidden, ReaderSpec("json")), item),
        Exercise(Name.CHOICE, asking_in_form(pair.messages, pair.questions, Form.TYPED), item),
        Exercise(Name.SCORES, asking_in_form(run.messages, run.questions, Form.TYPED), item),
        Exercise(Name.SCORE, Asking(_ALL_PARTS, (_QUALITY,), ReaderSpec("typed")), item),
        *own,
        Exercise(Name.REPEATS, made_up, item, zero, REPEATS),
        Exercise(Name.SEEDS, made_up, item, seeded, SEED_PAIRS),
    ]


def _recorded(spec: JudgeSpec) -> list[Exercise]:
    """Return the first recorded value as an exercise, and the judge's own prompt on the first item that fits it."""
    trials = {Name.RECORDED: value_trial(spec), Name.OWN_PROMPT: own_trial(spec, _named(spec))}
    return [_on_record(name, trial) for name, trial in trials.items() if trial is not None]


def _on_record(name: Name, trial: RecordedTrial) -> Exercise:
    return Exercise(name, trial.asking, trial.item, repeats=(trial.repeat,))


def _samples(spec: JudgeSpec) -> bool:
    """Whether temperature and seed mean something to it; to a program that was given none, the repeat is all."""
    return bool(spec.sampling) or spec.backend not in ("python", "command", "planted")


def _item(spec: JudgeSpec) -> Item:
    """Return the item that is shown: our parts, and a placeholder for whatever else the judge's own prompt names."""
    others = {name: f"(a text that stands for {name})" for name in _named(spec)}
    return Item("trial", {**others, **PARTS})


def _named(spec: JudgeSpec) -> list[str]:
    messages = spec.asking.messages if spec.asking else ()
    return [name for message in messages for name in placeholders(message.text)]
