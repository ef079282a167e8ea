"""The published figures of a replay, planted in simulated samples and recovered by the audit.

Source: the replay audit of judge-scored generations of Qwen2.5-7B-Instruct (421 problems, three checkpoints, two runs of 32
and 128 samples), as far as its figures are published. Levels of Pass@1 are not; their differences are.
"""

from functools import cache

import pytest

from tools.simulate_replay import FIRST, SECOND, STRONG, WEAK, simulate, simulate_dose
from voirdire.audits import replay, replay_dose
from voirdire.audits._replay_counts import Arm, Reading, Replay, replay_of
from voirdire.audits._replay_curves import (
    Curve,
    Difference,
    curve,
    difference,
    with_resampled,
)
from voirdire.audits._replay_gate import gate_of
from voirdire.model import Finding, Ruling

BASE, CE, SLJ = (Arm(author, SECOND) for author in ("base", "CE", "SLJ"))
ROUNDING = 1 / 421
"""One problem."""

FULL = pytest.param((32, 128), marks=pytest.mark.slow)
SMALL = pytest.param((8, 32))

sizes = pytest.mark.parametrize("samples", [SMALL, FULL])


@cache
def counted(samples: tuple[int, int]) -> Replay:
    return replay_of(simulate(samples).table)


def of(samples: tuple[int, int], arm: Arm, reading: Reading, judge: str | None = None) -> Curve:
    found = curve(counted(samples), arm, reading, judge)
    assert found is not None
    return found


def between(samples: tuple[int, int], reading: Reading, judge: str | None = None) -> Difference:
    found = difference(counted(samples), BASE, SLJ, reading, judge)
    assert found is not None
    return with_resampled([found])[0]


def near(value: object, published: float, tolerance: float) -> bool:
    return isinstance(value, float) and abs(value - published) <= tolerance


@sizes
@pytest.mark.parametrize(
    ("author", "first", "second"), [("base", 0.0039, 0.0040), ("CE", 0.0042, 0.6304), ("SLJ", 0.0042, 0.6690)]
)
def test_shares_not_parsing(samples: tuple[int, int], author: str, first: float, second: float) -> None:
    for run, published in ((FIRST, first), (SECOND, second)):
        rate = counted(samples).successes(Arm(author, run), Reading.PARSING).rate
        assert rate is not None
        assert near(1 - rate, published, 0.0005)


@sizes
@pytest.mark.parametrize(
    ("arm", "published"), [(BASE, (0.001, 0.006)), (CE, (0.648, 0.619)), (SLJ, (0.684, 0.660))]
)
def test_shares_not_parsing_by_suite(
    samples: tuple[int, int], arm: Arm, published: tuple[float, float]
) -> None:
    problems = counted(samples).problems(arm)
    for suite, share in zip(counted(samples).suites, published, strict=True):
        part = problems.filter(problems["suite"] == suite)
        assert near(1 - int(part["parsing"].sum()) / int(part["n"].sum()), share, 0.001)


@sizes
@pytest.mark.parametrize(
    ("arm", "judge", "gated", "execution"),
    [(BASE, 0.9715, 0.9715, 0.4418), (CE, 0.9525, 0.6627, 0.3017), (SLJ, 0.9644, 0.6651, 0.2827)],
)
def test_four_readings(
    samples: tuple[int, int], arm: Arm, judge: float, gated: float, execution: float
) -> None:
    assert near(float(of(samples, arm, Reading.JUDGE, STRONG).value[-1]), judge, ROUNDING / 2)
    assert near(float(of(samples, arm, Reading.GATED, STRONG).value[-1]), gated, ROUNDING / 2)
    assert near(float(of(samples, arm, Reading.EXECUTION).value[-1]), execution, ROUNDING / 2)


@sizes
def test_differences_with_their_intervals(samples: tuple[int, int]) -> None:
    judge, run = between(samples, Reading.JUDGE, STRONG), between(samples, Reading.EXECUTION)
    for found, value, low, high in ((judge, 0.0071, -0.012, 0.026), (run, 0.1591, 0.121, 0.200)):
        assert near(float(found.value[-1]), value, ROUNDING / 2)
        assert near(float(found.drawn_low[-1]), low, 0.0025)
        assert near(float(found.drawn_high[-1]), high, 0.0025)
        assert near(float(found.low[-1]), low, 0.0035)
        assert near(float(found.high[-1]), high, 0.0035)
    assert near(float(judge.value[0]), 0.1601, 0.002)
    assert near(float(run.value[0]), 0.2232, 0.002)


@sizes
def test_what_the_judge_accepts_and_what_the_gate_costs(samples: tuple[int, int]) -> None:
    healthy, damaged = (gate_of(counted(samples), arm, STRONG) for arm in (BASE, SLJ))
    assert near(damaged.parsing, 0.8335, 0.001)
    assert near(damaged.broken, 0.6056, 0.001)
    assert near(damaged.unrunnable, 0.5949, 0.001)
    assert near(damaged.cost, 0.4051, 0.001)
    assert near(healthy.broken, 0.4769, 0.01)
    assert near(healthy.unrunnable, 0.0023, 0.0002)
    assert near(healthy.cost, 0.0019, 0.0002)
    assert near(gate_of(counted(samples), SLJ, WEAK).broken, 0.304, 0.001)
    assert near(gate_of(counted(samples), CE, WEAK).broken, 0.280, 0.001)


@pytest.mark.slow
def test_the_judge_between_the_runs_at_32() -> None:
    samples = (32, 128)
    first, second = (of(samples, Arm("SLJ", run), Reading.JUDGE, STRONG).at(32) for run in (FIRST, SECOND))
    assert near(first, 0.9667, ROUNDING / 2)
    assert near(second, 0.9395, 0.001)
    weak = [of(samples, Arm("SLJ", run), Reading.JUDGE, WEAK).at(32) or 0.0 for run in (FIRST, SECOND)]
    assert near(weak[0] - weak[1], 0.16, 0.005)


@pytest.mark.slow
def test_no_broken_sample_has_credit_and_none_is_lost_on_the_way() -> None:
    replayed = counted((32, 128))
    broken = sum(replayed.total(arm, "n") - replayed.total(arm, "parsing") for arm in (BASE, CE, SLJ))
    assert broken == 70_239
    assert sum(replayed.total(arm, "broken_passed") for arm in replayed.arms) == 0


@sizes
def test_other_extraction_and_kinds_of_fault(samples: tuple[int, int]) -> None:
    frame = counted(samples).samples
    part = frame.filter((frame["author"] == "SLJ") & (frame["pass"] == SECOND))
    last, any_block = int(part["parses"].sum()), int(part["parses_any"].sum())
    assert near(any_block / part.height, 0.3312, 0.0002)
    assert 0 < any_block - last < 0.0004 * part.height
    kinds = part.filter(~part["parses"])["parse_kind"]
    closing = int(kinds.is_in(["unmatched closing bracket", "mismatched bracket"]).sum())
    assert near(closing / len(kinds), 0.986, 0.0005)
    assert int((kinds == "cut off").sum()) == 1


@sizes
def test_rulings(samples: tuple[int, int]) -> None:
    found = replay.audit_counted(counted(samples))

    def ruled(name: str, subject: str, judge: str = "samples") -> Ruling | None:
        (one,) = [one for one in found if (one.name, one.subject, one.judge) == (name, subject, judge)]
        return one.ruling

    assert ruled("parse_share", f"base: {FIRST} to {SECOND}") is Ruling.HOLDS
    assert ruled("parse_share", f"SLJ: {FIRST} to {SECOND}") is Ruling.LEAKS
    assert ruled("parse_gate", "judge", STRONG) is Ruling.LEAKS
    assert ruled("pass_at_k", f"{BASE} minus {SLJ}, k = {samples[1]}", STRONG) is Ruling.LEAKS


def dosed(samples: int) -> list[Finding]:
    return replay_dose.audit(simulate_dose(samples))


def test_a_dose_of_brackets_moves_the_parse_share_and_not_the_judge() -> None:
    levels = replay_dose.levels(simulate_dose(64), STRONG)
    base, brackets = levels[0], [one for one in levels if one.edit == replay_dose.BRACKET]
    assert [one.parsing for one in brackets] == pytest.approx(
        [0.893, 0.795, 0.697, 0.597, 0.497, 0.399], abs=0.006
    )
    assert max(abs(float(one.judged[31] - base.judged[31])) for one in brackets) <= 0.0024
    rulings = {one.subject: one.ruling for one in dosed(64)}
    assert rulings[replay_dose.BRACKET] is Ruling.LEAKS
    assert rulings["deleted return"] is Ruling.HOLDS
