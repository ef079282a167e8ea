"""The contract between a replay and its judge: it sees problem, gold answer and candidate, and answers 1 or 0.

The prompt is a file that anybody may replace; a judge file that brings its own prompt keeps it, as long as its answers
can be read as accepting or not.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from voirdire.errors import DataError, UsageError
from voirdire.model import (
    Asking,
    CodeTask,
    Item,
    Judge,
    JudgeSpec,
    Message,
    Origin,
    ReaderSpec,
    Verdict,
)
from voirdire.questions import Choice, Predicate, Question, Score

QUESTION = "accepts"
ACCEPTING, REFUSING = frozenset({"1", "yes", "accept"}), frozenset({"0", "no", "reject"})
PARTS = ("problem", "gold", "candidate")

ONE_CHARACTER: Mapping[str, object] = {"temperature": 0.0, "max_tokens": 16}
"""What a chat endpoint named on the command line is sent; a judge file says it itself."""

NO_GOLD = "the task has no gold answer to show"

TYPED = frozenset({"local", "planted"})
"""Backends that decide between the labels instead of writing them."""


@dataclass(frozen=True)
class Prompt:
    """A prompt file, read: the messages and the question."""

    messages: tuple[Message, ...]
    question: str

    def asking(self, backend: str) -> Asking:
        """Return what a judge is asked: its whole answer must be one of the two characters."""
        question = Choice(QUESTION, self.question, ("1", "0"))
        reader = ReaderSpec("typed" if backend in TYPED else "exact")
        return Asking(self.messages, (question,), reader)


def read_prompt(path: Path | None) -> Prompt:
    """Return a prompt file, or the one that ships; DataError naming the file where it is none."""
    try:
        text = path.read_text(encoding="utf-8") if path else shipped_prompt()
        data = tomllib.loads(text)
    except OSError as error:
        raise UsageError(
            f"{path}: {(error.strerror or str(error)).lower()}", hint="correct the path"
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path}: not a TOML file: {error}", hint="correct the file at that place") from None
    return _prompt(data, str(path or "the shipped prompt"))


def shipped_prompt() -> str:
    """Return the text of the prompt file that ships."""
    return files("voirdire").joinpath("data", "replay", "prompt.toml").read_text(encoding="utf-8")


def _prompt(data: Mapping[str, object], place: str) -> Prompt:
    unknown = sorted(data.keys() - {"prompt", "question"})
    if unknown:
        raise DataError(
            f"{place}: unknown key '{unknown[0]}'", hint="keys are `question` and the table [prompt]"
        )
    prompt, question = data.get("prompt"), data.get("question")
    if (
        not isinstance(prompt, Mapping)
        or not isinstance(prompt.get("user"), str)
        or not isinstance(question, str)
    ):
        raise DataError(f"{place}: `question` and [prompt] with `user` are needed, as texts", hint=_SHIPPED)
    system = prompt.get("system")
    if not (system is None or isinstance(system, str)):
        raise DataError(f"{place}: `system` must be a text", hint=_SHIPPED)
    texts = [*([("system", system)] if system else []), ("user", prompt["user"])]
    if "{{candidate}}" not in prompt["user"]:
        raise DataError(f"{place}: the prompt does not show the {{{{candidate}}}}", hint=_SHIPPED)
    return Prompt(tuple(Message(role, text) for role, text in texts), question)


_SHIPPED = "copy the prompt that ships: `voirdire replay --print-prompt`"


def contract_spec(spec: JudgeSpec) -> JudgeSpec:
    """Return the judge as it is to be opened: a chat endpoint without a judge file answers at temperature 0."""
    if spec.backend != "openai" or spec.path is not None:
        return spec
    return replace(spec, sampling={**ONE_CHARACTER, **spec.sampling})


def check_judge(judge: Judge) -> None:
    """Raise UsageError where the answers of a judge cannot be read as accepting or not."""
    questions = judge.asking.questions
    if len(questions) != 1 or not _is_binary(questions[0]):
        raise UsageError(
            f"judge '{judge.identity.name}' is not asked one question that is answered 1 or 0",
            hint="ask one predicate, one score from 0 to 1, or one choice of '1' and '0'; or leave [prompt] out",
        )


def _is_binary(question: Question) -> bool:
    if isinstance(question, Choice):
        words = {option.casefold() for option in question.options}
        return len(words) == 2 and bool(words & ACCEPTING) and bool(words & REFUSING)
    if isinstance(question, Score):
        return (question.low, question.high) == (0, 1)
    return isinstance(question, Predicate)


def accepted(verdict: Verdict) -> tuple[float | None, str | None]:
    """Return 1.0 or 0.0, or None with the reason. A probability counts as accepting from one half on."""
    if verdict.value is None:
        return None, verdict.missing_because or "missing"
    if isinstance(verdict.value, str):
        return float(verdict.value.casefold() in ACCEPTING), None
    return float(verdict.value >= 0.5), None


def items_for(tasks: Mapping[str, CodeTask], candidates: Iterable[tuple[str, str, str]]) -> list[Item]:
    """Return one item per (id, task, candidate)."""
    return [
        Item(
            id=name,
            parts={"problem": tasks[task].prompt, "gold": tasks[task].reference or "", "candidate": code},
            origin=Origin(task=task),
        )
        for name, task, code in candidates
    ]


def shows_gold(judge: Judge) -> bool:
    """Whether the prompt of a judge names the gold answer."""
    return any("{{gold}}" in message.text.replace(" ", "") for message in judge.asking.messages)
