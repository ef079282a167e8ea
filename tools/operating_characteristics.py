"""Measures how often each probe and audit is right: false alarms, power and coverage over simulated judges.

    python -m tools.operating_characteristics [--judges 1000] [--seed 1] [--section NAME ...] [--out FILE]

A simulated judge is a distribution of scores for each version of each case. Its verdicts go through the same
measurement and the same conclusions as a real judge's. Readers are left out here: they have tests of their own.
`--section` simulates the named sections alone and leaves the others as they stand on the page: each has seeds of its own.
"""

import argparse
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tools import simulate_injections, simulate_recorded
from voirdire.engine.conclude import conclude
from voirdire.engine.measure import JUDGE, measure
from voirdire.model import Item, Measurement, Ruling, Side, Trial, Verdict
from voirdire.probes.outcome import PROBE as OUTCOME
from voirdire.probes.position import PROBE as POSITION
from voirdire.stats.proportion import clopper_pearson_interval

Scores = NDArray[np.float64]

CASES, REPEATS = 8, 10
REFUSED = math.nan


@dataclass(frozen=True)
class Reviewer:
    """A simulated judge of runs. Scores are normal around a case's mean, rounded, cut at 0 and 10.

    `leak`: points by which PROCESS falls after harm. `noise`: standard deviation. `refuses`: share of all answers, and
    `refuses_harm`: of answers to the harm version. `awake` False: it reacts to nothing.
    """

    name: str
    leak: float = 0.0
    noise: float = 1.0
    awake: bool = True
    uniform: bool = False
    refuses: float = 0.0
    refuses_harm: float = 0.0


@dataclass(frozen=True)
class Comparer:
    """A simulated judge of pairs: it picks the better one with chance `skill`, then the first slot's pull is added.

    `slot`: first-slot advantage in share points, the chance of the first slot minus that of the second, on average.
    """

    name: str
    skill: float = 1.0
    slot: float = 0.0
    pairs: int = 100
    reads: bool = True


@dataclass(frozen=True)
class Tally:
    """What 1,000 simulated judges of one kind were ruled."""

    name: str
    rulings: dict[str, int]
    any_leak: int
    case_rulings: dict[str, int]
    covered: int
    intervals: int
    case_covered: int
    case_intervals: int
    judges: int


REVIEWERS = (
    Reviewer("fair, little noise (sd 1)"),
    Reviewer("fair, noisy (sd 2.5)", noise=2.5),
    Reviewer("fair, refuses 20 % of the time", refuses=0.2),
    Reviewer("fair, refuses 40 % of harm versions", refuses_harm=0.4),
    Reviewer("answers at random", uniform=True),
    Reviewer("always the same score", awake=False, noise=0.0),
    Reviewer("noisy and reacts to nothing", awake=False, noise=2.0),
    Reviewer("falls by 0.5 points after harm", leak=0.5),
    Reviewer("falls by 1 point after harm", leak=1.0),
    Reviewer("falls by 1.5 points after harm", leak=1.5),
    Reviewer("falls by 2 points after harm", leak=2.0),
    Reviewer("falls by 3 points after harm", leak=3.0),
    Reviewer("falls by 2 points, noisy (sd 2.5)", leak=2.0, noise=2.5),
)

COMPARERS = (
    Comparer("always the better one"),
    Comparer("the better one 80 % of the time", skill=0.8),
    Comparer("a coin", skill=0.5, reads=False),
    Comparer("a coin, 400 pairs", skill=0.5, reads=False, pairs=400),
    Comparer("always the first", slot=1.0),
    Comparer("5 points for the first slot", skill=0.8, slot=0.05),
    Comparer("15 points for the first slot", skill=0.8, slot=0.15),
    Comparer("15 points, 200 pairs", skill=0.8, slot=0.15, pairs=200),
    Comparer("15 points, 400 pairs", skill=0.8, slot=0.15, pairs=400),
    Comparer("25 points for the first slot", skill=0.8, slot=0.25),
    Comparer("40 points for the first slot", skill=0.8, slot=0.4),
)


# --- the outcome probe ------------------------------------------------------------------------------


def case_means(rng: Generator, cases: int) -> Scores:
    """Return the mean PROCESS of each case: somewhere in the lower half, as for a skipped step."""
    return rng.uniform(3.0, 5.5, size=cases)


def draw(judge: Reviewer, rng: Generator, mean: float, *, harm: bool) -> Scores:
    """Return ten scores, NaN where the judge refused."""
    scores = rng.normal(mean, judge.noise, REPEATS) if judge.noise else np.full(REPEATS, mean)
    if judge.uniform:
        scores = rng.uniform(-0.5, 10.5, REPEATS)
    scores = np.clip(np.rint(scores), 0, 10)
    gone = judge.refuses + (judge.refuses_harm if harm else 0.0)
    scores[rng.random(REPEATS) < gone] = REFUSED
    return scores


def outcome_trial(judge: Reviewer, rng: Generator, number: int, mean: float) -> Trial:
    """Return one case: PROCESS and DAMAGE in all four versions."""
    item = Item(f"case-{number}", {"log": "skipped", "outcome": "calm"})
    taken = mean + (4.0 if judge.awake else 0.0)
    harmed = mean - judge.leak
    sides = (
        ("calm", mean, 1.0, False),
        ("harm", harmed, 7.0 if judge.awake else 1.0, True),
        ("unrelated", mean, 3.0, False),
        ("unrelated", taken, 3.0, False),
    )
    made = [
        Side(
            item.with_part("outcome", f"{outcome} {place}"),
            _answers(draw(judge, rng, process, harm=harm), draw(judge, rng, damage, harm=harm)),
        )
        for place, (outcome, process, damage, harm) in enumerate(sides)
    ]
    return Trial(item, *made)


def _answers(process: Scores, damage: Scores) -> list[tuple[Verdict, ...]]:
    return [
        (_verdict("process", first, repeat), _verdict("damage", second, repeat))
        for repeat, (first, second) in enumerate(zip(process.tolist(), damage.tolist(), strict=True))
    ]


def _verdict(question: str, value: float, repeat: int) -> Verdict:
    if math.isnan(value):
        return Verdict(
            "case", question, None, raw=f"refused {repeat}", missing_because="refusal", repeat=repeat
        )
    return Verdict("case", question, value, raw=f"{value} {repeat}", repeat=repeat)


def true_superiority(judge: Reviewer, mean: float) -> float:
    """Return P(superiority) of the harm version for a case, from the two discrete distributions."""
    base, variant = _law(judge, mean), _law(judge, mean - judge.leak)
    below = np.cumsum(base) - base
    return float(variant @ (below + base / 2))


def _law(judge: Reviewer, mean: float) -> Scores:
    if judge.uniform:
        return np.full(11, 1 / 11)
    if not judge.noise:
        certain: Scores = np.eye(11)[int(np.rint(mean))]
        return certain
    edges = [-math.inf, *(level + 0.5 for level in range(10)), math.inf]
    upper = [0.5 * (1 + math.erf((edge - mean) / judge.noise / math.sqrt(2))) for edge in edges]
    shares: Scores = np.diff(np.array(upper, dtype=np.float64))
    return shares


def population_superiority(judge: Reviewer) -> float:
    """Return the mean of the true P over the cases that could have been drawn."""
    grid = np.linspace(3.0, 5.5, 501)
    return float(np.mean([true_superiority(judge, float(mean)) for mean in grid]))


def reviewer_tally(judge: Reviewer, judges: int, seed: int) -> Tally:
    """Simulate many judges of one kind and count what they were ruled."""
    rng = np.random.default_rng(seed)
    truth = population_superiority(judge)
    count = _Count()
    for _ in range(judges):
        means = case_means(rng, CASES)
        trials = [outcome_trial(judge, rng, k, float(mean)) for k, mean in enumerate(means)]
        measured = measure(OUTCOME, trials, questions=OUTCOME.questions, deterministic=False)
        truths = [true_superiority(judge, float(mean)) for mean in means]
        count.add(measured, truth, truths)
    return count.tally(judge.name, judges)


# --- the position probe -----------------------------------------------------------------------------


def comparer_trial(judge: Comparer, rng: Generator, number: int) -> Trial:
    """Return one pair in both orders, and its control."""
    parts = {"task": "t", "response_a": "a", "response_b": "b", "order": "ab"}
    item = Item(f"pair-{number}", parts)
    a_better = bool(rng.random() < 0.5)
    b_first = item.with_part("order", "ba")
    unrelated = item.with_part("response_a", "unrelated")
    shown_ab = _pick(judge, rng, item, a_better=a_better)
    return Trial(
        item,
        base=Side(b_first, _pick(judge, rng, b_first, a_better=a_better)),
        variant=Side(item, shown_ab),
        control_base=Side(item, shown_ab),
        control_variant=Side(
            unrelated, _pick(judge, rng, unrelated, a_better=a_better and not judge.reads, sure=judge.reads)
        ),
    )


def _pick(
    judge: Comparer, rng: Generator, item: Item, *, a_better: bool, sure: bool = False
) -> list[tuple[Verdict, ...]]:
    """Return one choice: with chance `slot` the first slot whatever stands there, else by skill."""
    if rng.random() < judge.slot:
        return [(Verdict(item.id, "better", "first"),)]
    skilled = sure or rng.random() < judge.skill
    a_wins = a_better == skilled
    slot = "first" if a_wins == (item["order"] == "ab") else "second"
    return [(Verdict(item.id, "better", slot),)]


def comparer_tally(judge: Comparer, judges: int, seed: int) -> Tally:
    """Simulate many judges of one kind and count what they were ruled."""
    rng = np.random.default_rng(seed)
    count = _Count()
    for _ in range(judges):
        trials = [comparer_trial(judge, rng, k) for k in range(judge.pairs)]
        count.add(
            measure(POSITION, trials, questions=POSITION.questions, deterministic=False), judge.slot, []
        )
    return count.tally(judge.name, judges)


# --- counting ---------------------------------------------------------------------------------------


class _Count:
    def __init__(self) -> None:
        self.rulings: Counter[str] = Counter()
        self.case_rulings: Counter[str] = Counter()
        self.any_leak = self.covered = self.intervals = self.case_covered = self.case_intervals = 0

    def add(self, measured: Sequence[Measurement], truth: float, case_truths: Sequence[float]) -> None:
        findings = conclude(measured, judge="simulated", family="page")
        self.rulings[_ruled(findings[-1].ruling)] += 1
        self.case_rulings.update(_ruled(finding.ruling) for finding in findings[:-1])
        self.any_leak += any(finding.ruling is Ruling.LEAKS for finding in findings)
        general = next(one for one in measured if one.subject == JUDGE)
        hit = _covers(general, truth)
        self.covered += hit is True
        self.intervals += hit is not None
        for one, case_truth in zip(measured, case_truths, strict=False):
            hit = _covers(one, case_truth)
            self.case_covered += hit is True
            self.case_intervals += hit is not None

    def tally(self, name: str, judges: int) -> Tally:
        return Tally(
            name,
            dict(self.rulings),
            self.any_leak,
            dict(self.case_rulings),
            self.covered,
            self.intervals,
            self.case_covered,
            self.case_intervals,
            judges,
        )


def _ruled(ruling: Ruling | None) -> str:
    return ruling.value if ruling else "none"


def _covers(one: Measurement, truth: float) -> bool | None:
    low, high = one.estimate.low, one.estimate.high
    return None if low is None or high is None else low - 1e-9 <= truth <= high + 1e-9


# --- writing ----------------------------------------------------------------------------------------

HEADER = """# Operating characteristics

How often each probe, and each audit of recorded verdicts, is right, measured on simulated judges whose faults are known.
Written by `python -m tools.operating_characteristics --judges {judges} --seed {seed}`; {judges:,} simulated judges a row.
Verdicts go through the same measurement and the same conclusions as those of a real judge; a share of 5 % measured on
{judges:,} judges is known to {error:.1f} points.

Read the columns so: *leaks* on a fair judge is a false alarm, on a leaking judge it is power. *Coverage* is the share of
95 % intervals that hold the true value. Rulings that are not `leaks` are `holds`, `blind` or `unresolved`.
"""

OUTCOME_TEXT = """
## outcome

{cases} cases, {repeats} repeats a version, PROCESS and DAMAGE from 0 to 10. A case's mean PROCESS is drawn between 3 and
5.5; taking the step adds 4 points, harm raises DAMAGE by 6. *Any leak* is the share of whole pages with at least one
`leaks` among the {family} findings, the family that Holm corrects; the upper 95 % bound stands behind it.

| judge | true P | any leak (upper bound) | judge: leaks | holds | blind | unresolved | case: leaks | case: holds | coverage, judge | coverage, case |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

POSITION_TEXT = """
## position

Pairs shown in both orders once; {pairs} pairs unless the row says otherwise. *Slot* points: with that chance the judge
takes the first slot whatever stands there, otherwise it picks by skill, so that the true first-slot advantage is the
points divided by 100.

| judge | true advantage | leaks (upper bound) | holds | blind | unresolved | coverage |
| --- | --- | --- | --- | --- | --- | --- |
"""


SLOTS_TEXT = """
## position, audit of a record

A record of four judges on the same pairs in both orders: the one of the row, and three that are fair and name the better
response 80 % of the time; 100 instances unless the row says otherwise. *Slot* points as above. Holm corrects over the
four. *False leak* is the share of records with a `leaks` on a judge that has no fault; a record cannot say what the
judge's own rule is.

| judge | true advantage | any false leak (upper bound) | leaks | holds | blind | unresolved | coverage |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""

LUCK_TEXT = """
## outcome_ratings, audit of a record

A record of one judge that rated {scenarios} scenarios with both endings, {completions} completions each, from 1 to 7, on four scales in two
studies: eight comparisons, over which Holm corrects. A scenario's mean after no harm is drawn between 2 and 5. Such a
record holds no control, so that nothing can be ruled to hold; *leaks*, *unresolved* and coverage are those of the
comparisons that the row is about. *False leak* is the share of records with a `leaks` on a comparison that has no fault.

| judge | true P | any false leak (upper bound) | leaks | unresolved | coverage |
| --- | --- | --- | --- | --- | --- |
"""


INJECTION_TEXT = """
## injection

{patches} patches unless the row says otherwise, each judged once in each of three arms: neutral comments, scaffolding, and
unchanged once more. A patch's score is drawn between 0.4 and 0.7, a judge's answers are normal around it (sd 0.1 unless the
row says otherwise), and emptied functions cost 0.3. Holm corrects over the three arms. *Leaks* to *unresolved* and coverage
are those of the scaffolding arm; *false leak* is the share of pages with a `leaks` on an arm that does not move the score.

| judge | true shift by scaffolding | any false leak (upper bound) | leaks | holds | blind | unresolved | coverage |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def header(judges: int, seed: int) -> str:
    """Return how the page begins."""
    error = 100 * 1.96 * math.sqrt(0.05 * 0.95 / judges)
    return HEADER.format(judges=judges, seed=seed, error=error)


def outcome_section(judges: int, seed: int) -> str:
    """Simulate reviewers and return what the page says of the outcome probe."""
    tallies = _tallies(reviewer_tally, REVIEWERS, judges, seed)
    rows = [_reviewer_row(judge, tally) for judge, tally in zip(REVIEWERS, tallies, strict=True)]
    return "".join([OUTCOME_TEXT.format(cases=CASES, repeats=REPEATS, family=CASES + 1), *rows])


def position_section(judges: int, seed: int) -> str:
    """Simulate comparers and return what the page says of the position probe."""
    tallies = _tallies(comparer_tally, COMPARERS, judges, seed + 100)
    rows = [_comparer_row(judge, tally) for judge, tally in zip(COMPARERS, tallies, strict=True)]
    return "".join([POSITION_TEXT.format(pairs=100), *rows])


def slots_section(judges: int, seed: int) -> str:
    """Simulate records of pairwise judges and return what the page says of the position audit."""
    kinds = simulate_recorded.COMPARERS
    tallies = _tallies(simulate_recorded.comparer_tally, kinds, judges, seed + 200)
    rows = [
        _recorded_row(kind.name, f"{kind.slot:.2f}", tally, ("leaks", "holds", "blind", "unresolved"))
        for kind, tally in zip(kinds, tallies, strict=True)
    ]
    return "".join([SLOTS_TEXT, *rows])


def luck_section(judges: int, seed: int) -> str:
    """Simulate records of raters and return what the page says of the audit of outcome ratings."""
    kinds = simulate_recorded.RATERS
    tallies = _tallies(simulate_recorded.rater_tally, kinds, judges, seed + 300)
    rows = [
        _recorded_row(
            kind.name,
            f"{simulate_recorded.population_superiority(kind):.2f}",
            tally,
            ("leaks", "unresolved"),
        )
        for kind, tally in zip(kinds, tallies, strict=True)
    ]
    text = LUCK_TEXT.format(scenarios=simulate_recorded.SCENARIOS, completions=simulate_recorded.COMPLETIONS)
    return "".join([text, *rows])


def injection_section(judges: int, seed: int) -> str:
    """Simulate judges of patches and return what the page says of injections."""
    kinds = simulate_injections.SCORERS
    tallies = _tallies(simulate_injections.scorer_tally, kinds, judges, seed + 400)
    rows = [
        _recorded_row(kind.name, f"{kind.scaffolding:.2f}", tally, ("leaks", "holds", "blind", "unresolved"))
        for kind, tally in zip(kinds, tallies, strict=True)
    ]
    return "".join([INJECTION_TEXT.format(patches=simulate_injections.PATCHES), *rows])


SECTIONS: Mapping[str, Callable[[int, int], str]] = {
    "outcome": outcome_section,
    "position": position_section,
    "position, audit of a record": slots_section,
    "outcome_ratings, audit of a record": luck_section,
    "injection": injection_section,
}
"""What simulates each section, by its heading, in the order of the page."""


def standing_sections(page: str) -> dict[str, str]:
    """Return the sections of a page by their headings, each with the empty line above it."""
    _, *parts = page.split("\n## ")
    return {part.partition("\n")[0]: f"\n## {part.removesuffix(chr(10))}\n" for part in parts}


def _recorded_row(name: str, truth: str, tally: simulate_recorded.Tally, rulings: Sequence[str]) -> str:
    cells = [
        name,
        truth,
        _bounded(tally.false, tally.records),
        *(_percent(tally.rulings[ruling], tally.ruled) for ruling in rulings),
        _percent(tally.covered, tally.intervals),
    ]
    return f"| {' | '.join(cells)} |\n"


def _reviewer_row(judge: Reviewer, tally: Tally) -> str:
    cases = tally.judges * CASES
    cells = [
        judge.name,
        f"{population_superiority(judge):.2f}",
        _bounded(tally.any_leak, tally.judges),
        *(
            _percent(tally.rulings.get(name, 0), tally.judges)
            for name in ("leaks", "holds", "blind", "unresolved")
        ),
        *(_percent(tally.case_rulings.get(name, 0), cases) for name in ("leaks", "holds")),
        _percent(tally.covered, tally.intervals),
        _percent(tally.case_covered, tally.case_intervals),
    ]
    return f"| {' | '.join(cells)} |\n"


def _comparer_row(judge: Comparer, tally: Tally) -> str:
    cells = [
        judge.name,
        f"{judge.slot:.2f}",
        _bounded(tally.rulings.get("leaks", 0), tally.judges),
        *(_percent(tally.rulings.get(name, 0), tally.judges) for name in ("holds", "blind", "unresolved")),
        _percent(tally.covered, tally.intervals),
    ]
    return f"| {' | '.join(cells)} |\n"


def _bounded(count: int, of: int) -> str:
    _, high = clopper_pearson_interval(count, of, level=0.90)
    return f"{100 * count / of:.1f} % ({100 * high:.1f})"


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.1f} %" if of else "-"


def _tallies(make: Callable[..., Any], kinds: Sequence[Any], judges: int, seed: int) -> list[Any]:
    with ProcessPoolExecutor() as pool:
        waiting = [pool.submit(make, kind, judges, seed + place) for place, kind in enumerate(kinds)]
        return [one.result() for one in waiting]


def main() -> None:
    """Simulate every kind of judge and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judges", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--section", action="append", choices=SECTIONS, metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("docs/operating-characteristics.md"))
    given = parser.parse_args()
    standing = {}
    if given.section:
        page = given.out.read_text(encoding="utf-8")
        if f"--judges {given.judges} --seed {given.seed}`" not in page:
            parser.error(f"{given.out} was made with other numbers: leave --section out, or give the same")
        standing = standing_sections(page)
    wanted = [name for name in SECTIONS if name not in standing or name in given.section]
    made = {name: SECTIONS[name](given.judges, given.seed) for name in wanted}
    whole = [header(given.judges, given.seed), *({**standing, **made}[name] for name in SECTIONS)]
    given.out.write_text("".join(whole), encoding="utf-8")


if __name__ == "__main__":
    main()
