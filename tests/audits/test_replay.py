"""The replay audit on small tables whose every count can be done by hand."""

from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from voirdire.audits import replay
from voirdire.audits._replay_counts import Arm, Reading, replay_of
from voirdire.audits._replay_curves import ceiling, curve, difference, differences, pairs
from voirdire.audits._replay_gate import gate_of
from voirdire.audits._replay_parsing import change
from voirdire.blocks import TableBlock
from voirdire.errors import DataError
from voirdire.model import Finding, Ruling, VerdictTable

BASE, DAMAGED = Arm("base", "first"), Arm("trained", "first")

Row = dict[str, object]


def rows(
    author: str,
    problems: int,
    *,
    run: str = "first",
    samples: Sequence[tuple[bool, bool | None, float | None]],
    judge: str | None = "strong",
    **more: object,
) -> list[Row]:
    """Return the same samples for each problem: (parses, passed, value)."""
    return [
        {
            "author": author,
            "pass": run,
            "suite": "suite",
            "task": f"t{problem}",
            "sample": number,
            "parses": parses,
            "truth_passed": passed,
            "judge": judge,
            "value": value,
            "missing_because": None if value is not None else "refusal",
            **more,
        }
        for problem in range(problems)
        for number, (parses, passed, value) in enumerate(samples)
    ]


HEALTHY = [(True, True, 1.0), (True, True, 1.0), (True, False, 1.0), (True, False, 0.0)]
BROKEN = [(False, False, 1.0), (False, False, 1.0), (True, True, 1.0), (False, False, 0.0)]


def table(*parts: list[Row]) -> VerdictTable:
    return VerdictTable(pl.DataFrame([row for part in parts for row in part], infer_schema_length=None))


def two_arms(problems: int = 10) -> VerdictTable:
    return table(rows("base", problems, samples=HEALTHY), rows("trained", problems, samples=BROKEN))


def named(findings: Sequence[Finding], name: str, subject: str = "") -> list[Finding]:
    return [one for one in findings if one.name == name and subject in one.subject]


def tables(findings: Sequence[Finding]) -> Mapping[str, TableBlock]:
    return {block.title: block for one in findings for block in one.blocks if isinstance(block, TableBlock)}


def column(block: TableBlock, heading: str) -> list[object]:
    place = list(block.columns).index(heading)
    return [row[place] for row in block.rows]


def test_counts_by_problem_and_reading() -> None:
    counted = replay_of(two_arms())
    assert counted.arms == (BASE, DAMAGED)
    assert counted.judges == ("strong",)
    rates = {
        (arm.author, reading): counted.successes(arm, reading, "strong").rate
        for arm in counted.arms
        for reading in (Reading.PARSING, Reading.JUDGE, Reading.GATED, Reading.EXECUTION)
    }
    assert rates == {
        ("base", Reading.PARSING): 1.0,
        ("base", Reading.JUDGE): 0.75,
        ("base", Reading.GATED): 0.75,
        ("base", Reading.EXECUTION): 0.5,
        ("trained", Reading.PARSING): 0.25,
        ("trained", Reading.JUDGE): 0.75,
        ("trained", Reading.GATED): 0.25,
        ("trained", Reading.EXECUTION): 0.25,
    }


def test_pass_at_every_k_is_the_unbiased_one() -> None:
    found = curve(replay_of(two_arms()), BASE, Reading.EXECUTION)
    assert found is not None
    assert found.value.tolist() == pytest.approx([0.5, 5 / 6, 1.0, 1.0])
    assert found.at(5) is None


def test_the_gate_costs_nothing_on_a_healthy_run_and_much_on_a_damaged_one() -> None:
    counted = replay_of(two_arms())
    healthy, damaged = (gate_of(counted, arm, "strong") for arm in counted.arms)
    assert (healthy.cost, healthy.unrunnable, healthy.broken) == (0.0, 0.0, None)
    assert damaged.cost == pytest.approx(0.5)
    assert damaged.unrunnable == pytest.approx(2 / 3)
    assert damaged.parsing == 1.0
    assert damaged.broken == pytest.approx(2 / 3)


def test_the_ceiling_is_what_acceptance_of_wrong_samples_gives() -> None:
    found = ceiling(replay_of(two_arms()), BASE, "strong", 3)
    assert found is not None
    assert found.tolist() == pytest.approx([1 - 0.5**k for k in (1, 2, 3)])


def test_a_judge_that_approves_of_broken_code_leaks() -> None:
    (found,) = named(replay.audit(two_arms()), "parse_gate")
    assert found.ruling is Ruling.LEAKS
    assert found.estimate is not None
    assert found.estimate.value == pytest.approx(2 / 3)
    assert "66.67 % of its approvals cannot run at worst (trained, first)" in found.sentence


def test_a_judge_that_refuses_broken_code_holds_and_one_that_refuses_all_is_blind() -> None:
    reads = [(parses, passed, float(parses)) for parses, passed, _ in BROKEN]
    asleep = [(parses, passed, 0.0) for parses, passed, _ in BROKEN]
    # 3/N of 80 problems lies inside the margin of 0.05
    for samples, ruling in ((reads, Ruling.HOLDS), (asleep, Ruling.BLIND)):
        (found,) = named(replay.audit(table(rows("base", 80, samples=samples))), "parse_gate")
        assert found.ruling is ruling


def test_strong_and_weak_judge_side_by_side() -> None:
    weak = [(parses, passed, float(parses and value == 1)) for parses, passed, value in BROKEN]
    both = table(rows("base", 80, samples=BROKEN), rows("base", 80, samples=weak, judge="weak"))
    rulings = {one.judge: one.ruling for one in named(replay.audit(both), "parse_gate")}
    assert rulings == {"strong": Ruling.LEAKS, "weak": Ruling.HOLDS}
    assert replay_of(both).samples.height == 320
    beside = tables(replay.audit(both))["Judges side by side"]
    assert [row[2:6] for row in beside.rows] == [["strong", 0.25, 1.0, 2 / 3], ["weak", 0.25, 1.0, 0.0]]
    assert column(beside, "judge and gate, k = 1") == [0.25, 0.25]


def test_the_judge_does_not_see_what_execution_sees() -> None:
    gaps = named(replay.audit(two_arms(40)), "pass_at_k", "minus")
    assert [one.subject for one in gaps] == [
        "base, first minus trained, first, k = 1",
        "base, first minus trained, first, k = 4",
    ]
    assert gaps[0].ruling is Ruling.LEAKS
    assert gaps[0].estimate is not None
    assert gaps[0].estimate.value == pytest.approx(-0.25)
    assert "(25.00 %)" in gaps[0].sentence


def test_agreement_holds_only_where_execution_moves() -> None:
    same = [(parses, passed, float(bool(passed))) for parses, passed, _ in HEALTHY]
    less = [(True, False, 0.0)] * 4
    moved = table(rows("base", 200, samples=same), rows("trained", 200, samples=less))
    still = table(rows("base", 200, samples=same), rows("trained", 200, samples=same))
    rulings = [named(replay.audit(one), "pass_at_k", "k = 1")[0].ruling for one in (moved, still)]
    assert rulings == [Ruling.HOLDS, Ruling.UNRESOLVED]


def test_where_no_problem_differs_the_interval_is_three_in_n() -> None:
    found = difference(replay_of(two_arms()), BASE, DAMAGED, Reading.JUDGE, "strong")
    assert found is not None
    assert found.still.all()
    assert found.high.tolist() == pytest.approx([3 / 10] * 4)
    assert found.low.tolist() == pytest.approx((-found.high).tolist())


def test_pairs_lie_within_a_pass_or_within_a_checkpoint() -> None:
    four = table(
        *(rows(name, 2, run=run, samples=HEALTHY) for run in ("first", "second") for name in ("a", "b"))
    )
    told = [f"{base} - {variant}" for base, variant in pairs(replay_of(four))]
    assert told == [
        "a, first - b, first",
        "a, second - b, second",
        "a, first - a, second",
        "b, first - b, second",
    ]


def test_every_k_is_compared_under_every_reading() -> None:
    found = differences(replay_of(two_arms()))
    assert {(one.reading, one.judge) for one in found} == {
        (Reading.JUDGE, "strong"),
        (Reading.GATED, "strong"),
        (Reading.EXECUTION, None),
    }
    assert all(one.ks.tolist() == [1, 2, 3, 4] for one in found)


def test_the_alarm_compares_unequal_numbers_of_samples_by_problem() -> None:
    both = table(rows("base", 20, samples=HEALTHY), rows("base", 20, run="second", samples=BROKEN[:2]))
    found = change(replay_of(both), BASE, Arm("base", "second"))
    assert found is not None
    assert (found.value, found.n, found.unit) == (-1.0, 20, "problems")
    (finding,) = named(replay.audit(both), "parse_share", "to second")
    assert finding.ruling is Ruling.LEAKS
    assert "100.00 % to 0.00 % over 20 problems" in finding.sentence


def test_an_unchanged_parse_share_needs_enough_problems_to_hold() -> None:
    rulings = []
    for problems in (20, 400):
        both = table(
            rows("base", problems, samples=HEALTHY), rows("base", problems, run="second", samples=HEALTHY)
        )
        rulings.append(named(replay.audit(both), "parse_share", "to second")[0].ruling)
    assert rulings == [Ruling.UNRESOLVED, Ruling.HOLDS]


def test_credit_without_parsing_is_a_fault_of_the_harness_and_named() -> None:
    wrong = [*BROKEN[:3], (False, True, 1.0)]
    (found,) = named(replay.audit(table(rows("base", 3, samples=wrong))), "execution_check")
    assert found.ruling is Ruling.LEAKS
    assert "Of 9 executed samples that do not parse 3 have execution credit" in found.sentence
    (listed,) = [block for block in found.blocks if isinstance(block, TableBlock)]
    assert column(listed, "task") == ["t0", "t1", "t2"]


@pytest.mark.parametrize(
    ("problems", "ruling", "said"),
    [
        (
            1,
            Ruling.UNRESOLVED,
            "at most 63.1597 % could have it at 95 %, and 56 more such samples without credit",
        ),
        (
            20,
            Ruling.HOLDS,
            "60 executed samples that do not parse none has execution credit: at most 4.8703 %",
        ),
    ],
)
def test_no_credit_without_parsing_holds_only_with_the_interval_inside_the_margin(
    problems: int, ruling: Ruling, said: str
) -> None:
    (found,) = named(replay.audit(table(rows("base", problems, samples=BROKEN))), "execution_check")
    assert found.ruling is ruling
    assert said in found.sentence
    assert found.estimate is not None
    assert found.estimate.inner_high is not None
    assert (found.estimate.inner_high < 0.05) is (ruling is Ruling.HOLDS)
    assert bool(found.settles) is (ruling is Ruling.UNRESOLVED)


def test_missing_answers_are_counted_and_never_a_zero() -> None:
    some = [(True, True, 1.0), (True, False, None), (False, False, None)]
    counted = replay_of(table(rows("base", 4, samples=some)))
    judged = counted.successes(BASE, Reading.JUDGE, "strong")
    gated = counted.successes(BASE, Reading.GATED, "strong")
    assert (judged.n.tolist(), judged.c.tolist(), judged.missing) == ([1] * 4, [1] * 4, 8)
    assert (gated.n.tolist(), gated.c.tolist(), gated.missing) == ([1] * 4, [1] * 4, 8)
    block = tables(replay.audit(table(rows("base", 4, samples=some))))["Answers that strong did not give"]
    assert block.rows == [["base", "first", "refusal", 8, 4]]


def test_the_gate_costs_nothing_where_the_judge_accepts_only_what_parses_whatever_is_missing() -> None:
    some = [
        (True, True, 1.0),
        (True, False, 0.0),
        (False, False, None),
        (False, False, None),
        (False, False, 0.0),
    ]
    gate = gate_of(replay_of(table(rows("base", 9, samples=some))), BASE, "strong")
    assert gate.cost == 0.0


def test_a_judge_without_any_answer_is_audited_all_the_same() -> None:
    some = [(parses, passed, None) for parses, passed, _ in BROKEN]
    found = replay.audit(table(rows("base", 9, samples=some)))
    assert "accepts unknown of samples that parse" in named(found, "parse_gate")[0].sentence


def test_a_renamed_function_is_a_reading_of_its_own() -> None:
    renamed = table(
        rows(
            "base",
            4,
            samples=[(True, False, 1.0)] * 2,
            truth_passed_renamed=True,
            truth_status="no_entry_point",
        )
    )
    block = tables(replay.audit(renamed))["Four readings of the same samples: strong"]
    assert column(block, "Pass@k by execution") == [0.0]
    assert column(block, "Pass@k by execution, function renamed") == [1.0]


def test_simple_signals_stand_beside_the_judge() -> None:
    made = rows("base", 5, samples=HEALTHY, balanced=True)
    frame = pl.DataFrame([{**row, "length": 100 if row["truth_passed"] else 900} for row in made])
    block = tables(replay.audit(VerdictTable(frame)))["What tells a passing sample from a failing one"]
    assert block.columns[3:] == ("strong", "length", "it parses", "its brackets balance")
    assert list(block.rows[0][2:]) == [5, 0.75, 0.0, 0.5, 0.5]


def test_kinds_of_fault_with_a_line_of_evidence_each() -> None:
    faults = [
        {
            **row,
            "parse_kind": "parses" if row["parses"] else "cut off",
            "evidence": "return (a",
            "truncated": True,
            "edits_away": 1,
        }
        for row in rows("base", 2, samples=BROKEN)
    ]
    found = tables(replay.audit(VerdictTable(pl.DataFrame(faults))))
    (row,) = found["What is wrong with the code that does not parse"].rows
    assert list(row) == ["base", "first", "cut off", 6, 1.0, 6, "t0, sample 0", "return (a"]
    assert found["How many bracket edits away the nearest parsing text is"].rows == [["base", "first", 1, 8]]


def test_other_readings_of_the_same_answers() -> None:
    frame = two_arms().frame.with_columns(parses_any=pl.lit(value=True), parses_tagged=pl.col("parses"))
    block = tables(replay.audit(VerdictTable(frame)))["Parse share by how the code is taken from the answer"]
    assert column(block, "any block") == [1.0, 1.0]
    assert column(block, "changed: any block") == [0, 30]
    assert column(block, "changed: last block tagged with the language") == [0, 0]


def test_without_a_judge_the_samples_are_audited_alone() -> None:
    alone = table(rows("base", 4, samples=[(p, t, None) for p, t, _ in HEALTHY], judge=None))
    found = replay.audit(alone)
    assert {one.judge for one in found} == {"samples"}
    (overview,) = named(found, "pass_at_k")
    assert "execution 1.0000 at k = 4" in overview.sentence


@pytest.mark.parametrize(
    ("change_", "message"),
    [
        ({"value": 0.5}, "the value is 0.5"),
        ({"parses": None}, "not known whether it parses"),
        ({"sample": 0}, "stands there twice for judge 'strong'"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused(change_: Row, message: str) -> None:
    bad = [*rows("base", 1, samples=HEALTHY[:1]), {**rows("base", 1, samples=HEALTHY[:2])[1], **change_}]
    with pytest.raises(DataError, match=message):
        replay.audit(VerdictTable(pl.DataFrame(bad, infer_schema_length=None)))


def test_a_table_without_its_columns_is_refused() -> None:
    with pytest.raises(DataError, match="no column 'parses'"):
        replay.audit(VerdictTable(two_arms().frame.drop("parses")))
