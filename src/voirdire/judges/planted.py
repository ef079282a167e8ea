"""Judges with known faults: `planted:NAME`, and the planted judges that the engine checks itself on.

A planted judge answers through the same reader as a real one, in that reader's form. What it answers is a policy: a
function from the parts that the prompt shows, the question's id and a random generator to a value, or to None for a
refusal. The generator is seeded by the seed, the request and the repeat, so an answer does not depend on which were
asked before.

`planted:NAME` on the command line (option `seed`, default 0) needs no policy:

- `always_first`, `always_second`: the first or second option; yes or no; the highest or lowest score.
- `coin`: one of these two, at random. `random`: any option or level. `constant`, `never_moves`: always the same, the
  middle of a scale. `refuses`: a refusal.
- `fair`: looks only at what it should. Of two answers the one that shares more words with the task wins; a score falls
  where the agent's last message in the log says that something was left out, and without a log follows the share of the
  task's words in the response; a question whose id holds 'damage' rises with the harm told in the outcome.
- `leaks`: as `fair`, but a score also falls by half the scale where the outcome tells of harm, and of two answers the
  first wins. `deterministic`: the same, and it promises to repeat itself. `noisy`: as `fair`, with noise.

How these read a log and a note stands in `_planted_reading.py`: lists of English words, which know the shipped cases and
any case that says plainly what the agent left out, what was damaged, and of an irrelevant failure that it is one.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

from voirdire.errors import JudgeError, UsageError
from voirdire.judges._plain import PlainBodies, check_options, whole_number
from voirdire.judges._planted_reading import split_log, step_left_out, tells_of_harm
from voirdire.judges._prompted import Backend, PromptedJudge, Rendered, reader_named
from voirdire.model import Answer, Asking, JudgeSpec, Request, canonical_json
from voirdire.questions import Choice, Question, Score

OPTIONS = frozenset({"seed"})

Value = float | str | None
Policy = Callable[[Mapping[str, str], str, random.Random], Value]
"""(parts that the prompt shows, question id, generator) to a value; None refuses."""

_QuestionPolicy = Callable[[Mapping[str, str], Question, random.Random], Value]

REFUSAL_TEXT = "I'm sorry, but I can't rate this."


def planted_judge(
    name: str, asking: Asking, policy: Policy, *, seed: int, deterministic: bool = False
) -> PromptedJudge:
    """Return a judge that answers by `policy`, in the form that the asking's reader reads.

    Its identity holds name, seed and determinism but not the policy, so two policies must have two names.
    `deterministic`: every repeat is the same and, where the reader is `typed`, comes with probabilities.
    """
    backend = PlantedBackend(
        settings={"backend": "planted", "planted": name, "seed": seed, "deterministic": deterministic},
        policy=lambda parts, question, rng: policy(parts, question.id, rng),
        seed=seed,
        deterministic=deterministic,
    )
    return PromptedJudge(name=f"planted: {name}", backend=backend, asking=asking)


def open_backend(spec: JudgeSpec) -> Backend:
    """Return one of the built-in planted judges; UsageError with their names where there is none of that name."""
    check_options(spec, OPTIONS)
    if spec.model not in _BUILT_IN:
        raise UsageError(
            f"there is no planted judge '{spec.model}'", hint=f"choose one of: {', '.join(sorted(_BUILT_IN))}"
        )
    seed = whole_number(spec, "seed", default=0, least=0)
    deterministic = spec.model in _REPEATS_ITSELF
    return PlantedBackend(
        settings={
            "backend": "planted",
            "planted": f"built-in {spec.model}",
            "seed": seed,
            "deterministic": deterministic,
            "sampling": dict(spec.sampling),
        },
        policy=_BUILT_IN[spec.model],
        seed=seed,
        deterministic=deterministic,
    )


def speak(asking: Asking, values: Mapping[str, Value], *, probabilities: bool = False) -> str:
    """Return an answer that the asking's reader reads as `values` by question id: the inverse of reading.

    One None makes a text answer a refusal, because an answer is read whole or not at all; in the typed form it is
    missing for its question alone. Text answers hold whole levels only: a score goes to the nearest. `probabilities`:
    in the typed form, give them.
    """
    reader = reader_named(asking.reader.name)
    given = {name: value for name, value in values.items() if value is not None}
    if asking.reader.name == "typed":
        asked = [question for question in asking.questions if question.id in given]
        spoken: str = (
            reader.speak_probabilities(given, asked) if probabilities else reader.speak(given, asked, {})
        )
        return spoken if len(given) == len(values) else _with_refusals(spoken, values)
    if len(given) < len(values):
        return REFUSAL_TEXT
    if not hasattr(reader, "speak"):
        raise UsageError(
            f"the reader '{asking.reader.name}' cannot be spoken, so nothing can be checked with planted judges",
            hint="add `speak(values, questions, options)`, the inverse of `read`, to it",
        )
    text: str = reader.speak(given, asking.questions, asking.reader.options)
    return text


def _with_refusals(spoken: str, values: Mapping[str, Value]) -> str:
    answers: dict[str, object] = json.loads(spoken)["answers"]
    refused = {name: {"missing_because": "refusal"} for name, value in values.items() if value is None}
    return canonical_json({"answers": {**answers, **refused}})


@dataclass
class PlantedBackend:
    """Answers by a policy. Fast: a self-check asks it tens of thousands of times."""

    settings: Mapping[str, object]
    policy: _QuestionPolicy
    seed: int
    deterministic: bool
    bodies: PlainBodies = field(default_factory=PlainBodies)
    _prepared: dict[str, tuple[Mapping[str, str], Asking]] = field(default_factory=dict)

    def prepare(self, item_id: str, messages: Rendered, parts: Mapping[str, str], asking: Asking) -> Request:
        """Return the request, and remember whose parts it holds."""
        request = self.bodies.request(item_id, messages, parts, asking)
        self._prepared[request.body] = (parts, asking)
        return request

    async def send(self, request: Request, *, repeat: int) -> Answer:
        """Answer by the policy."""
        try:
            parts, asking = self._prepared[request.body]
        except KeyError:
            raise JudgeError("a planted judge got a request that it did not prepare") from None
        rng = self._generator(request, repeat)
        values = {question.id: self.policy(parts, question, rng) for question in asking.questions}
        return Answer(raw=speak(asking, values, probabilities=self.deterministic))

    async def close(self) -> None:
        """Forget the requests."""
        self._prepared.clear()

    def _generator(self, request: Request, repeat: int) -> random.Random:
        place = 0 if self.deterministic else repeat
        seed = blake2b(f"{self.seed} {request.digest} {place}".encode(), digest_size=8).digest()
        return random.Random(int.from_bytes(seed, "big"))


# --- built-in policies ------------------------------------------------------------------------------

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")


@lru_cache(maxsize=1024)
def _shared_words(task: str, response: str) -> float:
    """Return the share of the task's words that the response holds, in [0, 1]; 0.5 without a task."""
    wanted = {word.casefold() for word in _WORD.findall(task)}
    held = {word.casefold() for word in _WORD.findall(response)}
    return len(wanted & held) / len(wanted) if wanted else 0.5


def _at(question: Question, place: float) -> Value:
    """Return the value at `place`, from 0 (low, no, second option) to 1 (high, yes, first option)."""
    match question:
        case Score():
            return round(question.low + (question.high - question.low) * place)
        case Choice():
            return question.options[0 if place >= 0.5 else 1]
        case _:
            return place


def _always_first(_parts: Mapping[str, str], question: Question, _rng: random.Random) -> Value:
    return _at(question, 1.0)


def _always_second(_parts: Mapping[str, str], question: Question, _rng: random.Random) -> Value:
    return _at(question, 0.0)


def _coin(_parts: Mapping[str, str], question: Question, rng: random.Random) -> Value:
    return _at(question, float(rng.random() < 0.5))


def _random(_parts: Mapping[str, str], question: Question, rng: random.Random) -> Value:
    if isinstance(question, Choice):
        return rng.choice(question.options)
    if isinstance(question, Score):
        return rng.randint(question.low, question.high)
    return float(rng.random() < 0.5)


def _constant(_parts: Mapping[str, str], question: Question, _rng: random.Random) -> Value:
    return _at(question, 0.5)


def _refuses(_parts: Mapping[str, str], _question: Question, _rng: random.Random) -> Value:
    return None


def _fair(parts: Mapping[str, str], question: Question, rng: random.Random) -> Value:
    return _at(question, _deserved(parts, question, rng))


def _noisy(parts: Mapping[str, str], question: Question, rng: random.Random) -> Value:
    place = _deserved(parts, question, rng) + rng.gauss(0.0, 0.15)
    return _at(question, min(1.0, max(0.0, place)))


def _leaks(parts: Mapping[str, str], question: Question, rng: random.Random) -> Value:
    if isinstance(question, Choice):
        return _at(question, 1.0)
    place = _deserved(parts, question, rng)
    if "damage" not in question.id.casefold() and tells_of_harm(_note(parts)):
        place = max(0.0, place - 0.5)
    return _at(question, place)


def _deserved(parts: Mapping[str, str], question: Question, rng: random.Random) -> float:
    """Return what a fair judge gives, from 0 to 1."""
    if isinstance(question, Choice) and {"first", "second"} <= parts.keys():
        first, second = (_shared_words(parts.get("task", ""), parts[slot]) for slot in ("first", "second"))
        return float(first > second) if first != second else float(rng.random() < 0.5)
    if "damage" in question.id.casefold():
        return 0.8 if tells_of_harm(_note(parts)) else 0.1
    if "log" in parts:
        return 0.5 if step_left_out(split_log(parts["log"])[0]) else 0.9
    return _shared_words(parts.get("task", ""), parts.get("response", ""))


def _note(parts: Mapping[str, str]) -> str:
    """Return what is told of later: at the end of the log where it stands there, else in the part `outcome`."""
    return split_log(parts.get("log", ""))[1] or parts.get("outcome", "")


_BUILT_IN: Mapping[str, _QuestionPolicy] = {
    "always_first": _always_first,
    "always_second": _always_second,
    "coin": _coin,
    "constant": _constant,
    "deterministic": _leaks,
    "fair": _fair,
    "leaks": _leaks,
    "never_moves": _constant,
    "noisy": _noisy,
    "random": _random,
    "refuses": _refuses,
}

_REPEATS_ITSELF = frozenset({"deterministic"})
