"""Judging by checklist: what is shown and in which order, what is missing, who the judge is, and what does not apply."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.mining._history import History, mined
from voirdire.engine.ask import Asker
from voirdire.engine.budget import Budget
from voirdire.engine.forms import Form
from voirdire.engine.ledger import Ledger
from voirdire.engine.pace import AdaptivePace
from voirdire.engine.progress import NoProgress
from voirdire.errors import DataError, UsageError
from voirdire.judges import open_judge
from voirdire.judges.planted import planted_judge
from voirdire.mining.attempts import Attempt, AttemptStatus
from voirdire.mining.checklists import ChecklistFile, Generator, ItemKind, TaskChecklist, WrittenItem
from voirdire.mining.git import Mirror, mirror_of
from voirdire.mining.outcomes import Outcome
from voirdire.mining.tasks import MinedTask
from voirdire.model import Answer, Asking, Item, Judge, JudgeSpec, Message, ReaderSpec, TruthStatus
from voirdire.questions import Choice, Score
from voirdire.studies._checklist_prompts import asking_at
from voirdire.studies._rubric_judge import (
    ChecklistJudge,
    Method,
    plain_asking,
    plain_judge,
    template_asking,
    with_checklist,
)
from voirdire.studies.checklists import Explorer
from voirdire.studies.rubric import Judged, Panel, Scored, patches, score

GENERATOR = Generator("explorer", "a" * 64)
ITEMS = (
    WrittenItem("works", ItemKind.DOES, "It works, whatever {{brief}} or {{nothing}} says.", 3.0),
    WrittenItem("same", ItemKind.KEEPS, "The rest is as before.", 1.0),
    WrittenItem("scope", ItemKind.SCOPE, "Nothing else is changed.", 1.0),
)
CHECKLIST = TaskChecklist("t", "", ITEMS)
ITEM = with_checklist(Item("t#1", {"brief": "Count from one.", "patch": "+one\n"}), CHECKLIST)


def judge(form: Form = Form.JSON, *, generator: Generator = GENERATOR, seed: int = 0) -> ChecklistJudge:
    inner = open_judge(
        JudgeSpec("openai:m", "openai", "m", options={"base_url": "http://127.0.0.1:9"}),
        template_asking(Form.JSON),
    )
    return ChecklistJudge(inner, form, generator, seed)


def typed(one: ChecklistJudge, answers: Mapping[str, object]) -> Answer:
    """Return an answer by item, under the labels that the items were asked by."""
    order = one.order(ITEM, [item.id for item in ITEMS])
    return Answer(
        raw=json.dumps({"answers": {f"s{order.index(name) + 1:02}": said for name, said in answers.items()}})
    )


def planted(seed: int = 0) -> ChecklistJudge:
    inner = planted_judge("p", template_asking(Form.TYPED), lambda parts, question, rng: 1.0, seed=0)
    return ChecklistJudge(inner, Form.TYPED, GENERATOR, seed)


# --- what is shown ----------------------------------------------------------------------------------------


def test_the_request_holds_brief_patch_and_statements_and_nothing_is_filled_twice() -> None:
    body = json.loads(judge().render(ITEM).body)
    shown = body["messages"][-1]["content"]
    for text in ("Count from one.", "+one", *(item.text for item in ITEMS)):
        assert text in shown
    assert set(body["response_format"]["json_schema"]["schema"]["properties"]) == {"s01", "s02", "s03"}


def test_weights_and_kinds_are_not_shown() -> None:
    body = judge().render(ITEM).body
    for word in ("weight", "keeps", '"scope"', '"same"'):
        assert word not in body


@pytest.mark.parametrize("form", [Form.TEXT, Form.JSON])
def test_the_order_is_shuffled_by_seed_and_patch_and_is_what_is_sent(form: Form) -> None:
    ids = [item.id for item in ITEMS]
    orders = set()
    for seed in range(40):
        one = judge(form, seed=seed)
        shown = json.loads(one.render(ITEM).body)["messages"][-1]["content"]
        order = one.order(ITEM, ids)
        places = [shown.index(item.text) for name in order for item in ITEMS if item.id == name]
        assert places == sorted(places)
        assert one.order(ITEM, ids) == order
        orders.add(tuple(order))
    assert len(orders) == 6
    assert len({tuple(judge().order(ITEM.with_part("patch", f"+{k}"), ids)) for k in range(40)}) == 6


# --- who the judge is -------------------------------------------------------------------------------------


def test_the_writer_of_the_checklists_is_part_of_the_judge() -> None:
    mine = judge().identity
    assert mine.fields["rubric_generator"] == GENERATOR.as_data()
    assert judge(generator=Generator("explorer", "b" * 64)).identity.fingerprint != mine.fingerprint
    assert judge(seed=1).identity.fingerprint != mine.fingerprint
    assert judge(Form.TEXT).identity.fingerprint != mine.fingerprint
    assert judge().identity.fingerprint == mine.fingerprint


def test_an_explorer_that_repeats_itself_has_one_try() -> None:
    inner = judge().inner
    assert Explorer(inner, tries=3).tries == 3
    fixed = planted_judge("p", asking_at(0), lambda *_: "list", seed=0, deterministic=True)
    assert Explorer(fixed, tries=3).tries == 1


# --- what is read -----------------------------------------------------------------------------------------


def test_the_score_is_the_weighted_mean_and_every_verdict_is_kept() -> None:
    one = planted()
    request = one.render(ITEM)
    *items, total = one.read(
        request, typed(one, {"works": {"value": 0.5}, "same": {"value": 1}, "scope": {"value": 0}}), repeat=0
    )
    assert [(verdict.question_id, verdict.value) for verdict in items] == [
        ("works", 0.5),
        ("same", 1.0),
        ("scope", 0.0),
    ]
    assert total.value == pytest.approx((3 * 0.5 + 1) / 5)
    assert {verdict.judge for verdict in (*items, total)} == {one.identity.fingerprint}


def test_an_item_that_cannot_be_read_makes_the_score_missing() -> None:
    one = planted()
    *items, total = one.read(
        one.render(ITEM),
        typed(one, {"works": {"value": 1}, "same": {"value": "perhaps"}, "scope": {"value": 1}}),
        repeat=0,
    )
    assert [verdict.value for verdict in items] == [1.0, None, 1.0]
    assert total.value is None
    assert (total.missing_because or "").startswith("item 'same': wrong type")


def test_a_text_answer_is_read_whole_or_not_at_all() -> None:
    one = judge()
    verdicts = one.read(one.render(ITEM), Answer(raw='{"s01": true, "s02": true}'), repeat=0)
    assert {verdict.value for verdict in verdicts} == {None}
    assert all(verdict.missing_because for verdict in verdicts)


# --- the study --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> History:
    made = History(tmp_path_factory.mktemp("rubric") / "repo")
    made.commit("Begin", {"a.py": b"one\ntwo\nthree\n", "latin.txt": b"caf\xe9\nnoir\n"})
    made.commit("Count the lines from one on, please", {"a.py": b"1\n2\n3\nfour\n"})
    made.made()
    return made


@pytest.fixture
def mirror(repo: History) -> Iterator[Mirror]:
    with mirror_of(repo.folder) as found:
        yield found


@pytest.fixture
def task(repo: History) -> MinedTask:
    (found,) = mined(repo.folder).tasks
    return found


def attempt(task: MinedTask, harness: str, diff: str, **changes: Any) -> Attempt:
    made = Attempt(
        task=task.id,
        base=task.base,
        harness=harness,
        sample=0,
        command=("secret-command",),
        model="secret-model",
        cost=None,
        input_tokens=None,
        output_tokens=None,
        began="",
        seconds=0.0,
        status=AttemptStatus.FINISHED,
        diff=diff,
    )
    return replace(made, **changes)


FITS = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n three\n"
FOREIGN = FITS.replace("-one", "-uno")
BINARY = "diff --git a/x.png b/x.png\nnew file mode 100644\nindex 000..111\nBinary files /dev/null and b/x.png differ\n"
LATIN = "diff --git a/latin.txt b/latin.txt\n--- a/latin.txt\n+++ b/latin.txt\n@@ -1,2 +1,2 @@\n-café\n+thé\n noir\n"


def scored(
    judges: Mapping[Method, Judge], judged: Sequence[Judged], tmp_path: Path, checklist: TaskChecklist
) -> Scored:
    panel = Panel(judges, ChecklistFile(GENERATOR, {checklist.task: checklist}))

    async def run() -> Scored:
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            asker = Asker(
                ledger=ledger,
                pace=AdaptivePace(concurrency=4, timeout=10),
                budget=Budget(),
                progress=NoProgress(),
            )
            return await score(panel, judged, asker)

    return asyncio.run(run())


def test_what_does_not_apply_is_named_and_never_scored(
    mirror: Mirror, task: MinedTask, tmp_path: Path
) -> None:
    made = [
        attempt(task, "fits", FITS),
        attempt(task, "foreign", FOREIGN),
        attempt(task, "text", "I would change a.py."),
        attempt(task, "empty", ""),
        attempt(task, "binary", BINARY),
        attempt(task, "latin", LATIN, encoding="latin-1"),
        attempt(task, "broken", "", status=AttemptStatus.INFRASTRUCTURE, fault="no disk"),
        attempt(task, "large", "", status=AttemptStatus.TOO_LARGE),
    ]
    judged = patches([task], made, mirror, {})
    found = scored({Method.CHECKLIST: planted()}, judged, tmp_path, replace(CHECKLIST, task=task.id))
    rows = {row["harness"]: row for row in found.rows}
    assert {name for name, row in rows.items() if row["score"] == 1.0} == {"fits", "empty", "binary", "latin"}
    for name in ("foreign", "text"):
        assert rows[name]["status"] == "not_applied"
        assert rows[name]["score"] is None
        assert str(rows[name]["missing_because"]).startswith("not_applied: ")
    assert "should be 'uno' and is 'one'" in str(rows["foreign"]["missing_because"])
    assert set(found.not_applied) == {f"{task.id}/foreign/0", f"{task.id}/text/0"}
    assert rows["broken"]["status"] == "infrastructure"
    assert "too_large" in str(rows["large"]["missing_because"])
    assert {row["item"] for row in found.items} == {
        f"{task.id}/{name}/0" for name in ("fits", "empty", "binary", "latin")
    }


def test_outcomes_come_with_the_scores_and_must_fit(mirror: Mirror, task: MinedTask, tmp_path: Path) -> None:
    made = [attempt(task, "fits", FITS), attempt(task, "foreign", FOREIGN)]
    key = f"{task.id}/fits/0"
    outcome = Outcome(key, TruthStatus.FAILED, f2p_passed=0, f2p_total=1, output="E assert")
    judged = patches([task], made, mirror, {key: outcome})
    by_tests = plain_judge(
        planted_judge("p", plain_asking(Method.PLAIN, Form.TYPED), lambda *_: 5, seed=0), Method.TESTS
    )
    found = scored({Method.TESTS: by_tests}, judged, tmp_path, CHECKLIST)
    rows = {row["harness"]: row for row in found.rows}
    assert rows["fits"]["score"] == 0.5
    assert (rows["fits"]["status"], rows["fits"]["f2p_total"]) == ("failed", 1)
    assert rows["foreign"]["score"] is None
    with pytest.raises(DataError, match="passed its tests, but does not apply"):
        patches([task], made, mirror, {f"{task.id}/foreign/0": replace(outcome, status=TruthStatus.PASSED)})
    with pytest.raises(DataError, match="1 outcomes are of no attempt"):
        patches([task], made, mirror, {"t/none/0": outcome})
    with pytest.raises(DataError, match="not in the task file"):
        patches([], made, mirror, {})


def test_a_judge_that_needs_output_is_not_asked_without(
    mirror: Mirror, task: MinedTask, tmp_path: Path
) -> None:
    judged = patches([task], [attempt(task, "fits", FITS)], mirror, {})
    by_tests = plain_judge(
        planted_judge("p", plain_asking(Method.PLAIN, Form.TYPED), lambda *_: 5, seed=0), Method.TESTS
    )
    (row,) = scored({Method.TESTS: by_tests}, judged, tmp_path, CHECKLIST).rows
    assert (row["score"], row["missing_because"]) == (None, "there is no test output of it")


def test_a_refused_checklist_is_missing_with_its_reason(
    mirror: Mirror, task: MinedTask, tmp_path: Path
) -> None:
    judged = patches([task], [attempt(task, "fits", FITS)], mirror, {})
    refused = TaskChecklist(task.id, "", missing_because="left its path: '..'")
    for checklist, why in ((refused, "left its path: '..'"), (CHECKLIST, "the file has none")):
        (row,) = scored({Method.CHECKLIST: planted()}, judged, tmp_path, checklist).rows
        assert (row["score"], row["missing_because"]) == (None, f"no checklist: {why}")


def test_bounds_stand_where_an_item_is_missing(mirror: Mirror, task: MinedTask, tmp_path: Path) -> None:
    inner = planted_judge(
        "p",
        template_asking(Form.TYPED),
        lambda parts, question, rng: None if question == "s01" else 1.0,
        seed=0,
    )
    judged = patches([task], [attempt(task, "fits", FITS)], mirror, {})
    one = ChecklistJudge(inner, Form.TYPED, GENERATOR)
    first = one.order(judged[0].item, [item.id for item in ITEMS])[0]
    weight = next(item.weight for item in ITEMS if item.id == first)
    judges = {Method.CHECKLIST: one}
    found = scored(judges, judged, tmp_path, replace(CHECKLIST, task=task.id))
    (row,) = found.rows
    assert (row["score"], row["score_low"], row["score_high"]) == (None, pytest.approx(1 - weight / 5), 1.0)
    assert row["missing_because"] == f"item '{first}': refusal"
    assert {str(one["checklist_item"]) for one in found.items if one["value"] is None} == {first}
    assert [one["asked_as"] for one in found.items if one["value"] is None] == [1]
    assert [one["scope"] for one in found.items] == [False, False, True]


def test_who_is_judged_is_in_no_request(mirror: Mirror, task: MinedTask) -> None:
    judged = patches([task], [attempt(task, "secret-harness", FITS)], mirror, {})
    panel = Panel(
        {Method.CHECKLIST: judge(), Method.PLAIN: plain_judge(planted().inner.reasking(plain_asking(Method.PLAIN, Form.TYPED)), Method.PLAIN)},
        ChecklistFile(GENERATOR, {task.id: replace(CHECKLIST, task=task.id)}),
    )  # fmt: skip
    for call in panel.calls(judged).values():
        assert "secret" not in call.request.body
        assert "secret" not in call.request.item_id
        assert task.reference.diff not in call.request.body


def test_a_plain_judge_with_its_own_prompt_keeps_it() -> None:
    own = Asking((Message("user", "{{patch}}"),), (Score("stars", "How good?", 1, 5),), ReaderSpec("typed"))
    mine = plain_judge(planted_judge("p", own, lambda *_: 5, seed=0), Method.PLAIN)
    assert mine.asking == own
    other = replace(own, questions=(Choice("better", "Which?", ("a", "b")),))
    with pytest.raises(UsageError, match="is not asked for one score"):
        plain_judge(planted_judge("p", other, lambda *_: "a", seed=0), Method.PLAIN)
