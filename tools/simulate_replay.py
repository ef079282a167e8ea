"""Plants the published rates of a replay audit in simulated samples, so that the audit can be seen to recover them.

    python -m tools.simulate_replay [--samples 32 128] [--out DIR] [--write]

421 problems (164 and 257 of two suites), three checkpoints, two passes, two judges. Counts per problem are placed so
that the published figures hold exactly or to rounding; which samples carry them is drawn. What the publication does not
give (levels of Pass@1, how counts spread over problems) is chosen, and stands here. `--write` puts what was recovered beside
what was published into docs/code-or-style.md.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from voirdire.audits._replay_counts import Arm, Reading, Replay, replay_of
from voirdire.audits._replay_curves import curve, difference, with_resampled
from voirdire.audits._replay_gate import gate_of
from voirdire.edits.corruptions import Corruption
from voirdire.model import VerdictTable

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

PAGE = Path(__file__).parents[1] / "docs" / "code-or-style.md"
BEGIN, END = "<!-- simulation: written by tools/simulate_replay.py -->", "<!-- simulation: end -->"

HUMANEVAL, MBPP = 164, 257
PROBLEMS = HUMANEVAL + MBPP
TASKS = tuple([f"HumanEval/{k}" for k in range(HUMANEVAL)] + [f"MBPP/{k}" for k in range(MBPP)])
SUITES = ("HumanEval", "MBPP")
STRONG, WEAK = "72B", "7B"
FIRST, SECOND = "first run", "second run"


@dataclass(frozen=True)
class Opinion:
    """What one judge accepts in one arm. Shares of samples; `accepts`: problems with an accepted sample at all.

    `once`: of these, problems with one accepted sample only.
    """

    of_parsing: float
    of_broken: float
    accepts: int
    gated: int
    once: int = 0


@dataclass(frozen=True)
class Plan:
    """One checkpoint in one pass. `broken`: share not parsing by suite; `solved`: problems with a passing sample.

    `passed`: share of all samples that pass. `any_block`: further share that parses if any block counts.
    """

    author: str
    run: str
    broken: tuple[float, float]
    passed: float
    solved: int
    opinions: Mapping[str, Opinion] = field(default_factory=dict)
    any_block: float = 0.0

    @property
    def damaged(self) -> bool:
        """Whether a whole third of the problems has no sample that parses."""
        return min(self.broken) > 0.3


PLANS = (
    Plan(
        "base",
        FIRST,
        (0.0011, 0.0057),
        0.30,
        168,
        {STRONG: Opinion(0.8430, 0.4769, 405, 405), WEAK: Opinion(0.58, 0.30, 392, 392)},
    ),
    Plan(
        "CE",
        FIRST,
        (0.0017, 0.0058),
        0.31,
        165,
        {STRONG: Opinion(0.8700, 0.5000, 406, 406), WEAK: Opinion(0.60, 0.28, 392, 392)},
    ),
    Plan(
        "SLJ",
        FIRST,
        (0.0017, 0.0058),
        0.31,
        163,
        {STRONG: Opinion(0.8800, 0.5000, 407, 407), WEAK: Opinion(0.62, 0.304, 392, 392)},
    ),
    Plan(
        "base",
        SECOND,
        (21 / 20992, 195 / 32896),
        0.34,
        186,
        {STRONG: Opinion(0.84257, 0.4769, 409, 409), WEAK: Opinion(0.58, 0.30, 396, 396)},
    ),
    Plan(
        "CE",
        SECOND,
        (13607 / 20992, 20365 / 32896),
        0.125,
        127,
        {STRONG: Opinion(0.8300, 0.6100, 401, 279), WEAK: Opinion(0.52, 0.280, 332, 260)},
    ),
    Plan(
        "SLJ",
        SECOND,
        (14350 / 20992, 21701 / 32896),
        0.1168,
        119,
        {STRONG: Opinion(0.8335, 0.6056, 406, 280, once=14), WEAK: Opinion(0.52, 0.304, 327, 255)},
        any_block=0.0002,
    ),
)
"""In the second pass: the published shares and counts of problems (Pass@128 times 421)."""

BASE_ONLY, DAMAGED_ONLY = 75, 8
"""Problems that execution solves in one of base and SLJ only, so that the interval of their difference is as wide."""


@dataclass(frozen=True)
class Simulated:
    """The planted table and, beside it, what was planted per arm: counts by problem."""

    table: VerdictTable
    plans: Sequence[Plan]


def simulate(samples: tuple[int, int] = (32, 128), *, seed: int = 1) -> Simulated:
    """Return the replay table of all six arms, with `samples` per problem in the first and in the second pass."""
    frames = [_arm(plan, samples[plan.run == SECOND], seed=seed + place) for place, plan in enumerate(PLANS)]
    return Simulated(VerdictTable(pl.concat(frames)), PLANS)


DOSES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
MUST_MOVE = {Corruption.CUT_OFF: 0.45, Corruption.DELETED_RETURN: 0.30, Corruption.RENAMED_ENTRY_POINT: 0.60}
"""Share of approvals that the simulated judge gives again after damage that must move it: chosen."""


def simulate_dose(samples: int = 128, *, seed: int = 3) -> VerdictTable:
    """Return base samples in which an extra bracket breaks 10 to 60 %, judged by one that does not look at brackets.

    A damaged sample is accepted as its undamaged self was, but for one verdict in twenty that is given anew at the
    judge's rate of acceptance for broken code.
    """
    plan = PLANS[3]
    grid = _grid(plan, samples, seed=seed)
    generator = np.random.default_rng(seed)
    parses, accepted = grid.parses, grid.accepted[STRONG]
    order = generator.random(parses.shape)
    rows = [_dose_frame("", 0.0, parses, np.zeros_like(parses), accepted)]
    for dose in DOSES:
        damaged = order < dose
        again = damaged & accepted.any(axis=1, keepdims=True) & (generator.random(parses.shape) < 0.05)
        answer = np.where(again, generator.random(parses.shape) < 0.4769, accepted)
        rows.append(_dose_frame(str(Corruption.EXTRA_BRACKET), dose, parses & ~damaged, damaged, answer))
    for edit, kept in MUST_MOVE.items():
        damaged = order < 0.6
        answer = np.where(damaged, accepted & (generator.random(parses.shape) < kept), accepted)
        broken = damaged if edit is Corruption.CUT_OFF else np.zeros_like(damaged)
        rows.append(_dose_frame(str(edit), 0.6, parses & ~broken, damaged, answer))
    return VerdictTable(pl.concat(rows))


def _dose_frame(edit: str, dose: float, parses: Flags, damaged: Flags, accepted: Flags) -> pl.DataFrame:
    size = parses.size
    return _keys(parses.shape[1]).with_columns(
        pl.lit("base").alias("author"),
        pl.lit(SECOND).alias("pass"),
        pl.lit(edit).alias("edit"),
        pl.lit(dose).alias("dose"),
        pl.Series("parses", parses.ravel()),
        pl.Series("damaged", damaged.ravel()),
        pl.lit(STRONG).alias("judge"),
        pl.Series("value", accepted.ravel().astype(np.float64)),
        pl.repeat(None, size, dtype=pl.String, eager=True).alias("missing_because"),
    )


# --- one arm ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """Samples of one arm, shape (problems, samples)."""

    parses: Flags
    parses_any: Flags
    passed: Flags
    renamed: Flags
    accepted: Mapping[str, Flags]


def _arm(plan: Plan, samples: int, *, seed: int) -> pl.DataFrame:
    grid = _grid(plan, samples, seed=seed)
    generator = np.random.default_rng(seed + 100)
    kinds = _kinds(grid.parses, generator)
    shared = _keys(samples).with_columns(
        pl.lit(plan.author).alias("author"),
        pl.lit(plan.run).alias("pass"),
        pl.Series("parses", grid.parses.ravel()),
        pl.Series("parses_any", grid.parses_any.ravel()),
        pl.Series("parse_kind", kinds),
        pl.when(pl.Series(grid.parses.ravel()))
        .then(None)
        .otherwise(pl.lit("    return total)"))
        .alias("evidence"),
        pl.Series("truth_passed", grid.passed.ravel()),
        pl.Series("truth_passed_renamed", grid.renamed.ravel()),
        pl.Series("length", generator.integers(80, 900, grid.parses.size)),
        pl.Series("balanced", grid.parses.ravel()),
    )
    return pl.concat(
        [
            shared.with_columns(
                pl.lit(judge).alias("judge"),
                pl.Series("value", accepted.ravel().astype(np.float64)),
                pl.lit(None, dtype=pl.String).alias("missing_because"),
            )
            for judge, accepted in grid.accepted.items()
        ]
    )


def _keys(samples: int) -> pl.DataFrame:
    suites = np.repeat([0, 1], [HUMANEVAL * samples, MBPP * samples])
    return pl.DataFrame(
        {
            "task": pl.Series(TASKS, dtype=pl.Enum(TASKS)).gather(np.repeat(np.arange(PROBLEMS), samples)),
            "suite": pl.Series(SUITES, dtype=pl.Enum(SUITES)).gather(suites),
            "sample": np.tile(np.arange(samples, dtype=np.int32), PROBLEMS),
        }
    )


def _kinds(parses: Flags, generator: Generator) -> list[str]:
    """Return a kind for every sample: of a damaged arm's faults 98.6 % are a closing bracket too many, one is cut off."""
    kinds = np.full(parses.size, "parses", dtype=object)
    broken = np.flatnonzero(~parses.ravel())
    closing = round(0.986 * len(broken))
    drawn = generator.permutation(broken)
    kinds[drawn[: closing // 2]] = "unmatched closing bracket"
    kinds[drawn[closing // 2 : closing]] = "mismatched bracket"
    kinds[drawn[closing:]] = "indentation"
    if len(drawn) > closing:
        kinds[drawn[-1]] = "cut off"
    return list(kinds)


def _grid(plan: Plan, samples: int, *, seed: int) -> Grid:
    generator = np.random.default_rng(seed)
    sets = _sets(plan)
    parsing = _parsing_counts(plan, sets, samples, generator)
    passing = _place(
        round(plan.passed * PROBLEMS * samples),
        sets.solved.astype(np.int64),
        np.where(sets.solved, parsing, 0),
        generator,
    )
    rank = generator.random((PROBLEMS, samples)).argsort(axis=1)
    parses, passed = rank < parsing[:, None], rank < passing[:, None]
    accepted = {
        judge: _accepted(opinion, sets, parses, passed, generator) for judge, opinion in plan.opinions.items()
    }
    return Grid(
        parses=parses,
        parses_any=_and_some(parses, plan.any_block, generator),
        passed=passed,
        renamed=_and_some_of(passed, parses, 0.15, generator),
        accepted=accepted,
    )


@dataclass(frozen=True)
class _Sets:
    """Which problems are solved, and the order in which they lose the judges' approval: shape (problems,)."""

    solved: Flags
    place: Counts
    damaged: bool


def _sets(plan: Plan) -> _Sets:
    """Choose problems by fixed orders, so that two arms share as many as their intervals need."""
    order = np.random.default_rng(421).permutation(PROBLEMS)
    place = np.empty(PROBLEMS, dtype=np.int64)
    place[order] = np.arange(PROBLEMS)
    solved = place < plan.solved
    if plan.damaged:
        kept = plan.solved - DAMAGED_ONLY
        base_solved = next(one.solved for one in PLANS if one.run == SECOND and not one.damaged)
        solved = (place < kept) | ((place >= base_solved) & (place < base_solved + DAMAGED_ONLY))
        return _Sets(solved, place, damaged=True)
    return _Sets(solved, place, damaged=False)


def _parsing_counts(plan: Plan, sets: _Sets, samples: int, generator: Generator) -> Counts:
    counts = np.zeros(PROBLEMS, dtype=np.int64)
    gated = next(iter(plan.opinions.values())).gated
    for part, share in zip((slice(0, HUMANEVAL), slice(HUMANEVAL, PROBLEMS)), plan.broken, strict=True):
        size = len(range(*part.indices(PROBLEMS)))
        total = size * samples - round(share * size * samples)
        if not plan.damaged:
            broken = _place(
                size * samples - total, np.zeros(size, np.int64), np.full(size, samples), generator, few=True
            )
            counts[part] = samples - broken
            continue
        alive = sets.place[part] < gated
        least = np.where(alive, np.maximum(1, samples // 16), 0)
        counts[part] = _place(total, least, np.where(alive, samples, 0), generator)
    return counts


def _accepted(opinion: Opinion, sets: _Sets, parses: Flags, passed: Flags, generator: Generator) -> Flags:
    samples = parses.shape[1]
    parsing, broken = parses.sum(axis=1), (~parses).sum(axis=1)
    gated = sets.place < opinion.gated
    liked = _liked(opinion, sets)
    once = liked & (sets.place >= opinion.gated) & (sets.place < opinion.gated + opinion.once)
    of_parsing = _place(
        round(opinion.of_parsing * int(parsing.sum())),
        np.where(gated & (parsing > 0), np.minimum(parsing, max(1, samples // 16)), 0),
        np.where(gated, parsing, 0),
        generator,
    )
    least = np.where(liked & (of_parsing < samples // 3), np.minimum(broken, samples // 3), 0)
    if not sets.damaged:
        least = np.zeros_like(least)
    of_broken = _place(
        round(opinion.of_broken * int(broken.sum())),
        np.where(once, 1, least),
        np.where(once, 1, np.where(liked, broken, 0)),
        generator,
    )
    noise = generator.random(parses.shape)
    return _lowest(np.where(parses, noise - 0.7 * passed, np.inf), of_parsing) | _lowest(
        np.where(parses, np.inf, noise), of_broken
    )


def _liked(opinion: Opinion, sets: _Sets) -> Flags:
    """Return the problems with any approval: all but the last by place; of a damaged arm seven that the base has not."""
    lost = PROBLEMS - opinion.accepts
    if not sets.damaged or opinion.accepts < 400:
        return sets.place < opinion.accepts
    shared = 5
    last = sets.place >= PROBLEMS - shared
    own = (sets.place < PROBLEMS - 12) & (sets.place >= PROBLEMS - 12 - (lost - shared))
    return ~(last | own)


def _lowest(keys: NDArray[np.float64], counts: Counts) -> Flags:
    return np.asarray(keys.argsort(axis=1).argsort(axis=1) < counts[:, None])


def _and_some(flags: Flags, share: float, generator: Generator) -> Flags:
    return _and_some_of(
        flags, np.ones_like(flags), share * flags.size / max(1, int((~flags).sum())), generator
    )


def _and_some_of(flags: Flags, among: Flags, share: float, generator: Generator) -> Flags:
    free = np.flatnonzero((among & ~flags).ravel())
    chosen = generator.permutation(free)[: round(share * len(free))]
    out = flags.copy().ravel()
    out[chosen] = True
    return out.reshape(flags.shape)


def _place(total: int, least: Counts, most: Counts, generator: Generator, *, few: bool = False) -> Counts:
    """Return whole counts between `least` and `most` that sum to `total`, spread at random; `few`: over few places."""
    weight = generator.gamma(0.05 if few else 2.0, size=len(least)) + 1e-9
    low, high = 0.0, float(most.max()) / float(weight.min()) + 1
    for _ in range(200):
        middle = (low + high) / 2
        if np.minimum(least + middle * weight, most).sum() < total:
            low = middle
        else:
            high = middle
    wanted = np.minimum(least + low * weight, most)
    counts = np.maximum(np.floor(wanted).astype(np.int64), least)
    room = np.argsort(counts - wanted, kind="stable")
    while (short := total - int(counts.sum())) > 0:
        able = [index for index in room.tolist() if counts[index] < most[index]][:short]
        if not able:
            raise ValueError(f"{total} do not fit between {int(least.sum())} and {int(most.sum())}")
        counts[able] += 1
    if int(counts.sum()) != total:
        raise ValueError(f"{total} is less than the least, {int(least.sum())}")
    return counts


# --- published beside recovered -----------------------------------------------------------------------


def section(table: VerdictTable) -> str:
    """Return the published figures with what the audit makes of the simulated table."""
    counted = replay_of(table)
    rows = [*_parse_rows(counted), *_reading_rows(counted), *_gate_rows(counted), *_gap_rows(counted)]
    samples = f"{counted.samples.height:,} samples, {counted.verdicts.height:,} verdicts"
    return "\n".join(
        [
            f"{PROBLEMS} problems, three checkpoints, two passes, two judges: {samples}. `python -m tools.simulate_replay --write`",
            "writes what follows.",
            "",
            "| figure | published | recovered |",
            "| --- | --- | --- |",
            *(f"| {name} | {published} | {found} |" for name, published, found in rows),
        ]
    )


Rows = list[tuple[str, str, str]]
CHECKPOINTS = ("base", "CE", "SLJ")
NOT_PARSING = {FIRST: ("0.39", "0.42", "0.42"), SECOND: ("0.40", "63.04", "66.90")}
READ = {
    Reading.JUDGE: ("0.9715", "0.9525", "0.9644"),
    Reading.GATED: ("0.9715", "0.6627", "0.6651"),
    Reading.EXECUTION: ("0.4418", "0.3017", "0.2827"),
}


def _parse_rows(counted: Replay) -> Rows:
    rows: Rows = []
    for run, published in NOT_PARSING.items():
        for author, share in zip(CHECKPOINTS, published, strict=True):
            arm = Arm(author, run)
            broken = counted.total(arm, "n") - counted.total(arm, "parsing")
            found = f"{100 * broken / counted.total(arm, 'n'):.2f} %"
            rows.append((f"not parsing: {author}, {run}", f"{share} %", found))
    broken = sum(
        counted.total(Arm(name, SECOND), "n") - counted.total(Arm(name, SECOND), "parsing")
        for name in CHECKPOINTS
    )
    credit = sum(counted.total(arm, "broken_passed") for arm in counted.arms)
    return [*rows, ("samples that do not parse, with credit", "70,239, 0", f"{broken:,}, {credit}")]


def _reading_rows(counted: Replay) -> Rows:
    rows: Rows = []
    for reading, published in READ.items():
        for author, value in zip(CHECKPOINTS, published, strict=True):
            judge = None if reading is Reading.EXECUTION else STRONG
            found = curve(counted, Arm(author, SECOND), reading, judge)
            assert found is not None
            rows.append((f"Pass@{len(found.value)} by {reading}: {author}", value, f"{found.value[-1]:.4f}"))
    return rows


def _gate_rows(counted: Replay) -> Rows:
    damaged, healthy = (gate_of(counted, Arm(name, SECOND), STRONG) for name in ("SLJ", "base"))
    shown: list[tuple[str, str, float | None]] = [
        ("accepted of what parses: SLJ", "83.35 %", damaged.parsing),
        ("accepted of what does not: SLJ", "60.56 %", damaged.broken),
        ("approvals that cannot run: SLJ", "59.49 %", damaged.unrunnable),
        ("accepted of what does not: base", "47.69 %", healthy.broken),
        ("approvals that cannot run: base", "0.23 %", healthy.unrunnable),
    ]
    rows = [(name, said, f"{100 * (found or 0.0):.2f} %") for name, said, found in shown]
    costs = (("healthy", "0.0019", healthy.cost), ("damaged", "0.4051", damaged.cost))
    return [
        *rows,
        *((f"cost of the gate in Pass@1, {name}", said, f"{found:.4f}") for name, said, found in costs),
    ]


def _gap_rows(counted: Replay) -> Rows:
    base, variant = Arm("base", SECOND), Arm("SLJ", SECOND)
    rows: Rows = []
    for reading, judge, at_one, at_most in (
        (Reading.JUDGE, STRONG, "0.1601", "0.0071 [-0.012, 0.026]"),
        (Reading.EXECUTION, None, "0.2232", "0.1591 [0.121, 0.200]"),
    ):
        found = difference(counted, base, variant, reading, judge)
        assert found is not None
        (drawn,) = with_resampled([found])
        ends = f"[{drawn.drawn_low[-1]:.3f}, {drawn.drawn_high[-1]:.3f}]"
        rows.append((f"base minus SLJ by {reading}, k = 1", at_one, f"{drawn.value[0]:.4f}"))
        rows.append(
            (f"base minus SLJ by {reading}, k = {len(drawn.value)}", at_most, f"{drawn.value[-1]:.4f} {ends}")
        )
    return rows


def written(page: str, text: str) -> str:
    """Return the page with its section replaced."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}"


def main(arguments: Sequence[str]) -> int:
    """Simulate, audit, and write the page into the folder given."""
    from voirdire.audits.replay import audit
    from voirdire.model import Account, Examination
    from voirdire.report.write import write

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", nargs=2, type=int, default=[32, 128])
    parser.add_argument("--out", type=Path, default=Path("voirdire-out"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    simulated = simulate((given.samples[0], given.samples[1]))
    findings = audit(simulated.table)
    for finding in findings:
        print(f"{finding.ruling.value if finding.ruling else '':<11} {finding.sentence}")
    page = write(Examination("Simulated replay", [], findings, Account()), given.out)
    print(f"report: {page}")
    if given.write:
        text = section(simulated.table)
        print(text)
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
