"""The dose audit: what is damaged, what is approved of again, and who notices."""

import polars as pl
import pytest

from voirdire.audits import replay_dose
from voirdire.audits.replay_dose import BRACKET, levels
from voirdire.errors import DataError
from voirdire.model import Ruling, VerdictTable

PROBLEMS, SAMPLES = 40, 5


def frame(edit: str, dose: float, *, kept: float, breaks: bool = True) -> pl.DataFrame:
    """Return samples of which the first `dose` are damaged; of their approvals the first `kept` are given again."""
    damaged = round(dose * SAMPLES)
    return pl.DataFrame(
        [
            {
                "task": f"t{problem}",
                "sample": sample,
                "edit": edit,
                "dose": dose,
                "judge": "strong",
                "damaged": sample < damaged,
                "parses": not (breaks and sample < damaged),
                "value": float(sample >= damaged or sample < kept * damaged),
            }
            for problem in range(PROBLEMS)
            for sample in range(SAMPLES)
        ]
    )


def table(*frames: pl.DataFrame) -> VerdictTable:
    return VerdictTable(pl.concat([frame("", 0.0, kept=1.0), *frames]))


def test_a_judge_that_approves_again_does_not_see_the_bracket() -> None:
    (found,) = replay_dose.audit(table(frame(BRACKET, 0.2, kept=1.0), frame(BRACKET, 0.6, kept=1.0)))
    assert (found.name, found.ruling) == ("brackets", Ruling.LEAKS)
    assert (
        "from 100.00 % to 40.00 %, Pass@5 by the judge moves by +0.0000, Pass@1 by +0.0000" in found.sentence
    )


def test_a_judge_that_takes_its_approvals_back_sees_it() -> None:
    (found,) = replay_dose.audit(table(frame(BRACKET, 0.6, kept=0.0)))
    assert found.ruling is Ruling.HOLDS
    assert found.estimate is not None
    assert found.estimate.value == 1.0
    assert "Pass@1 by -0.6000" in found.sentence


def test_damage_that_must_move_is_a_finding_of_its_own() -> None:
    found = replay_dose.audit(
        table(frame(BRACKET, 0.6, kept=1.0), frame("deleted return", 0.6, kept=0.0, breaks=False))
    )
    assert [(one.name, one.subject, one.ruling) for one in found] == [
        ("brackets", BRACKET, Ruling.LEAKS),
        ("damage", "deleted return", Ruling.HOLDS),
    ]


def test_levels_hold_parse_share_and_pass_at_k() -> None:
    base, low, high = levels(table(frame(BRACKET, 0.2, kept=0.0), frame(BRACKET, 0.6, kept=0.0)), "strong")
    assert (base.parsing, low.parsing, high.parsing) == (1.0, 0.8, 0.4)
    assert high.judged.tolist() == pytest.approx([0.4, 0.7, 0.9, 1.0, 1.0])
    assert high.kept.value == 0.0


def test_missing_answers_are_counted_and_not_taken_for_refusals() -> None:
    gone = frame(BRACKET, 0.6, kept=1.0).with_columns(
        value=pl.when((pl.col("sample") == 0) & pl.col("damaged")).then(None).otherwise(pl.col("value"))
    )
    (_, level) = levels(table(gone), "strong")
    assert (level.missing, level.kept.value) == (PROBLEMS, 1.0)


def test_without_undamaged_samples_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(DataError, match="no undamaged samples"):
        replay_dose.audit(VerdictTable(frame(BRACKET, 0.6, kept=1.0)))


def test_a_judge_that_never_answers_gives_a_page_and_no_ruling() -> None:
    whole = table(frame(BRACKET, 0.2, kept=1.0), frame(BRACKET, 0.6, kept=1.0)).frame
    silent = VerdictTable(whole.with_columns(value=pl.lit(None, dtype=pl.Float64)))
    (found,) = replay_dose.audit(silent)
    assert found.ruling is Ruling.UNRESOLVED
    assert "nothing was judged" in found.sentence
