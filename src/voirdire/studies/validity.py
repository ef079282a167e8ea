"""The validity study: does a rubric judge tell right patches from patches that do nothing of the task?

Reference patches must score high; empty, no-op and unrelated ones low; the same patch twice the same; and where tests were
run, what passes above what fails. Judges with planted faults are told apart first, or nothing is concluded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from voirdire.engine.ask import Asker
from voirdire.engine.conclude import conclude
from voirdire.engine.forms import Form
from voirdire.engine.plan import Call
from voirdire.errors import SelfCheckError
from voirdire.mining.checklists import (
    ChecklistFile,
    Generator,
    ItemKind,
    TaskChecklist,
    WrittenItem,
)
from voirdire.mining.git import Mirror
from voirdire.mining.tasks import MinedTask
from voirdire.model import (
    Answer,
    Examination,
    Finding,
    Item,
    Judge,
    Ruling,
    SelfCheck,
    TruthStatus,
    Verdict,
)
from voirdire.studies._rubric_judge import ChecklistJudge, Method, share_of, template_asking
from voirdire.studies._validity_material import Arm, made_up, suite
from voirdire.studies._validity_measures import ArmScore, AttemptScore, Scores, measured
from voirdire.studies.rubric import Judged, Panel

NAME = "validity"
REPEATS = 2
"""How often each patch of the suite is asked about: what repeats are alike by."""

FAMILY = "claims of a validity suite"

PlantedFactory = Callable[..., Judge]
Answers = Mapping[tuple[str, int], Sequence[Verdict]]


@dataclass(frozen=True)
class Suite:
    """What a judge is asked about. `arms`: four patches of every task; `attempts`: what harnesses made, with their tests."""

    tasks: tuple[str, ...]
    arms: tuple[Judged, ...]
    attempts: tuple[Judged, ...] = ()

    @property
    def items(self) -> dict[str, str]:
        """The digest of every patch's texts, by id."""
        return {one.item.id: one.item.digest for one in (*self.arms, *self.attempts)}


def prepare(tasks: Sequence[MinedTask], mirror: Mirror, attempts: Sequence[Judged] = ()) -> Suite:
    """Return the suite of some tasks. Attempts of which no tests were run are left out."""
    known = tuple(
        one
        for one in attempts
        if one.status not in (None, TruthStatus.NOT_RUN, TruthStatus.NOT_APPLIED, TruthStatus.INFRASTRUCTURE)
    )
    return Suite(tuple(task.id for task in tasks), tuple(suite(tasks, mirror)), known)


def plan_validity(panel: Panel, of: Suite) -> list[Call]:
    """Return every call that the study will make."""
    return [
        *panel.calls(of.arms, repeats=REPEATS).values(),
        *panel.calls(of.attempts).values(),
    ]


async def examine_validity(
    panel: Panel, of: Suite, asker: Asker, *, planted: PlantedFactory, seed: int = 0
) -> Examination:
    """Check the instrument on planted judges, then ask every judge about every patch and rule on each claim."""
    checks = await self_check(planted)
    arms, attempts = panel.calls(of.arms, repeats=REPEATS), panel.calls(of.attempts)
    calls = {**arms, **attempts}
    said = dict(zip(calls, await asker.ask(list(calls.values())), strict=True))
    findings: list[Finding] = []
    for method, judge in panel.judges.items():
        own = {(item, repeat): one for (by, item, repeat), one in said.items() if by is method}
        findings += rulings(judge, scores_of(judge, of, own, seed=seed))
    return Examination(
        title="Does the judge tell a right patch from one that does nothing?",
        judges=[judge.identity for judge in panel.judges.values()],
        findings=findings,
        account=asker.account,
        self_checks=checks,
        notes=_notes(panel, of),
        items=of.items,
    )


def rulings(judge: Judge, scores: Scores) -> list[Finding]:
    """Return one finding per claim about one judge; they are one family."""
    return conclude(measured(scores), judge=judge.identity.fingerprint, family=FAMILY)


def scores_of(judge: Judge, of: Suite, said: Answers, *, seed: int = 0) -> Scores:
    """Return the scores of one judge; what was not judged is missing."""

    def score(item: Item, repeat: int) -> float | None:
        answer = said.get((item.id, repeat))
        if not answer:
            return None
        last = answer[-1]
        if isinstance(judge, ChecklistJudge):
            return float(last.value) if isinstance(last.value, int | float) else None
        return share_of(last, judge.asking.questions[0])

    arms = [
        ArmScore(
            one.attempt.task,
            Arm(one.attempt.harness),
            tuple(score(one.item, repeat) for repeat in range(REPEATS)),
        )
        for one in of.arms
    ]
    attempts = [
        AttemptScore(one.attempt.task, _system(one), one.status is TruthStatus.PASSED, score(one.item, 0))
        for one in of.attempts
    ]
    return Scores(arms, attempts, deterministic=judge.deterministic, seed=seed)


def _system(one: Judged) -> str:
    return "+".join(part for part in (one.attempt.model, one.attempt.harness) if part)


def _notes(panel: Panel, of: Suite) -> list[str]:
    notes = [
        f"{len(of.tasks):,} tasks, four patches of each, {len(of.attempts):,} attempts with test results."
    ]
    if Method.CHECKLIST in panel.judges:
        missing = [task for task in of.tasks if panel.checklist_of(task).missing_because]
        notes.append(
            f"{len(missing):,} of {len(of.tasks):,} tasks have no checklist: their scores are missing."
        )
    unmade: dict[str, int] = {}
    for one in of.arms:
        if one.not_judged:
            unmade[f"{one.attempt.harness}: {one.not_judged}"] = 1 + unmade.get(
                f"{one.attempt.harness}: {one.not_judged}", 0
            )
    return [*notes, *(f"not judged, {why} ({count:,})" for why, count in unmade.items())]


# --- the instrument itself ----------------------------------------------------------------------------------

SYNTHETIC_TASKS = 30
SYNTHETIC_SYSTEMS = 10
SEED = 20_261_201

RIGHT, WRONG, CONSTANT = 0.9, 0.1, 0.7
PARTIAL = 0.4
"""Score of a failed patch of a system that solves everything; one that solves nothing has none."""

PLANTED = ("valid", "blind", "random")


async def self_check(planted: PlantedFactory) -> list[SelfCheck]:
    """Tell planted checklist judges apart: one that is valid, one that sees nothing, one that answers at random.

    `planted(name, asking, policy, seed=...)` makes one. Raises SelfCheckError naming the first that was misread.
    """
    of, checklists = synthetic()
    checks = []
    for name in PLANTED:
        judge = planted_checklist_judge(name, of, checklists.generator, planted)
        told = told_as(await planted_findings(judge, of, checklists))
        checks.append(SelfCheck(NAME, name, (name,), told, told == name))
    misread = [check for check in checks if not check.passed]
    if misread:
        raise SelfCheckError(
            f"the planted checklist judge '{misread[0].planted}' was read as '{misread[0].ruled}'",
            hint="nothing was concluded; report it with the version of voirdire",
        )
    return checks


def told_as(findings: Sequence[Finding]) -> str:
    """Return which of the planted judges these findings are those of; 'none of them' otherwise."""
    by_name = {one.name: one.ruling for one in findings}
    decoys = {by_name[f"rubric_{arm}"] for arm in ("empty", "no_op", "unrelated")}
    if set(by_name.values()) == {Ruling.HOLDS}:
        return "valid"
    if decoys == {Ruling.LEAKS} and by_name["rubric_repeats"] is Ruling.BLIND:
        return "blind"
    if Ruling.HOLDS not in decoys and by_name["rubric_repeats"] is Ruling.LEAKS:
        return "random"
    return "none of them"


def planted_checklist_judge(
    name: str, of: Suite, generator: Generator, planted: PlantedFactory
) -> ChecklistJudge:
    """Return a checklist judge with a known fault, which answers about the synthetic suite."""
    worth = {
        one.item["patch"]: (of_arm(one) if one.status is None else _worth(one))
        for one in (*of.arms, *of.attempts)
    }

    def answer(parts: Mapping[str, str], question: str, rng: Random) -> float:  # noqa: ARG001 - a policy's shape
        if name == "blind":
            return CONSTANT
        if name == "random":
            return rng.random()
        return max(0.0, min(1.0, worth[parts["patch"]] + rng.uniform(-0.05, 0.05)))

    inner = planted(name, template_asking(Form.TYPED), answer, seed=SEED)
    return ChecklistJudge(inner, Form.TYPED, generator, seed=SEED)


def of_arm(one: Judged) -> float:
    """Return what a patch of the suite is worth."""
    return RIGHT if one.attempt.harness == Arm.REFERENCE.value else WRONG


def _worth(one: Judged) -> float:
    rate = int(one.attempt.harness.removeprefix("s")) / SYNTHETIC_SYSTEMS
    return RIGHT if one.status is TruthStatus.PASSED else WRONG + PARTIAL * rate


async def planted_findings(judge: ChecklistJudge, of: Suite, checklists: ChecklistFile) -> list[Finding]:
    """Ask a planted judge about the synthetic suite and rule on it."""
    panel = Panel({Method.CHECKLIST: judge}, checklists)
    calls = {**panel.calls(of.arms, repeats=REPEATS), **panel.calls(of.attempts)}
    said = {}
    for (_, item, repeat), call in calls.items():
        answer = await judge.ask(call.request, repeat=repeat, pace=_AT_ONCE)
        said[item, repeat] = judge.read(call.request, answer, repeat=repeat)
    return rulings(judge, scores_of(judge, of, said))


class _AtOnce:
    """A pace without limits: planted judges cost nothing."""

    async def send(self, attempt: Callable[[], object]) -> Answer:
        return await attempt()  # type: ignore[misc, no-any-return]


_AT_ONCE = _AtOnce()


def synthetic() -> tuple[Suite, ChecklistFile]:
    """Return a suite of tasks that do not exist, with attempts of ten systems whose solve rates rise."""
    rng = Random(SEED)
    names = [f"task-{k}" for k in range(SYNTHETIC_TASKS)]
    arms = [
        made_up(task, arm.value, "" if arm is Arm.EMPTY else f"{arm.value} of {task}")
        for task in names
        for arm in Arm
    ]
    attempts = []
    for task in names:
        for k in range(SYNTHETIC_SYSTEMS):
            passed = rng.random() < k / SYNTHETIC_SYSTEMS
            status = TruthStatus.PASSED if passed else TruthStatus.FAILED
            attempts.append(replace(made_up(task, f"s{k}", f"{task} by s{k}: {status.value}"), status=status))
    items = (
        WrittenItem("works", ItemKind.DOES, "It does what the task asks.", 2.0),
        WrittenItem("same", ItemKind.KEEPS, "What the task does not name works as before.", 1.0),
        WrittenItem("scope", ItemKind.SCOPE, "It changes nothing else.", 1.0),
    )
    checklists = {task: TaskChecklist(task, "", items) for task in names}
    generator = Generator("synthetic", "0" * 64)
    return Suite(tuple(names), tuple(arms), tuple(attempts)), ChecklistFile(generator, checklists)
