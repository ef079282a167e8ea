"""What can a backend do? Nothing is believed: each capability is shown by really asking.

Everything is asked afresh, through the judge's public interface alone, and nothing is stored: the ledger neither
answers nor learns of it.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from voirdire.engine.plan import Forecast, total
from voirdire.engine.progress import Progress
from voirdire.errors import JudgeError, UsageError, VoirdireError
from voirdire.judges import open_judge
from voirdire.lines import IDENTICAL_TO_STOP
from voirdire.model import Answer, Asking, Judge, JudgeSpec, Pace, Request
from voirdire.studies._doctor_exercises import ANY_ASKING, SAMPLING, Exercise, Name, Setting, exercises_for
from voirdire.studies._doctor_shown import Capability, Diagnosis, Evidence, Reply, Unread, diagnosis_of

__all__ = ["Capability", "Diagnosis", "Plan", "Unread", "diagnose", "plan_trial"]


class OneOpen:
    """The judge's backend in one setting at a time, so that a big model is never in memory twice."""

    def __init__(self, spec: JudgeSpec) -> None:
        self._spec = spec
        self._sampling: Mapping[str, object] = {}
        self._judge: Judge | None = None

    async def at(self, setting: Setting, asking: Asking) -> Judge:
        """Return the judge with its own settings, or with others, asked `asking`.

        Raises UsageError where it takes no such settings, JudgeError where it cannot be opened.
        """
        sampling = {**self._spec.sampling, **SAMPLING[setting]}
        if self._judge is None or sampling != self._sampling:
            await self.close()
            spec = replace(self._spec, asking=None, sampling=sampling)
            self._judge, self._sampling = open_judge(spec, asking), sampling
        return self._judge.reasking(asking)

    async def close(self) -> None:
        """Free what is held."""
        judge, self._judge = self._judge, None
        if judge is not None:
            await judge.close()


@dataclass(frozen=True)
class Plan:
    """What will be asked. `refused`: why an exercise cannot be put to this backend at all."""

    spec: JudgeSpec
    backend: OneOpen
    deterministic: bool
    settings: Mapping[str, object]
    exercises: Sequence[Exercise]
    requests: Mapping[Name, Request]
    refused: Mapping[Name, str]

    @property
    def calls(self) -> int:
        """The most calls that will be made."""
        return sum(len(exercise.repeats) for exercise in self.exercises)

    @property
    def forecast(self) -> Forecast:
        """What the calls will take."""
        sent = [self.requests[exercise.name] for exercise in self.exercises for _ in exercise.repeats]
        return Forecast(
            calls=self.calls,
            cached=0,
            too_long=sum(request.too_long is not None for request in sent),
            to_ask=sum(request.too_long is None for request in sent),
            expected=total([request.expected for request in sent]),
            worst=total([request.worst for request in sent]),
        )


async def plan_trial(spec: JudgeSpec) -> Plan:
    """Open the backend and return what it will be asked; close `plan.backend` at the end.

    Raises UsageError where the address or the judge file is wrong, JudgeError where it cannot be opened.
    """
    backend = OneOpen(spec)
    opened = await backend.at(Setting.OWN, ANY_ASKING)
    requests: dict[Name, Request] = {}
    refused: dict[Name, str] = {}
    asked = []
    for exercise in exercises_for(spec):
        try:
            requests[exercise.name] = opened.reasking(exercise.asking).render(exercise.item)
        except UsageError as error:
            refused[exercise.name] = str(error)
        else:
            asked.append(exercise)
    if opened.deterministic and asked:
        shows = _shows_promise(asked)
        requests[Name.PROMISE] = requests[shows.name]
        asked.append(replace(shows, name=Name.PROMISE, repeats=tuple(range(IDENTICAL_TO_STOP))))
    return Plan(
        spec=spec,
        backend=backend,
        deterministic=opened.deterministic,
        settings=opened.identity.fields,
        exercises=asked,
        requests=requests,
        refused=refused,
    )


def _shows_promise(asked: Sequence[Exercise]) -> Exercise:
    """Return what shows whether a promise of equal answers is kept: a typed decision where there is one."""
    by_name = {exercise.name: exercise for exercise in asked}
    shows = by_name.get(Name.CHOICE) or by_name.get(Name.REPEATS) or asked[0]
    return replace(shows, setting=Setting.OWN)


async def diagnose(plan: Plan, pace: Pace, progress: Progress) -> Diagnosis:
    """Ask everything and return what it showed; little is asked of a backend that answers nothing."""
    trial = _Trial(plan, pace, progress)
    progress.started(plan.calls)
    try:
        for exercises in _rounds(plan.exercises):
            if trial.over:
                break
            await trial.ask_all(exercises)
    finally:
        progress.finished()
    return diagnosis_of(trial.evidence())


def _rounds(exercises: Sequence[Exercise]) -> Iterator[Sequence[Exercise]]:
    """Give the first exercise alone, the others that are asked once, then those that are asked again, by setting."""
    once = [exercise for exercise in exercises if len(exercise.repeats) == 1]
    yield once[:1]
    yield once[1:]
    for setting in Setting:
        yield [
            exercise for exercise in exercises if len(exercise.repeats) > 1 and exercise.setting is setting
        ]


class _Trial:
    """The answers as they come."""

    def __init__(self, plan: Plan, pace: Pace, progress: Progress) -> None:
        self._plan = plan
        self._pace = pace
        self._progress = progress
        self._replies: dict[Name, list[Reply]] = {}
        self._refused = dict(plan.refused)
        self._error: JudgeError | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more is worth asking: it said that it cannot be asked, or every exercise failed."""
        replies = [reply for replies in self._replies.values() for reply in replies]
        gone = len(self._replies) > 1 and all(reply.answer.failed for reply in replies)
        return self._error is not None or gone

    async def ask_all(self, exercises: Sequence[Exercise]) -> None:
        """Ask exercises of one setting, all at once."""
        calls = []
        for exercise in exercises:
            try:
                judge = await self._plan.backend.at(exercise.setting, exercise.asking)
                request = judge.render(exercise.item)
            except VoirdireError as error:
                self._refused[exercise.name] = str(error)
            else:
                calls += [self._ask(exercise.name, judge, request, repeat) for repeat in exercise.repeats]
        await asyncio.gather(*calls)

    async def _ask(self, name: Name, judge: Judge, request: Request, repeat: int) -> None:
        if request.too_long is not None:
            answer = Answer(missing_because=request.too_long)
        else:
            try:
                answer = await judge.ask(request, repeat=repeat, pace=self._pace)
            except JudgeError as error:
                self._error = self._error or error
                answer = Answer(missing_because=str(error), failed=True)
            except UsageError as error:
                answer = Answer(missing_because=f"{error}; {error.hint}")
        reply = Reply(repeat, answer, judge.read(request, answer, repeat=repeat))
        self._replies.setdefault(name, []).append(reply)
        self._progress.advanced(
            answered=not answer.failed,
            failed=answer.failed,
            unreadable=not answer.failed and not reply.was_read,
            money=answer.money,
        )

    def evidence(self) -> Evidence:
        """Return what is known in the end."""
        plan = self._plan
        return Evidence(
            judge=plan.spec.name,
            planned=plan.calls,
            deterministic=plan.deterministic,
            exercises={exercise.name: exercise for exercise in plan.exercises},
            requests=plan.requests,
            replies=self._replies,
            refused=self._refused,
            error=self._error,
            context=_context(plan),
            has_own_prompt=plan.spec.asking is not None,
            is_file=plan.spec.backend == "recorded",
        )


def _context(plan: Plan) -> int | None:
    """Return the most tokens that a call may have, where its settings say."""
    backend = plan.settings["backend"]
    settings = backend if isinstance(backend, Mapping) else {}
    known = [
        value
        for value in (plan.spec.options.get("context"), settings.get("context"))
        if isinstance(value, int)
    ]
    return known[0] if known else None
