"""The checklist study: a model explores a repository at each task's base commit and writes a weighted checklist.

All explorations go on side by side, one step of each at a time, through the ledger: what was answered is never asked
again, whatever ended the run. A checklist that breaks a rule is refused, counted, and missing with its reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from voirdire.engine.ask import Asker
from voirdire.engine.plan import Call
from voirdire.errors import DataError
from voirdire.mining.base_tree import BaseTree, CannotShow
from voirdire.mining.checklists import (
    ChecklistFile,
    Generator,
    Invalid,
    TaskChecklist,
    check_evidence,
)
from voirdire.mining.exploration import Exploration, Limits, Refusal, Step, tokens_of
from voirdire.mining.git import Mirror
from voirdire.mining.tasks import MinedTask
from voirdire.model import Identity, Item, Judge, Verdict
from voirdire.studies._checklist_prompts import asking_at, parts_of

MADE_UP_ANSWER = 400
"""Bytes of an answer that was not given yet, in a plan."""

NOT_ASKED = "not asked"
"""How the reason of a call begins that was not made: such an exploration goes on in the next run."""


@dataclass(frozen=True)
class Assignment:
    """What is to be explored: a task's id, its brief, and the repository at its base commit."""

    task: str
    brief: str
    tree: BaseTree


@dataclass
class Course:
    """One task's explorations: `tries` of them at most, each after the one before was refused."""

    assignment: Assignment
    tries: list[Exploration]

    @property
    def current(self) -> Exploration:
        """The last one."""
        return self.tries[-1]


@dataclass(frozen=True)
class Explored:
    """What came of it: a checklist or a reason for every task, the refusals by reason, and every step."""

    checklists: tuple[TaskChecklist, ...]
    refusals: Mapping[str, int]
    steps: tuple[Mapping[str, object], ...]
    unfinished: int = 0

    @property
    def written(self) -> int:
        """How many checklists there are."""
        return sum(one.missing_because is None for one in self.checklists)


def assignments(tasks: Iterable[MinedTask], mirror: Mirror) -> list[Assignment]:
    """Return what is to be explored. Only the base commit of each task can be reached."""
    return [Assignment(task.id, task.brief, BaseTree(mirror, task.base)) for task in tasks]


def generator_of(judge: Judge, limits: Limits, tries: int) -> Generator:
    """Return who writes: model and endpoint, what it is told, its tools and its limits, as one fingerprint."""
    fields: dict[str, object] = {
        **judge.reasking(asking_at(0)).identity.fields,
        "limits": limits.as_data(),
        "tries": tries,
    }
    identity = Identity(judge.identity.name, fields)
    settings = {
        "backend": fields["backend"],
        "messages": fields["messages"],
        "limits": limits.as_data(),
        "tries": tries,
    }
    return Generator(identity.name, identity.fingerprint, settings)


@dataclass
class Explorer:
    """A judge that explores. `tries`: explorations of one task at most, a further one after a refusal.

    One that promises the same answer to the same request has one try: the second would be the first.
    """

    judge: Judge
    limits: Limits = field(default_factory=Limits)
    tries: int = 1
    _asked: dict[int, Judge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.judge.deterministic:
            self.tries = 1

    def course(self, assignment: Assignment) -> Course:
        """Return a task's explorations, not begun yet."""
        return Course(assignment, [self._exploration(assignment)])

    def call(self, course: Course) -> Call:
        """Return the next call of a course."""
        turns = course.current.turns
        return self.call_at(course.assignment, turns, len(course.tries) - 1)

    def take(self, course: Course, verdict: Verdict) -> bool:
        """Take the answer to a course's call; False where there was none to take because the run was stopped."""
        reason = verdict.missing_because or ""
        if reason.startswith(NOT_ASKED):
            return False
        current, usage = course.current, verdict.usage
        if not verdict.raw:
            current.give_up(reason or "it is empty")
        else:
            known = usage.input_tokens is not None and usage.output_tokens is not None
            counted = (usage.input_tokens or 0) + (usage.output_tokens or 0) if known else None
            shown = "".join(text for turn in current.turns for text in turn)
            tokens = tokens_of(verdict.raw, shown, counted)
            if verdict.value is None:
                current.misread(verdict.raw, reason, tokens=tokens)
            else:
                current.take(verdict.raw, tokens=tokens)
        if course.current.refused and len(course.tries) < self.tries:
            course.tries.append(self._exploration(course.assignment))
        return True

    def made_up(self, course: Course) -> list[Call]:
        """Return the calls that a course may still take, with made-up answers in the place of those to come."""
        turns = list(course.current.turns)
        shown = "x" * (self.limits.bytes // max(1, self.limits.steps))
        calls = []
        for later in range(len(course.tries) - 1, self.tries):
            for _ in range(len(turns), self.limits.steps + 1):
                calls.append(self.call_at(course.assignment, turns, later))
                turns.append(("y" * MADE_UP_ANSWER, shown))
            turns = []
        return calls

    def _exploration(self, assignment: Assignment) -> Exploration:
        return Exploration(assignment.task, assignment.tree, self.limits)

    def call_at(self, assignment: Assignment, turns: Sequence[tuple[str, str]], number: int) -> Call:
        """Return the call after some turns; `number`: which of the tries it belongs to."""
        judge = self._asked.get(len(turns))
        if judge is None:
            judge = self._asked[len(turns)] = self.judge.reasking(asking_at(len(turns)))
        parts = parts_of(assignment.brief, _top(assignment.tree), turns)
        return Call(judge, judge.render(Item(assignment.task, parts)), number)


def _top(tree: BaseTree) -> str:
    try:
        return "\n".join(tree.listed(""))
    except CannotShow as why:
        return f"({why})"


async def known(explorer: Explorer, works: Sequence[Assignment], asker: Asker) -> list[Course]:
    """Return the courses as far as the ledger knows them. Asks nobody."""
    courses = [explorer.course(one) for one in works]
    for course in courses:
        while course.current.done is None:
            call = explorer.call(course)
            if not asker.forecast([call]).cached:
                break
            ((verdict,),) = await asker.ask([call])
            explorer.take(course, verdict)
    return courses


def planned(explorer: Explorer, courses: Sequence[Course]) -> list[Call]:
    """Return every call that finishing the courses may take, those that the ledger answered included."""
    calls = []
    for course in courses:
        for number, one in enumerate(course.tries):
            calls += [
                explorer.call_at(course.assignment, one.turns[:turn], number)
                for turn in range(len(one.turns) + (one.done is not None))
            ]
        if course.current.done is None:
            calls += explorer.made_up(course)
    return calls


async def explore(explorer: Explorer, courses: Sequence[Course], asker: Asker) -> Explored:
    """Go on with every course to its end, all of them side by side, and return what came of them."""
    going = [course for course in courses if course.current.done is None]
    while going:
        answers = await asker.ask([explorer.call(course) for course in going])
        taken = [explorer.take(course, verdicts[0]) for course, verdicts in zip(going, answers, strict=True)]
        going = [
            course
            for course, went_on in zip(going, taken, strict=True)
            if went_on and course.current.done is None
        ]
    return _explored(courses)


def _explored(courses: Sequence[Course]) -> Explored:
    refusals: dict[str, int] = {}
    for course in courses:
        for one in course.tries:
            if one.refused is not None:
                refusals[one.refused.value] = refusals.get(one.refused.value, 0) + 1
    ended = [course.current.done for course in courses if course.current.done is not None]
    return Explored(
        checklists=tuple(ended),
        refusals={why.value: refusals[why.value] for why in Refusal if why.value in refusals},
        steps=tuple(_rows(courses)),
        unfinished=len(courses) - len(ended),
    )


def _rows(courses: Sequence[Course]) -> Iterable[Mapping[str, object]]:
    for course in courses:
        for number, one in enumerate(course.tries):
            for step in one.steps:
                yield _row(course.assignment.task, number, step)


def _row(task: str, attempt: int, step: Step) -> Mapping[str, object]:
    return {
        "task": task,
        "try": attempt,
        "step": step.number,
        "tool": step.tool,
        "arguments": dict(step.asked),
        "bytes_shown": step.shown,
        "tokens": step.tokens,
        "fault": step.fault,
    }


def check_given(given: ChecklistFile, works: Sequence[Assignment]) -> None:
    """Raise DataError where a checklist that was given is of no such task, or its evidence does not stand there."""
    trees = {one.task: one.tree for one in works}
    for one in given.written:
        tree = trees.get(one.task)
        if tree is None:
            raise DataError(
                f"there is a checklist of the task '{one.task}', but no such task",
                hint="name tasks as the task file does",
            )
        try:
            check_evidence(one.items, tree, wanted=False)
        except Invalid as why:
            raise DataError(
                f"task '{one.task}': {why}", hint="quote the base commit exactly, or leave the evidence out"
            ) from None
