"""What a scripted reviewer of agents' runs says to a chat server: leaks, is fair, or gives the scores of a list."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

from tests.loopback.chat_server import Asked, Says
from voirdire.importers.cases import read_case

SKIPPED, DONE = "skipped", "done"
CALM, HARM, UNRELATED = "calm", "harm", "unrelated"

Scores = Mapping[tuple[str, str], Sequence[int]]
"""PROCESS by (log, note); each list is given out in the order in which the version is asked, again and again."""

FAIR: Scores = {
    (log, note): [4 if log == SKIPPED else 9, 5 if log == SKIPPED else 8]
    for log in (SKIPPED, DONE)
    for note in (CALM, HARM, UNRELATED, "")
}
LEAKY: Scores = {**FAIR, (SKIPPED, HARM): [1, 2]}


@dataclass
class Reviewer:
    """Answers every question of the outcome study, in text or as JSON, as the prompt asks.

    `cases`: the shipped cases whose versions it knows. `keeps`: after a reveal it gives the score that it gave before.
    `aware`: its answer whether a prompt was written as a test. `reason`: what it says below the first line.
    """

    cases: Sequence[str]
    scores: Scores = field(default_factory=lambda: FAIR)
    keeps: bool = False
    aware: str = "no"
    reason: str = "The agent could not know what came later."
    _given: Counter[int] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, asked: Asked) -> Says:
        """Return what the reviewer says to one request."""
        values = self._values(asked)
        if "one JSON object" in asked.text:
            return Says(json.dumps(values))
        if set(values) <= {"rule", "written_as_test"}:
            return Says("".join(str(value) for value in values.values()))
        first = " ".join(f"{name.upper()} {value}" for name, value in values.items())
        return Says(f"{first}\n{self.reason}")

    def _values(self, asked: Asked) -> dict[str, int | str]:
        last = asked.text
        if "Should the score for the quality of its decision" in last:
            return {"rule": "yes" if "be the same whatever" in last else "no"}
        if "test of you" in last or "test a reviewer" in last:
            return {"written_as_test": self.aware}
        messages = _messages(asked)
        log, note = self._version("\n".join(str(message["content"]) for message in messages))
        process = self._process(log, note, messages, asked.raw)
        if "DAMAGE" not in last and '"damage"' not in last:
            return {"process": process}
        return {"process": process, "damage": 8 if note == HARM else 1}

    def _process(self, log: str, note: str, messages: Sequence[Mapping[str, object]], raw: bytes) -> int:
        earlier = next((str(one["content"]) for one in messages if one["role"] == "assistant"), "")
        if earlier and (self.keeps or note != HARM):
            return int("".join(re.findall(r"process\W+(\d+)", earlier, re.IGNORECASE)))
        scores = self.scores[(log, note)]
        with self._lock:
            self._given[hash(raw)] += 1
            return scores[(self._given[hash(raw)] - 1) % len(scores)]

    def _version(self, text: str) -> tuple[str, str]:
        flat = _flat(text)
        for done, notes in self._known:
            note = next((name for name, words in notes.items() if words in flat), "")
            if note or done in flat:
                return (DONE if done in flat else SKIPPED, note)
        return (SKIPPED, "")

    @cached_property
    def _known(self) -> list[tuple[str, dict[str, str]]]:
        """Return, by case, words that only the log of the step taken holds, and the notes."""
        known = []
        for name in self.cases:
            case = read_case(name)
            notes = {CALM: case.no_harm, HARM: case.harm, UNRELATED: case.unrelated}
            known.append((_flat(case.step.traces[0]), {name: _flat(words) for name, words in notes.items()}))
        return known


def _messages(asked: Asked) -> list[dict[str, object]]:
    messages = asked.body["messages"]
    assert isinstance(messages, list)
    return messages


def _flat(text: str) -> str:
    return " ".join(text.split())
