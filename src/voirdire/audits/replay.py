"""Replay: judge-scored samples read again, by parser, gate and execution, checkpoint by checkpoint and pass by pass.

A table with one row per sample and judge: which checkpoint and pass wrote it, whether it parses, whether it passed its
tests, what the judge said. The number to keep beside every judge's score is the share of samples that parse: a judge that
reads style approves of code that cannot run, and at many attempts its Pass@k says nothing at all.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from voirdire.audits import _replay_gate, _replay_parsing, _replay_pass
from voirdire.audits._replay_counts import NEEDS, Replay, replay_of
from voirdire.audits._replay_curves import Curve, Difference, curves, differences
from voirdire.audits._replay_rulings import corrected
from voirdire.model import Finding, VerdictTable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NEEDS", "audit", "curve_frame", "difference_frame"]

REFERENCES = (
    "Chen et al. 2021, Evaluating Large Language Models Trained on Code, arXiv:2107.03374",
    "Miller 2024, Adding Error Bars to Evals, arXiv:2411.00640",
)


def audit(table: VerdictTable) -> list[Finding]:
    """Return what the replay shows; rulings are corrected over all contrasts of one judge.

    Raises DataError as `_replay_counts.replay_of` does.
    """
    return audit_counted(replay_of(table))


def audit_counted(replay: Replay) -> list[Finding]:
    """Return the same from a table that was counted already."""
    found = [
        *_replay_parsing.findings(replay),
        *_replay_gate.findings(replay),
        *_replay_pass.findings(replay),
    ]
    beside = tuple(_replay_pass.side_by_side(replay))
    found[0] = replace(found[0], blocks=(*beside, *found[0].blocks))
    judges = list(dict.fromkeys(one.judge for one in found))
    return [
        replace(one, references=REFERENCES)
        for judge in judges
        for one in corrected([finding for finding in found if finding.judge == judge])
    ]


def curve_frame(replay: Replay) -> "pl.DataFrame":
    """Return Pass@k of every arm, reading and judge for every k, one row each."""
    return _concatenated([_curve_rows(one) for one in curves(replay)])


def difference_frame(replay: Replay) -> "pl.DataFrame":
    """Return every paired difference for every k, with both intervals, one row each."""
    return _concatenated([_difference_rows(one) for one in differences(replay)])


def _concatenated(frames: Sequence["pl.DataFrame"]) -> "pl.DataFrame":
    import polars as pl

    return pl.concat(frames) if frames else pl.DataFrame()


def _curve_rows(one: Curve) -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame(
        {
            "k": range(1, len(one.value) + 1),
            "pass_at_k": one.value,
            "low": one.low,
            "high": one.high,
        }
    ).select(
        *(
            _named("checkpoint", one.arm.author),
            _named("pass", one.arm.run),
            _named("reading", str(one.reading)),
        ),
        *(_named("judge", one.judge), pl.all(), pl.lit(len(one.counted.n)).alias("problems")),
        *(pl.lit(one.counted.asked).alias("samples"), pl.lit(one.counted.missing).alias("missing")),
    )


def _difference_rows(one: Difference) -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame(
        {
            "k": one.ks,
            "difference": one.value,
            "low": one.low,
            "high": one.high,
            "low_resampled": one.drawn_low,
            "high_resampled": one.drawn_high,
            "no_problem_differs": one.still,
        }
    ).select(
        *(
            _named("base", str(one.base)),
            _named("variant", str(one.variant)),
            _named("reading", str(one.reading)),
        ),
        *(_named("judge", one.judge), pl.all(), pl.lit(one.problems).alias("problems")),
    )


def _named(name: str, text: str | None) -> "pl.Expr":
    import polars as pl

    return pl.lit(text, dtype=pl.String).alias(name)
