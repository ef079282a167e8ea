"""A seeded search over real programs, steered by a judge that approves of broken code: with the parse gate and without.

    python -m tools.simulate_search [--seeds 20] [--steps 12] [--write]

Every task has a small population of real HumanEval programs that ship with voirdire. At each step a parent is chosen among
those that the reward approves of, and a child is made from it: a copy, another real program of the task, or a copy with one
closing bracket too many. The judge is planted: it accepts 83 % of texts that parse and 61 % of those that do not, the same
text always alike, and knows nothing else. Whether a program passes its tests was found out by running them.
"""

import argparse
import gzip
import hashlib
import json
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from random import Random

from voirdire.edits.corruptions import extra_bracket
from voirdire.errors import DataError
from voirdire.judges.planted import planted_judge
from voirdire.languages.parsing import Parsers
from voirdire.rewards import GatedReward
from voirdire.studies._replay_judge import read_prompt

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "code-or-style.md"
BEGIN, END = "<!-- search: written by tools/simulate_search.py -->", "<!-- search: end -->"

ACCEPTS_PARSING, ACCEPTS_BROKEN = 0.83, 0.61
TASKS, POPULATION = 24, 8
DAMAGED, REPLACED = 0.15, 0.15
"""Shares of children that get a bracket, and that are another real program of the task."""


@dataclass(frozen=True)
class Program:
    """A text and what is known of it."""

    code: str
    parses: bool
    passed: bool


@dataclass(frozen=True)
class Step:
    """One step of one search: the share of programs that parse, and that pass their tests."""

    parsing: float
    passing: float


Pool = Mapping[str, Sequence[Program]]


def real_programs() -> dict[str, list[Program]]:
    """Return the shipped programs by task, of the first tasks that have one that passes."""
    raw = files("voirdire").joinpath("data", "replay", "samples.jsonl.gz").read_bytes()
    pool: dict[str, list[Program]] = {}
    for line in gzip.decompress(raw).splitlines():
        row = json.loads(line)
        pool.setdefault(row["task_id"], []).append(Program(row["code"], row["parses"], row["passed"]))
    solved = {task: programs for task, programs in pool.items() if any(one.passed for one in programs)}
    return {task: solved[task] for task in sorted(solved)[:TASKS]}


def reward(*, gate: bool) -> GatedReward:
    """Return the planted judge as a reward, behind the gate or not."""
    parsing = {one.code for programs in real_programs().values() for one in programs if one.parses}

    def accepts(parts: Mapping[str, str], question: str, rng: Random) -> str:  # noqa: ARG001
        code = parts["candidate"]  # what is no real program has a bracket too many, verified not to parse
        share = ACCEPTS_PARSING if code in parsing else ACCEPTS_BROKEN
        drawn = int.from_bytes(hashlib.sha256(code.encode()).digest()[:6], "big") / 2**48
        return "1" if drawn < share else "0"

    judge = planted_judge(
        "83 % of parsing, 61 % of broken",
        read_prompt(None).asking("planted"),
        accepts,
        seed=1,
        deterministic=True,
    )
    return GatedReward(judge, gate=gate)


def search(pool: Pool, steered_by: GatedReward, *, seed: int, steps: int, parsers: Parsers) -> list[Step]:
    """Run one search and return what its population was at each step, the first one included."""
    rng = random.Random(seed)
    population = {task: [rng.choice(programs) for _ in range(POPULATION)] for task, programs in pool.items()}
    found = [_measured(population)]
    for _ in range(steps):
        approved = _approved(population, steered_by)
        population = {
            task: [
                _child(rng.choice(approved[task] or programs), pool[task], rng, parsers)
                for _ in range(POPULATION)
            ]
            for task, programs in population.items()
        }
        found.append(_measured(population))
    return found


def _approved(population: Pool, steered_by: GatedReward) -> dict[str, list[Program]]:
    flat = [(task, program) for task, programs in population.items() for program in programs]
    given = steered_by([task for task, _ in flat], [one.code for _, one in flat], gold=[""] * len(flat))
    approved: dict[str, list[Program]] = {task: [] for task in population}
    for (task, program), value in zip(flat, given, strict=True):
        if value == 1.0:
            approved[task].append(program)
    return approved


def _child(parent: Program, real: Sequence[Program], rng: Random, parsers: Parsers) -> Program:
    drawn = rng.random()
    if drawn < REPLACED:
        return rng.choice(real)
    if drawn < REPLACED + DAMAGED:
        try:
            code = extra_bracket(parent.code, seed=rng.randrange(8), parses=parsers.parses).code
        except DataError:
            return parent
        return Program(code, parses=False, passed=False)
    return parent


def _measured(population: Pool) -> Step:
    every = [one for programs in population.values() for one in programs]
    return Step(
        parsing=sum(one.parses for one in every) / len(every),
        passing=sum(one.passed for one in every) / len(every),
    )


# --- what is told -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Course:
    """The mean over seeds at one step, with the lowest and the highest seed."""

    step: int
    parsing: tuple[float, float, float]
    passing: tuple[float, float, float]


def courses(*, gate: bool, seeds: int, steps: int) -> list[Course]:
    """Return the course of all searches, step by step."""
    pool = real_programs()
    steered_by = reward(gate=gate)
    try:
        with Parsers(workers=1) as parsers:
            runs = [
                search(pool, steered_by, seed=seed, steps=steps, parsers=parsers) for seed in range(seeds)
            ]
    finally:
        steered_by.close()
    return [
        Course(
            step,
            _spread([run[step].parsing for run in runs]),
            _spread([run[step].passing for run in runs]),
        )
        for step in range(steps + 1)
    ]


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    return statistics.fmean(values), min(values), max(values)


def section(plain: Sequence[Course], gated: Sequence[Course], *, seeds: int) -> str:
    """Return the table of both courses."""
    lines = [
        f"{seeds} seeds, {TASKS} tasks with {POPULATION} programs each; the mean over seeds and, in brackets, the lowest and highest.",
        "`python -m tools.simulate_search --write` writes what follows.",
        "",
        "| step | parse, no gate | parse, gated | pass, no gate | pass, gated |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one, other in zip(plain, gated, strict=True):
        cells = [_cell(one.parsing), _cell(other.parsing), _cell(one.passing), _cell(other.passing)]
        lines.append(f"| {one.step} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(spread: tuple[float, float, float]) -> str:
    mean, low, high = spread
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def main(arguments: Sequence[str]) -> int:
    """Run both searches and print the table; with --write put it into the docs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    plain, gated = (courses(gate=gate, seeds=given.seeds, steps=given.steps) for gate in (False, True))
    text = section(plain, gated, seeds=given.seeds)
    print(text)
    if given.write:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
