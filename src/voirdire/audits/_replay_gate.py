"""What a judge does with code that cannot run: acceptance with and without parsing, approvals lost to the gate, signals.

A sample counts as accepted where the judge said 1. The gate refuses whatever does not parse; what passes it has been
shown to parse and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voirdire.audits._replay_counts import Arm, Reading, Replay
from voirdire.audits._replay_rulings import above, percent, three_over
from voirdire.blocks import Block, Cell, TableBlock
from voirdire.lines import BROKEN_ACCEPTED, CASES_FOR_GENERAL, PARSING_ACCEPTED
from voirdire.model import Estimate, Finding, FindingKind, Ruling
from voirdire.stats.quantiles import t_critical

if TYPE_CHECKING:
    import polars as pl

NAME = "parse_gate"

SIGNALS = {"length": "length", "parses": "it parses", "balanced": "its brackets balance"}
"""What is as easily had as a judge's verdict: columns of the table and what they are called."""


@dataclass(frozen=True)
class Gate:
    """What one judge did in one arm. Shares of samples, None where there are none."""

    arm: Arm
    parsing: float | None
    broken: float | None
    broken_judged: int
    approvals: int
    approvals_broken: int
    cost: float | None

    @property
    def unrunnable(self) -> float | None:
        """Return the share of approvals that cannot run."""
        return self.approvals_broken / self.approvals if self.approvals else None


def gate_of(replay: Replay, arm: Arm, judge: str) -> Gate:
    """Return what a judge accepted in one arm. `cost`: the fall of its Pass@1 by the gate, over samples with a verdict."""
    judged, gated = (replay.successes(arm, reading, judge).rate for reading in (Reading.JUDGE, Reading.GATED))
    return Gate(
        arm=arm,
        parsing=replay.tally(arm, "parsing_accepted", "parsing_read", judge).share,
        broken=replay.tally(arm, "broken_accepted", "broken_read", judge).share,
        broken_judged=replay.total(arm, "broken_read", judge),
        approvals=replay.total(arm, "accepted", judge),
        approvals_broken=replay.total(arm, "broken_accepted", judge),
        cost=None if judged is None or gated is None else judged - gated,
    )


def accepted_share(replay: Replay, arms: Sequence[Arm], judge: str, *, broken: bool) -> Estimate:
    """Return the share accepted of samples that parse, or that do not, with an interval over problems.

    A ratio of sums over problems; whole problems vary, however many samples each has. Cochran 1977, section 6.3.
    """
    which = "broken" if broken else "parsing"
    hits: dict[str, int] = {}
    asked: dict[str, int] = {}
    for arm in arms:
        tally = replay.tally(arm, f"{which}_accepted", f"{which}_read", judge)
        for task, hit, of in zip(tally.tasks, tally.hits.tolist(), tally.of.tolist(), strict=True):
            hits[task], asked[task] = hits.get(task, 0) + hit, asked.get(task, 0) + of
    return ratio_over_problems(
        np.array(list(hits.values()), dtype=np.float64), np.array(list(asked.values()), dtype=np.float64)
    )


def ratio_over_problems(hits: NDArray[np.float64], of: NDArray[np.float64]) -> Estimate:
    """Return all hits over all of `of`, both shape (problems,), with an interval that counts problems."""
    problems = len(of)
    if not problems:
        return Estimate(None, unit="problems", note="no such sample was judged")
    value = float(hits.sum() / of.sum())
    plain = Estimate(
        value, n=problems, unit="problems", method="ratio of sums over problems; linearised t interval"
    )
    if problems < 2:
        return replace(plain, note="one problem shows no spread: no interval")
    residuals = hits - value * of
    error = float(np.sqrt((residuals @ residuals) * problems / (problems - 1)) / of.sum())
    if error == 0:
        bound = three_over(problems)
        low, high = max(0.0, value - bound), min(1.0, value + bound)
        return replace(
            plain,
            low=low,
            high=high,
            inner_low=low,
            inner_high=high,
            note="all problems alike: 3/N is the bound",
        )
    wide, narrow = (t_critical(level, problems - 1) * error for level in (0.95, 0.90))
    return replace(
        plain,
        low=max(0.0, value - wide),
        high=min(1.0, value + wide),
        inner_low=max(0.0, value - narrow),
        inner_high=min(1.0, value + narrow),
    )


def findings(replay: Replay) -> list[Finding]:
    """Return one finding per judge: does it accept code that cannot run."""
    return [_finding(replay, judge) for judge in replay.judges]


def _finding(replay: Replay, judge: str) -> Finding:
    arms = [arm for arm in replay.arms if replay.has(judge, arm)]
    gates = [gate_of(replay, arm, judge) for arm in arms]
    broken = accepted_share(replay, arms, judge, broken=True)
    parsing = accepted_share(replay, arms, judge, broken=False)
    missing, asked = _missing_by_arm(replay, judge, arms)
    ruling, why = _ruled(broken, parsing)
    blocks: tuple[Block, ...] = (
        _table(replay, judge, gates),
        *_signals(replay, judge, arms),
        *_missing(replay, judge),
    )
    return Finding(
        id=f"{NAME}/judge/{judge}",
        kind=FindingKind.AUDIT,
        name=NAME,
        subject="judge",
        judge=judge,
        sentence=_sentence(gates, broken, parsing, why),
        ruling=ruling,
        estimate=replace(broken, missing=missing, asked=asked),
        line=BROKEN_ACCEPTED,
        control=parsing,
        control_line=PARSING_ACCEPTED,
        blocks=blocks,
    )


def _ruled(broken: Estimate, parsing: Estimate) -> tuple[Ruling, str]:
    if broken.value is None:
        return Ruling.UNRESOLVED, "it judged no sample that does not parse"
    if broken.n < CASES_FOR_GENERAL:
        return (
            Ruling.UNRESOLVED,
            f"only {broken.n} problems have such samples, and {CASES_FOR_GENERAL} are the least",
        )
    ruling = above(broken, BROKEN_ACCEPTED)
    if ruling is Ruling.HOLDS and above(parsing, PARSING_ACCEPTED) is not Ruling.LEAKS:
        return Ruling.BLIND, "it hardly accepts code that parses either"
    said = {
        Ruling.LEAKS: "it approves of code that cannot run",
        Ruling.HOLDS: "it refuses code that cannot run",
        Ruling.UNRESOLVED: "the interval reaches across the line",
    }
    return ruling, said[ruling]


def _sentence(gates: Sequence[Gate], broken: Estimate, parsing: Estimate, why: str) -> str:
    if broken.value is None:
        return f"The judge accepts {percent(parsing.value)} of samples that parse: {why}."
    worst = max(gates, key=lambda gate: gate.unrunnable or 0.0)
    return (
        f"The judge accepts {percent(parsing.value)} of samples that parse and {percent(broken.value)} of those that do not; "
        f"{percent(worst.unrunnable)} of its approvals cannot run at worst ({worst.arm}), where the gate takes "
        f"{worst.cost or 0:.4f} from its Pass@1: {why}."
    )


def _table(replay: Replay, judge: str, gates: Sequence[Gate]) -> TableBlock:
    rows: list[list[Cell]] = [
        [
            *(gate.arm.author, gate.arm.run, replay.successes(gate.arm, Reading.PARSING).rate),
            *(gate.parsing, gate.broken, gate.broken_judged),
            *(gate.approvals, gate.approvals_broken, gate.unrunnable, gate.cost),
        ]
        for gate in gates
    ]
    return TableBlock(
        title=f"What {judge} accepts, and what the gate takes away",
        columns=(
            *(
                "checkpoint",
                "pass",
                "parse share",
                "accepted of parsing",
                "accepted of not parsing",
                "judged, not parsing",
            ),
            *("approvals", "approvals that cannot run", "share of approvals", "cost of the gate in Pass@1"),
        ),
        rows=rows,
        note="On a healthy run the gate costs next to nothing; what it costs on a damaged one is what the judge let pass.",
    )


# --- simple signals beside the judge ------------------------------------------------------------------


def _signals(replay: Replay, judge: str, arms: Sequence[Arm]) -> list[TableBlock]:
    """Return how well verdicts and simple signals tell passing from failing samples of one problem."""
    import polars as pl

    if not replay.executed:
        return []
    frame = replay.verdicts.filter((pl.col("judge") == judge) & pl.col("truth_passed").is_not_null())
    signals = {"value": judge, **{name: said for name, said in SIGNALS.items() if name in frame.columns}}
    columns = {name: _superiority(frame, name) for name in signals}
    rows: list[list[Cell]] = [
        [
            arm.author,
            arm.run,
            columns["value"].get(arm, (None, 0))[1],
            *(columns[name].get(arm, (None, 0))[0] for name in signals),
        ]
        for arm in arms
    ]
    if not any(row[2] for row in rows):
        return []
    return [
        TableBlock(
            title="What tells a passing sample from a failing one",
            columns=("checkpoint", "pass", "problems with both", *signals.values()),
            rows=rows,
            note=(
                "P(superiority) of a passing sample over a failing one of the same problem, ties half, the mean over problems: "
                "0.5 is chance. A judge that does no better than length or parsing reads no more than they do."
            ),
        )
    ]


def _superiority(frame: "pl.DataFrame", signal: str) -> dict[Arm, tuple[float | None, int]]:
    """Return by arm the mean P(superiority) of passing samples in a signal, and how many problems have both kinds."""
    import polars as pl

    known = frame.filter(pl.col(signal).is_not_null())
    key = ["author", "pass", "task"]
    ranked = known.with_columns(
        pl.col(signal).cast(pl.Float64).rank("average").over(key).alias("rank"),
    )
    passed = pl.col("truth_passed")
    won = passed.sum().cast(pl.Float64)
    lost = (~passed).sum().cast(pl.Float64)
    by_problem = (
        ranked.group_by(key, maintain_order=True)
        .agg(won=won, lost=lost, ranks=pl.col("rank").filter(passed).sum())
        .filter((pl.col("won") > 0) & (pl.col("lost") > 0))
        .with_columns(
            p=(pl.col("ranks") - pl.col("won") * (pl.col("won") + 1) / 2) / (pl.col("won") * pl.col("lost"))
        )
    )
    means = by_problem.group_by("author", "pass", maintain_order=True).agg(pl.col("p").mean(), pl.len())
    return {Arm(str(author), str(run)): (p, n) for author, run, p, n in means.iter_rows()}


# --- missing answers ----------------------------------------------------------------------------------


def _missing_by_arm(replay: Replay, judge: str, arms: Sequence[Arm]) -> tuple[dict[str, int], dict[str, int]]:
    asked = {str(arm): replay.total(arm, "n", judge) for arm in arms}
    return {str(arm): asked[str(arm)] - replay.total(arm, "read", judge) for arm in arms}, asked


def _missing(replay: Replay, judge: str) -> list[TableBlock]:
    import polars as pl

    gone = replay.verdicts.filter((pl.col("judge") == judge) & pl.col("value").is_null())
    if not gone.height:
        return []
    counted = (
        gone.group_by(
            "author", "pass", pl.col("missing_because").fill_null("no reason given"), maintain_order=True
        )
        .agg(pl.len(), pl.col("parses").sum())
        .sort("len", descending=True, maintain_order=True)
    )
    return [
        TableBlock(
            title=f"Answers that {judge} did not give",
            columns=("checkpoint", "pass", "reason", "samples", "of them parsing"),
            rows=[[*row] for row in counted.iter_rows()],
            note="A missing answer counts neither as accepted nor as refused, with the gate as without it: both are over the same samples.",
        )
    ]
