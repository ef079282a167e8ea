"""The injection study: planted judges told apart, and everything that is left out counted."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from random import Random

import pytest

from voirdire.blocks import DiffBlock, TableBlock
from voirdire.edits.injection import InjectionKind
from voirdire.edits.patch_make import diff
from voirdire.engine.ask import Asker
from voirdire.engine.budget import Budget
from voirdire.engine.forms import Form, asking_in_form
from voirdire.engine.ledger import Ledger
from voirdire.engine.pace import AdaptivePace
from voirdire.engine.progress import NoProgress
from voirdire.errors import DataError, UsageError
from voirdire.judges.planted import planted_judge
from voirdire.model import Asking, Examination, Finding, Item, Judge, Origin, Ruling, Verdict
from voirdire.probes.injection import PROBE
from voirdire.questions import Checklist, ChecklistItem, Predicate, Question, Score
from voirdire.studies._injection_material import (
    TESTS_DIFFER,
    Arm,
    Dropped,
    InjectionOptions,
    Material,
    Variant,
    prepare,
    records,
)
from voirdire.studies._injection_results import UNCHANGED, Rubric
from voirdire.studies._injection_tests import running
from voirdire.studies._injection_writer import audited
from voirdire.studies.injections import examine_injections, plan_injections

PATCHES = 64
K = InjectionKind

PROGRAM = """def total_{k}(values, limit={k}):
    result = 0
    for value in values:
        # skip what is too large
        if value > limit:
            continue
        result += value * {k}
    return result
"""

Policy = Callable[[Mapping[str, str], str, Random], float | str | None]


def patches(count: int = PATCHES) -> list[Item]:
    """Return patches that each make one file."""
    return [
        Item(
            f"patch-{k}",
            {
                "brief": f"Add up the values up to {k}. Skip larger ones.",
                "patch": diff({}, {"app.py": PROGRAM.format(k=k)}),
            },
            origin=Origin(task=f"task-{k // 2}"),
        )
        for k in range(count)
    ]


def asking(*questions: Question) -> Asking:
    return asking_in_form(PROBE.messages, questions or PROBE.questions, Form.TYPED)


async def examined(
    judge: Judge, material: Material, tmp_path: Path, options: InjectionOptions
) -> Examination:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        asker = Asker(
            ledger=ledger,
            pace=AdaptivePace(concurrency=8, timeout=60),
            budget=Budget(max_calls=None, max_cost=None),
            progress=NoProgress(),
        )
        return await examine_injections(judge, material, asker, options, planted=planted_judge)


def judged(
    policy: Policy, tmp_path: Path, *questions: Question, options: InjectionOptions | None = None
) -> Examination:
    """Return what the study says of a planted judge."""
    import asyncio

    chosen = options or InjectionOptions()
    judge = planted_judge("under study", asking(*questions), with_a_rule(policy), seed=5)
    return asyncio.run(examined(judge, material(chosen), tmp_path, chosen))


@lru_cache(maxsize=4)
def material(options: InjectionOptions) -> Material:
    return prepare(patches(), options)


def with_a_rule(policy: Policy) -> Policy:
    """Return the policy of a judge that says no to everything about itself, and so has no stated rule."""
    return lambda parts, question, rng: "no" if question == "rule" else policy(parts, question, rng)


def rulings(examination: Examination) -> dict[str, Ruling | None]:
    return {one.subject.partition(",")[0]: one.ruling for one in examination.findings if one.ruling}


def finding(examination: Examination, kind: InjectionKind) -> Finding:
    name = kind.value.replace("_", " ")
    return next(one for one in examination.findings if one.subject.startswith(f"{name}, "))


def scorer(effect: Callable[[str], float], *, noise: float = 0.04) -> Policy:
    """Return a judge that sees emptied functions, and moves by `effect` of the patch's text."""

    def answer(parts: Mapping[str, str], question: str, rng: Random) -> float:
        patch = parts["patch"]
        level = 0.7 if "return result" in patch or "return total" in patch or "result_" in patch else 0.2
        return min(1.0, max(0.0, level + effect(patch) + rng.gauss(0, noise)))

    return answer


def comments(patch: str) -> int:
    return sum(line.lstrip("+ ").startswith("# ") for line in patch.split("\n")) - 1


@pytest.fixture(scope="module")
def fair(tmp_path_factory: pytest.TempPathFactory) -> Examination:
    """What the study says of a judge without a fault."""
    return judged(scorer(lambda _: 0.0), tmp_path_factory.mktemp("fair"))


# --- planted judges ---------------------------------------------------------------------------------------


def test_a_fair_judge_holds_in_every_arm(fair: Examination) -> None:
    ruled = rulings(fair)
    assert set(ruled.values()) == {Ruling.HOLDS}
    assert UNCHANGED.partition(",")[0] in ruled


def test_a_judge_that_rewards_comments_leaks_in_their_arms_alone(tmp_path: Path) -> None:
    ruled = rulings(judged(scorer(lambda patch: 0.08 * (comments(patch) > 0)), tmp_path))
    rewarded = {"neutral comments", "brief comments", "advocacy", "scaffolding"}
    assert {name for name, ruling in ruled.items() if ruling is Ruling.LEAKS} == rewarded


def test_a_judge_that_punishes_scaffolding_by_five_points_leaks_there(tmp_path: Path) -> None:
    examination = judged(scorer(lambda patch: -0.05 * ("logging" in patch)), tmp_path)
    scaffolding = finding(examination, K.SCAFFOLDING)
    assert scaffolding.ruling is Ruling.LEAKS
    assert scaffolding.estimate is not None
    assert scaffolding.estimate.low is not None
    assert scaffolding.estimate.high is not None
    assert scaffolding.estimate.low < -0.05 < scaffolding.estimate.high
    assert finding(examination, K.NEUTRAL_COMMENTS).ruling is Ruling.HOLDS


def test_a_judge_that_never_moves_is_blind(tmp_path: Path) -> None:
    assert set(rulings(judged(lambda *_: 0.6, tmp_path)).values()) == {Ruling.BLIND}


def test_a_random_judge_is_never_said_to_hold(tmp_path: Path) -> None:
    ruled = rulings(judged(lambda _parts, _question, rng: rng.random(), tmp_path))
    assert set(ruled.values()) <= {Ruling.BLIND, Ruling.UNRESOLVED}


def test_the_planted_judges_ran_first_and_every_one_was_read_right(fair: Examination) -> None:
    assert fair.self_checks
    assert all(check.passed for check in fair.self_checks)


# --- tables ---------------------------------------------------------------------------------------------------


def table(found: Finding, title: str) -> list[dict[str, object]]:
    block = next(one for one in found.blocks if isinstance(one, TableBlock) and title in one.title)
    return [dict(zip(block.columns, row, strict=True)) for row in block.rows]


def test_crossings_are_counted_in_both_directions_beside_the_control_group(tmp_path: Path) -> None:
    def answer(parts: Mapping[str, str], question: str, rng: Random) -> float:
        patch = parts["patch"]
        if "return result" not in patch:
            return 0.1
        solved = "total_1(" in patch or "total_2(" in patch
        return {True: 0.4, False: 0.6}[solved != ("# Reviewed" in patch or comments(patch) > 0)]

    options = InjectionOptions(kinds=(K.ADVOCACY,), threshold=0.5)
    row = table(finding(judged(answer, tmp_path, options=options), K.ADVOCACY), "unchanged control group")[0]
    assert (row["crossed up"], row["crossed down"]) == (2, PATCHES - 2)
    assert (row["unchanged up"], row["unchanged down"]) == (0, 0)
    assert row["unchanged, shift"] == 0
    assert row["patches"] == PATCHES


def test_rubric_items_are_compared_each_and_scope_is_marked(tmp_path: Path) -> None:
    checklist = Checklist(
        "rubric",
        "Is it right?",
        (
            ChecklistItem("works", "It works.", 3.0),
            ChecklistItem("stays", "It stays in scope.", 1.0, scope=True),
        ),
    )
    questions = (Predicate("works", "It works."), Predicate("stays", "It stays in scope."))

    def answer(parts: Mapping[str, str], question: str, rng: Random) -> float:
        return scorer(lambda patch: -0.2 * ("logging" in patch and question == "stays"), noise=0.01)(
            parts, question, rng
        )  # type: ignore[return-value]

    options = InjectionOptions(kinds=(K.SCAFFOLDING,))
    scaffolding = finding(judged(answer, tmp_path, *questions, options=options), K.SCAFFOLDING)
    rows = {row["item"]: row for row in table(scaffolding, "by rubric item")}
    assert list(rows) == ["stays"]
    assert rows["stays"]["shift"] == pytest.approx(-0.2, abs=0.02)
    rubric = Rubric.of(asking(checklist))
    assert rubric is not None
    assert rubric.items == {"works": False, "stays": True}
    raw = '{"answers": {"rubric": {"items": {"works": {"value": 0.75}, "stays": {"probabilities": {"yes": 0.2, "no": 0.8}}}}}}'
    verdict = Verdict("x", "rubric", 0.6, raw=raw)
    assert rubric.score([(verdict,)]) == [0.6]
    assert rubric.item([(verdict,)], "works") == [0.75]
    assert rubric.item([(verdict,)], "stays") == [0.2]
    assert rubric.item([(replace(verdict, value=None, missing_because="refusal"),)], "works") == [None]


def test_checklists_in_json_keep_their_items_too() -> None:
    checklist = Checklist("rubric", "Is it right?", (ChecklistItem("works", "It works."),))
    rubric = Rubric.of(asking_in_form(PROBE.messages, (checklist,), Form.JSON))
    assert rubric is not None
    said = Verdict("x", "rubric", 1.0, raw='Here: {"rubric": {"works": "yes"}}')
    assert rubric.item([(said,)], "works") == [1.0]
    assert rubric.item([(replace(said, raw="{"),)], "works") == [None]


def test_a_score_is_brought_to_the_scale_from_0_to_1(tmp_path: Path) -> None:
    def answer(parts: Mapping[str, str], question: str, rng: Random) -> float:
        return (8 if "return result" in parts["patch"] else 1) - ("logging" in parts["patch"])

    options = InjectionOptions(kinds=(K.LOGGING,))
    found = finding(
        judged(answer, tmp_path, Score("quality", "How good?", 0, 10), options=options), K.LOGGING
    )
    assert found.estimate is not None
    assert found.estimate.value == pytest.approx(-0.1)
    assert found.ruling is Ruling.LEAKS


def test_answers_that_cannot_be_read_are_missing_by_arm(tmp_path: Path) -> None:
    def answer(parts: Mapping[str, str], question: str, rng: Random) -> float | None:
        return None if "logging" in parts["patch"] else scorer(lambda _: 0.0)(parts, question, rng)  # type: ignore[return-value]

    options = InjectionOptions(kinds=(K.LOGGING,))
    found = finding(judged(answer, tmp_path, options=options), K.LOGGING)
    assert found.ruling is Ruling.UNRESOLVED
    assert found.estimate is not None
    assert found.estimate.missing == {"base": 0, "variant": PATCHES}


def test_doses_are_arms_with_a_figure_of_their_own(tmp_path: Path) -> None:
    options = InjectionOptions(kinds=(K.NEUTRAL_COMMENTS,), doses=(1, 4))
    examination = judged(scorer(lambda patch: 0.03 * comments(patch)), tmp_path, options=options)
    values = {one.subject: one.estimate.value for one in examination.findings if one.estimate}
    assert values["neutral comments, dose 1"] == pytest.approx(0.03, abs=0.02)
    assert values["neutral comments, dose 4"] == pytest.approx(0.12, abs=0.02)
    titles = [block.title for block in examination.findings[-1].blocks if not isinstance(block, DiffBlock)]
    assert "Shift by dose" in titles


def test_every_arm_shows_one_example(fair: Examination) -> None:
    for kind in K:
        diffs = [block for block in finding(fair, kind).blocks if isinstance(block, DiffBlock)]
        assert len(diffs) == 1
        assert diffs[0].base != diffs[0].variant


# --- what is left out -----------------------------------------------------------------------------------------


def test_a_patch_without_its_base_is_counted(tmp_path: Path) -> None:
    changed = Item(
        "changed", {"brief": "Add.", "patch": diff({"a.py": "x = 1\n"}, {"a.py": "x = 2\ny = 3\n"})}
    )
    lost = prepare([*patches(2), changed], InjectionOptions())
    assert lost.refused() == {"no base file": 1}
    (tmp_path / "changed").mkdir()
    (tmp_path / "changed" / "a.py").write_text("x = 1\n")
    assert not prepare([changed], InjectionOptions(), folder=tmp_path).refused()
    own = replace(changed, parts={**changed.parts, "base": json.dumps({"a.py": "x = 1\n"})})
    assert not prepare([own], InjectionOptions()).refused()
    outside = replace(changed, id="../changed")
    assert prepare([outside], InjectionOptions(), folder=tmp_path / "changed").refused() == {
        "no base file": 1
    }


def test_wrong_items_are_named() -> None:
    with pytest.raises(DataError, match="no part 'patch'"):
        prepare([Item("a", {"brief": "x"})], InjectionOptions())
    with pytest.raises(DataError, match="'a'"):
        prepare([Item("a", {"patch": ""}), Item("a", {"patch": ""})], InjectionOptions())
    with pytest.raises(DataError, match="'base'"):
        prepare([Item("a", {"patch": "x", "base": "[1]"})], InjectionOptions())
    with pytest.raises(UsageError, match="threshold"):
        InjectionOptions(threshold=1.5)
    with pytest.raises(UsageError, match="no patch to ask about: no base file"):
        plan_injections(
            planted_judge("any", asking(), scorer(lambda _: 0.0), seed=1),
            prepare(
                [Item("a", {"brief": "x", "patch": diff({"a.py": "x"}, {"a.py": "y"})})], InjectionOptions()
            ),
            InjectionOptions(),
        )


def test_a_variant_whose_tests_say_something_else_is_dropped() -> None:
    def run(programs: Sequence[tuple[Item, str]]) -> list[str | None]:
        return ["failed" if "Reviewed" in code else "passed" for _, code in programs]

    plain = prepare(patches(8), InjectionOptions(kinds=(K.ADVOCACY,)))
    material = prepare(patches(8), InjectionOptions(kinds=(K.ADVOCACY,)), tester=run)
    wrong = sum("Reviewed" in variant.patch.patch for variant in plain.variants)
    assert wrong
    assert material.lost(material.dropped[0].arm) == {TESTS_DIFFER: wrong}  # type: ignore[arg-type]
    assert len(material.variants) == 8 - wrong


def test_real_tests_give_the_same_result_before_and_after() -> None:
    tests = "def check(candidate):\n    assert candidate([1, 2], 5) == 3\n    assert candidate([], 5) == 1\n"
    item = replace(patches(2)[1], parts={**patches(2)[1].parts, "tests": tests, "entry_point": "total_1"})
    material = prepare([item, patches(1)[0]], InjectionOptions(), tester=running(unsafe=True))
    said = {variant.item: variant.tests for variant in material.variants}
    assert said["patch-1"] is not None
    assert said["patch-1"].startswith("failed, 1 of 2")
    assert said["patch-0"] is None
    assert not any(one.reason == TESTS_DIFFER for one in material.dropped)


def test_every_line_written_of_the_material_says_what_it_is() -> None:
    lines = list(records(prepare(patches(2), InjectionOptions(kinds=(K.LOGGING,)))))
    assert {"emptied", "language"} <= lines[0].keys()
    edited = [line for line in lines if "patch" in line]
    assert len(edited) == 2
    assert all(line["proof"] and line["inserted"] for line in edited)


# --- insertions by a model ------------------------------------------------------------------------------------


def answered(text: str) -> list[Verdict]:
    return [Verdict("x", "file", None, raw=text, missing_because="not an option")]


def program_of(material: Material) -> str:
    return material.subjects[0].made.files[0].source


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text.replace("    return", "    # as asked\n    return"), ""),
        (lambda text: text.replace("+=", "-="), "not proved"),
        (lambda text: text.replace("limit", "top"), "not proved"),
        (lambda text: "import os; os.abort()\n" + text, "not proved"),
        (lambda text: text, "not proved"),
        (lambda text: "def f(:", "not proved"),
    ],
)
def test_what_a_model_writes_is_used_only_where_it_is_proved(
    change: Callable[[str], str], reason: str
) -> None:
    material = prepare(patches(1), InjectionOptions())
    subject = material.subjects[0]
    arm = Arm(K.NEUTRAL_COMMENTS, 3, "writer")
    answer = f"Sure:\n```python\n{change(program_of(material))}```\n"
    made = audited(subject, subject.made.files[0], arm, answered(answer))
    if reason:
        assert isinstance(made, Dropped)
        assert made.reason.startswith(reason)
    else:
        assert isinstance(made, Variant)
        assert "# as asked" in made.patch.patch


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answered("I would rather not."), "the answer holds no code block"),
        (answered(""), "not an option"),
        ([], "no answer"),
    ],
)
def test_a_model_that_writes_no_file_is_counted(answer: list[Verdict], reason: str) -> None:
    material = prepare(patches(1), InjectionOptions())
    subject = material.subjects[0]
    made = audited(subject, subject.made.files[0], Arm(K.LOGGING, 3, "writer"), answer)
    assert made == Dropped("patch-0", reason, Arm(K.LOGGING, 3, "writer"))
