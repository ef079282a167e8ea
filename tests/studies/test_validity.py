"""The validity suite: planted checklist judges are told apart, its patches are what they say, and `check` sees the writer."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mining._history import History, lines, mined
from voirdire.edits.patch import parse
from voirdire.edits.patch_apply import apply
from voirdire.engine.ask import Asker
from voirdire.engine.budget import Budget
from voirdire.engine.ledger import Ledger
from voirdire.engine.pace import AdaptivePace
from voirdire.engine.progress import NoProgress
from voirdire.errors import SelfCheckError
from voirdire.judges.planted import planted_judge
from voirdire.mining.base_tree import BaseTree
from voirdire.mining.git import mirror_of
from voirdire.model import Examination, Finding, Ruling
from voirdire.report.baseline_file import baseline_of
from voirdire.report.scorer import Kind
from voirdire.studies._rubric_judge import Method
from voirdire.studies._validity_material import Arm, suite
from voirdire.studies._validity_measures import ArmScore, AttemptScore, Scores, measured, pooled_auc
from voirdire.studies.check import Verdict, check_examination, check_identity
from voirdire.studies.rubric import Judged, Panel
from voirdire.studies.validity import (
    PLANTED,
    examine_validity,
    planted_checklist_judge,
    planted_findings,
    self_check,
    synthetic,
    told_as,
)


def findings_of(name: str) -> dict[str, Finding]:
    of, checklists = synthetic()
    judge = planted_checklist_judge(name, of, checklists.generator, planted_judge)
    found = asyncio.run(planted_findings(judge, of, checklists))
    assert told_as(found) == name
    return {one.name: one for one in found}


def test_a_valid_judge_is_cleared_of_everything() -> None:
    found = findings_of("valid")
    assert {one.ruling for one in found.values()} == {Ruling.HOLDS}
    assert len(found) == 7
    solve_rate = found["rubric_solve_rate"].estimate
    assert solve_rate is not None
    assert solve_rate.low is not None
    assert solve_rate.low > 0.5


def test_a_judge_that_sees_nothing_is_not_cleared_by_high_scores() -> None:
    found = findings_of("blind")
    assert found["rubric_reference"].ruling is Ruling.HOLDS
    assert {found[f"rubric_{arm}"].ruling for arm in ("empty", "no_op", "unrelated", "passed")} == {
        Ruling.LEAKS
    }
    assert found["rubric_repeats"].ruling is Ruling.BLIND
    assert found["rubric_solve_rate"].ruling is Ruling.UNRESOLVED


def test_a_random_judge_holds_nothing() -> None:
    found = findings_of("random")
    assert Ruling.HOLDS not in {one.ruling for one in found.values()}
    assert found["rubric_repeats"].ruling is Ruling.LEAKS


def test_an_instrument_that_misreads_a_planted_judge_concludes_nothing() -> None:
    def all_alike(name: str, *given: object, **more: object) -> object:
        return planted_judge(name, given[0], lambda *_: 0.7, seed=0)  # type: ignore[arg-type]

    with pytest.raises(SelfCheckError, match="'valid' was read as 'blind'"):
        asyncio.run(self_check(all_alike))  # type: ignore[arg-type]
    assert len(asyncio.run(self_check(planted_judge))) == len(PLANTED)


# --- its patches ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Judged], dict[str, BaseTree]]]:
    history = History(tmp_path_factory.mktemp("validity") / "repo")
    history.commit("Begin", {"src/a.py": lines(5), "notes.md": b"notes"})
    history.commit("Add a module for what comes next", {"src/b.go": lines(5)})
    history.commit("Change the first module to be better", {"src/a.py": lines(9)})
    history.commit("Write down what there is to know", {"notes.md": b"notes\nmore\nand more\nand more"})
    tasks = mined(history.made()).tasks
    with mirror_of(history.folder) as mirror:
        yield suite(tasks, mirror), {task.id: BaseTree(mirror, task.base) for task in tasks}


def test_every_task_has_four_patches(made: tuple[list[Judged], dict[str, BaseTree]]) -> None:
    arms, _ = made
    assert [one.attempt.harness for one in arms] == [arm.value for arm in Arm] * 3
    assert all(one.not_judged is None for one in arms)
    assert all("reference" not in one.item.id for one in arms)
    assert len({one.item.id for one in arms}) == 12


def test_a_no_op_applies_and_changes_no_code(made: tuple[list[Judged], dict[str, BaseTree]]) -> None:
    arms, trees = made
    for one in arms:
        if one.attempt.harness != Arm.NO_OP.value:
            continue
        patch = parse(one.attempt.diff)
        (file,) = patch.files
        after = apply(patch, {file.path: trees[one.attempt.task].text(file.path)}).files
        assert after is not None
        before = trees[one.attempt.task].text(file.path)
        assert after[file.path].removesuffix("# Looked at.\n").rstrip("\n") == before.rstrip("\n")
        assert after[file.path] != before


def test_an_unrelated_patch_is_what_was_merged_for_another_task(
    made: tuple[list[Judged], dict[str, BaseTree]],
) -> None:
    arms, _ = made
    reference = {one.attempt.task: one.attempt.diff for one in arms if one.attempt.harness == "reference"}
    for one in arms:
        if one.attempt.harness == "unrelated":
            assert one.attempt.diff in reference.values()
            assert one.attempt.diff != reference[one.attempt.task]


# --- numbers ----------------------------------------------------------------------------------------------


def test_missing_scores_are_counted_by_arm_and_bound_the_estimate() -> None:
    arms = [
        ArmScore(
            f"t{k}",
            arm,
            ((0.9 if arm is Arm.REFERENCE else 0.1) if k or arm is not Arm.EMPTY else None, None),
        )
        for k in range(10)
        for arm in Arm
    ]
    by_name = {one.probe: one for one in measured(Scores(arms, []))}
    empty = by_name["rubric_empty"].estimate
    assert empty.missing == {"empty": 1, "reference": 0}
    assert empty.n == 9
    assert empty.bounds == pytest.approx((-0.82, -0.62))
    assert by_name["rubric_repeats"].estimate.value is None
    assert "rubric_passed" not in by_name


def test_the_chance_is_taken_within_tasks_and_over_all() -> None:
    attempts = [
        AttemptScore(f"t{k}", f"s{j}", passed, score)
        for k in range(9)
        for j, (passed, score) in enumerate(
            [(True, 0.5 + k / 20), (False, 0.4 + k / 20), (False, 0.5 + k / 20)]
        )
    ]
    by_name = {one.probe: one for one in measured(Scores([], attempts))}
    within = by_name["rubric_passed"].estimate
    assert within.value == pytest.approx(0.75)
    assert within.n == 9
    pooled = pooled_auc(Scores([], attempts))
    assert pooled.value is not None
    assert 0.55 < pooled.value < 0.65
    assert pooled.low is not None


# --- the gate ---------------------------------------------------------------------------------------------


def examined(folder: Path, writer: str) -> tuple[Examination, Panel]:
    of, checklists = synthetic()
    generator = replace(checklists.generator, fingerprint=writer * 64)
    judge = planted_checklist_judge("valid", of, generator, planted_judge)
    panel = Panel({Method.CHECKLIST: judge}, replace(checklists, generator=generator))

    async def run() -> Examination:
        with Ledger(folder / "ledger.sqlite") as ledger:
            pace = AdaptivePace(concurrency=8, timeout=10)
            asker = Asker(ledger=ledger, pace=pace, budget=Budget(), progress=NoProgress())
            return await examine_validity(panel, of, asker, planted=planted_judge)

    return asyncio.run(run()), panel


def test_check_fails_where_the_writer_of_the_checklists_changed(tmp_path: Path) -> None:
    before, _ = examined(tmp_path, "a")
    baseline = baseline_of(before)
    same = check_identity(baseline, before.judges[0])
    assert same.verdict is Verdict.PASSED
    _, changed = examined(tmp_path, "b")
    now = changed.judges[Method.CHECKLIST].identity
    gate = check_identity(baseline, now)
    assert gate.verdict is Verdict.FAILED
    assert [one.kind for one in gate.changed] == [Kind.RUBRIC_GENERATOR]
    assert gate.failures == ("the scorer changed (rubric generator) and was not examined again",)
    assert check_examination(baseline, before, now).verdict is Verdict.FAILED


def test_check_passes_once_the_suite_was_asked_again_and_is_no_worse(tmp_path: Path) -> None:
    before, _ = examined(tmp_path, "a")
    after, _ = examined(tmp_path, "b")
    gate = check_examination(baseline_of(before), after)
    assert [one.kind for one in gate.changed] == [Kind.RUBRIC_GENERATOR]
    assert gate.failures == ()
    assert gate.comparisons
