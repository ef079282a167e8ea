"""Pass@k by judge, by judge and gate, and by execution: the four readings, the differences, the figures."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from voirdire.audits._replay_counts import OF_A_JUDGE, Arm, Reading, Replay
from voirdire.audits._replay_curves import (
    Curve,
    Difference,
    ceiling,
    chosen_ks,
    curve,
    difference,
    pairs,
    shown_pairs,
)
from voirdire.audits._replay_parsing import SAMPLES
from voirdire.audits._replay_rulings import moved, percent, reach, ruled
from voirdire.blocks import Block, Cell, FigureBlock, TableBlock
from voirdire.lines import PASS_GAP, PASS_MOVED
from voirdire.model import Estimate, Finding, FindingKind, Ruling
from voirdire.stats.paired import paired_mean

NAME = "pass_at_k"
POINTS = 24
"""Points of a curve that a figure draws."""


def findings(replay: Replay) -> list[Finding]:
    """Return one overview per judge (or one without judges), then one finding per judge and pair of arms."""
    judges: list[str | None] = [*replay.judges] or [None]
    overviews = [_overview(replay, judge) for judge in judges]
    gaps = [
        gap
        for judge in replay.judges
        if replay.executed
        for base, variant in shown_pairs(replay)
        if (gap := _gap(replay, judge, base, variant)) is not None
    ]
    return [*(one for one in overviews if one is not None), *gaps]


def _overview(replay: Replay, judge: str | None) -> Finding | None:
    arms = [arm for arm in replay.arms if judge is None or replay.has(judge, arm)]
    readings = replay.readings(judge)
    found = {(arm, reading): _curve(replay, arm, reading, judge) for arm in arms for reading in readings}
    drawn = {key: one for key, one in found.items() if one is not None}
    if not drawn:
        return None
    blocks: tuple[Block, ...] = (
        _four_readings(replay, judge, arms, drawn),
        *_two_panels(replay, judge),
        _all_curves(replay, judge, arms, drawn),
        _values(replay, judge, arms, drawn),
        *_compared(replay, judge),
    )
    return Finding(
        id=f"{NAME}/overview/{judge or SAMPLES}",
        kind=FindingKind.AUDIT,
        name=NAME,
        subject=f"{len(arms)} sets of samples",
        judge=judge or SAMPLES,
        sentence=_sentence(replay, judge, arms, drawn),
        blocks=blocks,
    )


Curves = dict[tuple[Arm, Reading], Curve]


def _curve(replay: Replay, arm: Arm, reading: Reading, judge: str | None) -> Curve | None:
    return curve(replay, arm, reading, judge if reading in OF_A_JUDGE else None)


def _sentence(replay: Replay, judge: str | None, arms: Sequence[Arm], drawn: Curves) -> str:
    worst = min(arms, key=lambda arm: replay.successes(arm, Reading.PARSING).rate or 0.0)
    share = replay.successes(worst, Reading.PARSING).rate
    said = [
        f"{reading} {one.value[-1]:.4f} at k = {len(one.value)}"
        for reading in replay.readings(judge)
        if (one := drawn.get((worst, reading))) is not None
    ]
    return f"Pass@k of {worst}, of which {percent(share)} parse: {', '.join(said)}."


def _four_readings(replay: Replay, judge: str | None, arms: Sequence[Arm], drawn: Curves) -> TableBlock:
    """Return the table that says it all: what parses, and Pass@k by each reading at the largest k."""
    readings = replay.readings(judge)
    rows: list[list[Cell]] = []
    for arm in arms:
        most = min(
            (len(drawn[arm, reading].value) for reading in readings if (arm, reading) in drawn), default=0
        )
        values = [drawn[arm, reading].at(most) if (arm, reading) in drawn else None for reading in readings]
        high = ceiling(replay, arm, judge, most) if judge is not None and replay.executed and most else None
        top = [None if high is None else float(high[-1])] if judge is not None and replay.executed else []
        rows.append([arm.author, arm.run, replay.successes(arm, Reading.PARSING).rate, most, *values, *top])
    saturated = ["if all were wrong"] if judge is not None and replay.executed else []
    return TableBlock(
        title=f"Four readings of the same samples{f': {judge}' if judge else ''}",
        columns=(
            "checkpoint",
            "pass",
            "parse share",
            "k",
            *(f"Pass@k by {reading}" for reading in readings),
            *saturated,
        ),
        rows=rows,
        note=(
            "Pass@k at the largest k that every problem has answers for. If all were wrong: what the judge would give by its "
            "acceptance of wrong samples alone, 1 - mean (1 - f)^k. A reading by a judge says what it accepts, not what is right."
        ),
    )


# --- figures ------------------------------------------------------------------------------------------


def _two_panels(replay: Replay, judge: str | None) -> list[FigureBlock]:
    """Return the right panel: the first checkpoint minus the most damaged one, by k, for every reading."""
    pair = _most_damaged(replay, judge)
    if pair is None:
        return []
    rows: list[dict[str, Cell]] = []
    for reading in replay.readings(judge):
        one = difference(replay, *pair, reading, judge if reading in OF_A_JUDGE else None, drawn=False)
        if one is not None:
            rows += [
                {"x": k, "y": at[0], "low": at[1], "high": at[2], "group": str(reading)}
                for k in _points(len(one.value))
                if (at := one.at(k)) is not None
            ]
    return [
        FigureBlock(
            title=f"Right panel: Pass@k of {pair[0]} minus {pair[1]}",
            kind="curve",
            rows=rows,
            options={"x_title": "k, log scale", "y_title": "difference in Pass@k", "log_x": True},
            caption="Bands: paired 95 % t intervals over problems. The left panel, what parses by pass, stands with the parse shares.",
        )
    ]


def _most_damaged(replay: Replay, judge: str | None) -> tuple[Arm, Arm] | None:
    """Return the first checkpoint and the one that parses least, in the same pass where there is such a pair."""
    asked = [arm for arm in replay.arms if judge is None or replay.has(judge, arm)]
    found = [pair for pair in shown_pairs(replay) if pair[0] in asked and pair[1] in asked]
    within = [pair for pair in found if pair[0].run == pair[1].run] or found
    return (
        min(within, key=lambda pair: replay.successes(pair[1], Reading.PARSING).rate or 0.0)
        if within
        else None
    )


def _all_curves(replay: Replay, judge: str | None, arms: Sequence[Arm], drawn: Curves) -> FigureBlock:
    """Return Pass@k for all k by every reading, of the first checkpoint and the one that parses least."""
    pair = _most_damaged(replay, judge)
    shown = [arm for arm in arms if pair is None or arm in pair]
    rows: list[dict[str, Cell]] = []
    for arm in shown:
        for reading in replay.readings(judge):
            one = drawn.get((arm, reading))
            if one is not None and reading is not Reading.RENAMED:
                rows += [
                    {"x": k, "y": one.at(k), "group": f"{arm}: {reading}"} for k in _points(len(one.value))
                ]
        high = (
            ceiling(replay, arm, judge, _most(drawn, arm)) if judge is not None and replay.executed else None
        )
        if high is not None and arm == shown[-1]:
            rows += [
                {"x": k, "y": float(high[k - 1]), "group": f"{arm}: if all were wrong"}
                for k in _points(len(high))
            ]
    return FigureBlock(
        title="Pass@k by what counts as a success",
        kind="curve",
        rows=rows,
        options={"x_title": "k, log scale", "y_title": "Pass@k", "log_x": True},
        caption="If all were wrong: how far acceptance of wrong samples alone carries Pass@k by the judge.",
    )


def _most(drawn: Curves, arm: Arm) -> int:
    return max((len(one.value) for (of, _), one in drawn.items() if of == arm), default=1)


def _points(most: int) -> list[int]:
    """Return k from 1 to `most`, all of them where few, else evenly spread on a log scale."""
    if most <= POINTS:
        return list(range(1, most + 1))
    return sorted({round(math.exp(step * math.log(most) / (POINTS - 1))) for step in range(POINTS)})


# --- tables -------------------------------------------------------------------------------------------


def _values(replay: Replay, judge: str | None, arms: Sequence[Arm], drawn: Curves) -> TableBlock:
    rows: list[list[Cell]] = []
    for (arm, reading), one in drawn.items():
        if arm not in arms:
            continue
        share = replay.successes(arm, Reading.PARSING).rate
        for k in chosen_ks(len(one.value)):
            at = [float(column[k - 1]) for column in (one.value, one.low, one.high)]
            rows.append(
                [arm.author, arm.run, share, str(reading), k, *at, len(one.counted.n), one.counted.missing]
            )
    return TableBlock(
        title=f"Pass@k with its interval{f': {judge}' if judge else ''}",
        columns=(
            "checkpoint",
            "pass",
            "parse share",
            "reading",
            "k",
            "Pass@k",
            "low",
            "high",
            "problems",
            "missing answers",
        ),
        rows=rows,
        note="Unbiased Pass@k, 95 % t interval for problems like these. Every k stands in pass_at_k.csv beside this page.",
    )


def _compared(replay: Replay, judge: str | None) -> list[TableBlock]:
    rows: list[list[Cell]] = []
    for base, variant in pairs(replay):
        for reading in replay.readings(judge):
            if reading in OF_A_JUDGE and not (
                judge and replay.has(judge, base) and replay.has(judge, variant)
            ):
                continue
            one = difference(replay, base, variant, reading, judge if reading in OF_A_JUDGE else None)
            if one is not None:
                rows += [_difference_row(one, k) for k in _few(len(one.value))]
    if not rows:
        return []
    return [
        TableBlock(
            title=f"Differences in Pass@k, problem by problem{f': {judge}' if judge else ''}",
            columns=(
                *("base", "variant", "reading", "k", "difference", "low", "high"),
                *("low, resampled", "high, resampled", "problems"),
            ),
            rows=rows,
            note=(
                "Base less variant over the problems of both: paired t interval, and beside it the percentile interval of 10,000 "
                "resamples of problems. Where no problem differs, 3/N is the bound. Every k stands in differences.csv."
            ),
        )
    ]


def _few(most: int) -> list[int]:
    """Return the k of the page's table: the first, one in the middle, the last."""
    return sorted({1, max(1, round(math.sqrt(most))), most}) if most else []


def _difference_row(one: Difference, k: int) -> list[Cell]:
    at = [float(column[k - 1]) for column in (one.value, one.low, one.high, one.drawn_low, one.drawn_high)]
    return [
        *(str(one.base), str(one.variant), str(one.reading), k),
        *(None if np.isnan(number) else number for number in at),
        one.problems,
    ]


# --- does the judge see what execution sees -----------------------------------------------------------


def _gap(replay: Replay, judge: str, base: Arm, variant: Arm) -> Finding | None:
    """Return whether the judge's difference between two arms is that of execution, at one attempt."""
    if not (replay.has(judge, base) and replay.has(judge, variant)):
        return None
    estimates = gap_of(replay, judge, base, variant)
    if estimates is None:
        return None
    gap, run, judged = estimates
    ruling, why = _ruled(gap, run)
    return Finding(
        id=f"{NAME}/{judge}/{base}/{variant}",
        kind=FindingKind.AUDIT,
        name=NAME,
        subject=f"{base} minus {variant}",
        judge=judge,
        sentence=(
            f"Pass@1 of {base} minus {variant}: judge {reach(judged)}, execution {reach(run)} over {gap.n} problems; "
            f"parse share {percent(_rate(replay, base))} and {percent(_rate(replay, variant))}: {why}."
        ),
        ruling=ruling,
        estimate=gap,
        line=PASS_GAP,
        control=run,
        control_line=PASS_MOVED,
    )


def _rate(replay: Replay, arm: Arm) -> float | None:
    return replay.successes(arm, Reading.PARSING).rate


def gap_of(replay: Replay, judge: str, base: Arm, variant: Arm) -> tuple[Estimate, Estimate, Estimate] | None:
    """Return, at one attempt: judge's difference less execution's, execution's, and the judge's own."""
    counted = [
        replay.successes(arm, reading, judge if reading is Reading.JUDGE else None)
        for reading in (Reading.JUDGE, Reading.EXECUTION)
        for arm in (base, variant)
    ]
    shared = [task for task in counted[0].tasks if all(task in set(one.tasks) for one in counted[1:])]
    if not shared:
        return None
    shares = [one.on(shared).c / one.on(shared).n for one in counted]
    judged, run = shares[0] - shares[1], shares[2] - shares[3]
    gap = paired_mean(judged - run, span=2.0, unit="problems")
    asked = {str(arm): one.asked for arm, one in zip((base, variant), counted[:2], strict=True)}
    missing = {str(arm): one.missing for arm, one in zip((base, variant), counted[:2], strict=True)}
    return (
        replace(gap, asked=asked, missing=missing),
        paired_mean(run, span=1.0, unit="problems"),
        paired_mean(judged, span=1.0, unit="problems"),
    )


def _ruled(gap: Estimate, run: Estimate) -> tuple[Ruling, str]:
    ruling = ruled(gap, PASS_GAP)
    if ruling is Ruling.LEAKS:
        return ruling, "the judge does not see what execution sees"
    if ruling is Ruling.HOLDS and not moved(run, PASS_MOVED):
        return (
            Ruling.UNRESOLVED,
            "they agree, but execution shows no difference that the judge could have missed",
        )
    if ruling is Ruling.HOLDS:
        return ruling, "the judge sees what execution sees"
    return ruling, "the interval of their gap reaches across the margin"
