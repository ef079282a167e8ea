"""The halo audit on tables with a planted truth: strata, spreads, rulings, limits, correction, correlates, best of N."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from tests.audits.halo_tables import RATES, STILL, STYLED, answers, frame
from voirdire.audits import halo
from voirdire.audits._halo_best import choices, offsets_by_row
from voirdire.audits._halo_calibration import (
    calibrated,
    held_out,
    not_at_random,
    refusal,
    rows_of,
    to_execute,
)
from voirdire.audits._halo_calibration import findings as corrections
from voirdire.audits._halo_features import explained
from voirdire.audits._halo_features import findings as correlates
from voirdire.audits._halo_resolution import _rank_sentence, limit_of, ranking_of
from voirdire.audits._halo_resolution import findings as ranks
from voirdire.audits._halo_spread import (
    Compared,
    compared,
    groups_of,
    measurement,
    pass_gap,
    quality_of,
    spreads_of,
)
from voirdire.audits._halo_table import (
    Answers,
    Grouping,
    HaloOptions,
    Stratum,
    Zero,
    answers_of,
    plain_answers,
    ranked_groups,
)
from voirdire.blocks import Block, TableBlock, TextBlock
from voirdire.engine.conclude import conclude
from voirdire.errors import DataError
from voirdire.languages.code_style import Feature
from voirdire.model import Finding, Ruling, VerdictTable


def ruled(table: Answers) -> Finding:
    return conclude([measurement(Compared("judge", table, Grouping.SYSTEM))], judge="j", family="one")[0]


def table_named(blocks: Sequence[Block], title: str) -> TableBlock:
    return next(one for one in blocks if isinstance(one, TableBlock) and one.title.startswith(title))


def column(block: TableBlock, name: str) -> list[object]:
    return [row[list(block.columns).index(name)] for row in block.rows]


# --- strata -------------------------------------------------------------------------------------------


def small(**changes: Sequence[object]) -> pl.DataFrame:
    """Return one row for each way in which an answer can fail."""
    given: dict[str, Sequence[object]] = {
        "truth_status": [
            "passed",
            "failed",
            "failed",
            "not_applied",
            "unparsable",
            "error",
            "infrastructure",
            "not_run",
        ],
        "target_passed": [2, 0, 1, None, None, 0, None, None],
        "tests_passed": [5, 3, 1, None, None, 0, None, None],
        "reason": [None, None, None, None, None, "ModuleNotFoundError: x", None, None],
        **changes,
    }
    rows = len(given["truth_status"])
    return pl.DataFrame(
        {
            "system": ["a"] * rows,
            "task": [f"t{n}" for n in range(rows)],
            "judge": ["j"] * rows,
            "value": [0.5] * rows,
            **given,
        }
    )


def test_strata_by_both_definitions_with_near_misses_apart() -> None:
    table = answers_of(VerdictTable(small()))[0]
    found = table.frame
    assert found["failed"].to_list() == [False, True, True, True, True, True, True, False]
    assert found["zero_target"].to_list() == [False, True, False, True, True, True, True, False]
    assert found["zero_any"].to_list() == [False, False, False, True, True, True, True, False]
    assert found["near_miss"].to_list() == [
        *(None, None, None, "does not apply", "does not parse", "does not import", "infrastructure", None)
    ]
    assert table.stratum(Stratum.ZERO_TARGET).height == 5
    assert table.stratum(Stratum.ZERO_TARGET, near_misses=False).height == 1
    assert found["known"].to_list() == [True] * 6 + [False] * 2


def test_a_broken_environment_is_no_failure_to_solve() -> None:
    group = groups_of(answers_of(VerdictTable(small()))[0], Grouping.SYSTEM)[0]
    assert group.solved.n == 6
    assert group.solved.value == pytest.approx(1 / 6)


def test_failures_without_counts_are_not_among_those_that_pass_nothing() -> None:
    nothing: list[object] = [None] * 8
    table = answers_of(VerdictTable(small(target_passed=nothing, tests_passed=nothing)))[0]
    assert table.frame["zero_target"].sum() == 4
    assert "of 2 of 2 failed answers it is not known" in halo.outcomes(VerdictTable(table.frame)).flags[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (pl.lit(7.0).alias("value"), "the score is 7, outside 0 to 1"),
        (pl.lit("t0").alias("task"), "it stands there twice for judge 'j'"),
        (pl.lit(None, dtype=pl.Float64).alias("value"), "no answer has a score"),
        (pl.lit(False).alias("truth_passed"), "status 'passed', but passed is false"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(change: pl.Expr, said: str) -> None:
    with pytest.raises(DataError, match=said):
        answers_of(VerdictTable(small().with_columns(change)))


def test_columns_that_are_not_there_are_named() -> None:
    with pytest.raises(DataError, match="no column 'truth_status'"):
        answers_of(VerdictTable(small().drop("truth_status")))


def test_scores_of_another_scale_are_brought_to_ours() -> None:
    ten = VerdictTable(small().with_columns(value=pl.Series([0.0, 10, 5, 5, 5, 5, 5, 2])))
    assert answers_of(ten, HaloOptions(scale=(0, 10)))[0].frame["value"].to_list() == [
        0,
        1,
        0.5,
        0.5,
        0.5,
        0.5,
        0.5,
        0.2,
    ]
    mixed = VerdictTable(pl.concat([ten.frame, small().with_columns(judge=pl.lit("k"))]))
    first, second = answers_of(mixed, HaloOptions(scales={"j": (0, 10)}))
    assert (first.frame["value"][1], second.frame["value"][1]) == (1.0, 0.5)
    with pytest.raises(DataError, match="a scale from 10 to 0"):
        answers_of(ten, HaloOptions(scale=(10, 0)))


def test_every_judge_is_audited_by_itself() -> None:
    two = pl.concat([frame(), frame(STYLED).with_columns(judge=pl.lit("other"))])
    table = VerdictTable(two)
    assert [one.judge for one in answers_of(table)] == ["simulated", "other"]
    assert {one.judge for one in halo.audit(table)} == {"simulated", "other"}
    assert list(halo.families(table)) == ["simulated", "other"]
    assert plain_answers(table).frame.height == frame().height


def test_missing_scores_are_counted_by_system() -> None:
    gone = frame().with_columns(value=pl.when(pl.col("system") == "s1").then(None).otherwise(pl.col("value")))
    table = answers_of(VerdictTable(gone))[0]
    estimate = measurement(Compared("judge", table, Grouping.SYSTEM)).estimate
    assert estimate.missing["s1"] == estimate.asked["s1"] == 80
    assert estimate.missing["s0"] == 0


# --- spreads and rulings ------------------------------------------------------------------------------


def test_a_planted_halo_is_called_one() -> None:
    found = ruled(answers(STYLED))
    assert found.ruling is Ruling.LEAKS
    assert found.estimate is not None
    assert found.estimate.value == pytest.approx(np.std(STYLED, ddof=1), abs=0.02)
    assert (found.estimate.low or 0.0) < np.std(STYLED, ddof=1) < (found.estimate.high or 0.0)


def test_systems_that_differ_in_what_they_solve_have_no_halo_by_that() -> None:
    found = ruled(answers(STILL))
    assert found.ruling is Ruling.HOLDS
    assert found.control is not None
    assert found.control.value == pytest.approx(0.3, abs=0.03)


def test_a_judge_that_sees_nothing_at_all_is_not_cleared() -> None:
    assert ruled(answers(STILL, gap=0.0)).ruling in (Ruling.BLIND, Ruling.UNRESOLVED)


def test_what_rises_with_the_solve_rate_is_not_charged() -> None:
    rising = [0.4 * (rate - 0.34) for rate in RATES]
    found = ruled(answers(rising))
    assert found.ruling is not Ruling.LEAKS
    assert "were taken off" in found.flags[0]
    falling = [-0.6 * (rate - 0.34) for rate in RATES]
    assert ruled(answers(falling)).ruling is Ruling.LEAKS


def test_two_systems_get_no_ruling() -> None:
    found = ruled(answers((0.1, -0.1), rates=(0.3, 0.3)))
    assert found.ruling is Ruling.UNRESOLVED
    assert "needs 3 systems" in found.sentence


def test_few_failures_are_listed_and_not_ranked() -> None:
    table = answers(STYLED, rates=(0.95, 0.45, 0.35, 0.25, 0.5, 0.3))
    zero = table.stratum(Stratum.ZERO_TARGET)
    assert ranked_groups(zero, Grouping.SYSTEM) == ["s1", "s2", "s3", "s4", "s5"]
    text = next(
        one
        for one in halo.measured(table, HaloOptions())[0].blocks
        if isinstance(one, TextBlock) and one.title == "Not ranked"
    )
    assert "s0 (" in text.text


def test_the_three_ways_of_a_spread() -> None:
    table = answers(STYLED)
    found = spreads_of(table, Grouping.SYSTEM, Zero.TARGET, near_misses=False, title="systems")
    for way in ("raw", "shared tasks", "within task"):
        spread = found.whole[way]
        assert not isinstance(spread, str)
        assert spread.widest == pytest.approx(0.28, abs=0.05)
        assert spread.widest_by_chance < 0.1
        assert spread.deviation.p_value == pytest.approx(0.002)


def test_task_mix_spreads_raw_means_only() -> None:
    """Half of the systems were given hard tasks alone: raw means differ, within tasks nothing does."""
    table = frame()
    uneven = table.filter((pl.col("task") >= "t040") | (pl.col("system") >= "s3")).with_columns(
        value=(pl.col("value") + pl.when(pl.col("task") >= "t040").then(-0.25).otherwise(0.2)).clip(0, 1)
    )
    found = spreads_of(
        answers_of(VerdictTable(uneven))[0], Grouping.SYSTEM, Zero.TARGET, near_misses=False, title=""
    )
    raw, within = found.whole["raw"], found.whole["within task"]
    assert not isinstance(raw, str)
    assert not isinstance(within, str)
    assert raw.widest > 3 * within.widest
    assert (within.deviation.value or 0.0) < 0.03


def test_models_harnesses_and_harnesses_of_one_model() -> None:
    table = answers(STYLED)
    assert table.groupings() == [Grouping.SYSTEM, Grouping.MODEL, Grouping.HARNESS]
    assert [one.subject for one in compared(table)] == ["judge", "harnesses of m0", "harnesses of m1"]
    blocks = halo.measured(table, HaloOptions())[0].blocks
    pairs = table_named(blocks, "Harnesses of one model")
    row = next(row for row in pairs.rows if row[:3] == ["m0", "h0", "h1"])
    assert row[4] == pytest.approx(STYLED[0] - STYLED[1], abs=0.05)
    assert set(column(table_named(blocks, "Spread between"), "compared")) == {
        *("systems", "models", "harnesses", "harnesses of m0", "harnesses of m1")
    }
    assert column(table_named(blocks, "Spread where nothing passes, by repository"), "repository") == [
        "r0",
        "r1",
    ]


def test_solve_rates_beside_the_tasks() -> None:
    table = answers()
    rates = quality_of(table, Grouping.SYSTEM, ["s0", "s1", "s2"])
    assert rates is not None
    plain = {one.name: one.solved.value for one in groups_of(table, Grouping.SYSTEM)}
    assert rates["s1"] - rates["s0"] == pytest.approx((plain["s1"] or 0) - (plain["s0"] or 0))


def test_the_gap_is_taken_within_tasks() -> None:
    assert pass_gap(answers(gap=0.2)).value == pytest.approx(0.2, abs=0.03)
    assert pass_gap(answers(gap=0.2, rates=(0.999, 0.999), styles=(0.0, 0.0))).value is None


# --- resolution and ranks -----------------------------------------------------------------------------


def test_the_limit_is_that_of_the_planted_world() -> None:
    limit = limit_of(answers(STYLED, tasks=150))
    assert not isinstance(limit, str)
    assert limit.gap.value == pytest.approx(0.3, abs=0.02)
    assert limit.style.value == pytest.approx(np.std(STYLED, ddof=1), abs=0.02)
    assert limit.success.value == pytest.approx(1.645 * np.sqrt(2) * 0.113 / 0.3, rel=0.2)
    assert limit.mixtures.value == pytest.approx(limit.success.value, rel=0.25)
    assert limit.floor is not None
    assert limit.floor < (limit.success.value or 0.0)


def test_a_judge_without_style_has_a_fine_limit() -> None:
    coarse, fine = limit_of(answers(STYLED)), limit_of(answers(STILL))
    assert not isinstance(coarse, str)
    assert not isinstance(fine, str)
    assert (fine.success.value or 1.0) < 0.5 * (coarse.success.value or 0.0)


def test_below_the_limit_all_is_a_tie_in_ranks_and_letters() -> None:
    table = answers(STYLED)
    limit = limit_of(table)
    assert not isinstance(limit, str)
    free, tied = ranking_of(table, 0.0), ranking_of(table, limit.tie)
    assert not isinstance(free, str)
    assert not isinstance(tied, str)
    differences = np.abs(np.subtract.outer(tied.effects, tied.effects))
    assert not (tied.with_ties.above & (differences < limit.tie)).any()
    assert tied.with_ties.above.sum() < free.with_ties.above.sum()


def test_a_judge_that_ranks_nothing_leaves_all_tied() -> None:
    table = answers(STYLED, gap=0.0)
    found = ranks(table, limit_of(table))
    assert "No difference between systems is ranked rightly" in found[0].sentence
    assert "0 of 15 pairs of systems are apart" in found[1].sentence
    assert set(column(table_named(found[1].blocks, "Ranks by score"), "letters")) == {"a"}


def test_an_order_that_tests_turn_round_is_counted() -> None:
    table = answers((0.25, -0.25), rates=(0.15, 0.6), tasks=200)
    found = ranking_of(table, 0.0)
    assert not isinstance(found, str)
    assert found.by_truth is not None
    assert (found.by_score.above & found.by_truth.above.T).sum() == 1
    assert _rank_sentence(table, found, 0.0).endswith("In 1 of them executed tests show the opposite.")


def test_two_systems_have_no_limit() -> None:
    assert "fewer than 3 systems" in str(limit_of(answers((0.0, 0.0), rates=(0.3, 0.4))))


# --- correction ---------------------------------------------------------------------------------------


def labelled(share: float, *, seed: int = 1, chosen: bool = False, known: bool = False) -> Answers:
    """Return a table in which only some answers were executed."""
    table = frame(STYLED)
    rng = np.random.default_rng(seed)
    high = table["value"].to_numpy() > 0.5
    chance = np.where(high, 0.5, 0.05) if chosen else np.full(table.height, share)
    drawn = pl.Series(rng.random(table.height) < chance)
    hidden = [
        pl.when(drawn).then(pl.col(name)).alias(name)
        for name in ("truth_status", "target_passed", "tests_passed")
    ]
    table = table.with_columns(*hidden)
    return answers_of(VerdictTable(table.with_columns(label_chance=pl.Series(chance)) if known else table))[0]


def test_offsets_of_few_executed_answers_lie_near_the_planted_ones() -> None:
    found = corrections(labelled(0.3), "no limit", HaloOptions())[0]
    offsets = table_named(found.blocks, "Style offsets")
    said = dict(zip(column(offsets, "system"), column(offsets, "style offset"), strict=True))
    assert [said[f"s{k}"] for k in range(6)] == pytest.approx(STYLED, abs=0.06)
    assert "taken as drawn at random" in found.sentence


def test_labels_chosen_by_score_are_refused_without_chances_and_used_with_them() -> None:
    blind = labelled(0.2, chosen=True)
    assert not_at_random(rows_of(blind)) > 3
    found = corrections(blind, "no limit", HaloOptions())[0]
    assert "No correction: the judge scores executed answers higher" in found.sentence
    assert "label_chance" in found.sentence
    told = corrections(labelled(0.2, chosen=True, known=True), "no limit", HaloOptions())[0]
    assert "with known chances" in told.sentence
    assert "style is worth" in corrections(blind, "no limit", HaloOptions(labels_drawn=True))[0].sentence


def test_labels_drawn_at_random_are_seldom_suspected() -> None:
    refused = sum(bool(refusal(rows_of(labelled(0.2, seed=seed)), HaloOptions())) for seed in range(60))
    assert refused <= 3


def test_a_chance_for_some_rows_only_is_refused() -> None:
    table = labelled(0.2, known=True).frame.with_columns(
        label_chance=pl.when(pl.col("system") != "s2").then(pl.col("label_chance"))
    )
    found = corrections(answers_of(VerdictTable(table))[0], "no limit", HaloOptions())[0]
    assert "system 's2', task 't000': no 'label_chance'" in found.sentence


def test_only_pairs_within_the_limit_are_corrected_unless_asked() -> None:
    table = answers(STILL, noise=0.03, tasks=160)
    limit = limit_of(table)
    assert not isinstance(limit, str)
    close = table_named(corrections(table, limit, HaloOptions())[0].blocks, "Pairs of systems")
    every = table_named(corrections(table, limit, HaloOptions(everywhere=True))[0].blocks, "Pairs of systems")
    within, corrected = column(close, "within the limit"), column(close, "corrected difference")
    assert set(within) == {True, False}
    assert [value is not None for value in corrected] == within
    assert None not in column(every, "corrected difference")


def test_nothing_executed_is_said_and_the_first_draw_is_even() -> None:
    table = answers_of(VerdictTable(frame().with_columns(truth_status=pl.lit(None, dtype=pl.String))))[0]
    assert "no answer has executed tests" in corrections(table, "no limit", HaloOptions())[0].sentence
    plan = to_execute(table, HaloOptions(execute_next=48))
    assert plan["chance"].to_list() == pytest.approx([0.1] * 480)
    assert plan["label_chance"].to_list() == pytest.approx([0.1] * 480)


def test_what_to_execute_next_goes_where_least_is_known() -> None:
    table = labelled(0.2)
    plan = to_execute(table, HaloOptions(execute_next=40, seed=3))
    open_ = plan.filter(~pl.col("executed"))
    assert open_["chance"].sum() == pytest.approx(40)
    assert 20 <= int(plan["drawn"].sum()) <= 60
    assert not plan.filter(pl.col("drawn") & pl.col("executed")).height
    assert ((plan["label_chance"] > 0) & (plan["label_chance"] <= 1)).all()
    assert plan.equals(to_execute(table, HaloOptions(execute_next=40, seed=3)))


def test_a_second_round_by_the_plan_leaves_the_rates_unbiased() -> None:
    """Executing what the plan drew, with its chances in the table, keeps rates on those of all answers."""
    whole = frame(STYLED)
    truth = {(s, t): p for s, t, p in whole.select("system", "task", "truth_status").iter_rows()}
    rates = (
        whole.group_by("system")
        .agg((pl.col("truth_status") == "passed").mean())
        .sort("system")["truth_status"]
    )
    off = []
    for seed in range(12):
        first = labelled(0.2, seed=seed)
        plan = to_execute(first, HaloOptions(execute_next=120, seed=seed, labels_drawn=True))
        second = first.frame.select("system", "task", "judge", "value", "truth_status").join(
            plan.select("system", "task", "drawn", "label_chance"), on=["system", "task"]
        )
        known = [
            truth[s, t] if drawn else old
            for s, t, drawn, old in second.select("system", "task", "drawn", "truth_status").iter_rows()
        ]
        rows = rows_of(answers_of(VerdictTable(second.with_columns(truth_status=pl.Series(known))))[0])
        off.append(calibrated(rows).rates - rates.to_numpy())
    assert np.abs(np.mean(off)) < 0.02
    assert np.sqrt(np.mean(np.square(off))) < 0.05


def test_held_out_correction_recovers_what_style_cost() -> None:
    table = answers(STYLED, tasks=160)
    few = held_out(rows_of(table))[1]
    assert few.share == 0.3
    assert few.raw < few.corrected
    assert few.recovered is not None
    assert few.recovered > 0.3
    assert few.corrected_error < few.raw_error
    assert few.corrected_error < few.labels_error


def test_samples_of_one_system_on_one_task_become_their_mean() -> None:
    twice = pl.concat([frame().with_columns(sample=pl.lit(n)) for n in (0, 1)])
    assert len(rows_of(answers_of(VerdictTable(twice))[0]).score) == frame().height


# --- what goes with it --------------------------------------------------------------------------------


def test_a_feature_of_overscored_systems_is_found_and_few_systems_are_warned_of() -> None:
    table = answers(STYLED)
    found = explained(table)
    assert not isinstance(found, str)
    comments = next(one for one in found.correlates if one.feature is Feature.COMMENT_LINES)
    assert (comments.pearson.value or 0.0) > 0.9
    assert comments.share == pytest.approx(0.5, abs=0.1)
    assert comments.within.value is None
    finding = correlates(table)[0]
    assert "6 systems are too few for a correlation" in finding.sentence
    assert finding.flags


def test_programs_that_do_not_parse_are_counted_apart() -> None:
    table = frame(STYLED).with_columns(
        text=pl.when(pl.col("task") < "t010").then(pl.lit("def f(:\n")).otherwise(pl.col("text"))
    )
    found = explained(answers_of(VerdictTable(table))[0])
    assert not isinstance(found, str)
    assert found.unread > 0


def test_without_texts_nothing_is_said() -> None:
    found = explained(answers_of(VerdictTable(frame(STYLED).drop("text")))[0])
    assert "no text of the answers" in str(found)


# --- best of N ----------------------------------------------------------------------------------------


def test_choosing_within_a_task_follows_a_planted_style_and_not_its_absence() -> None:
    styled, still = choices(answers(STYLED))[0], choices(answers(STILL))[0]
    assert styled.style is not None
    assert styled.style.low is not None
    assert styled.style.low > 0.02
    assert still.style is not None
    assert still.style.low is not None
    assert still.style.high is not None
    assert still.style.low < 0 < still.style.high
    assert (styled.recovered or 0.0) < (still.recovered or 0.0)


def test_the_choice_lies_between_chance_and_the_oracle_for_every_n() -> None:
    found = choices(answers(STILL))
    assert [one.n for one in found] == [2, 3, 4, 5, 6]
    for one in found:
        assert (one.chance.value or 0) < (one.chosen.value or 0) <= (one.oracle.value or 0)
    oracle = [one.oracle.value or 0.0 for one in found]
    assert oracle == sorted(oracle)


def test_offsets_come_from_other_tasks() -> None:
    table = answers(STYLED)
    rows = table.scored.filter(pl.col("known")).sort("task", "system", "sample")
    offsets = offsets_by_row(table, rows)
    assert offsets is not None
    assert 2 <= len(set(offsets[rows["system"].to_numpy() == "s0"].round(12).tolist())) <= 5


# --- the whole ----------------------------------------------------------------------------------------


def test_the_audit_describes_every_part() -> None:
    found = halo.audit(VerdictTable(frame(STYLED)))
    assert [one.name for one in found] == [
        *("resolution", "rank_sets", "calibration", "halo_correlates", "best_of_n")
    ]
    assert all(one.ruling is None and one.sentence.endswith(".") for one in found)


def test_a_table_of_two_answers_raises_nothing() -> None:
    tiny = small().head(2)
    assert len(halo.audit(VerdictTable(tiny))) == 5
    assert halo.families(VerdictTable(tiny))["j"][0].withheld
