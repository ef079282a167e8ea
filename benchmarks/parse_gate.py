"""Speed of the parse gate beside `ast.parse`: CPU seconds per core for the same distinct texts.

    python benchmarks/parse_gate.py [--texts N] [--rounds N] [--damaged SHARE] [--out benchmarks/results] [--no-page]

Every text is a real HumanEval solution made distinct by a comment. The CPU time of this process and of its one
parsing process is counted, its start included, and compared with a plain loop over `ast.parse` in a fresh interpreter;
the contenders take turns, so that whatever else runs hits all of them. Writes `parse_gate.json` into the folder and the
table into `docs/performance.md`.
"""

import argparse
import ast
import json
import os
import platform
import random
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- parse gate: begin -->", "<!-- parse gate: end -->"


@dataclass(frozen=True)
class Measured:
    """One contender: its least CPU seconds, and the median over rounds of its CPU time over that of `ast.parse`."""

    contender: str
    texts: int
    cpu: float
    ratio: float


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=160_000, help="how many texts (default: 160,000)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds; ratios are medians over rounds (default: 5)"
    )
    parser.add_argument(
        "--damaged", type=float, default=0.0, help="share with one extra bracket (default: 0)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--no-page", action="store_true", help="do not touch docs/performance.md")
    parser.add_argument("--one", choices=sorted(CONTENDERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(CONTENDERS[options.one](texts(options.texts, options.damaged))))
        return 0
    measured = all_contenders(options)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "parse_gate.json").write_text(
        json.dumps({"machine": _machine(), "rows": [asdict(one) for one in measured]}, indent=1) + "\n"
    )
    if not options.no_page:
        write_section(section(measured, options))
    print(table(measured))
    return 0


def all_contenders(options: argparse.Namespace) -> list[Measured]:
    """Let the contenders take turns, every other round in the opposite order."""
    rounds = []
    for number in range(options.rounds):
        names = list(CONTENDERS)[:: -1 if number % 2 else 1]
        rounds.append({name: seconds_of(name, options) for name in names})
    return [
        Measured(
            name,
            options.texts,
            min(one[name] for one in rounds),
            median(one[name] / one["ast.parse"] for one in rounds),
        )
        for name in CONTENDERS
    ]


def table(measured: list[Measured]) -> str:
    """Return the results as a Markdown table."""
    rows = [
        f"| {one.contender} | {one.texts / one.cpu:,.0f} | {1e6 * one.cpu / one.texts:.1f} | {one.ratio:.2f} |"
        for one in measured
    ]
    head = [
        "| | texts per CPU second | CPU \u00b5s a text | times `ast.parse` |",
        "| --- | ---: | ---: | ---: |",
    ]
    return "\n".join([*head, *rows])


def section(measured: list[Measured], options: argparse.Namespace) -> str:
    """Return the section of the performance page."""
    damaged = f", {100 * options.damaged:g} % of them with one bracket too many" if options.damaged else ""
    return f"""{BEGIN}
## The parse gate

{options.texts:,} distinct texts{damaged} in one parsing process that survives hostile ones, its start and the pipes
included, beside a plain loop over `ast.parse`. CPU time; the ratio is the median of {options.rounds} rounds in which the contenders took
turns; {_machine()}. The gate reads a text as `ast.parse` does and leaves out the tree that nobody looks at.

{table(measured)}

Made by `benchmarks/parse_gate.py`. Ratios carry over to another machine, times do not.
{END}"""


def _machine() -> str:
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def write_section(text: str) -> None:
    """Put the section into the page, in place of an earlier one."""
    page = PAGE.read_text() if PAGE.exists() else "# Performance\n"
    before, found, rest = page.partition(BEGIN)
    after = rest.partition(END)[2] if found else "\n"
    lead = before if found else before.rstrip("\n") + "\n\n"
    PAGE.write_text(lead + text + after)


def seconds_of(name: str, options: argparse.Namespace) -> float:
    """Return the CPU seconds of one contender in a fresh process."""
    command = [sys.executable, __file__, "--one", name, "--texts", str(options.texts)]
    done = subprocess.run(
        [*command, "--damaged", str(options.damaged)], check=True, capture_output=True, text=True
    )
    seconds: float = json.loads(done.stdout)
    return seconds


def texts(many: int, damaged: float) -> list[str]:
    file = resources.files("voirdire").joinpath("data/code_pairs/humaneval.jsonl")
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    found = sorted({row[side]["code"] for row in rows for side in ("passing", "failing")})
    seeded = random.Random(0)
    return [
        found[number % len(found)] + (")" if seeded.random() < damaged else "") + f"\n# {number}\n"
        for number in range(many)
    ]


def plain_loop(codes: list[str]) -> float:
    warnings.simplefilter("ignore")
    start = time.process_time()
    for code in codes:
        try:
            ast.parse(code)
        except SyntaxError:
            continue
    return time.process_time() - start


def gate(codes: list[str]) -> float:
    from voirdire.languages.parsing import Parsers

    start = time.process_time()
    with Parsers(workers=1) as parsers:
        parsers.parses(codes)
    return time.process_time() - start + children()


def with_evidence(codes: list[str]) -> float:
    from voirdire.languages.parsing import Parsers

    start = time.process_time()
    with Parsers(workers=1) as parsers:
        parsers.parse(codes)
    return time.process_time() - start + children()


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


CONTENDERS: dict[str, Callable[[list[str]], float]] = {
    "ast.parse": plain_loop,
    "gate": gate,
    "gate with evidence": with_evidence,
}

if __name__ == "__main__":
    sys.exit(main())
