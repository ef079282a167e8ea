"""The position audit on tables whose truth is planted."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from voirdire.audits import position
from voirdire.audits.position import accuracy, agreement, as_published, audit, measurements, tallies
from voirdire.blocks import FigureBlock, TableBlock, TextBlock
from voirdire.engine.conclude import conclude
from voirdire.errors import DataError
from voirdire.model import Ruling, VerdictTable

Winners = tuple[str | None, str | None]


@dataclass(frozen=True)
class Asked:
    """What one judge answered with a first and with b first, as the response it chose, and the better response."""

    ab: str | None
    ba: str | None
    better: str | None = "a"


def table(answers: Sequence[Asked], *, judge: str = "J", **columns: object) -> VerdictTable:
    rows = []
    for number, asked in enumerate(answers):
        for order, chosen in (("ab", asked.ab), ("ba", asked.ba)):
            value = chosen if chosen in (None, "tie") else ("first" if chosen == order[0] else "second")
            row = {
                "item": f"i{number}",
                "judge": judge,
                "order": order,
                "value": value,
                "truth_label": asked.better,
            }
            rows.append({**row, **columns})
    return VerdictTable(pl.DataFrame(rows, schema_overrides={"value": pl.String, "truth_label": pl.String}))


def joined(*tables: VerdictTable) -> VerdictTable:
    return VerdictTable(pl.concat([one.frame for one in tables]))


FIRST, SECOND = Asked("a", "b"), Asked("b", "a")
RIGHT, WRONG = Asked("a", "a"), Asked("b", "b")

answers = st.sampled_from(["a", "b", None])
asked = st.builds(Asked, ab=answers, ba=answers, better=st.sampled_from(["a", "b"]))


def test_the_advantage_is_the_difference_of_two_win_shares() -> None:
    (tally,) = tallies(table([FIRST] * 6 + [SECOND] * 2 + [RIGHT] * 12))
    assert tally.slot_preference.value == pytest.approx((18 - 14) / 20)
    assert tally.slot_preference.n == 20


def test_the_p_value_is_the_exact_sign_test_of_inconsistent_pairs() -> None:
    (tally,) = tallies(table([FIRST] * 14 + [SECOND] * 5 + [WRONG] * 40))
    assert tally.slot_preference.p_value == pytest.approx(binomtest(5, 19).pvalue)


def test_the_interval_holds_the_estimate_and_the_inner_one_lies_inside() -> None:
    (tally,) = tallies(table([FIRST] * 30 + [SECOND] * 10 + [RIGHT] * 60))
    slot = tally.slot_preference
    ends = (slot.low, slot.inner_low, slot.value, slot.inner_high, slot.high)
    assert list(ends) == sorted(end for end in ends if end is not None)


@given(st.lists(asked, min_size=1, max_size=30))
def test_exchanging_the_slots_turns_the_advantage_round(given_answers: list[Asked]) -> None:
    (tally,) = tallies(table(given_answers))
    (turned,) = tallies(table([Asked(one.ba, one.ab, one.better) for one in given_answers]))
    if tally.slot_preference.value is None:
        assert turned.slot_preference.value is None
        return
    assert turned.slot_preference.value == pytest.approx(-tally.slot_preference.value)
    assert turned.slot_preference.p_value == pytest.approx(tally.slot_preference.p_value)
    assert accuracy(turned).value == pytest.approx(accuracy(tally).value)
    assert agreement(turned).value == pytest.approx(agreement(tally).value)


@given(st.lists(asked, min_size=1, max_size=30))
def test_renaming_the_responses_changes_nothing(given_answers: list[Asked]) -> None:
    other = {"a": "b", "b": "a", None: None}
    renamed = [Asked(other[one.ba], other[one.ab], other[one.better]) for one in given_answers]
    (before,), (after,) = tallies(table(given_answers)), tallies(table(renamed))
    assert before.slot_preference.value == pytest.approx(after.slot_preference.value)
    assert before.missing["a first"] == after.missing["b first"]
    assert accuracy(before).value == pytest.approx(accuracy(after).value)


@given(st.lists(asked, min_size=1, max_size=30))
def test_missing_answers_are_never_wrong_answers(given_answers: list[Asked]) -> None:
    readable = [one for one in given_answers if one.ab and one.ba]
    (whole,) = tallies(table(given_answers))
    if not readable:
        assert accuracy(whole).value is None
        return
    (read,) = tallies(table(readable))
    assert accuracy(whole).value == pytest.approx(accuracy(read).value)
    assert agreement(whole).value == pytest.approx(agreement(read).value)
    assert whole.slot_preference.value == pytest.approx(read.slot_preference.value)
    assert sum(whole.missing.values()) == sum((one.ab is None) + (one.ba is None) for one in given_answers)


def test_the_source_counts_missing_as_wrong_and_two_missing_as_agreeing() -> None:
    (tally,) = tallies(table([RIGHT, Asked(None, "a"), Asked(None, None), WRONG]))
    found = as_published(tally)
    assert found is not None
    assert (found.correct_ab, found.correct_ba, found.correct_average) == (25.0, 50.0, 37.5)
    assert (found.correct_both, found.equal) == (25.0, 75.0)
    assert accuracy(tally).value == 0.5
    assert agreement(tally).value == 1.0


def test_missing_answers_are_counted_by_order_and_bound_the_value() -> None:
    (tally,) = tallies(table([FIRST] * 6 + [RIGHT] * 2 + [Asked(None, "a")] * 2))
    slot = tally.slot_preference
    assert slot.missing == {"a first": 2, "b first": 0}
    assert slot.asked == {"a first": 10, "b first": 10}
    assert slot.value == 0.75
    assert slot.bounds == pytest.approx((0.4, 0.8))


def test_a_tie_is_half_a_win() -> None:
    (tally,) = tallies(table([Asked("tie", "tie"), Asked("a", "tie"), Asked("tie", "b"), FIRST]))
    assert tally.slot_preference.value == pytest.approx((0 + 0.5 + 0.5 + 1) / 4)
    assert accuracy(tally).value == pytest.approx((0.5 + 0.75 + 0.25 + 0.5) / 4)
    assert agreement(tally).value == pytest.approx((1 + 0.5 + 0.5 + 0) / 4)


def test_repeats_sharpen_an_instance_and_add_none() -> None:
    repeats = [table([FIRST, RIGHT, RIGHT], repeat=0), table([RIGHT, RIGHT, RIGHT], repeat=1)]
    (tally,) = tallies(joined(*repeats))
    assert tally.slot_preference.n == 3
    assert tally.slot_preference.value == pytest.approx(0.5 / 3)


def test_an_instance_in_one_order_only_is_left_out_and_counted() -> None:
    whole = table([FIRST] * 3)
    cut = VerdictTable(whole.frame.filter(~((pl.col("item") == "i1") & (pl.col("order") == "ba"))))
    (tally,) = tallies(cut)
    assert (len(tally.pairs), tally.unpaired) == (2, 1)
    assert measurements(cut)[0].flags == ("1 instance was asked in one order only and left out",)


shares = st.lists(
    st.tuples(st.sampled_from(["a", "b", "tie"]), st.sampled_from(["a", "b", "tie"])), min_size=2, max_size=12
)


@given(shares)
def test_no_interval_leaves_the_range_that_is_possible(given_answers: list[tuple[str, str]]) -> None:
    (tally,) = tallies(table([Asked(ab, ba) for ab, ba in given_answers]))
    for estimate, lowest in (
        (tally.slot_preference, -1.0),
        (tally.better_preference, -1.0),
        (accuracy(tally), 0.0),
        (agreement(tally), 0.0),
    ):
        ends = (estimate.low, estimate.inner_low, estimate.value, estimate.inner_high, estimate.high)
        known = [end for end in ends if end is not None]
        assert len(known) == 5
        assert lowest <= known[0]
        assert known[-1] <= 1.0
        assert known == sorted(known)


def test_judges_and_subsets_stand_apart() -> None:
    both = joined(table([FIRST] * 4, subset="s"), table([RIGHT] * 4, judge="K", subset="t"))
    assert [(one.judge, one.subset) for one in tallies(both)] == [("J", ""), ("K", "")]
    assert [(one.judge, one.subset) for one in tallies(both, by_subset=True)] == [("J", "s"), ("K", "t")]


@pytest.mark.parametrize(
    ("answers_given", "ruling"),
    [
        pytest.param([FIRST] * 30 + [SECOND] * 2 + [RIGHT] * 68, Ruling.LEAKS, id="prefers the first slot"),
        pytest.param([SECOND] * 30 + [FIRST] * 2 + [RIGHT] * 68, Ruling.LEAKS, id="prefers the second slot"),
        pytest.param([FIRST] * 5 + [SECOND] * 5 + [RIGHT] * 190, Ruling.HOLDS, id="reads"),
        pytest.param([RIGHT] * 200 + [WRONG] * 200, Ruling.BLIND, id="is consistent and reads nothing"),
        pytest.param([FIRST] * 4 + [RIGHT] * 16, Ruling.UNRESOLVED, id="too little to say"),
        pytest.param([FIRST] * 7, Ruling.UNRESOLVED, id="seven instances"),
        pytest.param([Asked(None, None)] * 20, Ruling.UNRESOLVED, id="nothing read"),
        pytest.param([Asked("a", "a", None)] * 200, Ruling.UNRESOLVED, id="no known better response"),
    ],
)
def test_a_planted_judge_gets_its_ruling(answers_given: Sequence[Asked], ruling: Ruling) -> None:
    (finding,) = conclude(measurements(table(answers_given)), judge="recorded", family="test")
    assert finding.ruling is ruling, finding.sentence


def test_one_family_corrects_for_all_judges_together() -> None:
    one = [table([FIRST] * 10 + [SECOND] * 1 + [RIGHT] * 29)]
    fair = [table([FIRST, SECOND] * 5 + [RIGHT] * 30, judge=f"K{number}") for number in range(19)]
    alone = conclude(measurements(one[0]), judge="recorded", family="test")[0]
    among = conclude(measurements(joined(*one, *fair)), judge="recorded", family="test")[0]
    assert alone.ruling is Ruling.LEAKS
    assert among.subject == alone.subject == "J"
    assert among.p_adjusted == pytest.approx(min(1.0, 20 * (alone.p_adjusted or 0)))
    assert among.ruling is Ruling.UNRESOLVED


def test_judges_without_slots_get_no_slot_preference() -> None:
    both = joined(
        table([SECOND] * 10 + [RIGHT] * 10, slots=False, judge="R"), table([FIRST] * 20, slots=True)
    )
    assert [one.subject for one in measurements(both)] == ["J"]
    (finding,) = audit(both)
    rows = {
        row[0]: dict(zip(position.JUDGE_COLUMNS, row, strict=True))
        for row in first_table(finding.blocks).rows
    }
    assert rows["R"]["first-slot advantage"] is None
    assert rows["R"]["same winner of both read"] == 0.5
    assert [block.text.split(" ")[0] for block in finding.blocks if isinstance(block, TextBlock)] == ["R"]


def first_table(blocks: Sequence[object]) -> TableBlock:
    return next(block for block in blocks if isinstance(block, TableBlock))


def test_the_table_is_sorted_by_advantage_and_the_figure_shows_the_same() -> None:
    three = joined(
        table([SECOND] * 5 + [RIGHT] * 5, judge="late"),
        table([FIRST] * 5 + [RIGHT] * 5, judge="early"),
        table([RIGHT] * 10, judge="fair"),
    )
    (finding,) = audit(three)
    figure = next(block for block in finding.blocks if isinstance(block, FigureBlock))
    assert [row[0] for row in first_table(finding.blocks).rows] == ["early", "fair", "late"]
    assert [(row["label"], row["value"]) for row in figure.rows] == [
        ("early", 0.5),
        ("fair", 0.0),
        ("late", -0.5),
    ]
    assert finding.ruling is None
    assert "from -0.50 (late) to +0.50 (early)" in finding.sentence


def test_settling_advice_comes_from_whoever_composes_the_run() -> None:
    (one,) = measurements(
        table([FIRST] * 4 + [RIGHT] * 16), settle=lambda estimate, line: f"{estimate.n} more"
    )
    assert one.settles == "20 more"


def change(column: str, value: object, *, row: int = 0) -> VerdictTable:
    frame = table([FIRST, RIGHT]).frame
    values = frame[column].to_list()
    values[row] = value
    return VerdictTable(frame.with_columns(pl.Series(column, values, dtype=pl.String)))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (change("value", "A"), "item 'i0', judge 'J': value is 'A'"),
        (change("order", "AB"), "item 'i0', judge 'J': order is 'AB'"),
        (change("order", None), "item 'i0', judge 'J': order is 'None'"),
        (change("truth_label", "1"), "item 'i0', judge 'J': truth_label is '1'"),
        (change("order", "ba"), "item 'i0', judge 'J', order ba: repeat 0 stands there twice"),
        (VerdictTable(pl.DataFrame({"judge": ["J"]})), "no column 'item', 'value', 'order'"),
        (
            VerdictTable(pl.DataFrame({"item": ["i"], "judge": ["J"], "order": ["ab"], "value": [3.0]})),
            "column 'value' holds Float64, not text",
        ),
        (
            joined(table([FIRST], question="better"), table([FIRST], question="safer")),
            "verdicts on several questions: ['better', 'safer']",
        ),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_by_name(broken: VerdictTable, message: str) -> None:
    with pytest.raises(DataError) as raised:
        tallies(broken)
    assert message in str(raised.value)
    assert raised.value.hint


def test_a_table_without_any_answer_is_described_not_refused() -> None:
    (finding,) = audit(table([Asked(None, None, None)] * 3))
    assert "none can have a preference" in finding.sentence
