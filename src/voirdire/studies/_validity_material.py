"""Patches that a valid rubric judge must tell apart: what was merged, nothing, nothing that counts, and another task's."""

from collections.abc import Sequence
from enum import StrEnum

from voirdire.edits.patch_make import diff
from voirdire.mining.attempts import Attempt, AttemptStatus
from voirdire.mining.base_tree import BaseTree, CannotShow
from voirdire.mining.git import Mirror
from voirdire.mining.tasks import MinedTask
from voirdire.model import Item, Origin
from voirdire.studies.rubric import NO_CHANGE, Judged, blind_id, why_not_applied


class Arm(StrEnum):
    """What a patch of the suite is."""

    REFERENCE = "reference"
    EMPTY = "empty"
    NO_OP = "no-op"
    UNRELATED = "unrelated"


_COMMENTS = {
    **dict.fromkeys(("py", "sh", "rb", "toml", "yml", "yaml", "cfg", "r", "pl"), "#"),
    **dict.fromkeys(
        ("js", "jsx", "ts", "tsx", "go", "c", "h", "cc", "cpp", "java", "rs", "php", "swift"), "//"
    ),
}
"""How a line of comment begins, by the ending of a file's name; other files get an empty line."""

REMARK = "Looked at."

NO_FILE = "the base commit holds no file of text to change nothing in"
NO_OTHER = "no other task has a reference that differs"


def suite(tasks: Sequence[MinedTask], mirror: Mirror) -> list[Judged]:
    """Return the four patches of every task; one that cannot be made is there with the reason why it is not judged."""
    found = []
    for place, task in enumerate(tasks):
        tree = BaseTree(mirror, task.base)
        reference = task.reference.diff
        found += [
            _one(task, Arm.REFERENCE, reference, why_not_applied(reference, tree)),
            _one(task, Arm.EMPTY, "", None),
            _no_op(task, tree),
            _unrelated(tasks, place),
        ]
    return found


def _one(task: MinedTask, arm: Arm, patch: str, not_judged: str | None) -> Judged:
    return made_up(task.id, arm.value, patch, base=task.base, brief=task.brief, not_judged=not_judged)


def made_up(
    task: str, by: str, patch: str, *, base: str = "", brief: str = "", not_judged: str | None = None
) -> Judged:
    """Return a patch that no harness made; `by` stands in the place of the harness."""
    attempt = Attempt(
        task=task,
        base=base,
        harness=by,
        sample=0,
        command=(),
        model=None,
        cost=None,
        input_tokens=None,
        output_tokens=None,
        began="",
        seconds=0.0,
        status=AttemptStatus.FINISHED,
        diff=patch,
    )
    parts = {"brief": brief or task, "patch": patch or NO_CHANGE}
    return Judged(Item(blind_id(attempt), parts, Origin(task, harness=by)), attempt, None, None, not_judged)


def _no_op(task: MinedTask, tree: BaseTree) -> Judged:
    """Return a patch that adds a comment, or an empty line, to the end of the first file that the reference changes."""
    changed = [file.before or file.path for file in task.files if not file.test]
    for name in (*changed, *tree.entries):
        try:
            text = tree.text(name)
        except CannotShow:
            continue
        if text:
            return _one(task, Arm.NO_OP, diff({name: text}, {name: _remarked(name, text)}), None)
    return _one(task, Arm.NO_OP, "", NO_FILE)


def _remarked(name: str, text: str) -> str:
    mark = _COMMENTS.get(name.rpartition(".")[2].lower())
    end = "" if text.endswith("\n") else "\n"
    return f"{text}{end}{mark} {REMARK}\n" if mark else f"{text}{end}\n"


def _unrelated(tasks: Sequence[MinedTask], place: int) -> Judged:
    """Return the reference of the next task whose reference is another one, as a patch for this task.

    It need not apply here: the judge is asked whether it does this task, which it does not.
    """
    task = tasks[place]
    others = (tasks[(place + step) % len(tasks)] for step in range(1, len(tasks)))
    for other in others:
        if other.reference.diff != task.reference.diff:
            return _one(task, Arm.UNRELATED, other.reference.diff, None)
    return _one(task, Arm.UNRELATED, "", NO_OTHER)
