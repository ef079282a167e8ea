"""The replay study: tables from samples, doses, judges asked under the contract."""

import asyncio
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from random import Random

import polars as pl
import pytest

from tests.engine.scripted import asker_on
from voirdire.blocks import TableBlock
from voirdire.edits.corruptions import Corruption
from voirdire.errors import DataError, UsageError
from voirdire.judges._prompted import PromptedJudge
from voirdire.judges.planted import planted_judge
from voirdire.languages.parsing import Parsers
from voirdire.model import (
    Asking,
    CodeSample,
    CodeTask,
    GroundTruth,
    JudgeSpec,
    Message,
    ReaderSpec,
    Ruling,
    TestStyle,
    TruthSource,
    TruthStatus,
    Verdict,
)
from voirdire.questions import Choice, Predicate, Question, Score
from voirdire.studies._replay_dose import prepare_dose
from voirdire.studies._replay_judge import (
    accepted,
    check_judge,
    contract_spec,
    read_prompt,
    shipped_prompt,
)
from voirdire.studies._replay_table import (
    NO_ENTRY_POINT,
    SampleSet,
    Truth,
    sample_table,
    truth_of,
    with_verdicts,
)
from voirdire.studies.replay import (
    Material,
    Prepared,
    Replayed,
    ReplayOptions,
    examine_replay,
    plan_replay,
    prepare,
    sliced,
)

PROBLEMS = 10
PASSED, FAILED = (
    GroundTruth(TruthSource.TESTS, status) for status in (TruthStatus.PASSED, TruthStatus.FAILED)
)
QUIET = ReplayOptions(doses=())


@pytest.fixture(scope="module")
def parsers() -> Iterator[Parsers]:
    with Parsers(workers=1) as made:
        yield made


def task(number: int, *, reference: str | None = "def f(x):\n    return x\n") -> CodeTask:
    return CodeTask(
        f"Suite/{number}",
        f"Write f, number {number}.",
        "assert f(1) == 1\n",
        TestStyle.ASSERTS,
        "f",
        reference,
    )


TASKS = {one.id: one for one in map(task, range(PROBLEMS))}


def program(number: int, *, right: bool = True, broken: bool = False) -> str:
    return f"def f(x):\n    y = {number}\n    return {'x' if right else 'y'}{')' if broken else ''}\n"


def samples(*codes: str, truth: GroundTruth | None = PASSED) -> tuple[CodeSample, ...]:
    return tuple(
        CodeSample(name, number, code, code, truth=truth)
        for name in TASKS
        for number, code in enumerate(codes)
    )


BASE = SampleSet("base", "", samples(program(1), program(2)), ("base.jsonl: 20 entries, 20 samples",))
TRAINED = SampleSet("trained", "", samples(program(3, broken=True), program(4, broken=True), truth=FAILED))


def style_judge(name: str = "style") -> PromptedJudge:
    """Return a judge that reads style: it accepts whatever looks like a function that returns."""

    def policy(parts: Mapping[str, str], question: str, rng: Random) -> str:
        return "1" if "return" in parts["candidate"] and parts["gold"] else "0"

    return planted_judge(name, read_prompt(None).asking("planted"), policy, seed=1, deterministic=True)


def material(**changed: object) -> Material:
    return Material(**{"tasks": TASKS, "sets": [BASE, TRAINED], **changed})  # type: ignore[arg-type]


def replayed(path: Path, judges: list[PromptedJudge], ready: Prepared) -> Replayed:
    with asker_on(path) as asker:
        return asyncio.run(examine_replay(judges, ready, asker))


def blocks(found: Replayed) -> Mapping[str, TableBlock]:
    return {
        one.title: one
        for finding in found.examination
        for one in finding.blocks
        if isinstance(one, TableBlock)
    }


# --- the whole ----------------------------------------------------------------------------------------


def test_judge_gate_and_execution_apart(tmp_path: Path, parsers: Parsers) -> None:
    ready = prepare(material(), QUIET, parsers=parsers)
    found = replayed(tmp_path / "l.sqlite", [style_judge()], ready)
    four = blocks(found)["Four readings of the same samples: planted: style"]
    assert [list(row) for row in four.rows] == [
        ["base", "", 1.0, 2, 1.0, 1.0, 1.0, 1.0, None],
        ["trained", "", 0.0, 2, 1.0, 0.0, 0.0, 0.0, 1.0],
    ]
    rulings = {(one.name, one.subject): one.ruling for one in found.examination}
    assert rulings["parse_gate", "judge"] is Ruling.LEAKS
    assert rulings["pass_at_k", "base minus trained, k = 2"] is Ruling.LEAKS
    assert rulings["execution_check", "20 samples"] is Ruling.UNRESOLVED


def test_findings_belong_to_the_samples_or_to_a_judge_and_the_account_is_shown(
    tmp_path: Path, parsers: Parsers
) -> None:
    found = replayed(
        tmp_path / "l.sqlite", [style_judge()], prepare(material(), QUIET, parsers=parsers)
    ).examination
    names = {judge.fingerprint: judge.name for judge in found.judges}
    assert {names[one.judge] for one in found} == {"The samples, whoever judges them", "planted: style"}
    assert "base: base.jsonl: 20 entries, 20 samples" in found.notes
    assert found.account.asked == 40


def test_the_plan_is_what_is_asked_and_equal_texts_are_asked_once(tmp_path: Path, parsers: Parsers) -> None:
    twice = SampleSet("again", "", BASE.samples)
    ready = prepare(material(sets=[BASE, twice]), ReplayOptions(doses=(0.5,)), parsers=parsers)
    judge = style_judge()
    with asker_on(tmp_path / "l.sqlite") as asker:
        planned = asker.forecast(plan_replay([judge], ready)).calls
        account = asyncio.run(examine_replay([judge], ready, asker)).examination.account
    assert planned == account.asked == 20 + 4 * 10


def test_two_judges_of_one_name_are_told_apart(tmp_path: Path, parsers: Parsers) -> None:
    other = planted_judge(
        "style", read_prompt(None).asking("planted"), lambda *_: "0", seed=2, deterministic=True
    )
    found = replayed(
        tmp_path / "l.sqlite", [style_judge(), other], prepare(material(), QUIET, parsers=parsers)
    )
    assert len(found.counted.judges) == 2
    assert len({one.judge for one in found.examination if one.name == "parse_gate"}) == 2


def test_recorded_verdicts_are_joined_and_what_is_not_there_is_missing(
    tmp_path: Path, parsers: Parsers
) -> None:
    recorded = pl.DataFrame(
        {
            "author": ["base"] * 2,
            "pass": [""] * 2,
            "task": ["Suite/0", "Suite/1"],
            "sample": [0, 0],
            "judge": ["72B"] * 2,
            "value": [1.0, None],
            "missing_because": [None, "timeout"],
        }
    )
    found = replayed(
        tmp_path / "l.sqlite", [], prepare(material(recorded=[recorded]), QUIET, parsers=parsers)
    )
    missing = blocks(found)["Answers that 72B did not give"]
    assert [list(row) for row in missing.rows] == [
        ["base", "", "not judged", 18, 18],
        ["base", "", "timeout", 1, 1],
    ]
    assert [judge.name for judge in found.examination.judges][1:] == ["72B (recorded)"]


def test_a_task_without_gold_is_missing_with_its_reason(tmp_path: Path, parsers: Parsers) -> None:
    tasks = {**TASKS, "Suite/0": task(0, reference=None)}
    found = replayed(
        tmp_path / "l.sqlite", [style_judge()], prepare(material(tasks=tasks), QUIET, parsers=parsers)
    )
    missing = blocks(found)["Answers that planted: style did not give"]
    assert {row[2] for row in missing.rows} == {"the task has no gold answer to show"}


def test_results_of_a_run_take_the_place_of_what_the_file_said(tmp_path: Path, parsers: Parsers) -> None:
    truth = {("trained", "", "Suite/0", 0): Truth(NO_ENTRY_POINT, passed=False, renamed=True)}
    ready = prepare(material(truth=truth), QUIET, parsers=parsers)
    row = ready.table.frame.filter(pl.col("truth_status") == NO_ENTRY_POINT).row(0, named=True)
    assert (row["author"], row["truth_passed"], row["truth_passed_renamed"]) == ("trained", False, True)


def test_without_samples_there_is_nothing_to_replay(parsers: Parsers) -> None:
    with pytest.raises(UsageError, match="no samples to replay"):
        prepare(material(sets=[SampleSet("base", "", ())]), QUIET, parsers=parsers)


def test_a_slice_is_seeded_and_keeps_the_first_samples() -> None:
    tasks, sets = sliced(TASKS, [BASE, TRAINED], problems=3, limit=1, seed=4)
    again, _ = sliced(TASKS, [BASE, TRAINED], problems=3, limit=1, seed=4)
    assert tasks.keys() == again.keys()
    assert [[sample.number for sample in one.samples] for one in sets] == [[0] * 3, [0] * 3]


# --- the table ----------------------------------------------------------------------------------------


def test_the_table_holds_what_the_parser_said(parsers: Parsers) -> None:
    frame = sample_table(
        [BASE, TRAINED], TASKS, parsers=parsers, truth=lambda _, one: truth_of(one.truth)
    ).frame
    broken = frame.filter(~pl.col("parses"))
    assert broken.height == 20
    assert set(broken["parse_kind"]) == {"extra closing bracket"}
    assert broken["evidence"][0] == "return x)"
    assert broken["edits_away"].to_list() == [1] * 20
    assert not broken["balanced"].any()
    assert set(frame["suite"]) == {"Suite"}


def test_answers_are_read_in_other_ways_beside_the_default(parsers: Parsers) -> None:
    good, output = "```python\ndef f(x):\n    return x\n```", "```text\n1 (one\n```"
    answers = [f"{good}\n", f"{good}\n\nIt prints:\n\n{output}\n", "no fence here"]
    codes = ["def f(x):\n    return x\n", "1 (one\n", ""]
    made = tuple(
        CodeSample("Suite/0", number, code, text)
        for number, (code, text) in enumerate(zip(codes, answers, strict=True))
    )
    frame = sample_table(
        [SampleSet("base", "", made)], TASKS, parsers=parsers, truth=lambda *_: Truth("not_run", None)
    ).frame
    assert frame["parses"].to_list() == [True, False, False]
    assert frame["parses_tagged"].to_list() == [True, True, False]
    assert frame["parses_any"].to_list() == [True, True, False]


def test_a_broken_harness_says_nothing_about_the_code() -> None:
    assert truth_of(None) == Truth("not_run", None)
    down = GroundTruth(TruthSource.TESTS, TruthStatus.INFRASTRUCTURE)
    assert truth_of(down) == Truth("infrastructure", None)
    assert truth_of(FAILED, no_entry_point=True, renamed=True) == Truth(
        NO_ENTRY_POINT, passed=False, renamed=True
    )


def test_without_verdicts_there_is_one_row_per_sample(parsers: Parsers) -> None:
    table = sample_table([BASE], TASKS, parsers=parsers, truth=lambda _, one: truth_of(one.truth))
    frame = with_verdicts(table, []).frame
    assert (frame.height, frame["judge"].null_count()) == (20, 20)


# --- the dose -----------------------------------------------------------------------------------------


def test_doses_are_nested_seeded_and_verified_not_to_parse(parsers: Parsers) -> None:
    made, again = (prepare_dose(BASE, TASKS, parsers=parsers, seed=3) for _ in range(2))
    brackets = made.damages[0]
    assert brackets.codes == again.damages[0].codes
    sizes = [len(places) for places in brackets.doses.values()]
    assert sizes == [2, 4, 6, 8, 10, 12]
    places = list(brackets.doses.values())
    assert all(small <= large for small, large in pairwise(places))
    assert not any(parsers.parses(list(brackets.codes.values())))
    kinds = {damage.edit: damage for damage in made.damages}
    assert all(parsers.parses(list(kinds[Corruption.DELETED_RETURN].codes.values())))
    assert all("def f_2(" in code for code in kinds[Corruption.RENAMED_ENTRY_POINT].codes.values())
    assert not any(parsers.parses(list(kinds[Corruption.CUT_OFF].codes.values())))


def test_what_does_not_parse_is_left_alone_and_counted(parsers: Parsers) -> None:
    dose = prepare_dose(TRAINED, TASKS, parsers=parsers, shares=(1.0,), edits=(Corruption.EXTRA_BRACKET,))
    assert not dose.damages[0].codes
    assert dose.notes() == (
        "extra closing bracket: 0 samples of trained damaged, 20 left as they were (it does not parse already)",
    )


def test_the_dose_moves_the_parse_share_and_not_a_judge_of_style(tmp_path: Path, parsers: Parsers) -> None:
    ready = prepare(material(), ReplayOptions(doses=(0.3, 0.6)), parsers=parsers)
    found = replayed(tmp_path / "l.sqlite", [style_judge()], ready)
    rulings = {one.subject: one.ruling for one in found.examination if one.name in ("brackets", "damage")}
    assert rulings["extra closing bracket"] is Ruling.LEAKS
    assert rulings["deleted return"] is Ruling.HOLDS
    table = blocks(found)["What planted: style makes of damaged samples"]
    assert [row[4] for row in table.rows[:3]] == [1.0, 0.7, 0.4]


def test_a_checkpoint_to_damage_must_be_there(parsers: Parsers) -> None:
    with pytest.raises(UsageError, match="no checkpoint 'other' to damage"):
        prepare(material(), ReplayOptions(dosed="other"), parsers=parsers)


# --- the contract -------------------------------------------------------------------------------------


def test_the_prompt_shows_problem_gold_and_candidate_and_wants_one_character() -> None:
    asking = read_prompt(None).asking("openai")
    assert asking.reader == ReaderSpec("exact")
    (question,) = asking.questions
    assert isinstance(question, Choice)
    assert question.options == ("1", "0")
    for part in ("problem", "gold", "candidate"):
        assert f"{{{{{part}}}}}" in asking.messages[-1].text


def test_a_chat_endpoint_is_asked_at_temperature_zero_and_a_judge_file_says_it_itself() -> None:
    spec = JudgeSpec("openai:m", "openai", "m")
    assert contract_spec(spec).sampling["temperature"] == 0.0
    own = JudgeSpec("mine", "openai", "m", path="mine.toml")
    assert contract_spec(own) is own


def test_a_prompt_can_be_replaced_and_its_mistakes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "prompt.toml"
    path.write_text(shipped_prompt().replace("You grade", "You review"))
    assert read_prompt(path).messages[0].text.startswith("You review")
    for text, message in (
        ("x = ", "not a TOML file"),
        ('question = "?"\n', "are needed, as texts"),
        ('question = "?"\nother = 1\n[prompt]\nuser = "{{candidate}}"\n', "unknown key 'other'"),
        ('question = "?"\n[prompt]\nuser = "{{problem}}"\n', "does not show the {{candidate}}"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=message.replace("{", r"\{").replace("}", r"\}")):
            read_prompt(path)
    with pytest.raises(UsageError, match="no such file"):
        read_prompt(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("question", "fine"),
    [
        (Choice("a", "?", ("1", "0")), True),
        (Choice("a", "?", ("Yes", "No")), True),
        (Predicate("a", "?"), True),
        (Score("a", "?", 0, 1), True),
        (Score("a", "?"), False),
        (Choice("a", "?", ("good", "bad")), False),
    ],
)
def test_only_answers_of_one_and_zero_can_be_replayed(question: Question, fine: bool) -> None:
    asking = Asking((Message("user", "{{candidate}}"),), (question,), ReaderSpec("typed"))
    judge = planted_judge("any", asking, lambda *_: None, seed=1)
    if fine:
        check_judge(judge)
    else:
        with pytest.raises(UsageError, match="not asked one question that is answered 1 or 0"):
            check_judge(judge)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("1", (1.0, None)),
        ("0", (0.0, None)),
        (0.5, (1.0, None)),
        (0.49, (0.0, None)),
        (None, (None, "refusal")),
    ],
)
def test_a_verdict_becomes_one_zero_or_missing(
    value: float | str | None, read: tuple[float | None, str | None]
) -> None:
    assert (
        accepted(Verdict("i", "q", value, missing_because=None if value is not None else "refusal")) == read
    )
