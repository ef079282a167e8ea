"""What the commands that judge patches share: which judges are opened, and the patches they are shown."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.cli._options import Form
    from voirdire.cli._run import Session
    from voirdire.mining.git import Mirror
    from voirdire.mining.tasks import MinedTask
    from voirdire.model import Asking, Judge
    from voirdire.studies.rubric import Judged, Panel


class By(StrEnum):
    """How a patch is judged, as on the command line."""

    CHECKLIST = "checklist"
    PLAIN = "plain"
    TESTS = "tests"


JudgeAddress = Annotated[
    str,
    typer.Option("--judge", "-j", metavar="JUDGE", help="Who judges: an address or a judge file."),
]
Methods = Annotated[
    list[By] | None,
    typer.Option(
        "--by",
        help="By checklist (default), plainly from 0 to 10, or plainly with the tests' output; repeat for several.",
    ),
]
ChecklistsFile = Annotated[
    Path | None,
    typer.Option("--checklists", metavar="FILE", help="What `voirdire mine checklists` wrote."),
]
OutcomesFile = Annotated[
    Path | None,
    typer.Option(
        "--outcomes", metavar="FILE", help="What came of running the tests on the attempts, by their key."
    ),
]
Repo = Annotated[
    Path,
    typer.Option(
        "--repo", metavar="REPO", help="Where the tasks come from; default: this folder.", show_default=False
    ),
]


def panel_of(
    run: Session,
    address: str,
    methods: Sequence[By] | None,
    checklists: Path | None,
    *,
    form: Form | None,
    seed: int,
) -> Panel:
    """Open the judge once and return it as each of the judges asked for. UsageError where they lack what they need."""
    from voirdire.judges import read_spec
    from voirdire.mining.checklists import read_checklists
    from voirdire.studies._rubric_judge import Method
    from voirdire.studies.rubric import Panel

    chosen = [Method(by.value) for by in dict.fromkeys(methods or [By.CHECKLIST])]
    file = read_checklists(checklists) if checklists is not None else None
    if Method.CHECKLIST in chosen and file is None:
        raise UsageError(
            "judging by checklist needs checklists",
            hint="name them with --checklists (`voirdire mine checklists` writes them), or judge --by plain",
        )
    if Method.CHECKLIST in chosen and read_spec(address).asking is not None:
        raise UsageError(
            f"'{address}' brings its own prompt, and by checklist a judge is asked the checklist",
            hint="leave [prompt] and [[question]] out of the judge file, or judge --by plain",
        )
    judge = run.open(address, lambda backend: _plain(backend, form))
    made = {method: _judge(judge, method, address, file, form, seed) for method in chosen}
    return Panel(made, file)


def _plain(backend: str, form: Form | None) -> Asking:
    from voirdire.engine.forms import Form as EngineForm
    from voirdire.engine.forms import default_form
    from voirdire.studies._rubric_judge import Method, plain_asking

    return plain_asking(Method.PLAIN, EngineForm(form.value) if form else default_form(backend))


def _judge(judge: Judge, method: object, address: str, file: object, form: Form | None, seed: int) -> Judge:
    from voirdire.engine.forms import Form as EngineForm
    from voirdire.judges import read_spec
    from voirdire.mining.checklists import ChecklistFile
    from voirdire.studies._rubric_judge import ChecklistJudge, Method, form_for, plain_judge

    assert isinstance(method, Method)
    if method is not Method.CHECKLIST:
        return plain_judge(judge, method)
    assert isinstance(file, ChecklistFile)
    chosen = EngineForm(form.value) if form else form_for(read_spec(address).backend)
    return ChecklistJudge(judge, chosen, file.generator, seed)


def attempts_of(
    path: Path, tasks: Sequence[MinedTask], outcomes: Path | None, mirror: Mirror, *, some: bool = False
) -> list[Judged]:
    """Return the attempts of a file, with what came of their tests.

    `some`: the tasks are only some of those that were run; attempts at others are left out.
    """
    from voirdire.mining.attempts import read_attempts
    from voirdire.mining.outcomes import read_outcomes
    from voirdire.studies.rubric import patches

    known = read_outcomes(outcomes) if outcomes is not None else {}
    attempts = list(read_attempts(path))
    if some:
        ids = {task.id for task in tasks}
        others = {one.key for one in attempts if one.task not in ids}
        attempts = [one for one in attempts if one.key not in others]
        known = {key: one for key, one in known.items() if key not in others}
    return patches(tasks, attempts, mirror, known)
