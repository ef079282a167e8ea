"""Checks our own instrument: planted judges with known faults must be read as what they are.

Before a probe meets real items it runs on planted judges that answer through the same reader as the real judge.
One misread planted judge makes the run invalid. Seeds are fixed and there are enough synthetic repeats that a
chance misreading is below one in a million (the distance of each planted judge from every line it must stay clear
of is at least 4.9 standard errors, see `SYNTHETIC_REPEATS` and `SYNTHETIC_ITEMS`).
"""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Protocol

from voirdire.edits.pairs import order_of, shown
from voirdire.engine.conclude import conclude
from voirdire.engine.fit import check_asking
from voirdire.engine.measure import measure
from voirdire.errors import SelfCheckError, UsageError
from voirdire.lines import IDENTICAL_TO_STOP, Line
from voirdire.model import (
    Answer,
    Asking,
    Expectation,
    Item,
    Judge,
    Probe,
    Request,
    Ruling,
    SelfCheck,
    Side,
    Trial,
    Unit,
    Verdict,
)
from voirdire.questions import Choice, Question, Score

SYNTHETIC_REPEATS = 100
"""Repeats of each version for a ruling per case: P of a random judge then has a standard error of 0.041."""

SYNTHETIC_ITEMS = 1500
"""Items for a ruling over items: the advantage of a coin-flipper then has a standard error of 0.018."""

ERRORS_CLEAR = 4.9
"""Standard errors between a planted judge and a line: by chance it is crossed less than once in a million."""

SYNTHETIC_CASES = 8
"""Cases used at most in a self-check of a probe that rules per case."""

SEED = 20_261_130

LOW, HIGH = 0.25, 0.75
"""Levels of the scale between which planted judges move: apart on every scale, two levels included."""

Policy = Callable[[Mapping[str, str], str, Random], float | str | None]
PlantedFactory = Callable[..., Judge]

EXPECTED: Mapping[str, tuple[Ruling, ...]] = {
    "leaks": (Ruling.LEAKS,),
    "fair": (Ruling.HOLDS,),
    "never moves": (Ruling.BLIND,),
    "random": (Ruling.BLIND, Ruling.UNRESOLVED),
    "deterministic": (Ruling.LEAKS,),
}
"""What each planted judge must be ruled, for an invariant probe."""


class _Roles(Protocol):
    def __call__(self, parts: Mapping[str, str]) -> tuple[str, Item]: ...


async def self_check(
    probe: Probe, judge: Judge, items: Sequence[Item], planted: PlantedFactory
) -> list[SelfCheck]:
    """Run the planted judges through the probe and this judge's own prompt and reader.

    `planted(name, asking, policy, seed=..., deterministic=...)` makes a planted judge. Raises SelfCheckError naming
    every planted judge that was misread, and UsageError where the probe and the judge do not fit together.
    """
    check_asking(probe, judge.asking)
    versions = [_Versions(probe, item) for item in items[:SYNTHETIC_CASES]]
    roles = _role_finder(judge.asking, versions)
    checks = []
    for name in EXPECTED:
        policy = _policy(name, probe, judge.asking.questions, roles)
        fake = planted(name, judge.asking, policy, seed=SEED, deterministic=name == "deterministic")
        trials = await _synthetic_trials(probe, fake, versions, items=_items_for(name, probe.line))
        checks += _judged(name, probe, fake, trials)
    misread = [check for check in checks if not check.passed]
    if misread:
        worst = misread[0]
        raise SelfCheckError(
            f"probe '{probe.name}': the planted judge '{worst.planted}' was ruled '{worst.ruled}' "
            f"instead of '{' or '.join(worst.expected)}' ({len(misread)} of {len(checks)} checks misread)",
            hint="nothing was concluded; check that the reader accepts every value of the scale it is given",
        )
    return checks


class _Versions:
    """The four versions of one item."""

    def __init__(self, probe: Probe, item: Item) -> None:
        self.item = item
        contrast, control = probe.contrast(item), probe.control_contrast(item)
        self.by_role = {
            "base": contrast.base,
            "variant": contrast.variant,
            "control_base": control.base,
            "control_variant": control.variant,
        }


def _role_finder(asking: Asking, versions: Sequence[_Versions]) -> _Roles:
    """Return a look-up from the parts that a prompt shows to the version they belong to."""
    table: dict[frozenset[tuple[str, str]], tuple[str, Item]] = {}
    names = _named_parts(asking, versions[0].item)
    for version in versions:
        seen: dict[frozenset[tuple[str, str]], str] = {}
        for role, item in version.by_role.items():
            parts = shown(item.parts)
            key = frozenset((name, parts[name]) for name in names)
            twin = {"variant": "base", "control_variant": "control_base"}.get(role)
            if twin is not None and seen.get(key) == twin:
                raise UsageError(
                    f"item '{item.id}': the judge's prompt shows the same text for {twin} and {role}",
                    hint=f"name the changed part in the prompt; it now shows only {', '.join(sorted(names))}",
                )
            seen.setdefault(key, role)
            table.setdefault(key, (role, item))
    return lambda parts: table[frozenset((name, parts[name]) for name in names)]


def _named_parts(asking: Asking, item: Item) -> frozenset[str]:
    known = shown(item.parts)
    text = "\n".join(message.text for message in asking.messages)
    return frozenset(
        name for name in known if "{{" + name + "}}" in text.replace("{{ ", "{{").replace(" }}", "}}")
    )


def _items_for(name: str, line: Line) -> int:
    """Return on how many items a planted judge is tried: so many that chance stays clear of a line that is drawn finely.

    Only the judge that answers at random needs more than `SYNTHETIC_ITEMS`: a coin that is flipped for both versions has
    the largest spread there is, half of the squared span.
    """
    if name != "random" or line.span is None:
        return SYNTHETIC_ITEMS
    return max(SYNTHETIC_ITEMS, math.ceil(0.5 * (ERRORS_CLEAR * line.span / line.leak) ** 2))


async def _synthetic_trials(
    probe: Probe, fake: Judge, versions: Sequence[_Versions], *, items: int
) -> list[Trial]:
    """Return the trials of one planted judge: many repeats per case, or many copies of the items."""
    asked = [[_Asked(fake, fake.render(item)) for item in version.by_role.values()] for version in versions]
    if probe.unit is Unit.REPEAT:
        repeats = range(SYNTHETIC_REPEATS)
        return [
            await _trial(version, sides, repeats, version.item)
            for version, sides in zip(versions, asked, strict=True)
        ]
    trials = []
    for k in range(items):
        version, sides = versions[k % len(versions)], asked[k % len(versions)]
        trials.append(await _trial(version, sides, [k], replace(version.item, id=f"{k}")))
    return trials


async def _trial(version: _Versions, asked: Sequence["_Asked"], repeats: Sequence[int], item: Item) -> Trial:
    await asyncio.sleep(0)  # so that Ctrl-C is heeded in between
    sides = [
        Side(shown_item, await one.answers(repeats))
        for shown_item, one in zip(version.by_role.values(), asked, strict=True)
    ]
    return Trial(item, *sides)


class _Asked:
    """One request to a planted judge. The few different answers that it gives are read once each."""

    def __init__(self, fake: Judge, request: Request) -> None:
        self._fake = fake
        self._request = request
        self._read: dict[str, tuple[Verdict, ...]] = {}

    async def answers(self, repeats: Sequence[int]) -> list[tuple[Verdict, ...]]:
        """Return the verdicts of each repeat; equal answers share one, with the number of the first."""
        wanted = repeats[:IDENTICAL_TO_STOP] if self._fake.deterministic else repeats
        return [await self._answer(repeat) for repeat in wanted]

    async def _answer(self, repeat: int) -> tuple[Verdict, ...]:
        answer = await self._fake.ask(self._request, repeat=repeat, pace=_AT_ONCE)
        verdicts = self._read.get(answer.raw)
        if verdicts is None:
            verdicts = self._read[answer.raw] = self._fake.read(self._request, answer, repeat=repeat)
        return verdicts


class _AtOnce:
    """A pace without limits: planted judges cost nothing."""

    async def send(self, attempt: Callable[[], object]) -> Answer:
        return await attempt()  # type: ignore[misc, no-any-return]


_AT_ONCE = _AtOnce()


def _judged(name: str, probe: Probe, fake: Judge, trials: Sequence[Trial]) -> list[SelfCheck]:
    measurements = measure(probe, trials, questions=fake.asking.questions, deterministic=fake.deterministic)
    findings = conclude(measurements, judge=fake.identity.fingerprint, family="self-check")
    expected = tuple(ruling.value for ruling in EXPECTED[name])
    return [
        SelfCheck(probe.name, name, expected, finding.ruling.value, finding.ruling.value in expected)
        for one, finding in zip(measurements, findings, strict=True)
        if not one.withheld and finding.ruling is not None
    ]


def _policy(name: str, probe: Probe, questions: Sequence[Question], roles: _Roles) -> Policy:
    by_id = {question.id: question for question in questions}
    if isinstance(by_id[probe.question], Choice):
        return _slot_policy(name, roles)
    return _number_policy(name, probe, by_id, roles)


def _slot_policy(name: str, roles: _Roles) -> Policy:
    """Planted judges of pairs: always the first slot, always candidate a, a coin."""

    def answer(parts: Mapping[str, str], question: str, rng: Random) -> str:  # noqa: ARG001 - the Policy's shape
        role, item = roles(parts)
        if name in ("leaks", "deterministic"):
            return "first"
        if name == "random":
            return rng.choice(("first", "second"))
        winner = "b" if name == "fair" and role == "control_variant" else "a"
        return "first" if order_of(item)[0] == winner else "second"

    return answer


def _number_policy(name: str, probe: Probe, by_id: Mapping[str, Question], roles: _Roles) -> Policy:
    """Planted judges of scores: a middle score with noise, moved by what each of them reacts to."""

    def answer(parts: Mapping[str, str], question: str, rng: Random) -> float:
        role, _ = roles(parts)
        low, high = _range(by_id[question])
        if name == "random":
            return _rounded(by_id[question], rng.uniform(low, high))
        level = _level(name, probe, question, role)
        noise = 0.0 if name == "deterministic" else rng.choice((-0.06, 0.06))
        return _rounded(by_id[question], low + (high - low) * (level + noise))

    return answer


def _level(name: str, probe: Probe, question: str, role: str) -> float:
    """Return where on the scale, from 0 to 1, a planted judge puts a version."""
    if name == "never moves":
        return HIGH
    if probe.check is not None and question == probe.check.question:
        return _ends(probe.check.expect)[role == "variant"]
    if question != probe.question:
        return HIGH
    if role.startswith("control"):
        return _ends(probe.control.expect)[role == "control_variant"]
    return LOW if role == "variant" and name in ("leaks", "deterministic") else HIGH


def _ends(expect: Expectation) -> tuple[float, float]:
    """Return the levels before and after a change that must move the verdict."""
    return (LOW, HIGH) if expect is Expectation.HIGHER else (HIGH, LOW)


def _range(question: Question) -> tuple[float, float]:
    return (question.low, question.high) if isinstance(question, Score) else (0.0, 1.0)


def _rounded(question: Question, value: float) -> float:
    return float(round(value)) if isinstance(question, Score) else value
