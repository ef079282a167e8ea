"""Pass@k by judge, by judge and gate, and by execution: the four readings, the differences, the figures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voirdire.audits._replay_counts import OF_A_JUDGE, Arm, Reading, Replay
from voirdire.audits._replay_curves import (
    Curve,
    Difference,
    ceiling,
    chosen_ks,
    curve,
    difference,
    pairs,
    pass_at_every_k,
    shown_pairs,
    with_resampled,
)
from voirdire.audits._replay_gate import gate_of
from voirdire.audits._replay_parsing import SAMPLES, by_pass
from voirdire.audits._replay_rulings import counted as counted_of
from voirdire.audits._replay_rulings import moved, percent, reach, ruled
from voirdire.blocks import Block, Cell, FigureBlock, TableBlock
from voirdire.lines import PASS_GAP, PASS_MOVED
from voirdire.model import Estimate, Finding, FindingKind, Ruling
from voirdire.stats.paired import paired_mean

NAME = "pass_at_k"
POINTS = 24
"""Points of a curve that a figure draws."""

IN_TABLES_ALONE = frozenset({Reading.APART, Reading.RENAMED})
"""Readings that figures leave out, where they would lie on that of execution."""

BESIDE = (
    " Execution counts samples whose tests ran beside them (`proof: shared`), where known forgeries earn credit; tests apart "
    "alone counts those as not passed."
)


def findings(replay: Replay) -> list[Finding]:
    """Return one overview per judge (or one without judges), then one finding per judge and pair of arms."""
    judges: list[str | None] = [*replay.judges] or [None]
    overviews = [_overview(replay, judge) for judge in judges]
    gaps = [one for judge in replay.judges if replay.executed for one in _gap_findings(replay, judge)]
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
        subject=counted_of(len(arms), "set") + " of samples",
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
    return f"Pass@k of {worst}, of which {percent(share)} parse: {', '.join(said) or 'no sample of it has an answer'}."


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
            + (BESIDE if replay.beside else "")
        ),
    )


def side_by_side(replay: Replay) -> list[TableBlock]:
    """Return all judges in one table, arm by arm; none where there are fewer than two."""
    if len(replay.judges) < 2:
        return []
    rows: list[list[Cell]] = []
    for arm in replay.arms:
        run = curve(replay, arm, Reading.EXECUTION) if replay.executed else None
        for judge in replay.judges:
            if not replay.has(judge, arm):
                continue
            gate = gate_of(replay, arm, judge)
            judged, gated = (curve(replay, arm, reading, judge) for reading in (Reading.JUDGE, Reading.GATED))
            rows.append(
                [
                    *(
                        arm.author,
                        arm.run,
                        judge,
                        replay.successes(arm, Reading.PARSING).rate,
                        gate.parsing,
                        gate.broken,
                    ),
                    *(cell for one in (judged, gated, run) for cell in _ends(one)),
                ]
            )
    return [
        TableBlock(
            title="Judges side by side",
            columns=(
                *(
                    "checkpoint",
                    "pass",
                    "judge",
                    "parse share",
                    "accepted of parsing",
                    "accepted of not parsing",
                ),
                *("judge, k = 1", "judge, most k", "judge and gate, k = 1", "judge and gate, most k"),
                *("execution, k = 1", "execution, most k"),
            ),
            rows=rows,
            note="Pass@k at one attempt, and at the largest k that every problem has answers for.",
        )
    ]


def _ends(one: Curve | None) -> tuple[float | None, float | None]:
    return (None, None) if one is None else (float(one.value[0]), float(one.value[-1]))


# --- figures ------------------------------------------------------------------------------------------


def _two_panels(replay: Replay, judge: str | None) -> list[FigureBlock]:
    """Return what parses by pass and, beside it, the first checkpoint minus the most damaged one, by k and reading."""
    left, options = by_pass(replay)
    what_parses = "Share of samples that do not parse"
    rows: list[dict[str, Cell]] = [{"panel": what_parses, **row} for row in left]
    panels: list[dict[str, object]] = [{"name": what_parses, **options}]
    pair = _most_damaged(replay, judge)
    if pair is not None:
        by_k = f"Pass@k of {pair[0]} minus {pair[1]}"
        rows += [{"panel": by_k, **row} for row in _difference_points(replay, judge, pair)]
        panels.append({"name": by_k, "x_title": "k, log scale", "y_title": "difference", "log_x": True})
    if not rows:
        return []
    return [
        FigureBlock(
            title="What parses, and what each reading sees of it",
            kind="panels",
            rows=rows,
            options={"panels": panels},
            caption=(
                "Bands: 95 % intervals over problems, of differences paired. Where what parses falls, a judge that reads code "
                "would show the difference that execution shows."
            ),
        )
    ]


def _difference_points(replay: Replay, judge: str | None, pair: tuple[Arm, Arm]) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for reading in replay.readings(judge):
        asked = judge if reading in OF_A_JUDGE else None
        one = difference(replay, *pair, reading, asked, ks=_points)
        if one is not None and reading not in IN_TABLES_ALONE:
            rows += [
                {"x": int(k), "y": float(y), "low": float(low), "high": float(high), "group": str(reading)}
                for k, y, low, high in zip(one.ks, one.value, one.low, one.high, strict=True)
            ]
    return rows


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
    """Return Pass@k for all k by every reading, of the first checkpoint and of the one that parses least."""
    pair = _most_damaged(replay, judge)
    shown = [arm for arm in arms if pair is None or arm in pair]
    rows: list[dict[str, Cell]] = []
    for arm in shown:
        for reading in replay.readings(judge):
            one = drawn.get((arm, reading))
            if one is not None and reading not in IN_TABLES_ALONE:
                rows += _points_of(str(arm), str(reading), one.value)
        high = (
            ceiling(replay, arm, judge, _most(drawn, arm)) if judge is not None and replay.executed else None
        )
        if high is not None:
            rows += _points_of(str(arm), "judge, if all were wrong", high)
    axes = {"x_title": "k, log scale", "y_title": "Pass@k", "log_x": True}
    return FigureBlock(
        title="Pass@k by what counts as a success",
        kind="panels",
        rows=rows,
        options={"panels": [{"name": str(arm), **axes} for arm in shown]},
        caption="If all were wrong: how far acceptance of wrong samples alone carries Pass@k by the judge.",
    )


def _points_of(panel: str, group: str, values: NDArray[np.float64]) -> list[dict[str, Cell]]:
    return [{"panel": panel, "x": k, "y": float(values[k - 1]), "group": group} for k in _points(len(values))]


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
    found = [
        difference(replay, base, variant, reading, judge if reading in OF_A_JUDGE else None, ks=_few)
        for base, variant in pairs(replay)
        for reading in replay.readings(judge)
        if reading not in OF_A_JUDGE or _asked_about(replay, judge, base, variant)
    ]
    drawn = with_resampled([one for one in found if one is not None])
    rows = [_difference_row(one, place) for one in drawn for place in range(len(one.ks))]
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


def _asked_about(replay: Replay, judge: str | None, *arms: Arm) -> bool:
    return judge is not None and all(replay.has(judge, arm) for arm in arms)


def _few(most: int) -> list[int]:
    """Return the k of the page's table: the first, one in the middle, the last."""
    return sorted({1, max(1, round(math.sqrt(most))), most}) if most else []


def _difference_row(one: Difference, place: int) -> list[Cell]:
    columns = (one.value, one.low, one.high, one.drawn_low, one.drawn_high)
    at = [float(column[place]) for column in columns]
    return [
        *(str(one.base), str(one.variant), str(one.reading), int(one.ks[place])),
        *(None if np.isnan(number) else number for number in at),
        one.problems,
    ]


# --- does the judge see what execution sees -----------------------------------------------------------


@dataclass(frozen=True)
class Gap:
    """Base minus variant at one k: by the judge less by execution, by execution, and by the judge."""

    k: int
    gap: Estimate
    run: Estimate
    judged: Estimate


def gaps_of(replay: Replay, judge: str, base: Arm, variant: Arm) -> list[Gap]:
    """Return the gap at one attempt and at the most attempts that all shared problems have answers for."""
    if not (replay.has(judge, base) and replay.has(judge, variant)):
        return []
    counted = [
        replay.successes(arm, reading, judge if reading is Reading.JUDGE else None)
        for reading in (Reading.JUDGE, Reading.EXECUTION)
        for arm in (base, variant)
    ]
    known = [set(one.tasks) for one in counted]
    shared = [task for task in counted[0].tasks if all(task in tasks for tasks in known)]
    if not shared:
        return []
    counted = [one.on(shared) for one in counted]
    most = min(one.most for one in counted)
    curves = [pass_at_every_k(one.n, one.c, most=most) for one in counted]
    arms = (str(base), str(variant))
    asked = dict(zip(arms, (one.asked for one in counted[:2]), strict=True))
    missing = dict(zip(arms, (one.missing for one in counted[:2]), strict=True))
    found = []
    for k in sorted({1, most}):
        judged, run = (curves[place][:, k - 1] - curves[place + 1][:, k - 1] for place in (0, 2))
        gap = paired_mean(judged - run, span=2.0, unit="problems")
        by_run, by_judge = (paired_mean(moved, span=1.0, unit="problems") for moved in (run, judged))
        found.append(Gap(k, replace(gap, asked=asked, missing=missing), run=by_run, judged=by_judge))
    return found


def _gap_findings(replay: Replay, judge: str) -> list[Finding]:
    return [
        _gap_finding(replay, judge, base, variant, one)
        for base, variant in shown_pairs(replay)
        for one in gaps_of(replay, judge, base, variant)
    ]


def _gap_finding(replay: Replay, judge: str, base: Arm, variant: Arm, one: Gap) -> Finding:
    """Return whether the judge's difference between two arms is that of execution."""
    ruling, why = _ruled(one)
    parsing = [percent(replay.successes(arm, Reading.PARSING).rate) for arm in (base, variant)]
    return Finding(
        id=f"{NAME}/{judge}/{base}/{variant}/{one.k}",
        kind=FindingKind.AUDIT,
        name=NAME,
        subject=f"{base} minus {variant}, k = {one.k}",
        judge=judge,
        sentence=(
            f"Pass@{one.k} of {base} ({parsing[0]} parse) minus {variant} ({parsing[1]}), {one.gap.n} problems, "
            f"by judge {reach(one.judged)}, by execution {reach(one.run)}: {why}."
        ),
        ruling=ruling,
        estimate=one.gap,
        line=PASS_GAP,
        control=one.run,
        control_line=PASS_MOVED,
    )


def _ruled(one: Gap) -> tuple[Ruling, str]:
    ruling = ruled(one.gap, PASS_GAP)
    if ruling is Ruling.LEAKS:
        return ruling, "the judge does not see what execution sees"
    if ruling is Ruling.HOLDS and not moved(one.run, PASS_MOVED):
        return (
            Ruling.UNRESOLVED,
            "they agree, but execution shows no difference that the judge could have missed",
        )
    if ruling is Ruling.HOLDS:
        return ruling, "the judge sees what execution sees"
    return ruling, "the interval of their gap reaches across the margin"
