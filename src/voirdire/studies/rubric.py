"""The rubric study: patches of several harnesses judged by checklist, plainly, or with test output, blind to who wrote them.

What does not apply to its base commit is named and never judged. Every score comes with what was known of the tests, in the
columns that a halo audit reads; the verdict on each item of a checklist is kept beside it.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from voirdire.edits.patch import PatchFaultKind, parse
from voirdire.edits.patch_apply import apply
from voirdire.engine.ask import Asker
from voirdire.engine.plan import Call
from voirdire.errors import DataError
from voirdire.mining.attempts import Attempt, AttemptStatus
from voirdire.mining.base_tree import BaseTree
from voirdire.mining.checklists import ChecklistFile, ItemKind, TaskChecklist
from voirdire.mining.git import Mirror
from voirdire.mining.outcomes import Outcome
from voirdire.mining.tasks import MinedTask
from voirdire.model import Item, Judge, Origin, TruthStatus, Verdict
from voirdire.studies._rubric_judge import (
    CHECKLIST,
    ChecklistJudge,
    Method,
    bounds,
    share_of,
    with_checklist,
)

NO_CHANGE = "(no change)"
"""What is shown for a patch that changes nothing."""

NO_OUTPUT = "there is no test output of it"

Row = Mapping[str, object]


@dataclass(frozen=True)
class Judged:
    """One patch to be judged: the item as the judges see it, and why it is not to be judged (None: it is).

    `status`: what is known of running it; None: nothing.
    """

    item: Item
    attempt: Attempt
    status: TruthStatus | None
    outcome: Outcome | None
    not_judged: str | None = None


@dataclass(frozen=True)
class Scored:
    """What came of scoring: rows for a halo audit, one row per item of a checklist, and the counts."""

    rows: tuple[Row, ...]
    items: tuple[Row, ...]
    not_applied: Mapping[str, str] = field(default_factory=dict)


def patches(
    tasks: Iterable[MinedTask],
    attempts: Iterable[Attempt],
    mirror: Mirror,
    outcomes: Mapping[str, Outcome],
) -> list[Judged]:
    """Return every attempt with its item. Raises DataError for an attempt or an outcome of which there is no task.

    An attempt that applies nowhere, was broken on our side or was too large is there, with why it is not judged.
    """
    by_id = {task.id: task for task in tasks}
    found = []
    for attempt in attempts:
        task = by_id.get(attempt.task)
        if task is None:
            raise DataError(
                f"the attempt '{attempt.key}' is at a task that is not in the task file",
                hint="give the task file that the harnesses were run on",
            )
        found.append(_judged(task, attempt, mirror, outcomes.get(attempt.key)))
    strange = sorted(outcomes.keys() - {one.attempt.key for one in found})
    if strange:
        raise DataError(
            f"{len(strange):,} outcomes are of no attempt, such as '{strange[0]}'", hint="join them by `key`"
        )
    return found


def _judged(task: MinedTask, attempt: Attempt, mirror: Mirror, outcome: Outcome | None) -> Judged:
    parts = {"brief": task.brief, "patch": attempt.diff or NO_CHANGE}
    if outcome is not None and outcome.output is not None:
        parts["test_output"] = outcome.output
    origin = Origin(task.id, author=attempt.model, harness=attempt.harness, sample=attempt.sample)
    item = Item(blind_id(attempt), parts, origin)
    status = outcome.status if outcome else None
    if attempt.status in (AttemptStatus.INFRASTRUCTURE, AttemptStatus.TOO_LARGE):
        broken = attempt.status is AttemptStatus.INFRASTRUCTURE
        return Judged(
            item,
            attempt,
            TruthStatus.INFRASTRUCTURE if broken else status,
            outcome,
            f"{attempt.status.value}: {attempt.fault or 'its change is not kept'}",
        )
    why = why_not_applied(attempt.diff, BaseTree(mirror, attempt.base), attempt.encoding)
    if why is None:
        return Judged(item, attempt, status, outcome)
    if status is TruthStatus.PASSED:
        raise DataError(
            f"the attempt '{attempt.key}' passed its tests, but does not apply to its base: {why}",
            hint="one of the two is of another commit",
        )
    return Judged(item, attempt, TruthStatus.NOT_APPLIED, outcome, f"not_applied: {why}")


def blind_id(attempt: Attempt) -> str:
    """Return an id that does not say whose attempt it is: some judges are handed the id of what they judge."""
    return f"{attempt.task}#{hashlib.sha256(attempt.key.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def why_not_applied(diff: str, tree: BaseTree, encoding: str = "utf-8") -> str | None:
    """Return why a patch does not apply to a commit, or None where it does. Contents of binary files are not looked at."""
    patch = parse(diff)
    names = {name for file in patch.files for name in (file.old, file.new) if name is not None}
    there = {name: raw for name in names if (raw := tree.bytes_of(name)) is not None}
    base = {name: raw.decode(encoding, "surrogateescape") for name, raw in there.items()}
    faults = [fault for fault in apply(patch, base).faults if fault.kind is not PatchFaultKind.BINARY]
    return str(faults[0]) if faults else None


@dataclass(frozen=True)
class Panel:
    """The judges of one run, by method, and the checklists that one of them needs."""

    judges: Mapping[Method, Judge]
    checklists: ChecklistFile | None = None

    def calls(self, judged: Sequence[Judged], repeats: int = 1) -> dict[tuple[Method, str, int], Call]:
        """Return every call, by method, item and repeat."""
        return {
            (method, one.item.id, repeat): Call(judge, request, repeat)
            for method, judge in self.judges.items()
            for one in judged
            if self.why_not(method, one) is None
            for request in (judge.render(self.item(method, one.item)),)
            for repeat in range(repeats)
        }

    def item(self, method: Method, item: Item) -> Item:
        """Return the item with what this method shows, and nothing else: no reference, no origin."""
        task = item.origin.task if item.origin else None
        if method is Method.CHECKLIST:
            item = with_checklist(item, self.checklist_of(task))
        return Item(item.id, {name: item[name] for name in method.parts})

    def why_not(self, method: Method, one: Judged) -> str | None:
        """Return why a patch is not judged by a method; None: it is."""
        if one.not_judged is not None:
            return one.not_judged
        if method is Method.TESTS and "test_output" not in one.item.parts:
            return NO_OUTPUT
        if method is Method.CHECKLIST:
            missing = self.checklist_of(one.attempt.task).missing_because
            return f"no checklist: {missing}" if missing else None
        return None

    def checklist_of(self, task: str | None) -> TaskChecklist:
        """Return the checklist of a task, or that there is none."""
        known = self.checklists.checklists if self.checklists else {}
        return known.get(task or "") or TaskChecklist(task or "", "", missing_because="the file has none")


async def score(panel: Panel, judged: Sequence[Judged], asker: Asker) -> Scored:
    """Ask every judge about every patch that can be judged."""
    calls = panel.calls(judged)
    answers = dict(zip(calls, await asker.ask(list(calls.values())), strict=True))
    rows: list[Row] = []
    items: list[Row] = []
    for method, judge in panel.judges.items():
        for one in judged:
            said = answers.get((method, one.item.id, 0))
            why = panel.why_not(method, one)
            checklist = panel.checklist_of(one.attempt.task) if method is Method.CHECKLIST else None
            rows.append(_row(judge, one, said, why, checklist))
            if said is not None and checklist is not None:
                items += _item_rows(judge, one, said, checklist)
    not_applied = {
        one.attempt.key: one.not_judged.removeprefix("not_applied: ")
        for one in judged
        if one.status is TruthStatus.NOT_APPLIED and one.not_judged
    }
    return Scored(tuple(rows), tuple(items), not_applied)


def _row(
    judge: Judge,
    one: Judged,
    said: Sequence[Verdict] | None,
    why: str | None,
    checklist: TaskChecklist | None,
) -> Row:
    """Return one row of the table that a halo audit reads."""
    verdict = said[-1] if said else None
    value = (
        None
        if verdict is None
        else share_of(verdict, judge.asking.questions[0])
        if verdict.question_id != CHECKLIST
        else verdict.value
    )
    low, high = (None, None)
    if said is not None and checklist is not None:
        low, high = bounds(said[:-1], [item.weight for item in checklist.items])
    attempt, outcome = one.attempt, one.outcome
    row: dict[str, object] = {
        "item": attempt.key,
        "task": attempt.task,
        "harness": attempt.harness,
        "sample": attempt.sample,
        "judge": judge.identity.name,
        "score": value,
        "score_low": low,
        "score_high": high,
        "missing_because": None if value is not None else (verdict.missing_because if verdict else why),
        "patch": attempt.diff,
    }
    if attempt.model is not None:
        row["model"] = attempt.model
    if one.status is not None:
        row |= {"status": one.status.value}
    if outcome is not None:
        counts = ("f2p_passed", "f2p_total", "p2p_passed", "p2p_total")
        row |= {name: value for name in counts if (value := getattr(outcome, name)) is not None}
    return row


def _item_rows(judge: Judge, one: Judged, said: Sequence[Verdict], checklist: TaskChecklist) -> Iterable[Row]:
    asked = (
        judge.order(one.item, [item.id for item in checklist.items])
        if isinstance(judge, ChecklistJudge)
        else []
    )
    for item, verdict in zip(checklist.items, said[:-1], strict=True):
        yield {
            "item": one.attempt.key,
            "task": one.attempt.task,
            "judge": judge.identity.name,
            "checklist_item": item.id,
            "kind": item.kind.value,
            "scope": item.kind is ItemKind.SCOPE,
            "weight": item.weight,
            "asked_as": asked.index(item.id) + 1 if asked else None,
            "value": verdict.value,
            "missing_because": verdict.missing_because,
        }
