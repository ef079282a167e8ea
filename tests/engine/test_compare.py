"""Two examinations as paired measurements: what is worse, what is noise, what cannot be compared."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.engine.scripted import asker_on, judge_for, outcome_items, reviewer
from voirdire.engine.compare import Aspect, Change, Comparison, compare, family_size
from voirdire.engine.conclude import conclude
from voirdire.engine.run import run_probe
from voirdire.judges.planted import planted_judge
from voirdire.lines import OUTCOME, POSITION, POSITION_CONTROL
from voirdire.model import Estimate, Expectation, Finding, FindingKind, Item, Judge, Probe, Ruling
from voirdire.probes.outcome import PROBE as OUTCOME_PROBE
from voirdire.stats.proportion import clopper_pearson_interval


def estimate(values: Sequence[float | None], *, read: Sequence[float] | None = None) -> Estimate:
    names = [f"item-{k}" for k in range(len(values))]
    there = [value for value in values if value is not None]
    return Estimate(
        sum(there) / len(there) if there else None,
        by_unit=dict(zip(names, values, strict=True)),
        read_by_unit=dict(zip(names, read or [1.0] * len(values), strict=True)),
    )


def finding(
    shifts: Sequence[float | None],
    ruling: Ruling | None,
    *,
    control: Sequence[float] | None = None,
    read: Sequence[float] | None = None,
    name: str = "position",
) -> Finding:
    return Finding(
        id=name,
        kind=FindingKind.PROBE,
        name=name,
        subject="judge",
        judge="j",
        sentence="",
        ruling=ruling,
        estimate=estimate(shifts, read=read),
        line=POSITION,
        control=estimate(control or [-1.0] * len(shifts)),
        control_line=POSITION_CONTROL,
    )


def only(comparisons: Sequence[Comparison]) -> Comparison:
    assert len(comparisons) == 1
    return comparisons[0]


STILL = [0.0] * 40
SHIFTED = [1.0] * 12 + [0.0] * 28


def test_a_leak_that_came_is_worse_and_one_that_went_is_better() -> None:
    came = only(compare([finding(STILL, Ruling.HOLDS)], [finding(SHIFTED, Ruling.LEAKS)]))
    assert came.change is Change.WORSE
    assert came.why.startswith("was holds, is leaks; first-slot advantage 0.00 before, 0.30 now")
    shift = came.differences[0]
    assert shift.aspect is Aspect.SHIFT
    assert shift.estimate.p_value == 2 / 2**12
    went = only(compare([finding(SHIFTED, Ruling.LEAKS)], [finding(STILL, Ruling.HOLDS)]))
    assert went.change is Change.BETTER


def test_the_same_examination_is_the_same() -> None:
    one = finding(SHIFTED, Ruling.LEAKS)
    found = only(compare([one], [one]))
    assert (found.change, found.lacking, found.further) == (Change.SAME, (), ())
    assert "within noise" not in found.why


def test_items_are_paired_where_two_intervals_side_by_side_would_see_nothing() -> None:
    generator = np.random.default_rng(2)
    own = generator.normal(0, 1, size=40) * 0.3
    before, now = (own - own.mean()).tolist(), (own - own.mean() + 0.12).tolist()
    found = only(compare([finding(before, Ruling.HOLDS)], [finding(now, Ruling.UNRESOLVED)]))
    assert found.change is Change.WORSE
    spread = 1.96 * np.std(before, ddof=1) / np.sqrt(40)
    assert 2 * spread > 0.12, "the two intervals overlap"


def test_a_ruling_that_flips_within_noise_is_no_regression() -> None:
    before = [0.0] * 30 + [1.0] * 6 + [-1.0] * 4
    now = [0.0] * 30 + [1.0] * 8 + [-1.0] * 2
    random.Random(3).shuffle(now)
    found = only(compare([finding(before, Ruling.HOLDS)], [finding(now, Ruling.UNRESOLVED)]))
    assert found.change is Change.SAME
    assert "was holds, is unresolved" in found.why
    assert "within noise" in found.why


def test_a_rounding_error_is_no_regression_however_sure_it_is() -> None:
    before, now = [POSITION.leak - 1e-7] * 400, [POSITION.leak + 1e-7] * 400
    found = only(compare([finding(before, Ruling.HOLDS)], [finding(now, Ruling.LEAKS)]))
    assert (found.differences[0].p_adjusted or 1.0) < 1e-3
    assert found.change is Change.SAME


def test_an_exact_rounding_error_of_a_deterministic_judge_is_none_either() -> None:
    def case(value: float, ruling: Ruling) -> Finding:
        exact = Estimate(value, exact=True, by_arm={"base": (3.0,), "variant": (3.0,)})
        return replace(finding(STILL, ruling), subject="case-1", estimate=exact, line=OUTCOME, control=None)

    near = only(compare([case(0.80 - 1e-9, Ruling.HOLDS)], [case(0.80 + 1e-9, Ruling.LEAKS)]))
    assert near.change is Change.SAME
    far = only(compare([case(0.5, Ruling.HOLDS)], [case(1.0, Ruling.LEAKS)]))
    assert far.change is Change.WORSE
    assert "(exact)" in far.why


def test_a_sure_small_change_within_the_line_is_moved() -> None:
    found = only(compare([finding([0.0] * 40, Ruling.HOLDS)], [finding([0.03] * 40, Ruling.HOLDS)]))
    assert found.change is Change.MOVED
    assert "crosses no line" in found.why


@pytest.mark.parametrize(("before", "now"), [(0.06, 0.15), (0.2, 0.35), (-0.06, 0.15)])
def test_a_shift_that_grew_past_its_line_or_by_as_much_is_worse_whatever_the_ruling(
    before: float, now: float
) -> None:
    old, new = (finding([value] * 40, Ruling.UNRESOLVED) for value in (before, now))
    assert only(compare([old], [new])).change is Change.WORSE


def test_a_shift_that_turned_to_the_other_side_moved() -> None:
    old, new = finding([-0.3] * 40, Ruling.LEAKS), finding([0.3] * 40, Ruling.LEAKS)
    assert only(compare([old], [new])).change is Change.MOVED


def test_a_judge_that_fell_asleep_is_worse_though_its_shift_did_not_move() -> None:
    old = finding(STILL, Ruling.HOLDS, control=[-0.8] * 40)
    new = finding(STILL, Ruling.BLIND, control=[0.0] * 40)
    found = only(compare([old], [new]))
    assert found.change is Change.WORSE
    assert "control" in found.why


def test_a_control_that_moves_more_is_not_worse() -> None:
    old = finding(STILL, Ruling.HOLDS, control=[-0.4] * 40)
    new = finding(STILL, Ruling.HOLDS, control=[-1.0] * 40)
    assert only(compare([old], [new])).change is Change.BETTER


def test_answers_that_can_be_read_less_often_are_worse() -> None:
    now = finding(STILL, Ruling.UNRESOLVED, read=[0.5] * 20 + [1.0] * 20)
    found = only(compare([finding(STILL, Ruling.HOLDS)], [now]))
    assert found.change is Change.WORSE
    assert "could be read 1.00 before, 0.75 now" in found.why


def test_one_more_missing_answer_is_noise() -> None:
    now = finding([None, *STILL[1:]], Ruling.HOLDS, read=[0.5] + [1.0] * 39)
    assert only(compare([finding(STILL, Ruling.HOLDS)], [now])).change is Change.SAME


def test_what_ought_to_move_is_worse_where_it_moves_less() -> None:
    old, new = (
        replace(finding([value] * 40, ruling), expect=Expectation.HIGHER) for value, ruling in MUST_MOVE
    )
    assert only(compare([old], [new])).change is Change.WORSE
    assert only(compare([new], [old])).change is Change.BETTER


MUST_MOVE = ((0.5, Ruling.HOLDS), (0.0, Ruling.LEAKS))


def test_findings_that_are_new_or_gone_are_told() -> None:
    here, there = finding(STILL, Ruling.HOLDS), finding(STILL, Ruling.LEAKS, name="length")
    found = compare([here], [there])
    assert [(one.name, one.change) for one in found] == [("position", Change.GONE), ("length", Change.NEW)]


def test_descriptions_without_a_ruling_are_left_out() -> None:
    assert compare([finding(STILL, None)], [finding(STILL, None)]) == []


def test_other_items_are_named_and_not_compared() -> None:
    now = finding([*STILL[:30], *STILL[:15]], Ruling.HOLDS)
    found = only(compare([finding(STILL, Ruling.HOLDS)], [now], texts_changed=["item-0"]))
    assert found.lacking == ("item-0",)
    assert found.further == tuple(f"item-{k}" for k in range(40, 45))
    assert found.differences[0].estimate.n == 39


def test_nothing_in_common_is_not_compared() -> None:
    old = finding(STILL, Ruling.HOLDS)
    new = replace(old, estimate=replace(estimate(STILL), by_unit={"other": 0.0}))
    found = only(compare([old], [new]))
    assert found.change is Change.NOT_COMPARED
    assert "no item in common" in found.why
    bare = replace(old, estimate=Estimate(0.0))
    assert "the baseline holds no values by item" in only(compare([bare], [new])).why
    assert only(compare([old], [finding([None] * 40, Ruling.UNRESOLVED)])).change is Change.NOT_COMPARED


def test_all_differences_that_could_be_tested_are_one_family() -> None:
    rippled = [0.01, -0.01] + [0.0] * 38
    shifted = [1.0] * 8 + [0.0] * 32
    many = [finding(STILL, Ruling.HOLDS, name=f"probe-{k}") for k in range(30)]
    before, now = many, [finding(rippled, Ruling.HOLDS, name=one.name) for one in many[1:]]
    alone = only(compare(before[:1], [finding(shifted, Ruling.LEAKS, name="probe-0")]))
    assert alone.change is Change.WORSE
    assert alone.differences[0].p_adjusted == 2 / 2**8
    found = compare(before, [finding(shifted, Ruling.LEAKS, name="probe-0"), *now])
    assert found[0].change is Change.SAME
    assert found[0].differences[0].p_adjusted == pytest.approx(30 * 2 / 2**8)
    assert family_size(found) == 30


# --- judges -----------------------------------------------------------------------------------------------


def examined(path: Path, probe: Probe, judge: Judge, items: Sequence[Item]) -> list[Finding]:
    with asker_on(path) as asker:
        run = asyncio.run(run_probe(probe, judge, items, asker, planted=planted_judge))
    return conclude(run.measurements, judge="j", family="page")


def test_a_judge_that_began_to_leak_is_caught_case_by_case(tmp_path: Path) -> None:
    items = outcome_items(3)
    before = examined(tmp_path / "a", OUTCOME_PROBE, judge_for(OUTCOME_PROBE, reviewer()), items)
    leaky = judge_for(OUTCOME_PROBE, reviewer(leak=3.0), seed=1)
    now = examined(tmp_path / "b", OUTCOME_PROBE, leaky, items)
    found = compare(before, now)
    assert [one.change for one in found[:3]] == [Change.WORSE] * 3
    again = judge_for(OUTCOME_PROBE, reviewer(), seed=2)
    same = compare(before, examined(tmp_path / "c", OUTCOME_PROBE, again, items))
    assert not [one for one in same if one.change in (Change.WORSE, Change.BETTER)]


def test_two_runs_of_one_judge_are_hardly_ever_called_worse() -> None:
    """Even where the ruling flips every time: at most 5 % of pairs of runs may show anything worse."""
    generator = np.random.default_rng(11)
    chances = generator.dirichlet([1, 4, 1], size=40)

    def examined_once(ruling: Ruling) -> Finding:
        shifts = [float(generator.choice([-1, 0, 1], p=chance)) for chance in chances]
        controls = [float(-(generator.random() < 0.7)) for _ in chances]
        return finding(shifts, ruling, control=controls)

    runs = 400
    worse = sum(
        only(compare([examined_once(Ruling.HOLDS)], [examined_once(Ruling.LEAKS)])).change is Change.WORSE
        for _ in range(runs)
    )
    assert clopper_pearson_interval(worse, runs, level=0.99)[0] <= 0.05
    assert worse > 0
