"""Halo: do a judge's scores follow who wrote an answer where nothing of it works?

Reads a table with system, task, score and what came of running each answer. Systems whose answers pass nothing have
earned nothing; where their scores differ all the same, averages over tasks compare style. Beside that stand what goes with
it, the differences that the judge can tell at all, corrected solve rates from few executed answers, and best of N.
"""

from collections.abc import Sequence
from dataclasses import replace

from voirdire.audits import _halo_best, _halo_calibration, _halo_features, _halo_resolution, _halo_spread
from voirdire.audits._halo_resolution import limit_of
from voirdire.audits._halo_spread import compared, measurement
from voirdire.audits._halo_table import NEEDS, Answers, HaloOptions, answers_of, plain_answers
from voirdire.audits._replay_rulings import counted
from voirdire.blocks import Cell, TableBlock
from voirdire.model import Finding, FindingKind, Measurement, VerdictTable

__all__ = ["NEEDS", "HaloOptions", "audit", "families", "outcomes"]

NAME = "zero_pass"


def audit(table: VerdictTable, *, options: HaloOptions | None = None) -> list[Finding]:
    """Return what is described of every judge, without rulings (see `families`).

    Raises DataError as `_halo_table.answers_of` does.
    """
    chosen = options or HaloOptions()
    return [one for answers in answers_of(table, chosen) for one in described(answers, chosen)]


def described(answers: Answers, options: HaloOptions) -> list[Finding]:
    """Return what is described of one judge: ranks, resolution limit, correction, what explains it, best of N."""
    limit = limit_of(answers, seed=options.seed)
    return [
        *_halo_resolution.findings(answers, limit, seed=options.seed),
        *_halo_calibration.findings(answers, limit, options),
        *_halo_features.findings(answers),
        *_halo_best.findings(answers, seed=options.seed),
    ]


def families(table: VerdictTable, *, options: HaloOptions | None = None) -> dict[str, list[Measurement]]:
    """Return the spreads to be ruled on, by judge: one family of tests each, the first with all tables."""
    chosen = options or HaloOptions()
    return {answers.judge: measured(answers, chosen) for answers in answers_of(table, chosen)}


def measured(answers: Answers, options: HaloOptions) -> list[Measurement]:
    """Return one judge's spreads, ready for rulings."""
    found = [measurement(one, seed=options.seed) for one in compared(answers)]
    blocks = _halo_spread.blocks_of(answers, seed=options.seed)
    return [replace(found[0], blocks=blocks), *found[1:]]


def outcomes(table: VerdictTable) -> Finding:
    """Return what came of the answers, whoever judges them: solve rates and how many pass nothing."""
    answers = plain_answers(table)
    run, passed = int(answers.frame["known"].sum()), int(answers.frame["truth_passed"].fill_null(False).sum())
    zero = int(answers.frame["zero_target"].sum())
    return Finding(
        id="outcomes/answers",
        kind=FindingKind.AUDIT,
        name="outcomes",
        subject="answers",
        judge="",
        sentence=(
            f"{counted(answers.frame.height, 'answer')} of {counted(answers.frame['system'].n_unique(), 'system')} to "
            f"{counted(answers.frame['task'].n_unique(), 'task')}: {passed:,} of {run:,} that were run pass, {zero:,} pass nothing."
        ),
        flags=_cannot_say(answers),
        blocks=(_outcomes_table(answers),),
    )


def _cannot_say(answers: Answers) -> tuple[str, ...]:
    """Return what these outcomes do not allow to be said, whatever a judge's scores would be."""
    frame, said = answers.frame, []
    failed = frame.filter(frame["failed"] & frame["near_miss"].is_null())
    uncounted = failed["target_passed"].null_count()
    if uncounted:
        said.append(
            f"of {uncounted:,} of {failed.height:,} failed answers it is not known how many tests passed: they are not among those "
            "that pass nothing"
        )
    if frame["system"].n_unique() < 2:
        said.append("there is one system: nothing can be compared")
    if frame["text"].null_count() == frame.height:
        said.append("there are no texts of the answers: what goes with over-scoring cannot be looked for")
    never = int((frame["truth_status"].is_null() | (frame["truth_status"] == "not_run")).sum())
    if never:
        said.append(f"{never:,} answers were not run")
    return tuple(said)


def _outcomes_table(answers: Answers) -> TableBlock:
    rows: list[tuple[float, list[Cell]]] = []
    for part in answers.frame.partition_by("system", maintain_order=True):
        solved = _halo_spread.solve_rate(part)
        counts: Sequence[int] = [int(part[name].sum()) for name in ("failed", "zero_target", "zero_any")]
        near = part.height - part["near_miss"].null_count()
        row: list[Cell] = [
            *(part["system"][0], part.height, int(part["truth_passed"].fill_null(False).sum())),
            *(solved.n, solved.value, solved.low, solved.high, *counts, near),
        ]
        rows.append((-(solved.value or 0.0), row))
    return TableBlock(
        title="What came of running the answers",
        columns=(
            *("system", "answers", "passed", "run", "solve rate", "low", "high"),
            *("failed", "zero pass", "zero pass, any test", "mechanical near-misses"),
        ),
        rows=[row for _, row in sorted(rows, key=lambda one: (one[0], str(one[1][0])))],
        note="Broken environments and answers that were never run are not among those run. Intervals count tasks.",
    )
